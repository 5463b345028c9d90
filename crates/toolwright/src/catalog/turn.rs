//! One turn of an agent's loop: everything that a decision must go through, in the one right order. Calls what a host
//! could call itself; it has no way of its own to a tool.

use super::enter::Decided;
use std::sync::Arc;

use super::{Catalog, ToolResult};
use crate::composite::EffectRecord;
use crate::error::{CallError, Fault};
use crate::runtime::{IntoContext, Rt, Runtime};
use crate::value::Text;

/// How a turn ended that nothing stopped.
///
/// ```
/// use toolwright::{Decision, Phase, Registry, json, tool};
/// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
/// let stop = tool("stop", "Ends the talk").reads().terminal().run_json(|_, _| async move { Ok(json!("bye")) });
/// let catalog = Registry::new().with(stop)?.seal();
/// let turn = catalog.turn(Decision::new("stop", json!({})), &[Phase::After], ()).await?;
/// assert!(turn.terminal && !turn.resumed);
/// assert_eq!(turn.result.and_then(|result| result.output), Some(json!("bye")));
/// # Ok::<(), Box<dyn std::error::Error>>(()) })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[non_exhaustive]
pub struct Turn<R: Runtime = Rt> {
    /// The decision that was carried out: the given one, or what `complete` put in its place.
    pub decision: R::Decision,
    /// What the last tool that ran gave; none when none ran.
    pub result: Option<ToolResult>,
    /// What happened in it, in order: the effects of every tool that ran.
    pub effects: Vec<EffectRecord>,
    /// Whether the talk is over with it.
    pub terminal: bool,
    /// Whether the tool went on with what was begun.
    pub resumed: bool,
}

impl<R: Runtime> std::fmt::Debug for Turn<R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Turn")
            .field("invocation", &R::invocation_id(&self.decision))
            .field("result", &self.result)
            .field("effects", &self.effects)
            .field("terminal", &self.terminal)
            .field("resumed", &self.resumed)
            .finish()
    }
}

impl<R: Runtime> Catalog<R> {
    /// Carries out one decision, and leaves nothing out:
    ///
    /// 1. every tool inspects it ([`View::assert_decision`](crate::View::assert_decision));
    /// 2. a decision for an output must fit its schema, and goes to 6;
    /// 3. the tool is asked whether it resumes;
    /// 4. the tool is called, which authorizes it;
    /// 5. `complete` may put another decision in its place: one for another invocation goes to 1, and that at most as
    ///    often as [`crate::Options::limit_rewrites`] says;
    /// 6. `finalize` is asked once for each phase, also when 3, 4 or 5 failed.
    ///
    /// When 1 refuses the given decision, nothing else happens. `finalize` gets the last decision that was inspected
    /// and let pass. The reply is the host's: see [`View::finish`](crate::View::finish). A turn whose future is dropped
    /// asks no `finalize`; a host that must end one early cancels the call instead.
    ///
    /// # Errors
    /// The first of: what 1 to 5 ended with, `rewrite_loop`, `finalize_failed` with the failures of all phases. Its
    /// [`CallError::effects`] are those of the whole turn, so that nobody takes up again what has happened.
    pub async fn turn(&self, decision: R::Decision, phases: &[R::Phase], cx: impl IntoContext<R::Context>) -> Result<Turn<R>, CallError> {
        let cx: Arc<R::Context> = cx.into_context();
        self.assert_decision(&decision, &cx)?;
        let mut turn = Turn { decision, result: None, effects: Vec::new(), terminal: false, resumed: false };
        let outcome = self.carried_out(&mut turn, &cx).await;
        let mut failures = Vec::new();
        for phase in phases {
            self.finalize_into(&turn.decision, &cx, phase, &mut failures);
        }
        let output = turn.result.as_ref().and_then(|result| result.output.clone());
        match outcome.and_then(|()| self.finalized(failures, output)) {
            Ok(()) => Ok(turn),
            Err(error) => Err(Self::after(turn, error)),
        }
    }

    /// An error that ends a turn has the effects of the whole turn: those of tools that succeeded before it too.
    fn after(turn: Turn<R>, error: CallError) -> CallError {
        if turn.effects.is_empty() {
            return error;
        }
        let tool: Text = if error.tool().is_empty() { R::invocation_id(&turn.decision).into() } else { error.tool().into() };
        let mut effects = turn.effects;
        effects.extend(error.effects().iter().cloned());
        error.of_leaf(&tool, effects, false)
    }

    /// Steps 2 to 5, for a decision that was inspected. `turn.decision` is always one that was.
    async fn carried_out(&self, turn: &mut Turn<R>, cx: &Arc<R::Context>) -> Result<(), CallError> {
        let mut path: Vec<Text> = Vec::new();
        loop {
            let invocation = R::invocation_id(&turn.decision);
            if self.tool_for(invocation, cx).is_none()
                && let Some(output) = self.output_for(invocation, cx)
            {
                self.fits(&output, R::arguments(&turn.decision))?;
                turn.terminal = output.terminal;
                return Ok(());
            }
            path.push(invocation.into());
            turn.resumed = self.resume(&turn.decision, cx)?;
            let Some(entry) = self.claimed(invocation) else { return Err(self.not_found(invocation)) };
            let decided = Decided { decision: &turn.decision, resumes: turn.resumed };
            let result = self.decided(entry, decided, cx.clone()).await?;
            turn.effects.extend(result.effects.iter().cloned());
            turn.result = Some(result);
            turn.terminal = self.is_terminal(R::invocation_id(&turn.decision));
            let Some(rewritten) = self.complete(&turn.decision, cx)? else { return Ok(()) };
            if R::invocation_id(&rewritten) == R::invocation_id(&turn.decision) {
                turn.decision = rewritten;
                return Ok(());
            }
            // Every rewrite that was followed left its invocation in the path.
            if path.len() > usize::try_from(self.options.rewrites).unwrap_or(usize::MAX) {
                path.push(R::invocation_id(&rewritten).into());
                return Err(CallError::from(Fault::RewriteLoop { path }).with_public_code(self));
            }
            self.assert_decision(&rewritten, cx)?;
            turn.decision = rewritten;
        }
    }
}
