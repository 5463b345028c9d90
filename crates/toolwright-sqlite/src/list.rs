//! Runs in short, and how each stands: from columns, without reading what was written in them.

use std::collections::HashMap;
use std::path::Path;

use rusqlite::{Connection, Statement};
use toolwright::journal::StepKey;
use toolwright::{Text, Timestamp};

use crate::format::OF_RUN;
use crate::owner;
use crate::record::{class, kind, moment};
use crate::view::{Open, Question, RunFilter, RunStatus, RunSummary};
use crate::wire::Fallible;

const RUNS: &str = "SELECT last, id, tool, code, created, ended, runs.epoch, owner, begun, principal, session, open,
    ifnull(handle, ''), ifnull(held, 0)
    FROM runs LEFT JOIN claims ON claims.run = runs.key AND claims.epoch = runs.epoch
    WHERE (?1 IS NULL OR tool = ?1) AND (?2 IS NULL OR created >= ?2) AND (?3 IS NULL OR id = ?3) ORDER BY runs.key DESC";
const CALLS: &str = "SELECT epoch, kind, class, at, path, tool, CASE WHEN kind > 6 THEN body END
    FROM events WHERE kind >= 2 AND kind <> 6 AND id IN";

fn time(at: Option<i64>) -> Option<Timestamp> {
    at.map(|at| Timestamp(at.unsigned_abs()))
}

/// The runs that the filter wants, the newest first.
pub(crate) fn runs(connection: &Connection, owners: &Path, filter: &RunFilter) -> Fallible<Vec<RunSummary>> {
    let transaction = connection.unchecked_transaction()?;
    let mut statement = transaction.prepare(RUNS)?;
    let mut calls = transaction.prepare(&format!("{CALLS} {OF_RUN} ORDER BY id"))?;
    let text = |text: &Option<Text>| text.as_ref().map(ToString::to_string);
    let mut rows = statement.query((text(&filter.tool), moment(filter.since), text(&filter.id)))?;
    let mut alive: HashMap<String, bool> = HashMap::new();
    let mut found = Vec::new();
    let wanted = |status| filter.statuses.is_empty() || filter.statuses.contains(&status);
    while let Some(row) = rows.next()? {
        if filter.newest.is_some_and(|newest| found.len() >= newest) {
            break;
        }
        let (last, open): (i64, bool) = (row.get(0)?, row.get(11)?);
        let (handle, held): (String, bool) = (row.get(12)?, row.get(13)?);
        let text = |at: usize| row.get::<_, Option<String>>(at).map(|text| text.map(Text::from));
        let mut run = RunSummary {
            id: row.get::<_, String>(1)?.into(),
            tool: row.get::<_, String>(2)?.into(),
            status: RunStatus::Succeeded,
            code: text(3)?,
            created: time(row.get(4)?),
            ended: time(row.get(5)?),
            epoch: row.get::<_, i64>(6)?.unsigned_abs(),
            owner: row.get::<_, String>(7)?.into(),
            begun: row.get::<_, i64>(8)?.unsigned_abs(),
            waits: Vec::new(),
            asks: Vec::new(),
            principal: text(9)?,
            session: text(10)?,
        };
        let at_work = open && held && *alive.entry(handle).or_insert_with_key(|handle| owner::is_alive(owners, handle));
        let plain = match (open, at_work, &run.code) {
            (true, true, _) => RunStatus::Running,
            (true, false, _) => RunStatus::Interrupted,
            (false, _, Some(_)) => RunStatus::Failed,
            (false, _, None) => RunStatus::Succeeded,
        };
        let may_doubt = matches!(plain, RunStatus::Interrupted | RunStatus::Failed);
        let may_wait = plain == RunStatus::Interrupted;
        if wanted(plain) || (may_doubt && wanted(RunStatus::InDoubt)) || (may_wait && wanted(RunStatus::Waiting)) {
            if plain != RunStatus::Succeeded {
                (run.waits, run.asks) = waits(&mut calls, last, at_work.then_some(run.epoch))?;
            }
            if !open {
                run.asks = Vec::new();
            }
            run.status = match plain {
                _ if may_doubt && !run.waits.is_empty() => RunStatus::InDoubt,
                RunStatus::Interrupted if !run.asks.is_empty() => RunStatus::Waiting,
                plain => plain,
            };
            if wanted(run.status) {
                found.push(run);
            }
        }
    }
    Ok(found)
}

/// The part of a question that says which it is.
#[derive(serde::Deserialize)]
struct Named {
    id: String,
}

#[derive(serde::Deserialize)]
struct Shown {
    request: Named,
}

/// Takes in a question, or takes out the one that was answered.
fn note(questions: &mut Vec<Question>, asks: bool, row: &rusqlite::Row<'_>) -> Fallible<()> {
    let body: String = row.get(6)?;
    if !asks {
        if let Ok(answered) = serde_json::from_str::<Named>(&body) {
            questions.retain(|question| question.id.as_str() != answered.id);
        }
    } else if let Ok(shown) = serde_json::from_str::<Shown>(&body) {
        let (path, tool): (String, String) = (row.get(4)?, row.get(5)?);
        questions.push(Question { id: shown.request.id.into(), path: path.into(), tool: tool.into(), since: time(row.get(3)?) });
    }
    Ok(())
}

