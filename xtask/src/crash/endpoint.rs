//! The world outside: a real HTTP server that has effects and counts them. It takes plain requests from the client of the
//! command lines, and MCP. It forgives nothing: every request that it comes to apply is one more effect.
//!
//! It must not know how a run is killed or taken up again.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::chance::Chance;

mod mcp;

pub(super) use mcp::output as output_schema;

/// A request as it came, and what became of it.
#[derive(Clone, Debug)]
pub(super) struct Seen {
    pub(super) tool: String,
    pub(super) key: Option<String>,
    pub(super) arguments: Value,
    /// The answer, once the effect happened; none when the caller was gone before.
    pub(super) done: Option<Value>,
}

/// Everything about one run. The runs are told apart by the ticket in their input.
#[derive(Debug, Default)]
struct Ticket {
    seen: Vec<Seen>,
    in_flight: usize,
    /// Requests of this tool wait before they have their effect.
    held: Option<String>,
    /// A request of this tool is lost, once: it has no effect, and no answer.
    lost: Option<String>,
}

#[derive(Debug)]
struct Shared {
    seed: u64,
    serial: AtomicU64,
    tickets: Mutex<HashMap<String, Ticket>>,
    changed: Condvar,
}

/// The running server. It ends with the process.
#[derive(Clone, Debug)]
pub(super) struct Endpoint {
    pub(super) address: SocketAddr,
    shared: Arc<Shared>,
}

/// How long a request may wait for being let through.
const HELD_AT_MOST: Duration = Duration::from_secs(30);

/// How long the server thinks at most, before the effect and after it.
const THINKS: Duration = Duration::from_millis(5);

