//! Outputs for steps that a dry run does not execute.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::PoisonError;

use crate::value::{Text, Value};

/// Outputs by step name, or by `outer/inner` for a rehearsal. A key with `null` counts as given. In the key of a
/// rehearsal, a `/` or `%` of a step's own name is written `%2F` or `%25`.
///
/// Given to [`Invocation::dry`](crate::Invocation::dry) and [`rehearse`](crate::Invocation::rehearse).
///
/// ```
/// use toolwright::{Invocation, StepOutputs, json};
/// let outputs = StepOutputs::new().with("mail", json!({ "id": 7 })).with("log", json!(null));
/// let rehearsal = Invocation::new("notify", json!({ "to": "ann" })).dry(outputs);
/// ```
#[derive(Debug, Default)]
pub struct StepOutputs {
    outputs: BTreeMap<Text, Value>,
    used: Mutex<std::collections::BTreeSet<Text>>,
}

impl StepOutputs {
    /// No outputs.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the output of one step.
    #[must_use]
    pub fn with(mut self, step: impl Into<Text>, output: impl Into<Value>) -> Self {
        self.outputs.insert(step.into(), output.into());
        self
    }

    /// The output for a step; remembers that it was asked for.
    pub(crate) fn take(&self, step: &str) -> Option<&Value> {
        let (key, output) = self.outputs.get_key_value(step)?;
        self.used.lock().unwrap_or_else(PoisonError::into_inner).insert(key.clone());
        Some(output)
    }

    /// The given key that looks most like `step`, which has no output, and that no step has asked for.
    pub(crate) fn nearest(&self, step: &str) -> Option<&str> {
        let used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        crate::nearest::nearest(step, self.outputs.keys().filter(|key| !used.contains(*key)).map(Text::as_str))
    }

    /// Keys that no step asked for.
    pub(crate) fn unused(&self) -> Vec<Text> {
        let used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        self.outputs.keys().filter(|key| !used.contains(*key)).cloned().collect()
    }
}

impl<K: Into<Text>, V: Into<Value>> FromIterator<(K, V)> for StepOutputs {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(pairs: I) -> Self {
        Self { outputs: pairs.into_iter().map(|(key, value)| (key.into(), value.into())).collect(), used: Mutex::default() }
    }
}

impl Clone for StepOutputs {
    fn clone(&self) -> Self {
        Self { outputs: self.outputs.clone(), used: Mutex::default() }
    }
}
