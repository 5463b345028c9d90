//! Blocks of a result that a command line does not print: pictures, sounds, links, and what nobody knows. They are told instead,
//! with what they are and how to get them.

use toolwright::{ToolResult, Value};

use crate::app::Kept;
use crate::style::{cut, one_line};

/// Blocks that are told one by one.
const BLOCKS_TOLD_MAX: usize = 10;
/// Columns of an address that is told.
const ADDRESS_COLUMNS_MAX: usize = 80;

/// The blocks of a result.
fn blocks(result: &ToolResult) -> &[Value] {
    result.content.as_ref().and_then(Value::as_array).unwrap_or_default()
}

/// Whether the output is nothing but the blocks.
fn is_blocks(result: &ToolResult) -> bool {
    let inside = result.output.as_ref().and_then(|output| output.get("content"));
    inside.and_then(Value::as_array).is_some_and(|inside| !inside.is_empty() && inside == blocks(result))
}

/// The text among the blocks of a result that is nothing but blocks, if it is that.
pub(super) fn text(result: &ToolResult) -> Option<&str> {
    is_blocks(result).then(|| result.value().get("text").and_then(Value::as_str).unwrap_or_default())
}

/// Which blocks were not printed, and where they are.
pub(super) fn not_printed(result: &ToolResult, kept: Option<&Kept>) -> Option<String> {
    let left: Vec<&Value> = blocks(result).iter().filter(|block| kind(block) != "text").collect();
    let all: Vec<String> = left.iter().take(BLOCKS_TOLD_MAX).map(|block| told(block)).collect();
    let count = match left.len() {
        0 => return None,
        1 => "1 block of the result was not printed".to_owned(),
        many => format!("{many} blocks of the result were not printed"),
    };
    let more = match left.len().saturating_sub(BLOCKS_TOLD_MAX) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let export = kept.map(|kept| format!("`toolwright journal export {}{}` has them, and runs nothing", kept.id, kept.options));
    let json = is_blocks(result).then(|| "`--format json` prints them with the result".to_owned());
    let help: Vec<String> = export.into_iter().chain(json).collect();
    let help = if help.is_empty() { "a run that is kept has them".to_owned() } else { help.join("; ") };
    Some(format!("{count}: {}{more}; {help}", all.join(", ")))
}

fn kind(block: &Value) -> &str {
    block.get("type").and_then(Value::as_str).unwrap_or_default()
}

/// `image (image/png, 8 bytes)`
fn told(block: &Value) -> String {
    let text = |of: &Value, name: &str| of.get(name).and_then(Value::as_str).map(one_line);
    let (name, inside) = match kind(block) {
        "" => ("a block without a type".to_owned(), block),
        "resource" => ("resource".to_owned(), block.get("resource").unwrap_or(block)),
        kind => (cut(&one_line(kind), ADDRESS_COLUMNS_MAX), block),
    };
    let address = text(inside, "uri").map(|uri| format!(" {}", cut(&uri, ADDRESS_COLUMNS_MAX)));
    let facts: Vec<String> = text(inside, "mimeType").map(|mime| cut(&mime, ADDRESS_COLUMNS_MAX)).into_iter().chain(size(inside)).collect();
    let facts = if facts.is_empty() { String::new() } else { format!(" ({})", facts.join(", ")) };
    format!("{name}{}{facts}", address.unwrap_or_default())
}

/// How large it is: what it says of itself, else what was sent.
fn size(inside: &Value) -> Option<String> {
    let bytes = |count: usize| if count == 1 { "1 byte".to_owned() } else { format!("{count} bytes") };
    let sent = ["data", "blob"].iter().find_map(|name| inside.get(name)?.as_str());
    match (sent, inside.get("text").and_then(Value::as_str)) {
        (Some(base64), _) => Some(bytes(decoded(base64))),
        (None, Some(text)) => Some(bytes(text.len())),
        // A link: what it leads to was not sent.
        (None, None) => inside.get("size").and_then(Value::as_u64).map(|size| bytes(usize::try_from(size).unwrap_or(usize::MAX))),
    }
}

/// The bytes that a text in base64 stands for.
fn decoded(base64: &str) -> usize {
    base64.trim_end_matches('=').len() * 3 / 4
}

#[cfg(test)]
mod tests {
    use toolwright::json;

    use super::*;

    #[test]
    fn a_block_is_told_by_what_it_is_and_how_large() {
        let table = [
            (json!({ "type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png" }), "image (image/png, 8 bytes)"),
            (json!({ "type": "audio", "data": "AAAA", "mimeType": "audio/wav" }), "audio (audio/wav, 3 bytes)"),
            (
                json!({ "type": "resource_link", "uri": "file:///r.pdf", "mimeType": "application/pdf" }),
                "resource_link file:///r.pdf (application/pdf)",
            ),
            (json!({ "type": "resource_link", "uri": "file:///r.pdf", "size": 5 }), "resource_link file:///r.pdf (5 bytes)"),
            (
                json!({ "type": "resource", "resource": { "uri": "a:b", "mimeType": "text/plain", "text": "hello" } }),
                "resource a:b (text/plain, 5 bytes)",
            ),
            (json!({ "type": "hologram", "blob": "AA==" }), "hologram (1 byte)"),
            (json!({ "type": "a\u{1b}[2J\nb" }), "a [2J b"),
            (json!({}), "a block without a type"),
            (json!(7), "a block without a type"),
        ];
        for (block, expected) in table {
            assert_eq!(told(&block), expected);
        }
    }
}
