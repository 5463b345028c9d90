//! Which server behind us a resource, a prompt or a skill belongs to, and under which name clients see it.
//!
//! Servers keep their own names. Where two of those that a client sees have the same one, the first in the order of the configuration
//! keeps it; a later one's resource is `toolwright://SOURCE/` and its own URI, its prompt is `SOURCE_` and its own name.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use toolwright::{Object, Text, Value};

use super::lists::Kind;
use crate::server::caller::Caller;
use crate::server::calls::AllNeeds;
use crate::server::offer::{Audience, Offer};
use crate::server::surface::{Generation, Surfaces};
use crate::upstream::{Needs, Upstream};

/// How long a list is taken for the truth of a server that says when it changes.
const KEPT_WHEN_TOLD: Duration = Duration::from_secs(300);
/// The same of a server that does not say so.
const KEPT_UNTOLD: Duration = Duration::from_secs(10);
/// How long a list waits for one of its servers; it is there without it then.
const LIST_WAIT: Duration = Duration::from_secs(10);
/// How long a server is not asked again that could not answer.
const KEPT_AFTER_FAILURE: Duration = Duration::from_secs(3);
/// What the URI of a resource begins with that is told by its source.
const SOURCED: &str = "toolwright://";

/// What is offered, ready for use. A new one is made for each offer.
pub(super) struct Current {
    pub(super) surfaces: Surfaces,
    needs: AllNeeds,
    lists: Vec<[tokio::sync::Mutex<Option<Kept>>; Kind::COUNT]>,
}

/// A list as its server gave it last.
struct Kept {
    items: Arc<Vec<Value>>,
    at: Instant,
    lasts: Duration,
}

/// Something that a client may name, with the server that has it.
pub(super) struct Routed {
    /// What clients call it.
    pub(super) exposed: Text,
    /// What its server calls it.
    pub(super) own: Text,
    /// The server, by its place in the offer.
    pub(super) source: usize,
    /// The whole entry under the exposed name.
    pub(super) item: Value,
}

impl Current {
    pub(super) fn new(offer: Offer, page_items: usize) -> Self {
        let lists = offer.upstreams.iter().map(|_| Default::default()).collect();
        let needs = AllNeeds::of(&offer);
        Self { surfaces: Surfaces::new(Arc::new(offer), page_items), needs, lists }
    }

    pub(super) fn offer(&self) -> &Arc<Offer> {
        self.surfaces.offer()
    }

    /// What is compared before this tool runs.
    pub(super) fn needs(&self, tool: &str) -> Needs {
        self.needs.of_tool(tool)
    }

    pub(super) fn upstream(&self, source: usize) -> Option<&Upstream> {
        self.offer().upstreams.get(source)
    }

    /// The servers that a caller may reach, with their places.
    pub(super) fn visible(&self, caller: &Caller) -> Vec<(usize, &Upstream)> {
        self.offer().upstreams.iter().enumerate().filter(|(_, upstream)| self.sees(caller, upstream.name())).collect()
    }

    pub(super) fn sees(&self, caller: &Caller, source: &str) -> bool {
        // Where nothing is kept from anybody no list need be made to know it.
        if self.offer().audiences.get(&caller.audience).is_some_and(Audience::sees_everything) {
            return true;
        }
        // Whatever a client's program is called: which sources are open to it does not depend on that.
        self.surfaces.of(caller, None, Generation::Sessionless).is_some_and(|surface| surface.opens(source))
    }

    /// A server's list. One that cannot give it has an empty one for a moment: it never takes the others down.
    pub(super) async fn list(&self, source: usize, kind: Kind) -> Arc<Vec<Value>> {
        let (Some(upstream), Some(kept)) = (self.upstream(source), self.lists.get(source).and_then(|lists| lists.get(kind as usize)))
        else {
            return Arc::default();
        };
        let capabilities = upstream.capabilities();
        if !capabilities.is_null() && kind.declared(&capabilities).is_none() {
            return Arc::default();
        }
        let mut kept = kept.lock().await;
        if let Some(kept) = &*kept
            && kept.at.elapsed() < kept.lasts
        {
            return kept.items.clone();
        }
        let listed = tokio::time::timeout(LIST_WAIT, upstream.listed(kind.method())).await;
        let (items, lasts) = match listed {
            Ok(Ok(items)) => {
                let capabilities = upstream.capabilities();
                let tells = kind.declared(&capabilities).and_then(|declared| declared.get("listChanged"));
                let told = tells.and_then(Value::as_bool) == Some(true);
                (Arc::new(items), if told { KEPT_WHEN_TOLD } else { KEPT_UNTOLD })
            }
            Ok(Err(error)) => {
                tracing::warn!(source = upstream.name(), list = kind.method(), %error, "left out of a list");
                (Arc::default(), KEPT_AFTER_FAILURE)
            }
            Err(_) => {
                tracing::warn!(source = upstream.name(), list = kind.method(), waited = ?LIST_WAIT, "left out of a list");
                (Arc::default(), KEPT_AFTER_FAILURE)
            }
        };
        *kept = Some(Kept { items: Arc::clone(&items), at: Instant::now(), lasts });
        items
    }

