//! Questions of a call to the client that made it: sent as requests to a client with a session, and as input that is required to one
//! without, or through its task.

use std::sync::Arc;

use tokio::sync::oneshot;
use toolwright::{Object, Text, Value};

use super::desk::Desk;
use super::ids;
use super::input;
use super::job::{Inner, Job};
use crate::server::message::{self, INVALID_PARAMS, Id, METHOD_NOT_FOUND, RpcError};
use crate::server::outlet::Outlet;
use crate::server::request::Request;
use crate::upstream::{Answered, Question};

/// A question without an answer.
pub(crate) struct Open {
    pub(super) key: Text,
    method: Text,
    params: Value,
    by: AskedBy,
    answer: oneshot::Sender<Answered>,
    /// It was sent as a request of ours, and this client has not answered.
    sent: Option<Sent>,
}

/// Who wants to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AskedBy {
    /// A server: whoever calls may have known that and sent the answer along.
    Upstream,
    /// An approval: only an answer to this very question counts.
    Approval,
}

struct Sent {
    client: u64,
    id: Id,
    outlet: Arc<dyn Outlet>,
}

/// Questions that were asked. Dropped, they are asked no more.
pub(crate) struct Asking {
    job: Arc<Job>,
    desk: Arc<Desk>,
    coming: Vec<Coming>,
}

enum Coming {
    Now(Answered),
    Later(Text, oneshot::Receiver<Answered>),
}

impl Job {
    /// Asks the client. What nobody can answer is refused at once.
    pub(crate) fn ask(self: &Arc<Self>, desk: &Arc<Desk>, questions: Vec<Question>, by: AskedBy) -> Asking {
        let mut inner = self.inner();
        let coming = questions.into_iter().map(|question| inner.open(question, by)).collect();
        self.deliver(desk, &mut inner);
        if !inner.open.is_empty() {
            inner.touch(self, desk);
        }
        drop(inner);
        Asking { job: self.clone(), desk: desk.clone(), coming }
    }

    /// Brings open questions to those who wait: requests to clients with sessions, and, as the reply, to clients without.
    pub(super) fn deliver(self: &Arc<Self>, desk: &Desk, inner: &mut Inner) {
        let Inner { waiters, open, .. } = inner;
        let mut parked = Vec::new();
        for question in open.iter_mut().filter(|question| question.sent.is_none()) {
            let able = |request: &Request| input::can_answer(&request.terms.capabilities, &question.method, &question.params);
            let Some(at) = waiters.iter().position(|waiter| able(&waiter.request)) else { continue };
            let Some(request) = waiters.get(at).map(|waiter| &waiter.request) else { continue };
            if request.terms.version.sessionless() {
                parked.push(at);
                continue;
            }
            let id = desk.next_question();
            let outlet = if request.outlet.is_open() { request.outlet.clone() } else { request.client.aside.clone() };
            desk.add_sent(request.client.key, &id, self, &question.key);
            outlet.tell(message::request(&id, &question.method, &question.params));
            question.sent = Some(Sent { client: request.client.key, id, outlet });
        }
        parked.sort_unstable();
        parked.dedup();
        for at in parked.into_iter().rev() {
            let waiter = inner.waiters.swap_remove(at);
            desk.unwait(waiter.request.client.key, &waiter.request.id, self);
            let state = inner.state.get_or_insert_with(|| ids::fresh("state")).clone();
            desk.add_state(state.clone(), self);
            let asked = requests(inner.open.iter().filter(|question| {
                question.sent.is_none() && input::can_answer(&waiter.request.terms.capabilities, &question.method, &question.params)
            }));
            let result = [("resultType", Value::from("input_required")), ("inputRequests", asked), ("requestState", Value::String(state))];
            waiter.request.reply_complete(Value::object(result));
        }
    }

