//! Every public code: produced here by the smallest thing that produces it, or named with what it waits for.

use std::collections::BTreeMap;
use std::sync::Arc;

use toolwright::codes::{self, CodeExample};
use toolwright::journal::{Claim, Resolution, RunHistory, RunJournal, RunRecord};
use toolwright::{
    CallError, CancelSource, Composer, Context, Eventually, HostChecks, HostGate, Invocation, Journal, JournalError, PipelineOptions,
    Policy, Refusal, Registry, SpecIssue, StepOutputs, Text, ToolError, Value, json, tool,
};

#[path = "codes/lifecycle.rs"]
mod lifecycle;
#[path = "codes/registering.rs"]
mod registering;

use crate::world::{Events, Log, Moment, block_on, catalog, composite, parsed, run, run_main, steps};

/// Codes that nothing here can produce yet, with what they wait for.
const NOT_YET: [(&str, &str); 2] = [
    ("may_not_fit", "nothing: the example of its page is run by the command's tests"),
    ("step_replaced", "nothing: a catalogue says `changed_tool`, and a composer judges each step anew"),
];

/// Codes of sources, with the crate whose tests produce them.
const ELSEWHERE: [(&str, &str); 16] = [
    ("approval_mismatch", "toolwright"),
    ("command_not_found", "toolwright-sources"),
    ("command_not_started", "toolwright-sources"),
    ("exit_code", "toolwright-sources"),
    ("timeout", "toolwright-sources"),
    ("output_too_large", "toolwright-sources"),
    ("upstream_start_failed", "toolwright-mcp"),
    ("upstream_unavailable", "toolwright-mcp"),
    ("upstream_exited", "toolwright-mcp"),
    ("upstream_disconnected", "toolwright-mcp"),
    ("upstream_protocol_error", "toolwright-mcp"),
    ("upstream_timeout", "toolwright-mcp"),
    ("catalog_changed", "toolwright-cli"),
    ("session_lost", "toolwright-mcp"),
    ("upstream_input_required", "toolwright-mcp"),
    ("upstream_unauthorized", "toolwright-mcp"),
];

/// A code, what was said with it, and the help.
type Said = Vec<(String, String, Option<String>)>;

fn of_error(error: &CallError) -> Said {
    vec![(error.code().to_owned(), error.message(), error.help())]
}

fn of_issues(issues: &[SpecIssue]) -> Said {
    issues.iter().map(|issue| (issue.code.to_owned(), issue.message.clone(), issue.help.clone())).collect()
}

fn one(tool: &str, mapping: Value) -> Value {
    steps(&[("a", tool, mapping)])
}

fn linted(spec: &Value) -> Said {
    let log = Log::new();
    let mut registry = Registry::with_policy(Policy::new());
    registry.register(log.echo("read")).unwrap().register(log.writes("send")).unwrap().register(log.undeclared("old")).unwrap();
    of_issues(&registry.seal().lint(spec))
}

fn refused_by(checks: HostChecks) -> Said {
    let log = Log::new();
    let mut registry = Registry::with_policy(Policy::new().may_chain(["send"]).checks(checks));
    registry.register(log.writes("send")).unwrap();
    registry.register(composite("main", &one("send", json!({})))).unwrap();
    let error = block_on(run(&registry.seal(), "main", json!({}))).unwrap_err();
    assert!(log.is_empty());
    of_error(&error)
}

fn failing(tool: toolwright::ToolDef, input: Value) -> Said {
    let name = tool.name().to_owned();
    of_error(&block_on(run_main([tool], &one(&name, json!({"v": "$input.v?"})), input)).unwrap_err())
}

fn reader(id: &str) -> toolwright::tool::ToolBuilder {
    tool(id, "A tool").reads()
}

fn warned(spec: &Value, tool: toolwright::ToolDef, invocation: Invocation) -> Said {
    let events = Arc::new(Events::default());
    block_on(catalog([tool], spec).invoke(invocation.diagnostics(events.scope()), ())).unwrap();
    events.warnings().into_iter().map(|(code, _, message)| (code.to_owned(), message, None)).collect()
}

struct Broken;

impl Journal for Broken {
    fn open(&self, _: RunRecord, _: Claim) -> Eventually<'_, Result<Arc<dyn RunJournal>, JournalError>> {
        Eventually::Now(Err(JournalError::unwritable("disk full")))
    }

    fn load(&self, _: &str) -> Eventually<'_, Result<Option<RunHistory>, JournalError>> {
        Eventually::Now(Ok(None))
    }

    fn resolve(&self, run: &str, _: &str, _: Resolution) -> Eventually<'_, Result<(), JournalError>> {
        Eventually::Now(Err(JournalError::unknown_run(run)))
    }

    fn unfinished(&self) -> Eventually<'_, Result<Vec<Text>, JournalError>> {
        Eventually::Now(Ok(Vec::new()))
    }
}

