//! `format`: text with clauses filled in, as the reference's en-US formatter prints them.

use std::fmt::Write as _;

use crate::ast::{ExprId, ExprKind};
use crate::checker::Checked;
use crate::collections::{List, Map};
use crate::error::EvalError;
use crate::eval_limits::check_built;
use crate::text;
use crate::types::Type;
use crate::value::{Evaluated, Value};

/// Digits after the point when a clause does not say.
const DEFAULT_PRECISION: usize = 6;
/// Bound: digits after the point. No double has more that are not zero.
const PRECISION_MAX: usize = 1_074;

/// What a clause asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Clause {
    String,
    Decimal,
    Fixed(usize),
    /// With the least width: the reference takes the precision for that.
    Scientific(usize),
    Binary,
    Hexadecimal {
        upper: bool,
    },
    Octal,
}

/// Why formatting failed, and at which argument when it is one's fault.
#[derive(Debug)]
pub(crate) struct FormatError {
    pub(crate) message: String,
    pub(crate) at: Option<ExprId>,
}

impl FormatError {
    fn new(message: impl Into<String>) -> Self {
        FormatError { message: message.into(), at: None }
    }
}

/// Where the arguments of a format come from: values, or expressions yet to be evaluated.
pub(crate) trait FormatArgs {
    fn len(&self) -> usize;

    /// Notes that an argument is wanted; values fail here when there is none.
    fn request(&mut self, index: usize) -> Result<(), FormatError>;

    fn format(&self, index: usize, clause: Clause) -> Result<String, FormatError>;
}

/// The function itself.
pub(super) fn format<'a>(args: &[Value<'a>]) -> Evaluated<'a> {
    let [Value::String(format), Value::List(list)] = args else {
        return Err(EvalError::no_such_overload());
    };
    interpolate(format, &mut Values(list)).map(Value::from).map_err(|error| EvalError::new(error.message))
}

/// Checks a constant format against the types of its arguments; says how many arguments it uses.
pub(crate) fn check_format(checked: &Checked, format: &str, args: &[ExprId]) -> Result<usize, FormatError> {
    let mut types = Types { checked, args, requested: 0 };
    interpolate(format, &mut types)?;
    Ok(types.requested)
}

fn interpolate(format: &str, args: &mut dyn FormatArgs) -> Result<String, FormatError> {
    let mut out = String::new();
    let mut rest = format;
    let mut index = 0;
    while let Some(at) = rest.find('%') {
        out.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        if let Some(after) = rest.strip_prefix('%') {
            out.push('%');
            rest = after;
            continue;
        }
        args.request(index)?;
        if rest.is_empty() {
            return Err(FormatError::new("unexpected end of string"));
        }
        if index >= args.len() {
            return Err(out_of_range(index));
        }
        let (clause, length) = parse_clause(rest)?;
        let formatted = args.format(index, clause).map_err(|error| FormatError {
            message: format!("error during formatting: {}", error.message),
            ..error
        })?;
        out.push_str(&formatted);
        check_built(out.len()).map_err(|error| FormatError::new(error.message().to_owned()))?;
        rest = &rest[length..];
        index += 1;
    }
    out.push_str(rest);
    Ok(out)
}

fn out_of_range(index: usize) -> FormatError {
    FormatError::new(format!("index {index} out of range"))
}

/// Reads what follows a percent sign; returns its length, too.
fn parse_clause(rest: &str) -> Result<(Clause, usize), FormatError> {
    let wrong = |why: String| FormatError::new(format!("could not parse formatting clause: {why}"));
    let mut at = 0;
    let mut precision = DEFAULT_PRECISION;
    if let Some(after) = rest.strip_prefix('.') {
        let digits = after.bytes().take_while(u8::is_ascii_digit).count();
        if digits == after.len() {
            return Err(wrong(
                "error while parsing precision: could not find end of precision specifier".to_owned(),
            ));
        }
        let text = &after[..digits];
        precision = text.parse().map_err(|_| {
            let problem = if digits == 0 { "invalid syntax" } else { "value out of range" };
            wrong(format!(
                "error while parsing precision: error while converting precision to integer: strconv.Atoi: parsing \"{text}\": {problem}"
            ))
        })?;
        at = 1 + digits;
    }
    let clause = match rest.as_bytes().get(at) {
        Some(b's') => Clause::String,
        Some(b'd') => Clause::Decimal,
        Some(b'f') => Clause::Fixed(precision),
        Some(b'e') => Clause::Scientific(precision),
        Some(b'b') => Clause::Binary,
        Some(b'x') => Clause::Hexadecimal { upper: false },
        Some(b'X') => Clause::Hexadecimal { upper: true },
        Some(b'o') => Clause::Octal,
        Some(other) => {
            return Err(wrong(format!("unrecognized formatting clause \"{}\"", char::from(*other))));
        }
        None => return Err(FormatError::new("unexpected end of string")),
    };
    Ok((clause, at + 1))
}

