//! Messages over a child's stdin and stdout, one a line. Owns the framing: what is no message is skipped and counted,
//! what should have been a reply and cannot be read becomes an error for its call.

use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use rmcp::RoleClient;
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::Transport;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::{ChildStdin, ChildStdout};
use tokio::sync::{Mutex, mpsc};
use tokio_util::sync::CancellationToken;

use super::inbox::Inbox;
use super::line::Line;
use super::process::{Pipes, Process};
use crate::wire::{self, Incoming};

/// Messages for `rmcp` that may wait.
const QUEUE: usize = 64;
/// How long a child's output is read on after the child itself has gone: somebody else may hold the pipe open.
const LAST_WORDS: Duration = Duration::from_millis(200);
/// Bytes of a too long line that are searched for the id of the call it belongs to.
const SALVAGED_BYTES: usize = 64 * 1024;
/// A line of at most so many bytes goes into a pipe as a whole or not at all (`PIPE_BUF` of Linux).
const WHOLE_BYTES: usize = 4 * 1024;

/// A child's stdin.
pub(crate) struct Pipe {
    stdin: Mutex<Option<ChildStdin>>,
    closing: CancellationToken,
}

impl Pipe {
    fn new(stdin: ChildStdin, closing: CancellationToken) -> Arc<Self> {
        let pipe = Arc::new(Pipe { stdin: Mutex::new(Some(stdin)), closing: closing.clone() });
        let closed = pipe.clone();
        tokio::spawn(async move {
            closing.cancelled().await;
            *closed.stdin.lock().await = None;
        });
        pipe
    }

    /// Writes a message as one line, whole or not at all, whatever becomes of the caller.
    pub(crate) async fn write(self: &Arc<Self>, mut line: Vec<u8>) -> std::io::Result<()> {
        line.push(b'\n');
        if line.len() <= WHOLE_BYTES {
            return self.put(&line).await;
        }
        let pipe = self.clone();
        tokio::spawn(async move { pipe.put(&line).await }).await.unwrap_or_else(|_| Err(closed()))
    }

    async fn put(&self, line: &[u8]) -> std::io::Result<()> {
        let mut stdin = self.stdin.lock().await;
        let Some(stdin) = stdin.as_mut() else { return Err(closed()) };
        tokio::select! {
            biased;
            () = self.closing.cancelled() => Err(closed()),
            written = stdin.write_all(line) => written,
        }
    }
}

fn closed() -> std::io::Error {
    std::io::Error::new(std::io::ErrorKind::BrokenPipe, "the server's stdin is closed")
}

/// The transport that `rmcp` speaks through.
pub(crate) struct StdioTransport {
    pipe: Arc<Pipe>,
    incoming: mpsc::Receiver<ServerJsonRpcMessage>,
    newest: Newest,
}

/// The id of the newest request of `rmcp`. A slow server may answer the discovery when `rmcp` has already given it up and asked to
/// initialise; that answer must not be taken for the one to the newer request.
type Newest = Arc<std::sync::Mutex<Option<String>>>;

impl StdioTransport {
    /// Puts the reader of a child to work; gives the way to it too.
    pub(crate) fn new(pipes: Pipes, process: &Process, inbox: &Arc<Inbox>, frame_bytes_max: usize) -> (Self, Line) {
        let (read, incoming) = mpsc::channel(QUEUE);
        let pipe = Pipe::new(pipes.stdin, process.closing());
        let line = Line::Pipe(pipe.clone());
        let (inbox, newest) = (inbox.clone(), Newest::default());
        let reader = Reader {
            lines: BufReader::with_capacity(64 * 1024, pipes.stdout),
            frame_bytes_max,
            inbox: inbox.clone(),
            line: line.clone(),
            read,
            newest: newest.clone(),
        };
        let exited = process.exited();
        tokio::spawn(async move {
            let mut reader = reader;
            tokio::select! {
                () = reader.run() => {}
                () = async { exited.await; tokio::time::sleep(LAST_WORDS).await } => {}
            }
            inbox.inflight.close();
        });
        (StdioTransport { pipe, incoming, newest }, line)
    }
}

impl Transport<RoleClient> for StdioTransport {
    type Error = std::io::Error;

    fn send(&mut self, item: ClientJsonRpcMessage) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        if let Some(id) = wire::request_id(&item) {
            *self.newest.lock().unwrap_or_else(PoisonError::into_inner) = Some(id);
        }
        let pipe = self.pipe.clone();
        async move { pipe.write(wire::text(&item)?).await }
    }

    async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
        self.incoming.recv().await
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.incoming.close();
        Ok(())
    }
}

struct Reader {
    lines: BufReader<ChildStdout>,
    frame_bytes_max: usize,
    inbox: Arc<Inbox>,
    line: Line,
    read: mpsc::Sender<ServerJsonRpcMessage>,
    newest: Newest,
}

impl Reader {
    async fn run(&mut self) {
        let mut line = Vec::new();
        loop {
            line.clear();
            line.shrink_to(1024 * 1024);
            let limit = u64::try_from(self.frame_bytes_max).unwrap_or(u64::MAX).saturating_add(1);
            match (&mut self.lines).take(limit).read_until(b'\n', &mut line).await {
                Ok(0) | Err(_) => return,
                Ok(_) => {}
            }
            let whole = line.last() == Some(&b'\n') || line.len() <= self.frame_bytes_max;
            let open = if whole { self.line(&line).await } else { self.too_long(&line).await };
            if !open {
                return;
            }
        }
    }

    /// Hands a line on; false when nobody listens any more.
    async fn line(&self, line: &[u8]) -> bool {
        for part in wire::incoming(line) {
            if matches!(part, Incoming::Noise) {
                self.inbox.board.noise(String::from_utf8_lossy(line).trim());
            } else if !self.take(part).await {
                return false;
            }
        }
        true
    }

    async fn take(&self, part: Incoming) -> bool {
        match self.inbox.take(part, None, &self.line) {
            Some(message) if self.is_late(&message) => true,
            Some(message) => self.read.send(*message).await.is_ok(),
            None => true,
        }
    }

    /// Whether it answers what `rmcp` does not wait for any more.
    fn is_late(&self, message: &ServerJsonRpcMessage) -> bool {
        let Some((id, is_result)) = wire::answered_id(message) else { return false };
        let newest = self.newest.lock().unwrap_or_else(PoisonError::into_inner);
        let late = newest.as_ref().is_some_and(|newest| *newest != id);
        if late && is_result {
            self.inbox.discovered_late.store(true, Ordering::Release);
        }
        late
    }

    /// Skips the rest of a line that is too long, and ends the call it was meant for.
    async fn too_long(&mut self, start: &[u8]) -> bool {
        if !self.skip_line().await {
            return false;
        }
        let start = String::from_utf8_lossy(start.get(..SALVAGED_BYTES.min(start.len())).unwrap_or_default());
        match wire::salvaged(&start, &format!("it is longer than {} bytes", self.frame_bytes_max)) {
            Some(part) => self.take(part).await,
            None => {
                self.inbox.board.noise(&start);
                true
            }
        }
    }

    async fn skip_line(&mut self) -> bool {
        loop {
            let Ok(buffer) = self.lines.fill_buf().await else { return false };
            if buffer.is_empty() {
                return false;
            }
            let (used, done) = match buffer.iter().position(|byte| *byte == b'\n') {
                Some(at) => (at + 1, true),
                None => (buffer.len(), false),
            };
            self.lines.consume(used);
            if done {
                return true;
            }
        }
    }
}
