//! What is tried: the binary, the tools and the composites of it, and how an uninterrupted run of each ends.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::Options;
use super::endpoint::{Endpoint, TOOLS, output_schema};
use crate::repo;

/// A tool that is run, and what it does outside.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scenario {
    pub(super) tool: &'static str,
    pub(super) once: &'static [&'static str],
    pub(super) idempotent: bool,
}

/// Command lines and MCP, flat and nested, one effect and two.
pub(super) const SCENARIOS: [Scenario; 7] = [
    Scenario { tool: "flat", once: &["charge"], idempotent: true },
    Scenario { tool: "nested", once: &["charge", "mail"], idempotent: true },
    Scenario { tool: "web", once: &["charge"], idempotent: true },
    Scenario { tool: "pair", once: &["charge", "mail"], idempotent: false },
    Scenario { tool: "mixed", once: &["charge", "mail"], idempotent: true },
    Scenario { tool: "deep", once: &["charge", "mail"], idempotent: true },
    Scenario { tool: "charge", once: &["charge"], idempotent: false },
];

/// Inputs are told apart by an item; a ticket only tells runs apart.
pub(super) const ITEMS: usize = 4;

/// Everything that the processes need.
#[derive(Debug)]
pub(super) struct World {
    pub(super) binary: PathBuf,
    pub(super) dir: PathBuf,
    pub(super) endpoint: Endpoint,
    references: BTreeMap<(&'static str, usize), Value>,
    lasts: BTreeMap<&'static str, Duration>,
}

impl World {
    /// Builds the binary, starts the endpoint, and runs each tool to its end without a journal.
    pub(super) fn new(options: &Options) -> Result<Self, String> {
        let target = repo::target()?;
        let dir = target.join("crash").join(format!("{}", std::process::id()));
        make_folder(&dir.join("config"))?;
        let binary = build(&target, options.release)?;
        let endpoint = Endpoint::start(options.seed)?;
        let config = configuration(&endpoint.address.to_string())?;
        std::fs::write(dir.join("config/config.yaml"), config.to_string())
            .map_err(|error| format!("cannot write the configuration: {error}"))?;
        let mut world = Self { binary, dir, endpoint, references: BTreeMap::new(), lasts: BTreeMap::new() };
        world.refer()?;
        Ok(world)
    }

    fn refer(&mut self) -> Result<(), String> {
        for scenario in &SCENARIOS {
            let mut longest = Duration::ZERO;
            for item in 0..ITEMS {
                let ticket = format!("reference-{}-{item}", scenario.tool);
                let started = Instant::now();
                let arguments = self.run_arguments(scenario.tool, &ticket, item);
                let mut command = self.command("none", &ticket);
                let text = repo::capture(command.args(arguments).args(["--journal", "none"]))?;
                longest = longest.max(started.elapsed());
                let value = serde_json::from_str(&text).map_err(|error| format!("`{}` prints no JSON: {error}: {text}", scenario.tool))?;
                self.references.insert((scenario.tool, item), value);
            }
            self.lasts.insert(scenario.tool, longest);
        }
        Ok(())
    }

    /// The output of the uninterrupted run.
    pub(super) fn reference(&self, scenario: &Scenario, item: usize) -> &Value {
        self.references.get(&(scenario.tool, item)).unwrap_or(&Value::Null)
    }

    /// How long an uninterrupted run takes.
    pub(super) fn lasts(&self, scenario: &Scenario) -> Duration {
        self.lasts.get(scenario.tool).copied().unwrap_or(Duration::from_millis(100))
    }

    pub(super) fn run_arguments(&self, tool: &str, ticket: &str, item: usize) -> Vec<String> {
        let words = ["run".to_owned(), tool.to_owned(), format!("ticket={ticket}"), format!("item={item}"), "--format=json".to_owned()];
        words.to_vec()
    }

