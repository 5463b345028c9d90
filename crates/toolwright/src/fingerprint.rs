//! Hashes of declarations: equal for equal declarations, in every process and on every machine.
//!
//! A [`Fingerprint`] tells a resumed run that a tool has changed, and a client that its listing is still the right one.

use std::fmt::Write as _;
use std::sync::{Arc, OnceLock};

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha2::{Digest, Sha256};

use crate::runtime::Runtime;
use crate::tool::{Goals, ToolDef};
use crate::value::Value;

/// SHA-256 of a declaration, or of a whole catalogue. Reads and prints as 64 hexadecimal digits.
///
/// It covers what can be seen of a tool: name, version, description, kind, audience, effect, goals, delegate, schemas, fixed
/// arguments, whether listings leave it out, which hooks it has, and of a composite its steps and their tools. Code cannot be
/// hashed: a tool whose code changes says so with its [version](crate::ToolBuilder::version).
///
/// A run that is taken up again goes by another one, that of [what a run depends on](crate::Registered::run_fingerprint): without
/// the description, whether listings leave the tool out, and whether it can be asked what became of a call.
///
/// ```
/// use toolwright::{Registry, json, tool};
/// let with = |description: &str| {
///     let echo = tool("echo", description).reads().run_json(|v, _| async move { Ok(v) });
///     Ok::<_, toolwright::RegisterError>(Registry::new().with(echo)?.seal().fingerprint())
/// };
/// assert_eq!(with("Echoes")?, with("Echoes")?);
/// assert_ne!(with("Echoes")?, with("Echoes twice")?);
/// # Ok::<(), toolwright::RegisterError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fingerprint([u8; 32]);

impl Fingerprint {
    /// The hash of these bytes.
    pub fn of(bytes: impl AsRef<[u8]>) -> Self {
        Self(Sha256::digest(bytes).into())
    }
}

impl std::fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        const DIGITS: [char; 16] = ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f'];
        let mut text = String::with_capacity(2 * self.0.len());
        for half in self.0.iter().flat_map(|byte| [byte >> 4, byte & 15]) {
            text.extend(DIGITS.get(usize::from(half)));
        }
        f.write_str(&text)
    }
}

impl std::fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Fingerprint({self})")
    }
}

