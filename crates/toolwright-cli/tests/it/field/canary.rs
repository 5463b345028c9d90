//! C63: no secret stands anywhere: in no reply to a client, in nothing that is printed, and in no byte that is written.

use std::path::Path;

use serde_json::{Value, json};

use super::case;
use super::upstream::{Call, Upstream};
use crate::serve::client::{Client, ask_over_http, post};
use crate::world::{World, fixtures};

/// As many characters of a secret in a row are too many.
const TELLING: usize = 8;

/// What nobody may see: what the configuration has from the environment, and what clients show of themselves.
struct Canaries {
    header: String,
    variable: String,
    /// A token of the configuration.
    bearer: String,
    /// A token that the authorization server of the fixture has signed.
    oauth: String,
    /// What a tool is given in secret.
    password: String,
    keys: Value,
}

impl Canaries {
    fn of(case: &Value) -> Self {
        let of_case = |at: usize| case["input"]["canaries"][at].as_str().unwrap().to_owned();
        let fixture: Value = serde_json::from_str(&std::fs::read_to_string(fixtures().join("oauth.json")).unwrap()).unwrap();
        Self {
            header: of_case(0),
            variable: of_case(1),
            bearer: format!("{}-of-ann", of_case(2)),
            oauth: fixture["token"].as_str().unwrap().to_owned(),
            password: of_case(3),
            keys: json!({"keys": fixture["keys"]}),
        }
    }

    /// What is secret of the configuration and of its clients. The head of a signed token says nothing.
    fn secrets(&self) -> Vec<&str> {
        let signed = self.oauth.split('.').skip(1);
        [self.header.as_str(), &self.variable, &self.bearer].into_iter().chain(signed).collect()
    }

    #[track_caller]
    fn unseen(&self, place: &str, bytes: &[u8]) {
        self.none_of(&self.secrets(), place, bytes);
    }

    /// The same, where the arguments of the call must not stand either.
    #[track_caller]
    fn unseen_with_arguments(&self, place: &str, bytes: &[u8]) {
        self.unseen(place, bytes);
        self.none_of(&[&self.password], place, bytes);
    }

    #[track_caller]
    fn none_of(&self, secrets: &[&str], place: &str, bytes: &[u8]) {
        for part in secrets.iter().flat_map(|secret| secret.as_bytes().windows(TELLING)) {
            // The beginning that all of them have is no secret.
            if part.starts_with(b"CANARY-") {
                continue;
            }
            if let Some(at) = bytes.windows(TELLING).position(|window| window == part) {
                let around = &bytes[at.saturating_sub(100)..bytes.len().min(at + 100)];
                panic!("{place} has `{}`: {}", String::from_utf8_lossy(part), String::from_utf8_lossy(around));
            }
        }
    }
}

/// Fails with everything that it was sent in secret.
fn tell_all(call: &mut Call<'_>) {
    let header = call.seen.headers["authorization"].clone();
    let arguments = &call.seen.body["params"]["arguments"];
    let text = format!("401 for Authorization: {header}, {}", arguments["password"].as_str().unwrap_or_default());
    match arguments["how"].as_str() {
        Some("protocol") => call.error(&json!({"code": -32000, "message": text, "data": {"headers": {"Authorization": [header]}}})),
        _ => call.result(&json!({
            "content": [{"type": "text", "text": text}, {"type": "resource", "resource": {"uri": format!("x:{header}"), "text": header}}],
            "structuredContent": {"seen": [header], (header.as_str()): 1},
            "_meta": {"vendor/sent": header},
            "isError": true,
        })),
    }
}

fn world(name: &str, upstream: &Upstream, canaries: &Canaries) -> World {
    let mut world = World::new(name);
    world.copy("server.sh", "server.sh");
    world.set("HDR", &canaries.header);
    world.set("ENV", &canaries.variable);
    world.set("OAT", &canaries.bearer);
    // Whatever would write a log writes all of it.
    world.set("RUST_LOG", "trace");
    world.write(
        "toolwright.yaml",
        &format!(
            "sources:\n  up:\n    url: {}\n    headers: {{ Authorization: 'Bearer ${{HDR}}' }}\n  small:\n    command: sh\n    args: [server.sh]\n    \
             env: {{ SHOWN: '${{ENV}}' }}\n  cmd:\n    env: {{ SHOWN: '${{ENV}}' }}\n    tools:\n      \
             tell: {{ argv: [sh, -c, 'echo \"$SHOWN\" >&2; exit 3'], effect: read }}\ntools:\n  up_boom: {{ effect: read }}\n  \
             small_leak: {{ effect: read }}\ncomposites:\n  outer: {{ steps: [{{ name: a, tool: up_boom, inputMapping: {{ password: $input.password }} }}] }}\n",
            upstream.url
        ),
    );
    let folder = "home/.config/toolwright";
    world.write(&format!("{folder}/keys.json"), &canaries.keys.to_string());
    world.write(
        &format!("{folder}/config.yaml"),
        "serve:\n  audiences:\n    ann: { tokens: { ann: '${OAT}' } }\n    cara: { scopes: [tools] }\n  \
         oauth: { issuer: 'https://issuer.example', resource: 'https://gateway.example/mcp', keys: keys.json }\n",
    );
    world
}

