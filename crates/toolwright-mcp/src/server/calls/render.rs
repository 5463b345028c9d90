//! What became of a call, as the result that a client of its generation reads.
//!
//! What an upstream sent goes out as it came: its content blocks, its structured content, its `_meta`. What we have to say ourselves
//! stands beside it, under names of ours.

use toolwright::journal::JournalErrorKind;
use toolwright::{CallError, EffectState, Fault, Retry, Text, ToolResult, Value};

use crate::server::message::{INVALID_PARAMS, MISSING_CAPABILITY, RpcError};
use crate::server::request::META_SERVER;
use crate::server::version::Version;

/// The member of `_meta` with what a program wants to know of a failed call.
pub(crate) const ERROR_META: &str = "dev.toolwright/error";
/// The member of `_meta` with the run that a call is kept as.
pub(crate) const RUN_META: &str = "dev.toolwright/run";
/// The member of `_meta` with what is worth telling beside the result, such as arguments that were repaired.
pub(crate) const NOTES_META: &str = "dev.toolwright/notes";

/// The client must have somebody look at a page first (2025-11-25 only).
const URL_ELICITATION_REQUIRED: i64 = -32_042;

/// How a client reads results, and what is said of this one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reader<'a> {
    pub(crate) version: Version,
    /// The tool promises a form of its output.
    pub(crate) promised: bool,
    /// The run that the call is kept as; none when nothing is kept.
    pub(crate) run: Option<&'a Text>,
}

/// The result of a call that succeeded.
pub(crate) fn success(result: &ToolResult, reader: Reader<'_>) -> Value {
    let blocks = result.content.as_ref().filter(|content| content.as_array().is_some());
    let output = result.output.as_ref().filter(|output| !output.is_null() || reader.promised);
    let structured = output.filter(|output| reader.takes_structured(output)).filter(|output| {
        // What was made of the blocks says nothing that is not in them.
        reader.promised || !blocks.and_then(Value::as_array).is_some_and(|blocks| made_of(output, blocks))
    });
    let content = match (blocks, output) {
        (Some(blocks), None) => blocks.clone(),
        (Some(blocks), Some(_)) if blocks.as_array().is_some_and(|blocks| !blocks.is_empty()) => blocks.clone(),
        (_, Some(output)) => Value::array([text_block(as_text(output))]),
        (None, None) => Value::array::<Value>([]),
    };
    let mut members: Vec<(Text, Value)> = vec![("content".into(), content)];
    members.extend(structured.map(|structured| ("structuredContent".into(), structured.clone())));
    members.push(("isError".into(), false.into()));
    let mut ours: Vec<(&str, Value)> = Vec::new();
    ours.extend(reader.run.map(|run| (RUN_META, Value::String(run.clone()))));
    if !result.notes.is_empty() {
        ours.push((NOTES_META, Value::array(result.notes.iter().cloned().map(Value::String))));
    }
    let theirs = result.details.as_ref().and_then(|details| details.get("_meta"));
    members.extend(meta(theirs, ours).map(|meta| ("_meta".into(), meta)));
    Value::object(members)
}

impl Reader<'_> {
    fn takes_structured(&self, output: &Value) -> bool {
        match self.version {
            version if version.sessionless() => true,
            version => version >= Version::V2025_06_18 && output.as_object().is_some(),
        }
    }
}

/// Whether the output is only what was made of the blocks: the text of a lone one, or the blocks with their text beside.
fn made_of(output: &Value, blocks: &[Value]) -> bool {
    match (output, blocks) {
        (Value::String(_), [block]) => block.get("text") == Some(output),
        (Value::String(_), _) => false,
        _ => output.get("content").and_then(Value::as_array).is_some_and(|theirs| theirs == blocks),
    }
}

fn as_text(output: &Value) -> Text {
    output.as_text().cloned().unwrap_or_else(|| output.to_json_string().into())
}

fn text_block(text: Text) -> Value {
    Value::object([("type", Value::from("text")), ("text", Value::String(text))])
}

