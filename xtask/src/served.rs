//! `toolwright serve` in a folder of its own, in an environment of which everything is known, and what is left of it when it ends.

use std::ffi::OsString;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::mcp::{Era, Http, Pipe};
use crate::repo;

/// Where the endpoint is, under the address.
pub(crate) const PATH: &str = "/mcp";

/// How long a server may take to listen, and to end.
const PATIENCE: Duration = Duration::from_secs(60);

/// The binary that is tested, and where the examples lie beside it.
#[derive(Clone, Debug)]
pub(crate) struct Build {
    folder: PathBuf,
}

impl Build {
    /// Builds what is served and what stands behind it.
    pub(crate) fn new(release: bool) -> Result<Self, String> {
        let build = Self::alone(release)?;
        cargo_build(["toolwright-mcp", "--example", FIXTURE], release)?;
        Ok(build)
    }

    /// Builds what is served, for whoever has something else behind it.
    pub(crate) fn alone(release: bool) -> Result<Self, String> {
        cargo_build(["toolwright-cli", "--bin", "toolwright"], release)?;
        Ok(Self { folder: repo::target()?.join(if release { "release" } else { "debug" }) })
    }

    pub(crate) fn toolwright(&self) -> PathBuf {
        self.folder.join(format!("toolwright{}", std::env::consts::EXE_SUFFIX))
    }

    /// An example of the crate that speaks MCP.
    pub(crate) fn example(&self, name: &str) -> PathBuf {
        self.folder.join("examples").join(format!("{name}{}", std::env::consts::EXE_SUFFIX))
    }

    pub(crate) fn fixture(&self) -> PathBuf {
        self.example(FIXTURE)
    }
}

fn cargo_build(what: [&str; 3], release: bool) -> Result<(), String> {
    let build = ["build", "--locked", "--quiet", "--package"];
    repo::capture(repo::cargo().args(build).args(what).args(release.then_some("--release"))).map(drop)
}

/// Our own server that stands behind the one that is tested.
pub(crate) const FIXTURE: &str = "fixture_server";

/// A folder with a configuration.
#[derive(Debug)]
pub(crate) struct World {
    pub(crate) folder: PathBuf,
    binary: PathBuf,
    more: Vec<(String, OsString)>,
}

