//! From the parser's events to spanned nodes.

use std::collections::HashMap;

use saphyr_parser::{Event, Parser, ScalarStyle, Tag};

use super::{DEPTH_MAX, Entry, Kind, Meaning, NODES_MAX, Node, Problem, Scalar, Style, scalar};
use crate::code;
use crate::diagnostic::Span;

/// Reads one document; what could not be read is a problem, and what could be read is returned.
pub(crate) fn parse(file: &str) -> (Option<Node>, Vec<Problem>) {
    let text = Text::new(file);
    let mut builder = Builder::new(&text);
    let mut parser = Parser::new_from_str(text.parsed());
    while let Some(event) = parser.next_event() {
        match event {
            Ok((event, span)) => {
                let span = text.span(span.start.index(), span.end.index());
                if !builder.event(event, span) {
                    break;
                }
            }
            Err(error) => {
                let at = text.byte(error.marker().index());
                builder.syntax(error.info(), at);
                break;
            }
        }
    }
    (builder.root, builder.problems)
}

/// The file's text as the parser gets it, with the way back from its characters to bytes.
struct Text<'f> {
    file: &'f str,
    rewritten: Option<String>,
    bytes: Vec<usize>,
}

impl<'f> Text<'f> {
    /// JSON writes characters beyond the basic plane as two escapes, which YAML has no word for;
    /// they are rewritten to the one that YAML has.
    fn new(file: &'f str) -> Self {
        let json = file.trim_start_matches('\u{feff}').trim_start();
        let mut bytes = Vec::with_capacity(file.len() + 1);
        if !json.starts_with(['{', '[']) || !file.contains("\\u") {
            bytes.extend(file.char_indices().map(|(at, _)| at));
            bytes.push(file.len());
            return Self { file, rewritten: None, bytes };
        }
        let mut rewritten = String::with_capacity(file.len());
        let mut at = 0;
        while let Some(rest) = file.get(at..).filter(|rest| !rest.is_empty()) {
            let (written, length) = rewrite(rest);
            for c in written.chars() {
                bytes.push(at);
                rewritten.push(c);
                // Every character of a rewritten pair stands at the pair's first byte.
                if written.len() == length {
                    at += c.len_utf8();
                }
            }
            if written.len() != length {
                at += length;
            }
        }
        bytes.push(file.len());
        Self { file, rewritten: Some(rewritten), bytes }
    }

    fn parsed(&self) -> &str {
        self.rewritten.as_deref().unwrap_or(self.file)
    }

    fn byte(&self, character: usize) -> usize {
        self.bytes.get(character).copied().unwrap_or(self.file.len())
    }

    fn span(&self, start: usize, end: usize) -> Span {
        let start = self.byte(start);
        start..self.byte(end).max(start)
    }
}

/// The next piece of JSON text as YAML writes it, and its length in the file.
fn rewrite(rest: &str) -> (std::borrow::Cow<'_, str>, usize) {
    let Some(after) = rest.strip_prefix('\\') else {
        let length = rest.find('\\').unwrap_or(rest.len());
        return (rest.get(..length).unwrap_or_default().into(), length);
    };
    if let Some(c) = surrogate_pair(after) {
        return (format!("\\U{:08x}", u32::from(c)).into(), 12);
    }
    let length = 1 + after.chars().next().map_or(0, char::len_utf8);
    (rest.get(..length).unwrap_or_default().into(), length)
}

fn surrogate_pair(after: &str) -> Option<char> {
    let hex = |text: &str| u32::from_str_radix(text, 16).ok();
    let high = hex(after.strip_prefix('u')?.get(..4)?)?.checked_sub(0xd800)?;
    let low = hex(after.get(5..)?.strip_prefix("\\u")?.get(..4)?)?.checked_sub(0xdc00)?;
    (high < 0x400 && low < 0x400).then(|| char::from_u32(0x10000 + (high << 10) + low)).flatten()
}

/// A list or mapping whose end has not come yet.
enum Open {
    List { start: usize, anchor: usize, items: Vec<Node> },
    Map { start: usize, anchor: usize, entries: Entries, key: Option<(String, Span)> },
}

