//! What can end a call, a decision or a turn.

use super::{CodeExample, CodePage};

pages! {
    "forbidden", "the tool is not available now",
        "Its `available` hook says no in this context. A composite is available when the tools of all its steps are. Nothing ran.",
        rust(r#"let mut registry = Registry::new();
registry.register(tool("look", "Looks").reads().available(|_context| false).run_json(echo)).unwrap();
let error = registry.seal().invoke(Invocation::new("look", json!({})), ()).await.unwrap_err();
assert_eq!(error.code(), "forbidden");
"#),
        "Only a context in which the tool is available can call it; the tool's owner says which that is.";
    "inspected", "a tool refused a decision",
        "Before a decision is carried out, and before each step of a composite, every tool may inspect it, whichever tool it selects. One of them said no. Nothing ran.",
        rust(r#"let mut registry = Registry::new();
registry.register(tool("look", "Looks").reads().inspect(|_decision, _context| Err("not today".into())).run_json(echo)).unwrap();
let catalog = registry.seal();
let error = catalog.assert_decision(&Decision::new("look", json!({})), &Context::default()).unwrap_err();
assert_eq!(error.code(), "inspected");
"#),
        "The message has the reason and names the tool that said no.";
    "denied", "the tool does not let this caller use it so",
        "The tool's own `authorize` hook said no to this caller with these arguments. It is asked for every call, also of a step. Nothing ran.",
        rust(r#"let mut registry = Registry::new();
registry.register(tool("look", "Looks").reads().authorize(|_access| Err("ask first".into())).run_json(echo)).unwrap();
let error = registry.seal().invoke(Invocation::new("look", json!({})), ()).await.unwrap_err();
assert_eq!(error.code(), "denied");
"#),
        "The message has the reason and the hook's own code.";
    "refused", "a hook or a check said no without a code of its own",
        "A rule of the host gave a bare text as its reason.",
        rust(r#"let mut registry = Registry::new();
registry.register(tool("look", "Looks").reads().authorize(|_access| Err("ask first".into())).run_json(echo)).unwrap();
let error = registry.seal().invoke(Invocation::new("look", json!({})), ()).await.unwrap_err();
assert_eq!(error.refusal().unwrap().code, "refused");
"#),
        "The message is the reason. Whoever wrote the rule can give it a code: `Refusal::new(code, message)`.";
    "hook_failed", "a hook or a port of the host did not answer",
        "Something of the host that is asked on the way, beside the hooks that may say no, broke down or ended with an error. The message names it. What it was asked for did not happen.",
        rust(r#"let mut registry = Registry::new();
registry.register(tool("look", "Looks").reads().visible_text(|_text: String, _| -> String { panic!("oh") }).run_json(echo)).unwrap();
let catalog = registry.seal();
let error = catalog.visible_text("hello", &Context::default()).unwrap_err();
assert_eq!(error.code(), "hook_failed");
"#),
        "The message has the reason; whoever wrote the hook must mend it.";
    "hook_panicked", "a hook broke down",
        "A hook that cannot decide counts as a no. Stands in the message, behind the code of what was asked.",
        rust(r#"let mut registry = Registry::new();
registry.register(tool("look", "Looks").reads().authorize(|_access| panic!("oh")).run_json(echo)).unwrap();
let error = registry.seal().invoke(Invocation::new("look", json!({})), ()).await.unwrap_err();
assert_eq!(error.refusal().unwrap().code, "hook_panicked");
"#),
        "Whoever wrote the hook must mend it.";
    "selection_rejected", "a tool does not take the arguments of a selection",
        "The tool's `resolve` hook looks at what a model chose before anything is run, and said no.",
        rust(r#"let mut registry = Registry::new();
registry.register(tool("look", "Looks").reads().resolve(|_input, _context| -> Result<Value, Refusal> { Err("which one?".into()) }).run_json(echo)).unwrap();
let catalog = registry.seal();
let error = catalog.select("look", json!({}), &Context::default()).unwrap_err();
assert_eq!(error.code(), "selection_rejected");
"#),
        "The message has the reason; choose other arguments.";
    "suspended", "a tool that was forged is suspended",
        "It failed several times in a row, or the host suspended it. It is refused in every generation of its session, also as a step, until the host lifts that.",
        rust(r#"let mut registry = Registry::new();
registry.register(tool("look", "Looks").reads().run_json(echo)).unwrap();
let session = Session::new(registry.seal(), Options::new()).unwrap();
session.forge(Composite::new("digest", "Looks").step("a", "look", json!({}))).unwrap();
session.suspend("digest", "wrong results").unwrap();
let error = session.catalog().invoke(Invocation::new("digest", json!({})), ()).await.unwrap_err();
assert_eq!(error.code(), "suspended");
"#),
        "Mend what made it fail, or forge a better one under another name; the host can lift it with `Session::unsuspend`.";
    "step_aborted", "the run was cancelled before this step's tool ran",
        "No step starts after a cancellation. Steps that were completed stay completed. Behind the gate of a composer; in a catalogue it is `cancelled`.",
        rust(r#"let look = tool("look", "Looks").reads().run_json(echo);
let composer = Composer::new(HostGate::new(move |_name| Some(look.clone())));
let cancel = CancelSource::new();
cancel.cancel();
let steps = json!({ "steps": [{ "name": "a", "tool": "look" }] });
let options = PipelineOptions::new().cancel(cancel.token());
let error = composer.run_pipeline(&steps, json!({}), Context::default(), options).await.unwrap_err();
assert_eq!(error.code(), "step_aborted");
"#),
        "Start it again if you still want it.";
    "cancelled", "the call was cancelled",
        "What had not started is not started. A running tool without side effects is dropped at once. One with side effects is told, and has a grace period to answer; when it does not, its outcome is unknown.",
        rust(r#"let mut registry = Registry::new();
registry.register(tool("look", "Looks").reads().run_json(echo)).unwrap();
let catalog = registry.seal();
let cancel = CancelSource::new();
cancel.cancel();
let error = catalog.invoke(Invocation::new("look", json!({})).cancel(cancel.token()), ()).await.unwrap_err();
assert_eq!(error.code(), "cancelled");
"#),
        "See `unknownEffect` in the details, and check outside whether the effect happened.";
    "invalid_input", "the arguments do not fit the tool's input schema",
        "The tool was not started. Every problem is named with the place inside the arguments.",
        file(r#"sources:
  s:
    tools:
      look: { argv: [echo, "{text}"], effect: read }
composites:
  c:
    steps:
      - { name: a, tool: look }
"#, "check"),
        "Mend the arguments; `toolwright describe TOOL` shows the schema.";
    "invalid_args", "the arguments of a step behind a composer's gate do not fit",
        "What `invalid_input` is in a catalogue: the step's tool was not started. Every problem is named with the place inside the arguments.",
        rust(r#"let schema = json!({ "type": "object", "properties": { "limit": { "type": "integer" } } });
let look = tool("look", "Looks").reads().input_schema(schema).run_json(echo);
let composer = Composer::new(HostGate::new(move |_name| Some(look.clone())));
let steps = json!({ "steps": [{ "name": "a", "tool": "look", "inputMapping": { "limit": "many" } }] });
let error = composer.run_pipeline(&steps, json!({}), Context::default(), PipelineOptions::new()).await.unwrap_err();
assert_eq!(error.code(), "invalid_args");
"#),
        "Mend the step's `inputMapping`, or what the run was given.";
    "invalid_output", "a tool's output does not fit what it promises",
        "The tool ran, so its effect has happened. The output was not passed on.",
        file(r#"sources:
  s:
    tools:
      count:
        argv: [echo, many]
        effect: read
        output: { type: integer }
"#, "run count"),
        "The tool's owner must mend the output or the output schema.";
    "value_too_large", "a value is too large or nests too deep",
        "Arguments and outputs have a limit for the bytes they print as and for how deep they nest, so that a composite that doubles its output at every step meets a limit and not the memory.",
        rust(r#"let mut registry = Registry::new();
registry.register(tool("look", "Looks").reads().run_json(|_, _| async { Ok((0..200).fold(json!(1), |value, _| Value::array([value]))) })).unwrap();
let error = registry.seal().invoke(Invocation::new("look", json!({})), ()).await.unwrap_err();
assert_eq!(error.code(), "value_too_large");
"#),
        "Pass on only what the next step needs, or raise the limit.";
    "panicked", "a tool broke down",
        "The tool's own code failed in a way it did not expect. Its effect, if it has any, may have happened.",
        rust(r#"let mut registry = Registry::new();
registry.register(tool("look", "Looks").reads().run_json(|_, _| -> std::future::Ready<Result<Value, ToolError>> { panic!("oh") })).unwrap();
let error = registry.seal().invoke(Invocation::new("look", json!({})), ()).await.unwrap_err();
assert_eq!(error.code(), "panicked");
"#),
        "Report it to the tool's owner.";
    "tool_failed", "the tool answered with an error",
        "The message is the tool's own.",
        rust(r#"let mut registry = Registry::new();
registry.register(tool("look", "Looks").reads().run_json(|_, _| async { Err::<Value, _>(ToolError::new("nobody knows")) })).unwrap();
let error = registry.seal().invoke(Invocation::new("look", json!({})), ()).await.unwrap_err();
assert_eq!(error.code(), "tool_failed");
"#),
        "Read the tool's message.";
    "unavailable", "no tool has this name",
        "The call names a tool that the catalogue does not have.",
        file(r#"sources:
  s:
    tools:
      look: { argv: [date], effect: read }
"#, "run lokk"),
        "Take the suggested name; `toolwright list` shows all of them.";
    "unavailable_invocation", "nobody answers to a decision",
        "A decision names what it asks for by the delegate or the id of a tool, or by the id of an output. Nobody has this one.",
        rust(r#"let mut registry = Registry::new();
registry.register(tool("look", "Looks").reads().run_json(echo)).unwrap();
let catalog = registry.seal();
let error = catalog.call(&Decision::new("serach", json!({})), ()).await.unwrap_err();
assert_eq!(error.code(), "unavailable_invocation");
"#),
        "Offer the model what there is: `View::model_protocols` lists it.";
    "no_handler", "a tool has nothing to run",
        "A declaration must end with what it runs.",
        rust(r#"let error = Registry::new().register(tool("look", "Looks").reads()).unwrap_err();
assert_eq!(error.code(), "no_handler");
"#),
        "Close it with `run`, `run_sync`, `run_json` or `handler`.";
    "no_clock", "a timeout without a clock",
        "The core has no clock of its own, so a call with a timeout needs the host's. Nothing ran.",
        rust(r#"let mut registry = Registry::new();
registry.register(tool("look", "Looks").reads().run_json(echo)).unwrap();
let catalog = registry.seal();
let call = Invocation::new("look", json!({})).timeout(std::time::Duration::from_secs(5));
let error = catalog.invoke(call, ()).await.unwrap_err();
assert_eq!(error.code(), "no_clock");
"#),
        "Give one with `Options::clock` or `Invocation::clock`.";
    "rewrite_loop", "one turn was handed on too often",
        "A tool's `complete` hook may put another decision in the place of the one that was carried out. The message shows the invocations. What ran before has happened; its effects are listed.",
        rust(r#"let mut registry = Registry::new();
for (name, next) in [("a", "b"), ("b", "a")] {
    let hands_on = tool(name, "Hands the turn on").reads().complete(move |_, _| Some(Decision::new(next, json!({}))));
    registry.register(hands_on.run_json(echo)).unwrap();
}
let error = registry.seal().turn(Decision::new("a", json!({})), &[], ()).await.unwrap_err();
assert_eq!(error.code(), "rewrite_loop");
"#),
        "Let one of them stop, or raise `Options::limit_rewrites`.";
    "finalize_failed", "some tools could not end a delivery",
        "Every tool with a `finalize` hook was asked, and these said no. What the turn did has happened.",
        rust(r#"let mut registry = Registry::new();
registry.register(tool("look", "Looks").reads().finalize(|_decision, _context, _phase| Err("not yet".into())).run_json(echo)).unwrap();
let catalog = registry.seal();
let error = catalog.finalize(&Decision::new("look", json!({})), &Context::default(), &Phase::After).unwrap_err();
assert_eq!(error.code(), "finalize_failed");
"#),
        "The message has every tool and its reason.";
    "no_finalizer", "there is no finalizer",
        "A reply is made by the one finalizer of a registry, and none was installed.",
        rust(r#"let mut registry = Registry::new();
registry.register(tool("look", "Looks").reads().run_json(echo)).unwrap();
let catalog = registry.seal();
let error = catalog.finish_default(Decision::new("look", json!({})), &Context::default()).unwrap_err();
assert_eq!(error.code(), "no_finalizer");
"#),
        "Install one with `Registry::register_finalizer` before the seal.";
    "no_receiver", "there is nobody to receive the reply",
        "The receiver of a reply comes from a port of the host, and there is none.",
        rust(r#"let mut registry = Registry::new();
registry.register_finalizer(|(), _decision, _context| Ok(json!("done"))).unwrap();
let error = registry.seal().finish_default(Decision::new("reply", json!({})), &Context::default()).unwrap_err();
assert_eq!(error.code(), "no_receiver");
"#),
        "Set `Options::receiver`, or name the receiver with `finish`.";
    "composition_conflict", "several tools own one delivery",
        "At most one available tool may give the template that a delivery is made with. The message names them.",
        rust(r#"let mut registry = Registry::new();
for name in ["a", "b"] {
    let owns = tool(name, "Owns a delivery").reads().composition(|_context| Some("card".to_owned()));
    registry.register(owns.run_json(echo)).unwrap();
}
let error = registry.seal().composition(&Context::default()).unwrap_err();
assert_eq!(error.code(), "composition_conflict");
"#),
        "Make all but one of them unavailable in this context.";
    "protocol_conflict", "an output for the model has the id of a tool",
        "A decision with that id could mean either, so the model gets neither.",
        rust(r#"let options = Options::new().model_outputs(|_: &Context| vec![Protocol::new("look", "Answers", json!({}))]);
let mut registry = Registry::with_options(options).unwrap();
registry.register(tool("look", "Looks").reads().run_json(echo)).unwrap();
let error = registry.seal().model_protocols(&Context::default()).unwrap_err();
assert_eq!(error.code(), "protocol_conflict");
"#),
        "Rename the output or the tool.";
}
