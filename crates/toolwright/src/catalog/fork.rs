//! Forking a run: a new one that has the results of an old one up to a step, and really runs from that step on.
//!
//! Copying takes many records, and the process may end between any two of them. INVARIANT: the root of a fork begins only
//! when every copy is there, and nobody but whoever makes sure of that may open a fork ([`RunRecord::same_run`]).

use std::collections::BTreeSet;
use std::sync::Arc;

use super::resume::{accepted_changes, current, not_theirs, theirs, unreadable};
use super::{Catalog, ResumeOptions, ToolResult, View};
use crate::call;
use crate::composite::{CompositeBody, StepSpec};
use crate::error::{CallError, EffectState, Fault};
use crate::frame::path::name_segment;
use crate::journal::{
    Admission, Begin, Claim, Finish, FinishMore, Forked, Journal, JournalError, JournalErrorKind, Last, Record, Resolution, RunHistory,
    RunRecord, Verdict,
};
use crate::nearest::nearest;
use crate::runtime::{IntoContext, Runtime};
use crate::value::{Text, Value};

/// A run that begins in the middle of another one.
///
/// ```
/// use toolwright::{Fork, json};
/// let fork = Fork::new("r1", "r2", "send").input(json!({ "to": "bob" }));
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct Fork {
    run: Text,
    new_id: Text,
    from: Text,
    input: Option<Value>,
}

impl Fork {
    /// A fork of the run `run`, under the id `new_id`. It has the results of everything before the step `from`, and runs from
    /// there on. A step is given by its name, its position from 0, or the path to it: `1:rest/0:send` is the first step of
    /// the composite that is the second step; with the root's name before it, it is the path that a journal shows.
    pub fn new(run: impl Into<Text>, new_id: impl Into<Text>, from: impl Into<Text>) -> Self {
        Self { run: run.into(), new_id: new_id.into(), from: from.into(), input: None }
    }

    /// Another input than the old run's. What was done before the step was done with the old one, and stays as it was.
    pub fn input(mut self, input: Value) -> Self {
        self.input = Some(input);
        self
    }
}

impl<R: Runtime> Catalog<R> {
    /// Runs a new run that has the recorded results of everything before a step of an old one, and really runs from that step
    /// on. Effects before it are not repeated. The tools before it are compared as in [`Catalog::resume_run`]; the steps
    /// from it on may be others than the old run's.
    ///
    /// The same fork again, or [`Catalog::resume_run`] with its id, goes on with it. A call from `run_id` alone is refused.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use toolwright::{Composite, Fork, Invocation, Journal, MemoryJournal, Registry, ResumeOptions, json, tool};
    /// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
    /// let echo = tool("echo", "Echoes").reads().run_json(|input, _call| async move { Ok(input) });
    /// let both = Composite::new("both", "Echoes twice")
    ///     .step("one", "echo", json!({ "x": "$input.x" }))
    ///     .step("two", "echo", json!({ "before": "$prev.x", "now": "$input.x" }));
    /// let catalog = Registry::new().with(echo)?.with(both)?.seal();
    /// let journal: Arc<dyn Journal> = Arc::new(MemoryJournal::new());
    /// catalog.invoke(Invocation::new("both", json!({ "x": 1 })).run_id("r1").journal(journal.clone()), ()).await?;
    ///
    /// let fork = Fork::new("r1", "r2", "two").input(json!({ "x": 2 }));
    /// let result = catalog.fork_run(&journal, fork, (), ResumeOptions::new()).await?;
    /// assert_eq!(result.output, Some(json!({ "before": 1, "now": 2 })));
    /// # Ok::<(), Box<dyn std::error::Error>>(()) })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// `journal` when the old run is not there; `diverged` when the new one is there and is no such fork; `unknown_step` when there is no such
    /// step; `step_without_result` when a step before it has none, and `in_doubt` when nobody knows whether it has;
    /// `changed_tool`, `denied` and refusals of the root call as in [`Catalog::resume_run`]. Nothing has run then.
    pub async fn fork_run(
        &self,
        journal: &Arc<dyn Journal>,
        fork: Fork,
        context: impl IntoContext<R::Context>,
        mut options: ResumeOptions<R>,
    ) -> Result<ToolResult, CallError> {
        let context = context.into_context();
        let old = current(journal, &fork.run).await?;
        if !theirs(&old.run, &options) {
            return Err(not_theirs(&old.run));
        }
        let catalog = self.rebuilt(&old.run, options.options.take())?;
        let root = catalog.require(&old.run.tool)?;
        let place = located(&catalog, &old.run, &fork.from)?;
        let input = fork.input.unwrap_or_else(|| old.run.input.clone());
        // Who may not call the root is told so before anything is written.
        super::enter::may_call(&catalog, root.tool(), input.clone(), context.clone())?;
        let record = RunRecord {
            id: fork.new_id,
            input,
            fingerprint: catalog.sealed_fingerprint(),
            generation: catalog.generation,
            created: options.now(&catalog),
            deadline: None,
            forked: Some(Forked { run: fork.run, from: place.path.clone().into() }),
            ..old.run.clone()
        };
        copied(journal, &catalog, &record, &old, &place, &options).await?;
        Box::pin(catalog.invoke(options.invocation(&record, journal.clone()), context)).await
    }

