//! What holds for any text, any JSON and any well-formed composite.

use proptest::prelude::*;
use serde_json::{Value as Json, json as plain};
use toolwright::reference::parse::Parsed;
use toolwright::reference::{ReferenceError, parse_page, parse_strict};
use toolwright::{
    Binding, Catalog, Composer, CompositeSpec, Context, Dialect, HostGate, Invocation, PipelineOptions, Policy, RegisterError, Registry,
    SpecIssue, StepOutputs, Text, Value, json,
};

use crate::world::{Log, block_on};

fn cases(cases: u32) -> ProptestConfig {
    // Found failures are written into the tests by hand, not into files beside them.
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

/// Texts made of the pieces of references, and any others.
fn texts() -> impl Strategy<Value = String> {
    let pieces = [
        "$",
        "$$",
        "input",
        "prev",
        "steps",
        "inptu",
        "step",
        ".",
        "..",
        "[",
        "]",
        "[]",
        "\"",
        "\\",
        "\\\"",
        "\\u00",
        "\\ud800",
        "?",
        "0",
        "01",
        "7",
        "4294967296",
        "99999999999999999999999",
        "a",
        "é",
        "日本",
        "\u{301}",
        "\u{1f600}",
        " ",
        "'",
        "-",
        "_",
        "search",
        "length",
        "[0]",
        "[\"a b\"]",
        "\n",
        "\0",
        "{",
        "}",
        "$input",
        "$prev",
        "$steps",
        "$steps[0]",
    ];
    prop_oneof![
        4 => prop::collection::vec(prop::sample::select(pieces.to_vec()), 0..10).prop_map(|pieces| pieces.concat()),
        1 => any::<String>(),
        1 => any::<String>().prop_map(|text| format!("${text}")),
        1 => any::<String>().prop_map(|text| format!("$input[\"{text}\"].x")),
    ]
}

fn inside(text: &str, span: &std::ops::Range<usize>) -> bool {
    text.get(span.clone()).is_some()
}

proptest! {
    #![proptest_config(cases(1_000))]

    #[test]
    fn any_text_is_read_in_the_strict_dialect(text in texts()) {
        match parse_strict(&Text::from(text.as_str())) {
            Ok(Parsed::Literal(literal)) => {
                let unescaped = text.strip_prefix('$').filter(|rest| rest.starts_with('$') && rest.len() > 1).unwrap_or(&text);
                prop_assert_eq!(literal.as_str(), unescaped);
            }
            Ok(Parsed::Reference(reference)) => {
                prop_assert!(inside(&text, &reference.root_span));
                prop_assert!(reference.path.iter().all(|segment| inside(&text, &segment.span) && !segment.span.is_empty()));
                prop_assert_eq!(reference.optional, text.ends_with('?'));
            }
            Ok(Parsed::Unresolved(_)) => prop_assert!(false, "only the page has unresolved texts"),
            Err(error) => {
                prop_assert!(text.starts_with('$'));
                prop_assert!(inside(&text, &error.span()), "{:?}", error.span());
                prop_assert!(!error.to_string().contains(['\n', '\0']) && !error.help().contains(['\n', '\0']));
                if let ReferenceError::Syntax { nearest: Some(nearest), .. } = &error {
                    let again = parse_strict(&Text::from(nearest.as_str()));
                    prop_assert!(matches!(again, Ok(Parsed::Reference(_))), "{} suggests {}: {:?}", text, nearest, again);
                }
            }
        }
    }

    #[test]
    fn any_text_is_read_in_the_dialect_of_the_page(text in texts()) {
        match parse_page(&Text::from(text.as_str())) {
            Parsed::Literal(literal) => prop_assert!(literal == text && !text.starts_with('$')),
            Parsed::Unresolved(literal) => prop_assert!(literal == text && text.starts_with('$')),
            Parsed::Reference(reference) => {
                prop_assert!(inside(&text, &reference.root_span));
                prop_assert!(reference.path.iter().all(|segment| inside(&text, &segment.span)));
                let path: Vec<&str> = reference.path.iter().map(|segment| segment.key.as_deref().unwrap()).collect();
                let dot = if path.is_empty() { "" } else { "." };
                prop_assert_eq!(format!("{}{dot}{}", &text[reference.root_span.clone()], path.join(".")), text);
            }
        }
    }

    #[test]
    fn a_quoted_key_reaches_any_key(key in any::<String>()) {
        let text = Text::from(format!("$input[{}]", Json::from(key.as_str())));
        let Ok(Parsed::Reference(reference)) = parse_strict(&text) else { panic!("{text}") };
        prop_assert_eq!(reference.path[0].key.as_deref(), Some(key.as_str()));
    }
}

/// Any JSON, made of the words that a specification knows more often than not.
fn specs() -> impl Strategy<Value = Json> {
    let words = vec![
        "compose",
        "steps",
        "name",
        "tool",
        "inputMapping",
        "mode",
        "strictMode",
        "input",
        "output",
        "description",
        "read",
        "send",
        "old",
        "inner",
        "$input",
        "$prev",
        "$steps.a",
        "$steps[0].x?",
        "$typo",
        "$steps[",
        "a",
        "b",
        "",
        " ",
        "type",
        "properties",
        "object",
        "$ref",
        "#",
    ];
    let text = prop_oneof![3 => prop::sample::select(words.clone()).prop_map(str::to_owned), 1 => texts()];
    let scalar = prop_oneof![
        1 => Just(Json::Null),
        1 => any::<bool>().prop_map(Json::from),
        1 => any::<i64>().prop_map(Json::from),
        1 => any::<f64>().prop_map(Json::from),
        4 => text.clone().prop_map(Json::from),
    ];
    let any_json = scalar.prop_recursive(5, 40, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Json::from),
            prop::collection::vec((text.clone(), inner), 0..6).prop_map(|pairs| Json::Object(pairs.into_iter().collect())),
        ]
    });
    let tool = prop::sample::select(vec!["read", "read", "send", "old", "inner", "gone", ""]);
    let step =
        (any_json.clone(), tool, any_json.clone(), any_json.clone(), 0_u8..4).prop_map(|(name, tool, mapping, odd, shape)| match shape {
            0 => odd,
            1 => plain!({"name": name, "tool": tool, "inputMapping": mapping}),
            2 => plain!({"name": "a", "tool": tool, "inputMapping": {"x": mapping, "y": odd}}),
            _ => plain!({"name": "b", "tool": tool, "inputMapping": {"x": mapping}, "extra": odd}),
        });
    let likely = (prop::collection::vec(step, 0..4), any_json.clone(), prop::option::of(any::<bool>()), any_json.clone(), 0_u8..3)
        .prop_map(|(steps, output, strict, odd, shape)| {
            let mut spec = plain!({ "steps": steps });
            if let Some(strict) = strict {
                spec["strictMode"] = Json::from(strict);
            }
            match shape {
                0 => spec["output"] = plain!({ "o": output }),
                1 => spec["input"] = odd,
                _ => {}
            }
            spec
        });
    prop_oneof![1 => any_json, 4 => likely]
}

