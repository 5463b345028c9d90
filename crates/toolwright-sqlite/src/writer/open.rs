//! Claiming a run: making it, or opening it again under a new claim.

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use rusqlite::{OptionalExtension as _, params};
use toolwright::journal::{Claim, Claimed, FORMAT, JournalErrorKind, RunRecord, StepKey};
use toolwright::{JournalError, Text};

use super::apply::Transaction;
use crate::blob::Hash;
use crate::owner;
use crate::record::{self, First, KeptValues, Read, Row, kind};
use crate::run::{ClaimState, Grip, RunState, Seen, UNWRITTEN};
use crate::wire::{Fallible, Trouble};

/// What matters of a run that is opened again.
struct Past {
    first: First,
    newest: Claimed,
    places: Seen,
    ended: bool,
}

fn known_form(run: &RunRecord) -> Fallible<()> {
    if run.format <= FORMAT {
        return Ok(());
    }
    let reason = format!("run `{}` has format {}, and {FORMAT} is the newest known here", run.id, run.format);
    Err(JournalError::new(JournalErrorKind::Corrupt, reason).into())
}

impl Transaction<'_, '_> {
    pub(super) fn open(&mut self, run: &RunRecord, claim: &Claim, row: &Row) -> Fallible<Grip> {
        known_form(run)?;
        let found: Option<i64> = self.sql.find_run.query_row([run.id.as_str()], |row| row.get(0)).optional()?;
        match found {
            Some(key) => self.reopen(key, run, claim),
            None => self.make(run, claim, row).map(|key| self.grip(key, &run.id, 1, Seen::default())),
        }
    }

    /// Opens a run whose holder is at work already.
    pub(super) fn open_new(&mut self, run: &RunRecord, owner: &Claim, row: &Row, claim: &ClaimState) -> Fallible<()> {
        if let Some(error) = claim.poisoned() {
            return Err(error.clone().into());
        }
        known_form(run)?;
        let found: Option<i64> = self.sql.find_run.query_row([run.id.as_str()], |row| row.get(0)).optional()?;
        if found.is_some() {
            let reason = format!("there is a run `{}`, though its id was drawn for a new one", run.id);
            return Err(JournalError::new(JournalErrorKind::Diverged, reason).into());
        }
        let key = self.make(run, owner, row)?;
        self.states.insert(key, Arc::downgrade(&claim.run));
        claim.is_written_as(key);
        Ok(())
    }

    /// The transaction that opened it failed: the run is not there, and its key is nobody's.
    pub(super) fn is_undone(&mut self, claim: &ClaimState) {
        self.states.remove(&claim.key());
        claim.is_written_as(UNWRITTEN);
    }

    fn make(&mut self, run: &RunRecord, claim: &Claim, row: &Row) -> Fallible<i64> {
        let text = |text: &Option<Text>| text.as_ref().map(ToString::to_string);
        let key = self.sql.insert_run.insert(params![
            run.id.as_str(),
            run.tool.as_str(),
            record::moment(run.created),
            text(&run.session),
            text(&run.principal),
            claim.owner.as_str(),
            &record::START[..],
        ])?;
        self.insert_claim(key, 1, claim)?;
        self.is_new(key);
        self.insert(key, &run.id, row)?;
        Ok(key)
    }

    fn reopen(&mut self, key: i64, run: &RunRecord, claim: &Claim) -> Fallible<Grip> {
        self.settle_one(key)?;
        let past = self.past(key, &run.id)?;
        past.first.run.same_run(run)?;
        if !past.ended {
            let (handle, held) = self.holder(key, past.newest.epoch)?;
            let elsewhere = handle != self.handle && held && owner::is_alive(self.owners, &handle);
            if elsewhere || !claim.may_supersede(&past.newest.claim) {
                return Err(past.newest.claim.refused(&run.id).into());
            }
        }
        let epoch = past.newest.epoch + 1;
        let wide = i64::try_from(epoch).unwrap_or(i64::MAX);
        self.sql.reopen.execute(params![key, wide, claim.owner.as_str()])?;
        self.insert_claim(key, wide, claim)?;
        let known = self.known(key, &run.id)?;
        known.epoch = epoch;
        known.open = true;
        let row = record::claimed(&Claimed { epoch, claim: claim.clone() })?;
        self.insert(key, &run.id, &row)?;
        Ok(self.grip(key, &run.id, epoch, past.places))
    }

    fn insert_claim(&mut self, key: i64, epoch: i64, claim: &Claim) -> Fallible<()> {
        let text = serde_json::to_string(claim).map_err(|error| JournalError::unwritable(error.to_string()))?;
        self.sql.insert_claim.execute(params![key, epoch, self.handle, text])?;
        Ok(())
    }

    /// Reads a run, record by record, and looks whether each is as it was written.
    fn past(&mut self, key: i64, id: &str) -> Fallible<Past> {
        let (epoch, count, head, open, last) = {
            let known = self.known(key, id)?;
            (known.epoch, known.count, known.head, known.open, known.last)
        };
        let mut chain = record::START;
        let (mut first, mut newest, mut places, mut ended, mut seq) = (None, None, Seen::default(), false, 0);
        let blob = &mut self.sql.blob;
        let mut find = |hash: &Hash| Ok(blob.query_row([&hash[..]], |row| row.get(0)).optional()?);
        let mut values = KeptValues { find: Some(&mut find), known: HashMap::new() };
        let mut rows = self.sql.events.query([last, 0])?;
        while let Some(row) = rows.next()? {
            let read = Read::of(row)?;
            chain = record::follows(&read, id, seq, &chain)?;
            seq += 1;
            match read.kind {
                kind::RUN => {
                    let run = record::as_first(&read, &mut values)?;
                    newest = Some(Claimed { epoch: 1, claim: run.claim.clone() });
                    first = Some(run);
                }
                kind::CLAIMED => newest = Some(record::as_claimed(&read)?),
                kind::END => {}
                _ => _ = places.insert(&StepKey::written(read.path, read.tool)),
            }
            // As `RunHistory::end`: what came last of the two.
            ended = matches!(read.kind, kind::END) || (ended && read.kind != kind::CLAIMED);
        }
        match (first, newest) {
            (Some(first), Some(newest)) if seq == count && chain == head && newest.epoch == epoch && open != ended => {
                Ok(Past { first, newest, places, ended })
            }
            _ => Err(Trouble::Damaged(format!("run `{id}` has {seq} records of {count}, or its row is not what was written"))),
        }
    }

    fn grip(&mut self, key: i64, id: &Text, epoch: u64, seen: Seen) -> Grip {
        let state = self.states.get(&key).and_then(Weak::upgrade).unwrap_or_else(|| {
            let state = RunState::new(epoch);
            self.states.insert(key, Arc::downgrade(&state));
            state
        });
        Grip::new(ClaimState::new(key, id.clone(), epoch, state, seen), self.queue.clone())
    }
}
