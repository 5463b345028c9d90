//! Every public code, once. Codes are stable: never renamed, never reused.
//!
//! Each has a page that `toolwright explain CODE` prints: what it means, the
//! smallest thing that produces it, what to do.
//!
//! [`page`] finds the [`CodePage`] of a code.

/// One code and its page.
///
/// Found by [`page`]; a program that shows an error can show its page too.
///
/// ```
/// use toolwright::codes;
/// let page = codes::page("step_not_chainable").ok_or("there is one for every code")?;
/// assert_eq!(page.code, "step_not_chainable");
/// assert!(codes::page("no_such_code").is_none());
/// # Ok::<(), &str>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CodePage {
    /// The code.
    pub code: &'static str,
    /// One line.
    pub title: &'static str,
    /// What it means.
    pub meaning: &'static str,
    /// The smallest thing that produces it.
    pub example: &'static str,
    /// What to do.
    pub remedy: &'static str,
}

/// The page of a code.
///
/// ```
/// use toolwright::codes;
/// assert!(codes::page("cancelled").is_some() && codes::page("no_such_code").is_none());
/// ```
pub fn page(code: &str) -> Option<&'static CodePage> {
    CODES.iter().find(|page| page.code == code)
}

macro_rules! pages {
    ($($code:literal, $title:literal, $meaning:literal, $example:literal, $remedy:literal;)*) => {
        /// All codes, in the order of a run: building, chaining, running, configuring.
        pub static CODES: &[CodePage] = &[
            $(CodePage { code: $code, title: $title, meaning: $meaning, example: $example, remedy: $remedy },)*
        ];
    };
}

