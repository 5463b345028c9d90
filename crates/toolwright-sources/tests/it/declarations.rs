use toolwright::{Registry, Value, json};
use toolwright_sources::command::{ArgTemplate, CommandIssueKind as Kind, CommandTool, Place, Stdout};

use crate::stage::command;

fn with_input(argv: &[&str], schema: Value) -> CommandTool {
    let mut command = command(argv);
    command.input_schema = Some(schema);
    command
}

fn texts(names: &[&str]) -> Value {
    let properties = names.iter().map(|name| (*name, json!({ "type": "string" })));
    Value::object([("type", json!("object")), ("properties", Value::object(properties)), ("required", Value::array(names.iter().copied()))])
}

#[track_caller]
fn refused(command: CommandTool, kind: Kind, place: &str, message: &str, help: &str) {
    let error = command.clone().into_tool().unwrap_err();
    let issue = error.issues.iter().find(|issue| issue.kind == kind).unwrap_or_else(|| panic!("{error:#?}"));
    assert!(issue.message.contains(message), "{}", issue.message);
    assert!(issue.help.contains(help), "{}", issue.help);
    let shown = match &issue.place {
        Place::Element { index, span: Some(span) } => format!("{index}:{}", &command.argv[*index].as_str()[span.clone()]),
        Place::Element { index, span: None } => index.to_string(),
        Place::Stdin { span } => format!("stdin:{}", &command.stdin.as_ref().unwrap().as_str()[span.clone()]),
        Place::Input { pointer } => pointer.clone(),
        Place::Environment { name } => format!("env:{name}"),
        _ => "argv".to_owned(),
    };
    assert_eq!(shown, place);
}

#[test]
fn there_is_a_program_and_it_is_fixed() {
    refused(command(&[]), Kind::NoProgram, "argv", "no program", "argv: [git, status]");
    refused(command(&["", "a"]), Kind::NoProgram, "0", "no program", "");
    refused(command(&["{tool}", "a"]), Kind::ProgramFromArgument, "0:{tool}", "comes from an argument", "fixed text");
    refused(command(&["/bin/{tool}"]), Kind::ProgramFromArgument, "0:{tool}", "", "");
    refused(command(&["{argv*}"]), Kind::ProgramFromArgument, "0:{argv*}", "", "");
    refused(command(&["echo", "a\0b"]), Kind::NulByte, "1:\0", "NUL", "");
}

#[test]
fn placeholders_and_properties_are_the_same_names() {
    let schema = texts(&["pattern", "file"]);
    refused(
        with_input(&["grep", "--", "{patern}", "{file}"], schema.clone()),
        Kind::UnknownArgument,
        "2:{patern}",
        "`patern` is no property",
        "did you mean `{pattern}`?",
    );
    refused(
        with_input(&["grep", "--", "{pattern}"], schema.clone()),
        Kind::UnusedArgument,
        "/properties/file",
        "`file` does nothing",
        "`{file}`",
    );
    let mut on_stdin = with_input(&["grep", "--", "{pattern}"], schema);
    on_stdin.stdin = Some(ArgTemplate::parse("{file}").unwrap());
    on_stdin.into_tool().unwrap();
}

#[test]
fn all_problems_come_at_once() {
    let error = with_input(&["{x}", "{y}", "--{z}"], texts(&["a"])).into_tool().unwrap_err();
    let kinds: Vec<Kind> = error.issues.iter().map(|issue| issue.kind).collect();
    assert_eq!(
        kinds,
        [
            Kind::ProgramFromArgument,
            Kind::UnknownArgument,
            Kind::UnknownArgument,
            Kind::UnknownArgument,
            Kind::UnusedArgument,
            Kind::NamesOption
        ]
    );
    assert_eq!(error.to_string(), "command `probe`: the program comes from an argument (and 5 more)");
}

#[test]
fn what_may_be_absent_is_written_with_a_question_mark() {
    let schema = |extra: Value| json!({ "type": "object", "properties": { "n": extra } });
    let plain = json!({ "type": "integer" });
    refused(with_input(&["head", "-n{n}"], schema(plain.clone())), Kind::MayBeAbsent, "1:{n}", "no value when `n` is absent", "`{n?}`");
    with_input(&["head", "-n{n?}"], schema(plain)).into_tool().unwrap();
    with_input(&["head", "-n{n}"], schema(json!({ "type": "integer", "default": 3 }))).into_tool().unwrap();
}

