//! Which file each client reads, and in which form its entry is.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use toolwright::Value;

use super::toml;
use crate::amend::Form;
use crate::args::Client;

/// The file of a client.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) path: PathBuf,
    pub(super) written: Written,
}

/// How it is written, and where entries stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Written {
    /// JSON, perhaps with comments: a member of this section.
    Json(&'static str),
    /// TOML: a table under this name.
    Toml(&'static str),
}

/// The folders that clients keep their files in.
#[derive(Debug)]
pub(super) struct Folders {
    home: PathBuf,
    /// Where programs keep settings on this system.
    settings: PathBuf,
}

impl Folders {
    /// From the environment; `None` when it names no home.
    pub(super) fn of(variable: impl Fn(&str) -> Option<OsString>) -> Option<Self> {
        let set = |name: &str| variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let home = set("HOME").or_else(|| set("USERPROFILE"))?;
        let settings = match std::env::consts::OS {
            "macos" => home.join("Library/Application Support"),
            "windows" => set("APPDATA").unwrap_or_else(|| home.join("AppData/Roaming")),
            _ => set("XDG_CONFIG_HOME").filter(|folder| folder.is_absolute()).unwrap_or_else(|| home.join(".config")),
        };
        Some(Self { home, settings })
    }
}

impl Client {
    /// The client as people know it.
    pub(super) fn called(self) -> &'static str {
        match self {
            Self::ClaudeDesktop => "Claude Desktop",
            Self::ClaudeCode => "Claude Code",
            Self::Cursor => "Cursor",
            Self::Vscode => "Visual Studio Code",
            Self::Windsurf => "Windsurf",
            Self::Gemini => "Gemini CLI",
            Self::Codex => "Codex",
            Self::Zed => "Zed",
            Self::LmStudio => "LM Studio",
        }
    }

    /// The file that is told: that of the project where the client reads one there, or the user's.
    pub(super) fn place(self, folders: &Folders, project: Option<&Path>, user: bool) -> Place {
        let project = project.filter(|_| !user);
        let (home, settings) = (&folders.home, &folders.settings);
        let (path, written) = match (self, project) {
            (Self::ClaudeDesktop, _) => (settings.join("Claude/claude_desktop_config.json"), Written::Json("mcpServers")),
            (Self::ClaudeCode, Some(project)) => (project.join(".mcp.json"), Written::Json("mcpServers")),
            (Self::ClaudeCode, None) => (home.join(".claude.json"), Written::Json("mcpServers")),
            (Self::Cursor, Some(project)) => (project.join(".cursor/mcp.json"), Written::Json("mcpServers")),
            (Self::Cursor, None) => (home.join(".cursor/mcp.json"), Written::Json("mcpServers")),
            (Self::Vscode, Some(project)) => (project.join(".vscode/mcp.json"), Written::Json("servers")),
            (Self::Vscode, None) => (settings.join("Code/User/mcp.json"), Written::Json("servers")),
            (Self::Windsurf, _) => (home.join(".codeium/windsurf/mcp_config.json"), Written::Json("mcpServers")),
            (Self::Gemini, Some(project)) => (project.join(".gemini/settings.json"), Written::Json("mcpServers")),
            (Self::Gemini, None) => (home.join(".gemini/settings.json"), Written::Json("mcpServers")),
            (Self::Codex, _) => (home.join(".codex/config.toml"), Written::Toml("mcp_servers")),
            (Self::Zed, _) => {
                // Zed keeps its settings in `~/.config` on every system but Windows.
                let folder = if cfg!(windows) { settings.join("Zed") } else { home.join(".config/zed") };
                (folder.join("settings.json"), Written::Json("context_servers"))
            }
            (Self::LmStudio, _) => (home.join(".lmstudio/mcp.json"), Written::Json("mcpServers")),
        };
        Place { path, written }
    }

    /// The entry, in the form that the client reads.
    pub(super) fn entry(self, command: &str, args: &[String]) -> Value {
        let kind = match self {
            Self::ClaudeCode | Self::Vscode => Some(("type", Value::from("stdio"))),
            Self::Zed => Some(("source", Value::from("custom"))),
            _ => None,
        };
        let args = Value::array(args.iter().map(|word| Value::from(word.as_str())));
        let how = [("command", Value::from(command)), ("args", args)];
        Value::object(kind.into_iter().chain(how))
    }
}

impl Written {
    /// The text with the entry.
    ///
    /// # Errors
    /// In words, when it cannot be put there.
    pub(super) fn set(self, text: &str, name: &str, entry: &Value) -> Result<String, String> {
        match self {
            Self::Json(section) => Form::Json.set(text, section, name, entry),
            Self::Toml(section) => toml::set(text, section, name, entry),
        }
    }

    /// The text without the entry; `None` when it is not there.
    ///
    /// # Errors
    /// As [`Written::set`].
    pub(super) fn unset(self, text: &str, name: &str) -> Result<Option<String>, String> {
        match self {
            Self::Json(section) => Form::Json.unset(text, section, name),
            Self::Toml(section) => toml::unset(text, section, name),
        }
    }
}
