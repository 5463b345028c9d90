//! One record as a row: its kind and class for those who look at columns, its body for those who read it, and the hash
//! that ties it to the one before.

use std::collections::HashMap;
use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use toolwright::approval::{Answered, Asked, Outcome};
use toolwright::journal::{Begin, Claim, Claimed, End, Finish, Record, Resolution, Resolved, RunRecord, StepKey, Verdict};
use toolwright::{EffectState, Impact, JournalError, Timestamp, Value};

use crate::blob::{self, Blob, Cutter, Hash, Joiner, Known};
use crate::wire::{Fallible, Trouble};

/// What a record is. Numbers that are written are never given another meaning.
pub(crate) mod kind {
    pub(crate) const RUN: u8 = 0;
    pub(crate) const CLAIMED: u8 = 1;
    pub(crate) const BEGIN: u8 = 2;
    pub(crate) const FINISH: u8 = 3;
    pub(crate) const RESOLVED: u8 = 4;
    pub(crate) const ABANDONED: u8 = 5;
    pub(crate) const END: u8 = 6;
    pub(crate) const ASKED: u8 = 7;
    pub(crate) const ANSWERED: u8 = 8;
}

/// What a record says about its call, by kind.
pub(crate) mod class {
    pub(crate) const PLAIN: u8 = 0;
    /// An intent that may not be repeated unseen.
    pub(crate) const BEGIN_ONCE: u8 = 1;
    pub(crate) const FINISH_OK: u8 = 0;
    /// Failed: not started, or nothing changed.
    pub(crate) const FINISH_NOTHING: u8 = 1;
    /// Failed: the tool answered with an error.
    pub(crate) const FINISH_ANSWERED: u8 = 2;
    pub(crate) const FINISH_UNKNOWN: u8 = 3;
    pub(crate) const FINISH_HAPPENED: u8 = 4;
    pub(crate) const SAID_HAPPENED: u8 = 0;
    pub(crate) const SAID_NOT: u8 = 1;
    pub(crate) const END_OK: u8 = 0;
    pub(crate) const END_FAILED: u8 = 1;
    pub(crate) const SAID_YES: u8 = 0;
    pub(crate) const SAID_NO: u8 = 1;
    pub(crate) const SAID_NOBODY: u8 = 2;
    pub(crate) const SAID_EXPIRED: u8 = 3;
    pub(crate) const SAID_WITHDRAWN: u8 = 4;
}

/// The first record of a run.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct First {
    pub(crate) run: RunRecord,
    pub(crate) claim: Claim,
}

/// A record that is ready to be written.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) kind: u8,
    pub(crate) class: u8,
    pub(crate) at: Option<i64>,
    pub(crate) path: String,
    pub(crate) tool: String,
    pub(crate) body: String,
    pub(crate) parts: Vec<Arc<Blob>>,
}

impl Row {
    pub(crate) fn bytes(&self) -> usize {
        size_of::<Self>() + self.path.len() + self.tool.len() + self.body.len()
    }
}

/// A moment in a column: nanoseconds since 1970. What is beyond the column's end is its end; the body has it all.
pub(crate) fn moment(at: Option<Timestamp>) -> Option<i64> {
    at.map(|at| i64::try_from(at.0).unwrap_or(i64::MAX))
}

/// Bytes that most records have room in.
const PRINTED_BYTES: usize = 512;

fn printed(body: &impl Serialize) -> Fallible<String> {
    let unprintable = |error: &dyn std::fmt::Display| JournalError::unwritable(format!("a record cannot be printed: {error}"));
    let mut text = Vec::with_capacity(PRINTED_BYTES);
    serde_json::to_writer(&mut text, body).map_err(|error| unprintable(&error))?;
    Ok(String::from_utf8(text).map_err(|error| unprintable(&error))?)
}

/// The values of a record that may be kept by content.
trait Values: Clone {
    fn each(&mut self, change: &mut dyn FnMut(&mut Value) -> Fallible<()>) -> Fallible<()>;
}

impl Values for First {
    fn each(&mut self, change: &mut dyn FnMut(&mut Value) -> Fallible<()>) -> Fallible<()> {
        change(&mut self.run.input)
    }
}

impl Clone for First {
    fn clone(&self) -> Self {
        Self { run: self.run.clone(), claim: self.claim.clone() }
    }
}

