//! Stdio: one client at the other end of our standard streams; nothing but frames is written there.
//!
//! A frame is a line. What is to be written waits in a queue; while more waits than the client reads, nothing more is read from it, and
//! progress and log lines are left out. The standard streams have a thread each, since a read of them cannot be called off.

use std::collections::VecDeque;
use std::io;
use std::io::{BufRead as _, Write as _};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _};
use tokio::sync::{Notify, mpsc};
use toolwright::CancelToken;

use super::caller::Caller;
use super::client::ClientKind;
use super::engine::{Arrived, Engine};
use super::message::{self, RpcError};
use super::outlet::{Outlet, Reply};

/// Bytes that may wait for a client that does not read; while more wait, nothing is read from it.
const WAITING_BYTES_MAX: usize = 4 * 1024 * 1024;
/// Messages that have been read and are not taken yet.
const READ_AHEAD: usize = 4;
/// Bytes that are read at once.
const READ_BYTES: usize = 64 * 1024;
/// How long a client may take to read the last replies after everything has ended.
const FLUSH_WAIT: Duration = Duration::from_secs(2);

/// What came from the client.
enum Frame {
    Line(Vec<u8>),
    /// A line with more bytes than allowed, which were skipped.
    TooLong,
    Broken(io::Error),
}

/// Serves one client over a pipe, until its end closes or `stop` is cancelled.
pub(crate) async fn serve<R, W>(engine: &Arc<Engine>, caller: Caller, reader: R, writer: W, stop: CancelToken) -> io::Result<()>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    let most = engine.options.limits.message_bytes_max;
    let (frames, arrived) = mpsc::channel(READ_AHEAD);
    let reading = tokio::spawn(read_all(reader, most, frames));
    let pipe = Arc::new(Pipe::default());
    let writing = tokio::spawn(write_all(pipe.clone(), writer));
    let done = exchange(engine, caller, arrived, &pipe, &stop).await;
    reading.abort();
    pipe.close();
    match tokio::time::timeout(FLUSH_WAIT, writing).await {
        Ok(Ok(written)) => done.and(written),
        _ => done,
    }
}

/// The same over the standard streams of this process.
pub(crate) async fn serve_standard(engine: &Arc<Engine>, caller: Caller, stop: CancelToken) -> io::Result<()> {
    let most = engine.options.limits.message_bytes_max;
    let (frames, arrived) = mpsc::channel(READ_AHEAD);
    // It ends with the process at the latest: nothing can call off its read.
    std::thread::Builder::new().name("stdin".to_owned()).spawn(move || read_standard(most, &frames))?;
    let pipe = Arc::new(Pipe::default());
    let (ended, end) = tokio::sync::oneshot::channel();
    let queue = pipe.clone();
    std::thread::Builder::new().name("stdout".to_owned()).spawn(move || ended.send(write_standard(&queue)))?;
    let done = exchange(engine, caller, arrived, &pipe, &stop).await;
    // The end of the standard streams is the end of the server, whoever stopped it.
    engine.stop().await;
    pipe.close();
    match tokio::time::timeout(FLUSH_WAIT, end).await {
        Ok(Ok(written)) => done.and(written),
        _ => done,
    }
}

/// Takes what comes until nothing comes any more, and lets what runs come to its end.
async fn exchange(
    engine: &Arc<Engine>,
    caller: Caller,
    mut arrived: mpsc::Receiver<Frame>,
    pipe: &Arc<Pipe>,
    stop: &CancelToken,
) -> io::Result<()> {
    let outlet: Arc<dyn Outlet> = pipe.clone();
    engine.begin();
    let client = engine.client(ClientKind::Pipe, caller, outlet.clone());
    let done = loop {
        tokio::select! {
            biased;
            () = stop.cancelled() => break Ok(()),
            () = pipe.broken() => break Ok(()),
            frame = arrived.recv() => match frame {
                None => break Ok(()),
                Some(Frame::Line(line)) => engine.receive(&client, Arrived::read(&line), &outlet),
                Some(Frame::TooLong) => outlet.reply(message::failure(None, &too_long(engine.options.limits.message_bytes_max))),
                Some(Frame::Broken(error)) => break Err(error),
            },
        }
        tokio::select! {
            () = pipe.room() => {}
            () = stop.cancelled() => {}
        }
    };
    if stop.is_cancelled() {
        engine.stop().await;
    }
    engine.depart(&client).await;
    done
}

fn too_long(most: usize) -> RpcError {
    let text = format!("the message has more than {most} bytes (message_bytes_max) and was not read; send less at once");
    RpcError::new(message::INVALID_REQUEST, text)
}

/// What is to be written, and how it stands with it.
#[derive(Default)]
struct Pipe {
    queue: Mutex<Queue>,
    /// For the writer: there is something to write, or nothing comes any more.
    filled: Notify,
    filled_thread: Condvar,
    /// For the reader: there is room again, or nobody reads any more.
    drained: Notify,
}

#[derive(Default)]
struct Queue {
    messages: VecDeque<String>,
    bytes: usize,
    /// Nothing is added any more.
    closed: bool,
    /// The client's end is gone.
    broken: bool,
}

impl Pipe {
    fn push(&self, mut message: String) {
        message.push('\n');
        let mut queue = self.queue();
        if queue.closed || queue.broken {
            return;
        }
        queue.bytes = queue.bytes.saturating_add(message.len());
        queue.messages.push_back(message);
        drop(queue);
        self.filled.notify_one();
        self.filled_thread.notify_one();
    }