fn cycle() -> Said {
    let slot: Arc<std::sync::Mutex<Option<toolwright::ToolDef>>> = Arc::default();
    let found = slot.clone();
    let composer = Composer::new(HostGate::new(move |_| found.lock().unwrap().clone()));
    composer.bind(toolwright::Binding::new().side_effecting_tools(["me"]));
    *slot.lock().unwrap() = Some(composer.build("me", "", json!({}), &one("me", json!({}))).unwrap());
    let spec = one("me", json!({}));
    let error = block_on(composer.run_pipeline(&spec, json!({}), Context::default(), PipelineOptions::new())).unwrap_err();
    *slot.lock().unwrap() = None;
    of_error(&error)
}

fn cancelled() -> Said {
    let source = CancelSource::new();
    let cancels = source.clone();
    let started = Moment::default();
    let slow = tool("slow", "A tool").reads().run_json(move |_, _| {
        cancels.cancel();
        started.come();
        std::future::pending::<Result<Value, ToolError>>()
    });
    let catalog = catalog([slow], &one("slow", json!({})));
    of_error(&block_on(catalog.invoke(Invocation::new("main", json!({})).cancel(source.token()), ())).unwrap_err())
}

/// The run of a composer over one tool.
fn pipeline(tool: toolwright::ToolDef, spec: &Value, options: PipelineOptions) -> CallError {
    let composer = Composer::new(HostGate::new(move |_| Some(tool.clone())));
    block_on(composer.run_pipeline(spec, json!({}), Context::default(), options)).unwrap_err()
}

fn aborted() -> Said {
    let source = CancelSource::new();
    source.cancel();
    of_error(&pipeline(Log::new().echo("read"), &one("read", json!({})), PipelineOptions::new().cancel(source.token())))
}

