//! `explain CODE`: what a code means and what to do; without a code, all of them.

use toolwright::codes;

use crate::args::Format;
use crate::code;
use crate::diagnostic::{Finding, did_you_mean};
use crate::exit::Exit;
use crate::output::Output;
use crate::style::{pad, wrap};

/// Prints the page of a code, or the list.
pub(crate) fn explain(output: Output, wanted: Option<&str>) -> Exit {
    let Some(wanted) = wanted else {
        output.result(&list(output));
        return Exit::Ok;
    };
    match page(output, wanted) {
        Some(text) => {
            output.result(&text);
            Exit::Ok
        }
        None => {
            let help = did_you_mean(wanted, all().map(|(code, _)| code)).unwrap_or_else(|| "`toolwright explain` lists them".to_owned());
            let finding = Finding::error(code::USAGE, format!("there is no code `{wanted}`")).help(help);
            output.fail(&[finding], Exit::Usage)
        }
    }
}

/// Whether there is a page for a code; a tool may have codes of its own.
pub(crate) fn is_known(code: &str) -> bool {
    all().any(|(known, _)| known == code)
}

/// Every code there is.
pub(crate) fn codes() -> impl Iterator<Item = &'static str> {
    all().map(|(code, _)| code)
}

fn all() -> impl Iterator<Item = (&'static str, &'static str)> {
    let core = codes::CODES.iter().map(|page| (page.code, page.title));
    core.chain(code::PAGES.iter().map(|(code, title, _)| (*code, *title)))
}

fn list(output: Output) -> String {
    match output.format {
        Format::Json => {
            let pages: Vec<serde_json::Value> = all().map(|(code, title)| serde_json::json!({"code": code, "title": title})).collect();
            let exits: Vec<serde_json::Value> =
                Exit::TABLE.iter().map(|(exit, title)| serde_json::json!({"exit": exit.number(), "title": title})).collect();
            let document = serde_json::json!({"codes": pages, "exitCodes": exits});
            format!("{document:#}\n")
        }
        Format::Plain => all().map(|(code, title)| format!("{code}: {title}\n")).collect(),
        Format::Human => {
            let width = all().map(|(code, _)| code.len()).max().unwrap_or_default();
            let mut out = String::new();
            for (code, title) in all() {
                let indent = " ".repeat(width + 2);
                let title = wrap(title, output.width(), &indent);
                let code = output.out.bold(&pad(code, width));
                out.push_str(&format!("{code}  {}\n", title.trim_start()));
            }
            out.push_str("\nexit codes\n");
            for (exit, title) in Exit::TABLE {
                out.push_str(&format!("  {:>3}  {title}\n", exit.number()));
            }
            out
        }
    }
}

fn page(output: Output, wanted: &str) -> Option<String> {
    let own = code::PAGES.iter().find(|(code, _, _)| *code == wanted);
    let (title, parts) = match (codes::page(wanted), own) {
        (Some(page), _) => (page.title, vec![("meaning", page.meaning), ("example", page.example), ("remedy", page.remedy)]),
        (None, Some((_, title, text))) => (*title, vec![("meaning", *text)]),
        (None, None) => return None,
    };
    if output.format == Format::Json {
        let head = [("code", wanted), ("title", title)];
        let members = head.into_iter().chain(parts);
        let document: serde_json::Map<String, serde_json::Value> = members.map(|(name, text)| (name.to_owned(), text.into())).collect();
        return Some(format!("{:#}\n", serde_json::Value::from(document)));
    }
    let width = output.width();
    let mut out = format!("{}: {title}\n", output.out.bold(wanted));
    for (name, text) in parts {
        let indent = if name == "example" { "    " } else { "" };
        if name == "example" {
            out.push_str("\nfor example:\n");
        }
        out.push_str(&format!("\n{}\n", wrap(text, width, indent)));
    }
    Some(out)
}
