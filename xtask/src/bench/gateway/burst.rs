//! One way, measured for some time by one caller or by many.

use std::collections::HashMap;
use std::io::{BufRead, Write};
use std::time::{Duration, Instant};

use serde_json::json;

use crate::mcp::{Era, Http, Pipe, call, request};

/// What a burst came to.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Figures {
    pub(super) per_second: f64,
    /// Of the time that a call takes.
    pub(super) middle_ms: f64,
}

impl Figures {
    fn of(mut times: Vec<Duration>, took: Duration) -> Result<Self, String> {
        times.sort_unstable();
        let middle = times.get(times.len() / 2).ok_or("no call ended in time")?;
        #[expect(clippy::cast_precision_loss, reason = "there are fewer than 2^52 calls")]
        let count = times.len() as f64;
        Ok(Self { per_second: count / took.as_secs_f64(), middle_ms: middle.as_secs_f64() * 1_000.0 })
    }

    /// The middle of several, each figure by itself.
    pub(super) fn middle(all: &[Self]) -> Self {
        let middle = |figure: fn(&Self) -> f64| {
            let mut sorted: Vec<f64> = all.iter().map(figure).collect();
            sorted.sort_by(f64::total_cmp);
            sorted.get(sorted.len() / 2).copied().unwrap_or_default()
        };
        Self { per_second: middle(|one| one.per_second), middle_ms: middle(|one| one.middle_ms) }
    }
}

/// What is called: it answers with what it is given.
const TOOL: &str = "echo";
const SAID: &str = "what is said comes back";

fn body(era: Era, id: u64) -> String {
    request(id, "tools/call", &call(era, TOOL, &json!({ "text": SAID })))
}

fn checked(reply: &[u8]) -> Result<(), String> {
    let has = |wanted: &[u8]| reply.windows(wanted.len()).any(|window| window == wanted);
    if has(SAID.as_bytes()) && !has(b"\"isError\":true") {
        Ok(())
    } else {
        Err(format!("another answer: {}", String::from_utf8_lossy(reply)))
    }
}

/// Callers over HTTP, each with a connection of its own.
pub(super) fn http(callers: &mut [Http], era: Era, time: Duration) -> Result<Figures, String> {
    for caller in callers.iter_mut() {
        caller.reconnect()?;
    }
    let started = Instant::now();
    let all: Vec<Result<Vec<Duration>, String>> = std::thread::scope(|scope| {
        let threads: Vec<_> = callers.iter_mut().map(|caller| scope.spawn(move || over_http(caller, era, started, time))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap_or_else(|_| Err("a caller broke".to_owned()))).collect()
    });
    let took = started.elapsed();
    let mut times = Vec::new();
    for one in all {
        times.extend(one?);
    }
    Figures::of(times, took)
}

fn over_http(caller: &mut Http, era: Era, started: Instant, time: Duration) -> Result<Vec<Duration>, String> {
    let mut times = Vec::new();
    let mut id = 10;
    while started.elapsed() < time {
        id += 1;
        let body = body(era, id);
        let sent = Instant::now();
        let response = caller.post_request(&body, "tools/call", Some(TOOL))?;
        times.push(sent.elapsed());
        checked(response.reply())?;
    }
    Ok(times)
}

/// One pipe, with so many calls on their way at once.
pub(super) fn pipe(pipe: &mut Pipe, first: u64, at_once: usize, time: Duration) -> Result<(Figures, u64), String> {
    let (input, output) = pipe.ends()?;
    let no = |error: std::io::Error| format!("the pipe broke: {error}");
    let (mut sent, mut times, mut id) = (HashMap::new(), Vec::new(), first);
    let mut line = Vec::new();
    let started = Instant::now();
    loop {
        while sent.len() < at_once && started.elapsed() < time {
            id += 1;
            let text = body(Era::Sessions, id) + "\n";
            sent.insert(id, Instant::now());
            input.write_all(text.as_bytes()).map_err(no)?;
        }
        if sent.is_empty() {
            break;
        }
        line.clear();
        if output.read_until(b'\n', &mut line).map_err(no)? == 0 {
            return Err("the server has ended".to_owned());
        }
        if let Some(at) = answered(&line).and_then(|id| sent.remove(&id)) {
            times.push(at.elapsed());
            checked(&line)?;
        }
    }
    Ok((Figures::of(times, started.elapsed())?, id))
}

/// The id of a reply, without reading all of it.
fn answered(line: &[u8]) -> Option<u64> {
    let at = line.windows(5).position(|window| window == b"\"id\":")?;
    let rest = line.get(at + 5..)?;
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    std::str::from_utf8(rest.get(..digits)?).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_of_each_figure_counts() {
        let figures = |per_second, middle_ms| Figures { per_second, middle_ms };
        let middle = Figures::middle(&[figures(1.0, 9.0), figures(3.0, 1.0), figures(2.0, 5.0)]);
        assert_eq!(middle, figures(2.0, 5.0));
    }

    #[test]
    fn another_answer_is_no_answer() {
        assert!(checked(format!("{{\"text\":\"{SAID}\"}}").as_bytes()).is_ok());
        assert!(checked(b"{\"isError\":true}").is_err());
        assert_eq!(answered(br#"{"jsonrpc":"2.0","id":17,"result":{}}"#), Some(17));
        assert_eq!(answered(br#"{"jsonrpc":"2.0","method":"x"}"#), None);
    }
}
