//! What every command begins with: the files, the user's grants, and the way out.

use std::path::{Component, Path, PathBuf};

use crate::args::{Cli, Command, Common};
use crate::code;
use crate::command;
use crate::config::{Config, Layer, load};
use crate::diagnostic::{self, Finding, Owner, Severity};
use crate::exit::Exit;
use crate::failure;
use crate::grant::{Grants, canonical, shell_word};
use crate::host::Host;
use crate::interrupt;
use crate::learned::LearnedFile;
use crate::lock::LockFile;
use crate::output::Output;
use crate::ownership;
use crate::paths;
use crate::trust::TrustStore;

/// One invocation of the command.
pub(crate) struct App {
    /// What every command takes.
    pub(crate) common: Common,
    /// Where results and messages go.
    pub(crate) output: Output,
}

/// Does what the command line says.
pub(crate) async fn run(cli: Cli) -> Exit {
    let Cli { mut common, command } = cli;
    common.file = common.file.map(load::in_folder);
    let output = Output::new(common.format, common.color, common.quiet);
    let mut app = App { common, output };
    // What starts nothing has nothing to end in order.
    if !matches!(command, Command::Explain { .. } | Command::Completions { .. } | Command::Trust { .. }) {
        interrupt::listen();
    }
    let exit = match command {
        Command::Check { path, offline } => {
            app.common.file = path.map(load::in_folder).or(app.common.file);
            command::check::check(&app, offline).await
        }
        Command::List { all } => command::list::list(&app, all).await,
        Command::Describe { tool } => command::describe::describe(&app, &tool).await,
        Command::Run(args) => command::run::run(&app, &args).await,
        Command::DryRun(args) => command::dry_run::dry_run(&app, &args, false).await,
        Command::Rehearse(args) => command::dry_run::dry_run(&app, &args, true).await,
        Command::Learn(args) => command::learn::learn(&app, &args).await,
        Command::Lock { yes } => command::lock::lock(&app, yes).await,
        Command::Graph { tool, drawing } => command::graph::graph(&app, &tool, drawing).await,
        Command::Explain { code } => command::explain::explain(output, code.as_deref()),
        Command::Schema(args) => command::schema::schema(&app, &args).await,
        Command::Completions { shell } => command::completions::completions(output, shell),
        Command::Trust { path, yes, revoke } => command::trust::trust(&app, load::in_folder(path), yes, revoke).await,
    };
    output.ended(exit)
}

impl App {
    /// The configuration, the user's own file first.
    ///
    /// # Errors
    /// When there is no file, or it cannot be read; that is told already.
    pub(crate) fn config(&self) -> Result<Config, Exit> {
        let mut config = Config::default();
        let environment = |name: &str| std::env::var(name).ok();
        let user = user_file();
        let project = self.project_file(user.is_some())?;
        for (path, name, layer) in user.into_iter().chain(project) {
            let twice = config.files.iter().any(|file| canonical(&file.path) == canonical(&path));
            if twice {
                continue;
            }
            match load::read(&path, &name) {
                Ok(source) => {
                    load::add(&mut config, &source, &path, layer, &environment);
                    let learned = LearnedFile::read(&path, &name, layer, &mut config.findings);
                    config.learned.extend(learned);
                }
                Err(finding) => return Err(self.fail(vec![*finding], Exit::Usage)),
            }
        }
        Ok(config)
    }

    /// The configuration with what is kept beside it of MCP servers: for commands that can do without asking them.
    ///
    /// # Errors
    /// As [`App::config`].
    pub(crate) fn config_with_locks(&self) -> Result<Config, Exit> {
        let mut config = self.config()?;
        let Config { files, locks, findings, .. } = &mut config;
        for file in files {
            locks.extend(LockFile::read(&file.path, file.source.name(), file.layer, findings));
        }
        Ok(config)
    }

