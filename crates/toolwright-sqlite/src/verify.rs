//! Whether a journal is whole: every record as it was written, none missing, every kept value what its hash says.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use rusqlite::{Connection, OptionalExtension as _};
use sha2::{Digest as _, Sha256};
use toolwright::journal::Record;

use crate::blob::{self, Hash, hex};
use crate::format::{self, OF_RUN};
use crate::owner;
use crate::record::{self, COLUMNS, KeptValues, Read, kind};
use crate::torn;
use crate::view::{Verification, Wrong};
use crate::wire::{Fallible, Trouble, told};

/// What SQLite itself says of its pages, at most.
const PAGES_SAID_MAX: u32 = 100;

struct Looking<'a> {
    file: &'a Path,
    found: Verification,
    /// Values that are there and right.
    values: HashSet<Hash>,
}

impl Looking<'_> {
    fn wrong(&mut self, run: Option<&str>, record: Option<i64>, what: impl Into<String>) {
        let record = record.map(i64::unsigned_abs);
        self.found.wrong.push(Wrong { run: run.map(Into::into), record, what: what.into() });
    }

    /// Notes what could not be read, and goes on.
    fn noted<T>(&mut self, run: Option<&str>, outcome: Fallible<T>) -> Option<T> {
        match outcome {
            Ok(value) => Some(value),
            Err(Trouble::Damaged(what)) => {
                self.wrong(run, None, what);
                None
            }
            Err(trouble) => {
                let what = told(trouble, self.file, false).reason;
                self.wrong(run, None, what);
                None
            }
        }
    }
}

/// Looks at everything.
pub(crate) fn verify(connection: &Connection, file: &Path) -> Fallible<Verification> {
    let transaction = connection.unchecked_transaction()?;
    let mut looking = Looking { file, found: Verification::default(), values: HashSet::new() };
    let pages = pages(&transaction);
    for said in looking.noted(None, pages).unwrap_or_default() {
        looking.wrong(None, None, format!("SQLite finds its pages damaged: {said}"));
    }
    let checked = values(&transaction, &mut looking);
    looking.noted(None, checked);
    let keys = keys(&transaction, &mut looking);
    let keys = looking.noted(None, keys).unwrap_or_default();
    let mut records = 0;
    for (key, id) in &keys {
        let checked = run(&transaction, *key, id, &mut looking);
        records += looking.noted(Some(id), checked).unwrap_or_default();
        looking.found.runs += 1;
    }
    let checked = gaps(&transaction, &keys, records, &mut looking);
    looking.noted(None, checked);
    let checked = lost(&transaction, file);
    looking.noted(None, checked);
    Ok(looking.found)
}

fn pages(connection: &Connection) -> Fallible<Vec<String>> {
    let mut check = connection.prepare(&format!("PRAGMA integrity_check({PAGES_SAID_MAX})"))?;
    let said = check.query_map([], |row| row.get::<_, String>(0))?.collect::<rusqlite::Result<Vec<_>>>()?;
    Ok(said.into_iter().filter(|said| said != "ok").collect())
}

fn values(connection: &Connection, looking: &mut Looking<'_>) -> Fallible<()> {
    let mut statement = connection.prepare("SELECT id, hash, body FROM blobs ORDER BY id")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let (id, hash, body): (i64, Vec<u8>, Vec<u8>) = (row.get(0)?, row.get(1)?, bytes(row, 2)?);
        looking.found.values += 1;
        let is = Hash::from(Sha256::digest(&body));
        if hash == is {
            looking.values.insert(is);
        } else {
            looking.wrong(None, None, format!("value {id} is not what was written: its hash is {} and should be {}", hex(&is), hex(&hash)));
        }
    }
    Ok(())
}

/// A text as it is, also when it is none any more.
fn bytes(row: &rusqlite::Row<'_>, at: usize) -> rusqlite::Result<Vec<u8>> {
    Ok(match row.get_ref(at)? {
        rusqlite::types::ValueRef::Text(bytes) | rusqlite::types::ValueRef::Blob(bytes) => bytes.to_vec(),
        _ => Vec::new(),
    })
}

fn keys(connection: &Connection, looking: &mut Looking<'_>) -> Fallible<Vec<(i64, String)>> {
    let mut statement = connection.prepare("SELECT key, id FROM runs ORDER BY key")?;
    let mut rows = statement.query([])?;
    let mut keys = Vec::new();
    while let Some(row) = rows.next()? {
        let key = row.get(0)?;
        match row.get(1) {
            Ok(id) => keys.push((key, id)),
            Err(error) => drop(looking.noted::<()>(None, Err(error.into()))),
        }
    }
    Ok(keys)
}

