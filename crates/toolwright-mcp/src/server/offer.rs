//! What is offered: a catalogue, the servers behind it, and who sees what of it.

use std::collections::BTreeMap;
use std::sync::Arc;

use toolwright::{Catalog, Context, Refusal, StepRequest, Text, Value};

use super::profile::Profile;
use crate::upstream::Upstream;

/// What clients see. A new one replaces it as a whole.
///
/// ```
/// use toolwright::{Registry, json, tool};
/// use toolwright_mcp::server::{Audience, Offer};
/// let echo = tool("echo", "Gives back what it gets").reads().run_json(|input, _call| async move { Ok(input) });
/// let offer = Offer::new(Registry::new().with(echo)?.seal()).audience("readers", Audience::default().seeing(["echo"]));
/// assert!(offer.audiences.contains_key(""), "the default audience sees everything");
/// # Ok::<(), toolwright::RegisterError>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Offer {
    /// The tools.
    pub catalog: Catalog,
    /// The servers whose resources and prompts are passed through, in the order of the configuration.
    pub upstreams: Vec<Upstream>,
    /// Who sees what, by name; the default audience has the empty name. A caller whose audience is not among them sees nothing.
    pub audiences: BTreeMap<Text, Audience>,
}

impl Offer {
    /// All of a catalogue, for everybody who has no other audience.
    pub fn new(catalog: Catalog) -> Self {
        Self { catalog, upstreams: Vec::new(), audiences: BTreeMap::from([(Text::new(), Audience::default())]) }
    }

    /// With the servers behind it.
    #[must_use]
    pub fn upstreams(mut self, upstreams: impl IntoIterator<Item = Upstream>) -> Self {
        self.upstreams.extend(upstreams);
        self
    }

    /// With an audience; one of the empty name takes the place of the default one.
    #[must_use]
    pub fn audience(mut self, name: impl Into<Text>, audience: Audience) -> Self {
        self.audiences.insert(name.into(), audience);
        self
    }

    /// With these audiences and no others: without one of the empty name, a client that has no audience sees nothing.
    #[must_use]
    pub fn only_audiences(mut self, audiences: BTreeMap<Text, Audience>) -> Self {
        self.audiences = audiences;
        self
    }
}

/// What a group of clients sees.
///
/// A pattern is the id of a tool; `*` in it stands for any text.
///
/// ```
/// use toolwright_mcp::server::Audience;
/// let readers = Audience::default().seeing(["git_*", "report"]).denied(["git_push"]);
/// assert!(readers.sees("git_log") && readers.sees("report"));
/// assert!(!readers.sees("git_push") && !readers.sees("send_mail"));
/// assert!(readers.denies("git_push") && !readers.denies("send_mail"), "what is only not seen can still be a step");
/// ```
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Audience {
    /// The tools it sees: patterns; empty = all. What it does not see, composites may still use.
    pub sees: Vec<Text>,
    /// Further lists of patterns: what it sees must fit each of them too.
    pub within: Vec<Vec<Text>>,
    /// Tools it never reaches, inside composites neither: patterns.
    pub denied: Vec<Text>,
    /// The form in which tools are published; absent = by the name that a client gives itself.
    pub profile: Option<Profile>,
}

impl Audience {
    /// The same, seeing tools of these patterns too; the first ones end that it sees everything.
    #[must_use]
    pub fn seeing<T: Into<Text>>(mut self, patterns: impl IntoIterator<Item = T>) -> Self {
        self.sees.extend(patterns.into_iter().map(Into::into));
        self
    }

    /// The same, never reaching tools of these patterns.
    #[must_use]
    pub fn denied<T: Into<Text>>(mut self, patterns: impl IntoIterator<Item = T>) -> Self {
        self.denied.extend(patterns.into_iter().map(Into::into));
        self
    }

    /// The same, seeing only what the other one sees too, and never reaching what is denied to either. The form in which tools are
    /// published stays.
    ///
    /// ```
    /// use toolwright_mcp::server::Audience;
    /// let readers = Audience::default().seeing(["git_*"]);
    /// let fewer = readers.narrowed(&Audience::default().seeing(["*"]).denied(["git_push"]));
    /// assert!(fewer.sees("git_log") && !fewer.sees("send_mail") && fewer.denies("git_push"));
    /// ```
    #[must_use]
    pub fn narrowed(mut self, other: &Self) -> Self {
        if self.sees.is_empty() {
            self.sees.clone_from(&other.sees);
        } else if !other.sees.is_empty() {
            self.within.push(other.sees.clone());
        }
        self.within.extend(other.within.iter().cloned());
        self.denied.extend(other.denied.iter().cloned());
        self
    }

