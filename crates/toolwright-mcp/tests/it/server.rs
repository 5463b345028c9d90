//! The scripted server: where it is, specs and scripts for it.

use std::process::Command;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use toolwright_mcp::upstream::{Listing, ServerSpec, Upstream};

use crate::calls::call;

/// The scripted server.
pub(crate) fn program() -> String {
    example("scripted_server")
}

/// A server of our own. `cargo test` has built it; a run of this test target alone builds it here.
pub(crate) fn example(name: &str) -> String {
    static BUILDING: Mutex<()> = Mutex::new(());
    let deps = std::env::current_exe().unwrap();
    let path = deps.parent().unwrap().parent().unwrap().join("examples").join(name);
    let _one = BUILDING.lock().unwrap_or_else(PoisonError::into_inner);
    if !path.exists() {
        let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
        let built = Command::new(cargo).args(["build", "--quiet", "--package", "toolwright-mcp", "--example", name]).status().unwrap();
        assert!(built.success());
    }
    path.display().to_string()
}

/// A spec for the scripted server, with limits that suit tests.
pub(crate) fn spec(script: &str) -> ServerSpec {
    let mut spec = ServerSpec::stdio("s", program(), [script]);
    spec.shutdown_grace = Duration::from_millis(300);
    spec.call_timeout = Duration::from_secs(20);
    spec
}

pub(crate) fn upstream(script: &str) -> Upstream {
    Upstream::new(spec(script))
}

/// A script with one tool per act, in one page.
pub(crate) fn script(acts: &[(&str, &str)]) -> String {
    let tools: Vec<String> =
        acts.iter().map(|(name, _)| format!(r#"{{"name":"{name}","inputSchema":{{"type":"object","properties":{{}}}}}}"#)).collect();
    let acts: Vec<String> = acts.iter().map(|(name, act)| format!(r#""{name}":{act}"#)).collect();
    format!(r#"{{"pages":[[{}]],"tools":{{{}}}}}"#, tools.join(","), acts.join(","))
}

/// The same with more members in front.
pub(crate) fn script_with(more: &str, acts: &[(&str, &str)]) -> String {
    script(acts).replacen('{', &format!("{{{more},"), 1)
}

/// The text a tool answered with.
pub(crate) async fn text(listing: &Listing, id: &str) -> String {
    let done = call(listing, id, "{}").await.unwrap();
    done.output.unwrap().as_str().unwrap().to_owned()
}
