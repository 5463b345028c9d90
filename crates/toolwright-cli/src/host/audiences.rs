//! What the files say about who sees what, held against the tools there are.

use toolwright_mcp::server::Audience;

use super::Build;
use crate::code;
use crate::diagnostic::{Finding, Owner, did_you_mean};

impl Build<'_> {
    /// Patterns of audiences that no tool fits. An id that is written out and belongs to nothing stops the serving: it may have
    /// been meant to keep a tool away from somebody.
    pub(super) fn audiences_of_nothing(&mut self) {
        let mut findings = Vec::new();
        let audiences = self.config.files.iter().filter_map(|file| file.serve.as_ref()).flat_map(|serve| &serve.audiences);
        for (pattern, place) in audiences.flat_map(|audience| &audience.patterns) {
            let one = Audience::default().seeing([pattern.as_str()]);
            if self.ids().iter().any(|id| one.sees(id)) {
                continue;
            }
            let finding = match pattern.contains('*') {
                // What cannot be asked now may have some.
                true if !self.unknown.is_empty() => continue,
                true => Finding::warning(code::UNKNOWN_TOOL, format!("no tool fits `{pattern}`")),
                false if self.could_come_from(pattern).is_some() => continue,
                false => Finding::error(code::UNKNOWN_TOOL, format!("no tool has the id `{pattern}`")),
            };
            let finding = finding.at(&place.source, place.span.clone(), "").maybe_help(did_you_mean(pattern, self.ids()));
            findings.push(finding.owner(Owner::Serve));
        }
        self.findings.extend(findings);
    }
}
