//! What kinds of clients can take: how long names may be, and which parts of JSON Schema.
//!
//! A profile changes what is published. What arguments must fit is never changed.

use toolwright::Text;

/// What a kind of client can take.
///
/// ```
/// use toolwright_mcp::server::Profile;
/// let cursor = Profile::named("cursor").ok_or("it is built in")?;
/// assert!(cursor.name_chars_max < 64 && !cursor.references);
/// assert_eq!(Profile::of_client("cursor-vscode").name, "cursor");
/// assert_eq!(Profile::of_client("a client that nobody knows"), Profile::default());
/// # Ok::<(), &str>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Profile {
    /// Its name.
    pub name: Text,
    /// Longest exposed name, in characters: at least [`NAME_CHARS_MIN`].
    pub name_chars_max: usize,
    /// `$ref`s may be published; otherwise what they stand for is put in their place.
    pub references: bool,
    /// The root of an input schema may have `oneOf`, `anyOf`, `allOf` and the like.
    pub root_combinators: bool,
    /// `additionalProperties` may be a schema; otherwise it is only true or false.
    pub additional_schemas: bool,
    /// Output schemas are published.
    pub output_schemas: bool,
    /// Keywords of schemas that are left out.
    pub without: Vec<Text>,
    /// Most tools at once.
    pub tools_max: Option<usize>,
}

/// The shortest `name_chars_max` that there can be: room for the tail that tells shortened names apart.
pub const NAME_CHARS_MIN: usize = 24;

/// Characters of names when nobody says anything else: what the APIs of models take.
pub const NAME_CHARS_MAX: usize = 64;

impl Default for Profile {
    /// `standard`: what the protocol allows, names of 64 characters.
    fn default() -> Self {
        Self {
            name: Text::from("standard"),
            name_chars_max: NAME_CHARS_MAX,
            references: true,
            root_combinators: true,
            additional_schemas: true,
            output_schemas: true,
            without: Vec::new(),
            tools_max: None,
        }
    }
}

/// One of those that are built in.
struct BuiltIn {
    name: &'static str,
    /// What a client's own name contains, in lower case.
    clients: &'static [&'static str],
    /// Characters that the client puts before a name itself, when the server is called `toolwright` there.
    prefix_chars: usize,
    /// Characters that it takes in all.
    chars_max: usize,
    references: bool,
    additional_schemas: bool,
    without: &'static [&'static str],
    tools_max: Option<usize>,
}

/// The first whose `clients` fit a client's name counts, so the narrower ones stand first. None of these clients takes combinators at
/// the root, since the APIs behind them refuse the whole request then.
const BUILT_IN: [BuiltIn; 9] = [
    // `mcp__toolwright__`
    BuiltIn { name: "claude-code", clients: &["claude-code"], prefix_chars: 17, references: false, ..PLAIN },
    BuiltIn { name: "claude", clients: &["claude"], ..PLAIN },
    // `toolwright-`, and 60 characters in all
    BuiltIn { name: "cursor", clients: &["cursor"], prefix_chars: 11, chars_max: 60, references: false, tools_max: Some(80), ..PLAIN },
    // `mcp_toolwright_`
    BuiltIn { name: "vscode", clients: &["visual studio code", "vscode"], prefix_chars: 15, tools_max: Some(128), ..PLAIN },
    BuiltIn { name: "copilot", clients: &["copilot"], prefix_chars: 11, references: false, ..PLAIN },
    BuiltIn { name: "windsurf", clients: &["windsurf"], prefix_chars: 5, references: false, tools_max: Some(100), ..PLAIN },
    // `mcp_toolwright_`, and 63 characters in all
    BuiltIn {
        name: "gemini",
        clients: &["gemini"],
        prefix_chars: 15,
        chars_max: 63,
        references: false,
        additional_schemas: false,
        without: &["$schema", "$id", "$comment"],
        ..PLAIN
    },
    // `mcp__toolwright__`
    BuiltIn { name: "codex", clients: &["codex"], prefix_chars: 17, references: false, ..PLAIN },
    BuiltIn { name: "lm-studio", clients: &["lm studio", "lm-studio", "lmstudio"], references: false, additional_schemas: false, ..PLAIN },
];

const PLAIN: BuiltIn = BuiltIn {
    name: "",
    clients: &[],
    prefix_chars: 0,
    chars_max: NAME_CHARS_MAX,
    references: true,
    additional_schemas: true,
    without: &[],
    tools_max: None,
};

impl BuiltIn {
    fn profile(&self) -> Profile {
        Profile {
            name: self.name.into(),
            name_chars_max: self.chars_max.saturating_sub(self.prefix_chars),
            references: self.references,
            root_combinators: false,
            additional_schemas: self.additional_schemas,
            output_schemas: true,
            without: self.without.iter().map(|keyword| Text::from(*keyword)).collect(),
            tools_max: self.tools_max,
        }
    }
}

impl Profile {
    /// The built-in profile of this name.
    pub fn named(name: &str) -> Option<Self> {
        if name == Self::default().name {
            return Some(Self::default());
        }
        BUILT_IN.iter().find(|built_in| built_in.name == name).map(BuiltIn::profile)
    }

    /// The names of all built-in profiles.
    pub fn names() -> impl Iterator<Item = &'static str> {
        std::iter::once("standard").chain(BUILT_IN.iter().map(|built_in| built_in.name))
    }

    /// The profile for a client that calls itself so; [`standard`](Self::default) for one that is not known.
    pub fn of_client(name: &str) -> Self {
        let name = name.to_lowercase();
        let fits = |built_in: &&BuiltIn| built_in.clients.iter().any(|client| name.contains(client));
        BUILT_IN.iter().find(fits).map_or_else(Self::default, BuiltIn::profile)
    }

    /// The same with another bound on names.
    #[must_use]
    pub fn name_chars_max(mut self, chars: usize) -> Self {
        self.name_chars_max = chars;
        self
    }

    /// The same with another bound on tools.
    #[must_use]
    pub fn tools_max(mut self, tools: Option<usize>) -> Self {
        self.tools_max = tools;
        self
    }

    /// Characters that a name may have.
    pub(crate) fn name_chars(&self) -> usize {
        self.name_chars_max.max(NAME_CHARS_MIN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_built_in_profile_is_found_by_its_name_and_by_a_client_of_its() {
        let names: Vec<&str> = Profile::names().collect();
        assert_eq!(names, ["standard", "claude-code", "claude", "cursor", "vscode", "copilot", "windsurf", "gemini", "codex", "lm-studio"]);
        for name in names {
            let profile = Profile::named(name).unwrap();
            assert_eq!(profile.name, name);
            assert!(profile.name_chars_max >= NAME_CHARS_MIN);
        }
        let clients = [
            ("claude-ai", "claude"),
            ("claude-code", "claude-code"),
            ("cursor-vscode", "cursor"),
            ("Visual Studio Code", "vscode"),
            ("github-copilot-developer", "copilot"),
            ("gemini-cli-mcp-client", "gemini"),
            ("codex-mcp-client", "codex"),
            ("windsurf-client", "windsurf"),
            ("mcp-inspector", "standard"),
            ("", "standard"),
        ];
        for (client, profile) in clients {
            assert_eq!(Profile::of_client(client).name, profile, "{client}");
        }
        assert_eq!(Profile::named("nobody"), None);
    }
}
