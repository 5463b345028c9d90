//! Before the intent: somebody's yes to exactly this call, where the host's rules want one.
//!
//! INVARIANT: whatever goes wrong on the way is a no. A question is kept before anybody is asked, and its answer before anybody
//! acts on it. What a yes was given for is compared once more with what would run.

use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::FutureExt;
use futures_util::future::{Either, select};

use super::{Passage, asked, forgotten, quietly};
use crate::approval::{Answer, Answered, Approval, Approvals, Approve, Asked, Outcome, Plan, Request, answer_fits};
use crate::composite::foreseen::Foreseen;
use crate::error::{CallError, EffectState, Fault};
use crate::fingerprint::{Fingerprint, Hasher};
use crate::frame::{Call, Frame, Mode, Segment, Timestamp, slept};
use crate::journal::{Begin, BeginMore, JournalError, JournalErrorKind, Record, RunJournal};
use crate::limits;
use crate::refusal::Refusal;
use crate::runtime::Runtime;
use crate::tool::ToolDef;
use crate::value::{Text, Value};

/// How an answer came, where nobody's rule says more.
const ASKED: &str = "asked";

/// The rule about this call; none when nobody need be asked.
#[inline]
pub(super) fn rule<R: Runtime>(call: &Call<R>, tool: &ToolDef<R>) -> Option<Approve> {
    let approvals = call.scope.host.view.as_ref()?.options.policy.approvals.as_ref()?;
    // A run that only tries has no effect to be asked for.
    stated(approvals, call.tool(), tool).filter(|_| matches!(call.life().mode, Mode::Real))
}

/// The rule about a tool under the name by which a step calls it, and under its own.
pub(crate) fn stated<R: Runtime>(approvals: &Approvals<R>, name: &str, tool: &ToolDef<R>) -> Option<Approve> {
    if tool.has_side_effects() == Some(false) {
        return None;
    }
    Some(approvals.of(name).max(approvals.of(tool.name()))).filter(|rule| *rule != Approve::Never)
}

/// Where approvals of a run are kept.
#[derive(Clone, Copy)]
pub(super) enum Kept<'a> {
    Journal(&'a dyn RunJournal),
    /// Nothing is written down of the run: as long as it runs.
    Run(&'a Mutex<Vec<Record>>),
}

impl Kept<'_> {
    async fn all(self) -> Result<Vec<Approval>, JournalError> {
        match self {
            Self::Journal(journal) => asked(|| journal.approvals()).await,
            Self::Run(records) => Ok(Approval::all(&*records.lock().unwrap_or_else(PoisonError::into_inner))),
        }
    }

    async fn ask(self, question: Asked) -> Result<(), JournalError> {
        match self {
            Self::Journal(journal) => asked(|| journal.ask(question)).await,
            Self::Run(records) => {
                records.lock().unwrap_or_else(PoisonError::into_inner).push(Record::Asked(Box::new(question)));
                Ok(())
            }
        }
    }

    async fn answer(self, answer: Answered) -> Result<(), JournalError> {
        match self {
            Self::Journal(journal) => asked(|| journal.answer(answer)).await,
            Self::Run(records) => {
                let mut records = records.lock().unwrap_or_else(PoisonError::into_inner);
                answer_fits(&Approval::all(&*records), &answer)?;
                records.push(Record::Answered(answer));
                Ok(())
            }
        }
    }
}

/// A call of a run of which nothing is written down.
#[cold]
pub(super) async fn unrecorded<R: Runtime>(
    frame: &Frame,
    call: &Call<R>,
    tool: &ToolDef<R>,
    passage: &mut Passage,
    rule: Approve,
) -> Result<(), CallError> {
    let records = &frame.life.asked;
    let id = approved(Kept::Run(records), frame, call, tool, passage, rule).await?;
    let mut begin = Begin::new(call.key(), None, Value::Null);
    begin.more = Some(Box::new(BeginMore { approval: Some(id), ..BeginMore::default() }));
    records.lock().unwrap_or_else(PoisonError::into_inner).push(Record::Begin(begin));
    Ok(())
}

