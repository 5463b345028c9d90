//! Who is calling: the run, the path inside it, how deep, and through which
//! composites. Kept by the runtime, where no tool or caller can reset it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use crate::cancel::CancelToken;
use crate::catalog::View;
use crate::composite::dry::StepOutputs;
use crate::diagnostics::{Event, Observer};
use crate::journal::RunJournal;
use crate::limits::Limits;
use crate::tool::BoxFuture;
use crate::value::{Object, Text, Value};

/// Nanoseconds since a moment of the clock's own choosing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
pub struct Timestamp(pub u64);

/// The host's clock. The core has none; without one, records carry no times and a grace period has no end.
pub trait Clock: Send + Sync {
    /// The time now. Must not go backwards.
    fn now(&self) -> Timestamp;
    /// Ends after `duration`.
    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()>;
}

/// What the caller says about itself; every tool of the run can read it.
#[derive(Clone, Debug, Default)]
pub struct Context(Option<Arc<Value>>);

impl Context {
    /// A context from a JSON object. `sessionData.emergentDepth`, when it is a
    /// number, counts as composites that were already entered elsewhere.
    pub fn new(data: Value) -> Self {
        Self(Some(Arc::new(data)))
    }

    /// The caller's object; `null` when nothing was given.
    pub fn data(&self) -> &Value {
        self.0.as_deref().unwrap_or(&Value::Null)
    }

    /// Composites entered before this run, as the caller says; anything but a number counts as 0.
    pub(crate) fn depth(&self) -> u32 {
        let Some(data) = &self.0 else { return 0 };
        let depth = data.get("sessionData").and_then(|session| session.get("emergentDepth"));
        match depth {
            Some(Value::Number(_)) => depth.and_then(Value::as_f64).map_or(0, |depth| depth.clamp(0.0, f64::from(u32::MAX)) as u32),
            _ => 0,
        }
    }
}

/// How a run treats steps with side effects.
#[derive(Clone, Debug, Default)]
pub(crate) enum Mode {
    #[default]
    Real,
    /// Steps with side effects and nested composites take their output from the table.
    Dry(Arc<StepOutputs>),
    /// As `Dry`, but nested composites are entered; outputs are keyed `outer/inner`.
    Rehearse(Arc<StepOutputs>),
}

/// One run: everything its calls share.
pub(crate) struct Run {
    pub(crate) id: Text,
    pub(crate) view: Option<Arc<View>>,
    pub(crate) cancel: CancelToken,
    pub(crate) context: Context,
    pub(crate) journal: Option<Arc<dyn RunJournal>>,
    pub(crate) observer: Option<Arc<dyn Observer>>,
    pub(crate) clock: Option<Arc<dyn Clock>>,
    pub(crate) mode: Mode,
    pub(crate) limits: Limits,
}

impl Run {
    /// Tells the observer, if there is one. It cannot change a run, so one that breaks down does not end it.
    pub(crate) fn tell(&self, event: impl FnOnce() -> Event) {
        if let Some(observer) = &self.observer {
            let event = event();
            let _ = catch_unwind(AssertUnwindSafe(|| observer.observe(&event)));
        }
    }
}

/// Names of one composite and its steps, for paths, events and errors.
#[derive(Debug)]
pub(crate) struct Names {
    /// Name of the composite; empty for the root of a run and for a composite without a name.
    pub(crate) composite: Text,
    pub(crate) steps: Box<[StepName]>,
}

#[derive(Clone, Debug)]
pub(crate) struct StepName {
    pub(crate) name: Text,
    pub(crate) tool: Text,
}

impl Names {
    pub(crate) fn of_root(tool: &Text) -> Self {
        let step = StepName { name: tool.clone(), tool: tool.clone() };
        Self { composite: Text::new(), steps: Box::new([step]) }
    }

    pub(crate) fn deep_clone(&self) -> Self {
        let own = |text: &Text| Text::from(text.as_str());
        let steps = self.steps.iter().map(|step| StepName { name: own(&step.name), tool: own(&step.tool) });
        Self { composite: own(&self.composite), steps: steps.collect() }
    }

    pub(crate) fn step(&self, index: u32) -> Option<&StepName> {
        self.steps.get(index as usize)
    }
}

/// A place in the tree of calls. Holds names only, so that a record may outlive its run.
#[derive(Debug)]
pub(crate) struct PathNode {
    pub(crate) parent: Option<(Arc<PathNode>, u32)>,
    pub(crate) names: Arc<Names>,
    /// Composites entered to get here, this one included.
    pub(crate) depth: u32,
    pub(crate) identity: Identity,
}

/// Which composite runs and through which gate, as addresses: compared only while the run holds both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Identity {
    pub(crate) composite: usize,
    pub(crate) gate: usize,
}

impl PathNode {
    /// This place and those around it, innermost first.
    pub(crate) fn outwards(&self) -> impl Iterator<Item = &Self> {
        std::iter::successors(Some(self), |node| node.parent.as_ref().map(|(parent, _)| &**parent))
    }

