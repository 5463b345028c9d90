use toolwright::{Effect, EffectState, Value, json};
use toolwright_sources::command::{ArgTemplate, CommandTool};

use crate::stage::{command, detail, fails, folder, path_in, print_args, printed, run};

/// Values that mean something to a shell, to a terminal or to nobody.
const HOSTILE: &[&str] = &[
    "a\nb",
    "$(touch canary)",
    "`touch canary`",
    "; touch canary",
    "&& touch canary",
    "| touch canary",
    "> canary",
    "'\"\\",
    "*",
    "~",
    "$HOME",
    "%PATH%",
    "a b\tc",
    "\u{1b}[31m",
    "{x}",
    "{{x}}",
    "ä€😀\u{fffd}",
    "+x",
    "@file",
    "",
    " ",
    "\r",
];

fn open(templates: &[&str], properties: Value) -> CommandTool {
    let mut command = print_args(templates);
    command.input_schema = Some(Value::object([("type", json!("object")), ("properties", properties)]));
    command
}

#[tokio::test]
async fn a_value_is_one_argument_whatever_it_holds() {
    let folder = folder();
    for value in HOSTILE {
        let mut command = print_args(&["{x}", "a={x}", "--o={x}", "{x}{x}"]);
        command.cwd = Some(folder.path().into());
        let output = run(command, json!({ "x": value })).await.unwrap();
        assert_eq!(printed(&output), [value.to_string(), format!("a={value}"), format!("--o={value}"), format!("{value}{value}")]);
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "nothing was written");
}

#[tokio::test]
async fn a_value_never_becomes_an_option() {
    let folder = folder();
    let (canary, template) = path_in(&folder, "canary");
    for value in ["-", "--", "-x", "--version", "-rf", "--o=1"] {
        for templates in [&["{x}"][..], &["{x}{y?}"], &["{e}{x}"], &["{e}-{z}"], &["a", "{x}", "--", "b"]] {
            let mut command = command(&["touch"]);
            command.effect = Some(Effect::write());
            command.argv.push(template.clone());
            command.argv.extend(templates.iter().map(|text| ArgTemplate::parse(text).unwrap()));
            let all = [("x", value), ("y", ""), ("e", ""), ("z", "z")];
            let given = all.into_iter().filter(|(name, _)| templates.iter().any(|text| text.contains(&format!("{{{name}"))));
            let input = Value::object(given);
            let pointer = if templates == ["{e}-{z}"] { "/e" } else { "/x" };
            let error = fails(command, input).await;
            assert_eq!(error.code(), "invalid_input");
            assert_eq!(error.effect_state(), EffectState::NoEffect);
            let issue = error.to_value().pointer("/details/issues/0").cloned().unwrap();
            assert_eq!(issue.get("pointer"), Some(&json!(pointer)), "{templates:?}");
            assert!(issue.get("message").unwrap().as_str().unwrap().contains("begins with `-`"));
            assert!(error.help().unwrap().contains("endOfOptions"));
        }
    }
    assert!(!canary.exists(), "the program was not started");
}

#[tokio::test]
async fn behind_two_dashes_every_value_is_an_operand() {
    let output = run(print_args(&["--o={x}", "--", "{x}", "-{x}", "{xs*}"]), json!({ "x": "-v", "xs": ["-a", "--"] })).await;
    assert_eq!(printed(&output.unwrap()), ["--o=-v", "--", "-v", "--v", "-a", "--"]);
}

#[tokio::test]
async fn end_of_options_puts_the_dashes_before_the_first_argument() {
    let mut command = open(&["-o", "a", "{x?}", "{y?}", "b"], json!({ "x": {}, "y": {} }));
    command.end_of_options = true;
    let table = [
        (json!({ "x": "-1", "y": "-2" }), vec!["-o", "a", "--", "-1", "-2", "b"]),
        (json!({ "y": "-2" }), vec!["-o", "a", "--", "-2", "b"]),
        (json!({}), vec!["-o", "a", "--", "b"]),
    ];
    for (input, args) in table {
        assert_eq!(printed(&run(command.clone(), input).await.unwrap()), args);
    }
    let mut written = print_args(&["--", "{x}"]);
    written.end_of_options = true;
    assert_eq!(printed(&run(written, json!({ "x": "-1" })).await.unwrap()), ["--", "-1"], "not twice");
}