impl std::str::FromStr for Fingerprint {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{}` is no fingerprint: that is 64 hexadecimal digits", crate::cut(text, 80));
        if text.len() != 64 || !text.is_ascii() {
            return Err(wrong());
        }
        let mut bytes = [0; 32];
        for (byte, digits) in bytes.iter_mut().zip(text.as_bytes().chunks(2)) {
            let digits = std::str::from_utf8(digits).map_err(|_| wrong())?;
            *byte = u8::from_str_radix(digits, 16).map_err(|_| wrong())?;
        }
        Ok(Self(bytes))
    }
}

impl Serialize for Fingerprint {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Fingerprint {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

/// Fields one after the other, each with its length, so that no two declarations run into the same bytes.
pub(crate) struct Hasher {
    hash: Sha256,
    text: String,
}

impl Hasher {
    pub(crate) fn new() -> Self {
        Self { hash: Sha256::new(), text: String::new() }
    }

    pub(crate) fn text(&mut self, text: &str) {
        self.hash.update((text.len() as u64).to_le_bytes());
        self.hash.update(text.as_bytes());
    }

    fn maybe(&mut self, text: Option<&str>) {
        self.hash.update([u8::from(text.is_some())]);
        self.text(text.unwrap_or_default());
    }

    pub(crate) fn value(&mut self, value: Option<&Value>) {
        let mut text = std::mem::take(&mut self.text);
        text.clear();
        if let Some(value) = value {
            // Writing to a `String` cannot fail.
            let _ = write!(text, "{value}");
        }
        self.maybe(value.map(|_| text.as_str()));
        self.text = text;
    }

    pub(crate) fn fingerprint(&mut self, other: &Fingerprint) {
        self.hash.update(other.0);
    }

    pub(crate) fn done(self) -> Fingerprint {
        Fingerprint(self.hash.finalize().into())
    }

    /// What a run depends on of one tool, without the steps of a composite.
    fn head<R: Runtime>(&mut self, tool: &ToolDef<R>) {
        self.text(tool.name());
        // A composite is its steps, and what is put into them.
        self.maybe(tool.0.version.as_deref().filter(|_| !tool.is_composite()));
        self.text(tool.kind());
        self.text(tool.audience());
        self.maybe(tool.delegate());
        self.maybe(tool.produces());
        self.hash.update([u8::from(tool.is_terminal())]);
        self.maybe(tool.effect().map(|effect| effect.class.as_str()));
        self.maybe(tool.effect().map(|effect| effect.impact.as_str()));
        match tool.goals() {
            Goals::All => self.maybe(None),
            Goals::Only(goals) => {
                self.hash.update((goals.len() as u64).to_le_bytes());
                goals.iter().for_each(|goal| self.text(goal));
            }
        }
        self.value(tool.input_schema());
        self.value(tool.output_schema());
        self.value(tool.0.pinned.clone().map(Value::Object).as_ref());
        // Code cannot be hashed, but that it is there can.
        let names: Vec<&str> = tool.0.hooks.iter().flat_map(|hooks| hooks.names()).collect();
        self.hash.update((names.len() as u64).to_le_bytes());
        names.iter().for_each(|name| self.text(name));
    }
}

#[derive(Clone, Copy)]
struct Hashes {
    whole: Fingerprint,
    run: Fingerprint,
}

/// The hashes of a registered tool, made when somebody asks for the first of them: of a large catalogue most are never asked for.
pub(crate) struct Hashed<R: Runtime> {
    tool: ToolDef<R>,
    /// Those of the tools of a composite's steps.
    steps: Vec<Arc<Hashed<R>>>,
    made: OnceLock<Hashes>,
}

impl<R: Runtime> Hashed<R> {
    pub(crate) fn new(tool: ToolDef<R>, steps: Vec<Arc<Self>>) -> Arc<Self> {
        Arc::new(Self { tool, steps, made: OnceLock::new() })
    }

    /// Everything that can be seen of it.
    pub(crate) fn whole(&self) -> &Fingerprint {
        &self.made().whole
    }

    /// What a run depends on.
    pub(crate) fn run(&self) -> &Fingerprint {
        &self.made().run
    }

    fn made(&self) -> &Hashes {
        loop {
            if let Some(made) = self.made.get() {
                return made;
            }
            // However deep composites stand in each other: what is inside comes first, and nothing here recurses.
            let mut next = self;
            while let Some(inner) = next.steps.iter().find(|step| step.made.get().is_none()) {
                next = inner;
            }
            let steps: Vec<Hashes> = next.steps.iter().filter_map(|step| step.made.get().copied()).collect();
            // Two that ask at once both make them: no reader waits for another.
            let _ = next.made.set(of(&next.tool, next.tool.composite().map(|body| body.written()), &steps));
        }
    }
}

/// Hashes of one tool; of a composite, with its specification and the hashes of its steps' tools.
fn of<R: Runtime>(tool: &ToolDef<R>, spec: Option<&Value>, steps: &[Hashes]) -> Hashes {
    let run = of_run(tool, spec, steps.iter().map(|step| &step.run));
    let mut whole = Hasher::new();
    whole.fingerprint(&run);
    whole.text(tool.description());
    whole.hash.update([u8::from(tool.is_hidden()), u8::from(tool.0.reconcile.is_some())]);
    steps.iter().for_each(|step| whole.fingerprint(&step.whole));
    Hashes { whole: whole.done(), run }
}

/// What a run depends on of one tool; `steps` are those of the tools of a composite's steps.
pub(crate) fn of_run<'a, R: Runtime>(tool: &ToolDef<R>, spec: Option<&Value>, steps: impl Iterator<Item = &'a Fingerprint>) -> Fingerprint {
    let mut hasher = Hasher::new();
    hasher.head(tool);
    hasher.value(spec);
    steps.for_each(|step| hasher.fingerprint(step));
    hasher.done()
}
