//! `trust FILE`: the user looks at what a project wants to be allowed, and says yes.

use std::fmt::Write as _;
use std::io::{BufRead, IsTerminal};
use std::path::{Path, PathBuf};

use crate::app::App;
use crate::args::Format;
use crate::code;
use crate::config::listed;
use crate::config::policy::PolicyEntry;
use crate::config::{Config, Layer};
use crate::diagnostic::Finding;
use crate::exit::Exit;
use crate::grant::{Grants, canonical, shell_word};
use crate::host::{Host, Want};
use crate::style::{columns, cut, one_line, pad, wrap};
use crate::trust::{TrustStore, Verdict};
use crate::view::effect_words;
use crate::visible::visible;

/// What is asked for, ready to be shown.
struct Request {
    file: PathBuf,
    name: String,
    hash: String,
    tools: Vec<Asked>,
    verdict: Verdict,
}

/// One tool of the list.
struct Asked {
    id: String,
    effect: String,
    /// What the file says it runs, line by line.
    lines: Vec<String>,
    new: bool,
}

/// Shows what the file asks for, asks the user, and remembers a yes.
pub(crate) async fn trust(app: &App, path: PathBuf, yes: bool, revoke: bool) -> Exit {
    let Some(store) = app.trust_store() else {
        let finding = Finding::error(code::USAGE, "there is no place to remember it")
            .help("set `HOME`, or `TOOLWRIGHT_DATA_DIR` to a folder of yours");
        return app.fail(vec![finding], Exit::Usage);
    };
    if revoke {
        return take_back(app, &store, &path);
    }
    let request = match request(app, path, &store).await {
        Ok(request) => request,
        Err(exit) => return exit,
    };
    let Some(request) = request else {
        app.output.result("the file lists no tools with side effects: there is nothing to accept\n");
        return Exit::Ok;
    };
    if request.verdict == Verdict::Accepted {
        return done(app, &request, "already accepted");
    }
    if !yes {
        app.output.error(&shown(app, &request));
        match asked(app) {
            Some(true) => {}
            Some(false) => {
                app.output.error("nothing was changed\n");
                return Exit::Refused;
            }
            None => {
                let file = shell_word(&request.name);
                let finding = Finding::error(code::NOT_TRUSTED, "nobody is here to be asked")
                    .help(format!("look at the list above, then run `toolwright trust {file} --yes`"));
                return app.fail(vec![finding], Exit::NeedsApproval);
            }
        }
    }
    let ids: Vec<String> = request.tools.iter().map(|tool| tool.id.clone()).collect();
    match store.accept(&request.file, &request.hash, &ids) {
        Ok(()) => done(app, &request, "accepted"),
        Err(error) => {
            let message = format!("it cannot be remembered: {error}");
            let finding = Finding::error(code::UNREADABLE, message)
                .help("make the data folder writable, or set `TOOLWRIGHT_DATA_DIR` to one that is");
            app.fail(vec![finding], Exit::Usage)
        }
    }
}

fn take_back(app: &App, store: &TrustStore, path: &Path) -> Exit {
    // The file may be gone: its record is found by the path it would have.
    let file = canonical(path).or_else(|| std::path::absolute(path).ok()).unwrap_or_else(|| path.to_path_buf());
    match store.revoke(&file) {
        Ok(true) => {
            app.output.result(&format!("`{}` is no longer accepted\n", path.display()));
            Exit::Ok
        }
        Ok(false) => {
            app.output.result(&format!("`{}` was not accepted\n", path.display()));
            Exit::Ok
        }
        Err(error) => {
            let finding = Finding::error(code::UNREADABLE, format!("it cannot be taken back: {error}"));
            app.fail(vec![finding], Exit::Usage)
        }
    }
}

async fn request(app: &App, path: PathBuf, store: &TrustStore) -> Result<Option<Request>, Exit> {
    let mut common = app.common.clone();
    common.file = Some(path.clone());
    let app = App { common, output: app.output };
    let config = app.config()?;
    app.usable(&config)?;
    let wanted = config.files.iter().find(|file| file.layer == Layer::Project);
    let Some((policy, name)) = wanted.and_then(|file| Some((file.policy.as_ref()?, file.source.name()))) else {
        return Ok(None);
    };
    if policy.tools.is_empty() || policy.broken {
        return Ok(None);
    }
    let Some(file) = canonical(&path) else {
        return Ok(None);
    };
    let verdict = store.verdict(&file, &policy.hash);
    let (hash, name) = (policy.hash.clone(), name.to_owned());
    let tools = tools(&app, &config, policy, &verdict).await;
    Ok(Some(Request { file, name, hash, tools, verdict }))
}

