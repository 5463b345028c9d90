//! Histories of one call that must not happen twice: every short one, and long ones at random. A small model says
//! what may have happened; a call is admitted only while nothing can have.

use super::*;
use crate::journal::End;

/// All histories up to this length are tried.
const SHORT_LEN_MAX: u32 = 3;
/// So many longer ones.
const LONG_COUNT: u64 = 200;
/// Their length.
const LONG_LEN: usize = 14;

const PATH: &str = "main/0:send";

#[derive(Clone, Copy, Debug)]
enum Op {
    Begin,
    Reopen,
    Success,
    NoEffect,
    Answered,
    Unknown,
    Happened,
    Drop,
    SayHappened,
    SayNotHappened,
    OldClaim,
    End,
}

const OPS: [Op; 12] = [
    Op::Begin,
    Op::Reopen,
    Op::Success,
    Op::NoEffect,
    Op::Answered,
    Op::Unknown,
    Op::Happened,
    Op::Drop,
    Op::SayHappened,
    Op::SayNotHappened,
    Op::OldClaim,
    Op::End,
];

/// What the world knows of the call.
struct World<'a> {
    journal: &'a dyn Journal,
    id: String,
    impact: Option<Impact>,
    run: Run,
    old: Option<Run>,
    /// An attempt of this claim is at work.
    running: bool,
    /// An effect may have happened, as far as anybody can know.
    may_have_happened: bool,
    /// The tool answered with an error: it may run again, and somebody may still know better.
    answered: bool,
    /// The output that everything goes on with from now on.
    settled: Option<Value>,
    outputs: i64,
}

pub(super) async fn once(journal: &dyn Journal) -> Outcome {
    let mut number = 0_u64;
    for len in 0..=SHORT_LEN_MAX {
        for code in 0..OPS.len().pow(len) {
            let digits = (0..len).map(|place| code / OPS.len().pow(place) % OPS.len());
            let ops = std::iter::once(Op::Begin).chain(digits.filter_map(|digit| OPS.get(digit).copied()));
            number += 1;
            history(journal, number, &ops.collect::<Vec<_>>()).await?;
        }
    }
    let mut seed = 0x9e37_79b9_7f4a_7c15_u64;
    let mut random = || {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        OPS.get((seed >> 33) as usize % OPS.len()).copied()
    };
    for _ in 0..LONG_COUNT {
        number += 1;
        let ops: Vec<Op> = std::iter::from_fn(&mut random).take(LONG_LEN).collect();
        history(journal, number, &ops).await?;
    }
    Ok(())
}

async fn history(journal: &dyn Journal, number: u64, ops: &[Op]) -> Outcome {
    let id = format!("history {number}");
    let impact = if number.is_multiple_of(2) { Some(Impact::Once) } else { None };
    let run = open(journal, &id).await?;
    let mut world =
        World { journal, id, impact, run, old: None, running: false, may_have_happened: false, answered: false, settled: None, outputs: 0 };
    // Whatever was before, the process may end there, and somebody goes on.
    for op in ops.iter().copied().chain([Op::Reopen, Op::Begin, Op::Reopen, Op::Begin]) {
        world.step(op).await.map_err(|wrong| format!("{ops:?}, then reopen and begin, at {op:?}: {wrong}"))?;
    }
    // There are many of them, and a journal may keep only so many that have not ended.
    world.run.end(End::failed("own")).get().await.map_err(text)
}

