//! Processes: what they inherit, how they end, and what is done when they end by themselves.

use std::time::{Duration, Instant};

use crate::calls::{Happened, call, eventually, lives, start};
use crate::server::{program, script, script_with, spec, text, upstream};
use toolwright_mcp::upstream::{ServerSpec, State, Transport, Upstream};

#[tokio::test(flavor = "multi_thread")]
async fn a_child_inherits_little_and_gets_what_is_configured() {
    let mut spec = spec(&script(&[("env", r#"{"act":"environment"}"#)]));
    if let Transport::Stdio { env, .. } = &mut spec.transport {
        env.push(("MY_KEY".to_owned(), "my-value".to_owned()));
    }
    let mut clean = spec.clone();
    clean.clean_env = true;
    let listing = Upstream::new(spec).tools().await.unwrap();
    let names = text(&listing, "s_env").await;
    let names: Vec<&str> = names.lines().collect();
    assert!(names.contains(&"PATH") && names.contains(&"MY_KEY"), "{names:?}");
    // Cargo sets dozens of these for every test.
    assert!(!names.iter().any(|name| name.starts_with("CARGO")), "{names:?}");
    let listing = Upstream::new(clean).tools().await.unwrap();
    assert_eq!(text(&listing, "s_env").await, "MY_KEY");
}

/// B075
#[tokio::test(flavor = "multi_thread")]
async fn a_missing_program_is_named_with_the_path_that_was_searched() {
    let mut spec = ServerSpec::stdio("files", "no-such-program-here", [""; 0]);
    if let Transport::Stdio { env, .. } = &mut spec.transport {
        env.push(("HOMELY".to_owned(), "x".to_owned()));
    }
    let error = Upstream::new(spec).tools().await.unwrap_err();
    assert_eq!(error.code, "upstream_start_failed");
    assert!(error.message.contains("`no-such-program-here`") && error.message.contains("`files`"), "{}", error.message);
    assert!(error.help.unwrap().contains("/bin"));
    let mut guarded = ServerSpec::stdio("files", "no-such-program-here", [""; 0]);
    guarded.guard = Some(vec![program(), "--guard".to_owned()]);
    let error = Upstream::new(guarded).tools().await.unwrap_err();
    assert!(error.message.contains("`no-such-program-here`"), "{}", error.message);
    let mut spec = crate::server::spec("{}");
    if let Transport::Stdio { cwd, .. } = &mut spec.transport {
        *cwd = Some("/no/such/place".into());
    }
    let error = Upstream::new(spec).tools().await.unwrap_err();
    assert!(error.message.contains("/no/such/place"), "{}", error.message);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_crash_ends_the_running_calls_as_unknown_and_the_next_call_starts_anew() {
    let acts =
        [("exit", r#"{"act":"exit","status":3,"words":"out of cheese"}"#), ("silent", r#"{"act":"silent"}"#), ("pid", r#"{"act":"pid"}"#)];
    let server = upstream(&script(&acts));
    assert_eq!(server.status().state, State::Idle);
    let listing = server.tools().await.unwrap();
    let first = text(&listing, "s_pid").await;
    let other = start(&listing, "s_silent", "{}");
    tokio::time::sleep(Duration::from_millis(100)).await;
    for failed in [call(&listing, "s_exit", "{}").await.unwrap_err(), other.handle.await.unwrap().unwrap_err()] {
        assert_eq!((failed.code.as_str(), failed.happened), ("upstream_exited", Happened::Unknown));
        let message = &failed.message;
        assert!(message.contains("`s`") && message.contains("status 3") && message.contains("out of cheese"), "{message}");
    }
    assert!(eventually(Duration::from_secs(2), || server.status().state == State::Exited).await);
    let second = text(&listing, "s_pid").await;
    assert_ne!(first, second);
    assert_eq!(server.status().restarts, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_keeps_failing_is_left_alone_for_a_while() {
    let log = std::env::temp_dir().join(format!("toolwright-circuit-{}", std::process::id()));
    let log = log.display().to_string();
    let mut spec = spec(&format!(r#"{{"log":"{log}","dies":{{"status":1,"words":"broken"}}}}"#));
    spec.limits.failures_max = 3;
    spec.era = toolwright_mcp::upstream::Era::Sessions;
    let server = Upstream::new(spec);
    let started = Instant::now();
    for _ in 0..3 {
        assert_eq!(server.tools().await.unwrap_err().code, "upstream_start_failed");
    }
    // 100 and 200 ms of backoff lie between the three starts.
    assert!(started.elapsed() >= Duration::from_millis(300));
    let error = server.tools().await.unwrap_err();
    assert_eq!(error.code, "upstream_unavailable");
    assert!(error.message.contains("3 times") && error.message.contains("broken"), "{}", error.message);
    assert_eq!(server.status().state, State::Broken);
    let starts = std::fs::read_to_string(&log).unwrap().lines().count();
    std::fs::remove_file(&log).unwrap();
    assert_eq!(starts, 3);
}

#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread")]
async fn shutdown_ends_a_start_under_way() {
    let mark = format!("slow-{}", std::process::id());
    let server = upstream(&format!(r#"{{"startDelayMs":30000,"noise":["{mark}"]}}"#));
    let starting = tokio::spawn({
        let server = server.clone();
        async move { server.tools().await }
    });
    assert!(eventually(Duration::from_secs(5), || with_command(&mark).len() == 1).await);
    let started = Instant::now();
    server.shutdown().await;
    assert!(started.elapsed() < Duration::from_secs(2));
    assert_eq!(with_command(&mark), Vec::<u32>::new());
    assert_eq!(starting.await.unwrap().unwrap_err().code, "upstream_unavailable");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_start_that_takes_too_long_names_the_limit() {
    let mut spec = spec(r#"{"startDelayMs":30000}"#);
    spec.start_timeout = Duration::from_millis(400);
    let server = Upstream::new(spec);
    let started = Instant::now();
    let error = server.tools().await.unwrap_err();
    assert!(error.message.contains("400ms"), "{}", error.message);
    assert!(started.elapsed() < Duration::from_secs(5));
}

/// The processes whose command line holds a text.
fn with_command(text: &str) -> Vec<u32> {
    let me = std::process::id();
    let all = std::fs::read_dir("/proc").unwrap().filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    all.filter(|pid| *pid != me)
        .filter(|pid| {
            let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            String::from_utf8_lossy(&line).contains(text)
        })
        .collect()
}

/// A stubborn tree: a shell, a shell, the server; all deaf to SIGTERM, the server deaf to the end of its stdin.
fn stubborn(mark: &str) -> ServerSpec {
    let script = script_with(
        &format!(r#""stubborn":true,"log":"/dev/null","beforeFirst":"","onlyVersion":null,"noise":["{mark}"]"#),
        &[("z", r#"{"act":"pid"}"#)],
    );
    let line = r#""$0" "$1"; true"#;
    let mut spec = ServerSpec::stdio("s", "sh", ["-c", r#"trap '' TERM; sh -c "$0" "$1" "$2"; true"#, line, &program(), &script]);
    spec.shutdown_grace = Duration::from_millis(300);
    spec
}

/// C28: shutdown
#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread")]
async fn shutdown_leaves_nothing_of_a_stubborn_tree() {
    let mark = format!("stubborn-{}-a", std::process::id());
    for _ in 0..3 {
        let server = Upstream::new(stubborn(&mark));
        let listing = server.tools().await.unwrap();
        let pid: u32 = text(&listing, "s_z").await.parse().unwrap();
        assert!(lives(pid) && lives(server.status().pid.unwrap()));
        assert_eq!(with_command(&mark).len(), 3);
        let leader = server.status().pid.unwrap();
        let started = Instant::now();
        server.shutdown().await;
        assert!(started.elapsed() < Duration::from_secs(4));
        // Reaped: not even a zombie is left of our own child.
        assert!(!lives(leader));
        assert!(eventually(Duration::from_secs(1), || with_command(&mark).is_empty()).await);
        assert_eq!(server.status().state, State::Stopped);
        let failed = call(&listing, "s_z", "{}").await.unwrap_err();
        assert_eq!((failed.code.as_str(), failed.happened), ("upstream_unavailable", Happened::Nothing));
    }
}

/// What left the group, as a browser does that a server has started, belongs to the tree all the same.
#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread")]
async fn shutdown_finds_what_left_the_group() {
    let mark = format!("detached-{}", std::process::id());
    let line = format!(r#"setsid sleep 1000.{} & exec "$0" "$1""#, std::process::id());
    let script = script(&[("z", r#"{"act":"pid"}"#)]).replacen('{', &format!(r#"{{"noise":["{mark}"],"#), 1);
    let mut spec = ServerSpec::stdio("s", "sh", ["-c", &line, &program(), &script]);
    spec.shutdown_grace = Duration::from_millis(300);
    let server = Upstream::new(spec);
    server.tools().await.unwrap();
    let sleeper = format!("1000.{}", std::process::id());
    assert!(eventually(Duration::from_secs(2), || with_command(&sleeper).len() == 1).await, "{:?}", with_command(&sleeper));
    server.shutdown().await;
    assert_eq!(with_command(&sleeper), Vec::<u32>::new());
    assert_eq!(with_command(&mark), Vec::<u32>::new());
}

/// C28: restarts
#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread")]
async fn twenty_crashes_leave_one_process() {
    let mark = format!("crashing-{}", std::process::id());
    let acts = [("exit", r#"{"act":"exit","status":1,"words":""}"#), ("pid", r#"{"act":"pid"}"#)];
    let server = upstream(&script_with(&format!(r#""noise":["{mark}"]"#), &acts));
    let listing = server.tools().await.unwrap();
    for _ in 0..20 {
        call(&listing, "s_exit", "{}").await.unwrap_err();
        text(&listing, "s_pid").await;
    }
    assert_eq!(server.status().restarts, 20);
    assert_eq!(with_command(&mark).len(), 1);
    server.shutdown().await;
    assert_eq!(with_command(&mark).len(), 0);
}

/// C28: the last handle goes
#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread")]
async fn dropping_the_last_handle_leaves_nothing_either() {
    let mark = format!("stubborn-{}-b", std::process::id());
    let server = Upstream::new(stubborn(&mark));
    let listing = server.tools().await.unwrap();
    drop(server);
    text(&listing, "s_z").await;
    assert_eq!(with_command(&mark).len(), 3);
    drop(listing);
    assert!(eventually(Duration::from_secs(4), || with_command(&mark).is_empty()).await);
}

/// C28: the runtime goes with everything in it
#[cfg(target_os = "linux")]
#[test]
fn the_end_of_the_runtime_kills_what_is_left() {
    let mark = format!("stubborn-{}-c", std::process::id());
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let server = Upstream::new(stubborn(&mark));
    runtime.block_on(async { server.tools().await.map(drop).unwrap() });
    assert_eq!(with_command(&mark).len(), 3);
    drop(runtime);
    std::thread::sleep(Duration::from_millis(500));
    assert_eq!(with_command(&mark), Vec::<u32>::new());
    drop(server);
}

/// C28: our own process is killed hard, the guard cleans up
#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread")]
async fn a_guard_ends_a_stubborn_tree_when_its_host_is_killed() {
    use std::io::{BufRead, BufReader};
    let mark = format!("stubborn-{}-d", std::process::id());
    let script = script_with(&format!(r#""stubborn":true,"noise":["{mark}"]"#), &[("z", r#"{"act":"pid"}"#)]);
    let mut host = std::process::Command::new(program()).args(["--host", &script]).stdout(std::process::Stdio::piped()).spawn().unwrap();
    let mut ready = String::new();
    BufReader::new(host.stdout.take().unwrap()).read_line(&mut ready).unwrap();
    assert_eq!(ready.trim(), "ready");
    // The host, the guard, two shells, the server.
    assert_eq!(with_command(&mark).len(), 5);
    host.kill().unwrap();
    host.wait().unwrap();
    assert!(eventually(Duration::from_secs(5), || with_command(&mark).is_empty()).await, "{:?}", with_command(&mark));
}

/// A polite server behind a guard ends politely.
#[tokio::test(flavor = "multi_thread")]
async fn a_guarded_server_works_and_ends_like_any_other() {
    let mut spec = spec(&script(&[("z", r#"{"act":"pid"}"#)]));
    spec.guard = Some(vec![program(), "--guard".to_owned()]);
    spec.shutdown_grace = Duration::from_secs(3);
    let server = Upstream::new(spec);
    let listing = server.tools().await.unwrap();
    let pid: u32 = text(&listing, "s_z").await.parse().unwrap();
    let started = Instant::now();
    server.shutdown().await;
    assert!(started.elapsed() < Duration::from_secs(2), "{:?}", started.elapsed());
    assert!(!lives(pid));
}

/// C28: a server that ends by itself may have put something into a session of its own, where no group and no parent leads to it.
#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread")]
async fn a_guard_ends_what_a_server_left_running_that_ended_by_itself() {
    let sleeper = format!("2000.{}", std::process::id());
    let line = format!(r#"setsid sleep {sleeper} & exec "$0" "$1""#);
    let acts = [("exit", r#"{"act":"exit","status":3,"words":""}"#)];
    let mut spec = ServerSpec::stdio("s", "sh", ["-c", &line, &program(), &script(&acts)]);
    spec.guard = Some(vec![program(), "--guard".to_owned()]);
    let server = Upstream::new(spec);
    let listing = server.tools().await.unwrap();
    // The guard and the shell that became the server have the line among their words.
    let sleeps = || with_command(&sleeper).into_iter().filter(|pid| words(*pid).starts_with("sleep")).count();
    assert!(eventually(Duration::from_secs(2), || sleeps() == 1).await);
    let failed = call(&listing, "s_exit", "{}").await.unwrap_err();
    assert_eq!(failed.code, "upstream_exited");
    assert!(failed.message.contains("status 3"), "{}", failed.message);
    assert!(eventually(Duration::from_secs(4), || sleeps() == 0).await, "{:?}", with_command(&sleeper));
}

/// What loses its parent while the server runs, as with programs that detach themselves, does not stay as a zombie.
#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread")]
async fn a_guard_takes_leave_of_what_ended_below_it() {
    let mark = format!("buried-{}", std::process::id());
    // Three that are started by a shell that ends at once, and end a little later.
    let line = format!(r#": {mark}; (for n in 1 2 3; do sleep 0.$n & done); exec "$0" "$1""#);
    let mut spec = ServerSpec::stdio("s", "sh", ["-c", &line, &program(), &script(&[("z", r#"{"act":"pid"}"#)])]);
    spec.guard = Some(vec![program(), "--guard".to_owned()]);
    let server = Upstream::new(spec);
    server.tools().await.unwrap();
    let guard = server.status().pid.unwrap();
    let children = || std::fs::read_to_string(format!("/proc/{guard}/task/{guard}/children")).unwrap().split_whitespace().count();
    assert!(eventually(Duration::from_secs(5), || children() == 1).await, "the server alone: {}", children());
    server.shutdown().await;
    assert!(!lives(guard));
}

#[cfg(target_os = "linux")]
fn words(pid: u32) -> String {
    String::from_utf8_lossy(&std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default()).into_owned()
}
