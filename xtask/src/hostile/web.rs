//! Many connections that send malformed requests, beside a session that means well and listens.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;

use super::{CANARY, MALLORY, Options, Report, message};
use crate::chance::Chance;
use crate::mcp::{Ask, Era, Http};
use crate::served::{PATH, World};

/// Connections at once.
const CONNECTIONS: u64 = 12;

/// Within this time what is whole must be answered.
const ANSWERED: Duration = Duration::from_secs(20);

pub(super) fn run(world: &World, options: &Options) -> Result<Report, String> {
    let mut served = world.http(&[])?;
    let address = served.address;
    let each = options.messages / 2 / CONNECTIONS;
    let over = AtomicBool::new(false);
    let mut report = std::thread::scope(|scope| {
        let good = scope.spawn(|| mean_well(address, &over));
        let attackers: Vec<_> = (0..CONNECTIONS).map(|number| scope.spawn(move || attack(address, each, options.seed, number))).collect();
        let mut report = Report::default();
        for attacker in attackers {
            report.add(attacker.join().map_err(|_| "an attacker broke".to_owned())?);
        }
        over.store(true, Ordering::Relaxed);
        report.add(good.join().map_err(|_| "the good client broke".to_owned())?);
        Ok::<_, String>(report)
    })?;
    if !served.is_alive() {
        return Err(format!("it has died: {}", served.said()));
    }
    let status = served.stop()?;
    if !status.success() {
        report.problem(format!("it ended with {status}"));
    }
    Ok(report)
}

/// A session that calls and listens until the others are done.
fn mean_well(address: SocketAddr, over: &AtomicBool) -> Report {
    let mut report = Report::default();
    if let Err(why) = calls(address, over, &mut report) {
        report.problem(format!("the good client: {why}"));
    }
    report
}

