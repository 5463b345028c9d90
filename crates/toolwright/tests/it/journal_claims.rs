//! Who may be at work on a run, and what is said of a call that somebody is still at work on.

use std::sync::Arc;
use std::time::Duration;

use toolwright::{Invocation, Journal, MemoryJournal, Registry, json};

use crate::world::{Log, TestClock, block_on};

fn kept(journal: &MemoryJournal) -> Arc<dyn Journal> {
    Arc::new(journal.clone())
}

#[test]
fn a_lease_without_a_clock_is_refused() {
    let (log, journal) = (Log::new(), MemoryJournal::new());
    let catalog = Registry::new().with(log.writes("send")).unwrap().seal();
    let lease = || {
        let call = Invocation::new("send", json!({})).run_id("r").journal(kept(&journal));
        call.claimed_by("one", Some(Duration::from_mins(1)))
    };
    let error = block_on(catalog.invoke(lease(), ())).unwrap_err();
    assert_eq!((error.code(), error.help().is_some()), ("no_clock", true));
    assert!(log.is_empty() && journal.runs().is_empty());
    let options = toolwright::ResumeOptions::new().claimed_by("one", Some(Duration::from_mins(1)));
    block_on(catalog.invoke(lease().clock(Arc::new(TestClock::default())), ())).unwrap();
    journal.cut_off("r", 0);
    let error = block_on(catalog.resume_run(&kept(&journal), "r", (), options)).unwrap_err();
    assert_eq!((error.code(), log.all().len(), journal.records("r").len()), ("no_clock", 1, 0));
}
