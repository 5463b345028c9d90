//! Reading members out of nodes: every mistake becomes a finding with its place, and reading goes on.

use std::sync::Arc;
use std::time::Duration;

use toolwright::Value;

use super::expand::{self, Environment, Expanded, Fault};
use super::members::Shape;
use super::units;
use super::yaml::{Entry, Kind, Meaning, Node, write};
use crate::code;
use crate::diagnostic::{Edit, Finding, Owner, SourceText, Span, did_you_mean, nearest, unmistakable, unmistakable_keyword};
use crate::secret::{Secret, Secrets};

/// A place in one of the files.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    /// The file.
    pub(crate) source: Arc<SourceText>,
    /// The bytes.
    pub(crate) span: Span,
}

/// Reads one file; keeps what it finds wrong and every secret it meets.
pub(crate) struct Reader<'e> {
    /// The file.
    pub(crate) source: Arc<SourceText>,
    /// What is being read now.
    pub(crate) owner: Owner,
    /// Unknown members are a note, not an error: the file was written for another program.
    pub(crate) lenient: bool,
    /// What was wrong so far.
    pub(crate) findings: Vec<Finding>,
    /// What must not be shown.
    pub(crate) secrets: Secrets,
    environment: &'e dyn Environment,
}

impl<'e> Reader<'e> {
    /// A reader of one file.
    pub(crate) fn new(source: &Arc<SourceText>, environment: &'e dyn Environment) -> Self {
        Self {
            source: Arc::clone(source),
            owner: Owner::File,
            lenient: false,
            findings: Vec::new(),
            secrets: Secrets::default(),
            environment,
        }
    }

    /// A place in this file.
    pub(crate) fn place(&self, span: &Span) -> Place {
        Place { source: Arc::clone(&self.source), span: span.clone() }
    }

    /// Keeps an error at a place.
    pub(crate) fn error(&mut self, code: &str, message: impl Into<String>, span: &Span, label: impl Into<String>, help: Option<String>) {
        let finding = Finding::error(code, message).at(&self.source, span.clone(), label).maybe_help(help).owner(self.owner.clone());
        self.findings.push(finding);
    }

    /// Says which change mends the error that was kept last; `to` is what to write at the place.
    pub(crate) fn mended_by(&mut self, span: &Span, to: Option<String>) {
        let edit = to.map(|to| Edit { source: Arc::clone(&self.source), span: span.clone(), to });
        if let Some(last) = self.findings.last_mut() {
            last.edit = edit;
        }
    }

