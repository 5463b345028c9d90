//! `cargo xtask fleet`: real servers from npm and PyPI, of both generations, behind one `toolwright serve`: all their tools are there
//! under names that fit, a composite chains three of them, two are killed in the middle of a call, and nothing is left behind.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};

use crate::mcp::{Ask, Era, Http};
use crate::peers::{self, Installed};
use crate::repo::{self, Outcome};
use crate::served::{Build, Served, World, processes_of, signal};
use crate::stage::{Count, Ended};

/// A server: its name here, how many tools it has, and where it comes from.
struct Server {
    name: &'static str,
    tools: usize,
    from: From,
    arguments: &'static [&'static str],
    environment: &'static [(&'static str, &'static str)],
}

enum From {
    /// A script of a package.
    Npm(&'static str),
    /// A program of an environment, which is named after the requirements.
    Pypi(&'static str),
}

const fn npm(name: &'static str, tools: usize, script: &'static str) -> Server {
    Server { name, tools, from: From::Npm(script), arguments: &[], environment: &[] }
}

const fn pypi(name: &'static str, tools: usize, program: &'static str) -> Server {
    Server { name, tools, from: From::Pypi(program), arguments: &[], environment: &[] }
}

/// `{}` in an argument or a variable is the folder of the world.
const SERVERS: [Server; 12] = [
    Server { arguments: &["{}"], ..npm("files", 14, "@modelcontextprotocol/server-filesystem/dist/index.js") },
    Server {
        environment: &[("MEMORY_FILE_PATH", "{}/memory.json")],
        ..npm("memory", 9, "@modelcontextprotocol/server-memory/dist/index.js")
    },
    npm("everything", 13, "@modelcontextprotocol/server-everything/dist/index.js"),
    npm("thinking", 1, "@modelcontextprotocol/server-sequential-thinking/dist/index.js"),
    npm("gitnpm", 28, "@cyanheads/git-mcp-server/dist/index.js"),
    npm("commands", 1, "mcp-server-commands/build/index.js"),
    pypi("git", 12, "mcp-server-git"),
    Server { arguments: &["--local-timezone", "UTC"], ..pypi("time", 2, "mcp-server-time") },
    pypi("fetch", 1, "mcp-server-fetch"),
    Server { arguments: &["--db-path", "{}/db.sqlite"], ..pypi("sqlite", 6, "mcp-server-sqlite") },
    Server { arguments: &["stdio"], ..pypi("excel", 46, "excel-mcp-server") },
    pypi("calculator", 1, "mcp-server-calculator"),
];

/// The two that are killed: a word of their command line, a call that lasts, and one that shows that they are back.
const KILLED: [(&str, &str, &str, &str, &str); 2] = [
    (
        "server-everything",
        "everything_trigger-long-running-operation",
        r#"{"duration":120,"steps":120}"#,
        "everything_echo",
        r#"{"message":"back"}"#,
    ),
    ("mcp-server-commands", "commands_run_command", r#"{"command":"sleep 120"}"#, "commands_run_command", r#"{"command":"echo back"}"#),
];

/// How long a caller waits for the end of a call whose server was killed, and how long a killed server may be away.
const NOTICED: Duration = Duration::from_secs(15);
const BACK: Duration = Duration::from_secs(60);

/// `cargo xtask fleet`.
pub(crate) fn run() -> Outcome {
    let mut count = Count::default();
    let ended = stage(&mut count)?;
    println!("{} passed, {} failed", count.passed, count.failed);
    match ended {
        Ended::Well => Ok(true),
        Ended::Badly(_) => Ok(false),
        Ended::LeftOut(why) => Err(why),
    }
}

/// The stage of `cargo xtask test`.
pub(crate) fn stage(count: &mut Count) -> Result<Ended, String> {
    let npm = match peers::install()? {
        Installed::At(folder) => folder,
        Installed::Missing(why) => return Ok(Ended::LeftOut(why)),
    };
    let requirements: Vec<String> = SERVERS.iter().filter_map(requirements).collect();
    let requirements: Vec<&str> = requirements.iter().map(String::as_str).collect();
    for installed in peers::venvs(&requirements)? {
        if let Installed::Missing(why) = installed {
            return Ok(Ended::LeftOut(why));
        }
    }
    let build = Build::new(false)?;
    let world = World::new("fleet", &build, &json!({}), &[])?;
    prepare(&world, &npm)?;
    let mut fleet = Fleet { served: world.http(&[])?, world, failed: 0, count };
    fleet.lists();
    fleet.chains();
    fleet.survives();
    let (failed, world) = fleet.ends()?;
    drop(world);
    Ok(if failed == 0 { Ended::Well } else { Ended::Badly(format!("{failed} check(s) of the fleet failed")) })
}

fn requirements(server: &Server) -> Option<String> {
    matches!(server.from, From::Pypi(_)).then(|| format!("xtask/peers/python/{}.txt", server.name))
}

/// What the servers work on, and the configuration.
fn prepare(world: &World, npm: &Path) -> Result<(), String> {
    world.write("sum.txt", "6 * 7")?;
    for arguments in [&["init", "--quiet", "work"][..], &["-C", "work", "commit", "--quiet", "--allow-empty", "--message", "the first"]] {
        let mut git = Command::new("git");
        git.current_dir(&world.folder).args(["-c", "user.name=fleet", "-c", "user.email=fleet@example.org"]).args(arguments);
        repo::capture(&mut git)?;
    }
    let target = repo::target()?;
    let sources: Map<String, Value> =
        SERVERS.iter().map(|server| (server.name.to_owned(), source(server, &world.folder, npm, &target))).collect();
    let read = json!({ "effect": "read" });
    let configuration = json!({
        "sources": sources,
        "tools": { "files_read_text_file": read, "calculator_calculate": read, "time_get_current_time": read },
        "composites": { "answer": {
            "description": "Reads a sum from a file, adds it up, and says when",
            "input": { "type": "object", "properties": { "path": { "type": "string" } }, "required": ["path"] },
            "steps": [
                { "name": "read", "tool": "files_read_text_file", "inputMapping": { "path": "$input.path" } },
                { "name": "sum", "tool": "calculator_calculate", "inputMapping": { "expression": "$steps.read.content" } },
                { "name": "when", "tool": "time_get_current_time", "inputMapping": { "timezone": "UTC" } },
            ],
            "output": { "sum": "$steps.sum.result", "zone": "$steps.when.timezone" },
        } },
    });
    world.write("toolwright.json", &format!("{configuration:#}"))?;
    repo::capture(world.command().args(["lock", "--yes"])).map(|_| ())
}

fn source(server: &Server, folder: &Path, npm: &Path, target: &Path) -> Value {
    let put = |text: &str| Value::from(text.replace("{}", &folder.display().to_string()));
    let mut arguments: Vec<Value> = server.arguments.iter().map(|argument| put(argument)).collect();
    let command = match server.from {
        From::Npm(script) => {
            arguments.insert(0, npm.join("node_modules").join(script).display().to_string().into());
            PathBuf::from("node")
        }
        From::Pypi(program) => target.join("python").join(server.name).join("bin").join(program),
    };
    let environment: Map<String, Value> = server.environment.iter().map(|(name, value)| ((*name).to_owned(), put(value))).collect();
    json!({ "command": command, "args": arguments, "env": environment, "startTimeout": "90s", "callTimeout": "3m", "idleTimeout": "3m" })
}

struct Fleet<'a> {
    served: Served,
    world: World,
    failed: u64,
    count: &'a mut Count,
}

impl Fleet<'_> {
    fn check(&mut self, name: &str, outcome: Result<(), String>) {
        match &outcome {
            Ok(()) => println!("    ok {name}"),
            Err(why) => println!("    not ok {name}: {why}"),
        }
        self.failed += u64::from(outcome.is_err());
        self.count.add(Count::one(outcome.is_ok()));
    }

    fn path(&self, name: &str) -> String {
        self.world.folder.join(name).display().to_string()
    }

    fn lists(&mut self) {
        for era in [Era::Sessions, Era::Sessionless] {
            let listed = self.served.client(era).and_then(|mut client| client.tools());
            let outcome = listed.and_then(|tools| fitting(&tools));
            self.check(&format!("all tools are listed under names that fit ({})", era.version()), outcome);
        }
    }

    fn chains(&mut self) {
        let input = json!({ "path": self.path("sum.txt") });
        for era in [Era::Sessions, Era::Sessionless] {
            let outcome = self.served.client(era).and_then(|mut client| answered(&mut client, &input));
            self.check(&format!("a composite chains three servers ({})", era.version()), outcome);
        }
        let repository = json!({ "repo_path": self.path("work") });
        let outcome = self.served.client(Era::Sessions).and_then(|mut client| client.call_well("git_git_log", &repository).map(|_| ()));
        self.check("a server of the newest generation is called by a client of an older one", outcome);
    }

    /// Two servers are killed while each is at work on a call.
    fn survives(&mut self) {
        let address = self.served.address;
        let calls: Vec<_> = KILLED
            .iter()
            .map(|(_, tool, arguments, ..)| {
                std::thread::spawn(move || {
                    let arguments: Value = serde_json::from_str(arguments).unwrap_or_default();
                    let outcome =
                        Http::open(address, crate::served::PATH, Era::Sessions).and_then(|mut client| client.call(tool, &arguments));
                    (outcome, Instant::now())
                })
            })
            .collect();
        let begun = self.eventually("sleep 120", true);
        self.check("both calls have begun", begun);
        std::thread::sleep(Duration::from_secs(1));
        let killed = Instant::now();
        for (word, ..) in &KILLED {
            for (id, _) in processes_of(&self.world.folder).into_iter().filter(|(_, line)| line.contains(word)) {
                signal(id, true);
            }
        }
        for ((word, ..), call) in KILLED.iter().zip(calls) {
            let outcome = call.join().map_err(|_| "the caller broke".to_owned()).and_then(|(outcome, at)| noticed(outcome, at, killed));
            self.check(&format!("the call of `{word}` ends with an error"), outcome);
        }
        let input = json!({ "path": self.path("sum.txt") });
        let outcome = self.served.client(Era::Sessionless).and_then(|mut client| answered(&mut client, &input));
        self.check("the others go on", outcome);
        let gone = self.eventually("sleep 120", false);
        self.check("what a killed server had started is gone", gone);
        for (word, _, _, tool, arguments) in &KILLED {
            let outcome = self.back(tool, arguments);
            self.check(&format!("`{word}` is started again when it is called"), outcome);
        }
    }

    fn back(&self, tool: &str, arguments: &str) -> Result<(), String> {
        let arguments: Value = serde_json::from_str(arguments).map_err(|error| error.to_string())?;
        let until = Instant::now() + BACK;
        loop {
            let outcome = self.served.client(Era::Sessions).and_then(|mut client| client.call_well(tool, &arguments));
            match outcome {
                Ok(result) if result.to_string().contains("back") => return Ok(()),
                Ok(result) => return Err(format!("it says something else: {result}")),
                Err(why) if Instant::now() >= until => return Err(why),
                Err(_) => std::thread::sleep(Duration::from_millis(500)),
            }
        }
    }

    /// Waits until a process of this world with that command line is there, or is not.
    fn eventually(&self, line: &str, there: bool) -> Result<(), String> {
        let until = Instant::now() + NOTICED;
        while processes_of(&self.world.folder).iter().any(|(_, found)| found == line) != there {
            if Instant::now() >= until {
                return Err(format!("`{line}` {} after {} s", if there { "is not there" } else { "is still there" }, NOTICED.as_secs()));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }

    fn ends(mut self) -> Result<(u64, World), String> {
        let Self { served, world, .. } = &mut self;
        if !served.is_alive() {
            println!("{}", served.said());
        }
        let children = processes_of(&world.folder).len();
        self.check("servers run behind it", if children > 1 { Ok(()) } else { Err(format!("{children} processes")) });
        let Self { served, world, mut failed, count } = self;
        let status = served.stop()?;
        let left = world.left_behind();
        for (name, well, why) in [
            ("it ends in order", status.success(), status.to_string()),
            ("no process is left behind", left.is_empty(), format!("{left:?}")),
        ] {
            println!("    {}", if well { format!("ok {name}") } else { format!("not ok {name}: {why}") });
            failed += u64::from(!well);
            count.add(Count::one(well));
        }
        Ok((failed, world))
    }
}

/// Every tool of every server is there, and the composite; names fit what clients take.
fn fitting(tools: &[Value]) -> Result<(), String> {
    let names: Vec<&str> = tools.iter().filter_map(|tool| tool.get("name").and_then(Value::as_str)).collect();
    let fits = |name: &&&str| {
        (1..=64).contains(&name.len()) && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
    };
    if let Some(name) = names.iter().find(|name| !fits(name)) {
        return Err(format!("`{name}` does not fit"));
    }
    let distinct: std::collections::BTreeSet<&str> = names.iter().copied().collect();
    if distinct.len() != names.len() {
        return Err("two tools have one name".to_owned());
    }
    let missing: Vec<String> = SERVERS
        .iter()
        .filter_map(|server| {
            let found = names.iter().filter(|name| name.strip_prefix(server.name).is_some_and(|rest| rest.starts_with('_'))).count();
            (found != server.tools).then(|| format!("{found} of {} tools of `{}`", server.tools, server.name))
        })
        .collect();
    match (missing.is_empty(), distinct.contains("answer")) {
        (true, true) => Ok(()),
        (true, false) => Err("the composite is not there".to_owned()),
        (false, _) => Err(missing.join(", ")),
    }
}

fn answered(client: &mut Http, input: &Value) -> Result<(), String> {
    let result = client.call_well("answer", input)?;
    let expected = json!({ "sum": "42", "zone": "UTC" });
    match result.get("structuredContent") {
        Some(found) if *found == expected => Ok(()),
        _ => Err(format!("not {expected}: {result}")),
    }
}

/// The call of a killed server ended soon, and not as if nothing had happened.
fn noticed(outcome: Result<Value, String>, at: Instant, killed: Instant) -> Result<(), String> {
    let after = at.saturating_duration_since(killed);
    if at < killed {
        return Err(format!("it ended before: {outcome:?}"));
    }
    if after > NOTICED {
        return Err(format!("it took {:.1} s", after.as_secs_f64()));
    }
    match outcome {
        Ok(result) if result.get("isError").and_then(Value::as_bool) == Some(true) => Ok(()),
        Ok(result) => Err(format!("it was told as a success: {result}")),
        Err(why) if why.contains("\"error\"") => Ok(()),
        Err(why) => Err(why),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_do_not_fit_and_servers_that_are_not_there_are_told() {
        let tools = |names: &[&str]| names.iter().map(|name| json!({ "name": name })).collect::<Vec<_>>();
        assert!(fitting(&tools(&["a.b"])).is_err_and(|why| why.contains("a.b")));
        assert!(fitting(&tools(&["time_now", "time_now"])).is_err_and(|why| why.contains("one name")));
        assert!(fitting(&tools(&["answer"])).is_err_and(|why| why.contains("0 of 14 tools of `files`")));
    }

    #[test]
    fn a_success_after_a_kill_is_a_failure() {
        let (killed, at) = (Instant::now(), Instant::now());
        assert!(noticed(Ok(json!({ "isError": true })), at, killed).is_ok());
        assert!(noticed(Ok(json!({ "content": [] })), at, killed).is_err());
    }
}
