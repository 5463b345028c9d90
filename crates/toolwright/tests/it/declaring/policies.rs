//! What a policy takes in and what it turns down, and the members of a declaration that it judges.

use std::sync::Arc;

use toolwright::approval::{Answer, Request};
use toolwright::{
    Approver, BoxFuture, Composite, Effect, HostChecks, Impact, Invocation, Options, Policy, RegisterError, RegisterFault, Registry,
    Runtime, ToolDef, json,
};

use crate::lifecycle_fixture::{
    App, Close, Notes, block_on, by, catalog, catalog_with, cx, cx_with, echo, listed, nobody, policy, reads, said,
};

/// A registry with this policy and one tool in it.
fn open(policy: Policy<App>) -> Registry<App> {
    Registry::with_policy(policy).with(reads("first").kind("read").goals(["explain"]).echoes()).unwrap()
}

/// What is wrong with it; the registry is as it was.
fn refused(registry: &mut Registry<App>, declaration: impl Into<toolwright::registry::Declaration<App>>) -> RegisterError {
    let before = (registry.fingerprint(), registry.ids().map(ToOwned::to_owned).collect::<Vec<_>>());
    let error = registry.register(declaration).map(drop).unwrap_err();
    assert_eq!(before, (registry.fingerprint(), registry.ids().map(ToOwned::to_owned).collect::<Vec<_>>()));
    error
}

fn chain(id: &str, tool: &str) -> Composite<App> {
    Composite::of(App::tool(id.to_owned(), "A chain of the tests").kind("read")).step("s", tool.to_owned(), json!({}))
}

fn empty(id: &str) -> Invocation {
    Invocation::new(id.to_owned(), json!({}))
}

#[test]
fn t2_4_1_a_a_kind_that_the_policy_does_not_list_is_refused() {
    let mut registry = open(Policy::new().kinds(["read"]));
    for kind in ["act", "Read", ""] {
        let error = refused(&mut registry, reads("a").kind(kind).echoes());
        assert_eq!(error.fault(), &RegisterFault::Kind { kind: kind.into() });
    }
    registry.register(reads("a").kind("read").echoes()).unwrap();
    let mut nothing = Registry::with_policy(Policy::<App>::new().kinds([""; 0]));
    assert_eq!(refused(&mut nothing, echo("a")).fault(), &RegisterFault::Kind { kind: "tool".into() });
}

#[test]
fn t2_4_1_b_an_audience_that_the_policy_does_not_list_is_refused() {
    let mut registry = open(Policy::new().audiences(["model", "operator"]));
    for audience in ["children", "Model"] {
        let error = refused(&mut registry, reads("a").audience(audience).echoes());
        assert_eq!(error.fault(), &RegisterFault::Audience { audience: audience.into() });
    }
    registry.register(reads("a").audience("operator").echoes()).unwrap();
    let mut nothing = Registry::with_policy(Policy::<App>::new().audiences([""; 0]));
    assert_eq!(refused(&mut nothing, echo("a")).fault(), &RegisterFault::Audience { audience: "model".into() });
}

#[test]
fn t2_4_1_c_a_class_of_effect_that_the_policy_does_not_list_is_refused() {
    let mut registry = open(Policy::new().effects(["read", "write"]));
    for class in ["deploy", "Read"] {
        let error = refused(&mut registry, App::tool("a", "x").effect(Effect::new(class, Impact::None)).echoes());
        assert_eq!(error.fault(), &RegisterFault::Effect { class: Some(class.into()) });
    }
    // The class counts, and not how bad it is.
    registry.register(App::tool("a", "x").effect(Effect::new("read", Impact::Once)).echoes()).unwrap();
    let mut nothing = Registry::with_policy(Policy::<App>::new().effects([""; 0]));
    assert_eq!(refused(&mut nothing, echo("a")).fault(), &RegisterFault::Effect { class: Some("read".into()) });
}

