//! Everything that can be read, a record a line, and a line for each thing that cannot.

use std::collections::HashMap;
use std::io::Write;

use rusqlite::{Connection, OptionalExtension as _};
use serde::Serialize;
use toolwright::Value;
use toolwright::journal::Record;

use crate::blob::{Hash, hex};
use crate::format::{self, OF_RUN};
use crate::record::{self, COLUMNS, KeptValues, Read, START, kind};
use crate::wire::{Fallible, Trouble};

/// How many records that cannot be read are tried one after the other.
const UNREADABLE_MAX: i64 = 1_000_000;
/// How many lines say so.
const SAID_MAX: usize = 1_000;

#[derive(Serialize)]
struct Line<'a> {
    event: i64,
    run: &'a str,
    record: i64,
    epoch: i64,
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    at: Option<i64>,
    #[serde(skip_serializing_if = "str::is_empty")]
    path: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    tool: &'a str,
    chain: String,
    body: Body<'a>,
    /// What is wrong with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    damaged: Option<String>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Body<'a> {
    First(Box<record::First>),
    Record(Box<Record>),
    /// As it stands there, when it cannot be understood.
    Text(&'a str),
}

#[derive(Serialize)]
struct Damage {
    #[serde(skip_serializing_if = "Option::is_none")]
    event: Option<i64>,
    damaged: String,
}

fn name(number: u8) -> &'static str {
    match number {
        kind::RUN => "run",
        kind::CLAIMED => "claimed",
        kind::BEGIN => "begin",
        kind::FINISH => "finish",
        kind::RESOLVED => "resolved",
        kind::ABANDONED => "abandoned",
        kind::END => "end",
        kind::ASKED => "asked",
        kind::ANSWERED => "answered",
        _ => "unknown",
    }
}

struct Exporting<'a> {
    out: &'a mut dyn Write,
    /// Id of each run, its last chain and how many of its records were read.
    runs: HashMap<i64, (String, Hash, i64)>,
    values: HashMap<Hash, Value>,
    said: usize,
}

impl Exporting<'_> {
    fn put(&mut self, line: &impl Serialize) -> Fallible<()> {
        let text = serde_json::to_string(line).map_err(|error| Trouble::Damaged(error.to_string()))?;
        let unwritable =
            |error: std::io::Error| toolwright::JournalError::unwritable(format!("what is exported cannot be written: {error}"));
        writeln!(self.out, "{text}").map_err(|error| unwritable(error).into())
    }

    fn damaged(&mut self, event: Option<i64>, what: &dyn std::fmt::Display) -> Fallible<()> {
        self.said += 1;
        if self.said > SAID_MAX {
            return Ok(());
        }
        self.put(&Damage { event, damaged: what.to_string() })
    }

    fn record(&mut self, connection: &Connection, read: &Read, wanted: Option<i64>) -> Fallible<()> {
        if wanted.is_some_and(|wanted| wanted != read.run) {
            return Ok(());
        }
        let mut blob = connection.prepare("SELECT body FROM blobs WHERE hash = ?1")?;
        let mut find = |hash: &Hash| Ok(blob.query_row([&hash[..]], |row| row.get(0)).optional()?);
        let mut values = KeptValues { find: Some(&mut find), known: std::mem::take(&mut self.values) };
        let body = match read.kind {
            kind::RUN => record::as_first(read, &mut values).map(|first| Body::First(Box::new(first))),
            _ => record::as_record(read, &mut values).map(|record| Body::Record(Box::new(record))),
        };
        self.values = if values.known.len() > 64 { HashMap::new() } else { values.known };
        let (id, chain, seq) = self.runs.entry(read.run).or_insert_with(|| {
            let id = connection.query_row("SELECT id FROM runs WHERE key = ?1", [read.run], |row| row.get(0));
            (id.unwrap_or_else(|_| format!("the {}th", read.run)), START, 0)
        });
        let mut wrong = record::follows(read, id, *seq, chain).err();
        *chain = Hash::try_from(read.chain.as_slice()).unwrap_or(START);
        *seq = read.seq + 1;
        let id = id.clone();
        let body = body.unwrap_or_else(|trouble| {
            wrong = Some(trouble);
            Body::Text(&read.body)
        });
        let damaged = wrong.map(|wrong| match wrong {
            Trouble::Damaged(what) => what,
            Trouble::Sql(error) => error.to_string(),
            Trouble::No(error) => error.to_string(),
        });
        let Read { id: event, seq, epoch, at, path, tool, .. } = read;
        self.put(&Line {
            event: *event,
            run: &id,
            record: *seq,
            epoch: *epoch,
            kind: name(read.kind),
            at: *at,
            path,
            tool,
            chain: hex(&read.chain),
            body,
            damaged,
        })
    }
}

/// Writes the records of one run, or all.
pub(crate) fn export(connection: &Connection, run: Option<&str>, out: &mut dyn Write) -> Fallible<()> {
    let transaction = connection.unchecked_transaction()?;
    let wanted = match run {
        Some(id) => {
            let key: Option<i64> = transaction.query_row("SELECT key FROM runs WHERE id = ?1", [id], |row| row.get(0)).optional()?;
            Some(key.ok_or_else(|| toolwright::JournalError::unknown_run(id))?)
        }
        None => None,
    };
    let mut exporting = Exporting { out, runs: HashMap::new(), values: HashMap::new(), said: 0 };
    let newest = format::newest_event(&transaction);
    let mut last = 0;
    while let Err(stopped) = forward(&transaction, &mut exporting, &mut last, wanted) {
        let Trouble::Sql(error) = stopped else { return Err(stopped) };
        // What lies on a damaged page is passed over, one by one, until something can be read again.
        exporting.damaged(Some(last + 1), &format!("the record after {last} cannot be read: {error}"))?;
        let until = newest.as_ref().map_or(last + UNREADABLE_MAX, |newest| *newest);
        let mut single = transaction.prepare(&format!("SELECT {COLUMNS} FROM events WHERE id = ?1"))?;
        let mut readable = None;
        for event in last + 1..=until.min(last + UNREADABLE_MAX) {
            match single.query_row([event], Read::of).optional() {
                Ok(Some(read)) => {
                    exporting.record(&transaction, &read, wanted)?;
                    readable = Some(event);
                    break;
                }
                Ok(None) => {}
                Err(error) => exporting.damaged(Some(event), &error)?,
            }
        }
        match readable {
            Some(event) => last = event,
            None => return exporting.damaged(None, &format!("no record after {last} can be read")),
        }
    }
    Ok(())
}

fn forward(connection: &Connection, exporting: &mut Exporting<'_>, last: &mut i64, wanted: Option<i64>) -> Fallible<()> {
    let whose = if wanted.is_some() { format!("run = ?3 AND id IN {OF_RUN}") } else { "id > ?2 AND ?3 IS NULL".to_owned() };
    let newest: Option<i64> = match wanted {
        Some(key) => Some(connection.query_row("SELECT last FROM runs WHERE key = ?1", [key], |row| row.get(0))?),
        None => None,
    };
    let mut statement = connection.prepare(&format!("SELECT {COLUMNS} FROM events WHERE {whose} ORDER BY id"))?;
    let mut rows = statement.query((newest, *last, wanted))?;
    while let Some(row) = rows.next()? {
        let read = Read::of(row)?;
        exporting.record(connection, &read, wanted)?;
        *last = read.id;
    }
    Ok(())
}
