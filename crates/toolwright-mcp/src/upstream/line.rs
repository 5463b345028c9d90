//! The way to a live server: a pipe, or an endpoint.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;

use super::stdio::Pipe;
use super::web::Web;

/// Longest time a server that takes no messages may hold up what is told to it.
const TELL_MAX: Duration = Duration::from_secs(5);

/// How messages go to a server.
#[derive(Clone)]
pub(crate) enum Line {
    Pipe(Arc<Pipe>),
    Web(Arc<Web>),
}

impl Line {
    /// Sends something that has no reply; whether it arrives shows later.
    pub(crate) async fn deliver(&self, text: Vec<u8>) {
        let sent = async {
            match self {
                Line::Pipe(pipe) => drop(pipe.write(text).await),
                Line::Web(web) => web.deliver(text).await,
            }
        };
        let _ = timeout(TELL_MAX, sent).await;
    }

    /// The same, without waiting for it; `kept` goes when it is done.
    pub(crate) fn tell(&self, text: Vec<u8>, kept: impl Send + 'static) {
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        let line = self.clone();
        runtime.spawn(async move {
            line.deliver(text).await;
            drop(kept);
        });
    }

    /// Whether a request that is given up must be called off in words: over HTTP in the newest generation its stream just ends.
    pub(crate) fn calls_off(&self) -> bool {
        match self {
            Line::Pipe(_) => true,
            Line::Web(web) => !web.is_sessionless(),
        }
    }
}
