//! Runs one program to its end and leaves nothing behind: pipes are drained all the time, every wait has a bound, and the whole
//! process group goes when the call goes.
//!
//! Knows nothing about templates, values or tools.

use std::ffi::OsString;
use std::future::Future;
use std::io;
use std::path::PathBuf;
use std::pin::{Pin, pin};
use std::process::ExitStatus;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::time::{Instant, sleep, sleep_until, timeout};

use super::tail::Tail;

#[cfg(target_os = "linux")]
mod descendants;
pub mod guard;
#[cfg(not(unix))]
mod single;
#[cfg(unix)]
mod unix;

#[cfg(not(unix))]
use single::{Group, Pipes};
#[cfg(unix)]
use unix::{Group, Pipes};

/// How long the pipes may stay open after the program has ended: a helper it left behind may still hold them.
const PIPES_OPEN_AFTER_EXIT_MAX: Duration = Duration::from_millis(250);

/// How long a killed process may take to disappear before the call goes on without it.
const GONE_AFTER_KILL_MAX: Duration = Duration::from_secs(2);

const CHUNK_BYTES: usize = 16 * 1024;

/// One program to run.
pub(crate) struct Launch {
    /// The file to run.
    pub(crate) program: PathBuf,
    /// What the program sees as its own name.
    #[cfg_attr(not(unix), expect(dead_code, reason = "only Unix lets a program be told another name than its file's"))]
    pub(crate) name: OsString,
    pub(crate) args: Vec<OsString>,
    pub(crate) cwd: Option<PathBuf>,
    /// The whole environment; nothing is inherited.
    pub(crate) env: Vec<(OsString, OsString)>,
    /// What is written to stdin; `None`: there is nothing to read.
    pub(crate) stdin: Option<Vec<u8>>,
}

/// The bounds of one run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    pub(crate) timeout: Duration,
    /// From the polite signal to the other one.
    pub(crate) grace: Duration,
    pub(crate) stdout_bytes_max: u64,
}

/// Why a run is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Exited,
    TimedOut,
    Cancelled,
    StdoutTooLarge,
}

/// A run that is over.
pub(crate) struct Finished {
    pub(crate) end: End,
    /// `None` when the system would not tell within the bounds.
    pub(crate) status: Option<ExitStatus>,
    pub(crate) stdout: Vec<u8>,
    /// Whether something still held the program's output open after it had ended.
    pub(crate) held_open: bool,
}

/// Runs `launch` until it ends, `cancelled` is ready, or a bound is reached. Dropping the future kills the whole group.
///
/// # Errors
/// The program could not be started: nothing ran.
pub(crate) async fn run(launch: Launch, bounds: Bounds, stderr: &mut Tail, cancelled: impl Future<Output = ()>) -> io::Result<Finished> {
    let deadline = Instant::now().checked_add(bounds.timeout);
    let (mut group, pipes) = Group::spawn(&launch)?;
    let mut stdout = Stdout { bytes: Vec::new(), bytes_max: bounds.stdout_bytes_max };
    let (end, held_open) = {
        let pipes = pin!(pump(pipes, launch.stdin, &mut stdout, stderr));
        let mut pump = Pump { pipes, state: Pumped::Running };
        let end = watch(&mut group, &mut pump, deadline, cancelled).await;
        let held_open = wind_down(&mut group, &mut pump, end, bounds.grace).await;
        let end = if end == End::Exited && pump.state == Pumped::TooLarge { End::StdoutTooLarge } else { end };
        (end, held_open)
    };
    let status = timeout(GONE_AFTER_KILL_MAX, group.reap()).await.ok().and_then(Result::ok);
    Ok(Finished { end, status, stdout: stdout.bytes, held_open })
}

