use std::collections::BTreeMap;
use std::sync::Arc;

use toolwright::{Composite, Effect, HostChecks, Invocation, Origin, Policy, Registry, ToolDef, json, tool};

use super::*;
use crate::server::caller::Caller;
use crate::server::offer::{Offer, denied_steps};

fn leaf(id: &str, source: &str, effect: Option<Effect>, hints: Option<(&str, Value)>) -> ToolDef {
    let from = hints.as_ref().map_or("declared", |(from, _)| from);
    let origin = Origin { source: source.into(), kind: "mcp-stdio".into(), name: id.into(), effect_from: from.into() };
    let mut built = tool(id, format!("what {id} does")).origin(origin).input_schema(json!({"type": "object", "properties": {}}));
    if let Some(effect) = effect {
        built = built.effect(effect);
    }
    if let Some((_, hints)) = hints {
        built = built.annotations(hints);
    }
    built.run_json(|input, _call| async move { Ok(input) })
}

fn catalogue() -> Catalog {
    let mut registry = Registry::with_policy(Policy::new().may_chain(["mail_send"]));
    registry.register(leaf("git.log", "git", Some(Effect::read()), None)).unwrap();
    registry.register(leaf("git_push", "git", Some(Effect::write()), None)).unwrap();
    registry.register(leaf("mail_send", "mail", Some(Effect::write()), None)).unwrap();
    registry.register(leaf("mail_find", "mail", Some(Effect::read()), None).with_hidden(true)).unwrap();
    registry
        .register(Composite::new("digest", "Reads and mails").step("read", "git.log", json!({})).step("send", "mail_send", json!({})))
        .unwrap();
    registry.seal()
}

fn surface(audience: &Audience) -> Surface {
    Surface::build(&catalogue(), audience, &Profile::default(), Generation::Sessions, 2)
}

fn names(surface: &Surface) -> Vec<&str> {
    surface.tools().map(|(_, name)| name.as_str()).collect()
}

fn left_out(surface: &Surface) -> Vec<(&str, &str)> {
    surface.left_out().iter().map(|left| (left.tool.as_str(), left.cause)).collect()
}

#[test]
fn what_is_seen_is_found_and_nothing_else() {
    let all = surface(&Audience::default());
    assert_eq!(names(&all), ["git_log", "git_push", "mail_send", "digest"]);
    assert_eq!(left_out(&all), [("mail_find", "hidden")]);
    assert_eq!(all.find("git_log").map(Text::as_str), Some("git.log"));
    assert_eq!(all.exposed("git.log").map(Text::as_str), Some("git_log"));
    assert_eq!((all.find("git.log"), all.find("mail_find")), (None, None));
    let some = surface(&Audience::default().seeing(["git*", "digest"]));
    assert_eq!(names(&some), ["git_log", "git_push", "digest"]);
    assert_eq!(left_out(&some), [("mail_send", "not_seen"), ("mail_find", "hidden")]);
    assert_eq!(some.find("mail_send"), None);
    assert!(some.opens("git") && !some.opens("mail") && !some.opens("elsewhere"));
    assert!(all.opens("git") && all.opens("mail") && all.opens("elsewhere"), "a source without tools hides nothing");
}

#[test]
fn what_is_denied_takes_its_composites_along() {
    let guests = surface(&Audience::default().denied(["mail_*"]));
    assert_eq!(names(&guests), ["git_log", "git_push"]);
    assert_eq!(left_out(&guests), [("mail_send", "denied"), ("mail_find", "hidden"), ("digest", "uses_denied")]);
    assert!(!guests.opens("mail") && guests.opens("git"));
}

#[test]
fn pages_are_whole_lists_and_the_digest_is_of_all_of_them() {
    let all = surface(&Audience::default());
    assert_eq!(all.page_count(), 2);
    let pages: Vec<Value> = (0..2).map(|at| Value::parse(all.page(at).unwrap()).unwrap()).collect();
    let listed: Vec<&str> =
        pages.iter().flat_map(|page| page.as_array().unwrap()).map(|tool| tool.get("name").unwrap().as_str().unwrap()).collect();
    assert_eq!(listed, ["git_log", "git_push", "mail_send", "digest"]);
    assert_eq!(all.page(2), None);
    assert_eq!(all.digest(), surface(&Audience::default()).digest());
    assert_ne!(all.digest(), surface(&Audience::default().denied(["git_push"])).digest());
    let none = Surface::build(&Registry::new().seal(), &Audience::default(), &Profile::default(), Generation::Sessions, 2);
    assert_eq!((none.page_count(), none.page(0).map(Text::as_str)), (1, Some("[]")));
    let first = pages.first().and_then(|page| page.get_index(0)).unwrap();
    assert_eq!(first.get("title").and_then(Value::as_str), Some("git.log"), "a changed name says what it was");
    let bytes: usize = all.budgets().iter().map(|budget| budget.bytes).sum();
    assert_eq!(bytes + 2 + 2 + 2, all.page(0).unwrap().len() + all.page(1).unwrap().len(), "brackets and commas are nobody's");
    assert_eq!(
        all.budgets().iter().map(|budget| (budget.source.as_str(), budget.tools)).collect::<Vec<_>>(),
        [("git", 2), ("mail", 1), ("composites", 1)]
    );
}