pages! {
    "invalid_spec", "the written composite is wrong",
        "A composite has a form: `steps` is a list with at least one entry, each step has a `name` and a `tool`, and only known fields stand in it. An unknown field is an error, because a guard that is silently ignored is worse than none.",
        "{\"steps\": []}",
        "Read the message for the place, and mend the form there. All problems are reported at once.";
    "invalid_reference", "a text begins like a reference and is none",
        "A text in a mapping that begins with `$` and a letter must be `$input`, `$prev`, `$steps[0]` or `$steps.name`, followed by `.name`, `[0]` or `[\"any key\"]`, and perhaps `?` at the end. A step that is named must exist.",
        "text: $inptu.topic",
        "Take the suggested form, or write `$$` in place of the first `$` to send the text itself.";
    "forward_reference", "a step refers to something that does not exist yet",
        "Steps run in order. A reference may name the input and steps that come earlier; `$prev` has no meaning in the first step.",
        "the first step says: text: $prev.snippet",
        "Move the step that gives the value up, or refer to `$input`.";
    "unresolved_reference", "a reference has no value in this run",
        "The path of a reference led to nothing: a member that is not there, a position past the end, or a way into a text or number. The run ended before the tool of that step was touched. `null` is a value and not missing.",
        "text: $prev.snipet, while the previous output has the key `snippet`",
        "Mend the path. If the member may be absent, write `?` at the end: the argument is then left out.";
    "compose_needs_gate", "nothing can be composed without a gate",
        "A composer over a bare callback cannot say what a step's tool is, so no step can be checked.",
        "Composer::from_callback(…).check(\"read\")",
        "Bind a gate, or register the composite in a catalogue, which is its own gate.";
    "step_missing", "a step names a tool that does not exist",
        "Tool names are taken exactly as written.",
        "tool: web_serach",
        "Take the suggested name; `toolwright list` shows all of them.";
    "side_effects_undeclared", "a tool that declares nothing cannot be a step",
        "Whether a tool changes anything must be said by its owner or by the host. Silence counts as the worst, and listing the tool does not replace the declaration.",
        "a command without `effect:` used as a step",
        "Say what it is: `effect: read`, `idempotent` or `write` at the tool, or under `tools:` for a tool of a server.";
    "step_not_chainable", "a tool with side effects is not listed by the host",
        "Tools with side effects are chained only when the host lists them by their exact name. A composite, a tool, or a project file that nobody has accepted cannot list anything. A composite with side effects needs to be listed itself to be a step of another.",
        "a step with `effect: write` and an empty `policy.sideEffectingTools`",
        "Run with `--allow TOOL`, list it in your own configuration, or accept the project's list with `toolwright trust FILE`.";
    "step_cycle", "a composite reaches itself",
        "Following the steps leads back to the composite that is running. The message shows the way.",
        "composite `a` with a step of tool `b`, composite `b` with a step of tool `a`",
        "Take out the step that leads back.";
    "step_audience", "a step's tool is for somebody else",
        "A composite reaches only tools of its own audience, so that nobody gets at a tool by naming it in a composite. The host may make exceptions, by exact name.",
        "a composite for `model` with a step of a tool for `operator`",
        "Let the host list the tool with `Policy::may_chain_hidden`, or give the composite the tool's audience.";
    "terminal_inside", "a step ends the turn and is not the last one",
        "A terminal tool ends a turn of the conversation, so nothing can come after it.",
        "steps: [{tool: say_goodbye}, {tool: search}], where `say_goodbye` is terminal",
        "Make it the last step, or take it out.";
    "step_replaced", "the tool of a step was replaced while the run was under way",
        "A resumed or long run found another tool under the name that it began with.",
        "a run is resumed after the tool's definition changed",
        "Look at what changed, then accept the tool by name or start a new run.";
    "nesting_too_deep", "composites nest too deep",
        "At most eight composites may stand inside each other.",
        "nine composites, each with one step that is the next",
        "Call an inner one directly, or merge some of the steps.";
    "calls_too_deep", "calls nest too deep",
        "Tools may call tools, and the depth of that has a limit, so that a tool that calls itself meets the limit and not the end of the stack. What is called too deep is not started.",
        "a tool whose body calls the tool itself",
        "Take out the call that leads back, or raise `Policy::limit_calls`.";
    "cycle", "a composite is running inside itself",
        "The call would enter a composite that is being run already. The message shows the way, outermost tool first. Nothing of the inner one has run.",
        "a composite with a step whose tool calls the composite",
        "Take out the call that leads back.";
    "caller_reads_only", "a tool that only reads may not have others change something",
        "A tool that declares that it changes nothing has called one that does not declare the same. Or the call is inside a composite that was accepted as one that changes nothing. The inner call has not been started.",
        "a tool with `reads()` that calls one with `writes()`",
        "Declare what the calling tool does: `writes()` when it lets others write. The host then lists it where composites use it.";
    "dry_run_needs_output", "a dry run needs the output of a step that it does not execute",
        "A dry run executes no step with side effects and no nested composite; it goes on with the output that you give.",
        "toolwright dry-run TOOL, for a composite with a step that writes",
        "Give it with `--output STEP=JSON`. `null` is an output too.";
    "step_disabled", "the host has switched this tool off",
        "The tool exists and may not run as a step now.",
        "HostChecks::new().disabled([\"read\"])",
        "Only the host can switch it on again.";
    "permission_denied", "the caller may not use this tool",
        "Each step is authorised as the caller of the composite, not as its author.",
        "HostChecks::new().permission(…) that says no",
        "Ask the host for the permission that the details name.";
    "approval_unavailable", "a step needs a yes and nobody can be asked",
        "Nobody to ask means no.",
        "HostChecks::new().approval(None), and a step with side effects",
        "Give the host somebody to ask.";
    "approval_rejected", "the approval of a step was refused",
        "The person, or the rule that stands for one, said no or did not answer.",
        "an approver that answers no",
        "Change what would be done, or ask again.";
    "no_step_decision", "nobody can inspect a step",
        "Some tool inspects every decision, and the application's types cannot make a decision for a step. A composite would be a way around that tool's veto.",
        "a tool with an `inspect` hook, a composite, and a decision type without `for_tool`",
        "Implement `Runtime::decision_for` or `AsDecision::for_tool`, or let the policy say `steps_uninspected()`.";
    "forbidden", "the tool is not available now",
        "Its `available` hook says no in this context. A composite is available when the tools of all its steps are. Nothing ran.",
        "tool(…).available(|context| context.is_admin()), called by somebody else",
        "Only a context in which the tool is available can call it; the tool's owner says which that is.";
    "inspected", "a tool refused a decision",
        "Before a decision is carried out, and before each step of a composite, every tool may inspect it, whichever tool it selects. One of them said no. Nothing ran.",
        "tool(…).inspect(|decision, context| Err(\"not today\".into()))",
        "The message has the reason and names the tool that said no.";
    "denied", "the tool does not let this caller use it so",
        "The tool's own `authorize` hook said no to this caller with these arguments. It is asked for every call, also of a step. Nothing ran.",
        "tool(…).authorize(|access| Err(\"ask first\".into()))",
        "The message has the reason and the hook's own code.";
    "refused", "a hook or a check said no without a code of its own",
        "A rule of the host gave a bare text as its reason.",
        "a hook that ends with Err(\"not today\".into())",
        "The message is the reason. Whoever wrote the rule can give it a code: `Refusal::new(code, message)`.";
    "hook_failed", "a hook or a port of the host did not answer",
        "Something of the host that is asked on the way, beside the hooks that may say no, broke down or ended with an error. The message names it. What it was asked for did not happen.",
        "tool(…).project_context(|value| panic!(\"oh\"))",
        "The message has the reason; whoever wrote the hook must mend it.";
    "hook_panicked", "a hook broke down",
        "A hook that cannot decide counts as a no. Stands in the message, behind the code of what was asked.",
        "tool(…).authorize(|access| panic!(\"oh\"))",
        "Whoever wrote the hook must mend it.";
    "selection_rejected", "a tool does not take the arguments of a selection",
        "The tool's `resolve` hook looks at what a model chose before anything is run, and said no.",
        "tool(…).resolve(|input, context| Err(\"which one?\".into()))",
        "The message has the reason; choose other arguments.";
    "suspended", "a tool that was forged is suspended",
        "It failed several times in a row, or the host suspended it. It is refused in every generation of its session, also as a step, until the host lifts that.",
        "Session::suspend(\"digest\", \"wrong results\")",
        "Mend what made it fail, or forge a better one under another name; the host can lift it with `Session::unsuspend`.";
    "step_aborted", "the run was cancelled before this step's tool ran",
        "No step starts after a cancellation. Steps that were completed stay completed. Behind the gate of a composer; in a catalogue it is `cancelled`.",
        "cancelling a composer's run between two steps",
        "Start it again if you still want it.";
    "cancelled", "the call was cancelled",
        "What had not started is not started. A running tool without side effects is dropped at once. One with side effects is told, and has a grace period to answer; when it does not, its outcome is unknown.",
        "Ctrl-C during a long step",
        "See `unknownEffect` in the details, and check outside whether the effect happened.";
    "invalid_input", "the arguments do not fit the tool's input schema",
        "The tool was not started. Every problem is named with the place inside the arguments.",
        "toolwright run TOOL limit=many, while `limit` is an integer",
        "Mend the arguments; `toolwright describe TOOL` shows the schema.";
    "invalid_args", "the arguments of a step behind a composer's gate do not fit",
        "What `invalid_input` is in a catalogue: the step's tool was not started. Every problem is named with the place inside the arguments.",
        "Composer::run_pipeline(…), with a step that gives a text for an integer",
        "Mend the step's `inputMapping`, or what the run was given.";
    "invalid_output", "a tool's output does not fit what it promises",
        "The tool ran, so its effect has happened. The output was not passed on.",
        "an output schema that says integer, and a tool that answers a text",
        "The tool's owner must mend the output or the output schema.";
    "value_too_large", "a value is too large or nests too deep",
        "Arguments and outputs have a limit for the bytes they print as and for how deep they nest, so that a composite that doubles its output at every step meets a limit and not the memory.",
        "60 steps of {a: $prev, b: $prev}",
        "Pass on only what the next step needs, or raise the limit.";
    "panicked", "a tool broke down",
        "The tool's own code failed in a way it did not expect. Its effect, if it has any, may have happened.",
        "a Rust tool that panics",
        "Report it to the tool's owner.";
    "tool_failed", "the tool answered with an error",
        "The message is the tool's own.",
        "a command that ends with exit code 1",
        "Read the tool's message.";
    "unavailable", "no tool has this name",
        "The call names a tool that the catalogue does not have.",
        "toolwright run repo_reprot",
        "Take the suggested name; `toolwright list` shows all of them.";
    "unavailable_invocation", "nobody answers to a decision",
        "A decision names what it asks for by the delegate or the id of a tool, or by the id of an output. Nobody has this one.",
        "Decision::new(\"serach\", json!({}))",
        "Offer the model what there is: `View::model_protocols` lists it.";
    "no_handler", "a tool has nothing to run",
        "A declaration must end with what it runs.",
        "registry.register(tool(\"echo\", \"Echoes\").reads())",
        "Close it with `run`, `run_sync`, `run_json` or `handler`.";
    "no_clock", "a timeout without a clock",
        "The core has no clock of its own, so a call with a timeout needs the host's. Nothing ran.",
        "Invocation::new(…).timeout(Duration::from_secs(5)), and no clock",
        "Give one with `Options::clock` or `Invocation::clock`.";
    "rewrite_loop", "one turn was handed on too often",
        "A tool's `complete` hook may put another decision in the place of the one that was carried out. The message shows the invocations. What ran before has happened; its effects are listed.",
        "two tools that hand a turn to each other",
        "Let one of them stop, or raise `Options::limit_rewrites`.";
    "finalize_failed", "some tools could not end a delivery",
        "Every tool with a `finalize` hook was asked, and these said no. What the turn did has happened.",
        "tool(…).finalize(|decision, context, phase| Err(\"not yet\".into()))",
        "The message has every tool and its reason.";
    "no_finalizer", "there is no finalizer",
        "A reply is made by the one finalizer of a registry, and none was installed.",
        "catalog.finish(&receiver, decision, &context), without a finalizer",
        "Install one with `Registry::register_finalizer` before the seal.";
    "no_receiver", "there is nobody to receive the reply",
        "The receiver of a reply comes from a port of the host, and there is none.",
        "catalog.finish_default(decision, &context), without `Options::receiver`",
        "Set `Options::receiver`, or name the receiver with `finish`.";
    "composition_conflict", "several tools own one delivery",
        "At most one available tool may give the template that a delivery is made with. The message names them.",
        "two available tools with a `composition` hook that gives one",
        "Make all but one of them unavailable in this context.";
    "protocol_conflict", "an output for the model has the id of a tool",
        "A decision with that id could mean either, so the model gets neither.",
        "Options::model_outputs(…) that gives an output with a tool's id",
        "Rename the output or the tool.";
    "command_not_found", "the program of a command line does not exist",
        "The first element of `argv` was looked up in `PATH` and is not there. Nothing was started.",
        "argv: [gti, log]",
        "Mend the name, install the program, or write its whole path. The message shows where it was looked for.";
    "command_not_started", "the program of a command line could not be started",
        "The program exists, and the operating system refused to start it: it may not be executed, its folder is missing, or an argument is too long.",
        "argv: [/etc/hosts]",
        "The message has the reason of the operating system.";
    "exit_code", "a command ended with an exit code that is no success",
        "Only the codes in `exitCodes`, usually 0, count as success. The details have the code and the end of what the program wrote to its standard error.",
        "argv: [\"false\"]",
        "Read the program's own words. If the code is a normal answer, as 1 is for `grep`, add it to `exitCodes`.";
    "timeout", "a command took too long",
        "The program and everything it had started were ended. If it has side effects, its outcome is unknown.",
        "argv: [sleep, \"60\"], timeout: 1s",
        "Raise `timeout`, or give the program less to do.";
    "output_too_large", "a command wrote more than it may",
        "The output is held in memory, so it has a limit, `maxOutput`. The program was ended when it passed it.",
        "argv: [\"yes\"]",
        "Let the program write less, or raise `maxOutput`.";
    "upstream_start_failed", "an MCP server did not start",
        "Its program is missing, ended at once, or did not finish the handshake in time. Other servers are not affected.",
        "command: no-such-server",
        "The message has the server's own last words; run its command by hand to see more.";
    "upstream_unavailable", "an MCP server cannot be reached now",
        "It failed several times in a row and is left alone for a while, or it is being shut down. Nothing was sent.",
        "a server that crashes at every start",
        "Mend the server; the next call after the pause tries again.";
    "upstream_exited", "an MCP server ended while a call was running",
        "No answer will come. If the tool has side effects, its outcome is unknown. The server is started again for the next call.",
        "a server that is killed in the middle of a call",
        "Check outside whether the effect happened. The message has the server's last words.";
    "upstream_disconnected", "the connection to an MCP server was lost while a call was running",
        "No answer will come. If the tool has side effects, its outcome is unknown.",
        "a network that goes away in the middle of a call",
        "Check outside whether the effect happened, then call again.";
    "upstream_protocol_error", "an MCP server answered with something that is no answer",
        "The reply could not be read, nests too deep, or is an error of the protocol. Only this call is affected.",
        "a reply that contains NaN",
        "Report it to the server's owner; the message shows what was wrong.";
    "upstream_timeout", "an MCP server was silent or busy for too long",
        "A call has a limit for silence, `idleTimeout`, which progress resets, and one for its whole length, `callTimeout`. The server was told to stop.",
        "a tool that never answers",
        "Raise the limit that the message names, or give the tool less to do.";
    "session_lost", "an MCP server forgot its session twice in a row",
        "A server that forgets a session gets a new one, and the call is sent once more. It forgot that one too.",
        "a server that answers 404 to everything",
        "Look at the server; it may restart all the time.";
    "upstream_unauthorized", "an MCP server wants other credentials",
        "The server refused the request. Nothing ran.",
        "a missing or expired token in `headers`",
        "Set the variable that the header is made of, and try again.";
    "in_doubt", "nobody knows whether an effect happened",
        "A tool with side effects was started, and its answer never came. Running it again could repeat the effect, so a run that is taken up from its journal stops here until somebody says what happened.",
        "a process that ended while it sent a mail, and a run that is taken up again",
        "Find out what happened, then tell the journal's `resolve`, or give the tool a `reconcile` that finds out. From a command line: look before you run it again.";
    "journal", "the journal cannot be written",
        "A host of the library may keep a journal. The intent of a call is written before the tool starts; when that fails, \
         the tool is not started. The command `toolwright` keeps no journal yet.",
        "Invocation::journal(…) with a journal that says no",
        "Mend the journal that the host gave; the message has its reason.";
    "diverged", "a run does not go as it went before",
        "A run that is taken up again came to a call that its journal has another tool, other arguments or another effect for. Nothing ran: what was recorded is not this call's.",
        "a run id that is used again after the description of the tool changed",
        "Start a new run under another id; a run goes on only with what it began with.";
    "changed_tool", "a tool that a run used has changed since",
        "Each call is recorded with a hash of its tool's declaration. Before a run is taken up again, they are compared with the tools there are now. Nothing ran.",
        "a run is taken up after the description of one of its tools changed",
        "Look at what changed, and accept the tool by name with `ResumeOptions::accept`, or start a new run. A composite's steps are never accepted when they changed.";
    "invalid_tool", "a tool cannot be registered",
        "Its name cannot be used.",
        "a tool with an empty name",
        "A name is 1 to 128 bytes, without control characters, without a space at either end, and does not begin with `$`.";
    "duplicate_tool", "two tools have the same name",
        "A tool is never silently replaced by another of its name.",
        "two commands named `log`",
        "Rename one of them, or give one source another `prefix`.";
    "empty_description", "a tool says nothing about itself",
        "The description is what a model chooses by, and it is empty or blank.",
        "tool(\"search\", \"\")",
        "Say what the tool does, in a sentence.";
    "sealed", "the registry is sealed",
        "After the seal nothing changes, so that every reader sees the same tools without waiting.",
        "SharedRegistry::register(…) after SharedRegistry::seal()",
        "Register before the seal. Tools that come later belong in an overlay or a session.";
    "kind_unknown", "the policy does not know the kind of a tool",
        "The host lists the kinds there are, and this is none of them. They are compared exactly as written.",
        "Policy::new().kinds([\"read\"]), and tool(…).kind(\"raed\")",
        "Take one of the policy's `kinds`, or let the host add it.";
    "audience_unknown", "the policy does not know the audience of a tool",
        "The host lists the audiences there are, and this is none of them. They are compared exactly as written.",
        "Policy::new().audiences([\"model\"]), and tool(…).audience(\"modle\")",
        "Take one of the policy's `audiences`, or let the host add it.";
    "effect_unknown", "the policy does not know the effect of a tool",
        "The host lists the classes of effects there are, and the tool has another, or declares none.",
        "Policy::new().effects([\"read\"]), and a tool that says nothing",
        "Declare one of the policy's `effects`, or let the host add it.";
    "effect_lowered", "the policy would make an effect less than the tool says",
        "A host may say that a tool does more than it says of itself, never that it does less.",
        "Policy::new().raise_effect(\"send\", Effect::read()), and tool(\"send\", …).writes()",
        "Take the line out of the policy. A tool that says too much of itself must be declared anew.";
    "effect_on_composite", "a composite says what its effect is",
        "A composite does what its steps do, so its effect follows from them.",
        "Composite::new(…).reads()",
        "Leave it out.";
    "hook_twice", "a hook is given twice",
        "Only one of the two could count, and nothing says which.",
        "tool(…).available(f).available(g)",
        "Give one that does both.";
    "goal_unknown", "a goal that is none",
        "The list of goals is empty, names a goal that does not exist, or, for a composite, one that not every step serves.",
        "Policy::new().goal_exists(|goal| goal == \"explain\"), and tool(…).goals([\"explian\"])",
        "Take one of the host's goals, or leave the list out for all of them.";
    "delegate_taken", "two tools answer to one name",
        "A decision names a tool by its delegate or its id, so a delegate belongs to one tool, and no other tool's id may be it.",
        "two tools with the delegate `ask`",
        "Take another delegate.";
    "protocol_taken", "a tool has the id of an output",
        "A decision with that id could mean either.",
        "Options::outputs with `reply`, and a tool named `reply`",
        "Rename the tool or the output.";
    "output_twice", "two outputs have one id",
        "A decision with that id could mean either.",
        "Options::outputs with two that are named `reply`",
        "Give each its own id.";
    "output_unknown", "a tool produces an output that there is not",
        "A tool may say that its result is one of the host's outputs; the host has none of this id.",
        "tool(…).produces(\"reply\"), without `Options::outputs`",
        "Add the output to `Options::outputs`, or take the word from the tool.";
    "handler_installed", "a handler is there already",
        "A registry has one normaliser and one finalizer.",
        "Registry::register_finalizer, twice",
        "Combine the two.";
    "sensitive_unencrypted", "a secret would be kept in plain",
        "A schema marks a value with `x-sensitive: true`, and a journal keeps arguments and outputs whole. The tool is not registered, or its call is not begun; nothing is ever masked, since a masked value cannot be given again.",
        "Options::new().journal(…), and an input schema with {\"pin\": {\"type\": \"string\", \"x-sensitive\": true}}",
        "Let the journal encrypt: `keeps_secrets` says so for one journal, and `Options::journal_encrypts` for the host.";
    "rule_refused", "the host's own rule refuses a declaration",
        "The policy has a rule of its own for what may be registered.",
        "Policy::new().valid_id(|tool| Err(\"no dots\".into()))",
        "The message is the rule's reason.";
    "session_full", "a session has too many forged tools",
        "Each forged tool makes a new generation, and their number has a limit.",
        "a session that forges one tool more than it may have",
        "Retire some that are not used: `Session::retire`.";
    "not_forged", "a tool was not forged in this session",
        "Only what a session forged can be retired, suspended or promoted in it; tools of its base do not change.",
        "Session::retire(\"search\"), where `search` comes from the base",
        "`Session::forged` lists what was forged. A tool of the base is left out with `Session::subset`.";
    "still_used", "a forged tool is a step of others",
        "It cannot be retired while composites of the session use it.",
        "retiring `digest`, which `report` has as a step",
        "Retire those first; the message names them.";
    "forge_test_failed", "a composite failed its tests",
        "It was tried, dry, with the inputs that came with it, and is not forged. All tests were tried; the message has what happened in each that failed.",
        "a test that expects 9 of a composite that gives 8",
        "Mend the composite or the test.";
    "no_session", "there is no session to forge in",
        "The tool that forges found no session for this caller.",
        "a forging tool, called with a context that has no session",
        "The host must make a session for the caller.";
    "invalid_schema", "a schema is no JSON Schema",
        "Schemas are checked when a tool is registered. Drafts 4 to 2020-12 are known; references to other documents are never fetched.",
        "{\"type\": \"strng\"}",
        "Mend the schema at the place that the message names.";
    "may_not_fit", "what a step gets may not fit its tool",
        "The schema of what a reference yields lets something through that the tool does not take, such as `null`, or a member that may be missing. The composite can be run; a call that meets such a value ends with `invalid_input`.",
        "text: $prev.title, while `title` may be null and `text` may not",
        "Make the source promise more in its output schema, write `?` at the end where the argument may be left out, or choose another field.";
    "literal_reference", "a text looks like a reference and is sent on as it stands",
        "In the page's dialect (`strictMode: false`) only six forms are references; any other `$…` is a literal.",
        "strictMode: false, and text: $steps.search",
        "Write one of the six forms, or use `strictMode: true`.";
    "reference_in_text", "a text mentions a reference inside other text",
        "Only a text that is one reference from beginning to end is resolved.",
        "text: \"about $input.topic\"",
        "Let a tool put the text together, or pass the value as an argument of its own.";
    "repaired_argument", "an argument was repaired",
        "`100.0` was sent as `100` where the schema wants an integer, or a `null` for an optional argument that cannot be null was left out. Nothing else is ever changed.",
        "{\"limit\": 100.0}",
        "Nothing, unless you want to send it right the first time.";
    "unused_step_output", "an output was given for a step that did not need one",
        "A dry run was given an output that no step asked for.",
        "--output serach={}",
        "Look for a typing mistake in the step's name.";
}
