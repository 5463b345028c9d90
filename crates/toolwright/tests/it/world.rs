//! What the tests stand on: tools that note what reaches them, a clock that obeys, an observer that writes down.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use toolwright::tool::ToolBuilder;
use toolwright::{
    Answer, BoxFuture, Call, CallError, CancelSource, Catalog, Clock, Composite, CompositeSpec, Diagnostics, EventName, Fact, Invocation,
    Observer, Policy, RegisterError, Registry, Timestamp, ToolDef, ToolError, ToolResult, Value, json, tool,
};

/// One call that reached a tool.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Seen {
    pub(crate) tool: String,
    pub(crate) step: String,
    pub(crate) input: Value,
    pub(crate) depth: u32,
    pub(crate) lineage: Vec<String>,
    pub(crate) session: Value,
    pub(crate) key: String,
}

/// The calls that reached the tools made from it, in order.
#[derive(Clone, Default)]
pub(crate) struct Log(Arc<Mutex<Vec<Seen>>>);

impl Log {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    pub(crate) fn note(&self, call: &Call, input: &Value) {
        let seen = Seen {
            tool: call.tool().into(),
            step: call.step().into(),
            input: input.clone(),
            depth: call.depth(),
            lineage: call.lineage().iter().map(ToString::to_string).collect(),
            session: call.session_data(),
            key: call.idempotency_key(),
        };
        self.0.lock().unwrap().push(seen);
    }

    pub(crate) fn all(&self) -> Vec<Seen> {
        self.0.lock().unwrap().clone()
    }

    /// Names of the tools that were reached.
    pub(crate) fn tools(&self) -> Vec<String> {
        self.all().into_iter().map(|seen| seen.tool).collect()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.all().is_empty()
    }

    /// What the only call of a step got.
    pub(crate) fn input_of(&self, step: &str) -> Value {
        let found: Vec<Seen> = self.all().into_iter().filter(|seen| seen.step == step).collect();
        assert_eq!(found.len(), 1, "step {step} reached its tool {} times", found.len());
        found[0].input.clone()
    }

    /// Closes a declaration with a function that is noted each time it is called.
    pub(crate) fn close(&self, builder: ToolBuilder, run: impl Fn(Value) -> Result<Answer, ToolError> + Send + Sync + 'static) -> ToolDef {
        let log = self.clone();
        builder.run_json(move |input, call| {
            log.note(&call, &input);
            std::future::ready(run(input))
        })
    }

    /// A reading tool that answers its arguments.
    pub(crate) fn echo(&self, id: &str) -> ToolDef {
        self.close(tool(id, "echoes").reads(), |input| Ok(Answer::new(input)))
    }

    /// A reading tool that always answers `output`.
    pub(crate) fn gives(&self, id: &str, output: Value) -> ToolDef {
        self.close(tool(id, "gives a value").reads(), move |_| Ok(Answer::new(output.clone())))
    }

    /// A tool with side effects that answers its arguments.
    pub(crate) fn writes(&self, id: &str) -> ToolDef {
        self.close(tool(id, "writes").writes(), |input| Ok(Answer::new(input)))
    }

    /// A tool that declares nothing.
    pub(crate) fn undeclared(&self, id: &str) -> ToolDef {
        self.close(tool(id, "says nothing"), |input| Ok(Answer::new(input)))
    }

    /// A tool that answers with an error.
    pub(crate) fn fails(&self, builder: ToolBuilder, error: ToolError) -> ToolDef {
        self.close(builder, move |_| Err(error.clone()))
    }
}

/// `{steps: [{name, tool, inputMapping}]}`
pub(crate) fn steps(steps: &[(&str, &str, Value)]) -> Value {
    let steps = steps.iter().map(|(name, tool, mapping)| json!({"name": name, "tool": tool, "inputMapping": mapping.to_json()}));
    Value::object([("steps", Value::array(steps))])
}

