//! A schema with the document it stands in: its dialect, and where its references lead.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use super::leaf::Known;
use crate::limits;
use crate::value::{Text, Value};

/// The dialect a schema is written in, oldest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Draft {
    D4,
    D6,
    D7,
    D2019,
    D2020,
}

impl Draft {
    fn of(root: &Value) -> Option<Self> {
        let Some(uri) = root.get("$schema") else { return Some(Self::D2020) };
        let uri = uri.as_str()?.trim_end_matches('#').trim_end_matches('/');
        let rest = uri.strip_prefix("http://").or_else(|| uri.strip_prefix("https://"))?;
        Some(match rest {
            "json-schema.org/draft/2020-12/schema" => Self::D2020,
            "json-schema.org/draft/2019-09/schema" => Self::D2019,
            "json-schema.org/draft-07/schema" => Self::D7,
            "json-schema.org/draft-06/schema" => Self::D6,
            "json-schema.org/draft-04/schema" => Self::D4,
            _ => return None,
        })
    }
}

/// A whole schema.
pub(crate) struct Document {
    root: Value,
    pub(super) draft: Draft,
    /// Whether a part of it has an identifier of its own, so that references inside it mean something else there.
    embedded: OnceLock<bool>,
    /// Its anchors; none in the place of one that may be none.
    anchors: OnceLock<HashMap<Text, Option<Value>>>,
    /// What was found out about its leaves, by their address.
    leaves: Mutex<HashMap<usize, Arc<Known>>>,
}

impl std::fmt::Debug for Document {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Document").field("draft", &self.draft).finish_non_exhaustive()
    }
}

impl Document {
    /// None for what cannot be reasoned about: an unknown dialect, or a schema too large or too deep.
    pub(crate) fn new(root: &Value) -> Option<Arc<Self>> {
        let small = root.weight() <= limits::WIRING_SCHEMA_BYTES_MAX && root.depth() <= limits::WIRING_SCHEMA_DEPTH_MAX;
        if !small || !matches!(root, Value::Bool(_) | Value::Object(_)) || members(root).any(speaks_otherwise) {
            return None;
        }
        let (embedded, anchors, leaves) = (OnceLock::new(), OnceLock::new(), Mutex::default());
        Some(Arc::new(Self { root: root.clone(), draft: Draft::of(root)?, embedded, anchors, leaves }))
    }

    pub(super) fn root(&self) -> &Value {
        &self.root
    }

    /// What is remembered of the leaf at this address; the document keeps it alive, so the address is nobody else's.
    pub(super) fn known(&self, address: usize) -> Arc<Known> {
        let mut leaves = self.leaves.lock().unwrap_or_else(PoisonError::into_inner);
        leaves.entry(address).or_default().clone()
    }

    /// Where a reference leads inside this document.
    pub(super) fn resolve(&self, reference: &str) -> Option<&Value> {
        let id = if self.draft == Draft::D4 { "id" } else { "$id" };
        if *self.embedded.get_or_init(|| members(&self.root).any(|part| has_identifier(part, id))) {
            return None;
        }
        let own = self.root.get(id).and_then(Value::as_str).map(|id| id.trim_end_matches('#'));
        let fragment = match reference.strip_prefix('#') {
            Some(fragment) => fragment,
            None if Some(reference) == own => "",
            None => reference.strip_prefix(own?)?.strip_prefix('#')?,
        };
        if fragment.is_empty() {
            return Some(&self.root);
        }
        if fragment.starts_with('/') {
            return match fragment.contains('%') {
                true => self.root.pointer(&percent_decoded(fragment)?),
                false => self.root.pointer(fragment),
            };
        }
        let anchors = self.anchors.get_or_init(|| {
            let mut all = HashMap::new();
            anchors(&self.root, self.draft, false, &mut all);
            all
        });
        anchors.get(fragment)?.as_ref()
    }
}

