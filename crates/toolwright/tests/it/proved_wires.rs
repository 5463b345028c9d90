//! What is validated when steps hand on what is proved to fit: a document once, where it enters; whatever nobody looked
//! at in this run, each time.

use std::sync::{Arc, Mutex};

use toolwright::testing::SchemaChecks;
use toolwright::{
    Answer, Catalog, Composer, Composite, HostGate, Invocation, MemoryJournal, Options, Policy, Registry, ResumeOptions, StepOutputs,
    ToolDef, ToolError, Value, json, tool,
};

use crate::world::{Log, block_on, composite, parsed, run, steps};

/// Many records with a field of each type; more than is validated rather than looked at.
fn records() -> Value {
    Value::array((0..100).map(|n| json!({"id": n, "name": format!("record {n}"), "price": 1.5, "done": false})))
}

fn document() -> Value {
    json!({"doc": {"records": records().to_json()}})
}

/// The schema of arguments with such a document in them, closed at every level.
fn closed(doc: &Value) -> Value {
    json!({"type": "object", "properties": {"doc": doc.to_json()}, "required": ["doc"], "additionalProperties": false})
}

fn doc_schema() -> Value {
    let fields = json!({"id": {"type": "integer"}, "name": {"type": "string"}, "price": {"type": "number"}, "done": {"type": "boolean"}});
    let required = json!(["id", "name", "price", "done"]);
    let record = json!({"type": "object", "properties": fields.to_json(), "required": required.to_json(), "additionalProperties": false});
    let records = json!({"type": "array", "items": record.to_json()});
    json!({"type": "object", "properties": {"records": records.to_json()}, "required": ["records"], "additionalProperties": false})
}

fn schema() -> Value {
    closed(&doc_schema())
}

/// A tool that takes and promises a document, and runs this.
fn hop(log: &Log, id: &'static str, run: impl Fn(Value) -> Result<Answer, ToolError> + Send + Sync + 'static) -> ToolDef {
    log.close(tool(id, "hands a document on").reads().input_schema(schema()).output_schema(schema()), run)
}

/// Gives back the very value that it got.
fn same(log: &Log, id: &'static str) -> ToolDef {
    hop(log, id, |input| Ok(Answer::new(input)))
}

/// Ten steps, each with the document of the one before.
fn ten(tool: &str) -> Value {
    let names: Vec<String> = (0..10).map(|n| format!("s{n}")).collect();
    let mapping = |at: usize| if at == 0 { json!({"doc": "$input.doc"}) } else { json!({"doc": "$prev.doc"}) };
    steps(&names.iter().enumerate().map(|(at, name)| (name.as_str(), tool, mapping(at))).collect::<Vec<_>>())
}

fn taking(spec: &Value, input: Value) -> Composite {
    composite("main", spec).input_schema(input)
}

fn catalog_of(policy: Policy, tools: impl IntoIterator<Item = ToolDef>, main: Composite) -> Catalog {
    let mut registry = Registry::with_policy(policy);
    registry.register_all(tools).unwrap();
    registry.register(main).unwrap();
    registry.seal()
}

fn checks(catalog: &Catalog, tool: &str) -> (u64, u64) {
    let SchemaChecks { input, output } = SchemaChecks::of(catalog.get(tool).unwrap().tool());
    (input, output)
}

/// Begins to count the validations of these tools.
fn counting(catalog: &Catalog, tools: &[&str]) {
    tools.iter().for_each(|tool| assert_eq!(checks(catalog, tool), (0, 0)));
}

/// What one run of `main` over the document validates: of `main`, of `hop`.
fn validations(catalog: &Catalog) -> [(u64, u64); 2] {
    counting(catalog, &["main", "hop"]);
    let result = block_on(run(catalog, "main", document())).unwrap();
    assert_eq!(result.output, Some(document()));
    [checks(catalog, "main"), checks(catalog, "hop")]
}

