//! A schema as a union of branches, one kind of value each, whose members are read only when somebody asks.

use std::sync::Arc;

use super::document::Place;
use super::leaf::Leaf;
use crate::value::{Text, Value};

/// All of these hold; none at all is anything.
pub(super) type Conj = Vec<Item>;

/// One schema of a conjunction.
#[derive(Clone)]
pub(super) enum Item {
    Place(Place),
    /// What a mapping makes.
    Made(Arc<Node>),
}

impl Item {
    /// Whether both mean the same.
    pub(super) fn same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Place(one), Self::Place(other)) => one.same(other),
            (Self::Made(one), Self::Made(other)) => Arc::ptr_eq(one, other),
            _ => false,
        }
    }
}

/// A set of values: those that match at least one branch.
#[derive(Clone, Default)]
pub(crate) struct Node {
    pub(super) branches: Vec<Branch>,
}

/// Values of one sort.
#[derive(Clone)]
pub(super) struct Branch {
    pub(super) shape: Shape,
    /// Whether the branch is all that is meant. Otherwise what is meant is a part of it.
    pub(super) exact: bool,
}

/// What a branch holds.
#[derive(Clone)]
pub(super) enum Shape {
    /// Everything: nothing is said.
    Any,
    /// These values, and no others.
    Values(Vec<Value>),
    Scalars(Box<Scalars>),
    /// Objects for which all parts hold.
    Object(Vec<Part>),
    /// Arrays for which all parts hold.
    Array(Vec<Items>),
}

/// Values without members.
#[derive(Clone, Default)]
pub(super) struct Scalars {
    pub(super) null: bool,
    pub(super) yes: bool,
    pub(super) no: bool,
    pub(super) number: Option<Leaf>,
    pub(super) string: Option<Leaf>,
}

impl Scalars {
    pub(super) fn is_empty(&self) -> bool {
        !self.null && !self.yes && !self.no && self.number.is_none() && self.string.is_none()
    }
}

/// What one schema says of an object.
#[derive(Clone)]
pub(super) enum Part {
    Schema(Place),
    /// What a mapping makes: these members and no others.
    Made(Arc<Vec<Made>>),
}

/// A member that a mapping makes.
pub(super) struct Made {
    pub(super) key: Text,
    pub(super) node: Arc<Node>,
    /// It is left out when its value is missing.
    pub(super) optional: bool,
}

/// What one schema says of an array.
#[derive(Clone)]
pub(super) enum Items {
    Schema(Place),
    /// What a mapping makes: exactly these.
    Made(Arc<Vec<Arc<Node>>>),
}

impl Node {
    /// Nothing is said of it.
    pub(super) fn any() -> Self {
        Self { branches: vec![Branch { shape: Shape::Any, exact: true }] }
    }

    /// Something, and nobody knows what.
    pub(super) fn unknown() -> Self {
        Self { branches: vec![Branch { shape: Shape::Any, exact: false }] }
    }

    pub(super) fn never() -> Self {
        Self::default()
    }

    pub(super) fn values(values: Vec<Value>) -> Self {
        if values.is_empty() { Self::never() } else { Self { branches: vec![Branch { shape: Shape::Values(values), exact: true }] } }
    }

    pub(super) fn is_any(&self) -> bool {
        self.branches.iter().any(|branch| branch.exact && matches!(branch.shape, Shape::Any))
    }

    pub(super) fn is_never(&self) -> bool {
        self.branches.is_empty()
    }

    /// Either this or the other.
    pub(super) fn or(mut self, mut other: Self) -> Self {
        if self.is_any() {
            return self;
        }
        if other.is_any() {
            return other;
        }
        self.branches.append(&mut other.branches);
        self
    }

    /// The same, said to be more than what is meant.
    pub(super) fn roughly(mut self) -> Self {
        self.branches.iter_mut().for_each(|branch| branch.exact = false);
        self
    }
}

/// Whether something is so, as far as it can be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tri {
    No,
    Unknown,
    Yes,
}

impl Tri {
    pub(super) fn of(known: bool) -> Self {
        if known { Self::Yes } else { Self::No }
    }

    pub(super) fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::No, _) | (_, Self::No) => Self::No,
            (Self::Yes, Self::Yes) => Self::Yes,
            _ => Self::Unknown,
        }
    }

    pub(super) fn or(self, other: Self) -> Self {
        match (self, other) {
            (Self::Yes, _) | (_, Self::Yes) => Self::Yes,
            (Self::No, Self::No) => Self::No,
            _ => Self::Unknown,
        }
    }

    /// The same where a yes proves nothing.
    pub(super) fn at_most_unknown(self) -> Self {
        if self == Self::Yes { Self::Unknown } else { self }
    }

    /// The same where a no proves nothing.
    pub(super) fn at_least_unknown(self) -> Self {
        if self == Self::No { Self::Unknown } else { self }
    }
}
