//! Opening a file for writing: one process at a time looks at it before anybody writes, so that a file that lost what was
//! on the disk is found out, and left as it is.

use std::io::Read;
use std::path::{Path, PathBuf};

use rusqlite::Connection;
use rusqlite::config::DbConfig;

use crate::format::{self, unwritable};
use crate::journal::{SqliteOptions, Synchronous};
use crate::owner::{self, Opening, Owner, beside};
use crate::verify;
use crate::wire::{Fallible, Trouble, corrupt, foreign};

/// A log of fewer bytes stays when the journal is closed: copying it would have the one who closes wait for the disk. A
/// longer one is copied into the file: whoever opens it next reads all of it.
pub(crate) const LOG_BYTES_KEPT: u64 = 256 * 1024;

/// Opens the file, or makes it, and takes a lock of its own.
pub(crate) fn open(file: &Path, owners: &Path, options: &SqliteOptions) -> Fallible<(Connection, Owner)> {
    let known = owners.exists();
    if !known && file.metadata().is_ok_and(|metadata| metadata.len() > 0) {
        // Nothing is made beside a file that is no journal.
        format::check(&format::reader(file)?, file, false)?;
    }
    owner::make_directory(owners)?;
    // Held until this journal has its own lock: whoever comes next sees it.
    let _opening = Opening::begin(owners)?;
    let length = file.metadata().map(|metadata| metadata.len()).ok();
    match length {
        Some(0) if !known => {
            std::fs::remove_file(file).map_err(|error| unwritable(file, &error))?;
            make(file)?;
        }
        Some(0) if !options.accept_loss => {
            return Err(Trouble::No(corrupt(&file.display(), "it is empty, though it was a journal")));
        }
        Some(0) => {
            keep_aside(file)?;
            std::fs::remove_file(file).map_err(|error| unwritable(file, &error))?;
            make(file)?;
        }
        None => {
            if !options.accept_loss
                && let Some(left) = owner::left(owners).iter().find(|left| left.event > 0)
            {
                let what = format!(
                    "it is gone, though records up to {} were on the disk (when that is meant, remove `{}`)",
                    left.event,
                    owners.display()
                );
                return Err(Trouble::No(corrupt(&file.display(), &what)));
            }
            make(file)?;
        }
        Some(_) => {}
    }
    let mut connection = looked_at(file, options)?;
    if let Err(lost) = verify::lost(&connection, file) {
        if !options.accept_loss {
            return Err(lost);
        }
        drop(connection);
        keep_aside(file)?;
        connection = looked_at(file, options)?;
    }
    // What was not pressed onto the disk may be gone after a loss of power, and nobody said otherwise.
    let newest = if options.synchronous == Synchronous::Full { format::newest_event(&connection)? } else { 0 };
    let owner = Owner::new(owners, &format::identity(&connection)?, newest)?;
    for left in owner::left(owners) {
        let _ = std::fs::remove_file(left.path);
    }
    Ok((connection, owner))
}

/// Under a second name of the file others would not see who is at work.
pub(crate) fn has_one_name(file: &Path) -> Fallible<()> {
    if owner::has_two_names(file) {
        return Err(Trouble::No(foreign(&file.display(), "it has a second name (a hard link), under which it would be another journal")));
    }
    Ok(())
}

/// A file that never was a journal is no damaged one.
pub(crate) fn is_no_strangers(file: &Path) -> Fallible<()> {
    const MAGIC: &[u8] = b"SQLite format 3\0";
    let mut start = Vec::new();
    let read = std::fs::File::open(file).and_then(|opened| opened.take(MAGIC.len() as u64).read_to_end(&mut start));
    if read.is_ok() && !start.is_empty() && start != MAGIC {
        return Err(Trouble::No(foreign(&file.display(), "it is no journal")));
    }
    Ok(())
}

fn make(file: &Path) -> Fallible<()> {
    format::make(file, &beside(file, &format!(".{}", owner::draw())), &owner::draw())
}

/// A connection to a file that is a journal. Closing it leaves the file and its log as they are.
fn looked_at(file: &Path, options: &SqliteOptions) -> Fallible<Connection> {
    let connection = format::writer(file, options.synchronous, options.bytes_max)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    format::check(&connection, file, true)?;
    Ok(connection)
}

/// Copies a damaged journal to names of its own.
fn keep_aside(file: &Path) -> Fallible<()> {
    let mut number = 1;
    let name = |number: u32, ending: &str| -> PathBuf { beside(file, &format!(".damaged-{number}{ending}")) };
    while name(number, "").exists() {
        number += 1;
    }
    for ending in ["", "-wal"] {
        let from = beside(file, ending);
        if from.exists() {
            std::fs::copy(&from, name(number, ending)).map_err(|error| unwritable(&from, &error))?;
        }
    }
    Ok(())
}

/// Closes a file: a long log is copied into it.
pub(crate) fn close(connection: Connection, file: &Path, stopped: bool) {
    let long = beside(file, "-wal").metadata().is_ok_and(|metadata| metadata.len() > LOG_BYTES_KEPT);
    if long && !stopped {
        let _ = connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, false);
    }
    drop(connection);
}
