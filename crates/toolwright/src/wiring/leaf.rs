//! Strings and numbers: here the library proves, and a witness refutes.

use std::collections::HashSet;
use std::sync::{Arc, OnceLock};

use jsonschema::Validator;
use jsonschema::canonical::{CanonicalSchema, Containment, Satisfiability, options};

use super::document::{Draft, Place};
use super::node::Tri;
use super::witness;
use crate::limits;
use crate::value::schema::JsonValue;
use crate::value::{Text, Value};

/// What sort of leaf it is. The integers of draft 4 are those that are written as integers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    String,
    WrittenInteger,
    Integer,
    Number,
}

impl Kind {
    fn is_within(self, other: Self) -> bool {
        self == other || (self != Self::String && other != Self::String && self < other)
    }
}

/// All strings or numbers for which every constraint holds.
#[derive(Clone)]
pub(super) struct Leaf {
    pub(super) kind: Kind,
    /// Each one keyword, as a schema of the newest draft.
    pub(super) constraints: Vec<Value>,
    known: Arc<Known>,
}

/// What was found out about a leaf, once.
#[derive(Default)]
pub(crate) struct Known {
    canonical: OnceLock<Option<CanonicalSchema>>,
    validator: OnceLock<Option<Validator<JsonValue>>>,
}

const STRINGS: [&str; 4] = ["minLength", "maxLength", "pattern", "format"];
const NUMBERS: [&str; 5] = ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"];

/// Formats that mean the same in every draft they can be written in.
pub(super) const OLD_FORMATS: [&str; 6] = ["date-time", "email", "ipv4", "ipv6", "uri", "date"];

impl Leaf {
    pub(super) fn bare(kind: Kind) -> Self {
        Self { kind, constraints: Vec::new(), known: Arc::default() }
    }

    /// What a schema says of values of this kind, and whether that is all it says.
    pub(super) fn of(place: &Place, kind: Kind) -> (Self, bool) {
        let mut exact = true;
        let keywords: &[&str] = if kind == Kind::String { &STRINGS } else { &NUMBERS };
        let mut constraints = Vec::new();
        for keyword in keywords {
            if let Some(value) = place.keyword(keyword) {
                match constraint(place, keyword, value) {
                    Some(Some(constraint)) => constraints.push(constraint),
                    Some(None) => {}
                    None => exact = false,
                }
            }
        }
        if kind == Kind::String
            && place.draft() <= Draft::D7
            && ["contentEncoding", "contentMediaType"].iter().any(|k| place.keyword(k).is_some())
        {
            exact = false;
        }
        let known = match place.identity() {
            Some(address) if !constraints.is_empty() => place.document.known(address.wrapping_add(kind as usize)),
            _ => Arc::default(),
        };
        (Self { kind, constraints, known }, exact)
    }

    /// Values that are in both.
    pub(super) fn and(&self, other: &Self) -> Self {
        let kind = self.kind.min(other.kind);
        if self.constraints.is_empty() && self.kind == kind || other.constraints.is_empty() && other.kind == kind {
            let constrained = if self.constraints.is_empty() { other } else { self };
            let known = if constrained.kind == kind { constrained.known.clone() } else { Arc::default() };
            return Self { kind, constraints: constrained.constraints.clone(), known };
        }
        let mut constraints = self.constraints.clone();
        constraints.extend(other.constraints.iter().filter(|one| !self.constraints.contains(one)).cloned());
        Self { kind, constraints, known: Arc::default() }
    }

    /// With one more constraint, a schema.
    pub(super) fn with(&self, constraint: Value) -> Self {
        let mut constraints = self.constraints.clone();
        constraints.push(constraint);
        Self { kind: self.kind, constraints, known: Arc::default() }
    }

    /// As a schema of the newest draft.
    pub(super) fn schema(&self) -> Value {
        let kind = match self.kind {
            Kind::String => "string",
            Kind::Number => "number",
            Kind::Integer | Kind::WrittenInteger => "integer",
        };
        let all = Value::array(self.constraints.iter().cloned());
        if self.constraints.is_empty() { Value::object([("type", kind)]) } else { Value::object([("type", kind.into()), ("allOf", all)]) }
    }