impl Values for Begin {
    fn each(&mut self, change: &mut dyn FnMut(&mut Value) -> Fallible<()>) -> Fallible<()> {
        change(&mut self.input)?;
        let Some(more) = &mut self.more else { return Ok(()) };
        more.spec.iter_mut().chain(&mut more.checkpoint).try_for_each(&mut *change)?;
        more.tools.iter_mut().filter_map(|tool| tool.spec.as_mut()).try_for_each(change)
    }
}

impl Values for Finish {
    fn each(&mut self, change: &mut dyn FnMut(&mut Value) -> Fallible<()>) -> Fallible<()> {
        match &mut self.outcome {
            Ok(output) => output.iter_mut().try_for_each(&mut *change)?,
            Err(failure) => failure.details.iter_mut().try_for_each(&mut *change)?,
        }
        let Some(more) = &mut self.more else { return Ok(()) };
        more.content.iter_mut().chain(&mut more.details).chain(&mut more.receipt).try_for_each(change)
    }
}

impl Values for Resolved {
    fn each(&mut self, change: &mut dyn FnMut(&mut Value) -> Fallible<()>) -> Fallible<()> {
        let Resolution { verdict, evidence, .. } = &mut self.resolution;
        if let Verdict::Happened(Some(output)) = verdict {
            change(output)?;
        }
        evidence.iter_mut().try_for_each(change)
    }
}

impl Values for Asked {
    fn each(&mut self, change: &mut dyn FnMut(&mut Value) -> Fallible<()>) -> Fallible<()> {
        change(&mut self.request.arguments)?;
        self.request.covers.iter_mut().try_for_each(|covered| change(&mut covered.arguments))
    }
}

/// Prints a record, with its large values cut out.
fn body<T: Values + Serialize>(mut record: T, known: &std::sync::Mutex<Known>) -> Fallible<(String, Vec<Arc<Blob>>)> {
    let mut large = false;
    record.each(&mut |value| {
        large |= blob::is_large(value) && value.depth() <= toolwright::limits::VALUE_DEPTH_MAX;
        Ok(())
    })?;
    if !large {
        return Ok((printed(&record)?, Vec::new()));
    }
    let mut known = known.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let mut cutter = Cutter::new(&mut known);
    record.each(&mut |value| {
        *value = cutter.cut(value);
        Ok(())
    })?;
    let parts = cutter.parts;
    Ok((printed(&record)?, parts))
}

pub(crate) type Cut<'a> = &'a std::sync::Mutex<Known>;

pub(crate) fn first(run: &RunRecord, claim: &Claim, cut: Cut<'_>) -> Fallible<Row> {
    let (body, parts) = body(First { run: run.clone(), claim: claim.clone() }, cut)?;
    let at = moment(run.created);
    Ok(Row { kind: kind::RUN, class: class::PLAIN, at, path: String::new(), tool: run.tool.to_string(), body, parts })
}

pub(crate) fn claimed(claimed: &Claimed) -> Fallible<Row> {
    let body = printed(claimed)?;
    let at = moment(claimed.claim.at);
    Ok(Row { kind: kind::CLAIMED, class: class::PLAIN, at, path: String::new(), tool: String::new(), body, parts: Vec::new() })
}

/// Whether a call may run a second time without anybody having looked, or was made by another run, which knows of it.
pub(crate) fn may_repeat(begin: &Begin) -> bool {
    begin.composite || begin.forked().is_some() || begin.impact.is_some_and(|impact| impact < Impact::Once)
}

/// Whether the intent of a call must be on the disk before it runs. One that another run made does not run.
pub(crate) fn has_effect(begin: &Begin) -> bool {
    !begin.composite && begin.forked().is_none() && begin.impact != Some(Impact::None)
}

fn of_call(kind: u8, class: u8, at: Option<Timestamp>, key: &StepKey, (body, parts): (String, Vec<Arc<Blob>>)) -> Row {
    Row { kind, class, at: moment(at), path: key.path(), tool: key.tool().to_owned(), body, parts }
}

pub(crate) fn begin(begin: Begin, cut: Cut<'_>) -> Fallible<Row> {
    let class = if may_repeat(&begin) { class::PLAIN } else { class::BEGIN_ONCE };
    let (at, key) = (begin.at, begin.key.clone());
    Ok(of_call(kind::BEGIN, class, at, &key, body(begin, cut)?))
}