    /// The members of a mapping; unknown ones and required ones that are missing are findings.
    pub(crate) fn members<'n>(&mut self, node: &'n Node, shape: &Shape) -> Option<&'n [Entry]> {
        let Some(entries) = node.entries() else {
            self.wrong_type(node, &format!("{} is a mapping", shape.what));
            return None;
        };
        let unknown: Vec<&Entry> = entries.iter().filter(|entry| !shape.names().any(|name| name == entry.key)).collect();
        for entry in &unknown {
            let meant = unmistakable_keyword(&entry.key, shape.names().filter(|name| node.get(name).is_none()));
            // Two that may mean the same cannot both be it.
            let alone = unknown.iter().filter(|other| nearest(&other.key, meant).is_some()).count() == 1;
            self.unknown_member(entry, shape, meant.filter(|_| alone));
        }
        for name in shape.required {
            if node.get(name).is_none() {
                let message = format!("{} needs `{name}`", shape.what);
                let close = entries.iter().find(|entry| nearest(&entry.key, [*name]).is_some());
                // The misspelt member was named already; saying it twice helps nobody.
                if close.is_none() {
                    self.error(code::MISSING_MEMBER, message, &node.span, "", None);
                }
            }
        }
        Some(entries)
    }

    fn unknown_member(&mut self, entry: &Entry, shape: &Shape, meant: Option<&str>) {
        let message = format!("{} has no member `{}`", shape.what, crate::style::cut(&entry.key, KEY_COLUMNS_MAX));
        let help = did_you_mean(&entry.key, shape.names()).unwrap_or_else(|| {
            let names: Vec<String> = shape.names().map(|name| format!("`{name}`")).collect();
            format!("there are {}", names.join(", "))
        });
        if self.lenient {
            return;
        }
        self.error(code::UNKNOWN_MEMBER, message, &entry.key_span, "not known here", Some(help));
        let to = meant.and_then(|name| write::key(self.source.text(), &entry.key_span, &entry.key, name));
        self.mended_by(&entry.key_span, to);
    }

    /// Says that a value has another type.
    pub(crate) fn wrong_type(&mut self, node: &Node, expected: &str) {
        let written = self.source.text().get(node.span.clone()).filter(|written| !written.contains('\n'));
        let (help, to) = match (&node.kind, written) {
            (Kind::Map(entries), Some(written)) if written.starts_with('{') && !written.contains(['"', '\'']) => {
                let braced = entries.iter().all(|entry| entry.value.span.is_empty() || is_null(&entry.value));
                let to = write::quoted(written);
                let help = braced.then(|| format!("an unquoted brace begins a mapping; for text write `{to}`"));
                (help, Some(to).filter(|_| braced && expected.ends_with("text")))
            }
            (Kind::Scalar(scalar), Some(written)) if scalar.meaning != Meaning::Null => match scalar.text.as_str() {
                "yes" | "on" | "Yes" | "On" => (Some("write `true`".to_owned()), Some("true".to_owned())),
                "no" | "off" | "No" | "Off" => (Some("write `false`".to_owned()), Some("false".to_owned())),
                _ if expected.ends_with("text") => (Some(format!("for text write `\"{written}\"`")), Some(write::quoted(written))),
                _ => (None, None),
            },
            _ => (None, None),
        };
        let boolean = expected.ends_with("true or false");
        let message = format!("{expected}, and here is {}", node.described());
        self.error(code::WRONG_TYPE, message, &node.span, "", help);
        let to = to.filter(|to| boolean || !matches!(to.as_str(), "true" | "false"));
        self.mended_by(&node.span, to);
    }

    /// Text that is taken as it stands.
    pub(crate) fn text(&mut self, entry: &Entry) -> Option<String> {
        let text = entry.value.text().map(str::to_owned);
        if text.is_none() {
            self.wrong_type(&entry.value, &format!("`{}` is text", entry.key));
        }
        text
    }

    /// True or false.
    pub(crate) fn flag(&mut self, entry: &Entry) -> Option<bool> {
        if let Some(Meaning::Bool(value)) = entry.value.scalar().map(|s| &s.meaning) {
            return Some(*value);
        }
        let expected = format!("`{}` is true or false", entry.key);
        self.wrong_type(&entry.value, &expected);
        None
    }

    /// A whole number of 32 bits.
    pub(crate) fn integer(&mut self, node: &Node, what: &str) -> Option<i32> {
        if let Some(Meaning::Number(digits)) = node.scalar().map(|s| &s.meaning)
            && let Ok(number) = digits.parse()
        {
            return Some(number);
        }
        self.wrong_type(node, &format!("{what} is a whole number"));
        None
    }

    /// One of a few words.
    pub(crate) fn word<T: Copy>(&mut self, entry: &Entry, words: &[(&str, T)]) -> Option<T> {
        let text = self.text(entry)?;
        if let Some((_, value)) = words.iter().find(|(word, _)| *word == text) {
            return Some(*value);
        }
        let names: Vec<String> = words.iter().map(|(word, _)| format!("`{word}`")).collect();
        let help = did_you_mean(&text, words.iter().map(|(word, _)| *word)).unwrap_or_else(|| format!("it is one of {}", names.join(", ")));
        let message = format!("`{text}` means nothing to `{}`", entry.key);
        self.error(code::BAD_VALUE, message, &entry.value.span, "", Some(help));
        let meant = unmistakable(&text, words.iter().map(|(word, _)| *word));
        let to = meant.and_then(|word| write::value(self.source.text(), &entry.value, &word.into()));
        self.mended_by(&entry.value.span, to);
        None
    }

    /// `500ms`, `20s`, ...
    pub(crate) fn duration(&mut self, entry: &Entry) -> Option<Duration> {
        let text = scalar_text(&entry.value);
        let Some(text) = text else {
            self.wrong_type(&entry.value, &format!("`{}` is a duration", entry.key));
            return None;
        };
        match units::duration(text) {
            Ok(duration) => Some(duration),
            Err(why) => {
                let message = format!("`{text}` is no duration: {why}");
                let help = Some("write a number and a unit, such as `500ms`, `20s`, `2m`".to_owned());
                self.error(code::BAD_VALUE, message, &entry.value.span, "", help);
                None
            }
        }
    }

    /// `64KiB`, `1MiB`, ...
    pub(crate) fn size(&mut self, entry: &Entry) -> Option<u64> {
        let Some(text) = scalar_text(&entry.value) else {
            self.wrong_type(&entry.value, &format!("`{}` is a size", entry.key));
            return None;
        };
        match units::size(text) {
            Ok(size) => Some(size),
            Err(why) => {
                let message = format!("`{text}` is no size: {why}");
                let help = Some("write a number and a unit, such as `64KiB`, `1MiB`".to_owned());
                self.error(code::BAD_VALUE, message, &entry.value.span, "", help);
                None
            }
        }
    }

    /// A JSON Schema; of an input it describes an object.
    pub(crate) fn schema(&mut self, entry: &Entry) -> Option<Value> {
        match &entry.value.kind {
            Kind::Map(_) => Some(entry.value.to_value()),
            Kind::Scalar(scalar) if entry.key == "output" && matches!(scalar.meaning, Meaning::Bool(_)) => Some(entry.value.to_value()),
            _ => {
                let expected = format!("`{}` is a JSON Schema, a mapping", entry.key);
                self.wrong_type(&entry.value, &expected);
                let boolean = matches!(entry.value.scalar().map(|scalar| &scalar.meaning), Some(Meaning::Bool(_)));
                if let (true, Some(last)) = (boolean, self.findings.last_mut()) {
                    last.help = Some("arguments are always an object: write `{type: object}` for any, or leave it out".to_owned());
                }
                None
            }
        }
    }

    /// The items of a list.
    pub(crate) fn list<'n>(&mut self, entry: &'n Entry) -> Option<&'n [Node]> {
        let items = entry.value.items();
        if items.is_none() {
            self.wrong_type(&entry.value, &format!("`{}` is a list", entry.key));
        }
        items
    }

    /// Text with its variables replaced. Numbers and booleans count as the text they are written as.
    pub(crate) fn expanded(&mut self, node: &Node, what: &str) -> Option<Expanded> {
        self.expanded_with(node, what, str::to_owned)
    }

    /// The same; `quote` is applied to what comes out of a variable.
    pub(crate) fn expanded_with(&mut self, node: &Node, what: &str, quote: impl Fn(&str) -> String) -> Option<Expanded> {
        let Some(text) = scalar_text(node) else {
            self.wrong_type(node, &format!("{what} is text"));
            return None;
        };
        match expand::expand(text, self.environment, quote) {
            Ok(expanded) => {
                for value in &expanded.from_environment {
                    self.secrets.add(value);
                }
                Some(expanded)
            }
            Err(faults) => {
                for fault in faults {
                    self.fault(fault, node, what);
                }
                None
            }
        }
    }

    /// ` of the source x`, for messages that stand alone in a log.
    fn owned_by(&self) -> String {
        match &self.owner {
            Owner::File | Owner::Lock | Owner::Serve => String::new(),
            Owner::Source(name) => format!(" of the source `{name}`"),
            Owner::Tool(id) => format!(" of the tool `{id}`"),
            Owner::Composite(id) => format!(" of the composite `{id}`"),
        }
    }

    fn fault(&mut self, fault: Fault, node: &Node, what: &str) {
        match fault {
            Fault::Missing { variable, span } => {
                let span = node.part(self.source.text(), &span);
                let of = self.owned_by();
                let message = format!("the environment variable `{variable}` is not set, and {what}{of} needs it");
                let help = format!("set `{variable}`, or give a default: `${{{variable}:-...}}`");
                self.error(code::UNRESOLVED_VARIABLE, message, &span, "not set", Some(help));
            }
            Fault::Malformed { message, span } => {
                let span = node.part(self.source.text(), &span);
                let help = "the forms are `${NAME}`, `${env:NAME}` and `${NAME:-default}`".to_owned();
                self.error(code::BAD_VARIABLE, message, &span, "", Some(help));
            }
        }
    }

    /// A list of texts with their variables replaced; none when one of them is wrong.
    pub(crate) fn expanded_list(&mut self, entry: &Entry) -> Option<Vec<String>> {
        let items = self.list(entry)?;
        let what = format!("an element of `{}`", entry.key);
        let read: Vec<Option<Expanded>> = items.iter().map(|item| self.expanded(item, &what)).collect();
        read.into_iter().map(|item| Some(item?.text)).collect()
    }

    /// Names with texts that must not be shown; none when one of them is wrong.
    pub(crate) fn secret_map(&mut self, entry: &Entry) -> Option<Vec<(String, Secret)>> {
        let Some(entries) = entry.value.entries() else {
            self.wrong_type(&entry.value, &format!("`{}` is a mapping", entry.key));
            return None;
        };
        let read: Vec<Option<(String, Secret)>> = entries
            .iter()
            .map(|member| {
                let what = format!("`{}` in `{}`", member.key, entry.key);
                if member.value.scalar().is_none() {
                    // No quoting of what stands there: it may be a secret.
                    let message = format!("{what} is text, and here is {}", member.value.described());
                    self.error(code::WRONG_TYPE, message, &member.key_span, "", None);
                    return None;
                }
                let expanded = self.expanded(&member.value, &what)?;
                self.secrets.add(&expanded.text);
                Some((member.key.clone(), Secret::new(expanded.text)))
            })
            .collect();
        read.into_iter().collect()
    }

    /// A tool's id.
    pub(crate) fn id(&mut self, text: &str, span: &Span) -> Option<String> {
        let fits = |c: char| c.is_ascii_alphanumeric() || "_-./:".contains(c);
        let wrong = match text.char_indices().find(|(_, c)| !fits(*c)) {
            _ if text.is_empty() => "it is empty".to_owned(),
            _ if text.len() > ID_BYTES_MAX => format!("it is longer than {ID_BYTES_MAX} characters"),
            Some((_, c)) => format!("`{c}` cannot be part of one"),
            None => return Some(text.to_owned()),
        };
        let message = format!("`{text}` is no tool id: {wrong}");
        let help = "an id is made of letters, digits, `_`, `-`, `.`, `/` and `:`".to_owned();
        self.error(code::BAD_VALUE, message, span, "", Some(help));
        None
    }
}

/// Columns of a key that a message shows.
const KEY_COLUMNS_MAX: usize = 80;

/// Characters of a tool's id.
const ID_BYTES_MAX: usize = 128;

/// The text of a scalar that is something.
fn scalar_text(node: &Node) -> Option<&str> {
    node.scalar().filter(|scalar| scalar.meaning != Meaning::Null).map(|scalar| scalar.text.as_str())
}

fn is_null(node: &Node) -> bool {
    node.scalar().is_some_and(|scalar| scalar.meaning == Meaning::Null)
}