/// Theirs as it came, ours beside it. Which server answers is for us to say: it is us.
fn meta(theirs: Option<&Value>, ours: Vec<(&str, Value)>) -> Option<Value> {
    let named = theirs.and_then(Value::as_object).filter(|theirs| theirs.get(META_SERVER).is_some());
    let named = named.map(|theirs| Value::Object(theirs.without(META_SERVER)));
    let theirs = named.as_ref().or(theirs);
    match theirs.and_then(Value::as_object) {
        None if ours.is_empty() => theirs.cloned(),
        None => Some(Value::object(ours)),
        Some(theirs) if theirs.is_empty() && ours.is_empty() => None,
        Some(theirs) => Some(Value::Object(ours.into_iter().fold(theirs.clone(), |meta, (name, value)| meta.with(name, value)))),
    }
}

/// A failed call that is a fault of the request and no result: there is no such tool, or the server behind it wants of the client
/// what it did not declare.
pub(crate) fn refused(error: &CallError, version: Version) -> Option<RpcError> {
    match error.fault() {
        Fault::Unavailable { tool, .. } => Some(RpcError::new(INVALID_PARAMS, format!("no tool is named `{tool}`"))),
        _ => rpc_error(error).filter(|rpc| match rpc.code {
            MISSING_CAPABILITY => true,
            URL_ELICITATION_REQUIRED => version == Version::V2025_11_25,
            _ => false,
        }),
    }
}

/// The JSON-RPC error with which the server behind a tool ended its call, when the tool was called itself and by no composite.
pub(crate) fn rpc_error(error: &CallError) -> Option<RpcError> {
    let Fault::Tool { error, .. } = error.fault() else { return None };
    let rpc = error.own_details()?.get("jsonrpcError")?;
    let message = rpc.get("message").and_then(Value::as_str).unwrap_or_default().to_owned();
    Some(RpcError { code: rpc.get("code").and_then(Value::as_i64)?, message, data: rpc.get("data").cloned() })
}

/// The result of a call that did not succeed: what the tool itself said as it said it, or what a model can do about it.
pub(crate) fn failure(error: &CallError, run: Option<&Text>) -> Value {
    let own = own(error);
    let direct = matches!(error.fault(), Fault::Tool { .. });
    let blocks = own.and_then(|own| own.get("content")).and_then(Value::as_array).unwrap_or_default();
    let said = direct && !blocks.is_empty();
    let content = match said {
        true => Value::array(blocks.iter().cloned()),
        false => {
            let pictures = blocks.iter().filter(|block| block.get("type").and_then(Value::as_str) != Some("text")).cloned();
            Value::array(std::iter::once(text_block(teaching(error).into())).chain(pictures))
        }
    };
    let mut members: Vec<(Text, Value)> = vec![("content".into(), content)];
    let theirs = |name: &str| own.filter(|_| direct).and_then(|own| own.get(name));
    members.extend(theirs("structuredContent").map(|structured| ("structuredContent".into(), structured.clone())));
    members.push(("isError".into(), true.into()));
    let ours = vec![(ERROR_META, details(error, run))];
    members.extend(meta(theirs("_meta"), ours).map(|meta| ("_meta".into(), meta)));
    Value::object(members)
}

/// What a model reads: what went wrong, what to do about it, what is done already, and whether to try again.
fn teaching(error: &CallError) -> String {
    let for_model = error.for_model();
    let text = |name: &str| for_model.get(name).and_then(Value::as_str).unwrap_or_default();
    let mut lines = vec![text("message").to_owned()];
    if !text("help").is_empty() {
        lines.push(format!("help: {}", text("help")));
    }
    let completed: Vec<&str> = completed(error).iter().map(Text::as_str).collect();
    if !completed.is_empty() {
        lines.push(format!("done before that: {}", completed.join(", ")));
    }
    let elsewhere = matches!(error.root_cause(), Fault::Journal { error, .. } if error.kind == JournalErrorKind::Claimed);
    let again = match (error.retry(), error.effect_state(), error.effects().is_empty()) {
        _ if elsewhere => Some("call it again a little later, with the same key and the same arguments: it gets the result of that work"),
        (Retry::Safe, EffectState::NotStarted | EffectState::NoEffect, _) => Some("nothing was changed: it may be called again"),
        (Retry::Safe, ..) => Some("it may be called again"),
        (Retry::AfterReconcile, ..) => Some("do not call it again before somebody has found out what happened"),
        (_, EffectState::Unknown, _) => Some("its effect may have happened: look before calling it again"),
        (_, EffectState::Happened, _) | (_, _, false) => Some("what was done stays done: a further call does it again"),
        _ => None,
    };
    lines.extend(again.map(str::to_owned));
    lines.push(format!("code: {}", text("code")));
    lines.join("\n")
}

