//! What sealing and reading a large catalogue costs, and the bars between its figures.

use std::collections::BTreeMap;

use serde_json::Value;

use super::bars::{Bar, median};
use super::side::Side;

/// The name of the case on our side.
const CASE: &str = "catalogue";

/// Measures the figures of `catalogue` in the case file, prints them, and holds its bars. Answers whether all are met.
pub(super) fn run(document: &Value, rounds: usize, milliseconds: u64, ours: &mut Side) -> Result<bool, String> {
    let section = document.get(CASE).ok_or_else(|| format!("the case file has no `{CASE}`"))?;
    let list = |member: &str| section.get(member).and_then(Value::as_array).cloned().unwrap_or_default();
    let mut samples: Vec<(String, Vec<f64>)> =
        list("figures").iter().filter_map(Value::as_str).map(|figure| (figure.to_owned(), Vec::new())).collect();
    // In turns, so that what slows the machine down slows all of them.
    for _ in 0..rounds {
        for (figure, samples) in &mut samples {
            samples.push(ours.measure(CASE, figure, milliseconds)?);
        }
    }
    let medians: BTreeMap<String, f64> = samples.into_iter().map(|(figure, samples)| (figure, median(samples))).collect();
    println!("{:<36} {:>14}", "catalogue of 1,000 tools", "us CPU");
    for figure in list("figures").iter().filter_map(Value::as_str) {
        println!("{figure:<36} {:>14.2}", medians.get(figure).copied().unwrap_or(f64::NAN) / 1_000.0);
    }
    println!();
    let mut well = true;
    for bar in list("bars") {
        let bar = held(&bar, &medians)?;
        println!("{bar}");
        well &= bar.met;
    }
    Ok(well)
}

/// `{"figure": F, "over": G, "max": RATIO}`
fn held(bar: &Value, medians: &BTreeMap<String, f64>) -> Result<Bar, String> {
    let word = |member: &str| bar.get(member).and_then(Value::as_str);
    let (Some(figure), Some(over), Some(most)) = (word("figure"), word("over"), bar.get("max").and_then(Value::as_f64)) else {
        return Err(format!("a bar of `{CASE}` needs `figure`, `over` and `max`: {bar}"));
    };
    let found = |name: &str| medians.get(name).copied().ok_or_else(|| format!("`{name}` is no figure of `{CASE}`"));
    Ok(Bar::at_most(format!("{CASE}: `{figure}` by `{over}`"), found(figure)? / found(over)?, most))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_bar_holds_one_figure_against_another() {
        let medians = BTreeMap::from([("a".to_owned(), 30.0), ("b".to_owned(), 10.0)]);
        let met = |most: f64| held(&json!({"figure": "a", "over": "b", "max": most}), &medians).map(|bar| bar.met);
        assert_eq!((met(3.0), met(2.9)), (Ok(true), Ok(false)));
        assert!(held(&json!({"figure": "a", "over": "c", "max": 1}), &medians).is_err());
        assert!(held(&json!({"figure": "a"}), &medians).is_err());
    }
}
