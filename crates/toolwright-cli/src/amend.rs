//! One member put into a file that people write, or taken out of it: YAML, JSON, and JSON with comments. Everything else in
//! the file stays as it is, comments and layout too; what could not be read again afterwards is not done.

use std::fs;
use std::io;
use std::path::Path;

use toolwright::Value;

use crate::app::App;
use crate::code;
use crate::config::yaml::{self, Entry, Kind, Meaning, Node, write};
use crate::diagnostic::Finding;
use crate::exit::Exit;
use crate::lock::sorted;
use crate::secret::Secrets;
use crate::style::{Style, one_line};
use crate::visible::visible;

/// How a file is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// YAML; JSON is some of it.
    Yaml,
    /// JSON, with comments and commas at the end of lists.
    Json,
}

/// A step of indentation.
const INDENT: &str = "  ";

impl Form {
    /// By the name of the file.
    pub(crate) fn of(path: &std::path::Path) -> Self {
        let is_json = path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("json"));
        if is_json { Self::Json } else { Self::Yaml }
    }

    /// What the file says.
    ///
    /// # Errors
    /// In words, when it cannot be read.
    pub(crate) fn read(self, text: &str) -> Result<Option<Node>, String> {
        let plain = self.plain(text);
        let (root, problems) = yaml::parse(&plain);
        match problems.first() {
            Some(problem) => Err(problem.message.clone()),
            None => Ok(root.filter(|root| !is_null(root))),
        }
    }

    /// The text of the same length in which comments, commas at ends and tabs are blanks.
    fn plain(self, text: &str) -> String {
        match self {
            Self::Yaml => text.to_owned(),
            Self::Json => without_comments(text),
        }
    }

    /// The text in which `section` has a member `name` that is `value`.
    ///
    /// # Errors
    /// In words, when the file cannot be read, or nothing can be put there without changing something else.
    pub(crate) fn set(self, text: &str, section: &str, name: &str, value: &Value) -> Result<String, String> {
        match of_crlf(text) {
            Some(text) => self.set_lines(&text, section, name, value).map(|text| to_crlf(&text)),
            None => self.set_lines(text, section, name, value),
        }
    }

    fn set_lines(self, text: &str, section: &str, name: &str, value: &Value) -> Result<String, String> {
        let wanted = |before: &Value| with(before, section, |inner| with_member(inner, name, Some(value)));
        let Some(root) = self.read(text)? else {
            let whole = Value::object([(section, Value::object([(name, value.clone())]))]);
            let written = match self {
                Self::Json => format!("{}\n", whole.to_json_pretty()),
                // What stood there is a comment at most.
                Self::Yaml => format!("{}{}", with_line_end(text), block(&whole, "")),
            };
            return self.checked(written, &wanted(&Value::object::<&str, Value>([])));
        };
        let Some(entries) = root.entries() else { return Err("it is no mapping".to_owned()) };
        let before = root.to_value();
        let written = match entries.iter().find(|entry| entry.key == section) {
            None => self.inserted(text, &root, section, &Value::object([(name, value.clone())])),
            Some(entry) if is_null(&entry.value) => {
                let whole = Value::object([(section, Value::object([(name, value.clone())]))]);
                self.replaced(text, &root, entry, section, whole.get(section).unwrap_or(value))
            }
            Some(entry) => match entry.value.entries() {
                None => return Err(format!("`{section}` is no mapping")),
                Some(inner) => match inner.iter().find(|entry| entry.key == name) {
                    Some(there) => self.replaced(text, &entry.value, there, name, value),
                    None if inner.is_empty() && is_flow(text, &entry.value) => {
                        self.replaced(text, &root, entry, section, &Value::object([(name, value.clone())]))
                    }
                    None => self.inserted(text, &entry.value, name, value),
                },
            },
        };
        self.checked(written, &wanted(&before))
    }

    /// The text without the member `name` of `section`; `None` when it is not there.
    ///
    /// # Errors
    /// As [`Form::set`].
    pub(crate) fn unset(self, text: &str, section: &str, name: &str) -> Result<Option<String>, String> {
        match of_crlf(text) {
            Some(text) => Ok(self.unset_lines(&text, section, name)?.map(|text| to_crlf(&text))),
            None => self.unset_lines(text, section, name),
        }
    }

    fn unset_lines(self, text: &str, section: &str, name: &str) -> Result<Option<String>, String> {
        let Some(root) = self.read(text)? else { return Ok(None) };
        let Some(entry) = root.get(section).and_then(|section| section.entry(name)) else { return Ok(None) };
        let plain = self.plain(text);
        let (start, mut end) = (entry.key_span.start, entry.value.span.end);
        let first = |text: &str, c: char| text.trim_start().starts_with(c).then(|| text.len() - text.trim_start().len());
        let mut head = text.get(..start).unwrap_or_default().to_owned();
        match first(plain.get(end..).unwrap_or_default(), ',') {
            Some(comma) => end += comma + 1,
            // The last one goes with the comma before it; a comment between them stays.
            None => {
                let before = plain.get(..start).unwrap_or_default().trim_end();
                if before.ends_with(',') {
                    head.replace_range(before.len() - 1..before.len(), "");
                }
            }
        }
        let tail = text.get(end..).unwrap_or_default();
        let rest = tail.trim_start_matches([' ', '\t']);
        let alone = head.rsplit('\n').next().is_some_and(|line| line.trim().is_empty()) && rest.starts_with('\n');
        let written = match head.trim_end_matches([' ', '\t']).strip_suffix('\n').filter(|_| alone) {
            Some(head) => format!("{head}{rest}"),
            None => format!("{head}{tail}"),
        };
        let wanted = with(&root.to_value(), section, |inner| with_member(inner, name, None));
        self.checked(written, &wanted).map(Some)
    }

    /// The text, when it says what it should.
    fn checked(self, written: String, wanted: &Value) -> Result<String, String> {
        let says = self.read(&written)?.map(|root| sorted(&root.to_value()));
        match says == Some(sorted(wanted)) {
            true => Ok(written),
            false => Err("it is written in a form that cannot be added to without changing something else".to_owned()),
        }
    }

    /// The text with one more entry at the end of a mapping that has some.
    fn inserted(self, text: &str, map: &Node, name: &str, value: &Value) -> String {
        let last = map.entries().and_then(<[Entry]>::last);
        let Some(last) = last else { return self.first(text, map, name, value) };
        let end = content_end(text, last);
        let indent = indent_of(text, map.entries().and_then(<[Entry]>::first).unwrap_or(last));
        if !is_flow(text, map) {
            let lines = block(&Value::object([(name, value.clone())]), &indent);
            let at = line_end(text, end);
            let (head, tail) = text.split_at_checked(at).unwrap_or((text, ""));
            return format!("{}{lines}{}", with_line_end(head), tail.strip_prefix('\n').unwrap_or(tail));
        }
        let several = text.get(map.span.start..last.key_span.start).is_some_and(|between| between.contains('\n'));
        let (head, tail) = text.split_at_checked(end).unwrap_or((text, ""));
        if !several {
            return format!("{head}, {}: {}{tail}", Value::from(name).to_json_string(), value.to_json_string());
        }
        // What stands behind the last value on its line, such as a comment, stays there.
        let rest = line_end(tail, 0);
        let (line, below) = tail.split_at_checked(rest).unwrap_or((tail, ""));
        let plain = self.plain(text);
        let closes = plain.get(end..end + line.len()).is_some_and(|line| line.contains(['}', ']']));
        let (line, below) = if closes { ("", tail) } else { (line, below) };
        let comma = if line.trim_start().starts_with(',') { "" } else { "," };
        let member = format!("{}: {}", Value::from(name).to_json_string(), indented(&value.to_json_pretty(), &indent));
        let end = if closes { "\n" } else { "" };
        format!("{head}{comma}{line}\n{indent}{member}{end}{below}")
    }

    /// The text with the first entry of a mapping that has none.
    fn first(self, text: &str, map: &Node, name: &str, value: &Value) -> String {
        let whole = Value::object([(name, value.clone())]);
        let mut written = text.to_owned();
        let range = map.span.start.min(text.len())..map.span.end.min(text.len());
        written.replace_range(range, &whole.to_json_pretty());
        written
    }

    /// The text with another value in the place of an entry's.
    fn replaced(self, text: &str, map: &Node, entry: &Entry, name: &str, value: &Value) -> String {
        let indent = indent_of(text, entry);
        let (head, _) = text.split_at_checked(entry.key_span.start).unwrap_or((text, ""));
        if is_flow(text, map) {
            let tail = text.get(entry.value.span.end..).unwrap_or_default();
            let several = value.as_object().is_some() && text.contains('\n');
            let shown = if several { indented(&value.to_json_pretty(), &indent) } else { value.to_json_string() };
            return format!("{head}{}: {shown}{tail}", Value::from(name).to_json_string());
        }
        let lines = block(&Value::object([(name, value.clone())]), &indent);
        let at = line_end(text, entry.value.span.end.max(entry.key_span.end));
        let tail = text.get(at..).unwrap_or_default();
        format!("{head}{}{}", lines.trim_start(), tail.strip_prefix('\n').unwrap_or(tail))
    }
}

