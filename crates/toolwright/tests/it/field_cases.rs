//! The field cases that are about values, arguments, mappings and composites, read from their files and run.
//!
//! Every tool becomes a native one: what servers and commands make of the same cases is tested where they live.
//! `docs/field-cases.md` says which case is which test.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolwright::value::{LoneSurrogates, ParseOptions};
use toolwright::{
    Answer, Catalog, CompositeSpec, Invocation, MemoryJournal, Object, Policy, RegisterError, Registry, ToolDef, Value, json, tool,
};

use crate::world::{Events, Log, block_on, composite, parsed, run, steps};

pub(crate) fn case(file: &str) -> Value {
    let path = format!("{}/tests/cases/field/{file}.json", env!("CARGO_MANIFEST_DIR"));
    parsed(&std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}")))
}

pub(crate) fn at<'v>(case: &'v Value, pointer: &str) -> &'v Value {
    case.pointer(pointer).unwrap_or_else(|| panic!("the case has no {pointer}"))
}

pub(crate) fn text<'v>(case: &'v Value, pointer: &str) -> &'v str {
    at(case, pointer).as_str().unwrap_or_else(|| panic!("{pointer} is no text"))
}

/// The words of the cases for errors, in our codes.
fn code_of(kind: &str) -> &str {
    match kind {
        "invalid_reference_syntax" => "invalid_reference",
        "invalid_arguments" => "invalid_input",
        other => other,
    }
}

/// A tool of a case: gives its `output`, or else what it gets.
pub(crate) fn stand_in(log: &Log, declared: &Value) -> ToolDef {
    let mut builder = tool(text(declared, "/name"), "a tool of a field case");
    builder = match text(declared, "/effects") {
        "none" => builder.reads(),
        "side_effects" => builder.writes(),
        _ => builder,
    };
    for (member, set) in [("inputSchema", true), ("outputSchema", false)] {
        if let Some(schema) = declared.get(member) {
            builder = if set { builder.input_schema(schema) } else { builder.output_schema(schema) };
        }
    }
    let output = declared.get("output").cloned();
    log.close(builder, move |input| Ok(Answer::new(output.clone().unwrap_or(input))))
}

/// One case of a composite, set up and run in one dialect.
struct Stage {
    log: Log,
    events: Arc<Events>,
    journal: MemoryJournal,
    catalog: Result<Catalog, RegisterError>,
    input: Value,
}

impl Stage {
    fn new(case: &Value, strict: bool) -> Self {
        Self::with_spec(case, at(case, "/composition"), strict)
    }

    fn with_spec(case: &Value, spec: &Value, strict: bool) -> Self {
        let log = Log::new();
        let spec = Value::from(spec.as_object().unwrap().with("strictMode", strict));
        let declared = at(case, "/tools").as_array().unwrap();
        let listed = declared.iter().filter(|tool| text(tool, "/effects") == "side_effects").map(|tool| text(tool, "/name").to_owned());
        let mut registry = Registry::with_policy(Policy::new().may_chain(listed));
        for tool in declared {
            match text(tool, "/from") {
                "composition" => {
                    let inner = text(tool, "/behaviour").strip_prefix("one step: ").unwrap();
                    registry.register(composite(text(tool, "/name"), &steps(&[("only", inner, json!({}))]))).unwrap();
                }
                _ => {
                    registry.register(stand_in(&log, tool)).unwrap();
                }
            }
        }
        let built = CompositeSpec::from_value(&spec).unwrap();
        let outcome = registry.register(toolwright::Composite::new("main", "the case").spec(built)).map(|_| ());
        let input = case.pointer("/input/args").cloned().unwrap_or(Value::Null);
        Self { log, events: Arc::default(), journal: MemoryJournal::new(), catalog: outcome.map(|()| registry.seal()), input }
    }

    fn run(&self) -> Result<toolwright::ToolResult, toolwright::CallError> {
        let call = Invocation::new("main", self.input.clone()).diagnostics(self.events.scope()).journal(Arc::new(self.journal.clone()));
        block_on(self.catalog.as_ref().unwrap().invoke(call, ()))
    }

    /// Compares what each step's tool got with the case; steps inside nested composites are not the case's.
    fn assert_step_args(&self, expected: &Object) {
        let reached: Vec<_> = self.log.all().into_iter().filter(|seen| seen.lineage == ["main"]).collect();
        for (step, want) in expected.iter() {
            let got: Vec<&Value> = reached.iter().filter(|seen| seen.step == step.as_str()).map(|seen| &seen.input).collect();
            // A nested composite is no tool of the log; that it got its arguments shows in what its steps got.
            if !got.is_empty() || !self.is_composite_step(step) {
                assert_eq!(got, [want], "step {step}");
            }
        }
        for seen in &reached {
            assert!(expected.get(&seen.step).is_some(), "step {} should not have reached its tool", seen.step);
        }
    }