impl Endpoint {
    pub(super) fn start(seed: u64) -> Result<Self, String> {
        let listener = TcpListener::bind("127.0.0.1:0").map_err(|error| format!("cannot listen on this machine: {error}"))?;
        let address = listener.local_addr().map_err(|error| format!("the listener has no address: {error}"))?;
        let tickets = Mutex::default();
        let shared = Arc::new(Shared { seed, serial: AtomicU64::new(0), tickets, changed: Condvar::new() });
        let endpoint = Self { address, shared };
        let serving = endpoint.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let endpoint = serving.clone();
                std::thread::spawn(move || endpoint.connection(stream));
            }
        });
        Ok(endpoint)
    }

    /// What came for this run, in the order in which it came.
    pub(super) fn seen(&self, ticket: &str) -> Vec<Seen> {
        self.tickets().get(ticket).map(|ticket| ticket.seen.clone()).unwrap_or_default()
    }

    /// The answers that this tool gave after an effect.
    pub(super) fn done(&self, ticket: &str, tool: &str) -> Vec<Value> {
        self.seen(ticket).into_iter().filter(|seen| seen.tool == tool).filter_map(|seen| seen.done).collect()
    }

    /// Waits until something came or was let go, at most so long, and says how many requests came so far.
    pub(super) fn watch(&self, ticket: &str, at_most: Duration) -> usize {
        let waited = self.shared.changed.wait_timeout(self.tickets(), at_most);
        let (tickets, _) = waited.unwrap_or_else(PoisonError::into_inner);
        tickets.get(ticket).map_or(0, |ticket| ticket.seen.len())
    }

    /// Requests of `tool` wait before their effect until they are let go.
    pub(super) fn hold(&self, ticket: &str, tool: &str) {
        self.tickets().entry(ticket.to_owned()).or_default().held = Some(tool.to_owned());
    }

    pub(super) fn let_go(&self, ticket: &str) {
        if let Some(ticket) = self.tickets().get_mut(ticket) {
            ticket.held = None;
        }
        self.shared.changed.notify_all();
    }

    /// The next request of `tool` is lost.
    pub(super) fn lose(&self, ticket: &str, tool: &str) {
        self.tickets().entry(ticket.to_owned()).or_default().lost = Some(tool.to_owned());
    }

    /// Waits until no request of this run is under way.
    pub(super) fn settle(&self, ticket: &str) {
        let until = Instant::now() + HELD_AT_MOST;
        let mut tickets = self.tickets();
        while tickets.get(ticket).is_some_and(|ticket| ticket.in_flight > 0) && Instant::now() < until {
            let waited = self.shared.changed.wait_timeout(tickets, Duration::from_millis(20));
            (tickets, _) = waited.unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn tickets(&self) -> MutexGuard<'_, HashMap<String, Ticket>> {
        self.shared.tickets.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Answers one request after the other; an error of the connection ends it.
    fn connection(&self, stream: TcpStream) -> Option<()> {
        stream.set_nodelay(true).ok()?;
        let mut reader = BufReader::new(stream.try_clone().ok()?);
        let mut stream = stream;
        loop {
            let request = Request::read(&mut reader)?;
            let (status, body) = match request.target.as_str() {
                "/mcp" => mcp::answer(&request, |call| self.call(call, &stream)),
                target => {
                    let arguments: Value = serde_json::from_str(&request.body).ok()?;
                    let tool = target.trim_start_matches("/call/").to_owned();
                    let key = request.headers.get("idempotency-key").cloned();
                    (200, self.call(Call { tool, key, arguments }, &stream).map(|answer| answer.to_string()))
                }
            };
            // Lost: the connection is cut, and nobody is told why.
            let body = body?;
            let head = format!("HTTP/1.1 {status} -\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n", body.len());
            stream.write_all(format!("{head}{body}").as_bytes()).ok()?;
        }
    }

    /// Takes a request in, thinks, has its effect, thinks, and answers.
    fn call(&self, call: Call, stream: &TcpStream) -> Option<Value> {
        let serial = self.shared.serial.fetch_add(1, Ordering::Relaxed);
        let mut chance = Chance::new(self.shared.seed, serial);
        let name = call.arguments.get("ticket").and_then(Value::as_str).unwrap_or_default().to_owned();
        let (place, lost) = {
            let mut tickets = self.tickets();
            let ticket = tickets.entry(name.clone()).or_default();
            ticket.seen.push(Seen { tool: call.tool.clone(), key: call.key.clone(), arguments: call.arguments.clone(), done: None });
            ticket.in_flight += 1;
            let lost = ticket.lost.take_if(|lost| *lost == call.tool).is_some();
            (ticket.seen.len() - 1, lost)
        };
        self.shared.changed.notify_all();
        self.wait_while_held(&name, &call.tool);
        std::thread::sleep(chance.within(THINKS));
        // As servers do, some look whether anybody still waits for them.
        let gone = lost || (chance.percent(50) && is_gone(stream));
        let answer = (!gone).then(|| answer(&call.tool, &call.arguments, serial));
        {
            let mut tickets = self.tickets();
            let ticket = tickets.entry(name).or_default();
            ticket.in_flight -= 1;
            if let Some(seen) = ticket.seen.get_mut(place) {
                seen.done.clone_from(&answer);
            }
        }
        self.shared.changed.notify_all();
        if lost {
            // The caller waits until it is killed.
            wait_until_gone(stream);
        }
        std::thread::sleep(chance.within(THINKS));
        answer
    }

    fn wait_while_held(&self, ticket: &str, tool: &str) {
        let until = Instant::now() + HELD_AT_MOST;
        let mut tickets = self.tickets();
        while tickets.get(ticket).is_some_and(|ticket| ticket.held.as_deref() == Some(tool)) && Instant::now() < until {
            let waited = self.shared.changed.wait_timeout(tickets, Duration::from_millis(20));
            (tickets, _) = waited.unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// One call of a tool.
#[derive(Debug)]
struct Call {
    tool: String,
    key: Option<String>,
    arguments: Value,
}

/// Every tool of the endpoint: its name, what calling it does, and its output's members.
pub(super) const TOOLS: [(&str, &str, &[&str]); 5] = [
    ("lookup", "read", &["units", "serial"]),
    ("audit", "read", &["level"]),
    ("reserve", "idempotent", &["reserved"]),
    ("charge", "write", &["charged", "receipt"]),
    ("mail", "write", &["sent"]),
];

/// What a tool answers. It follows from the item, except for the `serial`: a lookup that is done again gives another one,
/// so that a step that was given to a tool before differs when it is made again.
fn answer(tool: &str, arguments: &Value, serial: u64) -> Value {
    let item = arguments.get("item").and_then(Value::as_i64).unwrap_or_default();
    match tool {
        "lookup" => json!({ "units": item * 3 + 1, "serial": serial }),
        "audit" => json!({ "level": item % 3 }),
        "reserve" => json!({ "reserved": item * 3 + 1 }),
        "charge" => json!({ "charged": item * 21, "receipt": format!("receipt for {item}") }),
        _ => json!({ "sent": format!("mail about {item}") }),
    }
}

fn is_gone(stream: &TcpStream) -> bool {
    let _ = stream.set_nonblocking(true);
    let gone = matches!(stream.peek(&mut [0]), Ok(0));
    let _ = stream.set_nonblocking(false);
    gone
}

fn wait_until_gone(stream: &TcpStream) {
    let until = Instant::now() + HELD_AT_MOST;
    while !is_gone(stream) && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// A request of HTTP/1.1.
#[derive(Debug)]
struct Request {
    verb: String,
    target: String,
    headers: HashMap<String, String>,
    body: String,
}

impl Request {
    fn read(reader: &mut impl BufRead) -> Option<Self> {
        let mut line = String::new();
        reader.read_line(&mut line).ok().filter(|read| *read > 0)?;
        let mut words = line.split_whitespace();
        let (verb, target) = (words.next()?.to_owned(), words.next()?.to_owned());
        let mut headers = HashMap::new();
        loop {
            let mut line = String::new();
            reader.read_line(&mut line).ok().filter(|read| *read > 0)?;
            let Some((name, value)) = line.trim_end().split_once(':') else { break };
            headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
        }
        let length: u64 = headers.get("content-length").and_then(|length| length.parse().ok()).unwrap_or_default();
        let mut body = String::new();
        reader.take(length).read_to_string(&mut body).ok()?;
        Some(Self { verb, target, headers, body })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_counted_once_it_came_and_its_effect_once_it_happened() {
        let endpoint = Endpoint::start(1).unwrap();
        endpoint.hold("t", "charge");
        let address = endpoint.address.to_string();
        let asking =
            std::thread::spawn(move || super::super::client::ask(&address, "charge", Some("k"), &json!({ "ticket": "t", "item": 2 })));
        while endpoint.watch("t", Duration::from_millis(20)) == 0 {}
        assert_eq!(endpoint.done("t", "charge"), Vec::<Value>::new());
        endpoint.let_go("t");
        let answer: Value = serde_json::from_str(&asking.join().unwrap().unwrap()).unwrap();
        assert_eq!(answer, json!({ "charged": 42, "receipt": "receipt for 2" }));
        endpoint.settle("t");
        assert_eq!(endpoint.done("t", "charge"), [answer]);
        assert_eq!(endpoint.seen("t").first().unwrap().key.as_deref(), Some("k"));
    }
}
