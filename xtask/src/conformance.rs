//! `cargo xtask conformance`: the official conformance suites against `toolwright serve` in front of our own server, and against
//! our client. Every check is counted from what the suite wrote down; nothing is expected to fail.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::peers::{self, Installed};
use crate::repo::{self, Outcome};
use crate::served::{Build, Served, World, free_address};
use crate::stage::{Count, Ended};

/// What the suite looks at only where a short answer comes as a stream of events; from us it comes as JSON, which is as right.
const ONLY_OF_STREAMS: [&str; 1] = ["server-sse-multiple-streams: server-sse-streams-functional"];

/// Has our own server begin with what its triggers would add: what is not in the lock is not shown to anybody.
const EXTRA: &str = "--extra";

/// The program that is the client of the suite, over our upstream side.
const CLIENT: &str = "conformance_client";

/// One run of a suite.
struct Suite {
    name: &'static str,
    package: &'static str,
    flags: &'static [&'static str],
}

const SERVERS: [Suite; 4] = [
    Suite { name: "0.2.0-alpha.12, 2026-07-28", package: NEW, flags: &["--suite", "all", "--spec-version", "2026-07-28"] },
    Suite { name: "0.2.0-alpha.12, 2025-11-25", package: NEW, flags: &["--suite", "all", "--spec-version", "2025-11-25"] },
    Suite { name: "0.2.0-alpha.12, with extensions", package: NEW, flags: &["--suite", "all"] },
    Suite { name: "0.1.16", package: OLD, flags: &["--suite", "all"] },
];

/// The scenarios for clients; those of extensions stand alone.
const CLIENTS: [Suite; 4] = [
    Suite { name: "0.2.0-alpha.12, 2026-07-28", package: NEW, flags: &["--spec-version", "2026-07-28"] },
    Suite { name: "0.2.0-alpha.12, 2025-11-25", package: NEW, flags: &["--spec-version", "2025-11-25"] },
    Suite { name: "0.2.0-alpha.12, extensions", package: NEW, flags: &[] },
    Suite { name: "0.1.16", package: OLD, flags: &[] },
];

/// The client scenarios that are about what our client is not, by how they begin, and why.
const NOT_OURS: [(&str, &str); 2] = [
    ("auth/", "our client logs in nowhere by itself: whoever configures it gives it its headers"),
    ("sep-2640-client-verify", "a skill is verified by the host that loads it: our client hands the bytes on"),
];

const NEW: &str = "@modelcontextprotocol/conformance";
const OLD: &str = "conformance-0.1";

/// What the suite meets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Behind {
    /// Our own server is a child.
    Stdio,
    /// It is asked over HTTP.
    Http,
    /// Nothing is in front: the suite sees our own server itself.
    Alone,
}

impl fmt::Display for Behind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Stdio => "in front of our server as a child",
            Self::Http => "in front of our server over HTTP",
            Self::Alone => "to our server itself",
        })
    }
}

/// What `cargo xtask conformance` was asked for.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Options {
    behind: Vec<Behind>,
    only: Option<String>,
}

impl Options {
    pub(crate) fn parse(flags: &[&str]) -> Result<Self, String> {
        let mut options = Self::default();
        for flag in flags {
            match *flag {
                "--stdio" => options.behind.push(Behind::Stdio),
                "--http" => options.behind.push(Behind::Http),
                "--alone" => options.behind.push(Behind::Alone),
                other if other.starts_with("--") => return Err(format!("`conformance` knows no `{other}`")),
                scenario => options.only = Some(scenario.to_owned()),
            }
        }
        Ok(options)
    }
}

/// What the checks of one scenario, or of many, came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Tally {
    scenarios: u64,
    passed: u64,
    failed: u64,
    warned: u64,
    skipped: u64,
    /// A line for each check that did not pass.
    told: Vec<String>,
    /// The checks that passed, each as often as it did.
    names: BTreeMap<String, u64>,
}

