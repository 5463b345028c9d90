//! Which crate may know which: the edges between our own crates, the heavy dependencies, and the core's closed list.
//!
//! Design: adapters never see each other, the core depends on none of them, each heavy thing has one crate that knows it.

use std::collections::BTreeMap;

use serde_json::Value;

use super::Problem;

/// Which of our crates each of our crates may use. A crate that is not here is a problem until somebody decides.
const EDGES: [(&str, &[&str]); 7] = [
    ("toolwright", &[]),
    ("toolwright-sqlite", &["toolwright"]),
    ("toolwright-mcp", &["toolwright"]),
    ("toolwright-sources", &["toolwright"]),
    ("toolwright-restate", &["toolwright"]),
    ("toolwright-cli", &["toolwright", "toolwright-sqlite", "toolwright-mcp", "toolwright-sources", "toolwright-restate"]),
    ("xtask", &["toolwright", "toolwright-sqlite"]),
];

/// Heavy dependencies and the only crates of ours that may name them.
const HEAVY: [(&str, &[&str]); 11] = [
    ("axum", &["toolwright-mcp", "toolwright-cli"]),
    ("clap", &["toolwright-cli"]),
    ("clap_complete", &["toolwright-cli"]),
    ("hyper", &["toolwright-mcp"]),
    ("process-wrap", &["toolwright-mcp", "toolwright-sources"]),
    ("reqwest", &["toolwright-mcp", "toolwright-sources"]),
    ("restate-sdk", &["toolwright-restate"]),
    ("rmcp", &["toolwright-mcp"]),
    ("rusqlite", &["toolwright-sqlite"]),
    ("saphyr-parser", &["toolwright-cli"]),
    ("tokio", &["toolwright-mcp", "toolwright-sources", "toolwright-sqlite", "toolwright-restate", "toolwright-cli", "xtask"]),
];

/// Everything the core may use outside of its tests. It does no I/O, so nothing here may bring a runtime or a socket.
const CORE: [&str; 15] = [
    "arc-swap",
    "arcstr",
    "futures-util",
    "jsonschema",
    "memchr",
    "miette",
    "schemars",
    "serde",
    "serde_json",
    "sha2",
    "strsim",
    "thiserror",
    "tokio-util",
    "tracing",
    "triomphe",
];

/// Features that must be off in the whole graph or may be asked for by some crates only.
const FEATURES_OFF: [(&str, &[&str]); 1] = [("jsonschema", &["resolve-http", "resolve-file"])];

/// `miette`'s terminal renderer is for the one crate that talks to people.
const FANCY: &str = "toolwright-cli";

/// Crates whose second major version in one build costs minutes or splits types.
const ONE_MAJOR: [&str; 17] = [
    "axum",
    "clap",
    "http",
    "hyper",
    "jsonschema",
    "miette",
    "reqwest",
    "rmcp",
    "rusqlite",
    "schemars",
    "serde",
    "serde_json",
    "thiserror",
    "tokio",
    "tokio-util",
    "tower",
    "tracing",
];

pub(super) fn problems(metadata: &Value) -> Vec<Problem> {
    let ours: Vec<&Value> = list(metadata, "packages").iter().filter(|package| package.get("source").is_none_or(Value::is_null)).collect();
    let names: Vec<&str> = ours.iter().map(|package| text(package, "name")).collect();
    let mut problems = Vec::new();
    for package in &ours {
        let name = text(package, "name");
        let Some((_, allowed)) = EDGES.iter().find(|(known, _)| *known == name) else {
            let help = "decide which crates it may use and add it to EDGES in xtask/src/tidy/graph.rs";
            problems.push(Problem::new(name, "is a crate nobody gave a place in the architecture", help));
            continue;
        };
        for dependency in list(package, "dependencies") {
            problems.extend(edge_problem(name, dependency, &names, allowed));
            problems.extend(heavy_problems(name, dependency));
        }
    }
    problems.extend(feature_problems(metadata));
    problems
}

