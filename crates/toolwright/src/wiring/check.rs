//! The wires of one step: every argument against what can arrive there.

mod bit;
mod instead;
mod literals;
mod names;

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use bit::Bit;

use super::document::Document;
use super::engine::{self, Engine, names_of, sizes};
use super::node::{Branch, Conj, Item, Items, Made, Node, Part, Shape, Tri};
use super::path::{Followed, some_object};
use super::relate::{Rel, dependents};
use super::{Slip, Verdict, words};
use crate::composite::spec::{Fix, Severity, SpecIssue};
use crate::limits;
use crate::nearest::{nearest, unmistakable};
use crate::reference::template::{Plan, RefPlan, Source};
use crate::schema::CompiledSchema;
use crate::value::{Text, Value};

/// The code of what may slip through.
pub(crate) const MAY_NOT_FIT: &str = "may_not_fit";
/// The code of a path that leads nowhere.
const UNRESOLVED: &str = "unresolved_reference";

/// Something that steps can refer to.
#[derive(Clone)]
pub(crate) struct Known {
    /// Its schema; none when nothing is known.
    pub(crate) document: Option<Arc<Document>>,
    /// Who gives it: a tool's name; none for the input.
    pub(crate) owner: Option<Text>,
    /// From how many outputs its schema was learned, when nobody declared it.
    pub(crate) learned: Option<u32>,
    /// Whether every run checks it against that schema.
    pub(crate) enforced: bool,
    /// Nobody wrote it: it is what the steps need.
    pub(crate) inferred: bool,
}

/// What a step can refer to.
pub(crate) struct Sources {
    pub(crate) input: Known,
    pub(crate) outputs: Vec<Known>,
    /// Steps of all checks of one composite together.
    pub(crate) left: Cell<u32>,
    /// Members of the input of which it was told that no value is right for all steps.
    pub(crate) told: RefCell<Vec<Text>>,
}

/// The tool at the end of the wires.
pub(crate) struct Target<'a> {
    pub(crate) tool: &'a str,
    pub(crate) input: Option<&'a CompiledSchema>,
    /// Nobody wrote its input schema: it names all arguments that are used.
    pub(crate) inferred: bool,
    /// The code of a call that would end because of its arguments.
    pub(crate) code: &'static str,
}

/// What was found about one step.
#[derive(Default)]
pub(crate) struct Wires {
    pub(crate) issues: Vec<SpecIssue>,
    /// Whatever arrives, its arguments fit.
    pub(crate) proved: bool,
}

/// Checks all arguments of one step. `bad` are places whose references could not be read.
pub(crate) fn step(pointer: &str, plan: &Plan, target: &Target<'_>, sources: &Sources, bad: &[String]) -> Wires {
    if bad.iter().any(|bad| bad == pointer) {
        return Wires::default();
    }
    let mut check = Check { target, sources, bad, engine: engine_within(sources), issues: Vec::new() };
    let proved = match target.input.and_then(|input| Some((input, input.document()?))) {
        Some((schema, document)) => {
            let proved = check.mapping(Bit::Plan(plan), &engine::whole(document), pointer, "");
            if !proved && check.issues.is_empty() && !check.is_unread(pointer) {
                check.literals(&Bit::Plan(plan), schema, pointer);
            }
            proved
        }
        None => {
            check.references(Bit::Plan(plan), pointer);
            false
        }
    };
    sources.left.set(sources.left.get().saturating_sub(check.engine.spent()));
    Wires { issues: check.issues, proved }
}

/// Looks only at where references lead.
pub(crate) fn output(pointer: &str, plan: &Plan, sources: &Sources, bad: &[String]) -> Vec<SpecIssue> {
    let target = Target { tool: "", input: None, inferred: false, code: UNRESOLVED };
    step(pointer, plan, &target, sources, bad).issues
}

fn engine_within(sources: &Sources) -> Engine {
    let mut engine = Engine::within_steps(sources.left.get().min(limits::WIRING_STEPS_MAX));
    engine.lenient = true;
    engine
}

struct Check<'a> {
    target: &'a Target<'a>,
    sources: &'a Sources,
    bad: &'a [String],
    engine: Engine,
    issues: Vec<SpecIssue>,
}

