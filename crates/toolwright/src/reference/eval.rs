//! Walks a compiled plan over real values. Copies nothing: what it gives are
//! shared values, whatever their size.

use super::template::{Hop, Plan, RefPlan, Source};
use crate::value::{Object, Text, Value};

/// The values a step can refer to.
pub(crate) struct Values<'a> {
    pub(crate) input: Option<&'a Value>,
    pub(crate) outputs: &'a [Option<Value>],
}

/// A reference whose path ended early.
pub(crate) struct Missing<'p> {
    pub(crate) reference: &'p RefPlan,
    /// Segments that were found before the missing one.
    pub(crate) found: usize,
    /// The value in which the next segment was looked for; none when the root itself has no value.
    pub(crate) stopped_at: Option<Value>,
}

impl Plan {
    /// The arguments this plan gives over `values`. `scratch` is working space that keeps its room between calls.
    pub(crate) fn render<'p>(&'p self, values: &Values<'_>, scratch: &mut Vec<Value>) -> Result<Value, Missing<'p>> {
        match self {
            Self::Literal(value) => Ok(value.clone()),
            Self::Reference(reference) => reference.walk(values)?.ok_or(Missing { reference, found: 0, stopped_at: None }),
            Self::Object { shape, members, may_omit: false } => {
                let start = scratch.len();
                for member in members {
                    let value = member.render(values, scratch)?;
                    scratch.push(value);
                }
                Ok(Object::from_shape(shape.clone(), scratch.drain(start..)).into())
            }
            Self::Object { shape, members, may_omit: true } => {
                let mut pairs: Vec<(Text, Value)> = Vec::with_capacity(members.len());
                for (key, member) in shape.keys().zip(members) {
                    if let Some(value) = member.render_or_omit(values, scratch)? {
                        pairs.push((key.clone(), value));
                    }
                }
                Ok(Value::object(pairs))
            }
            Self::Array(items) => {
                let mut rendered = Vec::with_capacity(items.len());
                for item in items {
                    rendered.extend(item.render_or_omit(values, scratch)?);
                }
                Ok(Value::array(rendered))
            }
        }
    }

    fn render_or_omit<'p>(&'p self, values: &Values<'_>, scratch: &mut Vec<Value>) -> Result<Option<Value>, Missing<'p>> {
        match self {
            Self::Reference(reference) => reference.walk(values),
            other => other.render(values, scratch).map(Some),
        }
    }
}

impl RefPlan {
    /// The value, or none when it is missing and may be.
    fn walk(&self, values: &Values<'_>) -> Result<Option<Value>, Missing<'_>> {
        let root = match self.source {
            Source::Input => values.input,
            Source::Step(position) => values.outputs.get(position).and_then(Option::as_ref),
            Source::Null => Some(&Value::Null),
            Source::Nothing => None,
        };
        let Some(mut at) = root else {
            return self.missing(0, None);
        };
        for (found, hop) in self.path.iter().enumerate() {
            match hop.take(at) {
                Some(next) => at = next,
                None if hop.length && matches!(at, Value::Array(_)) && found + 1 == self.path.len() => {
                    return Ok(at.as_array().map(|items| Value::from(items.len())));
                }
                None => return self.missing(found, Some(at)),
            }
        }
        Ok(Some(at.clone()))
    }

    #[cold]
    fn missing(&self, found: usize, at: Option<&Value>) -> Result<Option<Value>, Missing<'_>> {
        if self.optional {
            return Ok(None);
        }
        Err(Missing { reference: self, found, stopped_at: at.cloned() })
    }
}

impl Hop {
    fn take<'v>(&self, value: &'v Value) -> Option<&'v Value> {
        match value {
            Value::Object(object) => object.get_hinted(self.key.as_ref()?, &self.hint),
            Value::Array(_) => value.as_array()?.get(self.index? as usize),
            _ => None,
        }
    }
}
