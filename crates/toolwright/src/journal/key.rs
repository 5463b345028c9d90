//! The key of a call: its path in the run, as text only when somebody asks.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::frame::{PathNode, path::placed};
use crate::value::Text;

/// A call's place in its run. Turns into text only when somebody asks.
///
/// ```
/// use toolwright::journal::StepKey;
///
/// let key = StepKey::written("research/0:look", "search");
/// assert_eq!((key.path().as_str(), key.tool()), ("research/0:look", "search"));
/// assert_eq!(serde_json::to_string(&key)?, r#"{"path":"research/0:look","tool":"search"}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone)]
pub struct StepKey(Place);

#[derive(Clone)]
enum Place {
    Live { node: Arc<PathNode>, step: u32, repeats: bool },
    Written(Arc<Written>),
}

#[derive(Serialize, Deserialize)]
struct Written {
    path: Text,
    tool: Text,
}

impl StepKey {
    /// The place of a running call. `repeats`: a tool named this call itself, or it is inside such a call, so that the
    /// same key may come again in the same run.
    #[inline]
    pub(crate) fn at(node: Arc<PathNode>, step: u32, repeats: bool) -> Self {
        Self(Place::Live { node, step, repeats })
    }

    /// A place from its text, as it was read from somewhere.
    pub fn written(path: impl Into<Text>, tool: impl Into<Text>) -> Self {
        Self(Place::Written(Arc::new(Written { path: path.into(), tool: tool.into() })))
    }

    /// `research/0:search`
    pub fn path(&self) -> String {
        match &self.0 {
            Place::Live { node, step, .. } => node.path(*step),
            Place::Written(written) => written.path.to_string(),
        }
    }

    /// What a journal looks a call up by. It is the path, but for a call that a tool makes without giving it a key: that
    /// has its place by its order, whichever tool is called there, so that a tool that makes its calls in another order
    /// the second time is found out.
    ///
    /// ```
    /// use toolwright::journal::StepKey;
    ///
    /// assert_eq!(StepKey::written("research/look~1", "look").place(), "research/~1");
    /// assert_eq!(StepKey::written("research/0:look", "look").place(), "research/0:look");
    /// ```
    pub fn place(&self) -> String {
        match &self.0 {
            Place::Live { node, step, .. } => node.place(*step),
            Place::Written(written) => placed(&written.path, &written.tool).unwrap_or_else(|| written.path.to_string()),
        }
    }

    /// Name of the called tool.
    pub fn tool(&self) -> &str {
        match &self.0 {
            Place::Live { node, step, .. } => node.names.step(*step).map_or("", |step| step.tool.as_str()),
            Place::Written(written) => &written.tool,
        }
    }

    /// Whether this key can come a second time in one claim of a run. When it cannot, and the run has no history,
    /// a journal need not look for it.
    pub fn may_repeat(&self) -> bool {
        match &self.0 {
            Place::Live { repeats, .. } => *repeats,
            Place::Written(_) => true,
        }
    }
}

impl PartialEq for StepKey {
    /// Same path, same tool.
    fn eq(&self, other: &Self) -> bool {
        if let (Place::Live { node, step, .. }, Place::Live { node: node2, step: step2, .. }) = (&self.0, &other.0)
            && Arc::ptr_eq(node, node2)
        {
            return step == step2;
        }
        self.tool() == other.tool() && self.path() == other.path()
    }
}

impl Eq for StepKey {}

impl fmt::Debug for StepKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StepKey({})", self.path())
    }
}

impl Serialize for StepKey {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.0 {
            Place::Written(written) => written.serialize(serializer),
            Place::Live { .. } => Written { path: self.path().into(), tool: self.tool().into() }.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for StepKey {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self(Place::Written(Arc::new(Written::deserialize(deserializer)?))))
    }
}
