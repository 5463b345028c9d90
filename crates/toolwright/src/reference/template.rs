//! Compiles a whole mapping into a plan: literals are folded and shared, keys
//! become one shared key list, every reference becomes a path walk. All errors
//! of a mapping are collected, each with its place.

use std::sync::atomic::AtomicU32;

use super::Dialect;
use super::error::ReferenceError;
use super::parse::{Parsed, Reference, Root, Segment, parse_page, parse_strict};
use crate::value::shape::Tag;
use crate::value::{Object, Shape, Text, Value};

/// A compiled mapping.
#[derive(Debug)]
pub(crate) enum Plan {
    /// The same value on every run.
    Literal(Value),
    Reference(RefPlan),
    /// An object with some computed members.
    Object {
        shape: Shape,
        members: Box<[Plan]>,
        kind: ObjectKind,
    },
    Array(Box<[Plan]>),
}

/// How the members of an object come about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ObjectKind {
    /// Every member is a literal or a reference to something that stands somewhere: nothing has to be made but the object.
    Flat,
    /// Some members are objects or arrays of their own.
    Nested,
    /// Some members may be left out.
    MayOmit,
}

/// A compiled reference.
#[derive(Debug)]
pub(crate) struct RefPlan {
    pub(crate) source: Source,
    pub(crate) path: Box<[Hop]>,
    /// A missing value leaves the member out instead of failing.
    pub(crate) optional: bool,
    /// What was written, for errors; never looked at while all goes well.
    pub(crate) written: Box<Written>,
}

#[derive(Clone, Debug)]
pub(crate) struct Written {
    pub(crate) reference: Reference,
    /// JSON pointer of the text inside the mapping.
    pub(crate) pointer: String,
}

/// Where a value is taken from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    Input,
    Step(usize),
    /// `$prev` in the first step of the page dialect.
    Null,
    /// A position that no earlier step has (page dialect): always missing.
    Nothing,
}

/// One hop of a path, with a memory of where the member stood last time.
#[derive(Debug)]
pub(crate) struct Hop {
    pub(crate) key: Option<Text>,
    pub(crate) tag: Tag,
    pub(crate) index: Option<u32>,
    /// Page dialect: `length` of an array.
    pub(crate) length: bool,
    pub(crate) hint: AtomicU32,
}

impl Hop {
    /// Into the member of this name.
    pub(crate) fn into_member(name: &Text) -> Self {
        Self { key: Some(name.clone()), tag: Tag::of(name), index: None, length: false, hint: AtomicU32::new(0) }
    }
}

/// A problem or a warning found in a mapping.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    /// JSON pointer of the text inside the mapping.
    pub(crate) pointer: String,
    pub(crate) error: ReferenceError,
}

/// What a step can see.
pub(crate) struct Scope<'a> {
    pub(crate) dialect: Dialect,
    /// Names of all steps of the composite, in order.
    pub(crate) steps: &'a [Text],
    /// Position of the step that is compiled; the number of steps for the composite's `output`.
    pub(crate) at: usize,
}

/// What compiling found.
#[derive(Default)]
pub(crate) struct Findings {
    pub(crate) errors: Vec<Found>,
    /// `$…` texts that are used as literals, in the page dialect.
    pub(crate) literals: Vec<(String, Text)>,
    /// Reference-shaped text inside longer strings, in arrays of the page dialect, or written as other languages do;
    /// with the reference that it would be, where it is nothing else.
    pub(crate) suspicious: Vec<(String, Text, Option<Text>)>,
}

impl Plan {
    /// Compiles `mapping`, an object, as seen from `scope`.
    pub(crate) fn compile(mapping: &Object, scope: &Scope<'_>, findings: &mut Findings) -> Self {
        Compiler { scope, findings, pointer: String::new() }.object(mapping)
    }

    /// A copy that shares no counter with the original, for a worker of its own.
    pub(crate) fn deep_clone(&self) -> Self {
        match self {
            Self::Literal(value) => Self::Literal(value.deep_clone()),
            Self::Reference(reference) => Self::Reference(reference.deep_clone()),
            Self::Object { shape, members, kind } => {
                Self::Object { shape: shape.deep_clone(), members: members.iter().map(Self::deep_clone).collect(), kind: *kind }
            }
            Self::Array(items) => Self::Array(items.iter().map(Self::deep_clone).collect()),
        }
    }

    /// Calls `visit` for every reference in it.
    pub(crate) fn each_reference<'a>(&'a self, visit: &mut impl FnMut(&'a RefPlan)) {
        match self {
            Self::Literal(_) => {}
            Self::Reference(reference) => visit(reference),
            Self::Object { members: plans, .. } | Self::Array(plans) => plans.iter().for_each(|plan| plan.each_reference(visit)),
        }
    }

    fn stands_somewhere(&self) -> bool {
        match self {
            Self::Literal(_) => true,
            Self::Reference(reference) => !reference.path.last().is_some_and(|hop| hop.length),
            Self::Object { .. } | Self::Array(_) => false,
        }
    }

