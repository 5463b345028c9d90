//! A small application for tests of hooks and of the whole lifecycle: a context that says what the caller may and keeps
//! a log, tools that answer what they get, and a policy that knows a few words.

use std::sync::{Arc, Mutex, OnceLock};

use toolwright::{
    CallError, Catalog, Decision, Declaration, Diagnostics, Fact, MemoryJournal, Observer, Options, Policy, Registry, Rt, Runtime,
    ToolBuilder, ToolDef, Value, json,
};

pub(crate) use crate::world::block_on;

/// The application's types.
pub(crate) type App = Rt<AppCx>;

/// Who is calling.
#[derive(Clone)]
pub(crate) struct AppCx {
    pub(crate) can_read: bool,
    pub(crate) can_send: bool,
    pub(crate) tag: String,
    pub(crate) log: Notes,
    pub(crate) journal: Option<MemoryJournal>,
}

/// What hooks and tools write down, in order. Clones share it.
#[derive(Clone, Default)]
pub(crate) struct Notes(Arc<Mutex<Vec<String>>>);

impl Notes {
    pub(crate) fn note(&self, what: impl Into<String>) {
        self.0.lock().unwrap().push(what.into());
    }

    pub(crate) fn all(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }

    /// What was written since the last time.
    pub(crate) fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

/// A caller who may do everything, with an empty log and no journal.
pub(crate) fn cx() -> Arc<AppCx> {
    cx_with(|_| {})
}

/// A caller who may do everything but what the test changes.
pub(crate) fn cx_with(change: impl FnOnce(&mut AppCx)) -> Arc<AppCx> {
    let mut cx = AppCx { can_read: true, can_send: true, tag: "test".into(), log: Notes::default(), journal: None };
    change(&mut cx);
    Arc::new(cx)
}

/// A caller who may do nothing.
pub(crate) fn nobody() -> Arc<AppCx> {
    cx_with(|cx| (cx.can_read, cx.can_send) = (false, false))
}

/// The beginning of a reading tool.
pub(crate) fn reads(id: &str) -> ToolBuilder<App> {
    App::tool(id.to_owned(), format!("The tool {id}")).reads()
}

/// A reading tool that answers its arguments.
pub(crate) fn echo(id: &str) -> ToolDef<App> {
    reads(id).echoes()
}

/// Closers of a declaration.
pub(crate) trait Close<R: Runtime> {
    /// Answers its arguments.
    fn echoes(self) -> ToolDef<R>;
    /// Answers its arguments, and notes `ran <id>`.
    fn notes(self, log: &Notes) -> ToolDef<R>;
}

impl<R: Runtime> Close<R> for ToolBuilder<R> {
    fn echoes(self) -> ToolDef<R> {
        self.run_json(|input, _| async move { Ok(input) })
    }

    fn notes(self, log: &Notes) -> ToolDef<R> {
        let log = log.clone();
        self.run_json(move |input, call| {
            log.note(format!("ran {}", call.tool()));
            async move { Ok(input) }
        })
    }
}

/// A decision for `id` without arguments.
pub(crate) fn d(id: &str) -> Decision {
    Decision::new(id, json!({}))
}

/// Kinds `read` and `act`, audiences `model` and `operator`, effects `read` and `write`, goals `explain` and `notify`.
pub(crate) fn policy() -> Policy<App> {
    Policy::new()
        .kinds(["read", "act"])
        .audiences(["model", "operator"])
        .effects(["read", "write"])
        .goal_exists(|goal| ["explain", "notify"].contains(&goal))
}

/// A sealed catalogue of these, without options.
pub(crate) fn catalog<T: Into<Declaration<App>>>(tools: impl IntoIterator<Item = T>) -> Catalog<App> {
    catalog_with(Options::new(), tools)
}

/// A sealed catalogue of these.
pub(crate) fn catalog_with<T: Into<Declaration<App>>>(options: Options<App>, tools: impl IntoIterator<Item = T>) -> Catalog<App> {
    let mut registry = Registry::with_options(options).unwrap();
    registry.register_all(tools).unwrap();
    registry.seal()
}

/// Ids of what is listed.
pub(crate) fn listed(catalog: &Catalog<App>, audience: Option<&str>, cx: Option<&AppCx>) -> Vec<String> {
    catalog.describe(audience, cx).iter().map(|tool| tool.id.to_string()).collect()
}

/// The error, which there must be.
pub(crate) fn error<T>(outcome: Result<T, CallError>) -> CallError {
    outcome.err().unwrap()
}

/// Code of the error, the tool that it names, and the code of what a hook said.
pub(crate) fn said<T>(outcome: Result<T, CallError>) -> (String, String, String) {
    let error = error(outcome);
    (error.code().into(), error.tool().into(), error.refusal().map_or_else(String::new, |refusal| refusal.code.to_string()))
}

/// `said` of a hook or check of `tool`.
pub(crate) fn by(code: &str, tool: &str, refusal: &str) -> (String, String, String) {
    (code.into(), tool.into(), refusal.into())
}

impl Notes {
    /// A diagnostic scope whose facts are written down here: the event and its tool.
    pub(crate) fn scope(&self) -> Diagnostics {
        Diagnostics::disabled().with_observer(Arc::new(self.clone()))
    }
}

impl Observer for Notes {
    fn observe(&self, fact: &Fact) {
        let tool = fact.payload.get("tool").or_else(|| fact.payload.get("message")).and_then(Value::as_str);
        self.note(format!("{} {}", fact.event.as_str(), tool.unwrap_or_default()));
    }
}

/// Where a tool finds the catalogue that it is in, once that is sealed.
#[derive(Clone, Default)]
pub(crate) struct Own(Arc<OnceLock<Catalog<App>>>);

impl Own {
    pub(crate) fn get(&self) -> &Catalog<App> {
        self.0.get().unwrap()
    }

    pub(crate) fn set(&self, catalog: &Catalog<App>) {
        assert!(self.0.set(catalog.clone()).is_ok());
    }
}
