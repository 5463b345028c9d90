//! Streamable HTTP: sessions of older generations, single requests of the newest, and who may come in.

use std::net::SocketAddr;

/// How clients reach the server over HTTP.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct HttpOptions {
    /// Where to listen; loopback unless the host says otherwise.
    pub address: SocketAddr,
    /// The path of the endpoint.
    pub path: String,
}