/// The text of an argument that does not fit its clause.
fn misfit(clause: Clause, type_name: &str) -> String {
    let what = match clause {
        Clause::String => {
            "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, and timestamps"
        }
        Clause::Decimal => "decimal clause can only be used on integers",
        Clause::Fixed(_) => "fixed-point clause can only be used on doubles",
        Clause::Scientific(_) => "scientific clause can only be used on doubles",
        Clause::Binary => "only integers and bools can be formatted as binary",
        Clause::Hexadecimal { .. } => "only integers, byte buffers, and strings can be formatted as hex",
        Clause::Octal => "octal clause can only be used on integers",
    };
    format!("{what}, was given {type_name}")
}

/// Arguments that are values.
struct Values<'v, 'a>(&'v List<'a>);

impl FormatArgs for Values<'_, '_> {
    fn len(&self) -> usize {
        self.0.len()
    }

    fn request(&mut self, index: usize) -> Result<(), FormatError> {
        if index >= self.0.len() { Err(out_of_range(index)) } else { Ok(()) }
    }

    fn format(&self, index: usize, clause: Clause) -> Result<String, FormatError> {
        let value = match self.0.get(index) {
            Some(Ok(value)) => value,
            Some(Err(error)) => return Err(FormatError::new(error.message().to_owned())),
            None => return Err(out_of_range(index)),
        };
        format_value(&value, clause)
    }
}

fn format_value(value: &Value<'_>, clause: Clause) -> Result<String, FormatError> {
    let formatted = match (clause, value) {
        (Clause::String, value) => return string(value),
        (Clause::Decimal, Value::Int(value)) => value.to_string(),
        (Clause::Decimal, Value::Uint(value)) => value.to_string(),
        (Clause::Fixed(precision), value) if as_double(value).is_some() => {
            fixed(as_double(value).unwrap_or_default(), precision)
        }
        (Clause::Scientific(width), value) if as_double(value).is_some() => {
            let width = width.min(PRECISION_MAX);
            format!("{:>width$}", scientific(as_double(value).unwrap_or_default()))
        }
        (Clause::Binary, Value::Int(value)) => signed(*value, |magnitude| format!("{magnitude:b}")),
        (Clause::Binary, Value::Uint(value)) => format!("{value:b}"),
        (Clause::Binary, Value::Bool(value)) => u8::from(*value).to_string(),
        (Clause::Hexadecimal { upper }, value) => match hexadecimal(value) {
            Some(hex) if upper => hex.to_uppercase(),
            Some(hex) => hex,
            None => return Err(FormatError::new(misfit(clause, value.type_name()))),
        },
        (Clause::Octal, Value::Int(value)) => signed(*value, |magnitude| format!("{magnitude:o}")),
        (Clause::Octal, Value::Uint(value)) => format!("{value:o}"),
        (clause, value) => return Err(FormatError::new(misfit(clause, value.type_name()))),
    };
    Ok(formatted)
}

fn signed(value: i64, digits: impl Fn(u64) -> String) -> String {
    let sign = if value < 0 { "-" } else { "" };
    format!("{sign}{}", digits(value.unsigned_abs()))
}

fn hexadecimal(value: &Value<'_>) -> Option<String> {
    let of_bytes = |bytes: &[u8]| {
        bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut hex, byte| {
            let _ = write!(hex, "{byte:02x}");
            hex
        })
    };
    Some(match value {
        Value::Int(value) => signed(*value, |magnitude| format!("{magnitude:x}")),
        Value::Uint(value) => format!("{value:x}"),
        Value::String(text) => of_bytes(text.as_bytes()),
        Value::Bytes(bytes) => of_bytes(bytes),
        _ => return None,
    })
}

