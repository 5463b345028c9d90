//! The program behind the command lines: asks the endpoint over HTTP, prints the answer, and knows nothing else.

use std::io::{Read, Write};
use std::net::TcpStream;

use serde_json::{Map, Value};

/// The environment variable that may hold the idempotency key.
pub(super) const KEY: &str = "CRASH_KEY";

/// `crash-client ADDRESS TOOL MEMBER=VALUE…`; the idempotency key is the member `key`, or in the environment.
pub(crate) fn main(arguments: &[&str]) -> Result<bool, String> {
    let [address, tool, members @ ..] = arguments else { return Err("crash-client ADDRESS TOOL MEMBER=VALUE…".to_owned()) };
    let mut input = Map::new();
    let mut key = std::env::var(KEY).ok();
    for (name, value) in members.iter().filter_map(|member| member.split_once('=')) {
        match (name, value.parse::<i64>()) {
            ("key", _) => key = Some(value.to_owned()),
            (_, Ok(number)) => _ = input.insert(name.to_owned(), number.into()),
            (_, Err(_)) => _ = input.insert(name.to_owned(), value.into()),
        }
    }
    print!("{}", ask(address, tool, key.as_deref(), &Value::Object(input))?);
    Ok(true)
}

/// One request on a connection of its own.
pub(super) fn ask(address: &str, tool: &str, key: Option<&str>, input: &Value) -> Result<String, String> {
    let no = |error: std::io::Error| format!("the endpoint does not answer: {error}");
    let mut stream = TcpStream::connect(address).map_err(no)?;
    let (body, key) = (input.to_string(), key.map(|key| format!("idempotency-key: {key}\r\n")).unwrap_or_default());
    let head = format!("POST /call/{tool} HTTP/1.1\r\nhost: {address}\r\n{key}content-length: {}\r\n\r\n", body.len());
    stream.write_all(format!("{head}{body}").as_bytes()).map_err(no)?;
    let mut answer = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        let read = stream.read(&mut buffer).map_err(no)?;
        answer.extend_from_slice(buffer.get(..read).unwrap_or_default());
        let text = String::from_utf8_lossy(&answer);
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse::<usize>().ok());
            if length.is_some_and(|length| body.len() >= length) {
                return Ok(body.to_owned());
            }
        }
        if read == 0 {
            return Err("the endpoint cut the connection".to_owned());
        }
    }
}
