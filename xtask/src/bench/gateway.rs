//! `cargo xtask bench --gateway`: what a server costs that stands in front of another one. Every way to the same tool is measured in one
//! run, in turns: directly, through ours, and through others. The bars are `gateway` in `bench/cases.json`.
//!
//! Reading order: `ways` are the ways, `burst` measures one of them, `start` is the time to the first list. One of the others listens on
//! all addresses, so everything runs in a network of its own (`unshare`) where that can be had.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde_json::Value;

use super::bars::Bar;
use crate::peers::{self, Installed};
use crate::repo::{self, Outcome};
use crate::served::Build;
use crate::soak;

mod burst;
mod start;
mod ways;

use burst::Figures;
use ways::{Peers, Way};

/// The name of the section in the case file.
const GATEWAY: &str = "gateway";

/// The flag of the run inside of the network of its own.
pub(super) const INSIDE: &str = "--inside";

/// How many call at once.
const CLIENTS: [usize; 2] = [1, 16];

/// Installs and builds, then measures in a network of its own where that can be had, else here.
pub(super) fn run(document: &Value, options: &super::Options) -> Outcome {
    let (quick, inside) = (options.quick, options.inside);
    if options.start {
        return only_the_start(document, options);
    }
    let build = Build::new(!options.debug)?;
    if options.ours {
        return alone(document, quick, &build);
    }
    let peers = install()?;
    let separable = repo::capture(Command::new("unshare").args(["-n", "ip", "link", "set", "lo", "up"])).is_ok();
    if inside || !separable {
        if !inside {
            println!("no network of its own can be had (`unshare -n`, `ip`): without supergateway, which listens on all addresses");
        }
        return measure(document, quick, &build, &peers, inside);
    }
    let ourselves = std::env::current_exe().map_err(|error| format!("this program has no path: {error}"))?;
    let mut command = repo::command("unshare");
    command.args(["-n", "sh", "-c", "ip link set lo up && exec \"$@\"", "sh"]).arg(ourselves);
    command.args(["bench", "--gateway", INSIDE]).args(quick.then_some("--quick")).args(options.debug.then_some("--debug"));
    let status = command.status().map_err(|error| format!("cannot start `unshare`: {error}"))?;
    Ok(status.success())
}

/// Only the direct ways and ours, for trying out what a change does to them.
fn alone(document: &Value, quick: bool, build: &Build) -> Outcome {
    let section = document.get(GATEWAY).ok_or_else(|| format!("the case file has no `{GATEWAY}`"))?;
    let mut ways = ways::ours(build)?;
    let middle = in_turns(&mut ways, quick)?;
    println!("{}", told(&ways, &middle));
    let mut well = true;
    for bar in our_bars(section, &of(&middle))? {
        println!("{bar}");
        well &= bar.met;
    }
    Ok(well)
}

