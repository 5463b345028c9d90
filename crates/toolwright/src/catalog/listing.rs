//! What a catalogue says of its tools: to a model, to a page, to a program. Judges availability for the listing and for
//! a selection only; the call judges again.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::View;
use super::view::{Registered, Said};
use crate::call::quietly;
use crate::error::{CallError, EffectState, Fault};
use crate::fingerprint::{Fingerprint, Hasher};
use crate::lifecycle::{IntentSpec, guarded};
use crate::limits;
use crate::protocol::{Protocol, ProtocolSet};
use crate::refusal::Refusal;
use crate::runtime::Runtime;
use crate::schema::{CompiledSchema, SchemaIssue};
use crate::tool::{Effect, Impact};
use crate::value::{Text, Value};

/// The audience that is a model.
const MODEL: &str = "model";

/// What can be told of a tool. Plain data, the same bytes for the same tools in every process.
///
/// ```
/// use toolwright::{Effect, Registry, ToolSummary, json, tool};
/// let echo = tool("echo", "Gives back what it gets").reads().run_json(|v, _| async move { Ok(v) });
/// let catalog = Registry::new().with(echo)?.seal();
/// let listed = catalog.describe(Some("model"), None);
/// assert_eq!(listed[0].effect, Some(Effect::read()));
/// let page = serde_json::to_string(&listed)?;
/// assert_eq!(serde_json::from_str::<Vec<ToolSummary>>(&page)?, listed);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ToolSummary {
    /// Id.
    pub id: Text,
    /// The host's word for what sort of tool it is.
    pub kind: Text,
    /// What it does.
    pub description: Text,
    /// To whom it is described.
    pub audience: Text,
    /// The effect that counts; none when it declares nothing.
    pub effect: Option<Effect>,
    /// The goals it serves, of those there are now.
    pub goal_ids: Vec<Text>,
    /// JSON Schema of the arguments.
    pub input_schema: Value,
    /// Of a composite, the tool of each step, in order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steps: Option<Vec<Text>>,
    /// Of a composite, the effects it can have, flat over nested composites.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effects: Option<Vec<EffectSummary>>,
    /// Of a composite, how many more effects it can have than are listed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub effects_left_out: usize,
}

/// One effect that a composite can have.
///
/// ```
/// use toolwright::{Composite, Policy, Registry, json, tool};
/// let mut registry = Registry::with_policy(Policy::new().may_chain(["mail"]));
/// registry.register(tool("mail", "Sends a mail").writes().run_json(|v, _| async move { Ok(v) }))?;
/// registry.register(Composite::new("digest", "Mails").step("send", "mail", json!({})))?;
/// let digest = registry.describe(None, None).pop().ok_or("it was registered")?;
/// let effect = &digest.effects.ok_or("it is a composite")?[0];
/// assert_eq!((effect.path[0].as_str(), effect.tool.as_str()), ("send", "mail"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct EffectSummary {
    /// Names of the steps that lead to it, outermost first.
    pub path: Vec<Text>,
    /// The tool that has it.
    pub tool: Text,
    /// Its class; none when the tool declares nothing.
    pub class: Option<Text>,
    /// What a second run would do; none when the tool declares nothing.
    pub impact: Option<Impact>,
}

fn is_zero(count: &usize) -> bool {
    *count == 0
}

impl<R: Runtime> View<R> {
    /// What can be told of the tools, in the order of registration; of one audience, or of all.
    ///
    /// A tool whose being available depends on the context is listed only for a context in which it is. One that the
    /// host hides is not listed. See [`View::definitions`] for all of them.
    pub fn describe(&self, audience: Option<&str>, cx: Option<&R::Context>) -> Vec<ToolSummary> {
        let mut said = Said::default();
        let listed = |entry: &&Registered<R>| {
            audience.is_none_or(|audience| entry.audience() == audience)
                && !entry.is_hidden()
                && cx.map_or_else(|| !entry.is_conditional(), |cx| said.offers(entry, cx))
        };
        let mut goals = None;
        let entries = self.entries.iter().filter(listed);
        entries
            .map(|entry| self.summary(entry, goals.get_or_insert_with(|| quietly(|| self.current_goals()).unwrap_or_default())))
            .collect()
    }

