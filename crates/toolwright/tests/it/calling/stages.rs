//! The stages of a call, one table: where a call stops, nothing that comes later was asked, and everything that comes
//! before was asked once, in order. The same table through every way in.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use toolwright::{
    CallError, CancelSource, Catalog, Composite, Decision, EffectState, Invocation, Options, Policy, Registry, Runtime, ToolError,
    ToolResult, Value, json,
};

use super::fixture::Watched;
use crate::lifecycle_fixture::{App, AppCx, Notes, Own, block_on, cx_with};

/// Where the call of `t` stops.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Stop {
    Cancelled,
    TooDeep,
    Unavailable,
    Input,
    Denied,
    Checkpoint,
    Begin,
    Tool,
    Panic,
    Output,
    Receipt,
    Finish,
    Nowhere,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Door {
    Invoke,
    Call,
    Nested,
    Handle,
    Step,
}

impl Door {
    /// How many calls are around that of `t`.
    fn around(self) -> u32 {
        u32::from(!matches!(self, Self::Invoke | Self::Call))
    }

    /// How many checkpoints are made before that of `t`.
    fn before(self) -> u32 {
        self.around() + u32::from(self == Self::Step)
    }

    fn path(self) -> &'static str {
        match self {
            Self::Invoke | Self::Call => "t",
            Self::Nested | Self::Handle => "around/t~0",
            Self::Step => "around/1:t",
        }
    }
}

/// What a nested call ended with.
type Ended = Arc<std::sync::Mutex<Option<Result<ToolResult, CallError>>>>;

/// What was seen of the call of `t`.
#[derive(Debug, PartialEq)]
struct Seen {
    code: String,
    state: Option<EffectState>,
    value: Value,
    asked: Vec<String>,
    told: Vec<String>,
}

struct Stage {
    stop: Stop,
    door: Door,
    log: Notes,
    /// The call of `t` is next: from here on what is to break breaks.
    armed: Arc<AtomicBool>,
    checkpoints: Arc<AtomicUsize>,
    cancel: CancelSource,
    journal: Watched,
}

impl Stage {
    fn new(stop: Stop, door: Door) -> Arc<Self> {
        let log = Notes::default();
        let journal = Watched::noting(&log);
        let path = door.path();
        match stop {
            Stop::Begin => journal.refuse(format!("begin {path}")),
            Stop::Finish => journal.refuse(format!("finish {path}")),
            _ => {}
        }
        let (armed, checkpoints, cancel) = (Arc::default(), Arc::default(), CancelSource::new());
        Arc::new(Self { stop, door, log, armed, checkpoints, cancel, journal })
    }

    fn arm(&self) {
        self.log.take();
        self.armed.store(true, Ordering::SeqCst);
        if self.stop == Stop::Cancelled {
            self.cancel.cancel();
        }
    }

    fn breaks(&self, at: Stop) -> bool {
        self.stop == at && self.armed.load(Ordering::SeqCst)
    }

    fn options(self: &Arc<Self>) -> Options<App> {
        let [journal, checkpoint, receipt, receipt_error, signal] = [(); 5].map(|()| self.clone());
        let calls = if self.stop == Stop::TooDeep { self.door.around() } else { 64 };
        Options::new()
            .policy(Policy::new().may_chain(["t"]).limit_calls(calls))
            .signal(move |_| Some(signal.cancel.token()))
            .journal(move |_| Some(Arc::new(journal.journal.clone())))
            .checkpoint(move |_| {
                let number = checkpoint.checkpoints.fetch_add(1, Ordering::SeqCst);
                checkpoint.log.note(format!("checkpoint {number}"));
                assert!(!checkpoint.breaks(Stop::Checkpoint), "told to");
                json!(number)
            })
            .receipt(move |_, number| {
                let number = number.and_then(Value::as_i64).unwrap();
                receipt.log.note(format!("receipt {number}"));
                let of_t = number == i64::from(receipt.door.before());
                if of_t && receipt.breaks(Stop::Receipt) { Err("told to".into()) } else { Ok(json!({ "number": number })) }
            })
            .receipt_error(move |error: &CallError| {
                // A composite around it has the same error, as that of its step.
                if error.step().is_none() {
                    receipt_error.log.note(format!("receipt_error {}", error.code()));
                }
                json!(error.code())
            })
    }