#[test]
fn a_document_is_validated_where_it_enters_and_not_at_each_step() {
    let log = Log::new();
    let catalog = catalog_of(Policy::new(), [same(&log, "hop")], taking(&ten("hop"), schema()));
    assert_eq!(validations(&catalog), [(1, 0), (0, 0)]);
    assert_eq!(log.all().len(), 10);
}

#[test]
fn a_host_may_have_every_step_validated() {
    let policy = Policy::new().validate_every_step();
    let catalog = catalog_of(policy, [same(&Log::new(), "hop")], taking(&ten("hop"), schema()));
    assert_eq!(validations(&catalog), [(1, 0), (10, 10)]);
    // A copy is judged by the policy of where it goes.
    let copy = catalog.overlay(Options::new()).unwrap().seal();
    let before = checks(&catalog, "hop");
    block_on(run(&copy, "main", document())).unwrap();
    assert_eq!(checks(&catalog, "hop"), before);
}

#[test]
fn what_a_tool_makes_anew_is_validated_where_it_comes_from_and_not_where_it_goes() {
    let remade = |input: Value| Ok(Answer::new(Value::parse(input.to_json_string()).unwrap()));
    let catalog = catalog_of(Policy::new(), [hop(&Log::new(), "hop", remade)], taking(&ten("hop"), schema()));
    assert_eq!(validations(&catalog), [(1, 0), (0, 10)]);
    // An output that does not fit is still found there.
    let broken = |_| Ok(Answer::new(json!({"doc": {"records": [{"id": "one"}]}})));
    let catalog = catalog_of(Policy::new(), [hop(&Log::new(), "hop", broken)], taking(&ten("hop"), schema()));
    assert_eq!(block_on(run(&catalog, "main", document())).unwrap_err().code(), "invalid_output");
}

#[test]
fn one_argument_that_is_given_back_is_known_too() {
    let unwrap = |input: Value| Ok(Answer::new(input.get("doc").cloned().unwrap_or_default()));
    let declared = tool("hop", "unwraps").reads().input_schema(schema()).output_schema(doc_schema());
    let hop = Log::new().close(declared, unwrap);
    let mapping = |at: usize| if at == 0 { json!({"doc": "$input.doc"}) } else { json!({"doc": "$prev"}) };
    let spec = steps(&[("a", "hop", mapping(0)), ("b", "hop", mapping(1)), ("c", "hop", mapping(2))]);
    let catalog = catalog_of(Policy::new(), [hop], taking(&spec, schema()));
    counting(&catalog, &["main", "hop"]);
    block_on(run(&catalog, "main", document())).unwrap();
    assert_eq!([checks(&catalog, "main"), checks(&catalog, "hop")], [(1, 0), (0, 0)]);
}

#[test]
fn a_wire_that_may_not_fit_is_validated_at_every_step() {
    let wide = closed(&json!({"type": "object"}));
    let spec = steps(&[("a", "hop", json!({"doc": "$input.doc"})), ("b", "hop", json!({"doc": "$input.doc"}))]);
    let catalog = catalog_of(Policy::new(), [same(&Log::new(), "hop")], taking(&spec, wide));
    assert_eq!(validations(&catalog), [(1, 0), (2, 0)]);
    let error = block_on(run(&catalog, "main", json!({"doc": {"records": 1}}))).unwrap_err();
    assert_eq!(error.code(), "invalid_input");
}

#[test]
fn a_tool_that_promises_nothing_has_its_readers_validated() {
    let silent = Log::new().close(tool("hop", "says nothing").reads().input_schema(schema()), |input| Ok(Answer::new(input)));
    let catalog = catalog_of(Policy::new(), [silent], taking(&ten("hop"), schema()));
    assert_eq!(validations(&catalog), [(1, 0), (9, 0)]);
}

