//! What is worth knowing and stops nothing.

use super::{CodeExample, CodePage};

pages! {
    "may_not_fit", "what a step gets may not fit its tool",
        "The schema of what a reference yields lets something through that the tool does not take, such as `null`, or a member that may be missing. The composite can be run; a call that meets such a value ends with `invalid_input` (behind a composer's gate: `invalid_args`), and one that misses the member with `unresolved_reference`.",
        file(r#"sources:
  s:
    tools:
      find:
        argv: [echo]
        stdout: json
        effect: read
        output: { type: object, properties: { title: { type: [string, "null"] } }, required: [title] }
      say: { argv: [echo, "{text}"], effect: read }
composites:
  c:
    steps:
      - { name: a, tool: find }
      - { name: b, tool: say, inputMapping: { text: $prev.title } }
"#, "check"),
        "Make the source promise more in its output schema, write `?` at the end where the argument may be left out, or choose another field.";
    "literal_reference", "a text looks like a reference and is sent on as it stands",
        "In the page's dialect (`strictMode: false`) only six forms are references; any other `$…` is a literal.",
        file(r#"sources:
  s:
    tools:
      look: { argv: [echo, "{text}"], effect: read }

composites:
  c:
    strictMode: false
    steps:
      - { name: a, tool: look, inputMapping: { text: $steps.a } }
"#, "check"),
        "Write one of the six forms, or use `strictMode: true`.";
    "reference_in_text", "a text mentions a reference inside other text",
        "Only a text that is one reference from beginning to end is resolved, as `$input.topic` is; `${input.topic}`, `{{input.topic}}`, `$(prev)` and `$.input.topic` are text.",
        file(r#"sources:
  s:
    tools:
      look: { argv: [echo, "{text}"], effect: read }

composites:
  c:
    steps:
      - { name: a, tool: look, inputMapping: { text: about $input.topic } }
"#, "check"),
        "Let a tool put the text together, or pass the value as an argument of its own.";
    "repaired_argument", "an argument was repaired",
        "`100.0` was sent as `100` where the schema wants an integer, or a `null` for an optional argument that cannot be null was left out. Nothing else is ever changed.",
        rust(r##"// Writes down the codes of warnings.
#[derive(Default)]
struct Heard(std::sync::Mutex<Vec<Value>>);
impl Observer for Heard {
    fn observe(&self, fact: &Fact) {
        if fact.event == EventName::Warning {
            self.0.lock().unwrap().push(fact.payload["code"].clone());
        }
    }
}

let schema = json!({ "type": "object", "properties": { "limit": { "type": "integer" } } });
let mut registry = Registry::new();
registry.register(tool("look", "Looks").reads().input_schema(schema).run_json(echo)).unwrap();
let heard = Arc::new(Heard::default());
let call = Invocation::new("look", Value::parse(r#"{ "limit": 100.0 }"#).unwrap());
registry.seal().invoke(call.diagnostics(Diagnostics::disabled().with_observer(heard.clone())), ()).await.unwrap();
assert_eq!(heard.0.lock().unwrap()[0], json!("repaired_argument"));
"##),
        "Nothing, unless you want to send it right the first time.";
    "unused_step_output", "an output was given for a step that did not need one",
        "A dry run was given an output that no step asked for.",
        rust(r#"// Writes down the codes of warnings.
#[derive(Default)]
struct Heard(std::sync::Mutex<Vec<Value>>);
impl Observer for Heard {
    fn observe(&self, fact: &Fact) {
        if fact.event == EventName::Warning {
            self.0.lock().unwrap().push(fact.payload["code"].clone());
        }
    }
}

let mut registry = Registry::new();
registry.register(tool("look", "Looks").reads().run_json(echo)).unwrap();
registry.register(Composite::new("c", "Looks").step("search", "look", json!({}))).unwrap();
let heard = Arc::new(Heard::default());
let call = Invocation::new("c", json!({})).dry(StepOutputs::new().with("serach", 1));
registry.seal().invoke(call.diagnostics(Diagnostics::disabled().with_observer(heard.clone())), ()).await.unwrap();
assert_eq!(heard.0.lock().unwrap()[0], json!("unused_step_output"));
"#),
        "Look for a typing mistake in the step's name.";
}
