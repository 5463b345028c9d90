//! Composites over tools that note what reaches them.

use toolwright::{
    CallError, Catalog, Composite, Declaration, Fault, Invocation, Options, Policy, RegisterError, Registry, Runtime, StepError,
    ToolBuilder, ToolDef, ToolResult, Value,
};

use crate::lifecycle_fixture::{App, AppCx, Notes, block_on};

/// A composite of these steps: name, tool, mapping.
pub(crate) fn steps(id: &str, steps: &[(&str, &str, Value)]) -> Composite<App> {
    let head = Composite::of(App::tool(id.to_owned(), format!("The composite {id}")));
    steps.iter().fold(head, |composite, (name, tool, mapping)| composite.step(*name, *tool, mapping.clone()))
}

pub(crate) fn writes(id: &str) -> ToolBuilder<App> {
    App::tool(id.to_owned(), format!("The tool {id}")).writes()
}

/// Answers its arguments, and notes the tool's name and them.
pub(crate) fn shows(builder: ToolBuilder<App>, log: &Notes) -> ToolDef<App> {
    let log = log.clone();
    builder.run_json(move |input: Value, call| {
        log.note(format!("{} {input}", call.tool()));
        std::future::ready(Ok(input))
    })
}

/// Tools and composites in this order.
pub(crate) struct Tools(pub(crate) Registry<App>);

impl Tools {
    pub(crate) fn new(policy: Policy<App>) -> Self {
        Self::with(Options::new().policy(policy))
    }

    pub(crate) fn with(options: Options<App>) -> Self {
        Self(Registry::with_options(options).unwrap())
    }

    pub(crate) fn add(mut self, tool: impl Into<Declaration<App>>) -> Self {
        self.0.register(tool).unwrap();
        self
    }

    pub(crate) fn refuses(mut self, tool: impl Into<Declaration<App>>) -> RegisterError {
        self.0.register(tool).unwrap_err()
    }

    pub(crate) fn seal(self) -> Catalog<App> {
        self.0.seal()
    }
}

pub(crate) fn run(catalog: &Catalog<App>, tool: &str, input: Value, cx: &std::sync::Arc<AppCx>) -> Result<ToolResult, CallError> {
    block_on(catalog.invoke(Invocation::new(tool, input), cx.clone()))
}

/// The step that it stopped at.
pub(crate) fn stopped(error: &CallError) -> &StepError {
    match error.fault() {
        Fault::Step(step) => step,
        _ => panic!("{error:?}"),
    }
}
