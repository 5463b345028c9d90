//! Moments and spans of time: the machine's clock, and how people write and read them. Everything is in UTC: there is no
//! other time that a journal, its readers and their machines share.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use toolwright::{BoxFuture, Clock, Timestamp};

use crate::config::units;

const NANOS_PER_SECOND: u64 = 1_000_000_000;
const SECONDS_PER_DAY: u64 = 86_400;

/// The latest moment that this process has seen.
static LATEST: AtomicU64 = AtomicU64::new(0);

/// The clock of this machine: nanoseconds since 1970. When somebody sets it back, it stands still until it has caught up.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WallClock;

impl Clock for WallClock {
    fn now(&self) -> Timestamp {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let now = u64::try_from(since.as_nanos()).unwrap_or(u64::MAX);
        Timestamp(LATEST.fetch_max(now, Ordering::Relaxed).max(now))
    }

    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        Box::pin(tokio::time::sleep(duration))
    }
}

/// Now.
pub(crate) fn now() -> Timestamp {
    WallClock.now()
}

/// `2026-11-30T08:15:42.123Z`
pub(crate) fn rfc3339(at: Timestamp) -> String {
    let (year, month, day, seconds) = parts(at);
    let millis = at.0 / 1_000_000 % 1_000;
    format!("{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}.{millis:03}Z", seconds / 3_600, seconds / 60 % 60, seconds % 60)
}

/// `2026-11-30 08:15:42 UTC`
pub(crate) fn for_people(at: Timestamp) -> String {
    let (year, month, day, seconds) = parts(at);
    format!("{year:04}-{month:02}-{day:02} {:02}:{:02}:{:02} UTC", seconds / 3_600, seconds / 60 % 60, seconds % 60)
}

/// `12 s ago`, `3 h ago`, `2026-11-30`
pub(crate) fn ago(at: Timestamp, now: Timestamp) -> String {
    let seconds = now.0.saturating_sub(at.0) / NANOS_PER_SECOND;
    match seconds {
        0 => "just now".to_owned(),
        1..60 => format!("{seconds} s ago"),
        60..3_600 => format!("{} min ago", seconds / 60),
        3_600..86_400 => format!("{} h ago", seconds / 3_600),
        86_400..2_592_000 => format!("{} d ago", seconds / SECONDS_PER_DAY),
        _ => {
            let (year, month, day, _) = parts(at);
            format!("{year:04}-{month:02}-{day:02}")
        }
    }
}

/// The time between two moments; nothing when the first is the later one.
pub(crate) fn between(from: Timestamp, to: Timestamp) -> Duration {
    Duration::from_nanos(to.0.saturating_sub(from.0))
}

/// `12 ms`, `3.4 s`, `12 min`, `3.2 h`
pub(crate) fn took(time: Duration) -> String {
    match time.as_secs() {
        0 => format!("{} ms", time.as_millis()),
        1..100 => format!("{:.1} s", time.as_secs_f64()),
        100..6_000 => format!("{} min", time.as_secs() / 60),
        _ => format!("{:.1} h", time.as_secs_f64() / 3_600.0),
    }
}

/// `2h` and `3d` are so long ago; `2026-11-30` and `2026-11-30T08:15` are moments.
pub(crate) fn since(text: &str, now: Timestamp) -> Result<Timestamp, String> {
    if text.get(4..5) == Some("-") {
        return date(text).ok_or_else(|| format!("`{text}` is no date: write `2026-11-30` or `2026-11-30T08:15`, in UTC"));
    }
    before(text, now)
}

/// So long before now: `30d`, `2h`.
pub(crate) fn before(text: &str, now: Timestamp) -> Result<Timestamp, String> {
    let long = span(text)?;
    Ok(Timestamp(now.0.saturating_sub(u64::try_from(long.as_nanos()).unwrap_or(u64::MAX))))
}

/// A span of time; days and weeks too.
fn span(text: &str) -> Result<Duration, String> {
    let hours = [("d", 24), ("w", 168)].into_iter().find_map(|(unit, hours)| Some((text.trim().strip_suffix(unit)?, hours)));
    let Some((number, hours)) = hours else {
        return units::duration(text).map_err(|why| why.replace("`ms`, `s`, `m`", "`s`, `m`").replace("`h`", "`h`, `d`, `w`"));
    };
    // A zero is as long as it is written: everything that ended is older than that.
    let hour = units::duration("1h")?.as_secs();
    let count: u64 = number.trim_end().parse().map_err(|_| format!("`{number}` is no whole number"))?;
    let seconds = count.checked_mul(hours).and_then(|hours| hours.checked_mul(hour));
    seconds.map(Duration::from_secs).ok_or_else(|| format!("`{text}` is longer than time itself"))
}