#[test]
fn arrays_are_written_with_a_star() {
    let list = json!({ "type": "object", "required": ["x"], "properties": { "x": { "type": "array" } } });
    refused(with_input(&["ls", "{x}"], list.clone()), Kind::Shape, "1:{x}", "is an array", "`{x*}`");
    with_input(&["ls", "{x*}"], list).into_tool().unwrap();
    refused(with_input(&["ls", "{x*}"], texts(&["x"])), Kind::Shape, "1:{x*}", "needs an array", "`type: array`");
    refused(command(&["ls", "{x*}", "{x}"]), Kind::Shape, "2:{x}", "once with `*` and once without", "");
    let mut stdin = command(&["cat"]);
    stdin.stdin = Some(ArgTemplate::parse("{x*}").unwrap());
    refused(stdin, Kind::SpreadInStdin, "stdin:{x*}", "stdin has none", "`{x}`");
}

#[test]
fn the_input_is_a_closed_object() {
    refused(with_input(&["ls"], json!({ "type": "array" })), Kind::NoObject, "", "does not describe an object", "");
    refused(with_input(&["ls"], json!(true)), Kind::NoObject, "", "does not describe an object", "");
    for keyword in ["additionalProperties", "unevaluatedProperties", "patternProperties"] {
        let schema = Value::object([("type", json!("object")), (keyword, json!({ "x": {} }))]);
        refused(with_input(&["ls"], schema), Kind::OpenInput, &format!("/{keyword}"), "no placeholder uses", "");
    }
    let tool = with_input(&["ls", "./{a}"], texts(&["a"])).into_tool().unwrap();
    assert_eq!(tool.input_schema().unwrap().get("additionalProperties"), Some(&json!(false)));
}

#[test]
fn properties_are_found_behind_references_and_combinations() {
    let schema = json!({
        "$ref": "#/$defs/base",
        "allOf": [{ "properties": { "b": { "type": "string" } }, "required": ["b"] }],
        "$defs": { "base": { "properties": { "a": { "$ref": "#/$defs/list" } }, "required": ["a"] }, "list": { "type": "array" } }
    });
    with_input(&["ls", "./{b}", "{a*}"], schema.clone()).into_tool().unwrap();
    refused(with_input(&["ls", "./{b}", "{a}"], schema), Kind::Shape, "2:{a}", "is an array", "");
    let endless = json!({ "$ref": "#", "properties": { "a": { "$ref": "#/properties/a" } }, "required": ["a"] });
    with_input(&["ls", "./{a}"], endless).into_tool().unwrap();
}

#[test]
fn an_argument_does_not_complete_the_name_of_an_option() {
    for element in ["-{a}", "--{a}", "--with-{a}", "--{a}=1"] {
        refused(command(&["ls", element]), Kind::NamesOption, "1:{a}", "completes the name of an option", "as `enum`");
    }
    for element in ["-n{a}", "--n={a}", "-Dx={a}", "./-{a}", "{a}-"] {
        command(&["ls", element]).into_tool().unwrap();
    }
    command(&["ls", "--", "-{a}"]).into_tool().unwrap();
    let closed = json!({ "type": "object", "required": ["a"], "properties": { "a": { "enum": ["hard", "soft"] } } });
    with_input(&["git", "reset", "--{a}"], closed).into_tool().unwrap();
}

#[test]
fn end_of_options_never_moves_an_option_behind_it() {
    let mut git = command(&["git", "-C", "{path}", "log", "--max-count={n}"]);
    git.end_of_options = true;
    refused(git, Kind::OptionAfterOperands, "4", "`--max-count={n}` would stand behind the end of options", "before `{path}`");
    let mut twice = command(&["ls", "{a}", "--", "{b}"]);
    twice.end_of_options = true;
    refused(twice, Kind::OptionAfterOperands, "2", "`--`", "");
}