impl World<'_> {
    async fn step(&mut self, op: Op) -> Outcome {
        match op {
            Op::Begin => self.begin().await,
            Op::Reopen => {
                let next = open(self.journal, &self.id).await?;
                self.old = Some(std::mem::replace(&mut self.run, next));
                self.running = false;
                Ok(())
            }
            Op::Success | Op::NoEffect | Op::Answered | Op::Unknown | Op::Happened if self.running => self.finish(op).await,
            Op::Drop if self.running => {
                self.run.abandoned(&at(PATH));
                self.running = false;
                Ok(())
            }
            Op::SayHappened => self.say_happened().await,
            Op::SayNotHappened => self.say_not_happened().await,
            Op::OldClaim => self.old_claim().await,
            Op::End => self.run.end(End::failed("own")).get().await.map_err(text),
            _ => Ok(()),
        }
    }

    async fn begin(&mut self) -> Outcome {
        let admission = begin(&self.run, send(PATH, self.impact)).await?;
        match (&admission, &self.settled) {
            (Admission::Replay(finish), Some(output)) => same("the output", finish.outcome.as_ref().ok(), Some(&Some(output.clone()))),
            (_, Some(output)) => Err(format!("{}, though it is known to have given {output}", word(&admission))),
            (Admission::Proceed { .. }, None) if self.may_have_happened => Err("it was admitted a second time".into()),
            (Admission::Proceed { .. }, None) => {
                self.running = true;
                self.may_have_happened = true;
                self.answered = false;
                Ok(())
            }
            (Admission::InDoubt(_) | Admission::Failed(_), None) if self.may_have_happened => Ok(()),
            _ => Err(format!("{}, though nothing can have happened", word(&admission))),
        }
    }

    fn output(&mut self) -> Value {
        self.outputs += 1;
        self.outputs.into()
    }

    async fn finish(&mut self, op: Op) -> Outcome {
        self.running = false;
        let failure = |state| Failure::new("own", "no", state);
        let record = match op {
            Op::Success => {
                let output = self.output();
                self.settled = Some(output.clone());
                Finish::ok(at(PATH), Some(output), EffectState::Happened)
            }
            Op::NoEffect => Finish::failed(at(PATH), failure(EffectState::NoEffect)),
            Op::Answered => Finish::failed(at(PATH), failure(EffectState::Unknown).answered()),
            Op::Happened => Finish::failed(at(PATH), failure(EffectState::Happened)),
            _ => Finish::failed(at(PATH), failure(EffectState::Unknown)),
        };
        self.may_have_happened = !matches!(op, Op::NoEffect | Op::Answered);
        self.answered = matches!(op, Op::Answered);
        finish(&self.run, record).await
    }

    async fn say_happened(&mut self) -> Outcome {
        let output = self.output();
        match self.journal.resolve(&self.id, PATH, happened(output.clone())).get().await {
            Ok(()) if self.settled.is_some() || !(self.may_have_happened || self.answered) => {
                Err("an answer was taken, though there was no doubt".into())
            }
            Ok(()) => {
                self.settled = Some(output);
                Ok(())
            }
            Err(error) if matches!(error.kind, JournalErrorKind::NotInDoubt | JournalErrorKind::Unknown) => Ok(()),
            Err(error) => Err(text(error)),
        }
    }

    async fn say_not_happened(&mut self) -> Outcome {
        match self.run.resolve(&at(PATH), nothing_happened()).get().await {
            Ok(()) if self.settled.is_some() => Err("an answer was taken against what is known".into()),
            Ok(()) => {
                self.may_have_happened = false;
                self.answered = false;
                Ok(())
            }
            // Some journals know that whoever began it is still at work.
            Err(error) if error.kind == JournalErrorKind::Claimed && self.may_have_happened => Ok(()),
            Err(error) if matches!(error.kind, JournalErrorKind::NotInDoubt | JournalErrorKind::Unknown) => Ok(()),
            Err(error) => Err(text(error)),
        }
    }

    async fn old_claim(&mut self) -> Outcome {
        let Some(old) = &self.old else { return Ok(()) };
        refused("begin of an old claim", old.begin(send(PATH, self.impact)).get().await.map(|_| ()), JournalErrorKind::Fenced)?;
        refused("finish of an old claim", old.finish(sent(PATH)).get().await, JournalErrorKind::Fenced)
    }
}
