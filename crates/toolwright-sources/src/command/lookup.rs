//! Finding the program, and the environment it gets.
//!
//! The search is our own, so that the failure can say where we looked, and so that no relative entry of `PATH` makes a file in
//! the working directory a program.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::{Path, PathBuf};

/// Variables a program needs to find its files and to speak the user's language; none of them usually holds a secret.
const INHERITED: &[&str] = &[
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "LANG",
    "LANGUAGE",
    "TZ",
    "TMPDIR",
    "TMP",
    "TEMP",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_CACHE_HOME",
    "XDG_STATE_HOME",
    "SYSTEMROOT",
    "SYSTEMDRIVE",
    "WINDIR",
    "COMSPEC",
    "PATHEXT",
    "USERNAME",
    "USERPROFILE",
    "HOMEDRIVE",
    "HOMEPATH",
    "APPDATA",
    "LOCALAPPDATA",
    "PROGRAMDATA",
    "PROGRAMFILES",
];

/// Families of such variables.
const INHERITED_PREFIXES: &[&str] = &["LC_"];

/// The environment of a program: a short list of inherited variables, and what is set for it.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Environment {
    /// Inherit nothing at all: the program sees only `set`.
    pub clean: bool,
    /// Variables set for the program; they win over inherited ones, the last of the same name counts.
    pub set: Vec<(String, String)>,
}

impl fmt::Debug for Environment {
    /// Names only: values may be secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&String> = self.set.iter().map(|(name, _)| name).collect();
        f.debug_struct("Environment").field("clean", &self.clean).field("set", &names).finish()
    }
}

impl Environment {
    /// The names that are inherited from our own environment unless `clean` is set; `LC_*` is a family.
    pub fn inherited() -> impl Iterator<Item = &'static str> {
        INHERITED.iter().copied().chain(std::iter::once("LC_*"))
    }

    /// The variables of the program, given our own.
    pub(crate) fn resolve(&self, ours: impl Iterator<Item = (OsString, OsString)>) -> Vec<(OsString, OsString)> {
        let mut variables: Vec<(OsString, OsString)> =
            if self.clean { Vec::new() } else { ours.filter(|(name, _)| name.to_str().is_some_and(is_inherited)).collect() };
        for (name, value) in &self.set {
            set(&mut variables, name, value);
        }
        variables
    }
}

/// Gives a variable this value, whatever it had.
pub(crate) fn set(variables: &mut Vec<(OsString, OsString)>, name: &str, value: &str) {
    variables.retain(|(known, _)| !same_name(known, OsStr::new(name)));
    variables.push((name.into(), value.into()));
}

fn is_inherited(name: &str) -> bool {
    let is = |known: &str| if cfg!(windows) { known.eq_ignore_ascii_case(name) } else { known == name };
    INHERITED.iter().any(|known| is(known)) || INHERITED_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

fn same_name(one: &OsStr, other: &OsStr) -> bool {
    if cfg!(windows) { one.eq_ignore_ascii_case(other) } else { one == other }
}

/// The value of `name` in `variables`.
pub(crate) fn variable<'v>(variables: &'v [(OsString, OsString)], name: &str) -> Option<&'v OsStr> {
    variables.iter().find(|(known, _)| same_name(known, OsStr::new(name))).map(|(_, value)| value.as_os_str())
}

/// Which program a command line names.
///
/// ```
/// use toolwright_sources::command::{ArgTemplate, CommandTool};
/// let tool = CommandTool::new("log", "Shows the log", vec![ArgTemplate::literal("no-such-program")]);
/// let lookup = tool.lookup().ok_or("no argument is its program")?;
/// assert!(lookup.found.is_none());
/// # Ok::<(), &str>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lookup {
    /// The first element of the command line.
    pub program: String,
    /// The file that it is.
    pub found: Option<PathBuf>,
    /// The folders that were searched; empty when the name says where the file is.
    pub searched: Vec<PathBuf>,
}

impl super::CommandTool {
    /// Which program it would run. Nothing is started; `None` when an argument names the program.
    pub fn lookup(&self) -> Option<Lookup> {
        let program = self.argv.first()?.as_literal()?.to_owned();
        let variables = self.env.resolve(std::env::vars_os());
        let (path, extensions) = (variable(&variables, "PATH"), variable(&variables, "PATHEXT"));
        Some(match find_program(&program, self.cwd.as_deref(), path, extensions) {
            Ok(found) => Lookup { program, found: Some(found), searched: Vec::new() },
            Err(missing) => Lookup { program, found: None, searched: missing.searched },
        })
    }
}

