//! Candidates that are arrays.

use toolwright::Value;

use super::facets::Part;
use super::instances::{Ask, Generator};

/// Longer arrays than this are made up once for each length, of one item over and over.
const LENGTH_MAX: u64 = 260;

/// Longer arrays than this are not made up.
const LENGTH_MOST: u64 = 12_000;

/// So many first items are told apart.
const PLACES: usize = 4;

pub(super) fn candidates<'a>(generator: &mut Generator<'a>, ask: &Ask<'a, '_>) -> Vec<Value> {
    let lengths = lengths(ask);
    let few = (ask.budget / 6).clamp(2, 24);
    let mut items: Vec<Vec<Value>> = Vec::new();
    let listed = ask.both().any(|part| part.get("prefixItems").is_some() || matches!(part.get("items"), Some(Value::Array(_))));
    for place in 0..PLACES {
        if place > 0 && !listed {
            items.extend(items.first().cloned());
            continue;
        }
        let must: Vec<Part<'a>> = ask.must.iter().filter_map(|part| item(part, place)).collect();
        let hints: Vec<Part<'a>> = ask.hints.iter().filter_map(|part| item(part, place)).collect();
        items.push(generator.values(&Ask { must: &must, hints: &hints, depth: ask.depth + 1, budget: few }));
    }
    let rest: Vec<Part<'a>> = ask.must.iter().filter_map(|part| item(part, 999)).collect();
    let rest = match items.first() {
        Some(same) if !listed => same.clone(),
        _ => generator.values(&Ask { must: &rest, hints: &[], depth: ask.depth + 1, budget: few.max(8) }),
    };
    let wanted = wanted(generator, ask, few);
    let at = |place: usize, turn: usize| -> Option<&Value> {
        let list = items.get(place).unwrap_or(&rest);
        list.get(turn % list.len().max(1))
    };
    let of = |length: usize, turn: usize, step: usize| -> Option<Vec<Value>> {
        (0..length).map(|place| at(place, turn + place * step).cloned()).collect()
    };
    let mut found: Vec<Value> = Vec::new();
    for length in long(ask) {
        found.extend(of(length, 0, 0).map(Value::array));
    }
    for length in &lengths {
        // Different ones, all the same, and different ones again.
        found.extend([of(*length, 0, 1), of(*length, 0, 0), of(*length, 1, 1)].into_iter().flatten().map(Value::array));
        for (turn, there) in wanted.iter().enumerate() {
            for count in [1, *length, 2] {
                if let Some(mut array) = of(*length, turn, 1).filter(|_| count <= *length) {
                    array.iter_mut().rev().take(count).for_each(|item| item.clone_from(there));
                    found.push(Value::array(array));
                }
            }
        }
    }
    if !ask.is_deep() {
        let base = lengths.iter().copied().filter(|length| (1..=PLACES).contains(length));
        for length in base {
            for place in 0..length {
                for turn in 1..items.get(place).map_or(0, Vec::len) {
                    if let (Some(mut array), Some(value)) = (of(length, 0, 1), at(place, turn))
                        && let Some(item) = array.get_mut(place)
                    {
                        item.clone_from(value);
                        found.push(Value::array(array));
                    }
                }
            }
        }
    }
    found
}

/// What an item at a place must be like; nothing when nothing is said.
fn item<'a>(part: &Part<'a>, place: usize) -> Option<Part<'a>> {
    let listed = part.list("prefixItems");
    if let Some(found) = listed.get(place) {
        return Some(*found);
    }
    match part.get("items") {
        Some(Value::Array(list)) => match list.as_slice().get(place) {
            Some(schema) => Some(part.at(schema)),
            None => part.part("additionalItems"),
        },
        Some(schema) => Some(part.at(schema)),
        None => part.part("unevaluatedItems").filter(|rest| rest.schema.as_object().is_some()),
    }
}

/// Items that `contains` of either side speaks of.
fn wanted<'a>(generator: &mut Generator<'a>, ask: &Ask<'a, '_>, few: usize) -> Vec<Value> {
    let contains: Vec<Part<'a>> = ask.both().filter_map(|part| part.part("contains")).collect();
    let rest: Vec<Part<'a>> = ask.must.iter().filter_map(|part| item(part, 999)).collect();
    let mut found = Vec::new();
    for part in contains {
        let must: Vec<Part<'a>> = rest.iter().copied().chain([part]).collect();
        found.extend(generator.values(&Ask { must: &must, hints: &[], depth: ask.depth + 1, budget: few.min(4) }));
    }
    found
}

/// The lengths that are spoken of and too long to try much with.
fn long(ask: &Ask<'_, '_>) -> Vec<usize> {
    let bounds = ["minItems", "maxItems"].into_iter().flat_map(|keyword| {
        ask.both()
            .filter_map(move |part| part.get(keyword).and_then(Value::as_u64))
            .filter(|bound| (LENGTH_MAX..=LENGTH_MOST).contains(bound))
    });
    bounds.filter(|_| ask.depth == 0).filter_map(|bound| usize::try_from(bound).ok()).flat_map(|bound| [bound, bound + 1]).collect()
}

fn lengths(ask: &Ask<'_, '_>) -> Vec<usize> {
    let mut lengths: Vec<usize> = Vec::new();
    for keyword in ["minItems", "maxItems", "minContains", "maxContains"] {
        for bound in ask.both().filter_map(|part| part.get(keyword).and_then(Value::as_u64)).filter(|bound| *bound <= LENGTH_MAX) {
            let bound = usize::try_from(bound).unwrap_or_default();
            lengths.extend([bound, bound + 1, bound.saturating_sub(1)]);
        }
    }
    for keyword in ["prefixItems", "items"] {
        lengths.extend(ask.both().filter_map(|part| part.get(keyword).and_then(Value::as_array)).map(<[Value]>::len));
    }
    let least = ask.must.iter().filter_map(|part| part.get("minItems").and_then(Value::as_u64)).max();
    lengths.extend(least.and_then(|least| usize::try_from(least).ok()).filter(|least| *least <= 260));
    if ask.is_deep() {
        lengths = vec![0, least.unwrap_or_default().min(260) as usize];
    } else {
        lengths.extend([1, 0, 2, 3]);
    }
    let mut once: Vec<usize> = Vec::new();
    for length in lengths {
        if !once.contains(&length) {
            once.push(length);
        }
    }
    once
}
