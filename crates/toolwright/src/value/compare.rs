//! Equality of values, exact and by JSON Schema's reading of numbers.
//!
//! Neither recurses, and neither does the same work twice: a value that holds the same part many times (`{a: $prev,
//! b: $prev}`, sixty steps in a row) is compared in as many steps as it has distinct parts.

use std::collections::HashSet;

use super::{Array, Number, Object, Value};
use crate::limits::COMPARE_UNREMEMBERED_PAIRS_MAX;

impl PartialEq for Value {
    /// Same kinds, same texts, same members in any order; numbers by their text, so `1 != 1.0`.
    fn eq(&self, other: &Value) -> bool {
        Comparison::new(Number::eq).run(self, other)
    }
}

impl Eq for Value {}

impl Value {
    /// Equality as JSON Schema has it: numbers by value, so `1`, `1.0` and `10e-1` are equal.
    pub fn same_value(&self, other: &Value) -> bool {
        Comparison::new(Number::same_value).run(self, other)
    }
}

struct Comparison<'a, F> {
    numbers: F,
    waiting: Vec<(&'a Value, &'a Value)>,
    pairs: usize,
    seen: HashSet<(usize, usize)>,
}

impl<'a, F: Fn(&Number, &Number) -> bool> Comparison<'a, F> {
    fn new(numbers: F) -> Self {
        Comparison { numbers, waiting: Vec::new(), pairs: 0, seen: HashSet::new() }
    }

    fn run(mut self, left: &'a Value, right: &'a Value) -> bool {
        let mut next = Some((left, right));
        while let Some((left, right)) = next {
            if !self.step(left, right) {
                return false;
            }
            next = self.waiting.pop();
        }
        true
    }

    /// Compares one pair; the parts of containers wait their turn.
    fn step(&mut self, left: &'a Value, right: &'a Value) -> bool {
        match (left, right) {
            (Value::Null, Value::Null) => true,
            (Value::Bool(left), Value::Bool(right)) => left == right,
            (Value::Number(left), Value::Number(right)) => (self.numbers)(left, right),
            (Value::String(left), Value::String(right)) => left == right,
            (Value::Array(left_items), Value::Array(right_items)) => {
                if left_items.len() != right_items.len() {
                    return false;
                }
                if self.is_new(left, right) {
                    self.waiting.extend(left_items.iter().zip(right_items.iter()));
                }
                true
            }
            (Value::Object(left_members), Value::Object(right_members)) => {
                if left_members.len() != right_members.len() {
                    return false;
                }
                if !self.is_new(left, right) {
                    return true;
                }
                if left_members.shape() == right_members.shape() {
                    self.waiting.extend(left_members.values().iter().zip(right_members.values()));
                    return true;
                }
                for (key, value) in left_members.key_list().iter().zip(left_members.values()) {
                    match right_members.find(key.tag, &key.text) {
                        Some(other) => self.waiting.push((value, other)),
                        None => return false,
                    }
                }
                true
            }
            _ => false,
        }
    }

    /// Whether this pair of containers still has to be looked into.
    ///
    /// A pair that was looked into before is equal or the whole comparison fails anyway.
    fn is_new(&mut self, left: &Value, right: &Value) -> bool {
        let (Some(left), Some(right)) = (left.container_address(), right.container_address()) else {
            return true;
        };
        if left == right {
            return false;
        }
        self.pairs += 1;
        self.pairs <= COMPARE_UNREMEMBERED_PAIRS_MAX || self.seen.insert((left, right))
    }
}

impl PartialEq for Array {
    fn eq(&self, other: &Array) -> bool {
        Value::Array(self.clone()) == Value::Array(other.clone())
    }
}

impl Eq for Array {}

impl PartialEq for Object {
    /// Same members in any order.
    fn eq(&self, other: &Object) -> bool {
        Value::Object(self.clone()) == Value::Object(other.clone())
    }
}

impl Eq for Object {}

impl PartialEq<str> for Value {
    fn eq(&self, other: &str) -> bool {
        self.as_str() == Some(other)
    }
}

impl PartialEq<&str> for Value {
    fn eq(&self, other: &&str) -> bool {
        self.as_str() == Some(*other)
    }
}

impl PartialEq<bool> for Value {
    fn eq(&self, other: &bool) -> bool {
        self.as_bool() == Some(*other)
    }
}

macro_rules! equal_to_integers {
    ($($integer:ty),+) => {$(
        impl PartialEq<$integer> for Value {
            /// Exactly this integer: `1.0` is another number.
            fn eq(&self, other: &$integer) -> bool {
                self.as_number().is_some_and(|number| *number == Number::from(*other))
            }
        }
    )+};
}
equal_to_integers!(i32, i64, u32, u64, usize);
