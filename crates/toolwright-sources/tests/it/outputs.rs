use toolwright::{Effect, EffectState, Value, json};
use toolwright_sources::command::{ArgTemplate, Stdout};

use crate::stage::{command, detail, fails, invoke, run};

fn echoing(form: Stdout) -> toolwright_sources::command::CommandTool {
    let mut cat = command(&["cat"]);
    cat.stdin = Some(ArgTemplate::parse("{text}").unwrap());
    cat.stdout = form;
    cat
}

#[tokio::test]
async fn stdout_is_text_lines_or_json() {
    let table = [
        (Stdout::Text, "a\n\n", json!("a\n")),
        (Stdout::Text, "", json!("")),
        (Stdout::Lines, "a\r\n\nb\n", json!(["a", "", "b"])),
        (Stdout::Lines, "", json!([])),
        (Stdout::Json, " {\"a\": 1.50} \n", Value::parse("{\"a\":1.50}").unwrap()),
    ];
    for (form, text, output) in table {
        assert_eq!(run(echoing(form), json!({ "text": text })).await.unwrap(), output);
    }
}

#[tokio::test]
async fn text_that_is_no_json_is_a_failure_with_its_place() {
    let table = [
        ("", "printed nothing"),
        ("NaN", "no JSON"),
        ("{\"a\": Infinity}", "no JSON"),
        ("warning: old\n{}", "no JSON"),
        ("{} {}", "no JSON"),
    ];
    for (text, message) in table {
        let mut cat = echoing(Stdout::Json);
        cat.effect = Some(Effect::write());
        let error = fails(cat, json!({ "text": text })).await;
        assert_eq!(error.code(), "invalid_output", "{text}");
        assert!(error.message().contains(message), "{}", error.message());
        assert_ne!(error.effect_state(), EffectState::NoEffect, "the program ran to its end");
        assert_eq!(detail(&error, "stdout"), json!(text));
    }
    let error = fails(echoing(Stdout::Json), json!({ "text": "{\n  \"ä\": oops\n}" })).await;
    assert_eq!((detail(&error, "line"), detail(&error, "column")), (json!(2), json!(8)));
    assert!(error.message().contains("near `{\\n  \"ä\": oops\\n}`"), "{}", error.message());
}

#[tokio::test]
async fn output_is_checked_against_its_schema() {
    let mut cat = echoing(Stdout::Json);
    cat.output_schema = Some(json!({ "type": "object" }));
    assert_eq!(fails(cat, json!({ "text": "[]" })).await.code(), "invalid_output");
}

#[tokio::test]
async fn broken_characters_are_replaced_and_told() {
    let tool = command(&["printf", "a\\377b\\n"]).into_tool().unwrap();
    let result = invoke(tool, json!({})).await.unwrap();
    assert_eq!(result.output, Some(json!("a\u{fffd}b")));
    assert!(result.to_value().to_json_string().contains("U+FFFD"), "{}", result.to_value());
}

#[tokio::test]
async fn exit_codes_are_successes_or_failures() {
    let mut exits = command(&["sh", "-c", "echo out; echo 'first' >&2; echo 'fatal: no such thing' >&2; exit $1", "sh", "{code}"]);
    exits.success_codes = vec![0, 1];
    assert_eq!(run(exits.clone(), json!({ "code": "0" })).await.unwrap(), json!("out"));
    assert_eq!(run(exits.clone(), json!({ "code": "1" })).await.unwrap(), json!("out"));
    let error = fails(exits, json!({ "code": "3" })).await;
    assert_eq!(error.code(), "exit_code");
    assert_eq!(error.message(), "`sh` ended with exit code 3: `fatal: no such thing`");
    assert!(error.help().unwrap().contains("add it to `exitCodes` (now 0, 1)"));
    assert_eq!(detail(&error, "exitCode"), json!(3));
    assert_eq!(detail(&error, "signal"), Value::Null);
    assert_eq!(detail(&error, "stderr"), json!("first\nfatal: no such thing\n"));
    assert_eq!(detail(&error, "stdout"), json!("out\n"));
}

