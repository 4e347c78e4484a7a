//! The question that a conversion webhook is asked.
//!
//! Upstream: apiextensions-apiserver/pkg/apiserver/conversion/webhook_converter.go, v1.36.

use meta::Value;
use meta::wire::json;

/// A version of `ConversionReview`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReviewVersion {
    V1,
    V1beta1,
}

impl ReviewVersion {
    /// The first of the declared versions that this server speaks.
    pub(super) fn choose<'a>(declared: impl IntoIterator<Item = &'a str>) -> Option<Self> {
        declared.into_iter().find_map(|version| match version {
            "v1" => Some(ReviewVersion::V1),
            "v1beta1" => Some(ReviewVersion::V1beta1),
            _ => None,
        })
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            ReviewVersion::V1 => "v1",
            ReviewVersion::V1beta1 => "v1beta1",
        }
    }
}

/// The text of a question: these objects, in the desired version. The empty response in it is what the
/// reference's encoder leaves there.
pub(super) fn request(version: ReviewVersion, uid: &str, desired: &str, objects: &[Value]) -> Vec<u8> {
    let mut text = Vec::with_capacity(512);
    text.extend_from_slice(b"{\"kind\":\"ConversionReview\",\"apiVersion\":\"apiextensions.k8s.io/");
    text.extend_from_slice(version.name().as_bytes());
    text.extend_from_slice(b"\",\"request\":{\"uid\":");
    json::encode_str(uid, &mut text);
    text.extend_from_slice(b",\"desiredAPIVersion\":");
    json::encode_str(desired, &mut text);
    text.extend_from_slice(b",\"objects\":[");
    for (index, object) in objects.iter().enumerate() {
        if index > 0 {
            text.push(b',');
        }
        json::encode(object, &mut text);
    }
    text.extend_from_slice(
        b"]},\"response\":{\"uid\":\"\",\"convertedObjects\":null,\"result\":{\"metadata\":{}}}}\n",
    );
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_version_that_is_spoken_is_chosen() {
        for (declared, chosen) in [
            (&["v1", "v1beta1"][..], Some(ReviewVersion::V1)),
            (&["v2", "v1beta1", "v1"][..], Some(ReviewVersion::V1beta1)),
            (&["v2"][..], None),
        ] {
            assert_eq!(ReviewVersion::choose(declared.iter().copied()), chosen);
        }
    }

    #[test]
    fn a_question_holds_every_object_and_the_desired_version() {
        let object = |name: &str| json::parse(format!(r#"{{"n":"{name}"}}"#).as_bytes()).unwrap().value;
        let text = request(ReviewVersion::V1beta1, "u", "g/v2", &[object("a"), object("b")]);
        expect_test::expect![[r#"
            {"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1beta1","request":{"uid":"u","desiredAPIVersion":"g/v2","objects":[{"n":"a"},{"n":"b"}]},"response":{"uid":"","convertedObjects":null,"result":{"metadata":{}}}}
        "#]].assert_eq(&String::from_utf8(text).unwrap());
    }
}
