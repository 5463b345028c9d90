//! Taking runs out. What is taken out leaves its numbers, so that a gap that nobody made shows.

use std::path::Path;

use rusqlite::{Connection, OptionalExtension as _, params};
use sha2::{Digest as _, Sha256};
use toolwright::journal::JournalErrorKind;
use toolwright::{JournalError, Text};

use crate::blob::Hash;
use crate::format::OF_RUN;
use crate::list;
use crate::owner;
use crate::record::{START, moment};
use crate::view::{Prune, Pruned};
use crate::wire::Fallible;

/// Runs that are taken out in one transaction: others write in between.
const TOGETHER_MAX: usize = 200;

struct Chosen {
    key: i64,
    id: String,
}

/// What was taken out in one stretch.
struct Gap {
    first: i64,
    last: i64,
    records: i64,
    last_event: i64,
    head: Hash,
}

fn sum(connection: &Connection, name: &str) -> Fallible<u64> {
    Ok(connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0))?.unsigned_abs())
}

/// Bytes that the file would have without its empty pages.
fn in_use(connection: &Connection) -> Fallible<u64> {
    Ok((sum(connection, "page_count")? - sum(connection, "freelist_count")?) * sum(connection, "page_size")?)
}

/// Bytes on the disk.
fn on_disk(file: &Path) -> u64 {
    [file.to_owned(), owner::beside(file, "-wal")].iter().filter_map(|path| path.metadata().ok()).map(|metadata| metadata.len()).sum()
}

pub(crate) fn prune(connection: &Connection, file: &Path, what: &Prune) -> Fallible<Pruned> {
    let before = on_disk(file);
    let chosen = choose(connection, file, what)?;
    let bytes_max = if named(what) { None } else { what.bytes_max };
    let mut pruned = Pruned::default();
    if what.dry_run {
        connection.execute_batch("BEGIN IMMEDIATE")?;
        let taken = take_out(connection, &chosen, named(what), bytes_max, &mut pruned.runs);
        let after = taken.and_then(|_| in_use(connection));
        connection.execute_batch("ROLLBACK")?;
        pruned.bytes = (before, after?.min(before));
        return Ok(pruned);
    }
    for together in chosen.chunks(TOGETHER_MAX) {
        connection.execute_batch("BEGIN IMMEDIATE")?;
        let taken = take_out(connection, together, named(what), bytes_max, &mut pruned.runs).and_then(|enough| {
            connection.execute_batch("COMMIT")?;
            Ok(enough)
        });
        if taken.is_err() && !connection.is_autocommit() {
            connection.execute_batch("ROLLBACK")?;
        }
        if taken? {
            break;
        }
    }
    shrink(connection)?;
    pruned.bytes = (before, on_disk(file));
    Ok(pruned)
}

fn named(what: &Prune) -> bool {
    what.run.is_some()
}

fn choose(connection: &Connection, file: &Path, what: &Prune) -> Fallible<Vec<Chosen>> {
    if let Some(id) = &what.run {
        let row = "SELECT runs.key, open, held, handle FROM runs JOIN claims ON claims.run = runs.key AND claims.epoch = runs.epoch
            WHERE id = ?1";
        let found = connection.query_row(row, [id.as_str()], |row| {
            Ok((row.get(0)?, row.get::<_, bool>(1)? && row.get::<_, bool>(2)?, row.get::<_, String>(3)?))
        });
        let (key, held, handle) = found.optional()?.ok_or_else(|| JournalError::unknown_run(id))?;
        if held && owner::is_alive(&owner::directory(file), &handle) {
            return Err(JournalError::new(JournalErrorKind::Claimed, format!("run `{id}` is at work, and is not taken out")).into());
        }
        return Ok(vec![Chosen { key, id: id.to_string() }]);
    }
    if what.ended_before.is_none() && what.keep_newest.is_none() && what.bytes_max.is_none() {
        return Ok(Vec::new());
    }
    let keep = what.keep_newest.map_or(0, |keep| i64::try_from(keep).unwrap_or(i64::MAX));
    let ended = "SELECT key, id, last, code IS NOT NULL
        FROM (SELECT key, id, ended, last, code FROM runs WHERE open = 0 ORDER BY key DESC LIMIT -1 OFFSET ?1)
        WHERE ?2 IS NULL OR ended < ?2 ORDER BY key";
    let mut statement = connection.prepare(ended)?;
    let found = statement.query_map(params![keep, moment(what.ended_before)], |row| {
        Ok((Chosen { key: row.get(0)?, id: row.get(1)? }, row.get::<_, i64>(2)?, row.get::<_, bool>(3)?))
    })?;
    let mut chosen = Vec::new();
    for found in found {
        let (run, last, failed) = found?;
        // Without its records, a call that nobody knows of would be made again.
        if !failed || !list::is_in_doubt(connection, last)? {
            chosen.push(run);
        }
    }
    Ok(chosen)
}