    /// The binary in an environment of which everything is known. Whatever it starts can be found by the ticket.
    pub(super) fn command(&self, journal: &str, ticket: &str) -> Command {
        let mut command = Command::new(&self.binary);
        command.current_dir(&self.dir).env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("HOME", &self.dir).env("TOOLWRIGHT_CONFIG_DIR", self.dir.join("config"));
        command.env("TOOLWRIGHT_JOURNAL", journal).env("CRASH_TICKET", ticket);
        command
    }
}

impl Drop for World {
    fn drop(&mut self) {
        // What stays is only space.
        let _ = std::fs::remove_dir_all(&self.dir);
    }
}

pub(super) fn make_folder(path: &Path) -> Result<(), String> {
    std::fs::create_dir_all(path).map_err(|error| format!("cannot make `{}`: {error}", path.display()))
}

/// The binary with its fault points, apart from the one that is tested and shipped.
fn build(target: &Path, release: bool) -> Result<PathBuf, String> {
    let flags = ["build", "--locked", "--quiet", "--package", "toolwright-cli", "--bin", "toolwright", "--features", "faults"];
    repo::capture(repo::cargo().args(flags).args(release.then_some("--release")))?;
    let profile = if release { "release" } else { "debug" };
    let name = format!("toolwright{}", std::env::consts::EXE_SUFFIX);
    let binary = target.join("crash").join(&name);
    // A copy of the process that is running now may be there: the name is given to the new one.
    let fresh = target.join("crash").join(format!("{name}-{}", std::process::id()));
    std::fs::copy(target.join(profile).join(&name), &fresh).map_err(|error| format!("cannot copy `{name}`: {error}"))?;
    std::fs::rename(&fresh, &binary).map_err(|error| format!("cannot name `{name}`: {error}"))?;
    Ok(binary)
}

/// One's own file, where a policy counts at once.
fn configuration(address: &str) -> Result<Value, String> {
    let client = std::env::current_exe().map_err(|error| format!("this program has no path: {error}"))?;
    let tools: serde_json::Map<String, Value> =
        TOOLS.iter().map(|tool| (tool.0.to_owned(), command_line(&client, address, *tool))).collect();
    let effects = TOOLS.iter().map(|(name, effect, _)| (format!("web_{name}"), json!({ "effect": effect })));
    Ok(json!({
        "sources": {
            "shop": { "timeout": "40s", "tools": tools },
            "web": { "url": format!("http://{address}/mcp") },
        },
        "tools": effects.collect::<serde_json::Map<String, Value>>(),
        "composites": {
            "flat": composite(&["lookup", "reserve", "charge", "audit"], "", &["units", "reserved", "charged", "receipt", "level"]),
            "pair": composite(&["lookup", "charge", "mail"], "", &["units", "charged", "sent"]),
            "inner": composite(&["lookup", "reserve", "charge"], "", &["reserved", "receipt"]),
            "nested": composite(&["lookup", "inner", "mail", "audit"], "", &["units", "reserved", "receipt", "sent", "level"]),
            "deep": composite(&["audit", "nested", "lookup"], "", &["level", "receipt", "sent", "units"]),
            "web": composite(&["lookup", "reserve", "charge"], "web_", &["units", "reserved", "charged", "receipt"]),
            "mixed": composite(&["audit", "web", "mail"], "", &["level", "receipt", "sent"]),
        },
        "policy": { "sideEffectingTools": ["charge", "mail", "reserve", "web_charge", "web_reserve", "inner", "nested", "web"] },
    }))
}

fn command_line(client: &Path, address: &str, (name, effect, members): (&str, &str, &[&str])) -> Value {
    let mut argv = json!([client, "crash-client", address, name, "ticket={ticket}", "item={item}", "serial={serial?}"]);
    // Both ways in which a command is told its key.
    let key = match (name, argv.as_array_mut()) {
        ("reserve", Some(argv)) => {
            argv.push(json!("key={key}"));
            json!({ "argument": "key" })
        }
        _ => json!({ "env": super::client::KEY }),
    };
    json!({
        "argv": argv,
        "effect": effect,
        "idempotencyKey": key,
        "stdout": "json",
        "input": input(true),
        "output": output_schema(members),
    })
}

fn input(serial: bool) -> Value {
    let mut properties = json!({ "ticket": { "type": "string" }, "item": { "type": "integer" } });
    if let Some(properties) = properties.as_object_mut().filter(|_| serial) {
        properties.insert("serial".to_owned(), json!({ "type": "integer" }));
    }
    json!({ "type": "object", "properties": properties, "required": ["ticket", "item"] })
}

/// A composite of these steps. What a lookup says goes into every effect after it; of the output, each member comes from
/// the last step that has it.
fn composite(steps: &[&str], prefix: &str, output: &[&str]) -> Value {
    let members = |step: &str| -> &[&str] {
        match step {
            "inner" => &["reserved", "receipt"],
            "nested" => &["units", "reserved", "receipt", "sent", "level"],
            "web" => &["units", "reserved", "charged", "receipt"],
            tool => TOOLS.iter().find(|(name, ..)| *name == tool).map_or(&[], |(.., members)| members),
        }
    };
    let mut looked_up = false;
    let written = steps.iter().map(|step| {
        let mut mapping = json!({ "ticket": "$input.ticket", "item": "$input.item" });
        if let Some(mapping) = mapping.as_object_mut().filter(|_| looked_up && matches!(*step, "reserve" | "charge" | "mail")) {
            mapping.insert("serial".to_owned(), json!("$steps.lookup.serial"));
        }
        looked_up |= *step == "lookup";
        json!({ "name": step, "tool": format!("{prefix}{step}"), "inputMapping": mapping })
    });
    let written: Vec<Value> = written.collect();
    let from = |member: &str| steps.iter().rfind(|step| members(step).contains(&member)).copied().unwrap_or_default();
    let output: serde_json::Map<String, Value> =
        output.iter().map(|member| ((*member).to_owned(), json!(format!("$steps.{}.{member}", from(member))))).collect();
    json!({ "input": input(false), "steps": written, "output": output })
}