/// Waits for the first thing that ends the run.
async fn watch<F: Future<Output = io::Result<()>>>(
    group: &mut Group,
    pump: &mut Pump<'_, F>,
    deadline: Option<Instant>,
    cancelled: impl Future<Output = ()>,
) -> End {
    let mut cancelled = pin!(cancelled);
    loop {
        // In this order: what has already happened counts, even when a deadline passed meanwhile.
        tokio::select! {
            biased;
            () = pump.next(), if pump.state == Pumped::Running => {
                if pump.state == Pumped::TooLarge {
                    return End::StdoutTooLarge;
                }
            }
            () = group.exited() => return End::Exited,
            () = &mut cancelled => return End::Cancelled,
            () = until(deadline) => return End::TimedOut,
        }
    }
}

/// Ends what is left of the group; answers whether it held the pipes open.
async fn wind_down<F: Future<Output = io::Result<()>>>(group: &mut Group, pump: &mut Pump<'_, F>, end: End, grace: Duration) -> bool {
    if matches!(end, End::TimedOut | End::Cancelled) {
        group.terminate();
        let patience = sleep(grace);
        tokio::select! {
            () = patience => {}
            () = async { tokio::join!(pump.finish(), group.exited()); } => {}
        }
    }
    let mut held_open = false;
    if end == End::Exited {
        held_open = timeout(PIPES_OPEN_AFTER_EXIT_MAX, pump.finish()).await.is_err();
    }
    group.kill();
    if held_open {
        // What was written before the kill is still in the pipes.
        let _still_open = timeout(PIPES_OPEN_AFTER_EXIT_MAX, pump.finish()).await;
    }
    held_open
}

async fn until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pumped {
    Running,
    Done,
    TooLarge,
}

/// The traffic on the three pipes, as something that can be polled again after it has ended.
struct Pump<'p, F> {
    pipes: Pin<&'p mut F>,
    state: Pumped,
}

impl<F: Future<Output = io::Result<()>>> Pump<'_, F> {
    /// Ready when the traffic is over, which is then in `state`; may be dropped and called again.
    async fn next(&mut self) {
        self.state = match self.pipes.as_mut().await {
            Ok(()) => Pumped::Done,
            Err(_) => Pumped::TooLarge,
        };
    }

    async fn finish(&mut self) {
        if self.state == Pumped::Running {
            self.next().await;
        }
    }
}

struct Stdout {
    bytes: Vec<u8>,
    bytes_max: u64,
}

impl Stdout {
    fn push(&mut self, chunk: &[u8]) -> io::Result<()> {
        let room = usize::try_from(self.bytes_max).unwrap_or(usize::MAX).saturating_sub(self.bytes.len());
        self.bytes.extend_from_slice(chunk.get(..chunk.len().min(room)).unwrap_or_default());
        if chunk.len() > room { Err(io::ErrorKind::FileTooLarge.into()) } else { Ok(()) }
    }
}

/// Moves what goes in and what comes out until all pipes are closed; fails only when stdout has grown past its bound.
async fn pump(pipes: Pipes, stdin: Option<Vec<u8>>, stdout: &mut Stdout, stderr: &mut Tail) -> io::Result<()> {
    let feed = async {
        if let (Some(mut pipe), Some(bytes)) = (pipes.stdin, stdin) {
            // A program that does not read its input to the end is no failure.
            let _closed_early = pipe.write_all(&bytes).await;
            let _closed_early = pipe.shutdown().await;
        }
        Ok(())
    };
    let out = read_all(pipes.stdout, |chunk| stdout.push(chunk));
    let err = read_all(pipes.stderr, |chunk| {
        stderr.push(chunk);
        Ok(())
    });
    tokio::try_join!(feed, out, err).map(|_| ())
}

async fn read_all(pipe: Option<impl AsyncRead + Unpin>, mut take: impl FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
    let Some(mut pipe) = pipe else { return Ok(()) };
    let mut chunk = vec![0; CHUNK_BYTES];
    loop {
        match pipe.read(&mut chunk).await {
            Ok(0) => return Ok(()),
            Ok(length) => take(chunk.get(..length).unwrap_or_default())?,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            // A pipe that cannot be read any more has nothing more to say.
            Err(_) => return Ok(()),
        }
    }
}
