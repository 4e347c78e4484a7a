//! The order in which go-yaml writes keys: letters behind other characters, runs of digits by their value.
//!
//! Upstream: go.yaml.in/yaml/v2 sorter.go.

/// Sorts keys.
///
/// A merge sort of our own, because the order is no total one and the standard library may panic on such.
pub(super) fn sorted<'v, V>(keys: impl Iterator<Item = (&'v str, V)>) -> Vec<(&'v str, V)> {
    let mut runs: Vec<Vec<(&str, V)>> = keys.map(|entry| vec![entry]).collect();
    while runs.len() > 1 {
        let mut merged = Vec::with_capacity(runs.len().div_ceil(2));
        let mut pairs = runs.into_iter();
        while let Some(left) = pairs.next() {
            merged.push(match pairs.next() {
                Some(right) => merge(left, right),
                None => left,
            });
        }
        runs = merged;
    }
    runs.pop().unwrap_or_default()
}

fn merge<'v, V>(left: Vec<(&'v str, V)>, right: Vec<(&'v str, V)>) -> Vec<(&'v str, V)> {
    let mut merged = Vec::with_capacity(left.len() + right.len());
    let (mut left, mut right) = (left.into_iter().peekable(), right.into_iter().peekable());
    while let (Some((left_key, _)), Some((right_key, _))) = (left.peek(), right.peek()) {
        let next = if goes_before(right_key, left_key) { right.next() } else { left.next() };
        merged.extend(next);
    }
    merged.extend(left);
    merged.extend(right);
    merged
}

fn goes_before(left: &str, right: &str) -> bool {
    let same = left.chars().zip(right.chars()).take_while(|(a, b)| a == b).count();
    let left_rest: Vec<char> = left.chars().skip(same).collect();
    let right_rest: Vec<char> = right.chars().skip(same).collect();
    let (Some(&a), Some(&b)) = (left_rest.first(), right_rest.first()) else {
        return left_rest.len() < right_rest.len();
    };
    match (a.is_alphabetic(), b.is_alphabetic()) {
        (true, true) => return a < b,
        (false, false) => {}
        (_, right_is_letter) => return right_is_letter,
    }
    // A zero counts only behind another digit than zero: 1.01 is not 1.1.
    let mut before = left.chars().take(same).collect::<Vec<_>>().into_iter().rev();
    let inside_number =
        (a == '0' || b == '0') && before.by_ref().take_while(char::is_ascii_digit).any(|digit| digit != '0');
    let start = i64::from(inside_number);
    let (left_number, left_digits) = number(&left_rest, start);
    let (right_number, right_digits) = number(&right_rest, start);
    (left_number, left_digits, a) < (right_number, right_digits, b)
}

/// The value of the leading digits, continued from `start`, and how many they are.
fn number(text: &[char], start: i64) -> (i64, usize) {
    let digits = text.iter().map_while(|character| character.to_digit(10));
    digits.fold((start, 0), |(value, count), digit| {
        (value.wrapping_mul(10).wrapping_add(i64::from(digit)), count + 1)
    })
}