    fn summary(&self, entry: &Registered<R>, goals: &[Text]) -> ToolSummary {
        let def = &entry.tool.0;
        let composite = entry.composite();
        let effect = |effect: &crate::composite::StepEffect| EffectSummary {
            path: effect.path.clone(),
            tool: effect.tool.clone(),
            class: effect.effect.as_ref().map(|effect| effect.class.clone()),
            impact: effect.effect.as_ref().map(|effect| effect.impact),
        };
        ToolSummary {
            id: def.name.clone(),
            kind: def.kind.clone(),
            description: def.description.clone(),
            audience: def.audience.clone(),
            effect: def.effect.clone(),
            goal_ids: self.goals_of(&entry.tool, goals),
            input_schema: entry.protocol.schema.clone(),
            steps: composite.map(|composite| composite.spec().steps.iter().map(|step| step.tool.clone()).collect()),
            effects: composite.map(|composite| composite.effects().iter().map(effect).collect()),
            effects_left_out: composite.map_or(0, |composite| composite.effects_left_out()),
        }
    }

    /// Every protocol there is: the outputs, then one of each tool, in their orders. Neither availability nor audience
    /// plays a part. A tool with a delegate has one protocol, under its id.
    pub fn protocols(&self) -> ProtocolSet {
        ProtocolSet(self.fixed_outputs().chain(self.entries.iter().map(|entry| &entry.protocol)).cloned().collect())
    }

    /// The protocols that a model may choose from in this context: the outputs, those of
    /// [`crate::Options::model_outputs`], then the available tools for a model. A context's output with the id of
    /// another stands in its place, and in place of a tool that a session forged and named so. A tool that the host hides is
    /// not among them.
    ///
    /// # Errors
    /// `protocol_conflict` when a context's output has the id or delegate of a tool of the host's; `hook_failed` when the port panics,
    /// or gives one id twice.
    pub fn model_protocols(&self, cx: &R::Context) -> Result<ProtocolSet, CallError> {
        let mut protocols: Vec<Arc<Protocol>> = self.fixed_outputs().cloned().collect();
        let mut taken = Vec::new();
        if let Some(port) = &self.options.model_outputs {
            let more = guarded("model_outputs", || Ok(port(cx))).map_err(|refusal| self.broken("model_outputs", refusal))?;
            taken = self.merge(&mut protocols, more)?;
        }
        let mut said = Said::default();
        let offered = |entry: &&Registered<R>| {
            entry.audience() == MODEL && !entry.is_hidden() && !taken.contains(&entry.index) && said.offers(entry, cx)
        };
        protocols.extend(self.entries.iter().filter(offered).map(|entry| entry.protocol.clone()));
        Ok(ProtocolSet(protocols))
    }

    /// Gives back the positions of forged tools whose names the outputs take.
    fn merge(&self, protocols: &mut Vec<Arc<Protocol>>, more: Vec<Protocol>) -> Result<Vec<usize>, CallError> {
        let mut ids: Vec<Text> = Vec::with_capacity(more.len());
        let mut taken = Vec::new();
        for output in more {
            let owners = [self.delegates.get(&output.id), self.index.get(&output.id)];
            let owners = || owners.iter().flatten().filter_map(|at| self.entries.get(**at));
            taken.extend(owners().map(|owner| owner.index));
            if owners().any(|owner| owner.tool.0.health.is_none()) {
                return Err(CallError::from(Fault::ProtocolConflict { id: output.id }).with_public_code(self));
            }
            if ids.contains(&output.id) {
                let message = format!("two outputs for the model have the id `{}`", crate::cut(&output.id, 80));
                return Err(self.broken("model_outputs", Refusal::new("output_twice", message)));
            }
            ids.push(output.id.clone());
            match protocols.iter_mut().find(|known| known.id == output.id) {
                Some(known) => *known = Arc::new(output),
                None => protocols.push(Arc::new(output)),
            }
        }
        Ok(taken)
    }

    fn fixed_outputs(&self) -> impl Iterator<Item = &Arc<Protocol>> {
        self.outputs.iter().map(|(output, _)| output)
    }

    /// Whether a turn is over with the tool of this id or delegate, or with this output. An id that nobody has is not
    /// terminal.
    pub fn is_terminal(&self, id: &str) -> bool {
        match self.claimed(id) {
            Some(entry) => entry.protocol.terminal,
            None => self.output_protocol(id).is_some_and(|output| output.terminal),
        }
    }

    /// The available tools that are offered as intents, each with its intent, in the order of registration.
    pub fn intents(&self, cx: &R::Context) -> Vec<(&str, &IntentSpec)> {
        let mut said = Said::default();
        let mut offered = |entry: &Registered<R>| !entry.is_hidden() && said.offers(entry, cx);
        self.entries
            .iter()
            .filter_map(|entry| Some((entry, entry.tool.0.intent.as_ref()?)))
            .filter(|(entry, _)| offered(entry))
            .map(|(entry, intent)| (entry.id(), intent))
            .collect()
    }

