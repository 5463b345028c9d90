//! Where messages to a client go: the one pipe of stdio, or over HTTP the stream of the request they belong to.

/// The way of messages that belong to one request, or, for a client's own outlet, to none.
///
/// Messages are whole JSON-RPC messages as text, without a line break. Both methods return at once; a client that is gone, or does not
/// read, costs its own messages only.
pub(crate) trait Outlet: Send + Sync {
    /// Something on the way: progress, a log line, a question to the client.
    fn tell(&self, message: String);

    /// The reply, after which nothing else of this request comes.
    fn reply(&self, message: String);

    /// Whether somebody may still read what is sent here.
    fn is_open(&self) -> bool;
}
