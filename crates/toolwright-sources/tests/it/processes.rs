//! What happens to processes: nothing of a call is left when the call is over, however it ends.

use std::time::{Duration, Instant};

use toolwright::{CancelSource, Effect, EffectState, Invocation, Registry, json};
use toolwright_sources::command::{ArgTemplate, CommandTool};

use crate::stage::{all_gone, command, detail, fails, folder, invoke, path_in, pids, reaped, run, script};

/// A tree whose members ignore the polite signal: the script, its child, and its grandchild. Each writes its number,
/// the script first.
const STUBBORN: &str = r#"
trap '' TERM
echo $$ >> "$1"
sh -c 'trap "" TERM; sh -c "trap \"\" TERM; echo \$\$ >> \"$1\"; while :; do sleep 0.1; done" sh "$1" & echo $$ >> "$1"; while :; do sleep 0.1; done' sh "$1" &
while :; do sleep 0.1; done
"#;

fn stubborn(folder: &tempfile::TempDir) -> (CommandTool, std::path::PathBuf) {
    let (file, template) = path_in(folder, "pids");
    let mut command = script(folder.path(), STUBBORN, &[]);
    command.argv.push(template);
    command.effect = Some(Effect::write());
    (command, file)
}

#[tokio::test]
async fn a_timeout_kills_a_stubborn_tree() {
    let folder = folder();
    let (mut command, file) = stubborn(&folder);
    command.timeout = Duration::from_millis(600);
    let started = Instant::now();
    let error = fails(command, json!({})).await;
    assert_eq!(error.code(), "timeout");
    assert_eq!(error.effect_state(), EffectState::Unknown);
    assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
    let pids = pids(&file, 3).await;
    all_gone(&pids).await;
    reaped(pids[0]).await;
}

#[tokio::test]
async fn a_polite_program_may_say_goodbye() {
    let text = "trap 'echo saved >&2; exit 0' TERM\necho ready\nwhile :; do sleep 0.05; done";
    let folder = folder();
    let mut command = script(folder.path(), text, &[]);
    command.timeout = Duration::from_millis(400);
    command.grace = Duration::from_secs(10);
    let started = Instant::now();
    let error = fails(command, json!({})).await;
    assert_eq!(error.code(), "timeout");
    assert_eq!(error.effect_state(), EffectState::NoEffect, "it only reads");
    assert!(detail(&error, "stderr").as_str().unwrap().ends_with("saved\n"), "{}", error.to_value());
    assert_eq!(detail(&error, "stdout"), json!("ready\n"));
    assert!(started.elapsed() < Duration::from_secs(5), "the grace is not waited for");
}

#[tokio::test]
async fn a_stopped_program_ends_too() {
    let mut command = command(&["sh", "-c", "kill -STOP $$"]);
    command.timeout = Duration::from_millis(200);
    command.grace = Duration::from_secs(10);
    let started = Instant::now();
    assert_eq!(fails(command, json!({})).await.code(), "timeout");
    assert!(started.elapsed() < Duration::from_secs(5));
}

#[tokio::test]
async fn a_cancelled_call_kills_the_tree_and_says_so() {
    let folder = folder();
    let (command, file) = stubborn(&folder);
    let catalog = Registry::new().with(command.into_tool().unwrap()).unwrap().seal();
    let source = CancelSource::new();
    let token = source.token();
    let call = tokio::spawn(async move { catalog.invoke(Invocation::new("probe", json!({})).cancel(token), ()).await });
    let pids = pids(&file, 3).await;
    let started = Instant::now();
    source.cancel();
    let error = call.await.unwrap().unwrap_err();
    assert_eq!(error.code(), "cancelled");
    assert_eq!(error.effect_state(), EffectState::Unknown);
    assert!(started.elapsed() < Duration::from_secs(3), "{:?}", started.elapsed());
    all_gone(&pids).await;
    reaped(pids[0]).await;
}

