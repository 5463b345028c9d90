//! Values close to a value: one place of it changed.

use toolwright::Value;
use toolwright::value::Number;

use super::Dice;
use super::decimals::Decimal;

/// Up to `count` values that differ from `value` in one place.
pub(super) fn of(value: &Value, count: usize, dice: &mut Dice) -> Vec<Value> {
    let mut places = vec![Vec::new()];
    collect(value, &mut Vec::new(), &mut places);
    let mut found = Vec::new();
    let each = (count / places.len().min(count).max(1)).max(1);
    while found.len() < count && !places.is_empty() {
        let place = places.swap_remove(dice.below(places.len()));
        let Some(there) = at(value, &place) else { continue };
        let mut changed = changes(there);
        while changed.len() > each {
            changed.swap_remove(dice.below(changed.len()));
        }
        found.extend(changed.iter().map(|new| replaced(value, &place, new)));
    }
    found
}

/// The positions on the way to a place: of members and items alike.
type Place = Vec<usize>;

fn children(value: &Value) -> &[Value] {
    match value {
        Value::Array(items) => items.as_slice(),
        Value::Object(members) => members.values(),
        _ => &[],
    }
}

fn collect(value: &Value, here: &mut Place, places: &mut Vec<Place>) {
    for (position, child) in children(value).iter().enumerate() {
        if places.len() > 400 {
            return;
        }
        here.push(position);
        places.push(here.clone());
        collect(child, here, places);
        here.pop();
    }
}

fn at<'v>(value: &'v Value, place: &[usize]) -> Option<&'v Value> {
    place.iter().try_fold(value, |value, position| children(value).get(*position))
}

fn replaced(value: &Value, place: &[usize], new: &Value) -> Value {
    let Some((position, rest)) = place.split_first() else { return new.clone() };
    let change = |at: usize, child: &Value| if at == *position { replaced(child, rest, new) } else { child.clone() };
    match value {
        Value::Array(items) => Value::array(items.as_slice().iter().enumerate().map(|(at, item)| change(at, item))),
        Value::Object(members) => Value::object(members.iter().enumerate().map(|(at, (name, member))| (name.clone(), change(at, member)))),
        other => other.clone(),
    }
}

fn changes(value: &Value) -> Vec<Value> {
    let mut found = vec![Value::Null, Value::from("x"), Value::from(1), Value::Bool(true)];
    found.extend([Value::array(Vec::<Value>::new()), Value::object(Vec::<(&str, Value)>::new())]);
    found.extend(Number::parse("0.5").map(Value::Number));
    match value {
        Value::Number(number) => {
            let close = [10, -10, 5, -5].iter().filter_map(|tenths| Decimal::of(number)?.plus_tenths(*tenths)?.number());
            found.extend(close.map(Value::Number));
        }
        Value::String(text) => {
            found.push(Value::from(format!("{text}x")));
            let mut rest = text.chars();
            rest.next();
            found.push(Value::from(rest.as_str()));
        }
        Value::Array(items) => {
            let items = items.as_slice();
            found.push(Value::array(items.iter().take(items.len().saturating_sub(1)).cloned()));
            found.push(Value::array(items.iter().chain(items.first()).cloned()));
            found.push(Value::array(items.iter().cloned().chain([Value::Null])));
            found.push(Value::array(items.iter().rev().cloned()));
        }
        Value::Object(members) => {
            let all = || members.iter().map(|(name, member)| (name.clone(), member.clone()));
            found.extend(members.iter().take(40).map(|(name, _)| Value::Object(members.without(name))));
            found.extend(["x", "zz"].map(|name| Value::object(all().chain([(name.into(), Value::from(1))]))));
            found.push(Value::object(all().chain([("other".into(), Value::from("x"))])));
        }
        _ => {}
    }
    found
}
