//! What an unquoted scalar means: the core schema of YAML 1.2, numbers kept as JSON writes them.

use super::Meaning;

/// What is wrong with a scalar that could be read in more than one way.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Ambiguous {
    /// What is wrong.
    pub(super) message: String,
    /// What to write instead.
    pub(super) help: String,
}

/// What plain text means, or why that cannot be said.
pub(super) fn plain(text: &str) -> Result<Meaning, Ambiguous> {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Ok(Meaning::Null),
        "true" | "True" | "TRUE" => return Ok(Meaning::Bool(true)),
        "false" | "False" | "FALSE" => return Ok(Meaning::Bool(false)),
        _ => {}
    }
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    if matches!(unsigned, ".inf" | ".Inf" | ".INF" | ".nan" | ".NaN" | ".NAN") {
        return Err(Ambiguous {
            message: format!("`{text}` is no JSON number"),
            help: format!("write a finite number, or `\"{text}\"` for the text"),
        });
    }
    if let Some(number) = radix(unsigned, text)? {
        return Ok(Meaning::Number(number));
    }
    match decimal(unsigned) {
        None => Ok(Meaning::Text),
        Some(digits) if has_leading_zero(unsigned) => Err(Ambiguous {
            message: format!("`{text}` could be the number {digits} or text"),
            help: format!("write `{digits}` for the number, `\"{text}\"` for the text"),
        }),
        Some(digits) if text.starts_with('-') => Ok(Meaning::Number(format!("-{digits}"))),
        Some(digits) => Ok(Meaning::Number(digits)),
    }
}

/// `0x1F` and `0o17`.
fn radix(unsigned: &str, text: &str) -> Result<Option<String>, Ambiguous> {
    let (digits, base) = match (unsigned.strip_prefix("0x"), unsigned.strip_prefix("0o")) {
        (Some(digits), _) => (digits, 16),
        (_, Some(digits)) => (digits, 8),
        _ => return Ok(None),
    };
    let valid = unsigned == text && !digits.is_empty() && digits.chars().all(|c| c.is_digit(base));
    if !valid {
        return Ok(None);
    }
    match u128::from_str_radix(digits, base) {
        Ok(number) => Ok(Some(number.to_string())),
        Err(_) => Err(Ambiguous {
            message: format!("`{text}` is too large a number in this notation"),
            help: "write it in decimal digits, of which there may be any number".to_owned(),
        }),
    }
}

/// The JSON form of `[0-9]+ ( . [0-9]* )? ( e [-+]? [0-9]+ )?` or `. [0-9]+ (e ...)?`.
fn decimal(text: &str) -> Option<String> {
    let (mantissa, exponent) = match text.find(['e', 'E']) {
        Some(at) => (text.get(..at)?, Some(text.get(at + 1..)?)),
        None => (text, None),
    };
    let (whole, fraction) = match mantissa.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (mantissa, None),
    };
    let digits = |part: &str| part.chars().all(|c| c.is_ascii_digit());
    let some = !whole.is_empty() || fraction.is_some_and(|f| !f.is_empty());
    if !some || !digits(whole) || !fraction.is_none_or(digits) {
        return None;
    }
    let trimmed = whole.trim_start_matches('0');
    let mut number = if trimmed.is_empty() { "0" } else { trimmed }.to_owned();
    if let Some(fraction) = fraction {
        number.push('.');
        number.push_str(if fraction.is_empty() { "0" } else { fraction });
    }
    if let Some(exponent) = exponent {
        let unsigned = exponent.strip_prefix(['-', '+']).unwrap_or(exponent);
        if unsigned.is_empty() || !digits(unsigned) {
            return None;
        }
        number.push('e');
        number.push_str(exponent);
    }
    Some(number)
}

/// `007` and `-01.5`, which people also write for text.
fn has_leading_zero(unsigned: &str) -> bool {
    let mut characters = unsigned.chars();
    characters.next() == Some('0') && characters.next().is_some_and(|c| c.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::{Meaning, plain};

    #[test]
    fn numbers_keep_every_digit() {
        for (text, number) in [
            ("12345678901234567890123", "12345678901234567890123"),
            ("-0", "-0"),
            ("+5", "5"),
            (".5", "0.5"),
            ("5.", "5.0"),
            ("1.10", "1.10"),
            ("1e3", "1e3"),
            ("-2.50E+10", "-2.50e+10"),
            ("0x1F", "31"),
            ("0o17", "15"),
            ("0", "0"),
            ("0.25", "0.25"),
        ] {
            assert_eq!(plain(text), Ok(Meaning::Number(number.into())), "{text}");
        }
    }

    #[test]
    fn what_looks_like_a_number_and_is_none_is_text() {
        for text in
            ["1.2.3", "-", "+", ".", "e5", "1e", "1e+", "0xZZ", "-0x1F", "1_000", "12h", "yes", "no", "on", "off", "--", "1.2e3.4", "٣"]
        {
            assert_eq!(plain(text), Ok(Meaning::Text), "{text}");
        }
    }

    #[test]
    fn two_readings_are_told_apart_by_the_author() {
        for text in ["007", "-01", "00.5", ".inf", "-.INF", ".nan"] {
            assert!(plain(text).is_err(), "{text}");
        }
    }
}
