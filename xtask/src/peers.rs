//! Real programs from npm that tests and benchmarks meet, installed under the target folder and nowhere else.

use std::path::{Path, PathBuf};

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
