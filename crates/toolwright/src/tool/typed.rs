//! Tools over Rust types: schemas from the types, serde at both ends.

use std::future::Future;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::{Answer, BoxFuture, Handler, ToolBuilder, ToolDef, ToolError};
use crate::frame::Call;
use crate::runtime::{Rt, Runtime};
use crate::value::Value;

/// The arguments of a tool that takes none.
///
/// ```
/// use toolwright::{NoInput, tool};
/// let nine = tool("nine", "Always nine").reads().run_sync(|_: NoInput, _| Ok(9));
/// assert!(nine.input_schema().is_some());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(description = "No arguments.")]
pub struct NoInput {}

/// A tool as a type: for tools with state, or with many hooks. `async fn execute` is fine in the implementation.
///
/// ```
/// use toolwright::{Call, Registry, Tool, ToolBuilder, ToolError, tool};
/// # use schemars::JsonSchema;
/// # use serde::Deserialize;
/// struct Greeter { greeting: String }
/// #[derive(Deserialize, JsonSchema)]
/// struct Guest { name: String }
/// impl Tool for Greeter {
///     type Input = Guest;
///     type Output = String;
///     fn define(&self) -> ToolBuilder {
///         tool("greet", "Greets a guest").reads()
///     }
///     async fn execute(&self, guest: Guest, _call: Call) -> Result<String, ToolError> {
///         Ok(format!("{}, {}", self.greeting, guest.name))
///     }
/// }
/// let mut registry = Registry::new();
/// registry.add(Greeter { greeting: "Good day".into() })?;
/// # Ok::<(), toolwright::RegisterError>(())
/// ```
pub trait Tool<R: Runtime = Rt>: Send + Sync + Sized + 'static {
    /// The arguments; an object.
    type Input: DeserializeOwned + JsonSchema + Send + 'static;
    /// The output.
    type Output: Serialize + JsonSchema + Send + 'static;

    /// The declaration. Read once, at registration.
    fn define(&self) -> ToolBuilder<R>;

    /// Runs the tool once.
    ///
    /// # Errors
    /// A [`ToolError`] says in its own words what went wrong.
    fn execute(&self, input: Self::Input, call: Call<R>) -> impl Future<Output = Result<Self::Output, ToolError>> + Send;
}

/// The declaration of a typed tool.
pub(crate) fn define<R: Runtime, T: Tool<R>>(tool: T) -> ToolDef<R> {
    tool.define().typed::<T::Input, T::Output>().handler(Typed(tool))
}

struct Typed<T>(T);

impl<R: Runtime, T: Tool<R>> Handler<R> for Typed<T> {
    fn handle<'a>(&'a self, value: Value, call: Call<R>) -> BoxFuture<'a, Result<Answer, ToolError>> {
        Box::pin(async move { answer(&self.0.execute(input(&value)?, call).await?) })
    }
}

pub(super) fn input<I: DeserializeOwned>(value: &Value) -> Result<I, ToolError> {
    value.deserialize().map_err(|error| {
        ToolError::new(format!("the arguments do not fit the tool's input type: {error}")).code("invalid_input").nothing_happened()
    })
}

pub(super) fn answer<O: Serialize>(output: &O) -> Result<Answer, ToolError> {
    match Value::from_serialize(output) {
        Ok(value) => Ok(Answer::new(value)),
        Err(error) => Err(ToolError::unusable_output(error.to_string())),
    }
}

pub(super) struct JsonFn<F>(pub(super) F);

impl<R, F, Fut, A> Handler<R> for JsonFn<F>
where
    R: Runtime,
    F: Fn(Value, Call<R>) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<A, ToolError>> + Send + 'static,
    A: Into<Answer> + 'static,
{
    fn handle<'a>(&'a self, input: Value, call: Call<R>) -> BoxFuture<'a, Result<Answer, ToolError>> {
        let running = (self.0)(input, call);
        Box::pin(async move { running.await.map(Into::into) })
    }
}
