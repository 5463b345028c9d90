//! From a schema to a union of branches, one level at a time.

use super::document::{Draft, Place};
use super::engine::Engine;
use super::leaf::{self, Kind, Leaf};
use super::node::{Branch, Conj, Item, Items, Node, Part, Scalars, Shape, Tri};
use crate::limits;
use crate::value::Value;

/// Keywords that speak of the members of objects.
const OBJECT: [&str; 11] = [
    "properties",
    "patternProperties",
    "additionalProperties",
    "required",
    "minProperties",
    "maxProperties",
    "propertyNames",
    "dependencies",
    "dependentRequired",
    "dependentSchemas",
    "unevaluatedProperties",
];

/// Keywords that speak of the items of arrays.
const ARRAY: [&str; 8] = ["items", "prefixItems", "additionalItems", "minItems", "maxItems", "uniqueItems", "contains", "unevaluatedItems"];

/// Keywords by which a schema says more than its own `properties` about which members there are.
const ELSEWHERE: [&str; 10] =
    ["allOf", "anyOf", "oneOf", "if", "not", "$ref", "dependentSchemas", "dependencies", "$dynamicRef", "$recursiveRef"];

impl Engine {
    /// All schemas of a conjunction as one node.
    pub(super) fn read_all(&mut self, conj: &Conj) -> Node {
        let mut nodes = conj.iter();
        let Some(first) = nodes.next() else { return Node::any() };
        let mut node = self.read_item(first);
        for item in nodes {
            let other = self.read_item(item);
            node = self.both(node, other);
        }
        node
    }

    fn read_item(&mut self, item: &Item) -> Node {
        match item {
            Item::Place(place) => self.read(place, 0),
            Item::Made(node) => Node::clone(node),
        }
    }

    /// `hops`: how many references in a row led here.
    fn read(&mut self, place: &Place, hops: usize) -> Node {
        if !self.tick() || hops > limits::SCHEMA_REF_HOPS_MAX {
            return Node::unknown();
        }
        match &place.schema {
            Value::Bool(true) => return Node::any(),
            Value::Bool(false) => return Node::never(),
            Value::Object(members) if members.is_empty() => return Node::any(),
            Value::Object(_) => {}
            _ => return Node::unknown(),
        }
        let referred = place.keyword("$ref").and_then(Value::as_str).map(|reference| match place.document.resolve(reference) {
            Some(target) => self.read(&place.at(target), hops + 1),
            None => Node::unknown(),
        });
        if let Some(referred) = referred {
            // Up to draft 7 a reference stands alone, whatever is written beside it.
            if place.draft() <= Draft::D7 {
                return referred;
            }
            let here = self.read_here(place, hops);
            return self.both(referred, here);
        }
        self.read_here(place, hops)
    }

    /// Everything but `$ref`.
    fn read_here(&mut self, place: &Place, hops: usize) -> Node {
        let mut node = self.plain(place);
        if place.keyword("$dynamicRef").is_some() || place.keyword("$recursiveRef").is_some() {
            node = self.both(node, Node::unknown());
        }
        let list = |keyword: &str| place.keyword(keyword).and_then(Value::as_array).unwrap_or_default();
        for part in list("allOf") {
            let part = self.read(&place.at(part), hops + 1);
            node = self.both(node, part);
        }
        if place.keyword("anyOf").is_some() {
            let union = list("anyOf").iter().fold(Node::never(), |union, part| {
                let part = self.read(&place.at(part), hops + 1);
                union.or(part)
            });
            node = self.both(node, union);
        }
        if place.keyword("oneOf").is_some() {
            let parts: Vec<Node> = list("oneOf").iter().map(|part| self.read(&place.at(part), hops + 1)).collect();
            let apart = parts.len() <= limits::WIRING_ONE_OF_MAX && self.all_apart(&parts);
            let union = parts.into_iter().fold(Node::never(), Node::or);
            node = self.both(node, if apart { union } else { union.roughly() });
        }
        let follows = place.keyword("then").is_some() || place.keyword("else").is_some();
        if place.draft() >= Draft::D7 && place.keyword("if").is_some() && follows {
            let mut branch = |keyword: &str| place.keyword(keyword).map_or_else(Node::any, |part| self.read(&place.at(part), hops + 1));
            let (condition, then, otherwise) = (branch("if"), branch("then"), branch("else"));
            let then = self.both(condition, then);
            // Which of the two holds is not followed.
            node = self.both(node, then.or(otherwise).roughly());
        }
        if let Some(ruled_out) = place.keyword("not") {
            let ruled_out = self.read(&place.at(ruled_out), hops + 1);
            node = without(node, &ruled_out);
        }
        node
    }

