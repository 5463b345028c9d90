//! Where runs are kept: which file, whose it is, who writes to it, and how a run in it is named.

use std::ffi::OsString;
use std::fs;
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use toolwright::journal::JournalErrorKind;
use toolwright::{JournalError, Text};
use toolwright_sqlite::{SqliteJournal, SqliteOptions};

use crate::code;
use crate::diagnostic::Finding;
use crate::exit::Exit;
use crate::grant::shell_word;
use crate::ownership;
use crate::paths;

/// The variable that names a journal.
const VARIABLE: &str = "TOOLWRIGHT_JOURNAL";

/// The word for no journal.
const NONE: &str = "none";

/// Where runs are kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// Nowhere: somebody said so.
    Nowhere,
    /// In this file.
    File {
        /// Its path.
        path: PathBuf,
        /// Somebody named it.
        named: bool,
    },
}

/// What the environment says, when it says something.
pub(crate) fn variable() -> Option<OsString> {
    std::env::var_os(VARIABLE).filter(|value| !value.is_empty())
}

impl Place {
    /// What the command line says, else the environment, else the user's own.
    ///
    /// # Errors
    /// When nobody says where, and there is no folder of the user's.
    pub(crate) fn of(option: Option<&Path>) -> Result<Self, Box<Finding>> {
        Self::from(option, |name| std::env::var_os(name))
    }

    fn from(option: Option<&Path>, variable: impl Fn(&str) -> Option<OsString>) -> Result<Self, Box<Finding>> {
        let set = variable(VARIABLE).filter(|value| !value.is_empty()).map(PathBuf::from);
        match option.map(Path::to_owned).or(set) {
            Some(word) if word.as_os_str() == NONE => Ok(Self::Nowhere),
            Some(path) => Ok(Self::File { path, named: true }),
            None => match paths::data_dir(variable) {
                Some(folder) => Ok(Self::File { path: folder.join("runs.sqlite"), named: false }),
                None => Err(Box::new(
                    Finding::error(code::JOURNAL_UNUSABLE, "there is no place for the journal: neither `HOME` nor `XDG_DATA_HOME` is set")
                        .help("name one with `--journal PATH`, or run without one with `--journal none`"),
                )),
            },
        }
    }
}

/// Opens the journal to write, and makes it when it is not there. Blocks.
///
/// # Errors
/// When it cannot be used; nothing of a run is written then, and nothing may run.
pub(crate) fn open(path: &Path) -> Result<SqliteJournal, Box<Finding>> {
    prepare(path).map_err(|why| Box::new(unusable(path, &why).help(help(path))))?;
    SqliteJournal::open(path).map_err(|error| {
        let help = match error.kind {
            JournalErrorKind::Corrupt => DAMAGED.to_owned(),
            JournalErrorKind::Foreign => FOREIGN.to_owned(),
            _ => help(path),
        };
        Box::new(of_error(path, &error).help(help))
    })
}

/// What to do about a file that is no journal.
const FOREIGN: &str = "nothing was started; name another with `--journal PATH`, or keep nothing with `--journal none`";

/// What to do about a journal that lost records.
const DAMAGED: &str = "nothing was started; `toolwright journal verify` says what is wrong, `toolwright journal recover` goes on with what is \
                       left; or name another with `--journal PATH`, or keep nothing with `--journal none`";

/// Opens a journal that lost records, with what is left of it, and closes it again. Blocks.
///
/// # Errors
/// When it cannot be opened so either.
pub(crate) fn recover(path: &Path) -> Result<(), Box<Finding>> {
    prepare(path).map_err(|why| Box::new(unusable(path, &why).help(ANOTHER)))?;
    let mut options = SqliteOptions::default();
    options.accept_loss = true;
    SqliteJournal::open_with(path, options).map(drop).map_err(|error| Box::new(of_error(path, &error).help(ANOTHER)))
}