/// Takes runs out, oldest first, until enough room is made; says whether it is.
fn take_out(connection: &Connection, chosen: &[Chosen], named: bool, bytes_max: Option<u64>, out: &mut Vec<Text>) -> Fallible<bool> {
    let mut gaps: Vec<Gap> = Vec::new();
    let mut enough = false;
    for Chosen { key, id } in chosen {
        enough = match bytes_max {
            Some(bytes_max) => in_use(connection)? <= bytes_max,
            None => false,
        };
        if enough {
            break;
        }
        let row = "SELECT count, head, last FROM runs WHERE key = ?1 AND (open = 0 OR ?2)";
        let found = connection
            .query_row(row, params![key, named], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, Hash>(1)?, row.get::<_, i64>(2)?)));
        // Somebody else took it out in between, or goes on with it.
        let Some((records, head, last_event)) = found.optional()? else { continue };
        delete(connection, *key, last_event)?;
        let mut gap = Gap { first: *key, last: *key, records, last_event, head: START };
        if gaps.last().is_some_and(|before| before.last + 1 == *key)
            && let Some(before) = gaps.pop()
        {
            let last_event = last_event.max(before.last_event);
            gap = Gap { first: before.first, last: *key, records: before.records + records, last_event, head: before.head };
        }
        gap.head = Sha256::new().chain_update(gap.head).chain_update(head).finalize().into();
        gaps.push(gap);
        out.push(id.as_str().into());
    }
    let mut insert = connection.prepare("INSERT INTO pruned VALUES (?1, ?2, ?3, ?4, ?5)")?;
    for Gap { first, last, records, last_event, head } in gaps {
        insert.execute(params![first, last, records, last_event, &head[..]])?;
    }
    Ok(enough)
}

fn delete(connection: &Connection, key: i64, last: i64) -> Fallible<()> {
    let mut of = connection.prepare("SELECT blob FROM uses WHERE run = ?1")?;
    let blobs: Vec<i64> = of.query_map([key], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
    connection.execute(&format!("DELETE FROM events WHERE id IN {OF_RUN}"), [last, 0])?;
    for from in ["claims WHERE run", "uses WHERE run", "runs WHERE key"] {
        connection.execute(&format!("DELETE FROM {from} = ?1"), [key])?;
    }
    for blob in blobs {
        connection.execute("DELETE FROM blobs WHERE id = ?1 AND NOT EXISTS (SELECT 1 FROM uses WHERE blob = ?1)", [blob])?;
    }
    Ok(())
}

/// Gives the empty pages back, and the write-ahead log.
fn shrink(connection: &Connection) -> Fallible<()> {
    for task in ["PRAGMA incremental_vacuum", "PRAGMA wal_checkpoint(TRUNCATE)"] {
        let mut statement = connection.prepare(task)?;
        let mut rows = statement.query([])?;
        while rows.next()?.is_some() {}
    }
    Ok(())
}
