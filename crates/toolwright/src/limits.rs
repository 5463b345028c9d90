//! Every bound of the core, with its unit in its name.
//!
//! A bound that only one function knows is a bound that nobody can look up, so they all stand here.

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
