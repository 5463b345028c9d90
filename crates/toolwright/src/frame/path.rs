//! Places in the tree of calls, and the ids of runs. A place turns into text only when somebody asks.

use std::borrow::Cow;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

use crate::value::Text;

/// A run's id: the host's own, or 128 random bits that become text when somebody asks.
#[derive(Clone, Debug)]
pub(crate) enum RunId {
    Given(Text),
    Drawn(u128),
}

thread_local! {
    /// Where this thread's ids begin and how many it has drawn. The seeds come from the operating system's randomness.
    static DRAWN: std::cell::Cell<Option<(u64, u64, u64)>> = const { std::cell::Cell::new(None) };
}

impl RunId {
    /// A new id. A counter alone would repeat after a restart, and find somebody else's run in the journal.
    pub(crate) fn draw() -> Self {
        let (high, low, count) = DRAWN.get().unwrap_or_else(|| (RandomState::new().hash_one(0), RandomState::new().hash_one(1), 0));
        DRAWN.set(Some((high, low, count.wrapping_add(1))));
        Self::Drawn((u128::from(high.wrapping_add(mixed(count ^ low))) << 64) | u128::from(mixed(low.wrapping_add(count))))
    }

    pub(crate) fn text(&self) -> Text {
        match self {
            Self::Given(id) => id.clone(),
            Self::Drawn(bits) => {
                let mut digits = [b'0'; 32];
                for (pair, byte) in digits.chunks_exact_mut(2).zip(bits.to_be_bytes()) {
                    for (digit, half) in pair.iter_mut().zip([byte >> 4, byte & 15]) {
                        *digit = if half < 10 { b'0' + half } else { b'a' + half - 10 };
                    }
                }
                std::str::from_utf8(&digits).map(Text::from).unwrap_or_default()
            }
        }
    }
}

/// The finaliser of SplitMix64: one to one, and every bit depends on every other.
fn mixed(mut bits: u64) -> u64 {
    bits = bits.wrapping_add(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

/// The place of a nested call of `tool` by order: `outer/~1` for `outer/tool~1`. None for any other path.
pub(crate) fn placed(path: &str, tool: &str) -> Option<String> {
    let (head, number) = path.rsplit_once('~')?;
    let around = head.strip_suffix(&*name_segment(tool))?.strip_suffix('/')?;
    let by_order = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    by_order.then(|| format!("{around}/~{number}"))
}

/// Names of one composite and its steps, for paths, events and errors.
#[derive(Debug)]
pub(crate) struct Names {
    /// Name of the composite; empty for the root of a run and for a composite without a name.
    pub(crate) composite: Text,
    pub(crate) steps: Box<[StepName]>,
}

#[derive(Clone, Debug)]
pub(crate) struct StepName {
    pub(crate) name: Text,
    pub(crate) tool: Text,
}

impl Names {
    pub(crate) fn of_root(tool: &Text) -> Self {
        Self::of_call(tool.clone(), tool.clone())
    }

    /// A single call, named `name`.
    pub(crate) fn of_call(name: Text, tool: Text) -> Self {
        Self { composite: Text::new(), steps: Box::new([StepName { name, tool }]) }
    }

    pub(crate) fn deep_clone(&self) -> Self {
        let own = |text: &Text| Text::from(text.as_str());
        let steps = self.steps.iter().map(|step| StepName { name: own(&step.name), tool: own(&step.tool) });
        Self { composite: own(&self.composite), steps: steps.collect() }
    }

    pub(crate) fn step(&self, index: u32) -> Option<&StepName> {
        self.steps.get(index as usize)
    }
}

/// How a place is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Segment {
    /// The path begins here. There may be a place around it: a run of its own, begun inside a tool.
    Root,
    /// Steps of a composite: `/0:search`.
    Steps,
    /// A call that a tool makes: `/search~0`.
    Nested,
    /// A call that a tool makes, at a place that it names itself: two of one name are one call.
    Keyed,
}

/// A key that a tool gives to a call, as it stands in the path: `/` would begin another segment, and a number is what a
/// call has that was given no key.
pub(crate) fn key_segment(key: &str) -> String {
    let mut segment = String::with_capacity(key.len());
    for c in key.chars() {
        match c {
            '%' => segment.push_str("%25"),
            '/' => segment.push_str("%2F"),
            '"' => segment.push_str("%22"),
            _ => segment.push(c),
        }
    }
    if segment.bytes().all(|byte| byte.is_ascii_digit()) { format!("\"{segment}\"") } else { segment }
}

/// A name as it stands in a path: `/` would begin another segment, `~` what stands behind a nested call. Ordinary names
/// stand as they are.
pub(crate) fn name_segment(name: &str) -> Cow<'_, str> {
    if !name.contains(['%', '/', '~']) {
        return Cow::Borrowed(name);
    }
    Cow::Owned(name.replace('%', "%25").replace('/', "%2F").replace('~', "%7E"))
}