fn date(text: &str) -> Option<Timestamp> {
    let text = text.strip_suffix('Z').unwrap_or(text);
    let (day, time) = text.split_once(['T', ' ']).unwrap_or((text, "00:00"));
    let mut day = day.split('-').map(str::parse::<u64>);
    let (year, month, of_month) = (day.next()?.ok()?, day.next()?.ok()?, day.next()?.ok()?);
    let mut time = time.split(':').map(str::parse::<u64>);
    let (hour, minute, second) = (time.next()?.ok()?, time.next()?.ok()?, time.next().unwrap_or(Ok(0)).ok()?);
    let fits = (1970..=2500).contains(&year) && (1..=12).contains(&month) && hour < 24 && minute < 60 && second < 60;
    if !fits || day.next().is_some() || time.next().is_some() {
        return None;
    }
    let days = days(year, month, of_month);
    let at = Timestamp((days * SECONDS_PER_DAY + hour * 3_600 + minute * 60 + second) * NANOS_PER_SECOND);
    // A day that the month does not have would be one of the next month.
    (parts(at).2 == of_month).then_some(at)
}

/// Days from the first of January 1970 to a day of the Gregorian calendar.
fn days(year: u64, month: u64, day: u64) -> u64 {
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    // Years begin in March here, so that the day that some have more is their last.
    365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day.saturating_sub(1) - 719_468
}

/// Year, month, day, and the seconds of the day.
fn parts(at: Timestamp) -> (u64, u64, u64, u64) {
    let seconds = at.0 / NANOS_PER_SECOND;
    let days = seconds / SECONDS_PER_DAY + 719_468;
    let (era, of_era) = (days / 146_097, days % 146_097);
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let (month, next) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    (era * 400 + year + next, month, day, seconds % SECONDS_PER_DAY)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn moments_are_written_and_read() {
        for (text, seconds) in [
            ("1970-01-01T00:00:00.000Z", 0),
            ("2000-02-29T12:00:00.000Z", 951_825_600),
            ("2026-11-30T23:20:36.000Z", 1_796_080_836),
            ("2100-03-01T00:00:00.000Z", 4_107_542_400),
        ] {
            let at = Timestamp(seconds * NANOS_PER_SECOND);
            assert_eq!(rfc3339(at), text);
            assert_eq!(date(text.trim_end_matches(".000Z")), Some(at));
        }
        let now = Timestamp(1_796_080_836 * NANOS_PER_SECOND);
        assert_eq!(since("2026-11-30", now).map(rfc3339).as_deref(), Ok("2026-11-30T00:00:00.000Z"));
        assert_eq!(since("2026-11-30T08:15", now).map(rfc3339).as_deref(), Ok("2026-11-30T08:15:00.000Z"));
        assert_eq!(since("2h", now).map(rfc3339).as_deref(), Ok("2026-11-30T21:20:36.000Z"));
        assert_eq!(since("3d", now).map(rfc3339).as_deref(), Ok("2026-11-27T23:20:36.000Z"));
        for bad in ["2026-02-29", "2026-13-01", "2026-1", "2", "3 parsecs", "", "d", "2026-11-30T25:00", "-1d"] {
            assert!(since(bad, now).is_err(), "{bad}");
        }
    }

    #[test]
    fn spans_are_short() {
        let second = Duration::from_secs;
        let told: Vec<String> = [Duration::from_millis(12), second(3), second(600), second(7_200)].map(took).into();
        assert_eq!(told, ["12 ms", "3.0 s", "10 min", "2.0 h"]);
        let at = |seconds: u64| ago(Timestamp(0), Timestamp(seconds * NANOS_PER_SECOND));
        assert_eq!(
            [at(0), at(59), at(3_599), at(7_200), at(172_800), at(9_999_999)],
            ["just now", "59 s ago", "59 min ago", "2 h ago", "2 d ago", "1970-01-01"]
        );
    }

    #[test]
    fn the_clock_never_runs_backwards() {
        let mut last = now();
        for _ in 0..1_000 {
            let next = now();
            assert!(next >= last);
            last = next;
        }
        assert!(rfc3339(last).starts_with("20"));
    }
}
