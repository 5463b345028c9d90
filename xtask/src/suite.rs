//! What `cargo xtask test` runs, in which order, and what each stage needs.

use std::path::PathBuf;

use crate::peers::{self, Installed};
use crate::repo::{self, Outcome};
use crate::stage::{self, Count, Ended, Stages};
use crate::{bench, clients, conformance, crash, documents, fleet, hostile, soak, tidy};

/// How far a run reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// Everything, as CI.
    Full,
    /// What cargo and git can do alone.
    Hermetic,
}

const CLIPPY: [&str; 8] = ["clippy", "--workspace", "--all-targets", "--locked", "--quiet", "--", "--deny", "warnings"];

/// The fuzz targets are a workspace of their own: they need a C++ compiler, and nightly flags to run.
const FUZZ: &str = "fuzz/Cargo.toml";

const DENY_VERSION: &str = "0.20.2";

/// `cargo xtask test`.
pub(crate) fn run(reach: Reach) -> Outcome {
    let mut stages = Stages::default();
    let cargo = |arguments: &'static [&str]| move |count: &mut Count| stage::run(repo::cargo().args(arguments), count);
    stages.run("format", cargo(&["fmt", "--all", "--check", "--", "--color=never"]));
    stages.run("clippy", cargo(&CLIPPY));
    let built = stages.run("build", cargo(&["test", "--workspace", "--locked", "--quiet", "--no-run"]));
    if built {
        stages.run("tests", cargo(&["test", "--workspace", "--locked", "--no-fail-fast"]));
        stages.run("examples", examples);
        stages.run("benchmarks start", bench_smoke);
    }
    stages.run("docs", docs);
    stages.run("tidy", tidy);
    match reach {
        Reach::Hermetic => {
            println!("hermetic: cargo deny, the callgrind gate and real peers are no part of this run");
            if built {
                stages.run("documents", |count| documents::run(None, count));
            }
        }
        Reach::Full => {
            stages.run("deny", deny);
            if repo::root().join(FUZZ).exists() {
                stages.run("fuzz targets compile", fuzz);
            }
            stages.run("callgrind gate", callgrind);
            if built {
                with_peers(&mut stages);
            }
        }
    }
    if built {
        stages.run("hostile", hostile::stage);
        stages.run("soak", soak::stage);
        stages.run("crash", crash_smoke);
    }
    Ok(stages.close())
}

/// Everything that meets real programs from npm.
fn with_peers(stages: &mut Stages) {
    let peers = peers::install();
    let folder = peers.as_ref().ok().and_then(Installed::folder);
    // The documents use a client; what is wrong with its installation, the stage of the clients tells.
    let _ = peers::install_clients();
    stages.run("documents", |count| documents::run(folder, count));
    stages.run("real peers", |count| match &peers {
        Ok(Installed::At(folder)) => real_peers(folder, count),
        Ok(Installed::Missing(why)) => Ok(Ended::LeftOut(why.clone())),
        Err(why) => Err(why.clone()),
    });
    stages.run("conformance", conformance::stage);
    stages.run("clients", clients::stage);
    stages.run("fleet", fleet::stage);
}

fn docs(count: &mut Count) -> Result<Ended, String> {
    let mut command = repo::cargo();
    command.args(["doc", "--workspace", "--no-deps", "--locked", "--quiet"]);
    stage::run(command.env("RUSTDOCFLAGS", "--deny warnings"), count)
}

fn tidy(count: &mut Count) -> Result<Ended, String> {
    let clean = tidy::run()?;
    count.add(Count::one(clean));
    Ok(if clean { Ended::Well } else { Ended::Badly("see above".to_owned()) })
}

/// Whether they still fit the API; running them is `cargo fuzz run NAME`.
fn fuzz(count: &mut Count) -> Result<Ended, String> {
    if !repo::has("c++") {
        return Ok(Ended::LeftOut("`c++` is not on this machine".to_owned()));
    }
    // What both depend on has the versions of the workspace; its own lock file is not kept.
    std::fs::copy(repo::root().join("Cargo.lock"), repo::root().join(FUZZ).with_file_name("Cargo.lock"))
        .map_err(|error| format!("cannot lend the lock file to the fuzz targets: {error}"))?;
    let mut command = repo::cargo();
    command.args(["check", "--manifest-path", FUZZ, "--quiet"]);
    stage::run(command.env("CARGO_TARGET_DIR", repo::target()?.join("fuzz")), count)
}

fn callgrind(count: &mut Count) -> Result<Ended, String> {
    let ended = bench::gate()?;
    if !matches!(ended, Ended::LeftOut(_)) {
        count.add(Count::one(matches!(ended, Ended::Well)));
    }
    Ok(ended)
}