/// Waits for a yes to this call. Gives the id of the approval that it is made on.
pub(super) async fn approved<R: Runtime>(
    kept: Kept<'_>,
    frame: &Frame,
    call: &Call<R>,
    tool: &ToolDef<R>,
    passage: &mut Passage,
    rule: Approve,
) -> Result<Text, CallError> {
    passage.now = None;
    let policy = call.scope.host.view.as_ref().and_then(|view| view.options.policy.approvals.clone());
    let Some(approvals) = policy else { return Err(denied(tool, None)) };
    let asking = Asking { kept, frame, call, tool, approvals };
    let foreseen = passage.foreseen.take().unwrap_or_default();
    asking.approved(&passage.arguments, rule, *foreseen).await
}

/// One call that needs a yes.
struct Asking<'a, R: Runtime> {
    kept: Kept<'a>,
    frame: &'a Frame,
    call: &'a Call<R>,
    tool: &'a ToolDef<R>,
    approvals: Arc<Approvals<R>>,
}

/// What to do about a call that was asked for before.
enum Before {
    /// Its yes counts.
    Yes(Text),
    /// Its question still stands.
    Stands(Box<Request>),
    /// Ask anew.
    Over,
}

impl<R: Runtime> Asking<'_, R> {
    async fn approved(&self, arguments: &Value, rule: Approve, foreseen: Foreseen) -> Result<Text, CallError> {
        let there = self.kept.all().await.map_err(unkept)?;
        let path = self.call.path();
        let definition = definition(self.tool);
        let own: Vec<&Approval> = there.iter().filter(|there| there.asked.key.path() == path).collect();
        let request = self.question(&path, arguments, definition, rule, foreseen, own.len());
        let covers = |there: &&Approval| there.covers(&path, arguments, Some(&definition)) && !self.is_over(there);
        let plan = there.iter().filter(|_| rule == Approve::OncePerPlan).find(covers);
        let id = match (plan, own.last()) {
            (Some(plan), _) => plan.id().into(),
            (None, None) => self.put(&request, true).await?,
            (None, Some(own)) => match self.before(own, &request).await? {
                Before::Yes(id) => id,
                Before::Stands(standing) => self.put(&standing, false).await?,
                Before::Over => self.put(&request, true).await?,
            },
        };
        match self.since(&request) {
            None => Ok(id),
            Some(why) => Err(self.outdated(&id, &why).await?),
        }
    }

    /// What the host says is different since the question was put.
    fn since(&self, request: &Request) -> Option<Text> {
        let approver = self.approvals.approver.as_ref()?;
        quietly(|| approver.changed(request)).unwrap_or_else(|| Some("nobody can tell whether it is the same".into()))
    }

    /// Nothing that was said about it counts any more.
    async fn outdated(&self, id: &str, why: &str) -> Result<CallError, CallError> {
        self.note(id, Outcome::Withdrawn, "it is not what was asked for any more").await?;
        Ok(outdated(self.tool, id, why))
    }

    fn question(
        &self,
        path: &str,
        arguments: &Value,
        definition: Fingerprint,
        rule: Approve,
        foreseen: Foreseen,
        before: usize,
    ) -> Request {
        let (call, tool, run) = (self.call, self.tool, self.frame.life.id.text());
        let mut request = Request::new(id(&run, path, before), run, tool.name(), arguments.clone());
        request.path = path.into();
        request.description = tool.description().into();
        request.effect = tool.effect().cloned();
        request.plan = plan(call);
        request.covers = foreseen.covers;
        request.done = foreseen.done;
        request.done.extend(self.frame.nested.peek_effects(call.step));
        request.caller = quietly(|| self.approvals.caller_of(call.context())).unwrap_or_default();
        request.asked = self.frame.life.now();
        request.expires = request.asked.zip(self.approvals.expiry).map(|(asked, expiry)| after(asked, expiry));
        request.fingerprint = Some(definition);
        request.rule = Approvals::<R>::words(tool.name(), rule);
        request.binding = request.bound();
        request
    }

    fn is_over(&self, approval: &Approval) -> bool {
        match self.frame.life.now() {
            Some(now) => approval.is_over(now),
            // A time that nobody can tell is not to be waited for.
            None => approval.asked.request.expires.is_some(),
        }
    }

    /// What the newest question about this call means now.
    async fn before(&self, own: &Approval, now: &Request) -> Result<Before, CallError> {
        let shown = &own.asked.request;
        let same = Request { expires: shown.expires, ..now.clone() }.bound() == shown.binding;
        let over = self.is_over(own);
        let used = own.is_used(&now.path) && !self.tool.is_composite();
        match own.outcome() {
            Some(Outcome::Withdrawn) => Ok(Before::Over),
            Some(Outcome::Yes) if used => Ok(Before::Over),
            Some(Outcome::Yes) if same && !over => Ok(Before::Yes(own.id().into())),
            None if same && !over => Ok(Before::Stands(Box::new(shown.clone()))),
            None if !over => {
                self.note(own.id(), Outcome::Withdrawn, "the call is another one now").await?;
                Ok(Before::Over)
            }
            None => {
                self.note(own.id(), Outcome::Expired, "no answer in time means no").await?;
                Err(expired(self.tool, own.id()))
            }
            Some(Outcome::Yes) if over => {
                self.note(own.id(), Outcome::Expired, "a yes counts only in its time").await?;
                Err(expired(self.tool, own.id()))
            }
            Some(Outcome::Yes) => {
                self.note(own.id(), Outcome::Withdrawn, "the call is another one than the approved one").await?;
                Err(if shown.fingerprint == now.fingerprint { mismatch(self.tool, own.id()) } else { changed(self.tool, own.id()) })
            }
            // It was told to whoever waited for it; the call is tried once more.
            Some(_) if own.closed => Ok(Before::Over),
            Some(_) => self.concluded(own.answered.as_ref()).map(Before::Yes),
        }
    }

    async fn note(&self, id: &str, outcome: Outcome, why: &'static str) -> Result<(), CallError> {
        let noted = self.kept.answer(self.answered(id, outcome, "toolwright").rule(why)).await;
        match noted {
            // Somebody was faster: the next attempt goes by that.
            Err(JournalError { kind: JournalErrorKind::NotInDoubt, .. }) | Ok(()) => Ok(()),
            Err(error) => Err(unkept(error)),
        }
    }

    fn answered(&self, id: &str, outcome: Outcome, who: &str) -> Answered {
        let answered = Answered::new(id, outcome, who);
        match self.frame.life.now() {
            Some(now) => answered.at(now),
            None => answered,
        }
    }

    /// Keeps the question and waits for its answer.
    async fn put(&self, request: &Request, is_new: bool) -> Result<Text, CallError> {
        if is_new {
            self.kept.ask(Asked { key: self.call.key(), request: request.clone() }).await.map_err(unkept)?;
        }
        let answer = match self.waited(request).await? {
            Came::Here(answer) => answer,
            Came::Elsewhere(answered) => return self.concluded(Some(&answered)),
            Came::Changed(why) => return Err(self.outdated(&request.id, &why).await?),
        };
        let answered = match answer {
            Answer::Yes { who } => self.answered(&request.id, Outcome::Yes, &who).rule(ASKED),
            Answer::No { who, reason } => self.answered(&request.id, Outcome::No, &who).reason(reason).rule(ASKED),
            Answer::Expired => self.answered(&request.id, Outcome::Expired, "toolwright").rule("no answer in time means no"),
            Answer::Later if matches!(self.kept, Kept::Journal(_)) => return Err(required(self.tool, request)),
            Answer::Nobody | Answer::Later => self.answered(&request.id, Outcome::Nobody, "toolwright").rule("nobody to ask means no"),
        };
        match self.kept.answer(answered.clone()).await {
            Ok(()) => self.concluded(Some(&answered)),
            // Somebody else was faster, and what is written down counts.
            Err(JournalError { kind: JournalErrorKind::NotInDoubt, .. }) => {
                let found = self.found(&request.id).await?;
                self.concluded(found.as_ref())
            }
            Err(error) => Err(unkept(error)),
        }
    }

    async fn found(&self, id: &str) -> Result<Option<Answered>, CallError> {
        let there = self.kept.all().await.map_err(unkept)?;
        Ok(there.into_iter().find(|approval| approval.id() == id).and_then(|approval| approval.answered))
    }

    /// The approver's answer, or one that came another way; whoever cancels the run waits for neither.
    async fn waited(&self, request: &Request) -> Result<Came, CallError> {
        let cancelled = pin!(self.frame.cancel.cancelled());
        let answers = pin!(self.answers(request));
        match select(answers, cancelled).await {
            Either::Left((came, _)) => came,
            Either::Right(_) => {
                // What nobody waits for is not to be answered any more. That it was cancelled says more than a journal that fails.
                let _ = self.note(&request.id, Outcome::Withdrawn, "the call was cancelled").await;
                Err(Fault::Cancelled { state: EffectState::NotStarted }.into())
            }
        }
    }

    async fn answers(&self, request: &Request) -> Result<Came, CallError> {
        let (asking, elsewhere) = (pin!(self.asks(request)), pin!(self.elsewhere(request)));
        match select(asking, elsewhere).await {
            Either::Left((answer, _)) => Ok(Came::Here(answer)),
            Either::Right((came, _)) => came,
        }
    }

    /// An approver that breaks down is nobody.
    async fn asks(&self, request: &Request) -> Answer {
        let Some(approver) = &self.approvals.approver else { return Answer::Nobody };
        let aside = self.call.aside("approval");
        let Some(asked) = aside.clone().around(|| quietly(|| approver.ask(request))) else { return Answer::Nobody };
        AssertUnwindSafe(aside.attach(asked)).catch_unwind().await.unwrap_or_else(|panic| {
            forgotten(panic);
            Answer::Nobody
        })
    }

    /// Looks from time to time whether the answer was written down by somebody else, whether what was asked for is still so, and
    /// whether the question's time is over.
    async fn elsewhere(&self, request: &Request) -> Result<Came, CallError> {
        let Some(clock) = &self.frame.life.clock else { return std::future::pending().await };
        loop {
            let left = request.expires.zip(self.frame.life.now()).map(|(end, now)| end.0.saturating_sub(now.0));
            let poll = limits::APPROVAL_POLL_MS.saturating_mul(1_000_000);
            slept(clock, std::time::Duration::from_nanos(left.map_or(poll, |left| left.min(poll)))).await;
            if matches!(self.kept, Kept::Journal(_))
                && let Some(answered) = self.found(&request.id).await?
            {
                return Ok(Came::Elsewhere(answered));
            }
            if let Some(why) = self.since(request) {
                return Ok(Came::Changed(why));
            }
            if request.expires.zip(self.frame.life.now()).is_some_and(|(end, now)| now >= end) {
                return Ok(Came::Here(Answer::Expired));
            }
        }
    }

    fn concluded(&self, answered: Option<&Answered>) -> Result<Text, CallError> {
        match answered {
            Some(answered) if answered.outcome == Outcome::Yes => Ok(answered.id.clone()),
            Some(answered) if answered.outcome == Outcome::Expired => Err(expired(self.tool, &answered.id)),
            answered => Err(denied(self.tool, answered)),
        }
    }
}

