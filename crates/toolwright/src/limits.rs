//! Every bound of the core, with its unit in its name.
//!
//! A bound that only one function knows is a bound that nobody can look up, so they all stand here.
//!
//! [`Limits`] are those that a host may change; the constants are the others.

/// How many containers may stand inside each other in one value; `[[1]]` is 2 deep.
///
/// Chosen to fit a thread with a 2 MiB stack many times over, and to agree with what common JSON libraries accept.
pub const VALUE_DEPTH_MAX: u32 = 128;

/// Up to this many keys an object is searched from the front; with more, its shape carries a sorted index.
pub const SHAPE_LINEAR_KEYS_MAX: usize = 8;

/// How many digits a decimal number may have, dot not counted, to be kept without an allocation.
pub const NUMBER_INLINE_DIGITS_MAX: usize = 19;

/// How many digits `Number::to_integer` writes out at most; `1e400` needs 401.
pub const NUMBER_INTEGER_DIGITS_MAX: usize = 1_000;

/// After this many pairs of containers a comparison starts to remember which pairs it has seen.
pub const COMPARE_UNREMEMBERED_PAIRS_MAX: usize = 512;

/// Up to this many items `uniqueItems` compares every pair; with more it hashes.
pub const UNIQUE_PAIRWISE_ITEMS_MAX: usize = 15;

/// Up to this many bytes a validation error carries the value that does not fit; larger ones are described.
pub const ERROR_INSTANCE_BYTES_MAX: u64 = 4_096;

/// How deep composites may nest.
pub const COMPOSITE_DEPTH_MAX: u32 = 8;

/// Effects of one composite that are listed; composites of composites can multiply them beyond any list.
pub const COMPOSITE_EFFECTS_MAX: usize = 200;

/// Effects of one run, or of one call in it, that are kept; of further ones it is said how many there were.
pub const RUN_EFFECTS_MAX: usize = 10_000;

/// Steps in one composite.
pub const COMPOSITE_STEPS_MAX: usize = 1_000;

/// How deep the objects and arrays of one mapping may nest.
pub const MAPPING_DEPTH_MAX: u32 = 64;

/// Bytes of an output schema that is derived from the steps of a composite; a larger one is not published.
pub const DERIVED_SCHEMA_BYTES_MAX: u64 = 64 * 1024;

/// Bytes that the steps and the output mapping of one composite may print as: 4 MiB.
pub const SPEC_BYTES_MAX: u64 = 4 * 1024 * 1024;

/// Bytes from which arguments are kept to see whether a tool gives back the very same; below, checking costs no more.
pub const HANDED_THROUGH_BYTES_MIN: u64 = 1_024;

/// Arguments of one tool for which it is found out whether the tool may give them back as they are.
pub const HANDED_THROUGH_ARGUMENTS_MAX: usize = 64;

/// Bytes that one schema may print as: 16 MiB.
pub const SCHEMA_BYTES_MAX: u64 = 16 * 1024 * 1024;

/// Bytes of a tool's name inside the runtime. Clients with shorter limits get shortened names when serving.
pub const TOOL_NAME_BYTES_MAX: usize = 128;

/// Bytes that the arguments or the output of one call may print as, unless the host says otherwise: 64 MiB.
pub const VALUE_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// Milliseconds that a cancelled tool with side effects has to answer, unless the host says otherwise.
pub const CANCEL_GRACE_MS: u64 = 5_000;

/// Milliseconds between two looks whether somebody else answered a question that a call waits for.
pub const APPROVAL_POLL_MS: u64 = 250;

/// Calls beside the one that is asked about that one yes may cover; further ones are asked about when their turn comes.
pub const APPROVAL_COVERS_MAX: usize = 100;

/// How often one call is begun, when what is recorded of it changes meanwhile.
pub const CALL_BEGINS_MAX: usize = 8;

/// Findings of one schema check that are reported.
pub const SCHEMA_ISSUES_MAX: usize = 20;

/// Characters of one such finding.
pub const SCHEMA_ISSUE_CHARS_MAX: usize = 300;

/// Levels of a learned shape; what lies deeper may be anything.
pub const LEARNED_DEPTH_MAX: u32 = 16;

/// Different keys up to which a learned object has named members; one with more is a map.
pub const LEARNED_MEMBERS_MAX: usize = 200;

/// Different keys from which on a learned object is a map when none is always there and few come again.
pub const LEARNED_MAP_KEYS_MIN: usize = 20;

/// Bytes of a key that a learned object remembers; one with a longer key is a map.
pub const LEARNED_KEY_BYTES_MAX: usize = 256;

/// Places that one learned shape remembers; beyond, the deepest are forgotten and may hold anything.
pub const LEARNED_PLACES_MAX: usize = 10_000;

/// Texts of one place from which on they can be learned to be some few words.
pub const LEARNED_WORDS_TIMES_MIN: u64 = 20;

/// How many different words of one place are learned as the only ones at most.
pub const LEARNED_WORDS_MAX: usize = 5;

/// Characters of such a word.
pub const LEARNED_WORD_CHARS_MAX: usize = 40;

/// Texts of one place that must all fit a format before it is learned.
pub const LEARNED_FORMAT_TIMES_MIN: u64 = 5;

/// How many `$ref`s in a row are followed when a schema is read for its properties.
pub const SCHEMA_REF_HOPS_MAX: usize = 32;

