//! From a specification to a program: every reference is read now, so that a
//! run meets no syntax error and no reference to a step that has not run.

use std::sync::Arc;

use super::spec::{CompositeSpec, Fix, Severity, SpecIssue};
use super::{Program, Step};
use crate::frame::{Names, StepName};
use crate::reference::template::{Findings, Plan, Scope, Source};
use crate::value::{Object, Text};

/// A compiled specification and what is worth a warning.
pub(crate) struct Compiled {
    pub(crate) program: Program,
    pub(crate) warnings: Vec<SpecIssue>,
}

/// A specification with references that cannot be read.
pub(crate) struct Failed {
    /// Every bad reference, and the warnings.
    pub(crate) issues: Vec<SpecIssue>,
    /// The mappings of the steps, with `null` where a reference is bad.
    pub(crate) plans: Vec<Plan>,
}

/// Compiles a whole specification; on failure gives everything that can still be said of it.
pub(crate) fn compile(name: &Text, spec: &CompositeSpec) -> Result<Compiled, Failed> {
    let step_names: Vec<Text> = spec.steps.iter().map(|step| step.name.clone()).collect();
    let mut issues = Vec::new();
    let mut plan = |mapping: &Object, at: usize, prefix: &str| {
        let mut findings = Findings::default();
        let scope = Scope { dialect: spec.dialect, steps: &step_names, at };
        let plan = Plan::compile(mapping, &scope, &mut findings);
        collect(findings, prefix, &step_names, &mut issues);
        plan
    };
    let plans: Vec<Plan> = spec
        .steps
        .iter()
        .enumerate()
        .map(|(index, step)| plan(&step.input_mapping, index, &format!("/steps/{index}/inputMapping")))
        .collect();
    let output = spec.output.as_ref().map(|mapping| plan(mapping, spec.steps.len(), "/output"));
    if issues.iter().any(|issue| issue.severity == Severity::Error) {
        return Err(Failed { issues, plans });
    }
    let literals = issues
        .iter()
        .filter(|issue| issue.code == "literal_reference")
        .map(|issue| (step_of(&issue.pointer), format!("{} at {}", issue.message, crate::cut(&issue.pointer, 200))))
        .collect();
    let steps = forgetting(plans, output.as_ref());
    let names = spec.steps.iter().map(|step| StepName { name: step.name.clone(), tool: step.tool.clone() });
    let names = Arc::new(Names { composite: name.clone(), steps: names.collect() });
    Ok(Compiled {
        program: Program { names, steps, checks_input: false, remembers: output.is_some(), output: output.map(Box::new), literals },
        warnings: issues,
    })
}

/// `/steps/3/inputMapping/q` is in step 3, `/output/q` in none.
fn step_of(pointer: &str) -> Option<u32> {
    pointer.strip_prefix("/steps/")?.split('/').next()?.parse().ok()
}

fn collect(findings: Findings, prefix: &str, steps: &[Text], issues: &mut Vec<SpecIssue>) {
    for found in findings.errors {
        let pointer = format!("{prefix}{}", found.pointer);
        let fix = found.error.meant(steps).map(|meant| Fix::Value { pointer: pointer.clone(), to: meant.into() });
        issues.push(SpecIssue {
            severity: Severity::Error,
            code: found.error.code(),
            message: found.error.to_string(),
            help: Some(found.error.help()),
            pointer,
            span: Some(found.error.span()),
            fix,
        });
    }
    let warning = |code, message, help: &str, pointer: String| SpecIssue {
        severity: Severity::Warning,
        code,
        message,
        help: Some(help.into()),
        pointer: format!("{prefix}{pointer}"),
        span: None,
        fix: None,
    };
    for (pointer, text) in findings.literals {
        let message = format!("`{}` is no reference and is used as a literal", crate::cut(&text, 80));
        let help = "the forms here are `$input`, `$prev` and `$steps[N]`, each alone or followed by `.path`";
        issues.push(warning("literal_reference", message, help, pointer));
    }
    for (pointer, text, meant) in findings.suspicious {
        let shown = crate::cut(&text, 80);
        let (message, help) = match meant {
            Some(meant) => {
                let escape = if text.starts_with('$') { "; for the text itself write `$$…`" } else { "" };
                let help = format!("did you mean `{}`? that is how a reference is written here{escape}", crate::cut(&meant, 80));
                (format!("`{shown}` is no reference and is sent on as text"), help)
            }
            None => {
                let help = "only a text that is one reference from beginning to end is resolved";
                (format!("`{shown}` mentions a reference but is sent on as text"), help.into())
            }
        };
        issues.push(warning("reference_in_text", message, &help, pointer));
    }
}

/// Notes for each step which outputs nothing later looks at, so that they can be dropped there.
fn forgetting(plans: Vec<Plan>, output: Option<&Plan>) -> Vec<Step> {
    let count = plans.len();
    let mut last_use: Vec<usize> = (0..count).collect();
    let mut note = |plan: &Plan, at: usize| {
        plan.each_reference(&mut |reference| {
            if let Source::Step(position) = reference.source
                && let Some(last) = last_use.get_mut(position)
            {
                *last = (*last).max(at);
            }
        });
    };
    plans.iter().enumerate().for_each(|(at, plan)| note(plan, at));
    if let Some(output) = output {
        note(output, count);
    } else if let Some(last) = last_use.last_mut() {
        *last = count;
    }
    let forget = |at: usize| last_use.iter().enumerate().filter(|(_, last)| **last == at).map(|(position, _)| position).collect();
    plans.into_iter().enumerate().map(|(at, arguments)| Step { arguments, proof: None, forget: forget(at) }).collect()
}