    /// The same, with tools in the form of this profile whatever a client calls itself.
    #[must_use]
    pub fn profile(mut self, profile: Profile) -> Self {
        self.profile = Some(profile);
        self
    }

    /// Whether nothing at all is kept from it.
    pub(crate) fn sees_everything(&self) -> bool {
        self.sees.is_empty() && self.within.is_empty() && self.denied.is_empty()
    }

    /// Whether a tool of this id is shown to it.
    pub fn sees(&self, id: &str) -> bool {
        let fits_one = |patterns: &[Text]| patterns.iter().any(|pattern| fits(pattern, id));
        (self.sees.is_empty() || fits_one(&self.sees)) && self.within.iter().all(|patterns| fits_one(patterns)) && !self.denies(id)
    }

    /// Whether a tool of this id is out of its reach.
    pub fn denies(&self, id: &str) -> bool {
        self.denied.iter().any(|pattern| fits(pattern, id))
    }
}

/// The check that keeps what is denied to an audience out of its composites: for
/// [`HostChecks::permission`](toolwright::HostChecks::permission) of the catalogue that is offered.
///
/// Each inner call is judged again as the caller, from the context that the server gives every call. `None` when nothing is denied to
/// anybody, so that nothing need be checked. A call without a caller is judged as one of the default audience; one of an audience that
/// there is not is refused.
///
/// ```
/// use std::collections::BTreeMap;
/// use toolwright::{HostChecks, Policy};
/// use toolwright_mcp::server::{Audience, denied_steps};
/// let audiences = BTreeMap::from([("guests".into(), Audience::default().denied(["send_*"]))]);
/// let checks: HostChecks = match denied_steps(audiences) {
///     Some(check) => HostChecks::new().permission(check),
///     None => HostChecks::new(),
/// };
/// let policy: Policy = Policy::new().checks(checks);
/// ```
pub fn denied_steps(
    audiences: BTreeMap<Text, Audience>,
) -> Option<impl Fn(&StepRequest<'_>) -> Result<(), Refusal> + Send + Sync + 'static> {
    if audiences.values().all(|audience| audience.denied.is_empty()) {
        return None;
    }
    let audiences = Arc::new(audiences);
    Some(move |step: &StepRequest<'_>| {
        let name = audience_of(step.context);
        match audiences.get(name) {
            Some(audience) if !audience.denies(step.name) => Ok(()),
            Some(_) => Err(refusal(name, step.name)),
            None => Err(Refusal::new("permission_denied", format!("there is no audience `{name}`, so its callers may use nothing"))
                .help("the caller's audience was taken out of the configuration while the call ran")),
        }
    })
}

/// The audience that a call says it comes from; the default one for a call that says nothing.
fn audience_of(context: &Context) -> &str {
    let caller = context.data().get("caller");
    caller.and_then(|caller| caller.get("audience")).and_then(Value::as_str).unwrap_or_default()
}

fn refusal(audience: &str, tool: &str) -> Refusal {
    let who = if audience.is_empty() { "callers without an audience".to_owned() } else { format!("the audience `{audience}`") };
    Refusal::new("permission_denied", format!("`{tool}` is denied to {who}, inside a composite too"))
        .help("use another tool, or ask whoever runs this server to take it off the `denied` list of the audience")
}

/// Whether a text fits a pattern, in which `*` is any text.
pub(crate) fn fits(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|first| text.strip_prefix(first)) else { return false };
    let mut last = None;
    for part in parts {
        if let Some(middle) = last.replace(part) {
            // INVARIANT: the leftmost place is as good as any, since `*` takes what it must.
            let Some(at) = rest.find(middle) else { return false };
            rest = rest.get(at + middle.len()..).unwrap_or_default();
        }
    }
    last.map_or(rest.is_empty(), |last| rest.ends_with(last))
}

#[cfg(test)]
mod tests {
    use super::fits;

    #[test]
    fn patterns() {
        let table = [
            ("git_log", "git_log", true),
            ("git_log", "git_logs", false),
            ("*", "", true),
            ("*", "anything", true),
            ("git_*", "git_log", true),
            ("git_*", "git", false),
            ("*_log", "git_log", true),
            ("*_log", "git_log2", false),
            ("a*b*c", "aXbYc", true),
            ("a*b*c", "abc", true),
            ("a*b*c", "acb", false),
            ("a*a", "a", false),
            ("a**b", "ab", true),
            ("é*", "é1", true),
            ("", "", true),
            ("", "x", false),
        ];
        for (pattern, text, expected) in table {
            assert_eq!(fits(pattern, text), expected, "`{pattern}` and `{text}`");
        }
    }
}