fn calls(address: SocketAddr, over: &AtomicBool, report: &mut Report) -> Result<(), String> {
    let mut client = Http::open(address, PATH, Era::Sessions)?;
    let mut stream = Http::connect(address, PATH, Era::Sessions)?;
    stream.listen(client.session().ok_or("there is no session")?)?;
    while !over.load(Ordering::Relaxed) {
        let text = format!("{CANARY} {}", report.answered);
        let result = client.call_well("echo", &json!({ "text": text }))?;
        if result.pointer("/structuredContent/text").and_then(serde_json::Value::as_str) != Some(&text) {
            return Err(format!("got {result}"));
        }
        report.answered += 1;
        let heard = stream.heard()?;
        if contains(&heard, MALLORY) {
            return Err(format!("heard somebody else: {}", String::from_utf8_lossy(&heard)));
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    Ok(())
}

fn attack(address: SocketAddr, requests: u64, seed: u64, number: u64) -> Report {
    let mut report = Report::default();
    let mut session = Http::open(address, PATH, Era::Sessions).ok().and_then(|client| client.session().map(str::to_owned));
    for serial in 0..requests {
        let mut chance = Chance::new(seed.wrapping_add(1), number.wrapping_mul(1 << 32) + serial);
        if chance.percent(1) {
            session = Http::open(address, PATH, Era::Sessions).ok().and_then(|client| client.session().map(str::to_owned));
        }
        let body = message::make(&mut chance);
        let (request, whole) = request(address, &body, session.as_deref(), &mut chance);
        report.sent += 1;
        match exchange(address, &request, whole) {
            Ok(answer) if contains(&answer, CANARY) => {
                report.problem(format!("the secret is in an answer: {}", String::from_utf8_lossy(&answer)))
            }
            Ok(answer) => {
                let text = String::from_utf8_lossy(&answer);
                let status = text.strip_prefix("HTTP/1.1 ").and_then(|rest| rest.get(..3)).unwrap_or("none").to_owned();
                if status.starts_with('5') && status != "503" {
                    report.problem(format!("{status} for {}", String::from_utf8_lossy(&request)));
                }
                if status == "none" && whole {
                    report.problem(format!("no answer to {}", String::from_utf8_lossy(&request)));
                }
                report.kind(status);
            }
            Err(why) if whole => report.problem(format!("{why} for {}", String::from_utf8_lossy(&request))),
            Err(_) => report.kind("closed"),
        }
    }
    report
}

/// A request with something wrong in it, and whether it is whole HTTP, so that an answer must come.
fn request(address: SocketAddr, body: &[u8], session: Option<&str>, chance: &mut Chance) -> (Vec<u8>, bool) {
    let mut lines = vec![format!("host: {address}"), "accept: application/json, text/event-stream".to_owned()];
    lines.push("content-type: application/json".to_owned());
    if let Some(session) = session.filter(|_| chance.percent(60)) {
        lines.push(format!("mcp-session-id: {session}"));
    }
    if chance.percent(50) {
        lines.push(format!("mcp-protocol-version: {}", if chance.percent(50) { "2025-11-25" } else { "2026-07-28" }));
    }
    let verb =
        if chance.percent(95) { "POST" } else { chance.pick(&["PUT", "DELETE", "OPTIONS", "TRACE", "post"]).copied().unwrap_or("PUT") };
    let nasty = [
        "mcp-session-id: ../../etc",
        "mcp-protocol-version: 1999-01-01",
        "mcp-method: tools/call",
        "mcp-name: =?base64?!!!?=",
        "mcp-param-x: 1",
        "origin: http://evil.example",
        "host: evil.example",
        "content-type: text/plain",
        "accept: text/html",
        "authorization: Bearer x",
        "last-event-id: 1-1-1",
        "idempotency-key: %zz",
        "content-encoding: gzip",
        "expect: 100-continue",
    ];
    for _ in 0..chance.below(3) {
        lines.push(chance.pick(&nasty).copied().unwrap_or_default().to_owned());
    }
    // What HTTP itself cannot read: there need be no answer.
    let whole = chance.percent(90);
    let length = if whole { body.len() } else { body.len() + chance.below(50) };
    lines.push(format!("content-length: {length}"));
    lines.push("connection: close".to_owned());
    let mut text =
        format!("{verb} {} HTTP/1.1\r\n{}\r\n\r\n", if chance.percent(98) { PATH } else { "/other" }, lines.join("\r\n")).into_bytes();
    if !whole {
        let at = chance.below(text.len().max(1));
        let end = (at + chance.below(8)).min(text.len());
        text.splice(at..end, [b"\r\n\x00".as_slice(), b": ", b"\xff"].concat());
    }
    text.extend_from_slice(body);
    (text, whole && !lines.iter().any(|line| line.starts_with("expect")))
}

/// Sends it on a connection of its own and reads what comes, to the end.
fn exchange(address: SocketAddr, request: &[u8], whole: bool) -> Result<Vec<u8>, String> {
    let no = |error: std::io::Error| error.to_string();
    let mut stream = TcpStream::connect(address).map_err(no)?;
    let patience = if whole { ANSWERED } else { Duration::from_millis(20) };
    stream.set_read_timeout(Some(patience)).map_err(no)?;
    stream.set_nodelay(true).map_err(no)?;
    // A server that has seen enough may answer and close before it has read everything.
    let _ = stream.write_all(request);
    let (mut answer, started) = (Vec::new(), Instant::now());
    let mut buffer = [0; 8192];
    loop {
        match stream.read(&mut buffer) {
            Ok(0) => return Ok(answer),
            Ok(read) => answer.extend_from_slice(buffer.get(..read).unwrap_or_default()),
            Err(_) if !answer.is_empty() => return Ok(answer),
            Err(error) => return Err(error.to_string()),
        }
        // A stream that stays open is an answer.
        if started.elapsed() > patience {
            return Ok(answer);
        }
    }
}

fn contains(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|window| window == text.as_bytes())
}
