//! One pipe: every so many malformed lines a good one, whose answer must come and be right.

use std::io::{BufRead, Write};
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::{Value, json};

use super::{CANARY, Options, Report, message};
use crate::chance::Chance;
use crate::mcp::{Era, call};
use crate::served::{self, World};

/// Malformed lines between two good ones.
const BETWEEN: u64 = 250;

pub(super) fn run(world: &World, options: &Options) -> Result<Report, String> {
    let mut pipe = served::pipe(world, Era::Sessions)?;
    let lines = options.messages / 2;
    let good = lines / BETWEEN;
    let (input, output) = pipe.ends()?;
    let heard = AtomicU64::new(0);
    let mut report = std::thread::scope(|scope| {
        let reader = scope.spawn(|| hear(output, good, &heard));
        let sent = say(input, lines, options.seed, &heard);
        let mut report = reader.join().map_err(|_| "the reader broke".to_owned())?;
        report.sent = lines;
        if let Err(why) = sent {
            report.problem(why);
        }
        Ok::<_, String>(report)
    })?;
    if report.answered < good {
        report.problem(format!("{} of {good} good calls were answered", report.answered));
    }
    let status = pipe.close()?;
    if !status.success() {
        report.problem(format!("it ended with {status}"));
    }
    Ok(report)
}

/// Sends everything; good lines are numbered, and never many of them ahead of their answers.
fn say(input: &mut impl Write, lines: u64, seed: u64, heard: &AtomicU64) -> Result<(), String> {
    let no = |error: std::io::Error| format!("the server reads no more: {error}");
    for number in 0..lines {
        let mut bytes = message::make(&mut Chance::new(seed, number));
        // A line break inside would make two lines of it: also malformed, but counted once.
        bytes.iter_mut().filter(|byte| **byte == b'\n').for_each(|byte| *byte = b' ');
        bytes.push(b'\n');
        input.write_all(&bytes).map_err(no)?;
        if (number + 1).is_multiple_of(BETWEEN) {
            let serial = number / BETWEEN;
            let params = call(Era::Sessions, "echo", &json!({ "text": format!("{CANARY} {serial}") }));
            let line = json!({ "jsonrpc": "2.0", "id": format!("{GOOD}{serial}"), "method": "tools/call", "params": params });
            input.write_all(format!("{line}\n").as_bytes()).map_err(no)?;
            // So that a server that answers nobody is found out here and not by a full pipe.
            let mut waited = 0;
            while heard.load(Ordering::Relaxed) + AHEAD < serial {
                std::thread::sleep(std::time::Duration::from_millis(5));
                waited += 1;
                if waited > 12_000 {
                    return Err(format!("after line {number} good calls are no longer answered"));
                }
            }
        }
    }
    Ok(())
}

/// No malformed message has such an id.
const GOOD: &str = "good-";

/// So many good calls may be on their way.
const AHEAD: u64 = 4;

/// Reads until all good calls are answered or the server ends.
fn hear(output: &mut impl BufRead, good: u64, heard: &AtomicU64) -> Report {
    let mut report = Report::default();
    let mut line = Vec::new();
    while report.answered < good {
        line.clear();
        match output.read_until(b'\n', &mut line) {
            Ok(0) => {
                report.problem("the server has ended");
                break;
            }
            Ok(_) => {}
            Err(error) => {
                report.problem(format!("cannot read: {error}"));
                break;
            }
        }
        let text = String::from_utf8_lossy(&line);
        let Ok(message) = serde_json::from_slice::<Value>(&line) else {
            report.problem(format!("no JSON from the server: {text}"));
            continue;
        };
        match message.get("id").and_then(Value::as_str).and_then(|id| id.strip_prefix(GOOD)?.parse::<u64>().ok()) {
            Some(serial) => {
                let expected = format!("{CANARY} {serial}");
                if message.pointer("/result/structuredContent/text").and_then(Value::as_str) != Some(&expected) {
                    report.problem(format!("a good call got {text}"));
                }
                report.answered += 1;
                heard.store(serial, Ordering::Relaxed);
            }
            None if text.contains(CANARY) => report.problem(format!("the secret is in another answer: {text}")),
            None => report.kind(kind(&message)),
        }
    }
    report
}

/// An error by its code, or what else it is.
pub(super) fn kind(message: &Value) -> String {
    match message {
        Value::Array(_) => "batch".to_owned(),
        _ if message.get("method").is_some() => "question or notification".to_owned(),
        _ => match message.pointer("/error/code").and_then(Value::as_i64) {
            Some(code) => code.to_string(),
            None => "result".to_owned(),
        },
    }
}
