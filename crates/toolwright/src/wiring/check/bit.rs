//! A part of a mapping, compiled or written down.

use crate::reference::template::Plan;
use crate::value::{Text, Value};

/// A part of a mapping.
#[derive(Clone)]
pub(super) enum Bit<'p> {
    Plan(&'p Plan),
    Literal(Value),
}

impl<'p> Bit<'p> {
    pub(super) fn members(&self) -> Option<Vec<(Text, Bit<'p>)>> {
        match self {
            Bit::Plan(Plan::Object { shape, members, .. }) => Some(shape.keys().cloned().zip(members.iter().map(Bit::Plan)).collect()),
            Bit::Plan(Plan::Literal(value)) => Bit::Literal(value.clone()).members(),
            Bit::Plan(_) => None,
            Bit::Literal(value) => {
                let members = value.as_object()?.iter();
                Some(members.map(|(key, member)| (key.clone(), Bit::Literal(member.clone()))).collect())
            }
        }
    }
}

impl Bit<'_> {
    /// Whether its place is left out when there is nothing, or it is nothing.
    pub(super) fn may_be_left_out(&self) -> bool {
        match self {
            Bit::Plan(Plan::Reference(reference)) => reference.optional,
            Bit::Plan(Plan::Literal(value)) | Bit::Literal(value) => value.is_null(),
            Bit::Plan(_) => false,
        }
    }

    pub(super) fn items(&self) -> Option<Vec<Bit<'_>>> {
        match self {
            Bit::Plan(Plan::Array(items)) => Some(items.iter().map(Bit::Plan).collect()),
            Bit::Plan(Plan::Literal(value)) | Bit::Literal(value) => {
                Some(value.as_array()?.iter().map(|item| Bit::Literal(item.clone())).collect())
            }
            Bit::Plan(_) => None,
        }
    }

    /// The value, when nothing in it comes from elsewhere.
    pub(super) fn value(&self) -> Option<Value> {
        match self {
            Bit::Literal(value) | Bit::Plan(Plan::Literal(value)) => Some(value.clone()),
            Bit::Plan(Plan::Reference(_)) => None,
            Bit::Plan(Plan::Object { .. }) => {
                let members = self.members()?.into_iter().map(|(key, member)| Some((key, member.value()?)));
                Some(Value::object(members.collect::<Option<Vec<_>>>()?))
            }
            Bit::Plan(Plan::Array(items)) => {
                Some(Value::array(items.iter().map(|item| Bit::Plan(item).value()).collect::<Option<Vec<_>>>()?))
            }
        }
    }
}