    /// What a schema says by itself: types, values, constraints.
    fn plain(&mut self, place: &Place) -> Node {
        let has = |keywords: &[&str]| keywords.iter().any(|keyword| place.keyword(keyword).is_some());
        let listed = place.keyword("enum").and_then(Value::as_array).map(<[Value]>::to_vec);
        let listed = match (place.keyword("const").filter(|_| place.draft() >= Draft::D6), listed) {
            (Some(one), None) => Some(vec![one.clone()]),
            (Some(one), Some(all)) => Some(all.into_iter().filter(|value| value.same_value(one)).collect()),
            (None, all) => all,
        };
        let types = types(place);
        let (string, _) = Leaf::of(place, Kind::String);
        let (number, _) = Leaf::of(place, Kind::Number);
        let rough = |kind| !Leaf::of(place, kind).1;
        let constrained = !string.constraints.is_empty() || !number.constraints.is_empty() || rough(Kind::String) || rough(Kind::Number);
        if types.is_none() && !constrained && !has(&OBJECT) && !has(&ARRAY) {
            return listed.map_or_else(Node::any, Node::values);
        }
        let types = types.unwrap_or_default();
        let mut branches = Vec::new();
        let mut exact = true;
        let mut scalars = Scalars { null: types.null, yes: types.boolean, no: types.boolean, number: None, string: None };
        if types.string {
            exact &= !rough(Kind::String);
            scalars.string = Some(string);
        }
        if let Some(kind) = types.number {
            let (leaf, known) = Leaf::of(place, kind);
            exact &= known;
            scalars.number = Some(leaf);
        }
        if !scalars.is_empty() {
            branches.push(Branch { shape: Shape::Scalars(Box::new(scalars)), exact });
        }
        if types.object {
            let exact = !has_more_to_say_of_members(place);
            branches.push(Branch { shape: Shape::Object(vec![Part::Schema(place.clone())]), exact });
        }
        if types.array {
            let contains = place.draft() >= Draft::D6 && place.keyword("contains").is_some();
            let unevaluated = place.draft() >= Draft::D2019 && !place.keyword("unevaluatedItems").is_none_or(says_nothing);
            let exact = !contains && !unevaluated;
            branches.push(Branch { shape: Shape::Array(vec![Items::Schema(place.clone())]), exact });
        }
        let node = Node { branches };
        match listed {
            None => node,
            Some(values) => self.both(Node::values(values), node),
        }
    }

    /// Values that are in both.
    pub(super) fn both(&mut self, one: Node, other: Node) -> Node {
        if one.is_any() {
            return other;
        }
        if other.is_any() {
            return one;
        }
        if one.branches.len().saturating_mul(other.branches.len()) > limits::WIRING_BRANCHES_MAX {
            // The one with fewer branches is closer to what is meant, and both hold more than that.
            return if one.branches.len() <= other.branches.len() { one.roughly() } else { other.roughly() };
        }
        let mut branches = Vec::new();
        for left in &one.branches {
            for right in &other.branches {
                if !self.tick() {
                    return one.roughly();
                }
                branches.extend(self.both_branches(left, right));
            }
        }
        Node { branches }
    }