/// Characters of a reference that a message shows.
pub const REFERENCE_SHOWN_CHARS_MAX: usize = 200;

/// Bytes of a name that a "did you mean" compares; longer ones are near to nothing.
pub const NEAREST_NAME_BYTES_MAX: usize = 256;

/// How many names a "did you mean" compares with one.
pub const NEAREST_CANDIDATES_MAX: usize = 10_000;

/// Findings of one specification up to which an unknown tool gets a "did you mean".
pub const SUGGESTIONS_MAX: usize = 20;

/// Words of an enumeration up to which all are shown where one is wanted.
pub const CHOICES_SHOWN_MAX: usize = 8;

/// Keys shown in an error about a missing one.
pub const KEYS_SHOWN_MAX: usize = 12;

/// Compiled programs kept ready for one composite: one for each worker that runs it at the same time.
pub const IDLE_PROGRAMS_MAX: usize = 64;

/// Runs that a journal in memory keeps, unless the host says otherwise.
pub const MEMORY_JOURNAL_RUNS_MAX: usize = 1_000;

/// How deep calls may nest inside each other, composites or not, unless the host says otherwise.
pub const CALL_DEPTH_MAX: u32 = 64;

/// As so many calls around it counts a check, hook or reconciler of the host's for what it calls: one inside another
/// takes more stack than a call inside a call.
pub const CALLS_OF_A_CHECK: u32 = 7;

/// How often `complete` may hand one turn on to another invocation, unless the host says otherwise.
pub const DECISION_REWRITES_MAX: u32 = 4;

/// Events of tools that a catalogue keeps, unless the host says otherwise.
pub const TOOL_EVENTS_MAX: usize = 1_024;

/// Composites that one session can have forged at the same time.
pub const FORGED_TOOLS_MAX: usize = 1_000;

/// Failures in a row after which a session suspends a tool that it forged, unless the host says otherwise.
pub const FAILURES_BEFORE_SUSPENSION: u32 = 3;

/// Bytes of a schema up to which its wiring is looked at: 4 MiB.
pub const WIRING_SCHEMA_BYTES_MAX: u64 = 4 * 1024 * 1024;

/// How deep such a schema may nest.
pub const WIRING_SCHEMA_DEPTH_MAX: u32 = 100;

/// Steps of one check of one wire, past which its answer is unknown. Looking at one member is one step.
pub const WIRING_STEPS_MAX: u32 = 20_000;

/// Steps of all checks of one composite together.
pub const WIRING_COMPOSITE_STEPS_MAX: u32 = 400_000;

/// What asking the library about one leaf counts as, in steps.
pub const WIRING_LIBRARY_STEPS: u32 = 64;

/// Kinds and constraints of strings or numbers, of both sides, about which the library is asked at once; its work grows
/// faster than their number.
pub const WIRING_LIBRARY_PARTS_MAX: usize = 48;

/// How deep a check goes into two schemas at the same time.
pub const WIRING_DEPTH_MAX: u32 = 48;

/// Bytes of two schemas up to which they are compared word by word.
pub const WIRING_EQUAL_BYTES_MAX: u64 = 4_096;

/// Bytes of a pattern that is reasoned about.
pub const WIRING_PATTERN_BYTES_MAX: usize = 200;

/// Branches of one union.
pub const WIRING_BRANCHES_MAX: usize = 64;

/// Branches of a `oneOf` up to which it is looked at whether two of them share a value, and values of a tag.
pub const WIRING_ONE_OF_MAX: usize = 24;

/// Required members of which it is asked whether they tell the forms of a union apart.
pub const WIRING_TAGS_MAX: usize = 8;

/// How deep it is looked for a difference between two schemas, or for a value of one.
pub const WIRING_APART_DEPTH_MAX: u32 = 4;

/// Values of one `enum` that are looked at one by one.
pub const WIRING_VALUES_MAX: usize = 500;

/// Named members of one object that are looked at.
pub const WIRING_KEYS_MAX: usize = 2_000;

/// Parts of schemas that are taken into the schema of a composite's input or output.
pub const WIRING_BUNDLE_PARTS_MAX: usize = 5_000;

/// What slips through one wire, of which so much is told.
pub const WIRING_SLIPS_MAX: usize = 5;

/// Bounds of a run that a host may change.
///
/// The policy takes it; the bounds that nobody changes are the constants of this [module](self).
///
/// ```
/// use std::time::Duration;
/// use toolwright::{Limits, Policy};
/// let limits = Limits::default().value_bytes(1_000_000).grace(Duration::from_secs(2));
/// let policy: Policy = Policy::new().limits(limits);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Bytes that the arguments or the output of one call may print as.
    pub value_bytes_max: u64,
    /// How long a cancelled tool with side effects has to answer before its outcome counts as unknown.
    pub cancel_grace: std::time::Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self { value_bytes_max: VALUE_BYTES_MAX, cancel_grace: std::time::Duration::from_millis(CANCEL_GRACE_MS) }
    }
}

impl Limits {
    /// The usual limits with another bound for values, in bytes.
    #[must_use]
    pub fn value_bytes(mut self, max: u64) -> Self {
        self.value_bytes_max = max;
        self
    }

    /// The usual limits with another grace period.
    #[must_use]
    pub fn grace(mut self, grace: std::time::Duration) -> Self {
        self.cancel_grace = grace;
        self
    }
}
