//! The admission table, through the port.

use super::*;
use crate::fingerprint::Fingerprint;
use crate::frame::{Identity, Names, PathNode, Segment, StepName};
use crate::journal::BeginMore;

/// What is written after the intent of a call.
#[derive(Clone, Copy, Debug)]
enum After {
    Nothing,
    Success,
    Empty,
    Failed(EffectState),
    Answered,
    Happened,
    NotHappened,
}

const IMPACTS: [Option<Impact>; 4] = [Some(Impact::None), Some(Impact::Idempotent), Some(Impact::Once), None];

const ROWS: [(After, [&str; 4]); 10] = [
    (After::Nothing, ["run 2", "run 2", "in doubt", "in doubt"]),
    (After::Success, [r#"replay {"id":7}"#; 4]),
    (After::Empty, ["replay nothing"; 4]),
    (After::Failed(EffectState::NotStarted), ["run 2"; 4]),
    (After::Failed(EffectState::NoEffect), ["run 2"; 4]),
    (After::Answered, ["run 2"; 4]),
    (After::Failed(EffectState::Unknown), ["run 2", "run 2", "in doubt", "in doubt"]),
    (After::Failed(EffectState::Happened), ["run 2", "run 2", "failed no_answer", "failed no_answer"]),
    (After::Happened, [r#"replay "seen""#; 4]),
    (After::NotHappened, ["run 2"; 4]),
];

async fn write(run: &Run, path: &str, after: After) -> Outcome {
    match after {
        After::Nothing => Ok(()),
        After::Success => finish(run, sent(path)).await,
        After::Empty => finish(run, Finish::ok(at(path), None, EffectState::Happened)).await,
        After::Failed(state) => finish(run, failed(path, state)).await,
        After::Answered => {
            let failure = Failure::new("no_answer", "out of stock", EffectState::Unknown).answered();
            finish(run, Finish::failed(at(path), failure)).await
        }
        After::Happened => run.resolve(&at(path), happened("seen")).get().await.map_err(text),
        After::NotHappened => {
            run.abandoned(&at(path));
            run.resolve(&at(path), nothing_happened()).get().await.map_err(text)
        }
    }
}

pub(super) async fn rows(journal: &dyn Journal) -> Outcome {
    for (number, (after, wants)) in ROWS.into_iter().enumerate() {
        for (impact, want) in IMPACTS.into_iter().zip(wants) {
            for later_claim in [false, true] {
                let id = format!("{number}-{impact:?}-{later_claim}");
                let mut run = open(journal, &id).await?;
                admits("a call that is new", &run, send("main/0:a", impact), "run 1").await?;
                write(&run, "main/0:a", after).await?;
                if later_claim {
                    run = open(journal, &id).await?;
                }
                let what = format!("{impact:?} after {after:?}, later claim: {later_claim}");
                admits(&what, &run, send("main/0:a", impact), want).await?;
            }
        }
    }
    composites(journal).await?;
    copies(journal).await
}

/// What a fork has of another run: its outcome, whatever the arguments are now, and never a run of it.
async fn copies(journal: &dyn Journal) -> Outcome {
    for impact in IMPACTS {
        let id = format!("fork-{impact:?}");
        let mut copy = send("main/0:a", impact);
        copy.more = Some(Box::new(BeginMore { forked: Some("r0".into()), ..BeginMore::default() }));
        let other = || Begin { input: json!({"to": "b"}), ..send("main/0:a", impact) };
        begin(&open(journal, &id).await?, copy).await?;
        let run = open(journal, &id).await?;
        admits("a copy without its outcome", &run, other(), "in doubt").await?;
        finish(&run, sent("main/0:a")).await?;
        admits("a copy, with other arguments", &open(journal, &id).await?, other(), r#"replay {"id":7}"#).await?;
        let differs = Begin { key: StepKey::written("main/0:a", "post"), ..other() };
        admits("a copy, with another tool", &open(journal, &id).await?, differs, "diverged tool").await?;
    }
    Ok(())
}

async fn composites(journal: &dyn Journal) -> Outcome {
    let whole = |impact| Begin { composite: true, ..send("main", impact) };
    for impact in IMPACTS {
        for (number, (after, _)) in
            ROWS.into_iter().enumerate().filter(|(_, (after, _))| !matches!(after, After::Happened | After::NotHappened))
        {
            let id = format!("composite-{number}-{impact:?}");
            begin(&open(journal, &id).await?, whole(impact)).await?;
            let run = open(journal, &id).await?;
            admits("a composite that began", &run, whole(impact), "run 2").await?;
            write(&run, "main", after).await?;
            let want = match after {
                After::Success => r#"replay {"id":7}"#,
                After::Empty => "replay nothing",
                _ => "run 3",
            };
            admits(&format!("a composite after {after:?}"), &open(journal, &id).await?, whole(impact), want).await?;
        }
    }
    Ok(())
}

pub(super) async fn attempts(journal: &dyn Journal) -> Outcome {
    for attempt in 1..=4 {
        let run = open(journal, "r1").await?;
        admits("an attempt", &run, send("main", Some(Impact::Idempotent)), &format!("run {attempt}")).await?;
    }
    let run = open(journal, "r1").await?;
    match begin(&run, send("main", None)).await? {
        Admission::InDoubt(doubt) => {
            same("the attempt in doubt", doubt.attempt, 4)?;
            same("its impact, as recorded", doubt.begin.impact, Some(Impact::Idempotent))?;
            same("its input", doubt.begin.input, json!({"to": "a"}))
        }
        other => Err(format!("a tool that says less of itself than before: {}", word(&other))),
    }
}

pub(super) async fn diverging(journal: &dyn Journal) -> Outcome {
    let recorded = || Begin { fingerprint: Some(Fingerprint::of("f1")), ..send("main/0:a", Some(Impact::None)) };
    let others = [
        ("diverged tool", Begin { key: StepKey::written("main/0:a", "post"), ..recorded() }),
        ("diverged tool", Begin { composite: true, ..recorded() }),
        ("diverged fingerprint", Begin { fingerprint: Some(Fingerprint::of("f2")), ..recorded() }),
        ("diverged input", Begin { input: json!({"to": "b"}), ..recorded() }),
    ];
    for ended in [false, true] {
        let id = format!("r{ended}");
        let run = open(journal, &id).await?;
        begin(&run, recorded()).await?;
        if ended {
            finish(&run, sent("main/0:a")).await?;
        }
        let run = open(journal, &id).await?;
        for (want, other) in &others {
            admits("another call", &run, other.clone(), want).await?;
        }
        let want = if ended { r#"replay {"id":7}"# } else { "run 2" };
        admits("the call that was there", &run, recorded(), want).await?;
    }
    by_order(journal).await
}

/// A call that a tool makes without a key has its place by order, whichever tool is called there.
async fn by_order(journal: &dyn Journal) -> Outcome {
    let call = |path: &str, tool: &str| Begin { key: StepKey::written(path, tool), ..send("", None) };
    let run = open(journal, "by order").await?;
    for path in ["main/send~0", "main/send~a"] {
        begin(&run, send(path, None)).await?;
        finish(&run, sent(path)).await?;
    }
    let run = open(journal, "by order").await?;
    admits("another tool at the same place", &run, call("main/post~0", "post"), "diverged tool").await?;
    admits("another tool with the same key", &run, call("main/post~a", "post"), "run 1").await?;
    admits("the call that was there", &run, send("main/send~0", None), r#"replay {"id":7}"#).await
}

pub(super) async fn writes_only_what_runs(journal: &dyn Journal) -> Outcome {
    let run = open(journal, "r1").await?;
    for path in ["main/0:a", "main/1:b", "main/2:c"] {
        begin(&run, send(path, None)).await?;
    }
    finish(&run, sent("main/0:a")).await?;
    finish(&run, failed("main/1:b", EffectState::Happened)).await?;
    let run = open(journal, "r1").await?;
    let before = journal.load("r1").get().await.map_err(text)?;
    admits("a call that succeeded", &run, send("main/0:a", None), r#"replay {"id":7}"#).await?;
    admits("a call that failed", &run, send("main/1:b", None), "failed no_answer").await?;
    admits("a call in doubt", &run, send("main/2:c", None), "in doubt").await?;
    admits("another call", &run, Begin { input: Value::Null, ..send("main/2:c", None) }, "diverged input").await?;
    same("the records", journal.load("r1").get().await.map_err(text)?, before)
}

/// Keys of running calls and keys that were read from somewhere are the same keys.
pub(super) async fn live_keys(journal: &dyn Journal) -> Outcome {
    let node = || {
        let root = PathNode::root(&"main".into());
        let steps = ["a", "b"].map(|name| StepName { name: name.into(), tool: "send".into() });
        let names = Arc::new(Names { composite: "main".into(), steps: Box::new(steps) });
        let segment = Segment::Steps;
        let parent = Some((Arc::new(root), 0));
        Arc::new(PathNode { parent, names, segment, repeats: false, depth: 1, calls: 1, identity: Identity::default() })
    };
    let live = |step, repeats| Begin { key: StepKey::at(node(), step, repeats), ..send("", None) };
    let run = open(journal, "r1").await?;
    admits("a running call", &run, live(0, false), "run 1").await?;
    admits("another running call", &run, live(1, false), "run 1").await?;
    finish(&run, Finish { key: StepKey::at(node(), 0, false), ..sent("") }).await?;
    admits("a call with a key of its own, again", &run, live(0, true), r#"replay {"id":7}"#).await?;
    admits("the same, still running", &run, live(1, true), "in doubt").await?;
    let run = open(journal, "r1").await?;
    admits("the first, in a later claim", &run, live(0, false), r#"replay {"id":7}"#).await?;
    admits("the same, read from somewhere", &run, send("main/0:a", None), r#"replay {"id":7}"#).await?;
    admits("the second", &run, send("main/1:b", None), "in doubt").await
}

pub(super) async fn apart(journal: &dyn Journal) -> Outcome {
    for id in ["r1", "r2", "r10"] {
        let run = open(journal, id).await?;
        for path in ["main", "main/0:a", "main/0:a/0:a", "main/10:a", "main/1:a", "main/0:A", "main/0:a "] {
            admits(&format!("{path} of {id}"), &run, send(path, None), "run 1").await?;
        }
        finish(&run, Finish::ok(at("main/0:a"), Some(id.into()), EffectState::Happened)).await?;
    }
    for id in ["r1", "r2", "r10"] {
        let run = open(journal, id).await?;
        admits("the call that ended", &run, send("main/0:a", None), &format!("replay \"{id}\"")).await?;
        admits("one beside it", &run, send("main/0:A", None), "in doubt").await?;
        admits("one inside it", &run, send("main/0:a/0:a", None), "in doubt").await?;
    }
    Ok(())
}
