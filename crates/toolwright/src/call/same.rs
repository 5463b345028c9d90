//! Outputs that are the very value that the tool was given: what fitted on the way in need not be looked at again on the
//! way out, when the tool's own schemas say that it fits there too.

use std::sync::OnceLock;

use crate::composite::proof::is_same;
use crate::frame::Call;
use crate::limits;
use crate::runtime::Runtime;
use crate::schema::CompiledSchema;
use crate::tool::ToolDef;
use crate::value::{Object, Text, Value};
use crate::wiring;

/// What a tool may hand through: what fits its input schema there, and so its output schema. Found out when it first
/// does.
#[derive(Default)]
pub(crate) struct HandedThrough {
    /// All arguments together.
    whole: OnceLock<bool>,
    /// The values of these arguments.
    arguments: OnceLock<Vec<Text>>,
}

/// Whether it is worth a look if the tool gives back what it got: looking must be cheaper than checking.
pub(super) fn may_hand_through<R: Runtime>(tool: &ToolDef<R>, call: &Call<R>, arguments: &Value) -> bool {
    let trusts = || call.scope.host.view.as_ref().is_some_and(|view| !view.options.policy.validates_every_step);
    arguments.weight() >= limits::HANDED_THROUGH_BYTES_MIN && tool.0.input.is_some() && trusts()
}

/// Whether `output` is what the tool was given, and fits because of that. `given` is null when nothing was kept.
#[inline]
pub(super) fn is_handed_through<R: Runtime>(tool: &ToolDef<R>, given: &Value, output: &Value) -> bool {
    if given.is_null() {
        return false;
    }
    let (Some(input), Some(promised)) = (&tool.0.input, &tool.0.output) else { return false };
    let known = &tool.0.handed_through;
    if is_same(given, output) {
        return *known.whole.get_or_init(|| covers(input, None, promised));
    }
    let members = given.as_object().into_iter().flat_map(|given| given.iter());
    let mut same = members.filter(|(_, value)| is_same(value, output)).map(|(key, _)| key);
    same.any(|key| known.arguments.get_or_init(|| arguments(input, promised)).contains(key))
}

/// Whether what fits the input, or one argument of it, fits what is promised, and has the integers written as such that
/// are wanted there.
fn covers(input: &CompiledSchema, argument: Option<&Text>, promised: &CompiledSchema) -> bool {
    let (given, exact) = match argument {
        None => (Some(input.source()), input.integers()),
        Some(name) => {
            let properties = input.source().get("properties");
            (properties.and_then(|properties| properties.get(name)), input.integers().and_then(|integers| integers.member(name)))
        }
    };
    given.is_some_and(|given| promised.integers().is_none_or(|integers| integers.follow_from(given, exact)))
        && wiring::always_fits(input, argument, promised)
}

/// The arguments that may be handed through.
fn arguments(input: &CompiledSchema, promised: &CompiledSchema) -> Vec<Text> {
    // Beside a reference to elsewhere other keywords may mean nothing.
    let properties = input.source().get("properties").filter(|_| input.source().get("$ref").is_none()).and_then(Value::as_object);
    let names = properties.into_iter().flat_map(Object::keys).take(limits::HANDED_THROUGH_ARGUMENTS_MAX);
    names.filter(|name| covers(input, Some(name), promised)).cloned().collect()
}
