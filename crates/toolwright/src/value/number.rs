//! Numbers that keep the digits they were written with.
//!
//! A number is its text: `1`, `1.0` and `1e0` are three numbers here, and each one prints as it was read. Arithmetic
//! is somebody else's business; the views (`as_i64`, `as_f64`, `is_integer`, `same_value`) answer by decimal value.

use std::borrow::Cow;
use std::fmt;

use super::Text;
use super::error::NumberFault;
use crate::limits::{NUMBER_INLINE_DIGITS_MAX, NUMBER_INTEGER_DIGITS_MAX};

/// A JSON number with every digit of its text; 16 bytes, and only unusual texts allocate.
///
/// Equality is equality of the text: `1 != 1.0`. Use [`Number::same_value`] for `1 == 1.0`.
///
/// ```
/// use toolwright::Number;
/// let one = Number::parse("1.0").ok_or("a number")?;
/// assert_eq!(one.text(), "1.0");
/// assert!(one != Number::from(1) && one.same_value(&Number::from(1)));
/// # Ok::<(), &str>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Number(Repr);

// INVARIANT: one text has exactly one representation, so derived equality is equality of the text.
#[derive(Clone, PartialEq, Eq, Hash)]
enum Repr {
    Signed(i64),
    /// Above `i64::MAX`.
    Unsigned(u64),
    /// `digits` with a dot before the last `scale` of them; scale 0 only for what no integer holds (`-0`).
    Decimal {
        digits: u64,
        scale: u8,
        negative: bool,
    },
    /// Everything else, verbatim: exponents, and more digits than fit.
    Verbatim(Text),
}

const POWERS_OF_TEN: [u64; 20] = {
    let mut powers = [1_u64; 20];
    let mut at = 1;
    #[expect(clippy::indexing_slicing, reason = "evaluated when compiling")]
    while at < 20 {
        powers[at] = powers[at - 1] * 10;
        at += 1;
    }
    powers
};

fn power_of_ten(exponent: usize) -> Option<u64> {
    POWERS_OF_TEN.get(exponent).copied()
}

impl Number {
    /// Reads one number and nothing else: no spaces, no sign `+`, no `NaN`.
    pub fn parse(text: &str) -> Option<Number> {
        match scan(text, 0) {
            Ok((number, end)) if end == text.len() => Some(number),
            _ => None,
        }
    }

    /// The shortest text that reads back as the same float; `None` for NaN and the infinities.
    pub fn from_f64(float: f64) -> Option<Number> {
        if !float.is_finite() {
            return None;
        }
        let mut text = Stack::new();
        fmt::write(&mut text, format_args!("{float:?}")).ok()?;
        Number::parse(text.as_str())
    }

    /// The same for single precision: `0.1_f32` becomes `0.1`, not `0.10000000149011612`.
    pub fn from_f32(float: f32) -> Option<Number> {
        if !float.is_finite() {
            return None;
        }
        let mut text = Stack::new();
        fmt::write(&mut text, format_args!("{float:?}")).ok()?;
        Number::parse(text.as_str())
    }

    /// The number as an `i64` when it is a whole number in range, however it is written (`100.0`, `1e2`).
    pub fn as_i64(&self) -> Option<i64> {
        match &self.0 {
            Repr::Signed(integer) => Some(*integer),
            Repr::Unsigned(_) => None,
            _ => i64::try_from(self.as_i128()?).ok(),
        }
    }

    /// The number as a `u64` when it is a whole number in range, however it is written.
    pub fn as_u64(&self) -> Option<u64> {
        match &self.0 {
            Repr::Signed(integer) => u64::try_from(*integer).ok(),
            Repr::Unsigned(integer) => Some(*integer),
            _ => u64::try_from(self.as_i128()?).ok(),
        }
    }

