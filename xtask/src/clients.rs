//! `cargo xtask clients`: what people use to talk to MCP servers talks to `toolwright serve`, over both transports and in both
//! generations: it lists, calls a composite with progress, is asked for an approval and answers, cancels.
//!
//! The clients are scripts in `xtask/peers/clients/`; each prints a line a check. Behind the server stands `desk.mjs` there.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::peers::{self, Installed};
use crate::repo::{self, Outcome};
use crate::served::{Build, Served, World};
use crate::stage::{Count, Ended};

const FOLDER: &str = "xtask/peers/clients";
const PYTHON: &str = "xtask/peers/python/clients.txt";

/// A client: its script, its language, and the generations it speaks.
struct Client {
    script: &'static str,
    python: bool,
    eras: &'static [&'static str],
}

const CLIENTS: [Client; 5] = [
    Client { script: "typescript-1.mjs", python: false, eras: &["legacy"] },
    Client { script: "typescript-2.mjs", python: false, eras: &["legacy", "auto"] },
    Client { script: "inspector.mjs", python: false, eras: &["legacy", "auto"] },
    Client { script: "python-mcp.py", python: true, eras: &["legacy", "auto"] },
    Client { script: "python-fastmcp.py", python: true, eras: &["legacy", "auto"] },
];

/// What is installed for them.
struct Installation {
    clients: std::path::PathBuf,
    node: std::path::PathBuf,
    python: std::path::PathBuf,
}

/// `cargo xtask clients [SCRIPT]`.
pub(crate) fn run(only: Option<&str>) -> Outcome {
    let mut count = Count::default();
    let ended = run_counted(only, &mut count)?;
    println!("{} passed, {} failed", count.passed, count.failed);
    match ended {
        Ended::Well => Ok(true),
        Ended::Badly(_) => Ok(false),
        Ended::LeftOut(why) => Err(why),
    }
}

/// The stage of `cargo xtask test`.
pub(crate) fn stage(count: &mut Count) -> Result<Ended, String> {
    run_counted(None, count)
}

fn run_counted(only: Option<&str>, count: &mut Count) -> Result<Ended, String> {
    let (clients, python) = match (peers::install_clients()?, peers::venv(PYTHON)?) {
        (Installed::At(clients), Installed::At(python)) => (clients, python.join("bin/python")),
        (Installed::Missing(why), _) | (_, Installed::Missing(why)) => return Ok(Ended::LeftOut(why)),
    };
    let installation = Installation { node: peers::node(&clients)?, clients, python };
    let build = Build::new(false)?;
    let before = *count;
    for client in CLIENTS.iter().filter(|client| only.is_none_or(|only| client.script.starts_with(only))) {
        for era in client.eras {
            for http in [false, true] {
                meet(&build, &installation, client, era, http, count)?;
            }
        }
    }
    if count.passed == before.passed {
        return Ok(Ended::Badly("no check ran".to_owned()));
    }
    Ok(if count.failed == before.failed { Ended::Well } else { Ended::Badly("see the checks above".to_owned()) })
}

/// One client in a world of its own.
fn meet(build: &Build, installed: &Installation, client: &Client, era: &str, http: bool, count: &mut Count) -> Result<(), String> {
    let configuration = repo::read(&format!("{FOLDER}/toolwright.json"))?;
    let configuration: Value = serde_json::from_str(&configuration).map_err(|error| format!("`toolwright.json` is no JSON: {error}"))?;
    let desk = repo::root().join(FOLDER).join("desk.mjs");
    let log = repo::target()?.join("served").join(format!("desk-{}.log", std::process::id()));
    let more: [(&str, &Path); 4] =
        [("CLIENTS_NODE", &installed.node), ("CLIENTS_DESK", &desk), ("CLIENTS_FOLDER", &installed.clients), ("CLIENTS_LOG", &log)];
    let world = World::new("clients", build, &configuration, &more)?;
    // What it did until now was for the lock.
    std::fs::write(&log, "").map_err(|error| format!("cannot write `{}`: {error}", log.display()))?;
    let transport = if http { "http" } else { "stdio" };
    println!("{} {era} over {transport}", client.script);
    let served = if http { Some(world.http(&[])?) } else { None };
    let mut command = Command::new(if client.python { &installed.python } else { &installed.node });
    command.arg(repo::root().join(FOLDER).join(client.script)).current_dir(&world.folder);
    match &served {
        Some(served) => command.args(["http", &served.url()]),
        None => command.arg("stdio").arg(build.toolwright()).arg("serve"),
    };
    command.env_clear().envs(world.environment()).env("CLIENTS_ERA", era).env("PYTHONDONTWRITEBYTECODE", "1");
    let output = command.output().map_err(|error| format!("cannot start `{}`: {error}", client.script))?;
    let checks = String::from_utf8_lossy(&output.stdout);
    let mut one = Count::default();
    for line in checks.lines() {
        println!("    {line}");
        one.add(Count { passed: u64::from(line.starts_with("ok ")), failed: u64::from(line.starts_with("not ok ")) });
    }
    if !output.status.success() || one.passed == 0 {
        // A script that broke says why, and is a failure of its own where no check says so.
        one.failed = one.failed.max(1);
        println!("    {} ended with {}: {}", client.script, output.status, last_lines(&String::from_utf8_lossy(&output.stderr)));
        if let Some(served) = &served {
            println!("    the server said: {}", served.said());
        }
    }
    one.add(end(served, &world)?);
    count.add(one);
    let _ = std::fs::remove_file(&log);
    Ok(())
}

/// The server ends when it is asked to, and leaves nothing behind.
fn end(served: Option<Served>, world: &World) -> Result<Count, String> {
    if let Some(served) = served {
        let status = served.stop()?;
        if !status.success() {
            println!("    not ok ends in order: {status}");
            return Ok(Count::one(false));
        }
    }
    let left = world.left_behind();
    println!("    {} leaves no process behind{}", if left.is_empty() { "ok" } else { "not ok" }, shown(&left));
    Ok(Count::one(left.is_empty()))
}

fn shown(left: &[(u32, String)]) -> String {
    left.iter().map(|(id, line)| format!("; {id}: {line}")).collect()
}

fn last_lines(text: &str) -> String {
    let lines: Vec<&str> = text.lines().rev().take(12).collect();
    lines.into_iter().rev().collect::<Vec<_>>().join("\n        ")
}
