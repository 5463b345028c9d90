//! The queue of a scope's deliveries: one after another, in the order in which
//! they were asked for. Knows no runtime: whoever waits is woken by whoever leaves.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};

thread_local! {
    /// Queues whose consumers are being polled on this thread, innermost last.
    static CONSUMING: RefCell<Vec<usize>> = const { RefCell::new(Vec::new()) };
}

/// The deliveries that are not done yet.
#[derive(Debug, Default)]
pub(super) struct Queue(Mutex<Places>);

#[derive(Debug, Default)]
struct Places {
    next: u64,
    /// By number, with whom to wake when its turn comes; the first one has the turn.
    taken: BTreeMap<u64, Option<Waker>>,
}

impl Queue {
    fn places(&self) -> MutexGuard<'_, Places> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A place in the queue. Leaves it when dropped, waiting or not.
#[derive(Debug)]
pub(super) struct Delivery {
    queue: Arc<Queue>,
    number: u64,
}

impl Delivery {
    /// Takes the last place. A consumer that delivers to its own scope gets none: it has the turn already, and would
    /// wait for itself.
    pub(super) fn enqueued(queue: &Arc<Queue>) -> Option<Self> {
        let mine = Arc::as_ptr(queue).addr();
        if CONSUMING.try_with(|consuming| consuming.borrow().contains(&mine)).unwrap_or(false) {
            return None;
        }
        let mut places = queue.places();
        let number = places.next;
        places.next += 1;
        places.taken.insert(number, None);
        drop(places);
        Some(Self { queue: queue.clone(), number })
    }

    /// Waits until all before it have left, and keeps its place.
    pub(super) async fn turn(self) -> Self {
        poll_fn(|waking| {
            let mut places = self.queue.places();
            if places.taken.first_key_value().is_none_or(|(first, _)| *first == self.number) {
                return Poll::Ready(());
            }
            let former = places.taken.insert(self.number, Some(waking.waker().clone()));
            drop(places);
            // A waker is somebody else's code, so it goes when the lock is free.
            drop(former);
            Poll::Pending
        })
        .await;
        self
    }
}

/// Leaves the consumer that was being polled.
struct Polled;

impl Drop for Polled {
    fn drop(&mut self) {
        let _ = CONSUMING.try_with(|consuming| consuming.borrow_mut().pop());
    }
}

/// The consumer at work: what it delivers to the scope of this queue on its way is part of this delivery.
pub(super) async fn consumed<F: Future>(queue: Option<&Arc<Queue>>, consumer: F) -> F::Output {
    let Some(mine) = queue.map(|queue| Arc::as_ptr(queue).addr()) else { return consumer.await };
    let mut consumer = pin!(consumer);
    poll_fn(|waking| {
        let entered = CONSUMING.try_with(|consuming| consuming.borrow_mut().push(mine));
        let _polled = entered.ok().map(|()| Polled);
        consumer.as_mut().poll(waking)
    })
    .await
}

impl Drop for Delivery {
    fn drop(&mut self) {
        let mut places = self.queue.places();
        let mine = places.taken.remove(&self.number);
        let next = places.taken.first_entry().and_then(|mut entry| entry.get_mut().take());
        drop(places);
        drop(mine);
        if let Some(next) = next {
            next.wake();
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[test]
    fn one_that_leaves_while_it_waits_lets_nobody_pass() {
        let queue = Arc::new(Queue::default());
        let [first, second, third] = std::array::from_fn(|_| Delivery::enqueued(&queue).unwrap());
        let mut third = pin!(third.turn());
        assert!(third.as_mut().now_or_never().is_none());
        drop(second);
        assert!(third.as_mut().now_or_never().is_none());
        drop(first);
        assert!(third.as_mut().now_or_never().is_some());
    }

    #[test]
    fn an_empty_queue_keeps_nothing() {
        let queue = Arc::new(Queue::default());
        drop(Delivery::enqueued(&queue).unwrap().turn().now_or_never());
        assert!(queue.places().taken.is_empty());
    }
}