    fn project_file(&self, has_user_file: bool) -> Result<Option<(PathBuf, String, Layer)>, Exit> {
        if let Some(path) = &self.common.file {
            let name = path.display().to_string();
            return Ok(Some((path.clone(), name, Layer::Project)));
        }
        let here = std::env::current_dir().unwrap_or_default();
        match load::find(&here) {
            Some(path) => {
                let name = relative(&path, &here);
                if let Some(why) = ownership::planted(&path) {
                    let file = shell_word(&name);
                    let finding = Finding::error(code::UNREADABLE, format!("`{name}` is not read, since nobody named it: {why}"))
                        .help(format!("a file from someone else may run anything; when you know it, name it: `--file {file}`"));
                    return Err(self.fail(vec![finding], Exit::Usage));
                }
                Ok(Some((PathBuf::from(&name), name, Layer::Project)))
            }
            None if has_user_file => Ok(None),
            None => {
                let message = "there is no `toolwright.yaml` here or in a folder above";
                let finding = Finding::error(code::UNREADABLE, message).help("write one, or name a file with `--file FILE`");
                Err(self.fail(vec![finding], Exit::Usage))
            }
        }
    }

    /// What the user allows.
    pub(crate) fn grants(&self, config: &Config) -> Grants {
        Grants::decide(config, &self.common.allow, self.trust_store().as_ref())
    }

    /// Where accepted files are remembered.
    pub(crate) fn trust_store(&self) -> Option<TrustStore> {
        paths::data_dir(|name| std::env::var_os(name)).map(|dir| TrustStore::new(&dir))
    }

    /// Whether the file as a whole can be used; what is wrong with it is told.
    ///
    /// # Errors
    /// When it cannot.
    pub(crate) fn usable(&self, config: &Config) -> Result<(), Exit> {
        let of_the_file: Vec<Finding> = config
            .findings
            .iter()
            .filter(|finding| finding.severity == Severity::Error && finding.owner == Owner::File)
            .map(|finding| finding.clone().map_text(|text| config.secrets.mask(text)))
            .collect();
        match of_the_file.is_empty() {
            true => Ok(()),
            false => Err(self.fail(of_the_file, Exit::DoesNotCheck)),
        }
    }

    /// Whether every `--allow` names a tool; what names none is told.
    ///
    /// # Errors
    /// When one does not: a slip of the pen there allows nothing, and must not pass for a yes.
    pub(crate) fn allows_what_is_there(&self, host: &Host) -> Result<(), Exit> {
        match host.misnamed() {
            none if none.is_empty() => Ok(()),
            misnamed => Err(self.fail(misnamed, Exit::Usage)),
        }
    }

    /// Tells that a rule refused the call before anything ran.
    pub(crate) fn refuse(&self, mut findings: Vec<Finding>) -> Exit {
        diagnostic::sort(&mut findings);
        failure::refused(self.output, &findings);
        Exit::Refused
    }

    /// Tells what is wrong, in the form that was asked for, and how the command ends.
    pub(crate) fn fail(&self, mut findings: Vec<Finding>, exit: Exit) -> Exit {
        diagnostic::sort(&mut findings);
        self.output.fail(&findings, exit)
    }

    /// Tells that an interrupt came before a tool was started.
    pub(crate) fn interrupted(&self, exit: Exit) -> Exit {
        let finding = Finding::error("cancelled", "interrupted before a tool was started").help("no tool ran");
        self.fail(vec![finding], exit)
    }
}

fn user_file() -> Option<(PathBuf, String, Layer)> {
    let dir = paths::config_dir(|name| std::env::var_os(name))?;
    let path = dir.join("config.yaml");
    let name = path.display().to_string();
    path.is_file().then_some((path, name, Layer::User))
}

/// The way to a file of this folder or of one above it.
fn relative(path: &Path, here: &Path) -> String {
    let Some(folder) = path.parent() else {
        return path.display().to_string();
    };
    let up = here.strip_prefix(folder).map_or(0, |below| below.components().filter(|part| matches!(part, Component::Normal(_))).count());
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
    format!("{}{}", "../".repeat(up), name.unwrap_or_default())
}
