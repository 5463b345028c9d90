//! One look at every source: which program it is, whether it starts, what it offers, what it says on the side.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use toolwright::Value;
use toolwright_mcp::upstream::{Changed, Listing, Status, Upstream, UpstreamError};

use crate::code;
use crate::config::Config;
use crate::config::source::{CommandEntry, ServerEntry, Source, SourceKind, TransportEntry};
use crate::diagnostic::{Finding, Owner, Severity};
use crate::lock;
use crate::secret::Secrets;
use crate::wire;

/// Bytes of definitions that count as one token: a rule of thumb.
const BYTES_PER_TOKEN: usize = 4;

/// What was seen of a source.
#[derive(Debug, Default)]
pub(super) struct Examined {
    pub(super) name: String,
    /// `command`, `mcp-stdio`, `mcp-http`, `off`.
    pub(super) kind: &'static str,
    /// The file and the line that it stands in.
    pub(super) place: String,
    /// The programs that it runs.
    pub(super) programs: Vec<Program>,
    /// Where it is asked, over HTTP.
    pub(super) url: Option<String>,
    /// How a server is, once it was asked.
    pub(super) status: Option<Status>,
    /// How long it took until it had listed its tools.
    pub(super) took: Option<Duration>,
    /// Tools of each page of its list.
    pub(super) pages: Vec<usize>,
    /// Tools that can be used.
    pub(super) tools: usize,
    /// Bytes of their definitions.
    pub(super) bytes: usize,
    /// Tools that it offers and that cannot be used: name and reason.
    pub(super) skipped: Vec<(String, String)>,
    /// Tools that have another id here than from their source.
    pub(super) renamed: Vec<(String, String)>,
    /// Tools that are in the lock; `None` when the source is not.
    pub(super) locked: Option<usize>,
    /// Tools that are not what was accepted, and why.
    pub(super) withheld: Vec<Changed>,
    /// What is odd about its list.
    pub(super) warnings: Vec<String>,
    /// What is wrong.
    pub(super) problems: Vec<Problem>,
}

/// A program that a source runs.
#[derive(Debug)]
pub(super) struct Program {
    /// As it is written.
    pub(super) command: String,
    /// The file that it is.
    pub(super) found: Option<String>,
    /// The folders that were searched.
    pub(super) searched: Vec<String>,
}

/// Something that is wrong.
#[derive(Debug)]
pub(super) struct Problem {
    pub(super) code: String,
    pub(super) message: String,
    pub(super) help: Option<String>,
    /// It stops something.
    pub(super) fatal: bool,
}

impl Problem {
    fn of(finding: &Finding) -> Self {
        Self {
            code: finding.code.clone(),
            message: finding.message.clone(),
            help: finding.help.clone(),
            fatal: finding.severity == Severity::Error,
        }
    }
}

/// Every source, all at once, in the order of the files. Nothing of them is left when it comes back.
pub(super) async fn all(config: &Config) -> Vec<Examined> {
    let examined = join_all(config.sources.iter().map(|source| one(config, source))).await;
    examined.into_iter().map(|examined| examined.masked(&config.secrets)).collect()
}

async fn one(config: &Config, source: &Source) -> Examined {
    let (line, _) = source.place.source.line_column(source.place.span.start);
    let mut examined =
        Examined { name: source.name.clone(), place: format!("{}:{line}", source.place.source.name()), ..Examined::default() };
    match &source.kind {
        SourceKind::Commands(tools) => commands(source, tools, &mut examined),
        SourceKind::Server(entry) => server(config, source, entry, &mut examined).await,
        SourceKind::Off { disabled, .. } => {
            examined.kind = "off";
            if *disabled {
                examined.warnings.push("it is disabled in the file".to_owned());
            }
        }
    }
    let owned = |finding: &&Finding| finding.owner == Owner::Source(source.name.clone()) && finding.severity == Severity::Error;
    examined.problems.extend(config.findings.iter().filter(owned).map(Problem::of));
    renamed(config, source, &mut examined);
    examined
}

/// Command lines run nothing here: that their programs are there is what can be said.
fn commands(source: &Source, tools: &[CommandEntry], examined: &mut Examined) {
    examined.kind = "command";
    let mut seen = BTreeSet::new();
    for entry in tools {
        let line = wire::command_line(source, entry);
        if let Ok(tool) = wire::command(source, entry) {
            examined.tools += 1;
            let shown = [("name", Value::from(tool.name())), ("description", Value::from(tool.description()))];
            let schemas = [("inputSchema", tool.input_schema()), ("outputSchema", tool.output_schema())];
            let schemas = schemas.into_iter().filter_map(|(name, schema)| Some((name, schema?.clone())));
            examined.bytes += Value::object(shown.into_iter().chain(schemas)).to_json_string().len();
        }
        let Some(lookup) = line.lookup().filter(|lookup| seen.insert(lookup.program.clone())) else { continue };
        let searched: Vec<String> = lookup.searched.iter().map(|folder| folder.display().to_string()).collect();
        if lookup.found.is_none() {
            let place = if searched.is_empty() { "it is not there".to_owned() } else { format!("searched: {}", searched.join(":")) };
            examined.problems.push(Problem {
                code: "command_not_found".to_owned(),
                message: format!("there is no program `{}`, which `{}` runs", lookup.program, entry.id),
                help: Some(format!("install it, give its full path, or a `PATH` in `env`; {place}")),
                fatal: true,
            });
        }
        let found = lookup.found.map(|found| found.display().to_string());
        examined.programs.push(Program { command: lookup.program, found, searched });
    }
}

