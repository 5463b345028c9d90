//! A journal over text alone, as a host would write one over its own store: nothing is kept but what was written
//! out, and every answer is read in again. It passes the same suite.

use std::sync::{Arc, Mutex};

use toolwright::approval::{Answered, Approval, Asked, answer_fits};
use toolwright::journal::{
    Admission, Begin, Claim, Claimed, End, Entry, Finish, JournalErrorKind, Record, Resolution, Resolved, RunHistory, RunJournal,
    RunRecord, StepKey, admit, answerable,
};
use toolwright::testing::journal_conformance_with;
use toolwright::{Eventually, Journal, JournalError, Text, Value};

use crate::world::block_on;

/// One line: a record, and beside it the value that may nest deeper than a reader of whole records takes.
type Line = (String, String);

#[derive(Clone, Default)]
struct Store(Arc<Mutex<Vec<StoredRun>>>);

#[derive(Clone)]
struct StoredRun {
    id: String,
    head: Line,
    claimed: String,
    lines: Vec<Line>,
}

struct Open {
    store: Store,
    id: String,
    epoch: u64,
}

type Soon<'a, T> = Eventually<'a, Result<T, JournalError>>;

fn corrupt(error: impl std::fmt::Display) -> JournalError {
    JournalError::new(JournalErrorKind::Corrupt, error.to_string())
}

fn write<T: serde::Serialize>(data: &T, value: Option<&Value>) -> Line {
    (serde_json::to_string(data).unwrap(), value.map(Value::to_json_string).unwrap_or_default())
}

fn read<T: serde::de::DeserializeOwned>(text: &str) -> Result<T, JournalError> {
    serde_json::from_str(text).map_err(corrupt)
}

fn value(text: &str) -> Result<Value, JournalError> {
    text.parse().map_err(corrupt)
}

fn write_record(record: Record) -> Line {
    match record {
        Record::Begin(mut begin) => {
            let input = std::mem::take(&mut begin.input);
            write(&Record::Begin(begin), Some(&input))
        }
        Record::Finish(mut finish) => match &mut finish.outcome {
            Ok(Some(output)) => {
                let output = std::mem::take(output);
                write(&Record::Finish(finish), Some(&output))
            }
            _ => write(&Record::Finish(finish), None),
        },
        other => write(&other, None),
    }
}

fn read_record((line, beside): &Line) -> Result<Record, JournalError> {
    let mut record: Record = read(line)?;
    match &mut record {
        Record::Begin(begin) => begin.input = value(beside)?,
        Record::Finish(Finish { outcome: Ok(Some(output)), .. }) => *output = value(beside)?,
        _ => {}
    }
    Ok(record)
}

impl StoredRun {
    fn history(&self) -> Result<RunHistory, JournalError> {
        let mut head: RunRecord = read(&self.head.0)?;
        head.input = value(&self.head.1)?;
        Ok(RunHistory::new(head, read(&self.claimed)?, self.lines.iter().map(read_record).collect::<Result<_, _>>()?))
    }

    fn answer(&mut self, answered: Answered) -> Result<(), JournalError> {
        answer_fits(&self.history()?.approvals(), &answered)?;
        self.lines.push(write_record(Record::Answered(answered)));
        Ok(())
    }

    fn resolve(&mut self, path: &str, resolution: Resolution) -> Result<(), JournalError> {
        let history = self.history()?;
        let begun = history.records.iter().filter_map(Record::key).find(|key| key.path() == path);
        let key = begun.cloned().unwrap_or_else(|| StepKey::written(path, ""));
        let place = key.place();
        let own: Vec<&Record> = at_place(&history, &place).collect();
        if answerable(own.iter().filter_map(|record| record.entry()), &key, &resolution)? {
            self.lines.push(write_record(Record::Resolved(Resolved { key, resolution })));
        }
        Ok(())
    }
}

fn at_place<'a>(history: &'a RunHistory, place: &'a str) -> impl Iterator<Item = &'a Record> {
    history.records.iter().filter(move |record| record.key().is_some_and(|key| key.place() == place))
}

fn entries<'a>(history: &'a RunHistory, place: &'a str) -> impl Iterator<Item = Entry<'a>> {
    at_place(history, place).filter_map(Record::entry)
}

/// An answer that takes a while.
fn later<T: Send + 'static>(result: T) -> Eventually<'static, T> {
    Eventually::Later(Box::pin(async move {
        tokio::task::yield_now().await;
        result
    }))
}

