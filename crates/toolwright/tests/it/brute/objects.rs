//! Candidates that are objects.

use toolwright::{Text, Value};

use super::facets::Part;
use super::instances::{Ask, Generator};
use super::{members, texts};

/// A member that an object may have.
struct Key {
    name: Text,
    /// It is asked for.
    required: bool,
    /// The source speaks of it.
    named: bool,
    values: Vec<Value>,
}

pub(super) fn candidates<'a>(generator: &mut Generator<'a>, ask: &Ask<'a, '_>) -> Vec<Value> {
    let keys = keys(generator, ask);
    if keys.iter().any(|key| key.required && key.values.is_empty()) {
        return Vec::new();
    }
    let keys: Vec<Key> = keys.into_iter().filter(|key| !key.values.is_empty()).collect();
    let build = |value: &dyn Fn(usize, &Key) -> Option<usize>| -> Value {
        let chosen = keys.iter().enumerate().filter_map(|(at, key)| Some((key, value(at, key)?)));
        let pairs = chosen.filter_map(|(key, turn)| Some((key.name.clone(), key.values.get(turn % key.values.len())?.clone())));
        Value::object(pairs)
    };
    let required = |_: usize, key: &Key| key.required.then_some(0);
    let named = |_: usize, key: &Key| (key.required || key.named).then_some(0);
    let mut found = vec![build(&required), build(&named), build(&|_, _| Some(0)), build(&|at, _| Some(at + 1))];
    if ask.is_deep() {
        return found;
    }
    for count in counts(ask, keys.len()) {
        let mut left = count.saturating_sub(keys.iter().filter(|key| key.required).count());
        let mut order: Vec<usize> = (0..keys.len()).collect();
        order.sort_by_key(|at| keys.get(*at).is_some_and(|key| !key.named));
        let extra: Vec<usize> = order
            .into_iter()
            .filter(|at| {
                let take = left > 0 && keys.get(*at).is_some_and(|key| !key.required);
                left -= usize::from(take);
                take
            })
            .collect();
        found.push(build(&|at, key: &Key| (key.required || extra.contains(&at)).then_some(0)));
    }
    let turns = keys.iter().map(|key| key.values.len()).max().unwrap_or_default();
    let steps = (keys.len() * turns * 2 / ask.budget.max(1)).max(1);
    let mut skip = 0;
    for turn in 0..turns {
        for (place, key) in keys.iter().enumerate() {
            skip += 1;
            if turn >= key.values.len() || (turn > 0 && skip % steps != 0) {
                continue;
            }
            let with =
                |base: &dyn Fn(usize, &Key) -> Option<usize>, at: usize, key: &Key| if at == place { Some(turn) } else { base(at, key) };
            found.push(build(&|at, key: &Key| with(&required, at, key)));
            found.push(build(&|at, key: &Key| with(&named, at, key)));
            if turn == 0 && !key.required {
                found.push(build(&|at, key: &Key| if at == place { None } else { named(at, key) }));
            }
        }
    }
    for _ in 0..ask.budget / 3 {
        let dice = std::cell::RefCell::new(&mut generator.dice);
        found.push(build(&|_, key: &Key| {
            let mut dice = dice.borrow_mut();
            let present = key.required || dice.below(if key.named { 2 } else { 4 }) == 0;
            present.then(|| if dice.below(2) == 0 { 0 } else { dice.below(64) })
        }));
    }
    found
}

