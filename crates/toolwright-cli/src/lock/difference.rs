//! What is different about a tool, so that a person can judge it: words of its descriptions, what its schemas take and give,
//! its hints.

use serde_json::json;
use toolwright::Value;
use toolwright::wiring::{Slip, Verdict, compare};

/// Words of a description that are compared; of a longer one, the beginning.
const WORDS_MAX: usize = 2_000;

/// Slips that are named.
const SLIPS_SHOWN_MAX: usize = 3;

/// What is different about one tool.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Difference {
    /// A text that people and models read.
    Text { member: &'static str, words: Vec<Word> },
    /// What it takes or gives.
    Schema { member: &'static str, change: SchemaChange },
    /// A hint, or another small member: as it was, and as it is.
    Fact { name: String, before: Option<Value>, now: Option<Value> },
}

/// A word of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Word {
    Same(String),
    Gone(String),
    New(String),
}

/// How two schemas differ in what fits them.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SchemaChange {
    pub(crate) reach: Reach,
    /// What fitted and fits no more.
    pub(crate) lost: Vec<String>,
    /// What fits now and did not.
    pub(crate) won: Vec<String>,
    /// Members of the value that are new, gone, required now, or required no more.
    pub(crate) members: Vec<String>,
}

/// What was proved of two schemas.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// Exactly the same values fit: only words in it are others.
    Same,
    /// Everything that fitted fits, and more.
    Wider,
    /// Nothing new fits, and less than before.
    Narrower,
    /// Some of both.
    Other,
    /// It could not be decided.
    Unknown,
}

impl Reach {
    /// The word for scripts.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Same => "same",
            Self::Wider => "wider",
            Self::Narrower => "narrower",
            Self::Other => "other",
            Self::Unknown => "unknown",
        }
    }
}

/// Everything that is different about a tool, as it is kept.
pub(crate) fn of(before: &Value, now: &Value) -> Vec<Difference> {
    let mut found = Vec::new();
    for member in ["title", "description"] {
        let text = |tool: &Value| tool.get(member).and_then(Value::as_str).unwrap_or_default().to_owned();
        let (old, new) = (text(before), text(now));
        if old != new {
            found.push(Difference::Text { member, words: words(&old, &new) });
        }
    }
    for member in ["inputSchema", "outputSchema"] {
        if !same(before.get(member), now.get(member)) {
            found.push(Difference::Schema { member, change: schemas(before.get(member), now.get(member)) });
        }
    }
    for member in ["annotations", "execution", "effect"] {
        facts(member, before.get(member), now.get(member), &mut found);
    }
    found
}

fn same(before: Option<&Value>, now: Option<&Value>) -> bool {
    before.map(super::sorted) == now.map(super::sorted)
}

/// The members of a small object one by one; what is no object as a whole.
fn facts(member: &str, before: Option<&Value>, now: Option<&Value>, found: &mut Vec<Difference>) {
    if same(before, now) {
        return;
    }
    let object = |value: Option<&Value>| value.is_none_or(|value| value.as_object().is_some());
    if member == "effect" || !object(before) || !object(now) {
        found.push(Difference::Fact { name: member.to_owned(), before: before.cloned(), now: now.cloned() });
        return;
    }
    for name in names(before, now) {
        let of = |value: Option<&Value>| value.and_then(|value| value.get(&name)).cloned();
        let (old, new) = (of(before), of(now));
        if !same(old.as_ref(), new.as_ref()) {
            found.push(Difference::Fact { name, before: old, now: new });
        }
    }
}

