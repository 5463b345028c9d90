//! The instructions of a step, counted by callgrind: the same on a busy machine, so CI can hold them.
//!
//! A count is the difference of two runs that differ in loops alone, so that start-up cancels.

use serde_json::{Value, json};

use super::bars::Bar;
use super::side;
use crate::repo::{self, Outcome};
use crate::stage::Ended;

const BASELINE: &str = "xtask/callgrind-baseline.json";
/// How much more than the baseline a step may cost, in percent.
const SLACK_PERCENT: f64 = 10.0;
/// How much a step may cost by what it cost before a catalogue had hooks, events and ports: `spine` in the baseline.
const OVER_SPINE_MAX: f64 = 1.5;
/// The pipeline that is counted: long enough that the call around it weighs little.
const CASE: &str = "100 steps, 2 references";
const STEPS: u64 = 100;
const LOOPS: [u64; 2] = [20, 120];
const VARIANTS: [&str; 3] = ["bare", "governed", "watched"];

/// `cargo xtask bench --gate [--update]`.
pub(super) fn run_as_task(update: bool) -> Outcome {
    if update {
        return rewrite().map(|()| true);
    }
    match run()? {
        Ended::Well => Ok(true),
        Ended::LeftOut(why) => {
            println!("callgrind gate: left out: {why}");
            Ok(!repo::in_ci())
        }
        Ended::Badly(why) => Err(why),
    }
}

/// Counts and compares with the baseline.
pub(crate) fn run() -> Result<Ended, String> {
    if !repo::has("valgrind") {
        return Ok(Ended::LeftOut("`valgrind` is not on this machine".to_owned()));
    }
    let baseline = repo::read(BASELINE)?;
    let baseline: Value = serde_json::from_str(&baseline).map_err(|error| format!("`{BASELINE}` is no JSON: {error}"))?;
    let here = compiler()?;
    if baseline.get("rustc").and_then(Value::as_str) != Some(here.as_str()) {
        println!("note: the baseline was counted with another compiler than {here}");
    }
    let mut worse = Vec::new();
    for (variant, now) in count()? {
        let before = baseline.get(variant).and_then(Value::as_f64).ok_or_else(|| format!("`{BASELINE}` has no `{variant}`"))?;
        if let Some(bar) = over_spine(&baseline, variant, now) {
            println!("{bar}");
            if !bar.met {
                worse.push(bar.to_string());
            }
        }
        let change = (now / before - 1.0) * 100.0;
        println!("{variant}: {now:.0} instructions a step, baseline {before:.0} ({change:+.1} %)");
        if change > SLACK_PERCENT {
            worse.push(format!("a {variant} step costs {change:.1} % more instructions than the baseline"));
        } else if change < -SLACK_PERCENT {
            println!("note: better than the baseline; keep it with `cargo xtask bench --gate --update`");
        }
    }
    Ok(if worse.is_empty() { Ended::Well } else { Ended::Badly(worse.join(", ")) })
}

/// A step against the same one before hooks; one whose events are kept against the one without.
fn over_spine(baseline: &Value, variant: &str, now: f64) -> Option<Bar> {
    let same = if variant == "watched" { "governed" } else { variant };
    let before = baseline.get("spine")?.get(same)?.as_f64()?;
    Some(Bar::at_most(format!("a {variant} step without hooks by a {same} step before there were any"), now / before, OVER_SPINE_MAX))
}

fn rewrite() -> Result<(), String> {
    if !repo::has("valgrind") {
        return Err("`valgrind` is not on this machine".to_owned());
    }
    let before: Value = serde_json::from_str(&repo::read(BASELINE)?).map_err(|error| format!("`{BASELINE}` is no JSON: {error}"))?;
    let mut baseline = json!({"case": CASE, "rustc": compiler()?, "spine": before.get("spine")});
    for (variant, now) in count()? {
        println!("{variant}: {now:.0} instructions a step");
        if let Some(members) = baseline.as_object_mut() {
            members.insert(variant.to_owned(), json!(now.round()));
        }
    }
    let path = repo::root().join(BASELINE);
    std::fs::write(&path, format!("{baseline:#}\n")).map_err(|error| format!("cannot write `{BASELINE}`: {error}"))
}

/// Instructions per step of every variant.
fn count() -> Result<Vec<(&'static str, f64)>, String> {
    let program = side::build(side::EXAMPLE)?;
    let mut counts = Vec::new();
    for variant in VARIANTS {
        let mut totals = Vec::new();
        for loops in LOOPS {
            let mut command = repo::command("valgrind");
            command.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]).arg(&program);
            command.args([CASE, variant]).arg(loops.to_string());
            let output = command.output().map_err(|error| format!("cannot start valgrind: {error}"))?;
            let stderr = String::from_utf8_lossy(&output.stderr);
            let total = collected(&stderr).filter(|_| output.status.success());
            totals.push(total.ok_or_else(|| format!("`{}` failed: {stderr}", repo::shown(&command)))?);
        }
        let [fewer, more] = totals.as_slice() else {
            return Err("two runs gave no two counts".to_owned());
        };
        let [from, to] = LOOPS;
        let steps = STEPS * (to - from);
        counts.push((variant, (*more - *fewer) as f64 / steps as f64));
    }
    Ok(counts)
}

/// Reads `==123== Collected : 4567` from what callgrind prints.
fn collected(stderr: &str) -> Option<i64> {
    stderr.lines().find_map(|line| line.split_once("Collected : ")?.1.trim().parse().ok())
}

fn compiler() -> Result<String, String> {
    let rustc = std::env::var("RUSTC").unwrap_or_else(|_| "rustc".to_owned());
    let text = repo::capture(repo::command(&rustc).arg("--version"))?;
    Ok(text.split_whitespace().take(2).collect::<Vec<_>>().join(" "))
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_step_is_held_against_the_same_one_before_hooks() {
        let baseline = serde_json::json!({"spine": {"bare": 100.0, "governed": 200.0}});
        let met = |variant, now| super::over_spine(&baseline, variant, now).map(|bar| bar.met);
        assert_eq!([met("bare", 150.0), met("governed", 301.0), met("watched", 300.0)], [Some(true), Some(false), Some(true)]);
        assert_eq!(met("other", 1.0), None);
    }

    #[test]
    fn the_count_of_callgrind_is_read() {
        let stderr = "==7== Events    : Ir\n==7== Collected : 123456\n==7==\n";
        assert_eq!(super::collected(stderr), Some(123_456));
        assert_eq!(super::collected("==7== oops\n"), None);
    }
}