/// The text with line feeds alone, when every line of it ends with a carriage return and a line feed.
fn of_crlf(text: &str) -> Option<String> {
    let (lines, crlf) = (text.matches('\n').count(), text.matches("\r\n").count());
    (crlf > 0 && crlf == lines).then(|| text.replace("\r\n", "\n"))
}

fn to_crlf(text: &str) -> String {
    text.replace('\n', "\r\n")
}

/// The text of a file; `None` when there is none.
///
/// # Errors
/// When it cannot be read, or is no regular file: opening a pipe would wait for its other end.
pub(crate) fn read(path: &Path) -> io::Result<Option<String>> {
    match fs::metadata(path) {
        Ok(kind) if kind.is_file() => fs::read_to_string(path).map(Some),
        Ok(kind) if kind.is_dir() => Err(io::Error::other("it is a folder")),
        Ok(_) => Err(io::Error::other("it is no regular file (a pipe or a device, perhaps)")),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// A file before and after.
pub(crate) struct Change<'t> {
    pub(crate) name: &'t str,
    pub(crate) before: &'t str,
    pub(crate) after: &'t str,
}

impl Change<'_> {
    /// The lines that go and come; not those around them, which may hold what is nobody's business.
    pub(crate) fn shown(&self, style: Style, secrets: &Secrets) -> String {
        let (before, after): (Vec<&str>, Vec<&str>) = (self.before.lines().collect(), self.after.lines().collect());
        // A line that only gets a comma may hold somebody else's secret.
        let same = |old: &str, new: &str| old.trim_end_matches(',') == new.trim_end_matches(',');
        let head = before.iter().zip(&after).take_while(|(old, new)| same(old, new)).count();
        let rest = before.len().min(after.len()) - head;
        let tail = before.iter().rev().zip(after.iter().rev()).take(rest).take_while(|(old, new)| same(old, new)).count();
        let middle =
            |lines: &[&str]| lines.get(head..lines.len() - tail).unwrap_or_default().iter().map(ToString::to_string).collect::<Vec<_>>();
        let shown = |line: &String| visible(&secrets.mask(&line.replace('\t', "    ")));
        let mut out = format!("{}\n", style.bold(&format!("{}, from line {}:", one_line(self.name), head + 1)));
        middle(&before).iter().for_each(|line| out.push_str(&format!("{}\n", style.red(&format!("-{}", shown(line))))));
        middle(&after).iter().for_each(|line| out.push_str(&format!("{}\n", style.green(&format!("+{}", shown(line))))));
        out.push('\n');
        out
    }
}

