use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use super::hooks::{ALL, SHARED};
use super::*;
use crate::frame::Context;
use crate::json;
use crate::runtime::{Decision, Phase};

/// A builder as small as can be.
struct Probe<R: Runtime> {
    hooks: Hooks<R>,
}

#[expect(unreachable_pub, reason = "the methods are those of public builders")]
impl<R: Runtime> Probe<R> {
    hook_setters!(hooks);
}

struct Caller {
    can_read: bool,
}

type App = Rt<Caller>;

fn probe<R: Runtime>() -> Probe<R> {
    Probe { hooks: Hooks::default() }
}

const CALLER: Caller = Caller { can_read: false };

fn decision() -> Decision {
    Decision::new("a", json!({}))
}

/// All hooks of one object.
fn of<R: Runtime, L: Lifecycle<R>>(lifecycle: &Arc<L>) -> Hooks<R> {
    let mut hooks = Hooks::default();
    hooks.install(lifecycle);
    hooks
}

#[test]
fn closures_need_no_types() {
    let hooks = probe::<App>()
        .available(|cx| cx.can_read)
        .supports_goal(|goal, cx| if cx.can_read { None } else { Some(goal.len() < 3) })
        .rules(|_| vec![Rule::new(1, "be kind")])
        .fields(|cx| vec![ModelField::new("head", 1, "can_read", cx.can_read)])
        .project_context(|value| value)
        .recovery_context(|_| Some(json!(null)))
        .resolve(|input, _| if input.is_null() { Err("nothing there".into()) } else { Ok(input) })
        .inspect(|d, _| if d.invocation.is_empty() { Err("nameless".into()) } else { Ok(()) })
        .authorize(|a| if a.lineage.is_empty() { Ok(()) } else { Err(Refusal::new("nested", "from outside only")) })
        .resume(|d, _| d.invocation == "a")
        .missing_interaction_allowed(|_, cx| !cx.can_read)
        .complete(|d, _| Some(Decision::new("b", d.arguments.clone())))
        .visible_text(|text, _| text.trim().to_owned())
        .review_draft(|draft, _| Ok(draft))
        .composition(|_| Some("letter".into()))
        .finalize(|_, _, phase| if *phase == Phase::After { Err("too late".into()) } else { Ok(()) })
        .hooks;
    let (d, cx) = (decision(), CALLER);
    assert_eq!(hooks.names().collect::<Vec<_>>(), ALL);
    assert_eq!(hooks.twice, [""; 0]);
    assert!(hooks.is_conditional() && !hooks.is_available(&cx) && hooks.is_available(&Caller { can_read: true }));
    assert_eq!(hooks.supports_goal("explain", &cx), Ok(Some(false)));
    assert_eq!(hooks.rules(&cx), Ok(vec![Rule::new(1, "be kind")]));
    assert_eq!(hooks.fields(&cx), Ok(vec![ModelField::new("head", 1, "can_read", false)]));
    assert_eq!(hooks.project_context(json!(1)), Ok(json!(1)));
    assert_eq!(hooks.recovery_context(&cx), Ok(Some(json!(null))));
    assert_eq!(hooks.resolve(json!(null), &cx), Err("nothing there".into()));
    assert_eq!(hooks.inspect(&Decision::new("", json!({})), &cx), Err("nameless".into()));
    assert_eq!(hooks.authorize(&Access::new("a", &cx)), Ok(()));
    let lineage = ["outer".into()];
    assert_eq!(hooks.authorize(&Access { lineage: &lineage, ..Access::new("a", &cx) }).unwrap_err().code, "nested");
    assert_eq!((hooks.resume(&d, &cx), hooks.missing_interaction_allowed(&d, &cx)), (Ok(true), Ok(true)));
    assert_eq!(hooks.complete(&d, &cx), Ok(Some(Decision::new("b", json!({})))));
    assert_eq!(hooks.visible_text(" done ".into(), &cx), Ok("done".into()));
    assert_eq!(hooks.review_draft(json!([]), &cx), Ok(json!([])));
    assert_eq!(hooks.composition(&cx), Ok(Some("letter".into())));
    assert_eq!((hooks.finalize(&d, &cx, &Phase::Before), hooks.finalize(&d, &cx, &Phase::After)), (Ok(()), Err("too late".into())));
}