/// The middle figures of each way, with so many clients.
type Middle = BTreeMap<(usize, &'static str), Figures>;

/// Measures all ways in turns.
fn in_turns(ways: &mut [Way], quick: bool) -> Result<Middle, String> {
    let (rounds, time) = if quick { (3, Duration::from_millis(300)) } else { (7, Duration::from_secs(2)) };
    let mut seen: BTreeMap<(usize, &str), Vec<Figures>> = BTreeMap::new();
    for _ in 0..rounds {
        for clients in CLIENTS {
            for way in &mut *ways {
                let figures = way.burst(clients, time).map_err(|why| format!("{}: {why}", way.name()))?;
                seen.entry((clients, way.name())).or_default().push(figures);
            }
        }
    }
    Ok(seen.into_iter().map(|(key, figures)| (key, Figures::middle(&figures))).collect())
}

fn of(middle: &Middle) -> impl Fn(usize, &str) -> Result<Figures, String> {
    move |clients: usize, name: &str| {
        let found = middle.iter().find(|((of, way), _)| *of == clients && *way == name).map(|(_, figures)| *figures);
        found.ok_or_else(|| format!("`{name}` was not measured with {clients} clients"))
    }
}

/// The time to the first list and nothing else: the others are not even installed.
fn only_the_start(document: &Value, options: &super::Options) -> Outcome {
    let node = peers::node(&found(peers::install_clients()?)?)?;
    let build = Build::alone(!options.debug)?;
    let first = first_list(&build, &node, options.quick)?;
    let bar = start_bar(document.get(GATEWAY).ok_or_else(|| format!("the case file has no `{GATEWAY}`"))?, first)?;
    println!("{bar}");
    Ok(bar.met)
}

fn first_list(build: &Build, node: &Path, quick: bool) -> Result<f64, String> {
    let first = start::measure(build, node, if quick { 5 } else { 21 })?;
    println!("start to the first list of 1,000 locked tools and 100 composites: {first:.1} ms in the middle\n");
    Ok(first)
}

fn start_bar(section: &Value, first: f64) -> Result<Bar, String> {
    Ok(Bar::at_most("gateway: start to the first list, ms".to_owned(), first, number(section, "startMs")?))
}

fn found(installed: Installed) -> Result<PathBuf, String> {
    match installed {
        Installed::At(folder) => Ok(folder),
        Installed::Missing(why) => Err(format!("the others cannot run: {why}")),
    }
}

fn install() -> Result<Peers, String> {
    let clients = found(peers::install_clients()?)?;
    Ok(Peers {
        node: peers::node(&clients)?,
        gateways: found(peers::install_gateways()?)?,
        fastmcp: found(peers::venv("xtask/peers/python/clients.txt")?)?.join("bin/python"),
        mcp_proxy: found(peers::venv("bench/gateway/mcp-proxy.txt")?)?.join("bin/mcp-proxy"),
    })
}

fn measure(document: &Value, quick: bool, build: &Build, peers: &Peers, all: bool) -> Outcome {
    let section = document.get(GATEWAY).ok_or_else(|| format!("the case file has no `{GATEWAY}`"))?;
    soak::more_files(4_096);
    let first = first_list(build, &peers.node, quick)?;
    let mut ways = ways::start(build, peers, all)?;
    let middle = in_turns(&mut ways, quick)?;
    println!("{}", told(&ways, &middle));
    let of = of(&middle);
    let mut well = true;
    for bar in bars(section, &of, first, all)? {
        println!("{bar}");
        well &= bar.met;
    }
    Ok(well)
}

/// The table of what was measured.
fn told(ways: &[Way], middle: &Middle) -> String {
    let mut lines = vec![format!("{:<44} {:>10} {:>9} {:>12} {:>9}", "", "1: calls/s", "p50 ms", "16: calls/s", "p50 ms")];
    for way in ways {
        let part = |clients| {
            let figures = middle.get(&(clients, way.name())).copied().unwrap_or_default();
            (figures.per_second, figures.middle_ms)
        };
        let ((one, one_ms), (many, many_ms)) = (part(1), part(16));
        lines.push(format!("{:<44} {one:>10.0} {one_ms:>9.3} {many:>12.0} {many_ms:>9.3}", way.name()));
    }
    lines.push(String::new());
    lines.join("\n")
}

fn number(section: &Value, member: &str) -> Result<f64, String> {
    section.get(member).and_then(Value::as_f64).ok_or_else(|| format!("`{GATEWAY}` needs a number `{member}`"))
}

/// The bars that are about us alone.
fn our_bars(section: &Value, of: &impl Fn(usize, &str) -> Result<Figures, String>) -> Result<Vec<Bar>, String> {
    let mut bars = Vec::new();
    for (what, ours, direct) in ways::ADDED {
        let added = of(1, ours)?.middle_ms - of(1, direct)?.middle_ms;
        bars.push(Bar::at_most(format!("gateway: added to a call {what}, ms"), added, number(section, "addedMs")?));
    }
    for clients in CLIENTS {
        let kept = of(clients, ways::OURS_KEPT)?.per_second / of(clients, ways::OURS)?.per_second;
        let least = number(section, if clients == 1 { "journalKeepsOfOne" } else { "journalKeepsOfSixteen" })?;
        bars.push(Bar::at_least(format!("gateway: calls/s that a journal keeps, {clients} clients"), kept, least));
    }
    Ok(bars)
}

fn bars(section: &Value, of: &impl Fn(usize, &str) -> Result<Figures, String>, first: f64, all: bool) -> Result<Vec<Bar>, String> {
    let mut bars = our_bars(section, of)?;
    for clients in CLIENTS {
        let ours = of(clients, ways::OURS)?.per_second;
        let mut best: f64 = 0.0;
        for name in ways::FASTMCP {
            best = best.max(of(clients, name)?.per_second);
        }
        let least = number(section, "timesFastMcp")?;
        bars.push(Bar::at_least(format!("gateway: calls/s over FastMCP's best, {clients} clients"), ours / best, least));
        for name in ways::UNGOVERNED.into_iter().filter(|name| all || !ways::LISTENS_EVERYWHERE.contains(name)) {
            let times = ours / of(clients, name)?.per_second;
            let least = number(section, "timesUngoverned")?;
            bars.push(Bar::at_least(format!("gateway: calls/s over {name}, {clients} clients"), times, least));
        }
    }
    bars.push(start_bar(section, first)?);
    Ok(bars)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_bar_is_held_on_its_side() {
        let section = json!({
            "addedMs": 0.25, "timesFastMcp": 10, "timesUngoverned": 1, "journalKeepsOfOne": 0.45, "journalKeepsOfSixteen": 0.7, "startMs": 40
        });
        let of = |factor: f64| {
            move |_: usize, name: &str| {
                let per_second = match name {
                    ways::OURS => 5_000.0 * factor,
                    ways::OURS_KEPT => 4_000.0 * factor,
                    name if ways::FASTMCP.contains(&name) => 400.0,
                    _ => 2_000.0,
                };
                Ok(Figures { per_second, middle_ms: 0.1 })
            }
        };
        let met = |factor, first, all| {
            bars(&section, &of(factor), first, all).expect("all is told").iter().map(|bar| bar.met).collect::<Vec<_>>()
        };
        assert_eq!(met(1.0, 39.0, true), [true; 14]);
        assert_eq!(met(1.0, 41.0, false).len(), 12);
        assert_eq!(met(0.1, 41.0, true).iter().filter(|met| **met).count(), 5);
    }
}