/// The entries of a mapping so far, each key once.
#[derive(Default)]
struct Entries {
    list: Vec<Entry>,
    /// Their places by key, once there are so many that looking at each takes time.
    by_key: HashMap<String, usize>,
}

/// Up to so many entries a key is looked for from the front.
const KEYS_LINEAR_MAX: usize = 16;

impl Entries {
    /// Keeps it; what is wrong when its key is there already.
    fn add(&mut self, entry: Entry) -> Option<Problem> {
        if let Some(first) = self.find(&entry.key) {
            return Some(duplicate(first, &entry));
        }
        self.list.push(entry);
        let known = self.by_key.len();
        if self.list.len() > KEYS_LINEAR_MAX {
            let new = self.list.iter().enumerate().skip(known).map(|(at, entry)| (entry.key.clone(), at));
            self.by_key.extend(new);
        }
        None
    }

    fn find(&self, key: &str) -> Option<&Entry> {
        if self.by_key.is_empty() {
            return self.list.iter().find(|entry| entry.key == key);
        }
        self.list.get(*self.by_key.get(key)?)
    }
}

struct Builder<'t> {
    text: &'t Text<'t>,
    open: Vec<Open>,
    anchors: HashMap<usize, Node>,
    nodes: usize,
    documents: usize,
    root: Option<Node>,
    problems: Vec<Problem>,
}

impl<'t> Builder<'t> {
    fn new(text: &'t Text<'t>) -> Self {
        Self { text, open: Vec::new(), anchors: HashMap::new(), nodes: 0, documents: 0, root: None, problems: Vec::new() }
    }

    /// Takes one event; false when reading on makes no sense.
    fn event(&mut self, event: Event<'_>, span: Span) -> bool {
        match event {
            Event::DocumentStart(_) => return self.document(span),
            Event::Scalar(text, style, anchor, tag) => {
                let span = if matches!(style, ScalarStyle::Literal | ScalarStyle::Folded) { span } else { self.trimmed(span) };
                let scalar = self.scalar(text.into_owned(), style, tag.as_deref(), &span);
                let kind = Kind::Scalar(scalar);
                return self.complete(Node { span, kind }, anchor);
            }
            Event::SequenceStart(anchor, tag) => {
                self.tag(tag.as_deref(), "seq", &span);
                return self.push(Open::List { start: span.start, anchor, items: Vec::new() }, span);
            }
            Event::MappingStart(anchor, tag) => {
                self.tag(tag.as_deref(), "map", &span);
                return self.push(Open::Map { start: span.start, anchor, entries: Entries::default(), key: None }, span);
            }
            Event::SequenceEnd | Event::MappingEnd => return self.close(span.end),
            Event::Alias(anchor) => return self.alias(anchor, span),
            Event::Nothing | Event::StreamStart | Event::StreamEnd | Event::DocumentEnd => {}
        }
        true
    }

    /// The parser counts blanks behind a closing quote to the text.
    fn trimmed(&self, span: Span) -> Span {
        let written = self.text.file.get(span.clone()).unwrap_or_default();
        span.start..span.start + written.trim_end().len()
    }

    fn document(&mut self, span: Span) -> bool {
        self.documents += 1;
        if self.documents > 1 {
            self.problem(code::SYNTAX, "a second document begins here", span, "only the first is read").help =
                Some("one file holds one document; remove the `---`".to_owned());
        }
        self.documents == 1
    }

    fn push(&mut self, open: Open, span: Span) -> bool {
        if self.open.len() >= DEPTH_MAX {
            let message = format!("nesting is deeper than {DEPTH_MAX}");
            self.problem(code::SYNTAX, message, span, "here it becomes too deep");
            return false;
        }
        self.open.push(open);
        true
    }

    fn close(&mut self, end: usize) -> bool {
        let (node, anchor) = match self.open.pop() {
            Some(Open::List { start, anchor, items }) => (node(Kind::List(items), start, end, self.text.file), anchor),
            Some(Open::Map { start, anchor, entries, .. }) => (node(Kind::Map(entries.list), start, end, self.text.file), anchor),
            None => return false,
        };
        self.complete(node, anchor)
    }