fn within(issues: &[SpecIssue], spec: &Value) -> Result<(), TestCaseError> {
    for issue in issues {
        prop_assert!(!issue.message.is_empty() && !issue.message.contains('\n'), "{:?}", issue);
        // A place that is missing is named by its parent, or by the name it should have.
        if let (Some(span), Some(text)) = (&issue.span, spec.pointer(&issue.pointer)) {
            prop_assert!(text.as_str().is_some_and(|text| inside(text, span)), "{:?}", issue);
        }
    }
    Ok(())
}

fn tools() -> Registry {
    let log = Log::new();
    let mut registry = Registry::with_policy(Policy::new().may_chain(["send"]));
    registry.register(log.echo("read")).unwrap().register(log.writes("send")).unwrap().register(log.undeclared("old")).unwrap();
    registry.register(crate::world::composite("inner", &json!({"steps": [{"name": "i", "tool": "read"}]}))).unwrap();
    registry
}

proptest! {
    #![proptest_config(cases(1_000))]

    #[test]
    fn any_json_as_a_specification_is_an_answer(spec in specs(), input in specs()) {
        let (spec, input) = (Value::from_json(spec).unwrap(), Value::from_json(input).unwrap());
        let mut registry = tools();
        if let Ok(read) = CompositeSpec::from_value(&spec)
            && let Err(error) = registry.register(toolwright::Composite::new("main", "A tool").spec(read))
        {
            prop_assert!(!error.issues().is_empty());
            within(&error.issues(), &spec)?;
        }
        let catalog = registry.seal();
        within(&catalog.lint(&spec), &spec)?;
        let mut outcomes = Vec::new();
        if catalog.get("main").is_some() {
            outcomes.push(block_on(catalog.invoke(Invocation::new("main", input.clone()), ())));
            outcomes.push(block_on(catalog.invoke(Invocation::new("main", input.clone()).rehearse(StepOutputs::new()), ())));
        }
        for dialect in [Dialect::Strict, Dialect::Page, Dialect::PageStrict] {
            let composer = Composer::new(HostGate::new({ let catalog = catalog.clone(); move |name| catalog.get(name).map(|tool| tool.tool().clone()) })).dialect(dialect);
            composer.bind(Binding::new().side_effecting_tools(["send"]));
            let valid = composer.validate(&spec).is_valid();
            within(&composer.lint(&spec), &spec)?;
            composer.has_side_effecting_step(&spec);
            match composer.build("built", "", json!({}), &spec) {
                Ok(tool) => prop_assert!(valid && tool.id() == "composable:built"),
                Err(error) => {
                    prop_assert!(!error.issues.is_empty());
                    within(&error.issues, &spec)?;
                }
            }
            let options = PipelineOptions::new();
            outcomes.push(block_on(composer.run_pipeline(&spec, input.clone(), Context::default(), options)));
        }
        for error in outcomes.into_iter().filter_map(Result::err) {
            prop_assert!(toolwright::codes::page(error.code()).is_some(), "{:?}", error);
            prop_assert!(error.to_value().get("details").is_some() && !error.message().is_empty());
        }
    }
}