    /// The number as an `i128` when it is a whole number in range, however it is written.
    pub fn as_i128(&self) -> Option<i128> {
        match &self.0 {
            Repr::Signed(integer) => Some(i128::from(*integer)),
            Repr::Unsigned(integer) => Some(i128::from(*integer)),
            Repr::Decimal { digits, scale, negative } => {
                let unit = power_of_ten(usize::from(*scale))?;
                if !digits.is_multiple_of(unit) {
                    return None;
                }
                let whole = i128::from(digits / unit);
                Some(if *negative { -whole } else { whole })
            }
            Repr::Verbatim(text) => text.parse().ok().or_else(|| self.to_integer().and_then(|integer| integer.text().parse().ok())),
        }
    }

    /// The number as a `u128` when it is a whole number in range, however it is written.
    pub fn as_u128(&self) -> Option<u128> {
        match self.as_i128() {
            Some(integer) => u128::try_from(integer).ok(),
            None => self.to_integer()?.text().parse().ok(),
        }
    }

    /// The nearest float; `None` when that would be infinite (`1e400`).
    pub fn as_f64(&self) -> Option<f64> {
        match &self.0 {
            Repr::Signed(integer) => Some(*integer as f64),
            Repr::Unsigned(integer) => Some(*integer as f64),
            Repr::Decimal { digits, scale, negative } if *digits <= 1 << 53 => {
                // Both operands are exact floats, so the one division rounds correctly.
                let unit = power_of_ten(usize::from(*scale))?;
                let size = *digits as f64 / unit as f64;
                Some(if *negative { -size } else { size })
            }
            _ => self.text().parse().ok().filter(|float: &f64| float.is_finite()),
        }
    }

    /// Whether the value is a whole number, however it is written: `1`, `1.0` and `1e400` are.
    pub fn is_integer(&self) -> bool {
        match &self.0 {
            Repr::Signed(_) | Repr::Unsigned(_) => true,
            Repr::Decimal { digits, scale, .. } => power_of_ten(usize::from(*scale)).is_some_and(|unit| digits.is_multiple_of(unit)),
            Repr::Verbatim(text) => match Normal::of_text(text) {
                Normal::Small { digits, exponent, .. } => digits == 0 || exponent >= 0,
                Normal::Large { exponent, .. } => exponent >= 0,
                Normal::Huge { exponent, .. } => !exponent.starts_with('-'),
            },
        }
    }

    /// Whether it is written as an integer: neither a fraction nor an exponent.
    pub fn is_written_as_integer(&self) -> bool {
        match &self.0 {
            Repr::Signed(_) | Repr::Unsigned(_) => true,
            Repr::Decimal { scale, .. } => *scale == 0,
            Repr::Verbatim(text) => !text.contains(['.', 'e', 'E']),
        }
    }

    /// The same whole number written as an integer (`100.0` and `1e2` become `100`); `None` for fractions and for
    /// numbers of more than [`NUMBER_INTEGER_DIGITS_MAX`] digits.
    pub fn to_integer(&self) -> Option<Number> {
        if self.is_written_as_integer() && self.text() != "-0" {
            return Some(self.clone());
        }
        let (negative, digits, exponent) = match self.normal() {
            Normal::Small { digits: 0, .. } => return Some(Number::from(0)),
            Normal::Small { negative, digits, exponent } => (negative, digits.to_string(), exponent),
            Normal::Large { negative, digits, exponent } => (negative, digits, exponent),
            Normal::Huge { .. } => return None,
        };
        let zeros = usize::try_from(exponent).ok()?;
        if zeros > NUMBER_INTEGER_DIGITS_MAX || digits.len() + zeros > NUMBER_INTEGER_DIGITS_MAX {
            return None;
        }
        let sign = if negative { "-" } else { "" };
        Number::parse(&format!("{sign}{digits}{}", "0".repeat(zeros)))
    }

    /// Whether both are the same number, however they are written: `1`, `1.0` and `10e-1` are.
    pub fn same_value(&self, other: &Number) -> bool {
        match (&self.0, &other.0) {
            (Repr::Signed(left), Repr::Signed(right)) => left == right,
            (Repr::Unsigned(left), Repr::Unsigned(right)) => left == right,
            _ => self == other || self.normal() == other.normal(),
        }
    }