    fn may_omit(&self) -> bool {
        matches!(self, Self::Reference(RefPlan { optional: true, .. }))
    }
}

impl RefPlan {
    fn deep_clone(&self) -> Self {
        let path = self.path.iter().map(|hop| Hop {
            key: hop.key.as_ref().map(|key| Text::from(key.as_str())),
            index: hop.index,
            length: hop.length,
            tag: hop.tag,
            hint: AtomicU32::new(0),
        });
        Self { source: self.source, path: path.collect(), optional: self.optional, written: self.written.clone() }
    }
}

struct Compiler<'a> {
    scope: &'a Scope<'a>,
    findings: &'a mut Findings,
    pointer: String,
}

impl Compiler<'_> {
    fn object(&mut self, object: &Object) -> Plan {
        let members: Vec<Plan> = object.iter().map(|(key, value)| self.within(key, |this| this.value(value))).collect();
        if let Some(literals) = all_literal(&members) {
            return Plan::Literal(Object::from_shape(object.shape().clone(), literals.into_iter()).into());
        }
        let kind = if members.iter().any(Plan::may_omit) {
            ObjectKind::MayOmit
        } else if members.iter().all(Plan::stands_somewhere) {
            ObjectKind::Flat
        } else {
            ObjectKind::Nested
        };
        Plan::Object { shape: object.shape().clone(), members: members.into(), kind }
    }

    fn value(&mut self, value: &Value) -> Plan {
        match value {
            Value::String(text) => self.text(text),
            Value::Object(object) => self.object(object),
            Value::Array(_) if self.scope.dialect.is_page() => {
                self.look_inside(value);
                Plan::Literal(value.clone())
            }
            Value::Array(_) => self.array(value.as_array().unwrap_or_default()),
            other => Plan::Literal(other.clone()),
        }
    }

    fn array(&mut self, items: &[Value]) -> Plan {
        let plans: Vec<Plan> =
            items.iter().enumerate().map(|(index, item)| self.within(&index.to_string(), |this| this.value(item))).collect();
        match all_literal(&plans) {
            Some(literals) => Plan::Literal(Value::array(literals)),
            None => Plan::Array(plans.into()),
        }
    }

    fn text(&mut self, text: &Text) -> Plan {
        let parsed = match self.scope.dialect {
            Dialect::Strict => match parse_strict(text) {
                Ok(parsed) => parsed,
                Err(error) => return self.refuse(error),
            },
            Dialect::Page | Dialect::PageStrict => parse_page(text),
        };
        match parsed {
            Parsed::Literal(literal) => {
                let meant = if self.scope.dialect.is_page() { None } else { of_another_language(text) };
                if literal == *text && (meant.is_some() || mentions_reference(&literal)) {
                    self.findings.suspicious.push((self.pointer.clone(), literal.clone(), meant));
                }
                Plan::Literal(Value::String(literal))
            }
            Parsed::Unresolved(literal) if self.scope.dialect == Dialect::PageStrict => {
                let error = parse_strict(&literal).err().unwrap_or_else(|| ReferenceError::Syntax {
                    text: literal.to_string(),
                    span: 0..literal.len(),
                    expected: super::Expected::Root,
                    nearest: None,
                });
                self.refuse(error)
            }
            Parsed::Unresolved(literal) => {
                self.findings.literals.push((self.pointer.clone(), literal.clone()));
                Plan::Literal(Value::String(literal))
            }
            Parsed::Reference(reference) => self.reference(reference),
        }
    }

    fn reference(&mut self, reference: Reference) -> Plan {
        let source = match self.source(&reference) {
            Ok(source) => source,
            Err(error) => return self.refuse(error),
        };
        let page = self.scope.dialect.is_page();
        let path = reference.path.iter().map(|Segment { key, index, .. }| Hop {
            key: key.clone(),
            tag: Tag::of(key.as_deref().unwrap_or_default()),
            index: *index,
            length: page && key.as_deref() == Some("length"),
            hint: AtomicU32::new(0),
        });
        Plan::Reference(RefPlan {
            source,
            path: path.collect(),
            optional: reference.optional,
            written: Box::new(Written { pointer: self.pointer.clone(), reference }),
        })
    }

    fn source(&self, reference: &Reference) -> Result<Source, ReferenceError> {
        let at = self.scope.at;
        let page = self.scope.dialect.is_page();
        match &reference.root {
            Root::Input => Ok(Source::Input),
            Root::Prev => match at.checked_sub(1) {
                Some(before) => Ok(Source::Step(before)),
                None if page => Ok(Source::Null),
                None => Err(self.forward(reference, "no step")),
            },
            Root::StepAt(position) if *position < at => Ok(Source::Step(*position)),
            Root::StepAt(_) if page => Ok(Source::Nothing),
            Root::StepAt(position) if *position < self.scope.steps.len() => Err(self.later(reference, *position)),
            Root::StepAt(position) => {
                let shown = if *position == usize::MAX { "…".to_owned() } else { position.to_string() };
                let tail = reference.text.get(reference.root_span.end..).unwrap_or_default();
                let last = at.checked_sub(1).map(|last| format!("$steps[{last}]{tail}"));
                Err(self.unknown(reference, shown, last))
            }
            Root::StepNamed(name) => match self.scope.steps.iter().position(|step| step == name) {
                Some(position) if position < at => Ok(Source::Step(position)),
                Some(position) => Err(self.later(reference, position)),
                // A step without a name is wrong enough to be told alone: it may be the one that is meant.
                None if self.scope.steps.iter().any(|step| step.is_empty()) => Ok(Source::Nothing),
                None => {
                    let earlier = self.scope.steps.iter().take(at).map(Text::as_str);
                    let nearest = crate::nearest::nearest(name, earlier).map(|near| {
                        let tail = reference.text.get(reference.root_span.end..).unwrap_or_default();
                        if near.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '-') {
                            format!("$steps.{near}{tail}")
                        } else {
                            format!("$steps[{}]{tail}", serde_json::Value::from(near))
                        }
                    });
                    Err(self.unknown(reference, name.to_string(), nearest))
                }
            },
        }
    }

    fn later(&self, reference: &Reference, position: usize) -> ReferenceError {
        self.forward(reference, if position == self.scope.at { "the step itself" } else { "a later step" })
    }

    fn forward(&self, reference: &Reference, names: &'static str) -> ReferenceError {
        ReferenceError::Forward { text: reference.text.to_string(), span: reference.root_span.clone(), names }
    }

    fn unknown(&self, reference: &Reference, step: String, nearest: Option<String>) -> ReferenceError {
        ReferenceError::UnknownStep { text: reference.text.to_string(), span: reference.root_span.clone(), step, nearest }
    }

    fn refuse(&mut self, error: ReferenceError) -> Plan {
        self.findings.errors.push(Found { pointer: self.pointer.clone(), error });
        Plan::Literal(Value::Null)
    }

    /// Arrays are literals in the page dialect; a reference inside one is probably a mistake.
    fn look_inside(&mut self, value: &Value) {
        match value {
            Value::String(text) if matches!(parse_strict(text), Ok(Parsed::Reference(_))) || mentions_reference(text) => {
                self.findings.suspicious.push((self.pointer.clone(), text.clone(), None));
            }
            Value::Array(_) => {
                for (index, item) in value.as_array().unwrap_or_default().iter().enumerate() {
                    self.within(&index.to_string(), |this| this.look_inside(item));
                }
            }
            Value::Object(object) => {
                for (key, member) in object.iter() {
                    self.within(key, |this| this.look_inside(member));
                }
            }
            _ => {}
        }
    }

    fn within<T>(&mut self, key: &str, work: impl FnOnce(&mut Self) -> T) -> T {
        let before = self.pointer.len();
        self.pointer.push('/');
        self.pointer.push_str(&key.replace('~', "~0").replace('/', "~1"));
        let done = work(self);
        self.pointer.truncate(before);
        done
    }
}

