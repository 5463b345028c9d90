//! Walks a compiled plan over real values. Copies nothing: what it gives are
//! shared values, whatever their size.

use super::template::{Hop, ObjectKind, Plan, RefPlan, Source};
use crate::value::{Object, Text, Value};

/// The values a step can refer to.
#[derive(Clone, Copy)]
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

type Rendered<'p, T> = Result<T, Box<Missing<'p>>>;

/// Members of a flat object that are gathered on the stack; more go to the heap.
const GATHERED_ON_STACK: usize = 8;

static NULL: Value = Value::Null;

impl Plan {
    /// The arguments this plan gives over `values`.
    pub(crate) fn render<'p>(&'p self, values: Values<'_>) -> Rendered<'p, Value> {
        let mut value = Value::Null;
        self.render_into(values, &mut value)?;
        Ok(value)
    }

    /// As [`Plan::render`], into the place where the value is needed.
    pub(crate) fn render_into<'p>(&'p self, values: Values<'_>, into: &mut Value) -> Rendered<'p, ()> {
        *into = match self {
            Self::Literal(value) => value.clone(),
            Self::Reference(reference) => match reference.value(values)? {
                Some(value) => value,
                None => return Err(Box::new(reference.missing(values))),
            },
            Self::Object { shape, members, kind: ObjectKind::Flat } if members.len() <= GATHERED_ON_STACK => {
                let mut gathered = [&NULL; GATHERED_ON_STACK];
                for (slot, member) in gathered.iter_mut().zip(members) {
                    *slot = member.standing(values)?;
                }
                let gathered = gathered.get(..members.len()).unwrap_or_default();
                Object::from_shape_of(shape.clone(), gathered).into()
            }
            Self::Object { shape, members, kind: ObjectKind::Flat } => {
                let mut gathered = Vec::with_capacity(members.len());
                for member in members {
                    gathered.push(member.standing(values)?);
                }
                Object::from_shape_of(shape.clone(), &gathered).into()
            }
            Self::Object { shape, members, kind: ObjectKind::Nested } => {
                let mut rendered = Vec::with_capacity(members.len());
                for member in members {
                    rendered.push(member.render(values)?);
                }
                Object::from_shape(shape.clone(), rendered.into_iter()).into()
            }
            Self::Object { shape, members, kind: ObjectKind::MayOmit } => {
                let mut pairs: Vec<(Text, Value)> = Vec::with_capacity(members.len());
                for (key, member) in shape.keys().zip(members) {
                    if let Some(value) = member.render_or_omit(values)? {
                        pairs.push((key.clone(), value));
                    }
                }
                Value::object(pairs)
            }
            Self::Array(items) => {
                let mut rendered = Vec::with_capacity(items.len());
                for item in items {
                    rendered.extend(item.render_or_omit(values)?);
                }
                Value::array(rendered)
            }
        };
        Ok(())
    }

    /// The value of a member of a flat object, where it stands.
    #[inline]
    fn standing<'p, 'v>(&'p self, values: Values<'v>) -> Rendered<'p, &'v Value>
    where
        'p: 'v,
    {
        match self {
            Self::Literal(value) => Ok(value),
            Self::Reference(reference) => reference.find(values).ok_or_else(|| Box::new(reference.missing(values))),
            // A flat object has no such members.
            Self::Object { .. } | Self::Array(_) => Ok(&NULL),
        }
    }

    fn render_or_omit<'p>(&'p self, values: Values<'_>) -> Rendered<'p, Option<Value>> {
        match self {
            Self::Reference(reference) => reference.value(values),
            other => other.render(values).map(Some),
        }
    }
}

impl RefPlan {
    #[inline]
    fn root<'v>(&self, values: Values<'v>) -> Option<&'v Value> {
        match self.source {
            Source::Input => values.input,
            Source::Step(position) => values.outputs.get(position).and_then(Option::as_ref),
            Source::Null => Some(&NULL),
            Source::Nothing => None,
        }
    }

    /// The value where it stands.
    #[inline]
    fn find<'v>(&self, values: Values<'v>) -> Option<&'v Value> {
        let mut at = self.root(values)?;
        for hop in &self.path {
            at = hop.take(at)?;
        }
        Some(at)
    }

    /// The value, none when it is missing and may be.
    fn value(&self, values: Values<'_>) -> Rendered<'_, Option<Value>> {
        if let Some(found) = self.find(values) {
            return Ok(Some(found.clone()));
        }
        let missing = self.missing(values);
        let last = self.path.last().filter(|_| missing.found + 1 == self.path.len());
        match (&missing.stopped_at, last) {
            (Some(Value::Array(items)), Some(hop)) if hop.length => Ok(Some(Value::from(items.as_slice().len()))),
            _ if self.optional => Ok(None),
            _ => Err(Box::new(missing)),
        }
    }

    /// Where the path ended. Only asked when it did.
    #[cold]
    fn missing(&self, values: Values<'_>) -> Missing<'_> {
        let mut at = self.root(values);
        let mut found = 0;
        for hop in &self.path {
            match at.and_then(|value| hop.take(value)) {
                Some(next) => (at, found) = (Some(next), found + 1),
                None => break,
            }
        }
        Missing { reference: self, found, stopped_at: at.cloned() }
    }
}

impl Hop {
    #[inline]
    fn take<'v>(&self, value: &'v Value) -> Option<&'v Value> {
        match value {
            Value::Object(object) => object.find_hinted(self.tag, self.key.as_ref()?, &self.hint),
            Value::Array(items) => items.as_slice().get(self.index? as usize),
            _ => None,
        }
    }
}
