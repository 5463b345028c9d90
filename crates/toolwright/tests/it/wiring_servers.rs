//! What real servers list, each against the others: no verdict that an instance contradicts, and few that say nothing.

use std::collections::{BTreeMap, HashMap, HashSet};

use jsonschema::Validator;
use toolwright::value::JsonValue;
use toolwright::wiring::{self, Verdict};
use toolwright::{Text, Value};

use crate::brute::{Dice, Evidence, Generator, validator, word};

/// How many of the pairs are tried, about.
const PAIRS: usize = 6_000;

/// A schema of a server's tool, or of a member of one.
struct Listed {
    server: String,
    /// Where it is: `git_log.output.commits`.
    place: String,
    schema: Value,
}

#[derive(Default)]
struct Listings {
    servers: usize,
    with_outputs: usize,
    /// Output schemas, their members, and input properties.
    sources: Vec<Listed>,
    /// Input properties, then whole input schemas.
    targets: Vec<Listed>,
}

fn listings() -> Listings {
    let folder = format!("{}/tests/cases/servers", env!("CARGO_MANIFEST_DIR"));
    let mut paths: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
    paths.sort();
    let mut listings = Listings { servers: paths.len(), ..Listings::default() };
    let (mut sources, mut targets) = (HashSet::new(), HashSet::new());
    for path in paths {
        let listing = Value::parse(std::fs::read_to_string(path).unwrap().as_str()).unwrap();
        let server = listing.get("server").unwrap().as_str().unwrap();
        let tools = listing.get("tools").unwrap().as_array().unwrap();
        listings.with_outputs += usize::from(tools.iter().any(|tool| tool.get("outputSchema").is_some()));
        for tool in tools {
            let name = tool.get("name").unwrap().as_str().unwrap();
            let put = |side: &str, schema: Value, seen: &mut HashSet<String>, list: &mut Vec<Listed>| {
                if seen.insert(schema.to_json_string()) {
                    list.push(Listed { server: server.to_owned(), place: format!("{name}.{side}"), schema });
                }
            };
            let input = tool.get("inputSchema").unwrap();
            for (member, schema) in properties(input) {
                put(&format!("input.{member}"), schema.clone(), &mut sources, &mut listings.sources);
                put(&format!("input.{member}"), schema, &mut targets, &mut listings.targets);
            }
            put("input", input.clone(), &mut targets, &mut listings.targets);
            if let Some(output) = tool.get("outputSchema") {
                put("output", output.clone(), &mut sources, &mut listings.sources);
                for (member, schema) in properties(output) {
                    put(&format!("output.{member}"), schema, &mut sources, &mut listings.sources);
                }
            }
        }
    }
    listings
}

/// The schemas of the members, each with what it needs of the document that it is cut out of.
fn properties(root: &Value) -> Vec<(Text, Value)> {
    let properties = root.get("properties").and_then(Value::as_object);
    let around = ["$schema", "$defs", "definitions"];
    let cut = |(name, schema): (&Text, &Value)| {
        let refers = schema.to_json_string().contains("\"$ref\"");
        let needed = around.iter().filter(|keyword| refers || **keyword == "$schema");
        let mut members: Vec<(Text, Value)> =
            needed.filter_map(|keyword| Some((Text::from(*keyword), root.get(keyword)?.clone()))).collect();
        members.extend(schema.as_object()?.iter().map(|(keyword, value)| (keyword.clone(), value.clone())));
        Some((name.clone(), Value::object(members)))
    };
    properties.into_iter().flat_map(|properties| properties.iter()).filter_map(cut).collect()
}

/// Whether a schema excludes anything by its own words.
fn says_something(schema: &Value) -> bool {
    let silent = ["$schema", "$defs", "definitions", "default", "description", "title", "deprecated", "format"];
    schema
        .as_object()
        .is_some_and(|members| members.keys().any(|keyword| !silent.contains(&keyword.as_str()) && !keyword.starts_with("x-")))
}

/// Instances of schemas, made once.
#[derive(Default)]
struct Known {
    validators: HashMap<*const Value, Option<Validator<JsonValue>>>,
    instances: HashMap<*const Value, Vec<Value>>,
}

impl Known {
    fn build(&mut self, schema: &Value) {
        self.validators.entry(schema).or_insert_with(|| validator(schema));
    }

