//! Which file each client reads, and in which form its entry is.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use toolwright::Value;

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
            Self::Toml(section) => toml_set(text, section, name, entry),
        }
    }

    /// The text without the entry; `None` when it is not there.
    ///
    /// # Errors
    /// As [`Written::set`].
    pub(super) fn unset(self, text: &str, name: &str) -> Result<Option<String>, String> {
        match self {
            Self::Json(section) => Form::Json.unset(text, section, name),
            Self::Toml(section) => {
                let without = toml_unset(text, section, name)?;
                Ok((without != text).then_some(without))
            }
        }
    }
}

/// The table put at the end. A file that writes its tables in another form is left alone.
fn toml_set(text: &str, section: &str, name: &str, entry: &Value) -> Result<String, String> {
    let mut out = toml_unset(text, section, name)?;
    if !out.is_empty() {
        out = format!("{}\n\n", out.trim_end());
    }
    out.push_str(&format!("[{section}.{}]\n", toml_key(name)));
    for (key, value) in entry.as_object().into_iter().flat_map(|entry| entry.iter()) {
        // Text and lists of texts are the same in JSON.
        out.push_str(&format!("{key} = {}\n", value.to_json_string()));
    }
    Ok(out)
}

/// The text without the table and those inside it.
fn toml_unset(text: &str, section: &str, name: &str) -> Result<String, String> {
    let table = format!("{section}.{name}");
    let (mut out, mut own, mut inside) = (Vec::new(), false, false);
    for line in text.lines() {
        let bare: String =
            line.split('#').next().unwrap_or_default().chars().filter(|c| !c.is_whitespace() && !"\"'".contains(*c)).collect();
        if let Some(head) = bare.strip_prefix('[') {
            let head = head.trim_start_matches('[').trim_end_matches(']');
            own = head == table || head.strip_prefix(&table).is_some_and(|rest| rest.starts_with('.'));
            inside = head == section;
        } else if bare.starts_with(&format!("{section}=")) || bare.starts_with(&format!("{section}.")) {
            return Err(format!("it has `{section}` in a form that is not changed here: add the entry by hand (`--print` shows it)"));
        } else if inside && (bare.starts_with(&format!("{name}=")) || bare.starts_with(&format!("{name}."))) {
            return Err(format!("it has `{name}` in a form that is not changed here: change it by hand (`--print` shows it)"));
        }
        if !own {
            out.push(line);
        }
    }
    let end = if text.ends_with('\n') && !out.is_empty() { "\n" } else { "" };
    Ok(format!("{}{end}", out.join("\n")))
}

fn toml_key(name: &str) -> String {
    let plain = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "-_".contains(c));
    if plain { name.to_owned() } else { Value::from(name).to_json_string() }
}

#[cfg(test)]
mod tests {
    use toolwright::json;

    use super::{toml_set, toml_unset};

    #[test]
    fn a_table_is_added_replaced_and_taken_out() {
        let before = "model = \"x\" # mine\n\n[mcp_servers.other]\ncommand = \"o\"\n";
        let entry = json!({ "command": "/usr/bin/toolwright", "args": ["serve"] });
        let added = toml_set(before, "mcp_servers", "toolwright", &entry).unwrap();
        let table = "[mcp_servers.toolwright]\ncommand = \"/usr/bin/toolwright\"\nargs = [\"serve\"]\n";
        assert_eq!(added, format!("{before}\n{table}"));
        assert_eq!(toml_set(&added, "mcp_servers", "toolwright", &entry).unwrap(), added);
        let inner = format!("{added}\n[mcp_servers.toolwright.env]\nA = \"1\"\n\n[last]\nb = 2\n");
        let gone = toml_unset(&inner, "mcp_servers", "toolwright").unwrap();
        assert!(gone.starts_with(before.trim_end()) && gone.ends_with("[last]\nb = 2\n") && !gone.contains("toolwright"), "{gone}");
        assert_eq!(toml_unset(before, "mcp_servers", "toolwright").unwrap(), before);
        assert!(toml_set("mcp_servers = {}\n", "mcp_servers", "toolwright", &entry).is_err());
        assert!(toml_set("[mcp_servers]\ntoolwright = {}\n", "mcp_servers", "toolwright", &entry).is_err());
    }
}