pub(crate) fn finish(finish: Finish, cut: Cut<'_>) -> Fallible<Row> {
    let class = match (&finish.outcome, finish.state) {
        (Ok(_), _) => class::FINISH_OK,
        (Err(_), EffectState::NotStarted | EffectState::NoEffect) => class::FINISH_NOTHING,
        (Err(_), EffectState::Happened) => class::FINISH_HAPPENED,
        (Err(failure), EffectState::Unknown) if failure.answered => class::FINISH_ANSWERED,
        (Err(_), EffectState::Unknown) => class::FINISH_UNKNOWN,
    };
    let (at, key) = (finish.at, finish.key.clone());
    Ok(of_call(kind::FINISH, class, at, &key, body(finish, cut)?))
}

pub(crate) fn resolved(resolved: Resolved, cut: Cut<'_>) -> Fallible<Row> {
    let class = if matches!(resolved.resolution.verdict, Verdict::Happened(_)) { class::SAID_HAPPENED } else { class::SAID_NOT };
    let (at, key) = (resolved.resolution.at, resolved.key.clone());
    Ok(of_call(kind::RESOLVED, class, at, &key, body(resolved, cut)?))
}

pub(crate) fn asked(asked: Asked, cut: Cut<'_>) -> Fallible<Row> {
    let (at, key) = (asked.request.asked, asked.key.clone());
    Ok(of_call(kind::ASKED, class::PLAIN, at, &key, body(asked, cut)?))
}

pub(crate) fn answered(answered: &Answered) -> Fallible<Row> {
    let class = match answered.outcome {
        Outcome::Yes => class::SAID_YES,
        Outcome::No => class::SAID_NO,
        Outcome::Nobody => class::SAID_NOBODY,
        Outcome::Expired => class::SAID_EXPIRED,
        Outcome::Withdrawn => class::SAID_WITHDRAWN,
        other => return Err(JournalError::unwritable(format!("an answer `{}` has no form here", other.as_str())).into()),
    };
    let (at, body) = (moment(answered.at), printed(answered)?);
    Ok(Row { kind: kind::ANSWERED, class, at, path: String::new(), tool: String::new(), body, parts: Vec::new() })
}

pub(crate) fn abandoned(key: &StepKey) -> Fallible<Row> {
    Ok(of_call(kind::ABANDONED, class::PLAIN, None, key, (printed(key)?, Vec::new())))
}

pub(crate) fn end(end: &End) -> Fallible<Row> {
    let class = if end.ok { class::END_OK } else { class::END_FAILED };
    let body = printed(end)?;
    Ok(Row { kind: kind::END, class, at: moment(end.at), path: String::new(), tool: String::new(), body, parts: Vec::new() })
}

/// A record as it was read.
#[derive(Debug)]
pub(crate) struct Read {
    pub(crate) id: i64,
    pub(crate) run: i64,
    pub(crate) seq: i64,
    pub(crate) epoch: i64,
    pub(crate) kind: u8,
    pub(crate) class: u8,
    pub(crate) at: Option<i64>,
    pub(crate) path: String,
    pub(crate) tool: String,
    pub(crate) parts: i64,
    pub(crate) chain: Vec<u8>,
    pub(crate) body: String,
}

/// The columns of [`Read`], in its order.
pub(crate) const COLUMNS: &str = "id, run, seq, epoch, kind, class, at, path, tool, parts, chain, body";

impl Read {
    pub(crate) fn of(row: &rusqlite::Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            id: row.get(0)?,
            run: row.get(1)?,
            seq: row.get(2)?,
            epoch: row.get(3)?,
            kind: row.get(4)?,
            class: row.get(5)?,
            at: row.get(6)?,
            path: row.get(7)?,
            tool: row.get(8)?,
            parts: row.get(9)?,
            chain: row.get(10)?,
            body: row.get(11)?,
        })
    }

    pub(crate) fn chained(&self, before: &Hash) -> Hash {
        let columns = Columns {
            seq: self.seq,
            epoch: self.epoch,
            kind: self.kind,
            class: self.class,
            at: self.at,
            parts: self.parts,
            path: &self.path,
            tool: &self.tool,
        };
        chain(before, &columns, &self.body)
    }
}

/// What the chain covers beside the body.
pub(crate) struct Columns<'a> {
    pub(crate) seq: i64,
    pub(crate) epoch: i64,
    pub(crate) kind: u8,
    pub(crate) class: u8,
    pub(crate) at: Option<i64>,
    pub(crate) parts: i64,
    pub(crate) path: &'a str,
    pub(crate) tool: &'a str,
}

