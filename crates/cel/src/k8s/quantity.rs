//! Quantities: numbers with a unit of magnitude, such as `1.5Gi`.

use std::any::Any;
use std::cmp::Ordering;

use crate::{EvalError, Evaluated, Function, Library, Opaque, Overload, Type, Value};

const TYPE_NAME: &str = "kubernetes.Quantity";
/// Bound: decimal digits of a quantity. Parsed ones stay far below unless their exponent is absurd.
const DIGITS_MAX: i64 = 10_000;
/// The smallest magnitude kept, as a power of ten.
const NANO: i32 = -9;

/// A quantity. Small ones are an integer and a power of ten; only those can be integers to a rule.
#[derive(Clone, Debug)]
struct Quantity {
    amount: Amount,
    /// Sums and differences are another type inside the reference, and cannot be the right side of `==`.
    is_computed: bool,
}

#[derive(Clone, Debug)]
enum Amount {
    Small { value: i64, scale: i32 },
    Large(Decimal),
}

/// A decimal number of any length.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Decimal {
    negative: bool,
    /// Digits from the most significant, none for zero.
    digits: Vec<u8>,
    /// The power of ten of the last digit.
    exponent: i32,
}

impl Opaque for Quantity {
    fn type_name(&self) -> &'static str {
        TYPE_NAME
    }

    fn equals(&self, other: &Value<'_>) -> Option<bool> {
        let other = other.downcast::<Quantity>().filter(|other| !other.is_computed)?;
        Some(self.amount.compare(&other.amount).is_eq())
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

pub(super) fn add(library: Library) -> Library {
    let quantity = || Type::object(TYPE_NAME);
    let text = |name: &str, id: &str, result: Type, f: fn(&str) -> Evaluated<'static>| {
        Function::new(name).overload(Overload::global(id, [Type::String], result).implemented(move |args| {
            match args {
                [Value::String(text)] => f(text),
                _ => Err(EvalError::no_such_overload()),
            }
        }))
    };
    let unary = |id: &str, member: bool, result: Type, f: fn(&Amount) -> Evaluated<'static>| {
        let overload = if member {
            Overload::member(id, [quantity()], result)
        } else {
            Overload::global(id, [quantity()], result)
        };
        overload.implemented(move |args| match args {
            [only] => f(amount(only)?),
            _ => Err(EvalError::no_such_overload()),
        })
    };
    let compared = |name: &str, id: &str, result: Type, of: fn(Ordering) -> Value<'static>| {
        let overload =
            Overload::member(id, [quantity(), quantity()], result).implemented(move |args| match args {
                [left, right] => Ok(of(amount(left)?.compare(amount(right)?))),
                _ => Err(EvalError::no_such_overload()),
            });
        Function::new(name).overload(overload)
    };
    let computed = |name: &str, id: &str, negate: bool| {
        let overload = |id: &str, right: Type| {
            Overload::member(id, [quantity(), right], quantity()).implemented(move |args| sum(args, negate))
        };
        Function::new(name).overloads([overload(id, quantity()), overload(&format!("{id}_int"), Type::Int)])
    };
    library
        .function(text("quantity", "string_to_quantity", quantity(), |text| {
            let amount = parse(text).map_err(EvalError::new)?;
            Ok(Value::opaque(Quantity { amount, is_computed: false }))
        }))
        .function(text("isQuantity", "is_quantity_string", Type::Bool, |text| {
            Ok(Value::Bool(parse(text).is_ok()))
        }))
        .function(
            Function::new("sign")
                .overload(unary("quantity_sign", false, Type::Int, |amount| Ok(Value::Int(amount.sign())))),
        )
        .function(Function::new("isInteger").overload(unary(
            "quantity_is_integer",
            true,
            Type::Bool,
            |amount| Ok(Value::Bool(amount.as_int().is_some())),
        )))
        .function(Function::new("asInteger").overload(unary("quantity_get_int", true, Type::Int, |amount| {
            amount.as_int().map(Value::Int).ok_or_else(|| EvalError::new("cannot convert value to integer"))
        })))
        .function(Function::new("asApproximateFloat").overload(unary(
            "quantity_get_float",
            true,
            Type::Double,
            |amount| Ok(Value::Double(amount.as_double())),
        )))
        .function(compared("isGreaterThan", "quantity_is_greater_than", Type::Bool, |order| {
            Value::Bool(order.is_gt())
        }))
        .function(compared("isLessThan", "quantity_is_less_than", Type::Bool, |order| {
            Value::Bool(order.is_lt())
        }))
        .function(compared("compareTo", "quantity_compare_to", Type::Int, |order| Value::Int(order as i64)))
        .function(computed("add", "quantity_add", false))
        .function(computed("sub", "quantity_sub", true))
}

