//! What must not be shown of a run: what its configuration names as secret, and arguments that a tool takes in secret.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use toolwright::Value;
use toolwright::journal::{Begin, Record, RunHistory};

use crate::app::{App, add_locks};
use crate::code;
use crate::diagnostic::{Finding, Severity};
use crate::exit::Exit;
use crate::host::{Host, Want};
use crate::input;
use crate::secret::Secrets;

/// What stands for arguments that are not shown.
pub(super) const HIDDEN: &str = "[not shown: its tool is not known here, and may take secrets]";

/// Before the place of a configuration, in what a run keeps to make its tools again.
const CONFIGURATION: &str = "configuration:";

/// What a run keeps of the configuration that it began with.
pub(in crate::command) fn context_key(configuration: &Path) -> String {
    format!("{CONFIGURATION}{}", configuration.display())
}

/// The configuration that a run began with.
pub(in crate::command) fn configuration(history: &RunHistory) -> Option<PathBuf> {
    let key = history.run.context_key.as_deref()?;
    key.strip_prefix(CONFIGURATION).map(PathBuf::from)
}

/// Secrets of a run, as far as they are known.
#[derive(Debug, Default)]
pub(in crate::command) struct Masks {
    secrets: Secrets,
    /// What the tools take, by id; none when nobody says that the run has a configuration.
    inputs: Option<BTreeMap<String, Option<Value>>>,
}

impl Masks {
    /// What must not be shown, wherever it stands.
    pub(in crate::command) fn secrets(&self) -> &Secrets {
        &self.secrets
    }

    /// What the configuration of the run, that of this folder and the schemas of tools say is not to be shown.
    ///
    /// # Errors
    /// When arguments and outputs are to be shown and the configuration cannot be read; that is told already.
    pub(in crate::command) async fn of(app: &App, history: &RunHistory, io: bool) -> Result<Self, Exit> {
        let began_with = configuration(history);
        let named = app.common.file.is_some();
        let mut masks = Self::default();
        let mut whole = began_with.is_none();
        for path in [app.project_path(), began_with.clone()].into_iter().flatten() {
            let mut common = app.common.clone();
            common.file = Some(path.clone());
            let Ok(mut config) = (App { common, output: app.output }).read_config() else { continue };
            add_locks(&mut config);
            masks.secrets.extend(&config.secrets);
            // A file with mistakes does not say all that is secret: the variable of a secret may not be set here.
            let says_all = !config.findings.iter().any(|finding| finding.severity == Severity::Error);
            whole |= says_all
                && (named || began_with.as_deref().is_some_and(|began_with| began_with == std::path::absolute(&path).unwrap_or_default()));
            if io {
                let grants = app.grants(&config);
                let host = Host::open(config, &grants, &Want::Locked { ask: false }).await;
                let known = masks.inputs.get_or_insert_default();
                known.extend(host.tools.into_iter().map(|tool| (tool.id, tool.input)));
            }
        }
        if let Some(began_with) = began_with.filter(|_| io && !whole) {
            let message =
                format!("what is secret in this run cannot be known: its configuration `{}` cannot be used", began_with.display());
            let help = "`toolwright check` shows what is wrong with it, also a variable that is not set here; name another with `--file FILE`, or see everything as it was written, secrets too, with `toolwright journal export RUN`";
            return Err(app.fail(vec![Finding::error(code::USAGE, message).help(help)], Exit::Usage));
        }
        if io {
            masks.take_arguments(history);
        }
        Ok(masks)
    }

    /// Hides arguments that are secret wherever they are told again.
    fn take_arguments(&mut self, history: &RunHistory) {
        let begun = history.records.iter().filter_map(|record| if let Record::Begin(begin) = record { Some(begin) } else { None });
        for begin in begun {
            let schema = self.inputs.as_ref().and_then(|inputs| inputs.get(begin.tool())?.as_ref());
            let hidden: Vec<String> = input::hidden(&begin.input, schema).into_iter().map(str::to_owned).collect();
            hidden.iter().for_each(|text| self.secrets.add(text));
        }
    }

    /// A text as it may be shown.
    pub(super) fn text(&self, text: &str) -> String {
        self.secrets.mask(text)
    }

    /// A value as it may be shown.
    pub(super) fn value(&self, value: &Value) -> Value {
        self.secrets.mask_value(value)
    }

    /// The arguments of a call as they may be shown; none when nobody knows what of them is secret.
    pub(super) fn input(&self, begin: &Begin) -> Option<Value> {
        let known = self.inputs.as_ref().is_none_or(|inputs| inputs.contains_key(begin.tool()));
        known.then(|| self.value(&begin.input))
    }
}
