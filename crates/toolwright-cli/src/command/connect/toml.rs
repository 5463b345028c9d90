//! One table put into a TOML file that people write, or taken out of it. The file is parsed to find where the table stands;
//! only its own lines are cut and written, so that all others stay byte for byte. The result is parsed again, and when
//! anything else says something else than before, it is not done.

use std::ops::Range;

use toml_edit::{Document, Item, Table, Value as TomlValue};
use toolwright::Value;

/// The text in which `section` has a table `name` that says `entry`.
///
/// # Errors
/// In words, when the file is no TOML, or nothing can be put there without changing something else.
pub(super) fn set(text: &str, section: &str, name: &str, entry: &Value) -> Result<String, String> {
    let before = read(text)?;
    let end = line_end_of(text);
    let mut table = format!("[{section}.{}]{end}", key(name));
    for (key, value) in entry.as_object().into_iter().flat_map(|entry| entry.iter()) {
        // Text and lists of texts are the same in JSON.
        table.push_str(&format!("{key} = {}{end}", value.to_json_string()));
    }
    let ranges = own(&before, section, name)?;
    let written = match ranges.first() {
        Some(first) => {
            let behind = cut(text, ranges.get(1..).unwrap_or_default());
            let (head, tail) = behind.split_at_checked(first.start).unwrap_or((&behind, ""));
            format!("{head}{table}{}", tail.get(first.len()..).unwrap_or_default())
        }
        None if text.trim_matches(['\u{feff}', ' ', '\t', '\r', '\n']).is_empty() => format!("{text}{table}"),
        None => {
            let own_line = if text.ends_with('\n') { "" } else { end };
            format!("{text}{own_line}{end}{table}")
        }
    };
    let said = entry.as_object().into_iter().flat_map(|entry| entry.iter()).map(|(key, value)| (key.to_string(), told(value)));
    checked(&before, written, section, name, Some(&Value::object(said)))
}

/// The text without the table and those inside it; `None` when it is not there.
///
/// # Errors
/// As [`set`].
pub(super) fn unset(text: &str, section: &str, name: &str) -> Result<Option<String>, String> {
    let before = read(text)?;
    let mut ranges = own(&before, section, name)?;
    if ranges.is_empty() {
        return Ok(None);
    }
    // The blank line that sets a table off goes with it, where nothing stands behind it on the next line.
    for range in &mut ranges {
        let (head, tail) = (text.get(..range.start).unwrap_or_default(), text.get(range.end..).unwrap_or_default());
        let blank = ["\n\r\n", "\n\n"].into_iter().find(|blank| head.ends_with(blank));
        if let Some(blank) = blank.filter(|_| tail.is_empty() || tail.starts_with(['\r', '\n'])) {
            range.start -= blank.len() - 1;
        }
    }
    checked(&before, cut(text, &ranges), section, name, None).map(Some)
}

fn read(text: &str) -> Result<Document<&str>, String> {
    Document::parse(text).map_err(|error| {
        let line = error.span().and_then(|span| text.get(..span.start)).map_or(0, |head| head.matches('\n').count()) + 1;
        let why = error.message().lines().next().unwrap_or_default();
        format!("it is no TOML: {why}, at line {line}; mend it first")
    })
}

/// The lines of the table `name` of `section`, and of those inside it, in their order; none when it is not there.
fn own(document: &Document<&str>, section: &str, name: &str) -> Result<Vec<Range<usize>>, String> {
    let other = |what: &str, form: &str| {
        Err(format!("`{what}` is {form} in it, and not a table under a line `[{section}.{}]`: change it by hand", key(name)))
    };
    let there = match document.as_table().get(section) {
        None => return Ok(Vec::new()),
        Some(Item::Table(there)) => there,
        Some(item) => return other(section, form_of(item)),
    };
    let table = match there.get(name) {
        None => return Ok(Vec::new()),
        Some(Item::Table(table)) if table.is_dotted() => return other(name, "written with dotted keys"),
        Some(Item::Table(table)) => table,
        Some(item) => return other(name, form_of(item)),
    };
    let mut ranges = Vec::new();
    collect(document.raw(), table, &mut ranges)?;
    ranges.sort_by_key(|range| range.start);
    Ok(ranges)
}

fn form_of(item: &Item) -> &'static str {
    match item {
        Item::ArrayOfTables(_) => "a list of tables (`[[…]]`)",
        Item::Value(TomlValue::InlineTable(_)) => "a table in one value (`{…}`)",
        _ => "another kind of value",
    }
}

/// The whole lines of a table with a header, and of every table inside it.
fn collect(text: &str, table: &Table, ranges: &mut Vec<Range<usize>>) -> Result<(), String> {
    if !table.is_implicit() && !table.is_dotted() {
        let header = table.span().ok_or("a table in it has no place")?;
        let last = body_end(table).unwrap_or(header.end).max(header.end);
        let start = text.get(..header.start).and_then(|head| head.rfind('\n')).map_or(0, |found| found + 1);
        // What stands before the bracket on the line, such as the mark at the beginning of a file, is not the table's.
        let start = text.get(start..header.start).filter(|before| before.trim().is_empty()).map_or(header.start, |_| start);
        let end = text.get(last..).and_then(|rest| rest.find('\n')).map_or(text.len(), |found| last + found + 1);
        ranges.push(start..end);
    }
    for (_, item) in table.iter() {
        match item {
            Item::Table(inner) => collect(text, inner, ranges)?,
            Item::ArrayOfTables(inner) => inner.iter().try_for_each(|inner| collect(text, inner, ranges))?,
            Item::Value(_) | Item::None => {}
        }
    }
    Ok(())
}

