//! Every row of the table, for every impact.

use super::*;
use crate::fingerprint::Fingerprint;
use crate::json;
use crate::value::Value;

const IMPACTS: [Option<Impact>; 4] = [Some(Impact::None), Some(Impact::Idempotent), Some(Impact::Once), None];

fn key() -> StepKey {
    StepKey::written("main/0:send", "send")
}

fn begin(impact: Option<Impact>) -> Begin {
    Begin::new(key(), impact, json!({"to": "a"}))
}

fn composite(impact: Option<Impact>) -> Begin {
    Begin { composite: true, ..begin(impact) }
}

fn ok() -> Finish {
    Finish::ok(key(), Some(json!("sent")), EffectState::Happened)
}

fn failed(state: EffectState) -> Finish {
    Finish::failed(key(), Failure::new("own", "no", state))
}

fn answered() -> Finish {
    Finish::failed(key(), Failure::new("own", "no", EffectState::Unknown).answered())
}

fn said(verdict: Verdict) -> Resolution {
    Resolution::new("anna", verdict)
}

/// One word for an admission.
fn word(admission: &Admission) -> String {
    match admission {
        Admission::Proceed { attempt } => format!("run {attempt}"),
        Admission::Replay(finish) => format!("replay {}", finish.outcome.as_ref().unwrap().clone().unwrap_or_default()),
        Admission::InDoubt(doubt) => format!("doubt {} {:?}", doubt.attempt, doubt.failure.as_ref().map(|failure| failure.code.as_str())),
        Admission::Failed(failure) => format!("failed {} {:?}", failure.code, failure.state),
        Admission::Unapproved => "unapproved".into(),
        Admission::Diverged(other) => format!("diverged {}", other.what.as_str()),
    }
}

