//! A composite forged for one session over a sealed base, failing in the middle, and resumed without a second mail.
#![expect(clippy::print_stdout, reason = "an example prints")]

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use toolwright::prelude::*;
use toolwright::{MemoryJournal, ToolBuilder};

struct Session {
    journal: MemoryJournal,
}

type App = Rt<Session>;

fn tool(id: &'static str, description: &'static str) -> ToolBuilder<App> {
    App::tool(id, description)
}

/// Three tools: one reads, one must not run twice, one may.
fn base(mails: Arc<AtomicU32>, failures: Arc<AtomicU32>) -> Result<Catalog<App>, Box<dyn std::error::Error>> {
    let mut base = Registry::with_options(Options::<App>::new())?;
    base.register(tool("search", "Finds pages").reads().run_json(|input, _| async move {
        let query = input.get("query").and_then(Value::as_str).unwrap_or("nothing").to_owned();
        Ok(json!({ "snippet": format!("about {query}") }))
    }))?;
    base.register(tool("mail", "Sends a mail").writes().run_json(move |input, _| {
        let mails = mails.clone();
        async move {
            mails.fetch_add(1, Ordering::SeqCst);
            Ok(json!({ "sent": input.get("body").cloned() }))
        }
    }))?;
    base.register(tool("log", "Notes that it is done").effect(Effect::new("note", Impact::Idempotent)).run_json(move |_, _| {
        let fails = failures.swap(0, Ordering::SeqCst) == 1;
        async move { if fails { Err(ToolError::new("try later").code("disk_full")) } else { Ok(json!({ "ok": true })) } }
    }))?;
    Ok(base.seal()) // from here on nobody can change which tools exist
}

fn digest() -> Composite<App> {
    Composite::of(tool("digest", "Search, mail the result, note it"))
        .input_schema(json!({ "type": "object", "required": ["topic"] }))
        .step("find", "search", json!({ "query": "$input.topic" }))
        .step("send", "mail", json!({ "body": "$prev.snippet", "subject": "Digest" }))
        .step("note", "log", json!({ "what": "$steps[1].sent" }))
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mails = Arc::new(AtomicU32::new(0));
    let base = base(mails.clone(), Arc::new(AtomicU32::new(1)))?;

    // A session may forge tools, under a policy of its own, into an overlay; the base is untouched.
    let host =
        Options::<App>::new().policy(Policy::new().may_chain(["mail", "log"])).journal(|cx: &Session| Some(Arc::new(cx.journal.clone())));
    let mut overlay = base.overlay(host)?;
    overlay.register(digest())?;
    let session = overlay.seal();
    assert!(!base.has("digest") && session.has("digest"));
    // Derived from the steps, not declared.
    assert_eq!(session.require("digest")?.effect().map(|effect| effect.impact), Some(Impact::Once));

    // Without the host's list the same composite cannot even be registered.
    let mut strict = base.overlay(Options::new())?;
    let refused = strict.register(digest()).err().ok_or("a mail was chained that nobody listed")?;
    println!("refused: {refused}");

    let cx = Arc::new(Session { journal: MemoryJournal::new() });
    let run = || Invocation::new("digest", json!({ "topic": "rust" })).run_id("run-17");
    let error = session.invoke(run(), cx.clone()).await.err().ok_or("the disk was full")?;
    assert_eq!(error.code(), "disk_full");
    println!("first:   {error}");
    let out = session.invoke(run(), cx.clone()).await?; // same run id: finished steps are replayed
    println!("second:  {} after {} mail(s)", out.value(), mails.load(Ordering::SeqCst));
    assert_eq!(mails.load(Ordering::SeqCst), 1);

    // A crash between the mail and its record is not guessed at.
    cx.journal.forget_finish("digest/1:send");
    cx.journal.forget_finish("digest");
    let error = session.invoke(run(), cx.clone()).await.err().ok_or("the mail was sent again")?;
    assert_eq!(error.code(), "in_doubt");
    assert_eq!(mails.load(Ordering::SeqCst), 1);
    println!("third:   {error}");
    Ok(())
}
