//! What one audience sees: tools under the names and in the form that its clients can take.
//!
//! A surface is made once for all clients that see the same, with its pages as the text that is sent. It knows which tool stands behind
//! a name; what is not in it cannot be called by anybody who sees it.

use std::collections::{BTreeSet, HashMap};

use toolwright::{Catalog, Fingerprint, Registered, Text, Value, nearest};

use super::hints::{self, Told};
use super::names::{self, Exposed, Why};
use super::offer::Audience;
use super::profile::Profile;
use super::publish;

mod cache;
mod mirrored;

pub(crate) use cache::Surfaces;
pub use mirrored::Mirrored;

/// Which of the two protocol generations a list is for.
///
/// ```
/// use toolwright_mcp::server::Generation;
/// assert_ne!(Generation::Sessions, Generation::Sessionless);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Generation {
    /// `initialize` and sessions: 2024-11-05 to 2025-11-25. Structured content is an object.
    Sessions,
    /// 2026-07-28. Structured content is any JSON value.
    Sessionless,
}

/// The tools of one audience, ready to be listed and found by their exposed names.
///
/// ```
/// use toolwright::{Registry, json, tool};
/// use toolwright_mcp::server::{Audience, Generation, Profile, Surface};
/// let log = tool("git.log", "Shows commits").reads().run_json(|input, _call| async move { Ok(input) });
/// let catalog = Registry::new().with(log)?.seal();
/// let surface = Surface::build(&catalog, &Audience::default(), &Profile::default(), Generation::Sessions, 100);
/// assert_eq!(surface.find("git_log").map(|id| id.as_str()), Some("git.log"));
/// assert!(surface.find("git.log").is_none(), "only the exposed name is a name");
/// # Ok::<(), toolwright::RegisterError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Surface {
    seen: Vec<Seen>,
    by_name: HashMap<Text, usize>,
    by_id: HashMap<Text, usize>,
    pages: Vec<Text>,
    digest: Text,
    left_out: Vec<LeftOut>,
    renamed: Vec<Renamed>,
    budgets: Vec<Budget>,
    closed_sources: BTreeSet<Text>,
    sees_all: bool,
}

#[derive(Clone, Debug)]
struct Seen {
    id: Text,
    name: Text,
    bytes: usize,
    mirrored: Vec<Mirrored>,
}

/// A tool that an audience does not get, and why.
///
/// ```
/// use toolwright::{Registry, json, tool};
/// use toolwright_mcp::server::{Audience, Generation, Profile, Surface};
/// let send = tool("send", "Sends").writes().run_json(|input, _call| async move { Ok(input) });
/// let catalog = Registry::new().with(send)?.seal();
/// let guests = Audience::default().denied(["send"]);
/// let surface = Surface::build(&catalog, &guests, &Profile::default(), Generation::Sessionless, 100);
/// assert_eq!(surface.left_out()[0].cause, "denied");
/// # Ok::<(), toolwright::RegisterError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LeftOut {
    /// The tool's id.
    pub tool: Text,
    /// `hidden`, `not_seen`, `denied`, `uses_denied`, `other_audience`, `conditional`, `schema_rejected` or `too_many_tools`.
    pub cause: &'static str,
    /// In words.
    pub reason: String,
}

/// A tool whose exposed name is not its id, and why.
///
/// ```
/// use toolwright::{Registry, json, tool};
/// use toolwright_mcp::server::{Audience, Generation, Profile, Surface};
/// let log = tool("git.log", "Shows commits").reads().run_json(|input, _call| async move { Ok(input) });
/// let catalog = Registry::new().with(log)?.seal();
/// let surface = Surface::build(&catalog, &Audience::default(), &Profile::default(), Generation::Sessions, 100);
/// assert_eq!(surface.renamed()[0].name, "git_log");
/// # Ok::<(), toolwright::RegisterError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Renamed {
    /// The tool's id.
    pub tool: Text,
    /// The name that clients use.
    pub name: Text,
    /// In words.
    pub reason: &'static str,
}