#[test]
fn too_many_tools_leave_composites_first() {
    let few = Surface::build(&catalogue(), &Audience::default(), &Profile::default().tools_max(Some(2)), Generation::Sessions, 10);
    assert_eq!(names(&few), ["git_log", "digest"]);
    assert_eq!(left_out(&few), [("mail_find", "hidden"), ("git_push", "too_many_tools"), ("mail_send", "too_many_tools")]);
    assert_eq!(few.find("git_push"), None);
}

/// What is told follows from our effects; hints count once somebody has accepted them.
#[test]
fn hints_are_honest() {
    let gentle = || json!({"readOnlyHint": true, "destructiveHint": false, "idempotentHint": true, "openWorldHint": false});
    let table: [(ToolDef, [bool; 4]); 8] = [
        (leaf("t", "s", None, None), [false, true, false, true]),
        (leaf("t", "s", None, Some(("", gentle()))), [false, true, false, true]),
        (leaf("t", "s", Some(Effect::read()), None), [true, false, true, true]),
        (leaf("t", "s", Some(Effect::write()), None), [false, true, false, true]),
        (leaf("t", "s", Some(Effect::write_idempotent()), None), [false, true, true, true]),
        (leaf("t", "s", Some(Effect::write()), Some(("declared", gentle()))), [false, true, false, true]),
        (leaf("t", "s", Some(Effect::write()), Some(("hint", gentle()))), [false, false, false, false]),
        (leaf("t", "s", Some(Effect::read()), Some(("lock", gentle()))), [true, false, true, false]),
    ];
    for (tool, [read_only, destructive, idempotent, open_world]) in table {
        let catalog = Registry::new().with(tool.clone()).unwrap().seal();
        let expected = Told { read_only, destructive, idempotent, open_world };
        assert_eq!(hints::of_all(&catalog), [expected], "{:?} {:?}", tool.effect(), tool.annotations());
    }
}

#[test]
fn a_composite_is_what_its_steps_are() {
    let gentle = json!({"destructiveHint": false, "openWorldHint": false});
    let mut registry = Registry::with_policy(Policy::new().may_chain(["put", "drop", "adds"]));
    registry.register(leaf("look", "s", Some(Effect::read()), Some(("lock", gentle.clone())))).unwrap();
    registry.register(leaf("put", "s", Some(Effect::write()), Some(("lock", gentle)))).unwrap();
    registry.register(leaf("drop", "s", Some(Effect::write()), None)).unwrap();
    registry.register(Composite::new("reads", "Looks twice").step("a", "look", json!({})).step("b", "look", json!({}))).unwrap();
    registry.register(Composite::new("adds", "Puts").step("a", "reads", json!({})).step("b", "put", json!({}))).unwrap();
    registry.register(Composite::new("clears", "Drops").step("a", "adds", json!({})).step("b", "drop", json!({}))).unwrap();
    let told = hints::of_all(&registry.seal());
    let of = |read_only, destructive, idempotent, open_world| Told { read_only, destructive, idempotent, open_world };
    assert_eq!(told[3..], [of(true, false, true, false), of(false, false, false, false), of(false, true, false, true)]);
}

#[test]
fn a_dispatcher_is_never_read_only() {
    let table = [
        (json!({"tool_name": {"type": "string"}, "arguments": {"type": "object"}}), false),
        (json!({"tool": {"type": "string"}, "params": {}}), false),
        (json!({"tool": {"type": "string"}, "reason": {"type": "string"}}), true),
        (json!({"name": {"type": "string"}, "arguments": {"type": "object"}}), true),
        (json!({"toolName": {"type": "object"}, "args": {"type": "object"}}), true),
    ];
    for (properties, read_only) in table {
        let schema = json!({"type": "object", "properties": (properties.to_json())});
        let call = tool("call", "Calls a tool").reads().input_schema(schema).run_json(|input, _call| async move { Ok(input) });
        let told = hints::of_all(&Registry::new().with(call).unwrap().seal());
        assert_eq!(told[0].read_only, read_only, "{properties}");
        assert_eq!(told[0].destructive, !read_only, "{properties}");
    }
}