/// The tools with what the file itself says about them; no server is started to ask.
async fn tools(app: &App, config: &Config, policy: &PolicyEntry, verdict: &Verdict) -> Vec<Asked> {
    let before = match verdict {
        Verdict::Changed(before) => before.as_slice(),
        Verdict::Accepted | Verdict::Unknown | Verdict::Unusable(_) => &[],
    };
    let effects = effects(app, config).await;
    let root = config.project().and_then(|file| file.root.as_ref());
    let ids = policy.tools.iter().map(|(id, _)| id.clone());
    let rule = |id: &str| policy.rules.iter().filter(|(tool, _)| tool == id).map(|(_, rule)| *rule).max();
    ids.map(|id| Asked {
        effect: effects
            .iter()
            .find(|(known, _)| *known == id)
            .map_or_else(|| "not described in this file".to_owned(), |(_, words)| words.clone()),
        new: !before.is_empty() && !before.contains(&id),
        lines: root
            .map_or_else(Vec::new, |root| listed::lines(root, &id, config.renamed(&id)))
            .into_iter()
            .chain(rule(&id).map(|rule| format!("asks before it runs: {}", rule.as_str())))
            .collect(),
        id,
    })
    .collect()
}

async fn effects(app: &App, config: &Config) -> Vec<(String, String)> {
    let mut common = app.common.clone();
    // What the list would allow is seen as if it were allowed.
    let listed = config.files.iter().flat_map(|file| &file.policy);
    common.allow = listed.flat_map(|policy| &policy.tools).map(|(id, _)| id.clone()).collect();
    let app = App { common, output: app.output };
    let Ok(again) = app.config() else {
        return Vec::new();
    };
    let grants = Grants::decide(&again, &app.common.allow, None);
    let declared: Vec<(String, String)> = again
        .tools
        .iter()
        .filter_map(|tool| {
            let effect = tool.effect.as_ref()?;
            Some((tool.final_id().to_owned(), effect_words(Some(effect))))
        })
        .collect();
    let host = Host::open(again, &grants, &Want::FilesOnly).await;
    let described = host.tools.iter().map(|tool| {
        let words = tool.effect_words();
        match tool.description.as_str() {
            "" => (tool.id.clone(), words),
            text => (tool.id.clone(), format!("{words}: {}", one_line(text))),
        }
    });
    described.chain(declared).collect()
}

/// Columns that ids get at most.
const ID_WIDTH_MAX: usize = 32;

fn shown(app: &App, request: &Request) -> String {
    let style = app.output.err;
    let width = request.tools.iter().map(|tool| columns(&visible(&tool.id))).max().unwrap_or_default();
    let width = width.min(ID_WIDTH_MAX);
    let mut out = format!(
        "composites of `{}` want to use {} with side effects:\n\n",
        visible(&request.name),
        match request.tools.len() {
            1 => "1 tool".to_owned(),
            many => format!("{many} tools"),
        }
    );
    for tool in &request.tools {
        let new = if tool.new { style.yellow("new  ") } else { String::new() };
        let id = pad(&visible(&tool.id), width);
        let room = app.output.width().saturating_sub(width + 9);
        let effect = cut(&visible(&tool.effect), room);
        let _ = writeln!(out, "  {}  {new}{effect}", style.bold(&id));
        for line in &tool.lines {
            let indent = " ".repeat(width + 4);
            // The whole of it: what matters may stand at the end.
            let _ = writeln!(out, "{}", style.dim(&wrap(line, app.output.width(), &indent)));
        }
    }
    if let Verdict::Changed(before) = &request.verdict {
        let gone = before.iter().filter(|id| !request.tools.iter().any(|tool| tool.id == **id));
        let gone: Vec<String> = gone.map(|id| format!("`{}`", visible(id))).collect();
        let _ = writeln!(out, "\nyou accepted another state of this list, or of what its tools run, before");
        if !gone.is_empty() {
            let _ = writeln!(out, "no longer in it: {}", gone.join(", "));
        }
    }
    if let Verdict::Unusable(why) = &request.verdict {
        let _ = writeln!(out, "\nwhat was remembered does not count: {}", visible(why));
    }
    out.push('\n');
    out
}

/// The user's answer; `None` when there is no terminal.
pub(crate) fn asked(app: &App) -> Option<bool> {
    let stdin = std::io::stdin();
    if !stdin.is_terminal() {
        return None;
    }
    app.output.error("accept? [y/N] ");
    let mut line = String::new();
    let read = stdin.lock().read_line(&mut line);
    let yes = matches!(line.trim().to_lowercase().as_str(), "y" | "yes");
    Some(read.is_ok() && yes)
}

fn done(app: &App, request: &Request, word: &str) -> Exit {
    let ids: Vec<&str> = request.tools.iter().map(|tool| tool.id.as_str()).collect();
    match app.output.format {
        Format::Json => app.output.json(&serde_json::json!({
            "file": request.file.to_string_lossy(),
            "tools": ids,
            "accepted": true,
        })),
        Format::Human | Format::Plain => {
            let file = shell_word(&request.name);
            app.output.result(&format!(
                "{word}: composites of `{}` may use {}\n",
                visible(&request.name),
                ids.iter().map(|id| format!("`{}`", visible(id))).collect::<Vec<_>>().join(", ")
            ));
            app.output.note(&format!("take it back with `toolwright trust {file} --revoke`\n"));
        }
    }
    Exit::Ok
}