fn all_literal(plans: &[Plan]) -> Option<Vec<Value>> {
    plans.iter().map(|plan| if let Plan::Literal(value) = plan { Some(value.clone()) } else { None }).collect()
}

/// `cost: $input.amount` is text, and so is `cost: ${input.amount}`, but its author probably meant a reference. A `${input}`
/// without a path is as likely a variable of a script.
fn mentions_reference(text: &str) -> bool {
    text.match_indices('$').any(|(at, _)| {
        let rest = text.get(at + 1..).unwrap_or_default();
        let (rest, braced) = rest.strip_prefix('{').map_or((rest, false), |inside| (inside, true));
        let names = |tail: &str| if braced { tail.starts_with('.') } else { !tail.starts_with(|c: char| c.is_alphanumeric() || c == '_') };
        (braced || at > 0) && ["input", "prev", "steps"].iter().any(|root| rest.strip_prefix(root).is_some_and(names))
    })
}

/// The reference that a whole text would be in the language of a template, a shell or JSONPath: `${input.x}`, `$(prev)`,
/// `{{ input.x }}`, `$.input.x`. A template with more than that in it is left alone: a tool may take templates.
fn of_another_language(text: &str) -> Option<Text> {
    let text = text.trim();
    let between = |open: &str, close: &str| text.strip_prefix(open)?.strip_suffix(close);
    let inside = between("${", "}").or_else(|| between("$(", ")")).or_else(|| between("{{", "}}")).or_else(|| text.strip_prefix("$."))?;
    let inside = inside.trim();
    let reference = Text::from(format!("${}", inside.strip_prefix('$').unwrap_or(inside)));
    matches!(parse_strict(&reference), Ok(Parsed::Reference(_))).then_some(reference)
}