    /// The text, as it was written.
    pub fn text(&self) -> Cow<'_, str> {
        match &self.0 {
            Repr::Verbatim(text) => Cow::Borrowed(text.as_str()),
            _ => {
                let mut out = String::with_capacity(24);
                // Writing into a `String` cannot fail.
                let _ = self.write(&mut out);
                Cow::Owned(out)
            }
        }
    }

    /// Bytes of the text.
    pub fn weight(&self) -> u64 {
        match &self.0 {
            Repr::Signed(integer) => u64::from(*integer < 0) + digit_count(integer.unsigned_abs()),
            Repr::Unsigned(integer) => digit_count(*integer),
            Repr::Decimal { digits, scale, negative } => {
                let scale = u64::from(*scale);
                let count = digit_count(*digits).max(scale + 1);
                count + u64::from(*negative) + u64::from(scale > 0)
            }
            Repr::Verbatim(text) => text.len() as u64,
        }
    }

    pub(crate) fn write<W: fmt::Write>(&self, out: &mut W) -> fmt::Result {
        match &self.0 {
            Repr::Signed(integer) => write_digits(out, *integer < 0, integer.unsigned_abs(), 0),
            Repr::Unsigned(integer) => write_digits(out, false, *integer, 0),
            Repr::Decimal { digits, scale, negative } => write_digits(out, *negative, *digits, usize::from(*scale)),
            Repr::Verbatim(text) => out.write_str(text),
        }
    }

    pub(crate) fn native(&self) -> Native {
        match &self.0 {
            Repr::Signed(integer) => Native::Signed(*integer),
            Repr::Unsigned(integer) => Native::Unsigned(*integer),
            Repr::Decimal { digits, scale, .. } if is_shortest(*digits, *scale) => match self.as_f64() {
                Some(float) => Native::Float(float),
                None => Native::None,
            },
            _ => Native::None,
        }
    }

    pub(crate) fn normal(&self) -> Normal {
        match &self.0 {
            Repr::Signed(integer) => Normal::small(*integer < 0, integer.unsigned_abs(), 0),
            Repr::Unsigned(integer) => Normal::small(false, *integer, 0),
            Repr::Decimal { digits, scale, negative } => Normal::small(*negative, *digits, -i64::from(*scale)),
            Repr::Verbatim(text) => Normal::of_text(text),
        }
    }

    pub(crate) fn deep_clone(&self) -> Number {
        match &self.0 {
            Repr::Verbatim(text) => Number(Repr::Verbatim(Text::from(text.as_str()))),
            _ => self.clone(),
        }
    }
}

/// The primitive that prints the same digits again, if there is one.
pub(crate) enum Native {
    Signed(i64),
    Unsigned(u64),
    Float(f64),
    None,
}

/// Whether every common shortest-digits printer writes the float of this decimal back as the same text.
///
/// Up to 15 digits survive a float. The text must also have the printers' form: no zero at the end except in `x.0`,
/// and a size for which none of them switches to an exponent.
fn is_shortest(digits: u64, scale: u8) -> bool {
    match (digits, scale) {
        (_, 0) => false,
        (0, _) => scale == 1,
        _ => {
            let at_least = power_of_ten(usize::from(scale).saturating_sub(4)).unwrap_or(u64::MAX);
            digits < 1_000_000_000_000_000 && digits >= at_least && (scale == 1 || !digits.is_multiple_of(10))
        }
    }
}

/// A number without its way of writing: equal exactly when the decimal values are equal.
#[derive(PartialEq, Eq, Hash, Debug)]
pub(crate) enum Normal {
    /// `digits` times ten to the `exponent`, no zero at the end of the digits; zero is never negative.
    Small { negative: bool, digits: u64, exponent: i64 },
    /// The same with more digits than an `u64` surely holds.
    Large { negative: bool, digits: String, exponent: i64 },
    /// An exponent beyond 64 bits: equal only with the same digits before it.
    Huge { negative: bool, digits: String, exponent: String },
}