    fn both_branches(&mut self, left: &Branch, right: &Branch) -> Option<Branch> {
        let exact = left.exact && right.exact;
        let shape = match (&left.shape, &right.shape) {
            (Shape::Any, shape) | (shape, Shape::Any) => shape.clone(),
            (Shape::Values(values), _) => return self.values_in(values, right, exact),
            (_, Shape::Values(values)) => return self.values_in(values, left, exact),
            (Shape::Scalars(one), Shape::Scalars(other)) => {
                let meet = |one: &Option<Leaf>, other: &Option<Leaf>| Some(one.as_ref()?.and(other.as_ref()?));
                let scalars = Scalars {
                    null: one.null && other.null,
                    yes: one.yes && other.yes,
                    no: one.no && other.no,
                    number: meet(&one.number, &other.number),
                    string: meet(&one.string, &other.string),
                };
                if scalars.is_empty() {
                    return None;
                }
                Shape::Scalars(Box::new(scalars))
            }
            (Shape::Object(one), Shape::Object(other)) => Shape::Object(one.iter().chain(other).cloned().collect()),
            (Shape::Array(one), Shape::Array(other)) => Shape::Array(one.iter().chain(other).cloned().collect()),
            _ => return None,
        };
        Some(Branch { shape, exact })
    }

    fn values_in(&mut self, values: &[Value], branch: &Branch, exact: bool) -> Option<Branch> {
        let mut exact = exact;
        let mut kept = Vec::new();
        for value in values.iter().take(limits::WIRING_VALUES_MAX) {
            match self.listed_holds(branch, value) {
                Tri::Yes => kept.push(value.clone()),
                Tri::Unknown => {
                    exact = false;
                    kept.push(value.clone());
                }
                Tri::No => {}
            }
        }
        if values.len() > limits::WIRING_VALUES_MAX {
            return Some(Branch { shape: Shape::Any, exact: false });
        }
        (!kept.is_empty()).then_some(Branch { shape: Shape::Values(kept), exact })
    }

    fn all_apart(&mut self, parts: &[Node]) -> bool {
        parts.iter().enumerate().all(|(at, one)| parts.iter().skip(at + 1).all(|other| self.apart(one, other, 0)))
    }

    /// Whether two nodes have no value in common for certain.
    pub(super) fn apart(&mut self, one: &Node, other: &Node, deep: u32) -> bool {
        deep < limits::WIRING_APART_DEPTH_MAX
            && one.branches.iter().all(|left| other.branches.iter().all(|right| self.branches_apart(left, right, deep)))
    }

    fn branches_apart(&mut self, left: &Branch, right: &Branch, deep: u32) -> bool {
        if !self.tick() {
            return false;
        }
        match (&left.shape, &right.shape) {
            (Shape::Any, _) | (_, Shape::Any) => false,
            (Shape::Values(values), _) => values.iter().all(|value| self.listed_holds(right, value) == Tri::No),
            (_, Shape::Values(values)) => values.iter().all(|value| self.listed_holds(left, value) == Tri::No),
            (Shape::Scalars(one), Shape::Scalars(other)) => {
                let leaves = |one: &Option<Leaf>, other: &Option<Leaf>| match (one, other) {
                    (Some(one), Some(other)) => leaf::apart(one, other),
                    _ => true,
                };
                let words = (one.null && other.null) || (one.yes && other.yes) || (one.no && other.no);
                !words && leaves(&one.number, &other.number) && leaves(&one.string, &other.string)
            }
            (Shape::Object(one), Shape::Object(other)) => self.objects_apart(one, other, deep),
            (Shape::Array(_), Shape::Array(_)) => false,
            _ => true,
        }
    }

