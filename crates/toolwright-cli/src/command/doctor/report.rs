//! What was seen of each source, for people and for scripts.

use std::fmt::Write as _;

use serde_json::json;
use toolwright_mcp::upstream::Era;

use super::examine::{Examined, Problem, Program};
use crate::command::list::kind_words;
use crate::output::Output;
use crate::style::{limited, one_line, printable, wrap};

/// Lines of a server's stderr that are shown.
const STDERR_LINES_SHOWN: usize = 8;

/// Columns of the word before a fact.
const WORD_COLUMNS: usize = 11;

/// Everything, for a terminal.
pub(super) fn human(examined: &[Examined], output: Output) -> String {
    let mut out = String::new();
    for source in examined {
        if !out.is_empty() {
            out.push('\n');
        }
        let state = match source.is_well() {
            true => output.out.green("ok"),
            false => output.out.red("needs attention"),
        };
        let kind = if source.kind == "off" { "not used" } else { kind_words(source.kind) };
        let name = output.out.bold(&one_line(&source.name));
        let _ = writeln!(out, "{name}  {}  {state}", output.out.dim(&format!("{kind}, {}", one_line(&source.place))));
        for (word, text) in facts(source) {
            fact(&mut out, output, word, &text);
        }
        for problem in &source.problems {
            let code = if problem.fatal { output.out.red(&problem.code) } else { output.out.yellow(&problem.code) };
            let _ = writeln!(out, "{}", wrap(&format!("{code}: {}", printable(&limited(&problem.message))), output.width(), "  "));
            if let Some(help) = &problem.help {
                let _ = writeln!(out, "{}", wrap(&format!("help: {}", printable(&limited(help))), output.width(), "    "));
            }
        }
    }
    if out.is_empty() {
        return "there are no sources\n".to_owned();
    }
    let (tools, bytes, tokens) = sums(examined);
    let _ = writeln!(out, "\n{tools} tools in all: {} of definitions, about {tokens} tokens of a model's context", size(bytes));
    out
}

fn fact(out: &mut String, output: Output, word: &str, text: &str) {
    let indent = " ".repeat(WORD_COLUMNS + 2);
    let wrapped = wrap(text, output.width(), &indent);
    let _ = writeln!(out, "  {}{}", output.out.dim(&format!("{word:<WORD_COLUMNS$}")), wrapped.trim_start());
}

