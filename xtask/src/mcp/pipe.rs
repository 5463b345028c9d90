//! A process at the other end of two pipes, one message a line.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};

use serde_json::{Map, Value};

use super::{Ask, Era, initialize, notification, request, result};

/// Longer than any answer takes.
#[cfg(unix)]
const PATIENCE_SECONDS: i64 = 60;

/// A server that is our child.
#[derive(Debug)]
pub(crate) struct Pipe {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    era: Era,
    next: u64,
}

impl Pipe {
    /// Starts it and says nothing yet.
    pub(crate) fn start(command: &mut Command, era: Era) -> Result<Self, String> {
        let shown = crate::repo::shown(command);
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().map_err(|error| format!("cannot start `{shown}`: {error}"))?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(format!("`{shown}` has no stdin or no stdout"));
        };
        Ok(Self { child, input: Some(input), output: BufReader::new(output), era, next: 1 })
    }

    /// Starts it and greets it.
    pub(crate) fn open(command: &mut Command, era: Era) -> Result<Self, String> {
        let mut pipe = Self::start(command, era)?;
        if era == Era::Sessions {
            pipe.ask("initialize", &initialize())?;
            pipe.send(&notification("notifications/initialized", &Value::Object(Map::new())))?;
        }
        Ok(pipe)
    }

    pub(crate) fn send(&mut self, line: &str) -> Result<(), String> {
        self.send_bytes(line.as_bytes())
    }

    /// Writes a line as it is.
    pub(crate) fn send_bytes(&mut self, line: &[u8]) -> Result<(), String> {
        let input = self.input.as_mut().ok_or("the server was told the end")?;
        let whole = [line, b"\n"].concat();
        input.write_all(&whole).map_err(|error| format!("cannot write to the server: {error}"))
    }

    /// The next line, whatever it is.
    pub(crate) fn line(&mut self) -> Result<Vec<u8>, String> {
        let mut line = Vec::new();
        self.wait()?;
        let read = self.output.read_until(b'\n', &mut line).map_err(|error| format!("cannot read from the server: {error}"))?;
        if read == 0 {
            return Err("the server has ended".to_owned());
        }
        Ok(line)
    }

    /// Waits until there is something to read, but not for ever.
    #[cfg(unix)]
    fn wait(&self) -> Result<(), String> {
        use rustix::event::{PollFd, PollFlags, Timespec, poll};
        if !self.output.buffer().is_empty() {
            return Ok(());
        }
        let patience = Timespec { tv_sec: PATIENCE_SECONDS, tv_nsec: 0 };
        match poll(&mut [PollFd::new(self.output.get_ref(), PollFlags::IN)], Some(&patience)) {
            Ok(0) => Err(format!("the server says nothing for {PATIENCE_SECONDS} s")),
            Ok(_) => Ok(()),
            Err(error) => Err(format!("cannot wait for the server: {error}")),
        }
    }

    #[cfg(not(unix))]
    fn wait(&self) -> Result<(), String> {
        Ok(())
    }

    /// Both ends, for whoever writes and reads at the same time.
    pub(crate) fn ends(&mut self) -> Result<(&mut ChildStdin, &mut BufReader<ChildStdout>), String> {
        Ok((self.input.as_mut().ok_or("the server was told the end")?, &mut self.output))
    }

    /// Closes its standard input and waits for its end.
    pub(crate) fn close(mut self) -> Result<ExitStatus, String> {
        drop(self.input.take());
        let mut rest = Vec::new();
        let _ = self.output.read_to_end(&mut rest);
        self.child.wait().map_err(|error| format!("cannot wait for the server: {error}"))
    }
}

impl Ask for Pipe {
    fn ask(&mut self, method: &str, params: &Value) -> Result<Value, String> {
        self.next += 1;
        let id = self.next;
        self.send(&request(id, method, params))?;
        loop {
            let line = self.line()?;
            let message: Value = serde_json::from_slice(&line).map_err(|error| format!("no JSON from the server: {error}"))?;
            if message.get("id").and_then(Value::as_u64) == Some(id) && message.get("method").is_none() {
                return result(&line).map_err(|why| format!("`{method}`: {why}"));
            }
        }
    }

    fn era(&self) -> Era {
        self.era
    }
}

impl Drop for Pipe {
    fn drop(&mut self) {
        drop(self.input.take());
        // A run that failed must not wait for it.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
