//! Before a tool is called: the servers it needs are started, all at once, and compared with what was accepted of them. A
//! composite whose third step would be withheld does not begin its first.

use futures_util::future::join_all;

use super::Host;
use crate::code;
use crate::diagnostic::{Finding, Owner};
use crate::exit::Exit;

impl Host {
    /// Starts what the tool needs, and looks whether it is what was accepted.
    ///
    /// # Errors
    /// What stands in the way, and how the command ends. Nothing was called then.
    pub(crate) async fn prepare(&self, id: &str) -> Result<(), (Vec<Finding>, Exit)> {
        let touched = self.touched(id);
        let needed = self.servers.iter().filter(|server| touched.iter().any(|tool| tool.source == server.source));
        let compared = join_all(needed.map(|server| async move { (server, server.upstream.compare().await) })).await;
        let mut silent = Vec::new();
        let mut changed = Vec::new();
        for (server, answer) in compared {
            match answer {
                Err(error) => silent.push(self.silent(&server.source, error)),
                Ok(found) => {
                    let of_this = |tool: &&&Touched<'_>| tool.source == server.source;
                    for tool in touched.iter().filter(|tool| of_this(&tool)) {
                        let Some(found) = found.iter().find(|found| found.tool == *tool.name) else { continue };
                        let message = match id == tool.id {
                            true => format!("`{id}` is withheld: {}", found.why),
                            false => format!("`{id}` is stale: it uses `{}`, which is withheld: {}", tool.id, found.why),
                        };
                        let code = if found.gone { "unavailable" } else { code::CATALOG_CHANGED };
                        changed.push(Finding::error(code, self.secrets.mask(&message)).help(ACCEPT).owner(Owner::Tool(tool.id.to_owned())));
                    }
                }
            }
        }
        match (silent.is_empty(), changed.is_empty()) {
            (true, true) => Ok(()),
            (_, false) => Err((changed, Exit::Refused)),
            (false, true) => Err((silent, Exit::ToolFailed)),
        }
    }

    fn silent(&self, source: &str, error: toolwright_mcp::upstream::UpstreamError) -> Finding {
        let message = format!("the source `{source}` is not there: {error}");
        Finding::error(code::SOURCE_UNAVAILABLE, message)
            .maybe_help(error.help)
            .owner(Owner::Source(source.to_owned()))
            .map_text(|text| self.secrets.mask(text))
    }

    /// The tools of sources that are called when this one is.
    fn touched(&self, id: &str) -> Vec<Touched<'_>> {
        let mut touched: Vec<Touched<'_>> = Vec::new();
        let mut todo = vec![id];
        while let Some(id) = todo.pop() {
            if touched.iter().any(|tool| tool.id == id) {
                continue;
            }
            let Some(view) = self.find(id) else { continue };
            match &view.inside {
                // Its tools, through nested composites too.
                Some(inside) => todo.extend(inside.touches.iter().map(String::as_str).filter(|tool| *tool != id)),
                None => {
                    let name = self.catalog.get(id).and_then(|entry| Some(entry.origin()?.name.as_str()));
                    touched.extend(name.map(|name| Touched { id: &view.id, name, source: &view.source }));
                }
            }
        }
        touched
    }
}

/// A tool that will be called.
struct Touched<'h> {
    id: &'h str,
    /// At its source.
    name: &'h str,
    source: &'h str,
}

/// What to do about a tool that is another one.
pub(super) const ACCEPT: &str = "nothing was called; `toolwright diff` shows what is different, `toolwright lock` accepts it";
