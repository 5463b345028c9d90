//! An MCP server with everything that the official conformance suites ask a server for, by the names they use, and with tools of
//! its own that tests can look behind. Both protocol generations, over stdio and streamable HTTP.
//!
//! ```text
//! fixture_server [stdio | http [ADDRESS]] [--json] [--log FILE] [--page ITEMS] [--versions VERSION,VERSION…] [--extra]
//! ```
//!
//! - `http`: listens there (`127.0.0.1:0` when absent) and prints the endpoint's URL as the first line of stdout
//! - `--json`: over HTTP no sessions, and plain JSON answers where they will do
//! - `--log`: appends one JSON object a line: `{"event":"called","tool":…,"arguments":…,"key":…}`, then `finished` or `cancelled`
//! - `--page`: so many items on a page of a list; all when absent
//! - `--versions`: the protocol versions it admits to; all when absent
//! - `--extra`: the tool and the prompt that are listed now and then are so from the beginning
//!
//! What it offers is in `offer.json`, beside this file.
#![expect(
    deprecated,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a stand-in for tests: it offers what older generations have, and falling over is one of the things it is for"
)]

mod calls;
mod inputs;
mod offer;
mod serving;
mod state;
mod tasks;

use std::net::SocketAddr;
use std::str::FromStr;
use std::sync::Arc;

use axum::serve::ListenerExt;
use rmcp::ServiceExt;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};

use serving::Fixture;
use state::Options;

#[tokio::main]
async fn main() {
    let mut args = std::env::args().skip(1).peekable();
    let (mut http, mut json, mut options) = (None, false, Options::default());
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "stdio" => {}
            "http" => {
                let address = args.next_if(|next| !next.starts_with("--"));
                http = Some(SocketAddr::from_str(address.as_deref().unwrap_or("127.0.0.1:0")).unwrap());
            }
            "--json" => json = true,
            "--log" => options.log = args.next().map(Into::into),
            "--page" => options.page_items = args.next().and_then(|items| items.parse().ok()),
            "--versions" => options.versions = args.next().unwrap().split(',').map(str::to_owned).collect(),
            "--extra" => options.extra = true,
            _ => std::process::exit(2),
        }
    }
    let fixture = Fixture::new(options);
    match http {
        Some(address) => listen(fixture, address, json).await,
        None => {
            let running = fixture.serve(rmcp::transport::stdio()).await;
            if let Ok(running) = running {
                let _ = running.waiting().await;
            }
        }
    }
}

async fn listen(fixture: Fixture, address: SocketAddr, json: bool) {
    let mut config = StreamableHttpServerConfig::default();
    config.json_response = json;
    config.legacy_session_mode = !json;
    let service = StreamableHttpService::new(move || Ok(fixture.clone()), Arc::new(LocalSessionManager::default()), config);
    let router = axum::Router::new().route_service("/mcp", service);
    let listener = tokio::net::TcpListener::bind(address).await.unwrap();
    println!("http://{}/mcp", listener.local_addr().unwrap());
    // Without it an answer over an event stream takes 40 ms longer.
    let listener = listener.tap_io(|stream| drop(stream.set_nodelay(true)));
    axum::serve(listener, router).await.unwrap();
}