    fn canonical(&self) -> Option<&CanonicalSchema> {
        self.known.canonical.get_or_init(|| canonical(&self.schema())).as_ref()
    }

    fn validator(&self) -> Option<&Validator<JsonValue>> {
        self.known.validator.get_or_init(|| validator(&self.schema())).as_ref()
    }

    /// Whether a value of its kind is in it.
    pub(super) fn takes(&self, value: &Value) -> Tri {
        let right_kind = match (self.kind, value) {
            (Kind::String, Value::String(_)) | (Kind::Number, Value::Number(_)) => true,
            (Kind::Integer, Value::Number(number)) => number.is_integer(),
            (Kind::WrittenInteger, Value::Number(number)) => number.is_written_as_integer(),
            _ => false,
        };
        if !right_kind || self.constraints.is_empty() {
            return Tri::of(right_kind);
        }
        // Most that is written out in a composite is an integer, and a validator takes long to build.
        if let Some(takes) = self.constraints.iter().try_fold(true, |all, one| Some(within(one, value)? && all)) {
            return Tri::of(takes);
        }
        self.validator().map_or(Tri::Unknown, |validator| Tri::of(validator.is_valid(value)))
    }

    /// Whether there is any such value.
    pub(super) fn inhabited(&self) -> Tri {
        if self.constraints.is_empty() || self.witnesses(&[]).next().is_some() {
            return Tri::Yes;
        }
        match self.canonical().map(CanonicalSchema::satisfiability) {
            Some(Satisfiability::Yes) => Tri::Yes,
            Some(Satisfiability::No) => Tri::No,
            Some(Satisfiability::Unknown) | None => Tri::Unknown,
        }
    }

    /// Values that are in it for certain, chosen near the borders of it and of `others`.
    fn witnesses<'a>(&'a self, others: &'a [&Leaf]) -> impl Iterator<Item = Value> + 'a {
        let constraints = self.constraints.iter().chain(others.iter().flat_map(|leaf| leaf.constraints.iter()));
        let candidates = if self.kind == Kind::String { witness::strings(constraints) } else { witness::numbers(constraints) };
        candidates.into_iter().filter(|value| self.takes(value) == Tri::Yes)
    }
}

/// What a leaf gives to others.
pub(super) struct Given {
    /// Whether some of it is taken.
    pub(super) accepts: Tri,
    /// Whether some of it is not.
    pub(super) rejects: Tri,
    /// One that is not, when one is known.
    pub(super) refused: Option<Value>,
}

/// What is taken of `from` by the union of `leaves` and `values`.
pub(super) fn given(from: &Leaf, leaves: &[&Leaf], values: &[&Value]) -> Given {
    if leaves.is_empty() && values.is_empty() {
        return Given { accepts: Tri::No, rejects: from.inhabited(), refused: None };
    }
    let covers = |leaf: &&Leaf| from.kind.is_within(leaf.kind) && leaf.constraints.iter().all(|one| from.constraints.contains(one));
    if leaves.iter().any(covers) {
        return Given { accepts: from.inhabited(), rejects: Tri::No, refused: None };
    }
    let texts: HashSet<&str> = values.iter().filter_map(|value| value.as_str()).collect();
    let taken = |value: &Value| {
        let listed = match value.as_str() {
            Some(text) => texts.contains(text),
            None => values.iter().any(|listed| listed.same_value(value)),
        };
        leaves.iter().fold(Tri::of(listed), |taken, leaf| taken.or(leaf.takes(value)))
    };
    let (mut accepts, mut rejects, mut refused) = (Tri::Unknown, Tri::Unknown, None);
    let listed = values.iter().map(|value| (*value).clone()).filter(|value| from.takes(value) == Tri::Yes);
    for value in from.witnesses(leaves).chain(listed) {
        if accepts == Tri::Yes && rejects == Tri::Yes {
            break;
        }
        match taken(&value) {
            Tri::Yes => accepts = Tri::Yes,
            Tri::No => (rejects, refused) = (Tri::Yes, refused.or(Some(value))),
            Tri::Unknown => {}
        }
    }
    if accepts == Tri::Unknown || rejects == Tri::Unknown {
        proved(from, leaves, values, &mut accepts, &mut rejects);
    }
    Given { accepts, rejects, refused }
}

