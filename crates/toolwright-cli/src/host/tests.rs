use proptest::prelude::*;

use super::{Host, Want};
use crate::config::{Config, Layer, load};
use crate::diagnostic::{self, Form, SourceText};
use crate::grant::Grants;

const FILES: [&str; 2] = [include_str!("../../tests/fixtures/broken.yaml"), include_str!("../../tests/fixtures/notes.yaml")];

/// Reads a file and wires it, and shows what is wrong in every form; starts nothing.
fn survive(text: &str) {
    let mut config = Config::default();
    let source = SourceText::new("toolwright.yaml", text);
    let environment = |name: &str| (name.len() < 6).then(|| "{x} ${y}".to_owned());
    load::add(&mut config, &source, std::path::Path::new("toolwright.yaml"), Layer::Project, &environment);
    let grants = Grants::decide(&config, &["write_note".to_owned()], None);
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let host = runtime.block_on(Host::open(config, &grants, &Want::FilesOnly));
    for form in [Form::Human { colour: false, width: 80 }, Form::Plain, Form::Json] {
        diagnostic::render(&host.findings, form);
    }
}

#[derive(Clone, Debug)]
enum Damage {
    Cut(usize, usize),
    Insert(usize, &'static str),
    Move(usize, usize, usize),
}

const PIECES: [&str; 24] = [
    "\n",
    "\n  ",
    "\n      ",
    ": ",
    "- ",
    "{",
    "}",
    "[",
    "]",
    "\"",
    "'",
    "|\n",
    "&a ",
    "*a",
    "!!str ",
    "$",
    "${",
    "{{",
    "$steps[0].",
    "$prev",
    "~",
    "7",
    "é",
    "\u{2028}",
];

fn damage() -> impl Strategy<Value = Damage> {
    prop_oneof![
        (any::<usize>(), 1..40_usize).prop_map(|(at, length)| Damage::Cut(at, length)),
        (any::<usize>(), prop::sample::select(PIECES.to_vec())).prop_map(|(at, piece)| Damage::Insert(at, piece)),
        (any::<usize>(), any::<usize>(), 1..80_usize).prop_map(|(from, to, length)| Damage::Move(from, to, length)),
    ]
}

fn damaged(file: &str, damages: &[Damage]) -> String {
    let mut text: Vec<char> = file.chars().collect();
    for damage in damages {
        let count = text.len().max(1);
        match damage {
            Damage::Cut(at, length) => {
                let at = at % count;
                let end = (at + length).min(text.len());
                text.drain(at.min(end)..end);
            }
            Damage::Insert(at, piece) => {
                let at = (at % count).min(text.len());
                text.splice(at..at, piece.chars());
            }
            Damage::Move(from, to, length) => {
                let from = from % count;
                let end = (from + length).min(text.len());
                let piece: Vec<char> = text.drain(from.min(end)..end).collect();
                let to = (to % count).min(text.len());
                text.splice(to..to, piece);
            }
        }
    }
    text.into_iter().collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn damaged_files_never_break_anything(which in 0..FILES.len(), damages in prop::collection::vec(damage(), 0..6)) {
        survive(&damaged(FILES[which], &damages));
    }
}

fn chain(length: usize) -> Config {
    let mut text = String::from("composites:\n");
    for at in 0..length {
        text.push_str(&format!("  c{at}: {{steps: [{{name: a, tool: c{}}}]}}\n", at + 1));
    }
    let mut config = Config::default();
    let source = SourceText::new("toolwright.yaml", text);
    load::add(&mut config, &source, std::path::Path::new("toolwright.yaml"), Layer::Project, &|_: &str| None);
    config
}

#[test]
fn long_chains_of_composites_do_not_exhaust_the_stack() {
    let config = chain(20_000);
    let composites: Vec<_> = config.composites.iter().collect();
    let order = super::order::sort(&composites);
    assert_eq!(order.sorted.first(), Some(&19_999));
    assert!(order.circles.is_empty());
}

#[test]
fn through_many_composites_the_first_cause_is_told() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let host = runtime.block_on(Host::open(chain(500), &Grants::default(), &Want::FilesOnly));
    let first = host.find("c0").and_then(|view| view.state.why()).unwrap();
    assert_eq!(first.message, "step `a` uses `c1`, which cannot be called: no tool has the id `c500`");
}

