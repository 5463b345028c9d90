//! What a program that declares tools needs, in one line: `use toolwright::prelude::*;`.
//!
//! The derives of `serde` and `schemars` are among it; a program that uses them has both crates among its dependencies.

pub use schemars::JsonSchema;
pub use serde::{Deserialize, Serialize};

pub use crate::{
    Access, AsDecision, Call, CallError, Catalog, Composite, Decision, Effect, Impact, Invocation, Lifecycle, ModelField, NoInput, Options,
    Phase, Policy, Protocol, Refusal, Registry, Rt, Rule, Runtime, Tool, ToolBuilder, ToolDef, ToolError, ToolResult, Value, json, tool,
};