/// Where the last value ends that stands under a table's own header.
fn body_end(table: &Table) -> Option<usize> {
    let ends = table.iter().filter_map(|(_, item)| match item {
        Item::Value(value) => value.span().map(|span| span.end),
        Item::Table(inner) if inner.is_dotted() => body_end(inner),
        _ => None,
    });
    ends.max()
}

fn cut(text: &str, ranges: &[Range<usize>]) -> String {
    let mut out = text.to_owned();
    for range in ranges.iter().rev().filter(|range| text.get((*range).clone()).is_some()) {
        out.replace_range(range.clone(), "");
    }
    out
}

/// The text, when it says the entry, and everything else as before.
fn checked(before: &Document<&str>, written: String, section: &str, name: &str, entry: Option<&Value>) -> Result<String, String> {
    let refused = || "it is written in a form that cannot be changed here without changing something else".to_owned();
    let after = Document::parse(written.as_str()).map_err(|_| refused())?;
    let (others, _) = split(before, section, name);
    let (same, says) = split(&after, section, name);
    let right = others == same && says == entry.map(crate::lock::sorted);
    drop(after);
    if right { Ok(written) } else { Err(refused()) }
}

/// What a file says besides an entry (a section without others counts as none), and the entry.
fn split(document: &Document<&str>, section: &str, name: &str) -> (Vec<String>, Option<String>) {
    let text = document.raw();
    let root = document.as_table();
    let inner = root.get(section).and_then(Item::as_table);
    let entry = inner.and_then(|inner| inner.get(name)).map(|item| crate::lock::sorted(&plain(text, item)));
    let named = |table: &Table, without: &str| -> Vec<String> {
        let others = table.iter().filter(|(key, _)| *key != without);
        others.map(|(key, item)| crate::lock::sorted(&Value::array([Value::from(key), plain(text, item)]))).collect()
    };
    let mut others = named(root, section);
    match (root.get(section), inner) {
        (_, Some(inner)) => others.extend(named(inner, name)),
        (Some(item), None) => others.push(crate::lock::sorted(&plain(text, item))),
        (None, None) => {}
    }
    others.sort();
    (others, entry)
}

/// What an item says: texts by what they mean, other single values as they are written.
fn plain(text: &str, item: &Item) -> Value {
    match item {
        Item::None => Value::from("nothing"),
        Item::Value(value) => plain_value(text, value),
        Item::Table(table) => Value::object(table.iter().map(|(key, item)| (key.to_owned(), plain(text, item)))),
        Item::ArrayOfTables(tables) => {
            Value::array(tables.iter().map(|table| Value::object(table.iter().map(|(key, item)| (key.to_owned(), plain(text, item))))))
        }
    }
}

fn plain_value(text: &str, value: &TomlValue) -> Value {
    match value {
        TomlValue::Array(items) => Value::array(items.iter().map(|item| plain_value(text, item))),
        TomlValue::InlineTable(table) => Value::object(table.iter().map(|(key, item)| (key.to_owned(), plain_value(text, item)))),
        TomlValue::String(string) => Value::from(format!("\"{}", string.value()).as_str()),
        other => Value::from(other.span().and_then(|span| text.get(span)).unwrap_or_default()),
    }
}

/// As [`plain`] tells an entry of ours.
fn told(value: &Value) -> Value {
    match value {
        Value::String(text) => Value::from(format!("\"{text}").as_str()),
        Value::Array(items) => Value::array(items.as_slice().iter().map(told)),
        other => Value::from(other.to_json_string().as_str()),
    }
}

fn line_end_of(text: &str) -> &'static str {
    let crlf = text.matches("\r\n").count();
    if crlf * 2 > text.matches('\n').count() { "\r\n" } else { "\n" }
}

fn key(name: &str) -> String {
    let plain = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "-_".contains(c));
    if plain { name.to_owned() } else { Value::from(name).to_json_string() }
}

#[cfg(test)]
mod tests {
    use toolwright::{Value, json};

    const TABLE: &str = "[mcp_servers.toolwright]\ncommand = \"/usr/bin/toolwright\"\nargs = [\"serve\"]\n";

    fn entry() -> Value {
        json!({ "command": "/usr/bin/toolwright", "args": ["serve"] })
    }

    fn set(text: &str) -> Result<String, String> {
        super::set(text, "mcp_servers", "toolwright", &entry())
    }

    fn unset(text: &str) -> Result<Option<String>, String> {
        super::unset(text, "mcp_servers", "toolwright")
    }

