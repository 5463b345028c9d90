//! Why a server cannot be reached or listed. Texts are masked before they get here.

use rmcp::service::ClientInitializeError;
use toolwright::Text;

use super::lookup::searched_path;
use super::secrets::Redactor;
use super::spec::{ServerSpec, Transport};

/// A server that could not be started, connected to, or asked for its tools.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{message}")]
#[non_exhaustive]
pub struct UpstreamError {
    /// A stable word for the kind of failure.
    pub code: &'static str,
    /// The server's name in the host's configuration.
    pub server: Text,
    /// What happened, without any secret.
    pub message: String,
    /// What to do about it.
    pub help: Option<String>,
}

/// The server could not be started or did not finish its handshake.
pub const START_FAILED: &str = "upstream_start_failed";
/// The server is not reachable now; nothing was sent.
pub const UNAVAILABLE: &str = "upstream_unavailable";
/// The server ended while a call was running.
pub const EXITED: &str = "upstream_exited";
/// The connection ended while a call was running.
pub const DISCONNECTED: &str = "upstream_disconnected";
/// The server answered with something that is no answer, or with an error of the protocol.
pub const PROTOCOL: &str = "upstream_protocol_error";
/// The server was silent or busy for too long.
pub const TIMEOUT: &str = "upstream_timeout";
/// The server forgot the session twice in a row.
pub const SESSION_LOST: &str = "session_lost";
/// The server wants other credentials.
pub const UNAUTHORIZED: &str = "upstream_unauthorized";
/// The tool is not what the host has accepted; nothing was sent.
pub const CATALOG_CHANGED: &str = "catalog_changed";
/// The server does not offer the tool any more; nothing was sent.
pub const TOOL_GONE: &str = "unavailable";
/// The server needs an answer before it goes on, and nobody gives one.
pub const INPUT_REQUIRED: &str = "upstream_input_required";
/// The call was cancelled.
pub const CANCELLED: &str = "cancelled";

impl UpstreamError {
    pub(crate) fn new(code: &'static str, spec: &ServerSpec, message: String) -> Self {
        UpstreamError { code, server: spec.name.clone(), message, help: None }
    }

    pub(crate) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    pub(crate) fn start(spec: &ServerSpec, why: &str) -> Self {
        Self::new(START_FAILED, spec, format!("server `{}` did not start: {why}", spec.name))
    }

    /// The command names a program that is not there.
    pub(crate) fn no_program(spec: &ServerSpec, redactor: &Redactor) -> Self {
        let Transport::Stdio { command, .. } = &spec.transport else { return Self::start(spec, "it has no command") };
        let path = redactor.mask(&searched_path(spec));
        Self::start(spec, &format!("there is no program `{}`", redactor.mask(command)))
            .help(format!("give its full path, or a `PATH` in the source's `env`; searched: {path}"))
    }

    /// The operating system refused to run the command.
    pub(crate) fn not_started(spec: &ServerSpec, redactor: &Redactor, error: &std::io::Error) -> Self {
        let command = match &spec.transport {
            Transport::Stdio { command, .. } => redactor.mask(command),
            Transport::Http { .. } => String::new(),
        };
        if error.kind() == std::io::ErrorKind::NotFound {
            return Self::no_program(spec, redactor);
        }
        Self::start(spec, &format!("`{command}` cannot be run: {error}"))
    }
}

/// An error with its causes, once each.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text = format!("{text}: {cause_text}");
        }
        source = cause.source();
    }
    text
}

/// Why a handshake failed, in words for people.
pub(crate) fn handshake(error: &ClientInitializeError) -> String {
    match error {
        ClientInitializeError::LegacyFallbackFailed { fallback, .. } => handshake(fallback),
        ClientInitializeError::TransportError { error, .. } => chain(error.error.as_ref()),
        ClientInitializeError::ConnectionClosed(_) => "the connection ended".to_owned(),
        ClientInitializeError::JsonRpcError(data) => {
            let more = data.data.as_ref().map(|data| format!(", {data}")).unwrap_or_default();
            format!("{} (JSON-RPC error {}{more})", data.message, data.code.0)
        }
        ClientInitializeError::NoCompatibleProtocolVersion { server_supported, .. } => {
            let theirs: Vec<&str> = server_supported.iter().map(|version| version.as_str()).collect();
            format!("it speaks none of our protocol versions, only: {}", theirs.join(", "))
        }
        ClientInitializeError::ExpectedInitResponse(_) | ClientInitializeError::ExpectedInitResult(_) => {
            "its reply to the handshake is something else".to_owned()
        }
        other => chain(other),
    }
}

/// Whether a handshake failed because the other side went away.
pub(crate) fn connection_ended(error: &ClientInitializeError) -> bool {
    match error {
        ClientInitializeError::LegacyFallbackFailed { fallback, .. } => connection_ended(fallback),
        ClientInitializeError::ConnectionClosed(_) | ClientInitializeError::TransportError { .. } => true,
        _ => false,
    }
}

/// Whether something came for an answer that is no answer to a handshake.
pub(crate) fn no_handshake(error: &ClientInitializeError) -> bool {
    matches!(error, ClientInitializeError::ExpectedInitResponse(_) | ClientInitializeError::ExpectedInitResult(_))
}

/// Whether a handshake failed for want of credentials.
pub(crate) fn unauthorized(error: &ClientInitializeError) -> bool {
    let refused = |error: &ClientInitializeError| match error {
        ClientInitializeError::TransportError { error, .. } => {
            let text = chain(error.error.as_ref());
            text.contains("HTTP 401") || text.contains("HTTP 403")
        }
        _ => false,
    };
    match error {
        ClientInitializeError::LegacyFallbackFailed { fallback, .. } => unauthorized(fallback),
        error => error.is_authorization_required() || refused(error),
    }
}
