//! A stream as it goes out: an opening, the events, and a sign of life while there are none.

use std::convert::Infallible;
use std::future::Future as _;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::Bytes;
use futures_util::Stream;
use tokio::time::{Instant, Sleep, sleep};

use super::mailbox::{Mailbox, Place};
use crate::server::version::Version;

/// A line that every reader skips. Without an empty line behind it: one widespread reader takes that for an event.
const PULSE: Bytes = Bytes::from_static(b":\n");

/// Reads one stream of a mailbox, until it ends or another one reads it.
pub(super) struct Reader<K> {
    mailbox: Arc<Mailbox>,
    place: Place,
    opening: Option<Bytes>,
    pulse: Duration,
    silence: Option<Pin<Box<Sleep>>>,
    /// Lives as long as somebody reads.
    _kept: K,
}

impl<K> Reader<K> {
    pub(super) fn new(mailbox: Arc<Mailbox>, place: Place, opening: Option<Bytes>, pulse: Duration, kept: K) -> Self {
        Self { mailbox, place, opening, pulse, silence: None, _kept: kept }
    }
}

/// The first event of a stream: it has an id, so that a client can come back to it before anything else happened. Readers of older
/// revisions would take it for a message.
pub(super) fn opening(version: Version, stream: u64, after: u64, retry: Duration) -> Option<Bytes> {
    let knows = version >= Version::V2025_11_25 && !version.sessionless();
    knows.then(|| Bytes::from(format!("id: {stream}-{after}\nretry: {}\ndata: \n\n", retry.as_millis())))
}

impl<K: Unpin> Stream for Reader<K> {
    type Item = Result<Bytes, Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        if let Some(opening) = this.opening.take() {
            return Poll::Ready(Some(Ok(opening)));
        }
        if let Poll::Ready(next) = this.mailbox.next(&mut this.place, cx) {
            this.silence = None;
            return Poll::Ready(next.map(Ok));
        }
        let pulse = this.pulse;
        let silence = this.silence.get_or_insert_with(|| Box::pin(sleep(pulse)));
        if silence.as_mut().poll(cx).is_pending() {
            return Poll::Pending;
        }
        silence.as_mut().reset(Instant::now() + pulse);
        Poll::Ready(Some(Ok(PULSE)))
    }
}

impl<K> Drop for Reader<K> {
    fn drop(&mut self) {
        self.mailbox.detach(self.place);
    }
}
