//! Names that nobody guesses, the run of an idempotency key, and moments as the protocol writes them.

use std::hash::{BuildHasher, RandomState};
use std::sync::OnceLock;
use std::time::{SystemTime, UNIX_EPOCH};

use sha2::{Digest, Sha256};
use toolwright::Text;

/// Letters of an id: digits and letters without those that look alike, five bits each.
const LETTERS: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";

/// Letters of an id behind its first word: 130 bits.
const ID_LETTERS: usize = 26;

/// A name that no other call has and that nobody can guess: whoever knows it was told it.
pub(crate) fn fresh(word: &str) -> Text {
    let mut seed = [0_u8; 32];
    if !random(&mut seed) {
        seed = second_best();
    }
    id(word, &seed)
}

/// The run that is made once for this key of a caller's. For a caller without a name it is that of `toolwright run --key`.
pub(crate) fn of_key(principal: &str, key: &str) -> Text {
    let text = match principal {
        "" => format!("toolwright key 1\n{key}"),
        // The length first: no other pair of texts reads the same.
        named => format!("toolwright key 2\n{}\n{named}\n{key}", named.len()),
    };
    id("key", &Sha256::digest(text.as_bytes()))
}

fn random(bytes: &mut [u8]) -> bool {
    static SOURCE: OnceLock<&'static dyn rustls::crypto::SecureRandom> = OnceLock::new();
    SOURCE.get_or_init(|| rustls::crypto::ring::default_provider().secure_random).fill(bytes).is_ok()
}

/// What is left when the operating system gives no random bytes: seeds that it gave earlier, the time, and this process.
fn second_best() -> [u8; 32] {
    let mut seed = Sha256::new();
    seed.update(SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos().to_le_bytes());
    seed.update(std::process::id().to_le_bytes());
    for count in 0..4_u8 {
        seed.update(RandomState::new().hash_one(count).to_le_bytes());
    }
    seed.finalize().into()
}

fn id(word: &str, bytes: &[u8]) -> Text {
    let length = word.len().saturating_add(1).saturating_add(ID_LETTERS);
    let mut id = String::with_capacity(length);
    id.push_str(word);
    id.push('-');
    let (mut bits, mut have) = (0_u32, 0_u32);
    for byte in bytes {
        (bits, have) = ((bits << 8 | u32::from(*byte)) & 0xffff, have + 8);
        while have >= 5 && id.len() < length {
            have -= 5;
            id.push(LETTERS.get((bits >> have & 31) as usize).copied().map_or('0', char::from));
        }
    }
    id.into()
}

/// A moment as ISO 8601 has it, in UTC, to the millisecond.
pub(crate) fn iso(at: SystemTime) -> String {
    let since = at.duration_since(UNIX_EPOCH).unwrap_or_default();
    let (seconds, millis) = (since.as_secs(), since.subsec_millis());
    let (day, second) = (seconds / 86_400, seconds % 86_400);
    // Days since 1 March of the year 0, in eras of 400 years.
    let shifted = day + 719_468;
    let (era, of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * of_year + 2) / 153;
    let day_of_month = of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    format!("{year:04}-{month:02}-{day_of_month:02}T{:02}:{:02}:{:02}.{millis:03}Z", second / 3_600, second / 60 % 60, second % 60)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::time::Duration;

    use super::*;

    #[test]
    fn ids_are_of_one_form_and_a_key_has_always_the_same() {
        let ids: HashSet<Text> = (0..1_000).map(|_| fresh("run")).collect();
        assert_eq!(ids.len(), 1_000);
        assert!(ids.iter().all(|id| id.len() == 4 + ID_LETTERS && id.starts_with("run-")), "{ids:?}");
        // What `toolwright run --key` wrote down is found here, and the other way round.
        assert_eq!(of_key("", "order 17"), "key-s6raydbewjq1etj1m6bw294xyn");
        assert_ne!(of_key("ann", "order 17"), of_key("", "order 17"));
        assert_ne!(of_key("ann", "b\nc"), of_key("ann\nb", "c"));
    }

    #[test]
    fn moments_are_written_as_the_calendar_has_them() {
        let at = |seconds: u64, millis: u64| iso(UNIX_EPOCH + Duration::from_secs(seconds) + Duration::from_millis(millis));
        assert_eq!(at(0, 0), "1970-01-01T00:00:00.000Z");
        assert_eq!(at(951_782_399, 999), "2000-02-28T23:59:59.999Z");
        assert_eq!(at(951_782_400, 0), "2000-02-29T00:00:00.000Z");
        assert_eq!(at(1_798_761_600, 5), "2027-01-01T00:00:00.005Z");
    }
}