    /// Two objects are apart when a member that one of them must have cannot be right for the other.
    fn objects_apart(&mut self, one: &[Part], other: &[Part], deep: u32) -> bool {
        let required: Vec<_> = self.required(one).into_iter().chain(self.required(other)).take(limits::WIRING_TAGS_MAX).collect();
        required.iter().any(|key| {
            let (mine, theirs) = (self.member(one, key), self.member(other, key));
            let (mine, theirs) = (self.read_all(&mine), self.read_all(&theirs));
            mine.is_never() || theirs.is_never() || self.apart(&mine, &theirs, deep + 1)
        })
    }
}

/// The types that a schema allows; all of them when it names none.
struct Types {
    null: bool,
    boolean: bool,
    number: Option<Kind>,
    string: bool,
    object: bool,
    array: bool,
}

impl Default for Types {
    fn default() -> Self {
        Self { null: true, boolean: true, number: Some(Kind::Number), string: true, object: true, array: true }
    }
}

fn types(place: &Place) -> Option<Types> {
    let written = place.keyword("type")?;
    let names: Vec<&str> = match written {
        Value::String(name) => vec![name.as_str()],
        many => many.as_array().unwrap_or_default().iter().filter_map(Value::as_str).collect(),
    };
    let has = |name: &str| names.contains(&name);
    let integer = if place.draft() == Draft::D4 { Kind::WrittenInteger } else { Kind::Integer };
    let number = if has("number") { Some(Kind::Number) } else { has("integer").then_some(integer) };
    Some(Types { null: has("null"), boolean: has("boolean"), number, string: has("string"), object: has("object"), array: has("array") })
}

pub(super) fn says_nothing(schema: &Value) -> bool {
    matches!(schema, Value::Bool(true)) || schema.as_object().is_some_and(crate::value::Object::is_empty)
}

/// Whether the schema restricts members in a way that is not followed.
fn has_more_to_say_of_members(place: &Place) -> bool {
    let open = |keyword: &str| place.keyword(keyword).is_none_or(says_nothing);
    let none = |keyword: &str| place.keyword(keyword).and_then(Value::as_object).is_none_or(crate::value::Object::is_empty);
    let newer = place.draft() >= Draft::D2019;
    !none("dependencies") || (newer && !none("dependentSchemas")) || (newer && !(open("unevaluatedProperties") || closes_itself(place)))
}

/// Whether `unevaluatedProperties` means what `additionalProperties` would: nothing else speaks of members.
pub(super) fn closes_itself(place: &Place) -> bool {
    place.keyword("additionalProperties").is_none() && !ELSEWHERE.iter().any(|keyword| place.keyword(keyword).is_some())
}

/// What is left of a node when `ruled_out` is taken out of it, as far as that can be said.
fn without(node: Node, ruled_out: &Node) -> Node {
    let certain = ruled_out.branches.iter().filter(|branch| branch.exact);
    let mut rough = ruled_out.branches.iter().any(|branch| !branch.exact);
    let mut node = node;
    for branch in certain {
        match &branch.shape {
            Shape::Any => return Node::never(),
            Shape::Values(values) => {
                rough |= values.iter().any(|value| matches!(value, Value::Object(_) | Value::Array(_)));
                spelled_out(&mut node);
                if values.len() > limits::WIRING_VALUES_MAX {
                    rough = true;
                    continue;
                }
                scalars_of(&mut node).for_each(|scalars| take_out(scalars, values));
                for branch in &mut node.branches {
                    if let Shape::Values(listed) = &mut branch.shape {
                        listed.retain(|one| !values.iter().any(|value| value.same_value(one)));
                    }
                }
            }
            Shape::Scalars(gone) => {
                spelled_out(&mut node);
                rough |= node.branches.iter().any(|branch| matches!(branch.shape, Shape::Values(_)));
                // A number of draft 4 is an integer by how it is written, which nothing else can say.
                rough |= gone.number.as_ref().is_some_and(|gone| gone.kind == Kind::WrittenInteger);
                for scalars in scalars_of(&mut node) {
                    scalars.null &= !gone.null;
                    scalars.yes &= !gone.yes;
                    scalars.no &= !gone.no;
                    scalars.number = less(scalars.number.take(), gone.number.as_ref());
                    scalars.string = less(scalars.string.take(), gone.string.as_ref());
                }
            }
            Shape::Object(parts) => {
                let all = parts.iter().all(is_bare);
                spelled_out(&mut node);
                rough |= node.branches.iter().any(|branch| lists_containers(branch) || (!all && matches!(branch.shape, Shape::Object(_))));
                if all {
                    node.branches.retain(|branch| !matches!(branch.shape, Shape::Object(_)));
                }
            }
            Shape::Array(parts) => {
                let all =
                    parts.iter().all(|part| matches!(part, Items::Schema(place) if !ARRAY.iter().any(|k| place.keyword(k).is_some())));
                spelled_out(&mut node);
                rough |= node.branches.iter().any(|branch| lists_containers(branch) || (!all && matches!(branch.shape, Shape::Array(_))));
                if all {
                    node.branches.retain(|branch| !matches!(branch.shape, Shape::Array(_)));
                }
            }
        }
    }
    node.branches.retain(|branch| match &branch.shape {
        Shape::Scalars(scalars) => !scalars.is_empty(),
        Shape::Values(values) => !values.is_empty(),
        _ => true,
    });
    if rough { node.roughly() } else { node }
}

