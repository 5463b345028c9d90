//! Numbers that look random and come again with the same seed.

use std::time::Duration;

/// A source of such numbers (SplitMix64).
#[derive(Clone, Debug)]
pub(crate) struct Chance(u64);

impl Chance {
    /// The source for one thing of many, of one seed.
    pub(crate) fn new(seed: u64, of: u64) -> Self {
        let mut chance = Self(seed ^ of.wrapping_mul(0xD6E8_FEB8_6659_FD93));
        chance.next();
        chance
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// From 0 to `end`, without it; 0 when there is nothing.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        let end = u64::try_from(end).unwrap_or(u64::MAX);
        let found = self.next().checked_rem(end).unwrap_or_default();
        usize::try_from(found).unwrap_or_default()
    }

    /// Yes, in so many of a hundred cases.
    pub(crate) fn percent(&mut self, yes: usize) -> bool {
        self.below(100) < yes
    }

    /// Less than so long, in steps of a microsecond.
    pub(crate) fn within(&mut self, end: Duration) -> Duration {
        let end = usize::try_from(end.as_micros()).unwrap_or(usize::MAX);
        Duration::from_micros(u64::try_from(self.below(end)).unwrap_or_default())
    }

    /// One of them.
    pub(crate) fn pick<'a, T>(&mut self, of: &'a [T]) -> Option<&'a T> {
        of.get(self.below(of.len()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_seed_gives_the_same_numbers_again_and_another_other_ones() {
        let four = |seed, of| {
            std::iter::repeat_with({
                let mut chance = Chance::new(seed, of);
                move || chance.below(1_000_000)
            })
            .take(4)
            .collect::<Vec<_>>()
        };
        assert_eq!(four(1, 2), four(1, 2));
        assert_ne!(four(1, 2), four(1, 3));
        assert_ne!(four(1, 2), four(2, 2));
        assert_eq!(Chance::new(1, 1).below(0), 0);
    }
}