/// Whether a call of the run that ends with this record is in doubt.
pub(crate) fn is_in_doubt(connection: &Connection, last: i64) -> Fallible<bool> {
    let mut calls = connection.prepare(&format!("{CALLS} {OF_RUN} ORDER BY id"))?;
    Ok(!waits(&mut calls, last, None)?.0.is_empty())
}

/// One call that may not be repeated unseen, as far as its records were read.
struct Call {
    path: String,
    tool: String,
    since: Option<i64>,
    epoch: u64,
    doubt: bool,
    said_happened: bool,
    /// Its last attempt has no end.
    begun: bool,
}

/// The calls of a run that are in doubt, by the rules of [`toolwright::journal::admit`]. Those that began under the claim
/// that is at work now are at work themselves. Beside them, the questions that nobody answered.
fn waits(calls: &mut Statement<'_>, last: i64, at_work: Option<u64>) -> Fallible<(Vec<Open>, Vec<Question>)> {
    let mut questions = Vec::new();
    let mut found: Vec<Call> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    let mut rows = calls.query([last, 0])?;
    while let Some(row) = rows.next()? {
        let (what, says): (u8, u8) = (row.get(1)?, row.get(2)?);
        if matches!(what, kind::ASKED | kind::ANSWERED) {
            note(&mut questions, what == kind::ASKED, row)?;
            continue;
        }
        let begins_once = what == kind::BEGIN && says == class::BEGIN_ONCE;
        // Most runs have no such call, and then nothing need be told apart.
        if !begins_once && places.is_empty() {
            continue;
        }
        let (path, tool): (String, String) = (row.get(4)?, row.get(5)?);
        let place = StepKey::written(path.as_str(), tool.as_str()).place();
        if what == kind::BEGIN {
            let call = Call {
                path,
                tool,
                since: row.get(3)?,
                epoch: row.get::<_, i64>(0)?.unsigned_abs(),
                doubt: begins_once,
                said_happened: false,
                begun: true,
            };
            match places.get(&place).and_then(|at| found.get_mut(*at)) {
                Some(there) => *there = call,
                None if begins_once => {
                    places.insert(place, found.len());
                    found.push(call);
                }
                None => {}
            }
        } else if let Some(call) = places.get(&place).and_then(|at| found.get_mut(*at)) {
            match (what, says) {
                (kind::RESOLVED, _) => (call.doubt, call.said_happened, call.begun) = (false, says == class::SAID_HAPPENED, false),
                (kind::FINISH, class::FINISH_OK) => (call.doubt, call.said_happened, call.begun) = (false, false, false),
                (kind::FINISH, _) if call.said_happened => {}
                // What may be repeated never becomes doubtful by failing.
                (kind::FINISH, _) => (call.doubt, call.begun) = (call.doubt && says == class::FINISH_UNKNOWN, false),
                (kind::ABANDONED, _) => call.begun = false,
                _ => {}
            }
        }
    }
    let doubtful = found.into_iter().filter(|call| call.doubt && !(call.begun && Some(call.epoch) == at_work));
    let doubtful = doubtful.map(|call| Open { path: call.path.into(), tool: call.tool.into(), since: time(call.since) });
    Ok((doubtful.collect(), questions))
}

/// Ids of the newest runs that begin so.
pub(crate) fn ids(connection: &Connection, prefix: &str, newest: usize) -> Fallible<Vec<Text>> {
    let mut statement = connection.prepare("SELECT id FROM runs ORDER BY key DESC")?;
    let ids = statement.query_map([], |row| row.get::<_, String>(0))?;
    let like = ids.filter(|id| id.as_ref().map_or(true, |id| id.starts_with(prefix)));
    Ok(like.take(newest).map(|id| id.map(Text::from)).collect::<rusqlite::Result<_>>()?)
}

/// Questions by the beginning of their ids, with their runs, the newest first.
pub(crate) fn questions(connection: &Connection, prefix: &str, newest: usize, open: bool) -> Fallible<Vec<(Text, Question)>> {
    let transaction = connection.unchecked_transaction()?;
    let mut statement = transaction.prepare(
        "SELECT runs.id, at, path, events.tool, body, last FROM events JOIN runs ON runs.key = events.run
         WHERE kind = 7 AND (?1 = 0 OR open = 1) ORDER BY events.id DESC",
    )?;
    let mut calls = transaction.prepare(&format!("{CALLS} {OF_RUN} ORDER BY id"))?;
    let mut rows = statement.query([open])?;
    let mut unanswered: HashMap<String, Vec<Question>> = HashMap::new();
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        if found.len() >= newest {
            break;
        }
        let (run, body, last): (String, String, i64) = (row.get(0)?, row.get(4)?, row.get(5)?);
        let Ok(shown) = serde_json::from_str::<Shown>(&body) else { continue };
        let (id, (path, tool)): (Text, (String, String)) = (shown.request.id.into(), (row.get(2)?, row.get(3)?));
        if !id.starts_with(prefix) {
            continue;
        }
        if open {
            if !unanswered.contains_key(&run) {
                unanswered.insert(run.clone(), waits(&mut calls, last, None)?.1);
            }
            if unanswered.get(&run).is_none_or(|there| there.iter().all(|question| question.id != id)) {
                continue;
            }
        }
        found.push((run.into(), Question { id, path: path.into(), tool: tool.into(), since: time(row.get(1)?) }));
    }
    Ok(found)
}
