//! `cargo xtask bench --journal`: what a step costs whose records are kept in a file, beside a plain append that is pressed
//! onto the same disk, measured in the same run.
//!
//! `crates/toolwright-sqlite/examples/journal.rs` measures; the bars are `journal` in `bench/cases.json`.

use serde_json::Value;

use super::bars::Bar;
use super::side;
use crate::repo::{self, Outcome};

/// The name of the section in the case file, and of the program that measures.
const JOURNAL: &str = "journal";
const PACKAGE: &str = "toolwright-sqlite";

/// Measures, and holds the bars. `quick` takes fewer rounds and less time for each.
pub(super) fn run(document: &Value, quick: bool) -> Outcome {
    let section = document.get(JOURNAL).ok_or_else(|| format!("the case file has no `{JOURNAL}`"))?;
    let program = side::build_of(PACKAGE, JOURNAL)?;
    let folder = repo::target()?.join("bench-journal");
    std::fs::create_dir_all(&folder).map_err(|error| format!("`{}`: {error}", folder.display()))?;
    let (rounds, milliseconds) = if quick { ("3", "200") } else { ("7", "1000") };
    let mut command = repo::command(&program.to_string_lossy());
    let text = repo::capture(command.arg(&folder).args([rounds, milliseconds]));
    let _ = std::fs::remove_dir_all(&folder);
    let text = text?;
    let measured: Value = serde_json::from_str(&text).map_err(|error| format!("`{JOURNAL}` answered no JSON: {error}: {text}"))?;
    println!("{}", told(&measured)?);
    let mut well = true;
    for bar in bars(section, &measured)? {
        println!("{bar}");
        well &= bar.met;
    }
    Ok(well)
}

fn of(value: &Value, member: &str) -> Result<f64, String> {
    value.get(member).and_then(Value::as_f64).ok_or_else(|| format!("`{JOURNAL}` does not tell `{member}`: {value}"))
}

fn list<'a>(value: &'a Value, member: &str) -> &'a [Value] {
    value.get(member).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

/// What was measured, for people.
fn told(measured: &Value) -> Result<String, String> {
    let (append, step, slow) = (of(measured, "append")?, of(measured, "step")?, of(measured, "slowStep")?);
    let mut lines = vec![
        format!("an append of 512 bytes, pressed onto the disk: {append:.0} us in the middle"),
        format!("one run: a step in {step:.0} us in the middle, the slowest of a hundred in {slow:.0} us"),
    ];
    for many in list(measured, "many") {
        lines.push(format!("{} runs at once: {:.0} steps/s", of(many, "runs")?, of(many, "stepsPerSecond")?));
    }
    lines.push(format!("steps that change nothing: {:.0} steps/s", of(measured, "readsPerSecond")?));
    lines.push(format!("{} open runs listed in {:.0} ms\n", of(measured, "listed")?, of(measured, "listingMilliseconds")?));
    Ok(lines.join("\n"))
}

fn bars(section: &Value, measured: &Value) -> Result<Vec<Bar>, String> {
    let bar = |member: &str| section.get(member).and_then(Value::as_f64).ok_or_else(|| format!("`{JOURNAL}` needs a number `{member}`"));
    let at_most =
        |what: &str, figure: &str, most: &str| Ok::<Bar, String>(Bar::at_most(what.to_owned(), of(measured, figure)?, bar(most)?));
    let mut bars = vec![at_most("journal: a durable step of one run, in appends", "stepOverAppend", "stepOverAppend")?];
    for wanted in list(section, "many") {
        let runs = of(wanted, "runs")?;
        let found = list(measured, "many").iter().find(|many| of(many, "runs") == Ok(runs));
        let times = found.map_or(Ok(f64::NAN), |found| of(found, "timesOneAppend"))?;
        bars.push(Bar::at_least(format!("journal: steps of {runs} runs in the time of an append"), times, of(wanted, "timesOneAppend")?));
    }
    bars.push(at_most("journal: records of steps without effects that waited", "readsThatWaited", "readsThatWaited")?);
    bars.push(at_most("journal: bytes of a document of 1 MB along 100 steps", "documentBytes", "documentBytes")?);
    bars.push(at_most("journal: listing 10,000 open runs, ms", "listingMilliseconds", "listingMilliseconds")?);
    Ok(bars)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_bar_is_held_on_its_side() {
        let section = json!({
            "stepOverAppend": 1.5, "many": [{"runs": 10, "timesOneAppend": 3}], "readsThatWaited": 0, "documentBytes": 100,
            "listingMilliseconds": 2000
        });
        let measured = |times: f64, waited: u64| {
            json!({
                "stepOverAppend": 1.4, "many": [{"runs": 10, "timesOneAppend": times}], "readsThatWaited": waited, "documentBytes": 99,
                "listingMilliseconds": 2000
            })
        };
        let met = |measured: Value| bars(&section, &measured).expect("all is told").iter().map(|bar| bar.met).collect::<Vec<_>>();
        assert_eq!(met(measured(3.0, 0)), [true; 5]);
        assert_eq!(met(measured(2.9, 1)), [true, false, false, true, true]);
        assert!(bars(&section, &json!({})).is_err());
    }
}