impl Check<'_> {
    /// An object that is made member by member, where an object is wanted. True when it is proved to fit.
    fn mapping(&mut self, plan: Bit<'_>, to: &Conj, pointer: &str, argument: &str) -> bool {
        let node = self.engine.read_all(to);
        if node.is_any() {
            self.references(plan, pointer);
            return true;
        }
        let forms = objects_of(&node);
        let (Some(members), [Branch { shape: Shape::Object(parts), exact }]) = (plan.members(), forms.as_slice()) else {
            return self.whole(plan, to, pointer, argument);
        };
        let wanted = self.engine.required(parts);
        let named = self.engine.named(parts).unwrap_or_default();
        let given: Vec<Text> = members.iter().map(|(key, _)| key.clone()).collect();
        let together = sizes(parts).least > 0 || sizes(parts).most.is_some() || !names_of(parts).is_empty();
        let mut proved = *exact && !together;
        let before = self.issues.len();
        let all = plan.clone();
        for (key, member) in members.clone() {
            let at = format!("{pointer}/{}", key.replace('~', "~0").replace('/', "~1"));
            let conj = self.engine.member(parts, &key);
            if self.engine.read_all(&conj).is_never() {
                self.one_too_many(&key, &named, &given, at, argument);
                proved = false;
                continue;
            }
            let inner = if argument.is_empty() { key.to_string() } else { format!("{argument}{}", super::relate::segment(&key)) };
            if self.target.inferred && argument.is_empty() && !named.contains(&key) {
                self.unused(&key, &named, &given, &at);
            }
            proved &= self.member(member, &conj, &at, &inner, wanted.contains(&key));
        }
        for key in wanted.iter().filter(|key| !given.contains(key)) {
            proved = false;
            let conj = self.engine.member(parts, key);
            self.not_given(key, &conj, &named, &given, pointer, argument);
        }
        for (key, needed) in dependents(parts) {
            proved = false;
            self.not_beside(&key, &needed, &members, pointer, argument);
        }
        if together && self.issues.len() == before {
            return self.whole(all, to, pointer, argument);
        }
        proved
    }

    fn member(&mut self, plan: Bit<'_>, to: &Conj, pointer: &str, argument: &str, needed: bool) -> bool {
        if self.bad.iter().any(|bad| bad == pointer) {
            return false;
        }
        match &plan {
            Bit::Plan(Plan::Reference(reference)) => self.reference(reference, to, pointer, argument, needed),
            _ if plan.items().is_some_and(|items| !items.is_empty()) => self.items(plan, to, pointer, argument),
            Bit::Literal(value) | Bit::Plan(Plan::Literal(value)) if value.as_object().is_none() => {
                self.literal(value, to, pointer, argument, needed)
            }
            _ if plan.members().is_some() => self.mapping(plan, to, pointer, argument),
            _ => self.whole(plan, to, pointer, argument),
        }
    }

    fn reference(&mut self, reference: &RefPlan, to: &Conj, pointer: &str, argument: &str, needed: bool) -> bool {
        let Some((followed, known)) = self.followed(reference, pointer, needed.then_some(argument)) else { return false };
        if reference.optional && needed && followed.missing == Tri::Yes {
            let message = format!("{} is needed, and `{}` leaves it out when it is missing", self.argument(argument), written(reference));
            let help = "let the source promise it, or take it from somewhere that always has it";
            self.warn(message, Some(help.into()), pointer, None, None);
        }
        let left_out = reference.optional && needed && followed.missing != Tri::No;
        // A null for an argument that need not be given is left out.
        let without = if needed { None } else { self.engine.without_stray_null(&followed.conj, to) };
        let nulls = without.is_some();
        let from = match without {
            Some(node) if node.is_never() => return false,
            Some(node) => vec![Item::Made(Arc::new(node))],
            None => followed.conj.clone(),
        };
        let mut slips = Vec::new();
        let rel = self.relate(&from, to, &mut slips);
        let may_be_nothing = !needed && (nulls || (reference.optional && followed.missing != Tri::No));
        match told(rel, slips) {
            Verdict::Fits => known.enforced && known.learned.is_none() && !left_out && !nulls && !self.engine.left_out,
            Verdict::Unknown => false,
            Verdict::CannotFit(slips) if may_be_nothing && !slips.is_empty() => {
                self.may_not_fit(reference, &known, &slips, pointer, argument);
                false
            }
            Verdict::MayNotFit(slips) => {
                self.may_not_fit(reference, &known, &slips, pointer, argument);
                false
            }
            Verdict::CannotFit(slips) => {
                // What can never be right need not be there.
                self.issues.retain(|issue| issue.pointer != pointer || issue.severity == Severity::Error);
                self.cannot_fit(reference, &followed, &known, to, &slips, pointer, argument);
                false
            }
        }
    }

    /// Something that is made of several parts, compared as a whole.
    fn whole(&mut self, plan: Bit<'_>, to: &Conj, pointer: &str, argument: &str) -> bool {
        if self.is_unread(pointer) {
            return false;
        }
        let before = self.issues.len();
        let (node, certain) = self.made(&plan, pointer);
        if self.issues.len() > before {
            return false;
        }
        let mut slips = Vec::new();
        let rel = self.relate(&vec![Item::Made(node)], to, &mut slips);
        match told(rel, slips) {
            Verdict::Fits => certain && !self.engine.left_out,
            Verdict::Unknown => false,
            Verdict::MayNotFit(slips) => {
                let message = format!("{} may get {}, which it does not take", self.argument(argument), words::slips(&slips));
                self.warn(message, None, pointer, None, None);
                false
            }
            // What a validator says of them is said when nothing else is.
            Verdict::CannotFit(_) if argument.is_empty() && plan.value().is_some() => false,
            Verdict::CannotFit(slips) => {
                let takes = self.engine.describe(to);
                let message = match (slips.is_empty(), plan.value()) {
                    (_, Some(value)) if takes == "objects" => {
                        format!(
                            "{} takes objects of certain forms, and `{}` has none of them",
                            self.argument(argument),
                            crate::cut(&value.to_json_string(), 60)
                        )
                    }
                    (true, _) => format!("{} takes {takes}, and this can never be one", self.argument(argument)),
                    (false, _) => format!("{} takes {takes}, and this gives {}", self.argument(argument), words::slips(&slips)),
                };
                self.error(self.target.code, message, None, pointer, None, None);
                false
            }
        }
    }

    /// Whether a reference inside could not be read, so that nobody knows what is there.
    fn is_unread(&self, pointer: &str) -> bool {
        self.bad.iter().any(|bad| bad.strip_prefix(pointer).is_some_and(|rest| rest.is_empty() || rest.starts_with('/')))
    }

    fn relate(&mut self, from: &Conj, to: &Conj, slips: &mut Vec<Slip>) -> Rel {
        self.engine.slips.clear();
        self.engine.left_out = false;
        let rel = self.engine.judge(from, to);
        slips.append(&mut self.engine.slips);
        rel
    }

    /// The node of what a part makes, and whether every run checks what flows into it.
    fn made(&mut self, plan: &Bit<'_>, pointer: &str) -> (Arc<Node>, bool) {
        let inner = |key: &str| format!("{pointer}/{}", key.replace('~', "~0").replace('/', "~1"));
        let shape = match plan {
            Bit::Literal(value) | Bit::Plan(Plan::Literal(value)) => {
                return (Arc::new(Node::values(vec![value.clone()])), !literals::holds_integral_decimal(value));
            }
            Bit::Plan(Plan::Reference(reference)) => {
                let Some((followed, known)) = self.followed(reference, pointer, None) else { return (Arc::new(Node::unknown()), false) };
                let node = self.engine.read_all(&followed.conj);
                return (Arc::new(node), known.enforced && known.learned.is_none());
            }
            Bit::Plan(Plan::Object { shape, members, .. }) => {
                let mut certain = true;
                let mut all = Vec::with_capacity(members.len());
                for (key, member) in shape.keys().zip(members) {
                    let (node, enforced) = self.made(&Bit::Plan(member), &inner(key));
                    certain &= enforced;
                    let optional = matches!(member, Plan::Reference(RefPlan { optional: true, .. }));
                    all.push(Made { key: key.clone(), node, optional });
                }
                (Shape::Object(vec![Part::Made(Arc::new(all))]), certain)
            }
            Bit::Plan(Plan::Array(items)) => {
                let mut certain = true;
                let mut all = Vec::with_capacity(items.len());
                for (index, item) in items.iter().enumerate() {
                    let (node, enforced) = self.made(&Bit::Plan(item), &inner(&index.to_string()));
                    certain &= enforced;
                    all.push(node);
                }
                // An item whose value is missing is left out, and then the others move up: it is some array.
                let moves = items.iter().any(|item| matches!(item, Plan::Reference(RefPlan { optional: true, .. })));
                let parts = if moves { Vec::new() } else { vec![Items::Made(Arc::new(all))] };
                let branch = Branch { shape: Shape::Array(parts), exact: !moves };
                return (Arc::new(Node { branches: vec![branch] }), certain && !moves);
            }
        };
        let (shape, certain) = shape;
        (Arc::new(Node { branches: vec![Branch { shape, exact: true }] }), certain)
    }

    /// Looks only at where the references of a part lead.
    fn references(&mut self, plan: Bit<'_>, pointer: &str) {
        match &plan {
            Bit::Plan(Plan::Reference(reference)) => {
                self.followed(reference, pointer, None);
            }
            Bit::Plan(Plan::Object { .. }) => {
                for (key, member) in plan.members().unwrap_or_default() {
                    self.references(member, &format!("{pointer}/{}", key.replace('~', "~0").replace('/', "~1")));
                }
            }
            Bit::Plan(Plan::Array(items)) => {
                for (index, item) in items.iter().enumerate() {
                    self.references(Bit::Plan(item), &format!("{pointer}/{index}"));
                }
            }
            Bit::Plan(Plan::Literal(_)) | Bit::Literal(_) => {}
        }
    }

    /// Where a reference leads; none when it leads nowhere, which was told.
    /// `needed` is the argument that cannot do without it.
    fn followed(&mut self, reference: &RefPlan, pointer: &str, needed: Option<&str>) -> Option<(Followed, Known)> {
        let sources = self.sources;
        let known = match reference.source {
            Source::Input => sources.input.clone(),
            Source::Step(position) => sources.outputs.get(position)?.clone(),
            Source::Null => {
                let known = Known { document: None, owner: None, learned: None, enforced: true, inferred: false };
                return Some((Followed::of(vec![Item::Made(Arc::new(Node::values(vec![Value::Null])))]), known));
            }
            Source::Nothing => {
                let known = Known { document: None, owner: None, learned: None, enforced: false, inferred: false };
                return Some((Followed::unknown(), known));
            }
        };
        let followed = match (&known.document, reference.source) {
            (Some(document), _) => self.engine.follow(engine::whole(document), &reference.path),
            // Arguments are always an object.
            (None, Source::Input) if reference.path.is_empty() => Followed::of(some_object()),
            (None, _) => Followed::unknown(),
        };
        if self.leads_nowhere(reference, &followed, &known, pointer, needed) {
            return None;
        }
        self.may_be_missing(reference, &followed, &known, pointer);
        Some((followed, known))
    }

    fn leads_nowhere(&mut self, reference: &RefPlan, followed: &Followed, known: &Known, pointer: &str, needed: Option<&str>) -> bool {
        let Some(dead) = &followed.dead else { return false };
        let segment = reference.written.reference.path.get(dead.hop);
        let span = segment.map(|segment| segment.span.clone());
        let name = segment.map(|segment| segment_text(segment.key.as_ref(), segment.index)).unwrap_or_default();
        if known.inferred && dead.known.iter().any(|known| *known == name) {
            self.nothing_is_right(reference, dead.hop, pointer);
            return true;
        }
        let near = nearest(&name, dead.known.iter().map(Text::as_str)).map(str::to_owned);
        let inside = reference.path.iter().take(dead.hop).map(hop_text).collect::<String>();
        let giver = giver(known);
        let at = if inside.is_empty() { String::new() } else { format!(" in `{inside}`") };
        let message = match dead.instead {
            Some(instead) => format!("{giver} has no `{name}`{at}: there is {instead}"),
            None => format!("{giver} has no `{name}`{at}"),
        };
        let fix = near.as_ref().and_then(|near| replaced(reference, dead.hop, near));
        let help = match (&fix, dead.known.is_empty(), dead.instead) {
            (Some(text), ..) => Some(format!("did you mean `{text}`?")),
            (None, false, _) => Some(format!("there is {}", words::names(&dead.known))),
            (None, true, Some("an array")) => one_of_them(reference, dead.hop),
            (None, true, _) => None,
        };
        let sure = unmistakable(&name, dead.known.iter().map(Text::as_str)).is_some_and(|sure| Some(sure) == near.as_deref());
        let fix = fix.filter(|_| sure).map(|text| Fix::Value { pointer: pointer.into(), to: text.into() });
        // What was only seen so far may be more; and what may be missing ends no run.
        match (known.learned, reference.optional) {
            (None, false) => self.error(UNRESOLVED, message, help, pointer, span, fix),
            (Some(_), _) => self.warn(format!("{message}{}", learned(known)), help, pointer, span, fix),
            (None, true) if needed.is_some() => {
                let message = format!("{message}, and {} is needed", self.argument(needed.unwrap_or_default()));
                self.error(self.target.code, message, help, pointer, span, fix);
            }
            (None, true) => self.warn(format!("{message}, so it is always left out"), help, pointer, span, fix),
        }
        true
    }

    fn may_be_missing(&mut self, reference: &RefPlan, followed: &Followed, known: &Known, pointer: &str) {
        let (false, Tri::Yes) = (reference.optional, followed.missing) else { return };
        let (giver, shown) = (giver(known), written(reference));
        let Some(loose) = &followed.loose else {
            let message = format!("`{shown}` may be missing: {giver} does not promise it{}", learned(known));
            let help = "a run in which it is missing ends here; write `?` at its end to leave the argument out then";
            return self.warn(message, Some(help.into()), pointer, None, None);
        };
        let segment = reference.written.reference.path.get(loose.hop);
        let span = segment.map(|segment| segment.span.clone());
        let name = segment.map(|segment| segment_text(segment.key.as_ref(), segment.index)).unwrap_or_default();
        let near = if loose.unnamed { nearest(&name, loose.known.iter().map(Text::as_str)) } else { None };
        if let Some(text) = near.and_then(|near| replaced(reference, loose.hop, near)) {
            let message = format!("{giver} does not speak of `{name}`, so `{shown}` may be missing{}", learned(known));
            let sure = unmistakable(&name, loose.known.iter().map(Text::as_str)).is_some_and(|sure| Some(sure) == near);
            let fix = sure.then(|| Fix::Value { pointer: pointer.into(), to: text.as_str().into() });
            return self.warn(message, Some(format!("did you mean `{text}`?")), pointer, span, fix);
        }
        let message = match loose.unnamed {
            true => format!("{giver} does not speak of `{name}`, so `{shown}` may be missing{}", learned(known)),
            false => format!("`{shown}` may be missing: {giver} does not promise `{name}`{}", learned(known)),
        };
        let source = if known.owner.is_some() { "its output schema" } else { "the input's schema" };
        let help = format!(
            "a run in which it is missing ends here: write `{shown}?` to leave the argument out then, or make `{name}` `required` in {source}"
        );
        self.warn(message, Some(help), pointer, span, None);
    }

    fn may_not_fit(&mut self, reference: &RefPlan, known: &Known, slips: &[Slip], pointer: &str, argument: &str) {
        let what = words::slips(slips);
        let message =
            format!("`{}` may give {what}, which {} does not take{}", written(reference), self.argument(argument), learned(known));
        let source = if known.owner.is_some() { format!("the output schema of {}", giver(known)) } else { "the input's schema".into() };
        let help = format!(
            "the run would end at this step with `{}`; if that cannot happen, say so in {source}, otherwise take another value",
            self.target.code
        );
        self.warn(message, Some(help), pointer, None, None);
    }

    #[expect(clippy::too_many_arguments, reason = "all of it is told")]
    fn cannot_fit(
        &mut self,
        reference: &RefPlan,
        followed: &Followed,
        known: &Known,
        to: &Conj,
        slips: &[Slip],
        pointer: &str,
        argument: &str,
    ) {
        let (gives, takes) = (self.engine.describe(&followed.conj), self.engine.describe(to));
        let shown = written(reference);
        let detail = slips.iter().find(|slip| !slip.path.is_empty() || gives == takes);
        let message = match detail {
            Some(slip) if gives == takes || !slip.path.is_empty() => {
                format!(
                    "`{shown}` gives {gives} that {} never takes: {}",
                    self.argument(argument),
                    words::slips(std::slice::from_ref(slip))
                )
            }
            _ => format!("`{shown}` gives {gives}, and {} takes {takes}", self.argument(argument)),
        };
        let message = format!("{message}{}", learned(known));
        let help = self.instead(reference, followed, to);
        let other = || format!("take another value: no run can get past this step, it would end with `{}`", self.target.code);
        let help = Some(help.unwrap_or_else(other));
        match known.learned {
            Some(_) => self.warn(message, help, pointer, None, None),
            None => self.error(self.target.code, message, help, pointer, None, None),
        }
    }

    /// `` `limit` of `search` ``
    fn argument(&self, argument: &str) -> String {
        if argument.is_empty() {
            return format!("`{}`", self.target.tool);
        }
        format!("`{}` of `{}`", crate::cut(argument, 80), self.target.tool)
    }

    fn warn(&mut self, message: String, help: Option<String>, pointer: &str, span: Option<std::ops::Range<usize>>, fix: Option<Fix>) {
        let pointer = pointer.to_owned();
        self.issues.push(SpecIssue { severity: Severity::Warning, code: MAY_NOT_FIT, message, help, pointer, span, fix });
    }

    fn error(
        &mut self,
        code: &'static str,
        message: String,
        help: Option<String>,
        pointer: &str,
        span: Option<std::ops::Range<usize>>,
        fix: Option<Fix>,
    ) {
        let pointer = pointer.to_owned();
        self.issues.push(SpecIssue { severity: Severity::Error, code, message, help, pointer, span, fix });
    }
}

