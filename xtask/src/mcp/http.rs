//! One connection of HTTP/1.1 that is kept, and one client on it.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::Value;

use super::{Ask, Era, initialize, notification, request, result};

/// Longer than any answer takes.
const PATIENCE: Duration = Duration::from_secs(60);

/// An answer, whole.
#[derive(Debug)]
pub(crate) struct Response {
    pub(crate) status: u16,
    /// The header lines, names in lower case.
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl Response {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
    }

    /// The message in the body that answers: the body itself, or the last event of a stream.
    pub(crate) fn reply(&self) -> &[u8] {
        if !self.header("content-type").is_some_and(|kind| kind.starts_with("text/event-stream")) {
            return &self.body;
        }
        let lines = self.body.split(|byte| *byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line));
        let data = lines.filter_map(|line| line.strip_prefix(b"data:").map(<[u8]>::trim_ascii));
        data.rev().find(|data| !data.is_empty()).unwrap_or_default()
    }
}

/// A client of a server over HTTP.
#[derive(Debug)]
pub(crate) struct Http {
    address: SocketAddr,
    path: String,
    stream: TcpStream,
    unread: Vec<u8>,
    era: Era,
    session: Option<String>,
    next: u64,
}

impl Http {
    /// A connection, and nothing said on it yet.
    pub(crate) fn connect(address: SocketAddr, path: &str, era: Era) -> Result<Self, String> {
        let no = |error: std::io::Error| format!("cannot connect to {address}: {error}");
        let stream = TcpStream::connect_timeout(&address, PATIENCE).map_err(no)?;
        stream.set_nodelay(true).map_err(no)?;
        stream.set_read_timeout(Some(PATIENCE)).map_err(no)?;
        Ok(Self { address, path: path.to_owned(), stream, unread: Vec::new(), era, session: None, next: 1 })
    }

    /// A connection on which calls can be made: with a session where there are sessions.
    pub(crate) fn open(address: SocketAddr, path: &str, era: Era) -> Result<Self, String> {
        let mut client = Self::connect(address, path, era)?;
        if era == Era::Sessions {
            client.begin_session()?;
        }
        Ok(client)
    }

    /// Begins a session on this connection; the one before it goes on without us.
    pub(crate) fn begin_session(&mut self) -> Result<(), String> {
        self.session = None;
        let response = self.post(&request(0, "initialize", &initialize()), "")?;
        result(response.reply())?;
        self.session = response.header("mcp-session-id").map(str::to_owned);
        let response = self.post(&notification("notifications/initialized", &Value::Object(serde_json::Map::new())), "")?;
        if response.status >= 300 {
            return Err(format!("`notifications/initialized` was answered with {}", response.status));
        }
        Ok(())
    }

    /// A fresh connection for the same client: servers close those that are quiet for some seconds.
    pub(crate) fn reconnect(&mut self) -> Result<(), String> {
        let fresh = Self::connect(self.address, &self.path, self.era)?;
        (self.stream, self.unread) = (fresh.stream, fresh.unread);
        Ok(())
    }

    pub(crate) fn session(&self) -> Option<&str> {
        self.session.as_deref()
    }

    /// Ends the session.
    pub(crate) fn end_session(&mut self) -> Result<u16, String> {
        let session = self.session.take().map(|session| format!("mcp-session-id: {session}\r\n")).unwrap_or_default();
        Ok(self.exchange("DELETE", &session, b"")?.status)
    }

    /// Asks for the standing stream of a session and reads no further than its head.
    pub(crate) fn listen(&mut self, session: &str) -> Result<u16, String> {
        let more = format!("accept: text/event-stream\r\nmcp-session-id: {session}\r\nmcp-protocol-version: {}\r\n", self.era.version());
        self.send("GET", &more, b"")?;
        self.head().map(|(status, _)| status)
    }

