//! Random pairs, each by its number: the slowest comparison, and verdicts that an instance contradicts.

use std::collections::BTreeMap;
use std::io::BufRead;
use std::time::Duration;

use serde_json::{Value as Json, json};
use toolwright::Value;
use toolwright::wiring::{self, Verdict};

use super::brute::{Evidence, Generator, validator, word};
use super::schemas::{self, Pair};
use super::{Failure, cpu, hostile, milliseconds};

/// One pair of so many is judged by brute force too, when it is small enough for that.
const JUDGED: u64 = 10;

/// Pairs with more text than this are too large for brute force.
const JUDGED_BYTES: usize = 6_000;

/// A comparison that seems to take longer is made again, so that the machine's hiccups do not count.
const SUSPICIOUS: Duration = Duration::from_millis(10);

struct Slowest {
    time: Duration,
    id: u64,
    family: &'static str,
    verdict: &'static str,
}

/// Compares `pairs` pairs from the number `first` on.
pub(super) fn run(first: u64, pairs: u64) -> Result<(), Failure> {
    let mut slowest: BTreeMap<&str, Slowest> = BTreeMap::new();
    let mut told: BTreeMap<&str, u64> = BTreeMap::new();
    let (mut total, mut judged, mut unjudged, mut contradictions) = (Duration::ZERO, 0_u64, 0_u64, Vec::new());
    for (id, pair) in (0..).zip(hostile::pairs()?) {
        let (verdict, time) = timed(&pair);
        if slowest.get(pair.family).is_none_or(|slowest| slowest.time < time) {
            slowest.insert(pair.family, Slowest { time, id, family: pair.family, verdict: word(&verdict) });
        }
    }
    for id in first..first.saturating_add(pairs) {
        let pair = schemas::pair(id)?;
        let (verdict, time) = timed(&pair);
        total += time;
        *told.entry(word(&verdict)).or_default() += 1;
        if slowest.get(pair.family).is_none_or(|slowest| slowest.time < time) {
            slowest.insert(pair.family, Slowest { time, id, family: pair.family, verdict: word(&verdict) });
        }
        if (id / schemas::FAMILIES).is_multiple_of(JUDGED) {
            match evidence(&pair) {
                None => unjudged += 1,
                Some(found) => {
                    judged += 1;
                    contradictions.extend(found.against(&verdict).map(|why| json!({"id": id, "family": pair.family, "why": why})));
                }
            }
        }
    }
    let shown = |slowest: &Slowest| json!({"family": slowest.family, "id": slowest.id, "ms": milliseconds(slowest.time), "verdict": slowest.verdict});
    let families: Vec<_> = slowest.values().map(shown).collect();
    println!(
        "{}",
        json!({
            "pairs": pairs, "verdicts": told, "ms": milliseconds(total), "slowest": families, "judged": judged, "unjudged": unjudged,
            "contradictions": contradictions,
        })
    );
    Ok(())
}

/// Shows one pair and what is found of it.
pub(super) fn show(id: u64) -> Result<(), Failure> {
    let pair = schemas::pair(id)?;
    println!("{}", Value::object([("source", pair.source.clone()), ("target", pair.target.clone())]).to_json_string());
    println!("{}", judged(&pair));
    Ok(())
}

/// What is found of each pair on stdin.
pub(super) fn judge() -> Result<(), Failure> {
    for line in std::io::stdin().lock().lines() {
        let read = Value::parse(line?.as_str())?;
        let side = |name: &str| read.get(name).cloned().ok_or_else(|| format!("a line has no `{name}`"));
        println!("{}", judged(&Pair { family: "given", source: side("source")?, target: side("target")? }));
    }
    Ok(())
}

fn judged(pair: &Pair) -> Json {
    let (verdict, time) = timed(pair);
    let against = evidence(pair).and_then(|found| found.against(&verdict));
    let shown = format!("{verdict:?}").chars().take(2_000).collect::<String>();
    json!({"family": pair.family, "ms": milliseconds(time), "verdict": shown, "against": against})
}

fn timed(pair: &Pair) -> (Verdict, Duration) {
    let mut least = Duration::MAX;
    loop {
        let start = cpu();
        let verdict = wiring::compare(&pair.source, &pair.target);
        let time = cpu().saturating_sub(start);
        let again = least == Duration::MAX && time > SUSPICIOUS;
        least = least.min(time);
        if !again {
            return (verdict, least);
        }
    }
}

/// What brute force finds; nothing of a pair that is too large for it, or that has no instance that it finds.
fn evidence(pair: &Pair) -> Option<Evidence> {
    if pair.source.to_json_string().len() + pair.target.to_json_string().len() > JUDGED_BYTES {
        return None;
    }
    let (from, to) = (validator(&pair.source)?, validator(&pair.target)?);
    let instances = Generator::new(3).about(&pair.source, &pair.target, &from, 120);
    let found = Evidence::of(&instances, &to);
    (found.count > 0).then_some(found)
}