/// What the library says where no witness did.
fn proved(from: &Leaf, leaves: &[&Leaf], values: &[&Value], accepts: &mut Tri, rejects: &mut Tri) {
    let constraints = from.constraints.len() + leaves.iter().map(|leaf| leaf.constraints.len()).sum::<usize>();
    if values.len() > limits::WIRING_VALUES_MAX || leaves.len() + constraints > limits::WIRING_LIBRARY_PARTS_MAX {
        return;
    }
    let union;
    let to = match (leaves, values) {
        ([leaf], []) => leaf.canonical(),
        _ => {
            let listed = (!values.is_empty()).then(|| Value::object([("enum", Value::array(values.iter().map(|value| (*value).clone())))]));
            let all = leaves.iter().map(|leaf| leaf.schema()).chain(listed);
            union = canonical(&Value::object([("anyOf", Value::array(all))]));
            union.as_ref()
        }
    };
    // A validator divides by floats, and finds no number past them to be a multiple of anything.
    let bounded = |keywords: [&str; 2]| from.constraints.iter().any(|one| keywords.iter().any(|keyword| one.get(keyword).is_some()));
    let divides = |leaf: &Leaf| leaf.constraints.iter().any(|one| one.get("multipleOf").is_some());
    let beyond = leaves.iter().any(|leaf| divides(leaf))
        && !divides(from)
        && !(bounded(["minimum", "exclusiveMinimum"]) && bounded(["maximum", "exclusiveMaximum"]));
    let given = from.kind;
    let (Some(from), Some(to)) = (from.canonical(), to) else { return };
    if *rejects == Tri::Unknown {
        // The library knows no integers that are told by how they are written, so that it takes too much for one.
        let written = given != Kind::WrittenInteger && leaves.iter().any(|leaf| leaf.kind == Kind::WrittenInteger);
        *rejects = match to.covers(from) {
            Ok(Containment::Yes) if written || beyond => Tri::Unknown,
            Ok(Containment::Yes) => Tri::No,
            Ok(Containment::No) => Tri::Yes,
            Ok(Containment::Unknown) | Err(_) => Tri::Unknown,
        };
    }
    if *accepts == Tri::Unknown {
        *accepts = match from.intersect(to).map(|both| both.satisfiability()) {
            Ok(Satisfiability::Yes) => Tri::Yes,
            Ok(Satisfiability::No) => Tri::No,
            Ok(Satisfiability::Unknown) | Err(_) => Tri::Unknown,
        };
    }
}

/// Whether two leaves have no value in common for certain.
pub(super) fn apart(one: &Leaf, other: &Leaf) -> bool {
    if (one.kind == Kind::String) != (other.kind == Kind::String) {
        return true;
    }
    let both = one.and(other);
    both.inhabited() == Tri::No
}

fn canonical(schema: &Value) -> Option<CanonicalSchema> {
    options().offline().should_validate_formats(true).canonicalize(&schema.to_json()).ok()
}

fn validator(schema: &Value) -> Option<Validator<JsonValue>> {
    jsonschema::options_for::<JsonValue>().should_validate_formats(true).offline().build(&schema.to_json()).ok()
}

/// One keyword as a schema of the newest draft. `None` when it cannot be said there; `Some(None)` when it says nothing.
#[expect(clippy::option_option, reason = "two reasons for there being none")]
fn constraint(place: &Place, keyword: &str, value: &Value) -> Option<Option<Value>> {
    let one = |keyword: &str, value: &Value| Some(Some(Value::object([(keyword, value.clone())])));
    match (keyword, value) {
        ("exclusiveMinimum" | "exclusiveMaximum", Value::Bool(_)) => Some(None),
        ("minimum" | "maximum", Value::Number(_)) if place.draft() == Draft::D4 => {
            let (exclusive, open) = if keyword == "minimum" { ("exclusiveMinimum", "minimum") } else { ("exclusiveMaximum", "maximum") };
            let exclusive_too = place.keyword(exclusive) == Some(&Value::Bool(true));
            is_plain(value).then(|| one(if exclusive_too { exclusive } else { open }, value))?
        }
        ("pattern", Value::String(pattern)) => (pattern.len() <= limits::WIRING_PATTERN_BYTES_MAX).then(|| one(keyword, value))?,
        ("format", Value::String(format)) => {
            let known = place.draft() >= Draft::D2019 || OLD_FORMATS.contains(&format.as_str());
            known.then(|| one(keyword, value))?
        }
        ("pattern" | "format", _) => None,
        ("minLength", Value::Number(least)) if least.as_u64() == Some(0) => Some(None),
        (_, Value::Number(_)) => is_plain(value).then(|| one(keyword, value))?,
        _ => None,
    }
}