#[test]
fn limits_and_hooks_see_what_is_not_validated() {
    let asked = Arc::new(Mutex::new(0));
    let count = asked.clone();
    let declared = tool("hop", "hands on").reads().input_schema(schema()).output_schema(schema());
    let hop = Log::new().close(
        declared.authorize(move |access| {
            assert_eq!(access.input, Some(&document()));
            *count.lock().unwrap() += 1;
            Ok(())
        }),
        |input| Ok(Answer::new(input)),
    );
    let catalog = catalog_of(Policy::new(), [hop], taking(&ten("hop"), schema()));
    assert_eq!(validations(&catalog), [(1, 0), (0, 0)]);
    assert_eq!(*asked.lock().unwrap(), 10);
}

#[test]
fn an_integral_decimal_is_still_written_as_an_integer() {
    // The input is mended where it enters; an output is not, so its readers are looked at.
    let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"], "additionalProperties": false});
    let both = || tool("hop", "hands on").reads().input_schema(schema.clone()).output_schema(schema.clone());
    let spec = steps(&[("a", "hop", json!({"n": "$input.n"})), ("b", "hop", json!({"n": "$prev.n"}))]);
    for (input, given, arrives, expected) in [
        (r#"{"n":7.0}"#, None, ["7", "7"], (0, 2)),
        (r#"{"n":7}"#, Some("100.0"), ["7", "100"], (1, 2)),
        (r#"{"n":7}"#, Some("100"), ["7", "100"], (0, 2)),
    ] {
        let log = Log::new();
        let hop = log.close(both(), move |input| match given {
            None => Ok(Answer::new(input)),
            Some(number) => Ok(Answer::new(Value::object([("n", Value::parse(number).unwrap())]))),
        });
        let catalog = catalog_of(Policy::new(), [hop], taking(&spec, schema.clone()));
        counting(&catalog, &["hop"]);
        block_on(run(&catalog, "main", Value::parse(input).unwrap())).unwrap();
        let arrived = ["a", "b"].map(|step| log.input_of(step).to_json_string());
        assert_eq!(arrived, arrives.map(|number| format!(r#"{{"n":{number}}}"#)));
        assert_eq!(checks(&catalog, "hop"), expected, "{given:?}");
    }
}

#[test]
fn the_answer_of_a_journal_proves_nothing() {
    let (log, tries) = (Log::new(), Arc::new(Mutex::new(0)));
    let count = tries.clone();
    let last = hop(&log, "last", move |input| {
        *count.lock().unwrap() += 1;
        if *count.lock().unwrap() == 1 { Err(ToolError::new("later")) } else { Ok(Answer::new(input)) }
    });
    let spec = steps(&[("a", "hop", json!({"doc": "$input.doc"})), ("b", "last", json!({"doc": "$prev.doc"}))]);
    let catalog = catalog_of(Policy::new(), [same(&log, "hop"), last], taking(&spec, schema()));
    let journal = MemoryJournal::new();
    counting(&catalog, &["hop", "last"]);
    let call = Invocation::new("main", document()).run_id("r").journal(Arc::new(journal.clone()));
    block_on(catalog.invoke(call, ())).unwrap_err();
    assert_eq!(checks(&catalog, "last"), (0, 0));
    let kept: Arc<dyn toolwright::Journal> = Arc::new(journal);
    block_on(catalog.resume_run(&kept, "r", (), ResumeOptions::new())).unwrap();
    assert_eq!(log.tools(), ["hop", "last", "last"]);
    assert_eq!((checks(&catalog, "hop"), checks(&catalog, "last")), ((0, 0), (1, 0)));
}

#[test]
fn neither_does_an_output_that_is_given_for_a_dry_run() {
    let writes = tool("send", "sends").writes().input_schema(schema()).output_schema(schema());
    let send = Log::new().close(writes, |input| Ok(Answer::new(input)));
    let spec = steps(&[("a", "send", json!({"doc": "$input.doc"})), ("b", "hop", json!({"doc": "$prev.doc"}))]);
    let catalog = catalog_of(Policy::new().may_chain(["send"]), [send, same(&Log::new(), "hop")], taking(&spec, schema()));
    counting(&catalog, &["send", "hop"]);
    let dry = Invocation::new("main", document()).dry(StepOutputs::new().with("a", document()));
    block_on(catalog.invoke(dry, ())).unwrap();
    assert_eq!((checks(&catalog, "send"), checks(&catalog, "hop")), ((0, 1), (1, 0)));
}

#[test]
fn behind_a_composers_gate_every_step_is_validated() {
    let hop = same(&Log::new(), "hop");
    let behind = hop.clone();
    let gate = HostGate::new(move |name: &str| (name == "hop").then(|| behind.clone()));
    let built = Composer::new(gate).build("main", "d", schema(), &ten("hop")).unwrap();
    assert_eq!(SchemaChecks::of(&hop), SchemaChecks::default());
    let catalog = Registry::new().with(built).unwrap().seal();
    counting(&catalog, &["main"]);
    block_on(run(&catalog, "main", document())).unwrap();
    assert_eq!((checks(&catalog, "main").0, SchemaChecks::of(&hop).input), (1, 10));
}

#[test]
fn a_composite_inside_another_is_entered_without_a_look_and_known_by_its_last_step() {
    let hop_twice = steps(&[("a", "hop", json!({"doc": "$input.doc"})), ("b", "hop", json!({"doc": "$prev.doc"}))]);
    let mapped = {
        let mut spec = hop_twice.to_json();
        spec["output"] = serde_json::json!({"doc": "$steps.a.doc"});
        Value::from_json(spec).unwrap()
    };
    let wholly = steps(&[("a", "inner", json!({"doc": "$input.doc"})), ("b", "hop", json!({"doc": "$prev.doc"}))]);
    for (inner, promises, expected) in [
        (&hop_twice, false, [(1, 0), (0, 0), (0, 0)]),
        (&mapped, false, [(1, 0), (0, 0), (0, 0)]),
        // What it promises itself is looked at.
        (&mapped, true, [(1, 0), (0, 1), (0, 0)]),
    ] {
        let mut registry = Registry::new().with(same(&Log::new(), "hop")).unwrap();
        let mut composite = composite("inner", inner).input_schema(schema());
        if promises {
            composite = Composite::of(tool("inner", "inner").input_schema(schema()).output_schema(schema()))
                .spec(toolwright::CompositeSpec::from_value(inner).unwrap());
        }
        registry.register(composite).unwrap();
        registry.register(taking(&wholly, schema())).unwrap();
        let catalog = registry.seal();
        counting(&catalog, &["main", "inner", "hop"]);
        block_on(run(&catalog, "main", document())).unwrap();
        assert_eq!(["main", "inner", "hop"].map(|tool| checks(&catalog, tool)), expected, "{inner}");
    }
}

#[test]
fn a_composite_whose_last_answer_was_the_journals_is_not_known_by_it() {
    let (log, tries) = (Log::new(), Arc::new(Mutex::new(0)));
    let count = tries.clone();
    let last = hop(&log, "last", move |input| {
        *count.lock().unwrap() += 1;
        if *count.lock().unwrap() == 1 { Err(ToolError::new("later")) } else { Ok(Answer::new(input)) }
    });
    let inner = composite("inner", &steps(&[("a", "hop", json!({"doc": "$input.doc"}))])).input_schema(schema());
    let spec = steps(&[("i", "inner", json!({"doc": "$input.doc"})), ("b", "last", json!({"doc": "$prev.doc"}))]);
    let mut registry = Registry::new().with(same(&log, "hop")).unwrap().with(last).unwrap().with(inner).unwrap();
    registry.register(taking(&spec, schema())).unwrap();
    let catalog = registry.seal();
    counting(&catalog, &["last"]);
    let journal = MemoryJournal::new();
    let call = || Invocation::new("main", document()).run_id("r").journal(Arc::new(journal.clone()));
    block_on(catalog.invoke(call(), ())).unwrap_err();
    assert_eq!(checks(&catalog, "last"), (0, 0));
    block_on(catalog.invoke(call(), ())).unwrap();
    assert_eq!(checks(&catalog, "last"), (1, 0));
}

#[test]
fn what_a_composite_makes_of_an_input_that_nobody_checks_proves_nothing() {
    let log = Log::new();
    let text =
        |required: &str| parsed(&format!(r#"{{"type": "object", "properties": {{"x": {{"type": "string"}}}}, "required": [{required}]}}"#));
    let may = log.close(tool("may", "takes a text, or none").reads().input_schema(text("")), |input| Ok(Answer::new(input)));
    let must = log.close(tool("must", "takes a text").reads().input_schema(text(r#""x""#)), |input| Ok(Answer::new(input)));
    // Nobody wrote what its input is. A null is left out where `may` gets it, and is still in the output.
    let mut inner = steps(&[("a", "may", json!({"x": "$input.x"}))]).to_json();
    inner["output"] = serde_json::json!({"x": "$input.x"});
    let spec = steps(&[("i", "inner", json!({"x": "$input.x"})), ("m", "must", json!({"x": "$prev.x"}))]);
    let mut registry = Registry::new().with(may).unwrap().with(must).unwrap();
    registry.register(composite("inner", &Value::from_json(inner).unwrap())).unwrap();
    registry.register(composite("main", &spec)).unwrap();
    let catalog = registry.seal();
    let error = block_on(run(&catalog, "main", json!({"x": null}))).unwrap_err();
    assert_eq!((error.code(), log.tools()), ("invalid_input", vec!["may".to_owned()]), "{error}");
}

#[test]
fn a_learned_shape_proves_nothing_however_it_is_handed_on() {
    let log = Log::new();
    let gives = log.close(tool("gives", "gives").reads(), |_| Ok(Answer::new(json!({"x": 1}))));
    let text = json!({"type": "object", "properties": {"x": {"type": "string"}}, "required": ["x"]});
    let learned = gives.with_learned_output(text.clone(), 3);
    let takes = log.close(tool("takes", "takes a text").reads().input_schema(text), |input| Ok(Answer::new(input)));
    let mut inner = steps(&[("a", "gives", json!({}))]).to_json();
    for mapped in [false, true] {
        if mapped {
            inner["output"] = serde_json::json!({"x": "$prev.x"});
        }
        let spec = steps(&[("i", "inner", json!({})), ("t", "takes", json!({"x": "$prev.x"}))]);
        let mut registry = Registry::new().with(learned.clone()).unwrap().with(takes.clone()).unwrap();
        registry.register(composite("inner", &Value::from_json(inner.clone()).unwrap())).unwrap();
        registry.register(composite("main", &spec)).unwrap();
        let error = block_on(run(&registry.seal(), "main", json!({}))).unwrap_err();
        assert_eq!(error.code(), "invalid_input", "{error}");
    }
    assert_eq!(log.tools(), ["gives", "gives"]);
}

/// Schemas of one argument, and values of which each takes some.
const SCHEMAS: [&str; 16] = [
    r#"{"type": "integer"}"#,
    r#"{"type": "number"}"#,
    r#"{"type": ["integer", "null"]}"#,
    r#"{"type": "number", "multipleOf": 1}"#,
    r#"{"type": "string"}"#,
    r#"{"type": "string", "maxLength": 2}"#,
    r#"{"enum": [1, "a", null]}"#,
    r#"{"const": 1.0}"#,
    r#"{"anyOf": [{"type": "integer"}, {"type": "string"}]}"#,
    r#"{"allOf": [{"type": "integer"}]}"#,
    r#"{"type": "array", "items": {"type": "integer"}}"#,
    r#"{"type": "array", "items": {"type": "number"}, "maxItems": 2}"#,
    r#"{"type": "array", "prefixItems": [{"type": "integer"}], "items": {"type": "number"}}"#,
    r#"{"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}"#,
    r#"{"type": "object", "properties": {"n": {"type": "integer"}, "m": {"type": "number"}}, "additionalProperties": false}"#,
    r##"{"$ref": "#/$defs/n", "$defs": {"n": {"type": "integer"}}}"##,
];
const VALUES: [&str; 15] = [
    "1",
    "1.0",
    "1e2",
    "1.5",
    "null",
    r#""a""#,
    r#""long""#,
    "[1]",
    "[1.0,2]",
    "[1,2.0]",
    "[1,2,3]",
    r#"{"n":1}"#,
    r#"{"n":7.0}"#,
    r#"{"m":7.0}"#,
    "{}",
];

/// Argument schemas with this one for `x`; its definitions at the root, where its references look for them.
fn with_x(schema: &str) -> Value {
    let mut schema = serde_json::from_str::<serde_json::Value>(schema).unwrap();
    let defs = schema.as_object_mut().and_then(|schema| schema.remove("$defs"));
    let mut all = serde_json::json!({
        "type": "object", "properties": {"x": schema, "pad": {"type": "string"}}, "required": ["x", "pad"], "additionalProperties": false
    });
    if let (Some(defs), Some(all)) = (defs, all.as_object_mut()) {
        all.insert("$defs".into(), defs);
    }
    Value::from_json(all).unwrap()
}

/// A value of one schema on its way to places of another; none when that is refused.
struct Way(Log, Catalog);

impl Way {
    fn new(validates: bool, from: &str, to: &str) -> Option<Self> {
        let log = Log::new();
        let policy = if validates { Policy::new().validate_every_step() } else { Policy::new() };
        let give = log.close(tool("give", "gives").reads().output_schema(with_x(from)), |input| Ok(input["value"].clone().into()));
        let hand = tool("hand", "hands on").reads().input_schema(with_x(from)).output_schema(with_x(to));
        let hand = log.close(hand, |input| Ok(Answer::new(input)));
        let take = log.close(tool("take", "takes").reads().input_schema(with_x(to)), |input| Ok(Answer::new(input)));
        let spec = steps(&[
            ("a", "give", json!({"value": "$input.value"})),
            ("b", "take", json!({"x": "$prev.x", "pad": "$prev.pad"})),
            ("c", "hand", json!({"x": "$steps.a.x", "pad": "$steps.a.pad"})),
            ("d", "take", json!({"x": "$prev.x", "pad": "$prev.pad"})),
        ]);
        let mut registry = Registry::with_policy(policy).with(give).unwrap().with(hand).unwrap().with(take).unwrap();
        registry.register(composite("main", &spec)).ok()?;
        let catalog = registry.seal();
        counting(&catalog, &["hand", "take"]);
        Some(Self(log, catalog))
    }

    /// What arrived in all runs so far, and how this one ended.
    fn run(&self, value: &Value) -> (Vec<String>, Result<Option<Value>, String>) {
        let result = block_on(run(&self.1, "main", Value::object([("value", value.clone())])));
        let arrived = self.0.all().iter().map(|seen| format!("{} {:?}", seen.step, seen.input.get("x"))).collect();
        (arrived, result.map(|result| result.output).map_err(|error| format!("{} {error}", error.code())))
    }

    /// Outputs of `hand` and arguments of `take` that were validated.
    fn validated(&self) -> [u64; 2] {
        [checks(&self.1, "hand").1, checks(&self.1, "take").0]
    }
}

#[test]
fn what_is_proved_ends_as_if_it_were_validated() {
    let (mut runs, mut spared) = (0, [0, 0]);
    for (from, to) in SCHEMAS.iter().flat_map(|from| SCHEMAS.map(|to| (from, to))) {
        let (Some(trusting), Some(careful)) = (Way::new(false, from, to), Way::new(true, from, to)) else { continue };
        for value in VALUES {
            // Large enough that what is handed on is looked at before it is validated.
            let given = Value::object([("x", Value::parse(value).unwrap()), ("pad", Value::from("…".repeat(1_000)))]);
            assert_eq!(trusting.run(&given), careful.run(&given), "{value} from {from} to {to}");
            runs += 1;
        }
        let (few, many) = (trusting.validated(), careful.validated());
        spared = [spared[0] + many[0] - few[0], spared[1] + many[1] - few[1]];
    }
    assert!(runs > 1_000 && spared.iter().all(|spared| *spared > 100), "{runs} runs, {spared:?} spared");
}
