//! Why a session did not do what it was asked.

use crate::error::CallError;
use crate::registry::RegisterError;
use crate::value::{Text, Value};

/// A forged tool that is not there, or that cannot go.
///
/// ```
/// use toolwright::{Options, Registry, Session};
/// let session = Session::new(Registry::new().seal(), Options::new())?;
/// let error = session.retire("digest").err().ok_or("it was never forged")?;
/// assert_eq!(error.code(), "not_forged");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SessionError {
    /// No tool of this id was forged in the session.
    NotForged {
        /// The id.
        tool: Text,
        /// The session has a tool of this id from its base, and those do not change.
        inherited: bool,
        /// The nearest id that was forged.
        nearest: Option<Text>,
    },
    /// Other forged tools have it as a step.
    StillUsed {
        /// The id.
        tool: Text,
        /// Those tools, in the order in which they were forged.
        by: Vec<Text>,
    },
}

impl SessionError {
    /// The stable code.
    pub fn code(&self) -> &'static str {
        match self {
            Self::NotForged { .. } => "not_forged",
            Self::StillUsed { .. } => "still_used",
        }
    }

    /// What to do about it.
    pub fn help(&self) -> String {
        match self {
            Self::NotForged { inherited: true, .. } => {
                "only what a session forged can be changed in it; leave it out with `Session::subset`".into()
            }
            Self::NotForged { nearest: Some(near), .. } => format!("did you mean `{near}`?"),
            Self::NotForged { .. } => "`Session::forged` lists what was forged".into(),
            Self::StillUsed { by, .. } => format!("retire {} first", listed(by)),
        }
    }
}

impl std::fmt::Display for SessionError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NotForged { tool, inherited: true, .. } => write!(f, "`{}` comes from the base of the session", crate::cut(tool, 80)),
            Self::NotForged { tool, .. } => write!(f, "no tool `{}` was forged in the session", crate::cut(tool, 80)),
            Self::StillUsed { tool, by } => write!(f, "`{}` is a step of {}", crate::cut(tool, 80), listed(by)),
        }
    }
}

impl std::error::Error for SessionError {}

fn listed(ids: &[Text]) -> String {
    ids.iter().map(|id| format!("`{}`", crate::cut(id, 80))).collect::<Vec<_>>().join(", ")
}

/// A composite that was not forged. The session is as it was.
///
/// [`Session::forge_tested`](crate::Session::forge_tested) gives it.
///
/// ```
/// use toolwright::{Composite, ForgeError, ForgeTest, Options, Registry, Session, json, tool};
/// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
/// let echo = tool("echo", "Gives back what it gets").reads().run_json(|input, _call| async move { Ok(input) });
/// let session = Session::new(Registry::new().with(echo)?.seal(), Options::new())?;
/// let digest = Composite::new("digest", "Echoes").step("a", "echo", json!({ "x": "$input.x" }));
/// let test = ForgeTest::new("gives two", json!({ "x": 1 })).expects(json!({ "x": 2 }));
/// let error = session.forge_tested(digest, vec![test], ()).await.err().ok_or("it gives one")?;
/// let ForgeError::Tests { failed, .. } = &error else { return Err("a test failed".into()) };
/// assert_eq!(failed[0].name, "gives two");
/// # Ok::<(), Box<dyn std::error::Error>>(()) })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum ForgeError {
    /// It cannot be registered.
    Refused(RegisterError),
    /// Some of its tests failed; all were tried.
    Tests {
        /// The composite.
        tool: Text,
        /// The tests that failed, in order.
        failed: Vec<FailedTest>,
    },
}

/// One test that failed.
///
/// A [`ForgeError`] lists them; its page has an example.
#[derive(Debug)]
#[non_exhaustive]
pub struct FailedTest {
    /// Its name.
    pub name: Text,
    /// What happened instead.
    pub failure: TestFailure,
}

/// What happened instead of what a test expects.
///
/// A [`FailedTest`] says it; the page of [`ForgeError`] has an example.
#[derive(Debug)]
#[non_exhaustive]
pub enum TestFailure {
    /// The run ended with an error.
    Call(CallError),
    /// The run gave another output.
    Output {
        /// What the test expects.
        expected: Value,
        /// What it gave.
        output: Option<Value>,
    },
}

impl ForgeError {
    /// The stable code: that of the refusal, or `forge_test_failed`.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Refused(error) => error.code(),
            Self::Tests { .. } => "forge_test_failed",
        }
    }
}

impl From<RegisterError> for ForgeError {
    fn from(error: RegisterError) -> Self {
        Self::Refused(error)
    }
}

impl std::fmt::Display for FailedTest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let name = crate::cut(&self.name, 80);
        let shown = |value: &Value| crate::cut(&value.to_json_string(), 200);
        match &self.failure {
            TestFailure::Call(error) => write!(f, "test `{name}`: {error}"),
            TestFailure::Output { expected, output } => {
                let output = output.as_ref().map_or_else(|| "nothing".to_owned(), shown);
                write!(f, "test `{name}`: the output is {output}, and the test expects {}", shown(expected))
            }
        }
    }
}

impl std::fmt::Display for ForgeError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Refused(error) => error.fmt(f),
            Self::Tests { tool, failed } => {
                let failed: Vec<String> = failed.iter().map(ToString::to_string).collect();
                write!(f, "`{}` is not forged: {}", crate::cut(tool, 80), failed.join("; "))
            }
        }
    }
}

impl std::error::Error for ForgeError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Refused(error) => Some(error),
            Self::Tests { failed, .. } => failed.iter().find_map(|test| match &test.failure {
                TestFailure::Call(error) => Some(error as &(dyn std::error::Error + 'static)),
                TestFailure::Output { .. } => None,
            }),
        }
    }
}