/// The members that either side speaks of, and some that nobody does.
fn keys<'a>(generator: &mut Generator<'a>, ask: &Ask<'a, '_>) -> Vec<Key> {
    let required = required(ask.must);
    let named = names(generator, ask.must);
    let mut all: Vec<Text> = required.clone();
    let spare = ["extra", "zz", "", "x-spare", "A1"].map(Text::from);
    for name in named.iter().cloned().chain(names(generator, ask.hints)).chain(spare) {
        if !all.contains(&name) {
            all.push(name);
        }
    }
    let most = ask.both().filter_map(|part| part.get("minProperties").and_then(Value::as_u64)).max().unwrap_or_default();
    for number in all.len()..usize::try_from(most).unwrap_or_default().min(200) + 1 {
        all.push(format!("p{number}").into());
    }
    let each = (ask.budget / all.len().max(1) * 2).clamp(3, 24);
    let each = if ask.depth > 2 { each.min(6) } else { each };
    let mut keys = Vec::new();
    for name in all {
        let is_required = required.contains(&name);
        let is_named = named.contains(&name);
        if ask.is_deep() && !is_required {
            continue;
        }
        let name_value = Value::String(name.clone());
        let refused: Vec<Part<'a>> = ask.must.iter().filter_map(|part| part.part("propertyNames")).collect();
        if refused.iter().any(|part| !generator.accepts(*part, &name_value)) {
            continue;
        }
        let must: Vec<Part<'a>> = ask.must.iter().flat_map(|part| under(generator, part, &name_value)).collect();
        let hints: Vec<Part<'a>> = ask.hints.iter().flat_map(|part| under(generator, part, &name_value)).collect();
        let values = generator.values(&Ask { must: &must, hints: &hints, depth: ask.depth + 1, budget: each });
        keys.push(Key { name, required: is_required, named: is_named, values });
    }
    keys
}

fn required(parts: &[Part<'_>]) -> Vec<Text> {
    let mut names: Vec<Text> = Vec::new();
    for name in parts.iter().flat_map(|part| part.get("required").and_then(Value::as_array).unwrap_or_default()) {
        if let Some(name) = name.as_text().filter(|name| !names.contains(name)) {
            names.push(name.clone());
        }
    }
    names
}

/// The names that the parts speak of.
fn names<'a>(generator: &mut Generator<'a>, parts: &[Part<'a>]) -> Vec<Text> {
    let mut names = Vec::new();
    for part in parts {
        for keyword in ["properties", "dependentRequired", "dependentSchemas", "dependencies"] {
            names.extend(part.get(keyword).into_iter().flat_map(members).map(|(name, _)| name.clone()));
        }
        for keyword in ["dependentRequired", "dependencies"] {
            let lists = part.get(keyword).into_iter().flat_map(members).filter_map(|(_, list)| list.as_array());
            names.extend(lists.flatten().filter_map(|name| name.as_text().cloned()));
        }
        names.extend(required(&[*part]));
        for (pattern, _) in part.get("patternProperties").into_iter().flat_map(members) {
            names.extend(texts::matching(pattern, 3, &mut generator.dice).into_iter().take(6).map(Text::from));
        }
        if let Some(allowed) = part.part("propertyNames") {
            let made = generator.values(&Ask { must: &[allowed], hints: &[], depth: 1, budget: 8 });
            names.extend(made.into_iter().filter_map(|name| name.as_text().cloned()));
        }
    }
    names
}

/// What a part says of a member.
fn under<'a>(generator: &mut Generator<'a>, part: &Part<'a>, name: &Value) -> Vec<Part<'a>> {
    let key = name.as_str().unwrap_or_default();
    let mut found: Vec<Part<'a>> = part.part("properties").and_then(|properties| properties.part(key)).into_iter().collect();
    for (pattern, schema) in part.get("patternProperties").into_iter().flat_map(members) {
        if generator.matches_text(pattern, name) {
            found.push(part.at(schema));
        }
    }
    if found.is_empty() {
        let rest = part.part("additionalProperties");
        found.extend(rest.or_else(|| part.part("unevaluatedProperties").filter(|rest| rest.schema.as_object().is_some())));
    }
    found
}

/// How many members are spoken of, and one more and one less.
fn counts(ask: &Ask<'_, '_>, there: usize) -> Vec<usize> {
    let bounds = ["minProperties", "maxProperties"].iter().flat_map(|keyword| {
        ask.both().filter_map(|part| part.get(keyword).and_then(Value::as_u64)).filter_map(|bound| usize::try_from(bound).ok())
    });
    bounds.flat_map(|bound| [bound, bound + 1, bound.saturating_sub(1)]).filter(|count| *count <= there).collect()
}
