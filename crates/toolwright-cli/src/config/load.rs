//! From files to one configuration: finding them, reading them, and laying them over each other.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::expand::Environment;
use super::members::FILE;
use super::reader::Reader;
use super::yaml::{self, Entry, Node, Problem};
use super::{Config, Layer, LoadedFile, composite, mcp_servers, policy, serve, source, tool};
use crate::code;
use crate::diagnostic::{Finding, Owner, SourceText};

/// The names that are looked for without `--file`.
pub(crate) const NAMES: [&str; 3] = ["toolwright.yaml", "toolwright.yml", "toolwright.json"];

/// The largest file that is read.
pub(crate) const FILE_BYTES_MAX: u64 = 4 * 1024 * 1024;

/// The configuration of this folder, or of the nearest folder above it that has one.
pub(crate) fn find(from: &Path) -> Option<PathBuf> {
    from.ancestors().flat_map(|folder| NAMES.iter().map(move |name| folder.join(name))).find(|path| path.is_file())
}

/// The configuration in a folder, when it has one; any other path as it is.
pub(crate) fn in_folder(path: PathBuf) -> PathBuf {
    let inside = path.is_dir().then(|| NAMES.iter().map(|name| path.join(name)).find(|file| file.is_file()));
    inside.flatten().unwrap_or(path)
}

/// Reads the text of a file; `name` is what people call it.
///
/// # Errors
/// A finding that says why the file cannot be read.
pub(crate) fn read(path: &Path, name: &str) -> Result<Arc<SourceText>, Box<Finding>> {
    read_up_to(path, name, FILE_BYTES_MAX)
}

/// The same for a file of at most so many bytes.
///
/// # Errors
/// A finding that says why the file cannot be read.
pub(crate) fn read_up_to(path: &Path, name: &str, bytes_max: u64) -> Result<Arc<SourceText>, Box<Finding>> {
    let unreadable = |why: String| Box::new(Finding::error(code::UNREADABLE, why));
    // Asked before it is opened: opening a pipe waits for its other end.
    let kind = fs::metadata(path).map_err(|error| unreadable(cannot_read(name, &error)))?;
    if kind.is_dir() {
        let names = NAMES.map(|name| format!("`{name}`")).join(", ");
        let finding = Finding::error(code::UNREADABLE, format!("`{name}` is a folder, and there is no configuration in it"));
        return Err(Box::new(finding.help(format!("the names that are looked for are {names}"))));
    }
    if !kind.is_file() {
        let finding = Finding::error(code::UNREADABLE, format!("`{name}` is no regular file"));
        return Err(Box::new(
            finding.help("a pipe or a device cannot be read again when something changes: put a regular file in its place"),
        ));
    }
    let mut bytes = Vec::new();
    let file = fs::File::open(path).map_err(|error| unreadable(cannot_read(name, &error)))?;
    file.take(bytes_max + 1).read_to_end(&mut bytes).map_err(|error| unreadable(cannot_read(name, &error)))?;
    if bytes.len() as u64 > bytes_max {
        let limit = bytes_max / 1024 / 1024;
        return Err(unreadable(format!("`{name}` is larger than {limit} MiB")));
    }
    match String::from_utf8(bytes) {
        Ok(text) => Ok(SourceText::new(name, text)),
        Err(error) => {
            let valid = error.utf8_error().valid_up_to();
            let text = String::from_utf8_lossy(error.as_bytes()).into_owned();
            let source = SourceText::new(name, text);
            let finding = Finding::error(code::UNREADABLE, format!("`{name}` is not UTF-8 text"))
                .at(&source, valid..valid + 1, "this is no character")
                .help("save the file as UTF-8");
            Err(Box::new(finding))
        }
    }
}

fn cannot_read(name: &str, error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => format!("there is no file `{name}`"),
        _ => format!("`{name}` cannot be read: {error}"),
    }
}

