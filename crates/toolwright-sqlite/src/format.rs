//! What is in the file: tables, versions, and how a connection to it is made. `docs/journal-format.md` has it in words.
//!
//! INVARIANT: a step of [`STEPS`] is never changed once a version with it was given away; a new form is a new step.

use std::path::Path;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use crate::journal::Synchronous;
use crate::wire::{Fallible, Trouble};

/// `TWjl`, for `file` and others that look at the first page.
pub(crate) const APPLICATION_ID: i32 = 0x5457_6a6c;
/// How long a write waits for another process.
pub(crate) const BUSY_SECONDS: u64 = 10;
/// Pages of the write-ahead log before it is copied into the file.
const CHECKPOINT_PAGES: u32 = 2_000;
const PAGE_BYTES: u32 = 4_096;
/// Bytes of the log of a journal that is busy: somewhat more than it has before it is copied.
pub(crate) const LOG_BYTES: u64 = (CHECKPOINT_PAGES as u64 + 100) * (PAGE_BYTES as u64 + 24);
/// How much of the file each connection keeps in memory, in KiB.
const CACHE_KIB: u32 = 16 * 1024;

/// The form of the file, step by step: the number of steps taken is its `user_version`.
const STEPS: &[&str] = &["
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE runs (
  key INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  tool TEXT NOT NULL,
  created INTEGER,
  session TEXT,
  principal TEXT,
  owner TEXT NOT NULL,
  epoch INTEGER NOT NULL,
  open INTEGER NOT NULL,
  ended INTEGER,
  code TEXT,
  begun INTEGER NOT NULL,
  count INTEGER NOT NULL,
  last INTEGER NOT NULL,
  head BLOB NOT NULL
);
CREATE INDEX runs_open ON runs (open) WHERE open = 1;
CREATE TABLE claims (
  run INTEGER NOT NULL,
  epoch INTEGER NOT NULL,
  handle TEXT NOT NULL,
  held INTEGER NOT NULL,
  claim TEXT NOT NULL,
  PRIMARY KEY (run, epoch)
) WITHOUT ROWID;
CREATE TABLE events (
  id INTEGER PRIMARY KEY,
  run INTEGER NOT NULL,
  prev INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  epoch INTEGER NOT NULL,
  kind INTEGER NOT NULL,
  class INTEGER NOT NULL,
  at INTEGER,
  path TEXT NOT NULL,
  tool TEXT NOT NULL,
  parts INTEGER NOT NULL,
  chain BLOB NOT NULL,
  body TEXT NOT NULL
);
CREATE TABLE blobs (id INTEGER PRIMARY KEY, hash BLOB NOT NULL UNIQUE, body TEXT NOT NULL);
CREATE TABLE uses (run INTEGER NOT NULL, blob INTEGER NOT NULL, PRIMARY KEY (run, blob)) WITHOUT ROWID;
CREATE INDEX uses_by_blob ON uses (blob);
CREATE TABLE pruned (
  first_run INTEGER PRIMARY KEY,
  last_run INTEGER NOT NULL,
  records INTEGER NOT NULL,
  last_event INTEGER NOT NULL,
  head BLOB NOT NULL
);
"];

/// The records of one run, from the newest (`?1`) back to the one after `?2`: each knows the one before it. An index would
/// have every commit of many runs write a page for each of them.
pub(crate) const OF_RUN: &str = "(WITH RECURSIVE back (id, prev) AS (
    SELECT id, prev FROM events WHERE id = ?1 AND id > ?2
    UNION ALL
    SELECT events.id, events.prev FROM back JOIN events ON events.id = back.prev WHERE back.prev < back.id AND back.prev > ?2
  ) SELECT id FROM back)";

/// Which form this version writes.
pub(crate) fn version() -> i32 {
    i32::try_from(STEPS.len()).unwrap_or(i32::MAX)
}

/// A connection that only reads.
pub(crate) fn reader(path: &Path) -> Fallible<Connection> {
    let connection = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    settle(&connection)?;
    connection.execute_batch("PRAGMA query_only = ON")?;
    Ok(connection)
}

/// A reader of a file that nobody can write, in a directory in which nothing can be made.
pub(crate) fn reader_of_still(path: &Path) -> Fallible<Connection> {
    let mut uri = String::from("file:");
    for byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'/' | b'.' | b'-' | b'_' | b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' => uri.push(char::from(*byte)),
            _ => uri.push_str(&format!("%{byte:02x}")),
        }
    }
    uri.push_str("?immutable=1");
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_URI;
    let connection = Connection::open_with_flags(uri, flags)?;
    settle(&connection)?;
    Ok(connection)
}

/// A connection that writes to a file that is there. `bytes_max`: the file may become so large.
pub(crate) fn writer(path: &Path, synchronous: Synchronous, bytes_max: Option<u64>) -> Fallible<Connection> {
    let connection = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    settle(&connection)?;
    connection.execute_batch(&format!("PRAGMA wal_autocheckpoint = {CHECKPOINT_PAGES}"))?;
    press(&connection, synchronous)?;
    if let Some(bytes_max) = bytes_max {
        let page: u32 = connection.pragma_query_value(None, "page_size", |row| row.get(0))?;
        connection.execute_batch(&format!("PRAGMA max_page_count = {}", (bytes_max / u64::from(page.max(1))).max(1)))?;
    }
    Ok(connection)
}