    /// A client takes the call up again: its answers count, and nobody else may use this state.
    ///
    /// # Errors
    /// When it is not this call's state any more, or an answer has not the form of one; then nothing is changed.
    pub(crate) fn take_up(self: &Arc<Self>, desk: &Desk, state: &str, responses: Option<&Object>) -> Result<(), RpcError> {
        let mut inner = self.inner();
        if inner.state.as_deref() != Some(state) {
            return Err(no_state());
        }
        inner.check(responses)?;
        if inner.outcome.is_none() {
            inner.state = None;
            desk.remove_state(state);
        }
        inner.respond(responses);
        Ok(())
    }

    /// Answers through the task. What it does not ask is ignored.
    ///
    /// # Errors
    /// When an answer has not the form of one.
    pub(crate) fn update(&self, desk: &Desk, responses: Option<&Object>) -> Result<(), RpcError> {
        let mut inner = self.inner();
        inner.check(responses)?;
        if inner.respond(responses) > 0 {
            inner.touch(self, desk);
        }
        Ok(())
    }

    /// The answer to a question that was sent to a client with a session.
    pub(crate) fn answer(&self, desk: &Desk, key: &str, answered: Answered) {
        let mut inner = self.inner();
        let checked = match (inner.open.iter().find(|question| question.key == *key), answered) {
            (Some(question), Answered::Result(result)) => match input::fits(&question.method, &result) {
                Ok(()) => Answered::Result(result),
                Err(should) => Answered::Refused {
                    code: INVALID_PARAMS,
                    message: format!("the client's answer to `{}` is no answer: it should be {should}", question.method),
                },
            },
            (_, answered) => answered,
        };
        if let Some(question) = inner.take(key) {
            let _ = question.answer.send(checked);
            inner.touch(self, desk);
        }
    }

    /// Approvals that wait are left to whoever answers them elsewhere.
    pub(crate) fn leave_approvals(&self) {
        self.inner().leave_approvals();
    }

    /// Questions are asked no more.
    fn withdraw(&self, desk: &Desk, keys: &[&Text]) {
        let mut inner = self.inner();
        let mut any = false;
        for key in keys {
            let Some(question) = inner.take(key) else { continue };
            any = true;
            if let Some(Sent { client, id, outlet }) = question.sent
                && desk.take_sent(client, &id).is_some()
            {
                let params = Value::object([("requestId", id.to_value()), ("reason", "the question is not open any more".into())]);
                outlet.tell(message::notification("notifications/cancelled", &params));
            }
        }
        if any {
            inner.touch(self, desk);
        }
    }
}

impl Inner {
    fn open(&mut self, question: Question, by: AskedBy) -> Coming {
        let Question { key, method, params } = question;
        let refused = |code: i64, message: String| Coming::Now(Answered::Refused { code, message });
        if self.outcome.is_some() || self.cancelled {
            return refused(METHOD_NOT_FOUND, "the call is over: nobody is asked for it any more".to_owned());
        }
        if by == AskedBy::Upstream
            && let Some(given) = self.preset(&key, &method)
        {
            return Coming::Now(Answered::Result(given));
        }
        let can = |capabilities: &Value| input::can_answer(capabilities, &method, &params);
        let waiting = self.waiters.iter().any(|waiter| can(&waiter.request.terms.capabilities));
        let may_come_back = self.waiters.is_empty() && can(&self.terms.capabilities);
        if !waiting && !may_come_back {
            let needed = input::needed(&method, &params);
            return refused(METHOD_NOT_FOUND, format!("the client that made the call cannot be asked: it did not declare {needed}"));
        }
        let key = self.unused(key);
        let (answer, receiver) = oneshot::channel();
        self.open.push(Open { key: key.clone(), method, params, by, answer, sent: None });
        Coming::Later(key, receiver)
    }

    /// The answer that came with the first request, once.
    fn preset(&mut self, key: &Text, method: &str) -> Option<Value> {
        let Value::Object(presets) = &self.presets else { return None };
        let given = presets.get(key).filter(|given| input::fits(method, given).is_ok())?.clone();
        self.presets = Value::Object(presets.without(key));
        self.used.push(key.clone());
        Some(given)
    }

