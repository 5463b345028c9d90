//! Where the user's own files are, from the environment alone.

use std::ffi::OsString;
use std::path::PathBuf;

/// The folder of the user's configuration: `$TOOLWRIGHT_CONFIG_DIR`, else `toolwright` in
/// `$XDG_CONFIG_HOME`, else in `~/.config`.
pub(crate) fn config_dir(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    own_dir(variable, "TOOLWRIGHT_CONFIG_DIR", "XDG_CONFIG_HOME", ".config")
}

/// The folder of the user's data: `$TOOLWRIGHT_DATA_DIR`, else `toolwright` in `$XDG_DATA_HOME`,
/// else in `~/.local/share`.
pub(crate) fn data_dir(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    own_dir(variable, "TOOLWRIGHT_DATA_DIR", "XDG_DATA_HOME", ".local/share")
}

fn own_dir(variable: impl Fn(&str) -> Option<OsString>, own: &str, shared: &str, under_home: &str) -> Option<PathBuf> {
    let set = |name: &str| variable(name).filter(|value| !value.is_empty());
    if let Some(dir) = set(own) {
        return Some(PathBuf::from(dir));
    }
    // The XDG rules ask for an absolute path and to ignore anything else.
    let shared = set(shared).map(PathBuf::from).filter(|dir| dir.is_absolute());
    shared.or_else(|| set("HOME").map(|home| PathBuf::from(home).join(under_home))).map(|dir| dir.join("toolwright"))
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::{config_dir, data_dir};

    #[test]
    fn the_nearest_setting_wins() {
        let all = |name: &str| Some(format!("/{name}").into());
        assert_eq!(config_dir(all), Some("/TOOLWRIGHT_CONFIG_DIR".into()));
        let xdg = |name: &str| (!name.starts_with("TOOL")).then(|| format!("/{name}").into());
        assert_eq!(data_dir(xdg), Some("/XDG_DATA_HOME/toolwright".into()));
        let home = |name: &str| match name {
            "HOME" => Some("/home/ada".into()),
            "XDG_DATA_HOME" => Some("relative".into()),
            _ => None,
        };
        let expected = PathBuf::from("/home/ada/.local/share/toolwright");
        assert_eq!(data_dir(home), Some(expected));
        assert_eq!(data_dir(|_: &str| None), None);
    }
}