/// The verdict as a person should hear it. What nothing describes is hardly ever sent, and not worth a word; what is not
/// taken is, also where nobody knows whether anything is.
fn told(rel: Rel, mut slips: Vec<Slip>) -> Verdict {
    slips.retain(|slip| !slip.undescribed);
    match super::verdict(rel, slips.clone()) {
        Verdict::MayNotFit(slips) if slips.is_empty() => Verdict::Unknown,
        Verdict::Unknown if rel.rejects == Tri::Yes && !slips.is_empty() => Verdict::MayNotFit(slips),
        verdict => verdict,
    }
}

/// The only sort of objects among what a node holds, when there is one sort.
fn objects_of(node: &Node) -> Vec<Branch> {
    let listed = |branch: &Branch| matches!(&branch.shape, Shape::Values(values) if values.iter().any(|value| value.as_object().is_some()));
    if node.branches.iter().any(|branch| listed(branch) || matches!(branch.shape, Shape::Any)) {
        return Vec::new();
    }
    node.branches.iter().filter(|branch| matches!(branch.shape, Shape::Object(_))).cloned().collect()
}

/// The same path into the first of the items that are there in place of an object.
fn one_of_them(reference: &RefPlan, hop: usize) -> Option<String> {
    let written = &reference.written.reference;
    let span = written.path.get(hop)?.span.clone();
    let before = written.text.get(..span.start)?.trim_end_matches(['.', '[']);
    let rest = written.text.get(before.len()..)?;
    Some(format!("to look into one of them, write `{before}[0]{rest}`"))
}

