//! A run that begins in the middle of another one. Forks that are killed on the way are in `seam/forking.rs`.

use std::sync::Arc;

use toolwright::journal::{Forked, Record, Resolution, Verdict};
use toolwright::{
    CallError, Catalog, Composite, Fork, Invocation, Journal, MemoryJournal, Policy, Registry, ResumeOptions, ToolError, ToolResult, Value,
    json, tool,
};

use crate::world::{Log, block_on};

/// `main`: look, send, `rest` of note and post, keep.
fn catalog(log: &Log) -> Catalog {
    versions(log, "v1", "send")
}

fn versions(log: &Log, look: &str, send: &'static str) -> Catalog {
    let mut registry = Registry::with_policy(Policy::new().may_chain(["send", "post", "rest", "other"]));
    registry.register(log.echo("look").with_version(look.to_owned())).unwrap();
    for name in ["send", "post", "other"] {
        registry.register(log.writes(name)).unwrap();
    }
    registry.register(log.echo("keep")).unwrap();
    let rest =
        Composite::new("rest", "The rest").step("note", "look", json!({"n": "$input.x"})).step("post", "post", json!({"p": "$prev"}));
    registry.register(rest).unwrap();
    let main = Composite::new("main", "All")
        .step("look", "look", json!({"q": "$input.q"}))
        .step("send", send, json!({"s": "$prev.q"}))
        .step("rest", "rest", json!({"x": "$prev.s"}))
        .step("keep", "keep", json!({"found": "$steps.look.q", "rest": "$prev", "q": "$input.q"}));
    registry.with(main).unwrap().seal()
}

fn kept(journal: &MemoryJournal) -> Arc<dyn Journal> {
    Arc::new(journal.clone())
}

fn begun(log: &Log) -> (Catalog, MemoryJournal) {
    let (catalog, journal) = (catalog(log), MemoryJournal::new());
    let call = Invocation::new("main", json!({"q": "ducks"})).run_id("r1").principal("ann").journal(kept(&journal));
    block_on(catalog.invoke(call, ())).unwrap();
    (catalog, journal)
}

fn fork(catalog: &Catalog, journal: &MemoryJournal, fork: Fork) -> Result<ToolResult, CallError> {
    fork_with(catalog, journal, fork, ResumeOptions::new())
}

fn fork_with(catalog: &Catalog, journal: &MemoryJournal, fork: Fork, options: ResumeOptions) -> Result<ToolResult, CallError> {
    block_on(catalog.fork_run(&kept(journal), fork, (), options))
}

#[test]
fn what_is_before_the_step_is_taken_over_and_the_rest_really_runs() {
    for (from, ran) in [
        ("look", &["look", "send", "look", "post", "keep"][..]),
        ("0", &["look", "send", "look", "post", "keep"]),
        ("send", &["send", "look", "post", "keep"]),
        ("1", &["send", "look", "post", "keep"]),
        ("1:send", &["send", "look", "post", "keep"]),
        ("main/1:send", &["send", "look", "post", "keep"]),
        ("rest", &["look", "post", "keep"]),
        ("rest/post", &["post", "keep"]),
        ("2/1", &["post", "keep"]),
        ("main/2:rest/1:post", &["post", "keep"]),
        ("keep", &["keep"]),
    ] {
        let (catalog, journal) = begun(&Log::new());
        let log = Log::new();
        let _ = catalog;
        let catalog = self::catalog(&log);
        let result = fork(&catalog, &journal, Fork::new("r1", "r2", from)).unwrap();
        assert_eq!(log.tools(), ran, "{from}");
        assert_eq!(result.output, Some(json!({"found": "ducks", "rest": {"p": {"n": "ducks"}}, "q": "ducks"})), "{from}");
        assert!(log.all().iter().all(|seen| seen.key.starts_with("r2/")), "its effects have keys of their own");
        let run = block_on(journal.load("r2").get()).unwrap().unwrap();
        assert_eq!(run.run.forked.as_ref().map(|forked| forked.run.as_str()), Some("r1"), "{from}");
        assert_eq!(run.run.principal.as_deref(), Some("ann"));
        // It is over, and given again like any other.
        assert_eq!(fork(&catalog, &journal, Fork::new("r1", "r2", from)).unwrap().output, result.output);
        let again = block_on(catalog.resume_run(&kept(&journal), "r2", (), ResumeOptions::new())).unwrap();
        assert_eq!((again.output, log.tools().len()), (result.output, ran.len()));
    }
}