fn amount<'v>(value: &'v Value<'_>) -> Result<&'v Amount, EvalError> {
    value.downcast::<Quantity>().map(|quantity| &quantity.amount).ok_or_else(EvalError::no_such_overload)
}

fn sum<'a>(args: &[Value<'a>], negate: bool) -> Evaluated<'a> {
    let [left, right] = args else { return Err(EvalError::no_such_overload()) };
    let right = match right {
        Value::Int(value) => Amount::Small { value: *value, scale: 0 },
        other => amount(other)?.clone(),
    };
    let amount = amount(left)?.add(&right, negate)?;
    Ok(Value::opaque(Quantity { amount, is_computed: true }))
}

impl Amount {
    fn to_decimal(&self) -> Decimal {
        match self {
            Amount::Large(decimal) => decimal.clone(),
            Amount::Small { value, scale } => {
                Decimal::new(*value < 0, &value.unsigned_abs().to_string(), *scale)
            }
        }
    }

    fn sign(&self) -> i64 {
        match self {
            Amount::Small { value, .. } => value.signum(),
            Amount::Large(decimal) if decimal.digits.is_empty() => 0,
            Amount::Large(decimal) => {
                if decimal.negative {
                    -1
                } else {
                    1
                }
            }
        }
    }

    fn as_int(&self) -> Option<i64> {
        match self {
            Amount::Small { value, scale } => scaled(*value, u32::try_from(*scale).ok()?),
            Amount::Large(_) => None,
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "the conversion is an approximation")]
    fn as_double(&self) -> f64 {
        let (base, exponent) = match self {
            Amount::Small { value, scale } => (*value as f64, *scale),
            Amount::Large(decimal) => {
                let digits: String = decimal.digits.iter().map(|digit| char::from(b'0' + digit)).collect();
                let magnitude: f64 = digits.parse().unwrap_or(0.0);
                (if decimal.negative { -magnitude } else { magnitude }, decimal.exponent)
            }
        };
        if exponent == 0 { base } else { base * 10_f64.powi(exponent) }
    }

    fn compare(&self, other: &Amount) -> Ordering {
        if let (Amount::Small { value: left, scale: a }, Amount::Small { value: right, scale: b }) =
            (self, other)
            && a == b
        {
            return left.cmp(right);
        }
        self.to_decimal().compare(&other.to_decimal())
    }

    fn add(&self, other: &Amount, negate: bool) -> Result<Amount, EvalError> {
        if let (Amount::Small { value: left, scale: a }, Amount::Small { value: right, scale: b }) =
            (self, other)
            && let Some(sum) = add_small((*left, *a), (*right, *b), negate)
        {
            return Ok(sum);
        }
        let mut right = other.to_decimal();
        right.negative ^= negate;
        self.to_decimal().add(&right).map(Amount::Large)
    }
}

/// `value × 10^scale`, if it fits.
fn scaled(value: i64, scale: u32) -> Option<i64> {
    if value == 0 { Some(0) } else { 10_i64.checked_pow(scale)?.checked_mul(value) }
}

fn add_small(left: (i64, i32), right: (i64, i32), negate: bool) -> Option<Amount> {
    let right = (if negate { right.0.checked_neg()? } else { right.0 }, right.1);
    if right.0 == 0 {
        return Some(Amount::Small { value: left.0, scale: left.1 });
    }
    if left.0 == 0 {
        return Some(Amount::Small { value: right.0, scale: right.1 });
    }
    let scale = left.1.min(right.1);
    let at_scale = |(value, from): (i64, i32)| scaled(value, u32::try_from(from.checked_sub(scale)?).ok()?);
    let value = at_scale(left)?.checked_add(at_scale(right)?)?;
    Some(Amount::Small { value, scale })
}

