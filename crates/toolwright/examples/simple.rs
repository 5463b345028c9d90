//! The simplest thing: two tools, sealed, described, run.
#![expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "an example is a host: it prints and has a clock"
)]

use toolwright::prelude::*;

#[derive(Deserialize, JsonSchema)]
struct Add {
    a: i64,
    b: i64,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let tools = Registry::new()
        .with(tool("add", "Adds two integers").reads().run_sync(|i: Add, _| Ok(i.a + i.b)))?
        .with(
            tool("now", "Seconds since the epoch")
                .reads()
                .run(|_: NoInput, _| async move { Ok(std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH)?.as_secs()) }),
        )?
        .seal();

    let out = tools.invoke(Invocation::new("add", json!({ "a": 2, "b": 40 })), ()).await?;
    assert_eq!(out.parse::<i64>()?, 42);
    println!("2 + 40 = {}", out.value());
    println!("{}", serde_json::to_string_pretty(&tools.describe(Some("model"), None))?);

    let Err(bad) = tools.invoke(Invocation::new("add", json!({ "a": "two" })), ()).await else {
        return Err("arguments that do not fit were taken".into());
    };
    assert_eq!(bad.code(), "invalid_input");
    println!("{bad}");
    assert!(tools.invoke(Invocation::new("now", json!({})), ()).await?.parse::<u64>()? > 0);
    Ok(())
}
