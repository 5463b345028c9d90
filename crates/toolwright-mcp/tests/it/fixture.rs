//! The fixture server, a real peer of both generations over both transports: what it asks, what it says, what is passed to it.

use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use toolwright::{BoxFuture, Text, Value};
use toolwright_mcp::upstream::{Answered, Asked, Era, Listing, Passed, PassedReply, Questions, ServerSpec, Upstream, UpstreamEvent};

use crate::calls::{Happened, call, eventually, json, start};
use crate::server::example;

/// A client that answers what it is asked, and keeps it.
#[derive(Default)]
pub(crate) struct Person {
    asked: Mutex<Vec<Asked>>,
    said: Mutex<Vec<(String, Value)>>,
    tasks: Mutex<Vec<String>>,
    /// What it declares; `null` = nothing.
    can: Value,
    /// It answers nothing.
    refuses: bool,
    /// It thinks so long before it answers.
    slow: Duration,
    /// All calls are its own.
    alone: bool,
}

fn answer(method: &str) -> Value {
    match method {
        "elicitation/create" => json(
            r#"{"action":"accept","content":{"name":"Ada","color":"red","ok":true,"username":"ada","confirm":true,"value":"v","context":"c"}}"#,
        ),
        "sampling/createMessage" => json(r#"{"role":"assistant","content":{"type":"text","text":"Paris"},"model":"m"}"#),
        _ => json(r#"{"roots":[{"uri":"file:///here"}]}"#),
    }
}

impl Questions for Person {
    fn ask(&self, asked: Asked) -> BoxFuture<'_, Vec<Answered>> {
        self.asked.lock().unwrap().push(asked.clone());
        Box::pin(async move {
            tokio::time::sleep(self.slow).await;
            let answered = |method: &str| match self.refuses {
                true => Answered::Refused { code: -32_000, message: "no time".to_owned() },
                false => Answered::Result(answer(method)),
            };
            asked.questions.iter().map(|question| answered(&question.method)).collect()
        })
    }

    fn became_task(&self, run: &str) {
        self.tasks.lock().unwrap().push(run.to_owned());
    }

    fn capabilities(&self, _: &str) -> Value {
        self.can.clone()
    }

    fn log_level(&self, _: &str) -> Option<Text> {
        Some(Text::from("info"))
    }

    fn said(&self, run: &str, params: &Value) {
        self.said.lock().unwrap().push((run.to_owned(), params.clone()));
    }

    fn together(&self, run: &str, other: &str) -> bool {
        self.alone || run == other
    }
}

fn able() -> Person {
    Person {
        can: json(r#"{"sampling":{},"elicitation":{},"roots":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}"#),
        ..Person::default()
    }
}

/// The fixture behind a URL; ends with the test.
pub(crate) struct Http {
    child: Child,
    pub(crate) url: String,
}

impl Http {
    pub(crate) fn start(more: &[&str]) -> Http {
        use std::io::BufRead;
        let mut child = Command::new(example("fixture_server")).arg("http").args(more).stdout(Stdio::piped()).spawn().unwrap();
        let mut url = String::new();
        std::io::BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut url).unwrap();
        Http { child, url: url.trim().to_owned() }
    }
}

impl Drop for Http {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

const ERAS: [Era; 2] = [Era::Sessions, Era::Sessionless];

fn spec(http: Option<&Http>, era: Era) -> ServerSpec {
    let mut spec = match http {
        Some(http) => ServerSpec::http("f", http.url.clone()),
        None => ServerSpec::stdio("f", example("fixture_server"), ["stdio"]),
    };
    spec.era = era;
    spec.call_timeout = Duration::from_secs(20);
    spec.shutdown_grace = Duration::from_millis(500);
    spec
}

async fn opened(spec: ServerSpec, person: &Arc<Person>) -> (Upstream, Listing) {
    let server = Upstream::asking(spec, person.clone());
    let listing = server.tools().await.unwrap();
    assert!(listing.skipped.is_empty(), "{:?}", listing.skipped);
    (server, listing)
}

async fn said(listing: &Listing, tool: &str, input: &str) -> String {
    let done = call(listing, &format!("f_{tool}"), input).await.unwrap();
    done.output.unwrap().as_str().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn both_generations_over_both_transports_list_and_call() {
    let http = Http::start(&["--page", "7"]);
    for era in ERAS {
        for way in [None, Some(&http)] {
            let (server, listing) = opened(spec(way, era), &Arc::new(able())).await;
            assert!(listing.tools.len() > 40);
            assert_eq!(server.status().era, Some(era));
            let done = call(&listing, "f_echo", r#"{"text":"größer"}"#).await.unwrap();
            assert_eq!(done.output, Some(json(r#"{"text":"größer"}"#)));
            let failed = call(&listing, "f_fail", "{}").await.unwrap_err();
            assert_eq!(failed.details.unwrap().pointer("/structuredContent/attempts"), Some(&json("3")));
            assert_eq!(said(&listing, "test_custom_header", r#"{"value":" ä"}"#).await, " ä");
            server.shutdown().await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_an_older_server_asks_reaches_the_client_of_the_call_and_its_answer_comes_back() {
    let http = Http::start(&[]);
    for way in [None, Some(&http)] {
        let person = Arc::new(able());
        let (_server, listing) = opened(spec(way, Era::Sessions), &person).await;
        let text = said(&listing, "test_elicitation", r#"{"message":"who?"}"#).await;
        assert!(text.contains("accept") && text.contains("ada"), "{text}");
        assert_eq!(said(&listing, "test_sampling", r#"{"prompt":"capital?"}"#).await, "LLM response: Paris");
        let asked = person.asked.lock().unwrap();
        assert_eq!(
            asked.iter().map(|asked| asked.questions[0].method.as_str()).collect::<Vec<_>>(),
            ["elicitation/create", "sampling/createMessage"]
        );
        assert_eq!(asked[0].questions[0].params.get("message").unwrap().as_str(), Some("who?"));
        assert_eq!(asked[0].server, "f");
        assert_ne!(asked[0].run, asked[1].run);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_with_nobody_to_ask_is_refused_to_the_server() {
    let nobody = Upstream::new(spec(None, Era::Sessions));
    let failed = call(&nobody.tools().await.unwrap(), "f_test_elicitation", r#"{"message":"who?"}"#).await.unwrap_err();
    assert!(failed.message.contains("nobody answered"), "{}", failed.message);
    let person = Arc::new(Person { refuses: true, ..able() });
    let (_server, listing) = opened(spec(None, Era::Sessions), &person).await;
    let failed = call(&listing, "f_test_elicitation", r#"{"message":"who?"}"#).await.unwrap_err();
    assert!(failed.message.contains("no time"), "{}", failed.message);
}

/// A question over a pipe names no call: with calls of two clients under way nobody is asked.
#[tokio::test(flavor = "multi_thread")]
async fn over_a_pipe_the_wrong_client_is_never_asked() {
    for (alone, asked) in [(false, 0), (true, 1)] {
        let person = Arc::new(Person { alone, ..able() });
        let (_server, listing) = opened(spec(None, Era::Sessions), &person).await;
        let other = start(&listing, "f_slow", r#"{"ms":1500}"#);
        tokio::time::sleep(Duration::from_millis(300)).await;
        let outcome = call(&listing, "f_test_elicitation", r#"{"message":"who?"}"#).await;
        assert_eq!(person.asked.lock().unwrap().len(), asked);
        assert_eq!(outcome.is_ok(), alone, "{outcome:?}");
        other.handle.await.unwrap().unwrap();
    }
    // Over HTTP it comes on the stream of its call.
    let (http, person) = (Http::start(&[]), Arc::new(able()));
    let (_server, listing) = opened(spec(Some(&http), Era::Sessions), &person).await;
    let other = start(&listing, "f_slow", r#"{"ms":1000}"#);
    tokio::time::sleep(Duration::from_millis(200)).await;
    call(&listing, "f_test_elicitation", r#"{"message":"who?"}"#).await.unwrap();
    assert_eq!(person.asked.lock().unwrap().len(), 1);
    other.handle.await.unwrap().unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_limits_of_a_call_stand_still_while_somebody_thinks() {
    let person = Arc::new(Person { slow: Duration::from_millis(1_500), ..able() });
    for era in ERAS {
        let mut spec = spec(None, era);
        spec.idle_timeout = Duration::from_millis(400);
        spec.call_timeout = Duration::from_millis(900);
        let (_server, listing) = opened(spec, &person).await;
        let tool = if era == Era::Sessions { "test_elicitation" } else { "test_input_required_result_elicitation" };
        said(&listing, tool, r#"{"message":"who?"}"#).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_newer_server_needs_is_asked_and_the_call_sent_again() {
    let http = Http::start(&[]);
    for way in [None, Some(&http)] {
        let person = Arc::new(able());
        let (_server, listing) = opened(spec(way, Era::Sessionless), &person).await;
        let all = [
            ("elicitation", "Hello, Ada!"),
            ("sampling", "Sampling response: Paris"),
            ("list_roots", r#"Client roots: [{"uri":"file:///here"}]"#),
            ("request_state", "Confirmed: state-ok"),
            ("multi_round", "Multi-round flow complete"),
        ];
        for (tool, text) in all {
            assert_eq!(said(&listing, &format!("test_input_required_result_{tool}"), "{}").await, text);
        }
        assert_eq!(said(&listing, "test_sampling", r#"{"prompt":"capital?"}"#).await, "LLM response: Paris");
        let before = person.asked.lock().unwrap().len();
        said(&listing, "test_input_required_result_multiple_inputs", "{}").await;
        let asked = person.asked.lock().unwrap();
        assert_eq!(asked.len(), before + 1);
        let mut keys: Vec<&str> = asked[before].questions.iter().map(|question| question.key.as_str()).collect();
        keys.sort_unstable();
        assert_eq!(keys, ["client_roots", "greeting", "user_name"]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_newer_server_asks_only_what_the_client_of_the_call_can_answer() {
    let person = Arc::new(Person { can: json(r#"{"elicitation":{}}"#), ..Person::default() });
    let (_server, listing) = opened(spec(None, Era::Sessionless), &person).await;
    said(&listing, "test_input_required_result_capabilities", "{}").await;
    assert_eq!(person.asked.lock().unwrap()[0].questions.len(), 1);
    let failed = call(&listing, "f_test_missing_capability", "{}").await.unwrap_err();
    assert_eq!(failed.details.unwrap().pointer("/jsonrpcError/code"), Some(&json("-32021")));
    assert_eq!(failed.happened, Happened::Nothing);
    // It takes no tasks either.
    let failed = call(&listing, "f_failing_job", "{}").await.unwrap_err();
    assert_eq!(failed.details.unwrap().pointer("/jsonrpcError/code"), Some(&json("-32021")));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_need_that_nobody_answers_ends_the_call() {
    let person = Arc::new(Person { refuses: true, ..able() });
    let (_server, listing) = opened(spec(None, Era::Sessionless), &person).await;
    let failed = call(&listing, "f_test_input_required_result_elicitation", "{}").await.unwrap_err();
    assert_eq!((failed.code.as_str(), failed.happened), ("upstream_input_required", Happened::Failed));
    assert!(failed.message.contains("elicitation/create") && failed.message.contains("no time"), "{}", failed.message);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_is_waited_for_with_its_questions() {
    let http = Http::start(&[]);
    for way in [None, Some(&http)] {
        let person = Arc::new(able());
        let (_server, listing) = opened(spec(way, Era::Sessionless), &person).await;
        assert_eq!(said(&listing, "slow_compute", r#"{"seconds":0.3,"label":"x"}"#).await, "slow_compute(x) done after 0.3s");
        assert_eq!(said(&listing, "confirm_delete", r#"{"filename":"a"}"#).await, "confirm_delete(a): confirmed = true");
        assert_eq!(said(&listing, "multi_input", "{}").await, "multi_input: a = v, b = v");
        assert_eq!(said(&listing, "test_tool_with_task", "{}").await, "Hello, Ada! (later)");
        let failed = call(&listing, "f_failing_job", "{}").await.unwrap_err();
        assert!(failed.message.contains("on purpose"), "{}", failed.message);
        let failed = call(&listing, "f_protocol_error_job", "{}").await.unwrap_err();
        assert!(failed.message.contains("on purpose") && failed.code == "upstream_protocol_error", "{failed:?}");
        assert_eq!(person.tasks.lock().unwrap().len(), 6);
    }
    // Nobody says what the client can: tasks are waited for.
    let nobody = Upstream::new(spec(None, Era::Sessionless));
    let listing = nobody.tools().await.unwrap();
    assert!(said(&listing, "slow_compute", r#"{"seconds":0.2}"#).await.contains("done"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_task_is_cancelled_on_the_server_and_a_long_one_has_a_limit() {
    let person = Arc::new(able());
    let mut short = spec(None, Era::Sessionless);
    short.call_timeout = Duration::from_millis(700);
    let (_server, listing) = opened(short, &person).await;
    let failed = call(&listing, "f_slow_compute", r#"{"seconds":30}"#).await.unwrap_err();
    assert_eq!((failed.code.as_str(), failed.happened), ("upstream_timeout", Happened::Unknown));

    let (_server, listing) = opened(spec(None, Era::Sessionless), &person).await;
    let running = start(&listing, "f_slow_compute", r#"{"seconds":30}"#);
    assert!(eventually(Duration::from_secs(5), || person.tasks.lock().unwrap().len() == 2).await);
    running.cancel.cancel();
    let failed = running.handle.await.unwrap().unwrap_err();
    assert_eq!(failed.code, "cancelled");
}

#[tokio::test(flavor = "multi_thread")]
async fn lines_for_the_log_come_before_the_result_and_only_when_they_are_wanted() {
    for era in ERAS {
        let person = Arc::new(able());
        let (_server, listing) = opened(spec(None, era), &person).await;
        let tool = if era == Era::Sessions { "test_tool_with_logging" } else { "test_logging_tool" };
        said(&listing, tool, "{}").await;
        let said = person.said.lock().unwrap();
        assert_eq!(said.len(), if era == Era::Sessions { 3 } else { 1 });
        assert_eq!(said[0].1.get("level").unwrap().as_str(), Some("info"));
    }
}

async fn heard(events: &mut tokio::sync::broadcast::Receiver<UpstreamEvent>) -> UpstreamEvent {
    tokio::time::timeout(Duration::from_secs(5), events.recv()).await.unwrap().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn news_are_heard_in_both_generations_over_both_transports() {
    let http = Http::start(&[]);
    for era in ERAS {
        for way in [None, Some(&http)] {
            let server = Upstream::new(spec(way, era));
            let mut events = server.events();
            let listing = server.tools().await.unwrap();
            assert_eq!(heard(&mut events).await, UpstreamEvent::Started);
            let watched = json(r#"{"uri":"test://watched-resource"}"#);
            server.pass(Passed::new("resources/subscribe", watched.clone(), "r")).await.unwrap();
            // A stream that listens is opened beside the calls.
            tokio::time::sleep(Duration::from_millis(300)).await;
            call(&listing, "f_toggle_tool", "{}").await.unwrap();
            assert_eq!(heard(&mut events).await, UpstreamEvent::ListChanged("tools"), "{era:?}");
            assert!(server.status().list_changes > 0);
            call(&listing, "f_touch_resource", &watched.to_json_string()).await.unwrap();
            assert_eq!(heard(&mut events).await, UpstreamEvent::ResourceUpdated(Text::from("test://watched-resource")), "{era:?}");
            server.pass(Passed::new("resources/unsubscribe", watched.clone(), "r")).await.unwrap();
            server.shutdown().await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_are_passed_by_name_and_lists_are_read_to_their_end() {
    let http = Http::start(&["--page", "2"]);
    for era in ERAS {
        let server = Upstream::asking(spec(Some(&http), era), Arc::new(able()));
        assert!(server.capabilities().is_null());
        assert_eq!(server.listed("resources/list").await.unwrap().len(), 5);
        assert_eq!(server.listed("resources/templates/list").await.unwrap().len(), 1);
        assert_eq!(server.listed("prompts/list").await.unwrap().len(), 5);
        assert_eq!(server.listed("skills/list").await.unwrap().len(), 2);
        assert!(server.capabilities().pointer("/extensions/io.modelcontextprotocol~1skills").is_some());
        let pass = async |method: &str, params: &str| server.pass(Passed::new(method, json(params), "run-1")).await.unwrap();
        let PassedReply::Result(read) = pass("resources/read", r#"{"uri":"test://template/7/data"}"#).await else { panic!("refused") };
        assert_eq!(read.pointer("/contents/0/mimeType").unwrap().as_str(), Some("application/json"));
        let PassedReply::Refused { code, data, .. } = pass("resources/read", r#"{"uri":"test://none"}"#).await else { panic!("read") };
        assert!([-32_002, -32_602].contains(&code), "{code}");
        assert_eq!(data.unwrap().get("uri").unwrap().as_str(), Some("test://none"));
        let complete = r#"{"ref":{"type":"ref/prompt","name":"test_prompt_with_arguments"},"argument":{"name":"arg1","value":"par"}}"#;
        let PassedReply::Result(completed) = pass("completion/complete", complete).await else { panic!("refused") };
        assert_eq!(completed.pointer("/completion/values").unwrap().as_array().unwrap().len(), 3);
        let PassedReply::Result(prompt) = pass("prompts/get", r#"{"name":"test_simple_prompt"}"#).await else { panic!("refused") };
        assert!(prompt.pointer("/messages/0").is_some());
        let PassedReply::Refused { code, .. } = pass("no/such", "{}").await else { panic!("known") };
        assert_eq!(code, -32_601);
    }
    // A prompt of the newest generation may need an answer too.
    let server = Upstream::asking(spec(Some(&http), Era::Sessionless), Arc::new(able()));
    let passed = Passed::new("prompts/get", json(r#"{"name":"test_input_required_result_prompt"}"#), "run-2");
    let PassedReply::Result(prompt) = server.pass(passed).await.unwrap() else { panic!("refused") };
    assert_eq!(prompt.pointer("/messages/0/content/text").unwrap().as_str(), Some("Prompt with context: c"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_fails_says_when_it_is_tried_again() {
    let mut spec = ServerSpec::stdio("gone", "no-such-program-anywhere", [""; 0]);
    spec.limits.failures_max = 2;
    spec.capabilities = json(r#"{"prompts":{}}"#);
    let server = Upstream::new(spec);
    assert_eq!(server.capabilities(), json(r#"{"prompts":{}}"#));
    for failures in 1..=2 {
        server.tools().await.unwrap_err();
        assert_eq!(server.status().failures, failures);
    }
    let left = server.status().retry_in.unwrap();
    assert!(left > Duration::from_secs(20) && left <= Duration::from_secs(30), "{left:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_answers_the_discovery_with_older_versions_is_initialised() {
    let http = Http::start(&["--versions", "2025-06-18,2025-03-26"]);
    let mut stdio = ServerSpec::stdio("f", example("fixture_server"), ["stdio", "--versions", "2025-06-18,2025-03-26"]);
    stdio.era = Era::Auto;
    for spec in [spec(Some(&http), Era::Auto), stdio] {
        let server = Upstream::new(spec);
        assert!(server.tools().await.unwrap().tools.len() > 40);
        assert_eq!(server.status().protocol_version.as_deref(), Some("2025-06-18"));
    }
}