/// What the tools of one source cost those who list them.
///
/// ```
/// use toolwright::{Registry, json, tool};
/// use toolwright_mcp::server::{Audience, Generation, Profile, Surface};
/// let echo = tool("echo", "Gives back what it gets").reads().run_json(|input, _call| async move { Ok(input) });
/// let catalog = Registry::new().with(echo)?.seal();
/// let surface = Surface::build(&catalog, &Audience::default(), &Profile::default(), Generation::Sessions, 100);
/// let budget = &surface.budgets()[0];
/// assert!(budget.tools == 1 && budget.bytes > 100 && budget.tokens() == budget.bytes.div_ceil(4));
/// # Ok::<(), toolwright::RegisterError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Budget {
    /// The source; `composites` for composites, empty for tools that come from none.
    pub source: Text,
    /// Tools listed.
    pub tools: usize,
    /// Bytes of the list that are theirs.
    pub bytes: usize,
}

impl Budget {
    /// About so many tokens of a model: four bytes each.
    pub fn tokens(&self) -> usize {
        self.bytes.div_ceil(4)
    }
}

/// The source that composites are counted under.
const COMPOSITES: &str = "composites";

impl Surface {
    /// What an audience sees of a catalogue, in the form of a profile, with so many tools on a page.
    pub fn build(catalog: &Catalog, audience: &Audience, profile: &Profile, generation: Generation, page_items: usize) -> Self {
        let ids: Vec<&str> = catalog.ids().collect();
        let names = names::exposed(&ids, profile.name_chars());
        let told = hints::of_all(catalog);
        let mut builder = Builder {
            surface: Self { sees_all: audience.sees.is_empty() && audience.within.is_empty(), ..Self::default() },
            listed: Vec::new(),
        };
        builder.sources(catalog, audience);
        let all: Vec<(&Registered, Exposed, Told)> =
            catalog.values().zip(names).zip(told).map(|((entry, name), told)| (entry, name, told)).collect();
        let texts = in_halves(&all, |(entry, name, told)| match left_out(entry, audience) {
            Some((code, reason)) => Err((code, reason)),
            None => written(entry, name, *told, profile, generation)
                .map_err(|why| ("schema_rejected", format!("its schema cannot be published for `{}`: {why}", profile.name))),
        });
        for ((entry, name, _), written) in all.into_iter().zip(texts) {
            match written {
                Ok(text) => builder.listed.push(Listed { entry, name, text }),
                Err((cause, reason)) => builder.surface.left_out.push(LeftOut { tool: entry.id().into(), cause, reason }),
            }
        }
        builder.crowd(profile);
        builder.finish(page_items.max(1))
    }

    /// The id of the tool that clients call so; none for a name that this audience has not.
    pub fn find(&self, exposed: &str) -> Option<&Text> {
        self.by_name(exposed).map(|seen| &seen.id)
    }

    /// The name under which clients know the tool of this id.
    pub fn exposed(&self, id: &str) -> Option<&Text> {
        self.by_id.get(id).and_then(|at| self.seen.get(*at)).map(|seen| &seen.name)
    }

    /// The name that somebody may have meant who called a tool so, of those that this audience has.
    pub fn nearest(&self, exposed: &str) -> Option<&str> {
        nearest::nearest(exposed, self.seen.iter().map(|seen| seen.name.as_str()))
    }

    /// Ids and exposed names, in the order of the list.
    pub fn tools(&self) -> impl ExactSizeIterator<Item = (&Text, &Text)> {
        self.seen.iter().map(|seen| (&seen.id, &seen.name))
    }

    /// How many pages the list has: at least one.
    pub fn page_count(&self) -> usize {
        self.pages.len()
    }

    /// The tools of one page, from 0, as the text of a JSON array.
    pub fn page(&self, at: usize) -> Option<&Text> {
        self.pages.get(at)
    }

    /// A hash of the list: equal for equal lists, in every process.
    pub fn digest(&self) -> &Text {
        &self.digest
    }

    /// The arguments of a tool that clients also put into headers.
    pub fn mirrored(&self, exposed: &str) -> &[Mirrored] {
        self.by_name(exposed).map(|seen| seen.mirrored.as_slice()).unwrap_or_default()
    }

    /// Tools of the catalogue that this audience does not get, in the order of the catalogue.
    pub fn left_out(&self) -> &[LeftOut] {
        &self.left_out
    }

    /// Tools whose exposed name is not their id.
    pub fn renamed(&self) -> &[Renamed] {
        &self.renamed
    }