/// Starts a server of its own, asks it, and ends it again.
async fn server(config: &Config, source: &Source, entry: &ServerEntry, examined: &mut Examined) {
    examined.kind = match &entry.transport {
        TransportEntry::Stdio { .. } => "mcp-stdio",
        TransportEntry::Http { url, .. } => {
            examined.url = Some(url.clone());
            "mcp-http"
        }
    };
    let upstream = Upstream::new(wire::server(config, source, entry));
    if let Some(lookup) = upstream.lookup() {
        let searched = std::env::split_paths(&lookup.searched).map(|folder| folder.display().to_string());
        let found = lookup.found.map(|found| found.display().to_string());
        examined.programs.push(Program {
            command: lookup.command,
            found,
            searched: searched.filter(|folder| !folder.is_empty()).collect(),
        });
    }
    // What was accepted of it cannot be believed; whether it starts can be known all the same.
    if let Some(fault) = config.lock_fault(source).filter(|fault| fault.owner == Owner::Lock) {
        examined.problems.push(Problem::of(fault));
    }
    let began = Instant::now();
    let answer = upstream.tools().await;
    examined.took = Some(began.elapsed());
    examined.status = Some(upstream.status());
    upstream.shutdown().await;
    match answer {
        Ok(listing) => listed(config, source, listing, examined),
        Err(error) => examined.problems.push(silent(error, entry)),
    }
    if let Some(status) = examined.status.as_ref().filter(|status| status.noise_lines > 0) {
        let first = status.first_noise.clone().unwrap_or_default();
        let lines = if status.noise_lines == 1 { "1 line".to_owned() } else { format!("{} lines", status.noise_lines) };
        examined.warnings.push(format!("it wrote {lines} to its output that are no messages; the first: {first}"));
    }
}

fn silent(error: UpstreamError, entry: &ServerEntry) -> Problem {
    let look = match &entry.transport {
        TransportEntry::Stdio { .. } => "run its command by hand to see what it says; `startTimeout` is how long it may take",
        TransportEntry::Http { .. } => {
            "see whether something answers at its address (`curl -i` with it), and whether this machine may reach it; `startTimeout` is \
             how long it may take"
        }
    };
    let help = error.help.or_else(|| Some(look.to_owned()));
    Problem { code: error.code.to_owned(), message: error.message, help, fatal: true }
}

fn listed(config: &Config, source: &Source, listing: Listing, examined: &mut Examined) {
    examined.tools = listing.tools.len();
    examined.bytes = listing.raw.iter().map(defined_bytes).sum();
    examined.pages = listing.pages;
    examined.warnings.extend(listing.warnings);
    examined.skipped = listing.skipped.iter().map(|skipped| (skipped.name.to_string(), skipped.reason.clone())).collect();
    if let Some(locked) = config.locked(source).filter(|_| config.lock_fault(source).is_none()) {
        examined.locked = Some(locked.len());
        let left_out = |changed: &Changed| examined.skipped.iter().any(|(name, _)| *name == *changed.tool);
        examined.withheld = locked.pins(&config.secrets).compare(&listing.raw).into_iter().filter(|changed| !left_out(changed)).collect();
    }
    examined.problems.extend(examined.withheld.first().map(|first| {
        let (count, first) = (examined.withheld.len(), &first.tool);
        let are = if count == 1 { "1 tool is".to_owned() } else { format!("{count} tools are") };
        Problem {
            code: code::CATALOG_CHANGED.to_owned(),
            message: format!("{are} withheld, such as `{first}`: not what was accepted"),
            help: Some("look at `toolwright diff`, then accept it with `toolwright lock`".to_owned()),
            fatal: true,
        }
    }));
}

/// Bytes of what a client reads of a tool.
fn defined_bytes(raw: &Value) -> usize {
    let name = raw.get("name").map_or(0, |name| name.to_json_string().len());
    name + lock::kept(raw, None).map_or(0, |(_, kept)| kept.to_json_string().len())
}

/// Tools that the file gives another id, of those that this source may have.
fn renamed(config: &Config, source: &Source, examined: &mut Examined) {
    let own = |id: &str| match &source.kind {
        SourceKind::Server(entry) => id.starts_with(&entry.prefix),
        SourceKind::Commands(_) | SourceKind::Off { .. } => source.described.iter().any(|known| known == id),
    };
    let renamed = config.tools.iter().filter(|said| said.final_id() != said.id && own(&said.id));
    examined.renamed = renamed.map(|said| (said.id.clone(), said.final_id().to_owned())).collect();
}

impl Examined {
    /// Tokens that a model spends on the definitions, about.
    pub(super) fn tokens(&self) -> usize {
        self.bytes.div_ceil(BYTES_PER_TOKEN)
    }

    /// Whether its tools are known.
    pub(super) fn is_listed(&self) -> bool {
        self.status.is_none() || !self.pages.is_empty()
    }

    /// Whether nothing is wrong.
    pub(super) fn is_well(&self) -> bool {
        !self.problems.iter().any(|problem| problem.fatal)
    }

    /// The same without secrets.
    fn masked(mut self, secrets: &Secrets) -> Self {
        let mask = |text: &mut String| *text = secrets.mask(text);
        self.programs.iter_mut().for_each(|program| mask(&mut program.command));
        self.programs.iter_mut().flat_map(|program| &mut program.searched).for_each(mask);
        self.url.iter_mut().chain(&mut self.warnings).for_each(mask);
        self.skipped.iter_mut().for_each(|(_, reason)| mask(reason));
        self.withheld.iter_mut().for_each(|changed| mask(&mut changed.why));
        for problem in &mut self.problems {
            mask(&mut problem.message);
            problem.help.iter_mut().for_each(mask);
        }
        if let Some(status) = &mut self.status {
            mask(&mut status.stderr_tail);
            status.last_error.iter_mut().chain(&mut status.first_noise).for_each(mask);
        }
        self
    }
}