#[cfg(unix)]
mod reconciling {
    use std::sync::Arc;

    use toolwright::journal::Record;
    use toolwright::{CallError, Invocation, Journal, MemoryJournal, ToolResult, json};

    use super::*;

    const MAIL: &str = r#"
sources:
  mail:
    cwd: .
    tools:
      send_mail:
        argv: [tee, -a, sent.txt]
        stdin: "{key} {to}\n"
        effect: write
        idempotencyKey: { argument: key }
      find_mail:
        argv: [grep, -cF, "--regexp={request} {to}", sent.txt]
        exitCodes: [0, 1]
        effect: read
tools:
  send_mail:
    reconcile:
      tool: find_mail
      inputMapping: { request: $key, to: $input.to }
      happened: ["1"]
      notHappened: ["0"]
      output: $input.to
"#;

    struct Mail {
        folder: tempfile::TempDir,
        journal: MemoryJournal,
    }

    impl Mail {
        /// A run whose process ended before the outcome of its mail was written.
        fn in_doubt() -> Self {
            let mail = Self { folder: tempfile::tempdir().unwrap(), journal: MemoryJournal::new() };
            mail.run().unwrap();
            assert_eq!(mail.sent(), "r1/send_mail ann\n");
            assert_eq!(mail.journal.forget_finish("send_mail"), 1);
            mail
        }

        fn file(&self) -> std::path::PathBuf {
            self.folder.path().join("sent.txt")
        }

        fn sent(&self) -> String {
            std::fs::read_to_string(self.file()).unwrap_or_default()
        }

        fn run(&self) -> Result<ToolResult, CallError> {
            let mut config = Config::default();
            let source = SourceText::new("toolwright.yaml", MAIL);
            load::add(&mut config, &source, &self.folder.path().join("toolwright.yaml"), Layer::User, &|_: &str| None);
            let grants = Grants::decide(&config, &[], None);
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let host = Host::open(config, &grants, &Want::Tool("send_mail".to_owned())).await;
                assert!(host.findings.is_empty(), "{:?}", host.findings);
                let journal: Arc<dyn Journal> = Arc::new(self.journal.clone());
                host.catalog.invoke(Invocation::new("send_mail", json!({ "to": "ann" })).run_id("r1").journal(journal), ()).await
            })
        }
    }

    #[test]
    fn what_happened_is_gone_on_with() {
        let mail = Mail::in_doubt();
        assert_eq!(mail.run().unwrap().output, Some(json!("ann")));
        assert_eq!(mail.sent().lines().count(), 1, "it is not sent again");
        let records = mail.journal.records("r1");
        assert!(records.iter().any(|record| matches!(record, Record::Resolved(resolved) if resolved.resolution.who == "reconcile")));
        let asked = |record: &Record| record.key().is_some_and(|key| key.tool() != "send_mail");
        assert!(!records.iter().any(asked), "asking is no part of the run");
    }

    #[test]
    fn what_did_not_happen_is_done() {
        let mail = Mail::in_doubt();
        std::fs::write(mail.file(), "r1/send_mail bob\n").unwrap();
        mail.run().unwrap();
        assert_eq!(mail.sent(), "r1/send_mail bob\nr1/send_mail ann\n");
    }

    #[test]
    fn anything_else_stays_in_doubt() {
        for sent in [Some("r1/send_mail ann\nr1/send_mail ann\n"), None] {
            let mail = Mail::in_doubt();
            match sent {
                Some(sent) => std::fs::write(mail.file(), sent).unwrap(),
                None => std::fs::remove_file(mail.file()).unwrap(),
            }
            assert_eq!(mail.run().unwrap_err().code(), "in_doubt");
            assert_eq!(mail.sent(), sent.unwrap_or_default(), "nothing is sent");
        }
    }
}
