//! Every line of `cases/schema-pairs.jsonl`: what a person says of two schemas, what brute force says, and the verdict.

use toolwright::Value;
use toolwright::wiring::{self, Slip, Verdict};

use crate::brute::{Evidence, Generator, validator, word};

/// How many candidates are made up for a pair, about.
const CANDIDATES: usize = 400;

struct Pair {
    id: String,
    source: Value,
    target: Value,
    want: String,
    /// Each must be said in some slip.
    slips: Vec<String>,
    /// The source accepts nothing, so that every verdict is true of it.
    empty: bool,
    /// One of the two can be used by nobody.
    broken: bool,
    /// Its numbers are such that validators round them: the person's word counts as much as theirs.
    beyond: bool,
    /// It may be left undecided, although a person can tell.
    open: bool,
}

fn pairs() -> Vec<Pair> {
    let text = std::fs::read_to_string(format!("{}/tests/cases/schema-pairs.jsonl", env!("CARGO_MANIFEST_DIR"))).unwrap();
    let pairs = text.lines().filter(|line| !line.trim().is_empty()).map(|line| {
        let case = Value::parse(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        let flag = |name: &str| case.get(name).and_then(Value::as_bool).unwrap_or_default();
        let text = |name: &str| case.get(name).and_then(Value::as_str).unwrap_or_else(|| panic!("no `{name}`: {line}")).to_owned();
        let schema = |name: &str| case.get(name).unwrap_or_else(|| panic!("no `{name}`: {line}")).clone();
        let slips = case.get("slips").and_then(Value::as_array).unwrap_or_default();
        Pair {
            id: text("id"),
            source: schema("source"),
            target: schema("target"),
            want: text("want"),
            slips: slips.iter().map(|slip| slip.as_str().unwrap().to_owned()).collect(),
            empty: flag("empty"),
            broken: flag("broken"),
            beyond: flag("beyond"),
            open: flag("open"),
        }
    });
    pairs.collect()
}

/// What brute force finds about a pair; nothing when no validator can be built.
fn evidence(pair: &Pair) -> Option<Evidence> {
    let (from, to) = (validator(&pair.source)?, validator(&pair.target)?);
    let instances = Generator::new(7).about(&pair.source, &pair.target, &from, CANDIDATES);
    Some(Evidence::of(&instances, &to))
}

/// What is wrong with the line itself: brute force does not say what the person says.
fn wrong_line(pair: &Pair, found: Option<&Evidence>) -> Option<String> {
    if pair.beyond {
        return None;
    }
    let Some(found) = found.filter(|_| !pair.broken) else {
        let right = pair.broken && pair.want == "unknown";
        return (!right).then(|| "no validator can be built, so it must be `broken` and `unknown`".to_owned());
    };
    if pair.empty || found.count == 0 {
        return (pair.empty != (found.count == 0)).then(|| format!("{} instances were made up: is the source `empty`?", found.count));
    }
    let (taken, refused) = (found.taken.is_some(), found.refused.is_some());
    let right = match pair.want.as_str() {
        "fits" => taken && !refused,
        "never" => refused && !taken,
        "may" => taken && refused,
        "unknown" => true,
        other => return Some(format!("`{other}` is no verdict")),
    };
    let shown =
        |side: &Option<Value>| side.as_ref().map_or("nothing".to_owned(), |value| value.to_json_string().chars().take(200).collect());
    (!right).then(|| format!("of {} instances, taken is {}, refused is {}", found.count, shown(&found.taken), shown(&found.refused)))
}

fn slips(verdict: &Verdict) -> &[Slip] {
    match verdict {
        Verdict::MayNotFit(slips) | Verdict::CannotFit(slips) => slips,
        _ => &[],
    }
}

/// What is wrong with the verdict on a pair.
fn wrong_verdict(pair: &Pair, verdict: &Verdict, found: Option<&Evidence>) -> Option<String> {
    let said = word(verdict);
    if pair.broken && said != "unknown" {
        return Some(format!("`{said}` of what nobody can use"));
    }
    if pair.empty {
        return None;
    }
    if pair.beyond && (said == "unknown" || said == pair.want) {
        return None;
    }
    if let Some(why) = found.and_then(|found| found.against(verdict)) {
        return Some(why);
    }
    if pair.beyond || (pair.open && said == "unknown") {
        return None;
    }
    if pair.want != "unknown" && said != pair.want {
        return Some(format!("`{said}`, not `{}`: {:?}", pair.want, slips(verdict)));
    }
    if let Some(why) = found.filter(|_| !pair.broken).and_then(|found| found.unwitnessed(verdict)) {
        return Some(format!("{why}: {:?}", slips(verdict)));
    }
    if matches!(said, "may" | "never") && slips(verdict).is_empty() {
        return Some(format!("`{said}` that names nothing"));
    }
    let told = |wanted: &String| slips(verdict).iter().any(|slip| slip.path.contains(wanted) || slip.what.contains(wanted));
    let silent: Vec<&String> = pair.slips.iter().filter(|wanted| said != "unknown" && !told(wanted)).collect();
    (!silent.is_empty()).then(|| format!("nothing is said of {silent:?}: {:?}", slips(verdict)))
}

#[test]
fn every_pair_is_judged_as_brute_force_and_a_person_judge_it() {
    let pairs = pairs();
    let mut wrong = Vec::new();
    let mut told = std::collections::BTreeMap::new();
    for pair in &pairs {
        let found = evidence(pair);
        let line = wrong_line(pair, found.as_ref()).map(|why| format!("the line itself: {why}"));
        let verdict = wiring::compare(&pair.source, &pair.target);
        *told.entry(format!("{} -> {}", pair.want, word(&verdict))).or_insert(0_usize) += 1;
        let verdict = wrong_verdict(pair, &verdict, found.as_ref());
        let schemas = || format!("{} -> {}", pair.source.to_json_string(), pair.target.to_json_string());
        wrong.extend(line.into_iter().chain(verdict).map(|why| format!("{} ({}): {why}\n    {:.300}", pair.id, pair.want, schemas())));
    }
    assert!(wrong.is_empty(), "{} of {} pairs are wrong; want -> verdict: {told:?}\n{}", wrong.len(), pairs.len(), wrong.join("\n"));
    assert!(pairs.len() >= 180, "only {} pairs", pairs.len());
}

#[test]
fn the_table_is_in_order() {
    let pairs = pairs();
    let mut ids: Vec<&str> = pairs.iter().map(|pair| pair.id.as_str()).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), pairs.len(), "an id is there twice");
    let of = |want: &str| pairs.iter().filter(|pair| pair.want == want).count();
    assert!(of("fits") >= 50 && of("never") >= 25 && of("may") >= 50 && of("unknown") >= 10);
    assert!(of("unknown") * 5 < pairs.len(), "a person can tell of too few");
    assert!(pairs.iter().filter(|pair| pair.open).count() * 10 < pairs.len(), "too many pairs may be left open");
}
