//! One client as the server knows it: a legacy session, the other end of stdio, or the sender of one sessionless request.

use std::sync::Arc;

use super::caller::Caller;
use super::outlet::Outlet;

/// A client. Everything that outlives a request of theirs hangs on it.
pub(crate) struct Client {
    pub(crate) caller: Caller,
    /// Where messages go that belong to no request of theirs.
    pub(crate) aside: Arc<dyn Outlet>,
}
