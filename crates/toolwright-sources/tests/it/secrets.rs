//! A canary: no part of a secret is in anything a failure says.

use std::time::Duration;

use toolwright::json;
use toolwright_sources::command::{ArgTemplate, CommandTool, Stdout};

use crate::stage::{command, fails, invoke};

const SECRET: &str = "canary-7f3a9c/ünï+codé-token";

fn keeping(mut command: CommandTool) -> CommandTool {
    command.env.set = vec![("TOKEN".to_owned(), SECRET.to_owned())];
    command.secrets = vec![SECRET.to_owned(), "canary-7f3a9c".to_owned(), String::new()];
    command
}

#[track_caller]
fn says_nothing(text: &str) {
    for part in ["canary-7f3a9c", "canary", "7f3a", "codé", "-token"] {
        assert!(!text.contains(part), "{part}: {text}");
    }
}

#[tokio::test]
async fn failures_show_no_part_of_a_secret() {
    let long = "for i in 1 2 3 4 5 6 7 8 9; do printf '%s ' \"$TOKEN\" >&2; done; exit 1";
    let table: Vec<CommandTool> = vec![
        command(&["sh", "-c", "echo \"no access with $TOKEN\" >&2; exit 1"]),
        command(&["sh", "-c", "echo \"$TOKEN\"; echo \"$TOKEN$TOKEN\" >&2; exit 1"]),
        command(&["sh", "-c", "kill -KILL $$"]),
        command(&["sh", "-c", long]),
        command(&["sh", "-c", "echo \"$TOKEN\" >&2; printf %s \"$TOKEN\" | head -c 12 >&2; sleep 60"]),
    ];
    for mut failing in table {
        failing.timeout = Duration::from_millis(500);
        let error = fails(keeping(failing), json!({})).await;
        says_nothing(&format!("{error} {error:?} {} {:?} {}", error.to_value(), error.help(), error.for_model()));
    }
}

#[tokio::test]
async fn a_cut_through_a_secret_shows_neither_half() {
    let text = "printf '%s%s%s' \"$1\" \"$TOKEN\" \"$2\" >&2; printf '%s%s%s' \"$2\" \"$TOKEN\" \"$1\"; exit 1";
    for before in [4060_usize, 4070, 4080, 4090, 4096] {
        for after in [960_usize, 970, 980, 990, 1000] {
            let mut failing = keeping(command(&["sh", "-c", text, "sh", "{a}", "{b}"]));
            failing.stderr_bytes_kept = 1000;
            let error = fails(failing, json!({ "a": "x".repeat(after), "b": "x".repeat(before) })).await;
            says_nothing(&error.to_value().to_json_string());
            let mut failing = keeping(command(&["sh", "-c", text, "sh", "{a}", "{b}"]));
            failing.stderr_bytes_kept = 1000;
            let error = fails(failing, json!({ "a": "x".repeat(before), "b": "x".repeat(after) })).await;
            says_nothing(&error.to_value().to_json_string());
        }
    }
}

#[tokio::test]
async fn output_that_is_no_json_shows_no_secret() {
    let mut failing = keeping(command(&["sh", "-c", "printf '{{\"token\": \"%s\", ? }}' \"$TOKEN\""]));
    failing.stdout = Stdout::Json;
    let error = fails(failing, json!({})).await;
    assert_eq!(error.code(), "invalid_output");
    says_nothing(&error.to_value().to_json_string());
    assert!(error.message().contains("[secret]"), "{}", error.message());
}

#[tokio::test]
async fn arguments_and_paths_show_no_secret() {
    let refused = keeping(command(&["ls", "{x}"]));
    let value = format!("-{}{SECRET}", "y".repeat(48));
    let error = fails(refused, json!({ "x": value })).await;
    says_nothing(&error.to_value().to_json_string());

    let mut lost = keeping(command(&["ls"]));
    lost.argv[0] = ArgTemplate::literal(format!("./{SECRET}/tool"));
    says_nothing(&fails(lost, json!({})).await.to_value().to_json_string());

    let mut nowhere = keeping(command(&["no-such-program-here"]));
    nowhere.env.set.push(("PATH".to_owned(), format!("/{SECRET}/bin")));
    says_nothing(&fails(nowhere, json!({})).await.to_value().to_json_string());

    let mut gone = keeping(command(&["ls"]));
    gone.cwd = Some(format!("/{SECRET}").into());
    says_nothing(&fails(gone, json!({})).await.to_value().to_json_string());
}

#[tokio::test]
async fn a_declaration_shows_no_secret_in_its_debug_form() {
    let mut declared = keeping(command(&["curl", "-H"]));
    declared.argv.push(ArgTemplate::literal(format!("Authorization: Bearer {SECRET}")));
    says_nothing(&format!("{declared:?}"));
}

#[tokio::test]
async fn stderr_beside_a_success_shows_no_secret() {
    let tool = keeping(command(&["sh", "-c", "echo \"using $TOKEN\" >&2; echo fine"])).into_tool().unwrap();
    let result = invoke(tool, json!({})).await.unwrap();
    says_nothing(&format!("{result:?}"));
    assert_eq!(result.details.unwrap().get("stderr"), Some(&json!("using [secret]\n")));
}