/// Opens the journal to read; none when it is not there. Blocks.
///
/// # Errors
/// When it is there and cannot be read, or is not there though somebody named it.
pub(crate) fn read(path: &Path, named: bool) -> Result<Option<SqliteJournal>, Box<Finding>> {
    if fs::metadata(path).is_err_and(|error| error.kind() == io::ErrorKind::NotFound) {
        return match named {
            true => Err(Box::new(unusable(path, "it is not there").help(ANOTHER))),
            false => Ok(None),
        };
    }
    let mut options = SqliteOptions::default();
    options.read_only = true;
    SqliteJournal::open_with(path, options).map(Some).map_err(|error| Box::new(of_error(path, &error).help(ANOTHER)))
}

/// What to do about a journal that cannot be read.
const ANOTHER: &str = "`toolwright journal path` says which one counts; name another with `--journal PATH`";

/// Makes the folder for the user alone; a file that is there must be the user's.
fn prepare(path: &Path) -> Result<(), String> {
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        create_private_dir(folder).map_err(|error| format!("its folder cannot be made: {error}"))?;
    }
    match fs::metadata(path) {
        Ok(found) if !found.is_file() => Err("it is no file".to_owned()),
        Ok(found) => {
            let beside = ["-wal", ".owners"].map(|ending| {
                let mut name = path.as_os_str().to_owned();
                name.push(ending);
                fs::metadata(PathBuf::from(name)).ok()
            });
            let mut all = std::iter::once(found).chain(beside.into_iter().flatten());
            all.find_map(|found| ownership::not_believed(&found)).map_or(Ok(()), |why| Err(format!("it cannot be believed: {why}")))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error.to_string()),
    }
}

/// Makes a folder, and those above it, that only the user may enter.
pub(crate) fn create_private_dir(dir: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(dir)
}

/// What to do without the journal.
fn help(path: &Path) -> String {
    let path = shell_word(&path.display().to_string());
    format!(
        "nothing was started; make {path} usable (a full disk needs room first), name another with `--journal PATH`, or keep nothing with `--journal none`"
    )
}

fn unusable(path: &Path, why: &str) -> Finding {
    Finding::error(code::JOURNAL_UNUSABLE, format!("the journal `{}` cannot be used: {why}", path.display()))
}

/// What a journal says that cannot be used.
pub(crate) fn of_error(path: &Path, error: &JournalError) -> Finding {
    let said = error.to_string();
    match said.contains(&*path.to_string_lossy()) {
        true => Finding::error(code::JOURNAL_UNUSABLE, said),
        false => unusable(path, &said),
    }
}

/// How a command ends to which the journal said no.
pub(crate) fn exit_of(kind: JournalErrorKind) -> Exit {
    match kind {
        JournalErrorKind::Claimed
        | JournalErrorKind::Fenced
        | JournalErrorKind::Diverged
        | JournalErrorKind::NotInDoubt
        | JournalErrorKind::Ended => Exit::Refused,
        JournalErrorKind::Unknown => Exit::Usage,
        _ => Exit::JournalUnavailable,
    }
}

/// The user and this machine: `ann@host`.
pub(crate) fn person() -> String {
    let named = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let user = ownership::my_name().or_else(|| named("USER")).or_else(|| named("USERNAME")).unwrap_or_else(|| "somebody".to_owned());
    match host() {
        Some(host) => format!("{user}@{host}"),
        None => user,
    }
}

/// Whose a claim of this process is: `ann@host, process 4711`.
pub(crate) fn owner() -> String {
    format!("{}, process {}", person(), std::process::id())
}

#[cfg(unix)]
fn host() -> Option<String> {
    let name = rustix::system::uname().nodename().to_str().ok()?.to_owned();
    (!name.is_empty()).then_some(name)
}

#[cfg(not(unix))]
fn host() -> Option<String> {
    std::env::var("COMPUTERNAME").ok()
}

/// Letters of an id: digits and letters that are told apart when read aloud.
const LETTERS: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";

/// Letters of a run's id behind its first word: 130 bits.
const ID_LETTERS: usize = 26;

fn id(word: &str, hash: &[u8]) -> String {
    let mut id = format!("{word}-");
    let (mut bits, mut have) = (0_u32, 0_u32);
    for byte in hash {
        (bits, have) = ((bits << 8 | u32::from(*byte)) & 0xffff, have + 8);
        while have >= 5 && id.len() < word.len() + 1 + ID_LETTERS {
            have -= 5;
            id.push(LETTERS.get((bits >> have & 31) as usize).copied().map_or('0', char::from));
        }
    }
    id
}