impl Store {
    fn open_now(&self, run: RunRecord, claim: Claim) -> Result<Arc<dyn RunJournal>, JournalError> {
        let mut runs = self.0.lock().unwrap();
        let open = |epoch| Arc::new(Open { store: self.clone(), id: run.id.to_string(), epoch }) as Arc<dyn RunJournal>;
        let Some(there) = runs.iter_mut().find(|there| there.id == run.id.as_str()) else {
            let opened = open(1);
            let claimed = serde_json::to_string(&Claimed { epoch: 1, claim }).unwrap();
            let id = run.id.to_string();
            let mut head = run;
            let input = std::mem::take(&mut head.input);
            runs.push(StoredRun { id, head: write(&head, Some(&input)), claimed, lines: Vec::new() });
            return Ok(opened);
        };
        let history = there.history()?;
        history.run.same_run(&run)?;
        let held = &history.claimed.claim;
        if history.end().is_none() && !claim.may_supersede(held) {
            return Err(held.refused(&run.id));
        }
        let claimed = Claimed { epoch: history.claimed.epoch + 1, claim };
        there.claimed = serde_json::to_string(&claimed).unwrap();
        let epoch = claimed.epoch;
        there.lines.push(write_record(Record::Claimed(claimed)));
        Ok(open(epoch))
    }

    fn change<T>(&self, id: &str, change: impl FnOnce(&mut StoredRun) -> Result<T, JournalError>) -> Result<T, JournalError> {
        let mut runs = self.0.lock().unwrap();
        change(runs.iter_mut().find(|run| run.id == id).ok_or_else(|| JournalError::unknown_run(id))?)
    }
}

impl Journal for Store {
    fn open(&self, run: RunRecord, claim: Claim) -> Soon<'_, Arc<dyn RunJournal>> {
        later(self.open_now(run, claim))
    }

    fn load(&self, run: &str) -> Soon<'_, Option<RunHistory>> {
        let runs = self.0.lock().unwrap();
        later(runs.iter().find(|there| there.id == run).map(StoredRun::history).transpose())
    }

    fn resolve(&self, run: &str, path: &str, resolution: Resolution) -> Soon<'_, ()> {
        later(self.change(run, |run| run.resolve(path, resolution)))
    }

    fn answer(&self, run: &str, answered: Answered) -> Soon<'_, ()> {
        later(self.change(run, |run| run.answer(answered)))
    }

    fn unfinished(&self) -> Soon<'_, Vec<Text>> {
        let histories: Result<Vec<_>, _> = self.0.lock().unwrap().iter().map(StoredRun::history).collect();
        later(histories.map(|all| all.into_iter().filter(|run| run.end().is_none()).map(|run| run.run.id).collect()))
    }
}

impl Open {
    fn change<T>(&self, change: impl FnOnce(&mut StoredRun) -> Result<T, JournalError>) -> Result<T, JournalError> {
        self.store.change(&self.id, |run| {
            let newest: Claimed = read(&run.claimed)?;
            if newest.epoch == self.epoch { change(run) } else { Err(JournalError::fenced(&self.id, self.epoch, newest.epoch)) }
        })
    }

    fn push(&self, record: Record) -> Result<(), JournalError> {
        self.change(|run| {
            run.lines.push(write_record(record));
            Ok(())
        })
    }
}

impl RunJournal for Open {
    fn begin(&self, record: Begin) -> Soon<'_, Admission> {
        later(self.change(|run| {
            let admission = admit(entries(&run.history()?, &record.key.place()), &record);
            if matches!(admission, Admission::Proceed { .. }) {
                run.lines.push(write_record(Record::Begin(record)));
            }
            Ok(admission)
        }))
    }

    fn finish(&self, record: Finish) -> Soon<'_, ()> {
        later(self.push(Record::Finish(record)))
    }

    fn resolve(&self, key: &StepKey, resolution: Resolution) -> Soon<'_, ()> {
        later(self.change(|run| run.resolve(&key.path(), resolution)))
    }

    fn approvals(&self) -> Soon<'_, Vec<Approval>> {
        later(self.change(|run| Ok(run.history()?.approvals())))
    }

    fn ask(&self, asked: Asked) -> Soon<'_, ()> {
        later(self.push(Record::Asked(Box::new(asked))))
    }

    fn answer(&self, answered: Answered) -> Soon<'_, ()> {
        later(self.change(|run| run.answer(answered)))
    }

    fn abandoned(&self, key: &StepKey) {
        let _ = self.push(Record::Abandoned(key.clone()));
    }

    fn end(&self, end: End) -> Soon<'_, ()> {
        later(self.push(Record::End(end)))
    }

    fn epoch(&self) -> u64 {
        self.epoch
    }
}

#[test]
fn a_journal_of_text_keeps_the_rules() {
    let reload = |store: Store| Store(Arc::new(Mutex::new(store.0.lock().unwrap().clone())));
    for result in block_on(journal_conformance_with(Store::default, reload)) {
        assert_eq!(result.outcome, Ok(()), "{}", result.name);
    }
}