/// How hard the next commits are pressed onto the disk.
pub(crate) fn press(connection: &Connection, synchronous: Synchronous) -> Fallible<()> {
    connection.execute_batch(match synchronous {
        Synchronous::Full => "PRAGMA synchronous = FULL; PRAGMA fullfsync = ON; PRAGMA checkpoint_fullfsync = ON",
        Synchronous::Normal => "PRAGMA synchronous = NORMAL",
    })?;
    Ok(())
}

fn settle(connection: &Connection) -> Fallible<()> {
    connection.busy_timeout(Duration::from_secs(BUSY_SECONDS))?;
    // A file from elsewhere runs nothing of its own, and its pages are looked at before they are believed.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW, false)?;
    connection.execute_batch(&format!("PRAGMA cell_size_check = ON; PRAGMA cache_size = -{CACHE_KIB}; PRAGMA temp_store = MEMORY"))?;
    Ok(())
}

/// Makes a new file that is a journal from its first moment at its own name: it is made under another one.
pub(crate) fn make(path: &Path, making: &Path, journal: &str) -> Fallible<()> {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(making).map_err(|error| unwritable(path, &error))?;
    let connection = Connection::open_with_flags(making, OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    connection.execute_batch(&format!(
        "PRAGMA page_size = {PAGE_BYTES}; PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
         BEGIN IMMEDIATE; PRAGMA application_id = {APPLICATION_ID};"
    ))?;
    migrate(&connection, 0)?;
    connection.execute("INSERT INTO meta VALUES ('journal', ?1)", [journal])?;
    connection.execute_batch("COMMIT")?;
    connection.close().map_err(|(_, error)| error)?;
    let put = std::fs::hard_link(making, path).or_else(|error| match error.kind() {
        // Somebody else was first, which is as good.
        std::io::ErrorKind::AlreadyExists => Ok(()),
        // Not every file system has links.
        _ => std::fs::rename(making, path),
    });
    let _ = std::fs::remove_file(making);
    put.map_err(|error| unwritable(path, &error))?;
    sync_directory(path);
    Ok(())
}

/// The name of a new file is on the disk, where the system can do that.
fn sync_directory(path: &Path) {
    if let Some(directory) = path.parent() {
        let directory = if directory.as_os_str().is_empty() { Path::new(".") } else { directory };
        let _ = std::fs::File::open(directory).and_then(|directory| directory.sync_all());
    }
}

pub(crate) fn unwritable(path: &Path, error: &std::io::Error) -> Trouble {
    Trouble::No(toolwright::JournalError::unwritable(format!("`{}`: {error}", path.display())))
}

/// Takes the steps that the file has not taken yet. Inside a transaction.
fn migrate(connection: &Connection, from: usize) -> Fallible<()> {
    for step in STEPS.iter().skip(from) {
        connection.execute_batch(step)?;
    }
    connection.execute_batch(&format!("PRAGMA user_version = {}", version()))?;
    Ok(())
}

/// Looks whether the file is a journal of a form that is known here, and takes it to the newest form when `writes`.
pub(crate) fn check(connection: &Connection, path: &Path, writes: bool) -> Fallible<()> {
    let number = |name: &str| connection.pragma_query_value(None, name, |row| row.get::<_, i32>(0));
    let (application, form) = (number("application_id")?, number("user_version")?);
    if application != APPLICATION_ID && path.metadata().is_ok_and(|metadata| metadata.len() == 0) {
        return Err(Trouble::No(crate::wire::corrupt(&path.display(), "it is empty, though it was a journal")));
    }
    if application != APPLICATION_ID {
        return Err(Trouble::No(crate::wire::foreign(&path.display(), "it is a SQLite file, and no journal of Toolwright's")));
    }
    if form > version() {
        let what = format!("it has form {form}, and {} is the newest known here: a newer version of Toolwright wrote it", version());
        return Err(Trouble::No(crate::wire::foreign(&path.display(), &what)));
    }
    if form < version() && writes {
        connection.execute_batch("BEGIN IMMEDIATE")?;
        let now = usize::try_from(number("user_version")?).unwrap_or_default();
        migrate(connection, now)?;
        connection.execute_batch("COMMIT")?;
    }
    Ok(())
}

/// The journal's own id: a copy has the same.
pub(crate) fn identity(connection: &Connection) -> Fallible<String> {
    Ok(connection.query_row("SELECT value FROM meta WHERE key = 'journal'", [], |row| row.get(0))?)
}

/// The number of the newest record there ever was.
pub(crate) fn newest_event(connection: &Connection) -> Fallible<i64> {
    let newest = "SELECT max(ifnull((SELECT max(id) FROM events), 0), ifnull((SELECT max(last_event) FROM pruned), 0))";
    Ok(connection.query_row(newest, [], |row| row.get(0))?)
}