    /// Makes sure that a fork has all that it is to have of the old run, before anything of it runs.
    pub(super) async fn completed_fork(
        &self,
        journal: &Arc<dyn Journal>,
        history: &RunHistory,
        options: &ResumeOptions<R>,
    ) -> Result<(), CallError> {
        let Some(forked) = &history.run.forked else { return Ok(()) };
        if root_began(history) {
            return Ok(());
        }
        let old = current(journal, &forked.run).await?;
        let place = located(self, &history.run, &forked.from)?;
        copied(journal, self, &history.run, &old, &place, options).await
    }
}

/// Where a fork begins, and what is before it.
struct Place {
    /// Path of the first step that really runs.
    path: String,
    /// The steps before it: path, tool, and whether the tool is a composite.
    before: Vec<(String, Text, bool)>,
}

/// Finds the step that somebody means.
fn located<R: Runtime>(view: &View<R>, run: &RunRecord, from: &str) -> Result<Place, CallError> {
    let root = name_segment(&run.tool);
    let body = view.get(&run.tool).and_then(|entry| entry.composite()).ok_or_else(|| no_steps(&root))?;
    let rooted = from.strip_prefix(&*root).and_then(|rest| rest.strip_prefix('/'));
    // A step's own name may look like a path.
    let ways = [Some(vec![from]), Some(from.split('/').collect()), rooted.map(|rest| rest.split('/').collect())];
    let mut unknown = None;
    for way in ways.into_iter().flatten() {
        match walked(view, body, &root, &way) {
            Ok(place) => return Ok(place),
            Err(error) => unknown = Some(error),
        }
    }
    Err(unknown.unwrap_or_else(|| no_steps(&root)))
}

fn walked<R: Runtime>(view: &View<R>, root: &CompositeBody<R>, path: &str, segments: &[&str]) -> Result<Place, CallError> {
    let mut place = Place { path: path.to_owned(), before: Vec::new() };
    let mut body = Some(root);
    for segment in segments {
        let steps = &body.ok_or_else(|| no_steps(&place.path))?.spec().steps;
        let at = position(steps, segment).ok_or_else(|| unknown_step(&place.path, steps, segment))?;
        let inside = |tool: &Text| view.get(tool).and_then(|entry| entry.composite());
        for (number, step) in steps.iter().enumerate().take(at) {
            place.before.push((step_path(&place.path, number, step), step.tool.clone(), inside(&step.tool).is_some()));
        }
        let step = steps.get(at).ok_or_else(|| unknown_step(&place.path, steps, segment))?;
        place.path = step_path(&place.path, at, step);
        body = inside(&step.tool);
    }
    Ok(place)
}

