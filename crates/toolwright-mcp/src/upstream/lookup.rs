//! Which program a server's command names, and where it was searched.

use std::path::{Path, PathBuf};

use super::Upstream;
use super::spec::{ServerSpec, Transport};

/// Where the system looks for programs when there is no `PATH`.
const DEFAULT_PATH: &str = "/bin:/usr/bin";

/// Which program a command names.
///
/// ```
/// use toolwright_mcp::upstream::{ServerSpec, Upstream};
/// let server = Upstream::new(ServerSpec::stdio("files", "no-such-program", ["."]));
/// let lookup = server.lookup().ok_or("it is no server behind a URL")?;
/// assert!(lookup.found.is_none() && lookup.command == "no-such-program");
/// # Ok::<(), &str>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Lookup {
    /// As it is configured, without secrets.
    pub command: String,
    /// The file that it is.
    pub found: Option<PathBuf>,
    /// The `PATH` that was searched; empty for a command that says where it is.
    pub searched: String,
}

impl Upstream {
    /// Which program the server's command names. Nothing is started; `None` for a server behind a URL.
    pub fn lookup(&self) -> Option<Lookup> {
        let shared = &self.shared;
        let Transport::Stdio { command, .. } = &shared.spec.transport else { return None };
        let mask = |text: &str| shared.board.redactor.mask(text);
        let searched = if names_a_place(command) { String::new() } else { mask(&path_of(&shared.spec)) };
        Some(Lookup { command: mask(command), found: program(&shared.spec), searched })
    }
}

fn names_a_place(command: &str) -> bool {
    Path::new(command).components().count() > 1
}

/// The file that the server's command names, when it is there.
pub(crate) fn program(spec: &ServerSpec) -> Option<PathBuf> {
    let Transport::Stdio { command, cwd, .. } = &spec.transport else { return None };
    let place = Path::new(command);
    if names_a_place(command) {
        // The system looks up a relative place from the child's working directory.
        let place = cwd.as_ref().map_or_else(|| place.to_owned(), |cwd| cwd.join(place));
        return place.exists().then_some(place);
    }
    std::env::split_paths(&path_of(spec)).map(|folder| folder.join(place)).find(|file| file.is_file())
}

fn path_of(spec: &ServerSpec) -> String {
    let path = Some(searched_path(spec)).filter(|path| !path.is_empty());
    path.unwrap_or_else(|| DEFAULT_PATH.to_owned())
}

/// The `PATH` that the server's command is looked up in, for the error that it was not found.
pub(crate) fn searched_path(spec: &ServerSpec) -> String {
    let configured = match &spec.transport {
        Transport::Stdio { env, .. } => env.iter().rev().find(|(name, _)| name == "PATH").map(|(_, path)| path.clone()),
        Transport::Http { .. } => None,
    };
    configured.or_else(|| std::env::var("PATH").ok().filter(|_| !spec.clean_env)).unwrap_or_default()
}