/// Whether somebody says yes to a change that was shown.
///
/// # Errors
/// When nobody does; that is told already.
pub(crate) fn agreed(app: &App) -> Result<(), Exit> {
    match crate::command::trust::asked(app) {
        Some(true) => Ok(()),
        Some(false) => {
            app.output.error("nothing was changed\n");
            Err(Exit::Refused)
        }
        None => {
            let finding = Finding::error(code::CHANGE_NOT_ACCEPTED, "nobody is here to be asked")
                .help("look at the change above, then run the same with `--yes`");
            Err(app.fail(vec![finding], Exit::NeedsApproval))
        }
    }
}

/// Writes a file that was read as `before` (`None`: it was not there): all of it or nothing.
///
/// # Errors
/// In words, when it cannot be written, or somebody else changed it.
pub(crate) fn write(path: &Path, before: Option<&str>, after: &str) -> Result<(), String> {
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        fs::create_dir_all(folder).map_err(|error| error.to_string())?;
    }
    let now = read(path).map_err(|error| error.to_string())?;
    if now.as_deref() != before {
        return Err("somebody else changed it since it was read".to_owned());
    }
    // A link stays one: what it leads to is changed.
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    crate::beside::replace(&target, after).map_err(|error| error.to_string())
}

fn is_null(node: &Node) -> bool {
    node.scalar().is_some_and(|scalar| scalar.meaning == Meaning::Null)
}