fn edge_problem(name: &str, dependency: &Value, ours: &[&str], allowed: &[&str]) -> Option<Problem> {
    let on = text(dependency, "name");
    // A crate's tests may use the crate itself with its `testing` feature.
    let own_tests = on == name && text(dependency, "kind") == "dev";
    if !ours.contains(&on) || allowed.contains(&on) || own_tests {
        return None;
    }
    let help = "adapters meet in toolwright-cli only, and the core knows none of them (ARCHITECTURE.md)";
    Some(Problem::new(name, format!("depends on `{on}`"), help))
}

fn heavy_problems(name: &str, dependency: &Value) -> Vec<Problem> {
    let on = text(dependency, "name");
    let tests_only = text(dependency, "kind") == "dev";
    let mut problems = Vec::new();
    if let Some((_, allowed)) = HEAVY.iter().find(|(heavy, _)| *heavy == on)
        && !allowed.contains(&name)
        && !(tests_only && on == "tokio")
    {
        let help = "one crate knows each foreign thing and converts at its border";
        problems.push(Problem::new(name, format!("depends on `{on}`"), help));
    }
    let fancy = list(dependency, "features").iter().any(|feature| feature.as_str().is_some_and(|feature| feature.starts_with("fancy")));
    if on == "miette" && fancy && name != FANCY {
        problems.push(Problem::new(name, "asks for `miette` with `fancy`", "only the crate that talks to people renders errors"));
    }
    if name == "toolwright" && !tests_only && on != name && !CORE.contains(&on) {
        let help = "the core's dependencies are a closed list: CORE in xtask/src/tidy/graph.rs; nothing on it does I/O";
        problems.push(Problem::new(name, format!("depends on `{on}`"), help));
    }
    problems
}

fn feature_problems(metadata: &Value) -> Vec<Problem> {
    let mut problems = Vec::new();
    let nodes = metadata.get("resolve").map(|resolve| list(resolve, "nodes")).unwrap_or_default();
    for (name, off) in FEATURES_OFF {
        let ids: Vec<&str> =
            list(metadata, "packages").iter().filter(|package| text(package, "name") == name).map(|package| text(package, "id")).collect();
        for node in nodes.iter().filter(|node| ids.contains(&text(node, "id"))) {
            for feature in list(node, "features").iter().filter_map(Value::as_str).filter(|feature| off.contains(feature)) {
                let help = "ask for it with `default-features = false`: schemas must never fetch anything";
                problems.push(Problem::new(name, format!("is built with `{feature}`"), help));
            }
        }
    }
    problems
}

/// Every crate of ours takes the lints of the workspace.
pub(super) fn manifest_problems(metadata: &Value) -> Result<Vec<Problem>, String> {
    let mut problems = Vec::new();
    for package in list(metadata, "packages").iter().filter(|package| package.get("source").is_none_or(Value::is_null)) {
        let path = text(package, "manifest_path");
        let manifest = std::fs::read_to_string(path).map_err(|error| format!("cannot read `{path}`: {error}"))?;
        if !takes_workspace_lints(&manifest) {
            let help = "add `[lints]` with `workspace = true`";
            problems.push(Problem::new(text(package, "name"), "does not take the lints of the workspace", help));
        }
    }
    Ok(problems)
}

fn takes_workspace_lints(manifest: &str) -> bool {
    let mut lines = manifest.lines().map(str::trim).skip_while(|line| *line != "[lints]").skip(1);
    lines.by_ref().take_while(|line| !line.starts_with('[')).any(|line| line.replace(' ', "") == "workspace=true")
}

/// No two majors of a crate that is expensive twice.
pub(super) fn lock_problems(lock: &str) -> Vec<Problem> {
    let mut majors: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    let mut name = "";
    for line in lock.lines() {
        if let Some(value) = quoted(line, "name = ") {
            name = value;
        } else if let Some(version) = quoted(line, "version = ")
            && ONE_MAJOR.contains(&name)
        {
            let found = majors.entry(name).or_default();
            let major = major(version);
            if !found.contains(&major) {
                found.push(major);
            }
        }
    }
    let twice = majors.into_iter().filter(|(_, found)| found.len() > 1);
    let help = "raise or lower the dependency that brings the other one (`cargo tree -d`)";
    twice.map(|(name, found)| Problem::new("Cargo.lock", format!("`{name}` is there as {}", found.join(" and ")), help)).collect()
}

