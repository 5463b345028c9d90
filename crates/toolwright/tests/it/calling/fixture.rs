//! What tests of calls stand on: a journal that notes what is asked of it and says no when told to, futures that are
//! polled by hand, and a place that waits for one more poll.

use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

use toolwright::journal::{Admission, Begin, Claim, End, Finish, Record, Resolution, RunHistory, RunJournal, RunRecord, StepKey};
use toolwright::{CancelSource, Eventually, Journal, JournalError, MemoryJournal, Text};

use crate::lifecycle_fixture::Notes;

/// A future that a test polls when it likes.
pub(crate) struct ByHand<'a, T>(Pin<Box<dyn Future<Output = T> + 'a>>);

impl<'a, T> ByHand<'a, T> {
    pub(crate) fn new(future: impl Future<Output = T> + 'a) -> Self {
        Self(Box::pin(future))
    }

    /// One poll; the result when that was the last one.
    pub(crate) fn poll(&mut self) -> Option<T> {
        match self.0.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(result) => Some(result),
            Poll::Pending => None,
        }
    }
}

/// Waits for one more poll.
pub(crate) async fn pause() {
    let mut waited = false;
    std::future::poll_fn(move |waking| {
        if waited {
            return Poll::Ready(());
        }
        waited = true;
        waking.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

/// A journal in memory that notes `open`, `begin <path>`, `finish <path>`, `abandoned <path>`, `end`, and says no to
/// the one that it was told to.
#[derive(Clone, Default)]
pub(crate) struct Watched {
    pub(crate) kept: MemoryJournal,
    pub(crate) log: Notes,
    no: Arc<Mutex<Option<No>>>,
    cancels: Arc<Mutex<Option<(String, CancelSource)>>>,
}

#[derive(Clone)]
enum No {
    Error(String),
    Panic(String),
}

struct WatchedRun {
    journal: Watched,
    run: Arc<dyn RunJournal>,
}

type Soon<'a, T> = Eventually<'a, Result<T, JournalError>>;

impl Watched {
    /// Notes in this log.
    pub(crate) fn noting(log: &Notes) -> Self {
        Self { log: log.clone(), ..Self::default() }
    }

    /// Says no to what would be noted as this, without doing it.
    pub(crate) fn refuse(&self, what: impl Into<String>) {
        *self.no.lock().unwrap() = Some(No::Error(what.into()));
    }

    /// Breaks down instead of doing what would be noted as this.
    pub(crate) fn panic_at(&self, what: impl Into<String>) {
        *self.no.lock().unwrap() = Some(No::Panic(what.into()));
    }

    /// Has the call cancelled while it does what would be noted as this.
    pub(crate) fn cancel_at(&self, what: impl Into<String>, source: &CancelSource) {
        *self.cancels.lock().unwrap() = Some((what.into(), source.clone()));
    }

    pub(crate) fn obey(&self) {
        *self.no.lock().unwrap() = None;
    }

    pub(crate) fn begins(&self, run: &str) -> Vec<Begin> {
        let records = self.kept.records(run).into_iter();
        records.filter_map(|record| if let Record::Begin(begin) = record { Some(begin) } else { None }).collect()
    }

    pub(crate) fn finishes(&self, run: &str) -> Vec<Finish> {
        let records = self.kept.records(run).into_iter();
        records.filter_map(|record| if let Record::Finish(finish) = record { Some(finish) } else { None }).collect()
    }

    fn note<T>(&self, what: String) -> Result<(), Soon<'static, T>> {
        let no = self.no.lock().unwrap().clone();
        let done = match no {
            Some(No::Error(no)) if no == what => Err(Eventually::Now(Err(JournalError::unwritable("told to")))),
            Some(No::Panic(no)) if no == what => panic!("told to"),
            _ => Ok(()),
        };
        if let Some((at, source)) = &*self.cancels.lock().unwrap()
            && *at == what
        {
            source.cancel();
        }
        self.log.note(what);
        done
    }
}

impl Journal for Watched {
    fn open(&self, run: RunRecord, claim: Claim) -> Soon<'_, Arc<dyn RunJournal>> {
        if let Err(no) = self.note("open".into()) {
            return no;
        }
        let Eventually::Now(opened) = self.kept.open(run, claim) else { panic!("it does not wait") };
        Eventually::Now(opened.map(|run| Arc::new(WatchedRun { journal: self.clone(), run }) as Arc<dyn RunJournal>))
    }

    fn load(&self, run: &str) -> Soon<'_, Option<RunHistory>> {
        self.kept.load(run)
    }

    fn resolve(&self, run: &str, path: &str, resolution: Resolution) -> Soon<'_, ()> {
        self.kept.resolve(run, path, resolution)
    }

    fn unfinished(&self) -> Soon<'_, Vec<Text>> {
        self.kept.unfinished()
    }
}

impl RunJournal for WatchedRun {
    fn begin(&self, record: Begin) -> Soon<'_, Admission> {
        match self.journal.note(format!("begin {}", record.key.path())) {
            Ok(()) => self.run.begin(record),
            Err(no) => no,
        }
    }

    fn finish(&self, record: Finish) -> Soon<'_, ()> {
        match self.journal.note(format!("finish {}", record.key.path())) {
            Ok(()) => self.run.finish(record),
            Err(no) => no,
        }
    }

    fn resolve(&self, key: &StepKey, resolution: Resolution) -> Soon<'_, ()> {
        self.run.resolve(key, resolution)
    }

    fn abandoned(&self, key: &StepKey) {
        let _ = self.journal.note::<()>(format!("abandoned {}", key.path()));
        self.run.abandoned(key);
    }

    fn end(&self, end: End) -> Soon<'_, ()> {
        match self.journal.note("end".into()) {
            Ok(()) => self.run.end(end),
            Err(no) => no,
        }
    }

    fn epoch(&self) -> u64 {
        self.run.epoch()
    }
}