/// One step of a path, as a person would write it.
#[derive(Clone, Debug)]
enum Segment {
    Name(&'static str),
    Key(&'static str),
    DotNumber(u32),
    Position(u32),
}

#[derive(Clone, Debug)]
enum Root {
    Input,
    Prev,
    Step(prop::sample::Index),
    Named(prop::sample::Index),
}

#[derive(Clone, Debug)]
enum Template {
    Literal(Json),
    Reference { root: Root, path: Vec<Segment>, optional: bool },
    Object(Vec<(String, Template)>),
    Array(Vec<Template>),
}

fn values() -> impl Strategy<Value = Json> {
    let scalar = prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::from),
        any::<i32>().prop_map(Json::from),
        Just(plain!(1.0)),
        Just(plain!("$input.a")),
        Just(plain!("text")),
    ];
    scalar.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Json::from),
            prop::collection::vec((prop::sample::select(vec!["a", "b", "0", "k k", "length"]), inner), 0..4)
                .prop_map(|pairs| Json::Object(pairs.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())),
        ]
    })
}

fn templates(page: bool) -> impl Strategy<Value = Template> {
    let segment = prop_oneof![
        3 => prop::sample::select(vec!["a", "b", "x", "length"]).prop_map(Segment::Name),
        1 => (0_u32..3).prop_map(Segment::DotNumber),
        1 => prop::sample::select(vec!["a", "k k", "0"]).prop_map(move |key| if page { Segment::Name(key) } else { Segment::Key(key) }),
        1 => (0_u32..3).prop_map(move |at| if page { Segment::DotNumber(at) } else { Segment::Position(at) }),
    ];
    let root = prop_oneof![
        Just(Root::Input),
        Just(Root::Prev),
        any::<prop::sample::Index>().prop_map(Root::Step),
        any::<prop::sample::Index>().prop_map(move |at| if page { Root::Step(at) } else { Root::Named(at) }),
    ];
    // Most references of the strict dialect are optional here, so that runs get far.
    let reference = (root, prop::collection::vec(segment, 0..3), prop::bool::weighted(0.8))
        .prop_map(|(root, path, optional)| Template::Reference { optional: optional || path.is_empty(), root, path });
    // A literal text that begins with a dollar would be a reference.
    let literal = values().prop_map(|value| Template::Literal(plain_text(value)));
    prop_oneof![1 => literal, 3 => reference].prop_recursive(3, 12, 4, move |inner| {
        let object = prop::collection::vec((prop::sample::select(vec!["a", "b", "c", "k k"]).prop_map(str::to_owned), inner.clone()), 0..4)
            .prop_map(Template::Object);
        let array = prop::collection::vec(inner, 0..4).prop_map(Template::Array);
        prop_oneof![2 => object, 1 => array]
    })
}

