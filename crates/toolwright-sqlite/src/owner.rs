//! Who is alive: every open journal holds a lock on a file of its own beside the journal, which the system lets go when
//! its process ends, however it ends. No clock is asked, and nobody waits.
//!
//! In that file stands how many records its owner has said to be on the disk, so that a journal that lost some is found
//! out.

use std::fs::{File, OpenOptions, TryLockError};
use std::hash::{BuildHasher, RandomState};
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use crate::format::unwritable;
use crate::wire::Fallible;

/// A name for one owner, and the mark of a file that is not locked yet.
const NEW: &str = "new";

/// `<journal><ending>`
pub(crate) fn beside(journal: &Path, ending: &str) -> PathBuf {
    let mut name = journal.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}

/// What tells a file from another one of its name; none when it is not there.
pub(crate) fn place_of(file: &Path) -> Option<(u64, u64)> {
    let found = std::fs::metadata(file).ok()?;
    #[cfg(unix)]
    let place = {
        use std::os::unix::fs::MetadataExt;
        (found.dev(), found.ino())
    };
    #[cfg(not(unix))]
    let place = (0, u64::from(found.is_file()));
    Some(place)
}

/// Whether the file has another name: what lies beside a journal would be looked for beside that one too.
pub(crate) fn has_two_names(file: &Path) -> bool {
    #[cfg(unix)]
    let two = {
        use std::os::unix::fs::MetadataExt;
        std::fs::metadata(file).is_ok_and(|found| found.nlink() > 1)
    };
    #[cfg(not(unix))]
    let two = false;
    two && file.is_file()
}

/// The directory of a journal's owners.
pub(crate) fn directory(journal: &Path) -> PathBuf {
    beside(journal, ".owners")
}

/// Makes the directory, for this user alone.
pub(crate) fn make_directory(directory: &Path) -> Fallible<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(directory).map_err(|error| unwritable(directory, &error))
}

/// 128 bits that nobody else draws.
pub(crate) fn draw() -> String {
    let one = || RandomState::new().hash_one(std::process::id());
    format!("{:016x}{:016x}", one(), one())
}

/// This process, as one owner of a journal. Its file stays when it ends, for what stands in it: the next one who opens the
/// journal looks at it, and takes it away.
#[derive(Debug)]
pub(crate) struct Owner {
    pub(crate) id: String,
    file: File,
}

impl Owner {
    /// Whether others can still see that this journal is at work.
    pub(crate) fn is_there(&self, directory: &Path) -> bool {
        directory.join(&self.id).exists()
    }

    /// Takes a lock of its own. All records up to `event` are on the disk.
    pub(crate) fn new(directory: &Path, journal: &str, event: i64) -> Fallible<Self> {
        let id = draw();
        let path = directory.join(&id);
        let making = directory.join(format!("{id}.{NEW}"));
        let make = || {
            let mut file = OpenOptions::new().read(true).write(true).create_new(true).open(&making)?;
            file.try_lock().map_err(std::io::Error::from)?;
            write!(file, "{journal} {event:020}")?;
            // Only now does anybody look at it: nobody sees it without its lock.
            std::fs::rename(&making, &path)?;
            Ok(file)
        };
        let file = make().map_err(|error: std::io::Error| unwritable(&path, &error))?;
        Ok(Self { id, file })
    }

    /// Notes that all records up to this one are on the disk. Survives the end of the process; a loss of power may take it
    /// away, and then less is known, and nothing wrong.
    pub(crate) fn note(&self, event: i64) -> std::io::Result<()> {
        let mut file = &self.file;
        file.seek(SeekFrom::Start(33))?;
        file.write_all(format!("{event:020}").as_bytes())
    }
}

/// Whether the owner of this id has not ended. One that cannot be looked at counts as alive.
pub(crate) fn is_alive(directory: &Path, id: &str) -> bool {
    if id.len() != 32 || !id.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        return false;
    }
    match File::open(directory.join(id)) {
        Ok(file) => is_locked(&file),
        Err(error) => error.kind() != std::io::ErrorKind::NotFound,
    }
}

/// A lock that others can share, so that two who look at once do not take each other for the owner.
fn is_locked(file: &File) -> bool {
    match file.try_lock_shared() {
        Ok(()) => {
            let _ = file.unlock();
            false
        }
        Err(TryLockError::WouldBlock | TryLockError::Error(_)) => true,
    }
}

/// What an owner that ended left behind.
#[derive(Debug)]
pub(crate) struct Left {
    pub(crate) path: PathBuf,
    /// The journal that it was of.
    pub(crate) journal: String,
    /// The newest record that it said to be on the disk.
    pub(crate) event: i64,
}

/// What all owners that ended left behind.
pub(crate) fn left(directory: &Path) -> Vec<Left> {
    let mut left = Vec::new();
    let Ok(entries) = std::fs::read_dir(directory) else { return left };
    for entry in entries.flatten() {
        let path = entry.path();
        if path.file_name().is_none_or(|name| name.len() != 32) {
            continue;
        }
        let Ok(mut file) = File::open(&path) else { continue };
        if is_locked(&file) {
            continue;
        }
        let mut text = String::new();
        let _ = file.read_to_string(&mut text);
        let (journal, event) = text.trim().split_once(' ').unwrap_or_default();
        left.push(Left { path, journal: journal.to_owned(), event: event.parse().unwrap_or_default() });
    }
    left
}

/// One at a time opens a journal.
pub(crate) struct Opening(#[expect(dead_code, reason = "its lock is what counts")] File);

impl Opening {
    pub(crate) fn begin(directory: &Path) -> Fallible<Self> {
        let path = directory.join("opening");
        let lock = || {
            let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path)?;
            file.lock()?;
            Ok(file)
        };
        lock().map(Self).map_err(|error: std::io::Error| unwritable(&path, &error))
    }
}