#[test]
fn t2_4_2_the_hosts_rule_sees_the_whole_declaration_and_says_why() {
    let rule = |tool: &ToolDef<App>| match tool.name().split_once('.') {
        Some((kind, _)) if kind == tool.kind() => Ok(()),
        _ => Err(format!("`{}` does not begin with its kind `{}`", tool.name(), tool.kind())),
    };
    let mut registry = Registry::with_policy(Policy::new().valid_id(rule));
    registry.register(reads("read.x").kind("read").echoes()).unwrap();
    let error = refused(&mut registry, reads("act.x").kind("read").echoes());
    let why = "`act.x` does not begin with its kind `read`".to_owned();
    assert_eq!(error.fault(), &RegisterFault::Rule { why: why.clone() });
    assert!(error.to_string().contains(&why), "{error}");
    // The rules that every id must keep are not the host's to lift.
    let mut lax = Registry::with_policy(Policy::<App>::new().valid_id(|_| Ok(())));
    assert_eq!(refused(&mut lax, echo("$x")).code(), "invalid_tool");
    // A rule that breaks down has not said yes.
    let mut lost = Registry::with_policy(Policy::<App>::new().valid_id(|_| panic!("no rule")));
    assert_eq!(refused(&mut lost, echo("a")).code(), "rule_refused");
}

#[test]
fn t2_4_3_every_goal_of_a_list_must_exist() {
    let mut registry = open(Policy::new().goal_exists(|goal| goal == "explain"));
    let error = refused(&mut registry, reads("a").goals(["explain", "dance"]).echoes());
    assert_eq!(error.faults().collect::<Vec<_>>(), [&RegisterFault::UnknownGoal { goal: "dance".into() }]);
    registry.register(reads("a").goals(["explain"]).echoes()).unwrap();
    // Without a rule, the goals that there are at that moment; without those, any.
    let known = |goals: fn() -> Vec<&'static str>| Registry::with_options(Options::<App>::new().goal_ids(goals)).unwrap();
    let unknown = |goal: &str| RegisterFault::UnknownGoal { goal: goal.into() };
    assert_eq!(refused(&mut known(|| vec!["explain"]), reads("a").goals(["dance"]).echoes()).fault(), &unknown("dance"));
    assert_eq!(refused(&mut known(|| panic!("no goals")), reads("a").goals(["explain"]).echoes()).fault(), &unknown("explain"));
    Registry::<App>::with_policy(Policy::new()).register(reads("a").goals(["dance"]).echoes()).unwrap();
}

#[test]
fn t2_4_4_the_policy_may_make_an_effect_worse_and_never_less() {
    let log = Notes::default();
    let raising = || Policy::new().raise_effect("fetch", Effect::write()).raise_effect("mute", Effect::read());
    let mut registry = Registry::with_policy(raising());
    registry.register(reads("fetch").notes(&log)).unwrap();
    assert_eq!(registry.get("fetch").unwrap().effect(), Some(&Effect::new("write", Impact::Once)));
    assert_eq!(refused(&mut registry, chain("over", "fetch")).code(), "step_not_chainable");
    let mut listing = Registry::with_policy(raising().may_chain(["fetch"]));
    listing.register(reads("fetch").notes(&log)).unwrap().register(chain("over", "fetch")).unwrap();
    assert_eq!(listing.get("over").unwrap().effect(), Some(&Effect::write()));
    // What says nothing may be spoken for.
    registry.register(App::tool("mute", "Says nothing").echoes()).unwrap();
    assert_eq!(registry.get("mute").unwrap().effect(), Some(&Effect::read()));

    let mut lowering = Registry::with_policy(Policy::<App>::new().raise_effect("pay", Effect::read()));
    let error = refused(&mut lowering, App::tool("pay", "Pays").writes().notes(&log));
    assert!(
        matches!(error.fault(), RegisterFault::EffectLowered { declared, raised } if declared.starts_with("write") && raised.starts_with("read"))
    );
    assert_eq!(log.all(), [""; 0]);
}

#[test]
fn the_policy_may_make_the_effect_of_a_composite_worse_too() {
    let judged = |policy: Policy<App>| {
        let mut registry = Registry::with_policy(policy.may_chain(["send"]));
        registry.register(echo("look")).unwrap().register(App::tool("send", "Sends").writes().echoes()).unwrap();
        registry
    };
    let mut registry = judged(Policy::new().raise_effect("digest", Effect::write()));
    registry.register(chain("digest", "look")).unwrap();
    assert_eq!(registry.get("digest").unwrap().effect(), Some(&Effect::write()));
    assert_eq!(refused(&mut registry, chain("over", "digest")).code(), "step_not_chainable");
    let mut listing = judged(Policy::new().raise_effect("digest", Effect::write()).may_chain(["digest"]));
    listing.register(chain("digest", "look")).unwrap().register(chain("over", "digest")).unwrap();
    assert_eq!(listing.get("over").unwrap().effect(), Some(&Effect::write()), "nothing is laundered on the way");
    let mut registry = judged(Policy::new().raise_effect("notify", Effect::read()));
    assert!(matches!(refused(&mut registry, chain("notify", "send")).fault(), RegisterFault::EffectLowered { .. }));
}

