//! Every variant of [`Fault`] once: its code, what it says, what a model sees of it.

use std::collections::BTreeMap;

use super::*;
use crate::journal::{Begin, Difference, Divergence, Doubt, Failure, JournalError, StepKey};
use crate::reference::parse::{Reference, Root};
use crate::schema::SchemaIssue;
use crate::tool::ToolError;
use crate::{SpecError, json};

/// What the code of a variant is.
#[derive(Debug, PartialEq)]
enum Coded {
    /// This one, and no other variant's.
    Own(&'static str),
    /// Whatever the tool, the host, the rule or the specification says.
    Given,
    /// That of what caused it.
    Inner,
}

/// A variant without an arm here does not compile: it needs a code, and a place in `one_of_each`.
fn coded(fault: &Fault) -> Coded {
    match fault {
        Fault::Unavailable { .. } => Coded::Own("unavailable"),
        Fault::UnavailableInvocation { .. } => Coded::Own("unavailable_invocation"),
        Fault::Forbidden { .. } => Coded::Own("forbidden"),
        Fault::Inspected { .. } => Coded::Own("inspected"),
        Fault::Denied { .. } => Coded::Own("denied"),
        Fault::Hook { .. } => Coded::Own("hook_failed"),
        Fault::Rejected { .. } => Coded::Own("selection_rejected"),
        Fault::Refused { .. } | Fault::Gate(_) | Fault::InvalidSpec(_) | Fault::Tool { .. } | Fault::FailedBefore { .. } => Coded::Given,
        Fault::Aborted => Coded::Own("step_aborted"),
        Fault::Unresolved(_) => Coded::Own("unresolved_reference"),
        Fault::InvalidInput { .. } => Coded::Own("invalid_input"),
        Fault::Panicked { .. } => Coded::Own("panicked"),
        Fault::NoHandler { .. } => Coded::Own("no_handler"),
        Fault::Cancelled { .. } => Coded::Own("cancelled"),
        Fault::InvalidOutput { .. } => Coded::Own("invalid_output"),
        Fault::TooLarge { .. } => Coded::Own("value_too_large"),
        Fault::Journal { .. } => Coded::Own("journal"),
        Fault::Diverged { .. } => Coded::Own("diverged"),
        Fault::InDoubt { .. } => Coded::Own("in_doubt"),
        Fault::ChangedTool { .. } => Coded::Own("changed_tool"),
        Fault::NestingTooDeep { .. } => Coded::Own("nesting_too_deep"),
        Fault::CallsTooDeep { .. } => Coded::Own("calls_too_deep"),
        Fault::Cycle { .. } => Coded::Own("cycle"),
        Fault::RewriteLoop { .. } => Coded::Own("rewrite_loop"),
        Fault::Finalize { .. } => Coded::Own("finalize_failed"),
        Fault::NoFinalizer => Coded::Own("no_finalizer"),
        Fault::NoReceiver => Coded::Own("no_receiver"),
        Fault::CompositionConflict { .. } => Coded::Own("composition_conflict"),
        Fault::ProtocolConflict { .. } => Coded::Own("protocol_conflict"),
        Fault::Step(_) | Fault::Output(_) => Coded::Inner,
    }
}

/// How many variants there are.
const VARIANTS: usize = 35;

fn one_of_each() -> Vec<Fault> {
    let mut faults = refusals();
    faults.extend(ends());
    faults.extend(others());
    faults
}

fn refusals() -> Vec<Fault> {
    let refusal = || Refusal::new("own", "because");
    let tool = || Text::from("a");
    let reference = Reference { text: "$prev.x".into(), root: Root::Prev, root_span: 0..5, path: Vec::new(), optional: false };
    vec![
        Fault::Unavailable { tool: tool(), nearest: Some("secret".into()), refusal: None },
        Fault::UnavailableInvocation { invocation: tool(), refusal: None },
        Fault::Forbidden { tool: tool(), refusal: None },
        Fault::Inspected { tool: tool(), refusal: refusal() },
        Fault::Denied { tool: tool(), refusal: refusal() },
        Fault::Hook { hook: "complete", tool: tool(), refusal: refusal() },
        Fault::Rejected { tool: tool(), refusal: refusal() },
        Fault::Refused { code: "given".into(), message: "because".into(), help: None, details: None },
        Fault::Gate(Refusal::new("given", "because")),
        Fault::Aborted,
        Fault::InvalidSpec(SpecError { issues: Vec::new() }),
        Fault::Unresolved(Unresolved { reference, pointer: String::new(), span: 0..1, found: "nothing".into(), nearest: None }),
        Fault::InvalidInput { tool: tool(), issues: vec![issue()], by_page: false },
        Fault::NestingTooDeep { depth: 8, max: 8 },
        Fault::CallsTooDeep { calls: 64 },
        Fault::Cycle { path: vec![tool(), tool()] },
    ]
}

fn issue() -> SchemaIssue {
    SchemaIssue { pointer: "/x".into(), message: "it is missing".into() }
}

fn ends() -> Vec<Fault> {
    let tool = || Text::from("a");
    let state = EffectState::Happened;
    let begin = || Begin::new(StepKey::written("a", "a"), None, json!({}));
    let divergence = Box::new(Divergence { what: Difference::Input, recorded: begin() });
    let doubt = Box::new(Doubt { begin: begin(), attempt: 1, failure: None, at_work: false });
    vec![
        Fault::Tool { tool: tool(), error: ToolError::new("because").code("given").it_happened(), state },
        Fault::Panicked { tool: tool(), message: "because".into(), state },
        Fault::NoHandler { tool: tool() },
        Fault::Cancelled { state },
        Fault::InvalidOutput { tool: tool(), issues: vec![issue()], state, value: Some(json!(1)) },
        Fault::TooLarge { what: "output", message: "is large".into(), state },
        Fault::Journal { phase: "finish", error: JournalError::unwritable("full"), state, value: None },
        Fault::Diverged { divergence },
        Fault::InDoubt { doubt, run: "r1".into() },
        Fault::FailedBefore { failure: Box::new(Failure::new("given", "because", state)), tool: tool() },
        Fault::ChangedTool { tools: vec![tool()], steps: Vec::new() },
    ]
}

fn others() -> Vec<Fault> {
    let tool = || Text::from("a");
    let cause = || CallError::from(Fault::Cancelled { state: EffectState::NoEffect });
    let step = StepError {
        composite: "c".into(),
        step: "s".into(),
        index: 0,
        tool: tool(),
        completed: Vec::new(),
        effects: Vec::new(),
        unknown_effect: false,
        source: cause(),
    };
    vec![
        Fault::RewriteLoop { path: vec![tool()] },
        Fault::Finalize { failures: vec![(tool(), Refusal::new("own", "because"))], value: None },
        Fault::NoFinalizer,
        Fault::NoReceiver,
        Fault::CompositionConflict { tools: vec![tool(), tool()] },
        Fault::ProtocolConflict { id: tool() },
        Fault::Step(step),
        Fault::Output(OutputError { completed: Vec::new(), effects: Vec::new(), source: cause() }),
    ]
}

#[test]
fn t11_1_every_variant_has_a_code_that_no_other_has() {
    let mut by_code: BTreeMap<&'static str, usize> = BTreeMap::new();
    let faults = one_of_each();
    let kinds: std::collections::HashSet<_> = faults.iter().map(std::mem::discriminant).collect();
    assert_eq!((faults.len(), kinds.len()), (VARIANTS, VARIANTS), "one of each, and none twice");
    for fault in faults {
        let coded = coded(&fault);
        let error = CallError::from(fault);
        match coded {
            Coded::Own(code) => {
                assert_eq!(error.code(), code, "{error:?}");
                *by_code.entry(code).or_default() += 1;
            }
            Coded::Given if matches!(error.fault(), Fault::InvalidSpec(_)) => assert_eq!(error.code(), "invalid_spec"),
            Coded::Given => assert_eq!(error.code(), "given", "{error:?}"),
            Coded::Inner => assert_eq!(error.code(), "cancelled", "{error:?}"),
        }
        assert_eq!(error.public_code(), error.code());
    }
    assert!(by_code.values().all(|times| *times == 1), "{by_code:?}");
    // The codes that stand for something of several shapes.
    let by_page = Fault::InvalidInput { tool: "a".into(), issues: Vec::new(), by_page: true };
    assert_eq!(CallError::from(by_page).code(), "invalid_args");
    let diverged = JournalError::new(JournalErrorKind::Diverged, "it is another one");
    let opened = CallError::from(Fault::Journal { phase: "open", error: diverged, state: EffectState::NotStarted, value: None });
    assert_eq!((opened.code(), opened.retry()), ("diverged", Retry::Never));
}

#[test]
fn every_variant_says_something_and_tells_a_model_its_code() {
    for fault in one_of_each() {
        let error = CallError::from(fault);
        let message = error.message();
        assert!(!message.is_empty() && !message.ends_with('.') && !message.contains('\n'), "{message}");
        let shown = error.for_model();
        assert_eq!(shown.get("code"), Some(&error.code().into()), "{error:?}");
        let said = shown.get("message").and_then(crate::Value::as_str).unwrap_or_default();
        assert!(!said.is_empty() && !said.ends_with('.') && !said.contains('\n'), "{shown}");
        assert!(!shown.to_string().contains("secret"), "{shown}");
        assert_eq!(error.to_value().get("success"), Some(&false.into()));
        if error.effect_state() == EffectState::Happened {
            assert_ne!(error.retry(), Retry::Safe, "{error:?}");
        }
    }
}

#[test]
fn every_code_of_its_own_has_a_page() {
    let missing: Vec<_> = one_of_each()
        .iter()
        .filter_map(|fault| if let Coded::Own(code) = coded(fault) { Some(code) } else { None })
        .filter(|code| crate::codes::page(code).is_none())
        .collect();
    assert_eq!(missing, [""; 0]);
}
