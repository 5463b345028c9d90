//! Durations and sizes as people write them.

use std::time::Duration;

/// `500ms`, `20s`, `2m`, `1h`; the number may have decimals.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let (number, unit) = split(text);
    let seconds = match unit {
        "ms" => 0.001,
        "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        "" => return Err(missing_unit(number, "ms`, `s`, `m` or `h")),
        other => return Err(unknown_unit(other, "ms`, `s`, `m` and `h")),
    };
    let amount = amount(number)? * seconds;
    let duration = Duration::try_from_secs_f64(amount).map_err(|_| format!("`{text}` is longer than time itself"))?;
    if duration.is_zero() {
        return Err("a duration is longer than nothing".to_owned());
    }
    Ok(duration)
}

/// `512` (bytes), `64KiB`, `1MiB`, `10MB`, `1GB`.
pub(crate) fn size(text: &str) -> Result<u64, String> {
    let (number, unit) = split(text);
    let bytes: f64 = match unit {
        "" | "B" => 1.0,
        "kB" | "KB" => 1e3,
        "MB" => 1e6,
        "GB" => 1e9,
        "KiB" => 1024.0,
        "MiB" => 1024.0 * 1024.0,
        "GiB" => 1024.0 * 1024.0 * 1024.0,
        other => return Err(unknown_unit(other, "KiB`, `MiB`, `GiB`, `kB`, `MB` and `GB")),
    };
    let total = amount(number)? * bytes;
    if !(1.0..=9e15).contains(&total) {
        return Err(format!("`{text}` is no size that could be used"));
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the range was checked just above")]
    let total = total.round() as u64;
    Ok(total)
}

fn split(text: &str) -> (&str, &str) {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    (number, unit.trim_start())
}

fn amount(number: &str) -> Result<f64, String> {
    if number.is_empty() {
        return Err("it begins with no number".to_owned());
    }
    number.parse().map_err(|_| format!("`{number}` is no number"))
}

fn missing_unit(number: &str, units: &str) -> String {
    match number {
        "" => "it is empty".to_owned(),
        number => format!("`{number}` lacks a unit: `{units}`"),
    }
}

fn unknown_unit(unit: &str, units: &str) -> String {
    format!("`{unit}` is no unit; there are `{units}`")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{duration, size};

    #[test]
    fn durations() {
        assert_eq!(duration("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(duration("1.5s"), Ok(Duration::from_millis(1500)));
        assert_eq!(duration("2 m"), Ok(Duration::from_secs(120)));
        assert_eq!(duration("1h"), Ok(Duration::from_secs(3600)));
        for bad in ["", "s", "20", "20 parsecs", "-1s", "1.2.3s", "0s", "99999999999999999999h"] {
            assert!(duration(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn sizes() {
        assert_eq!(size("512"), Ok(512));
        assert_eq!(size("1MiB"), Ok(1 << 20));
        assert_eq!(size("1.5kB"), Ok(1500));
        for bad in ["", "MiB", "1 parsec", "-1", "0", "99999999999999999999GiB"] {
            assert!(size(bad).is_err(), "{bad}");
        }
    }
}