/// Says no, and notes what to.
struct Nobody(Notes);

impl Approver for Nobody {
    fn ask<'a>(&'a self, request: &'a Request) -> BoxFuture<'a, Answer> {
        self.0.note(format!("asked for {}", request.tool));
        Box::pin(std::future::ready(Answer::Nobody))
    }
}

#[test]
fn a_composite_whose_effect_is_the_policys_word_is_asked_for_as_a_whole() {
    let log = Notes::default();
    let checks = HostChecks::new().approval(Some(Arc::new(Nobody(log.clone()))));
    let policy = Policy::new().raise_effect("digest", Effect::write()).may_chain(["digest"]).checks(checks);
    let mut registry = Registry::with_policy(policy);
    registry.register(reads("look").notes(&log)).unwrap();
    registry.register(chain("digest", "look")).unwrap().register(chain("over", "digest")).unwrap();
    assert_eq!(crate::lifecycle_fixture::error(block_on(registry.seal().invoke(empty("over"), cx()))).code(), "approval_rejected");
    assert_eq!(log.all(), ["asked for digest"]);
}

#[test]
fn t4_1_1_an_id_that_cannot_be_one_is_refused_and_the_reason_is_said() {
    let mut registry = open(Policy::new());
    let mut reasons: Vec<String> = Vec::new();
    for id in ["", " a", "a ", "$x", &"x".repeat(129), "a\nb", "a\0"] {
        let error = refused(&mut registry, reads(id).echoes());
        let RegisterFault::InvalidId { why } = error.fault() else { panic!("{error:?}") };
        assert!(!why.is_empty() && error.to_string().contains(why.as_str()), "{error}");
        assert_eq!(error.tool(), id);
        reasons.push(why.clone());
    }
    reasons.dedup();
    assert_eq!(reasons.len(), 5, "{reasons:?}");
    registry.register_all(["x".repeat(128), "a b".into(), "x$".into(), "工具".into()].map(|id| echo(&id))).unwrap();
    // A delegate is asked for like an id.
    let error = refused(&mut registry, reads("d").delegate("").echoes());
    assert_eq!(error.code(), "invalid_tool");
}

#[test]
fn t4_1_2_a_second_tool_of_the_same_id_is_refused_and_the_first_still_runs() {
    let (first, second) = (Notes::default(), Notes::default());
    let mut registry = Registry::with_policy(Policy::new());
    registry.register(reads("a").notes(&first)).unwrap();
    let error = refused(&mut registry, App::tool("a", "Another").writes().notes(&second));
    assert!(matches!(error.fault(), RegisterFault::Duplicate { why } if why.contains("`a`")), "{error:?}");
    assert_eq!((error.tool(), error.code()), ("a", "duplicate_tool"));
    block_on(registry.seal().invoke(empty("a"), cx())).unwrap();
    assert_eq!((first.all(), second.all()), (vec!["ran a".to_owned()], Vec::new()));
}

#[test]
fn t4_2_1_a_blank_description_is_refused() {
    let mut registry = open(Policy::new());
    for blank in ["", " ", "\n\t ", "\u{a0}"] {
        assert_eq!(refused(&mut registry, App::tool("a", blank).reads().echoes()).fault(), &RegisterFault::EmptyDescription);
    }
    let chain = Composite::of(App::tool("c", " ")).step("s", "first", json!({}));
    assert_eq!(refused(&mut registry, chain).fault(), &RegisterFault::EmptyDescription);
}

#[test]
fn t4_2_2_a_description_is_told_byte_for_byte() {
    let said = "  Reads a page.\r\n\n\t读取页面 – „Zitat“ \u{200d}\n";
    let catalog = catalog([App::tool("a", said).reads().echoes()]);
    assert_eq!(catalog.describe(None, None)[0].description, said);
    assert_eq!(catalog.protocols().get("a").unwrap().description, said);
    assert_eq!(catalog.model_protocols(&cx()).unwrap().get("a").unwrap().description, said);
    assert_eq!(catalog.get("a").unwrap().description(), said);
}