#[test]
fn clients_that_see_the_same_share_it() {
    let offer = Offer::new(catalogue()).audience("readers", Audience::default().seeing(["git*"]));
    let surfaces = Surfaces::new(Arc::new(offer), 100);
    let default = Caller::default();
    let of = |caller: &Caller, client: Option<&str>| surfaces.of(caller, client, Generation::Sessions);
    let first = of(&default, None).unwrap();
    assert!(Arc::ptr_eq(&first, &of(&default, Some("a client of my own")).unwrap()));
    assert!(!Arc::ptr_eq(&first, &of(&default, Some("cursor-vscode")).unwrap()));
    let reader = Caller { audience: "readers".into(), ..Caller::default() };
    assert_eq!(names(&of(&reader, None).unwrap()), ["git_log", "git_push"]);
    let stranger = Caller { audience: "nobody".into(), ..Caller::default() };
    assert!(of(&stranger, None).is_none(), "no audience, nothing to see");
}

/// What is denied is denied in the path of the call itself, whatever a list says: as the caller, for every inner call.
#[tokio::test]
async fn an_inner_call_is_judged_as_the_caller() {
    let sent = Arc::new(std::sync::atomic::AtomicU32::new(0));
    let send = {
        let sent = sent.clone();
        tool("send", "Sends").writes().run_json(move |input, _call| {
            let sent = sent.clone();
            async move {
                sent.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
                Ok(input)
            }
        })
    };
    let audiences = BTreeMap::from([(Text::new(), Audience::default()), (Text::from("guests"), Audience::default().denied(["se*"]))]);
    let checks = HostChecks::new().permission(denied_steps(audiences).unwrap());
    let mut registry = Registry::with_policy(Policy::new().may_chain(["send", "inner"]).checks(checks));
    registry.register(send).unwrap();
    registry.register(Composite::new("inner", "Sends").step("go", "send", json!({}))).unwrap();
    registry.register(Composite::new("outer", "Sends").step("in", "inner", json!({}))).unwrap();
    let catalog = registry.seal();
    let call = |audience: &str| {
        let caller = Caller { audience: audience.into(), principal: "somebody".into(), ..Caller::default() };
        catalog.invoke(Invocation::new("outer", json!({})), caller.context())
    };
    for audience in ["guests", "of yesterday"] {
        let error = call(audience).await.unwrap_err();
        assert_eq!(error.code(), "permission_denied", "{error}");
    }
    assert_eq!(sent.load(std::sync::atomic::Ordering::SeqCst), 0, "nothing was sent");
    call("").await.unwrap();
    assert_eq!(sent.load(std::sync::atomic::Ordering::SeqCst), 1);
}

/// Tools whose published form cannot be made are left out of that profile's list alone.
#[test]
fn one_schema_that_cannot_be_published_takes_nothing_along() {
    let mut definitions = vec![("D0".to_owned(), json!({"type": "string"}))];
    for at in 1..30 {
        let before = json!({"$ref": (format!("#/$defs/D{}", at - 1))}).to_json();
        definitions.push((format!("D{at}"), json!({"type": "object", "properties": {"a": (before.clone()), "b": (before)}})));
    }
    let schema = json!({"type": "object", "properties": {"x": {"$ref": "#/$defs/D29"}}});
    let schema = Value::Object(schema.as_object().unwrap().with("$defs", Value::object(definitions)));
    let huge = tool("huge", "Takes much").reads().input_schema(schema).run_json(|input, _call| async move { Ok(input) });
    let catalog = Registry::new().with(huge).unwrap().with(leaf("small", "s", None, None)).unwrap().seal();
    let of = |profile: Profile| Surface::build(&catalog, &Audience::default(), &profile, Generation::Sessions, 10);
    assert_eq!(names(&of(Profile::default())), ["huge", "small"]);
    let cursor = of(Profile::named("cursor").unwrap());
    assert_eq!(names(&cursor), ["small"]);
    assert_eq!(left_out(&cursor), [("huge", "schema_rejected")]);
}