impl Tally {
    fn read(scenario: &str, checks: &[Value]) -> Self {
        let mut tally = Self { scenarios: 1, ..Self::default() };
        for check in checks {
            let of = |member: &str| check.get(member).and_then(Value::as_str).unwrap_or_default();
            let mut tell = |what: &str| {
                let details = check.get("details").map(ToString::to_string).unwrap_or_default();
                let why =
                    [of("errorMessage"), &details].iter().filter(|part| !part.is_empty()).map(|part| shortened(part)).collect::<Vec<_>>();
                tally.told.push(format!("{what} {scenario}: {}: {}", of("id"), why.join(" ")));
            };
            match of("status") {
                "SUCCESS" => {
                    *tally.names.entry(format!("{scenario}: {}", of("id"))).or_default() += 1;
                    tally.passed += 1;
                }
                "FAILURE" => {
                    tell("FAILED");
                    tally.failed += 1;
                }
                "WARNING" => {
                    tell("warning");
                    tally.warned += 1;
                }
                "SKIPPED" => {
                    tell("skipped");
                    tally.skipped += 1;
                }
                _ => {}
            }
        }
        tally
    }

    fn add(&mut self, other: Self) {
        self.scenarios += other.scenarios;
        self.passed += other.passed;
        self.failed += other.failed;
        self.warned += other.warned;
        self.skipped += other.skipped;
        self.told.extend(other.told);
        for (name, count) in other.names {
            *self.names.entry(name).or_default() += count;
        }
    }

    /// The checks that passed there and not here.
    fn lost(&self, there: &Self) -> Vec<String> {
        let fewer = |(name, count): &(&String, &u64)| self.names.get(*name).copied().unwrap_or_default() < **count;
        there.names.iter().filter(fewer).map(|(name, _)| name.clone()).collect()
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { scenarios, passed, failed, warned, skipped, .. } = self;
        write!(f, "{scenarios} scenarios, checks: {passed} passed, {failed} failed, {warned} warnings, {skipped} skipped by the suite")
    }
}

fn shortened(text: &str) -> String {
    text.chars().take(300).collect()
}

/// `cargo xtask conformance`.
pub(crate) fn run(options: &Options) -> Outcome {
    let mut count = Count::default();
    let ended = run_counted(options, &mut count)?;
    println!("{} passed, {} failed", count.passed, count.failed);
    match ended {
        Ended::Well => Ok(true),
        Ended::Badly(_) => Ok(false),
        Ended::LeftOut(why) => Err(why),
    }
}

/// The stage of `cargo xtask test`.
pub(crate) fn stage(count: &mut Count) -> Result<Ended, String> {
    run_counted(&Options::default(), count)
}

fn run_counted(options: &Options, count: &mut Count) -> Result<Ended, String> {
    let clients = match peers::install_clients()? {
        Installed::At(folder) => folder,
        Installed::Missing(why) => return Ok(Ended::LeftOut(why)),
    };
    let node = peers::node(&clients)?;
    let build = Build::new(false)?;
    let mut well = true;
    let chosen = if options.behind.is_empty() { vec![Behind::Stdio, Behind::Http] } else { options.behind.clone() };
    for suite in &SERVERS {
        let meet = |behind| against_server(&build, &node, &clients, suite, behind, options.only.as_deref());
        // What our own server has passes unharmed through the one in front of it: a check that the suite skips is a check that is lost.
        let alone = meet(Behind::Alone)?;
        for behind in &chosen {
            let tally = if *behind == Behind::Alone { alone.clone() } else { meet(*behind)? };
            well &= report(&format!("{} {behind}", suite.name), &tally, &alone, count);
        }
    }
    if options.behind.is_empty() && options.only.is_none() {
        let program = client(&build)?;
        for suite in &CLIENTS {
            let tally = against_client(&program, &node, &clients, suite)?;
            well &= report(&format!("{} to our client", suite.name), &tally, &Tally::default(), count);
        }
    }
    Ok(if well { Ended::Well } else { Ended::Badly("see the checks above".to_owned()) })
}

