//! What can be wrong with a JSON text, in the words of Go's encoding/json.

use std::fmt;

use crate::go_fmt;

/// Why a text could not be read. `Display` prints what the reference's reader prints.
///
/// Boxed, because every value on its way up is moved in a `Result` of the larger size of the two.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JsonError {
    details: Box<Details>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Details {
    message: String,
    offset: usize,
    syntax: bool,
}

impl JsonError {
    fn new(message: String, offset: usize, syntax: bool) -> Self {
        JsonError { details: Box::new(Details { message, offset, syntax }) }
    }

    pub(super) fn unexpected_end(length: usize) -> Self {
        JsonError::new("unexpected end of JSON input".to_owned(), length, true)
    }

    pub(super) fn invalid_character(byte: u8, context: &str, index: usize) -> Self {
        let message = format!("invalid character {} {context}", quote_byte(byte));
        JsonError::new(message, index + 1, true)
    }

    pub(super) fn number_out_of_range(digits: &str, offset: usize) -> Self {
        let message = format!("json: cannot unmarshal number {digits} into Go value of type float64");
        JsonError::new(message, offset, false)
    }

    /// How many bytes had been read when the error was found, the offending one included.
    pub fn offset(&self) -> usize {
        self.details.offset
    }

    /// Whether the text is no JSON at all, as opposed to holding a number that fits no type.
    pub fn is_syntax(&self) -> bool {
        self.details.syntax
    }
}

impl fmt::Display for JsonError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.details.message)
    }
}

impl std::error::Error for JsonError {}

/// The byte as a quoted character. Bytes above ASCII appear as the code point of the same number.
fn quote_byte(byte: u8) -> String {
    match byte {
        b'\'' => r"'\''".to_owned(),
        b'"' => r#"'"'"#.to_owned(),
        _ => {
            let quoted = go_fmt::quote(char::from(byte).encode_utf8(&mut [0; 4]));
            format!("'{}'", &quoted[1..quoted.len() - 1])
        }
    }
}
