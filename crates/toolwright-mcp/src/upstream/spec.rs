//! What a host says about one upstream server. Plain data; nothing here starts anything.

use std::collections::HashMap;
use std::path::PathBuf;
use std::time::Duration;

use toolwright::{Effect, Text, Value};

use super::pins::Pins;

/// Everything needed to reach one MCP server and to turn its tools into ours.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ServerSpec {
    /// The name of the source in the host's configuration; it appears in every error and in every tool's origin.
    pub name: Text,
    /// How the server is reached.
    pub transport: Transport,
    /// Put before every tool name to make its id; may be empty. Default: the name and an underscore.
    pub prefix: Text,
    /// Whether the server's own hints (`readOnlyHint`, …) may become effects. Default: no.
    pub trust_hints: bool,
    /// Effects the host declares, by the tool's name on the server; they win over hints.
    pub effects: Vec<(Text, Effect)>,
    /// Effects that a person accepted and that are kept, by the tool's name on the server; they win over hints, and what the
    /// host declares wins over them.
    pub accepted: HashMap<Text, Effect>,
    /// What the host expects of the server's tools; absent = it takes them as they are.
    pub pins: Option<Pins>,
    /// The capabilities that are assumed before the server has said what it has; `null` = nothing is known.
    pub capabilities: Value,
    /// Longest time from starting the server to the end of its handshake.
    pub start_timeout: Duration,
    /// Longest silence during a call; a progress notification starts it anew.
    pub idle_timeout: Duration,
    /// Longest time a call may take in all, whatever progress it reports.
    pub call_timeout: Duration,
    /// How long a server gets to end by itself, once after its stdin closes and once after SIGTERM.
    pub shutdown_grace: Duration,
    /// Texts that must never appear in an error or a status; header and environment values are added by themselves.
    pub secrets: Vec<String>,
    /// A command put in front of a stdio server's own: a process that ends the server when we vanish
    /// (see [`guard`](crate::guard)). Our process id and `--` follow it.
    pub guard: Option<Vec<String>>,
    /// Give a stdio server only the configured environment, without the usual `PATH`, `HOME` and the like.
    pub clean_env: bool,
    /// Which generation of the protocol to speak.
    pub era: Era,
    /// Bounds on what is accepted from the server.
    pub limits: Limits,
}

/// How a server is reached.
#[derive(Clone, Debug)]
pub enum Transport {
    /// A child process that speaks over its stdin and stdout.
    Stdio {
        /// The program, looked up in the child's `PATH`.
        command: String,
        /// Its arguments, passed on as they are; no shell.
        args: Vec<String>,
        /// Its working directory; absent: ours.
        cwd: Option<PathBuf>,
        /// Variables set for it, beside the few that are inherited.
        env: Vec<(String, String)>,
    },
    /// Streamable HTTP.
    Http {
        /// The server's endpoint.
        url: String,
        /// Headers sent with each request.
        headers: Vec<(String, String)>,
    },
}

/// Which generation of the protocol to speak.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Era {
    /// Ask for the sessionless generation first, fall back to `initialize`.
    #[default]
    Auto,
    /// `initialize` and sessions (2024-11-05 to 2025-11-25) at once.
    Sessions,
    /// The sessionless generation (2026-07-28) only.
    Sessionless,
}

/// Bounds on what is accepted from a server.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Limits {
    /// Bytes of one message; a longer one fails its call.
    pub frame_bytes_max: usize,
    /// Pages of one tool list.
    pub list_pages_max: usize,
    /// Tools of one server.
    pub list_tools_max: usize,
    /// Bytes of one tool list in all.
    pub list_bytes_max: u64,
    /// How long what was compared with the pins holds for a server behind a URL.
    pub compared_for: Duration,
    /// Bytes of stderr kept, the newest.
    pub stderr_bytes_kept: usize,
    /// How often in a row a server may require answers before it gives its result.
    pub input_rounds_max: usize,
    /// Failures in a row after which the server is left alone for a while.
    pub failures_max: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            frame_bytes_max: 64 * 1024 * 1024,
            list_pages_max: 100,
            list_tools_max: 2_000,
            list_bytes_max: 16 * 1024 * 1024,
            compared_for: Duration::from_secs(300),
            stderr_bytes_kept: 64 * 1024,
            input_rounds_max: 16,
            failures_max: 5,
        }
    }
}

impl ServerSpec {
    /// A server that is a child process.
    pub fn stdio(name: impl Into<Text>, command: impl Into<String>, args: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self::new(
            name.into(),
            Transport::Stdio { command: command.into(), args: args.into_iter().map(Into::into).collect(), cwd: None, env: Vec::new() },
        )
    }

    /// A server behind a URL.
    pub fn http(name: impl Into<Text>, url: impl Into<String>) -> Self {
        Self::new(name.into(), Transport::Http { url: url.into(), headers: Vec::new() })
    }

    fn new(name: Text, transport: Transport) -> Self {
        ServerSpec {
            prefix: Text::from(format!("{name}_")),
            name,
            transport,
            trust_hints: false,
            effects: Vec::new(),
            accepted: HashMap::new(),
            pins: None,
            capabilities: Value::Null,
            start_timeout: Duration::from_secs(20),
            idle_timeout: Duration::from_secs(60),
            call_timeout: Duration::from_secs(300),
            shutdown_grace: Duration::from_secs(2),
            secrets: Vec::new(),
            guard: None,
            clean_env: false,
            era: Era::Auto,
            limits: Limits::default(),
        }
    }

    /// The kind of this source as it stands in a tool's origin.
    pub(crate) fn kind(&self) -> &'static str {
        match self.transport {
            Transport::Stdio { .. } => "mcp-stdio",
            Transport::Http { .. } => "mcp-http",
        }
    }

    /// The id that the tool of that name gets here.
    pub fn tool_id(&self, name: &str) -> Text {
        Text::from(format!("{}{name}", self.prefix))
    }
}
