//! Values to try: near the borders that constraints draw, and samples of what is usual.

use crate::value::{Number, Value};

/// Characters of the longest string that is tried.
const LENGTH_MAX: u64 = 300;

/// Constraints that are looked at; further ones draw no new borders in practice.
const CONSTRAINTS_MAX: usize = 16;

const SAMPLES: [&str; 20] = [
    "",
    "a",
    "A",
    "0",
    "-1",
    "abc",
    "ABC",
    "a b",
    "a-b_c",
    "2024-02-29",
    "12:30:00Z",
    "2024-02-29T12:30:00Z",
    "a@example.org",
    "https://example.org/a",
    "example.org",
    "192.0.2.1",
    "2001:db8::1",
    "123e4567-e89b-12d3-a456-426614174000",
    "/a/b",
    "P1D",
];

/// Strings to try.
pub(super) fn strings<'a>(constraints: impl Iterator<Item = &'a Value>) -> Vec<Value> {
    let mut all: Vec<Value> = SAMPLES.iter().map(|sample| Value::from(*sample)).collect();
    for constraint in constraints.take(CONSTRAINTS_MAX) {
        let length = constraint.get("minLength").or_else(|| constraint.get("maxLength")).and_then(Value::as_u64);
        for length in length.into_iter().flat_map(|length| [length.saturating_sub(1), length, length.saturating_add(1)]) {
            if length <= LENGTH_MAX {
                let count = usize::try_from(length).unwrap_or_default();
                all.push("a".repeat(count).into());
            }
        }
        let ruled_out = constraint.get("not").and_then(|not| not.get("enum")).and_then(Value::as_array).unwrap_or_default();
        all.extend(ruled_out.iter().take(CONSTRAINTS_MAX).cloned());
    }
    all
}

/// Numbers to try.
pub(super) fn numbers<'a>(constraints: impl Iterator<Item = &'a Value>) -> Vec<Value> {
    let mut all: Vec<Value> = [0i64, 1, -1, 2, 7, 100, -100, 1_000_000].into_iter().map(Value::from).collect();
    all.extend([0.5, -0.5, 1e-3, 1e12].into_iter().filter_map(Number::from_f64).map(Value::Number));
    for constraint in constraints.take(CONSTRAINTS_MAX) {
        let border = constraint.as_object().and_then(|constraint| constraint.values().first()).and_then(Value::as_f64);
        let Some(border) = border else { continue };
        let near =
            [border, border - 1.0, border + 1.0, border - 0.5, border + 0.5, border * 2.0, border * 3.0, border.floor(), border.ceil()];
        all.extend(near.into_iter().filter_map(number));
        // A multiple that is on the other side of zero, and one that is large.
        all.extend([-border, border * 1_000.0].into_iter().filter_map(number));
    }
    all
}

/// Written as an integer when it is one.
fn number(float: f64) -> Option<Value> {
    let number = Number::from_f64(float)?;
    Some(Value::Number(number.to_integer().filter(|_| float.abs() < 9e15).unwrap_or(number)))
}