/// Why there is no program to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NotFound {
    /// The folders that were searched, in order; empty when the name says where the file is.
    pub(crate) searched: Vec<PathBuf>,
    /// A file of that name that is there, but is not executable.
    pub(crate) not_executable: Option<PathBuf>,
}

/// The file of `program`: searched in the folders of `path`, or, when the name holds a separator, taken from `cwd`.
pub(crate) fn find_program(
    program: &str,
    cwd: Option<&Path>,
    path: Option<&OsStr>,
    extensions: Option<&OsStr>,
) -> Result<PathBuf, NotFound> {
    let extensions = suffixes(extensions);
    let mut missing = NotFound { searched: Vec::new(), not_executable: None };
    if names_a_place(program) {
        let place = cwd.map_or_else(|| PathBuf::from(program), |cwd| cwd.join(program));
        let place = std::path::absolute(&place).unwrap_or(place);
        return missing.look(&place, &extensions).ok_or(missing);
    }
    for folder in path.map(std::env::split_paths).into_iter().flatten().filter(|folder| folder.is_absolute()) {
        if let Some(file) = missing.look(&folder.join(program), &extensions) {
            return Ok(file);
        }
        missing.searched.push(folder);
    }
    Err(missing)
}

impl NotFound {
    fn look(&mut self, place: &Path, extensions: &[OsString]) -> Option<PathBuf> {
        for extension in extensions {
            let mut file = place.as_os_str().to_owned();
            file.push(extension);
            let file = PathBuf::from(file);
            match std::fs::metadata(&file) {
                Ok(found) if found.is_file() && is_executable(&found) => return Some(file),
                Ok(found) if found.is_file() => {
                    self.not_executable.get_or_insert(file);
                }
                _ => {}
            }
        }
        None
    }
}

fn names_a_place(program: &str) -> bool {
    program.contains(std::path::is_separator)
}

/// What may be missing at the end of a program's name: nothing on Unix, the endings of `PATHEXT` on Windows.
fn suffixes(extensions: Option<&OsStr>) -> Vec<OsString> {
    let mut suffixes = vec![OsString::new()];
    if cfg!(windows) {
        let listed = extensions.and_then(OsStr::to_str).unwrap_or(".COM;.EXE;.BAT;.CMD");
        suffixes.extend(listed.split(';').filter(|ending| !ending.is_empty()).map(OsString::from));
    }
    suffixes
}

#[cfg(unix)]
fn is_executable(file: &std::fs::Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    file.permissions().mode() & 0o111 != 0
}

#[cfg(not(unix))]
fn is_executable(_file: &std::fs::Metadata) -> bool {
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ours() -> impl Iterator<Item = (OsString, OsString)> {
        [("PATH", "/bin"), ("HOME", "/home/x"), ("LC_ALL", "C"), ("API_TOKEN", "t"), ("LD_PRELOAD", "l")]
            .into_iter()
            .map(|(name, value)| (name.into(), value.into()))
    }

    fn names(environment: &Environment) -> Vec<String> {
        environment.resolve(ours()).into_iter().map(|(name, _)| name.into_string().unwrap()).collect()
    }

    #[test]
    fn only_listed_variables_are_inherited() {
        assert_eq!(names(&Environment::default()), ["PATH", "HOME", "LC_ALL"]);
    }

    #[test]
    fn a_clean_environment_is_what_was_set() {
        let set = vec![("A".to_owned(), "1".to_owned()), ("A".to_owned(), "2".to_owned())];
        let environment = Environment { clean: true, set };
        assert_eq!(environment.resolve(ours()), [("A".into(), "2".into())]);
        assert!(!format!("{environment:?}").contains('2'), "the debug form shows no value");
    }

    #[test]
    fn relative_entries_of_path_are_not_searched() {
        let missing = find_program("no-such-program", None, Some(OsStr::new(":.:bin")), None).unwrap_err();
        assert_eq!(missing.searched, Vec::<PathBuf>::new());
    }
}