    /// Nothing comes any more: the writer ends with what waits.
    fn close(&self) {
        self.queue().closed = true;
        self.filled.notify_one();
        self.filled_thread.notify_one();
    }

    fn fail(&self) {
        let mut queue = self.queue();
        queue.broken = true;
        queue.messages.clear();
        queue.bytes = 0;
        drop(queue);
        self.drained.notify_waiters();
        self.drained.notify_one();
    }

    /// What waits, and whether nothing comes after it.
    fn take(queue: &mut Queue) -> Option<VecDeque<String>> {
        if queue.messages.is_empty() {
            return None;
        }
        queue.bytes = 0;
        Some(std::mem::take(&mut queue.messages))
    }

    /// Returns when less waits than the limit.
    async fn room(&self) {
        loop {
            let drained = self.drained.notified();
            {
                let queue = self.queue();
                if queue.broken || queue.bytes < WAITING_BYTES_MAX {
                    return;
                }
            }
            drained.await;
        }
    }

    /// Returns when the client's end is gone.
    async fn broken(&self) {
        loop {
            let drained = self.drained.notified();
            if self.queue().broken {
                return;
            }
            drained.await;
        }
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Outlet for Pipe {
    fn tell(&self, message: String) {
        // Questions have an id first, and are never left out: somebody waits for their answers.
        let notification = message.starts_with("{\"jsonrpc\":\"2.0\",\"method\"");
        if notification && self.queue().bytes >= WAITING_BYTES_MAX {
            return;
        }
        self.push(message);
    }

    fn reply(&self, reply: Reply) {
        self.push(reply.text);
    }

    fn end(&self) {}

    fn is_open(&self) -> bool {
        !self.queue().broken
    }
}

async fn write_all<W: AsyncWrite + Unpin>(pipe: Arc<Pipe>, mut writer: W) -> io::Result<()> {
    loop {
        let filled = pipe.filled.notified();
        let (batch, closed) = {
            let mut queue = pipe.queue();
            (Pipe::take(&mut queue), queue.closed)
        };
        let Some(batch) = batch else {
            if closed {
                return writer.flush().await;
            }
            filled.await;
            continue;
        };
        pipe.drained.notify_waiters();
        for message in batch {
            if let Err(error) = writer.write_all(message.as_bytes()).await {
                pipe.fail();
                return Err(error);
            }
        }
        writer.flush().await.inspect_err(|_| pipe.fail())?;
    }
}

fn write_standard(pipe: &Pipe) -> io::Result<()> {
    let mut out = io::stdout().lock();
    loop {
        let mut queue = pipe.queue();
        while queue.messages.is_empty() && !queue.closed {
            queue = pipe.filled_thread.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
        let Some(batch) = Pipe::take(&mut queue) else { return out.flush() };
        drop(queue);
        pipe.drained.notify_waiters();
        let mut write = || {
            batch.iter().try_for_each(|message| out.write_all(message.as_bytes()))?;
            out.flush()
        };
        write().inspect_err(|_| pipe.fail())?;
    }
}

async fn read_all<R: AsyncRead + Unpin>(reader: R, most: usize, frames: mpsc::Sender<Frame>) {
    let mut reader = tokio::io::BufReader::with_capacity(READ_BYTES, reader);
    let mut line = Line::new(most);
    loop {
        let (used, frame) = match reader.fill_buf().await {
            Ok([]) => (0, line.end()),
            Ok(bytes) => line.take(bytes),
            Err(error) => (0, Some(Frame::Broken(error))),
        };
        reader.consume(used);
        if let Some(frame) = frame
            && frames.send(frame).await.is_err()
        {
            return;
        }
        if used == 0 {
            return;
        }
    }
}

fn read_standard(most: usize, frames: &mpsc::Sender<Frame>) {
    let mut reader = io::BufReader::with_capacity(READ_BYTES, io::stdin().lock());
    let mut line = Line::new(most);
    loop {
        let (used, frame) = match reader.fill_buf() {
            Ok([]) => (0, line.end()),
            Ok(bytes) => line.take(bytes),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => (0, Some(Frame::Broken(error))),
        };
        reader.consume(used);
        if let Some(frame) = frame
            && frames.blocking_send(frame).is_err()
        {
            return;
        }
        if used == 0 {
            return;
        }
    }
}

/// A line as it comes in pieces.
struct Line {
    bytes: Vec<u8>,
    most: usize,
    /// It has had too many bytes: the rest of it is skipped.
    over: bool,
}

impl Line {
    fn new(most: usize) -> Self {
        Self { bytes: Vec::new(), most, over: false }
    }

    /// Takes bytes up to the end of the line: how many, and the frame when the line is whole and not blank.
    fn take(&mut self, bytes: &[u8]) -> (usize, Option<Frame>) {
        let end = bytes.iter().position(|byte| *byte == b'\n');
        let piece = bytes.get(..end.unwrap_or(bytes.len())).unwrap_or_default();
        if self.bytes.len().saturating_add(piece.len()) > self.most {
            self.over = true;
            self.bytes = Vec::new();
        }
        if !self.over {
            self.bytes.extend_from_slice(piece);
        }
        match end {
            Some(end) => (end + 1, self.end()),
            None => (bytes.len(), None),
        }
    }

    /// The line is over.
    fn end(&mut self) -> Option<Frame> {
        if std::mem::take(&mut self.over) {
            return Some(Frame::TooLong);
        }
        let mut bytes = std::mem::take(&mut self.bytes);
        if bytes.last() == Some(&b'\r') {
            bytes.pop();
        }
        (!bytes.iter().all(u8::is_ascii_whitespace)).then_some(Frame::Line(bytes))
    }
}
