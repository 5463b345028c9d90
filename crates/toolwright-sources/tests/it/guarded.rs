//! A host that is killed itself. The host and its guard are this test binary again, with one of the ignored tests below.

use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};
use std::time::Duration;

use toolwright::json;
use toolwright_sources::command::guard;

use crate::stage::{all_gone, command, invoke, pids};

const SCRIPT_FILE: &str = "TOOLWRIGHT_TEST_PIDS";

fn this_test(name: &str) -> Vec<String> {
    ["--exact", name, "--ignored", "--nocapture", "--test-threads=1"].map(str::to_owned).to_vec()
}

#[tokio::test]
async fn what_runs_ends_when_the_host_is_killed() {
    let folder = crate::stage::folder();
    let file = folder.path().join("pids");
    let mut host = Command::new(std::env::current_exe().unwrap())
        .args(this_test("guarded::as_host"))
        .env(SCRIPT_FILE, &file)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let running = pids(&file, 2).await;
    // The script may have written its numbers before the host has told the guard about it.
    tokio::time::sleep(Duration::from_millis(300)).await;
    host.kill().unwrap();
    host.wait().unwrap();
    all_gone(&running).await;
}

#[tokio::test]
#[ignore = "is run by the test above, to be killed"]
async fn as_host() {
    let Ok(file) = std::env::var(SCRIPT_FILE) else { return };
    assert!(guard::install(std::env::current_exe().unwrap(), this_test("guarded::as_guard")));
    assert_eq!(invoke(command(&["true"]).into_tool().unwrap(), json!({})).await.unwrap().output, Some(json!("")));
    let text = "trap '' TERM HUP; (echo $$; sh -c 'echo $$; while :; do sleep 0.1; done' & while :; do sleep 0.1; done) >> \"$1\"";
    let mut long = command(&["sh", "-c", text, "sh"]);
    long.argv.push(toolwright_sources::command::ArgTemplate::literal(file));
    let _killed = invoke(long.into_tool().unwrap(), json!({})).await;
}

#[test]
#[ignore = "is run by the test above, as its guard"]
fn as_guard() {
    if std::env::var(SCRIPT_FILE).is_ok() {
        guard::serve(BufReader::new(std::io::stdin())).unwrap();
    }
}

#[test]
fn a_guard_that_is_told_nothing_does_nothing() {
    let empty: &[u8] = b"";
    assert_eq!(empty.lines().count(), 0);
    guard::serve(empty).unwrap();
}
