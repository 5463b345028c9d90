//! The server as a host holds it.

use std::sync::Arc;

use toolwright::CancelToken;

use super::engine::Engine;
use super::http::{HttpError, HttpListener, HttpOptions};
use super::surface::{Generation, Surface};
use super::{Askers, Caller, Offer, ServerOptions, stdio};

/// A sealed catalogue in front of clients. Clones share it.
///
/// ```no_run
/// use toolwright::{CancelToken, Registry, tool};
/// use toolwright_mcp::server::{Askers, Caller, Offer, Server, ServerOptions};
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let echo = tool("echo", "Gives back what it gets").reads().run_json(|input, _call| async move { Ok(input) });
/// let catalog = Registry::new().with(echo)?.seal();
/// let server = Server::new(ServerOptions::new("desk", "1.0.0"), Askers::new(), Offer::new(catalog));
/// server.serve_stdio(Caller::default(), CancelToken::never()).await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Server {
    engine: Arc<Engine>,
}

impl Server {
    /// A server that offers what `offer` says. `askers` are the ones that the catalogue and its upstreams were built with.
    pub fn new(options: ServerOptions, askers: Askers, offer: Offer) -> Self {
        Self { engine: Engine::new(options, askers, offer) }
    }

    /// Offers something else from now on. Clients that can are told, if what they see changes by it.
    pub fn replace(&self, offer: Offer) {
        self.engine.replace(offer);
    }

    /// What clients of an audience see of what is offered now, as long as nobody knows their programs by name; made now unless it
    /// is there already. None when there is no such audience.
    ///
    /// The first client that lists the tools waits for this, unless somebody has asked for it before.
    ///
    /// ```
    /// use toolwright::{Registry, tool};
    /// use toolwright_mcp::server::{Askers, Generation, Offer, Server, ServerOptions};
    /// let echo = tool("echo", "Gives back what it gets").reads().run_json(|input, _call| async move { Ok(input) });
    /// let offer = Offer::new(Registry::new().with(echo)?.seal());
    /// let server = Server::new(ServerOptions::new("desk", "1.0.0"), Askers::new(), offer);
    /// let surface = server.surface("", Generation::Sessions);
    /// assert_eq!(surface.map(|surface| surface.tools().len()), Some(1));
    /// assert!(server.surface("guests", Generation::Sessions).is_none());
    /// # Ok::<(), toolwright::RegisterError>(())
    /// ```
    pub fn surface(&self, audience: &str, generation: Generation) -> Option<Arc<Surface>> {
        self.engine.surface_for(audience, generation)
    }

    /// Serves the client at the other end of the standard streams, until its end closes or `stop` is cancelled. Returns when no call
    /// runs any more.
    ///
    /// # Errors
    /// When the streams cannot be read or written.
    pub async fn serve_stdio(&self, caller: Caller, stop: CancelToken) -> std::io::Result<()> {
        stdio::serve_standard(&self.engine, caller, stop).await
    }

    /// The same over any pipe, such as a socket: one message a line.
    ///
    /// # Errors
    /// As [`Server::serve_stdio`].
    pub async fn serve_pipe<R, W>(&self, caller: Caller, reader: R, writer: W, stop: CancelToken) -> std::io::Result<()>
    where
        R: tokio::io::AsyncRead + Send + Unpin + 'static,
        W: tokio::io::AsyncWrite + Send + Unpin + 'static,
    {
        stdio::serve(&self.engine, caller, reader, writer, stop).await
    }

    /// Listens for clients over HTTP, so that the host can say where before it serves them.
    ///
    /// # Errors
    /// When the options let in whom they should not, or the address cannot be listened on.
    pub async fn bind_http(&self, options: HttpOptions) -> Result<HttpListener, HttpError> {
        HttpListener::bind(&self.engine, options).await
    }

    /// Serves clients over HTTP until `stop` is cancelled. Returns when no call runs any more.
    ///
    /// # Errors
    /// As [`Server::bind_http`].
    pub async fn serve_http(&self, options: HttpOptions, stop: CancelToken) -> Result<(), HttpError> {
        self.bind_http(options).await?.serve(stop).await;
        Ok(())
    }
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Server").finish_non_exhaustive()
    }
}