    /// Bytes of the list that are this tool's; 0 when it is not in it.
    pub fn bytes(&self, id: &str) -> usize {
        self.by_id.get(id).and_then(|at| self.seen.get(*at)).map_or(0, |seen| seen.bytes)
    }

    /// What the tools cost that are listed, by source, in the order of the list.
    pub fn budgets(&self) -> &[Budget] {
        &self.budgets
    }

    /// Whether resources and prompts of this source are for it: it sees some of the source's tools, or sees everything.
    pub fn opens(&self, source: &str) -> bool {
        !self.closed_sources.contains(source) && (self.sees_all || self.open_source(source))
    }

    fn open_source(&self, source: &str) -> bool {
        self.budgets.iter().any(|budget| budget.source == source)
    }

    fn by_name(&self, exposed: &str) -> Option<&Seen> {
        self.by_name.get(exposed).and_then(|at| self.seen.get(*at))
    }
}

/// A tool on its way into the list.
struct Listed<'c> {
    entry: &'c Registered,
    name: Exposed,
    text: String,
}

struct Builder<'c> {
    surface: Surface,
    listed: Vec<Listed<'c>>,
}

impl Builder<'_> {
    /// Sources of which the audience is shown nothing, though there would be something.
    fn sources(&mut self, catalog: &Catalog, audience: &Audience) {
        let mut open: BTreeSet<Text> = BTreeSet::new();
        let mut all: BTreeSet<Text> = BTreeSet::new();
        for entry in catalog.values().filter(|entry| !entry.is_composite()) {
            let Some(origin) = entry.origin() else { continue };
            all.insert(origin.source.clone());
            if audience.sees(entry.id()) {
                open.insert(origin.source.clone());
            }
        }
        self.surface.closed_sources = all.difference(&open).cloned().collect();
    }

    /// Keeps so many tools as the profile's clients take: composites first, then as they stand in the catalogue.
    fn crowd(&mut self, profile: &Profile) {
        let Some(max) = profile.tools_max.filter(|max| self.listed.len() > *max) else { return };
        let composites = self.listed.iter().filter(|listed| listed.entry.is_composite()).count();
        let (mut composites_left, mut others_left) = (max.min(composites), max.saturating_sub(composites));
        let count = self.listed.len();
        let name = &profile.name;
        for listed in std::mem::take(&mut self.listed) {
            let left = if listed.entry.is_composite() { &mut composites_left } else { &mut others_left };
            if let Some(fewer) = left.checked_sub(1) {
                *left = fewer;
                self.listed.push(listed);
                continue;
            }
            let reason = format!(
                "there are {count} tools, and `{name}` takes {max}: composites come first, then tools in their order; choose with `sees` or `hidden`"
            );
            self.surface.left_out.push(LeftOut { tool: listed.entry.id().into(), cause: "too_many_tools", reason });
        }
    }

    fn finish(self, page_items: usize) -> Surface {
        let Self { mut surface, listed } = self;
        // Each tool with a comma or a bracket before it, and a bracket behind each page.
        let length = listed.iter().map(|listed| listed.text.len() + 2).sum();
        let mut hashed = String::with_capacity(length);
        for page in listed.chunks(page_items) {
            let start = hashed.len();
            for (at, listed) in page.iter().enumerate() {
                hashed.push_str(if at == 0 { "[" } else { "," });
                hashed.push_str(&listed.text);
            }
            hashed.push(']');
            surface.pages.push(hashed.get(start..).unwrap_or_default().into());
        }
        if surface.pages.is_empty() {
            surface.pages.push(Text::from("[]"));
        }
        surface.digest = Fingerprint::of(&hashed).to_string().into();
        for Listed { entry, name, text } in listed {
            let id = Text::from(entry.id());
            surface.count(entry, text.len());
            if let Some(why) = name.why {
                surface.renamed.push(Renamed { tool: id.clone(), name: name.name.clone(), reason: reason(why) });
            }
            let at = surface.seen.len();
            surface.by_name.insert(name.name.clone(), at);
            surface.by_id.insert(id.clone(), at);
            surface.seen.push(Seen { id, name: name.name, bytes: text.len(), mirrored: mirrored::of(entry.input_schema()) });
        }
        surface
    }
}

