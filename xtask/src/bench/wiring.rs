//! `cargo xtask bench --wiring`: how long it takes, at worst, to say whether one schema fits another, and what checking a
//! large configuration costs beside building the validators of its schemas.
//!
//! The random pairs are made by `xtask/examples/wiring.rs`; the bars are `wiring` in `bench/cases.json`.

use serde_json::Value;

use super::bars::Bar;
use super::side;
use crate::repo::{self, Outcome};

/// The name of the section in the case file, and of the program that measures.
const WIRING: &str = "wiring";

/// Runs both parts and holds the bars. `quick` tries a tenth of the pairs.
pub(super) fn run(document: &Value, quick: bool) -> Outcome {
    let section = document.get(WIRING).ok_or_else(|| format!("the case file has no `{WIRING}`"))?;
    let number = |member: &str| section.get(member).and_then(Value::as_f64).ok_or_else(|| format!("`{WIRING}` needs a number `{member}`"));
    let pairs = number("pairs")? / if quick { 10.0 } else { 1.0 };
    let program = side::build(WIRING)?;
    let ask = |arguments: &[&str]| -> Result<Value, String> {
        let mut command = repo::command(&program.to_string_lossy());
        let text = repo::capture(command.args(arguments))?;
        serde_json::from_str(&text).map_err(|error| format!("`{WIRING}` answered no JSON: {error}: {text}"))
    };
    let fuzzed = ask(&["fuzz", &format!("{pairs:.0}")])?;
    println!("{}", told(&fuzzed));
    let checked = ask(&["check"])?;
    println!("{}", costs(&checked)?);
    let mut bars = vec![Bar::at_most("wiring: the slowest pair, ms".to_owned(), slowest(&fuzzed)?, number("pairMilliseconds")?)];
    for figure in ["register", "lint"] {
        let what = format!("wiring: `{figure}` 1,000 composites, ms");
        bars.push(Bar::at_most(what, of(&checked, figure)?, number("checkMilliseconds")?));
    }
    bars.push(Bar::at_most("wiring: verdicts that an instance contradicts".to_owned(), list(&fuzzed, "contradictions").len() as f64, 0.0));
    let mut well = of(&checked, "warnings")? > 0.0 && of(&checked, "linted")? > 0.0;
    if !well {
        println!("no composite got a warning, so that nothing was checked");
    }
    for bar in bars {
        println!("{bar}");
        well &= bar.met;
    }
    Ok(well)
}

fn of(answer: &Value, member: &str) -> Result<f64, String> {
    answer.get(member).and_then(Value::as_f64).ok_or_else(|| format!("`{WIRING}` does not tell `{member}`: {answer}"))
}

fn list<'a>(answer: &'a Value, member: &str) -> &'a [Value] {
    answer.get(member).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

/// Milliseconds of the slowest pair of all families.
fn slowest(fuzzed: &Value) -> Result<f64, String> {
    let times = list(fuzzed, "slowest").iter().map(|family| of(family, "ms")).collect::<Result<Vec<f64>, String>>()?;
    times.into_iter().reduce(f64::max).ok_or_else(|| format!("`{WIRING}` compared nothing: {fuzzed}"))
}

/// What the fuzz found: the slowest of each family, and whatever is wrong, by the number that `wiring pair` takes.
fn told(fuzzed: &Value) -> String {
    let shown = |member: &str| fuzzed.get(member).map(Value::to_string).unwrap_or_default();
    let mut lines = vec![
        format!(
            "{} random pairs in {} ms CPU: {}; {} judged by brute force",
            shown("pairs"),
            shown("ms"),
            shown("verdicts"),
            shown("judged")
        ),
        format!("{:<28} {:>10} {:>8}  verdict", "slowest pair of a family", "ms CPU", "pair"),
    ];
    for family in list(fuzzed, "slowest") {
        let word = |member: &str| family.get(member).and_then(Value::as_str).unwrap_or_default();
        let id = family.get("id").and_then(Value::as_u64).unwrap_or_default();
        lines.push(format!("{:<28} {:>10.2} {id:>8}  {}", word("family"), of(family, "ms").unwrap_or(f64::NAN), word("verdict")));
    }
    lines.extend(list(fuzzed, "contradictions").iter().map(|wrong| format!("contradicted: {wrong}")));
    lines.push("one of them again: cargo run --release -p xtask --example wiring -- pair N\n".to_owned());
    lines.join("\n")
}

/// What the configuration costs, beside the validators of the same schemas.
fn costs(checked: &Value) -> Result<String, String> {
    let compile = of(checked, "compile")?;
    let mut lines = vec![format!(
        "{:<52} {:>10} {:>12}",
        format!("{} composites, {} references, {} tools", of(checked, "composites")?, of(checked, "references")?, of(checked, "tools")?),
        "ms CPU",
        "/validators"
    )];
    let named = [
        ("build the validators of all schemas (jsonschema)", "compile"),
        ("register the tools and read the composites", "load"),
        ("register the composites, wiring checked", "register"),
        ("lint the composites, wiring checked", "lint"),
    ];
    for (what, figure) in named {
        let time = of(checked, figure)?;
        lines.push(format!("{what:<52} {time:>10.1} {:>12.2}", time / compile));
    }
    lines.push(format!("{} wires got a warning\n", of(checked, "warnings")?));
    Ok(lines.join("\n"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_slowest_of_all_families_counts() {
        let fuzzed = json!({"slowest": [{"family": "a", "id": 3, "ms": 2.0, "verdict": "fits"}, {"family": "b", "id": 4, "ms": 7.5}]});
        assert_eq!(slowest(&fuzzed), Ok(7.5));
        assert!(slowest(&json!({"slowest": []})).is_err());
        assert!(told(&fuzzed).contains("7.50"));
    }
}