fn step_path(around: &str, at: usize, step: &StepSpec) -> String {
    format!("{around}/{at}:{}", name_segment(&step.name))
}

/// Where the step stands that is called so: by its name when only one has it, else by position and name, else by position.
fn position(steps: &[StepSpec], wanted: &str) -> Option<usize> {
    let mut named = (0..).zip(steps).filter(|(_, step)| step.name == wanted || name_segment(&step.name) == wanted);
    match (named.next(), named.next()) {
        (Some((at, _)), None) => return Some(at),
        (Some(_), Some(_)) => return None,
        (None, _) => {}
    }
    let (number, name) = wanted.split_once(':').map_or((wanted, None), |(number, name)| (number, Some(name)));
    let at: usize = number.parse().ok()?;
    let step = steps.get(at)?;
    name.is_none_or(|name| name_segment(&step.name) == name).then_some(at)
}

fn no_steps(path: &str) -> CallError {
    let message = format!("`{}` is no composite: it has no step to fork from", crate::cut(path, 200));
    Fault::Refused {
        code: arcstr::literal!("unknown_step"),
        message,
        help: Some("run it again as a run of its own, or fork from the step that calls it".into()),
        details: None,
    }
    .into()
}

fn unknown_step(path: &str, steps: &[StepSpec], wanted: &str) -> CallError {
    let there: Vec<String> = (0..).zip(steps).map(|(at, step): (usize, _)| format!("`{at}:{}`", crate::cut(&step.name, 80))).collect();
    let (path, wanted_shown) = (crate::cut(path, 200), crate::cut(wanted, 80));
    let twice = steps.iter().filter(|step| step.name == wanted).count() > 1;
    let message = if twice {
        format!("`{path}` has more than one step `{wanted_shown}`: it has {}", there.join(", "))
    } else {
        format!("`{path}` has no step `{wanted_shown}`: it has {}", there.join(", "))
    };
    let names = steps.iter().map(|step| step.name.as_str());
    let help = match nearest(wanted, names).filter(|_| !twice) {
        Some(near) => format!("did you mean `{near}`? A step is given by name, by position, or by a path such as `1:rest/0:send`"),
        None => "give a step by name, by position, or by a path such as `1:rest/0:send`".to_owned(),
    };
    Fault::Refused { code: arcstr::literal!("unknown_step"), message, help: Some(help), details: None }.into()
}

/// What a fork takes over of one call.
struct Copy {
    begin: Begin,
    finish: Finish,
}

/// The results of the steps before the place.
fn results<R: Runtime>(view: &View<R>, old: &RunHistory, place: &Place, accept: &BTreeSet<Text>) -> Result<Vec<Copy>, CallError> {
    if let Some(doubt) = old.in_doubt().into_iter().find(|doubt| place.is_before(&doubt.begin.key.path(), old)) {
        return Err(Fault::InDoubt { doubt: Box::new(doubt), run: old.run.id.clone() }.into());
    }
    let mut copies = Vec::with_capacity(place.before.len());
    for (path, tool, composite) in &place.before {
        let standing = old.standing(path);
        let no = |why: &str| step_without_result(old, path, why);
        let Some(begin) = standing.begin else { return Err(no("has no call there")) };
        if begin.tool() != tool {
            return Err(no(&format!("called `{}` there, and it is `{}` now", crate::cut(begin.tool(), 80), crate::cut(tool, 80))));
        }
        if begin.composite != *composite {
            return Err(no("had another tool of this name there: one of the two is a composite"));
        }
        let finish = match standing.last {
            Last::Begun => return Err(no("began it and has no outcome")),
            Last::Finished(Finish { outcome: Err(failure), .. }) => {
                return Err(no(&format!("failed there with `{}`", crate::cut(&failure.code, 80))));
            }
            Last::Finished(finish) => finish.clone(),
            Last::Resolved(Resolution { verdict: Verdict::NotHappened, .. }) => return Err(no("did not do it, as somebody said")),
            Last::Resolved(Resolution { who, verdict: Verdict::Happened(output), at, .. }) => {
                let more = FinishMore { answered_by: Some(who.clone()), ..FinishMore::default() };
                let finish = Finish::ok(begin.key.clone(), output.clone(), EffectState::Happened);
                Finish { at: *at, more: Some(Box::new(more)), ..finish }
            }
        };
        copies.push(Copy { begin: begin.clone(), finish });
    }
    let accepted = accepted_changes(view, old, copies.iter().map(|copy| &copy.begin), accept)?;
    for copy in &mut copies {
        let more = copy.begin.more.get_or_insert_default();
        more.forked.get_or_insert_with(|| old.run.id.clone());
        if accepted.contains(copy.begin.key.tool()) {
            copy.begin.fingerprint = None;
        }
    }
    Ok(copies)
}