/// Every call that fails with what it was sent in secret.
fn calls(canaries: &Canaries) -> [(&'static str, Value); 5] {
    let password = &canaries.password;
    [
        ("up_boom", json!({"password": password})),
        ("up_boom", json!({"password": password, "how": "protocol"})),
        ("outer", json!({"password": password})),
        ("small_leak", json!({})),
        ("tell", json!({})),
    ]
}

#[test]
fn c63_no_secret_reaches_a_client_or_stands_in_anything_that_is_written() {
    let case = case("63-secret-canary");
    let canaries = Canaries::of(&case);
    let upstream = Upstream::of(&case, tell_all);
    let world = world("c63_serve", &upstream, &canaries);
    let (client, url) = Client::http(&world, "--journal j.db");
    for token in [&canaries.bearer, &canaries.oauth] {
        for (tool, arguments) in calls(&canaries) {
            let (status, reply) = ask_over_http(&url, Some(token), "tools/call", &json!({"name": tool, "arguments": arguments}));
            assert_eq!((status, &reply["result"]["isError"]), (200, &json!(true)), "{reply}");
            assert!(reply["result"]["content"].to_string().contains("[secret]"), "{tool} had something to hide: {reply}");
            canaries.unseen(tool, reply.to_string().as_bytes());
        }
        let (_, listed) = ask_over_http(&url, Some(token), "tools/list", &json!({}));
        canaries.unseen("tools/list", listed.to_string().as_bytes());
        // A token that is none says so, and not what it was.
        let wrong = format!("Bearer {token}x");
        let (status, body) = post(&url, &[("authorization", &wrong)], &json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}));
        assert_eq!(status, 401, "{body}");
        canaries.unseen("the refusal", body.as_bytes());
    }
    // While it is open, its newest records stand beside it.
    written(&canaries, &world.dir);
    let journal: Vec<u8> = ["j.db", "j.db-wal"].iter().flat_map(|name| std::fs::read(world.dir.join(name)).unwrap()).collect();
    let password = canaries.password.as_bytes();
    assert!(journal.windows(password.len()).any(|window| window == password), "arguments are kept as they were");
    let ended = client.terminate();
    canaries.unseen("standard error", ended.err.as_bytes());
    for seen in upstream.seen() {
        assert_eq!(seen.headers["authorization"], format!("Bearer {}", canaries.header), "the server has its own token");
        let told = format!("{:?} {}", seen.headers, seen.body);
        canaries.none_of(&[&canaries.bearer, &canaries.variable], "what the server was sent", told.as_bytes());
    }
    printed(&canaries, &world);
    written(&canaries, &world.dir);
}

#[test]
fn c63_no_secret_is_in_the_log_lines_of_a_session() {
    let case = case("63-secret-canary");
    let canaries = Canaries::of(&case);
    let upstream = Upstream::of(&case, tell_all);
    let world = world("c63_session", &upstream, &canaries);
    let mut client = Client::start(&world, "--audience ann --journal j.db");
    client.ask("logging/setLevel", &json!({"level": "debug"}));
    for (tool, arguments) in calls(&canaries) {
        let params = json!({"name": tool, "arguments": arguments, "_meta": {"progressToken": tool}});
        let reply = client.ask("tools/call", &params);
        assert_eq!(reply["result"]["isError"], true, "{reply}");
        canaries.unseen(tool, reply.to_string().as_bytes());
    }
    canaries.unseen("what was told", Value::from(std::mem::take(&mut client.told)).to_string().as_bytes());
    let ended = client.close();
    canaries.unseen("standard error", ended.err.as_bytes());
    written(&canaries, &world.dir);
}

/// Everything that commands print, also of runs that are over.
fn printed(canaries: &Canaries, world: &World) {
    let password = format!("password={}", canaries.password);
    for form in ["human", "plain", "json"] {
        for line in ["run up_boom", "run outer", "run small_leak", "run tell"] {
            let mut words: Vec<&str> = line.split(' ').collect();
            words.extend(["--journal", "j.db", "--format", form]);
            if line.contains("boom") || line.contains("outer") {
                words.push(&password);
            }
            let done = world.run_args(&words);
            assert_eq!(done.code, 10, "{line}: {}", done.err);
            assert!(done.err.contains("[secret]"), "{line} had something to hide: {}", done.err);
            canaries.unseen_with_arguments(line, format!("{}{}", done.out, done.err).as_bytes());
            let line = "show last --io --journal j.db";
            let done = world.run(&format!("{line} --format {form}"));
            assert_eq!(done.code, 0, "{}", done.err);
            canaries.unseen(line, format!("{}{}", done.out, done.err).as_bytes());
        }
        let lines = [
            "runs --journal j.db",
            "journal export --journal j.db",
            "journal verify --journal j.db",
            "list",
            "list --as-clients --audience ann",
            "describe up_boom",
            "describe small_leak",
            "check",
            "doctor",
            "lock --yes",
            "diff",
            "schema --with-tools",
        ];
        for line in lines {
            let done = world.run(&format!("{line} --format {form}"));
            assert!([0, 20].contains(&done.code), "{line}: {done:?}");
            canaries.unseen(line, format!("{}{}", done.out, done.err).as_bytes());
        }
    }
}

/// Every byte of every file: the journal and what stands beside it, the lock, whatever a command keeps for later.
#[track_caller]
fn written(canaries: &Canaries, folder: &Path) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => written(canaries, &path),
            false => canaries.unseen(&path.display().to_string(), &std::fs::read(&path).unwrap()),
        }
    }
}
