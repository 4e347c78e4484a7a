//! Stock helm installs, changes and removes a chart that brings a definition and objects of it.

use expect_test::expect;
use testkit::{CRONTAB_DEFINITION, Crest, Tool};

const TEMPLATE: &str = "apiVersion: stable.example.com/v1
kind: CronTab
metadata:
  name: {{ .Release.Name }}
spec:
  image: {{ .Values.image }}
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ .Release.Name }}-settings
data:
  image: {{ .Values.image }}
";

#[test]
fn a_chart_is_installed_upgraded_and_removed() {
    let crest = Crest::start(env!("CARGO_BIN_EXE_crest"));
    let (Some(helm), Some(kubectl)) = (Tool::helm(&crest), Tool::kubectl(&crest)) else { return };
    helm.write("chart/Chart.yaml", "apiVersion: v2\nname: cron\nversion: 0.1.0\n");
    helm.write("chart/values.yaml", "image: first\n");
    helm.write("chart/crds/crontab.yaml", CRONTAB_DEFINITION);
    helm.write("chart/templates/objects.yaml", TEMPLATE);
    let image = || {
        kubectl.ok("get ct/mine cm/mine-settings -o jsonpath={.items[*].spec.image}/{.items[*].data.image}")
    };

    helm.ok("install mine chart --wait");
    assert_eq!(image(), "first/first");
    helm.ok("upgrade mine chart --set image=second");
    assert_eq!(image(), "second/second");
    helm.ok("rollback mine 1");
    assert_eq!(image(), "first/first");
    let history = helm.ok("history mine -o json");
    let history: serde_json::Value = serde_json::from_str(&history).unwrap();
    assert_eq!(history.as_array().map(Vec::len), Some(3), "{history}");
    expect![[r#"
        release "mine" uninstalled
    "#]]
    .assert_eq(&helm.ok("uninstall mine"));
    assert_eq!(kubectl.ok("get ct,cm -o name"), "");

    // Helm leaves definitions, and finds them there the next time.
    assert_eq!(
        kubectl.ok("get crd -o name"),
        "customresourcedefinition.apiextensions.k8s.io/crontabs.stable.example.com\n"
    );
    helm.ok("install mine chart --wait");
    helm.write("chart/templates/objects.yaml", TEMPLATE.split("---").next().expect("a first document"));
    helm.ok("upgrade mine chart --wait");
    assert_eq!(kubectl.ok("get ct,cm -o name"), "crontab.stable.example.com/mine\n");
    // What does not fit the definition is refused, and nothing is changed.
    let refused = helm.run("upgrade mine chart --set image=[1]");
    assert!(refused.stderr.contains("spec.image"), "{}", refused.stderr);
    assert_eq!(kubectl.ok("get ct mine -o jsonpath={.spec.image}"), "first");
    helm.ok("uninstall mine");
}