fn completed(error: &CallError) -> &[Text] {
    match error.fault() {
        Fault::Step(step) => &step.completed,
        Fault::Output(output) => &output.completed,
        _ => &[],
    }
}

/// What the tool itself said beside its message.
fn own(error: &CallError) -> Option<&Value> {
    match error.root_cause() {
        Fault::Tool { error, .. } => error.own_details(),
        _ => None,
    }
}

/// What a program reads.
pub(crate) fn details(error: &CallError, run: Option<&Text>) -> Value {
    let for_model = error.for_model();
    let mut members: Vec<(&str, Value)> = Vec::new();
    members.extend(["code", "message", "help", "issues"].into_iter().filter_map(|name| Some((name, for_model.get(name)?.clone()))));
    if let Some(step) = error.step() {
        members.push(("step", Value::String(step.step.clone())));
        members.push(("stepIndex", step.index.into()));
    }
    if matches!(error.fault(), Fault::Step(_) | Fault::Output(_)) {
        members.push(("completed", Value::array(completed(error).iter().cloned().map(Value::String))));
    }
    let effect = match error.effect_state() {
        EffectState::NotStarted => "not_started",
        EffectState::NoEffect => "no_effect",
        EffectState::Happened => "happened",
        EffectState::Unknown => "unknown",
    };
    members.push(("effect", effect.into()));
    members.push(("effects", error.to_value().get("effects").cloned().unwrap_or_else(|| Value::array::<Value>([]))));
    let retry = match error.retry() {
        Retry::Never => "never",
        Retry::Safe => "safe",
        Retry::AfterReconcile => "after_reconcile",
    };
    members.push(("retry", retry.into()));
    // Its blocks are in the result itself, or in its text.
    let own = own(error).and_then(Value::as_object).map(|own| own.without("content")).filter(|own| !own.is_empty());
    members.extend(own.map(|own| ("tool", Value::Object(own))));
    members.extend(run.map(|run| ("run", Value::String(run.clone()))));
    Value::object(members)
}

#[cfg(test)]
mod tests {
    use toolwright::{Answer, Composite, Invocation, Registry, ToolError, json, tool};

    use super::*;

    async fn called(answer: Result<Answer, ToolError>, composite: bool) -> Result<ToolResult, CallError> {
        let answer = std::sync::Mutex::new(Some(answer));
        let shoot = tool("shoot", "Shoots").reads().handler(Given(answer));
        let registry = Registry::new().with(shoot).unwrap();
        let registry = registry.with(Composite::new("both", "Does").step("one", "shoot", json!({}))).unwrap();
        registry.seal().invoke(Invocation::new(if composite { "both" } else { "shoot" }, json!({})), ()).await
    }

    struct Given(std::sync::Mutex<Option<Result<Answer, ToolError>>>);