#[tokio::test]
async fn an_argument_that_names_an_option_is_one_of_a_list() {
    let mut command = print_args(&["--{mode}"]);
    let schema = json!({ "type": "object", "required": ["mode"], "properties": { "mode": { "enum": ["hard", "soft"] } } });
    command.input_schema = Some(schema);
    assert_eq!(printed(&run(command.clone(), json!({ "mode": "soft" })).await.unwrap()), ["--soft"]);
    assert_eq!(fails(command, json!({ "mode": "exec=x" })).await.code(), "invalid_input");
}

#[tokio::test]
async fn an_empty_value_does_not_let_an_option_take_the_next_argument() {
    let error = fails(print_args(&["-n{n}", "b"]), json!({ "n": "" })).await;
    assert_eq!(error.code(), "invalid_input");
    assert!(error.message().contains("`-n` would take the next argument"), "{}", error.message());
    assert_eq!(printed(&run(print_args(&["--n={n}", "b"]), json!({ "n": "" })).await.unwrap()), ["--n=", "b"]);
}

#[tokio::test]
async fn nul_bytes_are_refused_in_arguments_and_fine_on_stdin() {
    for templates in [&["{x}"][..], &["--o={x}"], &["--", "{x}"]] {
        let error = fails(print_args(templates), json!({ "x": "a\0b" })).await;
        assert_eq!(error.code(), "invalid_input");
        assert!(error.message().contains("NUL"), "{}", error.message());
    }
    let error = fails(print_args(&["{x*}"]), json!({ "x": ["a", "\0"] })).await;
    assert_eq!(detail(&error, "issues").pointer("/0/pointer"), Some(&json!("/x/1")));
    let mut cat = command(&["cat"]);
    cat.stdin = Some(ArgTemplate::parse("{x}").unwrap());
    assert_eq!(run(cat, json!({ "x": "a\0b" })).await.unwrap(), json!("a\0b"));
}

#[tokio::test]
async fn scalars_have_one_form() {
    let table = [
        (json!(120000.0), "v=120000"),
        (json!(-5), "v=-5"),
        (json!(true), "v=true"),
        (json!("1e3"), "v=1e3"),
        (Value::parse("123456789012345678901234567890").unwrap(), "v=123456789012345678901234567890"),
        (Value::parse("1E3").unwrap(), "v=1000"),
        (Value::parse("0.10").unwrap(), "v=0.10"),
    ];
    for (value, printed_as) in table {
        let output = run(open(&["v={x?}"], json!({ "x": {} })), Value::object([("x", value)])).await.unwrap();
        assert_eq!(printed(&output), [printed_as]);
    }
    let huge = Value::parse("{\"x\": 1e999999}").unwrap();
    assert_eq!(fails(open(&["v={x?}"], json!({ "x": {} })), huge).await.code(), "invalid_input");
    assert_eq!(fails(open(&["{x?}"], json!({ "x": {} })), json!({ "x": -5 })).await.code(), "invalid_input", "a dash is a dash");
}

