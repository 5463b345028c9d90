//! What one audience sees: tools under the names and in the form that its clients can take.

use std::sync::Arc;

use toolwright::{Catalog, Fingerprint, Text, Value, json};

use super::caller::Caller;
use super::offer::Offer;

/// For which generation of the protocol a surface is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Generation {
    /// 2024-11-05 to 2025-11-25.
    Sessions,
    /// 2026-07-28.
    Sessionless,
}

/// The tools of one audience, ready to be listed and found by their exposed names.
#[derive(Clone, Debug, Default)]
pub struct Surface {
    ids: Vec<Text>,
    pages: Vec<Text>,
    digest: Text,
}

/// A tool that an audience does not get, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LeftOut {
    /// The tool's id.
    pub tool: Text,
    /// A code.
    pub code: &'static str,
    /// In words.
    pub reason: String,
}

impl Surface {
    fn plain(catalog: &Catalog, page_items: usize) -> Self {
        let mut ids = Vec::new();
        let mut tools = Vec::new();
        for tool in catalog.tools().filter(|tool| !tool.is_hidden()) {
            ids.push(Text::from(tool.id()));
            let schema = tool.input_schema().cloned().unwrap_or_else(|| json!({ "type": "object" }));
            tools.push(
                json!({ "name": tool.id(), "description": tool.description() }).as_object().map(|tool| tool.with("inputSchema", schema)),
            );
        }
        let tools: Vec<Value> = tools.into_iter().flatten().map(Value::from).collect();
        let mut pages: Vec<Text> =
            tools.chunks(page_items.max(1)).map(|page| Text::from(Value::array(page.to_vec()).to_json_string())).collect();
        if pages.is_empty() {
            pages.push(Text::from("[]"));
        }
        let digest = Text::from(Fingerprint::of(pages.concat()).to_string());
        Self { ids, pages, digest }
    }

    pub fn find(&self, exposed: &str) -> Option<&Text> {
        self.ids.iter().find(|id| id.as_str() == exposed)
    }

    pub fn page_count(&self) -> usize {
        self.pages.len()
    }

    pub fn page(&self, at: usize) -> Option<&Text> {
        self.pages.get(at)
    }

    pub fn digest(&self) -> &Text {
        &self.digest
    }
}

pub(crate) struct Surfaces {
    offer: Arc<Offer>,
    surface: Arc<Surface>,
}

impl Surfaces {
    pub(crate) fn new(offer: Arc<Offer>, page_items: usize) -> Self {
        let surface = Arc::new(Surface::plain(&offer.catalog, page_items));
        Self { offer, surface }
    }

    pub(crate) fn of(&self, caller: &Caller, _client_name: Option<&str>, _generation: Generation) -> Option<Arc<Surface>> {
        (self.offer.audiences.is_empty() || self.offer.audiences.contains_key(&caller.audience)).then(|| self.surface.clone())
    }

    pub(crate) fn offer(&self) -> &Arc<Offer> {
        &self.offer
    }
}
