//! Values that a schema marks as secret are not written where anybody can read them, and are never masked either.

use std::sync::Arc;

use toolwright::journal::{Admission, Begin, Claim, End, Finish, Resolution, RunHistory, RunJournal, RunRecord, StepKey};
use toolwright::{
    Composer, Composite, Context, EffectState, Eventually, HostGate, Invocation, Journal, JournalError, MemoryJournal, Options,
    PipelineOptions, RegisterFault, Registry, Rt, Text, ToolDef, Value, json, tool,
};

use crate::world::{Log, block_on};

/// A journal in memory that says of itself what it is told to say.
struct Says(MemoryJournal, bool);
struct Run(Arc<dyn RunJournal>, bool);

impl Journal for Says {
    fn open(&self, run: RunRecord, claim: Claim) -> Eventually<'_, Result<Arc<dyn RunJournal>, JournalError>> {
        let Eventually::Now(opened) = self.0.open(run, claim) else { panic!("it does not wait") };
        Eventually::Now(opened.map(|run| Arc::new(Run(run, self.1)) as Arc<dyn RunJournal>))
    }
    fn load(&self, run: &str) -> Eventually<'_, Result<Option<RunHistory>, JournalError>> {
        self.0.load(run)
    }
    fn resolve(&self, run: &str, path: &str, resolution: Resolution) -> Eventually<'_, Result<(), JournalError>> {
        self.0.resolve(run, path, resolution)
    }
    fn keeps_secrets(&self) -> bool {
        self.1
    }
    fn unfinished(&self) -> Eventually<'_, Result<Vec<Text>, JournalError>> {
        self.0.unfinished()
    }
}

impl RunJournal for Run {
    fn begin(&self, record: Begin) -> Eventually<'_, Result<Admission, JournalError>> {
        self.0.begin(record)
    }
    fn finish(&self, record: Finish) -> Eventually<'_, Result<(), JournalError>> {
        self.0.finish(record)
    }
    fn resolve(&self, key: &StepKey, resolution: Resolution) -> Eventually<'_, Result<(), JournalError>> {
        self.0.resolve(key, resolution)
    }
    fn end(&self, end: End) -> Eventually<'_, Result<(), JournalError>> {
        self.0.end(end)
    }
    fn keeps_secrets(&self) -> bool {
        self.1
    }
    fn epoch(&self) -> u64 {
        self.0.epoch()
    }
}

fn marked() -> Value {
    json!({"type": "object", "properties": {"deep": {"items": {"type": "string", "x-sensitive": true}}}})
}

fn login(log: &Log, input: bool) -> ToolDef {
    let builder = tool("login", "Logs in").reads();
    let builder = if input { builder.input_schema(marked()) } else { builder.output_schema(marked()) };
    log.close(builder, |input| Ok(input.into()))
}

#[test]
fn a_tool_with_a_secret_is_refused_where_the_journal_would_keep_it_in_plain() {
    let options = || Options::<Rt>::new().journal(|_| Some(Arc::new(MemoryJournal::new()) as Arc<dyn Journal>));
    for input in [true, false] {
        let error = Registry::with_options(options()).unwrap().with(login(&Log::new(), input)).unwrap_err();
        assert_eq!(error.fault(), &RegisterFault::SensitiveUnencrypted);
        assert!(error.issues()[0].help.as_deref().unwrap().contains("journal_encrypts"));
        Registry::with_options(options().journal_encrypts()).unwrap().with(login(&Log::new(), input)).unwrap();
        Registry::new().with(login(&Log::new(), input)).unwrap();
    }
    let plain = json!({"type": "object", "x-sensitive": false, "properties": {"a": {"description": "x-sensitive"}}});
    let fine = Log::new().close(tool("t", "d").reads().input_schema(plain), |input| Ok(input.into()));
    Registry::with_options(options()).unwrap().with(fine).unwrap();
}

#[test]
fn a_call_with_a_secret_is_refused_before_anything_is_written() {
    for id in ["login", "around", "further", "outer"] {
        refused_unwritten(id);
    }
}

fn refused_unwritten(id: &str) {
    let log = Log::new();
    let outer = tool("outer", "Calls").reads().run_json(|_, call| async move {
        let inner = call.invoke("login", json!({"deep": ["1234"]})).await?;
        Ok(inner.value().clone())
    });
    let around = Composite::new("around", "Logs in").step("s", "login", json!({"deep": "$input.deep"}));
    let registry = Registry::new().with(login(&log, true)).unwrap().with(around).unwrap();
    let registry = registry.with(Composite::new("further", "Logs in").step("s", "around", json!({"deep": "$input.deep"}))).unwrap();
    let catalog = registry.with(outer).unwrap().seal();
    let plain = MemoryJournal::new();
    let call = |journal: Arc<dyn Journal>| {
        let call = Invocation::new(id, json!({"deep": ["1234"]})).run_id("r").journal(journal);
        block_on(catalog.invoke(call, Context::default()))
    };
    let error = call(Arc::new(Says(plain.clone(), false))).unwrap_err();
    assert_eq!(error.code(), "sensitive_unencrypted", "{id}");
    if id != "outer" {
        assert_eq!(error.effect_state(), EffectState::NotStarted);
        assert!(plain.runs().is_empty(), "{id}: nothing is written, the run included");
    }
    let begun =
        |record: &toolwright::journal::Record| matches!(record, toolwright::journal::Record::Begin(begin) if begin.key.tool() == "login");
    assert!(!plain.records("r").iter().any(begun), "{id}");
    assert!(log.is_empty());
    call(Arc::new(Says(MemoryJournal::new(), true))).unwrap();
    assert_eq!(log.tools(), ["login"]);
    block_on(catalog.invoke(Invocation::new(id, json!({"deep": ["1234"]})), Context::default())).unwrap();
}

/// Tools behind a gate are registered nowhere, and their secrets are secrets all the same.
#[test]
fn a_composer_writes_no_secret_down_in_plain() {
    let log = Log::new();
    let (tool, plain) = (login(&log, true), MemoryJournal::new());
    let composer = Composer::new(HostGate::new(move |name: &str| (name == "login").then(|| tool.clone())));
    let spec = json!({"steps": [{"name": "s", "tool": "login", "inputMapping": {"deep": "$input.deep"}}]});
    let input = || json!({"deep": ["1234"]});
    let pipeline = |journal: MemoryJournal, encrypts: bool| {
        let options = PipelineOptions::new().run_id("r").journal(Arc::new(Says(journal, encrypts)));
        block_on(composer.run_pipeline(&spec, input(), Context::default(), options))
    };
    assert_eq!(pipeline(plain.clone(), false).unwrap_err().code(), "sensitive_unencrypted");
    let built = composer.build("built", "Logs in", json!({"type": "object"}), &spec).unwrap();
    let catalog = Registry::new().with(built.clone()).unwrap().seal();
    let call = Invocation::new("built", input()).run_id("r").journal(Arc::new(plain.clone()));
    assert_eq!(block_on(catalog.invoke(call, Context::default())).unwrap_err().code(), "sensitive_unencrypted");
    assert!(plain.runs().is_empty() && log.is_empty());
    let options = Options::<Rt>::new().journal(|_| Some(Arc::new(MemoryJournal::new()) as Arc<dyn Journal>));
    let error = Registry::with_options(options).unwrap().with(built).unwrap_err();
    assert_eq!(error.fault(), &RegisterFault::SensitiveUnencrypted);
    pipeline(MemoryJournal::new(), true).unwrap();
    assert_eq!(log.tools(), ["login"]);
}
