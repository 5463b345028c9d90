//! Tools that are tasks where the client takes tasks (the tasks extension of the newest generation).

use std::time::Duration;

use rmcp::model::*;
use rmcp::service::RequestContext;
use rmcp::task_manager::{TaskContext, TaskExit, TaskOptions};
use rmcp::{ErrorData, RoleServer};
use serde_json::{Map, Value, json};
use tokio::time::sleep;

use crate::inputs::required;
use crate::offer::typed;
use crate::serving::{Fixture, said};

type Response = Result<CallToolResponse, ErrorData>;
type Work = std::pin::Pin<Box<dyn Future<Output = Result<CallToolResult, TaskExit>> + Send>>;

/// Tools that can only be tasks.
const ALWAYS: [&str; 4] = ["failing_job", "test_tool_with_task", "confirm_delete", "multi_input"];
/// Tools that are tasks where they can be.
const SOMETIMES: [&str; 2] = ["slow_compute", "protocol_error_job"];

impl Fixture {
    /// What a tool that is or may be a task says; absent for the others.
    pub(crate) async fn task(
        &self,
        request: &CallToolRequestParams,
        arguments: &Map<String, Value>,
        context: &RequestContext<RoleServer>,
    ) -> Option<Response> {
        let name = request.name.as_ref();
        if name == "greet" {
            return Some(Ok(said(format!("Hello, {}!", arguments.get("name").and_then(Value::as_str).unwrap_or("friend"))).into()));
        }
        let always = ALWAYS.contains(&name);
        if !always && !SOMETIMES.contains(&name) {
            return None;
        }
        let able = context.client_capabilities().is_some_and(|declared| declared.supports_tasks());
        if !able && always {
            let needed = ClientCapabilities::builder().enable_tasks().build();
            return Some(Err(ErrorData::missing_required_client_capability(needed)));
        }
        if name == "test_tool_with_task" {
            return Some(self.asks_then_is_a_task(request));
        }
        if !able {
            return Some(match work(name, arguments, None).await {
                Ok(result) => Ok(result.into()),
                Err(TaskExit::Error(error)) => Err(error),
                Err(_) => Err(ErrorData::internal_error("cancelled", None)),
            });
        }
        let (name, arguments) = (name.to_owned(), arguments.clone());
        Some(Ok(self.spawn(move |task| Box::pin(async move { work(&name, &arguments, Some(&task)).await }))))
    }

    fn spawn(&self, work: impl FnOnce(TaskContext) -> Work + Send + 'static) -> CallToolResponse {
        let options = TaskOptions::default().with_poll_interval_ms(100);
        CreateTaskResult::new(self.state.tasks.spawn(options, work)).into()
    }

    fn asks_then_is_a_task(&self, request: &CallToolRequestParams) -> Response {
        let answer = request.input_responses.as_ref().and_then(|answers| answers.get("user_name")).filter(|answer| answer.is_object());
        let Some(answer) = answer else {
            let needs = Map::from_iter([("user_name".to_owned(), question("What is your name?", "name", "string"))]);
            return Ok(required(&needs, None).into());
        };
        let name = answer["content"]["name"].as_str().unwrap_or("friend").to_owned();
        Ok(self.spawn(move |_| {
            Box::pin(async move {
                sleep(Duration::from_millis(200)).await;
                Ok(said(format!("Hello, {name}! (later)")))
            })
        }))
    }
}

/// What the task does; `task` is absent when it runs as a plain call.
async fn work(name: &str, arguments: &Map<String, Value>, task: Option<&TaskContext>) -> Result<CallToolResult, TaskExit> {
    let text = |name: &str, otherwise: &str| arguments.get(name).and_then(Value::as_str).unwrap_or(otherwise).to_owned();
    match name {
        "slow_compute" => {
            let seconds = arguments.get("seconds").and_then(Value::as_f64).unwrap_or(1.0);
            let cancelled = async {
                match task {
                    Some(task) => task.cancelled().await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = cancelled => Err(TaskExit::Cancelled),
                () = sleep(Duration::from_secs_f64(seconds.max(0.0))) => {
                    Ok(said(format!("slow_compute({}) done after {seconds}s", text("label", "compute"))))
                }
            }
        }
        "failing_job" => {
            sleep(Duration::from_secs(1)).await;
            Ok(CallToolResult::error(vec![ContentBlock::text("failing_job: fails on purpose")]))
        }
        "protocol_error_job" => {
            sleep(Duration::from_millis(200)).await;
            Err(TaskExit::Error(ErrorData::internal_error("protocol_error_job: fails on purpose", None)))
        }
        "confirm_delete" => {
            let Some(task) = task else { return Err(TaskExit::Cancelled) };
            let filename = text("filename", "file.txt");
            let answer = task.request_input("confirm", typed(question(&format!("Delete {filename}?"), "confirm", "boolean"))).await?;
            let confirmed = answer["content"]["confirm"].as_bool().unwrap_or(false);
            Ok(said(format!("confirm_delete({filename}): confirmed = {confirmed}")))
        }
        _ => {
            let Some(task) = task else { return Err(TaskExit::Cancelled) };
            let (first, second) = tokio::join!(
                task.request_input("input-a", typed(question("Provide value A", "value", "string"))),
                task.request_input("input-b", typed(question("Provide value B", "value", "string"))),
            );
            let value = |answer: &Value| answer["content"]["value"].as_str().unwrap_or("none").to_owned();
            Ok(said(format!("multi_input: a = {}, b = {}", value(&first?), value(&second?))))
        }
    }
}

fn question(message: &str, field: &str, kind: &str) -> Value {
    let schema = json!({"type": "object", "properties": {field: {"type": kind}}, "required": [field]});
    json!({"method": "elicitation/create", "params": {"mode": "form", "message": message, "requestedSchema": schema}})
}
