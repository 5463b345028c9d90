//! What the tools do.

use std::sync::atomic::Ordering;
use std::time::Duration;

use rmcp::model::*;
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use serde_json::{Map, Value, json};
use tokio::time::sleep;

use crate::inputs::{answer, required};
use crate::offer::Asks;
use crate::serving::{Changed, Fixture, said, structured};

type Context = RequestContext<RoleServer>;
type Answer = Result<CallToolResult, ErrorData>;

/// The member of `_meta` that Toolwright's idempotency keys are in.
const KEY: &str = "dev.toolwright/idempotency-key";

impl Fixture {
    /// Any call: it is told to the log, and ends when it is cancelled.
    pub(crate) async fn call(&self, request: CallToolRequestParams, context: &Context) -> Result<CallToolResponse, ErrorData> {
        let arguments = request.arguments.clone().unwrap_or_default();
        if request.name == "echo" {
            // The tool of benchmarks: nothing but the way there and back.
            return self.own("echo", &arguments, context).await.map(Into::into);
        }
        let key = context.meta.get(KEY).cloned();
        let running = self.state.called(&request.name, &Value::Object(arguments.clone()), key);
        let outcome = tokio::select! {
            biased;
            () = context.ct.cancelled() => return Err(ErrorData::internal_error("cancelled", None)),
            outcome = self.dispatch(request, arguments, context) => outcome,
        };
        running.finished();
        outcome
    }

    async fn dispatch(
        &self,
        request: CallToolRequestParams,
        arguments: Map<String, Value>,
        context: &Context,
    ) -> Result<CallToolResponse, ErrorData> {
        let name = request.name.clone();
        let unknown = || ErrorData::invalid_params(format!("there is no tool `{name}`"), None);
        let offered = self.offer.tool(&name).ok_or_else(unknown)?;
        if name == "extra" && !self.state.extra.load(Ordering::SeqCst) {
            return Err(unknown());
        }
        if let Some(response) = self.task(&request, &arguments, context).await {
            return response;
        }
        if let Some(response) = self.input(offered, &request, context) {
            return response;
        }
        if let Some(asks) = &offered.asks {
            return self.asking(asks, &request, &arguments, context).await;
        }
        if let Some(result) = offered.fixed() {
            return Ok(result.into());
        }
        self.own(&name, &arguments, context).await.map(Into::into)
    }

    async fn own(&self, name: &str, arguments: &Map<String, Value>, context: &Context) -> Answer {
        let text = |name: &str| arguments.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        let number = |name: &str| arguments.get(name).and_then(Value::as_f64).unwrap_or_default();
        match name {
            "echo" => Ok(structured(json!({"text": text("text")}))),
            "add" => Ok(structured(json!({"sum": number("a") + number("b")}))),
            "any_json" => Ok(structured(arguments.get("value").cloned().unwrap_or_default())),
            "note" => Ok(self.note(text("text"))),
            "slow_note" => {
                sleep(millis(number("ms"))).await;
                Ok(self.note(text("text")))
            }
            "notes" => Ok(structured(json!({"notes": *self.state.notes.lock().unwrap()}))),
            "slow" => self.slow(number("ms"), number("steps").max(1.0), context).await,
            "toggle_tool" => {
                let listed = !self.state.extra.fetch_xor(true, Ordering::SeqCst);
                self.announce(Changed::Tools).await;
                Ok(structured(json!({"listed": listed})))
            }
            "touch_resource" => {
                self.announce(Changed::Resource(text("uri"))).await;
                Ok(said("touched"))
            }
            _ => self.of_the_suites(name, &text, context).await,
        }
    }

