//! What becomes of results and errors, whatever the server put into them.

use crate::calls::{Done, Failed, Happened, call, json};
use crate::server::{script, spec, upstream};
use toolwright_mcp::upstream::Upstream;

async fn answered(result: &str) -> Result<Done, Failed> {
    let act = format!(r#"{{"act":"result","result":{result}}}"#);
    let server = upstream(&script(&[("t", &act)]));
    let listing = server.tools().await.unwrap();
    call(&listing, "s_t", "{}").await
}

#[tokio::test(flavor = "multi_thread")]
async fn the_output_is_structured_content_or_plain_text_or_blocks() {
    let table = [
        (r#"{"content":[],"structuredContent":{"a":1}}"#, r#"{"a":1}"#),
        (r#"{"content":[{"type":"text","text":"x"}],"structuredContent":[1,null]}"#, "[1,null]"),
        (r#"{"structuredContent":null}"#, "null"),
        (r#"{"content":[{"type":"text","text":"x"}],"structuredContent":null}"#, r#""x""#),
        (r#"{"content":[{"type":"text","text":"{\"a\":1}"}]}"#, r#""{\"a\":1}""#),
        (
            r#"{"content":[{"type":"text","text":"a"},{"type":"text","text":"b","annotations":{"priority":0.50}}]}"#,
            r#"{"content":[{"type":"text","text":"a"},{"type":"text","text":"b","annotations":{"priority":0.50}}],"text":"a\nb"}"#,
        ),
        (
            r#"{"content":[{"type":"image","data":"AA==","mimeType":"image/png"}]}"#,
            r#"{"content":[{"type":"image","data":"AA==","mimeType":"image/png"}]}"#,
        ),
    ];
    for (result, output) in table {
        let done = answered(result).await.unwrap();
        assert_eq!(done.output, Some(json(output)), "{result}");
        assert_eq!(done.notes, Vec::<String>::new());
    }
    let empty = answered(r#"{"content":[]}"#).await.unwrap();
    assert!(empty.output.is_none_or(|output| output.is_null()));
}

/// C24 (the wire's part)
#[tokio::test(flavor = "multi_thread")]
async fn blocks_of_every_kind_pass_untouched() {
    let content = r#"[{"type":"text","text":"done"},{"type":"image","data":"iVBORw0KGgo=","mimeType":"image/png"},{"type":"resource_link","uri":"file:///r.pdf","name":"r.pdf","mimeType":"application/pdf"},{"type":"hologram","blob":"AA=="}]"#;
    let done = answered(&format!(r#"{{"content":{content},"_meta":{{"vendor/x":1}}}}"#)).await.unwrap();
    assert_eq!(done.content, Some(json(content)));
    assert_eq!(done.details.unwrap().pointer("/_meta/vendor~1x"), Some(&json("1")));
    assert_eq!(done.output.unwrap().get("text").unwrap().as_str(), Some("done"));
}

/// C23 (the wire's part), B052
#[tokio::test(flavor = "multi_thread")]
async fn a_tools_own_error_keeps_its_text_and_everything_it_sent() {
    let result = r#"{"isError":true,"content":[{"type":"text","text":"card declined: insufficient funds"}],"structuredContent":{"code":"DECLINED"},"_meta":{"v":1}}"#;
    let failed = answered(result).await.unwrap_err();
    assert_eq!(failed.message, "card declined: insufficient funds");
    assert_eq!(failed.happened, Happened::Failed);
    let details = failed.details.unwrap();
    assert_eq!(details.pointer("/structuredContent/code"), Some(&json(r#""DECLINED""#)));
    assert_eq!(details.pointer("/_meta/v"), Some(&json("1")));
    assert_eq!(details.pointer("/content/0/type"), Some(&json(r#""text""#)));
    let wordless = answered(r#"{"isError":true,"content":[]}"#).await.unwrap_err();
    assert!(wordless.message.contains("said nothing"), "{}", wordless.message);
}

/// C25 over stdio; over HTTP see `http.rs`.
#[tokio::test(flavor = "multi_thread")]
async fn a_protocol_error_is_a_failure_with_its_text_and_code() {
    let wire = |code: i64| {
        format!(
            r#"{{"act":"wire","text":"{{\"jsonrpc\":\"2.0\",\"id\":<id>,\"error\":{{\"code\":{code},\"message\":\"db down\",\"data\":{{\"n\":1}}}}}}"}}"#
        )
    };
    let (down, invalid) = (wire(-32000), wire(-32602));
    let server = upstream(&script(&[("down", &down), ("invalid", &invalid)]));
    let listing = server.tools().await.unwrap();
    let failed = call(&listing, "s_down", "{}").await.unwrap_err();
    assert_eq!(failed.code, "upstream_protocol_error");
    assert!(failed.message.contains("db down") && failed.message.contains("-32000"), "{}", failed.message);
    assert_eq!(failed.details.unwrap().pointer("/jsonrpcError/data/n"), Some(&json("1")));
    assert_eq!(failed.happened, Happened::Failed);
    let failed = call(&listing, "s_invalid", "{}").await.unwrap_err();
    assert_eq!(failed.happened, Happened::Nothing);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_for_input_is_no_answer() {
    let failed = answered(r#"{"resultType":"input_required","inputRequests":{}}"#).await.unwrap_err();
    assert_eq!(failed.code, "upstream_input_required");
    assert_eq!(failed.happened, Happened::Failed);
}

/// C63 (the part of errors and status)
#[tokio::test(flavor = "multi_thread")]
async fn no_secret_reaches_an_error_or_the_status() {
    let secrets = ["canary-env-1", "canary-list-2"];
    let result = r#"{"act":"result","result":{"isError":true,"content":[{"type":"text","text":"bad key canary-env-1 / canary-list-2"}],"structuredContent":{"canary-env-1":["canary-list-2"]}}}"#;
    let rpc = r#"{"act":"wire","text":"{\"jsonrpc\":\"2.0\",\"id\":<id>,\"error\":{\"code\":1,\"message\":\"canary-env-1\",\"data\":{\"k\":\"canary-list-2\"}}}"}"#;
    let exit = r#"{"act":"exit","status":1,"words":"died with canary-env-1 canary-list-2"}"#;
    let script = script(&[("own", result), ("rpc", rpc), ("exit", exit)]);
    let script = script.replacen('{', r#"{"noise":["token canary-list-2"],"#, 1);
    let mut spec = spec(&script);
    if let toolwright_mcp::upstream::Transport::Stdio { env, .. } = &mut spec.transport {
        env.push(("KEY".to_owned(), secrets[0].to_owned()));
    }
    spec.secrets.push(secrets[1].to_owned());
    let server = Upstream::new(spec);
    let listing = server.tools().await.unwrap();
    for id in ["s_own", "s_rpc", "s_exit"] {
        let failed = call(&listing, id, "{}").await.unwrap_err();
        let status = server.status();
        for text in [format!("{failed:?}"), format!("{status:?}")] {
            for secret in secrets {
                assert!(!text.contains(secret), "{id}: {text}");
            }
        }
    }
}
