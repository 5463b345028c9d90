//! Which steps of a composite need not have their arguments checked when they run: those whose whole mapping is proved
//! to fit, whatever arrives.

use crate::catalog::View;
use crate::composite::proof::{Proof, Read};
use crate::composite::{Composite, Program};
use crate::reference::template::{Plan, RefPlan, Source};
use crate::runtime::Runtime;
use crate::schema::CompiledSchema;
use crate::schema::integers::Integers;
use crate::tool::ToolDef;

/// The schemas of what a step can read, each as it is enforced where the value comes from.
struct Enforced<'a> {
    input: Option<&'a CompiledSchema>,
    outputs: Vec<Option<&'a CompiledSchema>>,
}

impl<R: Runtime> View<R> {
    /// Marks the steps whose arguments need not be checked when they run, of those whose wires are `proved` against
    /// schemas that are enforced.
    pub(super) fn mark(&self, composite: &Composite<R>, program: &mut Program, tools: &[Option<&ToolDef<R>>], proved: &[bool]) {
        program.checks_input = composite.head.def.input.is_some();
        if self.options.policy.validates_every_step {
            return;
        }
        let enforced =
            Enforced { input: composite.head.def.input.as_ref(), outputs: tools.iter().map(|tool| (*tool)?.0.output.as_ref()).collect() };
        for ((step, tool), proved) in program.steps.iter_mut().zip(tools).zip(proved) {
            let target = tool.filter(|_| *proved).and_then(|tool| tool.0.input.as_ref());
            step.proof = target.and_then(|target| enforced.proof(&step.arguments, target.integers()));
            program.remembers |= step.proof.is_some();
        }
    }
}

impl Enforced<'_> {
    /// What the proof of a step rests on. None when something may need the repair of integers that are written as
    /// decimals, and nobody could tell from where it comes.
    fn proof(&self, plan: &Plan, integers: Option<&Integers>) -> Option<Proof> {
        let mut reads = Vec::new();
        self.rests_on(plan, integers, &mut reads).then(|| Proof::resting_on(reads))
    }

    /// `integers` are the places of the tool's schema that want one, from where the plan's value goes.
    fn rests_on(&self, plan: &Plan, integers: Option<&Integers>, reads: &mut Vec<Read>) -> bool {
        match plan {
            Plan::Literal(value) => integers.is_none_or(|integers| !integers.concerns(value)),
            Plan::Reference(reference) => {
                if let Source::Step(step) = reference.source {
                    reads.push(Read { step, exact: integers.is_some() });
                }
                integers.is_none_or(|integers| self.follow_from(reference, integers) == Some(true))
            }
            Plan::Object { shape, members, .. } => shape
                .keys()
                .zip(members)
                .all(|(key, member)| self.rests_on(member, integers.and_then(|integers| integers.member(key)), reads)),
            Plan::Array(items) => items.iter().all(|item| self.rests_on(item, integers.and_then(Integers::items), reads)),
        }
    }

    /// Whether what a reference gives has its integers written as such where they are wanted, when its source has.
    fn follow_from(&self, reference: &RefPlan, integers: &Integers) -> Option<bool> {
        let source = match reference.source {
            Source::Input => self.input?,
            Source::Step(position) => (*self.outputs.get(position)?)?,
            Source::Null | Source::Nothing => return None,
        };
        let (mut schema, mut exact) = (source.source(), source.integers());
        for hop in &reference.path {
            // Beside a reference to elsewhere other keywords may mean nothing.
            if schema.get("$ref").is_some() || schema.get("$dynamicRef").is_some() {
                return None;
            }
            let named = hop.key.as_deref().filter(|_| hop.index.is_none() && !hop.length);
            (schema, exact) = match (named, hop.index) {
                (Some(key), _) => (schema.get("properties")?.get(key)?, exact.and_then(|exact| exact.member(key))),
                (None, Some(_)) if schema.get("properties").is_none() && schema.get("prefixItems").is_none() => {
                    (schema.get("items")?, exact.and_then(Integers::items))
                }
                _ => return None,
            };
        }
        Some(integers.follow_from(schema, exact))
    }
}