fn lists_containers(branch: &Branch) -> bool {
    matches!(&branch.shape, Shape::Values(values) if values.iter().any(|value| matches!(value, Value::Object(_) | Value::Array(_))))
}

fn is_bare(part: &Part) -> bool {
    matches!(part, Part::Schema(place) if !OBJECT.iter().any(|keyword| place.keyword(keyword).is_some()))
}

/// Anything, kind by kind, so that a kind can be taken out.
fn spelled_out(node: &mut Node) {
    for at in 0..node.branches.len() {
        let Some(branch) = node.branches.get_mut(at) else { return };
        if matches!(branch.shape, Shape::Any) {
            let exact = branch.exact;
            let all =
                Scalars { null: true, yes: true, no: true, number: Some(Leaf::bare(Kind::Number)), string: Some(Leaf::bare(Kind::String)) };
            branch.shape = Shape::Scalars(Box::new(all));
            node.branches.push(Branch { shape: Shape::Object(Vec::new()), exact });
            node.branches.push(Branch { shape: Shape::Array(Vec::new()), exact });
        }
    }
}

fn scalars_of(node: &mut Node) -> impl Iterator<Item = &mut Scalars> {
    node.branches.iter_mut().filter_map(|branch| if let Shape::Scalars(scalars) = &mut branch.shape { Some(&mut **scalars) } else { None })
}

fn take_out(scalars: &mut Scalars, values: &[Value]) {
    scalars.null &= !values.iter().any(Value::is_null);
    scalars.yes &= !values.contains(&Value::Bool(true));
    scalars.no &= !values.contains(&Value::Bool(false));
    let without = |leaf: &mut Option<Leaf>, right_kind: fn(&Value) -> bool| {
        let gone: Vec<Value> = values.iter().filter(|value| right_kind(value)).cloned().collect();
        if let Some(leaf) = leaf.as_mut().filter(|_| !gone.is_empty()) {
            *leaf = leaf.with(Value::object([("not", Value::object([("enum", Value::array(gone))]))]));
        }
    };
    without(&mut scalars.number, |value| matches!(value, Value::Number(_)));
    without(&mut scalars.string, |value| matches!(value, Value::String(_)));
}

fn less(leaf: Option<Leaf>, gone: Option<&Leaf>) -> Option<Leaf> {
    let leaf = leaf?;
    let Some(gone) = gone else { return Some(leaf) };
    if gone.constraints.is_empty() && (gone.kind == leaf.kind || gone.kind == Kind::Number) {
        return None;
    }
    if gone.kind == Kind::WrittenInteger {
        return Some(leaf);
    }
    Some(leaf.with(Value::object([("not", gone.schema())])))
}
