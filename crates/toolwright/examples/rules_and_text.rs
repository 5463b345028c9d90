//! Rules for the prompt and a change of what people see, from the same registration as the tool.
#![expect(clippy::print_stdout, reason = "an example prints")]

use toolwright::prelude::*;

struct AppCx {
    can_read: bool,
}

type App = Rt<AppCx>;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let policy = Policy::new().kinds(["read"]).audiences(["model"]).effects(["read"]).goal_exists(|goal| goal == "explain");
    let mut tools = Registry::with_options(Options::<App>::new().policy(policy).goal_ids(|| vec!["explain"]))?;
    tools.register(
        App::tool("read-source", "读取已允许说明")
            .kind("read")
            .reads()
            .goals(["explain"])
            // Whether it is offered at all. Who may really call it is decided at the call, by `authorize`.
            .available(|cx| cx.can_read)
            .rules(|_| vec![Rule::new(10, "只根据真实读取结果回答。")])
            .visible_text(|text, _| text.trim().to_owned())
            .run_json(|_, _| async { Ok(json!("接口说明")) }),
    )?;
    let tools = tools.seal();

    let (reader, stranger) = (AppCx { can_read: true }, AppCx { can_read: false });
    println!("{}", tools.task_rules(&reader));
    println!("{}", tools.visible_text(" 已确认说明 ", &reader)?);
    assert!(tools.describe(Some("model"), Some(&stranger)).is_empty());
    // A rule for a tool that cannot be called would mislead; a change that restricts stays in force.
    assert_eq!(tools.task_rules(&stranger), "");
    assert_eq!(tools.visible_text(" 已确认说明 ", &stranger)?, "已确认说明");
    Ok(())
}
