//! The string formats that validation knows, by name.
//!
//! Only these have meaning in a schema; every other format is accepted and ignored. A name is looked up without
//! its dashes, so that `date-time` and `datetime` are the same, but messages spell it as the schema does.
//!
//! Upstream: apiextensions-apiserver/pkg/apiserver/validation/formats.go and kube-openapi/pkg/validation/strfmt,
//! v1.36.

mod email;
mod net;
mod numbers;
mod text;
mod time;

#[cfg(test)]
mod tests;

use meta::Text;

use crate::go_url::Url;
use crate::structural::Types;

/// A format that a schema demands.
#[derive(Clone, Debug)]
pub struct Format {
    pub kind: FormatKind,
    /// As the schema spells it.
    pub spelled: Text,
}

#[derive(Clone, Copy, Debug)]
pub enum FormatKind {
    /// A rule for strings.
    Text(fn(&str) -> bool),
    Int32,
    Int64,
    Float,
    Double,
}

/// The spelling decides, together with the types of the schema that the format is part of.
impl PartialEq for Format {
    fn eq(&self, other: &Self) -> bool {
        self.spelled == other.spelled
    }
}

impl Format {
    /// The format that `spelled` stands for in a schema of the given types, or `None` when it means nothing there.
    pub fn of(spelled: &str, types: Types) -> Option<Format> {
        let kind = match (types, spelled) {
            (Types::INTEGER, "int32") => FormatKind::Int32,
            (Types::INTEGER, "int64") => FormatKind::Int64,
            (Types::NUMBER, "float") => FormatKind::Float,
            (Types::NUMBER, "double") => FormatKind::Double,
            (Types::NONE | Types::STRING | Types::INTEGER_OR_STRING, _) => {
                FormatKind::Text(text_rule(spelled)?)
            }
            _ => return None,
        };
        Some(Format { kind, spelled: spelled.into() })
    }
}

/// The rule behind the name of a string format.
///
/// ```
/// let is_date_time = crest_schema::formats::text_rule("date-time").unwrap();
/// assert!(is_date_time("2014-12-15T19:30:20.000Z"));
/// assert!(crest_schema::formats::text_rule("quantity").is_none());
/// ```
pub fn text_rule(spelled: &str) -> Option<fn(&str) -> bool> {
    let without_dashes;
    let name = if spelled.contains('-') {
        without_dashes = spelled.replace('-', "");
        without_dashes.as_str()
    } else {
        spelled
    };
    Some(match name {
        "bsonobjectid" => text::is_bson_object_id,
        "uri" => |text| Url::parse_request(text).is_some(),
        "email" => email::is_address,
        "hostname" => net::is_hostname,
        "ipv4" => net::is_ipv4,
        "ipv6" => net::is_ipv6,
        "cidr" => net::is_cidr,
        "mac" => net::is_mac,
        "uuid" => text::is_uuid,
        "uuid3" => text::is_uuid3,
        "uuid4" => text::is_uuid4,
        "uuid5" => text::is_uuid5,
        "isbn" => numbers::is_isbn,
        "isbn10" => numbers::is_isbn10,
        "isbn13" => numbers::is_isbn13,
        "creditcard" => numbers::is_credit_card,
        "ssn" => numbers::is_ssn,
        "hexcolor" => text::is_hex_color,
        "rgbcolor" => text::is_rgb_color,
        "byte" => text::is_base64,
        "password" => |_| true,
        "date" => time::is_date,
        "duration" => time::is_duration,
        "datetime" => time::is_date_time,
        "k8sshortname" => text::is_short_name,
        "k8slongname" => text::is_long_name,
        _ => return None,
    })
}

/// The nanoseconds of a duration in words, such as `3 days`.
pub(crate) fn wordy_duration(text: &str) -> Option<i64> {
    time::wordy_duration(text)
}
