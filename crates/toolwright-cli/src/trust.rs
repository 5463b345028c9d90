//! Which project files the user has accepted: for each, a hash of its `policy` section and of the tools listed in it.
//!
//! One record per file, in the user's data folder, readable by the user alone. The format is
//! versioned; a record of another version counts as none, which asks again and grants nothing.

use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::journal::create_private_dir;
use crate::ownership;

/// The version of the record; changed when a field changes its meaning.
const RECORD_VERSION: u32 = 2;

/// The largest record that is read.
const RECORD_BYTES_MAX: u64 = 1024 * 1024;

/// What every version of a record has.
#[derive(Debug, Deserialize)]
struct Version {
    version: u32,
}

/// What is kept about one accepted file.
#[derive(Debug, Serialize, Deserialize)]
struct Record {
    version: u32,
    /// The canonical path of the file.
    file: String,
    /// The hash of its `policy` section and of the tools listed in it.
    policy: String,
    /// The tools that were accepted, to show what a change adds.
    tools: Vec<String>,
}

/// Whether a section counts.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// The user accepted exactly this section of this file.
    Accepted,
    /// The user accepted another state of it, with these tools.
    Changed(Vec<String>),
    /// The user was never asked.
    Unknown,
    /// What is remembered of it cannot be believed, and why.
    Unusable(String),
}

/// The records in the user's data folder.
#[derive(Debug)]
pub(crate) struct TrustStore {
    dir: PathBuf,
}

impl TrustStore {
    /// The store in a data folder; nothing is touched yet.
    pub(crate) fn new(data_dir: &Path) -> Self {
        Self { dir: data_dir.join("trust") }
    }

    /// Whether the user accepted this state of the file's section.
    ///
    /// A record that cannot be read or believed grants nothing.
    pub(crate) fn verdict(&self, file: &Path, section_hash: &str) -> Verdict {
        match self.record(file) {
            Ok(Some(record)) if record.policy == section_hash => Verdict::Accepted,
            Ok(Some(record)) => Verdict::Changed(record.tools),
            Ok(None) => Verdict::Unknown,
            Err(why) => Verdict::Unusable(why),
        }
    }

    /// Why the folder cannot be believed; it need not be there yet.
    fn folder(&self) -> Result<(), String> {
        let above = self.dir.parent().into_iter();
        for dir in above.chain([self.dir.as_path()]) {
            let why = fs::metadata(dir).ok().and_then(|found| ownership::not_believed(&found));
            if let Some(why) = why {
                return Err(format!("the folder `{}` cannot be believed: {why}", dir.display()));
            }
        }
        Ok(())
    }

    /// Keeps that the user accepted this section.
    ///
    /// # Errors
    /// When the data folder cannot be written.
    pub(crate) fn accept(&self, file: &Path, section_hash: &str, tools: &[String]) -> io::Result<()> {
        let record = Record {
            version: RECORD_VERSION,
            file: file.to_string_lossy().into_owned(),
            policy: section_hash.to_owned(),
            tools: tools.to_vec(),
        };
        let text = serde_json::to_string_pretty(&record).map_err(io::Error::other)?;
        create_private_dir(&self.dir)?;
        self.folder().map_err(io::Error::other)?;
        let target = self.path(file);
        let draft = target.with_extension(format!("draft-{}", std::process::id()));
        let written = write_private(&draft, &text).and_then(|()| fs::rename(&draft, &target));
        if written.is_err() {
            // The draft is of no use to anyone; that it may stay behind changes nothing.
            let _ = fs::remove_file(&draft);
        }
        written
    }

    /// Forgets the file; whether there was something to forget.
    ///
    /// # Errors
    /// When the record is there and cannot be removed.
    pub(crate) fn revoke(&self, file: &Path) -> io::Result<bool> {
        match fs::remove_file(self.path(file)) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn record(&self, file: &Path) -> Result<Option<Record>, String> {
        let path = self.path(file);
        let found = match fs::symlink_metadata(&path) {
            Ok(found) => found,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(format!("`{}` cannot be read: {error}", path.display())),
        };
        self.folder()?;
        let wrong = |why: &str| format!("`{}` cannot be believed: {why}", path.display());
        if !found.is_file() {
            return Err(wrong("it is no regular file"));
        }
        if let Some(why) = ownership::not_believed(&found) {
            return Err(wrong(&why));
        }
        let mut bytes = Vec::new();
        let read = fs::File::open(&path).and_then(|file| file.take(RECORD_BYTES_MAX + 1).read_to_end(&mut bytes));
        read.map_err(|error| format!("`{}` cannot be read: {error}", path.display()))?;
        if bytes.len() as u64 > RECORD_BYTES_MAX {
            return Err(wrong("it is larger than 1 MiB"));
        }
        let damaged = |_| wrong("it is damaged");
        let version: Version = serde_json::from_slice(&bytes).map_err(damaged)?;
        if version.version != RECORD_VERSION {
            return Ok(None);
        }
        let record: Record = serde_json::from_slice(&bytes).map_err(damaged)?;
        match record.file == file.to_string_lossy() {
            true => Ok(Some(record)),
            false => Err(wrong("it is about another file")),
        }
    }

    fn path(&self, file: &Path) -> PathBuf {
        let name = hex(&Sha256::digest(file.as_os_str().as_encoded_bytes()));
        self.dir.join(format!("{name}.json"))
    }
}

/// The hash of a section: of what it says, not of how it is laid out.
pub(crate) fn section_hash(section: &Value) -> String {
    let mut canonical = String::from("toolwright policy 2\n");
    write_canonical(section, &mut canonical);
    format!("sha256:{}", hex(&Sha256::digest(canonical.as_bytes())))
}

/// JSON with sorted keys and without blanks.
fn write_canonical(value: &Value, out: &mut String) {
    match value {
        Value::Object(members) => {
            let mut keys: Vec<&String> = members.keys().collect();
            keys.sort();
            out.push('{');
            for key in keys {
                out.push_str(&Value::from(key.as_str()).to_string());
                out.push(':');
                write_canonical(members.get(key).unwrap_or(&Value::Null), out);
                out.push(',');
            }
            out.push('}');
        }
        Value::Array(items) => {
            out.push('[');
            for item in items {
                write_canonical(item, out);
                out.push(',');
            }
            out.push(']');
        }
        scalar => out.push_str(&scalar.to_string()),
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn write_private(path: &Path, text: &str) -> io::Result<()> {
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(path)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::section_hash;

    #[test]
    fn the_hash_is_of_the_meaning() {
        let one = json!({"sideEffectingTools": ["a", "b"], "x": 1});
        let same = json!({"x": 1, "sideEffectingTools": ["a", "b"]});
        let other = json!({"sideEffectingTools": ["a", "b", "c"], "x": 1});
        assert_eq!(section_hash(&one), section_hash(&same));
        assert_ne!(section_hash(&one), section_hash(&other));
        // The boundary between two names is part of the meaning.
        assert_ne!(section_hash(&json!(["a,", "b"])), section_hash(&json!(["a", ",b"])));
    }
}
