//! Members of the `serve` section.

use super::{DURATION, FLAG, SIZE, Shape, TEXT, member};

const TEXTS: &str = r#"{"type": "array", "items": {"type": "string"}}"#;
const COUNT: &str = r#"{"type": "integer", "minimum": 1}"#;
const PROFILE: &str = r#"{"enum": ["standard", "claude-code", "claude", "cursor", "vscode", "copilot", "windsurf", "gemini", "codex", "lm-studio"], "enumDescriptions": ["what the protocol allows", "short names, no references, a plain root", "a plain root", "short names, no references, a plain root, 80 tools", "short names, a plain root, 128 tools", "short names, no references, a plain root", "short names, no references, a plain root, 100 tools", "short names, no references, a plain root, additionalProperties true or false", "short names, no references, a plain root", "no references, a plain root, additionalProperties true or false"]}"#;

/// The `serve` section.
pub(crate) const SERVE: Shape = Shape {
    what: "the `serve` section",
    def: "serve",
    required: &[],
    doc: "what `toolwright serve` offers to clients, and to whom",
    members: &[
        member("listen", TEXT, "where `serve --http` listens; default `127.0.0.1:8765`; a project's file can only name this machine"),
        member("path", TEXT, "the path of the endpoint; default `/mcp`"),
        member("name", TEXT, "what the server calls itself; default `toolwright`"),
        member("instructions", TEXT, "what clients may tell their model about the whole"),
        member("profile", PROFILE, "the form in which tools are published to everybody; absent = by what a client calls itself"),
        member(
            "audiences",
            r##"{"type": "object", "additionalProperties": {"$ref": "#/$defs/audience"}}"##,
            "who sees what, by name; `default` is everybody who has no other; absent = everybody sees everything",
        ),
        member(
            "audienceHeader",
            TEXT,
            "a header in which clients name their audience: for a host behind a proxy that sets it, since whoever sends it has the audience",
        ),
        member("oauth", r##"{"$ref": "#/$defs/oauth"}"##, "the authorization server whose tokens count"),
        member("hosts", TEXTS, "further names of this server, for the `Host` header; only in your own file"),
        member("origins", TEXTS, "web pages that may call, such as `https://app.example.org`; only in your own file"),
        member("approvals", r##"{"$ref": "#/$defs/serveApprovals"}"##, "who is asked when a tool wants somebody's yes, and how long"),
        member("limits", r##"{"$ref": "#/$defs/serveLimits"}"##, "bounds"),
    ],
};

/// An audience.
pub(crate) const AUDIENCE: Shape = Shape {
    what: "an audience",
    def: "audience",
    required: &[],
    doc: "what a group of clients sees, and who belongs to it",
    members: &[
        member("sees", TEXTS, "the tools it sees, by id; `*` is any text; absent = all; composites may use the others"),
        member("denied", TEXTS, "tools it never reaches, inside composites neither"),
        member("profile", PROFILE, "the form in which tools are published to it"),
        member(
            "tokens",
            r#"{"type": "object", "additionalProperties": {"type": "string"}}"#,
            "bearer tokens of its members by their names, such as `ann: ${ANN_TOKEN}`; never shown",
        ),
        member("scopes", TEXTS, "scopes of a token that make its bearer a member, with `oauth`"),
    ],
};

/// An authorization server.
pub(crate) const OAUTH: Shape = Shape {
    what: "the `oauth` section",
    def: "oauth",
    required: &["resource", "issuer", "keys"],
    doc: "the authorization server whose tokens count over HTTP",
    members: &[
        member("resource", TEXT, "the address under which clients know this server; tokens must be meant for it"),
        member("issuer", TEXT, "who must have issued a token, letter by letter"),
        member("keys", TEXT, "where the keys are that tokens are signed with (JWKS): an address, or a file relative to this one"),
        member("authorizationServers", TEXTS, "where clients get tokens; absent = the issuer"),
        member("algorithms", TEXTS, "how tokens may be signed; default `[RS256, PS256, ES256, EdDSA]`"),
        member("acceptedAudiences", TEXTS, "further values of `aud` that mean this server"),
        member("requiredScopes", TEXTS, "scopes that every token must have"),
        member("leeway", DURATION, "how much the clocks may differ; default `30s`"),
    ],
};

/// Who is asked for approvals.
pub(crate) const SERVE_APPROVALS: Shape = Shape {
    what: "the approvals of `serve`",
    def: "serveApprovals",
    required: &[],
    doc: "who is asked when a tool wants somebody's yes before it runs, and how long",
    members: &[
        member("client", FLAG, "ask the client that called, if it can be asked; default `true`"),
        member("later", FLAG, "otherwise let the run wait in the journal for `toolwright approve`; default `true`"),
        member("expires", DURATION, "when a question that nobody answered is a no; default `10m`"),
    ],
};

/// Bounds of the server.
pub(crate) const SERVE_LIMITS: Shape = Shape {
    what: "the limits of `serve`",
    def: "serveLimits",
    required: &[],
    doc: "bounds of the server",
    members: &[
        member("message", SIZE, "bytes of one message; default `16MiB`"),
        member("pageItems", COUNT, "tools on one page of a list; default `1000`"),
        member("sessions", COUNT, "sessions at once; default `10000`"),
        member("callsPerClient", COUNT, "calls in flight of one client; default `256`"),
        member("sessionIdle", DURATION, "how long a session lives that nobody uses; default `30m`"),
        member("callKept", DURATION, "how long a call is kept for a client that comes back; default `1h`"),
        member("replay", SIZE, "bytes of events kept for a stream that is taken up again; default `1MiB`"),
        member("stopGrace", DURATION, "how long calls may go on when the server stops; default `10s`"),
    ],
};

#[cfg(test)]
mod tests {
    use toolwright_mcp::server::Profile;

    #[test]
    fn the_profiles_are_those_that_are_built_in() {
        let listed: serde_json::Value = serde_json::from_str(super::PROFILE).unwrap();
        assert_eq!(listed["enum"], serde_json::json!(Profile::names().collect::<Vec<_>>()));
    }
}