#[test]
fn another_input_reaches_only_what_runs() {
    let log = Log::new();
    let (_, journal) = begun(&Log::new());
    let result = fork(&catalog(&log), &journal, Fork::new("r1", "r2", "keep").input(json!({"q": "geese"}))).unwrap();
    assert_eq!(result.output, Some(json!({"found": "ducks", "rest": {"p": {"n": "ducks"}}, "q": "geese"})));
    assert_eq!(log.tools(), ["keep"]);
    let run = block_on(journal.load("r2").get()).unwrap().unwrap();
    assert_eq!(run.run.input, json!({"q": "geese"}));
    assert_eq!(run.run.forked, Some(Forked { run: "r1".into(), from: "main/3:keep".into() }));
    let copied = |record: &Record| matches!(record, Record::Begin(begin) if begin.forked() == Some("r1"));
    assert_eq!(run.records.iter().filter(|record| copied(record)).count(), 3);
    // A fork of a fork: what ran in the first run says so still.
    fork(&catalog(&log), &journal, Fork::new("r2", "r3", "keep")).unwrap();
    let third = block_on(journal.load("r3").get()).unwrap().unwrap();
    assert_eq!(third.records.iter().filter(|record| copied(record)).count(), 3);
    assert_eq!(third.run.forked.unwrap().run, "r2");
}

#[test]
fn a_step_that_is_not_there_is_told_with_those_that_are() {
    for (from, message, help) in [
        ("sned", "`main` has no step `sned`: it has `0:look`, `1:send`, `2:rest`, `3:keep`", "did you mean `send`?"),
        ("4", "`main` has no step `4`", "by name, by position"),
        ("1:look", "`main` has no step `1:look`", "by name"),
        ("rest/pots", "`main/2:rest` has no step `pots`: it has `0:note`, `1:post`", "did you mean `post`?"),
        ("main/2:rest/9", "`main/2:rest` has no step `9`", "by position"),
        ("send/0", "`main/1:send` is no composite", "fork from the step that calls it"),
        ("", "`main` has no step ``", "by name"),
    ] {
        let log = Log::new();
        let (_, journal) = begun(&Log::new());
        let error = fork(&catalog(&log), &journal, Fork::new("r1", "r2", from)).unwrap_err();
        assert_eq!(error.code(), "unknown_step", "{from}: {error}");
        assert!(error.message().contains(message), "{from}: {error}");
        assert!(error.help().unwrap().contains(help), "{from}: {:?}", error.help());
        assert!(log.is_empty() && journal.runs().len() == 1, "{from}");
    }
}

#[test]
fn what_has_no_result_cannot_be_taken_over() {
    // How many records the old run has left, and what is said of it.
    for (records, from, code, says) in [
        (1, "send", "step_without_result", "`main/0:look` is before that step, and run `r1` has no call there"),
        (2, "send", "step_without_result", "began it and has no outcome"),
        (4, "rest", "in_doubt", "`main/1:send`"),
        (4, "keep", "in_doubt", "`main/1:send`"),
        (9, "keep", "in_doubt", "`main/2:rest/1:post`"),
        (10, "keep", "step_without_result", "`main/2:rest` is before that step"),
    ] {
        let log = Log::new();
        let (_, journal) = begun(&Log::new());
        journal.cut_off("r1", records);
        let error = fork(&catalog(&log), &journal, Fork::new("r1", "r2", from)).unwrap_err();
        assert_eq!(error.code(), code, "{records}, {from}: {error}");
        assert!(error.message().contains(says), "{records}, {from}: {error}");
        assert!(log.is_empty() && journal.runs().len() == 1, "{records}, {from}");
    }
    // From the call in doubt on, everything runs: whoever says so has looked.
    let log = Log::new();
    let (_, journal) = begun(&Log::new());
    journal.cut_off("r1", 4);
    fork(&catalog(&log), &journal, Fork::new("r1", "r2", "send")).unwrap();
    assert_eq!(log.tools(), ["send", "look", "post", "keep"]);
    // Once it is answered, its answer is taken over.
    let log = Log::new();
    let answer = Resolution::new("ann", Verdict::Happened(Some(json!({"s": "told"}))));
    block_on(journal.resolve("r1", "main/1:send", answer).get()).unwrap();
    fork(&catalog(&log), &journal, Fork::new("r1", "r3", "rest")).unwrap();
    assert_eq!(log.tools(), ["look", "post", "keep"]);
    assert_eq!(log.input_of("note"), json!({"n": "told"}));
}

