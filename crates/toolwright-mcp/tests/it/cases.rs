//! Failures that users of other programs met, as data in `tests/cases/`: which test is which case, and the cases whose
//! tools can be taken from the file as they are.

use toolwright::{Composite, CompositeSpec, Effect, Fault, Invocation, Policy, Registry, Value};
use toolwright_mcp::upstream::{Listing, Upstream};

use crate::calls::{call, json, named};
use crate::server::{spec, text};

/// Each case with the tests that hold its checks. Checks about journals, serving and `doctor` belong elsewhere.
const TESTS: &[(&str, &[&str])] = &[
    ("04-ref-in-output-schema", &["local_references_work_in_both_schemas"]),
    ("05-recursive-vs-dangling-ref", &["a_recursive_schema_works_and_a_dangling_reference_is_told_with_its_place"]),
    ("06-root-anyof-one-bad-tool", &["a_root_without_a_type_is_listed_and_checked", "each_tool_is_judged_on_its_own"]),
    ("07-strict-original-vs-published", &["what_a_schema_says_at_its_root_is_held_to"]),
    ("08-draft07-output-and-unknown-dialect", &["known_dialects_are_checked_and_unknown_ones_are_told"]),
    ("09-no-parameter-tools", &["no_parameters_can_be_said_in_four_ways"]),
    ("15-null-absent-empty", &["null_absent_and_empty_stay_three_things", "arguments_arrive_as_given"]),
    ("16-integral-float-for-integer", &["an_integral_float_arrives_as_an_integer"]),
    ("17-no-invented-arguments", &["no_argument_is_invented", "arguments_arrive_as_given"]),
    ("20-lone-surrogate-and-nul", &["a_lone_surrogate_is_replaced_and_flagged"]),
    (
        "21-very-deep-json",
        &["a_too_deep_answer_fails_its_call_and_names_the_limit", "unusable_messages_are_told_and_the_next_one_is_served"],
    ),
    ("23-iserror-in-middle-step", &["an_error_in_a_middle_step_keeps_its_words"]),
    ("24-mixed-media-last-step", &["the_last_steps_blocks_come_through", "blocks_of_every_kind_pass_untouched"]),
    ("25-rpc-error-and-empty-reply", &["an_error_or_an_empty_reply_is_never_a_success"]),
    ("26-stdout-banner-noise", &["noise_on_stdout_is_skipped_counted_and_told"]),
    ("27-stderr-flood", &["a_flood_on_stderr_blocks_nothing_and_only_its_tail_is_kept"]),
    (
        "28-stubborn-process-tree",
        &[
            "shutdown_leaves_nothing_of_a_stubborn_tree",
            "dropping_the_last_handle_leaves_nothing_either",
            "twenty_crashes_leave_one_process",
            "a_guard_ends_a_stubborn_tree_when_its_host_is_killed",
        ],
    ),
    (
        "30-upstream-restart-404",
        &["a_forgotten_session_is_renewed_once_and_the_call_sent_once_more", "a_session_that_is_lost_again_is_told_not_chased"],
    ),
    (
        "31-result-after-cut-stream",
        &["a_cut_stream_is_taken_up_again_and_the_tool_ran_once", "a_stream_that_is_cut_is_taken_up_where_it_was_cut"],
    ),
    (
        "32-newer-protocol-version",
        &[
            "an_old_server_is_asked_again_with_its_own_version",
            "every_version_is_answered_with_one_that_is_spoken",
            "resources_prompts_and_completion_pass_between_the_generations",
        ],
    ),
    (
        "35-cancel-reaches-upstream",
        &[
            "cancelling_reaches_the_server_and_hurts_no_other_call",
            "cancelling_reaches_the_endpoint_with_its_own_id",
            "a_cancelled_composite_ends_its_running_step_and_starts_no_other",
        ],
    ),
    ("36-progress-keeps-call-alive", &["progress_keeps_a_call_alive_up_to_its_total_limit", "progress_in_a_stream_keeps_the_call_alive"]),
    (
        "37-same-id-two-clients",
        &[
            "ids_keep_their_type_and_are_used_once_at_a_time",
            "a_hundred_calls_of_each_of_two_clients_are_not_mixed_up",
            "clients_with_the_same_ids_share_a_server_without_mixing_up",
        ],
    ),
    ("39-repeating-cursor", &["a_repeating_cursor_ends_the_list_with_a_warning", "all_pages_are_read"]),
    ("63-secret-canary", &["no_secret_reaches_an_error_or_the_status", "headers_are_sent_and_never_told"]),
];

