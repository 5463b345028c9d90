//! YAML (and with it JSON) as a tree whose every node knows its place in the file.
//!
//! Knows nothing of configurations. Scalars keep their text, so numbers keep every digit; what
//! cannot be used (duplicate keys, keys that are no text, unknown tags) is a problem with a place
//! and reading goes on.

mod build;
mod place;
mod scalar;
pub(crate) mod write;

use toolwright::Value;

pub(crate) use build::parse;

use crate::diagnostic::Span;

/// Nesting that is read; the same bound as for values.
pub(crate) const DEPTH_MAX: usize = 128;

/// Nodes in one file, counted with every use of an alias.
pub(crate) const NODES_MAX: usize = 200_000;

/// A value with its place.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    /// Its bytes in the file; of a block, from its first entry to its last.
    pub(crate) span: Span,
    /// What it is.
    pub(crate) kind: Kind,
}

/// What a node is.
#[derive(Clone, Debug)]
pub(crate) enum Kind {
    /// Text, a number, a boolean or null.
    Scalar(Scalar),
    /// A list.
    List(Vec<Node>),
    /// A mapping, in the order of the file, each key once.
    Map(Vec<Entry>),
}

/// A scalar as it was written.
#[derive(Clone, Debug)]
pub(crate) struct Scalar {
    /// The text after quotes and escapes are gone.
    pub(crate) text: String,
    /// How it was written.
    pub(crate) style: Style,
    /// What it means.
    pub(crate) meaning: Meaning,
}

/// How a scalar was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    /// Without quotes.
    Plain,
    /// In single quotes.
    Single,
    /// In double quotes.
    Double,
    /// As a block, `|` or `>`.
    Block,
}

/// What a scalar means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Meaning {
    /// Null, or nothing at all.
    Null,
    /// True or false.
    Bool(bool),
    /// A number, as JSON writes it, with every digit.
    Number(String),
    /// Text.
    Text,
}

/// A member of a mapping.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    /// The key's text.
    pub(crate) key: String,
    /// The key's place.
    pub(crate) key_span: Span,
    /// The value.
    pub(crate) value: Node,
}

/// Something in a file that cannot be read as it stands.
#[derive(Clone, Debug)]
pub(crate) struct Problem {
    /// Its stable code.
    pub(crate) code: &'static str,
    /// What is wrong.
    pub(crate) message: String,
    /// What to do.
    pub(crate) help: Option<String>,
    /// Where.
    pub(crate) span: Span,
    /// A word about the place.
    pub(crate) label: String,
    /// Another place that belongs to it, with a word about it.
    pub(crate) related: Option<(Span, String)>,
}

impl Node {
    /// The members, of a mapping.
    pub(crate) fn entries(&self) -> Option<&[Entry]> {
        match &self.kind {
            Kind::Map(entries) => Some(entries),
            _ => None,
        }
    }

    /// The items, of a list.
    pub(crate) fn items(&self) -> Option<&[Self]> {
        match &self.kind {
            Kind::List(items) => Some(items),
            _ => None,
        }
    }

    /// The scalar, of a scalar.
    pub(crate) fn scalar(&self) -> Option<&Scalar> {
        match &self.kind {
            Kind::Scalar(scalar) => Some(scalar),
            _ => None,
        }
    }

    /// The text, of a scalar that means text.
    pub(crate) fn text(&self) -> Option<&str> {
        self.scalar().filter(|scalar| scalar.meaning == Meaning::Text).map(|scalar| scalar.text.as_str())
    }

    /// The member of that name.
    pub(crate) fn get(&self, key: &str) -> Option<&Self> {
        self.entry(key).map(|entry| &entry.value)
    }

    /// The member of that name with its key.
    pub(crate) fn entry(&self, key: &str) -> Option<&Entry> {
        self.entries()?.iter().find(|entry| entry.key == key)
    }

    /// The node that a JSON pointer names, or the deepest one on the way that is there.
    pub(crate) fn pointer(&self, pointer: &str) -> &Self {
        let mut node = self;
        for segment in pointer.split('/').skip(1) {
            let name = segment.replace("~1", "/").replace("~0", "~");
            let next = match &node.kind {
                Kind::Map(_) => node.get(&name),
                Kind::List(items) => name.parse().ok().and_then(|at: usize| items.get(at)),
                Kind::Scalar(_) => None,
            };
            match next {
                Some(next) => node = next,
                None => break,
            }
        }
        node
    }