fn written(reference: &RefPlan) -> String {
    crate::cut(&reference.written.reference.text, limits::REFERENCE_SHOWN_CHARS_MAX)
}

fn giver(known: &Known) -> String {
    known.owner.as_ref().map_or_else(|| "the input".into(), |owner| format!("`{}`", crate::cut(owner, 80)))
}

fn learned(known: &Known) -> String {
    match known.learned {
        None => String::new(),
        Some(1) => " (its shape was learned from 1 output)".into(),
        Some(count) => format!(" (its shape was learned from {count} outputs)"),
    }
}

fn segment_text(key: Option<&Text>, index: Option<u32>) -> String {
    key.map_or_else(|| index.map_or_else(String::new, |index| format!("[{index}]")), |key| crate::cut(key, 60))
}

fn hop_text(hop: &crate::reference::template::Hop) -> String {
    hop.key.as_ref().map_or_else(|| hop.index.map_or_else(String::new, |index| format!("[{index}]")), super::relate::segment)
}

/// The reference with another name at one hop, when that can be written there.
fn replaced(reference: &RefPlan, hop: usize, name: &str) -> Option<String> {
    let written = &reference.written.reference;
    let span = written.path.get(hop)?.span.clone();
    let (before, after) = (written.text.get(..span.start)?, written.text.get(span.end..)?);
    let quoted = written.text.get(span)?.starts_with('"');
    let plain = !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '-');
    match (quoted, plain) {
        (true, _) => Some(format!("{before}{}{after}", Value::from(name).to_json_string())),
        (false, true) => Some(format!("{before}{name}{after}")),
        (false, false) => Some(format!("{}[{}]{after}", before.strip_suffix('.')?, Value::from(name).to_json_string())),
    }
}
