//! Tables of answers: what is taken, and what is said about the rest.

use super::*;

fn value(text: &str) -> Value {
    json::parse(text.as_bytes()).unwrap().value
}

const GVK: (&str, &str, &str) = ("g.example", "v1", "Widget");

fn gvk() -> Gvk {
    Gvk::new(GVK.0, GVK.1, GVK.2)
}

fn read(version: ReviewVersion, body: &str, expected: usize) -> Result<usize, String> {
    let objects = objects(version, "u", body.as_bytes(), expected);
    objects.map(|objects| objects.len()).map_err(|error| error.text(&gvk()))
}

/// An answer around a response.
fn v1(response: &str) -> String {
    format!(r#"{{"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview","response":{response}}}"#)
}

#[test]
fn an_answer_to_the_question_is_taken() {
    let response = r#"{"uid":"u","result":{"status":"Success"},"convertedObjects":[{},{}]}"#;
    assert_eq!(read(ReviewVersion::V1, &v1(response), 2), Ok(2));
    // The older version says neither what it is nor whom it answers.
    let old = r#"{"response":{"result":{"status":"Success"},"convertedObjects":[{}]}}"#;
    assert_eq!(read(ReviewVersion::V1beta1, old, 1), Ok(1));
    let yaml = "apiVersion: apiextensions.k8s.io/v1\nkind: ConversionReview\nresponse: {uid: u, result: {status: Success}}";
    assert_eq!(read(ReviewVersion::V1, yaml, 0), Ok(0));
}

#[test]
fn every_other_answer_is_told_in_the_words_of_the_reference() {
    let failed = |why: &str| format!("conversion webhook for g.example/v1, Kind=Widget failed: {why}");
    let detector = r#"struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }"#;
    for (body, text) in [
        (v1("null"), failed("no response provided")),
        (
            v1(r#"{"uid":"other","result":{"status":"Success"}}"#),
            failed(r#"expected response.uid="u", got "other""#),
        ),
        (v1(r#"{"uid":"u"}"#), failed("response.result.status was '', not 'Success'")),
        (
            v1(r#"{"uid":"u","result":{"status":"Failed"}}"#),
            failed("response.result.status was 'Failed', not 'Success'"),
        ),
        (v1(r#"{"uid":"u","result":{"status":"Failed","message":"not today"}}"#), failed("not today")),
        (
            v1(r#"{"uid":"u","result":{"status":"Success"},"convertedObjects":[{},{}]}"#),
            "conversion webhook for g.example/v1, Kind=Widget returned 2 objects, expected 1".to_owned(),
        ),
        (
            v1(r#"{"uid":"u","result":{"status":"Success"},"convertedObjects":null}"#),
            "conversion webhook for g.example/v1, Kind=Widget returned 0 objects, expected 1".to_owned(),
        ),
        (
            "nope".to_owned(),
            failed(&format!(
                "couldn't get version/kind; json parse error: json: cannot unmarshal string into Go value of type {detector}"
            )),
        ),
        ("{".to_owned(), failed("couldn't get version/kind; json parse error: unexpected end of JSON input")),
        (
            r#"{"kind":1}"#.to_owned(),
            failed(
                "couldn't get version/kind; json parse error: json: cannot unmarshal number into Go struct field .kind of type string",
            ),
        ),
        (
            "{}".to_owned(),
            failed(
                "expected webhook response of apiextensions.k8s.io/v1, Kind=ConversionReview, got /, Kind=",
            ),
        ),
        (r#"{"apiVersion":"a/b/c"}"#.to_owned(), failed("unexpected GroupVersion string: a/b/c")),
        (
            r#"{"apiVersion":"g/v1","kind":"Other"}"#.to_owned(),
            failed(
                r#"no kind "Other" is registered for version "g/v1" in scheme "k8s.io/apiserver/pkg/util/webhook/client.go:71""#,
            ),
        ),
        (
            r#"{"apiVersion":"apiextensions.k8s.io/v1beta1","kind":"ConversionReview"}"#.to_owned(),
            failed("converting (v1beta1.ConversionReview) to (v1.ConversionReview): unknown conversion"),
        ),
        (
            v1(r#""x""#),
            failed(
                "json: cannot unmarshal string into Go struct field ConversionReview.response of type v1.ConversionResponse",
            ),
        ),
        (
            v1(r#"{"uid":1}"#),
            failed(
                "json: cannot unmarshal number into Go struct field ConversionResponse.response.uid of type types.UID",
            ),
        ),
        (
            v1(r#"{"convertedObjects":{}}"#),
            failed(
                "json: cannot unmarshal object into Go struct field ConversionResponse.response.convertedObjects of type []runtime.RawExtension",
            ),
        ),
    ] {
        assert_eq!(read(ReviewVersion::V1, &body, 1), Err(text), "{body}");
    }
}

const ORIGINAL: &str = r#"{"apiVersion":"g.example/v1","kind":"Widget","metadata":{"name":"a","namespace":"n","uid":"u",
    "generation":3,"labels":{"l":"1"},"annotations":{"x":"y"},"finalizers":["f/g"]},"spec":{"old":1}}"#;

fn accepted(converted: &str) -> Result<String, String> {
    let accepted = accept(&value(ORIGINAL), value(converted), "g.example/v2");
    accepted.map(|object| json::to_string(&object)).map_err(|error| error.text(&gvk()))
}

/// A converted object with these members in its metadata.
fn with_metadata(members: &str) -> String {
    format!(
        r#"{{"apiVersion":"g.example/v2","kind":"Widget","metadata":{{"name":"a","namespace":"n","uid":"u"{members}}},"spec":{{"new":1}}}}"#
    )
}

#[test]
fn only_labels_and_annotations_of_the_metadata_are_taken() {
    let converted =
        with_metadata(r#","labels":{"l":"2"},"generation":9,"finalizers":[],"ownerReferences":[{}]"#);
    let expected = r#"{"apiVersion":"g.example/v2","kind":"Widget","metadata":{"finalizers":["f/g"],"generation":3,"labels":{"l":"2"},"name":"a","namespace":"n","uid":"u"},"spec":{"new":1}}"#;
    assert_eq!(accepted(&converted), Ok(expected.to_owned()));
    // What is odd but unchanged stays.
    let odd = ORIGINAL.replace(r#"{"l":"1"}"#, r#"{"l":"-"}"#);
    let kept = accept(&value(&odd), value(&odd.replace("example/v1", "example/v2")), "g.example/v2").unwrap();
    assert_eq!(kept.at(&["metadata", "labels", "l"]), Some(&Value::from("-")));
}

#[test]
fn an_object_that_is_not_the_original_is_refused() {
    let prefix = "conversion webhook for g.example/v1, Kind=Widget returned";
    let (object, identity, metadata) = (
        format!("{prefix} invalid object at index 0:"),
        format!("{prefix} invalid object:"),
        format!("{prefix} invalid metadata:"),
    );
    for (converted, text) in [
        ("null".to_owned(), "unexpected end of JSON input".to_owned()),
        (
            "7".to_owned(),
            "json: cannot unmarshal number into Go value of type map[string]interface {}".to_owned(),
        ),
        (
            r#"{"apiVersion":"g.example/v2"}"#.to_owned(),
            r#"Object 'Kind' is missing in '{"apiVersion":"g.example/v2"}'"#.to_owned(),
        ),
        (
            ORIGINAL.to_owned(),
            format!("{object} invalid groupVersion (expected g.example/v2, received g.example/v1)"),
        ),
        (
            r#"{"kind":"Widget"}"#.to_owned(),
            format!("{object} invalid groupVersion (expected g.example/v2, received )"),
        ),
        (
            r#"{"apiVersion":"a/b/c","kind":"Widget"}"#.to_owned(),
            format!("{object} invalid groupVersion (expected g.example/v2, received )"),
        ),
        (
            r#"{"apiVersion":"g.example/v2","kind":"Other"}"#.to_owned(),
            format!("{object} invalid kind (expected Widget, received Other)"),
        ),
        (
            with_metadata("").replace(r#""name":"a""#, r#""name":"b""#),
            format!("{identity} must have the same name: a != b"),
        ),
        (
            with_metadata("").replace(r#""namespace":"n""#, r#""namespace":"m""#),
            format!("{identity} must have the same namespace: n != m"),
        ),
        (
            with_metadata("").replace(r#""uid":"u""#, r#""uid":"v""#),
            format!("{identity} must have the same UID: u != v"),
        ),
        (
            r#"{"apiVersion":"g.example/v2","kind":"Widget"}"#.to_owned(),
            format!("{identity} must have the same name: a != "),
        ),
        (
            with_metadata(r#","labels":[]"#),
            format!("{metadata} invalid metadata.labels of type []interface {{}} in converted object"),
        ),
        (
            with_metadata(r#","annotations":{"k":1}"#),
            format!("{metadata} metadata.annotations[k] must be a string, but is int64 in converted object"),
        ),
        (
            with_metadata(r#","labels":{"l":"-"}"#),
            format!(
                "{metadata} metadata.labels: Invalid value: \"-\": a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
            ),
        ),
        (
            with_metadata(r#","annotations":{"a/b/c":""}"#),
            format!(
                "{metadata} metadata.annotation: Invalid value: \"a/b/c\": a valid label key must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
            ),
        ),
    ] {
        assert_eq!(accepted(&converted), Err(text), "{converted}");
    }
    // Metadata of a wrong type shows only where the original has no identity.
    let nobody = value(r#"{"apiVersion":"g.example/v1","kind":"Widget"}"#);
    for (metadata_text, text) in [
        ("", "missing metadata in converted object"),
        (r#","metadata":null"#, "invalid metadata of type <nil> in converted object"),
    ] {
        let converted = format!(r#"{{"apiVersion":"g.example/v2","kind":"Widget"{metadata_text}}}"#);
        let refused = accept(&nobody, value(&converted), "g.example/v2").unwrap_err();
        assert_eq!(refused.text(&gvk()), format!("{metadata} {text}"));
    }
}