    fn is_composite_step(&self, step: &str) -> bool {
        let Ok(catalog) = &self.catalog else { return false };
        let spec = catalog.get("main").unwrap().composite().unwrap().spec();
        let tool = &spec.steps.iter().find(|written| written.name == step).unwrap().tool;
        catalog.get(tool).unwrap().is_composite()
    }

    /// Runs it as the case says and compares with `expected`.
    fn assert_as_expected(&self, case: &Value) {
        let expected = at(case, "/expected");
        match (text(expected, "/outcome"), expected.get("when")) {
            ("ok", _) => {
                self.run().unwrap();
            }
            ("error", Some(_)) => {
                let error = self.catalog.as_ref().unwrap_err();
                assert!(error.issues().iter().all(|issue| issue.code == code_of(text(expected, "/error_kind"))), "{error:?}");
                assert!(self.log.is_empty());
            }
            ("error", None) => {
                let error = self.run().unwrap_err();
                assert_eq!(error.code(), code_of(text(expected, "/error_kind")));
                let step = error.step().unwrap();
                assert_eq!(step.step, text(expected, "/failed_step"));
                assert_eq!(Value::array(step.completed.iter().map(|name| Value::from(name.clone()))), *at(expected, "/completed_steps"));
            }
            other => panic!("{other:?}"),
        }
        self.assert_step_args(at(expected, "/step_args").as_object().unwrap());
    }
}

/// Runs `call` of a case's only tool.
fn only_tool(case: &Value) -> (Log, Catalog) {
    let log = Log::new();
    let catalog = Registry::new().with(stand_in(&log, at(case, "/tools/0"))).unwrap().seal();
    (log, catalog)
}

