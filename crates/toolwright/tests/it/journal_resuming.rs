//! A run that is asked for again: what ended is given again, and what failed is tried again where nobody has to be asked.
//! Runs that are killed on the way are in `seam/killing.rs`.

use std::sync::{Arc, Mutex};

use toolwright::journal::{Claim, JournalErrorKind, Resolution, RunHistory, RunJournal, RunRecord, Verdict};
use toolwright::{
    CallError, Catalog, Composer, Composite, Context, Effect, Eventually, Fault, HostGate, Impact, Invocation, Journal, JournalError,
    MemoryJournal, Options, Policy, Reconciled, Refusal, Registry, ResumeOptions, Rt, Runtime, Text, ToolDef, ToolError, ToolResult, Value,
    json, tool,
};

use crate::world::{Log, block_on, catalog, steps};

fn kept(journal: &MemoryJournal) -> Arc<dyn Journal> {
    Arc::new(journal.clone())
}

fn resume(catalog: &Catalog, journal: &MemoryJournal, options: ResumeOptions) -> Result<ToolResult, CallError> {
    block_on(catalog.resume_run(&kept(journal), "r", (), options))
}

fn start(catalog: &Catalog, tool: &str, journal: &MemoryJournal) -> Result<ToolResult, CallError> {
    block_on(catalog.invoke(Invocation::new(tool.to_owned(), json!({})).run_id("r").journal(kept(journal)), ()))
}

fn changed(error: &CallError) -> Vec<String> {
    match error.fault() {
        Fault::ChangedTool { tools, .. } => tools.iter().map(ToString::to_string).collect(),
        _ => panic!("{error}"),
    }
}

#[test]
fn a_run_that_ended_is_given_again() {
    let log = Log::new();
    let catalog = catalog([log.writes("send")], &steps(&[("a", "send", json!({"v": "$input.v"}))]));
    let journal = MemoryJournal::new();
    let call = |v: i64| Invocation::new("main", json!({"v": v})).run_id("r1").journal(Arc::new(journal.clone()));
    let first = block_on(catalog.invoke(call(1), ())).unwrap();
    let second = block_on(catalog.invoke(call(1), ())).unwrap();
    assert_eq!((&first.output, &first.effects), (&second.output, &second.effects));
    assert_eq!(log.all().len(), 1);
    let other = block_on(catalog.invoke(call(2), ())).unwrap_err();
    assert!(other.message().contains("another input"), "{other}");
    assert_eq!(log.all().len(), 1);
    // Runs without a name of their own are all new.
    for _ in 0..2 {
        block_on(catalog.invoke(Invocation::new("main", json!({"v": 1})).journal(Arc::new(journal.clone())), ())).unwrap();
    }
    assert_eq!((log.all().len(), journal.runs().len()), (3, 3));
}

#[test]
fn what_failed_runs_again_when_the_tool_answered_and_not_when_nobody_did() {
    for (error, code, tries) in [
        (ToolError::new("out of stock").code("own"), "own", 2),
        (ToolError::new("not reached").nothing_happened(), "tool_failed", 2),
        (ToolError::new("no answer").outcome_unknown(), "in_doubt", 1),
        (ToolError::new("odd answer").it_happened().code("own"), "tool_failed", 1),
    ] {
        let log = Log::new();
        let catalog = catalog([log.fails(tool("send", "A tool").writes(), error.clone())], &steps(&[("a", "send", json!({}))]));
        let journal = MemoryJournal::new();
        let call = || Invocation::new("main", json!({})).run_id("r1").journal(Arc::new(journal.clone()));
        block_on(catalog.invoke(call(), ())).unwrap_err();
        let again = block_on(catalog.invoke(call(), ())).unwrap_err();
        assert_eq!(log.all().len(), tries, "{error}");
        if tries == 1 && code == "tool_failed" {
            assert!(again.message().contains("odd answer"), "the same error again: {again}");
        } else {
            assert_eq!(again.code(), code, "{error}");
        }
    }
}

/// `outer` of `inner` of a read and a mail; each of them in this version.
fn versions(log: &Log, read: &str, mail: &str, inner: &str, twice: bool) -> Catalog {
    let read = log.echo("read").with_version(read.to_owned());
    let mail = log.writes("mail").with_version(mail.to_owned());
    let mut registry = Registry::with_policy(Policy::new().may_chain(["mail", "inner"]));
    registry.register(read).unwrap().register(mail).unwrap();
    let mut composite = Composite::new("inner", "d").input_schema(json!({"type": "object", "title": inner})).step("m", "mail", json!({}));
    if twice {
        composite = composite.step("again", "mail", json!({}));
    }
    registry.register(composite).unwrap();
    registry.with(Composite::new("outer", "Both").step("r", "read", json!({})).step("i", "inner", json!({}))).unwrap().seal()
}

