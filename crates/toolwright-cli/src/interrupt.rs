//! Ctrl-C and SIGTERM: the first one cancels the run, which may still finish what has effects; the
//! second one leaves at once.
//!
//! From the moment the handler is there the system no longer ends the process, so every signal is
//! counted from then on, whoever waits for it and when.

use std::future::Future;
use std::sync::OnceLock;

use tokio::sync::watch;
use toolwright::CancelSource;

use crate::args::Format;
use crate::exit::Exit;
use crate::output::Output;

/// How many interrupts came since this process listens; unset while it does not.
static COME: OnceLock<watch::Receiver<usize>> = OnceLock::new();

/// Counts interrupts from now on. Without it the system ends the process as it always does.
pub(crate) fn listen() {
    let (sender, receiver) = watch::channel(0);
    if COME.set(receiver).is_err() {
        return;
    }
    let mut signals = Signals::new();
    tokio::spawn(async move {
        loop {
            signals.next().await;
            sender.send_modify(|count| *count += 1);
        }
    });
}

/// Runs `work` to its end; `None` when an interrupt came first. After one, nothing is started.
pub(crate) async fn until_first<T>(work: impl Future<Output = T>) -> Option<T> {
    until(1, work).await
}

/// Runs `work` to its end; `None` when one more interrupt came first.
pub(crate) async fn until_next<T>(work: impl Future<Output = T>) -> Option<T> {
    until(count() + 1, work).await
}

/// Runs `work` to its end; the first interrupt cancels it, and `None` when a second one came first.
pub(crate) async fn until_second<T>(output: Output, cancel: &CancelSource, work: impl Future<Output = T>) -> Option<T> {
    tokio::pin!(work);
    if let Some(done) = until(1, &mut work).await {
        return Some(done);
    }
    cancel.cancel();
    if output.format != Format::Json {
        output.note("\ncancelling; steps with effects may finish. Interrupt again to leave at once.\n");
    }
    until(2, work).await
}

/// From here on nothing runs that has to be ended in order: the next interrupt leaves at once, also while
/// a slow reader holds up the output.
pub(crate) fn leave_at_next() {
    let next = count() + 1;
    tokio::spawn(async move {
        reach(next).await;
        std::process::exit(i32::from(Exit::Interrupted.number()));
    });
}

fn count() -> usize {
    COME.get().map_or(0, |come| *come.borrow())
}

async fn until<T>(count: usize, work: impl Future<Output = T>) -> Option<T> {
    tokio::select! {
        // In this order: what was interrupted before it began does not begin.
        biased;
        () = reach(count) => None,
        done = work => Some(done),
    }
}

/// Ends when that many interrupts have come.
async fn reach(count: usize) {
    let come = COME.get().cloned();
    let reached = match come {
        Some(mut come) => come.wait_for(|come| *come >= count).await.is_ok(),
        None => false,
    };
    if !reached {
        std::future::pending::<()>().await;
    }
}

struct Signals {
    #[cfg(unix)]
    interrupt: Option<tokio::signal::unix::Signal>,
    #[cfg(unix)]
    terminate: Option<tokio::signal::unix::Signal>,
}

impl Signals {
    #[cfg(unix)]
    fn new() -> Self {
        use tokio::signal::unix::{SignalKind, signal};
        Self { interrupt: signal(SignalKind::interrupt()).ok(), terminate: signal(SignalKind::terminate()).ok() }
    }

    #[cfg(not(unix))]
    fn new() -> Self {
        Self {}
    }

    #[cfg(unix)]
    async fn next(&mut self) {
        async fn one(signal: &mut Option<tokio::signal::unix::Signal>) {
            match signal {
                Some(signal) => {
                    signal.recv().await;
                }
                None => std::future::pending().await,
            }
        }
        tokio::select! {
            () = one(&mut self.interrupt) => {}
            () = one(&mut self.terminate) => {}
        }
    }

    #[cfg(not(unix))]
    async fn next(&mut self) {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}