/// The programs of the library run to their end; each checks what it shows.
fn examples(count: &mut Count) -> Result<Ended, String> {
    let mut ended = Ended::Well;
    // Those of other crates are parts of their tests.
    for (package, target) in targets("example")?.into_iter().filter(|(package, _)| package == "toolwright") {
        let mut one = Count::default();
        let outcome =
            stage::run(repo::cargo().args(["run", "--locked", "--quiet", "--package", &package, "--example", &target]), &mut one)?;
        count.add(Count::one(matches!(outcome, Ended::Well)));
        if let Ended::Badly(why) = outcome {
            ended = Ended::Badly(format!("`{target}`: {why}"));
        }
    }
    Ok(ended)
}

/// Each benchmark runs once, unmeasured: it compiles and its cases still mean something.
fn bench_smoke(count: &mut Count) -> Result<Ended, String> {
    let mut ended = Ended::Well;
    for (package, target) in targets("bench")? {
        let mut command = repo::cargo();
        command.args(["test", "--locked", "--quiet", "--package", &package, "--bench", &target]);
        if let Ended::Badly(why) = stage::run(&mut command, count)? {
            ended = Ended::Badly(why);
        }
    }
    Ok(ended)
}

/// Some kills; all of them are `cargo xtask crash`.
fn crash_smoke(count: &mut Count) -> Result<Ended, String> {
    if !cfg!(target_os = "linux") {
        return Ok(Ended::LeftOut("processes are found by `/proc`, which is not here".to_owned()));
    }
    let well = crash::run(&crash::Options::SMALL)?;
    count.add(Count::one(well));
    Ok(if well { Ended::Well } else { Ended::Badly("see above".to_owned()) })
}

fn real_peers(folder: &std::path::Path, count: &mut Count) -> Result<Ended, String> {
    let mut ended = Ended::LeftOut("no crate has a `peers` test".to_owned());
    for (package, target) in targets("test")?.into_iter().filter(|(_, target)| target == "peers") {
        let mut command = repo::cargo();
        command.args(["test", "--locked", "--no-fail-fast", "--package", &package, "--test", &target]);
        let one = stage::run(command.env(peers::VARIABLE, folder), count)?;
        if !matches!(ended, Ended::Badly(_)) {
            ended = one;
        }
    }
    Ok(ended)
}

/// Every target of a kind in our crates: its package and its name.
fn targets(kind: &str) -> Result<Vec<(String, String)>, String> {
    let text = repo::capture(repo::cargo().args(["metadata", "--format-version=1", "--no-deps", "--quiet"]))?;
    let metadata: serde_json::Value = serde_json::from_str(&text).map_err(|error| format!("`cargo metadata` answered no JSON: {error}"))?;
    let list = |value: &serde_json::Value, member: &str| value.get(member).and_then(|list| list.as_array()).cloned().unwrap_or_default();
    let name = |value: &serde_json::Value| value.get("name").and_then(|name| name.as_str()).unwrap_or_default().to_owned();
    let mut found = Vec::new();
    for package in list(&metadata, "packages") {
        for target in list(&package, "targets") {
            if list(&target, "kind").iter().any(|found| found == kind) {
                found.push((name(&package), name(&target)));
            }
        }
    }
    Ok(found)
}

/// `cargo deny`, installed under the target folder where it is missing (two to three CPU minutes, once).
fn deny(count: &mut Count) -> Result<Ended, String> {
    let tools = repo::target()?.join("tools");
    let binary: PathBuf = tools.join("bin").join("cargo-deny");
    let there = repo::capture(repo::command(&binary.to_string_lossy()).arg("--version"));
    if !there.is_ok_and(|version| version.trim().ends_with(DENY_VERSION)) {
        let build = tools.join("build");
        let mut install = repo::cargo();
        install.args(["install", "cargo-deny", "--version", DENY_VERSION, "--locked", "--quiet", "--force", "--root"]);
        install.arg(&tools).env("CARGO_TARGET_DIR", &build);
        if let Ended::Badly(why) = stage::run(&mut install, count)? {
            return Ok(Ended::Badly(why));
        }
        // The binary is all we keep; a folder that stays is only space.
        let _ = std::fs::remove_dir_all(&build);
    }
    let mut check = repo::command(&binary.to_string_lossy());
    check.args(["--offline", "--workspace", "check", "licenses", "bans", "sources", "--hide-inclusion-graph"]);
    let ended = stage::run(&mut check, count)?;
    count.add(Count::one(matches!(ended, Ended::Well)));
    Ok(ended)
}
