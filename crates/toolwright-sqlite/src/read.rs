//! Reading runs back, for those who claim nothing.

use std::collections::HashMap;

use rusqlite::{Connection, OptionalExtension as _};
use toolwright::Text;
use toolwright::journal::{Claimed, Record, RunHistory};

use crate::blob::Hash;
use crate::format::OF_RUN;
use crate::record::{self, COLUMNS, KeptValues, Read, kind};
use crate::wire::{Fallible, Trouble};

/// Everything recorded of a run, each record as it was written.
pub(crate) fn history(connection: &Connection, id: &str) -> Fallible<Option<RunHistory>> {
    let transaction = connection.unchecked_transaction()?;
    let row = "SELECT last, count, head, epoch, open FROM runs WHERE id = ?1";
    let row = transaction.query_row(row, [id], |row| {
        Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?, row.get::<_, Hash>(2)?, row.get::<_, i64>(3)?, row.get::<_, bool>(4)?))
    });
    let Some((last, count, head, epoch, open)) = row.optional()? else { return Ok(None) };
    let mut blob = transaction.prepare("SELECT body FROM blobs WHERE hash = ?1")?;
    let mut find = |hash: &Hash| Ok(blob.query_row([&hash[..]], |row| row.get(0)).optional()?);
    let mut values = KeptValues { find: Some(&mut find), known: HashMap::new() };
    let mut events = transaction.prepare(&format!("SELECT {COLUMNS} FROM events WHERE id IN {OF_RUN} ORDER BY id"))?;
    let mut rows = events.query([last, 0])?;
    let (mut chain, mut first, mut newest, mut records, mut seq) = (record::START, None, None, Vec::new(), 0);
    while let Some(row) = rows.next()? {
        let read = Read::of(row)?;
        chain = record::follows(&read, id, seq, &chain)?;
        seq += 1;
        if read.kind == kind::RUN {
            first = Some(record::as_first(&read, &mut values)?);
            continue;
        }
        let record = record::as_record(&read, &mut values)?;
        if let Record::Claimed(claimed) = &record {
            newest = Some(claimed.clone());
        }
        records.push(record);
    }
    let Some(first) = first else { return Err(damaged(id, seq, count)) };
    let claimed = newest.unwrap_or_else(|| Claimed { epoch: 1, claim: first.claim.clone() });
    let history = RunHistory::new(first.run, claimed, records);
    let agrees = seq == count && chain == head && history.claimed.epoch == epoch.unsigned_abs();
    if !agrees || history.run.id != id || open != history.end().is_none() {
        return Err(damaged(id, seq, count));
    }
    Ok(Some(history))
}

fn damaged(id: &str, read: i64, count: i64) -> Trouble {
    Trouble::Damaged(format!("run `{id}` has {read} records of {count}, or its row is not what was written"))
}

/// Ids of the runs whose newest claim has no end, oldest first.
pub(crate) fn unfinished(connection: &Connection) -> Fallible<Vec<Text>> {
    let mut open = connection.prepare("SELECT id FROM runs WHERE open = 1 ORDER BY key")?;
    let ids = open.query_map([], |row| row.get::<_, String>(0))?;
    Ok(ids.map(|id| id.map(Text::from)).collect::<rusqlite::Result<_>>()?)
}