/// Whether a mapping is written with braces.
fn is_flow(text: &str, map: &Node) -> bool {
    matches!(map.kind, Kind::Map(_)) && text.get(map.span.start..).is_some_and(|rest| rest.starts_with('{'))
}

/// Where the last thing ends that an entry says: what is written in lines ends where the next thing begins, behind comments.
fn content_end(text: &str, entry: &Entry) -> usize {
    let inner = entry.value.entries().and_then(<[Entry]>::last).filter(|_| !is_flow(text, &entry.value));
    let end = inner.map_or(entry.value.span.end, |inner| content_end(text, inner));
    // Blank lines behind a text in lines are nobody's.
    text.get(..end).map_or(end, |said| said.trim_end().len()).max(entry.key_span.end)
}

/// The blanks before an entry on its line.
fn indent_of(text: &str, entry: &Entry) -> String {
    let line = text.get(..entry.key_span.start).unwrap_or_default().rsplit('\n').next().unwrap_or_default();
    line.chars().take_while(|c| matches!(c, ' ' | '\t')).collect()
}

/// Where the line ends that holds a byte; right there when it is the first of a line.
fn line_end(text: &str, at: usize) -> usize {
    if text.get(..at).is_some_and(|head| head.ends_with('\n')) {
        return at;
    }
    text.get(at..).and_then(|rest| rest.find('\n')).map_or(text.len(), |found| at + found)
}

fn with_line_end(text: &str) -> String {
    if text.is_empty() || text.ends_with('\n') { text.to_owned() } else { format!("{text}\n") }
}

fn indented(json: &str, indent: &str) -> String {
    json.replace('\n', &format!("\n{indent}"))
}

/// A mapping as YAML, an entry on each line.
pub(crate) fn block(value: &Value, indent: &str) -> String {
    let mut out = String::new();
    for (key, value) in value.as_object().into_iter().flat_map(|object| object.iter()) {
        let key = write::plain_or_quoted(key);
        match value.as_object() {
            Some(object) if !object.is_empty() => {
                out.push_str(&format!("{indent}{key}:\n{}", block(value, &format!("{indent}{INDENT}"))));
            }
            _ => out.push_str(&format!("{indent}{key}: {}\n", flow(value))),
        }
    }
    out
}

fn flow(value: &Value) -> String {
    match value {
        Value::String(text) => write::plain_or_quoted(text),
        Value::Array(items) => format!("[{}]", items.as_slice().iter().map(flow).collect::<Vec<_>>().join(", ")),
        other => other.to_json_string(),
    }
}