/// A double, or one of the words that stand for one.
fn as_double(value: &Value<'_>) -> Option<f64> {
    match value {
        Value::Double(value) => Some(*value),
        Value::String(text) => match &**text {
            "NaN" => Some(f64::NAN),
            "Infinity" => Some(f64::INFINITY),
            "-Infinity" => Some(f64::NEG_INFINITY),
            _ => None,
        },
        _ => None,
    }
}

/// NaN and the infinities; `None` for numbers.
fn special(value: f64) -> Option<String> {
    match value {
        value if value.is_nan() => Some("NaN".to_owned()),
        f64::INFINITY => Some("∞".to_owned()),
        f64::NEG_INFINITY => Some("-∞".to_owned()),
        _ => None,
    }
}

fn without_sign_of_zero(value: f64) -> f64 {
    if value == 0.0 { 0.0 } else { value }
}

/// Fixed point with thousands in groups.
fn fixed(value: f64, precision: usize) -> String {
    if let Some(special) = special(value) {
        return special;
    }
    let plain = format!("{:.*}", precision.min(PRECISION_MAX), without_sign_of_zero(value));
    let (sign, digits) = plain.strip_prefix('-').map_or(("", plain.as_str()), |rest| ("-", rest));
    let (whole, decimals) = digits.split_once('.').unwrap_or((digits, ""));
    let mut grouped = String::new();
    for (index, digit) in whole.chars().enumerate() {
        if index > 0 && (whole.len() - index) % 3 == 0 {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    if decimals.is_empty() { format!("{sign}{grouped}") } else { format!("{sign}{grouped}.{decimals}") }
}

/// `1.234568×10⁰⁶`: always six decimals, the exponent raised and of two digits at least.
fn scientific(value: f64) -> String {
    if let Some(special) = special(value) {
        return special;
    }
    let plain = format!("{:.DEFAULT_PRECISION$e}", without_sign_of_zero(value));
    let (mantissa, exponent) = plain.split_once('e').unwrap_or((&plain, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let raised: String = format!("{:02}", exponent.abs())
        .chars()
        .map(|digit| match digit {
            '0' => '⁰',
            '1' => '¹',
            '2' => '²',
            '3' => '³',
            '4' => '⁴',
            '5' => '⁵',
            '6' => '⁶',
            '7' => '⁷',
            '8' => '⁸',
            _ => '⁹',
        })
        .collect();
    let sign = if exponent < 0 { "⁻" } else { "" };
    format!("{mantissa}×10{sign}{raised}")
}

/// `%s` at the top.
fn string(value: &Value<'_>) -> Result<String, FormatError> {
    match value {
        Value::List(list) => format_list(list),
        Value::Map(map) => format_map(map),
        Value::Null => Ok("null".to_owned()),
        other => super::conversions::plain(other)
            .ok_or_else(|| FormatError::new(misfit(Clause::String, other.type_name()))),
    }
}

/// A value inside a list or map: as a literal of the language.
fn nested(value: &Value<'_>) -> Result<String, FormatError> {
    Ok(match value {
        Value::Int(_) | Value::Uint(_) | Value::Bool(_) | Value::Null | Value::Type(_) => string(value)?,
        Value::String(inner) => text::quoted(inner),
        Value::Bytes(_) => format!("b{}", text::quoted(&string(value)?)),
        Value::Timestamp(instant) => format!("timestamp({})", text::quoted(&instant.to_string())),
        Value::Duration(span) => format!("duration({})", text::quoted(&span.to_string())),
        Value::List(list) => format_list(list)?,
        Value::Map(map) => format_map(map)?,
        Value::Double(value) if value.is_nan() => "\"NaN\"".to_owned(),
        Value::Double(f64::INFINITY) => "\"+Inf\"".to_owned(),
        Value::Double(f64::NEG_INFINITY) => "\"-Inf\"".to_owned(),
        Value::Double(value) => format!("{value:.DEFAULT_PRECISION$}"),
        other => return Err(FormatError::new(format!("no formatting function for {}", other.type_name()))),
    })
}

fn format_list(list: &List<'_>) -> Result<String, FormatError> {
    let mut items = Vec::with_capacity(list.len());
    for item in list.iter() {
        let item = item.map_err(|error| FormatError::new(error.message().to_owned()))?;
        items.push(nested(&item)?);
    }
    Ok(format!("[{}]", items.join(", ")))
}

fn format_map(map: &Map<'_>) -> Result<String, FormatError> {
    let mut entries = Vec::with_capacity(map.len());
    for key in map.keys() {
        let shown = match &key {
            Value::String(_) | Value::Bool(_) | Value::Int(_) | Value::Uint(_) => nested(&key)?,
            other => {
                let name = other.type_name();
                return Err(FormatError::new(format!("no formatting function for map key of type {name}")));
            }
        };
        let value = match map.get(&key) {
            Some(Ok(value)) => value,
            Some(Err(error)) => return Err(FormatError::new(error.message().to_owned())),
            None => return Err(FormatError::new(format!("could not find key: {shown}"))),
        };
        entries.push((shown, nested(&value)?));
    }
    entries.sort();
    let entries: Vec<String> = entries.into_iter().map(|(key, value)| format!("{key}:{value}")).collect();
    Ok(format!("{{{}}}", entries.join(", ")))
}

/// Arguments whose types are known, but not their values.
struct Types<'c> {
    checked: &'c Checked,
    args: &'c [ExprId],
    requested: usize,
}

impl FormatArgs for Types<'_> {
    fn len(&self) -> usize {
        self.args.len()
    }

    fn request(&mut self, _: usize) -> Result<(), FormatError> {
        self.requested += 1;
        Ok(())
    }

    fn format(&self, index: usize, clause: Clause) -> Result<String, FormatError> {
        let arg = self.args[index];
        let bad = if clause == Clause::String { self.unprintable(arg) } else { self.misfit(arg, clause) };
        match bad {
            None => Ok(String::new()),
            Some(at) => {
                let type_name = self.checked.type_of(at).runtime_name();
                Err(FormatError { message: misfit(clause, type_name), at: Some(at) })
            }
        }
    }
}

impl Types<'_> {
    fn misfit(&self, id: ExprId, clause: Clause) -> Option<ExprId> {
        use Type::{Bool, Bytes, Double, Int, String, Uint};
        let allowed: &[Type] = match clause {
            Clause::Decimal | Clause::Octal => &[Int, Uint],
            Clause::Fixed(_) | Clause::Scientific(_) => &[Double, String],
            Clause::Binary => &[Int, Uint, Bool],
            _ => &[Int, Uint, String, Bytes],
        };
        let ty = self.checked.type_of(id).unwrapped();
        (*ty != Type::Dyn && !allowed.contains(ty)).then_some(id)
    }

    /// The first part of an argument that `%s` cannot print.
    fn unprintable(&self, id: ExprId) -> Option<ExprId> {
        let printable = !matches!(
            self.checked.type_of(id),
            Type::Object(_) | Type::Opaque(..) | Type::Error | Type::Param(_) | Type::Var(_)
        );
        if !printable {
            return Some(id);
        }
        match &self.checked.ast.expr(id).kind {
            ExprKind::List(list) => list.elements.iter().find_map(|element| self.unprintable(element.value)),
            ExprKind::Map(entries) => entries
                .iter()
                .find_map(|entry| self.unprintable(entry.key).or_else(|| self.unprintable(entry.value))),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_print_in_the_american_way() {
        assert_eq!(fixed(1_234_567.891, 6), "1,234,567.891000");
        assert_eq!(fixed(-1234.5, 0), "-1,234");
        assert_eq!(fixed(2.5, 0), "2");
        assert_eq!(fixed(f64::NEG_INFINITY, 2), "-∞");
        assert_eq!(scientific(1_234_567.891), "1.234568×10⁰⁶");
        assert_eq!(scientific(0.000_123), "1.230000×10⁻⁰⁴");
    }

    #[test]
    fn clauses_are_read_with_their_precision() {
        assert_eq!(parse_clause(".3f rest").unwrap(), (Clause::Fixed(3), 3));
        assert_eq!(parse_clause("X").unwrap(), (Clause::Hexadecimal { upper: true }, 1));
        let error = parse_clause("z").unwrap_err();
        assert_eq!(error.message, "could not parse formatting clause: unrecognized formatting clause \"z\"");
        assert!(parse_clause(".99999999999999999999999f").is_err());
        assert!(parse_clause(".5").is_err());
    }
}