#[test]
fn an_argument_is_never_a_part_of_a_script() {
    let table: &[&[&str]] = &[
        &["sh", "-c", "grep {x} f"],
        &["/bin/bash", "-lc", "echo {x}"],
        &["env", "A=1", "zsh", "-e", "-c", "{x}; true"],
        &["python3", "-c", "print('{x}')"],
        &["perl", "-ne", "print if /{x}/"],
        &["node", "--eval", "f('{x}')"],
        &["sh", "-c", "-e", "grep {x} f"],
        &["python3", "-cprint({x})"],
        &["perl", "-nes/{x}/y/"],
        &["node", "--eval=f({x})"],
        &["cmd", "/c", "dir", "./{x}"],
        &["pwsh", "-Command", "{x}"],
    ];
    for argv in table {
        let error = command(argv).into_tool().unwrap_err();
        assert_eq!(error.issues[0].kind, Kind::InsideScript, "{argv:?}");
        assert!(error.issues[0].help.contains("an element of its own"));
    }
    let fine: &[&[&str]] = &[
        &["sh", "-c", "grep -- \"$1\" f", "sh", "./{x}"],
        &["sh", "-c", "{script}"],
        &["python3", "tool.py", "-c", "count={x}"],
        &["python3", "-c{script}"],
        &["python3", "-Wonce::{x}", "tool.py"],
        &["perl", "-Mre={x}", "tool.pl"],
        &["node", "--eval={script}"],
        &["sh", "./script.sh", "-c", "a{x}"],
        &["grep", "-c", "a{x}"],
    ];
    for argv in fine {
        command(argv).into_tool().unwrap_or_else(|error| panic!("{argv:?}: {error:#?}"));
    }
}

#[test]
fn variables_have_names() {
    for (name, value, kind) in [("", "1", Kind::VariableName), ("A=B", "1", Kind::VariableName), ("A", "\0", Kind::NulByte)] {
        let mut command = command(&["ls"]);
        command.env.set = vec![(name.to_owned(), value.to_owned())];
        refused(command, kind, &format!("env:{name}"), "", "");
    }
}

#[test]
fn a_command_without_schemas_gets_them_from_what_it_says() {
    let mut command = command(&["grep", "-n{n?}", "--", "{pattern}", "{files*}"]);
    command.stdout = Stdout::Lines;
    let tool = command.clone().into_tool().unwrap();
    assert_eq!(
        tool.input_schema(),
        Some(&json!({
            "type": "object",
            "properties": {
                "n": { "type": "string" },
                "pattern": { "type": "string" },
                "files": { "type": "array", "items": { "type": "string" } }
            },
            "required": ["pattern", "files"],
            "additionalProperties": false
        }))
    );
    assert_eq!(tool.output_schema(), Some(&json!({ "type": "array", "items": { "type": "string" } })));
    command.stdout = Stdout::Text;
    assert_eq!(command.clone().into_tool().unwrap().output_schema(), Some(&json!({ "type": "string" })));
    command.stdout = Stdout::Json;
    assert_eq!(command.into_tool().unwrap().output_schema(), None);
}

#[test]
fn the_declaration_is_carried_into_the_tool() {
    let mut command = command(&["ls"]);
    command.title = Some("List".into());
    command.origin.source = "files".into();
    command.examples = vec![toolwright::Example { input: json!({}), output: None }];
    let tool = command.clone().into_tool().unwrap();
    assert_eq!((tool.id(), tool.title(), tool.description()), ("probe", Some("List"), "A command under test"));
    assert_eq!(tool.effect(), Some(&toolwright::Effect::read()));
    assert_eq!(tool.examples().len(), 1);
    let origin = tool.origin().unwrap();
    let read = [&origin.source, &origin.kind, &origin.name, &origin.effect_from].map(|text| text.as_str());
    assert_eq!(read, ["files", "command", "probe", "declared"]);
    command.effect = None;
    let tool = command.into_tool().unwrap();
    assert_eq!((tool.effect(), tool.origin().unwrap().effect_from.as_str()), (None, ""));
}

#[test]
fn another_command_line_is_another_tool_for_a_run_and_other_words_are_not() {
    let print = |command: CommandTool| *Registry::new().with(command.into_tool().unwrap()).unwrap().get("probe").unwrap().run_fingerprint();
    let with = |change: &dyn Fn(&mut CommandTool)| {
        let mut command = command(&["cat", "--", "{file}"]);
        change(&mut command);
        print(command)
    };
    let same = with(&|_| {});
    assert_eq!(same, with(&|command| command.description = "In other words".into()));
    assert_eq!(same, with(&|command| command.timeout *= 2));
    let others: [&dyn Fn(&mut CommandTool); 5] = [
        &|command| command.argv = ["tac", "--", "{file}"].map(|text| ArgTemplate::parse(text).unwrap()).into(),
        &|command| command.cwd = Some("/tmp".into()),
        &|command| command.stdout = Stdout::Json,
        &|command| command.success_codes = vec![0, 1],
        &|command| command.env.set = vec![("A".to_owned(), "1".to_owned())],
    ];
    for other in others {
        assert_ne!(same, with(other));
    }
    // The value of a variable may be a secret, and is not told by a hash either.
    let variable = |value: &str| with(&|command| command.env.set = vec![("A".to_owned(), value.to_owned())]);
    assert_eq!(variable("1"), variable("2"));
}