/// Whether an integer is on the right side of a border that is one too; none for whatever else a constraint says.
fn within(constraint: &Value, value: &Value) -> Option<bool> {
    let mut keywords = constraint.as_object()?.iter();
    let (Some((keyword, Value::Number(border))), None) = (keywords.next(), keywords.next()) else { return None };
    let Value::Number(number) = value else { return None };
    let (number, border) = (number.as_i64()?, border.as_i64()?);
    match keyword.as_str() {
        "minimum" => Some(number >= border),
        "maximum" => Some(number <= border),
        "exclusiveMinimum" => Some(number > border),
        "exclusiveMaximum" => Some(number < border),
        _ => None,
    }
}

/// Whether a number is one that every reader of numbers reads alike.
fn is_plain(value: &Value) -> bool {
    let Value::Number(number) = value else { return false };
    // Up to here, 2^53, every integer is one float.
    let small = |float: f64| float.abs() <= 9_007_199_254_740_992.0;
    number.as_i64().is_some_and(|integer| integer.unsigned_abs() <= 9_007_199_254_740_992)
        || (!number.is_integer() && number.as_f64().is_some_and(small))
}

/// In words, what `from` lets out that `to` does not take, given one such value when there is one.
pub(super) fn words(from: &Leaf, to: &Leaf, refused: Option<&Value>) -> String {
    let many = match from.kind {
        Kind::String => "strings",
        Kind::Number => "numbers",
        Kind::Integer | Kind::WrittenInteger => "integers",
    };
    let integers_wanted = matches!(to.kind, Kind::Integer | Kind::WrittenInteger) && from.kind == Kind::Number;
    let fractional = |value: &Value| matches!(value, Value::Number(number) if !number.is_integer());
    if integers_wanted && refused.is_none_or(fractional) {
        return "numbers that are not integers".into();
    }
    let breaks = |constraint: &&Value| match refused {
        Some(value) => Leaf::bare(from.kind).with((*constraint).clone()).takes(value) == Tri::No,
        None => !from.constraints.contains(constraint),
    };
    let broken = to.constraints.iter().find(breaks).or_else(|| to.constraints.iter().find(|one| !from.constraints.contains(one)));
    broken.map_or_else(|| format!("other {many}"), |constraint| broken_words(many, constraint))
}

fn broken_words(many: &str, constraint: &Value) -> String {
    let Some((keyword, value)) = constraint.as_object().and_then(|constraint| constraint.iter().next()) else { return many.into() };
    let shown = crate::cut(&value.to_json_string(), 60);
    let text = || crate::cut(value.as_str().unwrap_or_default(), 60);
    match keyword.as_str() {
        "maxLength" => format!("{many} of more than {shown} characters"),
        "minLength" if value.as_u64() == Some(1) => "the empty string".into(),
        "minLength" => format!("{many} of fewer than {shown} characters"),
        "minimum" => format!("{many} below {shown}"),
        "exclusiveMinimum" => format!("{many} that are not above {shown}"),
        "maximum" => format!("{many} above {shown}"),
        "exclusiveMaximum" => format!("{many} that are not below {shown}"),
        "multipleOf" if value.as_u64() == Some(1) => "numbers that are not integers".into(),
        "multipleOf" => format!("{many} that are not multiples of {shown}"),
        "pattern" => format!("{many} that do not match `{}`", text()),
        "format" => format!("{many} that are no `{}`", text()),
        "not" => match value.get("enum").and_then(Value::as_array) {
            Some([one]) => super::words::shown(one),
            _ => format!("{many} that are ruled out"),
        },
        _ => format!("other {many}"),
    }
}

/// The strings that match a pattern.
pub(super) fn matching(pattern: &Text) -> Leaf {
    Leaf::bare(Kind::String).with(Value::object([("pattern", Value::String(pattern.clone()))]))
}