impl Normal {
    fn small(negative: bool, mut digits: u64, mut exponent: i64) -> Normal {
        if digits == 0 {
            return Normal::Small { negative: false, digits: 0, exponent: 0 };
        }
        while digits.is_multiple_of(10) {
            digits /= 10;
            exponent += 1;
        }
        Normal::Small { negative, digits, exponent }
    }

    fn of_text(text: &str) -> Normal {
        let (negative, rest) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let (mantissa, exponent) = rest.split_once(['e', 'E']).unwrap_or((rest, "0"));
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let digits = format!("{whole}{fraction}");
        let significant = digits.trim_start_matches('0');
        let kept = significant.trim_end_matches('0');
        if kept.is_empty() {
            return Normal::small(false, 0, 0);
        }
        let dropped = (significant.len() - kept.len()) as i64;
        let Some(exponent) =
            exponent.parse::<i64>().ok().and_then(|written| written.checked_sub(fraction.len() as i64)?.checked_add(dropped))
        else {
            let sign = if exponent.starts_with('-') { "-" } else { "" };
            let exponent = format!("{sign}{}", exponent.trim_start_matches(['+', '-', '0']));
            return Normal::Huge { negative, digits: mantissa.to_owned(), exponent };
        };
        match kept.parse() {
            Ok(digits) => Normal::small(negative, digits, exponent),
            Err(_) => Normal::Large { negative, digits: kept.to_owned(), exponent },
        }
    }
}

fn digit_count(integer: u64) -> u64 {
    u64::from(integer.checked_ilog10().unwrap_or(0)) + 1
}

const PAIRS: [[u8; 2]; 100] = {
    let mut pairs = [[b'0'; 2]; 100];
    let mut at = 0;
    #[expect(clippy::indexing_slicing, reason = "evaluated when compiling")]
    while at < 100 {
        pairs[at] = [b'0' + (at / 10) as u8, b'0' + (at % 10) as u8];
        at += 1;
    }
    pairs
};

/// Writes sign, digits and, before the last `scale` digits, the dot.
fn write_digits<W: fmt::Write>(out: &mut W, negative: bool, digits: u64, scale: usize) -> fmt::Result {
    // Room for a sign and a dot before 20 digits; what is not written stays `0`.
    let mut buffer = [b'0'; 22];
    let mut rest = digits;
    let mut start = buffer.len();
    for slot in buffer.rchunks_exact_mut(2) {
        if rest < 10 {
            if let [_, last] = slot
                && (rest > 0 || digits == 0)
            {
                *last = b'0' + rest as u8;
                start -= 1;
            }
            break;
        }
        slot.copy_from_slice(PAIRS.get((rest % 100) as usize).unwrap_or(&[b'0'; 2]));
        rest /= 100;
        start -= 2;
        if rest == 0 {
            break;
        }
    }
    if scale > 0 {
        let dot = buffer.len() - scale - 1;
        start = start.min(dot);
        buffer.copy_within(start..=dot, start - 1);
        start -= 1;
        if let Some(slot) = buffer.get_mut(dot) {
            *slot = b'.';
        }
    }
    if negative {
        start -= 1;
        if let Some(slot) = buffer.get_mut(start) {
            *slot = b'-';
        }
    }
    let text = buffer.get(start..).and_then(|bytes| std::str::from_utf8(bytes).ok());
    out.write_str(text.ok_or(fmt::Error)?)
}

