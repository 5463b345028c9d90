//! Brings progress notifications to the calls they belong to, in all transports alike.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rmcp::model::ProgressToken;
use tokio::sync::mpsc;

use crate::wire::Progress;

/// Reports of one call that may wait; more are dropped, since only the newest matter.
const QUEUE: usize = 32;

/// The calls of one connection that wait for progress.
#[derive(Debug, Default)]
pub(crate) struct ProgressHub {
    calls: Mutex<HashMap<ProgressToken, mpsc::Sender<Progress>>>,
}

/// One call's reports. Dropping it ends them.
pub(crate) struct Reports {
    hub: Arc<ProgressHub>,
    token: ProgressToken,
    reports: mpsc::Receiver<Progress>,
}

impl ProgressHub {
    pub(crate) fn subscribe(self: &Arc<Self>, token: ProgressToken) -> Reports {
        let (sender, reports) = mpsc::channel(QUEUE);
        self.calls().insert(token.clone(), sender);
        Reports { hub: self.clone(), token, reports }
    }

    pub(crate) fn publish(&self, progress: Progress) {
        let sender = self.calls().get(&progress.token).cloned();
        if let Some(sender) = sender {
            let _ = sender.try_send(progress);
        }
    }

    fn calls(&self) -> MutexGuard<'_, HashMap<ProgressToken, mpsc::Sender<Progress>>> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Reports {
    /// The next report.
    pub(crate) async fn next(&mut self) -> Option<Progress> {
        self.reports.recv().await
    }

    /// The next report that has already come.
    pub(crate) fn ready(&mut self) -> Option<Progress> {
        self.reports.try_recv().ok()
    }
}

impl Drop for Reports {
    fn drop(&mut self) {
        self.hub.calls().remove(&self.token);
    }
}
