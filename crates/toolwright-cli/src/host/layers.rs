//! What a project's file may say about what is the user's: it may narrow, and never grant.

use toolwright::{Effect, Impact, ToolDef};

use super::Build;
use crate::code;
use crate::config::reader::Place;
use crate::config::source::{Source, SourceKind};
use crate::config::tool::ToolEntry;
use crate::config::{Config, Layer};
use crate::diagnostic::{Finding, Owner};
use crate::view::effect_words;

/// The user's tool with what a project says about it.
///
/// # Errors
/// A finding for everything that would change it in another way than to make its effect stricter.
pub(super) fn narrowed(config: &Config, tool: &ToolDef, source: &Source, said: &ToolEntry) -> Result<ToolDef, Vec<Finding>> {
    let mut findings = Vec::new();
    for (member, span) in &said.given {
        let (why, help) = match (member.as_str(), &said.effect) {
            ("effect", Some(effect)) if stricter(tool.effect(), effect) => continue,
            ("effect", Some(effect)) => (
                format!(
                    "a project's file cannot make the effect of `{}` looser: it is `{}`, and here stands `{}`",
                    said.id,
                    effect_words(tool.effect()),
                    effect_words(Some(effect))
                ),
                "a project may only make it stricter (`read`, then `idempotent`, then `write`)",
            ),
            _ => (format!("a project's file cannot set `{member}` of `{}`", said.id), "a project may only make its effect stricter"),
        };
        let user = config.files.iter().find(|file| file.layer == Layer::User);
        let user = user.map_or("your own file", |file| file.source.name());
        findings.push(
            Finding::error(code::BAD_VALUE, why)
                .at(&said.place.source, span.clone(), "")
                .at(&source.place.source, source.place.span.clone(), "its source is yours")
                .help(format!("the tool comes from `{user}`; {help}; say anything else about it in `{user}`"))
                .owner(Owner::Tool(said.id.clone())),
        );
    }
    if !findings.is_empty() {
        return Err(findings);
    }
    Ok(match &said.effect {
        Some(effect) => tool.clone().with_effect(effect.clone()),
        None => tool.clone(),
    })
}

/// Whether `new` is what was there, or stricter. To declare what nobody declared is looser.
fn stricter(old: Option<&Effect>, new: &Effect) -> bool {
    let rank = |impact: Impact| match impact {
        Impact::None => 0,
        Impact::Idempotent => 1,
        Impact::Once => 2,
    };
    old.is_some_and(|old| old == new || rank(new.impact) > rank(old.impact))
}

impl Build<'_> {
    /// Ids of the user that nothing else would claim: of tools that cannot be used, and of servers that were not asked.
    /// A project cannot take them.
    pub(super) fn claim_for_the_user(&mut self) {
        let config = self.config;
        let users = config.files.iter().filter(|file| file.layer == Layer::User).flat_map(|file| &file.policy);
        let granted: Vec<&str> = users.flat_map(|policy| &policy.tools).map(|(id, _)| id.as_str()).collect();
        // A server without a prefix may have any tool; while it cannot say, what the user granted is meant for its tools.
        let silent = |source: &Source, id: &str| {
            let unknown = self.unknown.iter().any(|other| other.name == source.name && other.prefix.is_empty() && other.why.is_some());
            unknown && granted.contains(&id)
        };
        for (id, claims) in &mut self.claims {
            let of = |layer: Layer| move |place: &Place| config.layer(place) == layer;
            if claims.iter().any(|(place, _)| of(Layer::User)(place)) || !claims.iter().any(|(place, _)| of(Layer::Project)(place)) {
                continue;
            }
            let users = config.sources.iter().filter(|source| of(Layer::User)(&source.place));
            if let Some(source) = users.into_iter().find(|source| offers(source, id) || silent(source, id)) {
                claims.insert(0, (source.place.clone(), Owner::Source(source.name.clone())));
            }
        }
    }
}

/// Whether a source has a tool of that id, or may have it.
fn offers(source: &Source, id: &str) -> bool {
    let begins = |prefix: &str| !prefix.is_empty() && id.starts_with(prefix);
    source.described.iter().any(|known| known == id)
        || match &source.kind {
            SourceKind::Commands(_) => false,
            SourceKind::Server(server) => begins(&server.prefix),
            SourceKind::Off { prefix, .. } => prefix.as_deref().is_some_and(begins),
        }
}

#[cfg(test)]
mod tests {
    use toolwright::{Effect, Impact};

    use super::stricter;

    #[test]
    fn a_word_may_only_get_stricter() {
        let words = [Effect::read(), Effect::write_idempotent(), Effect::write()];
        for (at, old) in words.iter().enumerate() {
            for (other, new) in words.iter().enumerate() {
                assert_eq!(stricter(Some(old), new), other >= at, "{old:?} {new:?}");
            }
        }
        assert!(!stricter(None, &Effect::write()));
        let renamed = Effect { class: "harmless".into(), impact: Impact::Once };
        assert!(!stricter(Some(&Effect::write()), &renamed));
    }
}
