//! A schema as the parts that must hold together, and the ways in which its unions can go.

use toolwright::Value;

use super::members;

/// How many ways of going through a schema's unions are followed.
const WAYS_MAX: usize = 24;

/// How many schemas deep a union is followed without going into a value.
const DEPTH_MAX: usize = 10;

/// A schema and the document in which its references are looked up.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part<'a> {
    pub(crate) root: &'a Value,
    pub(crate) schema: &'a Value,
}

impl<'a> Part<'a> {
    pub(crate) fn root(root: &'a Value) -> Self {
        Self { root, schema: root }
    }

    pub(crate) fn get(&self, keyword: &str) -> Option<&'a Value> {
        self.schema.get(keyword)
    }

    pub(crate) fn at(&self, schema: &'a Value) -> Self {
        Self { root: self.root, schema }
    }

    /// The schema under a keyword.
    pub(crate) fn part(&self, keyword: &str) -> Option<Self> {
        self.get(keyword).map(|schema| self.at(schema))
    }

    /// The schemas in the list under a keyword.
    pub(crate) fn list(&self, keyword: &str) -> Vec<Self> {
        self.get(keyword).and_then(Value::as_array).unwrap_or_default().iter().map(|schema| self.at(schema)).collect()
    }

    /// Where a reference leads, when it stays in the document.
    fn follow(&self, reference: &str) -> Option<Self> {
        let (base, fragment) = reference.split_once('#').unwrap_or((reference, ""));
        let document = if base.is_empty() { self.root } else { named(self.root, &|schema| has_id(schema, base), 0)? };
        let schema = if fragment.is_empty() {
            document
        } else if fragment.starts_with('/') {
            document.pointer(&percent_decoded(fragment))?
        } else {
            named(document, &|schema| has_anchor(schema, fragment), 0)?
        };
        Some(self.at(schema))
    }
}

fn percent_decoded(fragment: &str) -> String {
    fragment.replace("%25", "%").replace("%22", "\"").replace("%20", " ")
}

fn word<'a>(schema: &'a Value, keyword: &str) -> Option<&'a str> {
    schema.get(keyword).and_then(Value::as_str)
}

fn has_id(schema: &Value, base: &str) -> bool {
    ["$id", "id"].iter().filter_map(|keyword| word(schema, keyword)).any(|id| id == base || id.ends_with(&format!("/{base}")))
}

fn has_anchor(schema: &Value, name: &str) -> bool {
    let anchors = ["$anchor", "$dynamicAnchor"].iter().filter_map(|keyword| word(schema, keyword)).any(|anchor| anchor == name);
    anchors || ["$id", "id"].iter().filter_map(|keyword| word(schema, keyword)).any(|id| id.strip_prefix('#') == Some(name))
}

/// The first schema anywhere in the document that is the one.
fn named<'a>(within: &'a Value, is_it: &dyn Fn(&Value) -> bool, depth: usize) -> Option<&'a Value> {
    if depth > 30 {
        return None;
    }
    if is_it(within) {
        return Some(within);
    }
    let items = within.as_array().unwrap_or_default().iter();
    items.chain(members(within).map(|(_, value)| value)).find_map(|value| named(value, is_it, depth + 1))
}

/// A way through the unions: the schemas that must hold together.
pub(crate) type Way<'a> = Vec<Part<'a>>;

/// The ways in which all of `parts` can hold.
pub(crate) fn ways<'a>(parts: &[Part<'a>]) -> Vec<Way<'a>> {
    parts.iter().fold(vec![Vec::new()], |ways, part| product(ways, &ways_of(*part, 0)))
}

/// All schemas that have a say in any of the ways.
pub(crate) fn everything<'a>(parts: &[Part<'a>]) -> Way<'a> {
    let mut all: Way<'a> = Vec::new();
    for part in ways(parts).into_iter().flatten() {
        if !all.iter().any(|known| std::ptr::eq(known.schema, part.schema)) {
            all.push(part);
        }
    }
    let denied: Vec<Part<'a>> = all.iter().filter_map(|part| part.part("not")).flat_map(|part| ways_of(part, 1)).flatten().collect();
    all.extend(denied);
    all.truncate(60);
    all
}

fn ways_of<'a>(part: Part<'a>, depth: usize) -> Vec<Way<'a>> {
    let mut ways = vec![vec![part]];
    if depth > DEPTH_MAX {
        return ways;
    }
    let deeper = |part: Part<'a>| -> Vec<Way<'a>> { ways_of(part, depth + 1) };
    for reference in ["$ref", "$dynamicRef", "$recursiveRef"] {
        if let Some(target) = part.get(reference).and_then(Value::as_str).and_then(|to| part.follow(to)) {
            ways = product(ways, &deeper(target));
        }
    }
    for member in part.list("allOf") {
        ways = product(ways, &deeper(member));
    }
    for union in ["anyOf", "oneOf"] {
        let branches: Vec<Way<'a>> = part.list(union).into_iter().flat_map(deeper).collect();
        if !branches.is_empty() {
            ways = product(ways, &branches);
        }
    }
    if let Some(condition) = part.part("if") {
        let mut branches = match part.part("then") {
            Some(then) => product(deeper(condition), &deeper(then)),
            None => deeper(condition),
        };
        branches.extend(part.part("else").map_or_else(|| vec![Vec::new()], deeper));
        ways = product(ways, &branches);
    }
    for dependencies in ["dependentSchemas", "dependencies"] {
        for (_, schema) in part.get(dependencies).into_iter().flat_map(members) {
            let mut branches = vec![Vec::new()];
            branches.extend(deeper(part.at(schema)));
            ways = product(ways, &branches);
        }
    }
    ways
}

/// Each with each; of too many, some that still go through every branch where there is room.
fn product<'a>(left: Vec<Way<'a>>, right: &[Way<'a>]) -> Vec<Way<'a>> {
    let (rows, columns) = (left.len(), right.len());
    let all = rows * columns;
    let chosen: Vec<(usize, usize)> = if all <= WAYS_MAX {
        (0..all).map(|at| (at / columns, at % columns)).collect()
    } else {
        let spread = |at: usize, of: usize, otherwise: usize| if of > WAYS_MAX { at * of / WAYS_MAX } else { otherwise % of };
        (0..WAYS_MAX).map(|at| (spread(at, rows, at), spread(at, columns, at + at / rows.max(1)))).collect()
    };
    let pairs = chosen.into_iter().filter_map(|(row, column)| left.get(row).zip(right.get(column)));
    pairs.map(|(first, second)| first.iter().chain(second).copied().collect()).collect()
}
