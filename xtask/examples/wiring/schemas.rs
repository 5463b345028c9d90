//! Random pairs of schemas, each made anew from its number: relatives of each other, so that much has to be looked at
//! before anything can be said.

use serde_json::{Map, Value as Json, json};
use toolwright::Value;

use super::Failure;
use super::brute::Dice;

/// Two schemas to compare.
pub(super) struct Pair {
    pub(super) family: &'static str,
    pub(super) source: Value,
    pub(super) target: Value,
}

/// Makes up one of the two sides; both sides are asked with the same count.
type Family = fn(&mut Maker<'_>, usize) -> Json;

const ALL: [(&str, Family); 16] = [
    ("wide object", |maker, keys| maker.wide(keys)),
    ("tagged union", |maker, keys| maker.tagged(keys, "oneOf")),
    ("union of wide objects", |maker, keys| maker.union(keys)),
    ("if, then, else", |maker, keys| maker.conditional(keys)),
    ("dependent members", |maker, keys| maker.dependent(keys)),
    ("patterns of names", |maker, keys| maker.patterned(keys)),
    ("recursion", |maker, keys| maker.recursive(keys)),
    ("allOf chain", |maker, keys| maker.chain(keys)),
    ("tree", |maker, keys| maker.tree(keys, 0)),
    ("list of records", |maker, keys| json!({"type": "array", "items": maker.wide(keys), "minItems": maker.dice.below(3)})),
    ("tuple", |maker, keys| maker.tuple(keys)),
    ("long enum", |maker, keys| maker.long_enum(keys)),
    ("draft-07", |maker, keys| maker.draft_07(keys)),
    ("union of everything", |maker, keys| maker.anything(keys, 0)),
    ("union inside union", |maker, keys| maker.nested_unions(keys, 0)),
    ("many unions in one object", |maker, keys| maker.members_with_unions(keys)),
];

/// How many kinds of pair there are; they take turns.
pub(super) const FAMILIES: u64 = ALL.len() as u64;

/// The pair with this number.
pub(super) fn pair(id: u64) -> Result<Pair, Failure> {
    let at = usize::try_from(id % FAMILIES)?;
    let (family, make) = ALL.get(at).ok_or("there is no such family")?;
    let mut dice = Dice::new(id.wrapping_mul(0x5851_f42d_4c95_7f2d));
    let keys = match dice.below(10) {
        0..=3 => 1 + dice.below(8),
        4..=6 => 8 + dice.below(40),
        7 | 8 => 50 + dice.below(200),
        _ => 250 + dice.below(251),
    };
    // The sides are relatives: the same seed, in which one side strays now and then.
    let (seed, straying) = (dice.roll(), [0, 2, 10, 50].get(dice.below(4)).copied().unwrap_or_default());
    let mut side = |straying: usize, prefix: &'static str| {
        let mut maker = Maker { dice: Dice::new(seed), stray: Dice::new(dice.roll()), straying, prefix };
        Value::from_json(make(&mut maker, keys))
    };
    Ok(Pair { family, source: side(0, "a")?, target: side(straying, "b")? })
}