    /// Files without the table: it comes at the end, and gone it leaves every byte as it was.
    #[test]
    fn a_table_comes_and_goes() {
        for before in [
            "model = \"x\" # mine\n\n[mcp_servers.other]\ncommand = \"o\"\n",
            "x = \"\"\"\n[mcp_servers.toolwright]\ncommand = \"keep me\"\n\"\"\"\n[mcp_servers.a]\ncommand = \"x\"\n",
            "k = '''\n[mcp_servers]\n'''\n",
            "[mcp_servers.a]\nargs = [\n '[mcp_servers.toolwright]',\n]\n# the end\n",
            "[mcp_servers]\n[mcp_servers.b]\n",
            "mcp_servers.a.command = 'x'\n",
            "\u{feff}a = 0x1F\nb = 1979-05-27T07:32:00Z\nc = nan\n[[list]]\nd = [{ e = 1.50 }]\n",
            "\n\n# many\n\n\n",
        ] {
            let table = format!("\n{TABLE}");
            assert_eq!(set(before).as_deref(), Ok(format!("{before}{table}").as_str()), "{before}");
            assert_eq!(unset(&format!("{before}{table}")), Ok(Some(before.to_owned())), "{before}");
            assert_eq!(unset(before), Ok(None), "{before}");
            let (crlf, table) = (before.replace('\n', "\r\n"), table.replace('\n', "\r\n"));
            assert_eq!(set(&crlf).as_deref(), Ok(format!("{crlf}{table}").as_str()), "{crlf:?}");
            assert_eq!(unset(&format!("{crlf}{table}")), Ok(Some(crlf.clone())), "{crlf:?}");
        }
        assert_eq!(set("").as_deref(), Ok(TABLE));
        assert_eq!(set("a = 1").as_deref(), Ok(format!("a = 1\n\n{TABLE}").as_str()));
    }

    /// Files with the table, in every form of its header: it is written where it stands, and only its lines go.
    #[test]
    fn a_table_that_is_there_is_replaced_and_taken_out() {
        for (head, own, tail) in [
            ("a = 1\n", "[mcp_servers.toolwright] # c\ncommand='x' # [z]\nargs=['a',\n'[z]']\n", "[z]\nq=1\n"),
            ("", "[mcp_servers.\"toolwright\"]\ncommand=\"old\"\n[mcp_servers.\"toolwright\".env]\nA=\"1\"\n", "[z]\nk=1\n"),
            ("", "[ mcp_servers . toolwright ]\ncommand='''\n[z]\n'''\n", "# of z\n[z]\n"),
            (
                "# mine\n",
                "  [mcp_servers.toolwright]\n  a.b.c = 1\n  [[mcp_servers.toolwright.list]]\n  x = 1\n",
                "\n# more\n[mcp_servers.z]\nk=1\n",
            ),
            ("[mcp_servers.a]\nk = 1\n# of a\n", "[mcp_servers.toolwright]\n", "[mcp_servers.b]\r\nk = 1\r\n"),
            ("a = 1\n", "[mcp_servers.toolwright.env]\nA = 'b'\n", ""),
        ] {
            let before = format!("{head}{own}{tail}");
            let after = set(&before).unwrap();
            assert_eq!(after, format!("{head}{TABLE}{tail}"), "{before}");
            assert_eq!(set(&after).unwrap(), after, "{before}");
            assert_eq!(unset(&before), Ok(Some(format!("{head}{tail}"))), "{before}");
        }
        // Tables of it that stand elsewhere go too, and what stands between them stays.
        let before = format!("{TABLE}[z]\nk = 1\n[mcp_servers.toolwright.env]\nSECRET = \"v\"\n[y]\n");
        assert_eq!(set(&before).unwrap(), format!("{TABLE}[z]\nk = 1\n[y]\n"));
        assert_eq!(unset(&before), Ok(Some("[z]\nk = 1\n[y]\n".to_owned())));
    }

    #[test]
    fn other_forms_are_left_alone_with_words_that_teach() {
        for (text, words) in [
            ("bad = = 1\n", "at line 1; mend it first"),
            ("a = 1\n[b]\na = 1\na = 2\n", "at line 4"),
            ("mcp_servers = { a = { command = \"x\" } }\n", "`mcp_servers` is a table in one value"),
            ("[[mcp_servers]]\na = 1\n", "`mcp_servers` is a list of tables"),
            ("mcp_servers = 5\n", "`mcp_servers` is another kind of value"),
            ("[mcp_servers]\ntoolwright = 5\n", "`toolwright` is another kind of value"),
            ("[mcp_servers]\ntoolwright = {}\n", "`toolwright` is a table in one value"),
            ("\"mcp_servers\".toolwright={command=\"q\"}\n", "`toolwright` is a table in one value"),
            ("mcp_servers.toolwright.command=\"old\"\n", "`toolwright` is written with dotted keys"),
            ("[[mcp_servers.toolwright]]\ncommand='x'\n", "`toolwright` is a list of tables"),
        ] {
            let (error, gone) = (set(text).unwrap_err(), unset(text).unwrap_err());
            assert!(error.contains(words) && gone.contains(words), "{text}: {error}");
        }
    }
}