#[tokio::test]
async fn a_dropped_call_kills_the_tree() {
    let folder = folder();
    let (command, file) = stubborn(&folder);
    let tool = command.into_tool().unwrap();
    let call = tokio::spawn(async move { invoke(tool, json!({})).await });
    let pids = pids(&file, 3).await;
    call.abort();
    assert!(call.await.unwrap_err().is_cancelled());
    all_gone(&pids).await;
    reaped(pids[0]).await;
}

#[test]
fn a_runtime_that_goes_away_takes_the_tree_with_it() {
    let folder = folder();
    let (command, file) = stubborn(&folder);
    let tool = command.into_tool().unwrap();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let pids = runtime.block_on(async move {
        tokio::spawn(async move { invoke(tool, json!({})).await });
        pids(&file, 3).await
    });
    drop(runtime);
    tokio::runtime::Runtime::new().unwrap().block_on(async {
        all_gone(&pids).await;
        reaped(pids[0]).await;
    });
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn processes_that_left_the_group_are_found() {
    let folder = folder();
    let (file, template) = path_in(&folder, "pids");
    let text = r#"setsid sh -c 'trap "" TERM; echo $$ >> "$1"; while :; do sleep 0.1; done' sh "$1" &
echo $$ >> "$1"; while :; do sleep 0.1; done"#;
    let mut command = script(folder.path(), text, &[]);
    command.argv.push(template);
    command.timeout = Duration::from_millis(600);
    assert_eq!(fails(command, json!({})).await.code(), "timeout");
    all_gone(&pids(&file, 2).await).await;
}

#[tokio::test]
async fn a_helper_that_holds_the_output_open_does_not_hold_the_call() {
    let folder = folder();
    let (file, template) = path_in(&folder, "pids");
    let mut command = script(folder.path(), "sleep 60 & echo $! >> \"$1\"; echo done", &[]);
    command.argv.push(template);
    let started = Instant::now();
    let result = invoke(command.into_tool().unwrap(), json!({})).await.unwrap();
    assert_eq!(result.output, Some(json!("done")));
    assert!(result.to_value().to_json_string().contains("still held its output open"), "{}", result.to_value());
    assert!(started.elapsed() < Duration::from_secs(5));
    all_gone(&pids(&file, 1).await).await;
}

#[tokio::test]
async fn a_helper_that_lets_go_of_the_output_is_ended_as_well() {
    let folder = folder();
    let (file, template) = path_in(&folder, "pids");
    let mut command = script(folder.path(), "sleep 60 >/dev/null 2>&1 & echo $! >> \"$1\"; echo done", &[]);
    command.argv.push(template);
    assert_eq!(run(command, json!({})).await.unwrap(), json!("done"));
    all_gone(&pids(&file, 1).await).await;
}

#[tokio::test]
async fn ten_megabytes_of_stderr_without_a_line_break_do_no_harm() {
    let command = command(&["sh", "-c", "head -c 10000000 /dev/zero | tr '\\0' x >&2; echo answer"]);
    assert_eq!(run(command.clone(), json!({})).await.unwrap(), json!("answer"));
    let mut failing = command;
    failing.success_codes = vec![7];
    failing.stderr_bytes_kept = 1000;
    let error = fails(failing, json!({})).await;
    assert_eq!(detail(&error, "stderr"), json!("x".repeat(1000)));
    assert_eq!(detail(&error, "stderrBytesCut"), json!(9_999_000));
    assert!(error.message().len() < 400, "the message stays short");
}

#[tokio::test]
async fn endless_stdout_is_cut_off_and_the_program_killed() {
    let folder = folder();
    let (file, template) = path_in(&folder, "pids");
    let mut command = script(folder.path(), "echo $$ >> \"$1\"; trap '' PIPE TERM; yes; sleep 60", &[]);
    command.argv.push(template);
    command.stdout_bytes_max = 100_000;
    command.effect = None;
    let started = Instant::now();
    let error = fails(command, json!({})).await;
    assert_eq!(error.code(), "output_too_large");
    assert_eq!(error.effect_state(), EffectState::Unknown, "an undeclared effect is the worst");
    assert!(error.message().contains("more than 100000 bytes"));
    assert!(detail(&error, "stdout").as_str().unwrap().len() <= 4096);
    assert!(started.elapsed() < Duration::from_secs(5));
    all_gone(&pids(&file, 1).await).await;
}

#[tokio::test]
async fn the_limit_itself_is_still_allowed() {
    let mut command = command(&["printf", "12345"]);
    command.stdout_bytes_max = 5;
    assert_eq!(run(command.clone(), json!({})).await.unwrap(), json!("12345"));
    command.stdout_bytes_max = 4;
    assert_eq!(fails(command, json!({})).await.code(), "output_too_large");
}

#[tokio::test]
async fn a_program_that_waits_for_input_finds_none() {
    assert_eq!(run(command(&["cat"]), json!({})).await.unwrap(), json!(""));
}

fn fed(argv: &[&str]) -> CommandTool {
    let mut command = command(argv);
    command.stdin = Some(ArgTemplate::parse("{text}").unwrap());
    command
}

#[tokio::test]
async fn large_input_meets_every_kind_of_reader() {
    let text = "0123456789abcdef".repeat(200_000);
    let echoed = run(fed(&["cat"]), json!({ "text": text.as_str() })).await.unwrap();
    assert_eq!(echoed.as_str(), Some(text.as_str()), "a reader that answers while it reads");
    let slow = fed(&["sh", "-c", "sleep 0.3; wc -c | tr -d ' '"]);
    assert_eq!(run(slow, json!({ "text": text.as_str() })).await.unwrap(), json!("3200000"));
    assert_eq!(run(fed(&["echo", "early"]), json!({ "text": text.as_str() })).await.unwrap(), json!("early"));
    let deaf = fed(&["sh", "-c", "exec <&-; sleep 0.2; echo deaf"]);
    assert_eq!(run(deaf, json!({ "text": text.as_str() })).await.unwrap(), json!("deaf"));
    let mut never = fed(&["sleep", "60"]);
    never.timeout = Duration::from_millis(300);
    assert_eq!(fails(never, json!({ "text": text.as_str() })).await.code(), "timeout");
}

#[tokio::test]
async fn a_program_killed_by_a_signal_leaves_its_outcome_open() {
    let mut command = command(&["sh", "-c", "echo almost >&2; kill -SEGV $$"]);
    command.effect = Some(Effect::write());
    let error = fails(command, json!({})).await;
    assert_eq!(error.code(), "exit_code");
    assert_eq!((detail(&error, "exitCode"), detail(&error, "signal")), (json!(null), json!("SIGSEGV")));
    assert_eq!(error.effect_state(), EffectState::Unknown);
    assert_eq!(error.message(), "`sh` was killed by SIGSEGV: `almost`");
}

#[tokio::test]
async fn many_calls_at_once_each_get_their_own_answer() {
    let tool = command(&["sh", "-c", "sleep 0.05; echo \"$1\"", "sh", "{n}"]).into_tool().unwrap();
    let calls = (0..40).map(|n| {
        let tool = tool.clone();
        tokio::spawn(async move { invoke(tool, json!({ "n": n.to_string() })).await.unwrap().output })
    });
    for (n, call) in calls.collect::<Vec<_>>().into_iter().enumerate() {
        assert_eq!(call.await.unwrap(), Some(json!(n.to_string())));
    }
}

#[tokio::test]
async fn a_child_sees_no_other_group_and_its_own_name() {
    let command = command(&["sh", "-c", "ps -o pgid= -p $$ | tr -d ' '; echo $$; echo $0", "name"]);
    let output = run(command, json!({})).await.unwrap();
    let lines: Vec<&str> = output.as_str().unwrap().lines().collect();
    if lines.len() == 3 {
        assert_eq!(lines[0], lines[1], "it leads its group");
        assert_eq!(lines[2], "name");
    }
}
