//! Source text with lines and columns, counted in code points.

use std::sync::Arc;

/// A place in the source: line from 1, column from 0, both in code points.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Location {
    pub line: u32,
    pub column: u32,
}

/// An expression's text. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Source {
    text: Arc<str>,
}

/// A line longer than this is not shown under an error.
const SNIPPET_BYTES_MAX: usize = 16_384;

impl Source {
    pub fn new(text: &str) -> Self {
        Source { text: text.into() }
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    /// The line and column of a position given in code points.
    pub fn location(&self, offset: u32) -> Location {
        let mut location = Location { line: 1, column: 0 };
        for character in self.text.chars().take(offset as usize) {
            if character == '\n' {
                location = Location { line: location.line + 1, column: 0 };
            } else {
                location.column += 1;
            }
        }
        location
    }

    /// The line that contains `location`, and under it a marker, as error texts show them.
    pub(crate) fn snippet(&self, location: Location) -> Option<String> {
        if self.text.is_empty() {
            return None;
        }
        let line = self.text.split('\n').nth(location.line.checked_sub(1)? as usize)?;
        if line.len() > SNIPPET_BYTES_MAX {
            return None;
        }
        let wide = |character: Option<char>| character.is_some_and(|c| !c.is_ascii());
        let mut marker = String::new();
        let mut characters = line.chars();
        for character in characters.by_ref().take(location.column as usize) {
            marker.push(if wide(Some(character)) { '．' } else { '.' });
        }
        marker.push(if wide(characters.next()) { '＾' } else { '^' });
        Some(format!("\n | {}\n | {marker}", line.replace('\t', " ")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_count_code_points_and_lines_start_anew() {
        let source = Source::new("é+\nb\t?");
        assert_eq!(source.location(1), Location { line: 1, column: 1 });
        assert_eq!(source.location(3), Location { line: 2, column: 0 });
        assert_eq!(source.snippet(source.location(1)).unwrap(), "\n | é+\n | ．^");
        assert_eq!(source.snippet(source.location(0)).unwrap(), "\n | é+\n | ＾");
        assert_eq!(source.snippet(source.location(5)).unwrap(), "\n | b ?\n | ..^");
    }
}