/// Where an answer came from.
enum Came {
    Here(Answer),
    Elsewhere(Answered),
    /// None counts any more.
    Changed(Text),
}

fn after(asked: Timestamp, expiry: std::time::Duration) -> Timestamp {
    Timestamp(asked.0.saturating_add(u64::try_from(expiry.as_nanos()).unwrap_or(u64::MAX)))
}

/// The same on every attempt at the same run; of a second question about one call another one.
fn id(run: &str, path: &str, before: usize) -> String {
    const DIGITS: usize = 20;
    let digits = Fingerprint::of(format!("toolwright approval id 1\n{run}\n{path}\n{before}")).to_string();
    format!("ask-{}", digits.get(..DIGITS).unwrap_or_default())
}

/// Everything of a tool that a person goes by.
pub(crate) fn definition<R: Runtime>(tool: &ToolDef<R>) -> Fingerprint {
    let mut hash = Hasher::new();
    hash.text(tool.name());
    hash.text(tool.description());
    match &tool.0.hashed {
        Some(hashed) => hash.fingerprint(hashed.run()),
        None => {
            hash.value(tool.input_schema());
            hash.value(tool.composite().map(crate::CompositeBody::written));
        }
    }
    hash.done()
}

/// The composite around a call, or the one that it is.
fn plan<R: Runtime>(call: &Call<R>) -> Option<Plan> {
    let node = call.node();
    (node.segment == Segment::Steps).then(|| Plan {
        composite: node.names.composite.clone(),
        step: call.step().into(),
        steps: node.names.steps.iter().map(|step| step.name.clone()).collect(),
    })
}

