//! An application with its own context, a policy, lifecycle hooks, a stateful typed tool and a dynamic one, a journal
//! and diagnostics.
#![expect(clippy::print_stdout, reason = "an example prints")]

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use toolwright::prelude::*;
use toolwright::{Diagnostics, EventName, Fact, MemoryJournal, Phase, Protocol, Sink, ToolBuilder};

/// What the application knows of a caller.
struct AppCx {
    can_read: bool,
    can_send: bool,
    journal: MemoryJournal,
}

type App = Rt<AppCx>;

/// A tool as a type: schema from the types, hooks and state on one object.
struct SendMail {
    quota: AtomicU32,
}

#[derive(Deserialize, JsonSchema)]
struct Mail {
    /// Who gets it.
    to: String,
    /// What is in it.
    body: String,
}

#[derive(Serialize, JsonSchema)]
struct Sent {
    id: String,
}

impl Tool<App> for SendMail {
    type Input = Mail;
    type Output = Sent;

    fn define(&self) -> ToolBuilder<App> {
        App::tool("send_mail", "Sends one mail")
            .kind("act")
            .writes()
            .goals(["notify"])
            .available(|cx| cx.can_send)
            .authorize(|access| match access.input.and_then(|input| input.get("to")).and_then(Value::as_str) {
                Some(to) if !to.ends_with("@example.com") => Err(Refusal::new("foreign_address", format!("{to} is outside"))),
                _ => Ok(()),
            })
            .rules(|_| vec![Rule::new(20, "Send a mail only when asked to.")])
    }

    async fn execute(&self, mail: Mail, call: Call<App>) -> Result<Sent, ToolError> {
        if self.quota.fetch_sub(1, Ordering::SeqCst) == 0 {
            return Err(ToolError::new("no mails left").code("quota").nothing_happened());
        }
        call.diagnostics().emit(EventName::Content, || json!({ "to": mail.to, "chars": mail.body.len() }));
        // The key is the same after a crash and a resume: the service at the other end can know a repetition by it.
        Ok(Sent { id: call.idempotency_key() })
    }
}

struct Stdout;

impl Sink for Stdout {
    fn record(&self, fact: &Fact) {
        println!("  fact {} of {}: {}", fact.event, fact.identity.span.as_deref().unwrap_or("nothing"), fact.payload);
    }
}

fn options() -> Options<App> {
    Options::<App>::new()
        .policy(
            Policy::new()
                .kinds(["read", "act"])
                .audiences(["model", "operator"])
                .effects(["read", "write"])
                .goal_exists(|goal| ["explain", "notify"].contains(&goal)),
        )
        .outputs([Protocol::new("reply", "Answer the user", json!({ "type": "object" })).terminal()])
        .goal_ids(|| vec!["explain", "notify"])
        .diagnostics(|_| Some(Diagnostics::new(Stdout)))
        .journal(|cx| Some(Arc::new(cx.journal.clone())))
        .checkpoint(|_| json!({ "turn": 7 }))
        .receipt(|_, checkpoint| Ok(json!({ "after": checkpoint.cloned() })))
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut tools = Registry::with_options(options())?;
    tools.register(
        App::tool("read_source", "Reads the allowed description")
            .kind("read")
            .reads()
            .goals(["explain"])
            .available(|cx| cx.can_read)
            .inspect(|decision, _| match decision.arguments.get("path").and_then(Value::as_str) {
                Some("/etc/shadow") => Err("not that file".into()),
                _ => Ok(()),
            })
            .visible_text(|text, _| text.trim().to_owned())
            .rules(|_| vec![Rule::new(10, "Answer from what was really read.")])
            .input_schema(json!({ "type": "object", "properties": { "path": { "type": "string" } }, "required": ["path"] }))
            .run_json(
                |input, _| async move { Ok(json!({ "text": format!("contents of {}", input.get("path").unwrap_or(&Value::Null)) })) },
            ),
    )?;
    tools.add(SendMail { quota: AtomicU32::new(5) })?;
    tools.register_finalizer(|_, decision, _| Ok(decision.arguments))?;
    let tools = tools.seal();

    let cx = Arc::new(AppCx { can_read: true, can_send: true, journal: MemoryJournal::new() });
    println!("the prompt's rules:\n{}", tools.task_rules(&cx));
    println!("offered to the model: {:?}", tools.model_protocols(&cx)?.ids().collect::<Vec<_>>());

    // One turn of an application's loop, by hand; `tools.turn` does the same in one call.
    let decision = Decision::new("send_mail", json!({ "to": "ann@example.com", "body": "hello" }));
    tools.assert_decision(&decision, &cx)?;
    let result = tools.call(&decision, cx.clone()).await?;
    let decision = tools.complete(&decision, &cx)?.unwrap_or(decision);
    tools.finalize(&decision, &cx, &Phase::After)?;
    println!("sent: {} (terminal: {})", result.value().get("id").is_some(), tools.is_terminal("send_mail"));
    println!("shown: {:?}", tools.visible_text("  done  ", &cx)?);

    let shadow = Decision::new("read_source", json!({ "path": "/etc/shadow" }));
    println!("refused: {}", tools.assert_decision(&shadow, &cx).err().map_or_else(String::new, |error| error.to_string()));
    let foreign = Decision::new("send_mail", json!({ "to": "eve@evil.test", "body": "x" }));
    let denied = tools.call(&foreign, cx.clone()).await.err().ok_or("a mail went outside")?;
    assert_eq!(denied.code(), "denied");
    println!("refused: {denied}");

    let quiet = Arc::new(AppCx { can_read: false, can_send: false, journal: MemoryJournal::new() });
    assert!(tools.describe(Some("model"), Some(&quiet)).is_empty());
    let forbidden = tools.call(&decision, quiet).await.err().ok_or("an unavailable tool ran")?;
    assert_eq!(forbidden.code(), "forbidden");
    println!("refused: {forbidden}");
    Ok(())
}
