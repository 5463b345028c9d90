//! Codes of declarations that are not taken in.

use toolwright::{Effect, Options, Policy, Protocol, RegisterError, Registry, SharedRegistry, ToolBuilder, ToolDef, Value, json, tool};

use super::{Said, of_issues};
use crate::world::{Log, composite, parsed, steps};

fn reader() -> ToolBuilder {
    tool("t", "A tool of this test").reads()
}

fn closed(builder: ToolBuilder) -> ToolDef {
    builder.run_json(|input, _| async move { Ok(input) })
}

fn refused<T>(outcome: Result<T, RegisterError>) -> Said {
    of_issues(&outcome.map(drop).unwrap_err().issues())
}

fn by_policy(policy: Policy, builder: ToolBuilder) -> Said {
    refused(Registry::with_policy(policy).register(closed(builder)))
}

fn by(builder: ToolBuilder) -> Said {
    by_policy(Policy::new(), builder)
}

fn reply() -> Protocol {
    Protocol::new("reply", "Answers", json!({}))
}

fn two(first: ToolBuilder, second: ToolBuilder) -> Said {
    refused(Registry::new().with(closed(first)).unwrap().register(closed(second)))
}

/// A composite over `t` and `u`.
fn over(first: ToolBuilder, main: impl Fn(toolwright::Composite) -> toolwright::Composite) -> Said {
    let mut registry = Registry::new();
    registry.register(closed(first)).unwrap().register(Log::new().echo("u")).unwrap();
    refused(registry.register(main(composite("main", &steps(&[("a", "t", json!({})), ("b", "u", json!({}))])))))
}

pub(super) fn produce(code: &str) -> Option<Said> {
    Some(match code {
        "invalid_tool" => by(tool(" ", "A tool").reads()),
        "duplicate_tool" => two(reader(), reader()),
        "invalid_schema" => by(reader().input_schema(json!({"type": "strng"}))),
        "empty_description" => by(tool("t", " ").reads()),
        "no_handler" => refused(Registry::new().register(reader())),
        "sealed" => {
            let registry = SharedRegistry::new();
            registry.seal();
            refused(registry.register(closed(reader())))
        }
        "kind_unknown" => by_policy(Policy::new().kinds(["read"]), reader().kind("raed")),
        "audience_unknown" => by_policy(Policy::new().audiences(["model"]), reader().audience("modle")),
        "effect_unknown" => by_policy(Policy::new().effects(["read"]), tool("t", "A tool of this test")),
        "effect_lowered" => by_policy(Policy::new().raise_effect("t", Effect::read()), tool("t", "A tool of this test").writes()),
        "effect_on_composite" => {
            let main = toolwright::Composite::of(tool("main", "Chains").reads()).step("a", "t", json!({}));
            refused(Registry::new().with(closed(reader())).unwrap().register(main))
        }
        "hook_twice" => by(reader().available(|_| true).available(|_| false)),
        "goal_unknown" => by_policy(Policy::new().goal_exists(|goal| goal == "explain"), reader().goals(["explian"])),
        "delegate_taken" => two(reader().delegate("ask"), tool("u", "Another").reads().delegate("ask")),
        "protocol_taken" => {
            let registry = Registry::with_options(Options::new().outputs([reply()])).unwrap();
            refused(registry.with(closed(tool("reply", "Answers").reads())))
        }
        "output_twice" => refused(Registry::<toolwright::Rt>::with_options(Options::new().outputs([reply(), reply()]))),
        "output_unknown" => by(reader().produces("reply")),
        "handler_installed" => {
            let mut registry = Registry::new();
            registry.register_normalizer(|value: Value, ()| value).unwrap();
            refused(registry.register_normalizer(|value: Value, ()| value))
        }
        "rule_refused" => by_policy(Policy::new().valid_id(|_| Err("no tools today".into())), reader()),
        "sensitive_unencrypted" => {
            let options = Options::new().journal(|_| Some(std::sync::Arc::new(toolwright::MemoryJournal::new())));
            let pin = json!({"type": "object", "properties": {"pin": {"type": "string", "x-sensitive": true}}});
            refused(Registry::<toolwright::Rt>::with_options(options).unwrap().register(closed(reader().input_schema(pin))))
        }
        "terminal_inside" => over(reader().terminal(), |main| main),
        "step_audience" => over(reader().audience("operator"), |main| main),
        "invalid_input" => {
            let closed_schema = parsed(r#"{"type": "object", "properties": {}, "additionalProperties": false}"#);
            over(reader().input_schema(closed_schema), |main| main.step("c", "t", json!({"v": 1})))
        }
        _ => return None,
    })
}
