//! A call that is made under the name of a run, again perhaps: whether anything of it would run.

use super::{Catalog, ResumeOptions};
use crate::error::CallError;
use crate::journal::Journal;
use crate::runtime::Runtime;
use crate::value::Value;

/// What a call under the name of a run comes to; the page of [`Catalog::again`] has an example.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Again {
    /// Something runs: from the beginning, or on from where it stopped.
    Runs,
    /// It ended well before: its result is told again, and nothing runs.
    Told,
}

impl<R: Runtime> Catalog<R> {
    /// What a call of this tool with this input under the name of a run would come to, before it is made: for whoever has something to
    /// prepare only where it runs. Of another run of that name, and of one that cannot be read, the call itself says so.
    ///
    /// ```
    /// use toolwright::{Again, Invocation, MemoryJournal, Registry, json, tool};
    /// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
    /// let echo = tool("echo", "Echoes").reads().run_json(|input, _call| async move { Ok(input) });
    /// let catalog = Registry::new().with(echo)?.seal();
    /// let journal = std::sync::Arc::new(MemoryJournal::new());
    /// let input = json!({});
    /// let again = || catalog.again(&*journal, "order 7", "echo", &input);
    /// assert_eq!(again().await?, Again::Runs);
    /// catalog.invoke(Invocation::new("echo", json!({})).run_id("order 7").journal(journal.clone()), ()).await?;
    /// assert_eq!(again().await?, Again::Told);
    /// # Ok::<(), Box<dyn std::error::Error>>(()) })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// When the run was begun with tools that are others now ([`may_resume`](Self::may_resume)): nothing of it is touched.
    pub async fn again(&self, journal: &dyn Journal, run: &str, tool: &str, input: &Value) -> Result<Again, CallError> {
        match journal.load(run).get().await {
            Ok(Some(history)) if history.run.tool == *tool && history.run.input == *input => {
                self.may_resume(&history, &ResumeOptions::new())?;
                Ok(if history.end().is_some_and(|end| end.ok) { Again::Told } else { Again::Runs })
            }
            _ => Ok(Again::Runs),
        }
    }
}
