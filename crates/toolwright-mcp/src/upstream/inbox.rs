//! Everything that a server sends after the handshake: replies and progress to the requests they belong to, questions to whoever can
//! be asked for them, news to whoever listens.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use rmcp::model::ServerJsonRpcMessage;
use tokio::sync::Semaphore;
use toolwright::{Text, Value};

use super::inflight::{InFlight, Waiter};
use super::line::Line;
use super::pass::UpstreamEvent;
use super::questions::{Answered, Asked, Question, Questions};
use super::status::Board;
use crate::wire::{self, Incoming, Notice};

/// What a client may be asked; anything else that a server asks is refused.
pub(crate) const QUESTIONS: [&str; 3] = ["sampling/createMessage", "elicitation/create", "roots/list"];

/// Refusals to a server that may be on their way at once.
pub(crate) const REFUSALS: usize = 64;

/// Where messages of one connection arrive.
pub(crate) struct Inbox {
    pub(crate) server: Text,
    pub(crate) board: Arc<Board>,
    pub(crate) questions: Option<Arc<dyn Questions>>,
    pub(crate) inflight: Arc<InFlight>,
    /// Refusals that may be on their way at once ([`REFUSALS`]).
    pub(crate) refusals: Arc<Semaphore>,
    /// It answered the discovery, but only when nobody waited for that any more.
    pub(crate) discovered_late: AtomicBool,
}

impl Inbox {
    /// Takes what arrived; `of` is the request on whose own stream it came. Gives back what is for `rmcp`.
    pub(crate) fn take(self: &Arc<Self>, part: Incoming, of: Option<u64>, line: &Line) -> Option<Box<ServerJsonRpcMessage>> {
        match part {
            Incoming::Message(message) => return Some(message),
            Incoming::Reply(id, reply) => {
                if let Some(waiter) = self.inflight.get(id) {
                    waiter.answer(reply);
                }
            }
            Incoming::Progress(progress) => {
                if let Some(waiter) = self.inflight.get(progress.of) {
                    waiter.report(progress);
                }
            }
            Incoming::Asked(asked) => self.asked(asked, of, line),
            Incoming::Notice(notice) => self.noticed(&notice, of),
            Incoming::Noise => {}
        }
        None
    }

    /// The request that something belongs to.
    fn owner(&self, of: Option<u64>) -> Option<Arc<Waiter>> {
        match of {
            Some(id) => self.inflight.get(id).filter(|waiter| waiter.run.is_some()),
            None => self.inflight.only(self.questions.as_deref()),
        }
    }

    fn asked(self: &Arc<Self>, asked: wire::Asked, of: Option<u64>, line: &Line) {
        let refuse = |code, why: &str| {
            // Whoever floods us with questions and reads no answers gets none.
            if let Ok(permit) = self.refusals.clone().try_acquire_owned() {
                line.tell(wire::answer(&asked.id, Err((code, why))), permit);
            }
        };
        if !QUESTIONS.contains(&asked.method.as_str()) {
            return refuse(-32_601, "there is no such method here");
        }
        let Some(questions) = self.questions.clone() else { return refuse(-32_601, "there is nobody who could be asked") };
        let Some(waiter) = self.owner(of) else {
            return refuse(-32_603, "it cannot be told whose call this question belongs to, so nobody is asked");
        };
        let (Some(run), Some(open)) = (waiter.run.clone(), waiter.ask(asked.id.clone())) else {
            return refuse(-32_603, "too many questions of this call are being asked already");
        };
        let (line, server) = (line.clone(), self.server.clone());
        tokio::spawn(async move {
            let question = Question { key: Text::from(asked.id.trim_matches('"')), method: asked.method, params: asked.params };
            let answers = tokio::select! {
                biased;
                // Whoever took the question back reads no answer.
                () = open.cancelled.cancelled() => return,
                answers = questions.ask(Asked::new(run, server, vec![question])) => answers,
            };
            let answer = match answers.first() {
                Some(Answered::Result(result)) => wire::answer(&asked.id, Ok(result)),
                Some(Answered::Refused { code, message }) => wire::answer(&asked.id, Err((*code, message))),
                None => wire::answer(&asked.id, Err((-32_603, "nobody answered"))),
            };
            line.deliver(answer).await;
            // Only now: until the server has the answer its call may not end for silence.
            drop(open);
        });
    }

    fn noticed(&self, notice: &Notice, of: Option<u64>) {
        match notice.method.as_str() {
            "notifications/cancelled" => {
                if let Some(id) = notice.params.get("requestId") {
                    self.inflight.take_back(&id.to_json_string());
                }
            }
            "notifications/message" => self.said(&notice.params, of),
            "notifications/tools/list_changed" => {
                let mut facts = self.board.facts();
                facts.list_changes = facts.list_changes.saturating_add(1);
                drop(facts);
                self.board.tell(UpstreamEvent::ListChanged("tools"));
            }
            "notifications/prompts/list_changed" => self.board.tell(UpstreamEvent::ListChanged("prompts")),
            "notifications/resources/list_changed" => self.board.tell(UpstreamEvent::ListChanged("resources")),
            "notifications/resources/updated" => {
                if let Some(uri) = notice.params.get("uri").and_then(Value::as_str) {
                    self.board.tell(UpstreamEvent::ResourceUpdated(Text::from(uri)));
                }
            }
            _ => {}
        }
    }

    /// A line for the log, to the client of its call when that is known.
    fn said(&self, params: &Value, of: Option<u64>) {
        let params = self.board.redactor.clean(params);
        let run = self.owner(of).and_then(|waiter| waiter.run.clone());
        match (&self.questions, run) {
            (Some(questions), Some(run)) => questions.said(&run, &params),
            (_, run) => self.board.tell(UpstreamEvent::Log { run, params }),
        }
    }
}