impl World {
    /// Writes the configuration, accepts what it asks for, and keeps what its servers say.
    pub(crate) fn new(name: &str, build: &Build, configuration: &Value, more: &[(&str, &Path)]) -> Result<Self, String> {
        // No two of this process, or of others, are in each other's way.
        static SERIAL: AtomicU64 = AtomicU64::new(0);
        let serial = SERIAL.fetch_add(1, Ordering::Relaxed);
        let folder = repo::target()?.join("served").join(format!("{name}-{}-{serial}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).map_err(|error| format!("cannot make `{}`: {error}", folder.display()))?;
        let more = more.iter().map(|(name, value)| ((*name).to_owned(), value.as_os_str().to_owned())).collect();
        let world = Self { folder, binary: build.toolwright(), more };
        world.write("toolwright.json", &format!("{configuration:#}"))?;
        repo::capture(world.command().args(["trust", "toolwright.json", "--yes"]))?;
        repo::capture(world.command().args(["lock", "--yes"]))?;
        Ok(world)
    }

    pub(crate) fn write(&self, name: &str, text: &str) -> Result<PathBuf, String> {
        let path = self.folder.join(name);
        std::fs::write(&path, text).map_err(|error| format!("cannot write `{}`: {error}", path.display()))?;
        Ok(path)
    }

    /// The binary, with nothing of this machine but the path. `HOME` is how its processes are known.
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(&self.binary);
        command.current_dir(&self.folder).env_clear();
        command.envs(self.environment());
        command
    }

    pub(crate) fn environment(&self) -> Vec<(String, OsString)> {
        let mut environment = vec![
            ("PATH".to_owned(), std::env::var_os("PATH").unwrap_or_default()),
            ("HOME".to_owned(), self.folder.clone().into()),
            ("TOOLWRIGHT_CONFIG_DIR".to_owned(), self.folder.join("config").into()),
            ("TOOLWRIGHT_DATA_DIR".to_owned(), self.folder.join("data").into()),
        ];
        environment.extend(self.more.iter().cloned());
        environment
    }

    /// The command that serves on standard streams.
    pub(crate) fn stdio(&self, arguments: &[&str]) -> Command {
        let mut command = self.command();
        command.arg("serve").args(arguments);
        command
    }

    /// Serves over HTTP, and listens when this returns.
    pub(crate) fn http(&self, arguments: &[&str]) -> Result<Served, String> {
        let address = free_address()?;
        let mut command = self.stdio(&["--http", &address.to_string()]);
        Served::start(command.args(arguments), address, &self.folder.join("serve.log"))
    }

    /// Processes that belong to this folder and are still there, after some time to end in.
    pub(crate) fn left_behind(&self) -> Vec<(u32, String)> {
        let until = Instant::now() + Duration::from_secs(10);
        loop {
            let left = processes_of(&self.folder);
            if left.is_empty() || Instant::now() >= until {
                return left;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

impl Drop for World {
    fn drop(&mut self) {
        if std::env::var_os("KEEP_WORLDS").is_none() {
            let _ = std::fs::remove_dir_all(&self.folder);
        }
    }
}

/// The processes whose home is this folder: number and command line.
pub(crate) fn processes_of(folder: &Path) -> Vec<(u32, String)> {
    let home = [b"HOME=", folder.as_os_str().as_encoded_bytes()].concat();
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbered = processes.filter_map(|entry| Some((entry.file_name().to_str()?.parse::<u32>().ok()?, entry.path())));
    let ours = numbered.filter(|(_, path)| {
        let environment = std::fs::read(path.join("environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|variable| variable == home)
    });
    ours.map(|(id, path)| {
        let line = std::fs::read(path.join("cmdline")).unwrap_or_default();
        (id, String::from_utf8_lossy(&line).replace('\0', " ").trim_end().to_owned())
    })
    .collect()
}

/// A server over HTTP that is our child.
#[derive(Debug)]
pub(crate) struct Served {
    child: Child,
    pub(crate) address: SocketAddr,
    log: PathBuf,
}

impl Served {
    /// Starts any server that listens at `address`, with what it says in a file.
    pub(crate) fn start(command: &mut Command, address: SocketAddr, log: &Path) -> Result<Self, String> {
        let shown = repo::shown(command);
        let file = std::fs::File::create(log).map_err(|error| format!("cannot write `{}`: {error}", log.display()))?;
        let copy = file.try_clone().map_err(|error| format!("cannot write `{}`: {error}", log.display()))?;
        let child = command.stdin(Stdio::null()).stdout(file).stderr(copy).spawn();
        let child = child.map_err(|error| format!("cannot start `{shown}`: {error}"))?;
        let mut served = Self { child, address, log: log.to_owned() };
        let until = Instant::now() + PATIENCE;
        while TcpStream::connect(address).is_err() {
            if let Ok(Some(status)) = served.child.try_wait() {
                return Err(format!("`{shown}` ended with {status}: {}", served.said()));
            }
            if Instant::now() >= until {
                return Err(format!("`{shown}` does not listen at {address} after {} s: {}", PATIENCE.as_secs(), served.said()));
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok(served)
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}{PATH}", self.address)
    }

    pub(crate) fn client(&self, era: Era) -> Result<Http, String> {
        Http::open(self.address, PATH, era)
    }

    /// The end of what it printed.
    pub(crate) fn said(&self) -> String {
        let text = std::fs::read_to_string(&self.log).unwrap_or_default();
        let lines: Vec<&str> = text.lines().rev().take(20).collect();
        lines.into_iter().rev().collect::<Vec<_>>().join("\n")
    }

    pub(crate) fn is_alive(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// Bytes that are in memory for it.
    pub(crate) fn memory(&self) -> Result<u64, String> {
        let path = format!("/proc/{}/status", self.child.id());
        let text = std::fs::read_to_string(&path).map_err(|error| format!("cannot read `{path}`: {error}"))?;
        let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kibibytes = line.and_then(|line| line.trim().trim_end_matches(" kB").trim().parse::<u64>().ok());
        kibibytes.map(|kibibytes| kibibytes * 1024).ok_or_else(|| format!("`{path}` tells no memory"))
    }

    /// Asks it to end (SIGTERM) and waits for it.
    pub(crate) fn stop(mut self) -> Result<ExitStatus, String> {
        signal(self.child.id(), false);
        let until = Instant::now() + PATIENCE;
        loop {
            match self.child.try_wait() {
                Ok(Some(status)) => return Ok(status),
                Ok(None) if Instant::now() < until => std::thread::sleep(Duration::from_millis(5)),
                Ok(None) => return Err(format!("it does not end: {}", self.said())),
                Err(error) => return Err(format!("cannot wait for the server: {error}")),
            }
        }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        // After a stop there is nothing left to kill.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A server on standard streams, greeted.
pub(crate) fn pipe(world: &World, era: Era) -> Result<Pipe, String> {
    let log = world.folder.join("stdio.log");
    let file = std::fs::File::create(&log).map_err(|error| format!("cannot write `{}`: {error}", log.display()))?;
    Pipe::open(world.stdio(&[]).stderr(file), era)
}

/// An address of this machine that nobody listens at.
pub(crate) fn free_address() -> Result<SocketAddr, String> {
    let listener = TcpListener::bind("127.0.0.1:0").map_err(|error| format!("cannot listen on this machine: {error}"))?;
    listener.local_addr().map_err(|error| format!("the listener has no address: {error}"))
}

/// Sends SIGKILL, or SIGTERM, to a process that we started.
#[cfg(unix)]
pub(crate) fn signal(id: u32, kill: bool) {
    use rustix::process::{Pid, Signal, kill_process};
    let signal = if kill { Signal::KILL } else { Signal::TERM };
    // Who is gone needs no killing.
    let _ = i32::try_from(id).ok().and_then(Pid::from_raw).map(|id| kill_process(id, signal));
}

#[cfg(not(unix))]
pub(crate) fn signal(_: u32, _: bool) {}
