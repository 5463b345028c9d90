//! Literal arguments of steps that the command line of their tool refuses in every run.

use toolwright::{Severity, SpecIssue, Text, Value};

use super::Build;
use crate::config::composite::CompositeEntry;
use crate::config::source::{CommandEntry, Source, SourceKind};
use crate::wire;

/// What stands in the place of a value that only a run knows; no command line refuses it.
const ANY: &str = "…";

impl Build<'_> {
    /// What the commands behind the steps of a composite say about the values that stand in the file.
    pub(super) fn refused_literals(&self, entry: &CompositeEntry) -> Vec<SpecIssue> {
        let steps = entry.spec.get("steps").and_then(Value::as_array).unwrap_or_default();
        let refused = steps.iter().enumerate().flat_map(|(index, step)| self.refused_of(step, &format!("/steps/{index}/inputMapping")));
        refused.collect()
    }

    fn refused_of(&self, step: &Value, pointer: &str) -> Vec<SpecIssue> {
        let (Some(id), Some(mapping)) = (step.get("tool").and_then(Value::as_str), step.get("inputMapping")) else { return Vec::new() };
        let Some((source, command)) = self.command_behind(id) else { return Vec::new() };
        let members = || mapping.as_object().into_iter().flat_map(|mapping| mapping.iter());
        let known = Value::object(members().filter(|(_, value)| !is_reference(value)).map(|(name, value)| (name.clone(), sent(value))));
        let may_be_left_out = |value: &Value| value.as_str().is_some_and(|text| text.ends_with('?'));
        let (unsure, sure): (Vec<_>, Vec<_>) =
            members().filter(|(_, value)| is_reference(value)).partition(|(_, value)| may_be_left_out(value));
        let names = |members: &[(&Text, &Value)]| members.iter().map(|(name, _)| name.to_string()).collect::<Vec<_>>();
        let (unsure, sure) = (names(&unsure), names(&sure));
        let command = wire::command_line(source, command);
        let with = |unknown: &[&String]| command.refused(&known, &unknown.iter().map(|name| name.as_str()).collect::<Vec<_>>());
        let all = with(&sure.iter().chain(&unsure).collect::<Vec<_>>());
        // An element of the command line is left out when something in it is.
        let refused =
            with(&sure.iter().collect::<Vec<_>>()).into_iter().filter(|refused| all.iter().any(|other| other.pointer == refused.pointer));
        let issue = |refused: toolwright_sources::command::RefusedArgument| SpecIssue {
            severity: Severity::Error,
            code: "invalid_input",
            message: format!("no run of `{id}` takes this: {}", refused.message),
            help: Some(refused.help),
            pointer: format!("{pointer}{}", refused.pointer),
            span: None,
            fix: None,
        };
        refused.map(issue).collect()
    }

    /// The command line that a tool is, whatever it is called now.
    fn command_behind(&self, id: &str) -> Option<(&Source, &CommandEntry)> {
        let tool = self.registry.get(id)?;
        let origin = tool.origin().filter(|origin| origin.kind.as_str() == "command")?;
        let source = self.config.sources.iter().find(|source| source.name == origin.source.as_str())?;
        let SourceKind::Commands(commands) = &source.kind else { return None };
        Some((source, commands.iter().find(|command| command.id == origin.name.as_str())?))
    }
}

fn is_reference(value: &Value) -> bool {
    value.as_str().is_some_and(|text| text.starts_with('$') && !text.starts_with("$$"))
}

/// What is sent of a value that stands in the file, with something harmless for what only a run knows.
fn sent(value: &Value) -> Value {
    match value {
        Value::String(_) if is_reference(value) => Value::from(ANY),
        Value::String(text) => Value::from(text.strip_prefix('$').filter(|rest| rest.starts_with('$') && rest.len() > 1).unwrap_or(text)),
        Value::Array(items) => Value::array(items.as_slice().iter().map(sent)),
        Value::Object(members) => Value::object(members.iter().map(|(name, value)| (name.clone(), sent(value)))),
        other => other.clone(),
    }
}