    fn alias(&mut self, anchor: usize, span: Span) -> bool {
        match self.anchors.get(&anchor).cloned() {
            // The use keeps the place of the definition: that is where a mistake is to be mended.
            Some(node) => {
                let (nodes, depth) = extent(&node);
                self.nodes += nodes;
                if self.open.len() + depth > DEPTH_MAX {
                    let message = format!("nesting is deeper than {DEPTH_MAX}");
                    self.problem(code::SYNTAX, message, span, "with what this alias names");
                    return false;
                }
                self.complete(node, 0)
            }
            None => {
                let message = "this alias stands inside what it names";
                self.problem(code::SYNTAX, message, span.clone(), "");
                let kind = Kind::Scalar(Scalar { text: String::new(), style: Style::Plain, meaning: Meaning::Null });
                self.complete(Node { span, kind }, 0)
            }
        }
    }

    /// A finished node finds its place: a key, a value, an item, or the root.
    fn complete(&mut self, node: Node, anchor: usize) -> bool {
        self.nodes += 1;
        if self.nodes > NODES_MAX {
            let message = format!("the file holds more than {NODES_MAX} values");
            self.problem(code::SYNTAX, message, node.span, "");
            return false;
        }
        if anchor > 0 {
            self.anchors.insert(anchor, node.clone());
        }
        match self.open.last_mut() {
            None => self.root = Some(node),
            Some(Open::List { items, .. }) => items.push(node),
            Some(Open::Map { entries, key, .. }) => match key.take() {
                Some((key, key_span)) => {
                    let entry = Entry { key, key_span, value: node };
                    self.problems.extend(entries.add(entry));
                }
                None => match &node.kind {
                    Kind::Scalar(scalar) => {
                        if scalar.text == "<<" && scalar.style == Style::Plain {
                            self.problems.push(merge_key(node.span.clone()));
                        }
                        *key = Some((scalar.text.clone(), node.span));
                    }
                    Kind::List(_) | Kind::Map(_) => {
                        *key = Some((String::new(), node.span.clone()));
                        self.problems.push(key_is_no_text(&node));
                    }
                },
            },
        }
        true
    }

    fn scalar(&mut self, text: String, style: ScalarStyle, tag: Option<&Tag>, span: &Span) -> Scalar {
        let style = match style {
            ScalarStyle::Plain => Style::Plain,
            ScalarStyle::SingleQuoted => Style::Single,
            ScalarStyle::DoubleQuoted => Style::Double,
            ScalarStyle::Literal | ScalarStyle::Folded => Style::Block,
        };
        let tag = tag.filter(|tag| self.core_tag(tag, span));
        let as_text = tag.is_some_and(|tag| tag.suffix == "str");
        let meaning = if as_text || (style != Style::Plain && tag.is_none()) {
            Meaning::Text
        } else {
            // A key may be `007`: its text is all that counts. The value is judged when it is used
            // as one, so the meaning of a key is thrown away with its problem.
            let is_key = matches!(self.open.last(), Some(Open::Map { key: None, .. }));
            match scalar::plain(&text) {
                Ok(meaning) => meaning,
                Err(_) if is_key => Meaning::Text,
                Err(ambiguous) => {
                    self.problem(code::BAD_VALUE, ambiguous.message, span.clone(), "").help = Some(ambiguous.help);
                    Meaning::Text
                }
            }
        };
        Scalar { text, style, meaning }
    }

    fn tag(&mut self, tag: Option<&Tag>, fits: &str, span: &Span) {
        if let Some(tag) = tag
            && (!tag.is_yaml_core_schema() || tag.suffix != fits)
        {
            self.unknown_tag(tag, span);
        }
    }

    fn core_tag(&mut self, tag: &Tag, span: &Span) -> bool {
        let scalar = ["str", "int", "float", "bool", "null"];
        let known = tag.is_yaml_core_schema() && scalar.contains(&tag.suffix.as_str());
        if !known {
            self.unknown_tag(tag, span);
        }
        known
    }

    fn unknown_tag(&mut self, tag: &Tag, span: &Span) {
        let name = match tag.is_yaml_core_schema() {
            true => format!("!!{}", tag.suffix),
            false => tag.to_string(),
        };
        self.problem(code::SYNTAX, format!("the tag `{name}` means nothing here"), span.clone(), "").help =
            Some("remove it; to write text that begins with `!`, quote it".to_owned());
    }

