//! Asking MCP servers for their tools, all at once, and ending them.

use futures_util::future::join_all;
use toolwright_mcp::upstream::{Listing, ServerSpec, Upstream, UpstreamError};

/// A server that was asked, and its answer.
pub(crate) struct Asked {
    /// The server.
    pub(crate) upstream: Upstream,
    /// What it said.
    pub(crate) answer: Result<Listing, UpstreamError>,
}

/// Starts and asks every server, all at once; the answers in the order of the questions.
pub(crate) async fn ask(specs: Vec<ServerSpec>) -> Vec<Asked> {
    join_all(specs.into_iter().map(|spec| async {
        let upstream = Upstream::new(spec);
        let answer = upstream.tools().await;
        Asked { upstream, answer }
    }))
    .await
}

/// Ends every server; comes back when nothing of them is left.
pub(crate) async fn close(upstreams: &[Upstream]) {
    join_all(upstreams.iter().map(Upstream::shutdown)).await;
}
