//! Who can be asked while a call runs: the client that made it.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use toolwright::approval::{Answer, Request};
use toolwright::{Approver, BoxFuture, Text, Value};

use super::calls::{AskedBy, Asking, Desk, Job, answer_to, changed, question_of, with_tasks};
use super::client::Client;
use super::message::{Id, METHOD_NOT_FOUND, RpcError};
use super::request::LogLevel;
use crate::upstream::{Answered, Asked, Question, Questions};

/// The clients whose calls are running, by run. Cheap to clone; one for a server and its catalogue.
///
/// ```
/// use std::sync::Arc;
/// use toolwright::Approver;
/// use toolwright_mcp::server::{ApprovalAsking, Askers};
/// use toolwright_mcp::upstream::Questions;
///
/// let askers = Askers::new().with_approvals(ApprovalAsking { client: true, ..ApprovalAsking::default() });
/// let for_upstreams: Arc<dyn Questions> = Arc::new(askers.clone());
/// let for_the_policy: Arc<dyn Approver> = Arc::new(askers);
/// ```
#[derive(Clone, Default)]
pub struct Askers {
    pub(super) desk: Arc<Desk>,
    approvals: ApprovalAsking,
}

/// Who is asked for approvals, and how long.
///
/// ```
/// use toolwright_mcp::server::ApprovalAsking;
/// let asking = ApprovalAsking::default();
/// assert!(asking.client, "the client that made the call is asked, if it can be");
/// assert!(!asking.later, "else there is nobody");
/// ```
#[derive(Clone, Copy, Debug)]
pub struct ApprovalAsking {
    /// The client that made the call is asked, if it can be.
    pub client: bool,
    /// Where it cannot be, or does not answer, the question stays open for somebody else, and the run waits. It must be kept in a
    /// journal for that.
    pub later: bool,
    /// How long a client has to answer.
    pub expires: Duration,
}

impl Default for ApprovalAsking {
    fn default() -> Self {
        Self { client: true, later: false, expires: Duration::from_secs(10 * 60) }
    }
}

impl Askers {
    /// Nobody can be asked yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// With another word on approvals.
    #[must_use]
    pub fn with_approvals(mut self, approvals: ApprovalAsking) -> Self {
        self.approvals = approvals;
        self
    }

    /// What a client sent back to a request of ours. One that was not asked, or was answered, is ignored.
    pub(crate) fn answered(&self, client: &Client, id: &Id, outcome: Result<Value, RpcError>) {
        let Some((job, key)) = self.desk.take_sent(client.key, id) else { return };
        let answered = match outcome {
            Ok(result) => Answered::Result(result),
            Err(error) => Answered::Refused { code: error.code, message: error.message },
        };
        job.answer(&self.desk, &key, answered);
    }

    fn asking(&self, run: &str, questions: Vec<Question>, by: AskedBy) -> Option<Asking> {
        Some(self.desk.running(run)?.ask(&self.desk, questions, by))
    }

    /// There is nobody: the question is left to somebody else, if it may be.
    fn nobody(&self) -> Answer {
        if self.approvals.later { Answer::Later } else { Answer::Nobody }
    }

    async fn approve(&self, request: &Request) -> Answer {
        let job = self.desk.running(&request.run).filter(|_| self.approvals.client);
        let Some(job) = job else { return self.nobody() };
        let who = who(&job);
        let wait = match request.expires {
            Some(expires) => until(expires.0),
            None => self.approvals.expires,
        };
        let asking = job.ask(&self.desk, vec![question_of(request)], AskedBy::Approval);
        // The client may have less time than the question.
        match tokio::time::timeout(wait.min(self.approvals.expires), asking.answers()).await {
            Ok(answers) => answers.first().and_then(|answered| answer_to(answered, &who)).unwrap_or_else(|| self.nobody()),
            Err(_) if self.approvals.later && wait > self.approvals.expires => Answer::Later,
            Err(_) => Answer::Expired,
        }
    }
}

fn who(job: &Job) -> Text {
    if job.caller.principal.is_empty() { "client".into() } else { job.caller.principal.clone() }
}

fn until(nanos: u64) -> Duration {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Duration::from_nanos(nanos).saturating_sub(now)
}

impl Questions for Askers {
    fn ask(&self, asked: Asked) -> BoxFuture<'_, Vec<Answered>> {
        let nobody =
            || Answered::Refused { code: METHOD_NOT_FOUND, message: "nobody can be asked: no client waits for this call".to_owned() };
        let count = asked.questions.len();
        let wait = self.desk.limits().answer_wait;
        Box::pin(async move {
            let Some(asking) = self.asking(&asked.run, asked.questions, AskedBy::Upstream) else { return vec![nobody(); count] };
            tokio::time::timeout(wait, asking.answers()).await.unwrap_or_else(|_| vec![nobody(); count])
        })
    }

    fn became_task(&self, run: &str) {
        if let Some(job) = self.desk.running(run) {
            job.become_task(&self.desk);
        }
    }

    /// A client with a session knows no tasks, and waits for those that a server makes: we look after them for it.
    fn capabilities(&self, run: &str) -> Value {
        let Some(job) = self.desk.running(run) else { return Value::Null };
        let terms = job.terms();
        if terms.version.sessionless() { terms.capabilities.clone() } else { with_tasks(&terms.capabilities) }
    }

    fn log_level(&self, run: &str) -> Option<Text> {
        let level = self.desk.running(run)?.log_level()?;
        LogLevel::NAMES.into_iter().find(|(_, named)| *named == level).map(|(name, _)| name.into())
    }

    fn said(&self, run: &str, params: &Value) {
        if let Some(job) = self.desk.running(run) {
            job.log(params);
        }
    }

    fn together(&self, run: &str, other: &str) -> bool {
        run == other || self.desk.running(run).zip(self.desk.running(other)).is_some_and(|(job, other)| job.is_together_with(&other))
    }
}

impl Approver for Askers {
    fn ask<'a>(&'a self, request: &'a Request) -> BoxFuture<'a, Answer> {
        Box::pin(self.approve(request))
    }

    /// Compared with what the server offers now, as the caller of the call may reach it.
    fn changed(&self, request: &Request) -> Option<Text> {
        let (now, job) = (self.desk.offer()?, self.desk.running(&request.run)?);
        changed(&now, &job, request)
    }
}

impl fmt::Debug for Askers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Askers").field("approvals", &self.approvals).finish_non_exhaustive()
    }
}
