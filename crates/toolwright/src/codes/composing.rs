//! What can be wrong with a composite, and what may not be a step.

use super::{CodeExample, CodePage};

pages! {
    "invalid_spec", "the written composite is wrong",
        "A composite has a form: `steps` is a list with at least one entry, each step has a `name` and a `tool`, and only known fields stand in it. An unknown field is an error, because a guard that is silently ignored is worse than none.",
        file(r#"composites:
  c:
    steps: []
"#, "check"),
        "Read the message for the place, and mend the form there. All problems are reported at once.";
    "invalid_reference", "a text begins like a reference and is none",
        "A text in a mapping that begins with `$` and a letter must be `$input`, `$prev`, `$steps[0]` or `$steps.name`, followed by `.name`, `[0]` or `[\"any key\"]`, and perhaps `?` at the end. A step that is named must exist.",
        file(r#"sources:
  s:
    tools:
      look: { argv: [echo, "{text}"], effect: read }

composites:
  c:
    steps:
      - { name: a, tool: look, inputMapping: { text: $inptu.topic } }
"#, "check"),
        "Take the suggested form, or write `$$` in place of the first `$` to send the text itself.";
    "forward_reference", "a step refers to something that does not exist yet",
        "Steps run in order. A reference may name the input and steps that come earlier; `$prev` has no meaning in the first step.",
        file(r#"sources:
  s:
    tools:
      look: { argv: [echo, "{text}"], effect: read }

composites:
  c:
    steps:
      - { name: a, tool: look, inputMapping: { text: $prev } }
"#, "check"),
        "Move the step that gives the value up, or refer to `$input`.";
    "unresolved_reference", "a reference has no value in this run",
        "The path of a reference led to nothing: a member that is not there, a position past the end, or a way into a text or number. The run ended before the tool of that step was touched. `null` is a value and not missing.",
        file(r#"sources:
  s:
    tools:
      look: { argv: [echo, "{text}"], effect: read }

composites:
  c:
    steps:
      - { name: a, tool: look, inputMapping: { text: $input.topic } }
"#, "run c --input {}"),
        "Mend the path. If the member may be absent, write `?` at the end: the argument is then left out.";
    "compose_needs_gate", "nothing can be composed without a gate",
        "A composer over a bare callback cannot say what a step's tool is, so no step can be checked.",
        rust(r#"let composer = Composer::from_callback(|_tool, _arguments, _context| ());
let steps = json!({ "steps": [{ "name": "a", "tool": "look" }] });
let error = composer.run_pipeline(&steps, json!({}), Context::default(), PipelineOptions::new()).await.unwrap_err();
assert_eq!(error.code(), "compose_needs_gate");
"#),
        "Bind a gate, or register the composite in a catalogue, which is its own gate.";
    "step_missing", "a step names a tool that does not exist",
        "Tool names are taken exactly as written.",
        file(r#"sources:
  s:
    tools:
      look: { argv: [echo, "{text}"], effect: read }

composites:
  c:
    steps:
      - { name: a, tool: lokk, inputMapping: { text: ducks } }
"#, "check"),
        "Take the suggested name; `toolwright list` shows all of them.";
    "side_effects_undeclared", "a tool that declares nothing cannot be a step",
        "Whether a tool changes anything must be said by its owner or by the host. Silence counts as the worst, and listing the tool does not replace the declaration.",
        file(r#"sources:
  s:
    tools:
      stamp: { argv: [date] }
composites:
  c:
    steps:
      - { name: a, tool: stamp }
"#, "check"),
        "Say what it is: `effect: read`, `idempotent` or `write` at the tool, or under `tools:` for a tool of a server.";
    "step_not_chainable", "a tool with side effects is not listed by the host",
        "Tools with side effects are chained only when the host lists them by their exact name. A composite, a tool, or a project file that nobody has accepted cannot list anything. A composite with side effects needs to be listed itself to be a step of another.",
        file(r#"sources:
  s:
    tools:
      keep: { argv: [touch, kept.txt], effect: write }
composites:
  c:
    steps:
      - { name: a, tool: keep }
"#, "check"),
        "Run with `--allow TOOL`, list it in your own configuration, or accept the project's list with `toolwright trust FILE`.";
    "step_cycle", "a composite reaches itself",
        "Following the steps leads back to the composite that is running. The message shows the way.",
        file(r#"composites:
  a: { steps: [{ name: s, tool: b }] }
  b: { steps: [{ name: s, tool: a }] }
"#, "check"),
        "Take out the step that leads back.";
    "step_audience", "a step's tool is for somebody else",
        "A composite reaches only tools of its own audience, so that nobody gets at a tool by naming it in a composite. The host may make exceptions, by exact name.",
        rust(r#"let mut registry = Registry::new();
registry.register(tool("restart", "Restarts it").reads().audience("operator").run_json(echo)).unwrap();
let composite = Composite::new("c", "For the model").step("a", "restart", json!({}));
let error = registry.register(composite).unwrap_err();
assert_eq!(error.code(), "step_audience");
"#),
        "Let the host list the tool with `Policy::may_chain_hidden`, or give the composite the tool's audience.";
    "terminal_inside", "a step ends the turn and is not the last one",
        "A terminal tool ends a turn of the conversation, so nothing can come after it.",
        rust(r#"let mut registry = Registry::new();
registry.register(tool("say_goodbye", "Ends the turn").reads().terminal().run_json(echo)).unwrap();
let composite = Composite::new("c", "Says it twice").step("a", "say_goodbye", json!({})).step("b", "say_goodbye", json!({}));
let error = registry.register(composite).unwrap_err();
assert_eq!(error.code(), "terminal_inside");
"#),
        "Make it the last step, or take it out.";
    "step_replaced", "the tool of a step was replaced while the run was under way",
        "A resumed or long run found another tool under the name that it began with.",
        told("a run is resumed after the tool's definition changed", ""),
        "Look at what changed, then accept the tool by name or start a new run.";
    "nesting_too_deep", "composites nest too deep",
        "At most eight composites may stand inside each other.",
        file(r#"sources: { s: { tools: { look: { argv: [date], effect: read } } } }
composites:
  c1: { steps: [{ name: s, tool: look }] }
  c2: { steps: [{ name: s, tool: c1 }] }
  c3: { steps: [{ name: s, tool: c2 }] }
  c4: { steps: [{ name: s, tool: c3 }] }
  c5: { steps: [{ name: s, tool: c4 }] }
  c6: { steps: [{ name: s, tool: c5 }] }
  c7: { steps: [{ name: s, tool: c6 }] }
  c8: { steps: [{ name: s, tool: c7 }] }
  c9: { steps: [{ name: s, tool: c8 }] }
"#, "check"),
        "Call an inner one directly, or merge some of the steps.";
    "calls_too_deep", "calls nest too deep",
        "Tools may call tools, and the depth of that has a limit, so that a tool that calls itself meets the limit and not the end of the stack. What is called too deep is not started.",
        rust(r#"let again = |_input, call: Call| async move {
    call.invoke("again", json!({})).await.map(|result| result.value().clone()).map_err(Into::into)
};
let mut registry = Registry::new();
registry.register(tool("again", "Calls itself").reads().run_json(again)).unwrap();
let error = registry.seal().invoke(Invocation::new("again", json!({})), ()).await.unwrap_err();
assert_eq!(error.code(), "calls_too_deep");
"#),
        "Take out the call that leads back, or raise `Policy::limit_calls`.";
    "cycle", "a composite is running inside itself",
        "The call would enter a composite that is being run already. The message shows the way, outermost tool first. Nothing of the inner one has run.",
        rust(r#"let back = |_input, call: Call| async move {
    call.invoke("c", json!({})).await.map(|result| result.value().clone()).map_err(Into::into)
};
let mut registry = Registry::new();
registry.register(tool("back", "Calls the composite").reads().run_json(back)).unwrap();
registry.register(Composite::new("c", "Runs itself").step("a", "back", json!({}))).unwrap();
let error = registry.seal().invoke(Invocation::new("c", json!({})), ()).await.unwrap_err();
assert_eq!(error.code(), "cycle");
"#),
        "Take out the call that leads back.";
    "caller_reads_only", "a tool that only reads may not have others change something",
        "A tool that declares that it changes nothing has called one that does not declare the same. Or the call is inside a composite that was accepted as one that changes nothing. The inner call has not been started.",
        rust(r#"let lets_write = |_input, call: Call| async move {
    call.invoke("send", json!({})).await.map(|result| result.value().clone()).map_err(Into::into)
};
let mut registry = Registry::new();
registry.register(tool("send", "Sends it").writes().run_json(echo)).unwrap();
registry.register(tool("look", "Says it only reads").reads().run_json(lets_write)).unwrap();
let error = registry.seal().invoke(Invocation::new("look", json!({})), ()).await.unwrap_err();
assert_eq!(error.code(), "caller_reads_only");
"#),
        "Declare what the calling tool does: `writes()` when it lets others write. The host then lists it where composites use it.";
    "dry_run_needs_output", "a dry run needs the output of a step that it does not execute",
        "A dry run executes no step with side effects and no nested composite; it goes on with the output that you give.",
        file(r#"sources:
  s:
    tools:
      keep: { argv: [touch, kept.txt], effect: write }
composites:
  c:
    steps:
      - { name: a, tool: keep }
"#, "dry-run c --allow keep"),
        "Give it with `--output STEP=JSON`. `null` is an output too.";
    "step_disabled", "the host has switched this tool off",
        "The tool exists and may not run as a step now.",
        rust(r#"let checks = HostChecks::new().disabled(["send"]);
let mut registry = Registry::with_policy(Policy::new().may_chain(["send"]).checks(checks));
registry.register(tool("send", "Sends it").writes().run_json(echo)).unwrap();
registry.register(Composite::new("c", "Sends").step("a", "send", json!({}))).unwrap();
let error = registry.seal().invoke(Invocation::new("c", json!({})), ()).await.unwrap_err();
assert_eq!(error.code(), "step_disabled");
"#),
        "Only the host can switch it on again.";
    "permission_denied", "the caller may not use this tool",
        "Each step is authorised as the caller of the composite, not as its author.",
        rust(r#"let checks = HostChecks::new().permission(|_step| Err(Refusal::new("permission_denied", "only editors may send")));
let mut registry = Registry::with_policy(Policy::new().may_chain(["send"]).checks(checks));
registry.register(tool("send", "Sends it").writes().run_json(echo)).unwrap();
registry.register(Composite::new("c", "Sends").step("a", "send", json!({}))).unwrap();
let error = registry.seal().invoke(Invocation::new("c", json!({})), ()).await.unwrap_err();
assert_eq!(error.code(), "permission_denied");
"#),
        "Ask the host for the permission that the details name.";
    "approval_unavailable", "a step needs a yes and nobody can be asked",
        "Nobody to ask means no.",
        rust(r#"let checks = HostChecks::new().approval(None);
let mut registry = Registry::with_policy(Policy::new().may_chain(["send"]).checks(checks));
registry.register(tool("send", "Sends it").writes().run_json(echo)).unwrap();
registry.register(Composite::new("c", "Sends").step("a", "send", json!({}))).unwrap();
let error = registry.seal().invoke(Invocation::new("c", json!({})), ()).await.unwrap_err();
assert_eq!(error.code(), "approval_unavailable");
"#),
        "Give the host somebody to ask.";
    "approval_rejected", "the approval of a step was refused",
        "The person, or the rule that stands for one, said no or did not answer.",
        rust(r#"struct Never;
impl Approver for Never {
    fn ask<'a>(&'a self, _: &'a approval::Request) -> BoxFuture<'a, approval::Answer> {
        Box::pin(std::future::ready(approval::Answer::No { who: "ann".into(), reason: "".into() }))
    }
}

let checks = HostChecks::new().approval(Some(Arc::new(Never)));
let mut registry = Registry::with_policy(Policy::new().may_chain(["send"]).checks(checks));
registry.register(tool("send", "Sends it").writes().run_json(echo)).unwrap();
registry.register(Composite::new("c", "Sends").step("a", "send", json!({}))).unwrap();
let error = registry.seal().invoke(Invocation::new("c", json!({})), ()).await.unwrap_err();
assert_eq!(error.code(), "approval_rejected");
"#),
        "Change what would be done, or ask again.";
    "approval_required", "a call waits for somebody's yes",
        "The host's rules want a yes before this tool runs, and whoever is asked answers later. The question is in the journal; nothing of the call ran. The run waits, and goes on when the answer is there.",
        rust(r#"struct Later;
impl Approver for Later {
    fn ask<'a>(&'a self, _: &'a approval::Request) -> BoxFuture<'a, approval::Answer> {
        Box::pin(std::future::ready(approval::Answer::Later))
    }
}

let approvals = approval::Approvals::new().tool("send", approval::Approve::Always).approver(Arc::new(Later));
let mut registry = Registry::with_policy(Policy::new().approvals(approvals));
registry.register(tool("send", "Sends it").writes().run_json(echo)).unwrap();
let call = Invocation::new("send", json!({})).journal(Arc::new(MemoryJournal::new()));
let error = registry.seal().invoke(call, ()).await.unwrap_err();
assert_eq!(error.code(), "approval_required");
"#),
        "`toolwright approve` lists what waits and takes the answer; then `toolwright resume` goes on with the run.";
    "approval_denied", "a call needed somebody's yes and did not get it",
        "Whoever was asked said no, or there was nobody to ask, which means no too. Nothing of the call ran. The journal has who decided and by which rule.",
        rust(r#"let approvals = approval::Approvals::new().tool("send", approval::Approve::Always);
let mut registry = Registry::with_policy(Policy::new().approvals(approvals));
registry.register(tool("send", "Sends it").writes().run_json(echo)).unwrap();
let error = registry.seal().invoke(Invocation::new("send", json!({})), ()).await.unwrap_err();
assert_eq!(error.code(), "approval_denied");
"#),
        "Change what the call would do, or let it be run where somebody can be asked. Another attempt asks again.";
    "approval_expired", "nobody said yes in time",
        "A question stands for as long as the host says, and so does a yes that is not used. Nothing of the call ran.",
        rust(r#"struct Gone;
impl Approver for Gone {
    fn ask<'a>(&'a self, _: &'a approval::Request) -> BoxFuture<'a, approval::Answer> {
        Box::pin(std::future::ready(approval::Answer::Expired))
    }
}

let approvals = approval::Approvals::new().tool("send", approval::Approve::Always).approver(Arc::new(Gone));
let mut registry = Registry::with_policy(Policy::new().approvals(approvals));
registry.register(tool("send", "Sends it").writes().run_json(echo)).unwrap();
let error = registry.seal().invoke(Invocation::new("send", json!({})), ()).await.unwrap_err();
assert_eq!(error.code(), "approval_expired");
"#),
        "Run it again: the next attempt asks again.";
    "approval_mismatch", "a call is not the one that was approved",
        "A yes is for exactly what was shown: the tool, its final arguments, the plan around it, the caller. When one of these is another one by the time the call is made, that yes counts no more. Nothing of the call ran.",
        told("a tool that, after somebody's yes, calls another one with other arguments than those that were shown", "toolwright"),
        "Look at what changed. The next attempt asks again, and shows what the call would do now.";
    "no_step_decision", "nobody can inspect a step",
        "Some tool inspects every decision, and the application's types cannot make a decision for a step. A composite would be a way around that tool's veto.",
        rust(r#"struct ByModelOnly;
impl AsDecision for ByModelOnly {
    fn invocation_id(&self) -> &'static str {
        "c"
    }
}
type App = Rt<Context, ByModelOnly>;
let mut registry = Registry::<App>::with_policy(Policy::new());
registry.register(App::tool("look", "Looks").reads().inspect(|_, _| Ok(())).run_json(|input: Value, _| async move { Ok(input) })).unwrap();
registry.register(Composite::of(App::tool("c", "Looks")).step("a", "look", json!({}))).unwrap();
let error = registry.seal().invoke(Invocation::new("c", json!({})), Context::default()).await.unwrap_err();
assert_eq!(error.code(), "no_step_decision");
"#),
        "Implement `Runtime::decision_for` or `AsDecision::for_tool`, or let the policy say `steps_uninspected()`.";
}
