//! What a composite needs of servers whose tools were accepted: compared before its first step, as `toolwright run` does. One whose
//! third step would be withheld does not begin its first.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures_util::future::join_all;
use toolwright::{CallError, Catalog, EffectState, Fault, Text, ToolError};

use crate::server::offer::Offer;
use crate::upstream::{CATALOG_CHANGED, Upstream, UpstreamError};

const ACCEPT: &str = "nothing was called; `toolwright diff` shows what is different, `toolwright lock` accepts it";

/// What each composite of an offer needs. Found once for each offer: composites that need no such server are not in it.
#[derive(Default)]
pub(crate) struct AllNeeds(BTreeMap<Text, Needs>);

/// What one tool needs. Most need nothing: a tool of a server is compared when it is sent.
#[derive(Clone, Default)]
pub(crate) struct Needs(Option<Arc<[Need]>>);

/// A server, and those of its tools that will be called.
struct Need {
    upstream: Upstream,
    tools: Vec<Used>,
}

struct Used {
    /// In the catalogue.
    id: Text,
    /// On its server.
    name: Text,
}

impl AllNeeds {
    pub(crate) fn of(offer: &Offer) -> Self {
        let pinned: Vec<&Upstream> = offer.upstreams.iter().filter(|upstream| upstream.is_pinned()).collect();
        if pinned.is_empty() {
            return Self::default();
        }
        let composites = offer.catalog.entries().filter_map(|(id, entry)| Some((id, entry.composite()?.tools())));
        let needs = composites.filter_map(|(id, tools)| {
            let needs: Arc<[Need]> = pinned.iter().filter_map(|upstream| Need::of(&offer.catalog, upstream, tools)).collect();
            (!needs.is_empty()).then(|| (Text::from(id), Needs(Some(needs))))
        });
        Self(needs.collect())
    }

    pub(crate) fn of_tool(&self, id: &str) -> Needs {
        self.0.get(id).cloned().unwrap_or_default()
    }
}

impl Need {
    fn of(catalog: &Catalog, upstream: &Upstream, tools: &[Text]) -> Option<Self> {
        let used = |id: &Text| {
            let entry = catalog.get(id)?;
            let origin = entry.origin().filter(|origin| origin.source == upstream.name())?;
            Some(Used { id: id.clone(), name: origin.name.clone() })
        };
        let tools: Vec<Used> = tools.iter().filter_map(used).collect();
        (!tools.is_empty()).then(|| Self { upstream: upstream.clone(), tools })
    }

    /// What stands in the way.
    async fn compared(&self, composite: &Text) -> Result<(), CallError> {
        let changed = self.upstream.compare().await.map_err(|error| silent(composite, &self.upstream, error))?;
        if changed.is_empty() {
            return Ok(());
        }
        for used in &self.tools {
            if let Some(changed) = changed.iter().find(|changed| changed.tool == used.name) {
                let message = format!("`{composite}` is stale: it uses `{}`, which is withheld: {}", used.id, changed.why);
                let message = self.upstream.masked(&message);
                return Err(Fault::Refused { code: CATALOG_CHANGED.into(), message, help: Some(ACCEPT.to_owned()), details: None }.into());
            }
        }
        Ok(())
    }
}

impl Needs {
    /// Starts what the composite needs, all at once, and looks whether it is what was accepted. Costs next to nothing when that is done.
    ///
    /// # Errors
    /// When a tool is another one or gone, or a server cannot say what it offers. Nothing was called.
    pub(crate) async fn compared(&self, composite: &Text) -> Result<(), CallError> {
        let Some(needs) = &self.0 else { return Ok(()) };
        match &**needs {
            [need] => need.compared(composite).await,
            needs => {
                let all = join_all(needs.iter().map(|need| need.compared(composite))).await;
                // That a tool is another one says more than that a server is away just now.
                let (refused, silent): (Vec<_>, Vec<_>) = all.into_iter().filter_map(Result::err).partition(CallError::is_refusal);
                refused.into_iter().chain(silent).next().map_or(Ok(()), Err)
            }
        }
    }
}

#[cold]
fn silent(composite: &Text, upstream: &Upstream, error: UpstreamError) -> CallError {
    let help = error.help.map(|help| format!("; {help}")).unwrap_or_default();
    let message = format!("the source `{}`, which `{composite}` needs, is not there: {}", upstream.name(), error.message);
    let help = format!("no step of `{composite}` ran{help}");
    let error = ToolError::new(message).code(error.code).help(help).nothing_happened();
    Fault::Tool { tool: composite.clone(), error, state: EffectState::NotStarted }.into()
}