fn plain_text(value: Json) -> Json {
    match value {
        Json::String(text) => Json::String(text.replace('$', "S")),
        Json::Array(items) => items.into_iter().map(plain_text).collect(),
        Json::Object(members) => Json::Object(members.into_iter().map(|(key, value)| (key, plain_text(value))).collect()),
        other => other,
    }
}

/// What is written in the specification of step `at`, of `count`.
fn written(template: &Template, at: usize, page: bool) -> Json {
    match template {
        Template::Literal(value) => value.clone(),
        Template::Object(members) => Json::Object(members.iter().map(|(key, member)| (key.clone(), written(member, at, page))).collect()),
        Template::Array(items) => items.iter().map(|item| written(item, at, page)).collect(),
        Template::Reference { root, path, optional } => {
            let mut text = match place(root, at, page) {
                Place::Input => "$input".to_owned(),
                Place::Prev => "$prev".to_owned(),
                Place::Step(step) if matches!(root, Root::Named(_)) => format!("$steps.s{step}"),
                Place::Step(step) => format!("$steps[{step}]"),
            };
            for segment in path {
                text += &match segment {
                    Segment::Name(name) => format!(".{name}"),
                    Segment::Key(key) => format!("[{}]", Json::from(*key)),
                    Segment::DotNumber(number) => format!(".{number}"),
                    Segment::Position(number) => format!("[{number}]"),
                };
            }
            if *optional && !page {
                text.push('?');
            }
            Json::from(text)
        }
    }
}

enum Place {
    Input,
    Prev,
    Step(usize),
}

/// Where a reference of step `at` leads. On the page it may point anywhere; in the strict dialect only back.
fn place(root: &Root, at: usize, page: bool) -> Place {
    match root {
        Root::Input => Place::Input,
        Root::Prev if at == 0 && !page => Place::Input,
        Root::Prev => Place::Prev,
        Root::Step(index) if page => Place::Step(index.index(8)),
        Root::Step(_) | Root::Named(_) if at == 0 => Place::Input,
        Root::Step(index) | Root::Named(index) => Place::Step(index.index(at)),
    }
}

/// A second reading of the rules, over plain JSON: `Err` when a value is missing, `Ok(None)` when a member is left out.
fn resolved(template: &Template, input: &Json, outputs: &[Json], page: bool) -> Result<Option<Json>, ()> {
    let at = outputs.len();
    match template {
        Template::Literal(value) => Ok(Some(value.clone())),
        Template::Array(_) if page => Ok(Some(written(template, at, page))),
        Template::Array(items) => {
            let mut given = Vec::new();
            for item in items {
                given.extend(resolved(item, input, outputs, page)?);
            }
            Ok(Some(Json::from(given)))
        }
        Template::Object(members) => {
            // Of equal keys the last one counts, as in any JSON.
            let last: std::collections::BTreeMap<&String, &Template> = members.iter().map(|(key, member)| (key, member)).collect();
            let mut given = serde_json::Map::new();
            for (key, member) in last {
                if let Some(value) = resolved(member, input, outputs, page)? {
                    given.insert(key.clone(), value);
                }
            }
            Ok(Some(Json::Object(given)))
        }
        Template::Reference { root, path, optional } => {
            let start = match place(root, at, page) {
                Place::Input => Some(input.clone()),
                Place::Prev => Some(outputs.last().cloned().unwrap_or(Json::Null)),
                Place::Step(step) => outputs.get(step).cloned(),
            };
            let last = path.len();
            let found = path
                .iter()
                .enumerate()
                .try_fold(start, |value, (index, segment)| value.map(|value| walk(&value, segment, page && index + 1 == last)).ok_or(()));
            match found.ok().flatten() {
                Some(value) => Ok(Some(value)),
                None if *optional || page => Ok(None),
                None => Err(()),
            }
        }
    }
}

