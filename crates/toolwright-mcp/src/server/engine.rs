//! What becomes of a message: the same for every transport and both generations.

use std::sync::Arc;

use super::ServerOptions;
use super::client::Client;
use super::outlet::Outlet;

/// The server behind its transports.
pub(crate) struct Engine {
    pub(crate) options: ServerOptions,
}

impl Engine {
    /// Takes what a client sent. Returns at once; whatever comes of a request goes to `outlet`.
    pub(crate) fn receive(self: &Arc<Self>, client: &Arc<Client>, bytes: &[u8], outlet: &Arc<dyn Outlet>) {
        let _ = (client, bytes, outlet, &self.options);
    }
}