    /// What has come so far on a standing stream, without waiting.
    pub(crate) fn heard(&mut self) -> Result<Vec<u8>, String> {
        let set = |stream: &TcpStream, on| stream.set_nonblocking(on).map_err(|error| format!("cannot look at the stream: {error}"));
        set(&self.stream, true)?;
        let mut buffer = [0; 65_536];
        loop {
            match self.stream.read(&mut buffer) {
                Ok(0) => return Err("the stream has ended".to_owned()),
                Ok(read) => self.unread.extend_from_slice(buffer.get(..read).unwrap_or_default()),
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) => return Err(format!("the stream broke: {error}")),
            }
        }
        set(&self.stream, false)?;
        Ok(std::mem::take(&mut self.unread))
    }

    /// Posts a message with further header lines, each with its line break.
    pub(crate) fn post(&mut self, body: &str, more: &str) -> Result<Response, String> {
        let session = self.session.as_deref().map(|session| format!("mcp-session-id: {session}\r\n")).unwrap_or_default();
        let version = if body.contains("\"initialize\"") { "" } else { self.era.version() };
        let version = if version.is_empty() { String::new() } else { format!("mcp-protocol-version: {version}\r\n") };
        let lines = format!("content-type: application/json\r\naccept: application/json, text/event-stream\r\n{version}{session}{more}");
        self.exchange("POST", &lines, body.as_bytes())
    }

    /// Posts a request of the generation that was agreed, with the headers that it wants.
    pub(crate) fn post_request(&mut self, body: &str, method: &str, name: Option<&str>) -> Result<Response, String> {
        if self.era == Era::Sessions {
            return self.post(body, "");
        }
        let name = name.map(|name| format!("mcp-name: {name}\r\n")).unwrap_or_default();
        self.post(body, &format!("mcp-method: {method}\r\n{name}"))
    }

    fn exchange(&mut self, verb: &str, lines: &str, body: &[u8]) -> Result<Response, String> {
        self.send(verb, lines, body)?;
        let (status, head) = self.head()?;
        let mut response = Response { status, head, body: Vec::new() };
        let length = response.header("content-length").and_then(|length| length.parse::<usize>().ok());
        if response.header("transfer-encoding").is_some_and(|encoding| encoding.contains("chunked")) {
            self.chunks(&mut response.body)?;
        } else if let Some(length) = length {
            response.body = self.take(length)?;
        }
        Ok(response)
    }

    fn send(&mut self, verb: &str, lines: &str, body: &[u8]) -> Result<(), String> {
        let mut text = Vec::with_capacity(body.len() + 512);
        let (path, address) = (&self.path, self.address);
        text.extend_from_slice(
            format!("{verb} {path} HTTP/1.1\r\nhost: {address}\r\n{lines}content-length: {}\r\n\r\n", body.len()).as_bytes(),
        );
        text.extend_from_slice(body);
        self.raw(&text)
    }

    /// Writes bytes as they are.
    pub(crate) fn raw(&mut self, bytes: &[u8]) -> Result<(), String> {
        self.stream.write_all(bytes).map_err(|error| format!("cannot write to {}: {error}", self.address))
    }

    /// Reads the head of an answer.
    pub(crate) fn head(&mut self) -> Result<(u16, String), String> {
        loop {
            if let Some(end) = find(&self.unread, b"\r\n\r\n") {
                let head: Vec<u8> = self.unread.drain(..end + 4).collect();
                let head = String::from_utf8_lossy(&head).into_owned();
                let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
                let status = status.ok_or_else(|| format!("no HTTP: {head}"))?;
                let lowered = head.lines().map(|line| match line.split_once(": ") {
                    Some((name, value)) => format!("{}: {value}", name.to_ascii_lowercase()),
                    None => line.to_owned(),
                });
                return Ok((status, lowered.collect::<Vec<_>>().join("\n")));
            }
            self.more()?;
        }
    }

    fn more(&mut self) -> Result<(), String> {
        let mut buffer = [0; 16_384];
        match self.stream.read(&mut buffer) {
            Ok(0) => Err("the connection was closed".to_owned()),
            Ok(read) => {
                self.unread.extend_from_slice(buffer.get(..read).unwrap_or_default());
                Ok(())
            }
            Err(error) => Err(format!("no answer: {error}")),
        }
    }

    fn take(&mut self, length: usize) -> Result<Vec<u8>, String> {
        while self.unread.len() < length {
            self.more()?;
        }
        Ok(self.unread.drain(..length).collect())
    }

    fn chunks(&mut self, body: &mut Vec<u8>) -> Result<(), String> {
        loop {
            let end = loop {
                match find(&self.unread, b"\r\n") {
                    Some(end) => break end,
                    None => self.more()?,
                }
            };
            let line = self.take(end + 2)?;
            let line = String::from_utf8_lossy(&line);
            let size = line.trim().split(';').next().unwrap_or_default();
            let size = usize::from_str_radix(size, 16).map_err(|_| format!("`{size}` is no size of a chunk"))?;
            let chunk = self.take(size + 2)?;
            if size == 0 {
                return Ok(());
            }
            body.extend_from_slice(chunk.get(..size).unwrap_or_default());
        }
    }
}

impl Ask for Http {
    fn ask(&mut self, method: &str, params: &Value) -> Result<Value, String> {
        self.next += 1;
        let name = params.get("name").or_else(|| params.get("uri")).and_then(Value::as_str).map(str::to_owned);
        let response = self.post_request(&request(self.next, method, params), method, name.as_deref())?;
        result(response.reply()).map_err(|why| format!("`{method}` was answered with {}: {why}", response.status))
    }

    fn era(&self) -> Era {
        self.era
    }
}

fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len()).position(|window| window == wanted)
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn the_answer_is_read_out_of_a_body_and_out_of_a_stream_in_chunks() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let plain = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}";
        let stream = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n\
            c\r\nid: 1\ndata:\n\r\n11\r\ndata: {\"a\":1}\r\n\r\n\r\n0\r\n\r\n";
        let server = std::thread::spawn(move || {
            let (mut stream_, _) = listener.accept().unwrap();
            let mut buffer = [0; 4096];
            for answer in [plain, stream] {
                assert!(stream_.read(&mut buffer).unwrap() > 0);
                stream_.write_all(answer.as_bytes()).unwrap();
            }
        });
        let mut client = Http::connect(address, "/mcp", Era::Sessionless).unwrap();
        assert_eq!(client.post("{}", "").unwrap().reply(), b"{}");
        assert_eq!(client.post("{}", "").unwrap().reply(), br#"{"a":1}"#);
        server.join().unwrap();
    }
}
