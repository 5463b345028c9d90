//! What a tool gives back: an [`Answer`], or a [`ToolError`] in its own words.

use crate::composite::EffectRecord;
use crate::error::CallError;
use crate::value::{Text, Value};

/// A tool's answer. Small when it is only an output, which is the common case.
///
/// A handler that has nothing but an output gives back the [`Value`] itself.
///
/// ```
/// use toolwright::{Answer, json};
/// let answer = Answer::new("# Ducks").content_type("text/markdown").details(json!({ "bytes": 7 })).note("the page was cut");
/// assert_eq!(answer.output(), Some(&json!("# Ducks")));
/// assert_eq!(answer.notes().len(), 1);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Answer {
    pub(crate) output: Option<Value>,
    pub(crate) more: Option<Box<More>>,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct More {
    pub(crate) content_type: Option<Text>,
    pub(crate) details: Option<Value>,
    pub(crate) content: Option<Value>,
    pub(crate) effects: Option<Vec<EffectRecord>>,
    pub(crate) notes: Vec<Text>,
}

impl Answer {
    /// An answer with an output.
    pub fn new(output: impl Into<Value>) -> Self {
        Self { output: Some(output.into()), more: None }
    }

    /// An answer without an output: a later reference to it finds nothing.
    pub fn empty() -> Self {
        Self::default()
    }

    /// The output, when there is one.
    pub fn output(&self) -> Option<&Value> {
        self.output.as_ref()
    }

    /// Raw content blocks as the source sent them, when there are any.
    pub fn raw_content(&self) -> Option<&Value> {
        self.more.as_ref()?.content.as_ref()
    }

    /// What was repaired or replaced on the way, in words.
    pub fn notes(&self) -> &[Text] {
        self.more.as_ref().map_or(&[], |more| &more.notes)
    }

    /// Media type of the output, for example `text/plain`.
    #[must_use]
    pub fn content_type(mut self, content_type: impl Into<Text>) -> Self {
        self.more().content_type = Some(content_type.into());
        self
    }

    /// Facts beside the output; kept in the journal, not passed on to later steps.
    #[must_use]
    pub fn details(mut self, details: impl Into<Value>) -> Self {
        self.more().details = Some(details.into());
        self
    }

    /// Raw content blocks (an array), passed through untouched.
    #[must_use]
    pub fn content(mut self, blocks: impl Into<Value>) -> Self {
        self.more().content = Some(blocks.into());
        self
    }

    /// Effects that the tool reports itself, in place of the plain "it ran".
    #[must_use]
    pub fn effects(mut self, effects: impl IntoIterator<Item = Value>) -> Self {
        self.more().effects = Some(effects.into_iter().map(EffectRecord::Reported).collect());
        self
    }

    /// Something worth telling that is no error: a replaced character, a repaired argument.
    #[must_use]
    pub fn note(mut self, note: impl Into<Text>) -> Self {
        self.more().notes.push(note.into());
        self
    }

    pub(crate) fn more(&mut self) -> &mut More {
        self.more.get_or_insert_with(Box::default)
    }
}

impl<T: Into<Value>> From<T> for Answer {
    fn from(output: T) -> Self {
        Self::new(output)
    }
}

/// Whether a failed tool can have changed anything.
///
/// It decides whether a call may be tried again.
///
/// ```
/// use toolwright::ToolError;
/// use toolwright::tool::Aftermath;
/// assert_eq!(ToolError::new("no such page").aftermath(), Aftermath::Answered);
/// assert_eq!(ToolError::new("no answer in time").outcome_unknown().aftermath(), Aftermath::Unknown);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Aftermath {
    /// The tool answered, with an error.
    Answered,
    /// It is certain that nothing changed.
    Nothing,
    /// The tool did its work, and only what it answered cannot be used.
    Happened,
    /// No answer came: a time-out, a crash, a lost connection.
    Unknown,
}

/// The tool ran, or tried to, and did not succeed. The message is shown to models and people.
///
/// Any error of the standard kind becomes one with `?`. The code is the tool's own word; the effect state follows from
/// [`Aftermath`].
///
/// ```
/// use toolwright::ToolError;
/// let error = ToolError::new("the mailbox is full").code("mailbox_full").help("delete old mails").nothing_happened();
/// assert_eq!(error.own_code(), Some("mailbox_full"));
///
/// fn parse(text: &str) -> Result<u8, ToolError> {
///     Ok(text.parse()?)
/// }
/// assert_eq!(parse("ten").err().map(|error| error.message().to_owned()).as_deref(), Some("invalid digit found in string"));
/// ```
#[derive(Clone, Debug)]
pub struct ToolError(Box<Failure>);

#[derive(Clone, Debug)]
struct Failure {
    message: Option<Text>,
    code: Option<Text>,
    help: Option<Text>,
    details: Option<Value>,
    content: Option<Value>,
    aftermath: Aftermath,
    unusable_output: bool,
    /// The error of a call inside the tool, which says nothing about the tool itself.
    anothers: bool,
    /// What a model may know of that call, in place of the message and the help.
    for_models: Option<Box<(String, Option<String>)>>,
}

