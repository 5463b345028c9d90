//! The types of an application, and what its decisions ask for.

use std::sync::{Arc, Mutex};

use toolwright::{
    AsDecision, Catalog, ContextFragment, Fault, Invocation, ModelField, Options, Policy, Registry, Rt, Runtime, ToolDef, json, runtime,
    tool,
};

use crate::lifecycle_fixture::{AppCx, Close, block_on, by, cx, error, said};

runtime! { struct Mine { Context = u8, Meta = u32 } }

#[test]
fn t1_1_the_applications_own_data_of_a_tool_is_read_with_its_own_type() {
    let seen: Arc<Mutex<Vec<(&str, u32)>>> = Arc::default();
    let (by_policy, by_port) = (seen.clone(), seen.clone());
    let policy = Policy::new().valid_id(move |tool: &ToolDef<Mine>| {
        by_policy.lock().unwrap().push(("policy", *tool.meta()));
        Ok(())
    });
    let options = Options::new().policy(policy).context_fragment(move |tool, field| {
        by_port.lock().unwrap().push(("port", *tool.meta()));
        ContextFragment::of(tool.name(), field)
    });
    let fields = |_: &u8| vec![ModelField::new("head", 0, "k", 1)];
    let mut registry = Registry::with_options(options).unwrap();
    registry.register(Mine::tool("three", "Has data of its own").reads().meta(3).fields(fields).echoes()).unwrap();
    registry.register(Mine::tool("none", "Says nothing of it").reads().fields(fields).echoes()).unwrap();
    let catalog = registry.seal();
    assert_eq!(*seen.lock().unwrap(), [("policy", 3), ("policy", 0)]);
    assert_eq!(catalog.context_fields(&7, &"head".to_owned()).len(), 2);
    assert_eq!(seen.lock().unwrap()[2..], [("port", 3), ("port", 0)]);
    assert_eq!(catalog.get("three").unwrap().meta(), &3);
    let result = block_on(catalog.invoke(Invocation::new("three", json!({ "a": 1 })), 7_u8)).unwrap();
    assert_eq!(result.value(), &json!({ "a": 1 }));
}

#[test]
fn t1_2_a_program_that_names_no_type_needs_none() {
    let mut registry = Registry::new();
    registry.register(tool("echo", "Gives back what it gets").reads().run_json(|input, _| async move { Ok(input) })).unwrap();
    let catalog = registry.seal();
    let result = block_on(catalog.invoke(Invocation::new("echo", json!({ "a": 1 })), ())).unwrap();
    assert_eq!(result.value(), &json!({ "a": 1 }));
}

/// A decision with types of its own.
enum Move {
    Say,
    Use(String),
}

impl AsDecision for Move {
    fn invocation_id(&self) -> &str {
        match self {
            Self::Say => "say",
            Self::Use(tool) => tool,
        }
    }
}

type Moves = Rt<AppCx, Move>;

/// Tools that note what they are asked.
fn moves() -> Catalog<Moves> {
    let tool = |id: &'static str| {
        Moves::tool(id, "Notes what it is asked")
            .reads()
            .authorize(move |access| {
                access.context.log.note(format!("authorize {id}"));
                Ok(())
            })
            .resume(move |_, cx| {
                cx.log.note(format!("resume {id}"));
                true
            })
            .complete(move |_, cx| {
                cx.log.note(format!("complete {id}"));
                Option::<Move>::None
            })
            .run_json(move |input, call| {
                call.context().log.note(format!("ran {id}"));
                async move { Ok(input) }
            })
    };
    let mut registry = Registry::with_options(Options::new()).unwrap();
    registry.register_all([tool("search"), tool("say"), tool("other")]).unwrap();
    registry.seal()
}

#[test]
fn t2_5_1_a_decision_reaches_the_tool_that_it_is_mapped_to() {
    for (decision, id) in [(Move::Say, "say"), (Move::Use("search".into()), "search")] {
        let (catalog, cx) = (moves(), cx());
        catalog.authorize(&decision, &cx).unwrap();
        assert!(catalog.resume(&decision, &cx).unwrap());
        assert!(catalog.complete(&decision, &cx).unwrap().is_none());
        block_on(catalog.call(&decision, cx.clone())).unwrap();
        let asked = ["authorize", "resume", "complete", "authorize", "ran"];
        assert_eq!(cx.log.all(), asked.map(|what| format!("{what} {id}")));
    }
}

#[test]
fn t2_5_2_a_decision_that_is_mapped_to_nobody_names_what_it_asked_for() {
    let (catalog, cx, ghost) = (moves(), cx(), Move::Use("ghost".into()));
    let nobody = by("unavailable_invocation", "ghost", "");
    let refused = error(catalog.authorize(&ghost, &cx));
    assert!(matches!(refused.fault(), Fault::UnavailableInvocation { invocation, .. } if invocation == "ghost"), "{refused:?}");
    assert_eq!(said(catalog.resume(&ghost, &cx)), nobody);
    assert_eq!(said(catalog.complete(&ghost, &cx).map(drop)), nobody);
    assert_eq!(said(block_on(catalog.call(&ghost, cx.clone()))), nobody);
    assert_eq!(cx.log.all(), [""; 0]);
}
