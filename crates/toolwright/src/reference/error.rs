//! What can be wrong with a reference, with the bytes of its text that are wrong.

use std::ops::Range;

use crate::limits;
use crate::value::Text;

/// What the parser wanted at the marked place. Each variant names an input that
/// produces it, and a test holds the list to that.
///
/// ```
/// use toolwright::reference::{Expected, ReferenceError, parse_strict};
/// let error = parse_strict(&"$input[0".into()).err().ok_or("the bracket is open")?;
/// assert!(matches!(error, ReferenceError::Syntax { expected: Expected::ClosingBracket, .. }));
/// # Ok::<(), &str>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Expected {
    /// `$typo`
    Root,
    /// `$input.`
    Name,
    /// `$input[x]`
    Bracket,
    /// `$input["a`
    ClosingQuote,
    /// `$input["\q"]`
    Escape,
    /// `$input[0`
    ClosingBracket,
    /// `$input[01]`
    CanonicalIndex,
    /// `$input topic`
    PathOrEnd,
    /// `$input.a?.b`
    EndAfterOptional,
    /// `$steps`
    Step,
}

impl Expected {
    /// Every variant, for the test that holds the list.
    pub const ALL: [Self; 10] = [
        Self::Root,
        Self::Name,
        Self::Bracket,
        Self::ClosingQuote,
        Self::Escape,
        Self::ClosingBracket,
        Self::CanonicalIndex,
        Self::PathOrEnd,
        Self::EndAfterOptional,
        Self::Step,
    ];

    /// What was expected, in words.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Root => "`input`, `prev` or `steps` after `$`",
            Self::Name => "a name after `.`",
            Self::Bracket => "a position such as `[0]` or a quoted key such as `[\"a key\"]`",
            Self::ClosingQuote => "a closing `\"`",
            Self::Escape => "a JSON escape such as `\\\"` or `\\u00e9`",
            Self::ClosingBracket => "a closing `]`",
            Self::CanonicalIndex => "a position without leading zeros, below 2^32",
            Self::PathOrEnd => "`.name`, `[0]`, `[\"any key\"]`, `?` or the end",
            Self::EndAfterOptional => "nothing after `?`, which stands at the very end",
            Self::Step => "a step: `$steps[0]`, `$steps.name` or `$steps[\"name\"]`",
        }
    }
}

/// One thing that is wrong with one reference. `span` counts bytes of the text.
///
/// ```
/// use toolwright::reference::parse_strict;
/// let error = parse_strict(&"$inptu.topic".into()).err().ok_or("there is no such root")?;
/// assert_eq!((error.code(), error.text()), ("invalid_reference", "$inptu.topic"));
/// assert!(error.span().end <= error.text().len());
/// # Ok::<(), &str>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReferenceError {
    /// The text is none of the forms.
    Syntax {
        /// The whole text.
        text: String,
        /// The offending bytes.
        span: Range<usize>,
        /// What was expected there.
        expected: Expected,
        /// The nearest valid form, when one can be guessed.
        nearest: Option<String>,
    },
    /// The text names a step that the composite does not have.
    UnknownStep {
        /// The whole text.
        text: String,
        /// The step's name or position in it.
        span: Range<usize>,
        /// The name or position.
        step: String,
        /// The nearest existing reference.
        nearest: Option<String>,
    },
    /// The text names this step or a later one, or is `$prev` in the first step.
    Forward {
        /// The whole text.
        text: String,
        /// The offending bytes.
        span: Range<usize>,
        /// What it names, in words: `the step itself`, `a later step`, `no step`.
        names: &'static str,
    },
}

