//! No way round a declaration: who says that it only reads has nothing written, whoever it asks.

use toolwright::{Effect, Impact, Invocation, Policy, Value, json};

use super::fixture::{Tools, run, shows, steps, writes};
use crate::lifecycle_fixture::{App, Notes, Own, block_on, cx, error, reads};
use toolwright::Runtime;

#[derive(Clone, Copy, Debug)]
enum Way {
    Call,
    Keyed,
    Handle,
    OwnRun,
    Decision,
    ThroughComposite,
    ThroughTwo,
    LaterAttached,
}

const WAYS: [Way; 8] =
    [Way::Call, Way::Keyed, Way::Handle, Way::OwnRun, Way::Decision, Way::ThroughComposite, Way::ThroughTwo, Way::LaterAttached];

/// A tool of this declaration that has a mail sent.
fn sends(builder: toolwright::ToolBuilder<App>, way: Way, own: &Own) -> toolwright::ToolDef<App> {
    let own = own.clone();
    builder.run_json(move |_: Value, call| {
        let catalog = own.get().clone();
        async move {
            let outcome = match way {
                Way::Call => call.invoke("mail", json!({})).await,
                Way::Keyed => call.invoke_keyed("k", "mail", json!({})).await,
                Way::Handle => catalog.invoke(Invocation::new("mail", json!({})), cx()).await,
                Way::OwnRun => catalog.invoke(Invocation::new("mail", json!({})).run_id("own"), cx()).await,
                Way::Decision => catalog.call(&crate::lifecycle_fixture::d("mail"), cx()).await,
                Way::ThroughComposite => call.invoke("mailing", json!({})).await,
                Way::ThroughTwo => call.invoke("looks", json!({})).await,
                Way::LaterAttached => {
                    let later = call.frame().attach(async move { catalog.invoke(Invocation::new("mail", json!({})), cx()).await });
                    tokio::spawn(later).await.unwrap()
                }
            };
            outcome?;
            Ok(json!("sent"))
        }
    })
}

#[test]
fn a_reading_tool_has_nothing_written_by_itself_or_as_a_step() {
    for way in WAYS {
        let (log, own) = (Notes::default(), Own::default());
        let catalog = Tools::new(Policy::new().may_chain(["mail", "mailing"]))
            .add(shows(writes("mail"), &log))
            .add(steps("mailing", &[("send", "mail", json!({}))]))
            // Undeclared: it may do what it likes, but not for a reader.
            .add(sends(App::tool("looks", "Says nothing"), Way::Call, &own))
            .add(sends(reads("reader"), way, &own))
            .add(steps("main", &[("a", "reader", json!({}))]))
            .seal();
        own.set(&catalog);
        for tool in ["reader", "main"] {
            let refused = error(run(&catalog, tool, json!({}), &cx()));
            assert_eq!(refused.code(), "caller_reads_only", "{way:?} {tool}: {refused}");
            assert!(log.all().is_empty(), "{way:?} {tool}");
        }
    }
}

#[test]
fn a_writing_tool_has_it_written_and_says_so() {
    for way in WAYS {
        let (log, own) = (Notes::default(), Own::default());
        let catalog = Tools::new(Policy::new().may_chain(["mail", "mailing", "writer"]))
            .add(shows(writes("mail"), &log))
            .add(steps("mailing", &[("send", "mail", json!({}))]))
            .add(sends(App::tool("looks", "Says nothing"), Way::Call, &own))
            .add(sends(App::tool("writer", "Writes").effect(Effect::new("write", Impact::Once)), way, &own))
            .add(steps("main", &[("a", "writer", json!({}))]))
            .seal();
        own.set(&catalog);
        let result = run(&catalog, "main", json!({}), &cx()).unwrap();
        assert_eq!(log.all().len(), 1, "{way:?}");
        let effects = result.to_value().get("effects").unwrap().to_string();
        assert!(effects.contains(r#""tool":"mail""#) && effects.contains(r#""tool":"writer""#), "{way:?}: {effects}");
    }
}

#[test]
fn a_composite_of_readers_is_no_way_for_a_code_tool_to_write() {
    // The composite was accepted as one that changes nothing; so is everything inside it.
    let (log, own) = (Notes::default(), Own::default());
    let catalog = Tools::new(Policy::new().may_chain(["mail"]))
        .add(shows(writes("mail"), &log))
        .add(sends(reads("reader"), Way::ThroughTwo, &own))
        .add(sends(App::tool("looks", "Says nothing"), Way::Handle, &own))
        .add(steps("inner", &[("a", "reader", json!({}))]))
        .add(steps("outer", &[("b", "inner", json!({}))]))
        .seal();
    own.set(&catalog);
    let refused = error(block_on(catalog.invoke(Invocation::new("outer", json!({})), cx())));
    assert_eq!((refused.code(), log.all().len()), ("caller_reads_only", 0));
}

/// A gate over tools of its own.
struct Shelf(toolwright::ToolDef<App>);

impl toolwright::StepGate<App> for Shelf {
    fn resolve(&self, tool: &str) -> Option<toolwright::ToolDef<App>> {
        (tool == self.0.name()).then(|| self.0.clone())
    }
}

#[test]
fn a_reader_of_another_gate_is_judged_by_its_own_word_and_not_by_that_of_a_namesake() {
    for way in [Way::Call, Way::Keyed, Way::Handle, Way::OwnRun, Way::LaterAttached] {
        let (log, own) = (Notes::default(), Own::default());
        let composer = toolwright::Composer::new(Shelf(sends(reads("helper"), way, &own)));
        composer.bind(toolwright::Binding::new().side_effecting_tools(["digest"]));
        let spec = json!({ "steps": [{ "name": "a", "tool": "helper", "inputMapping": {} }] });
        let digest = composer.build("digest", "Reads", json!({ "type": "object" }), &spec).unwrap();
        let catalog = Tools::new(Policy::new().may_chain(["helper"]))
            .add(shows(writes("mail"), &log))
            // The catalogue's tool of that name writes.
            .add(shows(writes("helper"), &log))
            .add(digest)
            .seal();
        own.set(&catalog);
        let refused = error(run(&catalog, "digest", json!({}), &cx()));
        assert_eq!((refused.code(), log.all().len()), ("caller_reads_only", 0), "{way:?}: {refused}");
    }
}
