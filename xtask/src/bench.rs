//! `cargo xtask bench`: what a step costs, as ratios within one run, since times of two runs compare nothing.
//!
//! Every figure is CPU time (user and system) of the process that does the work, per step, the median of rounds in
//! which the sides alternate. The pipelines and the bars are data: `bench/cases.json`, read by both sides.

use serde_json::Value;

use crate::repo::{self, Outcome};

mod bars;
mod catalogue;
mod gate;
mod gateway;
mod journal;
mod side;
mod wiring;

pub(crate) use gate::run as gate;

use bars::Figures;
use side::Side;

const CASES: &str = "bench/cases.json";

/// What `cargo xtask bench` was asked for.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Options {
    peers: bool,
    gate: bool,
    update: bool,
    quick: bool,
    wiring: bool,
    journal: bool,
    gateway: bool,
    inside: bool,
    ours: bool,
    debug: bool,
    start: bool,
}

impl Options {
    pub(crate) fn parse(flags: &[&str]) -> Result<Self, String> {
        let mut options = Self::default();
        for flag in flags {
            match *flag {
                "--peers" => options.peers = true,
                "--gate" => options.gate = true,
                "--update" => options.update = true,
                "--quick" => options.quick = true,
                "--wiring" => options.wiring = true,
                "--journal" => options.journal = true,
                "--gateway" => options.gateway = true,
                gateway::INSIDE => options.inside = true,
                "--debug" => options.debug = true,
                "--ours" => options.ours = true,
                "--start" => options.start = true,
                other => return Err(format!("`bench` knows no `{other}`")),
            }
        }
        if options.update && !options.gate {
            return Err("`--update` goes with `--gate`".to_owned());
        }
        if options.gate && (options.peers || options.quick) {
            return Err("`--gate` measures instructions and goes with `--update` alone".to_owned());
        }
        if options.wiring && (options.gate || options.peers) {
            return Err("`--wiring` goes with `--quick` alone".to_owned());
        }
        if options.journal && (options.gate || options.peers || options.wiring) {
            return Err("`--journal` goes with `--quick` alone".to_owned());
        }
        if options.gateway && (options.gate || options.peers || options.wiring || options.journal) {
            return Err("`--gateway` goes with `--quick` alone".to_owned());
        }
        if options.debug && !options.gateway {
            return Err("`--debug` goes with `--gateway`, for trying it out".to_owned());
        }
        if options.ours && !options.gateway {
            return Err("`--ours` goes with `--gateway`: it leaves the others out".to_owned());
        }
        if options.start && !options.gateway {
            return Err("`--start` goes with `--gateway`, of which it measures the start alone".to_owned());
        }
        Ok(options)
    }
}

/// `cargo xtask bench`.
pub(crate) fn run(options: &Options) -> Outcome {
    if options.gate {
        return gate::run_as_task(options.update);
    }
    let text = repo::read(CASES)?;
    let document: Value = serde_json::from_str(&text).map_err(|error| format!("`{CASES}` is no JSON: {error}"))?;
    if options.wiring {
        return wiring::run(&document, options.quick);
    }
    if options.journal {
        return journal::run(&document, options.quick);
    }
    if options.gateway {
        return gateway::run(&document, options);
    }
    let cases = document.get("cases").and_then(Value::as_array).ok_or_else(|| format!("`{CASES}` has no `cases`"))?;
    let mut peer = if options.peers { Some(Side::peer()?) } else { None };
    let mut ours = Side::ours()?;
    let (rounds, milliseconds) = if options.quick { (3, 20) } else { (7, 100) };
    println!("CPU per step: median of {rounds} alternating rounds of at least {milliseconds} ms\n");
    println!("{}", Figures::heading());
    let mut measured: Vec<Figures> = Vec::new();
    for case in cases {
        let id = case.get("id").and_then(Value::as_str).ok_or_else(|| format!("a case of `{CASES}` has no `id`"))?;
        let steps = case.get("steps").and_then(Value::as_f64).ok_or_else(|| format!("`{id}` of `{CASES}` has no `steps`"))?;
        let figures = measure(Figures::series(id, steps), id, rounds, milliseconds, &mut ours, peer.as_mut())?;
        println!("{figures}");
        measured.push(figures);
    }
    println!();
    let mut well = catalogue::run(&document, rounds, milliseconds, &mut ours)?;
    for (case, figures) in cases.iter().zip(&measured) {
        for bar in bars::judge(case, figures, &measured)? {
            println!("{bar}");
            well &= bar.met;
        }
    }
    Ok(well)
}

/// All variants of one case, in turns.
fn measure(
    mut series: Figures<Vec<f64>>,
    id: &str,
    rounds: usize,
    milliseconds: u64,
    ours: &mut Side,
    mut peer: Option<&mut Side>,
) -> Result<Figures, String> {
    for _ in 0..rounds {
        for (variant, samples) in series.variants() {
            let side = match (variant, peer.as_deref_mut()) {
                (bars::PEER, Some(peer)) => peer,
                (bars::PEER, None) => continue,
                _ => &mut *ours,
            };
            samples.push(side.measure(id, variant, milliseconds)?);
        }
    }
    Ok(series.medians())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_that_do_not_go_together_are_refused() {
        assert!(Options::parse(&["--update"]).is_err());
        assert!(Options::parse(&["--gate", "--peers"]).is_err());
        assert!(Options::parse(&["--fast"]).is_err());
        assert!(Options::parse(&["--peers", "--quick"]).is_ok());
        assert!(Options::parse(&["--wiring", "--peers"]).is_err());
        assert!(Options::parse(&["--wiring", "--quick"]).is_ok());
        assert!(Options::parse(&["--journal", "--wiring"]).is_err());
        assert!(Options::parse(&["--gateway", "--peers"]).is_err());
        assert!(Options::parse(&["--gateway", "--quick"]).is_ok());
        assert!(Options::parse(&["--debug"]).is_err());
        assert!(Options::parse(&["--ours"]).is_err());
        assert!(Options::parse(&["--gateway", "--ours"]).is_ok());
        assert!(Options::parse(&["--start"]).is_err());
        assert!(Options::parse(&["--gateway", "--start", "--quick"]).is_ok());
    }
}
