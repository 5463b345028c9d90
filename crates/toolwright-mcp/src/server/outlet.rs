//! Where messages to a client go: the one pipe of stdio, or over HTTP the stream of the request they belong to.

/// The way of messages that belong to one request, or, for a client's own outlet, to none.
///
/// Messages are whole JSON-RPC messages as text, without a line break. All methods return at once; a client that is gone, or does not
/// read, costs its own messages only.
pub(crate) trait Outlet: Send + Sync {
    /// Something on the way: progress, a log line, a question to the client.
    fn tell(&self, message: String);

    /// The reply, after which nothing else of this request comes.
    fn reply(&self, reply: Reply);

    /// Nothing comes any more, and no reply either: the request was cancelled.
    fn end(&self);

    /// Whether somebody may still read what is sent here.
    fn is_open(&self) -> bool;
}

/// A reply as text, with what a transport must know of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Reply {
    /// The JSON-RPC message; for a batch, the array of all its replies.
    pub(crate) text: String,
    /// The code, when it is a JSON-RPC error.
    pub(crate) error: Option<i64>,
}

/// An outlet that nobody reads.
pub(crate) struct Nowhere;

impl Outlet for Nowhere {
    fn tell(&self, _message: String) {}

    fn reply(&self, _reply: Reply) {}

    fn end(&self) {}

    fn is_open(&self) -> bool {
        false
    }
}
