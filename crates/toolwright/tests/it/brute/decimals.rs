//! Numbers exactly: bounds and their neighbours as decimal digits.

use toolwright::value::Number;

/// `digits` divided by ten to the power of `scale`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Decimal {
    digits: i128,
    scale: u32,
}

impl Decimal {
    /// The number, when it has few enough digits to calculate with.
    pub(super) fn of(number: &Number) -> Option<Self> {
        let text = number.text();
        let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((&text, "0"));
        let exponent: i32 = exponent.parse().ok()?;
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let digits: i128 = format!("{whole}{fraction}").parse().ok()?;
        let scale = i32::try_from(fraction.len()).ok()? - exponent;
        match u32::try_from(scale) {
            Ok(scale) if scale <= 20 => Some(Self { digits, scale }),
            Ok(_) => None,
            Err(_) => Some(Self { digits: digits.checked_mul(10_i128.checked_pow(scale.unsigned_abs())?)?, scale: 0 }),
        }
    }

    fn scaled(self, scale: u32) -> Option<i128> {
        self.digits.checked_mul(10_i128.checked_pow(scale.checked_sub(self.scale)?)?)
    }

    /// The sum with `tenths` tenths.
    pub(super) fn plus_tenths(self, tenths: i128) -> Option<Self> {
        let scale = self.scale.max(1);
        let step = tenths.checked_mul(10_i128.checked_pow(scale - 1)?)?;
        Some(Self { digits: self.scaled(scale)?.checked_add(step)?, scale })
    }

    /// The multiple of `factor` at or below it, and `steps` further on.
    pub(super) fn multiple(self, factor: Self, steps: i128) -> Option<Self> {
        let scale = self.scale.max(factor.scale);
        let (value, factor) = (self.scaled(scale)?, factor.scaled(scale)?);
        if factor == 0 {
            return None;
        }
        let times = value.checked_div_euclid(factor)?.checked_add(steps)?;
        Some(Self { digits: times.checked_mul(factor)?, scale })
    }

    /// The product, which is a multiple of both when they are whole.
    pub(super) fn times(self, other: Self) -> Option<Self> {
        Some(Self { digits: self.digits.checked_mul(other.digits)?, scale: self.scale.checked_add(other.scale)? })
    }

    /// The number, without zeros at its end.
    pub(super) fn number(self) -> Option<Number> {
        let (mut digits, mut scale) = (self.digits, self.scale);
        while scale > 0 && digits % 10 == 0 {
            digits /= 10;
            scale -= 1;
        }
        if scale == 0 {
            return Number::parse(&digits.to_string());
        }
        let places = usize::try_from(scale).ok()?;
        let text = format!("{:0>width$}", digits.unsigned_abs(), width = places + 1);
        let (whole, fraction) = text.split_at(text.len() - places);
        let sign = if digits < 0 { "-" } else { "" };
        Number::parse(&format!("{sign}{whole}.{fraction}"))
    }
}