    fn t(self: &Arc<Self>) -> toolwright::ToolDef<App> {
        let [available, authorize, run] = [(); 3].map(|()| self.clone());
        App::tool("t", "Stops somewhere")
            .writes()
            .input_schema(json!({ "type": "object", "properties": { "x": { "type": "integer" } }, "required": ["x"] }))
            .output_schema(json!({ "type": "object" }))
            .available(move |_| {
                // A composite is asked for its steps beforehand.
                if available.armed.load(Ordering::SeqCst) {
                    available.log.note("available");
                }
                !available.breaks(Stop::Unavailable)
            })
            .authorize(move |access| {
                assert_eq!(access.input, Some(&json!({ "x": 1 })));
                authorize.log.note("authorize");
                if authorize.breaks(Stop::Denied) { Err("told to".into()) } else { Ok(()) }
            })
            .run_json(move |_, _| {
                let stage = run.clone();
                async move {
                    stage.log.note("run");
                    match stage.stop {
                        Stop::Tool => Err(ToolError::new("told to").code("quota").nothing_happened()),
                        Stop::Panic => panic!("told to"),
                        Stop::Output => Ok(json!("no object")),
                        _ => Ok(json!({ "done": true })),
                    }
                }
            })
    }

    fn input(&self) -> Value {
        if self.stop == Stop::Input { json!({ "x": "none" }) } else { json!({ "x": 1 }) }
    }

    /// The catalogue; what a nested call ended with is left in the second.
    fn catalog(self: &Arc<Self>) -> (Catalog<App>, Ended) {
        let (own, ended) = (Own::default(), Arc::new(std::sync::Mutex::new(None)));
        let mut registry = Registry::with_options(self.options()).unwrap();
        registry.register(self.t()).unwrap();
        let (stage, kept, handle) = (self.clone(), ended.clone(), own.clone());
        let around = App::tool("around", "Calls it").writes().run_json(move |input: Value, call| {
            let (stage, kept, handle) = (stage.clone(), kept.clone(), handle.clone());
            async move {
                stage.arm();
                let outcome = match stage.door {
                    Door::Nested => call.invoke("t", stage.input()).await,
                    _ => handle.get().invoke(Invocation::new("t", stage.input()), call.context_arc().clone()).await,
                };
                *kept.lock().unwrap() = Some(outcome);
                Ok(input)
            }
        });
        let stage = self.clone();
        let first = App::tool("first", "Comes before it").reads().run_json(move |input: Value, _| {
            stage.arm();
            std::future::ready(Ok(input))
        });
        match self.door {
            Door::Step => {
                let steps = Composite::of(App::tool("around", "Has it as a step"));
                let steps = match self.stop {
                    // The one before it would be too deep as well.
                    Stop::TooDeep => steps.step("t", "t", self.input()),
                    // What is written for it is looked at when it is registered; what another step gives is not known.
                    _ => steps.step("first", "first", self.input()).step("t", "t", json!({ "x": "$prev.x" })),
                };
                registry.register(first).unwrap().register(steps).unwrap();
            }
            _ => {
                registry.register(around).unwrap();
            }
        }
        let catalog = registry.seal();
        own.set(&catalog);
        (catalog, ended)
    }
}

fn seen(stop: Stop, door: Door) -> Seen {
    let stage = Stage::new(stop, door);
    let (catalog, ended) = stage.catalog();
    let cx = cx_with(|_: &mut AppCx| {});
    let outcome = block_on(async {
        match door {
            Door::Invoke => {
                stage.arm();
                catalog.invoke(Invocation::new("t", stage.input()), cx).await
            }
            Door::Call => {
                stage.arm();
                catalog.call(&Decision::new("t", stage.input()), cx).await
            }
            Door::Nested | Door::Handle => {
                catalog.invoke(Invocation::new("around", json!({})), cx).await.unwrap();
                ended.lock().unwrap().take().unwrap()
            }
            Door::Step => catalog.invoke(Invocation::new("around", json!({})), cx).await,
        }
    });
    let asked = stage.log.all().into_iter().filter_map(|line| of_t(&line, door)).collect();
    let events = catalog.events().into_iter().filter(|event| event.tool == "t");
    let told = events.map(|event| format!("{:?} {}", event.what, event.code.as_deref().unwrap_or_default())).collect();
    let (code, state, value) = match outcome {
        Ok(result) => (String::new(), None, result.value().clone()),
        Err(error) => (error.code().to_owned(), Some(error.effect_state()), Value::Null),
    };
    Seen { code, state, value, asked, told }
}