/// The same object with another `section`.
fn with(before: &Value, section: &str, change: impl Fn(&Value) -> Value) -> Value {
    let empty = Value::object::<&str, Value>([]);
    let inner = before.get(section).filter(|inner| !inner.is_null()).unwrap_or(&empty);
    with_member(before, section, Some(&change(inner)))
}

fn with_member(object: &Value, name: &str, value: Option<&Value>) -> Value {
    let others = object.as_object().into_iter().flat_map(|object| object.iter()).filter(|(key, _)| key.as_str() != name);
    let others = others.map(|(key, value)| (key.to_string(), value.clone()));
    Value::object(others.chain(value.map(|value| (name.to_owned(), value.clone()))))
}

/// The text of the same length without comments, commas before a closing bracket, and tabs.
fn without_comments(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = bytes.to_vec();
    let blank = |out: &mut Vec<u8>, range: std::ops::Range<usize>| {
        out.get_mut(range).into_iter().flatten().filter(|byte| !matches!(**byte, b'\n' | b'\r')).for_each(|byte| *byte = b' ');
    };
    let (mut at, mut comma) = (0, None);
    while let Some(byte) = bytes.get(at) {
        let rest = bytes.get(at..).unwrap_or_default();
        let length = match byte {
            b'"' => string_length(rest),
            b'/' if rest.starts_with(b"//") => {
                let length = rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
                blank(&mut out, at..at + length);
                length
            }
            b'/' if rest.starts_with(b"/*") => {
                let length = rest.windows(2).skip(2).position(|pair| pair == b"*/").map_or(rest.len(), |found| found + 4);
                blank(&mut out, at..at + length);
                length
            }
            b'\t' => {
                blank(&mut out, at..at + 1);
                1
            }
            b'}' | b']' => {
                if let Some(comma) = comma.take() {
                    blank(&mut out, comma..comma + 1);
                }
                1
            }
            _ => 1,
        };
        match byte {
            b',' => comma = Some(at),
            b' ' | b'\t' | b'\n' | b'\r' | b'/' => {}
            _ => comma = None,
        }
        at += length;
    }
    String::from_utf8(out).unwrap_or_else(|_| text.to_owned())
}

/// Bytes of the string that begins here, with its quotes.
fn string_length(rest: &[u8]) -> usize {
    let mut escaped = false;
    for (at, byte) in rest.iter().enumerate().skip(1) {
        match (escaped, byte) {
            (true, _) => escaped = false,
            (false, b'\\') => escaped = true,
            (false, b'"') => return at + 1,
            _ => {}
        }
    }
    rest.len()
}

#[cfg(test)]
mod tests {
    use toolwright::{Value, json};

    use super::Form;

    fn entry() -> Value {
        json!({ "command": "npx", "args": ["-y", "a@1", "."] })
    }

    #[test]
    fn yaml_keeps_its_comments_and_its_layout() {
        let added = "    command: npx\n    args: [\"-y\", a@1, .]\n";
        for (before, after) in [
            ("", format!("sources:\n  new:\n{added}")),
            ("# only a comment\n", format!("# only a comment\nsources:\n  new:\n{added}")),
            (
                "sources: # mine\n  old: {url: \"http://x\"} # there\n  # at the end\n\ntools: {}\n",
                format!("sources: # mine\n  old: {{url: \"http://x\"}} # there\n  new:\n{added}  # at the end\n\ntools: {{}}\n"),
            ),
            ("tools:\n  a:\n    effect: read", format!("tools:\n  a:\n    effect: read\nsources:\n  new:\n{added}")),
            ("sources:\ntools: {}\n", format!("sources:\n  new:\n{added}tools: {{}}\n")),
            (
                "sources:\n  s:\n    tools:\n      a:\n        argv: [cat]\n        stdin: |\n          x\n          y\n\npolicy: {}\n",
                format!(
                    "sources:\n  s:\n    tools:\n      a:\n        argv: [cat]\n        stdin: |\n          x\n          y\n  new:\n{added}\npolicy: {{}}\n"
                ),
            ),
        ] {
            assert_eq!(Form::Yaml.set(before, "sources", "new", &entry()).as_deref(), Ok(after.as_str()), "{before}");
        }
        // One line stays one.
        let flow = Form::Yaml.set("sources: {a: {url: \"http://x\"}}\n", "sources", "new", &json!({ "url": "http://y" })).unwrap();
        assert_eq!(flow, "sources: {a: {url: \"http://x\"}, \"new\": {\"url\":\"http://y\"}}\n");
    }