pub(crate) fn composite(id: &str, spec: &Value) -> Composite {
    Composite::new(id, "a composite of the tests").spec(CompositeSpec::from_value(spec).unwrap())
}

/// A catalogue of tools that may all be chained, and one composite `main` over them.
pub(crate) fn catalog(tools: impl IntoIterator<Item = ToolDef>, spec: &Value) -> Catalog {
    try_catalog(tools, spec).unwrap()
}

pub(crate) fn try_catalog(tools: impl IntoIterator<Item = ToolDef>, spec: &Value) -> Result<Catalog, RegisterError> {
    let tools: Vec<ToolDef> = tools.into_iter().collect();
    let mut registry = Registry::with_policy(Policy::new().may_chain(tools.iter().map(|tool| tool.name().to_owned())));
    for tool in tools {
        registry.register(tool).unwrap();
    }
    registry.register(composite("main", spec))?;
    Ok(registry.seal())
}

pub(crate) async fn run(catalog: &Catalog, tool: &str, input: Value) -> Result<ToolResult, CallError> {
    catalog.invoke(Invocation::new(tool, input), ()).await
}

/// Runs `main` of a one-off catalogue.
pub(crate) async fn run_main(tools: impl IntoIterator<Item = ToolDef>, spec: &Value, input: Value) -> Result<ToolResult, CallError> {
    run(&catalog(tools, spec), "main", input).await
}

/// Runs a future that waits for nothing.
pub(crate) fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(future)
}

/// Something that happens once and can be waited for.
#[derive(Clone, Default)]
pub(crate) struct Moment(CancelSource);

impl Moment {
    pub(crate) fn come(&self) {
        self.0.cancel();
    }

    pub(crate) fn has_come(&self) -> bool {
        self.0.token().is_cancelled()
    }

    pub(crate) async fn wait(&self) {
        self.0.token().cancelled().await;
    }
}

/// A clock whose sleeps end when the test says so.
#[derive(Clone, Default)]
pub(crate) struct TestClock {
    pub(crate) slept: Arc<Mutex<Vec<Duration>>>,
    pub(crate) over: Moment,
    ticks: Arc<Mutex<u64>>,
}

impl Clock for TestClock {
    fn now(&self) -> Timestamp {
        let mut ticks = self.ticks.lock().unwrap();
        *ticks += 1;
        Timestamp(*ticks)
    }

    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        self.slept.lock().unwrap().push(duration);
        let over = self.over.clone();
        Box::pin(async move { over.wait().await })
    }
}

/// Writes down every fact.
#[derive(Clone, Default)]
pub(crate) struct Events(Arc<Mutex<Vec<Fact>>>);

impl Events {
    /// A scope that only this watches.
    pub(crate) fn scope(&self) -> Diagnostics {
        Diagnostics::disabled().with_observer(Arc::new(self.clone()))
    }

    pub(crate) fn all(&self) -> Vec<Fact> {
        self.0.lock().unwrap().clone()
    }

    /// Code, path and message of every warning.
    pub(crate) fn warnings(&self) -> Vec<(String, String, String)> {
        let warnings = self.all().into_iter().filter(|fact| fact.event == EventName::Warning);
        warnings.map(|fact| (said(&fact, "code"), said(&fact, "path"), said(&fact, "message"))).collect()
    }
}

impl Observer for Events {
    fn observe(&self, fact: &Fact) {
        self.0.lock().unwrap().push(fact.clone());
    }
}

/// A text of a fact's payload; empty when there is none.
pub(crate) fn said(fact: &Fact, member: &str) -> String {
    fact.payload.get(member).and_then(Value::as_str).unwrap_or_default().to_owned()
}

/// A member of the failed result's `details`.
pub(crate) fn detail(error: &CallError, member: &str) -> Option<Value> {
    error.to_value().get("details").and_then(|details| details.get(member)).cloned()
}

pub(crate) fn parsed(text: &str) -> Value {
    Value::parse(text).unwrap_or_else(|error| panic!("{error} in {text}"))
}