fn walk(value: &Json, segment: &Segment, length: bool) -> Option<Json> {
    match (value, segment) {
        (Json::Object(members), Segment::Name(key) | Segment::Key(key)) => members.get(*key).cloned(),
        (Json::Object(members), Segment::DotNumber(number)) => members.get(&number.to_string()).cloned(),
        (Json::Array(items), Segment::DotNumber(number) | Segment::Position(number)) => items.get(*number as usize).cloned(),
        (Json::Array(items), Segment::Name("0")) => items.first().cloned(),
        (Json::Array(items), Segment::Name("length")) if length => Some(Json::from(items.len())),
        _ => None,
    }
}

#[derive(Clone, Debug)]
struct Planned {
    mapping: Vec<(String, Template)>,
    /// The tool gives this; it echoes when there is none.
    constant: Option<Json>,
}

fn composites(page: bool) -> impl Strategy<Value = (Vec<Planned>, Json)> {
    let member = (prop::sample::select(vec!["a", "b", "c", "d"]).prop_map(str::to_owned), templates(page));
    let step = (prop::collection::vec(member, 0..4), prop::option::weighted(0.3, values()))
        .prop_map(|(mapping, constant)| Planned { mapping, constant });
    let input = prop::collection::vec((prop::sample::select(vec!["a", "b", "k k"]).prop_map(str::to_owned), values()), 0..4)
        .prop_map(|pairs| Json::Object(pairs.into_iter().collect()));
    (prop::collection::vec(step, 1..6), input)
}

fn catalog_of(steps: &[Planned], page: bool, log: &Log) -> Result<Catalog, RegisterError> {
    let mut registry = Registry::new();
    let mut written_steps = Vec::new();
    for (at, step) in steps.iter().enumerate() {
        let name = format!("t{at}");
        match &step.constant {
            Some(constant) => registry.register(log.gives(&name, Value::from_json(constant.clone()).unwrap())),
            None => registry.register(log.echo(&name)),
        }
        .unwrap();
        let mapping = written(&Template::Object(step.mapping.clone()), at, page);
        written_steps.push(plain!({"name": format!("s{at}"), "tool": name, "inputMapping": mapping}));
    }
    let spec = Value::from_json(plain!({"strictMode": !page, "steps": written_steps})).unwrap();
    registry.register(crate::world::composite("main", &spec))?;
    Ok(registry.seal())
}

fn compare(steps: &[Planned], input: &Json, page: bool) -> Result<(), TestCaseError> {
    let log = Log::new();
    let catalog = catalog_of(steps, page, &log);
    let mut outputs: Vec<Json> = Vec::new();
    let mut given: Vec<Json> = Vec::new();
    let mut stopped = None;
    for (at, step) in steps.iter().enumerate() {
        match resolved(&Template::Object(step.mapping.clone()), input, &outputs, page) {
            Ok(arguments) => {
                let arguments = arguments.unwrap();
                given.push(arguments.clone());
                outputs.push(step.constant.clone().unwrap_or(arguments));
            }
            Err(()) => {
                stopped = Some(at);
                break;
            }
        }
    }
    let catalog = match catalog {
        Ok(catalog) => catalog,
        Err(refused) => {
            // What can never be resolved is found before anything runs: then no run would have come to its end.
            prop_assert!(refused.issues().iter().any(|issue| issue.code == "unresolved_reference"), "{}", refused);
            prop_assert!(stopped.is_some(), "{}", refused);
            return Ok(());
        }
    };
    let outcome = block_on(catalog.invoke(Invocation::new("main", Value::from_json(input.clone()).unwrap()), ()));
    let reached: Vec<Json> = log.all().iter().map(|seen| seen.input.to_json()).collect();
    prop_assert_eq!(reached, given);
    match (outcome, stopped) {
        (Ok(result), None) => prop_assert_eq!(result.output.unwrap().to_json(), outputs.pop().unwrap()),
        (Err(error), Some(at)) => {
            prop_assert_eq!(error.code(), "unresolved_reference");
            prop_assert_eq!(error.step().unwrap().index, at);
            prop_assert_eq!(error.step().unwrap().completed.len(), at);
        }
        (outcome, stopped) => prop_assert!(false, "{:?} but the second reading stopped at {:?}", outcome, stopped),
    }
    Ok(())
}

