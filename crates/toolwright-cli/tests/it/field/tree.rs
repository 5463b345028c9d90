//! C28: however the gateway ends, nothing is left of a process tree that is deaf to everything but its death.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::json;

use super::case;
use crate::serve::client::{Client, ask_over_http};
use crate::world::World;

/// A server's own time to end itself, and after that to hear a signal.
const GRACE: Duration = Duration::from_secs(2);
/// What the case allows beyond it.
const MORE: Duration = Duration::from_secs(5);

/// The command is a wrapper, which starts a shell, which starts the server; all of them deaf, the server to the end of its input too.
fn world(name: &str) -> World {
    let world = World::new(name);
    let tool = &case("28-stubborn-process-tree")["tools"][0];
    world.write("tools", &format!("{}\n", json!({"name": tool["name"], "inputSchema": tool["inputSchema"]})));
    world.copy("lister.sh", "lister.sh");
    let deaf = "trap '' TERM INT HUP\n";
    world.write("wrapper.sh", &format!("{deaf}sh shell.sh\ntrue\n"));
    world.write("shell.sh", &format!("{deaf}sh deaf.sh\ntrue\n"));
    world.write("deaf.sh", &format!("{deaf}. ./lister.sh\nwhile :; do sleep 1; done\n"));
    let answer = &tool["output"];
    world.write(
        "toolwright.yaml",
        &format!("sources:\n  s: {{ command: sh, args: [wrapper.sh], env: {{ TOOLS: tools, RECORD: called, ANSWER: '{answer}' }} }}\n"),
    );
    world
}

/// The processes that run in this folder: all that the gateway has started, and itself.
fn in_folder(folder: &Path) -> Vec<u32> {
    let all = std::fs::read_dir("/proc").unwrap().filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    all.filter(|pid: &u32| std::fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|cwd| cwd == folder)).collect()
}

/// What there still is of these processes, with their states: a zombie is something.
fn left(pids: &[u32]) -> Vec<String> {
    pids.iter().filter_map(|pid| std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()).collect()
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum End {
    Signal(&'static str),
    /// The client closes its end.
    Closed,
}

/// Ends a gateway in front of the tree; gives back how.
#[track_caller]
fn ended(http: bool, end: End) {
    let how = match end {
        End::Signal(name) => name,
        End::Closed => "closed",
    };
    let world = world(&format!("c28_{http}_{how}"));
    let nothing = json!({});
    let (client, called) = match http {
        true => {
            let (client, url) = Client::http(&world, "--journal none");
            let (_, called) = ask_over_http(&url, None, "tools/call", &json!({"name": "s_z", "arguments": nothing}));
            (client, called)
        }
        false => {
            let mut client = Client::start(&world, "--journal none");
            let called = client.call("s_z", &nothing);
            (client, called)
        }
    };
    assert_eq!(called["result"]["structuredContent"], json!({"v": 1}), "{called}");
    let tree = in_folder(&world.dir);
    assert!(tree.len() >= 4, "the gateway, the wrapper, the shell and the server: {tree:?}");
    let began = Instant::now();
    let done = match end {
        End::Signal(name) => client.signalled(name),
        End::Closed => client.close(),
    };
    let killed = end == End::Signal("KILL");
    if !killed {
        assert!(began.elapsed() < GRACE + MORE, "{how}: {:?}", began.elapsed());
        assert_eq!(done.code, 0, "{how}: {}", done.err);
        // Its end comes after theirs.
        assert_eq!(in_folder(&world.dir), Vec::<u32>::new(), "{how}");
    }
    let since = if killed { began } else { Instant::now() };
    while since.elapsed() < MORE && !left(&tree).is_empty() {
        std::thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(left(&tree), Vec::<String>::new(), "{how}");
    assert_eq!(in_folder(&world.dir), Vec::<u32>::new(), "{how}");
}

#[test]
fn c28_a_gateway_that_is_ended_leaves_nothing_of_a_stubborn_tree() {
    let ends = ["TERM", "INT", "KILL"].map(End::Signal);
    std::thread::scope(|scope| {
        for end in ends.into_iter().chain([End::Closed]) {
            scope.spawn(move || ended(false, end));
        }
        // Its standard input says nothing of clients over HTTP.
        for end in ends {
            scope.spawn(move || ended(true, end));
        }
    });
}
