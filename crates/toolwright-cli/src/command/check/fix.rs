//! `check --fix`: the changes that findings suggest, made in the files at once or not at all.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{fs, io};

use crate::beside::replace;
use crate::code;
use crate::config::Config;
use crate::config::yaml;
use crate::diagnostic::{Edit, Finding, SourceText, edit};

/// A file of the configuration, and where it is.
pub(super) type Place = (Arc<SourceText>, PathBuf);

/// What to change, and what not.
#[derive(Debug, Default)]
pub(super) struct Plan {
    /// Edits to make, in the order of the files; none overlaps another.
    pub(super) edits: Vec<Edit>,
    /// Edits that cannot be made beside those, with the reason.
    pub(super) left: Vec<(Edit, &'static str)>,
}

/// The files of a configuration.
pub(super) fn places(config: &Config) -> Vec<Place> {
    config.files.iter().map(|file| (Arc::clone(&file.source), file.path.clone())).collect()
}

/// Which of the suggested changes can be made together: of two that overlap, the first.
pub(super) fn plan(findings: &[Finding], places: &[Place]) -> Plan {
    let mut plan = Plan::default();
    for (source, _) in places {
        let here = |edit: &&Edit| Arc::ptr_eq(&edit.source, source);
        let mut wanted: Vec<&Edit> = findings.iter().filter_map(|finding| finding.edit.as_ref()).filter(here).collect();
        wanted.sort_by_key(|edit| edit.span.start);
        let mut chosen: Vec<Edit> = Vec::new();
        for edit in wanted {
            if chosen.iter().any(|other| other.is(edit)) {
                continue;
            }
            match chosen.iter().any(|other| other.overlaps(edit)) {
                true => plan.left.push((edit.clone(), "another change is made there")),
                false => chosen.push(edit.clone()),
            }
        }
        keep_what_reads(source, &mut chosen, &mut plan.left);
        plan.edits.append(&mut chosen);
    }
    plan
}

/// Leaves out changes after which the file would read worse than before, such as a name that is then there twice.
fn keep_what_reads(source: &Arc<SourceText>, chosen: &mut Vec<Edit>, left: &mut Vec<(Edit, &'static str)>) {
    let problems = |edits: &[Edit]| yaml::parse(&edit::changed(source.text(), edits)).1.len();
    if chosen.is_empty() || problems(chosen) <= problems(&[]) {
        return;
    }
    let before = problems(&[]);
    let mut kept: Vec<Edit> = Vec::new();
    for edit in chosen.drain(..) {
        kept.push(edit);
        if problems(&kept) > before {
            left.extend(kept.pop().map(|edit| (edit, "the file could not be read afterwards")));
        }
    }
    *chosen = kept;
}

/// Makes the edits, file by file, each at once.
///
/// # Errors
/// A finding for the first file that cannot be changed; files before it are changed, and it is not.
pub(super) fn apply(edits: &[Edit], places: &[Place]) -> Result<(), Box<Finding>> {
    for (source, path) in places {
        let here: Vec<&Edit> = edits.iter().filter(|edit| Arc::ptr_eq(&edit.source, source)).collect();
        if here.is_empty() {
            continue;
        }
        let failed = |why: String| {
            let message = format!("`{}` was not changed: {why}", source.name());
            Box::new(Finding::error(code::NOT_CHANGED, message).help("nothing of this file was written; check it and try again"))
        };
        // A link stays one: what it leads to is changed.
        let path = fs::canonicalize(path).map_err(|error| failed(error.to_string()))?;
        let now = fs::read(&path).map_err(|error| failed(error.to_string()))?;
        if now != source.text().as_bytes() {
            return Err(failed("somebody else changed it since it was read".to_owned()));
        }
        if let Some(why) = kept_as_it_is(&path).map_err(|error| failed(error.to_string()))? {
            return Err(failed(why.to_owned()));
        }
        replace(&path, &edit::changed(source.text(), here)).map_err(|error| failed(error.to_string()))?;
    }
    Ok(())
}

/// Why a file must not be replaced by another of its name.
fn kept_as_it_is(path: &Path) -> io::Result<Option<&'static str>> {
    let about = fs::metadata(path)?;
    if about.permissions().readonly() {
        return Ok(Some("it may only be read"));
    }
    #[cfg(unix)]
    if std::os::unix::fs::MetadataExt::nlink(&about) > 1 {
        return Ok(Some("it has another name elsewhere, which would keep the old text (a hard link)"));
    }
    Ok(None)
}