/// Prints what came of a suite and counts it: a suite in which nothing passed has not run, and a check that passes `alone` must pass.
fn report(name: &str, tally: &Tally, alone: &Tally, count: &mut Count) -> bool {
    for line in &tally.told {
        println!("    {line}");
    }
    println!("conformance {name}: {tally}");
    count.add(Count { passed: tally.passed, failed: tally.failed });
    let mut lost = tally.lost(alone);
    lost.retain(|check| !ONLY_OF_STREAMS.contains(&check.as_str()));
    for check in &lost {
        println!("    lost {check}");
    }
    let ran = tally.passed > 0 && lost.is_empty();
    if !ran && tally.failed == 0 {
        count.add(Count::one(false));
    }
    ran && tally.failed == 0
}

fn against_server(build: &Build, node: &Path, clients: &Path, suite: &Suite, behind: Behind, only: Option<&str>) -> Result<Tally, String> {
    let upstream = if behind == Behind::Stdio { None } else { Some(fixture(build)?) };
    let source = match &upstream {
        None => json!({ "command": build.fixture(), "args": ["stdio", EXTRA], "prefix": "", "trust": "hints" }),
        Some(upstream) => json!({ "url": upstream.url(), "prefix": "", "trust": "hints" }),
    };
    let world = World::new("conformance", build, &json!({ "sources": { "fixture": source } }), &[])?;
    let front = if behind == Behind::Alone { None } else { Some(world.http(&[])?) };
    let url = front.as_ref().or(upstream.as_ref()).map(Served::url).unwrap_or_default();
    let results = world.folder.join("results");
    let mut command = suite_command(node, clients, suite.package);
    command.args(["server", "--url", &url, "-o"]).arg(&results);
    match only {
        Some(scenario) => command.args(["--scenario", scenario]),
        None => command.args(suite.flags),
    };
    let tally = suite_results(&mut command, &results)?;
    if let Some(front) = front {
        let status = front.stop()?;
        if !status.success() {
            return Err(format!("`toolwright serve` ended with {status} when it was asked to end"));
        }
    }
    Ok(tally)
}

/// The program that plays our client.
fn client(build: &Build) -> Result<PathBuf, String> {
    repo::capture(repo::cargo().args(["build", "--locked", "--quiet", "--package", "toolwright-mcp", "--example", CLIENT]))?;
    Ok(build.example(CLIENT))
}

/// Our client in each scenario of the suite for clients that is about what it is.
fn against_client(program: &Path, node: &Path, clients: &Path, suite: &Suite) -> Result<Tally, String> {
    let listed = repo::capture(suite_command(node, clients, suite.package).args(["list", "--client"]).args(suite.flags))?;
    let mut tally = Tally::default();
    let mut left_out = [0; NOT_OURS.len()];
    let alone = suite.package == NEW && suite.flags.is_empty();
    let lines = listed.lines().skip_while(|line| !line.starts_with("Client")).take_while(|line| !line.starts_with("Authorization"));
    for scenario in
        lines.filter(|line| !alone || line.contains("[extension]")).filter_map(|line| line.trim().strip_prefix("- ")?.split(' ').next())
    {
        if let Some(at) = NOT_OURS.iter().position(|(beginning, _)| scenario.starts_with(beginning)) {
            left_out.iter_mut().skip(at).take(1).for_each(|count| *count += 1);
            continue;
        }
        let results = repo::target()?.join("served").join(format!("client-{}-{}", scenario.replace('/', "-"), std::process::id()));
        let mut command = suite_command(node, clients, suite.package);
        command.args(["client", "--scenario", scenario]).args(suite.flags).arg("--command").arg(program).arg("-o").arg(&results);
        let one = suite_results(&mut command, &results);
        let _ = std::fs::remove_dir_all(&results);
        tally.add(one.map_err(|why| format!("`{scenario}`: {why}"))?);
    }
    for ((beginning, why), count) in NOT_OURS.iter().zip(left_out).filter(|(_, count)| *count > 0) {
        println!("    left out {count} scenarios `{beginning}…`: {why}");
    }
    Ok(tally)
}

