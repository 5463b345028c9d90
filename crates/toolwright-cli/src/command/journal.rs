//! `journal`: whether it is whole, what is in it, what may go, and where it is.

use std::io::{BufWriter, Write};

use serde_json::json;
use toolwright_sqlite::{Prune, Pruned, SqliteJournal, Verification};

use crate::app::App;
use crate::args::{Format, JournalAt, JournalCommand, PruneArgs};
use crate::code;
use crate::config::units;
use crate::diagnostic::Finding;
use crate::exit::Exit;
use crate::journal;
use crate::moment::{before, now};
use crate::output;
use crate::style::{limited, one_line};

/// Does what the command line says about the journal.
pub(crate) async fn journal(app: &App, at: &JournalAt, what: JournalCommand) -> Exit {
    let done = match what {
        JournalCommand::Verify => verify(app, at).await,
        JournalCommand::Export { run } => export(app, at, run).await,
        JournalCommand::Prune(args) => prune(app, at, &args).await,
        JournalCommand::Recover { yes } => recover(app, at, yes).await,
        JournalCommand::Path => path(app, at),
    };
    match done {
        Ok(exit) | Err(exit) => exit,
    }
}

fn path(app: &App, at: &JournalAt) -> Result<Exit, Exit> {
    let (path, _) = app.journal_file(at)?;
    let text = path.display().to_string();
    match app.output.format {
        Format::Json => app.output.json(&json!({"journal": text, "exists": path.is_file()})),
        Format::Human | Format::Plain => app.output.result(&format!("{}\n", one_line(&text))),
    }
    Ok(Exit::Ok)
}

async fn verify(app: &App, at: &JournalAt) -> Result<Exit, Exit> {
    let looked = match app.journal_to_read(at).await? {
        None => Verification::default(),
        Some((journal, path)) => {
            let looked = app.apart(move || journal.verify()).await?;
            looked.map_err(|error| app.fail(vec![journal::of_error(&path, &error)], journal::exit_of(error.kind)))?
        }
    };
    let counts = format!("{} looked at", counted(&[(looked.runs, "run"), (looked.records, "record"), (looked.values, "value")]));
    if looked.wrong.is_empty() {
        match app.output.format {
            Format::Json => app.output.json(&verified(&looked)),
            Format::Human | Format::Plain => app.output.result(&format!("whole: {counts}\n")),
        }
        return Ok(Exit::Ok);
    }
    if app.output.format == Format::Json {
        app.output.json(&verified(&looked));
        return Ok(Exit::DoesNotCheck);
    }
    let findings = looked.wrong.iter().map(|wrong| {
        let run = wrong.run.as_ref().map(|run| format!("run `{}`, ", one_line(run))).unwrap_or_default();
        let record = wrong.record.map(|record| format!("record {record}: ")).unwrap_or_default();
        Finding::error(code::JOURNAL_DAMAGED, format!("{run}{record}{}", one_line(&limited(&wrong.what))))
    });
    app.output.result(&app.output.findings_on_stdout(&findings.collect::<Vec<_>>()));
    if app.output.format == Format::Human {
        let wrong = looked.wrong.len();
        let things = if wrong == 1 { "thing is" } else { "things are" };
        app.output.result(&format!("{counts}: {wrong} {things} not as written\n"));
    }
    Ok(Exit::DoesNotCheck)
}

fn verified(looked: &Verification) -> serde_json::Value {
    let wrong = looked.wrong.iter().map(|wrong| {
        json!({
            "code": code::JOURNAL_DAMAGED,
            "run": wrong.run.as_ref().map(|run| run.to_string()),
            "record": wrong.record,
            "what": wrong.what,
        })
    });
    json!({"whole": looked.wrong.is_empty(), "runs": looked.runs, "records": looked.records, "values": looked.values, "wrong": wrong.collect::<Vec<_>>()})
}

async fn recover(app: &App, at: &JournalAt, yes: bool) -> Result<Exit, Exit> {
    let (path, _) = app.journal_file(at)?;
    let opened = app.apart({
        let path = path.clone();
        move || journal::open(&path).map(drop)
    });
    let shown = path.display().to_string();
    let Err(finding) = opened.await? else {
        tell_recovered(app, &shown, false);
        return Ok(Exit::Ok);
    };
    if !yes {
        let help = "`--yes` goes on with what is left, and keeps the damaged file aside; a call whose record is lost would run again";
        return Err(app.fail(vec![finding.help(help)], Exit::NeedsApproval));
    }
    let recovered = app.apart(move || journal::recover(&path)).await?;
    recovered.map_err(|finding| app.fail(vec![*finding], Exit::JournalUnavailable))?;
    tell_recovered(app, &shown, true);
    Ok(Exit::Ok)
}

fn tell_recovered(app: &App, path: &str, lost: bool) {
    match app.output.format {
        Format::Json => app.output.json(&json!({"journal": path, "lost": lost})),
        Format::Human | Format::Plain if lost => {
            app.output.result("recovered: runs go on with what is left; the damaged file lies beside it under another name\n");
        }
        Format::Human | Format::Plain => app.output.result("nothing is lost: there is nothing to recover\n"),
    }
}