impl Decimal {
    fn new(negative: bool, digits: &str, exponent: i32) -> Decimal {
        let digits: Vec<u8> = digits
            .bytes()
            .filter(u8::is_ascii_digit)
            .map(|b| b - b'0')
            .skip_while(|digit| *digit == 0)
            .collect();
        Decimal { negative: negative && !digits.is_empty(), digits, exponent }
    }

    /// The power of ten just above the number.
    fn magnitude(&self) -> i64 {
        i64::from(self.exponent) + i64::try_from(self.digits.len()).unwrap_or(i64::MAX)
    }

    fn compare(&self, other: &Decimal) -> Ordering {
        let sign = |decimal: &Decimal| match (decimal.digits.is_empty(), decimal.negative) {
            (true, _) => 0,
            (false, true) => -1,
            (false, false) => 1,
        };
        let order = sign(self).cmp(&sign(other));
        if order.is_ne() || self.digits.is_empty() {
            return order;
        }
        let order = self.compare_magnitude(other);
        if self.negative { order.reverse() } else { order }
    }

    fn compare_magnitude(&self, other: &Decimal) -> Ordering {
        if self.digits.is_empty() || other.digits.is_empty() {
            return self.digits.len().cmp(&other.digits.len());
        }
        self.magnitude().cmp(&other.magnitude()).then_with(|| {
            let length = self.digits.len().max(other.digits.len());
            let padded = |digits: &[u8], at: usize| digits.get(at).copied().unwrap_or(0);
            (0..length)
                .map(|at| padded(&self.digits, at).cmp(&padded(&other.digits, at)))
                .find(|order| order.is_ne())
                .unwrap_or(Ordering::Equal)
        })
    }

    /// The digits as if the last one stood at a lower power of ten.
    fn digits_from(&self, exponent: i32) -> Result<Vec<u8>, EvalError> {
        let shift = i64::from(self.exponent) - i64::from(exponent);
        if shift > DIGITS_MAX {
            return Err(EvalError::new("quantity out of range"));
        }
        let zeros = usize::try_from(shift).unwrap_or(0);
        Ok(self.digits.iter().copied().chain(std::iter::repeat_n(0, zeros)).collect())
    }

    fn add(&self, other: &Decimal) -> Result<Decimal, EvalError> {
        if other.digits.is_empty() {
            return Ok(self.clone());
        }
        if self.digits.is_empty() {
            return Ok(other.clone());
        }
        let exponent = self.exponent.min(other.exponent);
        let (left, right) = (self.digits_from(exponent)?, other.digits_from(exponent)?);
        let (negative, digits) = if self.negative == other.negative {
            (self.negative, add_digits(&left, &right))
        } else if self.compare_magnitude(other).is_ge() {
            (self.negative, subtract_digits(&left, &right))
        } else {
            (other.negative, subtract_digits(&right, &left))
        };
        let digits: Vec<u8> = digits.into_iter().skip_while(|digit| *digit == 0).collect();
        Ok(Decimal { negative: negative && !digits.is_empty(), digits, exponent })
    }

    /// In billionths, rounded away from zero. What is too large for that to matter stays as it is.
    fn rounded(mut self) -> Decimal {
        let shift = i64::from(self.exponent) - i64::from(NANO);
        if self.digits.is_empty() || shift > DIGITS_MAX {
            return self;
        }
        self.digits.extend(std::iter::repeat_n(0, usize::try_from(shift).unwrap_or(0)));
        let surplus = usize::try_from(-shift).unwrap_or(0);
        let kept = self.digits.len().saturating_sub(surplus);
        let is_exact = self.digits[kept..].iter().all(|digit| *digit == 0);
        self.digits.truncate(kept);
        if !is_exact {
            self.digits = add_digits(&self.digits, &[1]);
        }
        self.digits = self.digits.into_iter().skip_while(|digit| *digit == 0).collect();
        self.exponent = NANO;
        self
    }

