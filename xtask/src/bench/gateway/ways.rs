//! The ways to one tool: our own server with nothing in front of it, ours in front of it, and others.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};

use super::burst::{self, Figures};
use crate::mcp::{Era, Http, Pipe};
use crate::repo;
use crate::served::{self, Build, PATH, Served, World, free_address};

/// What the others need to run.
#[derive(Debug)]
pub(super) struct Peers {
    pub(super) node: PathBuf,
    pub(super) gateways: PathBuf,
    pub(super) fastmcp: PathBuf,
    pub(super) mcp_proxy: PathBuf,
}

const DIRECT_STDIO: &str = "direct, stdio";
const DIRECT_HTTP: &str = "direct, HTTP";
const DIRECT_ALONE: &str = "direct, HTTP, sessionless";
const OURS_STDIO: &str = "toolwright, stdio, server on stdio";
const OURS_HTTP: &str = "toolwright, HTTP, server on HTTP";
const OURS_ALONE: &str = "toolwright, HTTP, sessionless, server on HTTP";
const OURS_STDIO_KEPT: &str = "toolwright, stdio, server on stdio, journal";

/// The one that is compared with others: in front of a child, as they are.
pub(super) const OURS: &str = "toolwright, HTTP, server on stdio";
pub(super) const OURS_KEPT: &str = "toolwright, HTTP, server on stdio, journal";

/// What is added to what.
pub(super) const ADDED: [(&str, &str, &str); 3] = [
    ("over stdio", OURS_STDIO, DIRECT_STDIO),
    ("over HTTP", OURS_HTTP, DIRECT_HTTP),
    ("over HTTP without sessions", OURS_ALONE, DIRECT_ALONE),
];

pub(super) const FASTMCP: [&str; 3] = ["FastMCP, server on HTTP", "FastMCP, shared client, server on HTTP", "FastMCP, server on stdio"];

/// Others that pass everything on and decide nothing.
pub(super) const UNGOVERNED: [&str; 3] =
    ["mcp-proxy (PyPI), server on stdio", "mcp-proxy (npm), server on stdio", "supergateway, server on stdio"];

pub(super) const LISTENS_EVERYWHERE: [&str; 1] = ["supergateway, server on stdio"];

/// A way that is open.
pub(super) struct Way {
    name: &'static str,
    /// What runs for it and ends with it.
    _worlds: Vec<World>,
    _servers: Vec<Served>,
    caller: Caller,
}

enum Caller {
    Pipe(Box<Pipe>, u64),
    Http(Era, Vec<Http>),
}

impl Way {
    pub(super) fn name(&self) -> &'static str {
        self.name
    }

    pub(super) fn burst(&mut self, clients: usize, time: Duration) -> Result<Figures, String> {
        match &mut self.caller {
            Caller::Pipe(pipe, last) => {
                let (figures, id) = burst::pipe(pipe, *last, clients, time)?;
                *last = id;
                Ok(figures)
            }
            Caller::Http(era, callers) => burst::http(callers.get_mut(..clients).unwrap_or_default(), *era, time),
        }
    }

    fn pipe(name: &'static str, command: &mut Command, worlds: Vec<World>) -> Result<Self, String> {
        let pipe = Pipe::open(command.stderr(std::process::Stdio::null()), Era::Sessions).map_err(|why| format!("{name}: {why}"))?;
        Ok(Self { name, _worlds: worlds, _servers: Vec::new(), caller: Caller::Pipe(Box::new(pipe), 100) })
    }

    fn http(name: &'static str, era: Era, server: Served, more: Vec<Served>, worlds: Vec<World>) -> Result<Self, String> {
        let callers: Result<Vec<Http>, String> = (0..16).map(|_| Http::open(server.address, PATH, era)).collect();
        let callers = callers.map_err(|why| format!("{name}: {why}; it said: {}", server.said()))?;
        let servers = std::iter::once(server).chain(more).collect();
        Ok(Self { name, _worlds: worlds, _servers: servers, caller: Caller::Http(era, callers) })
    }
}

/// All of them; `all` = also those that listen on all addresses.
pub(super) fn start(build: &Build, peers: &Peers, all: bool) -> Result<Vec<Way>, String> {
    let mut ways = ours(build)?;
    fastmcp(build, peers, &mut ways)?;
    ungoverned(build, peers, all, &mut ways)?;
    Ok(ways)
}