fn members(value: &Value) -> Box<dyn Iterator<Item = &Value> + '_> {
    match value {
        Value::Object(members) => Box::new(members.values().iter()),
        _ => Box::new(value.as_array().unwrap_or_default().iter()),
    }
}

/// Whether this part or one inside it says that it is a document of its own.
fn has_identifier(part: &Value, id: &str) -> bool {
    let own = part.get(id).and_then(Value::as_str).is_some_and(|id| !id.starts_with('#'));
    own || members(part).any(|part| has_identifier(part, id))
}

/// Whether this part, or one inside it, says that it is a document of its own and of which dialect.
fn speaks_otherwise(part: &Value) -> bool {
    let says = |keyword: &str| part.get(keyword).is_some_and(|value| value.as_str().is_some());
    (says("$schema") && (says("$id") || says("id"))) || members(part).any(speaks_otherwise)
}

/// Every anchor; none in the place of one that is there twice, or that lies among data.
fn anchors(part: &Value, draft: Draft, among_data: bool, all: &mut HashMap<Text, Option<Value>>) {
    const DATA: [&str; 4] = ["const", "enum", "default", "examples"];
    let Some(object) = part.as_object() else {
        return members(part).for_each(|part| anchors(part, draft, among_data, all));
    };
    let here = match draft {
        Draft::D4 => part.get("id").and_then(Value::as_str).and_then(|id| id.strip_prefix('#')),
        Draft::D6 | Draft::D7 => part.get("$id").and_then(Value::as_str).and_then(|id| id.strip_prefix('#')),
        Draft::D2019 | Draft::D2020 => part.get("$anchor").and_then(Value::as_str),
    };
    if let Some(name) = here {
        all.entry(name.into()).and_modify(|known| *known = None).or_insert_with(|| (!among_data).then(|| part.clone()));
    }
    for (key, part) in object.iter() {
        anchors(part, draft, among_data || DATA.contains(&key.as_str()), all);
    }
}

fn percent_decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => {
                let digit = |byte: Option<u8>| char::from(byte?).to_digit(16);
                let (high, low) = (digit(rest.next())?, digit(rest.next())?);
                u8::try_from(high * 16 + low).ok()?
            }
            byte => byte,
        });
    }
    String::from_utf8(bytes).ok()
}

/// A schema inside its document.
#[derive(Clone)]
pub(crate) struct Place {
    pub(super) document: Arc<Document>,
    pub(super) schema: Value,
}

impl Place {
    /// The whole document.
    pub(crate) fn root(document: &Arc<Document>) -> Self {
        Self { document: document.clone(), schema: document.root().clone() }
    }

    /// Another schema of the same document.
    pub(super) fn at(&self, schema: &Value) -> Self {
        Self { document: self.document.clone(), schema: schema.clone() }
    }

    pub(super) fn keyword(&self, keyword: &str) -> Option<&Value> {
        self.schema.get(keyword)
    }

    pub(super) fn draft(&self) -> Draft {
        self.document.draft
    }

    /// Tells this place from every other one that is there at the same time; none for `true`, `false` and `{}`.
    pub(super) fn identity(&self) -> Option<usize> {
        self.schema.container_address()
    }

    /// Whether both mean the same: one place, or the same words that refer to nothing outside themselves.
    pub(super) fn same(&self, other: &Self) -> bool {
        if Arc::ptr_eq(&self.document, &other.document) && self.identity().is_some() && self.identity() == other.identity() {
            return true;
        }
        let small = self.schema.weight() <= limits::WIRING_EQUAL_BYTES_MAX;
        small && self.draft() == other.draft() && self.schema == other.schema && !refers(&self.schema)
    }
}

/// Whether something in it takes its meaning from outside.
fn refers(schema: &Value) -> bool {
    const KEYWORDS: [&str; 5] = ["$ref", "$dynamicRef", "$recursiveRef", "$id", "id"];
    schema.as_object().is_some_and(|members| members.keys().any(|key| KEYWORDS.contains(&key.as_str()))) || members(schema).any(refers)
}