impl ReferenceError {
    /// `invalid_reference` or `forward_reference`.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Syntax { .. } | Self::UnknownStep { .. } => "invalid_reference",
            Self::Forward { .. } => "forward_reference",
        }
    }

    /// The whole text.
    pub fn text(&self) -> &str {
        match self {
            Self::Syntax { text, .. } | Self::UnknownStep { text, .. } | Self::Forward { text, .. } => text,
        }
    }

    /// The offending bytes of [`ReferenceError::text`].
    pub fn span(&self) -> Range<usize> {
        match self {
            Self::Syntax { span, .. } | Self::UnknownStep { span, .. } | Self::Forward { span, .. } => span.clone(),
        }
    }

    /// The reference that was meant, when it can be no other; `steps` are the names of the steps there are.
    pub(crate) fn meant(&self, steps: &[Text]) -> Option<&str> {
        let (nearest, sure) = match self {
            Self::Forward { .. } => return None,
            Self::UnknownStep { step, nearest, text, span } => {
                let meant = crate::nearest::unmistakable(step, steps.iter().map(Text::as_str))?;
                let tail = text.get(span.end..).unwrap_or_default();
                let nearest = nearest.as_deref()?;
                (nearest, nearest.strip_prefix("$steps.").and_then(|rest| rest.strip_suffix(tail)) == Some(meant))
            }
            Self::Syntax { text, span, expected, nearest } => {
                let nearest = nearest.as_deref()?;
                (nearest, only_form(text, span, *expected).is_some_and(|only| only == nearest))
            }
        };
        sure.then_some(nearest)
    }

    /// What to do about it.
    pub fn help(&self) -> String {
        let shown = |nearest: &str| crate::cut(nearest, limits::REFERENCE_SHOWN_CHARS_MAX);
        match self {
            Self::Syntax { nearest: Some(nearest), .. } => {
                format!("did you mean `{}`? for the text itself write `$$…`", shown(nearest))
            }
            Self::Syntax { .. } => "the forms are `$input`, `$prev`, `$steps[0]` and `$steps.name`, each followed by `.name`, \
                 `[\"any key\"]` or `[0]`; for the text itself write `$$…`"
                .into(),
            Self::UnknownStep { nearest: Some(nearest), .. } => format!("did you mean `{}`?", shown(nearest)),
            Self::UnknownStep { .. } => "only steps of the same composite that come earlier can be named".into(),
            Self::Forward { names: "a later step", .. } => {
                "a step sees the input and the steps before it; move that step up, before this one".into()
            }
            Self::Forward { .. } => "a step sees the input and the steps before it; move the step that gives the value up".into(),
        }
    }
}

/// The one form that a text can have been meant to have: only its signs change, or the word that it begins with.
fn only_form(text: &str, span: &Range<usize>, expected: Expected) -> Option<String> {
    let (before, wrong) = (text.get(..span.start)?, text.get(span.clone())?);
    let (rest, after) = (text.get(span.start..)?, text.get(span.end..)?);
    let goes_on = |rest: &str| rest.is_empty() || rest.starts_with(['.', '[']);
    match expected {
        Expected::Root => {
            let root = crate::nearest::unmistakable_keyword(wrong, ["input", "prev", "steps"])?;
            goes_on(after).then(|| format!("{before}{root}{after}"))
        }
        // Behind a whole reference, more words are more likely a sentence.
        Expected::PathOrEnd => rest.trim().is_empty().then(|| before.to_owned()),
        Expected::EndAfterOptional => {
            let only_more = rest.trim_matches('?').is_empty();
            (only_more || goes_on(rest)).then(|| format!("{}{}?", before.strip_suffix('?').unwrap_or(before), rest.trim_end_matches('?')))
        }
        Expected::ClosingBracket => goes_on(rest).then(|| format!("{before}]{rest}")),
        Expected::ClosingQuote => {
            let key = rest.trim_start_matches('"').trim_end_matches(']');
            (!key.contains(['.', '[', ']', '\\', '"'])).then(|| format!("{}\"]", text.trim_end_matches(']')))
        }
        // What is in brackets and in no quotes may be a sign of another language.
        Expected::Bracket => {
            let key = wrong.strip_prefix('\'')?.strip_suffix('\'').filter(|key| !key.contains(['\'', '"', '\\']))?;
            Some(format!("{before}\"{key}\"{after}"))
        }
        // A bare `$steps` may mean any of them.
        Expected::Step => {
            let head = before.strip_suffix('.').filter(|_| text.starts_with("$steps."))?;
            Some(format!("{head}[{wrong}]{after}"))
        }
        Expected::Name | Expected::Escape | Expected::CanonicalIndex => None,
    }
}

impl std::fmt::Display for ReferenceError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let text = crate::cut(self.text(), limits::REFERENCE_SHOWN_CHARS_MAX);
        match self {
            Self::Syntax { expected, .. } => {
                write!(f, "`{text}` is not a reference: expected {}", expected.as_str())
            }
            Self::UnknownStep { step, .. } => {
                let step = crate::cut(step, limits::REFERENCE_SHOWN_CHARS_MAX);
                write!(f, "`{text}` names the step `{step}`, which this composite does not have")
            }
            Self::Forward { names, .. } if *names == "no step" => {
                write!(f, "`{text}` stands in the first step, which has no step before it")
            }
            Self::Forward { names, .. } => write!(f, "`{text}` names {names}, whose output does not exist yet"),
        }
    }
}

impl std::error::Error for ReferenceError {}