const SOURCES: &[&str] = &[
    include_str!("behind.rs"),
    include_str!("cases.rs"),
    include_str!("control.rs"),
    include_str!("dispatch.rs"),
    include_str!("http.rs"),
    include_str!("listing.rs"),
    include_str!("process.rs"),
    include_str!("results.rs"),
    include_str!("serving/streams.rs"),
    include_str!("stdio.rs"),
];

fn folder() -> std::path::PathBuf {
    std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases")
}

fn case(name: &str) -> Value {
    json(&std::fs::read_to_string(folder().join(format!("{name}.json"))).unwrap())
}

#[test]
fn every_case_has_its_tests() {
    let mut files: Vec<String> =
        std::fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path().file_stem().unwrap().to_str().unwrap().to_owned()).collect();
    files.sort();
    let known: Vec<&str> = TESTS.iter().map(|(name, _)| *name).collect();
    assert_eq!(files, known);
    for test in TESTS.iter().flat_map(|(_, tests)| *tests) {
        let declared = format!("fn {test}()");
        assert!(SOURCES.iter().any(|source| source.contains(&declared)), "there is no test `{test}`");
    }
}

/// A server with the tools of a case, doing what the case says; its tools have the effects the case gives them.
async fn serving(case: &Value) -> Listing {
    let tools = case.get("tools").unwrap().as_array().unwrap();
    let mut listed = Vec::new();
    let mut acts = Vec::new();
    let mut effects = Vec::new();
    for tool in tools {
        let name = tool.get("name").unwrap().as_str().unwrap();
        let members = ["name", "inputSchema", "outputSchema"];
        listed.push(Value::object(members.iter().filter_map(|member| Some((*member, tool.get(member)?.clone())))));
        acts.push((name, act(tool)));
        effects.extend(match tool.get("effects").unwrap().as_str().unwrap() {
            "none" => Some((name.into(), Effect::read())),
            "side_effects" => Some((name.into(), Effect::write())),
            _ => None,
        });
    }
    listed.push(json(r#"{"name":"called"}"#));
    acts.push(("called", json(r#"{"act":"called"}"#)));
    let script = Value::object([("pages", Value::array([Value::array(listed)])), ("tools", Value::object(acts))]);
    let mut spec = spec(&script.to_json_string());
    spec.prefix = "".into();
    spec.effects = effects;
    Upstream::new(spec).tools().await.unwrap()
}

fn act(tool: &Value) -> Value {
    let result = |result: Value| Value::object([("act", Value::from("result")), ("result", result)]);
    match (tool.get("mcp_result"), tool.get("output"), tool.get("wire")) {
        (Some(raw), _, _) => result(raw.clone()),
        (_, Some(output), _) => result(Value::object([("content", json("[]")), ("structuredContent", output.clone())])),
        (_, _, Some(wire)) => Value::object([("act", Value::from("wire")), ("text", wire.clone())]),
        _ => json(r#"{"act":"echo"}"#),
    }
}

/// C04
#[tokio::test(flavor = "multi_thread")]
async fn local_references_work_in_both_schemas() {
    let listing = serving(&case("04-ref-in-output-schema")).await;
    assert_eq!(listing.tools.len(), 4);
    let done = call(&listing, "beta", "{}").await.unwrap();
    assert_eq!(done.output, Some(json(r#"{"screen":{"id":"s1"}}"#)));
    let failed = call(&listing, "gamma", r#"{"q":"x"}"#).await.unwrap_err();
    assert_eq!(failed.code, "invalid_input");
    assert!(failed.message.contains("/q"), "{}", failed.message);
    call(&listing, "gamma", r#"{"q":"xy"}"#).await.unwrap();
}

/// C05
#[tokio::test(flavor = "multi_thread")]
async fn a_recursive_schema_works_and_a_dangling_reference_is_told_with_its_place() {
    let case = case("05-recursive-vs-dangling-ref");
    let listing = serving(&case).await;
    listed_and_left_out(&case, &listing, "/properties/x/$ref");
    let refused = call(&listing, "tree_put", r#"{"root":{"v":1,"kids":[{}]}}"#).await.unwrap_err();
    assert_eq!(refused.code, "invalid_input");
    assert!(refused.message.contains(&["", "root", "kids", "0"].join("/")), "{}", refused.message);
    call(&listing, "tree_put", r#"{"root":{"v":1,"kids":[{"v":2}]}}"#).await.unwrap();
    assert_eq!(text(&listing, "called").await, "tree_put");
    // The form for others is made without going round in circles: alone, and as the input of a composite.
    let tree = named(&listing, "tree_put").clone();
    let schema = tree.input_schema().unwrap().clone();
    let step = json(r#"[{"name":"put","tool":"tree_put","inputMapping":{"root":"$input.root"}}]"#);
    let composite = Composite::new("plant", "Plants").spec(CompositeSpec::from_value(&Value::object([("steps", step)])).unwrap());
    let registry = Registry::with_policy(Policy::new()).with(tree).unwrap().with(composite).unwrap();
    let catalog = registry.seal();
    assert_eq!(catalog.describe(None, None).len(), 2);
    assert_eq!(catalog.get("tree_put").unwrap().input_schema(), Some(&schema));
}

/// The tools that a case lists are there; the one that it leaves out is told with the place of what is wrong.
#[track_caller]
fn listed_and_left_out(case: &Value, listing: &Listing, place: &str) {
    let left_out: Vec<&str> = case.pointer("/expected/left_out").unwrap().as_object().unwrap().keys().map(|name| name.as_str()).collect();
    let skipped: Vec<(&str, &str)> = listing.skipped.iter().map(|skipped| (skipped.name.as_str(), skipped.code)).collect();
    assert_eq!(skipped, left_out.iter().map(|name| (*name, "invalid_schema")).collect::<Vec<_>>());
    let reason = &listing.skipped[0].reason;
    assert!(reason.contains(place), "{reason}");
    let named = case.get("tools").unwrap().as_array().unwrap().iter().map(|tool| tool.get("name").unwrap().as_str().unwrap());
    let expected: Vec<&str> = named.filter(|name| !left_out.contains(name)).chain(["called"]).collect();
    assert_eq!(listing.tools.iter().map(|tool| tool.id()).collect::<Vec<_>>(), expected);
}

/// C06
#[tokio::test(flavor = "multi_thread")]
async fn a_root_without_a_type_is_listed_and_checked() {
    let listing = serving(&case("06-root-anyof-one-bad-tool")).await;
    assert_eq!(listing.tools.len(), 6);
    assert_eq!(call(&listing, "attach", "{}").await.unwrap_err().code, "invalid_input");
    call(&listing, "attach", r#"{"url":"u"}"#).await.unwrap();
}

/// C07 (what is published to clients comes with serving)
#[tokio::test(flavor = "multi_thread")]
async fn what_a_schema_says_at_its_root_is_held_to() {
    let case = case("07-strict-original-vs-published");
    let listing = serving(&case).await;
    for expected in case.pointer("/expected/calls").unwrap().as_array().unwrap() {
        let called = call(&listing, "unannotate", &expected.get("args").unwrap().to_json_string()).await;
        match expected.get("error_kind") {
            None => assert!(called.is_ok(), "{expected}: {called:?}"),
            Some(_) => assert_eq!(called.unwrap_err().code, "invalid_input", "{expected}"),
        }
    }
    assert_eq!(text(&listing, "called").await, "unannotate");
}

/// C08
#[tokio::test(flavor = "multi_thread")]
async fn known_dialects_are_checked_and_unknown_ones_are_told() {
    let case = case("08-draft07-output-and-unknown-dialect");
    let listing = serving(&case).await;
    listed_and_left_out(&case, &listing, "/$schema");
    for expected in case.pointer("/expected/calls").unwrap().as_array().unwrap() {
        let called = call(&listing, expected.get("tool").unwrap().as_str().unwrap(), "{}").await;
        match expected.get("error_kind").and_then(Value::as_str) {
            None => assert!(called.is_ok(), "{expected}: {called:?}"),
            Some(code) => assert_eq!(called.unwrap_err().code, code, "{expected}"),
        }
    }
}

/// C09
#[tokio::test(flavor = "multi_thread")]
async fn no_parameters_can_be_said_in_four_ways() {
    let case = case("09-no-parameter-tools");
    let listing = serving(&case).await;
    for name in ["n1", "n2", "n3", "n4"] {
        let schema = named(&listing, name).input_schema().unwrap();
        assert_eq!(schema.get("type"), Some(&json(r#""object""#)), "{name}");
        assert!(schema.get("properties").is_some(), "{name}");
        for input in ["{}", "null"] {
            call(&listing, name, input).await.unwrap();
        }
    }
    assert_eq!(call(&listing, "n2", r#"{"x":1}"#).await.unwrap_err().code, "invalid_input");
    let result = composed(&case, &listing, &[]).await.unwrap();
    assert_eq!(result.output, Some(json(r#"{"n":2}"#)));
}

async fn received(case_name: &str, tool: &str, input: &str) -> String {
    let listing = serving(&case(case_name)).await;
    let done = call(&listing, tool, input).await.unwrap();
    done.output.unwrap().as_str().unwrap().to_owned()
}

/// C15
#[tokio::test(flavor = "multi_thread")]
async fn null_absent_and_empty_stay_three_things() {
    let case = case("15-null-absent-empty");
    let calls = case.pointer("/expected/calls").unwrap().as_array().unwrap();
    let listing = serving(&case).await;
    let done = call(&listing, "save", &calls[0].get("args").unwrap().to_json_string()).await.unwrap();
    let expected = calls[0].get("received_by_tool").unwrap().to_json_string();
    assert_eq!(done.output.unwrap().as_str(), Some(expected.as_str()));
    let failed = call(&listing, "save", &calls[1].get("args").unwrap().to_json_string()).await.unwrap_err();
    assert_eq!(failed.code, "invalid_input");
    // The refused call never reached the server.
    assert_eq!(text(&listing, "called").await, "save");
}

/// C16
#[tokio::test(flavor = "multi_thread")]
async fn an_integral_float_arrives_as_an_integer() {
    let name = "16-integral-float-for-integer";
    let case = case(name);
    for expected in case.pointer("/expected/calls").unwrap().as_array().unwrap() {
        let input = expected.get("args_text").unwrap().as_str().unwrap();
        let listing = serving(&case).await;
        let Some(parts) = expected.get("received_text_contains") else {
            assert_eq!(call(&listing, "page", input).await.unwrap_err().code, "invalid_input", "{input}");
            continue;
        };
        let seen = received(name, "page", input).await;
        for part in parts.as_array().unwrap() {
            assert!(seen.contains(part.as_str().unwrap()), "{input}: {seen}");
        }
    }
}

/// C17
#[tokio::test(flavor = "multi_thread")]
async fn no_argument_is_invented() {
    assert_eq!(received("17-no-invented-arguments", "search", r#"{"q":"x"}"#).await, r#"{"q":"x"}"#);
}

/// The composition of a case over the tools of its server.
async fn composed(case: &Value, listing: &Listing, listed: &[&str]) -> Result<toolwright::ToolResult, toolwright::CallError> {
    let mut registry = Registry::with_policy(Policy::new().may_chain(listed.iter().copied()));
    for tool in &listing.tools {
        registry.register(tool.clone()).unwrap();
    }
    let steps = case.pointer("/composition/steps").unwrap().clone();
    let spec = CompositeSpec::from_value(&Value::object([("steps", steps)])).unwrap();
    registry.register(Composite::new("case", "The case").spec(spec)).unwrap();
    registry.seal().invoke(Invocation::new("case", json("{}")), ()).await
}

/// C23
#[tokio::test(flavor = "multi_thread")]
async fn an_error_in_a_middle_step_keeps_its_words() {
    let case = case("23-iserror-in-middle-step");
    let listing = serving(&case).await;
    let error = composed(&case, &listing, &["reserve", "charge", "notify"]).await.unwrap_err();
    let step = error.step().unwrap();
    assert_eq!((step.step.as_str(), step.unknown_effect), ("charge", true));
    assert_eq!(step.completed, ["reserve"]);
    assert_eq!(error.effects().len(), 1);
    let Fault::Tool { error: own, .. } = error.root_cause() else { panic!("{error}") };
    assert_eq!(own.message(), "card declined: insufficient funds");
    assert_eq!(own.own_details().unwrap().pointer("/structuredContent/code"), Some(&json(r#""DECLINED""#)));
    assert!(error.message().contains("card declined: insufficient funds"));
    assert_eq!(text(&listing, "called").await, "reserve\ncharge");
}

/// C24
#[tokio::test(flavor = "multi_thread")]
async fn the_last_steps_blocks_come_through() {
    let case = case("24-mixed-media-last-step");
    let listing = serving(&case).await;
    let result = composed(&case, &listing, &[]).await.unwrap();
    let sent = case.pointer("/tools/1/mcp_result").unwrap();
    assert_eq!(result.output.as_ref().unwrap().get("content"), sent.get("content"));
    let done = call(&listing, "shoot", r#"{"k":1}"#).await.unwrap();
    assert_eq!(done.content.as_ref(), sent.get("content"));
    assert_eq!(done.details.unwrap().get("_meta"), sent.get("_meta"));
}