fn quoted<'a>(line: &'a str, key: &str) -> Option<&'a str> {
    line.strip_prefix(key)?.strip_prefix('"')?.strip_suffix('"')
}

/// The part of a version that decides compatibility: `1` of 1.4.2, `0.7` of 0.7.3.
fn major(version: &str) -> String {
    let mut parts = version.split('.');
    match (parts.next(), parts.next()) {
        (Some("0"), Some(minor)) => format!("0.{minor}"),
        (Some(major), _) => major.to_owned(),
        (None, _) => String::new(),
    }
}

pub(super) fn list<'a>(value: &'a Value, member: &str) -> &'a [Value] {
    value.get(member).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

pub(super) fn text<'a>(value: &'a Value, member: &str) -> &'a str {
    value.get(member).and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn found(name: &str, dependencies: &Value) -> Vec<String> {
        let ours = json!({"name": "toolwright", "source": null, "dependencies": []});
        let mut packages = vec![json!({"name": name, "source": null, "dependencies": dependencies})];
        packages.extend(["toolwright-mcp", "toolwright-sources"].map(|name| json!({"name": name, "source": null})));
        packages.push(ours);
        problems(&json!({"packages": packages})).into_iter().map(|problem| format!("{}: {}", problem.place, problem.what)).collect()
    }

    #[test]
    fn adapters_do_not_see_each_other() {
        let dependencies = json!([{"name": "toolwright"}, {"name": "toolwright-mcp", "kind": "dev"}, {"name": "tokio"}]);
        assert_eq!(found("toolwright-sources", &dependencies), ["toolwright-sources: depends on `toolwright-mcp`"]);
    }

    #[test]
    fn the_core_knows_nobody_and_does_no_io() {
        let dependencies = json!([
            {"name": "tokio", "kind": "dev"}, {"name": "toolwright", "kind": "dev"}, {"name": "serde"},
            {"name": "ureq"}, {"name": "toolwright-mcp"}, {"name": "miette", "features": ["fancy"]}
        ]);
        let expected = ["`ureq`", "`toolwright-mcp`", "`toolwright-mcp`"].map(|on| format!("toolwright: depends on {on}"));
        let found = found("toolwright", &dependencies);
        assert_eq!(found.len(), 4, "{found:?}");
        assert!(expected.iter().all(|problem| found.contains(problem)), "{found:?}");
        assert!(found.contains(&"toolwright: asks for `miette` with `fancy`".to_owned()), "{found:?}");
    }

    #[test]
    fn a_heavy_thing_is_known_by_one_crate() {
        assert_eq!(found("toolwright-cli", &json!([{"name": "rmcp"}])), ["toolwright-cli: depends on `rmcp`"]);
        assert_eq!(found("toolwright-new", &json!([])).len(), 1);
    }

    #[test]
    fn a_feature_that_fetches_is_found() {
        let metadata = json!({
            "packages": [{"name": "jsonschema", "id": "j", "source": "registry"}],
            "resolve": {"nodes": [{"id": "j", "features": ["default", "resolve-http"]}]}
        });
        assert_eq!(problems(&metadata).len(), 1);
    }

    #[test]
    fn two_majors_are_found_and_two_minors_are_not() {
        let lock = "name = \"tokio\"\nversion = \"1.2.0\"\nname = \"tokio\"\nversion = \"1.4.0\"\n\
                    name = \"schemars\"\nversion = \"0.8.1\"\nname = \"schemars\"\nversion = \"1.2.0\"\n";
        let found: Vec<String> = lock_problems(lock).into_iter().map(|problem| problem.what).collect();
        assert_eq!(found, ["`schemars` is there as 0.8 and 1"]);
    }

    #[test]
    fn lints_of_the_workspace_are_asked_for() {
        assert!(takes_workspace_lints("[package]\n[lints]\nworkspace = true\n"));
        assert!(!takes_workspace_lints("[lints]\n[dependencies]\nworkspace = true\n"));
    }
}
