//! Formats with check digits or fixed digit counts: books, cards, social security.

pub(super) fn is_isbn(text: &str) -> bool {
    is_isbn10(text) || is_isbn13(text)
}

pub(super) fn is_isbn10(text: &str) -> bool {
    let Some(digits) = isbn_digits::<10>(text) else {
        return false;
    };
    let (check, body) = digits.split_last().expect("ten digits");
    let last = if *check == b'X' { 10 } else { value(*check) };
    body.iter().all(u8::is_ascii_digit)
        && (*check == b'X' || check.is_ascii_digit())
        && ((1..).zip(body).map(|(weight, digit)| weight * value(*digit)).sum::<u32>() + 10 * last)
            .is_multiple_of(11)
}

pub(super) fn is_isbn13(text: &str) -> bool {
    let Some(digits) = isbn_digits::<13>(text) else {
        return false;
    };
    digits.iter().all(u8::is_ascii_digit)
        && digits
            .iter()
            .zip([1, 3].into_iter().cycle())
            .map(|(digit, weight)| value(*digit) * weight)
            .sum::<u32>()
            % 10
            == 0
}

/// The characters without blanks and dashes, when there are exactly `N`.
fn isbn_digits<const N: usize>(text: &str) -> Option<[u8; N]> {
    let mut digits = [0; N];
    let mut filled = 0;
    let kept = text.bytes().filter(|byte| !matches!(byte, b'\t' | b'\n' | b'\x0c' | b'\r' | b' ' | b'-'));
    for byte in kept {
        *digits.get_mut(filled)? = byte;
        filled += 1;
    }
    (filled == N).then_some(digits)
}

/// The digits in any wrapping: a known issuer's prefix and length, and the Luhn sum.
pub(super) fn is_credit_card(text: &str) -> bool {
    let digits: Vec<u8> = text.bytes().filter(u8::is_ascii_digit).collect();
    has_issuer(&digits) && luhn_sum(&digits).is_multiple_of(10)
}

fn has_issuer(digits: &[u8]) -> bool {
    match digits {
        [b'4', ..] => matches!(digits.len(), 13 | 16),
        [b'5', b'1'..=b'5', ..] | [b'6', b'0', b'1', b'1', ..] | [b'6' | b'3', b'5', ..] => {
            digits.len() == 16
        }
        [b'3', b'4' | b'7', ..] | [b'2', b'1', b'3', b'1', ..] | [b'1', b'8', b'0', b'0', ..] => {
            digits.len() == 15
        }
        [b'3', b'0', b'0'..=b'5', ..] | [b'3', b'6' | b'8', ..] => digits.len() == 14,
        _ => false,
    }
}

fn luhn_sum(digits: &[u8]) -> u32 {
    let from_the_right = digits.iter().rev().enumerate();
    from_the_right
        .map(|(index, digit)| match (index % 2, value(*digit)) {
            (0, number) => number,
            (_, number) if number >= 5 => 2 * number - 9,
            (_, number) => 2 * number,
        })
        .sum()
}

/// `123-45-6789` or `123 45 6789`.
pub(super) fn is_ssn(text: &str) -> bool {
    text.len() == 11
        && text.bytes().enumerate().all(|(index, byte)| match index {
            3 | 6 => matches!(byte, b'-' | b' '),
            _ => byte.is_ascii_digit(),
        })
}

fn value(digit: u8) -> u32 {
    u32::from(digit.wrapping_sub(b'0'))
}