/// A name that no other run has: idempotency keys begin with it, so two runs must not share one.
pub(crate) fn new_run_id() -> String {
    let mut seed = Sha256::new();
    seed.update(std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default().as_nanos().to_le_bytes());
    seed.update(std::process::id().to_le_bytes());
    for count in 0..4_u8 {
        // Seeds come from the operating system's randomness.
        seed.update(RandomState::new().hash_one(count).to_le_bytes());
    }
    id("run", &seed.finalize())
}

/// The name of the run that is made once for this key of a caller's.
pub(crate) fn run_id_of_key(key: &str) -> String {
    id("key", &Sha256::digest(format!("toolwright key 1\n{key}").as_bytes()))
}

/// The run that somebody means: its id, the beginning of one, or `last`. Blocks.
///
/// # Errors
/// When there is none, or more than one.
pub(crate) fn find(journal: &SqliteJournal, path: &Path, given: &str) -> Result<Text, (Box<Finding>, Exit)> {
    const SHOWN: usize = 5;
    let usage = |message: String, help: &str| (Box::new(Finding::error(code::USAGE, message).help(help)), Exit::Usage);
    let ids = |prefix: &str| journal.ids(prefix, SHOWN + 1).map_err(|error| (Box::new(of_error(path, &error)), exit_of(error.kind)));
    let shows = "`toolwright runs` lists them";
    if given == "last" {
        return ids("")?.into_iter().next().ok_or_else(|| usage("there is no run yet".to_owned(), "`toolwright run TOOL` makes one"));
    }
    if given.is_empty() {
        return Err(usage("the run's id is empty".to_owned(), shows));
    }
    let found = ids(given)?;
    match found.as_slice() {
        [] => Err(usage(format!("no run has an id that begins with `{given}`"), shows)),
        [one] => Ok(one.clone()),
        // The whole of one may be the beginning of another.
        many => many.iter().find(|id| id.as_str() == given).cloned().ok_or_else(|| {
            let mut names: Vec<String> = many.iter().take(SHOWN).map(|id| format!("`{id}`")).collect();
            if many.len() > SHOWN {
                names.push("…".to_owned());
            }
            usage(format!("more than one run has an id that begins with `{given}`: {}", names.join(", ")), "give more letters of it")
        }),
    }
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use super::*;

    #[test]
    fn the_nearest_word_about_the_journal_counts() {
        let nothing = |_: &str| None;
        let variable = |name: &str| (name == VARIABLE).then(|| "there.sqlite".into());
        let none = |name: &str| (name == VARIABLE).then(|| "none".into());
        let home = |name: &str| (name == "HOME").then(|| "/home/ada".into());
        let file = |path: &str, named| Place::File { path: PathBuf::from(path), named };
        assert_eq!(Place::from(Some(Path::new("here.sqlite")), variable).ok(), Some(file("here.sqlite", true)));
        assert_eq!(Place::from(None, variable).ok(), Some(file("there.sqlite", true)));
        assert_eq!(Place::from(None, none).ok(), Some(Place::Nowhere));
        assert_eq!(Place::from(Some(Path::new("none")), variable).ok(), Some(Place::Nowhere));
        assert_eq!(Place::from(Some(Path::new("./none")), variable).ok(), Some(file("./none", true)));
        assert_eq!(Place::from(None, home).ok(), Some(file("/home/ada/.local/share/toolwright/runs.sqlite", false)));
        assert!(Place::from(None, nothing).is_err());
    }

    #[test]
    fn ids_are_of_one_form_and_a_key_has_always_the_same() {
        let ids: std::collections::HashSet<String> = (0..1_000).map(|_| new_run_id()).collect();
        assert_eq!(ids.len(), 1_000);
        assert!(ids.iter().all(|id| id.len() == 4 + ID_LETTERS && id.starts_with("run-")), "{ids:?}");
        assert_eq!(run_id_of_key("order 17"), run_id_of_key("order 17"));
        assert_ne!(run_id_of_key("order 17"), run_id_of_key("order 18"));
        // What is written down under it must be found by every later version.
        assert_eq!(run_id_of_key("order 17"), "key-s6raydbewjq1etj1m6bw294xyn");
    }
}
