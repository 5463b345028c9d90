//! `connect CLIENT`: puts `toolwright serve` into the file that a client reads its servers from; shows the change first, and
//! keeps the file as it was beside it.

mod clients;
mod toml;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde_json::json;
use toolwright::Value;

use crate::amend::{self, Change};
use crate::app::App;
use crate::args::{ConnectArgs, Format};
use crate::code;
use crate::diagnostic::Finding;
use crate::exit::Exit;
use crate::secret::Secrets;
use crate::style::one_line;
use clients::{Folders, Place, Written};

/// Writes the entry, or takes it out.
pub(crate) fn connect(app: &App, args: &ConnectArgs) -> Exit {
    match connected(app, args) {
        Ok(exit) | Err(exit) => exit,
    }
}

fn connected(app: &App, args: &ConnectArgs) -> Result<Exit, Exit> {
    let entry = entry(app, args)?;
    let config = app.project_path().and_then(|path| std::path::absolute(path).ok());
    let folders = Folders::of(|name| std::env::var_os(name));
    let folders = folders
        .ok_or_else(|| app.fail(vec![Finding::error(code::USAGE, "nothing says where your home folder is (`HOME`)")], Exit::Usage))?;
    let Place { path, written } = args.client.place(&folders, config.as_deref().and_then(Path::parent), args.user);
    if args.print {
        app.output.result(&printed(written, &args.name, &entry));
        return Ok(Exit::Ok);
    }
    let name = path.display().to_string();
    let not_changed = |why: String| {
        let help = "nothing was written; `--print` shows the entry, to put it in by hand";
        app.fail(vec![Finding::error(code::NOT_CHANGED, format!("`{name}` was not changed: {why}")).help(help)], Exit::Usage)
    };
    let before = amend::read(&path).map_err(|error| not_changed(error.to_string()))?;
    let text = before.clone().unwrap_or_default();
    let after = match args.remove {
        true => written.unset(&text, &args.name),
        false => written.set(&text, &args.name, &entry).map(Some),
    };
    let after = after.map_err(not_changed)?.filter(|after| *after != text);
    let Some(after) = after else {
        return Ok(done(app, args, &path, None, if args.remove { "it was not there" } else { "it is there already" }));
    };
    let change = Change { name: &name, before: &text, after: &after };
    if !args.yes {
        app.output.error(&change.shown(app.output.err, &Secrets::default()));
        amend::agreed(app)?;
    }
    let backup = before.is_some().then(|| backup(&path)).transpose().map_err(|error| not_changed(error.to_string()))?;
    amend::write(&path, before.as_deref(), &after).map_err(not_changed)?;
    Ok(done(app, args, &path, backup.as_deref(), if args.remove { "taken out" } else { "connected" }))
}

/// How the client starts us.
fn entry(app: &App, args: &ConnectArgs) -> Result<Value, Exit> {
    let program = std::env::current_exe().ok().and_then(|program| program.into_os_string().into_string().ok());
    let program = program.ok_or_else(|| app.fail(vec![Finding::error(code::USAGE, "nothing says where this program is")], Exit::Usage))?;
    let mut words = vec!["serve".to_owned()];
    if let Some(file) = app.project_path().and_then(|path| std::path::absolute(path).ok()) {
        if !file.is_file() {
            let finding = Finding::error(code::UNREADABLE, format!("there is no file `{}`", file.display()));
            return Err(app.fail(vec![finding], Exit::Usage));
        }
        words.extend(["--file".to_owned(), file.display().to_string()]);
    }
    words.extend(args.audience.iter().flat_map(|audience| ["--audience".to_owned(), audience.clone()]));
    Ok(args.client.entry(&program, &words))
}

fn printed(written: Written, name: &str, entry: &Value) -> String {
    match written {
        Written::Json(section) => format!("{}\n", Value::object([(section, Value::object([(name, entry.clone())]))]).to_json_pretty()),
        Written::Toml(_) => written.set("", name, entry).unwrap_or_default(),
    }
}

/// Copies the file to the first free name beside it.
fn backup(path: &Path) -> io::Result<PathBuf> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    for number in 1_u32.. {
        let copy = path.with_file_name(format!("{name}.backup-{number}"));
        if !copy.exists() {
            fs::copy(path, &copy)?;
            return Ok(copy);
        }
    }
    Err(io::Error::other("there are too many backups"))
}

fn done(app: &App, args: &ConnectArgs, path: &Path, backup: Option<&Path>, words: &str) -> Exit {
    if app.output.format == Format::Json {
        app.output.json(&json!({
            "client": args.client.called(),
            "file": path,
            "backup": backup,
            "done": words,
        }));
        return Exit::Ok;
    }
    let file = one_line(&path.display().to_string());
    app.output.result(&format!("{}: {words}: `{}` in {file}\n", args.client.called(), one_line(&args.name)));
    if let Some(backup) = backup {
        app.output.note(&format!("the file as it was is {}\n", one_line(&backup.display().to_string())));
        app.output.note(&format!("{} reads its file when it starts\n", args.client.called()));
    }
    Exit::Ok
}
