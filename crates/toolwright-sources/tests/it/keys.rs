//! Idempotency keys: where the declaration says, the same on every attempt, and never from a caller.

use std::sync::Arc;

use toolwright::{Effect, Invocation, Journal, MemoryJournal, Registry, ToolDef, Value, json};
use toolwright_sources::command::{CommandIssueKind, CommandTool, KeyTo, Place};

use crate::stage::{command, print_args, printed, script};

fn argument(mut command: CommandTool, name: &str) -> CommandTool {
    command.idempotency_key = Some(KeyTo::Argument(name.to_owned()));
    command
}

async fn run(tool: ToolDef, input: Value, id: &'static str) -> Result<Value, String> {
    let catalog = Registry::new().with(tool).unwrap().seal();
    let result = catalog.invoke(Invocation::new("probe", input).run_id(id), ()).await;
    result.map(|result| result.output.unwrap()).map_err(|error| error.to_string())
}

#[tokio::test]
async fn an_argument_of_the_templates_is_the_key() {
    let declared = argument(print_args(&["--key={key}", "--", "{text}"]), "key");
    let tool = declared.into_tool().unwrap();
    let schema = json!({"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"], "additionalProperties": false});
    assert_eq!(tool.input_schema(), Some(&schema), "no caller is asked for it");
    let output = run(tool.clone(), json!({"text": "hi"}), "r1").await.unwrap();
    assert_eq!(printed(&output), ["--key=r1/probe", "--", "hi"]);
    // Nobody gives it from outside.
    let refused = run(tool, json!({"text": "hi", "key": "forged"}), "r1").await.unwrap_err();
    assert!(refused.contains("key"), "{refused}");
}

#[tokio::test]
async fn it_is_guarded_as_every_value_is() {
    let output = run(argument(print_args(&["{key}"]), "key").into_tool().unwrap(), json!({}), "-rf").await;
    assert!(output.unwrap_err().contains("-rf"), "a key that would be an option is refused");
    let output = run(argument(print_args(&["--", "{key}"]), "key").into_tool().unwrap(), json!({}), "-rf").await.unwrap();
    assert_eq!(printed(&output), ["--", "-rf/probe"]);
}

#[tokio::test]
async fn it_can_go_to_stdin_beside_a_schema_of_ones_own() {
    let mut declared = argument(command(&["cat"]), "key");
    declared.stdin = Some(toolwright_sources::command::ArgTemplate::parse("{key} {text}").unwrap());
    declared.input_schema = Some(json!({"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}));
    let output = run(declared.into_tool().unwrap(), json!({"text": "hi"}), "r1").await.unwrap();
    assert_eq!(output, json!("r1/probe hi"));
}

#[tokio::test]
async fn a_variable_has_the_same_key_on_every_attempt() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    let text = r#"printf '%s\n' "$REQUEST_KEY" >> "$1"; [ "$(wc -l < "$1")" -ge 2 ]"#;
    let mut declared = script(folder.path(), text, &[log.to_str().unwrap()]);
    declared.idempotency_key = Some(KeyTo::Variable("REQUEST_KEY".to_owned()));
    declared.effect = Some(Effect::write_idempotent());
    let catalog = Registry::new().with(declared.into_tool().unwrap()).unwrap().seal();
    let journal: Arc<dyn Journal> = Arc::new(MemoryJournal::new());
    let call = || Invocation::new("probe", json!({})).run_id("r1").journal(journal.clone());
    catalog.invoke(call(), ()).await.unwrap_err();
    catalog.invoke(call(), ()).await.unwrap();
    assert_eq!(std::fs::read_to_string(&log).unwrap(), "r1/probe\nr1/probe\n");
}

#[test]
fn a_place_that_is_none_is_told() {
    let variable = |name: &str| {
        let mut declared = command(&["true"]);
        declared.env.set = vec![("TAKEN".to_owned(), "x".to_owned())];
        declared.idempotency_key = Some(KeyTo::Variable(name.to_owned()));
        declared
    };
    let mut listed = argument(command(&["true", "--key={key}"]), "key");
    listed.input_schema = Some(json!({"type": "object", "properties": {"key": {"type": "string"}}}));
    for (declared, message, help) in [
        (argument(command(&["true", "{other}"]), "key"), "no element of argv and no stdin uses `key`", "--idempotency-key={key}"),
        (listed, "`key` is a property of the input schema", "take it out of the schema"),
        (variable(""), "`` is no name of a variable", "not empty"),
        (variable("A=B"), "`A=B` is no name of a variable", "neither `=`"),
        (variable("TAKEN"), "the variable `TAKEN` is set to something else", "a variable of its own"),
    ] {
        let error = declared.into_tool().unwrap_err();
        let [issue] = &error.issues[..] else { panic!("{error:#?}") };
        assert_eq!((issue.kind, &issue.place), (CommandIssueKind::KeyPlace, &Place::IdempotencyKey));
        assert!(issue.message.contains(message) && issue.help.contains(help), "{issue:?}");
    }
    let error = argument(command(&["true", "{key*}"]), "key").into_tool().unwrap_err();
    assert_eq!(error.issues[0].kind, CommandIssueKind::Shape, "{error:#?}");
}
