//! Cancelling a run: the host holds a [`CancelSource`], a tool only ever sees a
//! [`CancelToken`] and so can never cancel its caller.
//!
//! A tool that says it changes nothing is dropped at once. Any other has the grace period of [`Limits`](crate::Limits)
//! to say what happened; without a clock, it has as long as it likes.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

/// The right to cancel. Clones cancel the same run.
///
/// ```
/// use toolwright::CancelSource;
/// let source = CancelSource::new();
/// let token = source.token();
/// source.cancel();
/// assert!(token.is_cancelled());
/// ```
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
        CancelToken { first: Some(self.0.clone()), more: None }
    }
}

/// The right to look whether a run was cancelled.
///
/// ```
/// use toolwright::{CancelSource, CancelToken};
/// let (inner, outer) = (CancelSource::new(), CancelSource::new());
/// let both = inner.token().and(&outer.token());
/// outer.cancel();
/// assert!(both.is_cancelled() && !inner.token().is_cancelled());
/// assert!(!CancelToken::never().is_cancelled());
/// ```
#[derive(Clone, Debug, Default)]
pub struct CancelToken {
    first: Option<CancellationToken>,
    /// Further ones; whichever comes first counts.
    more: Option<Arc<[CancellationToken]>>,
}

impl CancelToken {
    /// A token that nobody can cancel.
    pub fn never() -> Self {
        Self::default()
    }

    /// Whether the run was cancelled.
    #[inline]
    pub fn is_cancelled(&self) -> bool {
        self.first.as_ref().is_some_and(CancellationToken::is_cancelled) || self.more.as_ref().is_some_and(|more| any(more))
    }

    /// Ends when the run is cancelled; never, when nobody can.
    pub async fn cancelled(&self) {
        match self.wait() {
            Some(wait) => wait.await,
            None => std::future::pending().await,
        }
    }

    /// Cancelled as soon as this or the other is: the shorter of two lives.
    #[must_use]
    pub fn and(&self, other: &Self) -> Self {
        if other.first.is_none() {
            return self.clone();
        }
        if self.first.is_none() {
            return other.clone();
        }
        let more = self.tokens().skip(1).chain(other.tokens()).cloned().collect();
        Self { first: self.first.clone(), more: Some(more) }
    }

    fn tokens(&self) -> impl Iterator<Item = &CancellationToken> {
        self.first.iter().chain(self.more.iter().flat_map(|more| more.iter()))
    }

    /// A source and token of its own that this token's sources cancel too.
    pub(crate) fn child(&self) -> (CancelSource, Self) {
        let source = CancelSource(self.first.as_ref().map_or_else(CancellationToken::new, CancellationToken::child_token));
        let mut token = source.token();
        token.more = self.more.clone();
        (source, token)
    }

    /// The waiting half as an owned future; none when nobody can cancel.
    pub(crate) fn wait(&self) -> Option<Cancelled> {
        let first = Box::pin(self.first.as_ref()?.clone().cancelled_owned());
        let more = self.more.iter().flat_map(|more| more.iter()).map(|token| Box::pin(token.clone().cancelled_owned())).collect();
        Some(Cancelled { first, more })
    }
}

#[cold]
fn any(tokens: &[CancellationToken]) -> bool {
    tokens.iter().any(CancellationToken::is_cancelled)
}

/// Ends when the first of several tokens is cancelled.
pub(crate) struct Cancelled {
    first: Pin<Box<WaitForCancellationFutureOwned>>,
    more: Vec<Pin<Box<WaitForCancellationFutureOwned>>>,
}

impl Future for Cancelled {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, waking: &mut Context<'_>) -> Poll<()> {
        if self.first.as_mut().poll(waking).is_ready() {
            return Poll::Ready(());
        }
        if self.more.iter_mut().any(|token| token.as_mut().poll(waking).is_ready()) { Poll::Ready(()) } else { Poll::Pending }
    }
}
