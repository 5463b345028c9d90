//! The events of one client: kept until they were read, and then, within bounds, for a client that lost its connection.
//!
//! A mailbox belongs to one session or to one sessionless request, so that nobody reads what another one was sent.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use axum::body::Bytes;

/// Whether an event of a stream may be let go.
type MayGo = dyn Fn(&Stream, &Event) -> bool;

/// What an event costs beside its text, in bytes.
const EVENT_BYTES: usize = 64;

/// The events of one client, by stream.
pub(super) struct Mailbox {
    state: Mutex<State>,
    rules: Rules,
    /// Shared by all mailboxes of an endpoint.
    common: Arc<Common>,
}

/// How a mailbox keeps events.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rules {
    /// Whether events have ids, and are kept for a client that comes back.
    pub(super) replay: bool,
    /// Bytes that are kept.
    pub(super) bytes_max: usize,
}

/// What all mailboxes of an endpoint share.
#[derive(Debug, Default)]
pub(super) struct Common {
    /// Streams are numbered over all clients: an id that was another client's is nobody's here.
    next_stream: AtomicU64,
    bytes: AtomicUsize,
    bytes_max: usize,
}

#[derive(Default)]
struct State {
    streams: BTreeMap<u64, Stream>,
    bytes: usize,
    closed: bool,
}

#[derive(Default)]
struct Stream {
    events: VecDeque<Event>,
    /// The number of the newest event; the one that opens a stream has 0 and is never kept.
    newest: u64,
    /// The newest event that was handed to a reader.
    read: u64,
    /// Set when no event comes any more.
    done: Option<Instant>,
    /// Who reads: the newest one that came; 0 when nobody does.
    reader: u64,
    readers: u64,
    waker: Option<Waker>,
}

struct Event {
    number: u64,
    bytes: Bytes,
    /// The reply: what the client waits for.
    last: bool,
}

/// A place in a stream: what a reader holds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) stream: u64,
    /// The newest event that the reader has.
    pub(super) after: u64,
    reader: u64,
}

impl Common {
    pub(super) fn new(bytes_max: usize) -> Arc<Self> {
        Arc::new(Self { next_stream: AtomicU64::new(1), bytes: AtomicUsize::new(0), bytes_max })
    }
}

impl Mailbox {
    pub(super) fn new(rules: Rules, common: Arc<Common>) -> Arc<Self> {
        Arc::new(Self { state: Mutex::default(), rules, common })
    }

    /// Begins a stream and gives its number.
    pub(super) fn open(&self) -> u64 {
        let number = self.common.next_stream.fetch_add(1, Ordering::Relaxed);
        let mut state = self.state();
        if !state.closed {
            state.streams.insert(number, Stream::default());
        }
        number
    }