#[test]
fn accepting_one_changed_tool_lets_no_other_through() {
    let (log, journal) = (Log::new(), MemoryJournal::new());
    start(&versions(&log, "v1", "v1", "v1", false), "outer", &journal).unwrap();
    journal.cut_off("r", 3);
    let next = Log::new();
    let refused = |catalog: Catalog, accept: &[&'static str]| {
        let error = resume(&catalog, &journal, ResumeOptions::new().accept(accept.iter().copied())).unwrap_err();
        assert!(next.is_empty(), "{accept:?}");
        changed(&error)
    };
    let both = || versions(&next, "v2", "v2", "v1", false);
    assert_eq!(refused(both(), &[]), ["outer", "read", "mail"]);
    assert_eq!(refused(both(), &["read"]), ["outer", "mail"]);
    assert_eq!(refused(both(), &["outer", "inner", "read"]), ["outer", "mail"]);
    assert_eq!(refused(both(), &["mail"]), ["outer", "read"]);
    // A composite's own schema is its own change, also deep inside; other steps are never accepted.
    assert_eq!(refused(versions(&next, "v1", "v2", "v2", false), &["mail"]), ["outer", "inner"]);
    assert_eq!(refused(versions(&next, "v1", "v1", "v1", true), &["outer", "inner", "mail", "read"]), ["outer", "inner"]);
    resume(&both(), &journal, ResumeOptions::new().accept(["read", "mail"])).unwrap();
    assert_eq!(next.tools(), ["mail"]);
}

/// A tool that may be repeated, calls a mail in another catalogue, and fails after it the first time.
fn over_two_catalogues(log: &Log, mail: &str) -> Catalog {
    let there = Registry::new().with(log.writes("mail").with_version(mail.to_owned())).unwrap().seal();
    let tries = Arc::new(Mutex::new(log.all().len()));
    let via = tool("via", "Calls").effect(Effect::new("write", Impact::Idempotent)).run_json(move |input, _| {
        let (there, tries) = (there.clone(), tries.clone());
        async move {
            there.invoke(Invocation::new("mail", json!({})), Context::default()).await?;
            *tries.lock().unwrap() += 1;
            if *tries.lock().unwrap() == 1 { Err(ToolError::new("later")) } else { Ok(input) }
        }
    });
    Registry::new().with(via).unwrap().seal()
}

#[test]
fn a_tool_of_another_catalogue_does_not_stop_a_run_from_being_taken_up() {
    let (log, journal) = (Log::new(), MemoryJournal::new());
    start(&over_two_catalogues(&log, "v1"), "via", &journal).unwrap_err();
    assert_eq!(log.all().len(), 1);
    // When its turn comes, it is compared; and it can be accepted too.
    let other = over_two_catalogues(&log, "v2");
    let error = resume(&other, &journal, ResumeOptions::new()).unwrap_err();
    assert!(error.message().contains("mail"), "{error}");
    resume(&over_two_catalogues(&log, "v1"), &journal, ResumeOptions::new()).unwrap();
    assert_eq!(log.all().len(), 1, "it was sent already");
    let (log, journal) = (Log::new(), MemoryJournal::new());
    start(&over_two_catalogues(&log, "v1"), "via", &journal).unwrap_err();
    resume(&over_two_catalogues(&log, "v2"), &journal, ResumeOptions::new().accept(["mail"])).unwrap();
    assert_eq!(log.all().len(), 1);
}

#[test]
fn nor_does_one_behind_a_composers_gate() {
    let (log, journal, tries) = (Log::new(), MemoryJournal::new(), Arc::new(Mutex::new(0)));
    let (behind, count) = (log.clone(), tries);
    let gate = HostGate::new(move |name: &str| {
        let count = count.clone();
        let later = move || {
            *count.lock().unwrap() += 1;
            if *count.lock().unwrap() == 1 { Err(ToolError::new("later")) } else { Ok(json!({}).into()) }
        };
        match name {
            "x" => Some(behind.echo("x")),
            "y" => Some(behind.close(tool("y", "Fails once").reads(), move |_| later())),
            _ => None,
        }
    });
    let spec = steps(&[("s", "x", json!({})), ("t", "y", json!({}))]);
    let built = Composer::new(gate).build("c", "d", json!({"type": "object"}), &spec).unwrap();
    let catalog = Registry::new().with(built).unwrap().seal();
    start(&catalog, "c", &journal).unwrap_err();
    resume(&catalog, &journal, ResumeOptions::new()).unwrap();
    assert_eq!(log.tools(), ["x", "y", "y"]);
}

type Keyed = Rt<bool>;

