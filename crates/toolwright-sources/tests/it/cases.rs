//! The cases from the field that are about command lines, as they were written down.

use toolwright::Value;

use crate::stage::{detail, fails, print_args, printed, run};

const CASE: &str = include_str!("../cases/68-cli-argument-safety.json");

#[tokio::test]
async fn c68_cli_argument_safety() {
    let case = Value::parse(CASE).unwrap();
    let calls = case.pointer("/expected/calls").and_then(Value::as_array).unwrap();
    assert_eq!(calls.len(), 3);
    for guarded in [false, true] {
        for call in calls {
            let mut command = print_args(&["{pattern}", "{file}"]);
            command.input_schema = case.pointer("/tools/0/inputSchema").cloned();
            command.end_of_options = guarded;
            let args = call.get("args").unwrap().clone();
            let refused = call.get("error_kind").is_some();
            if refused && !guarded {
                let error = fails(command, args).await;
                assert_eq!(error.code(), "invalid_input");
                assert_eq!(detail(&error, "issues").pointer("/0/pointer").and_then(Value::as_str), Some("/pattern"));
                continue;
            }
            let mut argv: Vec<String> = if guarded { vec!["--".to_owned()] } else { Vec::new() };
            let named = ["pattern", "file"].map(|name| args.get(name).and_then(Value::as_str).unwrap().to_owned());
            argv.extend(named);
            if let Some(expected) = call.get("argv") {
                let expected: Vec<String> = expected.deserialize().unwrap();
                assert!(argv.ends_with(&expected), "the case itself");
            }
            assert_eq!(printed(&run(command, args).await.unwrap()), argv);
        }
    }
}
