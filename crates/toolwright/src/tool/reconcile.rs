//! Finding out what became of a call that was begun and whose outcome nobody knows.

use std::sync::Arc;

use super::BoxFuture;
use crate::journal::Begin;
use crate::runtime::Runtime;
use crate::value::{Text, Value};

/// A call that was begun in an earlier attempt at its run, and whose outcome is not known.
///
/// Given to the function that [`ToolBuilder::reconcile`](super::ToolBuilder::reconcile) takes.
///
/// ```
/// use toolwright::{Begun, Reconciled, json, tool};
/// async fn outbox_has(_key: &str) -> bool {
///     true
/// }
/// let send = tool("send", "Sends a mail")
///     .writes()
///     .reconcile(|begun: Begun, _context| async move {
///         // The same key that `Call::idempotency_key` gave the tool when it ran.
///         if outbox_has(&begun.idempotency_key()).await { Reconciled::Happened(Some(json!("sent"))) } else { Reconciled::NotHappened }
///     })
///     .run_json(|_, call| async move { Ok(call.idempotency_key()) });
/// # assert_eq!(send.id(), "send");
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Begun {
    /// Id of the run.
    pub run: Text,
    /// The recorded intent.
    pub begin: Begin,
}

impl Begun {
    /// A call of this run.
    pub fn new(run: impl Into<Text>, begin: Begin) -> Self {
        Self { run: run.into(), begin }
    }

    /// The arguments as they were sent.
    pub fn input(&self) -> &Value {
        &self.begin.input
    }

    /// The call's path in the run: `digest/1:send`.
    pub fn path(&self) -> String {
        self.begin.key.path()
    }

    /// The key that the tool had when it ran: [`Call::idempotency_key`](crate::Call::idempotency_key).
    pub fn idempotency_key(&self) -> String {
        self.begin.idempotency_key(&self.run)
    }
}

/// What became of a call whose outcome is not known, as the tool itself found out. See [`Begun`] for an example.
#[derive(Clone, Debug, PartialEq)]
pub enum Reconciled {
    /// The effect happened; the run goes on with this output.
    Happened(Option<Value>),
    /// It did not happen: the tool may run.
    NotHappened,
    /// It cannot be found out; a person must.
    Unknown,
}

/// Asks the outside world about a call that was begun.
pub(crate) type Reconcile<R> = dyn Fn(Begun, &Arc<<R as Runtime>::Context>) -> BoxFuture<'static, Reconciled> + Send + Sync;
