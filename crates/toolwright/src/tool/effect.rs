//! What a tool says about its side effects. Silence is not consent: a tool
//! without an [`Effect`] is undeclared, and nothing may chain it.

use crate::value::Text;

/// What a second run would do. Ordered by how much is at stake.
///
/// Asked when a run is resumed: what changes nothing more may run again.
///
/// ```
/// use toolwright::Impact;
/// assert!(Impact::None < Impact::Idempotent && Impact::Idempotent < Impact::Once);
/// assert_eq!(Impact::Once.as_str(), "once");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Impact {
    /// Nothing changes, however often it runs.
    None,
    /// Something changes; a second run with the same arguments changes nothing more.
    Idempotent,
    /// Something changes; a second run changes it again.
    Once,
}

impl Impact {
    /// The word used in configuration files and listings.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Idempotent => "idempotent",
            Self::Once => "once",
        }
    }
}

/// A declared effect: a class name and what a second run would do.
///
/// [`ToolBuilder::reads`](crate::ToolBuilder::reads) and [`writes`](crate::ToolBuilder::writes) make the usual ones.
///
/// ```
/// use toolwright::{Effect, Impact, tool};
/// let deploy = tool("deploy", "Deploys").effect(Effect::new("deploy", Impact::Idempotent));
/// let deploy = deploy.run_json(|input, _call| async move { Ok(input) });
/// assert!(deploy.effect().is_some_and(Effect::has_side_effects));
/// assert!(!Effect::read().has_side_effects());
/// ```
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Effect {
    /// `read`, `write` or the host's own word, for example `deploy`.
    pub class: Text,
    /// What a second run would do.
    pub impact: Impact,
}

impl Effect {
    /// An effect with the host's own class name.
    pub fn new(class: impl Into<Text>, impact: Impact) -> Self {
        Self { class: class.into(), impact }
    }

    /// Changes nothing.
    pub fn read() -> Self {
        Self::new(arcstr::literal!("read"), Impact::None)
    }

    /// Changes something each time it runs.
    pub fn write() -> Self {
        Self::new(arcstr::literal!("write"), Impact::Once)
    }

    /// Changes something, once, however often it runs with the same arguments.
    pub fn write_idempotent() -> Self {
        Self::new(arcstr::literal!("write"), Impact::Idempotent)
    }

    /// Whether anything changes.
    pub fn has_side_effects(&self) -> bool {
        self.impact > Impact::None
    }
}

impl std::fmt::Display for Effect {
    /// `read`, `write (once)`, `deploy (idempotent)`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.impact {
            Impact::None => f.write_str(&self.class),
            impact => write!(f, "{} ({})", self.class, impact.as_str()),
        }
    }
}