    fn syntax(&mut self, info: &str, at: usize) {
        let end = self.text.file.get(at..).and_then(|rest| rest.chars().next()).map_or(at, |c| at + c.len_utf8());
        let help = syntax_help(info, self.text.file, at);
        self.problem(code::SYNTAX, info, at..end, "reading stopped here").help = help;
    }

    fn problem(&mut self, code: &'static str, message: impl Into<String>, span: Span, label: &str) -> &mut Problem {
        let at = self.problems.len();
        self.problems.push(Problem { code, message: message.into(), help: None, span, label: label.to_owned(), related: None });
        let last = self.problems.get_mut(at);
        last.expect("it was pushed just above")
    }
}

/// What usually lies behind a syntax error at this place.
fn syntax_help(info: &str, file: &str, at: usize) -> Option<String> {
    let next = file.get(at..).and_then(|rest| rest.chars().next());
    match next {
        Some('%' | '@' | '`') => Some(format!("text that begins with `{}` has to be quoted", next.unwrap_or_default())),
        Some('\t') => Some("YAML is indented with spaces".to_owned()),
        _ if info.contains("tabs") => Some("YAML is indented with spaces".to_owned()),
        _ if info.contains("mapping values are not allowed") => Some("text that contains `: ` has to be quoted".to_owned()),
        _ if info.contains("flow") && reference_before(file, at) => Some("quote a reference with brackets inside `{ }`".to_owned()),
        _ if info.contains("Unicode character escape") => Some("half of a surrogate pair stands for no character".to_owned()),
        _ => None,
    }
}

/// Whether a reference with brackets stands here on its line: inside `{ }` and `[ ]`, YAML takes the bracket for its own.
fn reference_before(file: &str, at: usize) -> bool {
    let before = file.get(..at).unwrap_or_default();
    let line = before.rsplit('\n').next().unwrap_or_default();
    let here = file.get(at..).unwrap_or_default().lines().next().unwrap_or_default();
    let reference = line.rsplit_once('$').map(|(_, rest)| rest).unwrap_or_default();
    let names = ["input", "prev", "steps"].iter().any(|root| reference.starts_with(root));
    let unbroken = !reference.contains(|c: char| c.is_whitespace() || ",}\"'".contains(c));
    names && unbroken && (here.starts_with('[') || reference.contains('['))
}

/// A collection's end in the events is where the next thing begins; its own end is before the
/// blank in between.
fn node(kind: Kind, start: usize, end: usize, file: &str) -> Node {
    let inner = file.get(start..end).unwrap_or_default();
    let span = start..start + inner.trim_end().len();
    Node { span, kind }
}

/// How many nodes there are and how deep they go.
fn extent(node: &Node) -> (usize, usize) {
    let (mut count, mut deepest) = (0, 0);
    let mut todo = vec![(node, 0)];
    while let Some((node, depth)) = todo.pop() {
        count += 1;
        deepest = deepest.max(depth);
        match &node.kind {
            Kind::List(items) => todo.extend(items.iter().map(|item| (item, depth + 1))),
            Kind::Map(entries) => {
                todo.extend(entries.iter().map(|entry| (&entry.value, depth + 1)));
            }
            Kind::Scalar(_) => {}
        }
    }
    (count, deepest)
}

fn duplicate(first: &Entry, second: &Entry) -> Problem {
    Problem {
        code: code::DUPLICATE_KEY,
        message: format!("`{}` is written twice", second.key),
        help: Some("keep one of them; nothing says which one is meant".to_owned()),
        span: second.key_span.clone(),
        label: "again here".to_owned(),
        related: Some((first.key_span.clone(), "first here".to_owned())),
    }
}

fn merge_key(span: Span) -> Problem {
    Problem {
        code: code::SYNTAX,
        message: "merge keys (`<<`) are no part of YAML 1.2".to_owned(),
        help: Some("write the members out, or use an alias for the whole value".to_owned()),
        span,
        label: String::new(),
        related: None,
    }
}

fn key_is_no_text(key: &Node) -> Problem {
    Problem {
        code: code::SYNTAX,
        message: format!("a name has to be text, not {}", key.described()),
        help: Some("text with braces or brackets has to be quoted".to_owned()),
        span: key.span.clone(),
        label: String::new(),
        related: None,
    }
}
