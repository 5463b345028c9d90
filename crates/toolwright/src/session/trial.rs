//! Trying a composite out, dry, before anybody can use it.

use std::sync::Arc;

use super::Session;
use super::error::{FailedTest, ForgeError, TestFailure};
use crate::catalog::{Catalog, Invocation};
use crate::composite::{Composite, StepOutputs};
use crate::runtime::{IntoContext, Runtime};
use crate::value::{Text, Value};

/// One dry run that a composite must pass before it is forged. Steps that have effects are not executed: their outputs
/// are given here. Steps that only read run for real.
///
/// ```
/// use toolwright::{ForgeTest, json};
/// let test = ForgeTest::new("sends the title", json!({ "topic": "ducks" }))
///     .output("send", json!({ "sent": true }))
///     .expects(json!({ "sent": true }));
/// assert_eq!(test.name(), "sends the title");
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct ForgeTest {
    name: Text,
    input: Value,
    outputs: StepOutputs,
    rehearse: bool,
    expected: Option<Value>,
}

impl ForgeTest {
    /// A test that passes when a dry run with this input succeeds.
    pub fn new(name: impl Into<Text>, input: impl Into<Value>) -> Self {
        Self { name: name.into(), input: input.into(), outputs: StepOutputs::new(), rehearse: false, expected: None }
    }

    /// What a step answers that is not executed.
    pub fn output(mut self, step: impl Into<Text>, output: impl Into<Value>) -> Self {
        self.outputs = self.outputs.with(step, output);
        self
    }

    /// Enters nested composites; outputs of their steps are named `outer/inner`.
    pub fn rehearse(mut self) -> Self {
        self.rehearse = true;
        self
    }

    /// The output that the run must give.
    pub fn expects(mut self, output: impl Into<Value>) -> Self {
        self.expected = Some(output.into());
        self
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    async fn failure<R: Runtime>(&self, candidate: &Catalog<R>, tool: &str, context: Arc<R::Context>) -> Option<TestFailure> {
        let invocation = Invocation::new(tool, self.input.clone());
        let outputs = self.outputs.clone();
        let invocation = if self.rehearse { invocation.rehearse(outputs) } else { invocation.dry(outputs) };
        match (candidate.invoke(invocation, context).await, &self.expected) {
            (Err(error), _) => Some(TestFailure::Call(error)),
            (Ok(result), Some(expected)) if result.output.as_ref() != Some(expected) => {
                Some(TestFailure::Output { expected: expected.clone(), output: result.output })
            }
            (Ok(_), _) => None,
        }
    }
}

impl<R: Runtime> Session<R> {
    /// Forges a composite that passes its tests. It is judged first, then every test runs in a catalogue that nobody else
    /// sees, and only when all have passed is it forged, and judged again if the session has changed meanwhile.
    ///
    /// ```
    /// use toolwright::{Composite, ForgeTest, Options, Registry, Session, json, tool};
    /// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
    /// let echo = tool("echo", "Echoes").reads().run_json(|input, _call| async move { Ok(input) });
    /// let session = Session::new(Registry::new().with(echo)?.seal(), Options::new())?;
    /// let twice = Composite::new("twice", "Echoes").step("a", "echo", json!({ "x": "$input.x" }));
    ///
    /// let wrong = vec![ForgeTest::new("adds one", json!({ "x": 1 })).expects(json!({ "x": 2 }))];
    /// let error = session.forge_tested(twice.clone(), wrong, ()).await.err().ok_or("it fails")?;
    /// assert_eq!(error.code(), "forge_test_failed");
    /// assert!(!session.catalog().has("twice"));
    ///
    /// let right = vec![ForgeTest::new("echoes", json!({ "x": 1 })).expects(json!({ "x": 1 }))];
    /// assert!(session.forge_tested(twice, right, ()).await?.has("twice"));
    /// # Ok::<(), Box<dyn std::error::Error>>(()) })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`ForgeError`]; nothing is forged then.
    pub async fn forge_tested(
        &self,
        composite: Composite<R>,
        tests: Vec<ForgeTest>,
        context: impl IntoContext<R::Context>,
    ) -> Result<Catalog<R>, ForgeError> {
        let context = context.into_context();
        // Ends: another round means that a tool which this one uses was replaced while the tests ran.
        loop {
            let candidate = self.candidate(&self.catalog(), composite.clone())?;
            let mut failed = Vec::new();
            for test in &tests {
                if let Some(failure) = test.failure(&candidate, composite.id(), context.clone()).await {
                    failed.push(FailedTest { name: test.name.clone(), failure });
                }
            }
            if !failed.is_empty() {
                return Err(ForgeError::Tests { tool: composite.id().into(), failed });
            }
            let tested = candidate.get(composite.id()).map(|entry| *entry.fingerprint());
            if let Some(catalog) = self.admit(&composite, tested)? {
                return Ok(catalog);
            }
        }
    }
}
