//! An answer that comes from another thread. Needs no executor: whoever waits is woken by its own waker.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};

#[derive(Debug)]
struct Slot<T> {
    answer: Option<T>,
    waker: Option<Waker>,
    /// Nobody will answer any more.
    gone: bool,
}

/// The side that answers.
#[derive(Debug)]
pub(crate) struct Promise<T>(Arc<Mutex<Slot<T>>>);

/// The side that waits: the answer, or none when nobody is left to give one.
#[derive(Debug)]
pub(crate) struct Answer<T>(Arc<Mutex<Slot<T>>>);

pub(crate) fn promise<T>() -> (Promise<T>, Answer<T>) {
    let slot = Arc::new(Mutex::new(Slot { answer: None, waker: None, gone: false }));
    (Promise(slot.clone()), Answer(slot))
}

impl<T> Promise<T> {
    pub(crate) fn give(self, answer: T) {
        self.end(Some(answer));
    }

    fn end(&self, answer: Option<T>) {
        let waker = {
            let mut slot = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            slot.gone = true;
            if answer.is_some() {
                slot.answer = answer;
            }
            slot.waker.take()
        };
        // Outside the lock: the waker may poll at once.
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

impl<T> Drop for Promise<T> {
    fn drop(&mut self) {
        self.end(None);
    }
}

impl<T> Answer<T> {
    /// Blocks this thread until it is there.
    pub(crate) fn wait(mut self) -> Option<T> {
        struct Unpark(std::thread::Thread);
        impl std::task::Wake for Unpark {
            fn wake(self: Arc<Self>) {
                self.0.unpark();
            }
        }
        let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
        loop {
            if let Poll::Ready(answer) = Pin::new(&mut self).poll(&mut Context::from_waker(&waker)) {
                return answer;
            }
            std::thread::park();
        }
    }
}

impl<T> Future for Answer<T> {
    type Output = Option<T>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<T>> {
        let mut slot = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(answer) = slot.answer.take() {
            return Poll::Ready(Some(answer));
        }
        if slot.gone {
            return Poll::Ready(None);
        }
        match &mut slot.waker {
            Some(waker) => waker.clone_from(context.waker()),
            none => *none = Some(context.waker().clone()),
        }
        Poll::Pending
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_that_nobody_gives_ends_the_wait() {
        let (promise, answer) = promise::<u8>();
        drop(promise);
        assert_eq!(answer.wait(), None);
    }

    #[test]
    fn an_answer_from_another_thread_wakes() {
        for _ in 0..1_000 {
            let (promise, answer) = promise();
            let thread = std::thread::spawn(move || promise.give(7));
            assert_eq!(answer.wait(), Some(7));
            thread.join().unwrap();
        }
    }
}
