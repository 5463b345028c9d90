//! One read-only tool for an application that exists already: registered, sealed, run, described.
#![expect(clippy::print_stdout, reason = "an example prints")]

use toolwright::prelude::*;

struct AppCx {
    can_read: bool,
}

type App = Rt<AppCx>;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let policy = Policy::new().kinds(["read"]).audiences(["model"]).effects(["read"]).goal_exists(|goal| goal == "explain");
    let mut tools = Registry::with_options(Options::<App>::new().policy(policy).goal_ids(|| vec!["explain"]))?;
    tools.register_all([App::tool("read-source", "读取已允许说明")
        .kind("read")
        .reads()
        .goals(["explain"])
        .run_json(|_, _| async { Ok(json!("接口说明")) })])?;
    let tools = tools.seal();

    let result = tools.invoke(Invocation::new("read-source", json!({})), AppCx { can_read: true }).await?;
    println!("{}", result.value());
    let cx = AppCx { can_read: true };
    println!("{}", serde_json::to_string_pretty(&tools.describe(Some("model"), Some(&cx)))?);
    assert!(cx.can_read && tools.describe(Some("model"), Some(&cx)).len() == 1);
    Ok(())
}