impl Surface {
    fn count(&mut self, entry: &Registered, bytes: usize) {
        let source = match entry.origin() {
            _ if entry.is_composite() => COMPOSITES.into(),
            Some(origin) => origin.source.clone(),
            None => Text::new(),
        };
        match self.budgets.iter_mut().find(|budget| budget.source == source) {
            Some(budget) => {
                budget.tools += 1;
                budget.bytes += bytes;
            }
            None => self.budgets.push(Budget { source, tools: 1, bytes }),
        }
    }
}

fn reason(why: Why) -> &'static str {
    match why {
        Why::Characters => "names have letters, digits, `_` and `-` only",
        Why::Length => "the id is longer than a name may be, so a tail of its hash stands for the rest",
        Why::Taken => {
            "without the characters that names cannot have it would be another tool's name, so a tail of its hash tells them apart"
        }
    }
}

/// Why an audience does not get a tool.
fn left_out(entry: &Registered, audience: &Audience) -> Option<(&'static str, String)> {
    let id = entry.id();
    if entry.is_hidden() {
        return Some(("hidden", "the configuration hides it; composites may use it".to_owned()));
    }
    if audience.denies(id) {
        return Some(("denied", "it is on the `denied` list of the audience".to_owned()));
    }
    if !audience.sees(id) {
        return Some(("not_seen", "nothing on the `sees` list of the audience fits it; composites may use it".to_owned()));
    }
    if let Some(tool) = entry.composite().and_then(|composite| composite.tools().iter().find(|tool| audience.denies(tool))) {
        return Some(("uses_denied", format!("it uses `{tool}`, which is denied to the audience, so every call would be refused there")));
    }
    if entry.audience() != "model" {
        return Some(("other_audience", format!("it says that it is for `{}`, not for a model", entry.audience())));
    }
    if entry.is_conditional() {
        return Some(("conditional", "whether it is there depends on who calls, and a list is the same for all clients".to_owned()));
    }
    None
}

/// One tool as it stands in the list.
fn written(entry: &Registered, name: &Exposed, told: Told, profile: &Profile, generation: Generation) -> Result<String, publish::TooLarge> {
    let input = publish::input(entry.input_schema(), profile)?;
    // What a tool gives is worth knowing; a tool is worth more.
    let output = publish::output(entry.output_schema(), profile, generation).ok().flatten();
    let mut description = entry.description().to_owned();
    for note in &input.notes {
        if !description.is_empty() {
            description.push_str("\n\n");
        }
        description.push_str(note);
    }
    // People are shown what the name was made from.
    let title = entry.title().or_else(|| name.why.map(|_| entry.id()));
    let schemas = input.schema.weight().saturating_add(output.as_ref().map_or(0, Value::weight));
    let mut text = String::with_capacity(usize::try_from(schemas).unwrap_or_default().min(SCHEMAS_RESERVED) + description.len() + 512);
    text.push_str("{\"name\":");
    Value::from(&name.name).append_json(&mut text);
    if let Some(title) = title {
        text.push_str(",\"title\":");
        Value::from(title).append_json(&mut text);
    }
    text.push_str(",\"description\":");
    Value::from(description).append_json(&mut text);
    text.push_str(",\"inputSchema\":");
    input.schema.append_json(&mut text);
    if let Some(output) = output {
        text.push_str(",\"outputSchema\":");
        output.append_json(&mut text);
    }
    text.push_str(",\"annotations\":");
    told.append_json(&mut text);
    text.push('}');
    Ok(text)
}

/// Bytes that are reserved for the schemas of one tool at most; the text grows where they are longer.
const SCHEMAS_RESERVED: usize = 64 * 1024;

/// From so many items on half of them are seen to on another thread.
const ITEMS_APART: usize = 200;

/// What becomes of each item, in their order. Of many, one half is seen to beside the other.
fn in_halves<T: Sync, U: Send>(items: &[T], make: impl Fn(&T) -> U + Sync) -> Vec<U> {
    let of = |items: &[T]| items.iter().map(&make).collect::<Vec<U>>();
    if items.len() < ITEMS_APART {
        return of(items);
    }
    let (here, there) = items.split_at(items.len() / 2);
    std::thread::scope(|scope| {
        let apart = std::thread::Builder::new().name("list".to_owned()).spawn_scoped(scope, || of(there)).ok();
        let mut all = of(here);
        all.extend(apart.and_then(|apart| apart.join().ok()).unwrap_or_else(|| of(there)));
        all
    })
}

#[cfg(test)]
mod tests;