fn produce(code: &str) -> Said {
    let log = Log::new();
    let n = || parsed(r#"{"type": "object", "properties": {"v": {"type": "integer"}}}"#);
    match code {
        "invalid_spec" => linted(&json!({"steps": []})),
        "invalid_reference" => linted(&one("read", json!({"v": "$inptu"}))),
        "forward_reference" => linted(&one("read", json!({"v": "$prev"}))),
        "unresolved_reference" => {
            of_error(&block_on(run_main([log.echo("r")], &one("r", json!({"v": "$input.x"})), json!({}))).unwrap_err())
        }
        "compose_needs_gate" => {
            let composer = Composer::from_callback(|_, _, _| ());
            of_error(
                &block_on(composer.run_pipeline(&one("r", json!({})), json!({}), Context::default(), PipelineOptions::new())).unwrap_err(),
            )
        }
        "step_missing" => linted(&one("raed", json!({}))),
        "side_effects_undeclared" => linted(&one("old", json!({}))),
        "step_not_chainable" => linted(&one("send", json!({}))),
        "step_cycle" => cycle(),
        "nesting_too_deep" => {
            let context = Context::new(json!({"sessionData": {"emergentDepth": 8}}));
            let catalog = catalog([log.echo("r")], &one("r", json!({})));
            of_error(&block_on(catalog.invoke(Invocation::new("main", json!({})), context)).unwrap_err())
        }
        "dry_run_needs_output" => {
            let catalog = catalog([log.writes("w")], &one("w", json!({})));
            of_error(&block_on(catalog.invoke(Invocation::new("main", json!({})).dry(StepOutputs::new()), ())).unwrap_err())
        }
        "step_disabled" => refused_by(HostChecks::new().disabled(["send"])),
        "permission_denied" => refused_by(HostChecks::new().permission(|_| Err(Refusal::new("permission_denied", "you may not")))),
        "approval_unavailable" => refused_by(HostChecks::new().approval(None)),
        "approval_rejected" => refused_by(HostChecks::new().approval(Some(Arc::new(No)))),
        "approval_required" | "approval_denied" | "approval_expired" => crate::approving::produce(code),
        "step_aborted" => aborted(),
        "cancelled" => cancelled(),
        "invalid_input" => failing(log.close(reader("t").input_schema(n()), |input| Ok(input.into())), json!({"v": "x"})),
        "invalid_args" => {
            let tool = log.close(reader("t").input_schema(n()), |input| Ok(input.into()));
            of_error(&pipeline(tool, &one("t", json!({"v": "x"})), PipelineOptions::new()))
        }
        "invalid_output" => failing(log.close(reader("t").output_schema(json!({"type": "integer"})), |_| Ok(json!("x").into())), json!({})),
        "value_too_large" => failing(log.close(reader("t"), |_| Ok((0..200).fold(json!(1), |v, _| Value::array([v])).into())), json!({})),
        "panicked" => failing(reader("t").run_json(|_, _| -> std::future::Ready<Result<Value, ToolError>> { panic!("oh") }), json!({})),
        "tool_failed" => failing(log.fails(reader("t"), ToolError::new("no")), json!({})),
        "unavailable" => of_error(&block_on(run(&Registry::new().with(log.echo("read")).unwrap().seal(), "raed", json!({}))).unwrap_err()),
        "journal" => {
            let catalog = catalog([log.echo("r")], &one("r", json!({})));
            of_error(&block_on(catalog.invoke(Invocation::new("main", json!({})).journal(Arc::new(Broken)), ())).unwrap_err())
        }
        "literal_reference" => warned(
            &json!({"strictMode": false, "steps": [{"name": "a", "tool": "r", "inputMapping": {"v": "$steps.a"}}]}),
            log.echo("r"),
            Invocation::new("main", json!({})),
        ),
        "reference_in_text" => linted(&one("read", json!({"v": "about $input.topic"}))),
        "repaired_argument" => warned(
            &one("t", json!({"v": "$input.v"})),
            log.close(reader("t").input_schema(n()), |input| Ok(input.into())),
            Invocation::new("main", parsed(r#"{"v": 1.0}"#)),
        ),
        "unused_step_output" => {
            warned(&one("r", json!({})), log.echo("r"), Invocation::new("main", json!({})).dry(StepOutputs::new().with("nobody", 1)))
        }
        other => registering::produce(other)
            .or_else(|| lifecycle::produce(other))
            .unwrap_or_else(|| panic!("nothing here produces `{other}`: add it, or name what it waits for")),
    }
}

struct No;

impl toolwright::Approver for No {
    fn ask<'a>(&'a self, _: &'a toolwright::approval::Request) -> toolwright::BoxFuture<'a, toolwright::approval::Answer> {
        Box::pin(std::future::ready(toolwright::approval::Answer::No { who: "ann".into(), reason: "".into() }))
    }
}

/// Words of the page that stand as they are, and names that come first in a sentence.
fn is_fixed(text: &str) -> bool {
    text.starts_with("Step \"") || text.starts_with("Step at index ") || text.starts_with("ComposableToolSpec.")
}

fn assert_reads_well(code: &str, text: &str) {
    assert!(!text.is_empty() && !text.contains('\n'), "{code}: {text:?}");
    if !is_fixed(text) {
        assert!(!text.starts_with(char::is_uppercase), "{code}: {text}");
        assert!(!text.ends_with('.'), "{code}: {text}");
    }
    // What a host writes stands between backticks.
    let prose: String = text.split('`').step_by(2).collect();
    for name in ["CallError", "Fault::", "Some(", "ToolDef", "::"] {
        assert!(!prose.contains(name) && !text.contains("Some("), "{code}: a Rust name in {text}");
    }
}

#[test]
fn every_code_is_produced_or_waits_for_something_named() {
    let mut waiting: BTreeMap<&str, &str> = NOT_YET.into();
    waiting.extend(ELSEWHERE);
    for page in codes::all().filter(|page| !waiting.contains_key(page.code)) {
        let said = produce(page.code);
        assert!(said.iter().any(|(code, ..)| code == page.code), "`{}` was to come, but: {said:?}", page.code);
        for (code, message, help) in said {
            assert!(codes::page(&code).is_some(), "`{code}` has no page");
            assert_reads_well(&code, &message);
            if let Some(help) = help {
                assert_reads_well(&code, &help);
            }
        }
    }
    for (code, _) in NOT_YET {
        assert!(codes::page(code).is_some());
    }
}

/// Rust on a page is a doctest, and says that it ends with the code of the page. Files are run by the tests of the command.
fn assert_is_run(page: &codes::CodePage) {
    match page.example {
        CodeExample::Rust(text) => {
            let last = text.lines().last().unwrap();
            assert!(last.starts_with("assert_eq!(") && last.contains(&format!("\"{}\"", page.code)), "{}: {last}", page.code);
        }
        CodeExample::File { file, command } => assert!(!file.is_empty() && !command.is_empty(), "{}", page.code),
        CodeExample::Told { by, .. } => {
            let waits = NOT_YET.iter().any(|(code, _)| *code == page.code);
            assert!(waits || ELSEWHERE.contains(&(page.code, by)), "nothing runs the example of `{}`", page.code);
        }
        other => panic!("{}: nobody runs {other:?}", page.code),
    }
}

#[test]
fn every_code_has_one_page_that_reads_well() {
    let mut seen = std::collections::BTreeSet::new();
    for page in codes::all() {
        assert!(seen.insert(page.code), "`{}` stands twice", page.code);
        assert!(page.code.chars().all(|c| c.is_ascii_lowercase() || c == '_'), "{}", page.code);
        assert!(!page.title.ends_with('.') && !page.title.starts_with(char::is_uppercase), "{}", page.title);
        assert!(page.meaning.ends_with('.') && page.remedy.ends_with('.'), "{}", page.code);
        assert_is_run(page);
    }
    let specified = [
        "compose_needs_gate",
        "step_missing",
        "side_effects_undeclared",
        "step_not_chainable",
        "step_cycle",
        "step_replaced",
        "nesting_too_deep",
        "dry_run_needs_output",
        "step_disabled",
        "permission_denied",
        "approval_unavailable",
        "approval_rejected",
        "step_aborted",
        "invalid_spec",
        "invalid_args",
        "invalid_output",
        "invalid_reference",
        "forward_reference",
        "unresolved_reference",
        "in_doubt",
    ];
    for code in specified {
        assert!(seen.contains(code), "`{code}` of the specification is missing");
    }
    assert!(codes::page("nonsense").is_none());
}

/// Every text that is given as a code, in whatever way, anywhere in the crates.
#[test]
fn every_code_that_is_given_has_a_page() {
    let ways = ["=> \"", "literal!(\"", "code: \"", "error(\"", "&'static str = \"", "Refusal::new(\"", "ToolError::with_code(\""];
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut folders: Vec<_> =
        ["toolwright", "toolwright-mcp", "toolwright-sources"].iter().map(|name| root.join(name).join("src")).collect();
    let mut seen = std::collections::BTreeSet::new();
    while let Some(folder) = folders.pop() {
        for path in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let text = std::fs::read_to_string(&path).unwrap();
            let lines = text.lines().map(str::trim).filter(|line| !line.starts_with("//"));
            for line in lines {
                let given = ways.iter().flat_map(|way| line.split(way).skip(1)).filter_map(|rest| rest.split_once('"'));
                let code = |code: &&str| code.contains('_') && code.chars().all(|c| c.is_ascii_lowercase() || c == '_');
                seen.extend(given.map(|(given, _)| given).filter(code).map(|given| (given.to_owned(), path.clone())));
            }
        }
    }
    // Names of events stand there as codes do elsewhere; so do states of effects and of tasks.
    let words = ["after_reconcile", "input_required", "no_effect", "not_started"];
    let is_word = |code: &str, path: &std::path::Path| {
        path.ends_with("src/diagnostics.rs") || words.contains(&code) && path.components().any(|part| part.as_os_str() == "server")
    };
    let without: Vec<_> = seen.iter().filter(|(code, path)| codes::page(code).is_none() && !is_word(code, path)).collect();
    assert!(without.is_empty(), "no page for {without:?}");
    assert!(seen.len() > 70, "{seen:?}");
}

#[test]
fn refusals_say_what_would_allow_it() {
    for code in [
        "step_not_chainable",
        "side_effects_undeclared",
        "step_missing",
        "dry_run_needs_output",
        "step_disabled",
        "unresolved_reference",
        "approval_unavailable",
        "approval_rejected",
        "compose_needs_gate",
        "step_cycle",
        "nesting_too_deep",
        "value_too_large",
        "unavailable",
        "invalid_tool",
        "duplicate_tool",
        "invalid_schema",
        "invalid_output",
        "journal",
        "invalid_reference",
        "forward_reference",
    ] {
        for (code, _, help) in produce(code).iter().filter(|(said, ..)| said == code) {
            assert!(help.as_ref().is_some_and(|help| !help.is_empty()), "{code} says no way out");
        }
    }
}

#[test]
fn codes_of_sources_are_produced_by_the_tests_of_their_crates() {
    for (code, crate_name) in ELSEWHERE {
        let folder = format!("{}/../{crate_name}/tests/it", env!("CARGO_MANIFEST_DIR"));
        let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let found = files.filter(|path| path.is_file()).any(|path| std::fs::read_to_string(path).unwrap().contains(&format!("\"{code}\"")));
        assert!(found, "no test of `{crate_name}` expects `{code}`");
    }
}