    /// Hash of every declaration and output, in order: of two views with one fingerprint either can stand for the other,
    /// as far as declarations tell.
    pub fn fingerprint(&self) -> Fingerprint {
        self.sealed_fingerprint().unwrap_or_else(|| self.hashed())
    }

    /// The same, of what is sealed.
    pub(crate) fn sealed_fingerprint(&self) -> Option<Fingerprint> {
        let made = self.fingerprint.as_ref()?;
        // Two that ask at once both make it: no reader waits for another.
        Some(made.get().copied().unwrap_or_else(|| {
            let hash = self.hashed();
            let _ = made.set(hash);
            hash
        }))
    }

    fn hashed(&self) -> Fingerprint {
        let mut hasher = Hasher::new();
        for output in self.fixed_outputs() {
            hasher.text(&output.id);
            hasher.text(&output.description);
            hasher.value(Some(&output.schema));
            hasher.text(if output.terminal { "terminal output" } else { "output" });
        }
        hasher.text("tools");
        self.entries.iter().for_each(|entry| hasher.fingerprint(entry.fingerprint()));
        hasher.done()
    }

    /// What a model's raw arguments for a tool become: checked against the schema, then handed to the tool's `resolve`
    /// hook if it has one. Those for an output are checked alone. `null` counts as no arguments. Nothing is authorized, run or recorded, and a call judges
    /// everything again.
    ///
    /// # Errors
    /// `unavailable`, `forbidden`, `suspended`, `value_too_large`, `invalid_input`, or `selection_rejected` when `resolve`
    /// refuses.
    pub fn select(&self, id: &str, raw: Value, cx: &R::Context) -> Result<Value, CallError> {
        if self.get(id).is_none()
            && let Some(output) = self.output_protocol(id)
        {
            return self.fits(output, raw.clone()).map(|()| raw);
        }
        let entry = self.require(id)?;
        self.admit_available(entry, cx)?;
        let input = Self::parsed(entry, raw, self.options.policy.limits.value_bytes_max).map_err(|error| error.with_public_code(self))?;
        let Some(hooks) = &entry.tool.0.hooks else { return Ok(input) };
        hooks.resolve(input, cx).map_err(|refusal| {
            let tool = entry.tool.0.name.clone();
            CallError::from(Fault::Rejected { tool, refusal }).with_public_code(self)
        })
    }

    /// Whether the arguments of a decision fit the output that it asks for.
    pub(super) fn fits(&self, output: &Protocol, arguments: Value) -> Result<(), CallError> {
        let made;
        let schema = match self.output_schema(&output.id).filter(|schema| *schema.source() == output.schema) {
            Some(schema) => schema,
            None => {
                made = CompiledSchema::new(output.schema.clone());
                &made
            }
        };
        let mut arguments = if arguments.is_null() { Value::object::<Text, Value>([]) } else { arguments };
        let invalid = |issues| Fault::InvalidInput { tool: output.id.clone(), issues, by_page: false };
        let fits = schema.prepare(&mut arguments, &mut Vec::new()).map_err(invalid);
        fits.map_err(|fault| CallError::from(fault).with_public_code(self))
    }

    /// Stage S4 of a call, for arguments that no call is made with.
    fn parsed(entry: &Registered<R>, raw: Value, max: u64) -> Result<Value, CallError> {
        let mut input = if raw.is_null() { Value::object::<Text, Value>([]) } else { raw };
        if input.weight() > max || input.depth() > limits::VALUE_DEPTH_MAX {
            let message = format!("would print as more than {max} bytes, or nest more than {} deep", limits::VALUE_DEPTH_MAX);
            return Err(Fault::TooLarge { what: "arguments", message, state: EffectState::NotStarted }.into());
        }
        let invalid = |issues| Fault::InvalidInput { tool: entry.tool.0.name.clone(), issues, by_page: false };
        match &entry.tool.0.input {
            Some(schema) => schema.prepare(&mut input, &mut Vec::new()).map_err(invalid)?,
            None if input.as_object().is_none() => {
                let message = format!("arguments are an object, and this is {}", input.kind());
                return Err(invalid(vec![SchemaIssue { pointer: String::new(), message }]).into());
            }
            None => {}
        }
        Ok(input)
    }
}