    /// Forgets a server's list, and gives back what it was.
    pub(super) async fn forget(&self, source: usize, kind: Kind) -> Option<Arc<Vec<Value>>> {
        let kept = self.lists.get(source)?.get(kind as usize)?;
        kept.lock().await.take().map(|kept| kept.items)
    }

    /// Everything of a kind that a caller may name, in the order of the configuration. The servers are asked at once.
    pub(super) async fn all(&self, kind: Kind, caller: &Caller) -> Vec<Routed> {
        let visible = self.visible(caller);
        let lists = join_all(visible.iter().map(|(source, _)| self.list(*source, kind))).await;
        let mut taken: HashSet<Text> = HashSet::new();
        let mut all = Vec::with_capacity(lists.iter().map(|list| list.len()).sum());
        for ((source, upstream), list) in visible.iter().zip(lists) {
            for item in list.iter() {
                let (Some(own), Some(object)) = (item.get(kind.key()).and_then(Value::as_text), item.as_object()) else { continue };
                let exposed = exposed(kind, upstream.name(), own, &taken);
                taken.insert(exposed.clone());
                let item = if exposed == *own { item.clone() } else { renamed(object, kind, &exposed) };
                all.push(Routed { exposed, own: own.clone(), source: *source, item });
            }
        }
        all
    }

    /// The server that has what a client named, and its own name there.
    pub(super) async fn find(&self, kind: Kind, caller: &Caller, exposed: &str) -> Option<(usize, Text)> {
        // A server that is not well must not keep clients from the others: what is known is not asked for.
        if let Some(source) = self.known(kind, caller, exposed) {
            return Some((source, Text::from(exposed)));
        }
        let all = self.all(kind, caller).await;
        all.into_iter().find(|routed| routed.exposed == exposed).map(|routed| (routed.source, routed.own))
    }

    /// The first server of whose list it is known that it has the name, without asking any.
    fn known(&self, kind: Kind, caller: &Caller, own: &str) -> Option<usize> {
        let visible = self.visible(caller).into_iter().map(|(source, _)| source);
        visible.into_iter().find(|source| {
            let kept = self.lists.get(*source).and_then(|lists| lists.get(kind as usize)).and_then(|kept| kept.try_lock().ok());
            let items = kept.as_ref().and_then(|kept| kept.as_ref()).map(|kept| kept.items.as_slice()).unwrap_or_default();
            items.iter().any(|item| item.get(kind.key()).and_then(Value::as_str) == Some(own))
        })
    }

    /// The servers that may have a resource, the likeliest first, with its URI there: the one that it names, the one that lists it, or
    /// has it in a skill, the ones with a template that fits, and else all that have resources at all.
    pub(super) async fn homes(&self, caller: &Caller, uri: &str) -> Vec<(usize, Text)> {
        if let Some(home) = self.sourced(caller, uri) {
            return vec![home];
        }
        if let Some(home) = self.find(Kind::Resources, caller, uri).await {
            return vec![home];
        }
        let skills = self.all(Kind::Skills, caller).await;
        if let Some(skill) = skills.iter().find(|skill| has_file(skill, uri)) {
            return vec![(skill.source, Text::from(uri))];
        }
        let templates = self.all(Kind::Templates, caller).await;
        let mut homes: Vec<(usize, Text)> = Vec::new();
        for template in templates.iter().filter(|template| fits(&template.own, uri)) {
            if homes.iter().all(|(source, _)| *source != template.source) {
                homes.push((template.source, Text::from(uri)));
            }
        }
        if homes.is_empty() {
            let visible = self.visible(caller).into_iter();
            let serving = visible.filter(|(_, upstream)| {
                let capabilities = upstream.capabilities();
                capabilities.is_null() || capabilities.get("resources").is_some()
            });
            homes.extend(serving.map(|(source, _)| (source, Text::from(uri))));
        }
        homes
    }

    /// What clients call a resource of a server, when they may see it.
    pub(super) async fn exposed_uri(&self, caller: &Caller, source: usize, own: &str) -> Option<Text> {
        let name = self.upstream(source)?.name();
        if !self.sees(caller, name) {
            return None;
        }
        let all = self.all(Kind::Resources, caller).await;
        let listed = all.into_iter().find(|routed| routed.source == source && routed.own == own);
        Some(listed.map_or_else(|| Text::from(own), |routed| routed.exposed))
    }