/// `1 run, 3 records, 0 values`
fn counted(counts: &[(u64, &str)]) -> String {
    let words = counts.iter().map(|(count, thing)| match count {
        1 => format!("1 {thing}"),
        many => format!("{many} {thing}s"),
    });
    words.collect::<Vec<_>>().join(", ")
}

/// Standard output as a stream that remembers why it could not be written.
struct Out<W>(W);

impl<W: Write> Write for Out<W> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let written = self.0.write(bytes);
        if let Err(error) = &written {
            output::keep(Err(std::io::Error::new(error.kind(), error.to_string())));
        }
        written
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.0.flush()
    }
}

async fn export(app: &App, at: &JournalAt, run: Option<String>) -> Result<Exit, Exit> {
    let Some((journal, path)) = app.journal_to_read(at).await? else {
        return match run {
            None => Ok(Exit::Ok),
            Some(_) => Err(app.fail(vec![Finding::error(code::USAGE, "there is no run yet")], Exit::Usage)),
        };
    };
    let exported = app.apart(move || {
        let run = run.map(|run| journal::find(&journal, &path, &run)).transpose()?;
        let mut out = BufWriter::new(Out(std::io::stdout().lock()));
        let exported = journal.export(run.as_deref(), &mut out);
        match out.flush() {
            // Why is kept, or a reader went away and wants no more.
            Err(_) => Ok(()),
            Ok(()) => exported.map_err(|error| (Box::new(journal::of_error(&path, &error)), journal::exit_of(error.kind))),
        }
    });
    let exported: Result<(), (Box<Finding>, Exit)> = exported.await?;
    exported.map(|()| Exit::Ok).map_err(|(finding, exit)| app.fail(vec![*finding], exit))
}

async fn prune(app: &App, at: &JournalAt, args: &PruneArgs) -> Result<Exit, Exit> {
    let wanted = wanted(args).map_err(|(option, why)| {
        let finding = Finding::error(code::USAGE, format!("{option}: {why}"));
        app.fail(vec![finding], Exit::Usage)
    })?;
    let (path, named) = app.journal_file(at)?;
    // A journal that is not there is not made to take something out of it.
    if app.journal_to_read(at).await?.is_none() && !named {
        tell(app, args, &Pruned::default());
        return Ok(Exit::Ok);
    }
    let journal = app.journal_to_write(&path).await?;
    let run = args.run.clone();
    let pruned = app.apart(move || pruned(&journal, &path, wanted, run)).await?;
    let pruned = pruned.map_err(|(finding, exit)| app.fail(vec![*finding], exit))?;
    tell(app, args, &pruned);
    Ok(Exit::Ok)
}

fn pruned(journal: &SqliteJournal, path: &std::path::Path, mut wanted: Prune, run: Option<String>) -> Result<Pruned, (Box<Finding>, Exit)> {
    wanted.run = run.map(|run| journal::find(journal, path, &run)).transpose()?;
    journal.prune(&wanted).map_err(|error| (Box::new(journal::of_error(path, &error)), journal::exit_of(error.kind)))
}

fn wanted(args: &PruneArgs) -> Result<Prune, (&'static str, String)> {
    let mut wanted = Prune::default();
    let before = args.older_than.as_deref().map(|text| before(text, now())).transpose();
    wanted.ended_before = before.map_err(|why| ("--older-than", why))?;
    wanted.keep_newest = args.keep;
    wanted.bytes_max = args.max_size.as_deref().map(units::size).transpose().map_err(|why| ("--max-size", why))?;
    wanted.dry_run = args.dry_run;
    Ok(wanted)
}

fn tell(app: &App, args: &PruneArgs, pruned: &Pruned) {
    let (before, after) = pruned.bytes;
    let ids = pruned.runs.iter();
    match app.output.format {
        Format::Json => app.output.json(&json!({
            "dryRun": args.dry_run,
            "runs": ids.map(|id| id.to_string()).collect::<Vec<_>>(),
            "bytesBefore": before,
            "bytesAfter": after,
        })),
        Format::Plain => app.output.result(&ids.map(|id| format!("{}\n", one_line(id))).collect::<String>()),
        Format::Human => {
            let verb = if args.dry_run { "would be taken out" } else { "taken out" };
            let mut out: String = ids.map(|id| format!("{}\n", one_line(id))).collect();
            out.push_str(&format!("{} {verb}", counted(&[(pruned.runs.len() as u64, "run")])));
            if !args.dry_run && before > 0 {
                out.push_str(&format!("; the journal had {}, and has {}", bytes(before), bytes(after)));
            }
            app.output.result(&format!("{out}\n"));
        }
    }
}

/// `12 kB`, `3.4 MB`
fn bytes(count: u64) -> String {
    #[expect(clippy::cast_precision_loss, reason = "shown with one digit behind the point")]
    let size = count as f64;
    match count {
        0..1_000 => format!("{count} B"),
        1_000..1_000_000 => format!("{:.0} kB", size / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1} MB", size / 1e6),
        _ => format!("{:.1} GB", size / 1e9),
    }
}
