//! `list --as-clients`: the tools as clients see them, under which names, and what they cost those who list them.

use std::fmt::Write as _;

use serde_json::json;
use toolwright_mcp::server::{Audience, Generation, Profile, Surface};

use crate::app::App;
use crate::args::Format;
use crate::host::Host;
use crate::output::Output;
use crate::serving::Serving;
use crate::style::{columns, cut, limited, one_line, pad, wrap};

/// Columns of a name that nobody can use.
const NAME_COLUMNS_MAX: usize = 48;

/// The tools that the clients of the default audience see.
pub(super) fn text(app: &App, host: &Host, serving: &Serving, audience: &Audience) -> String {
    let profile = audience.profile.clone().unwrap_or_default();
    let surface = Surface::build(&host.catalog, audience, &profile, Generation::Sessionless, usize::MAX);
    let shown = Shown { host, surface, profile, named: serving.audiences.len() > 1 };
    match app.output.format {
        Format::Json => shown.json(),
        Format::Plain => shown.plain(),
        Format::Human => shown.human(app.output),
    }
}

struct Shown<'h> {
    host: &'h Host,
    surface: Surface,
    profile: Profile,
    /// There are audiences beside the default one.
    named: bool,
}

impl Shown<'_> {
    fn source(&self, id: &str) -> &str {
        self.host.find(id).map_or("", |view| view.source.as_str())
    }

    /// What servers offer and nobody can use: source, name, reason.
    fn unusable(&self) -> impl Iterator<Item = (&str, &str, &str)> {
        let sources = self.host.sources.iter();
        sources.flat_map(|source| source.skipped.iter().map(|(name, reason)| (source.name.as_str(), name.as_str(), reason.as_str())))
    }

    fn totals(&self) -> (usize, usize, usize) {
        let budgets = self.surface.budgets();
        let sum = |of: fn(&toolwright_mcp::server::Budget) -> usize| budgets.iter().map(of).sum();
        (sum(|budget| budget.tools), sum(|budget| budget.bytes), sum(|budget| budget.tokens()))
    }

    fn json(&self) -> String {
        let tools = self.surface.tools().map(|(id, name)| {
            let bytes = self.surface.bytes(id);
            json!({"name": name.as_str(), "id": id.as_str(), "source": self.source(id), "bytes": bytes, "tokens": bytes.div_ceil(4)})
        });
        let sources = self.surface.budgets().iter().map(
            |budget| json!({"source": budget.source.as_str(), "tools": budget.tools, "bytes": budget.bytes, "tokens": budget.tokens()}),
        );
        let left_out = self.surface.left_out().iter();
        let left_out = left_out.map(|left| json!({"id": left.tool.as_str(), "cause": left.cause, "reason": left.reason}));
        let unusable = self.unusable();
        let unusable =
            unusable.map(|(source, name, reason)| json!({"source": source, "name": name, "cause": "unusable", "reason": reason}));
        let left_out = left_out.chain(unusable);
        let renamed = self.surface.renamed().iter();
        let renamed = renamed.map(|one| json!({"id": one.tool.as_str(), "name": one.name.as_str(), "reason": one.reason}));
        let (count, bytes, tokens) = self.totals();
        let document = json!({
            "profile": self.profile.name.as_str(),
            "tools": tools.collect::<Vec<_>>(),
            "sources": sources.collect::<Vec<_>>(),
            "total": {"tools": count, "bytes": bytes, "tokens": tokens},
            "renamed": renamed.collect::<Vec<_>>(),
            "leftOut": left_out.collect::<Vec<_>>(),
        });
        format!("{document:#}\n")
    }

    /// Columns with tabs between them: exposed name, id, source, bytes, estimated tokens.
    fn plain(&self) -> String {
        let rows = self.surface.tools().map(|(id, name)| {
            let bytes = self.surface.bytes(id);
            format!("{name}\t{}\t{}\t{bytes}\t{}\n", one_line(id), one_line(self.source(id)), bytes.div_ceil(4))
        });
        rows.collect()
    }

    fn human(&self, output: Output) -> String {
        let style = output.out;
        let mut out = String::new();
        let width = self.surface.tools().map(|(_, name)| columns(name)).max().unwrap_or(0).min(64);
        for (id, name) in self.surface.tools() {
            let was = if name == id { String::new() } else { format!("  {}", one_line(id)) };
            let tokens = self.surface.bytes(id).div_ceil(4);
            let _ = writeln!(out, "{}  {tokens:>6}{}", style.bold(&pad(name, width)), style.dim(&was));
        }
        if out.is_empty() {
            out.push_str("clients see no tools\n");
        }
        out.push('\n');
        for budget in self.surface.budgets() {
            let name = if budget.source.is_empty() { "others".to_owned() } else { one_line(&budget.source) };
            let _ = writeln!(out, "{}", amounts(&name, budget.tools, budget.bytes, budget.tokens()));
        }
        let (count, bytes, tokens) = self.totals();
        let _ = writeln!(out, "{}", amounts("together", count, bytes, tokens));
        let kept: Vec<_> = self.surface.left_out().iter().filter(|left| left.cause != "hidden").collect();
        for (at, left) in kept.iter().enumerate() {
            let gap = if at == 0 { "\n" } else { "" };
            let text = format!("not seen: {}: {}", one_line(&left.tool), left.reason);
            let _ = writeln!(out, "{gap}{}", style.dim(&wrap(&text, output.width(), "  ")));
        }
        for (at, (source, name, reason)) in self.unusable().enumerate() {
            let gap = if at == 0 && kept.is_empty() { "\n" } else { "" };
            let text =
                format!("not seen: {} of {}: {}", cut(&one_line(name), NAME_COLUMNS_MAX), one_line(source), one_line(&limited(reason)));
            let _ = writeln!(out, "{gap}{}", style.dim(&wrap(&text, output.width(), "  ")));
        }
        if self.named {
            out.push_str("\nthis is what clients see that have no other audience; name one with --audience\n");
        }
        out
    }
}

/// `git: 3 tools, 1204 bytes, about 301 tokens`
fn amounts(name: &str, tools: usize, bytes: usize, tokens: usize) -> String {
    let tools_word = if tools == 1 { "tool" } else { "tools" };
    format!("{name}: {tools} {tools_word}, {bytes} bytes, about {tokens} tokens")
}