#[test]
fn the_result_of_a_run_that_ended_is_for_those_who_may_call_its_root() {
    let ran = Arc::new(Mutex::new(0));
    let count = ran.clone();
    let authorize = |access: &toolwright::Access<'_, Keyed>| {
        if access.input == Some(&json!({ "of": "eve" })) { Err(Refusal::new("no", "not hers")) } else { Ok(()) }
    };
    let secret = Keyed::tool("secret", "Tells").reads().available(|may: &bool| *may).authorize(authorize).run_json(move |_, _| {
        *count.lock().unwrap() += 1;
        std::future::ready(Ok(json!({"pin": 1234})))
    });
    let catalog = Registry::<Keyed>::with_options(Options::new()).unwrap().with(secret).unwrap().seal();
    let kept: Arc<dyn Journal> = Arc::new(MemoryJournal::new());
    let call = Invocation::new("secret", json!({})).run_id("r").principal("ann").journal(kept.clone());
    block_on(catalog.invoke(call, true)).unwrap();
    let resume = |may: bool, options: ResumeOptions<Keyed>| {
        let resumed = block_on(catalog.resume_run(&kept, "r", may, options));
        resumed.map(|result| result.value().clone()).map_err(|error| error.code().to_owned())
    };
    let (pin, own) = (json!({"pin": 1234}), || ResumeOptions::new().principal("ann"));
    assert_eq!(resume(false, ResumeOptions::new()), Err("forbidden".into()));
    assert_eq!(resume(false, own()), Err("forbidden".into()));
    assert_eq!(resume(true, ResumeOptions::new().principal("eve")), Err("denied".into()));
    assert_eq!((resume(true, ResumeOptions::new()), resume(true, own())), (Ok(pin.clone()), Ok(pin)));
    // Today's rules count: what was authorized then is judged again.
    let strict = Keyed::tool("secret", "Tells").reads().authorize(|_: &toolwright::Access<'_, Keyed>| Err(Refusal::new("no", "not now")));
    let strict = strict.run_json(|_, _| std::future::ready(Ok(json!(1))));
    let strict = Registry::<Keyed>::with_options(Options::new()).unwrap().with(strict).unwrap().seal();
    assert_eq!(block_on(strict.resume_run(&kept, "r", true, ResumeOptions::new())).unwrap_err().code(), "denied");
    assert_eq!(*ran.lock().unwrap(), 1);
}

/// A mail that promises an id; the world says it happened, with this.
fn promising(log: &Log, said: Option<Value>) -> Catalog {
    let schema = json!({"type": "object", "required": ["id"]});
    let mut mail = tool("mail", "Sends").writes().output_schema(schema);
    if let Some(said) = said {
        mail = mail.reconcile(move |_, _: Arc<Context>| std::future::ready(Reconciled::Happened(Some(said.clone()))));
    }
    let mail: ToolDef = log.close(mail, |_| Ok(json!({"id": 1}).into()));
    Registry::new().with(mail).unwrap().seal()
}

#[test]
fn an_answer_about_a_call_is_held_to_what_its_tool_promises() {
    for by_tool in [true, false] {
        for (said, good) in [(json!("nonsense"), false), (json!({"id": 7}), true)] {
            let (log, journal) = (Log::new(), MemoryJournal::new());
            let catalog = promising(&log, by_tool.then(|| said.clone()));
            start(&catalog, "mail", &journal).unwrap();
            journal.cut_off("r", 1);
            if !by_tool {
                let answer = Resolution::new("ann", Verdict::Happened(Some(said.clone())));
                block_on(journal.resolve("r", "mail", answer).get()).unwrap();
            }
            match start(&catalog, "mail", &journal) {
                Ok(result) => assert!(good && result.value() == &said),
                Err(error) => {
                    assert_eq!((error.code(), good), ("invalid_output", false));
                    assert_eq!(error.effect_state(), toolwright::EffectState::Happened);
                    // It is not over: somebody must still say what came of it.
                    assert_eq!(block_on(journal.unfinished().get()).unwrap(), ["r"]);
                }
            }
            assert_eq!(log.all().len(), 1);
        }
    }
}

/// A journal that breaks down while it reads.
struct Breaking;

impl Journal for Breaking {
    fn open(&self, _: RunRecord, _: Claim) -> Eventually<'_, Result<Arc<dyn RunJournal>, JournalError>> {
        panic!("open broke")
    }

    fn load(&self, run: &str) -> Eventually<'_, Result<Option<RunHistory>, JournalError>> {
        assert_eq!(run, "later", "load broke");
        Eventually::Later(Box::pin(async { panic!("load broke later") }))
    }

    fn resolve(&self, _: &str, _: &str, _: Resolution) -> Eventually<'_, Result<(), JournalError>> {
        panic!("resolve broke")
    }

    fn unfinished(&self) -> Eventually<'_, Result<Vec<Text>, JournalError>> {
        panic!("unfinished broke")
    }
}

#[test]
fn a_journal_that_breaks_down_while_it_reads_is_an_error() {
    let log = Log::new();
    let catalog = Registry::new().with(log.writes("mail")).unwrap().seal();
    let broken: Arc<dyn Journal> = Arc::new(Breaking);
    for run in ["now", "later"] {
        let error = block_on(catalog.resume_run(&broken, run, (), ResumeOptions::new())).unwrap_err();
        let Fault::Journal { phase: "load", error, .. } = error.fault() else { panic!("{error}") };
        assert_eq!(error.kind, JournalErrorKind::Unreadable);
        assert!(error.reason.contains("load broke"), "{error}");
    }
    assert!(log.is_empty());
}
