//! What can be found in a specification before anything runs, beyond its form:
//! unknown tools, refused tools, arguments that a tool does not take or needs.

use std::cell::{Cell, RefCell};

use super::compile::compile;
use super::spec::{CompositeSpec, Fix, Severity, SpecIssue, StepSpec};
use crate::gate::Chainability;
use crate::limits;
use crate::reference::Dialect;
use crate::reference::template::Plan;
use crate::runtime::Runtime;
use crate::schema::CompiledSchema;
use crate::tool::ToolDef;
use crate::value::{Text, Value};
use crate::wiring::Document;
use crate::wiring::check::{self, Known, Sources, Target};

/// The tool of a name now, and whether a step may use it.
pub(crate) type Judge<'a, R> = dyn Fn(&str) -> (Option<ToolDef<R>>, Chainability) + 'a;

/// Arguments that do not fit, behind a composer's own gate.
const INVALID_ARGS: &str = "invalid_args";
/// Arguments that do not fit, in a catalogue.
pub(crate) const INVALID_INPUT: &str = "invalid_input";

/// Finds everything at once. `known` are the names for suggestions.
pub(crate) fn lint<R: Runtime>(spec: &Value, dialect: Option<Dialect>, judge: &Judge<'_, R>, known: &[&str]) -> Vec<SpecIssue> {
    let (spec, mut issues) = CompositeSpec::read_all(spec, dialect);
    let Some(spec) = spec else { return issues };
    let (plans, output) = match compile(&Text::new(), &spec) {
        Ok(compiled) => {
            issues.extend(compiled.warnings);
            (compiled.program.steps.into_iter().map(|step| step.arguments).collect(), compiled.program.output)
        }
        Err(failed) => {
            issues.extend(failed.issues);
            (failed.plans, None)
        }
    };
    let bad = bad_places(&issues);
    let judged: Vec<(Option<ToolDef<R>>, Chainability)> = spec.steps.iter().map(|step| judge(&step.tool)).collect();
    let input = spec.input.clone().map(CompiledSchema::new);
    let sources = sources(input.as_ref(), false, judged.iter().map(|(tool, _)| tool.as_ref()), false);
    // Only a composer has a dialect of its own.
    let code = if dialect.is_some() { INVALID_ARGS } else { INVALID_INPUT };
    // A step without a tool was named above.
    for (index, step) in spec.steps.iter().enumerate().filter(|(_, step)| !step.tool.trim().is_empty()) {
        let Some((tool, verdict)) = judged.get(index) else { break };
        let verdict = *verdict;
        match tool {
            None if verdict == Chainability::NoGate => {
                issues.extend(not_allowed(index, step, verdict));
                break;
            }
            None => issues.push(unknown_tool(index, step, known)),
            Some(tool) => {
                issues.extend(not_allowed(index, step, verdict));
                if let Some(plan) = plans.get(index) {
                    issues.extend(wiring(index, plan, tool, code, &sources, &bad).issues);
                }
            }
        }
    }
    if let Some(output) = &output {
        issues.extend(check::output("/output", output, &sources, &bad));
    }
    if spec.dialect.is_page() {
        issues.extend(page_names(&spec));
    }
    issues
}

/// What the rule says against this tool as a step, with the change that would allow it.
pub(crate) fn not_allowed(index: usize, step: &StepSpec, verdict: Chainability) -> Option<SpecIssue> {
    let (message, help) = (verdict.message(&step.tool), verdict.help(&step.tool));
    let pointer = format!("/steps/{index}/tool");
    verdict.code().map(|code| SpecIssue { severity: Severity::Error, code, message, help, pointer, span: None, fix: None })
}

pub(crate) fn unknown_tool(index: usize, step: &StepSpec, known: &[&str]) -> SpecIssue {
    let near = crate::nearest::nearest(&step.tool, known.iter().copied());
    let pointer = format!("/steps/{index}/tool");
    let sure = crate::nearest::unmistakable(&step.tool, known.iter().copied());
    let fix = sure.map(|near| Fix::Value { pointer: pointer.clone(), to: near.into() });
    SpecIssue {
        severity: Severity::Error,
        code: "step_missing",
        message: format!("no tool is named `{}`", crate::cut(&step.tool, 80)),
        help: Some(
            near.map_or_else(
                || "names are taken exactly as written; see the list of tools".into(),
                |near| format!("did you mean `{near}`?"),
            ),
        ),
        pointer,
        span: None,
        fix,
    }
}

/// What steps can refer to, as far as it is known: the outputs of `tools`, in the order of the steps.
pub(crate) fn sources<'a, R: Runtime>(
    input: Option<&CompiledSchema>,
    input_enforced: bool,
    tools: impl IntoIterator<Item = Option<&'a ToolDef<R>>>,
    enforced: bool,
) -> Sources {
    let known = |schema: Option<&CompiledSchema>, owner: Option<Text>, enforced| Known {
        document: schema.and_then(CompiledSchema::document).cloned(),
        owner,
        learned: None,
        enforced,
        inferred: false,
    };
    let outputs = tools.into_iter().map(|tool| match tool {
        // What a composer's composite makes itself is not checked again when it leaves it.
        Some(tool) => match tool.expected_output() {
            Some((schema, outputs)) => Known {
                document: Document::new(schema),
                owner: Some(tool.0.name.clone()),
                learned: Some(outputs),
                enforced: false,
                inferred: false,
            },
            None => known(tool.0.output.as_ref(), Some(tool.0.name.clone()), enforced && tool.is_output_checked()),
        },
        None => known(None, None, false),
    });
    let (input, left) = (known(input, None, input_enforced), Cell::new(limits::WIRING_COMPOSITE_STEPS_MAX));
    Sources { outputs: outputs.collect(), input, left, told: RefCell::default() }
}

/// The wires of one step against its tool. `code` is that of a call that would end because of its arguments; `bad` are
/// the places of references that cannot be read.
pub(crate) fn wiring<R: Runtime>(
    index: usize,
    plan: &Plan,
    tool: &ToolDef<R>,
    code: &'static str,
    sources: &Sources,
    bad: &[String],
) -> check::Wires {
    let (input, inferred) = (tool.wired_input(), tool.0.input.is_none());
    let target = Target { tool: tool.name(), input, inferred, code };
    let mut wires = check::step(&format!("/steps/{index}/inputMapping"), plan, &target, sources, bad);
    wires.proved |= tool.0.input.is_none();
    wires
}

/// The places of references that cannot be read.
pub(crate) fn bad_places(issues: &[SpecIssue]) -> Vec<String> {
    let bad = issues.iter().filter(|issue| {
        issue.severity == Severity::Error && matches!(issue.code, "invalid_reference" | "forward_reference" | "invalid_spec")
    });
    bad.map(|issue| issue.pointer.clone()).collect()
}

fn page_names(spec: &CompositeSpec) -> Vec<SpecIssue> {
    let warning = |index: usize, message: String| SpecIssue {
        severity: Severity::Warning,
        code: "invalid_spec",
        message,
        help: Some("positions count here, so nothing breaks, but errors name steps".into()),
        pointer: format!("/steps/{index}"),
        span: None,
        fix: None,
    };
    let mut issues = Vec::new();
    for (index, step) in spec.steps.iter().enumerate() {
        if step.name.is_empty() {
            issues.push(warning(index, "the step has no name".into()));
        } else if spec.steps.iter().take(index).any(|other| other.name == step.name) {
            issues.push(warning(index, format!("two steps are named `{}`", crate::cut(&step.name, 60))));
        }
    }
    issues
}
