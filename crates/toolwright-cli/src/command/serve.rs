//! `serve`: the tools in front of MCP clients, until standard input closes or a signal comes.
//!
//! Over standard input and output nothing but messages is written there; everything that is told to people goes to standard error.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinHandle;
use toolwright::CancelSource;
use toolwright_mcp::server::{Askers, Caller, HttpListener, HttpOptions, Server, ServerOptions};
use toolwright_sqlite::SqliteJournal;

use super::run::{configuration, written};
use crate::app::App;
use crate::args::{Format, ServeArgs};
use crate::code;
use crate::config::Config;
use crate::diagnostic::Finding;
use crate::exit::Exit;
use crate::interrupt::{leave_at_next, until_first, until_next, until_second};
use crate::journal::{self, Place};
use crate::serving;
use crate::style::one_line;

mod shop;
mod watch;

use shop::Shop;
use watch::{Files, Watch};

/// Serves until there is nobody to serve any more.
pub(crate) async fn serve(app: &App, args: &ServeArgs) -> Exit {
    match served(app, args).await {
        Ok(()) => Exit::Ok,
        Err(exit) => exit,
    }
}

async fn served(app: &App, args: &ServeArgs) -> Result<(), Exit> {
    let files = Files::now(app);
    let config = app.config_with_locks()?;
    // Whoever is asked is the same while the server runs, whatever is read later.
    let askers = Askers::new().with_approvals(serving::approvals(&config));
    let journal = Opening::begin(args);
    let mut shop = opened(app, args, &askers, config).await?;
    many_files(args);
    let outcome = opened_doors(app, args, &mut shop, journal, (askers, files)).await;
    // Whatever came of it, no server is left behind.
    let _ = until_next(shop.close()).await;
    leave_at_next();
    outcome
}

/// Everything that is offered, for the first time.
async fn opened(app: &App, args: &ServeArgs, askers: &Askers, config: Config) -> Result<Shop, Exit> {
    let opened = until_first(Shop::open(config, app, args, askers, None)).await.ok_or_else(|| app.interrupted(Exit::Interrupted))?;
    let shop = opened.map_err(|refused| app.fail(refused.findings, refused.exit))?;
    // What was opened is closed again: a slip of the pen on the command line must not leave servers behind.
    if let Err(exit) = app.allows_what_is_there(&shop.host) {
        shop.close().await;
        return Err(exit);
    }
    Ok(shop)
}

async fn opened_doors(
    app: &App,
    args: &ServeArgs,
    shop: &mut Shop,
    journal: Opening,
    (askers, files): (Askers, Files),
) -> Result<(), Exit> {
    let journal = journal.opened(app).await?;
    let server = Server::new(options(app, shop, journal.as_ref()), askers.clone(), shop.offer());
    let door = match shop.http.take() {
        Some(http) => Door::Http(Box::new(listening(app, &server, http).await?)),
        None => Door::Standard,
    };
    // A client that begins at once waits for what it lists, and not for what people are told; both are the same work.
    let telling = tokio::task::spawn_blocking({
        let (news, output, server) = (shop.news(&door.words()), app.output, server.clone());
        move || news.tell(output, &server)
    });
    if let Door::Http(listener) = &door {
        app.output.result(&match app.output.format {
            Format::Json => format!("{}\n", serde_json::json!({ "url": listener.url() })),
            Format::Human | Format::Plain => format!("{}\n", listener.url()),
        });
    }
    let cancel = CancelSource::new();
    let serving = async {
        match door {
            Door::Http(listener) => {
                listener.serve(cancel.token()).await;
                Ok(())
            }
            Door::Standard => server.serve_stdio(Caller::default(), cancel.token()).await,
        }
    };
    let ended = tokio::select! {
        ended = until_second(app.output, &cancel, serving) => ended,
        never = keep_up(app, args, shop, &server, (&askers, files)) => match never {},
    };
    // Whoever does not read what people are told keeps nobody from ending.
    let _ = tokio::time::timeout(TELLING_MAX, telling).await;
    if let Some(journal) = &journal {
        written(app, journal).await;
    }
    match ended {
        Some(Ok(())) => Ok(()),
        Some(Err(error)) => {
            let finding = Finding::error(code::OUTPUT_LOST, format!("the client cannot be reached any more: {error}"));
            Err(app.fail(vec![finding], Exit::OutputLost))
        }
        None => {
            let finding = Finding::error("cancelled", "interrupted again: left without waiting for calls that ran")
                .help("`toolwright runs` shows which of them are open");
            Err(app.output.fail_in_doubt(&[finding], Exit::Interrupted))
        }
    }
}