    async fn of_the_suites(&self, name: &str, text: &(dyn Fn(&str) -> String + Sync), context: &Context) -> Answer {
        match name {
            "test_tool_with_logging" => {
                for line in ["Tool execution started", "Tool processing data", "Tool execution completed"] {
                    log(context, LoggingLevel::Info, line).await;
                    sleep(Duration::from_millis(50)).await;
                }
                Ok(said("Logging test completed"))
            }
            "test_logging_tool" => {
                if let Some(level) = context.meta.log_level() {
                    log(context, level, "a level was asked for").await;
                }
                Ok(said("Logging tool completed"))
            }
            "test_tool_with_progress" => {
                for (done, message) in [(0.0, "Starting"), (50.0, "Halfway"), (100.0, "Complete")] {
                    progress(context, done, 100.0, message).await;
                    sleep(Duration::from_millis(50)).await;
                }
                Ok(said("Progress test completed"))
            }
            "test_reconnection" => {
                sleep(Duration::from_millis(100)).await;
                Ok(said("Reconnection test completed"))
            }
            "test_custom_header" => Ok(said(text("value"))),
            "test_trigger_tool_change" => {
                self.state.extra.fetch_xor(true, Ordering::SeqCst);
                self.announce(Changed::Tools).await;
                Ok(said("Tool list change announced"))
            }
            "test_trigger_prompt_change" => {
                self.state.extra_prompt.fetch_xor(true, Ordering::SeqCst);
                self.announce(Changed::Prompts).await;
                Ok(said("Prompt list change announced"))
            }
            "test_missing_capability" => match context.client_capabilities().is_some_and(|declared| declared.sampling.is_some()) {
                true => Ok(said("It is there.")),
                false => Err(ErrorData::missing_required_client_capability(ClientCapabilities::builder().enable_sampling().build())),
            },
            _ => Err(ErrorData::internal_error(format!("`{name}` is offered and does nothing"), None)),
        }
    }

    fn note(&self, text: String) -> CallToolResult {
        let mut notes = self.state.notes.lock().unwrap();
        notes.push(text);
        structured(json!({"count": notes.len()}))
    }

    async fn slow(&self, ms: f64, steps: f64, context: &Context) -> Answer {
        let mut done = 0.0;
        while done < steps {
            sleep(millis(ms / steps)).await;
            done += 1.0;
            progress(context, done, steps, &format!("step {done}")).await;
        }
        Ok(structured(json!({"steps": steps.to_string().parse::<u64>().unwrap_or_default()})))
    }

    /// Asks the client: with a request of its own in a session, and with a result that needs an answer in the newest generation.
    async fn asking(
        &self,
        asks: &Asks,
        request: &CallToolRequestParams,
        arguments: &Map<String, Value>,
        context: &Context,
    ) -> Result<CallToolResponse, ErrorData> {
        let mut params = asks.params.clone();
        if let Some(message) = arguments.get("message") {
            params["message"] = message.clone();
        }
        if let Some(prompt) = arguments.get("prompt") {
            params["messages"][0]["content"]["text"] = prompt.clone();
        }
        let in_session = context.protocol_version().is_none_or(|version| version.has_initialize());
        let answer = if in_session {
            let question = ServerRequest::CustomRequest(CustomRequest::new(asks.method.clone(), Some(params)));
            context.peer.send_request(question).await.map(|answer| serde_json::to_value(answer).unwrap()).map_err(|error| error.to_string())
        } else {
            match answer(request.input_responses.as_ref(), "answer") {
                Some(answer) => Ok(answer.clone()),
                None => {
                    let need = json!({"method": asks.method, "params": params});
                    return Ok(required(&Map::from_iter([("answer".to_owned(), need)]), None).into());
                }
            }
        };
        Ok(match answer {
            Ok(answer) if asks.method == "sampling/createMessage" => {
                said(format!("{}: {}", asks.says, word(&answer["content"]["text"]))).into()
            }
            Ok(answer) => said(format!("{}: action={}, content={}", asks.says, word(&answer["action"]), answer["content"])).into(),
            Err(why) => CallToolResult::error(vec![ContentBlock::text(format!("nobody answered: {why}"))]).into(),
        })
    }
}

fn word(value: &Value) -> &str {
    value.as_str().unwrap_or("none")
}

fn millis(ms: f64) -> Duration {
    Duration::from_secs_f64(ms.max(0.0) / 1_000.0)
}

async fn log(context: &Context, level: LoggingLevel, line: &str) {
    let line = LoggingMessageNotificationParam::new(level, json!(line)).with_logger("fixture");
    let _ = context.peer.notify_logging_message(line).await;
}

async fn progress(context: &Context, done: f64, total: f64, message: &str) {
    if let Some(token) = context.meta.get_progress_token() {
        let report = ProgressNotificationParam::new(token, done).with_total(total).with_message(message);
        let _ = context.peer.notify_progress(report).await;
    }
}