/// Our own server over HTTP.
fn fixture(build: &Build) -> Result<Served, String> {
    let address = free_address()?;
    let log = repo::target()?.join("served").join("fixture.log");
    std::fs::create_dir_all(log.parent().unwrap_or(Path::new("."))).map_err(|error| format!("no place for a log: {error}"))?;
    Served::start(Command::new(build.fixture()).args(["http", &address.to_string(), EXTRA]), address, &log)
}

fn suite_command(node: &Path, clients: &Path, package: &str) -> Command {
    let mut command = Command::new(node);
    command.arg(clients.join("node_modules").join(package).join("dist/index.js"));
    command
}

/// Runs a suite and reads what it wrote down: a folder for each scenario, with its checks.
fn suite_results(command: &mut Command, results: &Path) -> Result<Tally, String> {
    let output = command.output().map_err(|error| format!("cannot start the suite: {error}"))?;
    let mut found: BTreeMap<PathBuf, Vec<Value>> = BTreeMap::new();
    gather(results, &mut found);
    let mut tally = Tally::default();
    for (folder, checks) in &found {
        let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        tally.add(Tally::read(without_time(&name), checks));
    }
    if tally.scenarios == 0 {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        return Err(format!("the suite wrote nothing down: {}{}", text(&output.stdout), text(&output.stderr)));
    }
    // A scenario that broke before its first check is in the code alone.
    if tally.failed == 0 && !output.status.success() {
        tally.failed += 1;
        tally.told.push(format!("FAILED the suite ended with {}: {}", output.status, shortened(&String::from_utf8_lossy(&output.stderr))));
    }
    Ok(tally)
}

fn gather(folder: &Path, found: &mut BTreeMap<PathBuf, Vec<Value>>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            gather(&path, found);
        } else if path.file_name().is_some_and(|name| name == "checks.json") {
            let text = std::fs::read_to_string(&path).unwrap_or_default();
            found.insert(folder.to_owned(), serde_json::from_str(&text).unwrap_or_default());
        }
    }
}

/// `server-tools-list-2026-12-01T10-37-03-889Z` is the scenario `tools-list`.
fn without_time(folder: &str) -> &str {
    let name = folder.strip_prefix("server-").unwrap_or(folder);
    let time = name.match_indices("-20").map(|(at, _)| at).filter(|at| name.get(at + 11..).is_some_and(|rest| rest.starts_with('T')));
    name.get(..time.last().unwrap_or(name.len())).unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checks_are_counted_and_those_that_did_not_pass_are_told() {
        let checks = json!([
            { "id": "a", "status": "SUCCESS" },
            { "id": "b", "status": "FAILURE", "errorMessage": "why" },
            { "id": "c", "status": "WARNING" },
            { "id": "d", "status": "SKIPPED" },
            { "id": "e", "status": "INFO" },
        ]);
        let tally = Tally::read("ping", checks.as_array().unwrap());
        assert_eq!((tally.passed, tally.failed, tally.warned, tally.skipped), (1, 1, 1, 1));
        assert_eq!(Tally::default().lost(&tally), ["ping: a"]);
        assert!(tally.lost(&tally).is_empty());
        assert_eq!(tally.told, ["FAILED ping: b: why", "warning ping: c: ", "skipped ping: d: "]);
    }

    #[test]
    fn a_folder_is_named_after_its_scenario() {
        assert_eq!(without_time("server-tools-list-2026-12-01T10-37-03-889Z"), "tools-list");
        assert_eq!(without_time("server-json-schema-2020-12-2026-12-01T10-37-03-889Z"), "json-schema-2020-12");
    }

    #[test]
    fn what_is_asked_for_is_read() {
        let options = Options::parse(&["--http", "--alone", "ping"]).unwrap();
        assert_eq!(options, Options { behind: vec![Behind::Http, Behind::Alone], only: Some("ping".to_owned()) });
        assert!(Options::parse(&["--baseline"]).is_err());
    }
}