/// A step's name as it stands in the key of a rehearsal's output, where `/` leads into a composite.
pub(crate) fn step_segment(name: &str) -> Cow<'_, str> {
    if name.contains(['/', '%']) { name.replace('%', "%25").replace('/', "%2F").into() } else { name.into() }
}

/// A place in the tree of calls. Holds names only, so that a record may outlive its run.
#[derive(Debug)]
pub(crate) struct PathNode {
    pub(crate) parent: Option<(Arc<PathNode>, u32)>,
    pub(crate) names: Arc<Names>,
    pub(crate) segment: Segment,
    /// A tool named this place, or one around it: its key may come again in the same run.
    pub(crate) repeats: bool,
    /// Composites entered to get here, this one included.
    pub(crate) depth: u32,
    /// Calls around this place.
    pub(crate) calls: u32,
    pub(crate) identity: Identity,
}

/// Which composite runs and through which gate, as addresses: compared only while the run holds both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Identity {
    pub(crate) composite: usize,
    pub(crate) gate: usize,
}

impl PathNode {
    /// Where a run begins.
    pub(crate) fn root(tool: &Text) -> Self {
        let names = Arc::new(Names::of_root(tool));
        Self { parent: None, names, segment: Segment::Root, repeats: false, depth: 0, calls: 0, identity: Identity::default() }
    }

    /// This place and those around it, innermost first.
    pub(crate) fn outwards(&self) -> impl Iterator<Item = &Self> {
        std::iter::successors(Some(self), |node| node.parent.as_ref().map(|(parent, _)| &**parent))
    }

    /// Composites on the way here, innermost first.
    pub(crate) fn composites(&self) -> impl Iterator<Item = &Text> {
        self.outwards().map(|node| &node.names.composite).filter(|name| !name.is_empty())
    }

    /// Names of the calling tools, outermost first.
    pub(crate) fn lineage(&self) -> Vec<Text> {
        let caller = |node: &Self| node.parent.as_ref().and_then(|(parent, at)| Some(parent.names.step(*at)?.tool.clone()));
        // The host's code about a call is no tool.
        let mut names: Vec<Text> = self.outwards().filter_map(caller).filter(|name| !name.is_empty()).collect();
        names.reverse();
        names
    }

    /// Whether a composite on the way here is `composite`, or has the name `tool` where `gate` finds its tools.
    pub(crate) fn is_inside(&self, composite: usize, gate: usize, tool: &str) -> bool {
        self.outwards().any(|node| {
            let entered_as = node.parent.as_ref().and_then(|(parent, at)| Some((parent.identity.gate, parent.names.step(*at)?)));
            node.identity.composite == composite
                || (node.identity.gate == gate && gate != 0 && node.names.composite == tool)
                || entered_as.is_some_and(|(by, step)| by == gate && gate != 0 && step.tool == tool)
        })
    }

    fn write(&self, step: u32, out: &mut String) {
        if let Some((parent, at)) = self.parent.as_ref().filter(|_| self.segment != Segment::Root) {
            parent.write(*at, out);
            out.push('/');
            if self.segment == Segment::Steps {
                out.push_str(&step.to_string());
                out.push(':');
            }
        }
        if let Some(step) = self.names.step(step) {
            // What stands behind the tool is a number, or a key that was written so already.
            let behind =
                matches!(self.segment, Segment::Nested | Segment::Keyed).then(|| step.name.strip_prefix(step.tool.as_str())).flatten();
            match behind {
                Some(behind) => out.extend([&*name_segment(&step.tool), behind]),
                None => out.push_str(&name_segment(&step.name)),
            }
        }
    }

    /// `research/0:search`: root tool, then position and name of each step, or name and order of each nested call.
    pub(crate) fn path(&self, step: u32) -> String {
        let mut path = String::new();
        self.write(step, &mut path);
        path
    }

    /// As `path`, but for a call that has its place by order, which is the same whatever is called there: `outer/~1`.
    pub(crate) fn place(&self, step: u32) -> String {
        let path = self.path(step);
        match self.names.step(step) {
            Some(named) if self.segment == Segment::Nested => placed(&path, &named.tool).unwrap_or(path),
            _ => path,
        }
    }

    /// `outer/inner`: step names below the root, the form in which outputs of a rehearsal are keyed.
    pub(crate) fn step_key(&self, step: u32) -> String {
        let name = self.names.step(step).map_or("", |step| step.name.as_str());
        // A key that a tool gave is written so already.
        let name = if self.segment == Segment::Keyed { name.into() } else { step_segment(name) };
        match &self.parent {
            Some((parent, at)) if self.segment != Segment::Root && parent.segment != Segment::Root => {
                format!("{}/{name}", parent.step_key(*at))
            }
            _ => name.into_owned(),
        }
    }
}
