//! Candidates that are no containers: what is listed, numbers round bounds, texts by length, pattern and format.

use toolwright::Value;
use toolwright::value::Number;

use super::Dice;
use super::decimals::Decimal;
use super::facets::Part;
use super::instances::Ask;
use super::texts;

/// Longer texts than this are not made up.
const LENGTH_MAX: u64 = 5_000;

/// What `const` or `enum` lists.
pub(super) fn listed(part: &Part<'_>) -> Option<Vec<Value>> {
    let one = part.get("const").map(|value| vec![value.clone()]);
    one.or_else(|| part.get("enum").and_then(Value::as_array).map(<[Value]>::to_vec))
}

/// The kinds of value that all parts allow; those first that a keyword is about.
pub(super) fn kinds(parts: &[Part<'_>]) -> Vec<&'static str> {
    let all = ["object", "string", "number", "array", "null", "boolean"];
    let about = |part: &Part<'_>, kind: &str| -> bool {
        let keywords: &[&str] = match kind {
            "object" => &["properties", "required", "additionalProperties", "patternProperties", "propertyNames", "minProperties"],
            "array" => &["items", "prefixItems", "minItems", "maxItems", "uniqueItems", "contains"],
            "string" => &["pattern", "minLength", "maxLength", "format"],
            "number" => &["minimum", "maximum", "multipleOf", "exclusiveMinimum", "exclusiveMaximum"],
            _ => &[],
        };
        keywords.iter().any(|keyword| part.get(keyword).is_some())
    };
    let mut kinds: Vec<&str> = all.into_iter().filter(|kind| parts.iter().all(|part| allows(part, kind))).collect();
    kinds.sort_by_key(|kind| !parts.iter().any(|part| about(part, kind)));
    kinds
}

fn allows(part: &Part<'_>, kind: &str) -> bool {
    let is = |word: &Value| word.as_str().is_some_and(|word| word == kind || (word == "integer" && kind == "number"));
    match part.get("type") {
        None => true,
        Some(Value::Array(words)) => words.as_slice().iter().any(is),
        Some(word) => is(word),
    }
}

/// Numbers at every bound that is spoken of, and close to it.
pub(super) fn numbers(ask: &Ask<'_, '_>) -> Vec<Value> {
    let bounds = ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"];
    let spoken = |keyword: &str| -> Vec<&Number> { ask.both().filter_map(|part| part.get(keyword).and_then(Value::as_number)).collect() };
    let mut found: Vec<Number> = Vec::new();
    let mut anchors: Vec<Decimal> = Vec::new();
    for number in bounds.iter().flat_map(|keyword| spoken(keyword)) {
        found.push(number.clone());
        anchors.extend(Decimal::of(number));
    }
    let listed = ask.hints.iter().filter_map(self::listed).flatten().filter_map(|value| value.as_number().cloned());
    anchors.extend(listed.filter_map(|number| Decimal::of(&number)));
    let mut factors: Vec<Decimal> = spoken("multipleOf").into_iter().filter_map(Decimal::of).collect();
    anchors.extend([0, 1, 100].iter().filter_map(|number| Decimal::of(&Number::from(*number))));
    if let [first, second, ..] = factors.as_slice()
        && let Some(both) = first.times(*second)
    {
        factors.insert(0, both);
    }
    for anchor in &anchors {
        for factor in &factors {
            found.extend([0, 1, -1, 2, 3].iter().filter_map(|steps| anchor.multiple(*factor, *steps)?.number()));
        }
    }
    for anchor in &anchors {
        found.extend([0, 10, -10, 5, -5, 1, -1].iter().filter_map(|tenths| anchor.plus_tenths(*tenths)?.number()));
    }
    let others = ["1.0", "7", "-7", "0.25", "1e3", "-0", "3.0", "1000000", "-1000000", "9007199254740993", "18446744073709551616"];
    let huge = ["-9223372036854775809", "12345678901234567890123", "-1e30", "1.5e20", "3.14159"];
    found.extend(others.iter().chain(&huge).filter_map(|text| Number::parse(text)));
    found.into_iter().map(Value::Number).collect()
}

/// Texts of every length that is spoken of, in and out of every pattern and format that is spoken of.
pub(super) fn texts(ask: &Ask<'_, '_>, dice: &mut Dice) -> Vec<Value> {
    let mut found: Vec<String> = Vec::new();
    let samples = if ask.budget > 20 { 6 } else { 4 };
    for pattern in ask.both().filter_map(|part| part.get("pattern").and_then(Value::as_str)) {
        found.extend(texts::matching(pattern, samples, dice));
    }
    if ask.both().any(|part| part.get("format").is_some()) {
        found.extend(texts::FORMATTED.map(str::to_owned));
    }
    let mut lengths: Vec<usize> = Vec::new();
    for keyword in ["minLength", "maxLength"] {
        for bound in ask.both().filter_map(|part| part.get(keyword).and_then(Value::as_u64)).filter(|bound| *bound <= LENGTH_MAX) {
            let bound = usize::try_from(bound).unwrap_or_default();
            lengths.extend([bound, bound + 1, bound.saturating_sub(1)]);
        }
    }
    lengths.dedup();
    let bases: Vec<String> = found.iter().take(6).cloned().collect();
    for length in lengths {
        found.push("m".repeat(length));
        found.push("é😀".chars().cycle().take(length).collect());
        for base in &bases {
            let last = base.chars().last().unwrap_or('a');
            found.push(base.chars().chain(std::iter::repeat(last)).take(length).collect());
        }
    }
    found.extend(texts::PLAIN.map(str::to_owned));
    found.into_iter().map(Value::from).collect()
}
