//! Ctrl-C and SIGTERM: the first one cancels the run, which may still finish what has effects; the
//! second one leaves at once.

use std::future::Future;

use toolwright::CancelSource;

use crate::exit::Exit;
use crate::output::Output;

/// Runs `work` to its end; `None` when a second interrupt came first.
pub(crate) async fn until_second<T>(output: Output, cancel: &CancelSource, work: impl Future<Output = T>) -> Option<T> {
    let mut signals = Signals::new();
    tokio::pin!(work);
    tokio::select! {
        done = &mut work => return Some(done),
        () = signals.next() => {}
    }
    cancel.cancel();
    output.note("\ncancelling; steps with effects may finish. Interrupt again to leave at once.\n");
    tokio::select! {
        done = &mut work => Some(done),
        () = signals.next() => None,
    }
}

/// Runs `work` to its end; `None` when an interrupt came first.
pub(crate) async fn until_first<T>(work: impl Future<Output = T>) -> Option<T> {
    let mut signals = Signals::new();
    tokio::select! {
        done = work => Some(done),
        () = signals.next() => None,
    }
}

/// From here on nothing runs that has to be ended in order: the next interrupt leaves at once, also while
/// a slow reader holds up the output.
pub(crate) fn leave_at_next() {
    let mut signals = Signals::new();
    tokio::spawn(async move {
        signals.next().await;
        std::process::exit(i32::from(Exit::Interrupted.number()));
    });
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
