//! A request from its start to its final result, whatever lies between: a start of the server, a new session, answers that the server
//! needs first, a task.

use std::sync::Arc;

use toolwright::{CancelToken, Text, Value};

use super::connect::Connection;
use super::error;
use super::exchange::{Happened, Lost, Sending, cancelled_error, connected, exchange};
use super::headers::ParamHeader;
use super::pins;
use super::questions::{Answered, Asked, Question};
use super::supervise::Shared;
use super::task;
use crate::wire::{Progress, Reply};

/// A request that found its connection gone before it was sent is tried this often.
const SENDS_MAX: usize = 2;

/// Who hears of progress.
pub(crate) type Report<'a> = &'a mut (dyn FnMut(&Progress) + Send);

/// A request that somebody waits for.
pub(crate) struct Talk<'a> {
    pub(crate) shared: &'a Arc<Shared>,
    /// What it is called in errors.
    pub(crate) what: &'a str,
    pub(crate) method: &'a str,
    pub(crate) params: Vec<(&'a str, Value)>,
    /// What the header `Mcp-Name` says.
    pub(crate) name: Option<&'a str>,
    pub(crate) marked: &'a [ParamHeader],
    pub(crate) key: Option<&'a str>,
    pub(crate) run: Text,
    pub(crate) cancel: &'a CancelToken,
    /// The tool that must be as the host expects it.
    pub(crate) tool: Option<&'a Text>,
}

impl Talk<'_> {
    /// Leads it to its end.
    pub(crate) async fn lead(&self, report: Report<'_>) -> Result<Reply, Lost> {
        let mut more = Vec::new();
        for _ in 0..=self.shared.spec.limits.input_rounds_max {
            let reply = self.once(&more, report).await?;
            let Reply::Result(parsed) = &reply else { return Ok(reply) };
            match parsed.value.get("resultType").and_then(Value::as_str) {
                Some("input_required") => more = self.input(&parsed.value).await?,
                Some("task") if self.method == "tools/call" => return task::follow(self, &parsed.value, report).await,
                _ => return Ok(reply),
            }
        }
        let (server, rounds) = (&self.shared.spec.name, self.shared.spec.limits.input_rounds_max);
        Err(Lost {
            code: error::INPUT_REQUIRED,
            message: format!("server `{server}` wanted more answers for `{}` after {rounds} rounds of them", self.what),
            help: None,
            happened: Happened::Answered,
        })
    }

    /// One round: sent, and sent once more when the connection turned out to be none.
    async fn once(&self, more: &[(&'static str, Value)], report: Report<'_>) -> Result<Reply, Lost> {
        let own = self.params.iter().map(|(name, value)| (*name, value));
        let params: Vec<(&str, &Value)> = own.chain(more.iter().map(|(name, value)| (*name, value))).collect();
        let sending = Sending {
            what: self.what,
            name: self.name,
            marked: self.marked,
            key: self.key,
            run: Some(self.run.clone()),
            ..Sending::new(self.shared, self.method, &params)
        };
        self.send(&sending, report).await
    }

    /// A request that belongs to this one.
    pub(crate) async fn send(&self, sending: &Sending<'_>, report: Report<'_>) -> Result<Reply, Lost> {
        let mut sends = 0;
        loop {
            sends += 1;
            let connection = self.connection().await?;
            let outcome = exchange(self.shared, &connection, sending, self.cancel.cancelled(), &mut *report).await;
            match outcome {
                Err(lost) if lost.happened == Happened::No && !connection.is_live() && sends < SENDS_MAX => {}
                outcome => return outcome,
            }
        }
    }

    async fn connection(&self) -> Result<Arc<Connection>, Lost> {
        let connection = connected(self.shared, self.what, self.cancel.cancelled()).await?;
        if let Some(tool) = self.tool {
            pins::check(self.shared, &connection, tool, self.cancel.cancelled()).await?;
        }
        Ok(connection)
    }

    /// Has the questions of a result answered: what is sent along with the request the next time.
    async fn input(&self, result: &Value) -> Result<Vec<(&'static str, Value)>, Lost> {
        let mut more = Vec::new();
        if let Some(requests) = result.get("inputRequests") {
            more.push(("inputResponses", self.answers(requests).await?));
        }
        if let Some(state) = result.get("requestState") {
            more.push(("requestState", state.clone()));
        }
        Ok(more)
    }

    /// The answers to the questions of one moment, by their keys.
    pub(crate) async fn answers(&self, requests: &Value) -> Result<Value, Lost> {
        let questions: Vec<Question> = requests.as_object().into_iter().flat_map(|all| all.iter()).map(question).collect();
        let keys: Vec<Text> = questions.iter().map(|question| question.key.clone()).collect();
        let methods: Vec<Text> = questions.iter().map(|question| question.method.clone()).collect();
        let Some(port) = &self.shared.questions else { return Err(self.unanswered(&methods, "there is nobody who could be asked")) };
        let asked = Asked::new(self.run.clone(), self.shared.spec.name.clone(), questions);
        let answers = tokio::select! {
            biased;
            () = self.cancel.cancelled() => return Err(Lost { happened: Happened::Answered, ..cancelled_error(self.what) }),
            answers = port.ask(asked) => answers,
        };
        let mut given = Vec::new();
        for (at, key) in keys.iter().enumerate() {
            match answers.get(at) {
                Some(Answered::Result(result)) => given.push((key.clone(), result.clone())),
                Some(Answered::Refused { message, .. }) => return Err(self.unanswered(methods.get(at..=at).unwrap_or_default(), message)),
                None => return Err(self.unanswered(methods.get(at..=at).unwrap_or_default(), "no answer came")),
            }
        }
        Ok(Value::object(given))
    }

    fn unanswered(&self, methods: &[Text], why: &str) -> Lost {
        let methods = methods.iter().map(Text::as_str).collect::<Vec<_>>().join("`, `");
        let server = &self.shared.spec.name;
        let message = format!("server `{server}` needs an answer (`{methods}`) before `{}` goes on: {why}", self.what);
        Lost {
            code: error::INPUT_REQUIRED,
            message: self.shared.board.redactor.mask(&message),
            help: Some("call it from a client that can be asked".to_owned()),
            happened: Happened::Answered,
        }
    }
}

fn question((key, request): (&Text, &Value)) -> Question {
    let method = request.get("method").and_then(Value::as_str).unwrap_or_default();
    Question { key: key.clone(), method: Text::from(method), params: request.get("params").cloned().unwrap_or_default() }
}