#[tokio::test]
async fn objects_are_json_where_the_schema_says_object() {
    let object = json!({ "x": { "a": [1, "ä"] } });
    let output = run(open(&["{x?}"], json!({ "x": { "type": "object" } })), object.clone()).await.unwrap();
    assert_eq!(printed(&output), [r#"{"a":[1,"ä"]}"#]);
    for input in [object, json!({ "x": [1] })] {
        let error = fails(open(&["{x?}"], json!({ "x": {} })), input).await;
        assert_eq!(error.code(), "invalid_input");
        assert!(error.message().contains("has no form on a command line"));
    }
    let mut cat = command(&["cat"]);
    cat.stdin = Some(ArgTemplate::parse("{x}\n{x}").unwrap());
    cat.input_schema = Some(json!({ "type": "object", "properties": { "x": {} }, "required": ["x"] }));
    assert_eq!(run(cat, json!({ "x": [1, { "b": null }] })).await.unwrap(), json!("[1,{\"b\":null}]\n[1,{\"b\":null}]"));
}

#[tokio::test]
async fn arrays_become_elements() {
    let schema = json!({ "xs": { "type": "array" }, "o": { "type": "array", "items": { "type": "object" } } });
    let command = open(&["a", "{xs*?}", "b", "{o*?}"], schema);
    let table = [
        (json!({}), vec!["a", "b"]),
        (json!({ "xs": [] }), vec!["a", "b"]),
        (json!({ "xs": ["", 1, true] }), vec!["a", "", "1", "true", "b"]),
        (json!({ "o": [{ "k": 1 }] }), vec!["a", "b", "{\"k\":1}"]),
    ];
    for (input, args) in table {
        assert_eq!(printed(&run(command.clone(), input).await.unwrap()), args);
    }
    for (bad, pointer) in [(json!(["a", "-b"]), "/xs/1"), (json!([null]), "/xs/0"), (json!([[1]]), "/xs/0")] {
        let error = fails(command.clone(), Value::object([("xs", bad)])).await;
        assert_eq!(detail(&error, "issues").pointer("/0/pointer"), Some(&json!(pointer)));
    }
}

#[tokio::test]
async fn an_absent_or_null_argument_leaves_its_element_out() {
    let command = open(&["a", "--n={n?}", "{m?}{n?}", "b"], json!({ "n": { "type": ["string", "null"] }, "m": {} }));
    for input in [json!({}), json!({ "n": null }), json!({ "n": null, "m": "x" })] {
        assert_eq!(printed(&run(command.clone(), input).await.unwrap()), ["a", "b"]);
    }
    assert_eq!(printed(&run(command, json!({ "n": "", "m": "x" })).await.unwrap()), ["a", "--n=", "x", "b"]);
    let with_default = open(&["--n={n}"], json!({ "n": { "type": "integer", "default": 20 } }));
    assert_eq!(printed(&run(with_default.clone(), json!({})).await.unwrap()), ["--n=20"]);
    assert_eq!(printed(&run(with_default, json!({ "n": 3 })).await.unwrap()), ["--n=3"]);
}

#[tokio::test]
async fn an_argument_that_nothing_uses_is_refused() {
    let mut combined = print_args(&["{a}"]);
    combined.input_schema = Some(json!({ "allOf": [{ "properties": { "a": {} }, "required": ["a"] }] }));
    let error = fails(combined, json!({ "a": "1", "b": "2" })).await;
    assert_eq!(error.code(), "invalid_input");
    assert!(error.message().contains("`b` is no argument of this tool"), "{}", error.message());
}

#[tokio::test]
async fn all_bad_arguments_are_told_at_once() {
    let error = fails(print_args(&["{a}", "--x={b}", "{a}"]), json!({ "a": "-1", "b": "\0" })).await;
    assert_eq!(detail(&error, "issues").as_array().map(<[Value]>::len), Some(2), "{}", error.message());
}

#[test]
fn what_no_call_could_have_is_known_before_one() {
    let pointers = |argv: &[&str], known: Value, unknown: &[&str]| {
        let refused = command(argv).refused(&known, unknown).into_iter();
        refused.map(|refused| refused.pointer).collect::<Vec<_>>()
    };
    let none: [&str; 0] = [];
    assert_eq!(pointers(&["p", "{a}"], json!({ "a": "-x" }), &[]), ["/a"]);
    assert_eq!(pointers(&["p", "{a}{b}"], json!({ "a": "-" }), &["b"]), ["/a"]);
    assert_eq!(pointers(&["p", "{b}{a}"], json!({ "a": "-" }), &["b"]), none);
    assert_eq!(pointers(&["p", "{a}{b?}"], json!({ "a": "-" }), &[]), none);
    assert_eq!(pointers(&["p", "{a*}", "{b*}"], json!({ "a": ["x", "-y"] }), &["b"]), ["/a/1"]);
    assert_eq!(pointers(&["p", "--", "{a}"], json!({ "a": "-x" }), &[]), none);
    assert_eq!(pointers(&["p", "--", "{a}", "{b}"], json!({ "a": "\0", "b": null }), &[]), ["/a", "/b"]);
    assert_eq!(pointers(&["p", "{a}"], json!({ "z": "-x" }), &["a"]), none);
}
