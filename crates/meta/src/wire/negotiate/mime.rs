//! The name in a `Content-Type` header.
//!
//! Upstream: Go's mime.ParseMediaType. Parameters must be well-formed but have no meaning to us.

/// The media type in lower case, or `None` when the header is malformed.
///
/// ```
/// use crest_meta::wire::negotiate::parse_media_type;
/// assert_eq!(parse_media_type("Application/JSON; charset=\"utf-8\"").as_deref(), Some("application/json"));
/// assert_eq!(parse_media_type("application/json; charset"), None);
/// ```
pub fn parse_media_type(header: &str) -> Option<String> {
    let (name, mut rest) = match header.find(';') {
        Some(index) => header.split_at(index),
        None => (header, ""),
    };
    let name = name.trim().to_lowercase();
    check_name(&name)?;
    let mut seen: Vec<(String, String)> = Vec::new();
    while !rest.trim_start().is_empty() {
        if rest.trim() == ";" {
            break; // a trailing semicolon
        }
        let (key, value, following) = take_parameter(rest.trim_start())?;
        if seen.iter().any(|(other, existing)| *other == key && *existing != value) {
            return None;
        }
        seen.push((key, value));
        rest = following;
    }
    Some(name)
}

fn check_name(name: &str) -> Option<()> {
    let (main, rest) = take_token(name)?;
    if rest.is_empty() {
        return Some(());
    }
    let (_, rest) = take_token(rest.strip_prefix('/')?)?;
    (!main.is_empty() && rest.is_empty()).then_some(())
}

/// `; key=value`, and what follows.
fn take_parameter(text: &str) -> Option<(String, String, &str)> {
    let (key, rest) = take_token(text.strip_prefix(';')?.trim_start())?;
    let rest = rest.trim_start().strip_prefix('=')?.trim_start();
    let (value, rest) = match rest.strip_prefix('"') {
        Some(quoted) => take_quoted(quoted)?,
        None => take_token(rest).map(|(value, rest)| (value.to_owned(), rest))?,
    };
    Some((key.to_lowercase(), value, rest))
}

fn take_token(text: &str) -> Option<(&str, &str)> {
    let is_token =
        |character: char| character.is_ascii_graphic() && !r#"()<>@,;:\"/[]?="#.contains(character);
    let end = text.find(|character| !is_token(character)).unwrap_or(text.len());
    (end > 0).then(|| text.split_at(end))
}

fn take_quoted(text: &str) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut characters = text.char_indices();
    while let Some((index, character)) = characters.next() {
        match character {
            '"' => return Some((value, &text[index + 1..])),
            '\\' => value.push(characters.next()?.1),
            '\r' | '\n' => return None,
            _ => value.push(character),
        }
    }
    None
}