impl ToolError {
    /// A failure in the tool's own words.
    pub fn new(message: impl Into<Text>) -> Self {
        Self::build(Some(message.into()))
    }

    /// A failure that says nothing about itself.
    pub fn unknown() -> Self {
        Self::build(None)
    }

    /// A failure that another error describes.
    pub fn from_error(error: impl std::fmt::Display) -> Self {
        Self::new(error.to_string())
    }

    fn build(message: Option<Text>) -> Self {
        Self(Box::new(Failure {
            message,
            code: None,
            help: None,
            details: None,
            content: None,
            aftermath: Aftermath::Answered,
            unusable_output: false,
            anothers: false,
            for_models: None,
        }))
    }

    pub(crate) fn unusable_output(message: impl Into<Text>) -> Self {
        let mut error = Self::new(message);
        error.0.unusable_output = true;
        error
    }

    /// A code of the tool's own. Inside a composite it is shown as `innerCode`.
    #[must_use]
    pub fn code(mut self, code: impl Into<Text>) -> Self {
        self.0.code = Some(code.into());
        self
    }

    /// What the reader can do about it.
    #[must_use]
    pub fn help(mut self, help: impl Into<Text>) -> Self {
        self.0.help = Some(help.into());
        self
    }

    /// Facts beside the message, kept whole. Usually an object.
    #[must_use]
    pub fn details(mut self, details: impl Into<Value>) -> Self {
        self.0.details = Some(details.into());
        self
    }

    /// Raw content blocks of the failed result, untouched.
    #[must_use]
    pub fn content(mut self, blocks: impl Into<Value>) -> Self {
        self.0.content = Some(blocks.into());
        self
    }

    /// Says that nothing can have changed: the tool was not reached, or refused before acting.
    #[must_use]
    pub fn nothing_happened(mut self) -> Self {
        self.0.aftermath = Aftermath::Nothing;
        self
    }

    /// Says that the tool did its work, and that only its answer cannot be used.
    #[must_use]
    pub fn it_happened(mut self) -> Self {
        self.0.aftermath = Aftermath::Happened;
        self
    }

    /// Says that no answer came, so that a side effect may or may not have happened.
    #[must_use]
    pub fn outcome_unknown(mut self) -> Self {
        self.0.aftermath = Aftermath::Unknown;
        self
    }

    /// The message, or `unknown error`.
    pub fn message(&self) -> &str {
        self.0.message.as_deref().unwrap_or("unknown error")
    }

    /// The tool's own code.
    pub fn own_code(&self) -> Option<&str> {
        self.0.code.as_deref()
    }

    /// What the reader can do about it.
    pub fn own_help(&self) -> Option<&str> {
        self.0.help.as_deref()
    }

    /// The tool's own facts.
    pub fn own_details(&self) -> Option<&Value> {
        self.0.details.as_ref()
    }

    /// Raw content blocks of the failed result.
    pub fn raw_content(&self) -> Option<&Value> {
        self.0.content.as_ref()
    }

    /// Whether a side effect can have happened.
    pub fn aftermath(&self) -> Aftermath {
        self.0.aftermath
    }

    /// Whether a call inside the tool ended so, for a reason that is not to be blamed on anybody's code.
    pub(crate) fn is_anothers(&self) -> bool {
        self.0.anothers
    }

    /// What a model may know of it, when that is less than the message and the help.
    pub(crate) fn for_models(&self) -> Option<&(String, Option<String>)> {
        self.0.for_models.as_deref()
    }

    pub(crate) fn is_unusable_output(&self) -> bool {
        self.0.unusable_output
    }
}

/// So that `?` takes any error inside a tool.
///
/// Nobody said what such an error means for a side effect: a time-out after a request was sent looks like any other. So
/// the outcome counts as unknown, and a tool that must not run twice is not run again before somebody has found out. A
/// tool that knows better says it: `.map_err(|error| ToolError::from_error(error).nothing_happened())`.
///
/// The error of a call inside the tool knows better itself: it keeps its code, message, help and details, and when nobody
/// knows what the inner call did, nobody knows it of the outer one.
impl<E: std::error::Error + Send + Sync + 'static> From<E> for ToolError {
    fn from(error: E) -> Self {
        let Some(inner) = (&error as &dyn std::any::Any).downcast_ref::<CallError>() else {
            return Self::from_error(error).outcome_unknown();
        };
        let mut own = Self::new(inner.message()).code(inner.public_code()).details(Value::object(inner.details()));
        own.0.anothers = !crate::session::counts(inner);
        own.0.help = inner.help().map(Text::from);
        own.0.for_models = Some(Box::new(inner.words_for_models()));
        if inner.waits_for_an_answer() { own.outcome_unknown() } else { own }
    }
}

impl std::fmt::Display for ToolError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.message())
    }
}
