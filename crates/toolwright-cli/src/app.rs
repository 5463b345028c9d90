//! What every command begins with: the files, the user's grants, and the way out.

use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use toolwright_sqlite::SqliteJournal;

use crate::args::{Cli, Command, Common, Format, JournalAt};
use crate::code;
use crate::command;
use crate::config::{Config, Layer, load};
use crate::diagnostic::{self, Finding, Owner, Severity, SourceText};
use crate::exit::Exit;
use crate::failure;
use crate::grant::{Grants, canonical, shell_word};
use crate::host::Host;
use crate::interrupt;
use crate::journal;
use crate::learned::LearnedFile;
use crate::lock::{self, Fault, LockFile};
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
        Command::Check { path, how } => {
            app.common.file = path.map(load::in_folder).or(app.common.file);
            command::check::check(&app, &how).await
        }
        Command::List { all, ask, as_clients, seen } => command::list::list(&app, all, ask, as_clients.then_some(&seen)).await,
        Command::Serve(args) => command::serve::serve(&app, &args).await,
        Command::Describe { tool } => command::describe::describe(&app, &tool).await,
        Command::Run(args) => command::run::run(&app, &args).await,
        Command::DryRun(args) => command::dry_run::dry_run(&app, &args, false).await,
        Command::Rehearse(args) => command::dry_run::dry_run(&app, &args, true).await,
        Command::Runs(args) => command::runs::runs(&app, &args).await,
        Command::Show(args) => command::show::show(&app, &args).await,
        Command::Approve(args) => command::approve::approve(&app, &args).await,
        Command::Resume(args) => command::resume::resume(&app, &args).await,
        Command::Fork(args) => command::fork::fork(&app, &args).await,
        Command::Journal { at, what } => command::journal::journal(&app, &at, what).await,
        Command::Learn(args) => command::learn::learn(&app, &args).await,
        Command::Lock { yes } => command::lock::lock(&app, yes).await,
        Command::Diff => command::diff::diff(&app).await,
        Command::Doctor => command::doctor::doctor(&app).await,
        Command::Add(args) => command::add::add(&app, &args).await,
        Command::Connect(args) => command::connect::connect(&app, &args),
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
        self.read_config().map_err(|finding| self.fail(vec![*finding], Exit::Usage))
    }

    /// The same, and nothing is told.
    ///
    /// # Errors
    /// When there is no file, or it cannot be read.
    pub(crate) fn read_config(&self) -> Result<Config, Box<Finding>> {
        self.config_reading(None)
    }

    /// The same; the project's file may be given with the text that it will have.
    ///
    /// # Errors
    /// As [`App::read_config`].
    pub(crate) fn config_reading(&self, instead: Option<(&Path, &Arc<SourceText>)>) -> Result<Config, Box<Finding>> {
        self.read_places(&self.places(instead)?, instead)
    }

    fn read_places(&self, places: &[Written], instead: Option<(&Path, &Arc<SourceText>)>) -> Result<Config, Box<Finding>> {
        let mut config = Config::default();
        let environment = |name: &str| std::env::var(name).ok();
        for Written { path, name, layer } in places {
            let source = match instead.filter(|_| *layer == Layer::Project) {
                Some((_, text)) => Arc::clone(text),
                None => load::read(path, name)?,
            };
            load::add(&mut config, &source, path, *layer, &environment);
            let learned = LearnedFile::read(path, name, *layer, &mut config.findings);
            config.learned.extend(learned);
        }
        Ok(config)
    }

    /// The files of the configuration, the user's first, each once.
    fn places(&self, instead: Option<(&Path, &Arc<SourceText>)>) -> Result<Vec<Written>, Box<Finding>> {
        let user = user_file();
        let project = match instead {
            Some((path, text)) => Some(Written { path: path.to_owned(), name: text.name().to_owned(), layer: Layer::Project }),
            None => self.project_file(user.is_some())?,
        };
        let mut places: Vec<Written> = Vec::new();
        for place in user.into_iter().chain(project) {
            if !places.iter().any(|other| canonical(&other.path) == canonical(&place.path)) {
                places.push(place);
            }
        }
        Ok(places)
    }

    /// The configuration with what is kept beside it of MCP servers: for commands that can do without asking them.
    ///
    /// # Errors
    /// As [`App::config`].
    pub(crate) fn config_with_locks(&self) -> Result<Config, Exit> {
        self.read_config_with_locks().map_err(|finding| self.fail(vec![*finding], Exit::Usage))
    }

    /// The same, and nothing is told. Nothing in a lock depends on the file that it stands beside, so beside a large one that file
    /// is read on a thread of its own.
    ///
    /// # Errors
    /// As [`App::read_config`].
    pub(crate) fn read_config_with_locks(&self) -> Result<Config, Box<Finding>> {
        let places = self.places(None)?;
        let locks = || places.iter().map(Written::lock).collect::<Vec<_>>();
        let read = || self.read_places(&places, None);
        if !places.iter().any(Written::has_large_lock) {
            return Ok(read()?.with_locks(locks()));
        }
        std::thread::scope(|scope| {
            let apart = || {
                let config = read();
                // Not here, but soon: what judges schemas takes time to be built.
                toolwright::schema::warm();
                config
            };
            let apart = std::thread::Builder::new().name("configuration".to_owned()).spawn_scoped(scope, apart).ok();
            let locks = locks();
            let config = apart.and_then(|apart| apart.join().ok()).unwrap_or_else(read)?;
            Ok(config.with_locks(locks))
        })
    }

    fn project_file(&self, has_user_file: bool) -> Result<Option<Written>, Box<Finding>> {
        let of_project = |path, name| Some(Written { path, name, layer: Layer::Project });
        if let Some(path) = &self.common.file {
            let name = path.display().to_string();
            return Ok(of_project(path.clone(), name));
        }
        let here = std::env::current_dir().unwrap_or_default();
        match load::find(&here) {
            Some(path) => {
                let name = relative(&path, &here);
                if let Some(why) = ownership::planted(&path) {
                    let file = shell_word(&name);
                    let finding = Finding::error(code::UNREADABLE, format!("`{name}` is not read, since nobody named it: {why}"))
                        .help(format!("a file from someone else may run anything; when you know it, name it: `--file {file}`"));
                    return Err(Box::new(finding));
                }
                Ok(of_project(PathBuf::from(&name), name))
            }
            None if has_user_file => Ok(None),
            None => {
                let message = "there is no `toolwright.yaml` here or in a folder above";
                let finding = Finding::error(code::UNREADABLE, message).help("write one, or name a file with `--file FILE`");
                Err(Box::new(finding))
            }
        }
    }

    /// The project's configuration that counts here, whether it can be read or not.
    pub(crate) fn project_path(&self) -> Option<PathBuf> {
        let found = || std::env::current_dir().ok().and_then(|here| load::find(&here));
        self.common.file.clone().or_else(found)
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

/// The option that names the journal which this command line names.
fn journal_option(at: &JournalAt) -> String {
    let journal = at.journal.as_ref().map(|journal| format!(" --journal {}", shell_word(&journal.display().to_string())));
    journal.unwrap_or_default()
}

/// A run that is kept.
#[derive(Clone, Debug)]
pub(crate) struct Kept {
    /// Its id.
    pub(crate) id: String,
    /// The command that takes it up again, as it can be copied.
    pub(crate) resume: String,
    /// The command to which tools are added that may have changed.
    pub(crate) accepting: String,
    /// The options of a command about what is kept there, with a blank before them; none where it is the usual place.
    pub(crate) options: String,
}

impl App {
    /// The run of this id, and how this command line would take it up again.
    pub(crate) fn kept(&self, id: &str, at: &JournalAt) -> Kept {
        let resume = self.again(&format!("resume {}", shell_word(id)), at);
        Kept { id: id.to_owned(), accepting: resume.clone(), resume, options: journal_option(at) }
    }

    /// A command about this run that needs nothing but the journal.
    pub(crate) fn about(&self, word: &str, id: &str, at: &JournalAt) -> String {
        format!("toolwright {word} {}{}", shell_word(id), journal_option(at))
    }

    /// A command with the options that this command line has for every command.
    pub(crate) fn again(&self, words: &str, at: &JournalAt) -> String {
        let mut command = format!("toolwright {words}");
        let mut option = |name: &str, value: &str| command.push_str(&format!(" --{name} {}", shell_word(value)));
        if let Some(file) = &self.common.file {
            option("file", &file.display().to_string());
        }
        // What only this shell says has to be said in another one.
        let journal = at.journal.clone().map(PathBuf::into_os_string).or_else(journal::variable);
        if let Some(journal) = journal {
            option("journal", &journal.to_string_lossy());
        }
        self.common.allow.iter().for_each(|tool| option("allow", tool));
        command
    }

    /// Opens the journal to read, apart from everything else; none when there is none yet.
    ///
    /// # Errors
    /// When it cannot be used; that is told already.
    pub(crate) async fn journal_to_read(&self, at: &JournalAt) -> Result<Option<(SqliteJournal, PathBuf)>, Exit> {
        let (path, named) = self.journal_file(at)?;
        let opened = self.apart({
            let path = path.clone();
            move || journal::read(&path, named)
        });
        match opened.await? {
            Ok(journal) => {
                if let Some(Err(error)) = journal.as_ref().map(SqliteJournal::intact)
                    && self.output.format != Format::Json
                {
                    let error = crate::style::flat(&error.to_string());
                    self.output.note(&format!("warning: {error}; `toolwright journal verify` says more\n"));
                }
                Ok(journal.map(|journal| (journal, path)))
            }
            Err(finding) => Err(self.fail(vec![*finding], Exit::JournalUnavailable)),
        }
    }

    /// Opens the journal to write, apart from everything else.
    ///
    /// # Errors
    /// When it cannot be used; that is told already.
    pub(crate) async fn journal_to_write(&self, path: &Path) -> Result<SqliteJournal, Exit> {
        let path = path.to_owned();
        let opened = self.apart(move || journal::open(&path)).await?;
        opened.map_err(|finding| self.fail(vec![*finding], Exit::JournalUnavailable))
    }

    /// The file that runs are kept in, and whether somebody named it.
    ///
    /// # Errors
    /// When runs are kept nowhere; that is told already.
    pub(crate) fn journal_file(&self, at: &JournalAt) -> Result<(PathBuf, bool), Exit> {
        match journal::Place::of(at.journal.as_deref()) {
            Ok(journal::Place::File { path, named }) => Ok((path, named)),
            Ok(journal::Place::Nowhere) => {
                let finding =
                    Finding::error(code::USAGE, "this needs a journal, and `none` keeps nothing").help("name one with `--journal PATH`");
                Err(self.fail(vec![finding], Exit::Usage))
            }
            Err(finding) => Err(self.fail(vec![*finding], Exit::JournalUnavailable)),
        }
    }

    /// Does what blocks on a thread of its own; an interrupt leaves it.
    ///
    /// # Errors
    /// When an interrupt came first; that is told already.
    pub(crate) async fn apart<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> Result<T, Exit> {
        match interrupt::until_first(tokio::task::spawn_blocking(work)).await {
            Some(Ok(done)) => Ok(done),
            Some(Err(_)) => Err(Exit::Bug),
            None => Err(self.interrupted(Exit::ToolFailed)),
        }
    }
}

/// What is kept beside the files of MCP servers.
pub(crate) fn add_locks(config: &mut Config) {
    let files = config.files.iter();
    let places = files.map(|file| Written { path: file.path.clone(), name: file.source.name().to_owned(), layer: file.layer });
    let locks: Vec<_> = places.map(|place| place.lock()).collect();
    config.add_locks(locks);
}

/// A file of the configuration, and what people call it.
struct Written {
    path: PathBuf,
    name: String,
    layer: Layer,
}

/// From this size on a lock is read beside its configuration, in bytes: a thread costs less than so much text.
const LOCK_APART_BYTES: u64 = 64 * 1024;

impl Written {
    /// What is kept beside it of MCP servers, and what is wrong with that.
    fn lock(&self) -> (Option<LockFile>, Vec<Fault>) {
        let mut faults = Vec::new();
        let lock = LockFile::read(&self.path, &self.name, self.layer, &mut faults);
        (lock, faults)
    }

    fn has_large_lock(&self) -> bool {
        let lock = self.path.with_file_name(lock::KIND.file);
        std::fs::metadata(lock).is_ok_and(|found| found.len() >= LOCK_APART_BYTES)
    }
}

impl App {
    /// Every file that the configuration is read from, or would be if it were there.
    pub(crate) fn watched_files(&self) -> Vec<PathBuf> {
        let user = paths::config_dir(|name| std::env::var_os(name)).map(|dir| dir.join("config.yaml"));
        let configs = user.into_iter().chain(self.project_path());
        configs
            .flat_map(|path| ["toolwright.lock", "toolwright.learned.json"].map(|name| path.with_file_name(name)).into_iter().chain([path]))
            .collect()
    }
}

fn user_file() -> Option<Written> {
    let dir = paths::config_dir(|name| std::env::var_os(name))?;
    let path = dir.join("config.yaml");
    let name = path.display().to_string();
    path.is_file().then_some(Written { path, name, layer: Layer::User })
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
