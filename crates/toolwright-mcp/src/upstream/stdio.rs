//! Messages over a child's stdin and stdout, one a line. Owns the framing: what is no message is skipped and counted,
//! what should have been a reply and cannot be read becomes an error for its call.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rmcp::RoleClient;
use rmcp::model::{ClientJsonRpcMessage, RequestId, ServerJsonRpcMessage};
use rmcp::transport::Transport;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::{ChildStdin, ChildStdout};
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use super::process::{Pipes, Process};
use super::progress::ProgressHub;
use super::status::Board;
use crate::wire::{self, Incoming, Reading};

/// Messages that may wait on either side before the other one has to catch up.
const QUEUE: usize = 64;
/// How long a child's output is read on after the child itself has gone: somebody else may hold the pipe open.
const LAST_WORDS: Duration = Duration::from_millis(200);
/// Bytes of a too long line that are searched for the id of the call it belongs to.
const SALVAGED_BYTES: usize = 64 * 1024;

type Outgoing = (Vec<u8>, oneshot::Sender<std::io::Result<()>>);
/// The ids of handshakes as text: some servers answer `1` with `"1"`.
type HandshakeIds = Arc<Mutex<HashSet<String>>>;

/// The transport that `rmcp` speaks through.
pub(crate) struct StdioTransport {
    outgoing: mpsc::Sender<Outgoing>,
    incoming: mpsc::Receiver<ServerJsonRpcMessage>,
    handshakes: HandshakeIds,
}

impl StdioTransport {
    /// Puts the reader and the writer of a child to work.
    pub(crate) fn new(pipes: Pipes, process: &Process, board: &Arc<Board>, progress: &Arc<ProgressHub>, frame_bytes_max: usize) -> Self {
        let (outgoing, to_write) = mpsc::channel(QUEUE);
        let (read, incoming) = mpsc::channel(QUEUE);
        let handshakes = HandshakeIds::default();
        tokio::spawn(write(pipes.stdin, to_write, process.closing()));
        let reader = Reader {
            lines: BufReader::with_capacity(64 * 1024, pipes.stdout),
            frame_bytes_max,
            board: board.clone(),
            progress: progress.clone(),
            handshakes: handshakes.clone(),
            read,
        };
        let exited = process.exited();
        tokio::spawn(async move {
            let mut reader = reader;
            tokio::select! {
                () = reader.run() => {}
                () = async { exited.await; tokio::time::sleep(LAST_WORDS).await } => {}
            }
        });
        StdioTransport { outgoing, incoming, handshakes }
    }
}

impl Transport<RoleClient> for StdioTransport {
    type Error = std::io::Error;

    fn send(&mut self, item: ClientJsonRpcMessage) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        if let Some(id) = wire::handshake_id(&item) {
            self.handshakes.lock().unwrap_or_else(PoisonError::into_inner).insert(id.to_string());
        }
        let outgoing = self.outgoing.clone();
        async move {
            let mut line = wire::text(&item)?;
            line.push(b'\n');
            let (done, written) = oneshot::channel();
            outgoing.send((line, done)).await.map_err(|_| closed())?;
            written.await.map_err(|_| closed())?
        }
    }

    async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
        self.incoming.recv().await
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.incoming.close();
        Ok(())
    }
}

fn closed() -> std::io::Error {
    std::io::Error::new(std::io::ErrorKind::BrokenPipe, "the server's stdin is closed")
}

/// Writes whole lines only; ends, and with it the child's stdin, when that is to be closed.
async fn write(mut stdin: ChildStdin, mut lines: mpsc::Receiver<Outgoing>, closing: CancellationToken) {
    loop {
        let next = tokio::select! {
            biased;
            () = closing.cancelled() => return,
            next = lines.recv() => next,
        };
        let Some((line, done)) = next else {
            // Nobody sends any more. When the child learns of it is for its keeper to say, who looks around first.
            return closing.cancelled().await;
        };
        let written = tokio::select! {
            biased;
            () = closing.cancelled() => return,
            written = async { stdin.write_all(&line).await?; stdin.flush().await } => written,
        };
        let _ = done.send(written);
    }
}

struct Reader {
    lines: BufReader<ChildStdout>,
    frame_bytes_max: usize,
    board: Arc<Board>,
    progress: Arc<ProgressHub>,
    handshakes: HandshakeIds,
    read: mpsc::Sender<ServerJsonRpcMessage>,
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
        let handshakes = self.handshakes.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let reading = |id: &RequestId| if handshakes.contains(&id.to_string()) { Reading::Typed } else { Reading::Raw };
        for part in wire::incoming(line, &reading) {
            match part {
                Incoming::Message(message) => {
                    if self.read.send(*message).await.is_err() {
                        return false;
                    }
                }
                Incoming::Progress(progress) => self.progress.publish(progress),
                Incoming::Noise => self.board.noise(String::from_utf8_lossy(line).trim()),
            }
        }
        true
    }

    /// Skips the rest of a line that is too long, and ends the call it was meant for.
    async fn too_long(&mut self, start: &[u8]) -> bool {
        if !self.skip_line().await {
            return false;
        }
        let start = String::from_utf8_lossy(start.get(..SALVAGED_BYTES.min(start.len())).unwrap_or_default());
        match wire::salvaged_id(&start) {
            Some(id) => {
                let why = format!("it is longer than {} bytes", self.frame_bytes_max);
                self.read.send(wire::unreadable_reply(id, &why)).await.is_ok()
            }
            None => {
                self.board.noise(&start);
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
