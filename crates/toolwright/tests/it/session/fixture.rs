//! What these tests stand on: a caller with types of its own, tools that note what reaches them, and a session.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, OnceLock};

use toolwright::{
    CallError, Catalog, Composite, Invocation, Options, Policy, RegisterError, Registry, Rt, Runtime, Session, ToolDef, ToolError,
    ToolResult, Value, json,
};

pub(super) type App = Rt<Caller>;

/// Who calls: what is switched off for it, and its session.
#[derive(Default)]
pub(super) struct Caller {
    pub(super) off: Mutex<BTreeSet<String>>,
    pub(super) session: OnceLock<Session<App>>,
}

/// Names of the tools that ran, in order.
#[derive(Clone, Default)]
pub(super) struct Ran(Arc<Mutex<Vec<String>>>);

impl Ran {
    pub(super) fn note(&self, name: &str) {
        self.0.lock().unwrap().push(name.into());
    }

    pub(super) fn all(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }

    pub(super) fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }

    /// A reading tool that answers its input.
    pub(super) fn echo(&self, id: &'static str) -> ToolDef<App> {
        let ran = self.clone();
        App::tool(id, "Echoes").reads().run_json(move |input, _| {
            ran.note(id);
            std::future::ready(Ok::<_, ToolError>(input))
        })
    }

    /// A writing tool that answers its input.
    pub(super) fn writes(&self, id: &'static str) -> ToolDef<App> {
        let ran = self.clone();
        App::tool(id, "Writes").writes().run_json(move |input, _| {
            ran.note(id);
            std::future::ready(Ok::<_, ToolError>(input))
        })
    }
}

/// A composite whose steps pass their `x` on, named `s0`, `s1`, …
pub(super) fn chain(id: &str, tools: &[&str]) -> Composite<App> {
    let composite = Composite::of(App::tool(id, "Chains"));
    tools.iter().enumerate().fold(composite, |composite, (at, tool)| composite.step(format!("s{at}"), *tool, json!({ "x": "$input.x" })))
}

pub(super) fn registry(policy: Policy<App>) -> Registry<App> {
    Registry::with_options(options(policy)).unwrap()
}

pub(super) fn options(policy: Policy<App>) -> Options<App> {
    Options::new().policy(policy)
}

/// `read` and `look`, which read, and `mail`, which writes and may be chained.
pub(super) fn base(ran: &Ran) -> Catalog<App> {
    let mut registry = registry(Policy::new().may_chain(["mail"]));
    registry.register_all([ran.echo("read"), ran.echo("look"), ran.writes("mail")]).unwrap();
    registry.seal()
}

pub(super) fn session(ran: &Ran) -> Session<App> {
    Session::new(base(ran), options(Policy::new().may_chain(["mail"]))).unwrap()
}

pub(super) fn call(catalog: &Catalog<App>, tool: &str, input: Value) -> Result<ToolResult, CallError> {
    call_as(catalog, tool, input, &Arc::default())
}

pub(super) fn call_as(catalog: &Catalog<App>, tool: &str, input: Value, caller: &Arc<Caller>) -> Result<ToolResult, CallError> {
    block_on(catalog.invoke(Invocation::new(tool.to_owned(), input), caller.clone()))
}

pub(super) fn x(value: i64) -> Value {
    json!({ "x": value })
}

pub(super) fn ids(catalog: &Catalog<App>) -> Vec<&str> {
    catalog.ids().collect()
}

pub(super) fn code(outcome: Result<impl Sized, RegisterError>) -> String {
    outcome.err().unwrap().code().to_owned()
}

pub(super) fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
}
