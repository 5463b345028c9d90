//! The `mcpServers` section, as clients write it.

use std::path::Path;

use super::members::CLIENT_SERVER;
use super::reader::Reader;
use super::source::{ServerEntry, Source, SourceKind, http_transport, off, stdio_transport};
use super::yaml::{Entry, Node};
use crate::code;
use crate::diagnostic::Owner;

/// Reads one entry.
pub(crate) fn read(reader: &mut Reader<'_>, entry: &Entry, base: &Path) -> Source {
    reader.owner = Owner::Source(entry.key.clone());
    let known = std::mem::take(&mut reader.secrets);
    let before = reader.findings.len();
    reader.members(&entry.value, &CLIENT_SERVER);
    let disabled = entry.value.entry("disabled").and_then(|flag| reader.flag(flag));
    let kind = match disabled {
        Some(true) => off(entry, true),
        _ => match server(reader, entry, base) {
            Some(server) if reader.findings.len() == before => SourceKind::Server(server),
            _ => off(entry, false),
        },
    };
    let secrets = std::mem::replace(&mut reader.secrets, known);
    reader.secrets.extend(&secrets);
    reader.owner = Owner::File;
    Source { name: entry.key.clone(), place: reader.place(&entry.key_span), described: Vec::new(), kind, secrets }
}

fn server(reader: &mut Reader<'_>, entry: &Entry, base: &Path) -> Option<ServerEntry> {
    let node = &entry.value;
    node.entries()?;
    let transport = match (transport(reader, node), node.get("command"), node.get("url")) {
        (Some("sse"), _, _) => {
            let kind = node.get("type").map_or(&entry.key_span, |kind| &kind.span);
            let help = "the old SSE transport is not spoken here; most servers also answer streamable HTTP, \
                        often at `/mcp`: write `\"type\": \"http\"` and that address";
            let message = "`sse` is a transport of the past";
            reader.error(code::BAD_VALUE, message, kind, "", Some(help.to_owned()));
            None
        }
        (Some("http"), _, None) | (Some("stdio"), None, _) | (None, None, None) => {
            let message = format!("nothing says how the server `{}` is reached", entry.key);
            let help = "give it `command` (stdio) or `url` (streamable HTTP)".to_owned();
            reader.error(code::MISSING_MEMBER, message, &entry.key_span, "", Some(help));
            None
        }
        (Some("http"), _, _) | (None, None, Some(_)) => http_transport(reader, node),
        _ => stdio_transport(reader, node, base),
    };
    transport.map(|transport| ServerEntry::new(&entry.key, transport))
}

fn transport(reader: &mut Reader<'_>, node: &Node) -> Option<&'static str> {
    let words = [("stdio", "stdio"), ("http", "http"), ("streamable-http", "http"), ("streamableHttp", "http"), ("sse", "sse")];
    reader.word(node.entry("type")?, &words)
}
