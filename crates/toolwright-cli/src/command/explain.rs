//! `explain CODE`: what a code means and what to do; without a code, all of them.

use toolwright::codes::{self, CodeExample, CodePage};

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
    codes::all().chain(code::PAGES).map(|page| (page.code, page.title))
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
    let page = codes::all().chain(code::PAGES).find(|page| page.code == wanted)?;
    if output.format == Format::Json {
        return Some(format!("{:#}\n", as_json(page)));
    }
    let width = output.width();
    let mut out = format!("{}: {}\n\n{}\n\nfor example:\n\n", output.out.bold(page.code), page.title, wrap(page.meaning, width, ""));
    match page.example {
        CodeExample::Told { words, .. } => out.push_str(&format!("{}\n", wrap(words, width, EXAMPLE))),
        // What is to be copied stays as it is.
        example => out.extend(example.to_string().lines().map(|line| format!("{}\n", format!("{EXAMPLE}{line}").trim_end()))),
    }
    out.push_str(&format!("\n{}\n", wrap(page.remedy, width, "")));
    Some(out)
}

/// Before each line of an example.
const EXAMPLE: &str = "    ";

/// `{code, title, meaning, example: {file, command} | {rust} | {words}, remedy}`.
fn as_json(page: &CodePage) -> serde_json::Value {
    let example = match page.example {
        CodeExample::File { file, command } => serde_json::json!({ "file": file, "command": command }),
        rust @ CodeExample::Rust(_) => serde_json::json!({ "rust": rust.to_string() }),
        CodeExample::Told { words, by } => serde_json::json!({ "words": words, "by": by }),
        other => serde_json::json!({ "words": other.to_string() }),
    };
    serde_json::json!({
        "code": page.code,
        "title": page.title,
        "meaning": page.meaning,
        "example": example,
        "remedy": page.remedy,
    })
}
