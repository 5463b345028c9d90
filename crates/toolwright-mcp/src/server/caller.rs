//! Who calls: what the transport found out about a client, and what every call of theirs carries.

use toolwright::{Context, Text, Value};

/// A client as the host knows it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Caller {
    /// Who it is: the subject of a token, or the name of a configured one; empty when nobody said.
    pub principal: Text,
    /// What it may see: the name of an audience of the offer; empty = the default one.
    pub audience: Text,
}

impl Caller {
    /// A caller of that name and audience; either may be empty.
    pub fn new(principal: impl Into<Text>, audience: impl Into<Text>) -> Self {
        Self { principal: principal.into(), audience: audience.into() }
    }

    /// The context of every call that this client makes.
    pub(crate) fn context(&self) -> Context {
        if *self == Self::default() {
            return Context::default();
        }
        let caller = Value::object([("principal", Value::from(self.principal.clone())), ("audience", Value::from(self.audience.clone()))]);
        Context::new(Value::object([("caller", caller)]))
    }
}
