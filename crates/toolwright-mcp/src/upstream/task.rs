//! Tasks of servers: a call that was answered with a task is waited for here, so that no id of theirs goes any further.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep};
use toolwright::value::Parsed;
use toolwright::{Text, Value};

use super::error;
use super::exchange::{Bounds, Happened, Lost, Sending, cancelled_error, exchange};
use super::supervise::Shared;
use super::talk::{Report, Talk};
use crate::wire::{Progress, Reply, error_of};

/// Wait between two looks at a task, when the server says nothing about it.
const POLL: Duration = Duration::from_millis(500);
/// Shortest wait of that kind, whatever the server says.
const POLL_MIN: Duration = Duration::from_millis(20);
/// Longest wait of that kind.
const POLL_MAX: Duration = Duration::from_secs(10);
/// Looks in a row that may fail without the task being given up.
const LOOKS_LOST_MAX: u32 = 3;
/// Longest time that a server may take to hear that a task is not wanted any more.
const CANCEL_MAX: Duration = Duration::from_secs(5);

/// Waits for the end of a task; `created` is what the call was answered with.
pub(crate) async fn follow(talk: &Talk<'_>, created: &Value, report: Report<'_>) -> Result<Reply, Lost> {
    let Some(id) = created.get("taskId").and_then(Value::as_text).cloned() else {
        return Ok(Reply::Unreadable("it is a task without an id".to_owned()));
    };
    if let Some(questions) = &talk.shared.questions {
        questions.became_task(&talk.run);
    }
    let mut task = Task { talk, id: id.clone(), answered: Vec::new(), said: None, asked_for: Duration::ZERO };
    let mut wanted = Wanted { shared: talk.shared.clone(), id: Some(id) };
    let outcome = task.wait(created.clone(), report).await;
    let over = !matches!(&outcome, Err(lost) if lost.code == error::CANCELLED || lost.code == error::TIMEOUT || lost.code == error::INPUT_REQUIRED);
    if over {
        wanted.id = None;
    }
    outcome
}

struct Task<'a> {
    talk: &'a Talk<'a>,
    id: Text,
    /// Keys of questions that were answered: a server may go on showing them for a while.
    answered: Vec<Text>,
    said: Option<Text>,
    asked_for: Duration,
}

impl Task<'_> {
    async fn wait(&mut self, mut state: Value, report: Report<'_>) -> Result<Reply, Lost> {
        let started = Instant::now();
        let mut lost_looks = 0;
        loop {
            if let Some(end) = self.look(&state, report).await? {
                return Ok(end);
            }
            if started.elapsed().saturating_sub(self.asked_for) >= self.talk.shared.spec.call_timeout {
                return Err(self.late());
            }
            tokio::select! {
                biased;
                () = self.talk.cancel.cancelled() => return Err(cancelled_error(self.talk.what)),
                () = sleep(pause(&state)) => {}
            }
            match self.request("tasks/get", &[], report).await {
                Ok(Reply::Result(parsed)) => {
                    lost_looks = 0;
                    state = parsed.value;
                }
                Ok(reply) => return Ok(reply),
                Err(lost) if lost.code != error::CANCELLED && lost_looks < LOOKS_LOST_MAX => lost_looks += 1,
                // The task may well go on: nobody knows what becomes of it.
                Err(lost) => return Err(Lost { happened: Happened::Unknown, ..lost }),
            }
        }
    }

    /// What the task's state means: its end, or what is to be done now.
    async fn look(&mut self, state: &Value, report: Report<'_>) -> Result<Option<Reply>, Lost> {
        let said = state.get("statusMessage").and_then(Value::as_text).cloned();
        if said.is_some() && said != self.said {
            self.said.clone_from(&said);
            report(&Progress { of: 0, message: said.unwrap_or_default(), done: None, total: None });
        }
        match state.get("status").and_then(Value::as_str) {
            Some("completed") => {
                let value = state.get("result").cloned().unwrap_or_default();
                Ok(Some(Reply::Result(Parsed { value, replaced: 0, repeated: None })))
            }
            Some("failed") => Ok(Some(Reply::Error(error_of(&state.get("error").cloned().unwrap_or_default())))),
            Some("cancelled") => Err(Lost {
                code: error::CANCELLED,
                message: format!("server `{}` cancelled the task of `{}`", self.talk.shared.spec.name, self.talk.what),
                help: None,
                happened: Happened::Unknown,
            }),
            Some("input_required") => self.answer(state.get("inputRequests"), report).await.map(|()| None),
            _ => Ok(None),
        }
    }

    /// Has the questions answered that were not yet.
    async fn answer(&mut self, requests: Option<&Value>, report: Report<'_>) -> Result<(), Lost> {
        let open = requests.and_then(Value::as_object).into_iter().flat_map(|all| all.iter());
        let open: Vec<(Text, Value)> =
            open.filter(|(key, _)| !self.answered.contains(key)).map(|(key, request)| (key.clone(), request.clone())).collect();
        if open.is_empty() {
            return Ok(());
        }
        self.answered.extend(open.iter().map(|(key, _)| key.clone()));
        let since = Instant::now();
        let answers = self.talk.answers(&Value::object(open)).await?;
        self.asked_for += since.elapsed();
        self.request("tasks/update", &[("inputResponses", &answers)], report).await.map(drop)
    }

    async fn request(&self, method: &str, more: &[(&str, &Value)], report: Report<'_>) -> Result<Reply, Lost> {
        let id = Value::from(self.id.clone());
        let params: Vec<(&str, &Value)> = [("taskId", &id)].into_iter().chain(more.iter().copied()).collect();
        let run = Some(self.talk.run.clone());
        let sending = Sending { what: self.talk.what, name: Some(&self.id), run, ..Sending::new(self.talk.shared, method, &params) };
        self.talk.send(&sending, report).await
    }

    fn late(&self) -> Lost {
        let (server, limit) = (&self.talk.shared.spec.name, self.talk.shared.spec.call_timeout);
        Lost {
            code: error::TIMEOUT,
            message: format!("the task of `{}` on server `{server}` took too long: total limit {limit:?}", self.talk.what),
            help: Some("raise `callTimeout` of the source when the tool needs longer".to_owned()),
            happened: Happened::Unknown,
        }
    }
}

fn pause(state: &Value) -> Duration {
    let said = state.get("pollIntervalMs").and_then(Value::as_u64).map(Duration::from_millis);
    said.unwrap_or(POLL).clamp(POLL_MIN, POLL_MAX)
}

/// Tells the server when nobody waits for a task any more, also when the waiting future is dropped.
struct Wanted {
    shared: Arc<Shared>,
    id: Option<Text>,
}

impl Drop for Wanted {
    fn drop(&mut self) {
        let (Some(id), Ok(runtime)) = (self.id.take(), tokio::runtime::Handle::try_current()) else { return };
        let Some(connection) = self.shared.live() else { return };
        let shared = self.shared.clone();
        runtime.spawn(async move {
            let value = Value::from(id.clone());
            let params = [("taskId", &value)];
            let bounds = Bounds { idle: None, total: Some(CANCEL_MAX) };
            let sending = Sending { name: Some(&id), bounds, ..Sending::new(&shared, "tasks/cancel", &params) };
            let _ = exchange(&shared, &connection, &sending, std::future::pending(), |_| {}).await;
        });
    }
}