#[test]
fn c15_null_absent_and_empty_are_three_things() {
    let case = case("15-null-absent-empty");
    for call in at(&case, "/expected/calls").as_array().unwrap() {
        let (log, catalog) = only_tool(&case);
        let journal = MemoryJournal::new();
        let invocation = Invocation::new("save", at(call, "/args").clone()).journal(Arc::new(journal.clone()));
        match (block_on(catalog.invoke(invocation, ())), call.get("error_kind")) {
            (Ok(_), None) => {
                assert_eq!(log.all()[0].input, *at(call, "/received_by_tool"));
                let records = journal.runs()[0].records();
                let toolwright::journal::Record::Begin(begin) = &records[0] else { panic!("{records:?}") };
                let repaired: Vec<&str> = begin.repairs().iter().map(|repair| repair.pointer.as_str()).collect();
                assert_eq!(repaired, ["/name"]);
            }
            (Err(error), Some(kind)) => {
                assert_eq!(error.code(), code_of(kind.as_str().unwrap()));
                assert!(log.is_empty());
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn c16_an_integral_float_is_an_integer_where_one_is_wanted() {
    let case = case("16-integral-float-for-integer");
    for call in at(&case, "/expected/calls").as_array().unwrap() {
        let (log, catalog) = only_tool(&case);
        match (block_on(run(&catalog, "page", parsed(text(call, "/args_text")))), call.get("error_kind")) {
            (Ok(_), None) => {
                let received = log.all()[0].input.to_json_string();
                for part in at(call, "/received_text_contains").as_array().unwrap() {
                    assert!(received.contains(part.as_str().unwrap()), "{part} in {received}");
                }
            }
            (Err(error), Some(kind)) => assert_eq!(error.code(), code_of(kind.as_str().unwrap())),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn c17_no_argument_is_invented() {
    let case = case("17-no-invented-arguments");
    let (log, catalog) = only_tool(&case);
    let journal = MemoryJournal::new();
    let invocation = Invocation::new("search", at(&case, "/input/args").clone()).journal(Arc::new(journal.clone()));
    let result = block_on(catalog.invoke(invocation, ())).unwrap();
    assert_eq!(log.all()[0].input.to_json_string(), at(&case, "/expected/received_by_tool").to_json_string());
    assert!(result.notes.is_empty());
    let records = journal.runs()[0].records();
    let toolwright::journal::Record::Begin(begin) = &records[0] else { panic!("{records:?}") };
    assert_eq!(begin.input, *at(&case, "/input/args"), "received is what was sent");
}

#[test]
fn c19_not_a_number_is_no_output() {
    #[derive(Deserialize, JsonSchema)]
    struct Values {
        values: Vec<f64>,
    }
    #[derive(Serialize, JsonSchema)]
    struct Mean {
        mean: f64,
    }
    let case = case("19-nan-from-native-tool");
    let declared = at(&case, "/tools/0");
    let average = tool(text(declared, "/name"), "averages")
        .reads()
        .input_schema(at(declared, "/inputSchema"))
        .output_schema(at(declared, "/outputSchema"))
        .run_sync(|input: Values, _| Ok(Mean { mean: input.values.iter().sum::<f64>() / input.values.len() as f64 }));
    let catalog = Registry::new().with(average).unwrap().seal();
    let error = block_on(run(&catalog, "average", at(&case, "/input/args").clone())).unwrap_err();
    assert_eq!(error.code(), code_of(text(&case, "/expected/error_kind")));
    assert!(error.message().contains("/mean") && error.message().contains("not finite"), "{error}");
    assert_eq!(error.to_value().get("output"), None, "no null is delivered");
}

/// The core's half: a lone surrogate becomes U+FFFD and a flag says so; NUL and the emoji stay, through the journal too.
#[test]
fn c20_a_lone_surrogate_is_replaced_and_told() {
    let case = case("20-lone-surrogate-and-nul");
    let wire = text(&case, "/tools/0/wire").replace("<id>", "1");
    assert!(Value::parse(&wire).is_err(), "nothing is replaced without being asked for");
    let options = ParseOptions { lone_surrogates: LoneSurrogates::Replace, ..ParseOptions::default() };
    let read = Value::parse_with(&wire, &options).unwrap();
    assert_eq!(read.replaced, 1);
    let block = at(&read.value, "/result/content/0/text").clone();
    assert_eq!(block, "a\u{fffd} b\0c \u{1f600}");
    let log = Log::new();
    let snap = log.close(tool("snap", "A tool").reads(), move |_| Ok(Answer::new(block.clone()).note("one lone surrogate was replaced")));
    let catalog = Registry::new().with(snap).unwrap().seal();
    for _ in 0..2 {
        let journal = MemoryJournal::new();
        let result = block_on(catalog.invoke(Invocation::new("snap", json!({})).journal(Arc::new(journal.clone())), ())).unwrap();
        assert_eq!(result.notes, ["one lone surrogate was replaced"]);
        let records = journal.runs()[0].records();
        let toolwright::journal::Record::Finish(finish) = &records[1] else { panic!("{records:?}") };
        let kept = finish.outcome.clone().unwrap().unwrap();
        assert_eq!(parsed(&kept.to_json_string()), *result.output.as_ref().unwrap(), "what the journal keeps reads back the same");
    }
}

/// The core's half: a limit that is named, for texts and for values, and everything goes on afterwards.
#[test]
fn c21_very_deep_json_meets_a_named_limit() {
    let case = case("21-very-deep-json");
    let log = Log::new();
    let deep = log.close(tool("deep", "A tool").reads().input_schema(at(&case, "/tools/0/inputSchema")), |input| {
        let levels = input.get("n").and_then(Value::as_u64).unwrap();
        Ok((0..levels).fold(Value::from(1), |inner, _| Value::array([inner])).into())
    });
    let catalog = Registry::new().with(deep).unwrap().seal();
    for call in at(&case, "/expected/calls").as_array().unwrap() {
        let outcome = block_on(run(&catalog, "deep", at(call, "/args").clone()));
        match (outcome, call.get("error_kind")) {
            (Ok(_), None) => {}
            // From a native tool there is no protocol to break; what is too deep has a code of its own.
            (Err(error), Some(_)) => {
                assert_eq!(error.code(), "value_too_large");
                assert!(error.message().contains("128"), "{error}");
            }
            other => panic!("{other:?}"),
        }
    }
    for brackets in ["[".repeat(100_000), "[".repeat(5_000) + &"]".repeat(5_000)] {
        assert!(Value::parse(&brackets).unwrap_err().to_string().contains("128"));
    }
}

#[test]
fn c41_a_missing_path_strict_and_lenient() {
    let case = case("41-missing-path-strict-lenient");
    let strict = Stage::new(&case, true);
    strict.assert_as_expected(&case);
    let error = strict.run().unwrap_err();
    for part in ["\"sum\"", "/lang", "$prev.langauge"] {
        assert!(error.message().contains(part), "{part} in {error}");
    }
    // Lenient, the rules differ from the case: a missing path leaves the member out, as on the page.
    let lenient = Stage::new(&case, false);
    lenient.run().unwrap();
    assert_eq!(lenient.log.input_of("sum"), json!({"text": "abc"}));
}

#[test]
fn c44_dollar_text_is_text() {
    let case = case("44-dollar-text-is-text");
    for strict in [true, false] {
        Stage::new(&case, strict).assert_as_expected(&case);
    }
    let with = |value: &str, strict| Stage::with_spec(&case, &steps(&[("post", "post", json!({"v": value}))]), strict);
    // The escape is one more dollar, and belongs to the strict dialect; the page has none, and what is no form is text.
    for (value, strict, got) in [("$$input.amount", true, "$input.amount"), ("$$input.amount", false, "$$input.amount")] {
        let stage = with(value, strict);
        stage.run().unwrap();
        assert_eq!(stage.log.input_of("post"), json!({"v": got}));
    }
    for unknown in ["$inputs.x", "$previous.x"] {
        let stage = with(unknown, true);
        assert_eq!(stage.catalog.as_ref().unwrap_err().code(), "invalid_reference");
        let stage = with(unknown, false);
        stage.run().unwrap();
        assert_eq!(stage.log.input_of("post"), json!({"v": unknown}));
        assert_eq!(stage.events.warnings().len(), 1);
    }
}

#[test]
fn c45_data_that_looks_like_a_reference_stays_data() {
    let case = case("45-data-that-looks-like-reference");
    for strict in [true, false] {
        let stage = Stage::new(&case, strict);
        stage.assert_as_expected(&case);
        for seen in stage.log.all() {
            assert!(!seen.input.to_json_string().contains("s3cr3t-value"), "{seen:?}");
        }
    }
}

#[test]
fn c46_keys_with_dots_and_spaces() {
    let case = case("46-keys-with-dots-and-spaces");
    Stage::new(&case, true).assert_as_expected(&case);
    let quote = steps(&[("odd", "odd", json!({})), ("use", "use", json!({"quote": r#"$prev["q\"q"]"#}))]);
    let stage = Stage::with_spec(&case, &quote, true);
    stage.run().unwrap();
    assert_eq!(stage.log.input_of("use"), json!({"quote": "quote"}));
}

#[test]
fn c47_types_survive_the_mapping() {
    let case = case("47-types-survive-mapping");
    for strict in [true, false] {
        let stage = Stage::new(&case, strict);
        stage.assert_as_expected(&case);
        let raw = stage.log.input_of("dst").to_json_string();
        assert!(raw.contains(r#""one":1.0,"#) && raw.contains(r#""s":"3""#), "{raw}");
    }
}

#[test]
fn c48_malformed_references_are_all_named_when_the_composite_is_built() {
    let case = case("48-malformed-references-at-load");
    let stage = Stage::new(&case, true);
    stage.assert_as_expected(&case);
    let issues = &stage.catalog.as_ref().unwrap_err().issues();
    let bad = at(&case, "/composition/steps/1/inputMapping").as_object().unwrap();
    assert_eq!(issues.len(), bad.len());
    for (issue, (key, value)) in issues.iter().zip(bad.iter()) {
        assert_eq!(issue.pointer, format!("/steps/1/inputMapping/{key}"));
        assert!(issue.message.contains(value.as_str().unwrap()), "{issue}");
        let span = issue.span.clone().unwrap();
        assert!(span.end <= value.as_str().unwrap().len());
    }
}

#[test]
fn c49_a_field_that_is_called_output_is_a_field() {
    let case = case("49-output-named-output");
    for strict in [true, false] {
        Stage::new(&case, strict).assert_as_expected(&case);
    }
}

#[test]
fn c52_a_diamond_is_no_cycle() {
    let case = case("52-diamond-is-no-cycle");
    let stage = Stage::new(&case, true);
    stage.assert_as_expected(&case);
    assert_eq!(stage.log.tools(), ["leaf"; 4]);
    assert!(stage.log.all().iter().all(|seen| seen.input == json!({})));
}

/// The files are the list: none is copied here and forgotten, and the table in the docs names the tests there are.
#[test]
fn every_copied_case_is_a_test_and_a_row_of_the_table() {
    let crate_root = env!("CARGO_MANIFEST_DIR");
    let table = std::fs::read_to_string(format!("{crate_root}/../../docs/field-cases.md")).unwrap();
    let sources = [
        ("field_cases", include_str!("field_cases.rs")),
        ("field_journals", include_str!("field_journals.rs")),
        ("cancelling", include_str!("cancelling.rs")),
        ("approving", include_str!("approving.rs")),
    ];
    let rows: Vec<Vec<&str>> = table
        .lines()
        .filter(|line| line.starts_with("| C"))
        .map(|line| line.trim_matches('|').split('|').map(str::trim).collect())
        .filter(|row: &Vec<&str>| row[4].contains("crates/toolwright/"))
        .collect();
    for row in &rows {
        let (module, name) = row[3].trim_matches('`').split_once("::").unwrap();
        let (_, source) = sources.iter().find(|(known, _)| *known == module).unwrap();
        assert!(source.contains(&format!("fn {name}()")), "the table names {}, which is no test", row[3]);
    }
    for entry in std::fs::read_dir(format!("{crate_root}/tests/cases/field")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let id = format!("C{}", name.split('-').next().unwrap());
        assert!(rows.iter().any(|row| row[0] == id), "{name} has no row in the table");
    }
}
