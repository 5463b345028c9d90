//! What the composites of an offer need of servers whose tools were accepted, and what a client hears where that is in the way.

use std::collections::BTreeMap;

use toolwright::{CallError, EffectState, Fault, Text, ToolError};

use crate::server::offer::Offer;
use crate::upstream::{CATALOG_CHANGED, Hindrance, Needs, Upstream};

const ACCEPT: &str = "nothing was called; `toolwright diff` shows what is different, `toolwright lock` accepts it";

/// What each composite of an offer needs. Found once for each offer: composites that need no such server are not in it. A tool of a
/// server is compared when it is sent.
#[derive(Default)]
pub(crate) struct AllNeeds(BTreeMap<Text, Needs>);

impl AllNeeds {
    pub(crate) fn of(offer: &Offer) -> Self {
        let pinned: Vec<&Upstream> = offer.upstreams.iter().filter(|upstream| upstream.is_pinned()).collect();
        if pinned.is_empty() {
            return Self::default();
        }
        let composites = offer.catalog.entries().filter(|(_, entry)| entry.composite().is_some());
        let needs = composites.map(|(id, _)| (Text::from(id), Needs::of(&offer.catalog, pinned.iter().copied(), id)));
        Self(needs.filter(|(_, needs)| !needs.is_empty()).collect())
    }

    pub(crate) fn of_tool(&self, id: &str) -> Needs {
        self.0.get(id).cloned().unwrap_or_default()
    }
}

/// Looks whether what the composite needs is what was accepted.
///
/// # Errors
/// When a tool is another one or gone, or a server cannot say what it offers. Nothing was called.
pub(super) async fn compared(needs: &Needs, composite: &Text) -> Result<(), CallError> {
    match needs.compare().await.map_err(|hindrances| hindrances.into_iter().next()) {
        Ok(()) | Err(None) => Ok(()),
        Err(Some(first)) => Err(told(composite, first)),
    }
}

#[cold]
fn told(composite: &Text, hindrance: Hindrance) -> CallError {
    match hindrance {
        Hindrance::Changed { tool, why, .. } => {
            let message = format!("`{composite}` is stale: it uses `{tool}`, which is withheld: {why}");
            Fault::Refused { code: CATALOG_CHANGED.into(), message, help: Some(ACCEPT.to_owned()), details: None }.into()
        }
        Hindrance::Silent { server, error } => {
            let help = error.help.map(|help| format!("; {help}")).unwrap_or_default();
            let message = format!("the source `{server}`, which `{composite}` needs, is not there: {}", error.message);
            let help = format!("no step of `{composite}` ran{help}");
            let error = ToolError::new(message).code(error.code).help(help).nothing_happened();
            Fault::Tool { tool: composite.clone(), error, state: EffectState::NotStarted }.into()
        }
    }
}