#[tokio::test]
async fn what_was_said_on_stderr_is_kept_beside_a_success() {
    let tool = command(&["sh", "-c", "echo careful >&2"]).into_tool().unwrap();
    let result = invoke(tool, json!({})).await.unwrap();
    assert_eq!(result.details, Some(json!({ "exitCode": 0, "stderr": "careful\n" })));
}

#[tokio::test]
async fn a_missing_program_is_told_with_the_places_that_were_searched() {
    let mut command = command(&["no-such-program-here"]);
    command.effect = Some(Effect::write());
    command.env.set = vec![("PATH".to_owned(), "/nowhere/a:/nowhere/b:relative".to_owned())];
    let error = fails(command.clone(), json!({})).await;
    assert_eq!(error.code(), "command_not_found");
    assert!(error.message().contains("`no-such-program-here` is in no folder of `PATH`"));
    assert!(error.help().unwrap().contains("install `no-such-program-here`"));
    assert_eq!(detail(&error, "searched"), json!(["/nowhere/a", "/nowhere/b"]));
    assert_eq!(error.effect_state(), EffectState::NoEffect);
    command.argv[0] = ArgTemplate::literal("./missing.sh");
    assert!(fails(command, json!({})).await.message().contains("there is no file `./missing.sh`"));
}

#[cfg(unix)]
#[tokio::test]
async fn what_cannot_be_started_is_told_with_its_reason() {
    let folder = crate::stage::folder();
    let file = folder.path().join("notes.txt");
    std::fs::write(&file, "x").unwrap();
    let mut plain = command(&["ls"]);
    plain.argv[0] = ArgTemplate::literal("./notes.txt");
    plain.cwd = Some(folder.path().into());
    let error = fails(plain, json!({})).await;
    assert_eq!(error.code(), "command_not_found");
    assert!(error.message().contains("is not executable"), "{}", error.message());

    let mut lost = command(&["ls"]);
    lost.effect = Some(Effect::write());
    lost.cwd = Some(folder.path().join("gone"));
    let error = fails(lost, json!({})).await;
    assert_eq!(error.code(), "command_not_started");
    assert!(error.message().contains("is no folder"), "{}", error.message());
    assert_eq!(error.effect_state(), EffectState::NoEffect);

    let error = fails(command(&["printf", "%s", "{x}"]), json!({ "x": "a".repeat(4_000_000) })).await;
    assert_eq!(error.code(), "command_not_started");
    assert!(error.help().unwrap().contains("stdin"), "{:?}", error.help());
}

#[cfg(unix)]
#[tokio::test]
async fn a_relative_program_is_seen_from_the_working_directory() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = crate::stage::folder();
    let file = folder.path().join("tool");
    std::fs::copy("/bin/sh", &file).unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
    let mut tool = command(&["./tool", "-c", "pwd; echo $0"]);
    tool.cwd = Some(folder.path().into());
    tool.stdout = Stdout::Lines;
    let output = run(tool, json!({})).await.unwrap();
    assert_eq!(output.get_index(1), Some(&json!("./tool")));
    assert!(output.get_index(0).unwrap().as_str().unwrap().ends_with(folder.path().file_name().unwrap().to_str().unwrap()));
}

#[cfg(unix)]
#[tokio::test]
async fn the_environment_is_a_short_list_and_what_was_set() {
    let mut env = command(&["env"]);
    env.stdout = Stdout::Lines;
    env.env.set = vec![("GIVEN".to_owned(), "a=b".to_owned())];
    let names = |output: &Value| -> Vec<String> {
        output.as_array().unwrap().iter().map(|line| line.as_str().unwrap().split('=').next().unwrap().to_owned()).collect()
    };
    let known: Vec<&str> = toolwright_sources::command::Environment::inherited().collect();
    let output = run(env.clone(), json!({})).await.unwrap();
    for name in names(&output) {
        assert!(known.contains(&name.as_str()) || name.starts_with("LC_") || name == "GIVEN", "{name}");
    }
    assert!(names(&output).contains(&"PATH".to_owned()));
    env.env.clean = true;
    assert_eq!(run(env, json!({})).await.unwrap(), json!(["GIVEN=a=b"]));
}