    fn validator(&self, schema: &Value) -> &Validator<JsonValue> {
        self.validators[&(schema as *const Value)].as_ref().unwrap()
    }

    fn evidence<'a>(&mut self, generator: &mut Generator<'a>, source: &'a Value, target: &'a Value, verdict: &Verdict) -> Evidence {
        self.build(source);
        self.build(target);
        if !self.instances.contains_key(&(source as *const Value)) {
            let instances = generator.of(source, self.validator(source), 100);
            self.instances.insert(source, instances);
        }
        let mut found = Evidence::of(&self.instances[&(source as *const Value)], self.validator(target));
        if found.against(verdict).is_none() && !(found.taken.is_some() && found.refused.is_some()) {
            let budget = if found.unwitnessed(verdict).is_some() { 300 } else { 40 };
            let close = generator.about(source, target, self.validator(source), budget);
            found.add(&close, self.validator(target));
        }
        found
    }
}

#[test]
fn no_instance_contradicts_a_verdict_on_real_servers_schemas() {
    let listings = listings();
    assert!(listings.servers >= 10 && listings.with_outputs >= 5);
    let all = listings.sources.len() * listings.targets.len();
    let (mut generator, mut known, mut dice) = (Generator::new(11), Known::default(), Dice::new(13));
    let mut wrong = Vec::new();
    let mut told: BTreeMap<&str, usize> = BTreeMap::new();
    let (mut speaking, mut open, mut unseen) = (0_usize, Vec::new(), Vec::new());
    for source in &listings.sources {
        for target in &listings.targets {
            if source.server == target.server || dice.below(all) >= PAIRS {
                continue;
            }
            let verdict = wiring::compare(&source.schema, &target.schema);
            *told.entry(word(&verdict)).or_default() += 1;
            let both_speak = says_something(&source.schema) && says_something(&target.schema);
            speaking += usize::from(both_speak);
            let what = || format!("{} {} -> {} {}", source.server, source.place, target.server, target.place);
            if verdict == Verdict::Unknown {
                open.extend(both_speak.then(what));
                continue;
            }
            let found = known.evidence(&mut generator, &source.schema, &target.schema, &verdict);
            let why = found.against(&verdict).or_else(|| (found.count == 0).then(|| "no instance was made up".to_owned()));
            let schemas = || format!("{:.300} -> {:.300}", source.schema.to_json_string(), target.schema.to_json_string());
            wrong.extend(why.map(|why| format!("{}: {why}\n    {}", what(), schemas())));
            unseen.extend(found.unwitnessed(&verdict).map(|why| format!("{}: {why}: {verdict:?}\n    {}", what(), schemas())));
        }
    }
    let pairs: usize = told.values().sum();
    let few = |list: &[String]| list.iter().take(12).cloned().collect::<Vec<_>>().join("\n");
    let counts = format!("{pairs} pairs of {all}: {told:?}; of {speaking} that say something on both sides {} are unknown", open.len());
    println!("{counts}; {} of *may not fit* were not seen", unseen.len());
    assert!(wrong.is_empty(), "{counts}; {} are wrong:\n{}", wrong.len(), few(&wrong));
    assert!(pairs > 4_000, "{counts}");
    assert!(open.len() * 10 < speaking, "{counts}:\n{}", few(&open));
    // Most pairs can never fit because a text is no list; few are unknown among the others too.
    let others = pairs - told.get("never").copied().unwrap_or_default();
    assert!(open.len() * 10 < others, "{counts}; that is many of {others} that could fit:\n{}", few(&open));
    assert!(
        unseen.len() * 100 <= told.get("may").copied().unwrap_or_default(),
        "{counts}; {} are not seen:\n{}",
        unseen.len(),
        few(&unseen)
    );
}

#[test]
fn every_schema_of_real_servers_fits_itself() {
    let listings = listings();
    let mut open = Vec::new();
    let all: Vec<&Listed> = listings.sources.iter().chain(&listings.targets).collect();
    for listed in &all {
        match wiring::compare(&listed.schema, &listed.schema) {
            Verdict::Fits => {}
            Verdict::Unknown => open.push(format!("{} {}", listed.server, listed.place)),
            other => panic!("{} {} does not fit itself: {other:?}\n{}", listed.server, listed.place, listed.schema.to_json_string()),
        }
    }
    assert!(open.len() * 10 < all.len(), "{} of {} are unknown to themselves:\n{}", open.len(), all.len(), open.join("\n"));
}