/// Clients over HTTP are connections, and there may be more of them than a process may open files by default.
#[cfg(unix)]
fn many_files(args: &ServeArgs) {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    if args.http.is_none() {
        return;
    }
    let now = getrlimit(Resource::Nofile);
    let current = now.maximum.map_or(FILES, |maximum| maximum.min(FILES));
    if now.current.is_some_and(|have| have < current) {
        // As many as may be; the limit on connections is another one.
        let _ = setrlimit(Resource::Nofile, Rlimit { current: Some(current), maximum: now.maximum });
    }
}

#[cfg(not(unix))]
fn many_files(_: &ServeArgs) {}

/// Open files that a server over HTTP asks the system for.
#[cfg(unix)]
const FILES: u64 = 16_384;

/// Where clients come in.
enum Door {
    Standard,
    Http(Box<HttpListener>),
}

impl Door {
    fn words(&self) -> String {
        match self {
            Self::Standard => "over standard input and output".to_owned(),
            Self::Http(listener) => format!("at {}", listener.url()),
        }
    }
}

async fn listening(app: &App, server: &Server, http: HttpOptions) -> Result<HttpListener, Exit> {
    server.bind_http(http).await.map_err(|error| {
        let finding =
            Finding::error(code::USAGE, error.to_string()).help("name another address with `--http ADDRESS`; port 0 takes a free one");
        app.fail(vec![finding], Exit::Usage)
    })
}

/// A journal on its way, opened beside everything else. What is wrong with it is told when it is needed.
enum Opening {
    Nowhere,
    Begun(JoinHandle<Result<SqliteJournal, Box<Finding>>>),
    Misplaced(Box<Finding>),
}

impl Opening {
    fn begin(args: &ServeArgs) -> Self {
        match Place::of(args.at.journal.as_deref()) {
            Ok(Place::Nowhere) => Self::Nowhere,
            Ok(Place::File { path, .. }) => Self::Begun(tokio::task::spawn_blocking(move || journal::open(&path))),
            Err(finding) => Self::Misplaced(finding),
        }
    }

    async fn opened(self, app: &App) -> Result<Option<SqliteJournal>, Exit> {
        let opened = match self {
            Self::Nowhere => {
                app.output
                    .note("note: no run is kept (`--journal none`): what a call did when the server stops half-way, nobody can tell\n");
                return Ok(None);
            }
            Self::Misplaced(finding) => Err(finding),
            Self::Begun(opening) => match until_first(opening).await {
                Some(Ok(opened)) => opened,
                Some(Err(_)) => return Err(Exit::Bug),
                None => return Err(app.interrupted(Exit::ToolFailed)),
            },
        };
        opened.map(Some).map_err(|finding| app.fail(vec![*finding], Exit::JournalUnavailable))
    }
}

fn options(app: &App, shop: &Shop, journal: Option<&SqliteJournal>) -> ServerOptions {
    let mut options = shop.serving.options();
    if let Some(journal) = journal {
        options.journal = Some(Arc::new(journal.clone()));
        options.owner = journal::owner().into();
        options.context_key = configuration(app).map(Into::into);
    }
    options
}

/// How long the end waits until people were told what is offered.
const TELLING_MAX: Duration = Duration::from_secs(1);

/// What never is.
enum Never {}

/// Offers what there is now whenever that changes: another configuration, another lock, another list of a server.
async fn keep_up(app: &App, args: &ServeArgs, shop: &mut Shop, server: &Server, (askers, mut offered): (&Askers, Files)) -> Never {
    let mut watch = Watch::over(shop, offered.clone());
    loop {
        let why = watch.change().await;
        let files = Files::now(app);
        match shop.again(app, args, askers).await {
            Ok(next) => {
                shop.replace_by(next);
                // Beside what was offered last, and not what was refused since.
                let gone = std::mem::replace(&mut offered, files.clone()).locks_gone(&files);
                if !gone.is_empty() {
                    app.output.error(&gone);
                }
                server.replace(shop.offer());
                if why.is_told() {
                    shop.news("again: what it is made of has changed").tell(app.output, server);
                }
            }
            Err(refused) => {
                let count = refused.findings.len();
                let first = refused.findings.first().map(|finding| one_line(&finding.message)).unwrap_or_default();
                let more = if count > 1 { format!(" ({} more; `toolwright check` shows them)", count - 1) } else { String::new() };
                app.output.error(&format!(
                    "the configuration has changed and cannot be served, so what was served before goes on: {first}{more}\n"
                ));
            }
        }
        watch.look_again(shop, files);
    }
}
