//! How often values were validated against the schemas of a tool, for tests about what is validated and what is not.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::runtime::Runtime;
use crate::schema::CompiledSchema;
use crate::tool::ToolDef;

/// How often values were validated against a tool's schemas since [`SchemaChecks::of`] was first asked about it.
///
/// Copies of a tool count together.
///
/// ```
/// use toolwright::testing::SchemaChecks;
/// use toolwright::{Invocation, Registry, json, tool};
/// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
/// let schema = json!({ "type": "object" });
/// let echo = tool("echo", "Gives back what it gets").reads().input_schema(schema).run_json(|input, _call| async move { Ok(input) });
/// let catalog = Registry::new().with(echo)?.seal();
/// let echo = catalog.get("echo").ok_or("it is there")?.tool();
/// assert_eq!(SchemaChecks::of(echo), SchemaChecks { input: 0, output: 0 });
/// catalog.invoke(Invocation::new("echo", json!({})), ()).await?;
/// assert_eq!(SchemaChecks::of(echo), SchemaChecks { input: 1, output: 0 });
/// # Ok::<(), Box<dyn std::error::Error>>(()) })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SchemaChecks {
    /// Of arguments.
    pub input: u64,
    /// Of outputs.
    pub output: u64,
}

/// The count of one schema. Only where a test asked for it, so that nothing else meets at it.
#[derive(Default)]
pub(crate) struct Tally(AtomicU64);

impl Tally {
    pub(crate) fn count(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn counted(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

impl SchemaChecks {
    /// Those of one tool; from the first time on they are counted.
    pub fn of<R: Runtime>(tool: &ToolDef<R>) -> Self {
        let checks = |schema: &Option<CompiledSchema>| schema.as_ref().map_or(0, CompiledSchema::checks);
        Self { input: checks(&tool.0.input), output: checks(&tool.0.output) }
    }
}