/// The simple schemas of members: in each row, every one takes what those before it take.
const LEAVES: [[&str; 4]; 12] = [
    [r#"{"const":"x"}"#, r#"{"enum":["x","y"]}"#, r#"{"type":"string"}"#, r#"{"type":["string","null"]}"#],
    [r#"{"type":"integer","minimum":1,"maximum":5}"#, r#"{"type":"integer","minimum":1}"#, r#"{"type":"integer"}"#, r#"{"type":"number"}"#],
    [r#"{"type":"string","minLength":3,"maxLength":9}"#, r#"{"type":"string","minLength":3}"#, r#"{"type":"string"}"#, "{}"],
    [r#"{"const":true}"#, r#"{"type":"boolean"}"#, r#"{"type":["boolean","null"]}"#, r#"{"type":["boolean","null","integer"]}"#],
    [r#"{"type":"string","format":"date"}"#, r#"{"type":"string"}"#, r#"{"type":["string","integer"]}"#, "true"],
    [
        r#"{"type":"array","items":{"type":"integer"},"minItems":1}"#,
        r#"{"type":"array","items":{"type":"integer"}}"#,
        r#"{"type":"array","items":{"type":"number"}}"#,
        r#"{"type":"array"}"#,
    ],
    [r#"{"type":"string","pattern":"^[a-z]+$","maxLength":9}"#, r#"{"type":"string","pattern":"^[a-z]+$"}"#, r#"{"type":"string"}"#, "{}"],
    [
        r#"{"type":"integer","multipleOf":6}"#,
        r#"{"type":"integer","multipleOf":3}"#,
        r#"{"type":"integer"}"#,
        r#"{"type":["number","null"]}"#,
    ],
    [
        r#"{"type":"object","properties":{"p":{"type":"integer"}},"required":["p"],"additionalProperties":false}"#,
        r#"{"type":"object","properties":{"p":{"type":"integer"}},"required":["p"]}"#,
        r#"{"type":"object","properties":{"p":{"type":"number"}}}"#,
        r#"{"type":["object","null"]}"#,
    ],
    [
        r#"{"type":"number","exclusiveMinimum":0,"maximum":1}"#,
        r#"{"type":"number","minimum":0,"maximum":1}"#,
        r#"{"type":"number","minimum":0}"#,
        r#"{"type":"number"}"#,
    ],
    [
        r#"{"anyOf":[{"type":"integer"},{"type":"null"}]}"#,
        r#"{"anyOf":[{"type":"number"},{"type":"null"}]}"#,
        r#"{"anyOf":[{"type":"number"},{"type":"null"},{"type":"string"}]}"#,
        r#"{"not":{"type":"object"}}"#,
    ],
    [
        r#"{"type":"object","additionalProperties":{"type":"integer"}}"#,
        r#"{"type":"object","additionalProperties":{"type":"number"}}"#,
        r#"{"type":"object"}"#,
        "{}",
    ],
];

const NAME_PATTERNS: [&str; 5] = ["^k1", "^x-", "[0-9]$", "^k[0-9]+$", "^[a-z]"];

struct Maker<'d> {
    /// What both sides have in common.
    dice: Dice,
    /// What one side does alone.
    stray: Dice,
    /// How many in a hundred choices one side makes alone.
    straying: usize,
    /// What the names of definitions begin with.
    prefix: &'d str,
}

impl Maker<'_> {
    fn strays(&mut self) -> bool {
        self.stray.below(100) < self.straying
    }

    /// A number below `end`: the same on both sides, mostly.
    fn choose(&mut self, end: usize) -> usize {
        let common = self.dice.below(end);
        if self.strays() { self.stray.below(end) } else { common }
    }

    /// True so often in a hundred.
    fn chance(&mut self, hundredths: usize) -> bool {
        self.choose(100) < hundredths
    }

    fn leaf(&mut self) -> Json {
        let row = self.choose(LEAVES.len());
        let common = self.dice.below(3);
        // A side that strays mostly takes more than the other.
        let width = if self.strays() { [common + 1, 3, 0].get(self.stray.below(3)).copied().unwrap_or(3) } else { common };
        let text = LEAVES.get(row).and_then(|row| row.get(width)).copied().unwrap_or("true");
        serde_json::from_str(text).unwrap_or(Json::Bool(true))
    }

    fn name(at: usize) -> String {
        format!("k{at}")
    }

    fn members(&mut self, keys: std::ops::Range<usize>) -> Map<String, Json> {
        keys.map(|at| (Self::name(at), self.leaf())).collect()
    }

    fn some_names(&mut self, keys: std::ops::Range<usize>, hundredths: usize) -> Vec<String> {
        keys.filter(|_| self.chance(hundredths)).map(Self::name).collect()
    }

    fn object(&mut self, keys: std::ops::Range<usize>) -> Json {
        let share = [100, 80, 30, 0].get(self.choose(4)).copied().unwrap_or(80);
        let mut object = json!({"type": "object", "properties": self.members(keys.clone()), "required": self.some_names(keys, share)});
        if self.chance(50) {
            object["additionalProperties"] = Json::Bool(false);
        }
        object
    }

    fn wide(&mut self, keys: usize) -> Json {
        let mut object = self.object(0..keys);
        match self.choose(10) {
            0 => object["minProperties"] = json!(keys / 3),
            1 => object["maxProperties"] = json!(keys),
            2 => object["propertyNames"] = json!({"pattern": "^[a-z0-9]+$"}),
            3 => object["additionalProperties"] = self.leaf(),
            _ => {}
        }
        object
    }

    fn branches(&mut self, keys: usize) -> (usize, usize) {
        let count = 2 + self.choose(if keys > 20 { 12 } else { 4 });
        (count, (keys / count).max(1))
    }

    fn tagged(&mut self, keys: usize, union: &str) -> Json {
        let (count, each) = self.branches(keys);
        let branches: Vec<Json> = (0..count)
            .map(|tag| {
                let mut branch = self.object(0..each);
                branch["properties"]["kind"] = json!({"const": format!("t{tag}")});
                if let Some(names) = branch["required"].as_array_mut() {
                    names.push("kind".into());
                }
                branch
            })
            .collect();
        json!({union: branches})
    }

    fn union(&mut self, keys: usize) -> Json {
        let (count, each) = self.branches(keys);
        let union = if self.chance(70) { "anyOf" } else { "oneOf" };
        json!({union: (0..count).map(|at| { let from = if at % 2 == 0 { 0 } else { at * each / 2 }; self.object(from..from + each) }).collect::<Vec<_>>()})
    }

    fn conditional(&mut self, keys: usize) -> Json {
        let mut object = self.object(0..keys);
        let rules = 1 + self.choose(8);
        let rules: Vec<Json> = (0..rules)
            .map(|_| {
                let (of, on) = (self.choose(keys), self.choose(keys));
                let condition = json!({"properties": {Self::name(of): self.leaf()}, "required": [Self::name(of)]});
                let mut rule =
                    json!({"if": condition, "then": {"required": [Self::name(on)], "properties": {Self::name(on): self.leaf()}}});
                if self.chance(50) {
                    rule["else"] = json!({"properties": {Self::name(on): self.leaf()}});
                }
                rule
            })
            .collect();
        object["allOf"] = Json::Array(rules);
        object
    }

    fn dependent(&mut self, keys: usize) -> Json {
        let mut object = self.object(0..keys);
        let count = 1 + self.choose(keys.min(60));
        let on: Map<String, Json> = (0..count)
            .map(|_| {
                let mut names: Vec<String> = Vec::new();
                for _ in 0..=self.choose(3) {
                    names.push(Self::name(self.choose(keys)));
                }
                (Self::name(self.choose(keys)), without_repeats(names))
            })
            .collect();
        object["dependentRequired"] = Json::Object(on);
        if self.chance(40) {
            let schema = json!({"properties": self.members(0..keys.min(20))});
            object["dependentSchemas"] = json!({Self::name(self.choose(keys)): schema});
        }
        object
    }

    fn patterned(&mut self, keys: usize) -> Json {
        let mut object = self.object(0..keys);
        let count = 1 + self.choose(4);
        let patterns: Map<String, Json> = (0..count)
            .map(|_| (NAME_PATTERNS.get(self.choose(NAME_PATTERNS.len())).copied().unwrap_or("^k").to_owned(), self.leaf()))
            .collect();
        object["patternProperties"] = Json::Object(patterns);
        object
    }

    /// Definitions that lead to each other, under names of each side's own.
    fn recursive(&mut self, keys: usize) -> Json {
        let nodes = 1 + self.choose(12.min(keys));
        let each = (keys / nodes).max(1);
        let name = |maker: &Self, at: usize| format!("{}{at}", maker.prefix);
        let definitions: Map<String, Json> = (0..nodes)
            .map(|node| {
                let mut object = self.object(0..each);
                for link in 0..=self.choose(3) {
                    let to = json!({"$ref": format!("#/$defs/{}", name(self, self.dice.clone().below(nodes)))});
                    self.dice.roll();
                    let to = match self.choose(3) {
                        0 => json!({"type": "array", "items": to}),
                        1 => json!({"anyOf": [to, {"type": "null"}]}),
                        _ => to,
                    };
                    object["properties"][format!("next{link}")] = to;
                }
                (name(self, node), object)
            })
            .collect();
        json!({"$ref": format!("#/$defs/{}", name(self, 0)), "$defs": definitions})
    }

    fn chain(&mut self, keys: usize) -> Json {
        let links = 2 + self.choose(12);
        let each = (keys / links).max(1);
        let parts: Vec<Json> = (0..links)
            .map(|link| {
                let from = link * each / if self.chance(30) { 2 } else { 1 };
                let mut part = self.object(from..from + each);
                part.as_object_mut().map(|part| part.remove("additionalProperties"));
                part
            })
            .collect();
        let mut chain = if self.chance(50) {
            json!({"allOf": parts})
        } else {
            parts
                .into_iter()
                .reduce(|inner, mut outer| {
                    outer["allOf"] = json!([inner]);
                    outer
                })
                .unwrap_or_default()
        };
        if self.chance(40) {
            chain["unevaluatedProperties"] = Json::Bool(false);
        }
        chain
    }

    fn tree(&mut self, keys: usize, depth: usize) -> Json {
        if keys <= 6 || depth > 5 {
            return self.object(0..keys.min(40));
        }
        let branches = 2 + self.choose(5);
        let mut object = self.object(0..2);
        for branch in 0..branches {
            let inner = self.tree(keys / branches, depth + 1);
            let inner = if self.chance(40) { json!({"type": "array", "items": inner}) } else { inner };
            object["properties"][format!("b{branch}")] = inner;
        }
        object
    }

    fn tuple(&mut self, keys: usize) -> Json {
        let items: Vec<Json> = (0..keys).map(|_| self.leaf()).collect();
        let mut tuple = json!({"type": "array", "prefixItems": items});
        if self.chance(60) {
            tuple["items"] = self.leaf();
        }
        if self.chance(40) {
            tuple["minItems"] = json!(self.choose(keys + 1));
        }
        match self.choose(6) {
            0 => tuple["contains"] = self.leaf(),
            1 => tuple["uniqueItems"] = Json::Bool(true),
            2 => tuple["maxItems"] = json!(keys + self.choose(5)),
            _ => {}
        }
        tuple
    }

    fn long_enum(&mut self, keys: usize) -> Json {
        let values: Vec<Json> = (0..keys)
            .filter_map(|at| match self.choose(20) {
                0 => None,
                1..=5 => Some(json!(at)),
                6..=10 => Some(json!(Self::name(at))),
                11..=15 => Some(json!({"k": at})),
                _ => Some(json!([at, null])),
            })
            .collect();
        let list = if values.is_empty() { json!({"const": 1}) } else { json!({"enum": values}) };
        match self.choose(4) {
            0 => json!({"anyOf": [list, {"type": "integer", "minimum": 0}, {"type": "object", "properties": {"k": {"type": "integer"}}}]}),
            1 => json!({"type": ["string", "integer", "object", "array"]}),
            _ => list,
        }
    }

    fn draft_07(&mut self, keys: usize) -> Json {
        let mut object = self.object(0..keys);
        if self.chance(50) {
            object["dependencies"] =
                json!({Self::name(0): [Self::name(keys / 2)], Self::name(keys / 2): {"required": [Self::name(keys / 3)]}});
        }
        object["properties"]["list"] = json!({"type": "array", "items": [self.leaf(), self.leaf()], "additionalItems": self.leaf()});
        object["properties"]["defined"] = json!({"$ref": "#/definitions/one"});
        object["definitions"] = json!({"one": self.leaf()});
        object["$schema"] = json!("http://json-schema.org/draft-07/schema#");
        object
    }

    /// Every keyword may meet every other.
    fn anything(&mut self, keys: usize, depth: usize) -> Json {
        if depth > 3 || keys <= 1 {
            return self.leaf();
        }
        let parts = 2 + self.choose(3);
        let each = keys / parts;
        let inner = |maker: &mut Self| maker.anything(each, depth + 1);
        match self.choose(9) {
            0 => json!({"anyOf": (0..parts).map(|_| inner(self)).collect::<Vec<_>>()}),
            1 => json!({"oneOf": (0..parts).map(|_| inner(self)).collect::<Vec<_>>()}),
            2 => json!({"allOf": (0..parts).map(|_| inner(self)).collect::<Vec<_>>()}),
            3 => json!({"not": inner(self)}),
            4 => json!({"if": inner(self), "then": inner(self), "else": inner(self)}),
            5 => json!({"type": "array", "items": inner(self), "contains": inner(self)}),
            6 => json!({"type": "object", "properties": {"k0": inner(self), "k1": inner(self)}, "required": ["k0"]}),
            7 => json!({"type": "object", "additionalProperties": inner(self), "properties": self.members(0..each.min(30))}),
            _ => self.object(0..keys.min(80)),
        }
    }

    fn nested_unions(&mut self, keys: usize, depth: usize) -> Json {
        if depth > 4 || keys < 4 {
            return self.object(0..keys.clamp(1, 30));
        }
        let count = 2 + self.choose(3);
        let union = if self.chance(70) { "anyOf" } else { "oneOf" };
        json!({union: (0..count).map(|_| self.nested_unions(keys / count, depth + 1)).collect::<Vec<_>>()})
    }

    fn members_with_unions(&mut self, keys: usize) -> Json {
        let each = 3 + self.choose(4);
        let members: Map<String, Json> = (0..keys.div_ceil(each))
            .map(|at| {
                let value = if self.chance(50) {
                    self.tagged(each, "oneOf")
                } else {
                    json!({"anyOf": [self.object(0..each), self.leaf(), self.leaf()]})
                };
                (Self::name(at), value)
            })
            .collect();
        json!({"type": "object", "properties": members, "required": self.some_names(0..keys.div_ceil(each), 60)})
    }
}

/// The list of names that a schema may have: none twice.
fn without_repeats(mut names: Vec<String>) -> Json {
    names.sort_unstable();
    names.dedup();
    json!(names)
}