fn unkept(error: JournalError) -> CallError {
    Fault::Journal { phase: "begin", error, state: EffectState::NotStarted, value: None }.into()
}

fn refusal<R: Runtime>(code: Text, tool: &ToolDef<R>, id: Option<&str>, message: &str, help: &str) -> Refusal {
    let name = crate::cut(tool.name(), 80);
    let id = id.map(|id| ("approval", Value::from(id)));
    let details = id.into_iter().chain([("tool", Value::from(tool.name()))]);
    Refusal::new(code, format!("`{name}` {message}")).help(help).details(Value::object(details))
}

#[cold]
fn required<R: Runtime>(tool: &ToolDef<R>, request: &Request) -> CallError {
    let message = format!("waits for somebody's yes (approval `{}`), and nothing of it ran", request.id);
    let help = format!("`toolwright approve {}` shows and answers it; then the run goes on with `resume`", request.id);
    let mut refusal = refusal(arcstr::literal!("approval_required"), tool, Some(&request.id), &message, &help);
    if let (Some(expires), Some(details)) = (request.expires, refusal.details.as_ref().and_then(Value::as_object)) {
        let pairs = details.iter().map(|(key, value)| (key.clone(), value.clone())).chain([("expires".into(), expires.0.into())]);
        refusal.details = Some(Value::object(pairs));
    }
    Fault::Gate(refusal).into()
}