    #[test]
    fn json_with_comments_keeps_them() {
        let before =
            "// mine\n{\n\t\"a\": 1, // one\n\t\"mcpServers\": {\n\t\t\"old\": { \"command\": \"x // no comment\" }, // last\n\t},\n}\n";
        let after = Form::Json.set(before, "mcpServers", "new", &json!({ "command": "t" })).unwrap();
        let expected = before.replace(", // last\n", ", // last\n\t\t\"new\": {\n\t\t  \"command\": \"t\"\n\t\t}\n");
        assert_eq!(after, expected);
        let gone = before.replace("}, // last", "} // last");
        assert_eq!(Form::Json.unset(&after, "mcpServers", "new").unwrap(), Some(gone));
        for before in ["", "{}", "{\n}\n", "{\"mcpServers\": {}}", "{\n  \"mcpServers\": {},\n  \"b\": [1,],\n}", "{\"a\":1}"] {
            let after = Form::Json.set(before, "mcpServers", "new", &entry()).unwrap();
            let again = Form::Json.set(&after, "mcpServers", "new", &json!({ "url": "http://x" })).unwrap();
            let read = Form::Json.read(&again).unwrap().unwrap().to_value();
            assert_eq!(read.pointer("/mcpServers/new/url").and_then(Value::as_str), Some("http://x"), "{again}");
            let gone = Form::Json.unset(&again, "mcpServers", "new").unwrap().unwrap();
            assert!(Form::Json.read(&gone).unwrap().unwrap().get("mcpServers").unwrap().get("new").is_none(), "{gone}");
        }
    }

    #[test]
    fn line_ends_stay() {
        let yaml = "# hi\nsources:\n  # inner\n  l: # x\n    url: http://x\n# tail\n";
        let json = "{\n  // mine\n  \"sources\": {\n    \"l\": 1 // x\n  }\n}\n";
        for (form, text) in [(Form::Yaml, yaml), (Form::Json, json), (Form::Json, "{\n  \"sources\": {\n  }\n}\n")] {
            let after = form.set(text, "sources", "new", &entry()).unwrap();
            let crlf = text.replace('\n', "\r\n");
            let kept = form.set(&crlf, "sources", "new", &entry()).unwrap();
            assert_eq!(kept, after.replace('\n', "\r\n"), "{text}");
            let gone = form.unset(&after, "sources", "new").unwrap().unwrap();
            assert_eq!(form.unset(&kept, "sources", "new").unwrap().unwrap(), gone.replace('\n', "\r\n"), "{text}");
        }
        let after = Form::Yaml.set(&yaml.replace('\n', "\r\n"), "sources", "new", &entry()).unwrap();
        assert!(after.ends_with("args: [\"-y\", a@1, .]\r\n# tail\r\n"), "{after:?}");
    }

    #[test]
    fn what_cannot_be_read_is_left_alone() {
        assert!(Form::Json.set("{\"a\": ", "mcpServers", "new", &entry()).is_err());
        assert!(Form::Json.set("[]", "mcpServers", "new", &entry()).is_err());
        assert!(Form::Yaml.set("sources: 5\n", "sources", "new", &entry()).is_err());
        assert_eq!(Form::Json.unset("{}", "mcpServers", "new"), Ok(None));
    }
}