    /// The member that a JSON pointer names.
    pub(crate) fn entry_at(&self, pointer: &str) -> Option<&Entry> {
        let (parent, name) = pointer.rsplit_once('/')?;
        self.exactly(parent)?.entry(&name.replace("~1", "/").replace("~0", "~"))
    }

    /// The node that a JSON pointer names, and no other.
    pub(crate) fn exactly(&self, pointer: &str) -> Option<&Self> {
        let mut node = self;
        for segment in pointer.split('/').skip(1) {
            let name = segment.replace("~1", "/").replace("~0", "~");
            node = match &node.kind {
                Kind::Map(_) => node.get(&name),
                Kind::List(items) => name.parse().ok().and_then(|at: usize| items.get(at)),
                Kind::Scalar(_) => None,
            }?;
        }
        Some(node)
    }

    /// How many keys and scalars stand at a place: more than one where aliases share it.
    pub(crate) fn uses(&self, span: &Span) -> usize {
        let mut count = 0;
        let mut todo = vec![self];
        while let Some(node) = todo.pop() {
            match &node.kind {
                Kind::Scalar(_) => count += usize::from(node.span == *span),
                Kind::List(items) => todo.extend(items),
                Kind::Map(entries) => {
                    count += entries.iter().filter(|entry| entry.key_span == *span).count();
                    todo.extend(entries.iter().map(|entry| &entry.value));
                }
            }
        }
        count
    }

    /// The key of the member that a JSON pointer names; none for an item of a list or what is not there.
    pub(crate) fn key_of(&self, pointer: &str) -> Option<Span> {
        let (parent, name) = pointer.rsplit_once('/')?;
        let name = name.replace("~1", "/").replace("~0", "~");
        let found = self.pointer(parent).entry(&name)?;
        let same = std::ptr::eq(self.pointer(pointer), &found.value);
        same.then(|| found.key_span.clone())
    }

    /// The place that the core means when a schema cannot be used: `the input schema cannot be used:
    /// /properties/x: ...`, seen from the mapping that holds `input` and `output`.
    pub(crate) fn schema_place(&self, message: &str) -> Option<Span> {
        let which = ["input", "output"].into_iter().find(|which| message.contains(&format!("the {which} schema")))?;
        let entry = self.entry(which)?;
        let pointer = message.split("cannot be used: ").nth(1).and_then(|rest| rest.split(": ").next());
        let pointer = pointer.filter(|pointer| pointer.starts_with('/') && pointer.len() > 1);
        Some(match pointer {
            Some(pointer) => entry.value.pointer(pointer).span.clone(),
            None => entry.key_span.clone(),
        })
    }

    /// What it is, in the words of messages: `text`, `a list`, ...
    pub(crate) fn described(&self) -> &'static str {
        match &self.kind {
            Kind::List(_) => "a list",
            Kind::Map(_) => "a mapping",
            Kind::Scalar(scalar) => match scalar.meaning {
                Meaning::Null => "nothing",
                Meaning::Bool(_) => "true or false",
                Meaning::Number(_) => "a number",
                Meaning::Text => "text",
            },
        }
    }

    /// The value, without places.
    pub(crate) fn to_value(&self) -> Value {
        match &self.kind {
            Kind::List(items) => items.iter().map(Self::to_value).collect::<Vec<_>>().into(),
            Kind::Map(entries) => Value::object(entries.iter().map(|entry| (entry.key.as_str(), entry.value.to_value()))),
            Kind::Scalar(scalar) => scalar.to_value(),
        }
    }

    /// The bytes in the file of a part of this scalar's text, or of the whole scalar where the
    /// text was folded on its way out of the file.
    pub(crate) fn part(&self, file: &str, part: &Span) -> Span {
        self.scalar().and_then(|scalar| place::part(file, &self.span, scalar, part)).unwrap_or_else(|| self.span.clone())
    }
}

impl Scalar {
    fn to_value(&self) -> Value {
        match &self.meaning {
            Meaning::Null => Value::Null,
            Meaning::Bool(value) => Value::Bool(*value),
            Meaning::Number(digits) => Value::parse(digits).unwrap_or_else(|_| Value::from(self.text.as_str())),
            Meaning::Text => Value::from(self.text.as_str()),
        }
    }
}

#[cfg(test)]
mod tests;
