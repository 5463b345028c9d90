//! What a run did, or would have done: one record an effect.

use crate::value::{Text, Value};

/// One effect of a run.
///
/// Read from a result, or from the error of a run that stopped half way.
///
/// ```
/// use toolwright::{Composite, EffectRecord, Invocation, Policy, Registry, StepOutputs, json, tool};
/// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
/// let send = tool("send", "Sends a mail").writes().run_json(|_, _call| async move { Ok(json!("sent")) });
/// let notify = Composite::new("notify", "Tells somebody").step("mail", "send", json!({ "to": "$input.who" }));
/// let catalog = Registry::with_policy(Policy::new().may_chain(["send"])).with(send)?.with(notify)?.seal();
/// let call = Invocation::new("notify", json!({ "who": "ann" })).dry(StepOutputs::new().with("mail", "sent"));
/// let result = catalog.invoke(call, ()).await?;
/// let Some(EffectRecord::WouldRun { step, arguments, .. }) = result.would_run().next() else { return Err("it would send".into()) };
/// assert_eq!((step.tool.as_str(), arguments), ("send", &json!({ "to": "ann" })));
/// # Ok::<(), Box<dyn std::error::Error>>(()) })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum EffectRecord {
    /// A step with side effects ran to the end.
    Ran(StepRecord),
    /// A dry run came to a step that it did not execute.
    WouldRun {
        /// The step.
        step: StepRecord,
        /// It is a composite of its own.
        nested: bool,
        /// The arguments it would have been given.
        arguments: Value,
    },
    /// A tool reported this itself.
    Reported(Value),
    /// So many more, after [`RUN_EFFECTS_MAX`](crate::limits::RUN_EFFECTS_MAX): nothing else is kept of them.
    LeftOut(u64),
}

/// Which step an effect belongs to.
///
/// Read from an [`EffectRecord`]; its page has an example.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct StepRecord {
    /// Name of the step.
    pub step: Text,
    /// Its position in its composite, from 0.
    pub index: usize,
    /// Name of its tool.
    pub tool: Text,
    /// Names of the steps of outer composites that lead to it, outermost first.
    pub via: Vec<Text>,
}

impl EffectRecord {
    /// The record as seen from one composite further out.
    pub(crate) fn under(mut self, outer: &Text) -> Self {
        if let Self::Ran(step) | Self::WouldRun { step, .. } = &mut self {
            step.via.insert(0, outer.clone());
        }
        self
    }

    /// The JSON form of `composition` results: `{kind: "step", step, stepIndex, tool, ran | wouldRun, …}`.
    pub fn to_value(&self) -> Value {
        let mut pairs: Vec<(Text, Value)> = match self {
            Self::Reported(value) => return value.clone(),
            Self::LeftOut(count) => return crate::json!({ "kind": "leftOut", "count": count }),
            Self::Ran(step) | Self::WouldRun { step, .. } => vec![
                (arcstr::literal!("kind"), "step".into()),
                (arcstr::literal!("step"), Value::String(step.step.clone())),
                (arcstr::literal!("stepIndex"), step.index.into()),
                (arcstr::literal!("tool"), Value::String(step.tool.clone())),
            ],
        };
        match self {
            Self::WouldRun { nested, arguments, .. } => {
                pairs.push((arcstr::literal!("wouldRun"), true.into()));
                if *nested {
                    pairs.push((arcstr::literal!("nested"), true.into()));
                }
                pairs.push((arcstr::literal!("args"), arguments.clone()));
            }
            _ => pairs.push((arcstr::literal!("ran"), true.into())),
        }
        if let Self::Ran(StepRecord { via, .. }) | Self::WouldRun { step: StepRecord { via, .. }, .. } = self
            && !via.is_empty()
        {
            pairs.push((arcstr::literal!("via"), Value::array(via.iter().cloned().map(Value::String))));
        }
        Value::object(pairs)
    }
}

/// Adds to the effects of a run as many as are kept.
pub(crate) fn gather(kept: &mut Vec<EffectRecord>, more: impl IntoIterator<Item = EffectRecord>) {
    for effect in more {
        let count = match (&effect, kept.last()) {
            (EffectRecord::LeftOut(count), _) => *count,
            (_, Some(EffectRecord::LeftOut(_))) => 1,
            _ if kept.len() >= crate::limits::RUN_EFFECTS_MAX => 1,
            _ => {
                kept.push(effect);
                continue;
            }
        };
        match kept.last_mut() {
            Some(EffectRecord::LeftOut(before)) => *before = before.saturating_add(count),
            _ => kept.push(EffectRecord::LeftOut(count)),
        }
    }
}

/// A list of effects in its JSON form.
pub(crate) fn to_list(effects: &[EffectRecord]) -> Value {
    Value::array(effects.iter().map(EffectRecord::to_value))
}
