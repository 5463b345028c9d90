//! What a server says about its tools, kept as said, and what of it may count.
//!
//! A hint is a claim of the server about itself. It becomes an effect only when the host trusts the server's hints,
//! and what the host declares always wins.

use std::collections::HashMap;

use toolwright::{Effect, Text, Value};

use super::spec::ServerSpec;

/// Hints in three values: stated true, stated false, not stated. What is no boolean is not stated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Hints {
    /// The tool changes nothing.
    pub read_only: Option<bool>,
    /// The tool may destroy something.
    pub destructive: Option<bool>,
    /// Calling the tool again with the same arguments changes nothing more.
    pub idempotent: Option<bool>,
    /// The tool reaches the outside world.
    pub open_world: Option<bool>,
}

impl Hints {
    /// Reads a tool's `annotations`.
    pub fn of(annotations: Option<&Value>) -> Self {
        let hint = |name: &str| annotations.and_then(|all| all.get(name)).and_then(Value::as_bool);
        Hints {
            read_only: hint("readOnlyHint"),
            destructive: hint("destructiveHint"),
            idempotent: hint("idempotentHint"),
            open_world: hint("openWorldHint"),
        }
    }

    /// The effect these hints claim; absent when they say nothing about it.
    pub fn claim(self) -> Option<Effect> {
        match (self.read_only, self.idempotent) {
            (Some(true), _) => Some(Effect::read()),
            (_, Some(true)) => Some(Effect::write_idempotent()),
            _ => (self != Hints::default()).then(Effect::write),
        }
    }
}

/// What the host declares, found by the tool's name on the server; the last word counts.
pub(crate) struct Declared<'s> {
    effects: HashMap<&'s str, &'s Effect>,
    from: Text,
}

impl<'s> Declared<'s> {
    pub(crate) fn of(spec: &'s ServerSpec) -> Self {
        let effects = spec.effects.iter().map(|(name, effect)| (name.as_str(), effect)).collect();
        Self { effects, from: Text::from("declared") }
    }
}

/// The effect of a tool and where it comes from (`declared`, `lock`, `hint`, or nothing).
pub(crate) fn effect(spec: &ServerSpec, declared: &Declared<'_>, tool: &str, hints: Hints) -> (Option<Effect>, Text) {
    if let Some(effect) = declared.effects.get(tool) {
        return (Some((*effect).clone()), declared.from.clone());
    }
    if let Some(effect) = spec.accepted.get(tool) {
        return (Some(effect.clone()), Text::from("lock"));
    }
    match hints.claim().filter(|_| spec.trust_hints) {
        Some(effect) => (Some(effect), Text::from("hint")),
        None => (None, Text::default()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hints(text: &str) -> Hints {
        Hints::of(Some(&Value::parse(text).unwrap()))
    }

    #[test]
    fn hints_are_three_valued_and_only_booleans_count() {
        let said = hints(r#"{"readOnlyHint":"true","destructiveHint":1,"idempotentHint":null,"openWorldHint":false}"#);
        assert_eq!(said, Hints { open_world: Some(false), ..Hints::default() });
        assert_eq!(Hints::of(None), Hints::default());
        assert_eq!(hints(r#"{"title":"x"}"#), Hints::default());
        assert_eq!(hints("[]"), Hints::default());
    }

    #[test]
    fn claims_follow_the_table() {
        let table = [
            (r#"{"readOnlyHint":true}"#, Some(Effect::read())),
            (r#"{"readOnlyHint":true,"idempotentHint":true}"#, Some(Effect::read())),
            (r#"{"idempotentHint":true}"#, Some(Effect::write_idempotent())),
            (r#"{"readOnlyHint":false}"#, Some(Effect::write())),
            (r#"{"destructiveHint":false}"#, Some(Effect::write())),
            (r#"{"openWorldHint":false}"#, Some(Effect::write())),
            (r#"{"title":"x"}"#, None),
        ];
        for (text, claim) in table {
            assert_eq!(hints(text).claim(), claim, "{text}");
        }
    }

    #[test]
    fn hints_count_only_when_trusted_and_the_host_wins() {
        let read = hints(r#"{"readOnlyHint":true}"#);
        let mut spec = ServerSpec::stdio("s", "x", [""; 0]);
        let effect = |spec: &ServerSpec, tool, hints| effect(spec, &Declared::of(spec), tool, hints);
        assert_eq!(effect(&spec, "t", read), (None, Text::default()));
        spec.trust_hints = true;
        assert_eq!(effect(&spec, "t", read), (Some(Effect::read()), Text::from("hint")));
        spec.accepted.insert(Text::from("t"), Effect::write_idempotent());
        assert_eq!(effect(&spec, "t", read), (Some(Effect::write_idempotent()), Text::from("lock")));
        spec.effects.push((Text::from("t"), Effect::write()));
        assert_eq!(effect(&spec, "t", read), (Some(Effect::write()), Text::from("declared")));
    }
}
