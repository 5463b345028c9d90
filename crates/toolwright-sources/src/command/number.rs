//! Numbers as programs want to read them: plain decimal digits, every one of them, without an exponent.

/// No program reads longer numbers; `1e999999999` must not become a gigabyte of zeros.
const DIGITS_MAX: usize = 4096;

/// The plain decimal form of a JSON number: `120000.0` is `120000`, `1e3` is `1000`, `1.50` stays `1.50`.
///
/// `None` when it would be longer than 4,096 digits, or when `text` is no JSON number.
pub(crate) fn plain_decimal(text: &str) -> Option<String> {
    let (negative, unsigned) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent_value(exponent)?),
        None => (unsigned, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{whole}{fraction}");
    if digits.is_empty() || !digits.bytes().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    if digits.bytes().all(|digit| digit == b'0') {
        return Some("0".to_owned());
    }
    let point = i64::try_from(whole.len()).ok()?.checked_add(exponent)?;
    let plain = place_point(&digits, point)?;
    Some(if negative { format!("-{plain}") } else { plain })
}

fn exponent_value(text: &str) -> Option<i64> {
    text.strip_prefix('+').unwrap_or(text).parse().ok()
}

/// `digits` with the point after the first `point` of them; zeros are added where there are none.
fn place_point(digits: &str, point: i64) -> Option<String> {
    let width = usize::try_from(point.unsigned_abs()).ok()?.max(digits.len());
    if width > DIGITS_MAX {
        return None;
    }
    let (whole, fraction) = if point <= 0 {
        (String::new(), format!("{}{digits}", "0".repeat(usize::try_from(point.unsigned_abs()).ok()?)))
    } else {
        let point = usize::try_from(point).ok()?;
        let padded = format!("{digits}{}", "0".repeat(point.saturating_sub(digits.len())));
        let (whole, fraction) = padded.split_at_checked(point)?;
        (whole.to_owned(), fraction.to_owned())
    };
    let whole = whole.trim_start_matches('0');
    let whole = if whole.is_empty() { "0" } else { whole };
    if fraction.bytes().all(|digit| digit == b'0') {
        return Some(whole.to_owned());
    }
    Some(format!("{whole}.{fraction}"))
}

#[cfg(test)]
mod tests {
    use super::plain_decimal;

    #[test]
    fn numbers_keep_their_digits_and_lose_their_exponent() {
        let table = [
            ("0", "0"),
            ("-0", "0"),
            ("0.0e9", "0"),
            ("12", "12"),
            ("-7", "-7"),
            ("120000.0", "120000"),
            ("1e3", "1000"),
            ("1.5E+3", "1500"),
            ("1200e-2", "12"),
            ("1.50", "1.50"),
            ("125e-4", "0.0125"),
            ("-0.001", "-0.001"),
            ("0.05e1", "0.5"),
            ("123456789012345678901234567890", "123456789012345678901234567890"),
            ("3.141592653589793238462643383279", "3.141592653589793238462643383279"),
        ];
        for (number, plain) in table {
            assert_eq!(plain_decimal(number).as_deref(), Some(plain), "{number}");
        }
    }

    #[test]
    fn a_short_text_never_becomes_a_long_one() {
        for number in ["1e999999999", "1e-999999999", "1e99999999999999999999", "1e5000"] {
            assert_eq!(plain_decimal(number), None, "{number}");
        }
        assert_eq!(plain_decimal("1e400").map(|plain| plain.len()), Some(401));
    }

    #[test]
    fn what_is_no_number_is_none() {
        for text in ["", "-", "NaN", "1x", ".e1", "1e"] {
            assert_eq!(plain_decimal(text), None, "{text}");
        }
    }
}