/// What each impact gets after its own `begin` and then these entries: none, idempotent, once, undeclared.
fn row(after: &[Entry<'_>]) -> [String; 4] {
    IMPACTS.map(|impact| word(&admit([Entry::Begun(&begin(impact))].into_iter().chain(after.iter().copied()), &begin(impact))))
}

const RUNS: [&str; 4] = ["run 2"; 4];

#[test]
fn nothing_recorded_runs() {
    for impact in IMPACTS {
        assert_eq!(word(&admit([], &begin(impact))), "run 1");
        assert_eq!(word(&admit([], &composite(impact))), "run 1");
    }
}

#[test]
fn another_tool_fingerprint_or_input_is_another_call_whatever_came_of_it() {
    let (done, failure, yes, no) = (ok(), failed(EffectState::NoEffect), said(Verdict::Happened(None)), said(Verdict::NotHappened));
    let ends =
        [None, Some(Entry::Finished(&done)), Some(Entry::Finished(&failure)), Some(Entry::Resolved(&yes)), Some(Entry::Resolved(&no))];
    for impact in IMPACTS {
        let recorded = Begin { fingerprint: Some(Fingerprint::of("f1")), ..begin(impact) };
        let same = recorded.clone();
        let others = [
            ("tool", Begin { key: StepKey::written("main/0:send", "post"), ..same.clone() }),
            ("tool", Begin { composite: true, ..same.clone() }),
            ("fingerprint", Begin { fingerprint: Some(Fingerprint::of("f2")), ..same.clone() }),
            ("input", Begin { input: json!({"to": "b"}), ..same.clone() }),
            ("input", Begin { input: Value::Null, ..same }),
        ];
        for (what, other) in others {
            for end in ends {
                let entries = std::iter::once(Entry::Begun(&recorded)).chain(end);
                assert_eq!(word(&admit(entries, &other)), format!("diverged {what}"));
            }
        }
        // A missing fingerprint says nothing, on either side.
        let without = begin(impact);
        assert_eq!(word(&admit([Entry::Begun(&recorded), Entry::Finished(&done)], &without)), r#"replay "sent""#);
        assert_eq!(word(&admit([Entry::Begun(&without), Entry::Finished(&done)], &recorded)), r#"replay "sent""#);
    }
}

#[test]
fn what_succeeded_is_given_again() {
    assert_eq!(row(&[Entry::Finished(&ok())]), [r#"replay "sent""#; 4]);
    let (begin, done) = (composite(None), ok());
    assert_eq!(word(&admit([Entry::Begun(&begin), Entry::Finished(&done)], &begin)), r#"replay "sent""#);
}

#[test]
fn what_only_began_runs_again_unless_twice_is_once_too_often() {
    assert_eq!(row(&[]), ["run 2", "run 2", "doubt 1 None", "doubt 1 None"]);
}

#[test]
fn what_failed_without_an_effect_runs_again() {
    for state in [EffectState::NotStarted, EffectState::NoEffect] {
        assert_eq!(row(&[Entry::Finished(&failed(state))]), RUNS);
    }
    assert_eq!(row(&[Entry::Finished(&answered())]), RUNS, "the tool answered, so it is done");
}

#[test]
fn what_failed_with_an_unknown_effect_is_in_doubt() {
    let doubt = r#"doubt 1 Some("own")"#;
    assert_eq!(row(&[Entry::Finished(&failed(EffectState::Unknown))]), ["run 2", "run 2", doubt, doubt]);
}

#[test]
fn what_failed_after_its_effect_fails_again() {
    let error = "failed own Happened";
    assert_eq!(row(&[Entry::Finished(&failed(EffectState::Happened))]), ["run 2", "run 2", error, error]);
    // Also when the tool answered: it says itself that it happened.
    let mut answered = answered();
    answered.state = EffectState::Happened;
    assert_eq!(row(&[Entry::Finished(&answered)]), ["run 2", "run 2", error, error]);
}

#[test]
fn a_composite_that_did_not_succeed_is_entered_again() {
    use EffectState::{Happened, NoEffect, NotStarted, Unknown};
    for impact in IMPACTS {
        let begin = composite(impact);
        assert_eq!(word(&admit([Entry::Begun(&begin)], &begin)), "run 2");
        for state in [NotStarted, NoEffect, Happened, Unknown] {
            let failure = failed(state);
            assert_eq!(word(&admit([Entry::Begun(&begin), Entry::Finished(&failure)], &begin)), "run 2");
        }
    }
}

#[test]
fn an_answer_decides_whatever_the_impact() {
    let (yes, none, no) = (said(Verdict::Happened(Some(json!(7)))), said(Verdict::Happened(None)), said(Verdict::NotHappened));
    let (unknown, happened) = (failed(EffectState::Unknown), failed(EffectState::Happened));
    for before in [None, Some(Entry::Finished(&unknown)), Some(Entry::Finished(&happened))] {
        let with = |answer| row(&before.into_iter().chain([Entry::Resolved(answer)]).collect::<Vec<_>>());
        assert_eq!(with(&yes), ["replay 7"; 4]);
        assert_eq!(with(&none), ["replay null"; 4]);
        assert_eq!(with(&no), RUNS);
    }
}

#[test]
fn an_answer_is_about_the_attempts_before_it_only() {
    let (first, no) = (begin(None), said(Verdict::NotHappened));
    let again = [Entry::Begun(&first), Entry::Resolved(&no), Entry::Begun(&first)];
    assert_eq!(word(&admit(again, &first)), "doubt 2 None");
    let done = ok();
    assert_eq!(word(&admit(again.into_iter().chain([Entry::Finished(&done)]), &first)), r#"replay "sent""#);
    // A call that went on while somebody answered for it: what comes later says more, but what was seen stays seen.
    let (yes, unknown, nothing) = (said(Verdict::Happened(Some(json!(7)))), failed(EffectState::Unknown), failed(EffectState::NoEffect));
    for failure in [&unknown, &nothing] {
        assert_eq!(word(&admit([Entry::Begun(&first), Entry::Resolved(&yes), Entry::Finished(failure)], &first)), "replay 7");
    }
    assert_eq!(word(&admit([Entry::Begun(&first), Entry::Resolved(&no), Entry::Finished(&unknown)], &first)), r#"doubt 1 Some("own")"#);
    assert_eq!(word(&admit([Entry::Begun(&first), Entry::Resolved(&yes), Entry::Finished(&done)], &first)), r#"replay "sent""#);
    assert_eq!(word(&admit([Entry::Begun(&first), Entry::Resolved(&no), Entry::Finished(&done)], &first)), r#"replay "sent""#);
}

#[test]
fn the_greater_impact_counts_of_then_and_now() {
    for (then, now) in
        [(None, Some(Impact::None)), (Some(Impact::Once), Some(Impact::Idempotent)), (Some(Impact::None), Some(Impact::Once))]
    {
        let recorded = begin(then);
        assert_eq!(word(&admit([Entry::Begun(&recorded)], &begin(now))), "doubt 1 None");
    }
}

#[test]
fn only_calls_that_may_have_done_something_take_an_answer() {
    use JournalErrorKind::{NotInDoubt, Unknown};
    let (first, whole, done) = (begin(None), composite(None), ok());
    let (yes, no) = (said(Verdict::Happened(None)), said(Verdict::NotHappened));
    let (nothing, unknown, happened) = (failed(EffectState::NoEffect), failed(EffectState::Unknown), failed(EffectState::Happened));
    let kind = |entries: &[Entry<'_>], answer: &Resolution| answerable(entries.iter().copied(), &key(), answer).map_err(|error| error.kind);
    let begun = Entry::Begun(&first);
    assert_eq!(kind(&[], &yes), Err(Unknown));
    assert_eq!(kind(&[Entry::Begun(&whole)], &yes), Err(NotInDoubt));
    assert_eq!(kind(&[begun, Entry::Finished(&done)], &no), Err(NotInDoubt));
    assert_eq!(kind(&[begun, Entry::Finished(&nothing)], &yes), Err(NotInDoubt));
    for end in [&unknown, &happened] {
        assert_eq!(kind(&[begun, Entry::Finished(end)], &yes), Ok(true));
    }
    assert_eq!(kind(&[begun], &no), Ok(true));
    assert_eq!(kind(&[begun, Entry::Resolved(&no)], &no), Ok(false), "the same answer is there");
    assert_eq!(kind(&[begun, Entry::Resolved(&no)], &yes), Err(NotInDoubt));
    assert_eq!(kind(&[begun, Entry::Resolved(&no), begun], &yes), Ok(true), "another attempt is another doubt");
}

#[test]
fn what_a_fork_has_of_another_run_never_runs() {
    for impact in IMPACTS {
        let copy = |composite| {
            let more = crate::journal::BeginMore { forked: Some("r0".into()), ..Default::default() };
            Begin { composite, more: Some(Box::new(more)), ..begin(impact) }
        };
        let (plain, whole, done) = (copy(false), copy(true), ok());
        assert_eq!(plain.idempotency_key("r1"), "r0/main/0:send");
        let other = Begin { input: json!("other"), ..begin(impact) };
        assert_eq!(word(&admit([Entry::Begun(&plain)], &other)), "doubt 1 None");
        assert_eq!(word(&admit([Entry::Begun(&whole)], &Begin { composite: true, ..other.clone() })), "doubt 1 None");
        assert!(Standing::of([Entry::Begun(&plain)]).doubt().is_none(), "nobody need be asked");
        assert_eq!(word(&admit([Entry::Begun(&plain), Entry::Finished(&done)], &other)), r#"replay "sent""#);
        let changed = Begin { fingerprint: Some(Fingerprint::of("2")), ..other };
        let copied = Begin { fingerprint: Some(Fingerprint::of("1")), ..plain };
        assert_eq!(word(&admit([Entry::Begun(&copied), Entry::Finished(&done)], &changed)), "diverged fingerprint");
    }
}
