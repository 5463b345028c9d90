//! Before a tool is called: the servers it needs are started, all at once, and compared with what was accepted of them.

use toolwright_mcp::upstream::{Hindrance, Needs, UpstreamError};

use super::Host;
use crate::code;
use crate::diagnostic::{Finding, Owner};
use crate::exit::Exit;

/// What to do about a tool that is another one.
const ACCEPT: &str = "nothing was called; `toolwright diff` shows what is different, `toolwright lock` accepts it";

impl Host {
    /// Starts what the tool needs, and looks whether it is what was accepted.
    ///
    /// # Errors
    /// What stands in the way, and how the command ends. Nothing was called then.
    pub(crate) async fn prepare(&self, id: &str) -> Result<(), (Vec<Finding>, Exit)> {
        let needs = Needs::of(&self.catalog, self.servers.iter().map(|server| &server.upstream), id);
        let Err(hindrances) = needs.compare().await else { return Ok(()) };
        let mut silent = Vec::new();
        let mut changed = Vec::new();
        for hindrance in hindrances {
            match hindrance {
                Hindrance::Changed { tool, why, gone } => {
                    let message = match id == tool {
                        true => format!("`{id}` is withheld: {why}"),
                        false => format!("`{id}` is stale: it uses `{tool}`, which is withheld: {why}"),
                    };
                    let code = if gone { "unavailable" } else { code::CATALOG_CHANGED };
                    changed.push(Finding::error(code, self.secrets.mask(&message)).help(ACCEPT).owner(Owner::Tool(tool.to_string())));
                }
                Hindrance::Silent { server, error } => silent.push(self.silent(&server, error)),
            }
        }
        match changed.is_empty() {
            false => Err((changed, Exit::Refused)),
            true => Err((silent, Exit::ToolFailed)),
        }
    }

    fn silent(&self, source: &str, error: UpstreamError) -> Finding {
        let message = format!("the source `{source}` is not there: {error}");
        Finding::error(code::SOURCE_UNAVAILABLE, message)
            .maybe_help(error.help)
            .owner(Owner::Source(source.to_owned()))
            .map_text(|text| self.secrets.mask(text))
    }
}
