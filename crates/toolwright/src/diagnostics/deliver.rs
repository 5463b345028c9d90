//! The queue of a scope's deliveries: one after another, in the order in which
//! they were asked for. Knows no runtime: whoever waits is woken by whoever leaves.

use std::collections::BTreeMap;
use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};

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
    /// Takes the last place.
    pub(super) fn enqueued(queue: &Arc<Queue>) -> Self {
        let mut places = queue.places();
        let number = places.next;
        places.next += 1;
        places.taken.insert(number, None);
        drop(places);
        Self { queue: queue.clone(), number }
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
    use std::pin::pin;

    use futures_util::FutureExt;

    use super::*;

    #[test]
    fn one_that_leaves_while_it_waits_lets_nobody_pass() {
        let queue = Arc::new(Queue::default());
        let (first, second, third) = (Delivery::enqueued(&queue), Delivery::enqueued(&queue), Delivery::enqueued(&queue));
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
        drop(Delivery::enqueued(&queue).turn().now_or_never());
        assert!(queue.places().taken.is_empty());
    }
}