    /// Adds an event. Does nothing to a stream that is done or closed.
    pub(super) fn push(&self, stream: u64, message: &str, last: bool) {
        let mut state = self.state();
        let Some(found) = state.streams.get_mut(&stream).filter(|found| found.done.is_none()) else { return };
        found.newest += 1;
        let number = found.newest;
        let text = if self.rules.replay { format!("id: {stream}-{number}\ndata: {message}\n\n") } else { format!("data: {message}\n\n") };
        let size = text.len() + EVENT_BYTES;
        found.events.push_back(Event { number, bytes: Bytes::from(text), last });
        if last {
            found.done = Some(Instant::now());
        }
        let waker = found.waker.take();
        state.bytes += size;
        self.common.bytes.fetch_add(size, Ordering::Relaxed);
        self.make_room(&mut state);
        drop(state);
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Ends a stream without a reply.
    pub(super) fn finish(&self, stream: u64) {
        let mut state = self.state();
        let Some(found) = state.streams.get_mut(&stream) else { return };
        found.done.get_or_insert_with(Instant::now);
        let waker = found.waker.take();
        drop(state);
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Reads on from an event of a stream; whoever read there before is sent away. `None`: there is no such stream here.
    pub(super) fn attach(&self, stream: u64, after: u64) -> Option<Place> {
        let mut state = self.state();
        let found = state.streams.get_mut(&stream)?;
        if after > found.newest {
            return None;
        }
        found.readers += 1;
        found.reader = found.readers;
        let place = Place { stream, after, reader: found.reader };
        let waker = found.waker.take();
        drop(state);
        if let Some(waker) = waker {
            waker.wake();
        }
        Some(place)
    }

    /// Whether somebody reads a stream.
    pub(super) fn is_read(&self, stream: u64) -> bool {
        self.state().streams.get(&stream).is_some_and(|found| found.reader != 0)
    }

    /// Whether events of a stream may still be read, now or by a client that comes back.
    pub(super) fn is_open(&self, stream: u64) -> bool {
        let state = self.state();
        let found = state.streams.get(&stream);
        // Before its first reader came it is as open as any: a subscription is acknowledged before it is read.
        let read = |found: &Stream| self.rules.replay || found.readers == 0 || found.reader != 0;
        !state.closed && found.is_some_and(|found| found.done.is_none() && read(found))
    }

    /// The newest event of a stream that was read.
    pub(super) fn read_up_to(&self, stream: u64) -> u64 {
        self.state().streams.get(&stream).map_or(0, |found| found.read)
    }

    /// The next event for a reader; `None` when nothing comes any more, or another one reads now.
    pub(super) fn next(&self, place: &mut Place, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        let mut state = self.state();
        let Some(found) = state.streams.get_mut(&place.stream).filter(|found| found.reader == place.reader) else {
            return Poll::Ready(None);
        };
        let Some(event) = found.events.iter().find(|event| event.number > place.after) else {
            if found.done.is_some() {
                return Poll::Ready(None);
            }
            found.waker = Some(cx.waker().clone());
            return Poll::Pending;
        };
        place.after = event.number;
        let bytes = event.bytes.clone();
        found.read = found.read.max(place.after);
        if !self.rules.replay {
            // Nobody asks for it again; what came after it is still to be read.
            let read = found.events.iter().take_while(|event| event.number <= place.after).count();
            let freed: usize = found.events.drain(..read).map(|event| event.size()).sum();
            self.free(&mut state, freed);
        }
        Poll::Ready(Some(bytes))
    }

    /// A reader goes.
    pub(super) fn detach(&self, place: Place) {
        let mut state = self.state();
        if let Some(found) = state.streams.get_mut(&place.stream)
            && found.reader == place.reader
        {
            found.reader = 0;
            found.waker = None;
        }
    }

    /// Forgets streams that ended so long ago.
    pub(super) fn forget(&self, age: Duration) {
        let mut state = self.state();
        let old = |found: &Stream| found.reader == 0 && found.done.is_some_and(|at| at.elapsed() >= age);
        let freed: usize = state.streams.values().filter(|found| old(found)).map(Stream::size).sum();
        state.streams.retain(|_, found| !old(found));
        self.free(&mut state, freed);
    }

    /// Ends every stream and takes no event any more.
    pub(super) fn close(&self) {
        let mut state = self.state();
        state.closed = true;
        let freed = state.bytes;
        self.free(&mut state, freed);
        let streams = std::mem::take(&mut state.streams);
        drop(state);
        for waker in streams.into_values().filter_map(|found| found.waker) {
            waker.wake();
        }
    }

    /// Lets go of events until the rest is within bounds: of ended streams that were read to their end first, then of others that were
    /// read, then of what nobody reads now, oldest first. A reply that somebody is reading towards stays.
    fn make_room(&self, state: &mut State) {
        let over = |state: &State| {
            state.bytes > self.rules.bytes_max || (state.bytes > 0 && self.common.bytes.load(Ordering::Relaxed) > self.common.bytes_max)
        };
        if !over(state) {
            return;
        }
        let numbers: Vec<u64> = state.streams.keys().copied().collect();
        let ended = |found: &Stream, _: &Event| found.done.is_some() && found.read == found.newest && found.reader == 0;
        let was_read = |found: &Stream, event: &Event| event.number <= found.read;
        let unread = |found: &Stream, _: &Event| found.reader == 0;
        let slow = |found: &Stream, event: &Event| !event.last && event.number < found.newest;
        let passes: [&MayGo; 4] = [&ended, &was_read, &unread, &slow];
        for may_go in passes {
            for number in &numbers {
                while over(state) {
                    let Some(found) = state.streams.get_mut(number) else { break };
                    let goes = found.events.front().is_some_and(|event| may_go(found, event));
                    if !goes {
                        break;
                    }
                    let Some(event) = found.events.pop_front() else { break };
                    let emptied = found.done.is_some() && found.events.is_empty() && found.reader == 0;
                    if emptied {
                        state.streams.remove(number);
                    }
                    self.free(state, event.size());
                }
            }
        }
    }

    fn free(&self, state: &mut State, bytes: usize) {
        state.bytes = state.bytes.saturating_sub(bytes);
        self.common.bytes.fetch_sub(bytes, Ordering::Relaxed);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Mailbox {
    fn drop(&mut self) {
        let bytes = self.state().bytes;
        self.common.bytes.fetch_sub(bytes, Ordering::Relaxed);
    }
}

impl Event {
    fn size(&self) -> usize {
        self.bytes.len() + EVENT_BYTES
    }
}

impl Stream {
    fn size(&self) -> usize {
        self.events.iter().map(Event::size).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What comes in a burst is read one by one, whether it is kept for later or not.
    #[test]
    fn nothing_that_was_not_read_goes() {
        for replay in [false, true] {
            let common = Common::new(1_000);
            let mailbox = Mailbox::new(Rules { replay, bytes_max: 1_000 }, common.clone());
            let stream = mailbox.open();
            let mut place = mailbox.attach(stream, 0).unwrap();
            mailbox.push(stream, "how far", false);
            mailbox.push(stream, "further", false);
            mailbox.push(stream, "the reply", true);
            let mut cx = Context::from_waker(Waker::noop());
            for expected in ["how far", "further", "the reply"] {
                let Poll::Ready(Some(bytes)) = mailbox.next(&mut place, &mut cx) else { panic!("`{expected}` is lost") };
                assert!(bytes.ends_with(format!("data: {expected}\n\n").as_bytes()), "{bytes:?}");
            }
            assert!(matches!(mailbox.next(&mut place, &mut cx), Poll::Ready(None)));
            drop(mailbox);
            assert_eq!(common.bytes.load(Ordering::Relaxed), 0);
        }
    }
}