impl Place {
    /// Whether the call of this path is one of the steps before, or inside one that has no result.
    fn is_before(&self, path: &str, old: &RunHistory) -> bool {
        let within = |step: &str| path.strip_prefix(step).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
        let has_result = |step: &str| matches!(old.standing(step).last, Last::Finished(Finish { outcome: Ok(_), .. }));
        self.before.iter().any(|(step, ..)| within(step) && (step == path || !has_result(step)))
    }
}

fn step_without_result(old: &RunHistory, path: &str, why: &str) -> CallError {
    let (run, path) = (crate::cut(&old.run.id, 80), crate::cut(path, 200));
    let message = format!("`{path}` is before that step, and run `{run}` {why}");
    let help = format!("fork from `{path}` or from a step before it, or take run `{run}` up first");
    Fault::Refused { code: arcstr::literal!("step_without_result"), message, help: Some(help), details: None }.into()
}

/// Writes what a fork takes over. What is there already is not written again.
async fn copied<R: Runtime>(
    journal: &Arc<dyn Journal>,
    catalog: &Catalog<R>,
    record: &RunRecord,
    old: &RunHistory,
    place: &Place,
    options: &ResumeOptions<R>,
) -> Result<(), CallError> {
    let copies = results(catalog, old, place, &options.accept)?;
    let (owner, lease) = options.claim.clone().unwrap_or_default();
    let claim = Claim { owner, at: options.now(catalog), lease };
    let unwritten = |phase, error| CallError::from(Fault::Journal { phase, error, state: EffectState::NotStarted, value: None });
    let run = call::asked(|| journal.open(record.clone(), claim)).await.map_err(|error| unwritten("open", error))?;
    // Only now: nobody else writes to it any more.
    let there = current(journal, &record.id).await?;
    if root_began(&there) {
        return Ok(());
    }
    for Copy { begin, finish } in copies {
        let standing = there.standing(&begin.key.path());
        if matches!(standing.last, Last::Finished(_)) {
            continue;
        }
        if standing.begin.is_none() {
            let path = begin.key.path();
            match call::asked(|| run.begin(begin)).await.map_err(|error| unwritten("begin", error))? {
                Admission::Proceed { .. } => {}
                _ => {
                    let reason = format!("`{}` cannot be copied: something else is recorded there", crate::cut(&path, 200));
                    return Err(unreadable(JournalError::new(JournalErrorKind::Corrupt, reason)));
                }
            }
        }
        call::asked(|| run.finish(finish)).await.map_err(|error| unwritten("finish", error))?;
    }
    Ok(())
}

/// Whether the fork itself ran: then it has all its copies.
fn root_began(history: &RunHistory) -> bool {
    let root = name_segment(&history.run.tool);
    history.records.iter().any(|record| matches!(record, Record::Begin(begin) if begin.key.path() == root))
}