#[test]
fn a_step_that_failed_has_no_result() {
    let (log, journal) = (Log::new(), MemoryJournal::new());
    let failing = log.fails(tool("look", "Looks").reads(), ToolError::new("no").code("own"));
    let main = Composite::new("main", "All").step("a", "look", json!({})).step("b", "keep", json!({}));
    let catalog = Registry::new().with(failing).unwrap().with(log.echo("keep")).unwrap().with(main).unwrap().seal();
    let call = Invocation::new("main", json!({})).run_id("r1").journal(kept(&journal));
    block_on(catalog.invoke(call, ())).unwrap_err();
    let error = fork(&catalog, &journal, Fork::new("r1", "r2", "b")).unwrap_err();
    assert_eq!((error.code(), log.tools().len()), ("step_without_result", 1));
    assert!(error.message().contains("failed there with `own`"), "{error}");
}

#[test]
fn tools_before_the_step_are_compared_and_those_after_it_are_not() {
    let refused = |catalog: &Catalog, journal: &MemoryJournal, from: &'static str, accept: &[&'static str]| {
        let options = ResumeOptions::new().accept(accept.iter().copied());
        fork_with(catalog, journal, Fork::new("r1", "r2", from), options).map_err(|error| (error.code().to_owned(), error.message()))
    };
    // Another tool at a step before.
    let (log, (_, journal)) = (Log::new(), begun(&Log::new()));
    let (code, message) = refused(&versions(&log, "v1", "other"), &journal, "rest", &[]).unwrap_err();
    assert!(code == "step_without_result" && message.contains("called `send` there, and it is `other` now"), "{message}");
    assert!(log.is_empty());
    // At the step itself and after it, that is what a fork is for.
    refused(&versions(&log, "v1", "other"), &journal, "send", &[]).unwrap();
    assert_eq!(log.tools(), ["other", "look", "post", "keep"]);
    // A tool before it that changed is named, and may be accepted.
    let (log, (_, journal)) = (Log::new(), begun(&Log::new()));
    let (code, message) = refused(&versions(&log, "v2", "send"), &journal, "send", &[]).unwrap_err();
    assert!(code == "changed_tool" && message.contains("look"), "{message}");
    assert!(log.is_empty() && journal.runs().len() == 1);
    refused(&versions(&log, "v2", "send"), &journal, "send", &["look"]).unwrap();
    assert_eq!(log.tools(), ["send", "look", "post", "keep"]);
}

#[test]
fn an_id_that_is_taken_is_not_forked_over() {
    let log = Log::new();
    let (_, journal) = begun(&Log::new());
    let catalog = catalog(&log);
    fork(&catalog, &journal, Fork::new("r1", "r2", "keep")).unwrap();
    for (id, from, says) in [("r1", "keep", "no such fork"), ("r2", "send", "fork of run `r1` from `main/3:keep`")] {
        let error = fork(&catalog, &journal, Fork::new("r1", id, from)).unwrap_err();
        assert_eq!(error.code(), "diverged");
        assert!(error.message().contains(says), "{error}");
    }
    let error = fork(&catalog, &journal, Fork::new("r0", "r3", "keep")).unwrap_err();
    assert!(error.message().contains("there is no run `r0`"), "{error}");
    let mine = ResumeOptions::new().principal("eve");
    assert_eq!(fork_with(&catalog, &journal, Fork::new("r1", "r3", "keep"), mine).unwrap_err().code(), "denied");
    assert_eq!(log.tools(), ["keep"]);
    assert_eq!(journal.runs().len(), 2);
}

#[test]
fn an_input_that_does_not_fit_is_told_before_anything_is_written() {
    let (log, journal) = (Log::new(), MemoryJournal::new());
    let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]});
    let main = Composite::new("main", "All").input_schema(schema).step("a", "look", json!({})).step("b", "look", json!({"n": "$input.n"}));
    let catalog = Registry::new().with(log.echo("look")).unwrap().with(main).unwrap().seal();
    let call = |input: Value| Invocation::new("main", input).run_id("r1").journal(kept(&journal));
    block_on(catalog.invoke(call(json!({"n": 1})), ())).unwrap();
    let error = fork(&catalog, &journal, Fork::new("r1", "r2", "b").input(json!({"n": "x"}))).unwrap_err();
    assert_eq!((error.code(), journal.runs().len(), log.tools().len()), ("invalid_input", 1, 2));
}
