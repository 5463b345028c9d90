//! What can be wrong with a declaration, and with what a session forges.

use super::{CodeExample, CodePage};

pages! {
    "invalid_tool", "a tool cannot be registered",
        "Its name cannot be used.",
        rust(r#"let mut registry = Registry::new();
let error = registry.register(tool(" ", "Has no name").reads().run_json(echo)).unwrap_err();
assert_eq!(error.code(), "invalid_tool");
"#),
        "A name is 1 to 128 bytes, without control characters, without a space at either end, and does not begin with `$`.";
    "duplicate_tool", "two tools have the same name",
        "A tool is never silently replaced by another of its name.",
        rust(r#"let mut registry = Registry::new();
registry.register(tool("log", "Of one place").reads().run_json(echo)).unwrap();
let error = registry.register(tool("log", "Of another").reads().run_json(echo)).unwrap_err();
assert_eq!(error.code(), "duplicate_tool");
"#),
        "Rename one of them, or give one source another `prefix`.";
    "empty_description", "a tool says nothing about itself",
        "The description is what a model chooses by, and it is empty or blank.",
        rust(r#"let mut registry = Registry::new();
let error = registry.register(tool("look", "").reads().run_json(echo)).unwrap_err();
assert_eq!(error.code(), "empty_description");
"#),
        "Say what the tool does, in a sentence.";
    "sealed", "the registry is sealed",
        "After the seal nothing changes, so that every reader sees the same tools without waiting.",
        rust(r#"let registry = SharedRegistry::new();
registry.seal();
let error = registry.register(tool("look", "Looks").reads().run_json(echo)).map(drop).unwrap_err();
assert_eq!(error.code(), "sealed");
"#),
        "Register before the seal. Tools that come later belong in an overlay or a session.";
    "kind_unknown", "the policy does not know the kind of a tool",
        "The host lists the kinds there are, and this is none of them. They are compared exactly as written.",
        rust(r#"let mut registry = Registry::with_policy(Policy::new().kinds(["read"]));
let error = registry.register(tool("look", "Looks").reads().kind("raed").run_json(echo)).unwrap_err();
assert_eq!(error.code(), "kind_unknown");
"#),
        "Take one of the policy's `kinds`, or let the host add it.";
    "audience_unknown", "the policy does not know the audience of a tool",
        "The host lists the audiences there are, and this is none of them. They are compared exactly as written.",
        rust(r#"let mut registry = Registry::with_policy(Policy::new().audiences(["model"]));
let error = registry.register(tool("look", "Looks").reads().audience("modle").run_json(echo)).unwrap_err();
assert_eq!(error.code(), "audience_unknown");
"#),
        "Take one of the policy's `audiences`, or let the host add it.";
    "effect_unknown", "the policy does not know the effect of a tool",
        "The host lists the classes of effects there are, and the tool has another, or declares none.",
        rust(r#"let mut registry = Registry::with_policy(Policy::new().effects(["read"]));
let error = registry.register(tool("look", "Does not say what it does").run_json(echo)).unwrap_err();
assert_eq!(error.code(), "effect_unknown");
"#),
        "Declare one of the policy's `effects`, or let the host add it.";
    "effect_lowered", "the policy would make an effect less than the tool says",
        "A host may say that a tool does more than it says of itself, never that it does less.",
        rust(r#"let mut registry = Registry::with_policy(Policy::new().raise_effect("send", Effect::read()));
let error = registry.register(tool("send", "Sends it").writes().run_json(echo)).unwrap_err();
assert_eq!(error.code(), "effect_lowered");
"#),
        "Take the line out of the policy. A tool that says too much of itself must be declared anew.";
    "effect_on_composite", "a composite says what its effect is",
        "A composite does what its steps do, so its effect follows from them.",
        rust(r#"let mut registry = Registry::new();
registry.register(tool("look", "Looks").reads().run_json(echo)).unwrap();
let composite = Composite::of(tool("c", "Looks").reads()).step("a", "look", json!({}));
let error = registry.register(composite).unwrap_err();
assert_eq!(error.code(), "effect_on_composite");
"#),
        "Leave it out.";
    "hook_twice", "a hook is given twice",
        "Only one of the two could count, and nothing says which.",
        rust(r#"let mut registry = Registry::new();
let error = registry.register(tool("look", "Looks").reads().available(|_| true).available(|_| false).run_json(echo)).unwrap_err();
assert_eq!(error.code(), "hook_twice");
"#),
        "Give one that does both.";
    "goal_unknown", "a goal that is none",
        "The list of goals is empty, names a goal that does not exist, or, for a composite, one that not every step serves.",
        rust(r#"let mut registry = Registry::with_policy(Policy::new().goal_exists(|goal| goal == "explain"));
let error = registry.register(tool("look", "Looks").reads().goals(["explian"]).run_json(echo)).unwrap_err();
assert_eq!(error.code(), "goal_unknown");
"#),
        "Take one of the host's goals, or leave the list out for all of them.";
    "delegate_taken", "two tools answer to one name",
        "A decision names a tool by its delegate or its id, so a delegate belongs to one tool, and no other tool's id may be it.",
        rust(r#"let mut registry = Registry::new();
registry.register(tool("a", "Answers").reads().delegate("ask").run_json(echo)).unwrap();
let error = registry.register(tool("b", "Answers as well").reads().delegate("ask").run_json(echo)).unwrap_err();
assert_eq!(error.code(), "delegate_taken");
"#),
        "Take another delegate.";
    "protocol_taken", "a tool has the id of an output",
        "A decision with that id could mean either.",
        rust(r#"let reply = Protocol::new("reply", "Answers", json!({}));
let mut registry = Registry::with_options(Options::new().outputs([reply])).unwrap();
let error = registry.register(tool("reply", "Answers").reads().run_json(echo)).unwrap_err();
assert_eq!(error.code(), "protocol_taken");
"#),
        "Rename the tool or the output.";
    "output_twice", "two outputs have one id",
        "A decision with that id could mean either.",
        rust(r#"let reply = || Protocol::new("reply", "Answers", json!({}));
let error = Registry::<Rt>::with_options(Options::new().outputs([reply(), reply()])).map(drop).unwrap_err();
assert_eq!(error.code(), "output_twice");
"#),
        "Give each its own id.";
    "output_unknown", "a tool produces an output that there is not",
        "A tool may say that its result is one of the host's outputs; the host has none of this id.",
        rust(r#"let mut registry = Registry::new();
let error = registry.register(tool("look", "Looks").reads().produces("reply").run_json(echo)).unwrap_err();
assert_eq!(error.code(), "output_unknown");
"#),
        "Add the output to `Options::outputs`, or take the word from the tool.";
    "handler_installed", "a handler is there already",
        "A registry has one normaliser and one finalizer.",
        rust(r#"let mut registry = Registry::new();
registry.register_finalizer(|(), _decision, _context| Ok(json!("one"))).unwrap();
let error = registry.register_finalizer(|(), _decision, _context| Ok(json!("two"))).map(drop).unwrap_err();
assert_eq!(error.code(), "handler_installed");
"#),
        "Combine the two.";
    "sensitive_unencrypted", "a secret would be kept in plain",
        "A schema marks a value with `x-sensitive: true`, and a journal keeps arguments and outputs whole. The tool is not registered, or its call is not begun; nothing is ever masked, since a masked value cannot be given again.",
        rust(r#"let options = Options::new().journal(|_| Some(Arc::new(MemoryJournal::new())));
let mut registry = Registry::<Rt>::with_options(options).unwrap();
let schema = json!({ "type": "object", "properties": { "pin": { "type": "string", "x-sensitive": true } } });
let error = registry.register(tool("pay", "Pays").writes().input_schema(schema).run_json(echo)).unwrap_err();
assert_eq!(error.code(), "sensitive_unencrypted");
"#),
        "Let the journal encrypt: `keeps_secrets` says so for one journal, and `Options::journal_encrypts` for the host.";
    "rule_refused", "the host's own rule refuses a declaration",
        "The policy has a rule of its own for what may be registered.",
        rust(r#"let mut registry = Registry::with_policy(Policy::new().valid_id(|_tool| Err("no dots".into())));
let error = registry.register(tool("a.b", "Looks").reads().run_json(echo)).unwrap_err();
assert_eq!(error.code(), "rule_refused");
"#),
        "The message is the rule's reason.";
    "session_full", "a session has too many forged tools",
        "Each forged tool makes a new generation, and their number has a limit.",
        rust(r#"let mut registry = Registry::new();
registry.register(tool("look", "Looks").reads().run_json(echo)).unwrap();
let session = Session::new(registry.seal(), Options::new()).unwrap();
let forge = |at: usize| session.forge(Composite::new(format!("c{at}"), "Looks").step("a", "look", json!({}))).map(drop);
for at in 0..limits::FORGED_TOOLS_MAX {
    forge(at).unwrap();
}
let error = forge(limits::FORGED_TOOLS_MAX).unwrap_err();
assert_eq!(error.code(), "session_full");
"#),
        "Retire some that are not used: `Session::retire`.";
    "not_forged", "a tool was not forged in this session",
        "Only what a session forged can be retired, suspended or promoted in it; tools of its base do not change.",
        rust(r#"let mut registry = Registry::new();
registry.register(tool("look", "Looks").reads().run_json(echo)).unwrap();
let session = Session::new(registry.seal(), Options::new()).unwrap();
let error = session.retire("look").map(drop).unwrap_err();
assert_eq!(error.code(), "not_forged");
"#),
        "`Session::forged` lists what was forged. A tool of the base is left out with `Session::subset`.";
    "still_used", "a forged tool is a step of others",
        "It cannot be retired while composites of the session use it.",
        rust(r#"let mut registry = Registry::new();
registry.register(tool("look", "Looks").reads().run_json(echo)).unwrap();
let session = Session::new(registry.seal(), Options::new()).unwrap();
session.forge(Composite::new("digest", "Looks").step("a", "look", json!({}))).unwrap();
session.forge(Composite::new("report", "Digests").step("a", "digest", json!({}))).unwrap();
let error = session.retire("digest").map(drop).unwrap_err();
assert_eq!(error.code(), "still_used");
"#),
        "Retire those first; the message names them.";
    "forge_test_failed", "a composite failed its tests",
        "It was tried, dry, with the inputs that came with it, and is not forged. All tests were tried; the message has what happened in each that failed.",
        rust(r#"let mut registry = Registry::new();
registry.register(tool("look", "Looks").reads().run_json(echo)).unwrap();
let session = Session::new(registry.seal(), Options::new()).unwrap();
let digest = Composite::new("digest", "Looks").step("a", "look", json!({}));
let nine = ForgeTest::new("nine", json!({})).expects(json!(9));
let error = session.forge_tested(digest, vec![nine], ()).await.map(drop).unwrap_err();
assert_eq!(error.code(), "forge_test_failed");
"#),
        "Mend the composite or the test.";
    "no_session", "there is no session to forge in",
        "The tool that forges found no session for this caller.",
        rust(r#"let forge = toolwright::session::forge_tool(tool("forge", "Makes a tool"), |_context| None);
let catalog = Registry::new().with(forge).unwrap().seal();
let input = json!({ "composite": { "id": "c", "description": "Looks", "steps": [] } });
let error = catalog.invoke(Invocation::new("forge", input), ()).await.unwrap_err();
assert_eq!(error.code(), "no_session");
"#),
        "The host must make a session for the caller.";
    "invalid_schema", "a schema is no JSON Schema",
        "Schemas are checked when a tool is registered. Drafts 4 to 2020-12 are known; references to other documents are never fetched.",
        file(r#"sources:
  s:
    tools:
      look:
        argv: [date]
        effect: read
        output: { type: strng }
"#, "check"),
        "Mend the schema at the place that the message names.";
}
