//! What servers ask back while they work (sampling, elicitation, roots), and who is asked for them.

use toolwright::{BoxFuture, Text, Value};

/// Passes the questions of a server on to whoever made the call. A host without one answers every question with a refusal.
///
/// Both protocol generations come here alike: a request that an older server sends, and the input that a newer one requires before it
/// goes on. Answers are in the order of the questions, one each.
pub trait Questions: Send + Sync {
    /// Asks. The future ends early when the call is cancelled; it may take as long as it wants, no limit of the call counts meanwhile.
    fn ask(&self, asked: Asked) -> BoxFuture<'_, Vec<Answered>>;

    /// The server made a task of a call; it is waited for all the same.
    fn became_task(&self, run: &str) {
        let _ = run;
    }

    /// What the client behind a run can do, as it declared it (`sampling`, `elicitation`, `roots`, `extensions`); a server of the
    /// newest generation is told with each request. `null`: nobody is asked anything, and tasks are waited for.
    fn capabilities(&self, run: &str) -> Value {
        let _ = run;
        Value::Null
    }

    /// The level from which the client behind a run wants lines for the log.
    fn log_level(&self, run: &str) -> Option<Text> {
        let _ = run;
        None
    }

    /// A line for the log came while a call of that run was under way; in order, and before the call's result. Must not wait.
    fn said(&self, run: &str, params: &Value) {
        let _ = (run, params);
    }

    /// Whether both runs are of one client. Several calls of different clients may be under way over one pipe, and a question of an
    /// older server names none of them: it is asked only when all are together.
    fn together(&self, run: &str, other: &str) -> bool {
        run == other
    }
}

/// Questions of one moment.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Asked {
    /// The run of the call that they belong to: an id of a catalogue's run, or of a [passed request](crate::upstream::Upstream::pass).
    pub run: Text,
    /// The server that asks.
    pub server: Text,
    /// What it asks.
    pub questions: Vec<Question>,
}

/// One question.
#[derive(Clone, Debug, PartialEq)]
pub struct Question {
    /// What the server calls it; unique among those of one moment.
    pub key: Text,
    /// `sampling/createMessage`, `elicitation/create` or `roots/list`.
    pub method: Text,
    /// As sent.
    pub params: Value,
}

/// What came of a question.
#[derive(Clone, Debug, PartialEq)]
pub enum Answered {
    /// The client's result, as sent.
    Result(Value),
    /// Nobody answers it.
    Refused {
        /// The JSON-RPC code.
        code: i64,
        /// In words.
        message: String,
    },
}

impl Asked {
    /// Questions of a server, for a run.
    pub fn new(run: impl Into<Text>, server: impl Into<Text>, questions: Vec<Question>) -> Self {
        Self { run: run.into(), server: server.into(), questions }
    }
}