/// The members of two objects, those of the first first.
fn names(before: Option<&Value>, now: Option<&Value>) -> Vec<String> {
    let keys = |value: Option<&Value>| {
        let object = value.and_then(Value::as_object);
        object.into_iter().flat_map(|object| object.keys().map(ToString::to_string)).collect::<Vec<_>>()
    };
    let mut names = keys(before);
    for name in keys(now) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

fn schemas(before: Option<&Value>, now: Option<&Value>) -> SchemaChange {
    let anything = Value::Bool(true);
    let (old, new) = (before.unwrap_or(&anything), now.unwrap_or(&anything));
    let (closed_old, closed_new) = (described(old), described(new));
    let (forth, back) = (compare(&closed_old, &closed_new), compare(&closed_new, &closed_old));
    let reach = match (&forth, &back) {
        (Verdict::Unknown, _) | (_, Verdict::Unknown) => Reach::Unknown,
        (Verdict::Fits, Verdict::Fits) => Reach::Same,
        (Verdict::Fits, _) => Reach::Wider,
        (_, Verdict::Fits) => Reach::Narrower,
        _ => Reach::Other,
    };
    SchemaChange { reach, lost: slips(forth), won: slips(back), members: members(old, new) }
}

/// The schema for what it describes: an object that says nothing about further members has none here. A person asks what
/// the named ones take.
fn described(schema: &Value) -> Value {
    const OTHERS: [&str; 3] = ["additionalProperties", "unevaluatedProperties", "patternProperties"];
    let open = schema.get("properties").is_some() && OTHERS.iter().all(|member| schema.get(member).is_none());
    match schema.as_object().filter(|_| open) {
        Some(members) => {
            let members = members.iter().map(|(key, value)| (key.to_string(), value.clone()));
            Value::object(members.chain([("additionalProperties".to_owned(), Value::Bool(false))]))
        }
        None => schema.clone(),
    }
}

fn slips(verdict: Verdict) -> Vec<String> {
    let shown = |slip: &Slip| match slip.path.as_str() {
        "" => slip.what.clone(),
        path => format!("{}: {}", path.trim_start_matches('.'), slip.what),
    };
    match verdict {
        Verdict::MayNotFit(slips) | Verdict::CannotFit(slips) => {
            let mut shown: Vec<String> = slips.iter().map(shown).collect();
            shown.dedup();
            shown
        }
        Verdict::Fits | Verdict::Unknown => Vec::new(),
    }
}

/// What two schemas of objects say about members by name.
fn members(before: &Value, now: &Value) -> Vec<String> {
    let (old, new) = (before.get("properties"), now.get("properties"));
    let required = |schema: &Value, name: &str| {
        let list = schema.get("required").and_then(Value::as_array).unwrap_or_default();
        list.iter().any(|item| item.as_str() == Some(name))
    };
    let told = names(old, new).into_iter().filter_map(|name| {
        let has = |properties: Option<&Value>| properties.is_some_and(|properties| properties.get(&name).is_some());
        let words = match (has(old), has(new), required(before, &name), required(now, &name)) {
            (false, true, _, true) => "is new, and required",
            (false, true, _, false) => "is new",
            (true, false, ..) => "is gone",
            (_, _, false, true) => "is required now",
            (_, _, true, false) => "is not required any more",
            _ => return None,
        };
        Some(format!("`{name}` {words}"))
    });
    told.collect()
}

impl SchemaChange {
    /// In words: `takes less: no longer …`.
    pub(crate) fn in_words(&self, member: &str) -> String {
        let verb = if member == "inputSchema" { "takes" } else { "gives" };
        let list = |slips: &[String]| {
            let shown = slips.iter().take(SLIPS_SHOWN_MAX).cloned().collect::<Vec<_>>().join("; ");
            if slips.len() > SLIPS_SHOWN_MAX { format!("{shown}; …") } else { shown }
        };
        let behind = |words: &str, slips: &[String]| if slips.is_empty() { String::new() } else { format!("{words}{}", list(slips)) };
        let reach = match self.reach {
            Reach::Same => format!("{verb} the same values, said in other words"),
            Reach::Wider => format!("{verb} more{}", behind(": also ", &self.won)),
            Reach::Narrower => format!("{verb} less{}", behind(": no longer ", &self.lost)),
            Reach::Other => format!("{verb} other values{}{}", behind(": no longer ", &self.lost), behind("; also ", &self.won)),
            Reach::Unknown => format!("whether it {verb} the same values could not be decided"),
        };
        match self.members.is_empty() {
            true => reach,
            false => format!("{}; {reach}", self.members.join(", ")),
        }
    }
}

/// The words of two texts, in order, as few of them different as can be.
fn words(before: &str, now: &str) -> Vec<Word> {
    let split = |text: &str| text.split_whitespace().take(WORDS_MAX).map(str::to_owned).collect::<Vec<_>>();
    let (old, new) = (split(before), split(now));
    let head = old.iter().zip(&new).take_while(|(old, new)| old == new).count();
    let rest = old.len().min(new.len()) - head;
    let tail = old.iter().rev().zip(new.iter().rev()).take(rest).take_while(|(old, new)| old == new).count();
    let middle = |all: &[String]| all.get(head..all.len() - tail).unwrap_or_default().to_vec();
    let mut words: Vec<Word> = old.iter().take(head).cloned().map(Word::Same).collect();
    words.extend(longest_common(&middle(&old), &middle(&new)));
    words.extend(old.iter().skip(old.len() - tail).cloned().map(Word::Same));
    words
}

/// Products of lengths up to which the exact way is taken; beyond it all of one, then all of the other.
const CELLS_MAX: usize = 1_000_000;

fn longest_common(old: &[String], new: &[String]) -> Vec<Word> {
    if old.len().saturating_mul(new.len()) > CELLS_MAX {
        return old.iter().cloned().map(Word::Gone).chain(new.iter().cloned().map(Word::New)).collect();
    }
    let width = new.len() + 1;
    let mut lengths = vec![0_u32; (old.len() + 1) * width];
    let at = |lengths: &[u32], row: usize, column: usize| lengths.get(row * width + column).copied().unwrap_or_default();
    for (row, before) in old.iter().enumerate().rev() {
        for (column, now) in new.iter().enumerate().rev() {
            let length = match before == now {
                true => at(&lengths, row + 1, column + 1) + 1,
                false => at(&lengths, row + 1, column).max(at(&lengths, row, column + 1)),
            };
            if let Some(cell) = lengths.get_mut(row * width + column) {
                *cell = length;
            }
        }
    }
    let (mut row, mut column, mut words) = (0, 0, Vec::new());
    loop {
        match (old.get(row), new.get(column)) {
            (Some(before), Some(now)) if before == now => {
                words.push(Word::Same(before.clone()));
                (row, column) = (row + 1, column + 1);
            }
            (Some(before), now) if now.is_none() || at(&lengths, row + 1, column) >= at(&lengths, row, column + 1) => {
                words.push(Word::Gone(before.clone()));
                row += 1;
            }
            (_, Some(now)) => {
                words.push(Word::New(now.clone()));
                column += 1;
            }
            _ => return words,
        }
    }
}

impl Difference {
    /// For scripts.
    pub(crate) fn to_json(&self) -> serde_json::Value {
        match self {
            Self::Text { member, words } => json!({
                "member": member,
                "words": words.iter().map(|word| match word {
                    Word::Same(word) => json!({"same": word}),
                    Word::Gone(word) => json!({"gone": word}),
                    Word::New(word) => json!({"new": word}),
                }).collect::<Vec<_>>(),
            }),
            Self::Schema { member, change } => json!({
                "member": member,
                "reach": change.reach.as_str(),
                "lost": change.lost,
                "won": change.won,
                "members": change.members,
            }),
            Self::Fact { name, before, now } => {
                let value = |value: &Option<Value>| value.as_ref().map_or(serde_json::Value::Null, Value::to_json);
                json!({"member": name, "before": value(before), "now": value(now)})
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use toolwright::json;

    use super::{Difference, Reach, Word, of, schemas, words};

    #[test]
    fn schemas_are_compared_by_what_fits_them() {
        let before = json!({ "type": "object", "properties": { "to": { "type": "string" } }, "required": ["to"] });
        let table = [
            (
                json!({ "type": "object", "properties": { "to": { "type": "string", "description": "Whom" } }, "required": ["to"] }),
                Reach::Same,
            ),
            (json!({ "type": "object", "properties": { "to": { "type": ["string", "null"] } }, "required": ["to"] }), Reach::Wider),
            (
                json!({ "type": "object", "properties": { "to": { "type": "string", "maxLength": 5 } }, "required": ["to"] }),
                Reach::Narrower,
            ),
            (json!({ "type": "object", "properties": { "to": { "type": "integer" } }, "required": ["to"] }), Reach::Other),
            (
                json!({ "type": "object", "properties": { "to": { "type": "string" }, "cc": { "type": "string" } }, "required": ["to"] }),
                Reach::Wider,
            ),
            (json!({ "type": "object", "properties": { "to": { "type": "string" }, "cc": {} }, "required": ["to", "cc"] }), Reach::Other),
        ];
        for (now, reach) in table {
            assert_eq!(schemas(Some(&before), Some(&now)).reach, reach, "{}", now.to_json_string());
        }
    }

    #[test]
    fn an_added_argument_is_named() {
        let before = json!({ "type": "object", "properties": { "to": { "type": "string" } }, "required": ["to"] });
        let now =
            json!({ "type": "object", "properties": { "to": { "type": "string" }, "cc": { "type": "string" } }, "required": ["to", "cc"] });
        let change = schemas(Some(&before), Some(&now));
        assert_eq!(change.members, ["`cc` is new, and required"]);
        assert!(change.in_words("inputSchema").starts_with("`cc` is new, and required; takes"), "{change:?}");
    }

    #[test]
    fn words_that_stay_are_kept_together() {
        let found = words("Sends a message to one person.", "Sends a message to everyone, and one person.");
        let gone: Vec<&Word> = found.iter().filter(|word| matches!(word, Word::Gone(_))).collect();
        let new: Vec<&Word> = found.iter().filter(|word| matches!(word, Word::New(_))).collect();
        assert!(gone.is_empty(), "{found:?}");
        assert_eq!(new, [&Word::New("everyone,".into()), &Word::New("and".into())]);
    }

    #[test]
    fn hints_are_told_one_by_one() {
        let before = json!({ "annotations": { "readOnlyHint": true, "title": "T" } });
        let now = json!({ "annotations": { "readOnlyHint": false, "title": "T" } });
        let fact = Difference::Fact { name: "readOnlyHint".into(), before: Some(true.into()), now: Some(false.into()) };
        assert_eq!(of(&before, &now), [fact]);
    }
}
