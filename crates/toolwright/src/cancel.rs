//! Cancelling a run: the host holds a [`CancelSource`], a tool only ever sees a
//! [`CancelToken`] and so can never cancel its caller.

use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

/// The right to cancel. Clones cancel the same run.
#[derive(Clone, Debug, Default)]
pub struct CancelSource(CancellationToken);

impl CancelSource {
    /// A source that has not cancelled anything yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Cancels whatever was given a token of this source. Doing it twice changes nothing.
    pub fn cancel(&self) {
        self.0.cancel();
    }

    /// A token to hand on.
    pub fn token(&self) -> CancelToken {
        CancelToken(Some(self.0.clone()))
    }
}

/// The right to look whether a run was cancelled.
#[derive(Clone, Debug, Default)]
pub struct CancelToken(Option<CancellationToken>);

impl CancelToken {
    /// A token that nobody can cancel.
    pub fn never() -> Self {
        Self(None)
    }

    /// Whether the run was cancelled.
    #[inline]
    pub fn is_cancelled(&self) -> bool {
        self.0.as_ref().is_some_and(CancellationToken::is_cancelled)
    }

    /// Ends when the run is cancelled; never, when nobody can.
    pub async fn cancelled(&self) {
        match &self.0 {
            Some(token) => token.cancelled().await,
            None => std::future::pending().await,
        }
    }

    /// A source and token of its own that this token's source cancels too.
    pub(crate) fn child(&self) -> (CancelSource, Self) {
        let source = CancelSource(self.0.as_ref().map_or_else(CancellationToken::new, CancellationToken::child_token));
        let token = source.token();
        (source, token)
    }

    /// The waiting half as an owned future; none when nobody can cancel.
    pub(crate) fn wait(&self) -> Option<WaitForCancellationFutureOwned> {
        self.0.as_ref().map(|token| token.clone().cancelled_owned())
    }
}