#[test]
fn t4_3_1_a_kind_is_one_that_the_policy_lists() {
    let mut registry = open(policy());
    assert_eq!(refused(&mut registry, reads("a").kind("think").echoes()).fault(), &RegisterFault::Kind { kind: "think".into() });
    registry.register(reads("a").kind("act").echoes()).unwrap();
    assert_eq!(registry.get("a").unwrap().kind(), "act");
    // The kinds of who says none are kinds like all others.
    assert_eq!(refused(&mut registry, echo("b")).fault(), &RegisterFault::Kind { kind: "tool".into() });
    let chain = Composite::of(App::tool("c", "A chain")).step("s", "first", json!({}));
    assert_eq!(refused(&mut registry, chain).fault(), &RegisterFault::Kind { kind: "composite".into() });
}

#[test]
fn t4_3_2_events_carry_the_kind_of_their_own_tool() {
    let catalog = catalog_with(Options::new().policy(policy()), [reads("a").kind("read").echoes(), reads("b").kind("act").echoes()]);
    block_on(catalog.invoke(empty("a"), cx())).unwrap();
    block_on(catalog.invoke(empty("b"), cx())).unwrap();
    let events = catalog.events();
    let told: Vec<(&str, &str)> = events.iter().map(|event| (event.tool.as_str(), event.kind.as_str())).collect();
    assert_eq!(told, [("a", "read"), ("a", "read"), ("b", "act"), ("b", "act")]);
}

#[test]
fn t4_4_1_an_audience_is_described_what_is_for_it() {
    let catalog = catalog([echo("m"), reads("o").audience("operator").echoes()]);
    assert_eq!(listed(&catalog, Some("model"), None), ["m"]);
    assert_eq!(listed(&catalog, Some("operator"), None), ["o"]);
    assert_eq!(listed(&catalog, None, None), ["m", "o"]);
    assert_eq!(listed(&catalog, Some("nobody"), None), [""; 0]);
    assert_eq!(catalog.model_protocols(&cx()).unwrap().ids().collect::<Vec<_>>(), ["m"]);
}

#[test]
fn t4_4_2_a_program_runs_a_tool_of_any_audience_and_its_authorize_decides() {
    let tool = |cx: &Notes| {
        let allowed = |access: &toolwright::Access<'_, App>| {
            if access.context.can_send { Ok(()) } else { Err(toolwright::Refusal::new("operators_only", "not you")) }
        };
        reads("o").audience("operator").authorize(allowed).notes(cx)
    };
    let cx = cx();
    block_on(catalog([tool(&cx.log)]).invoke(empty("o"), cx.clone())).unwrap();
    assert_eq!(cx.log.all(), ["ran o"]);
    let nobody = nobody();
    assert_eq!(said(block_on(catalog([tool(&nobody.log)]).invoke(empty("o"), nobody.clone()))), by("denied", "o", "operators_only"));
    assert_eq!(nobody.log.all(), [""; 0]);
}

#[test]
fn t4_5_1_what_declares_no_effect_runs_and_is_no_step() {
    let cx = cx_with(|_| {});
    let mut registry = open(Policy::new().may_chain(["mute"]));
    registry.register(App::tool("mute", "Says nothing").notes(&cx.log)).unwrap();
    assert_eq!(refused(&mut registry, chain("over", "mute")).code(), "side_effects_undeclared");
    let catalog = registry.seal();
    assert_eq!(serde_json::to_value(&catalog.describe(None, None)[1]).unwrap()["effect"], serde_json::Value::Null);
    block_on(catalog.invoke(empty("mute"), cx.clone())).unwrap();
    assert_eq!(cx.log.all(), ["ran mute"]);
}

#[test]
fn t4_5_2_where_the_policy_lists_classes_a_tool_must_declare_one_of_them() {
    let mut registry = open(policy().kinds(["read"]));
    let deploy = App::tool("a", "x").kind("read").effect(Effect::new("deploy", Impact::Once)).echoes();
    assert_eq!(refused(&mut registry, deploy).fault(), &RegisterFault::Effect { class: Some("deploy".into()) });
    assert_eq!(refused(&mut registry, App::tool("a", "x").kind("read").echoes()).fault(), &RegisterFault::Effect { class: None });
    // A composite's own effect is judged as well as it is derived.
    let declares = Composite::of(reads("c").kind("read")).step("s", "first", json!({}));
    assert_eq!(refused(&mut registry, declares).fault(), &RegisterFault::EffectOnComposite);
    registry.register(chain("c", "first")).unwrap();
}