    fn times_two_to(mut self, power: u32) -> Decimal {
        for _ in 0..power {
            self.digits = add_digits(&self.digits, &self.digits);
        }
        self
    }
}

/// Digits of two numbers, the last ones aligned.
fn aligned<'d>(left: &'d [u8], right: &'d [u8]) -> impl Iterator<Item = (u8, u8)> + 'd {
    let length = left.len().max(right.len());
    (0..length).map(move |place| {
        let digit = |digits: &[u8]| digits.len().checked_sub(place + 1).map_or(0, |at| digits[at]);
        (digit(left), digit(right))
    })
}

fn add_digits(left: &[u8], right: &[u8]) -> Vec<u8> {
    let mut digits = Vec::with_capacity(left.len().max(right.len()) + 1);
    let mut carry = 0;
    for (left, right) in aligned(left, right) {
        let sum = left + right + carry;
        digits.push(sum % 10);
        carry = sum / 10;
    }
    if carry > 0 {
        digits.push(carry);
    }
    digits.reverse();
    digits
}

/// `left − right`, where `left` is not smaller.
fn subtract_digits(left: &[u8], right: &[u8]) -> Vec<u8> {
    let mut digits = Vec::with_capacity(left.len());
    let mut borrow = 0;
    for (left, right) in aligned(left, right) {
        let (mut left, right) = (left, right + borrow);
        borrow = u8::from(left < right);
        left += 10 * borrow;
        digits.push(left - right);
    }
    digits.reverse();
    digits
}

const FORMAT_WRONG: &str =
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
const NUMERIC_WRONG: &str = "unable to parse numeric part of quantity";
const SUFFIX_WRONG: &str = "unable to parse quantity's suffix";

/// What a suffix multiplies by.
enum Unit {
    Ten(i32),
    Two(u32),
}

fn unit(suffix: &str) -> Option<Unit> {
    Some(match suffix {
        "n" => Unit::Ten(-9),
        "u" => Unit::Ten(-6),
        "m" => Unit::Ten(-3),
        "" => Unit::Ten(0),
        "k" => Unit::Ten(3),
        "M" => Unit::Ten(6),
        "G" => Unit::Ten(9),
        "T" => Unit::Ten(12),
        "P" => Unit::Ten(15),
        "E" => Unit::Ten(18),
        "Ki" => Unit::Two(10),
        "Mi" => Unit::Two(20),
        "Gi" => Unit::Two(30),
        "Ti" => Unit::Two(40),
        "Pi" => Unit::Two(50),
        "Ei" => Unit::Two(60),
        other => {
            let exponent: i64 = other.strip_prefix(['e', 'E'])?.parse().ok()?;
            Unit::Ten(i32::try_from(exponent).ok()?)
        }
    })
}

/// The digits in which an `i64` certainly fits.
const SAFE_DIGITS: i32 = 18;

fn parse(text: &str) -> Result<Amount, &'static str> {
    if text.is_empty() {
        return Err(FORMAT_WRONG);
    }
    let (negative, unsigned) = match text.strip_prefix(['-', '+']) {
        Some(rest) => (text.starts_with('-'), rest),
        None => (false, text),
    };
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let whole_length = digits(unsigned);
    let (whole, mut rest) = unsigned.split_at(whole_length);
    let mut decimals = "";
    if let Some(after) = rest.strip_prefix('.') {
        (decimals, rest) = after.split_at(digits(after));
    }
    let letters = rest.bytes().take_while(|b| b"eEinumkKMGTP".contains(b)).count();
    let after = rest[letters..].strip_prefix(['-', '+']).unwrap_or(&rest[letters..]);
    if digits(after) != after.len() {
        return Err(FORMAT_WRONG);
    }
    let whole = whole.trim_start_matches('0');
    if whole.is_empty() && decimals.is_empty() && rest.is_empty() && whole_length > 0 {
        return Ok(Amount::Small { value: 0, scale: 0 });
    }
    let unit = unit(rest).ok_or(SUFFIX_WRONG)?;
    let whole = if whole.is_empty() { "0" } else { whole };
    if let Some(small) = small(negative, whole, decimals, &unit) {
        return Ok(small);
    }
    if whole_length == 0 && decimals.is_empty() {
        return Err(NUMERIC_WRONG);
    }
    let exponent = -i32::try_from(decimals.len()).map_err(|_| NUMERIC_WRONG)?;
    let decimal = Decimal::new(negative, &format!("{whole}{decimals}"), exponent);
    Ok(Amount::Large(match unit {
        Unit::Ten(power) => {
            let exponent = decimal.exponent.saturating_add(power);
            Decimal { exponent, ..decimal }.rounded()
        }
        Unit::Two(power) => capped(decimal.times_two_to(power).rounded()),
    }))
}

