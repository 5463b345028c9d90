//! Whose a file is, as the system says: what another user can change is not the word of this one.

use std::fs::{self, Metadata};
use std::path::Path;

/// What of a file's owner and rights is judged.
#[derive(Clone, Copy, Debug)]
struct Facts {
    owner: u32,
    /// Anyone may put files beside it.
    open: bool,
}

/// Why a file that was found, and not named, is not read; `None` when it may be.
pub(crate) fn planted(path: &Path) -> Option<String> {
    let folder = path.parent().and_then(|folder| fs::metadata(folder).ok());
    let open = folder.is_some_and(|folder| everyone_writes(&folder));
    // A link is judged like what it leads to: either may be another's.
    let found = [fs::symlink_metadata(path), fs::metadata(path)];
    found.iter().flatten().find_map(|file| {
        let owner = owner(file)?;
        let why = judged(Facts { owner, open }, me()?)?;
        Some(match why {
            Wrong::Foreign => format!("it belongs to {}, not to you", called(owner)),
            Wrong::Open => format!("it lies in a folder that everyone may write to, and belongs to {}", called(owner)),
        })
    })
}

/// Why a file or folder of ours cannot be believed; `None` when it can.
pub(crate) fn not_believed(found: &Metadata) -> Option<String> {
    if everyone_writes(found) {
        return Some("everyone may write to it".to_owned());
    }
    let owner = owner(found)?;
    (me()? != owner).then(|| format!("it belongs to {}, not to you", called(owner)))
}

enum Wrong {
    Foreign,
    Open,
}

fn judged(facts: Facts, me: u32) -> Option<Wrong> {
    match facts.owner {
        owner if owner == me => None,
        0 if !facts.open => None,
        0 => Some(Wrong::Open),
        _ => Some(Wrong::Foreign),
    }
}

/// A user by name where the system says it, else by number.
fn called(uid: u32) -> String {
    match name(uid) {
        Some(name) => format!("the user `{name}`"),
        None => format!("the user number {uid}"),
    }
}

/// The name of whoever this process belongs to, where the system says it.
pub(crate) fn my_name() -> Option<String> {
    name(me()?)
}

fn name(uid: u32) -> Option<String> {
    let known = fs::read_to_string("/etc/passwd").unwrap_or_default();
    known.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        (fields.nth(1)?.parse() == Ok(uid)).then(|| name.to_owned())
    })
}

#[cfg(unix)]
fn owner(file: &Metadata) -> Option<u32> {
    Some(std::os::unix::fs::MetadataExt::uid(file))
}

#[cfg(unix)]
fn me() -> Option<u32> {
    Some(rustix::process::geteuid().as_raw())
}

#[cfg(unix)]
fn everyone_writes(file: &Metadata) -> bool {
    std::os::unix::fs::MetadataExt::mode(file) & 0o002 != 0
}

#[cfg(not(unix))]
fn owner(_: &Metadata) -> Option<u32> {
    None
}

#[cfg(not(unix))]
fn me() -> Option<u32> {
    None
}

#[cfg(not(unix))]
fn everyone_writes(_: &Metadata) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::{Facts, judged};

    #[test]
    fn a_file_is_read_when_it_is_ours_or_of_the_superuser() {
        let read = |owner, open, me| judged(Facts { owner, open }, me).is_none();
        assert!(read(1000, false, 1000) && read(1000, true, 1000));
        assert!(read(0, false, 1000) && !read(0, true, 1000));
        assert!(!read(1001, false, 1000) && !read(1001, true, 1000) && !read(1001, false, 0));
        assert!(read(0, true, 0));
    }
}