/// What was asked for the call of `t`, without what was asked for the one around it.
fn of_t(line: &str, door: Door) -> Option<String> {
    let (what, of) = line.split_once(' ').unwrap_or((line, ""));
    let own = match what {
        "checkpoint" | "receipt" => of == door.before().to_string(),
        "begin" | "finish" | "abandoned" => of == door.path(),
        "open" | "end" => false,
        _ => true,
    };
    let shown = if what == "receipt_error" { line } else { what };
    own.then(|| shown.to_owned())
}

/// Code, what is known of the effect, what was asked, what was told.
type Row = (Stop, &'static str, Option<EffectState>, &'static [&'static str], &'static [&'static str]);

const ROWS: &[Row] = &[
    (Stop::Cancelled, "cancelled", Some(EffectState::NotStarted), &[], &["Cancelled cancelled"]),
    (Stop::TooDeep, "calls_too_deep", Some(EffectState::NotStarted), &[], &["Refused calls_too_deep"]),
    (Stop::Unavailable, "forbidden", Some(EffectState::NotStarted), &["available"], &["Refused forbidden"]),
    (Stop::Input, "invalid_input", Some(EffectState::NotStarted), &["available"], &["Refused invalid_input"]),
    (Stop::Denied, "denied", Some(EffectState::NotStarted), &["available", "authorize"], &["Refused denied"]),
    (Stop::Checkpoint, "hook_failed", Some(EffectState::NotStarted), &["available", "authorize", "checkpoint"], &["Refused hook_failed"]),
    (Stop::Begin, "journal", Some(EffectState::NotStarted), &["available", "authorize", "checkpoint", "begin"], &["Refused journal"]),
    (
        Stop::Tool,
        "quota",
        Some(EffectState::NoEffect),
        &["available", "authorize", "checkpoint", "begin", "run", "receipt_error quota", "finish"],
        &["Started ", "Failed quota"],
    ),
    (
        Stop::Panic,
        "panicked",
        Some(EffectState::Unknown),
        &["available", "authorize", "checkpoint", "begin", "run", "receipt_error panicked", "finish"],
        &["Started ", "Failed panicked"],
    ),
    (
        Stop::Output,
        "invalid_output",
        Some(EffectState::Happened),
        &["available", "authorize", "checkpoint", "begin", "run", "receipt_error invalid_output", "finish"],
        &["Started ", "Failed invalid_output"],
    ),
    (
        Stop::Receipt,
        "",
        None,
        &["available", "authorize", "checkpoint", "begin", "run", "receipt", "receipt_error hook_failed", "finish"],
        &["Started ", "Succeeded "],
    ),
    (
        Stop::Finish,
        "journal",
        Some(EffectState::Happened),
        &["available", "authorize", "checkpoint", "begin", "run", "receipt", "finish"],
        &["Started ", "Failed journal"],
    ),
    (Stop::Nowhere, "", None, &["available", "authorize", "checkpoint", "begin", "run", "receipt", "finish"], &["Started ", "Succeeded "]),
];

fn as_in_the_table(door: Door) {
    for (stop, code, state, asked, told) in ROWS {
        let seen = seen(*stop, door);
        assert_eq!(seen.asked, *asked, "{stop:?} through {door:?}: {seen:?}");
        assert_eq!((seen.code.as_str(), &seen.state), (*code, state), "{stop:?} through {door:?}");
        assert_eq!(seen.told, *told, "{stop:?} through {door:?}");
        let value = if code.is_empty() { json!({ "done": true }) } else { Value::Null };
        assert_eq!(seen.value, value, "{stop:?} through {door:?}");
    }
}

#[test]
fn t10_1_where_a_call_stops_nothing_later_was_asked_and_everything_earlier_once() {
    as_in_the_table(Door::Invoke);
}

#[test]
fn t10_2_a_decision_goes_through_the_same_stages() {
    as_in_the_table(Door::Call);
}

#[test]
fn t10_2_a_nested_call_goes_through_the_same_stages() {
    as_in_the_table(Door::Nested);
    as_in_the_table(Door::Handle);
}

#[test]
fn t10_2_a_step_goes_through_the_same_stages() {
    as_in_the_table(Door::Step);
}
