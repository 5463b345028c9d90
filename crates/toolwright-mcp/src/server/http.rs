//! Streamable HTTP: sessions of older generations, single requests of the newest, and who may come in.

use std::net::SocketAddr;
use std::sync::Arc;

use toolwright::CancelToken;

use super::engine::Engine;

/// How clients reach the server over HTTP.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct HttpOptions {
    /// Where to listen; loopback unless the host says otherwise.
    pub address: SocketAddr,
    /// The path of the endpoint.
    pub path: String,
}

/// Serves clients over HTTP until `stop` is cancelled.
pub(crate) async fn serve(engine: &Arc<Engine>, options: HttpOptions, stop: CancelToken) -> std::io::Result<()> {
    let _ = (engine, options, stop);
    Ok(())
}