/// Reads the number that starts at `start`; gives it and the offset behind it.
pub(crate) fn scan(input: &str, start: usize) -> Result<(Number, usize), (NumberFault, usize)> {
    let bytes = input.as_bytes();
    let byte_at = |at: usize| bytes.get(at).copied().unwrap_or(0);
    let mut at = start;
    let negative = byte_at(at) == b'-';
    at += usize::from(negative);
    let whole_start = at;
    // Wraps for long numbers; those are kept verbatim and never look at it.
    let mut digits = 0_u64;
    let mut eat_digits = |mut at: usize| {
        while let digit @ b'0'..=b'9' = byte_at(at) {
            digits = digits.wrapping_mul(10).wrapping_add(u64::from(digit - b'0'));
            at += 1;
        }
        at
    };
    at = eat_digits(at);
    if at == whole_start {
        return Err((NumberFault::NoDigits, at));
    }
    if byte_at(whole_start) == b'0' && at > whole_start + 1 {
        return Err((NumberFault::LeadingZero, whole_start));
    }
    let whole = at - whole_start;
    let mut scale = 0;
    if byte_at(at) == b'.' {
        let end = eat_digits(at + 1);
        scale = end - at - 1;
        if scale == 0 {
            return Err((NumberFault::NoFraction, end));
        }
        at = end;
    }
    let mut verbatim = whole + scale > NUMBER_INLINE_DIGITS_MAX;
    if matches!(byte_at(at), b'e' | b'E') {
        verbatim = true;
        at += 1 + usize::from(matches!(byte_at(at + 1), b'+' | b'-'));
        let end = eat_digits(at);
        if end == at {
            return Err((NumberFault::NoExponent, end));
        }
        at = end;
    }
    let number = if verbatim { keep_text(input.get(start..at).unwrap_or("")) } else { keep_digits(negative, digits, scale as u8) };
    Ok((number, at))
}

fn keep_digits(negative: bool, digits: u64, scale: u8) -> Number {
    let decimal = Repr::Decimal { digits, scale, negative };
    Number(match (scale, negative) {
        (0, false) => return Number::from(digits),
        (0, true) if digits > 0 => match 0_i64.checked_sub_unsigned(digits) {
            Some(integer) => Repr::Signed(integer),
            None => decimal,
        },
        _ => decimal,
    })
}

#[cold]
fn keep_text(text: &str) -> Number {
    match text.parse::<u64>() {
        Ok(integer) => Number::from(integer),
        Err(_) => Number(Repr::Verbatim(Text::from(text))),
    }
}

/// A float's text while it is being read back; the longest has 24 bytes, plus room.
struct Stack {
    bytes: [u8; 40],
    used: usize,
}

impl Stack {
    fn new() -> Stack {
        Stack { bytes: [0; 40], used: 0 }
    }

    fn as_str(&self) -> &str {
        let used = self.bytes.get(..self.used).unwrap_or_default();
        std::str::from_utf8(used).unwrap_or_default()
    }
}

impl fmt::Write for Stack {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let end = self.used + text.len();
        let room = self.bytes.get_mut(self.used..end).ok_or(fmt::Error)?;
        room.copy_from_slice(text.as_bytes());
        self.used = end;
        Ok(())
    }
}

impl fmt::Display for Number {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(out)
    }
}

impl fmt::Debug for Number {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(out)
    }
}

impl std::str::FromStr for Number {
    type Err = super::ValueError;

    fn from_str(text: &str) -> Result<Number, super::ValueError> {
        Number::parse(text).ok_or_else(|| super::ValueError::not_a_number(text))
    }
}

impl From<i64> for Number {
    fn from(integer: i64) -> Number {
        Number(Repr::Signed(integer))
    }
}

impl From<u64> for Number {
    fn from(integer: u64) -> Number {
        match i64::try_from(integer) {
            Ok(signed) => Number(Repr::Signed(signed)),
            Err(_) => Number(Repr::Unsigned(integer)),
        }
    }
}

macro_rules! from_small_integers {
    ($($wide:ty: $($small:ty),+;)+) => {$($(
        impl From<$small> for Number {
            fn from(integer: $small) -> Number {
                Number::from(integer as $wide)
            }
        }
    )+)+};
}
from_small_integers!(i64: i8, i16, i32, isize; u64: u8, u16, u32, usize;);
