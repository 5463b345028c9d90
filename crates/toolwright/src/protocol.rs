//! What a decision may look like: one protocol an output or a tool, with its schema.
//!
//! A [`Protocol`] is one shape, a [`ProtocolSet`] what a model may choose from. Outputs that are no tools are given in
//! [`Options::outputs`](crate::Options::outputs); tools have one by themselves.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::value::{Text, Value};

/// One shape of a decision: an answer that is no tool, or the call of a tool.
///
/// ```
/// use toolwright::{Protocol, json};
/// let reply = Protocol::new("reply", "Answers the user", json!({ "type": "object", "required": ["text"] })).terminal();
/// assert!(reply.terminal);
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Protocol {
    /// Id that a decision asks for.
    pub id: Text,
    /// What it is for, as the model reads it.
    pub description: Text,
    /// JSON Schema of the arguments.
    pub schema: Value,
    /// A turn is over with it.
    #[serde(default)]
    pub terminal: bool,
}

impl Protocol {
    /// A protocol that is not terminal.
    pub fn new(id: impl Into<Text>, description: impl Into<Text>, schema: impl Into<Value>) -> Self {
        Self { id: id.into(), description: description.into(), schema: schema.into(), terminal: false }
    }

    /// A turn is over with it.
    #[must_use]
    pub fn terminal(mut self) -> Self {
        self.terminal = true;
        self
    }
}

/// Protocols in order, each id once. Holds them by pointer: no schema is copied.
///
/// [`View::protocols`](crate::View::protocols) gives all of a catalogue, [`View::model_protocols`](crate::View::model_protocols)
/// those that a model may choose from now.
///
/// ```
/// use toolwright::{Registry, tool};
/// let echo = tool("echo", "Gives back what it gets").reads().run_json(|input, _call| async move { Ok(input) });
/// let catalog = Registry::new().with(echo)?.seal();
/// let protocols = catalog.protocols();
/// assert_eq!(protocols.ids().collect::<Vec<_>>(), ["echo"]);
/// # Ok::<(), toolwright::RegisterError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ProtocolSet(pub(crate) Vec<Arc<Protocol>>);

impl Serialize for ProtocolSet {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(|protocol| &**protocol))
    }
}

impl ProtocolSet {
    /// The protocols, in order.
    pub fn iter(&self) -> std::slice::Iter<'_, Arc<Protocol>> {
        self.0.iter()
    }

    /// Their ids, in order.
    pub fn ids(&self) -> impl ExactSizeIterator<Item = &str> {
        self.0.iter().map(|protocol| protocol.id.as_str())
    }

    /// The protocol of an id.
    pub fn get(&self, id: &str) -> Option<&Protocol> {
        self.0.iter().find(|protocol| protocol.id == id).map(|protocol| &**protocol)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<'a> IntoIterator for &'a ProtocolSet {
    type Item = &'a Arc<Protocol>;
    type IntoIter = std::slice::Iter<'a, Arc<Protocol>>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}