proptest! {
    #![proptest_config(cases(1_000))]

    #[test]
    fn a_composite_gives_what_a_second_reading_of_the_rules_gives((steps, input) in composites(false)) {
        compare(&steps, &input, false)?;
    }

    #[test]
    fn so_it_does_in_the_dialect_of_the_page((steps, input) in composites(true)) {
        compare(&steps, &input, true)?;
    }
}

/// What is written of a composite, as far as it means something: each member has a few values.
fn declared() -> impl Strategy<Value = Json> {
    let mapping =
        prop_oneof![Just(plain!({})), Just(plain!({"k": "$input.a"})), Just(plain!({"k": "$input.b"})), Just(plain!({"k": ["$input.a"]}))];
    let name = prop_oneof![Just("one"), Just("two")];
    let tool = prop_oneof![Just("read"), Just("other")];
    let step =
        (name, tool, mapping.clone()).prop_map(|(name, tool, mapping)| plain!({"name": name, "tool": tool, "inputMapping": mapping}));
    let input = prop_oneof![Just(plain!({"type": "object"})), Just(plain!({"type": "object", "properties": {"a": {}}}))];
    let steps = prop::collection::vec(step, 1..3);
    (any::<bool>(), steps, prop::option::of(mapping), input, prop_oneof![Just("one"), Just("two")]).prop_map(
        |(strict, steps, output, input, description)| {
            let mut spec = plain!({"strictMode": strict, "steps": steps, "input": input, "description": description});
            if let Some(output) = output {
                spec["output"] = output;
            }
            spec
        },
    )
}

proptest! {
    #![proptest_config(cases(1_000))]

    #[test]
    fn composites_that_differ_in_anything_written_have_different_fingerprints(one in declared(), two in declared()) {
        let fingerprint = |written: &Json| {
            let log = Log::new();
            let spec = CompositeSpec::from_value(&Value::from_json(written.clone()).unwrap()).ok()?;
            let registry = Registry::new().with(log.echo("read")).unwrap().with(log.echo("other")).unwrap();
            let catalog = registry.with(toolwright::Composite::new("main", "").spec(spec)).ok()?.seal();
            Some((catalog.get("main").unwrap().fingerprint().to_owned(), catalog.fingerprint()))
        };
        // In the strict dialect two steps may not have one name.
        let (Some(first), Some(second)) = (fingerprint(&one), fingerprint(&two)) else { return Ok(()) };
        prop_assert_eq!(one == two, first.0 == second.0);
        prop_assert_eq!(one == two, first.1 == second.1);
    }
}

/// The same text in another dialect is another composite, and a run of one is not taken up with the other.
#[test]
fn the_dialect_is_part_of_what_was_written() {
    use toolwright::{MemoryJournal, ResumeOptions};
    let log = Log::new();
    let build = |strict: bool| {
        let steps = plain!([{"name": "x", "tool": "read"}, {"name": "y", "tool": "mail", "inputMapping": {"to": ["$input.to"]}}]);
        let spec = Value::from_json(plain!({"strictMode": strict, "steps": steps})).unwrap();
        let mut registry = Registry::with_policy(Policy::new().may_chain(["mail"]));
        registry.register(log.echo("read")).unwrap().register(log.writes("mail")).unwrap();
        let main = toolwright::Composite::new("main", "A tool").spec(CompositeSpec::from_value(&spec).unwrap());
        registry.with(main).unwrap().seal()
    };
    let (strict, page) = (build(true), build(false));
    assert_ne!(strict.get("main").unwrap().fingerprint(), page.get("main").unwrap().fingerprint());
    let journal = MemoryJournal::new();
    let kept: std::sync::Arc<dyn toolwright::Journal> = std::sync::Arc::new(journal.clone());
    let call = Invocation::new("main", json!({"to": "ann"})).run_id("r").journal(kept.clone());
    block_on(strict.invoke(call, ())).unwrap();
    journal.cut_off("r", 3);
    let ran = log.all().len();
    let error = block_on(page.resume_run(&kept, "r", (), ResumeOptions::new().accept(["main", "read", "mail"]))).unwrap_err();
    assert_eq!((error.code(), log.all().len()), ("changed_tool", ran));
    block_on(strict.resume_run(&kept, "r", (), ResumeOptions::new())).unwrap();
    assert_eq!(log.all().last().unwrap().input, json!({"to": ["ann"]}));
}