    /// What `toolwright://SOURCE/URI` means.
    fn sourced(&self, caller: &Caller, uri: &str) -> Option<(usize, Text)> {
        let (name, own) = uri.strip_prefix(SOURCED)?.split_once('/')?;
        let visible = self.visible(caller);
        let (source, _) = visible.into_iter().find(|(_, upstream)| encoded(upstream.name()) == name)?;
        Some((source, Text::from(own)))
    }
}

/// The URI that says from which source a resource is.
pub(super) fn sourced_uri(source: &str, own: &str) -> Text {
    Text::from(format!("{SOURCED}{}/{own}", encoded(source)))
}

fn exposed(kind: Kind, source: &str, own: &Text, taken: &HashSet<Text>) -> Text {
    if !taken.contains(own) {
        return own.clone();
    }
    if kind != Kind::Prompts {
        return sourced_uri(source, own);
    }
    let with_source = format!("{source}_{own}");
    let numbered = (2..).map(|number: u32| format!("{with_source}_{number}"));
    let free = std::iter::once(with_source.clone()).chain(numbered).find(|name| !taken.contains(name.as_str()));
    Text::from(free.unwrap_or(with_source))
}

fn renamed(item: &Object, kind: Kind, exposed: &Text) -> Value {
    Value::from(item.with(kind.key(), exposed.clone()))
}

/// The name of a source as a part of a URI.
fn encoded(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    for byte in name.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~') {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

/// Whether a skill is, or has, the file of that URI, or a folder above one of its files.
fn has_file(skill: &Routed, uri: &str) -> bool {
    let files = skill.item.get("resources").and_then(Value::as_array).unwrap_or_default();
    let mut uris = std::iter::once(skill.exposed.as_str()).chain(files.iter().filter_map(|file| file.get("uri").and_then(Value::as_str)));
    let folder = uri.trim_end_matches('/');
    uris.any(|file| file == uri || file.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/')))
}

/// Whether a URI may have been made of a template (RFC 6570): a plain variable stands for anything without a slash, others for anything.
fn fits(template: &str, uri: &str) -> bool {
    let mut rest = uri;
    let mut parts = template.split('{');
    let Some(mut rest_of_template) = parts.next().and_then(|first| {
        rest = rest.strip_prefix(first)?;
        Some(parts)
    }) else {
        return false;
    };
    let mut variables = Vec::new();
    for part in rest_of_template.by_ref() {
        let Some((expression, literal)) = part.split_once('}') else { return false };
        variables.push((expression, literal));
    }
    let last = variables.len().saturating_sub(1);
    for (at, (expression, literal)) in variables.iter().enumerate() {
        let anything = expression.starts_with(['+', '#', '/', '?', '&', '.', ';']) || expression.ends_with('*');
        let end = if at == last { rest.strip_suffix(literal).map(str::len) } else { rest.find(literal) };
        let Some((value, after)) = end.and_then(|end| Some((rest.get(..end)?, rest.get(end + literal.len()..)?))) else { return false };
        if !anything && (value.is_empty() || value.contains('/')) {
            return false;
        }
        rest = after;
    }
    rest.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn templates_fit_what_they_may_have_made() {
        for (template, uri, made) in [
            ("test://template/{id}/data", "test://template/42/data", true),
            ("test://template/{id}/data", "test://template/4/2/data", false),
            ("test://template/{id}/data", "test://template//data", false),
            ("test://template/{id}", "test://template/42/data", false),
            ("file:///{+path}", "file:///a/b.txt", true),
            ("file:///{path*}", "file:///a/b.txt", true),
            ("x://{a}-{b}", "x://1-2", true),
            ("x://{a}-{b}", "x://1", false),
            ("x://fixed", "x://fixed", true),
            ("x://fixed", "x://other", false),
            ("x://{open", "x://1", false),
            ("x://{?q}", "x://", true),
        ] {
            assert_eq!(fits(template, uri), made, "{template} {uri}");
        }
    }

    #[test]
    fn the_first_keeps_its_name_and_later_ones_say_where_they_are_from() {
        let taken = HashSet::from([Text::from("a"), Text::from("git_a"), Text::from("file:///x")]);
        assert_eq!(exposed(Kind::Prompts, "git", &"b".into(), &taken), "b");
        assert_eq!(exposed(Kind::Prompts, "git", &"a".into(), &taken), "git_a_2");
        assert_eq!(exposed(Kind::Resources, "my git", &"file:///x".into(), &taken), "toolwright://my%20git/file:///x");
    }
}