/// The amount as integer and scale, where that is how the reference keeps it.
fn small(negative: bool, whole: &str, decimals: &str, unit: &Unit) -> Option<Amount> {
    let length = |text: &str| i32::try_from(text.len()).unwrap_or(i32::MAX);
    let used = length(whole).saturating_add(length(decimals));
    let (scale, factor) = match unit {
        Unit::Ten(power) if SAFE_DIGITS >= used => (*power, 1),
        Unit::Two(power) if decimals.is_empty() => {
            let places = i32::try_from(power * 3 / 10).unwrap_or(i32::MAX);
            (15 - length(whole) - places > 0).then_some(())?;
            (0, 1_i64 << power)
        }
        _ => return None,
    };
    let scale = scale.checked_sub(length(decimals))?;
    if scale < NANO {
        return None;
    }
    let value = format!("{whole}{decimals}").parse::<i64>().ok()?.checked_mul(factor)?;
    Some(Amount::Small { value: if negative { -value } else { value }, scale })
}

/// Binary quantities end at the largest 64-bit integer.
fn capped(decimal: Decimal) -> Decimal {
    let max = Decimal::new(decimal.negative, &i64::MAX.to_string(), 0);
    if decimal.compare_magnitude(&max).is_gt() { max } else { decimal }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn double(text: &str) -> f64 {
        parse(text).unwrap().as_double()
    }

    #[test]
    fn suffixes_multiply() {
        for (text, expected) in [
            ("1Gi", Some(1_073_741_824)),
            ("50k", Some(50_000)),
            ("1e3", Some(1000)),
            ("0", Some(0)),
            ("00.0", None),
            ("1.5", None),
            ("-3", Some(-3)),
            ("9999999999999999999999999999999999999G", None),
        ] {
            assert_eq!(parse(text).unwrap().as_int(), expected, "{text}");
        }
        assert!((double("1.5") - 1.5).abs() < 1e-12);
        assert!((double("100m") - 0.1).abs() < 1e-12);
        assert!((double("1.5Ki") - 1536.0).abs() < 1e-9);
    }

    #[test]
    fn malformed_text_is_refused_by_part() {
        assert_eq!(parse("Three").unwrap_err(), FORMAT_WRONG);
        assert_eq!(parse("").unwrap_err(), FORMAT_WRONG);
        assert_eq!(parse("200K").unwrap_err(), SUFFIX_WRONG);
        assert_eq!(parse("1e99999999999").unwrap_err(), SUFFIX_WRONG);
    }

    #[test]
    fn amounts_of_any_size_compare_and_add() {
        let amount = |text: &str| parse(text).unwrap();
        assert_eq!(amount("1Gi").compare(&amount("1G")), Ordering::Greater);
        assert_eq!(amount("1000m").compare(&amount("1")), Ordering::Equal);
        assert_eq!(amount("1e2000000").compare(&amount("-1e2000000")), Ordering::Greater);
        let sum = amount("99999999999999999999").add(&amount("1"), false).unwrap();
        assert_eq!(sum.compare(&amount("100000000000000000000")), Ordering::Equal);
        let difference = amount("50k").add(&amount("100k"), true).unwrap();
        assert_eq!(difference.as_int(), Some(-50_000));
        assert!(amount("1e2000000").add(&amount("1"), false).is_err());
    }
}