/// The hash before a run's first record.
pub(crate) const START: Hash = [0; 32];

pub(crate) fn chain(before: &Hash, columns: &Columns<'_>, body: &str) -> Hash {
    let mut fixed = [0_u8; 32 + 8 * 5 + 3];
    let numbers = [columns.seq, columns.epoch, columns.at.unwrap_or_default(), columns.parts, length(columns.path)];
    let (hash, rest) = fixed.split_at_mut(32);
    hash.copy_from_slice(before);
    let (wide, narrow) = rest.split_at_mut(8 * 5);
    for (place, number) in wide.chunks_exact_mut(8).zip(numbers) {
        place.copy_from_slice(&number.to_le_bytes());
    }
    narrow.copy_from_slice(&[columns.kind, columns.class, u8::from(columns.at.is_some())]);
    let mut hasher = Sha256::new();
    hasher.update(fixed);
    hasher.update(columns.path.as_bytes());
    hasher.update(length(columns.tool).to_le_bytes());
    hasher.update(columns.tool.as_bytes());
    hasher.update(body.as_bytes());
    hasher.finalize().into()
}

fn length(text: &str) -> i64 {
    i64::try_from(text.len()).unwrap_or(i64::MAX)
}

/// Gives the text of a kept value.
pub(crate) type Find<'a> = &'a mut dyn FnMut(&Hash) -> Fallible<Option<String>>;

/// Finds kept values while records are read; each is read once. Without a way to find them, they stay cut out.
pub(crate) struct KeptValues<'a> {
    pub(crate) find: Option<Find<'a>>,
    pub(crate) known: HashMap<Hash, Value>,
}

impl KeptValues<'_> {
    fn join<T: Values>(&mut self, mut record: T, parts: i64) -> Fallible<T> {
        if parts > 0
            && let Some(find) = &mut self.find
        {
            let mut joiner = Joiner::new(&mut **find, &mut self.known);
            record.each(&mut |value| {
                *value = joiner.join(value)?;
                Ok(())
            })?;
        }
        Ok(record)
    }
}

/// By way of a value: other readers of JSON write some numbers in another way.
fn parsed<T: DeserializeOwned>(read: &Read) -> Fallible<T> {
    let damaged = |error: &dyn std::fmt::Display| Trouble::Damaged(format!("record {} of the run cannot be read: {error}", read.seq));
    let value = Value::parse(&read.body).map_err(|error| damaged(&error))?;
    value.deserialize().map_err(|error| damaged(&error))
}

/// The first record of a run.
pub(crate) fn as_first(read: &Read, values: &mut KeptValues<'_>) -> Fallible<First> {
    values.join(parsed::<First>(read)?, read.parts)
}

/// Any other record.
pub(crate) fn as_record(read: &Read, values: &mut KeptValues<'_>) -> Fallible<Record> {
    Ok(match read.kind {
        kind::CLAIMED => Record::Claimed(parsed(read)?),
        kind::BEGIN => Record::Begin(values.join(parsed(read)?, read.parts)?),
        kind::FINISH => Record::Finish(values.join(parsed(read)?, read.parts)?),
        kind::RESOLVED => Record::Resolved(values.join(parsed(read)?, read.parts)?),
        kind::ABANDONED => Record::Abandoned(parsed(read)?),
        kind::END => Record::End(parsed(read)?),
        kind::ASKED => Record::Asked(Box::new(values.join(parsed(read)?, read.parts)?)),
        kind::ANSWERED => Record::Answered(parsed(read)?),
        other => return Err(Trouble::Damaged(format!("record {} of the run is of a kind {other} that is not known", read.seq))),
    })
}

/// A claim that was granted.
pub(crate) fn as_claimed(read: &Read) -> Fallible<Claimed> {
    parsed(read)
}

/// The chain after a record that should be the `seq`th of its run.
pub(crate) fn follows(read: &Read, run: &str, seq: i64, before: &Hash) -> Fallible<Hash> {
    let chain = read.chained(before);
    if read.seq != seq {
        return Err(Trouble::Damaged(format!("record {seq} of run `{run}` is not there: the next is {}", read.seq)));
    }
    if read.chain != chain {
        return Err(Trouble::Damaged(format!("record {seq} of run `{run}` (event {}) is not what was written", read.id)));
    }
    Ok(chain)
}