/// What is known of a source, in words.
fn facts(source: &Examined) -> Vec<(&'static str, String)> {
    let mut facts: Vec<(&'static str, String)> = source.programs.iter().map(|program| ("program", of_program(program))).collect();
    facts.extend(source.url.as_ref().map(|url| ("url", one_line(url))));
    if let Some(status) = &source.status {
        if let Some(version) = &status.protocol_version {
            let server = status.server_version.as_deref().map(|server| format!(", {}", one_line(server))).unwrap_or_default();
            let took = source.took.map(|took| format!(", its tools listed after {} ms", took.as_millis())).unwrap_or_default();
            facts.push(("speaks", format!("MCP {}{server}{took}", one_line(version))));
        }
        if status.failures > 0 {
            let wait = status.retry_in.map(|wait| format!("; left alone for {} s more", wait.as_secs() + 1)).unwrap_or_default();
            facts.push(("failures", format!("{} in a row{wait}", status.failures)));
        }
        if status.restarts > 0 {
            facts.push(("restarts", status.restarts.to_string()));
        }
    }
    if source.kind != "off" && source.is_listed() {
        let pages = match source.pages.len() {
            0 | 1 => String::new(),
            count => format!(" on {count} pages"),
        };
        facts.push(("tools", format!("{}{pages}, {}, about {} tokens", source.tools, size(source.bytes), source.tokens())));
    }
    if source.status.is_some() {
        facts.push((
            "lock",
            match source.locked {
                None => "not in it: `toolwright lock` keeps what it says now".to_owned(),
                Some(count) if source.withheld.is_empty() => format!("{count} tools, as accepted"),
                Some(count) => format!("{count} tools, {} not as accepted", source.withheld.len()),
            },
        ));
    }
    facts.extend(source.renamed.iter().map(|(from, to)| ("renamed", format!("{} → {}", one_line(from), one_line(to)))));
    facts.extend(source.skipped.iter().map(|(name, why)| ("left out", format!("{}: {}", one_line(name), one_line(&limited(why))))));
    facts.extend(source.withheld.iter().map(|changed| ("withheld", format!("{}: {}", one_line(&changed.tool), one_line(&changed.why)))));
    facts.extend(source.warnings.iter().map(|warning| ("note", one_line(&limited(warning)))));
    if let Some(status) = source.status.as_ref().filter(|status| !status.stderr_tail.is_empty()) {
        let lines: Vec<&str> = status.stderr_tail.lines().collect();
        let first = lines.len().saturating_sub(STDERR_LINES_SHOWN);
        let tail: Vec<String> = lines.iter().skip(first).map(|line| one_line(&limited(line))).collect();
        facts.push(("stderr", tail.join("\n")));
    }
    facts
}

fn of_program(program: &Program) -> String {
    match &program.found {
        Some(found) => format!("{} → {}", one_line(&program.command), one_line(found)),
        None => format!("{} is not there; searched: {}", one_line(&program.command), one_line(&program.searched.join(":"))),
    }
}

fn size(bytes: usize) -> String {
    match bytes {
        0..1_000 => format!("{bytes} bytes"),
        _ => format!("{}.{} kB", bytes / 1_000, bytes % 1_000 / 100),
    }
}

fn sums(examined: &[Examined]) -> (usize, usize, usize) {
    let add = |(tools, bytes, tokens), source: &Examined| (tools + source.tools, bytes + source.bytes, tokens + source.tokens());
    examined.iter().fold((0, 0, 0), add)
}

/// Columns with tabs between them: source, `ok` or the code of the first problem, tools, bytes, tokens, what is wrong.
pub(super) fn plain(source: &Examined) -> String {
    let first = source.problems.iter().find(|problem| problem.fatal);
    let state = first.map_or("ok", |problem| problem.code.as_str());
    let message = first.map(|problem| problem.message.as_str()).unwrap_or_default();
    let (tools, bytes, tokens) = (source.tools.to_string(), source.bytes.to_string(), source.tokens().to_string());
    let columns = [source.name.as_str(), state, &tools, &bytes, &tokens, message].map(one_line);
    format!("{}\n", columns.join("\t"))
}

/// One document.
pub(super) fn to_json(examined: &[Examined]) -> serde_json::Value {
    let (tools, bytes, tokens) = sums(examined);
    json!({
        "sources": examined.iter().map(source).collect::<Vec<_>>(),
        "budget": {"tools": tools, "bytes": bytes, "tokens": tokens},
    })
}

fn source(source: &Examined) -> serde_json::Value {
    let status = source.status.as_ref();
    let programs = source.programs.iter();
    json!({
        "name": source.name,
        "kind": source.kind,
        "place": source.place,
        "ok": source.is_well(),
        "programs": programs.map(|program| json!({
            "command": program.command,
            "found": program.found,
            "searched": program.searched,
        })).collect::<Vec<_>>(),
        "url": source.url,
        "state": status.map(|status| status.state.as_str()),
        "protocol": status.and_then(|status| status.protocol_version.as_deref()),
        "server": status.and_then(|status| status.server_version.as_deref()),
        "tookMs": source.took.map(|took| u64::try_from(took.as_millis()).unwrap_or(u64::MAX)),
        "era": status.and_then(|status| status.era).map(era_word),
        "failures": status.map(|status| status.failures),
        "retryInMs": status.and_then(|status| status.retry_in).map(|wait| u64::try_from(wait.as_millis()).unwrap_or(u64::MAX)),
        "restarts": status.map(|status| status.restarts),
        "lastError": status.and_then(|status| status.last_error.as_deref()),
        "noiseLines": status.map(|status| status.noise_lines),
        "stderrTail": status.map(|status| status.stderr_tail.as_str()),
        "pages": source.pages,
        "tools": source.tools,
        "bytes": source.bytes,
        "tokens": source.tokens(),
        "locked": source.locked,
        "leftOut": source.skipped.iter().map(|(name, reason)| json!({"name": name, "reason": reason})).collect::<Vec<_>>(),
        "renamed": source.renamed.iter().map(|(from, to)| json!({"from": from, "to": to})).collect::<Vec<_>>(),
        "withheld": source.withheld.iter().map(|changed| json!({"name": changed.tool.as_str(), "reason": changed.why})).collect::<Vec<_>>(),
        "warnings": source.warnings,
        "problems": source.problems.iter().map(problem).collect::<Vec<_>>(),
    })
}

fn era_word(era: Era) -> &'static str {
    match era {
        Era::Auto => "unknown",
        Era::Sessions => "sessions",
        Era::Sessionless => "sessionless",
    }
}

fn problem(problem: &Problem) -> serde_json::Value {
    json!({"code": problem.code, "message": problem.message, "help": problem.help, "fatal": problem.fatal})
}