    impl toolwright::Handler for Given {
        fn handle<'a>(&'a self, _: Value, _: toolwright::Call) -> toolwright::BoxFuture<'a, Result<Answer, ToolError>> {
            let answer = self.0.lock().unwrap().take().unwrap();
            Box::pin(async move { answer })
        }
    }

    fn reader(version: Version) -> Reader<'static> {
        Reader { version, promised: false, run: None }
    }

    fn mixed() -> Value {
        json!([
            { "type": "text", "text": "done" },
            { "type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png" },
            { "type": "hologram", "blob": "AA==" },
        ])
    }

    #[tokio::test]
    async fn blocks_and_meta_go_out_as_they_came_also_through_a_composite() {
        for composite in [false, true] {
            let output = json!({ "content": mixed(), "text": "done" });
            let answer = Answer::new(output).content(mixed()).details(json!({ "_meta": { "vendor/x": 1 } }));
            let result = called(Ok(answer), composite).await.unwrap();
            for version in [Version::V2024_11_05, Version::V2025_11_25, Version::V2026_07_28] {
                let rendered = success(&result, reader(version));
                assert_eq!(rendered.get("content"), Some(&mixed()), "{rendered}");
                assert_eq!(rendered.get("structuredContent"), None, "nobody sent any: {rendered}");
                assert_eq!(rendered.get("_meta"), Some(&json!({ "vendor/x": 1 })), "composite: {composite}");
            }
        }
    }

    #[tokio::test]
    async fn structured_content_fits_the_generation() {
        let cases = [
            (json!({ "v": 1 }), Version::V2025_06_18, Some(json!({ "v": 1 })), r#"{"v":1}"#),
            (json!({ "v": 1 }), Version::V2025_03_26, None, r#"{"v":1}"#),
            (json!([1, 2]), Version::V2025_11_25, None, "[1,2]"),
            (json!([1, 2]), Version::V2026_07_28, Some(json!([1, 2])), "[1,2]"),
            (json!("plain"), Version::V2025_11_25, None, "plain"),
        ];
        for (output, version, structured, text) in cases {
            let result = called(Ok(Answer::new(output)), false).await.unwrap();
            let rendered = success(&result, reader(version));
            assert_eq!(rendered.get("structuredContent"), structured.as_ref(), "{rendered}");
            assert_eq!(rendered.get("content"), Some(&json!([{ "type": "text", "text": text }])), "{rendered}");
        }
    }

    #[tokio::test]
    async fn a_tools_own_error_keeps_all_that_it_sent() {
        let sent = json!({
            "content": [{ "type": "text", "text": "card declined" }],
            "structuredContent": { "code": "DECLINED" },
            "_meta": { "vendor/x": 1 },
        });
        let error = || ToolError::new("card declined").details(sent.clone()).content(sent.get("content").unwrap().clone());
        let rendered = failure(&called(Err(error()), false).await.unwrap_err(), None);
        assert_eq!(rendered.get("content"), sent.get("content"));
        assert_eq!(rendered.get("structuredContent"), sent.get("structuredContent"));
        assert_eq!(rendered.pointer("/_meta/vendor~1x"), Some(&json!(1)));
        assert_eq!(rendered.get("isError"), Some(&json!(true)));

        let rendered = failure(&called(Err(error()), true).await.unwrap_err(), Some(&"run-1".into()));
        let text = rendered.pointer("/content/0/text").and_then(Value::as_str).unwrap();
        assert!(text.contains("card declined") && text.contains("\"one\""), "{text}");
        assert_eq!(rendered.get("structuredContent"), None, "it is none of the composite's: {rendered}");
        let ours = rendered.get("_meta").and_then(|meta| meta.get(ERROR_META)).unwrap();
        assert_eq!(ours.pointer("/tool/structuredContent/code"), Some(&json!("DECLINED")), "{ours}");
        assert_eq!((ours.get("step"), ours.get("run")), (Some(&json!("one")), Some(&json!("run-1"))), "{ours}");
    }

    #[tokio::test]
    async fn a_fault_of_the_request_is_no_result() {
        let missing = Registry::new().seal().invoke(Invocation::new("nothing", json!({})), ()).await.unwrap_err();
        let newest = Version::V2026_07_28;
        assert_eq!(refused(&missing, newest).map(|rpc| rpc.code), Some(-32_602));
        let rpc = |code: i64| ToolError::new("no").details(json!({ "jsonrpcError": { "code": code, "message": "no", "data": [1] } }));
        let wants = called(Err(rpc(MISSING_CAPABILITY)), false).await.unwrap_err();
        assert_eq!(refused(&wants, newest).and_then(|rpc| rpc.data), Some(json!([1])));
        let broken = called(Err(rpc(-32_000)), false).await.unwrap_err();
        assert_eq!((refused(&broken, newest), rpc_error(&broken).map(|rpc| rpc.code)), (None, Some(-32_000)));
    }
}