    /// Composites on the way here, innermost first.
    pub(crate) fn lineage(&self) -> impl Iterator<Item = &Text> {
        self.outwards().map(|node| &node.names.composite).filter(|name| !name.is_empty())
    }

    /// Whether a composite on the way here is `composite`, or has the name `tool` where `gate` finds its tools.
    pub(crate) fn is_inside(&self, composite: usize, gate: usize, tool: &str) -> bool {
        self.outwards().any(|node| {
            let entered_as = node.parent.as_ref().and_then(|(parent, at)| Some((parent.identity.gate, parent.names.step(*at)?)));
            node.identity.composite == composite
                || (node.identity.gate == gate && node.names.composite == tool)
                || entered_as.is_some_and(|(by, step)| by == gate && step.tool == tool)
        })
    }

    fn write(&self, step: u32, out: &mut String) {
        if let Some((parent, at)) = &self.parent {
            parent.write(*at, out);
            out.push('/');
            out.push_str(&step.to_string());
            out.push(':');
        }
        if let Some(step) = self.names.step(step) {
            out.push_str(&step.name);
        }
    }

    /// `research/0:search`: root tool, then position and name of each step.
    pub(crate) fn path(&self, step: u32) -> String {
        let mut path = String::new();
        self.write(step, &mut path);
        path
    }

    /// `outer/inner`: step names below the root, the form in which outputs of a rehearsal are keyed.
    pub(crate) fn step_key(&self, step: u32) -> String {
        let name = self.names.step(step).map_or("", |step| step.name.as_str());
        match &self.parent {
            Some((parent, at)) if parent.parent.is_some() => format!("{}/{name}", parent.step_key(*at)),
            _ => name.to_owned(),
        }
    }
}

/// What the calls of one composite, or the root call of a run, have in common.
pub(crate) struct Scope {
    pub(crate) run: Arc<Run>,
    pub(crate) node: Arc<PathNode>,
    /// A composite on the way here was accepted as one without side effects: nothing inside it may have any.
    pub(crate) effectless: bool,
}

/// One call as the called tool sees it. Owned and cheap to clone.
#[derive(Clone)]
pub struct Call {
    pub(crate) scope: Arc<Scope>,
    pub(crate) step: u32,
}

impl std::fmt::Debug for Call {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Call").field("path", &self.scope.node.path(self.step)).finish_non_exhaustive()
    }
}

impl Call {
    /// Name of the called tool.
    pub fn tool(&self) -> &str {
        self.scope.node.names.step(self.step).map_or("", |step| step.tool.as_str())
    }

    /// Name of the step this call is, or of the tool when it is the root of a run.
    pub fn step(&self) -> &str {
        self.scope.node.names.step(self.step).map_or("", |step| step.name.as_str())
    }

    /// Whether the run was cancelled; a tool with side effects should look and answer soon.
    pub fn cancel(&self) -> &CancelToken {
        &self.scope.run.cancel
    }

    /// What the caller said about itself.
    pub fn context(&self) -> &Context {
        &self.scope.run.context
    }

    /// The caller's `sessionData` with the runtime's own depth in `emergentDepth`.
    pub fn session_data(&self) -> Value {
        let given = self.scope.run.context.data().get("sessionData").and_then(Value::as_object).cloned();
        let mut pairs: Vec<(Text, Value)> = given
            .iter()
            .flat_map(Object::iter)
            .filter(|(key, _)| key.as_str() != "emergentDepth")
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect();
        pairs.push(("emergentDepth".into(), u64::from(self.depth()).into()));
        Value::object(pairs)
    }

    /// Composites entered to get here: those of this run on top of those the caller says it had entered before.
    pub fn depth(&self) -> u32 {
        self.scope.run.context.depth().saturating_add(self.scope.node.depth)
    }

    /// Names of the composites on the way here, outermost first.
    pub fn lineage(&self) -> Vec<Text> {
        let mut names: Vec<Text> = self.scope.node.lineage().cloned().collect();
        names.reverse();
        names
    }

    /// The run's id and this call's path in it: the same on every attempt at the same run.
    pub fn idempotency_key(&self) -> String {
        format!("{}/{}", self.scope.run.id, self.scope.node.path(self.step))
    }

    /// Reports progress of a long call. `done` and `total` are in the tool's own unit.
    pub fn progress(&self, message: impl Into<Text>, done: Option<f64>, total: Option<f64>) {
        self.scope.run.tell(|| Event::Progress { path: self.path(), message: message.into(), done, total });
    }

    pub(crate) fn run(&self) -> &Arc<Run> {
        &self.scope.run
    }

    pub(crate) fn node(&self) -> &Arc<PathNode> {
        &self.scope.node
    }

    /// Where this call is, as text.
    pub(crate) fn path(&self) -> String {
        self.scope.node.path(self.step)
    }
}