/// Reads one file into the configuration.
pub(crate) fn add(config: &mut Config, source: &Arc<SourceText>, path: &Path, layer: Layer, environment: &dyn Environment) {
    // Absolute, so that it means the same wherever a command runs.
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
    let base = absolute.parent().map(Path::to_path_buf).unwrap_or_default();
    let mut reader = Reader::new(source, environment);
    let (root, problems) = yaml::parse(source.text());
    let mut hidden = super::hidden::spans(source.text(), root.as_ref());
    let mut file = LoadedFile { source: Arc::clone(source), path: path.to_path_buf(), layer, root: None, policy: None, serve: None };
    for problem in problems {
        reader.findings.push(finding(problem, source, root.as_ref()));
    }
    if let Some(root) = root.filter(|root| root.entries().is_some() || !is_empty(root)) {
        members(&mut reader, config, &mut file, &root, &base);
        super::withheld::withhold(&mut reader.findings, &root);
        file.root = Some(root);
    }
    hidden.extend(super::hidden::by_value(source.text(), &reader.secrets));
    source.hide(&hidden);
    config.findings.append(&mut reader.findings);
    config.secrets.extend(&reader.secrets);
    config.files.push(file);
}

fn is_empty(node: &Node) -> bool {
    node.scalar().is_some_and(|scalar| scalar.meaning == yaml::Meaning::Null)
}

/// A problem of the text belongs to the entry it stands in, so that it stops nothing else.
fn finding(problem: Problem, source: &Arc<SourceText>, root: Option<&Node>) -> Finding {
    let owner = root.and_then(|root| super::owner_at(root, problem.span.start));
    let mut finding = Finding::error(problem.code, problem.message).at(source, problem.span, problem.label).maybe_help(problem.help);
    if let Some((span, label)) = problem.related {
        finding = finding.at(source, span, label);
    }
    match owner {
        Some(owner) if problem.code != code::SYNTAX => finding.owner(owner),
        _ => finding,
    }
}

fn members(reader: &mut Reader<'_>, config: &mut Config, file: &mut LoadedFile, root: &Node, base: &Path) {
    // A client's own file may hold anything else; what it says to that client is not for us.
    let ours = ["sources", "tools", "composites", "policy", "serve"];
    reader.lenient = root.get("mcpServers").is_some() && !ours.iter().any(|name| root.get(name).is_some());
    for member in reader.members(root, &FILE).unwrap_or_default() {
        match member.key.as_str() {
            "sources" => {
                for entry in section(reader, member) {
                    let source = source::read(reader, entry, base);
                    add_source(reader, config, source, entry);
                }
            }
            "mcpServers" => {
                for entry in section(reader, member) {
                    let source = mcp_servers::read(reader, entry, base);
                    add_source(reader, config, source, entry);
                }
            }
            "tools" => {
                for entry in section(reader, member) {
                    config.tools.extend(tool::read(reader, entry));
                }
            }
            "composites" => {
                for entry in section(reader, member) {
                    config.composites.extend(composite::read(reader, entry));
                }
            }
            "serve" => file.serve = serve::read(reader, member, base),
            "policy" => file.policy = policy::read(reader, member, root, &|id| config.renamed(id)),
            _ => {}
        }
    }
}

/// Keeps a source. One that takes the name of a source of the user is not used: nothing of a project's may stand in
/// for something of the user's.
fn add_source(reader: &mut Reader<'_>, config: &mut Config, mut source: source::Source, entry: &Entry) {
    let taken = config.sources.iter().find(|known| known.name == source.name && config.layer(&known.place) == Layer::User);
    if let Some(taken) = taken {
        let finding = Finding::error(code::DUPLICATE_ID, format!("two sources are called `{}`", source.name))
            .at(&source.place.source, source.place.span.clone(), "again here")
            .at(&taken.place.source, taken.place.span.clone(), "first here")
            .help("rename one of them; tools of an MCP source take its name as their prefix")
            .owner(Owner::Source(source.name.clone()));
        reader.findings.push(finding);
        source.kind = source::off(entry, false);
    }
    config.sources.push(source);
}

/// The entries of a section; nothing at all is an empty section.
fn section<'n>(reader: &mut Reader<'_>, member: &'n Entry) -> &'n [Entry] {
    match member.value.entries() {
        Some(entries) => entries,
        None if is_empty(&member.value) => &[],
        None => {
            reader.wrong_type(&member.value, &format!("`{}` is a mapping", member.key));
            &[]
        }
    }
}