#[test]
fn what_is_not_set_is_neutral() {
    struct Nothing;
    impl Lifecycle<App> for Nothing {}
    let (d, cx) = (decision(), CALLER);
    for hooks in [Hooks::<App>::default(), of(&Arc::new(Nothing))] {
        assert!(hooks.is_available(&cx) && !hooks.is_conditional());
        assert_eq!(hooks.supports_goal("g", &cx), Ok(None));
        assert_eq!((hooks.rules(&cx), hooks.fields(&cx)), (Ok(vec![]), Ok(vec![])));
        assert_eq!((hooks.project_context(json!(1)), hooks.resolve(json!(2), &cx)), (Ok(json!(1)), Ok(json!(2))));
        assert_eq!((hooks.recovery_context(&cx), hooks.composition(&cx)), (Ok(None), Ok(None)));
        assert_eq!((hooks.inspect(&d, &cx), hooks.authorize(&Access::new("a", &cx))), (Ok(()), Ok(())));
        assert_eq!((hooks.resume(&d, &cx), hooks.missing_interaction_allowed(&d, &cx)), (Ok(false), Ok(false)));
        assert_eq!((hooks.complete(&d, &cx), hooks.finalize(&d, &cx, &Phase::Before)), (Ok(None), Ok(())));
        assert_eq!((hooks.visible_text("x".into(), &cx), hooks.review_draft(json!(3), &cx)), (Ok("x".into()), Ok(json!(3))));
    }
    assert!(Hooks::<App>::default().into_shared().is_none());
    assert!(probe::<App>().resume(|_, _| false).hooks.into_shared().is_some());
}

/// Counts what it is asked.
#[derive(Default)]
struct Counting(AtomicU32);

impl Lifecycle<Rt> for Counting {
    fn inspect(&self, _: &Decision, _: &Context) -> Result<(), Refusal> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }
}

#[test]
fn hooks_of_an_object_stay_with_that_object() {
    let counting = Arc::new(Counting::default());
    let hooks = probe::<Rt>().lifecycle(counting.clone()).hooks;
    let copied = hooks.clone();
    for hooks in [hooks, copied] {
        assert_eq!(hooks.names().collect::<Vec<_>>(), SHARED);
        assert_eq!(hooks.inspect(&decision(), &Context::default()), Ok(()));
    }
    assert_eq!(counting.0.load(Ordering::Relaxed), 2);
    let behind_a_trait: Arc<dyn Lifecycle<Rt>> = counting;
    assert_eq!(probe::<Rt>().lifecycle(behind_a_trait).hooks.twice.len(), 0);
}

#[test]
fn a_hook_that_is_set_twice_is_remembered_and_the_first_one_stays() {
    let hooks = probe::<App>().rules(|_| vec![Rule::new(1, "first")]).rules(|_| Vec::new()).rules(|_| Vec::new()).hooks;
    assert_eq!(hooks.twice, ["rules"]);
    assert_eq!(hooks.rules(&CALLER), Ok(vec![Rule::new(1, "first")]));
    let beside = probe::<Rt>().lifecycle(Arc::new(Counting::default())).available(|_| true).inspect(|_, _| Ok(())).hooks;
    assert_eq!(beside.twice, ["inspect"]);
    let two = probe::<Rt>().lifecycle(Arc::new(Counting::default())).lifecycle(Arc::new(Counting::default()));
    assert_eq!(two.hooks.twice, SHARED);
}

struct Breaks;

impl Lifecycle<App> for Breaks {
    fn authorize(&self, access: &Access<'_, App>) -> Result<(), Refusal> {
        panic!("no idea about {}", access.tool)
    }
    fn visible_text(&self, _: String, _: &Caller) -> Result<String, Refusal> {
        panic!("boom")
    }
    fn resume(&self, _: &Decision, _: &Caller) -> bool {
        std::panic::panic_any(Bomb)
    }
}

/// Breaks down a second time when it is dropped.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        panic!("and again")
    }
}

#[test]
fn a_panic_is_a_refusal_that_names_the_hook() {
    let hooks = of(&Arc::new(Breaks));
    let refusal = hooks.authorize(&Access::new("mail", &CALLER)).unwrap_err();
    assert_eq!(refusal.code, "hook_panicked");
    assert_eq!(refusal.message, "the hook `authorize` panicked: no idea about mail");
    assert_eq!(hooks.visible_text("secret".into(), &CALLER).unwrap_err().message, "the hook `visible_text` panicked: boom");
    assert_eq!(hooks.resume(&decision(), &CALLER).unwrap_err().message, "the hook `resume` panicked");
    let unsure = probe::<App>().available(|_| std::panic::panic_any(Bomb)).hooks;
    assert!(!unsure.is_available(&CALLER) && unsure.is_conditional());
}

#[test]
fn the_page_about_hooks_has_a_row_for_each() {
    let page = include_str!("../../../../docs/hooks.md");
    for hook in ALL {
        assert_eq!(page.matches(&format!("\n| `{hook}` |")).count(), 1, "docs/hooks.md has one row for `{hook}`");
    }
    let rows = page.lines().filter(|line| line.starts_with("| `")).count();
    assert_eq!(rows, ALL.len(), "docs/hooks.md has rows for hooks only");
}
