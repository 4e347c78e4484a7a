//! Who a client is, and what it may do: certificates, tokens, nobody.

use expect_test::expect;
use serde_json::json;
use testkit::{Answer, Credentials, Crest, Http, Setup};

const CREST: &str = env!("CARGO_BIN_EXE_crest");
const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";

fn shown(answer: &Answer) -> String {
    serde_json::to_string_pretty(&answer.json()).expect("values can be printed") + "\n"
}

#[tokio::test]
async fn an_unknown_token_is_unauthorized() {
    let crest = Crest::start(CREST);
    let answer = crest.client_as(Credentials::Stranger, Http::Two).get(CONFIG_MAPS).await;
    assert_eq!(answer.code, 401);
    expect![[r#"
        {
          "apiVersion": "v1",
          "code": 401,
          "kind": "Status",
          "message": "Unauthorized",
          "metadata": {},
          "reason": "Unauthorized",
          "status": "Failure"
        }
    "#]]
    .assert_eq(&shown(&answer));
}

#[tokio::test]
async fn a_user_without_rights_is_told_what_is_missing() {
    let crest = Crest::start(CREST);
    let client = crest.client_as(Credentials::User, Http::Two);
    let answer = client.get(&format!("{CONFIG_MAPS}/settings")).await;
    assert_eq!(answer.code, 403);
    expect![[r#"
        {
          "apiVersion": "v1",
          "code": 403,
          "details": {
            "kind": "configmaps",
            "name": "settings"
          },
          "kind": "Status",
          "message": "configmaps \"settings\" is forbidden: User \"jane\" cannot get resource \"configmaps\" in API group \"\" in the namespace \"default\"",
          "metadata": {},
          "reason": "Forbidden",
          "status": "Failure"
        }
    "#]].assert_eq(&shown(&answer));

    let message = async |path: &str| client.get(path).await.failure().1;
    let list = message("/apis/apiextensions.k8s.io/v1/customresourcedefinitions").await;
    expect![[r#"customresourcedefinitions.apiextensions.k8s.io is forbidden: User "jane" cannot list resource "customresourcedefinitions" in API group "apiextensions.k8s.io" at the cluster scope"#]].assert_eq(&list);
    let path = message("/metrics").await;
    expect![[r#"forbidden: User "jane" cannot get path "/metrics""#]].assert_eq(&path);
    let watch = message("/api/v1/secrets?watch=1").await;
    expect![[r#"secrets is forbidden: User "jane" cannot watch resource "secrets" in API group "" at the cluster scope"#]].assert_eq(&watch);
    let (code, create) = client.create(CONFIG_MAPS, &json!({"metadata": {"name": "x"}})).await.failure();
    assert_eq!(code, 403);
    expect![[r#"configmaps is forbidden: User "jane" cannot create resource "configmaps" in API group "" in the namespace "default""#]].assert_eq(&create);
    client.get("/api").await.expect(200); // discovery is for everybody who is somebody
}

#[tokio::test]
async fn somebody_without_credentials_is_anonymous() {
    let crest = Crest::start(CREST);
    let client = crest.client_as(Credentials::Nobody, Http::Two);
    for path in ["/healthz", "/livez", "/readyz", "/version"] {
        assert_eq!(client.get(path).await.code, 200, "{path}");
    }
    expect![[r#"forbidden: User "system:anonymous" cannot get path "/api""#]]
        .assert_eq(&client.get("/api").await.failure().1);
    expect![[r#"configmaps is forbidden: User "system:anonymous" cannot list resource "configmaps" in API group "" in the namespace "default""#]].assert_eq(&client.get(CONFIG_MAPS).await.failure().1);
}

#[tokio::test]
async fn nobody_is_refused_where_anonymous_requests_are_off() {
    let crest = Setup::new(CREST).with("--anonymous-auth", "false").start();
    let client = crest.client_as(Credentials::Nobody, Http::Two);
    assert_eq!(client.get("/healthz").await.failure(), (401, "Unauthorized".to_owned()));
    crest.client().get("/api").await.expect(200);
}

#[tokio::test]
async fn administrators_come_by_certificate_and_by_token() {
    let crest = Crest::start(CREST);
    for (credentials, name) in [(Credentials::Admin, "by-certificate"), (Credentials::AdminToken, "by-token")]
    {
        for http in [Http::One, Http::Two] {
            let client = crest.client_as(credentials, http);
            let name = format!("{name}-{http:?}").to_lowercase();
            client.create(CONFIG_MAPS, &json!({"metadata": {"name": name}})).await.expect(201);
        }
    }
}

#[tokio::test]
async fn a_credential_that_is_no_token_is_refused() {
    let crest = Crest::start(CREST);
    let client = crest.client_as(Credentials::Nobody, Http::Two);
    for (value, code) in
        [("Bearer ", 403), ("Bearer admin-token", 200), ("bearer admin-token", 200), ("Bearer nonsense", 401)]
    {
        let mut request = client.request("GET".parse().unwrap(), CONFIG_MAPS, None, "");
        request.headers_mut().insert("authorization", value.parse().unwrap());
        assert_eq!(client.send(request).await.code, code, "{value}");
    }
}
