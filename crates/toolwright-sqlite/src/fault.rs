//! For tests that kill: the process ends at a named point, as if somebody had pulled the plug. Only with the feature `faults`.

/// Ends the process when it is the turn of this point.
macro_rules! fault {
    ($point:literal) => {
        #[cfg(feature = "faults")]
        $crate::fault::at($point);
    };
}
pub(crate) use fault;

/// The points, in the order in which a record passes them.
pub const FAULT_POINTS: &[&str] =
    &["before-queue", "after-queue", "before-begin", "between-inserts", "before-commit", "after-commit", "after-wake"];

/// A size that a file may have, where nobody said another one.
#[cfg(feature = "faults")]
pub(crate) fn bytes_max() -> Option<u64> {
    std::env::var("TOOLWRIGHT_JOURNAL_BYTES_MAX").ok()?.parse().ok()
}

#[cfg(feature = "faults")]
pub(crate) fn at(point: &str) {
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicI64, Ordering};

    static WHERE: OnceLock<Option<(String, AtomicI64)>> = OnceLock::new();
    let set = WHERE.get_or_init(|| {
        let text = std::env::var("TOOLWRIGHT_FAULT").ok()?;
        let (point, turn) = text.split_once(':')?;
        Some((point.to_owned(), AtomicI64::new(turn.parse().ok()?)))
    });
    if let Some((wanted, turns_left)) = set
        && wanted == point
        && turns_left.fetch_sub(1, Ordering::SeqCst) == 1
    {
        std::process::abort();
    }
}