/// The number of records that a run says it has.
fn run(connection: &Connection, key: i64, id: &str, looking: &mut Looking<'_>) -> Fallible<i64> {
    let row = "SELECT count, head, epoch, open, begun, tool, last FROM runs WHERE key = ?1";
    let (count, head, epoch, open, begun, tool, last): (i64, Hash, i64, bool, i64, String, i64) =
        connection
            .query_row(row, [key], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?, row.get(5)?, row.get(6)?)))?;
    let mut statement = connection.prepare(&format!("SELECT {COLUMNS} FROM events WHERE id IN {OF_RUN} ORDER BY id"))?;
    let mut rows = statement.query([last, 0])?;
    let (mut chain, mut seq, mut newest, mut intents, mut ended, mut whole) = (record::START, 0, 1, 0, false, true);
    while let Some(row) = rows.next()? {
        let read = Read::of(row)?;
        looking.found.records += 1;
        match record::follows(&read, id, seq, &chain) {
            Ok(next) => chain = next,
            Err(trouble) => {
                whole = false;
                let what = if let Trouble::Damaged(what) = trouble { what } else { "it is not what was written".to_owned() };
                looking.wrong(Some(id), Some(read.seq), what);
                chain = Hash::try_from(read.chain.as_slice()).unwrap_or(chain);
            }
        }
        seq = read.seq + 1;
        for named in if read.parts > 0 { blob::named(&read.body) } else { Vec::new() } {
            if !looking.values.contains(&named) {
                looking.wrong(Some(id), Some(read.seq), format!("its value {} is not there, or not what was written", hex(&named)));
            }
        }
        match read.kind {
            kind::RUN => {
                let first = says(&read, record::as_first(&read, &mut without_values()), looking, id);
                if first.is_some_and(|first| first.run.id != id || first.run.tool != tool) {
                    looking.wrong(Some(id), Some(read.seq), "the run's row has another id or tool than its first record");
                }
            }
            kind::CLAIMED => newest = read.epoch,
            kind::BEGIN => intents += 1,
            _ => {}
        }
        if read.kind != kind::RUN
            && let Some(Record::Claimed(claimed)) = says(&read, record::as_record(&read, &mut without_values()), looking, id)
            && claimed.epoch != read.epoch.unsigned_abs()
        {
            looking.wrong(Some(id), Some(read.seq), "its claim has another number than its row");
        }
        ended = read.kind == kind::END || (ended && read.kind != kind::CLAIMED);
    }
    if seq != count {
        looking.wrong(Some(id), None, format!("it has {seq} records, and should have {count}"));
    } else if whole && chain != head {
        looking.wrong(Some(id), None, "its last record is not the one that was written last");
    }
    if newest != epoch || open == ended || begun != intents {
        looking.wrong(Some(id), None, "its row does not agree with its records");
    }
    Ok(count)
}

/// Values are looked at for themselves.
fn without_values() -> KeptValues<'static> {
    KeptValues { find: None, known: HashMap::new() }
}

fn says<T>(read: &Read, outcome: Fallible<T>, looking: &mut Looking<'_>, id: &str) -> Option<T> {
    if let Err(Trouble::Damaged(what)) = &outcome {
        looking.wrong(Some(id), Some(read.seq), what.clone());
    }
    outcome.ok()
}

/// Numbers have no gaps, but for what was taken out.
fn gaps(connection: &Connection, keys: &[(i64, String)], records: i64, looking: &mut Looking<'_>) -> Fallible<()> {
    let mut statement = connection.prepare("SELECT first_run, last_run, records FROM pruned ORDER BY first_run")?;
    let pruned = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    let pruned: Vec<(i64, i64, i64)> = pruned.collect::<rusqlite::Result<_>>()?;
    let highest = "SELECT seq FROM sqlite_sequence WHERE name = 'runs'";
    let highest: i64 = connection.query_row(highest, [], |row| row.get(0)).optional()?.unwrap_or_default();
    let there: i64 = i64::try_from(keys.len()).unwrap_or(i64::MAX);
    let taken: i64 = pruned.iter().map(|(first, last, _)| last - first + 1).sum();
    if there + taken != highest {
        looking.wrong(None, None, format!("{highest} runs were begun, {there} are there, and {taken} were taken out"));
    }
    let taken: i64 = pruned.iter().map(|(_, _, records)| records).sum();
    let (newest, there) =
        (format::newest_event(connection)?, connection.query_row("SELECT count(*) FROM events", [], |row| row.get::<_, i64>(0))?);
    if records != there || there + taken != newest {
        looking.wrong(
            None,
            None,
            format!("{newest} records were written, {there} are there, {records} belong to runs, and {taken} were taken out"),
        );
    }
    Ok(())
}

/// Whether somebody said that a record is on the disk, and it is not.
pub(crate) fn lost(connection: &Connection, file: &Path) -> Fallible<()> {
    let number = |name| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0)).map(i64::unsigned_abs);
    let (pages, page) = (number("page_count")?, number("page_size")?.max(1));
    let bytes = file.metadata().map_or(0, |metadata| metadata.len());
    let no_log = owner::beside(file, "-wal").metadata().map_or(0, |metadata| metadata.len()) == 0;
    if !bytes.is_multiple_of(page) || (no_log && bytes < pages * page) {
        return Err(Trouble::Damaged(format!("it is cut at byte {bytes}: it had {pages} pages of {page} bytes")));
    }
    let (journal, newest) = (format::identity(connection)?, format::newest_event(connection)?);
    for left in owner::left(&owner::directory(file)) {
        if left.journal == journal && left.event > newest {
            let place = torn::find(&owner::beside(file, "-wal")).map_or_else(String::new, |torn| {
                format!("; its `-wal` file is not what was written from frame {} on, at byte {}", torn.frame, torn.offset)
            });
            let what = format!(
                "records up to {} were on the disk, and it ends with {newest}: it was cut, or put back from an older copy{place} (when that \
                 is meant, remove `{}`)",
                left.event,
                left.path.display()
            );
            return Err(Trouble::Damaged(what));
        }
    }
    Ok(())
}