    /// The key itself, or, when it was used, one made of it.
    fn unused(&mut self, key: Text) -> Text {
        let mut unused = key.clone();
        let mut count = 1_u64;
        while self.used.contains(&unused) {
            count = count.saturating_add(1);
            unused = format!("{key}-{count}").into();
        }
        self.used.push(unused.clone());
        unused
    }

    fn take(&mut self, key: &str) -> Option<Open> {
        let at = self.open.iter().position(|question| question.key == *key)?;
        Some(self.open.remove(at))
    }

    fn check(&self, responses: Option<&Object>) -> Result<(), RpcError> {
        for question in &self.open {
            if let Some(response) = responses.and_then(|responses| responses.get(&question.key))
                && let Err(should) = input::fits(&question.method, response)
            {
                let message =
                    format!("`inputResponses` has no answer to `{}` under `{}`: it should be {should}", question.method, question.key);
                return Err(RpcError::new(INVALID_PARAMS, message));
            }
        }
        Ok(())
    }

    /// Gives the answers that are among these; how many.
    fn respond(&mut self, responses: Option<&Object>) -> usize {
        let Some(responses) = responses else { return 0 };
        let mut count = 0;
        for (key, response) in responses.iter() {
            if let Some(question) = self.take(key) {
                let _ = question.answer.send(Answered::Result(response.clone()));
                count += 1;
            }
        }
        count
    }

    /// What was sent to this client is not any more: it is gone.
    pub(super) fn unsent(&mut self, desk: &Desk, client: u64) {
        if self.waiters.iter().any(|waiter| waiter.request.client.key == client) {
            return;
        }
        for question in &mut self.open {
            if let Some(sent) = question.sent.take_if(|sent| sent.client == client) {
                desk.take_sent(client, &sent.id);
            }
        }
    }

    /// Approvals that wait are left to whoever answers them elsewhere. `false`: none waits.
    pub(super) fn leave_approvals(&mut self) {
        let left: Vec<Open> = self.open.extract_if(.., |question| question.by == AskedBy::Approval).collect();
        for question in left {
            let _ = question.answer.send(Answered::Refused { code: METHOD_NOT_FOUND, message: "the server is stopping".to_owned() });
        }
    }

    pub(crate) fn asks(&self) -> bool {
        !self.open.is_empty()
    }

    /// All that is asked, as a task or a result has it.
    pub(crate) fn all_asked(&self) -> Value {
        requests(self.open.iter())
    }
}

fn requests<'a>(open: impl Iterator<Item = &'a Open>) -> Value {
    Value::object(open.map(|question| {
        let params = if question.params.is_null() { Value::object::<Text, Value>([]) } else { question.params.clone() };
        (question.key.clone(), Value::object([("method", Value::String(question.method.clone())), ("params", params)]))
    }))
}

/// What a client is told whose state leads nowhere.
pub(crate) fn no_state() -> RpcError {
    let message = "no call waits for this `requestState`: it was changed, used already, belongs to another request or caller, or is too \
                   old; make the call again without it";
    RpcError::new(INVALID_PARAMS, message)
}

impl Asking {
    /// The answers, in the order of the questions.
    pub(crate) async fn answers(mut self) -> Vec<Answered> {
        let mut answers = Vec::with_capacity(self.coming.len());
        for coming in &mut self.coming {
            let gone = || Answered::Refused { code: METHOD_NOT_FOUND, message: "nobody answered".to_owned() };
            answers.push(match coming {
                Coming::Now(answered) => answered.clone(),
                Coming::Later(_, receiver) => receiver.await.unwrap_or_else(|_| gone()),
            });
        }
        answers
    }
}

impl Drop for Asking {
    fn drop(&mut self) {
        let keys = self.coming.iter().filter_map(|coming| match coming {
            Coming::Later(key, _) => Some(key),
            Coming::Now(_) => None,
        });
        let keys: Vec<&Text> = keys.collect();
        if !keys.is_empty() {
            self.job.withdraw(&self.desk, &keys);
        }
    }
}
