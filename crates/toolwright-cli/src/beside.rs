//! Files that are kept beside a configuration: JSON with a version, read with places for what is wrong, written whole
//! or not at all.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use toolwright::Value;
use toolwright::value::{ParseOptions, Parsed};

use crate::config::{load, yaml};
use crate::diagnostic::{Finding, SourceText, Span};
use crate::ownership;

/// The largest of these files that is read and written.
pub(crate) const BYTES_MAX: u64 = 32 * 1024 * 1024;

/// What a kind of these files is called, and how it says that it cannot be used.
#[derive(Debug)]
pub(crate) struct Kind {
    /// The file's name.
    pub(crate) file: &'static str,
    /// The code of what is wrong with it.
    pub(crate) code: &'static str,
    /// The version that is read and written.
    pub(crate) version: u64,
    /// How to get it anew.
    pub(crate) help: &'static str,
}

/// One such file, as it was read.
#[derive(Clone, Debug)]
pub(crate) struct Beside {
    kind: &'static Kind,
    path: PathBuf,
    /// Its text, with the name that people know; `None` when there is no file.
    source: Option<Arc<SourceText>>,
}

impl Beside {
    /// Reads the file beside `config`, and gives its members when it is there.
    ///
    /// # Errors
    /// A finding, with its place, when it is there and no such file.
    pub(crate) fn read(kind: &'static Kind, config: &Path, name: &str) -> Result<(Self, Option<Value>), Box<Finding>> {
        let path = config.with_file_name(kind.file);
        let name = Path::new(name).with_file_name(kind.file).display().to_string();
        if fs::symlink_metadata(&path).is_err_and(|error| error.kind() == io::ErrorKind::NotFound) {
            return Ok((Self { kind, path, source: None }, None));
        }
        let wrong = |message: String| Box::new(Finding::error(kind.code, message).help(kind.help));
        // Who named a file of somebody else has taken what lies beside it, too.
        if let Some(why) = ownership::planted(&path).filter(|_| ownership::planted(config).is_none()) {
            return Err(wrong(format!("`{name}` is not read: {why}")));
        }
        let source =
            load::read_up_to(&path, &name, BYTES_MAX).map_err(|finding| Box::new(Finding { code: kind.code.into(), ..*finding }))?;
        let beside = Self { kind, path, source: Some(source.clone()) };
        let Parsed { value, repeated, .. } = Value::parse_with(source.text(), &ParseOptions::default()).map_err(|error| {
            let at = error.offset.min(source.text().len());
            wrong(format!("`{name}` is no JSON: {error}")).at(&source, at..at + 1, "")
        })?;
        if let Some(key) = repeated {
            return Err(Box::new(beside.wrong("", format!("the key `{key}` stands twice in one object"))));
        }
        match value.get("version").map(Value::as_u64) {
            Some(Some(version)) if version == kind.version => Ok((beside, Some(value))),
            Some(Some(version)) if version > kind.version => {
                let message =
                    format!("`{name}` was written by a newer toolwright: its version is {version}, and {} is known", kind.version);
                Err(Box::new(beside.wrong("/version", message).help("use the newer one; the file is left as it is")))
            }
            Some(_) => Err(Box::new(beside.wrong("/version", format!("`{name}` has a version that never was")))),
            None => Err(Box::new(beside.wrong("", format!("`{name}` does not say its version")))),
        }
    }

    /// The name that people know.
    pub(crate) fn name(&self) -> String {
        self.source.as_ref().map_or_else(|| self.path.display().to_string(), |source| source.name().to_owned())
    }

    /// Something that is wrong at a place in it.
    pub(crate) fn wrong(&self, pointer: &str, message: impl Into<String>) -> Finding {
        self.placed(Finding::error(self.kind.code, message).help(self.kind.help), pointer)
    }

    /// The finding at a place in the file.
    pub(crate) fn placed(&self, finding: Finding, pointer: &str) -> Finding {
        match &self.source {
            Some(source) => finding.at(source, span(source.text(), pointer), ""),
            None => finding,
        }
    }

    /// Writes the file anew: all of it or nothing.
    ///
    /// # Errors
    /// When it cannot be written, or is not any more what was read.
    pub(crate) fn write(&self, value: &Value) -> Result<(), String> {
        let name = self.name();
        let text = format!("{}\n", value.to_json_pretty());
        if text.len() as u64 > BYTES_MAX {
            return Err(format!("`{name}` would be larger than {} MiB", BYTES_MAX / 1024 / 1024));
        }
        let now = match fs::read_to_string(&self.path) {
            Ok(text) => Some(text),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(format!("`{name}` cannot be read again: {error}")),
        };
        if now.as_deref() != self.source.as_ref().map(|source| source.text()) {
            return Err(format!("`{name}` was changed meanwhile by something else; it is left as it is"));
        }
        // A link stays a link, and what it leads to is written.
        let target = fs::canonicalize(&self.path).unwrap_or_else(|_| self.path.clone());
        replace(&target, &text).map_err(|error| format!("`{name}` cannot be written: {error}"))
    }
}

/// Puts a text in the place of a file, all of it or nothing, with the permissions that the file had.
///
/// # Errors
/// When it cannot be written; the file is then as it was.
pub(crate) fn replace(path: &Path, text: &str) -> io::Result<()> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let draft = path.with_file_name(format!(".{name}.draft-{}", std::process::id()));
    let written = whole(&draft, path, text).and_then(|()| fs::rename(&draft, path));
    if written.is_err() {
        // The draft is of no use to anyone; that it may stay behind changes nothing.
        let _ = fs::remove_file(&draft);
    }
    written
}

fn whole(draft: &Path, like: &Path, text: &str) -> io::Result<()> {
    let mut file = fs::OpenOptions::new().write(true).create_new(true).open(draft)?;
    if let Ok(old) = fs::metadata(like) {
        file.set_permissions(old.permissions())?;
    }
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

/// Where a JSON pointer leads in a text, or as near as can be told.
fn span(text: &str, pointer: &str) -> Span {
    let (root, _) = yaml::parse(text);
    let found = root.as_ref().filter(|_| !pointer.is_empty()).map(|root| match root.key_of(pointer) {
        Some(key) => key,
        None => root.pointer(pointer).span.clone(),
    });
    let start = text.len() - text.trim_start().len();
    // The whole file is no place: its beginning is.
    found.unwrap_or(start..start + 1)
}

/// A list of named members, each with its pointer.
pub(crate) fn members<'v>(value: &'v Value, pointer: &'v str) -> impl Iterator<Item = (&'v str, String, &'v Value)> {
    let members = value.as_object().into_iter().flat_map(|object| object.iter());
    members.map(move |(key, value)| (key.as_str(), below(pointer, key), value))
}

/// The pointer to a member.
pub(crate) fn below(pointer: &str, key: &str) -> String {
    format!("{pointer}/{}", key.replace('~', "~0").replace('/', "~1"))
}