#[cold]
fn denied<R: Runtime>(tool: &ToolDef<R>, answered: Option<&Answered>) -> CallError {
    let code = arcstr::literal!("approval_denied");
    let Some(answered) = answered.filter(|answered| answered.outcome == Outcome::No) else {
        let id = answered.map(|answered| answered.id.as_str());
        let help = "nobody to ask means no: the host must name somebody, or a person runs it where they can be asked";
        return Fault::Gate(refusal(code, tool, id, "needs somebody's yes, and there is nobody to ask", help)).into();
    };
    let who = crate::cut(&answered.who, 80);
    let mut message = format!("was not approved: {who} said no");
    if !answered.reason.is_empty() {
        message.push_str(&format!(", \"{}\"", crate::cut(&answered.reason, 300)));
    }
    let mut refusal = refusal(code, tool, Some(&answered.id), &message, "change what it would do; the next attempt asks again");
    let details = [("approval", answered.id.as_str()), ("tool", tool.name()), ("reason", answered.reason.as_str())];
    refusal.details = Some(Value::object(details.map(|(key, value)| (key, Value::from(value)))));
    Fault::Gate(refusal).into()
}

#[cold]
fn expired<R: Runtime>(tool: &ToolDef<R>, id: &str) -> CallError {
    let message = format!("needed somebody's yes, and the time for it is over (approval `{id}`)");
    let code = arcstr::literal!("approval_expired");
    Fault::Gate(refusal(code, tool, Some(id), &message, "nothing of it ran; the next attempt asks again")).into()
}

#[cold]
fn mismatch<R: Runtime>(tool: &ToolDef<R>, id: &str) -> CallError {
    let message = format!("would do something else than what was approved (approval `{id}`)");
    let help = "nothing of it ran, and that yes counts no more; the next attempt asks again, with what it would do now";
    Fault::Gate(refusal(arcstr::literal!("approval_mismatch"), tool, Some(id), &message, help)).into()
}

#[cold]
fn changed<R: Runtime>(tool: &ToolDef<R>, id: &str) -> CallError {
    let message = format!("is another tool than the one that was approved (approval `{id}`)");
    let help = "look at what changed in it; nothing of it ran, and that yes counts no more: the next attempt asks again";
    Fault::Gate(refusal(arcstr::literal!("catalog_changed"), tool, Some(id), &message, help)).into()
}

#[cold]
fn outdated<R: Runtime>(tool: &ToolDef<R>, id: &str, why: &str) -> CallError {
    let message = format!("is not what was asked for any more: {} (approval `{id}`)", crate::cut(why, 300));
    let help = "look at what is offered now; nothing of it ran, and a yes to it counts no more: the next attempt asks again";
    Fault::Gate(refusal(arcstr::literal!("catalog_changed"), tool, Some(id), &message, help)).into()
}

impl CallError {
    /// Whether the run waits for somebody's yes, and can go on when it comes.
    pub(crate) fn waits_for_approval(&self) -> bool {
        match self.root_cause() {
            Fault::Gate(refusal) => refusal.code == "approval_required",
            Fault::Tool { error, .. } => error.is_anothers() && error.own_code() == Some("approval_required"),
            _ => false,
        }
    }
}