/// The direct ones, and those through us.
pub(super) fn ours(build: &Build) -> Result<Vec<Way>, String> {
    let mut ways = vec![
        Way::pipe(DIRECT_STDIO, Command::new(build.fixture()).arg("stdio"), Vec::new())?,
        Way::http(DIRECT_HTTP, Era::Sessions, fixture(build, false)?, Vec::new(), Vec::new())?,
        Way::http(DIRECT_ALONE, Era::Sessionless, fixture(build, true)?, Vec::new(), Vec::new())?,
    ];
    for (name, journal) in [(OURS_STDIO, &["--journal", "none"][..]), (OURS_STDIO_KEPT, &[])] {
        let world = World::new("bench-stdio", build, &configuration(&child(build)), &[])?;
        let mut command = world.stdio(journal);
        ways.push(Way::pipe(name, &mut command, vec![world])?);
    }
    for (name, journal) in [(OURS, &["--journal", "none"][..]), (OURS_KEPT, &[])] {
        let world = World::new("bench-http", build, &configuration(&child(build)), &[])?;
        ways.push(Way::http(name, Era::Sessions, world.http(journal)?, Vec::new(), vec![world])?);
    }
    for (name, era) in [(OURS_HTTP, Era::Sessions), (OURS_ALONE, Era::Sessionless)] {
        let upstream = fixture(build, era == Era::Sessionless)?;
        let world = World::new("bench-http", build, &configuration(&json!({ "url": upstream.url(), "prefix": "" })), &[])?;
        ways.push(Way::http(name, era, world.http(&["--journal", "none"])?, vec![upstream], vec![world])?);
    }
    Ok(ways)
}

fn child(build: &Build) -> Value {
    json!({ "command": build.fixture(), "args": ["stdio"], "prefix": "" })
}

fn configuration(source: &Value) -> Value {
    json!({ "sources": { "fixture": source }, "tools": { "echo": { "effect": "read" } } })
}

/// Our own server over HTTP; without sessions it answers with plain JSON.
fn fixture(build: &Build, plain: bool) -> Result<Served, String> {
    let address = free_address()?;
    let mut command = Command::new(build.fixture());
    command.args(["http", &address.to_string()]).args(plain.then_some("--json"));
    Served::start(&mut command, address, &log("fixture", address.port())?)
}

fn log(name: &str, port: u16) -> Result<PathBuf, String> {
    let folder = repo::target()?.join("served");
    std::fs::create_dir_all(&folder).map_err(|error| format!("cannot make `{}`: {error}", folder.display()))?;
    Ok(folder.join(format!("{name}-{port}.log")))
}

fn fastmcp(build: &Build, peers: &Peers, ways: &mut Vec<Way>) -> Result<(), String> {
    for (name, mode) in FASTMCP.into_iter().zip(["url", "shared", "stdio"]) {
        let address = served::free_address()?;
        let mut command = repo::command(&peers.fastmcp.to_string_lossy());
        command.arg("bench/gateway/fastmcp_proxy.py").args([mode, &address.port().to_string()]);
        let mut more = Vec::new();
        if mode == "stdio" {
            command.arg(build.fixture()).arg("stdio");
        } else {
            let upstream = fixture(build, false)?;
            command.arg(upstream.url());
            more.push(upstream);
        }
        let server = Served::start(&mut command, address, &log("fastmcp", address.port())?)?;
        ways.push(Way::http(name, Era::Sessions, server, more, Vec::new())?);
    }
    Ok(())
}

fn ungoverned(build: &Build, peers: &Peers, all: bool, ways: &mut Vec<Way>) -> Result<(), String> {
    let fixture = build.fixture().display().to_string();
    for name in UNGOVERNED.into_iter().filter(|name| all || !LISTENS_EVERYWHERE.contains(name)) {
        let address = free_address()?;
        let port = address.port().to_string();
        let script = |script: &str| {
            let mut command = Command::new(&peers.node);
            command.arg(peers.gateways.join("node_modules/.bin").join(script));
            command
        };
        let mut command = if name.contains("PyPI") {
            let mut command = Command::new(&peers.mcp_proxy);
            command.args(["--host", "127.0.0.1", "--port", &port, "--log-level", "ERROR", "--", &fixture, "stdio"]);
            command
        } else if name.contains("npm") {
            let mut command = script("mcp-proxy");
            command.args(["--host", "127.0.0.1", "--port", &port, "--server", "stream", "--", &fixture, "stdio"]);
            command
        } else {
            let mut command = script("supergateway");
            command.args(["--outputTransport", "streamableHttp", "--stateful", "--logLevel", "none", "--port", &port]);
            command.args(["--stdio", &format!("{fixture} stdio")]);
            command
        };
        let server = Served::start(&mut command, address, &log("gateway", address.port())?)?;
        ways.push(Way::http(name, Era::Sessions, server, Vec::new(), Vec::new())?);
    }
    Ok(())
}
