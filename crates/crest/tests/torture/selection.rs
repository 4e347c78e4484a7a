//! What a watcher asks for, as a query and as a predicate of our own to judge the answers with.

use serde_json::{Value, json};

use crate::Dice;

pub(crate) const NAMESPACES: [&str; 3] = ["amber", "blue", "coral"];
pub(crate) const COLOURS: [&str; 3] = ["red", "green", "white"];
pub(crate) const TIERS: [Option<&str>; 3] = [Some("gold"), Some("silver"), None];

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    Widget,
    ConfigMap,
}

impl Kind {
    /// The path of the group and version, and the name of the resource.
    fn parts(self) -> (&'static str, &'static str) {
        match self {
            Kind::Widget => ("/apis/torture.example.com/v1", "widgets"),
            Kind::ConfigMap => ("/api/v1", "configmaps"),
        }
    }

    pub(crate) fn collection(self, namespace: Option<&str>) -> String {
        let (base, resource) = self.parts();
        match namespace {
            Some(namespace) => format!("{base}/namespaces/{namespace}/{resource}"),
            None => format!("{base}/{resource}"),
        }
    }

    /// An object with a colour and perhaps a tier.
    pub(crate) fn object(self, name: &str, colour: &str, tier: Option<&str>) -> Value {
        let labels = tier.map_or(json!({}), |tier| json!({"tier": tier}));
        let metadata = json!({"name": name, "labels": labels});
        match self {
            Kind::Widget => {
                let spec = json!({"colour": colour});
                json!({"apiVersion": "torture.example.com/v1", "kind": "Widget", "metadata": metadata, "spec": spec})
            }
            Kind::ConfigMap => {
                json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"colour": colour}})
            }
        }
    }
}

/// Widgets can be selected by their colour.
pub(crate) fn widget_definition() -> Value {
    let schema = json!({
        "type": "object",
        "properties": {"spec": {"type": "object", "properties": {"colour": {"type": "string"}}}},
    });
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.torture.example.com"},
        "spec": {
            "group": "torture.example.com",
            "scope": "Namespaced",
            "names": {"plural": "widgets", "kind": "Widget"},
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": schema},
                "selectableFields": [{"jsonPath": ".spec.colour"}],
                "additionalPrinterColumns": [{"name": "Colour", "type": "string", "jsonPath": ".spec.colour"}],
            }],
        },
    })
}

/// In which form events are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Whole,
    Metadata,
    Table,
}

impl Form {
    pub(crate) fn accept(self) -> &'static str {
        match self {
            Form::Whole => "application/json",
            Form::Metadata => "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1",
            Form::Table => "application/json;as=Table;g=meta.k8s.io;v=v1",
        }
    }

    /// The object of an event, or of it what the form shows.
    pub(crate) fn shown(self, event: &Value) -> &Value {
        match self {
            Form::Whole | Form::Metadata => event,
            Form::Table => &event["rows"][0]["object"],
        }
    }
}

#[derive(Clone, Copy, Debug)]
enum Label {
    Any,
    Is(&'static str),
    IsNot(&'static str),
    OneOf(&'static str, &'static str),
    Present,
    Absent,
}

#[derive(Clone, Debug)]
enum Field {
    Any,
    Colour(&'static str),
    NotColour(&'static str),
    Name(String),
    NotNamespace(&'static str),
}

/// Which objects of a kind are watched.
#[derive(Clone, Debug)]
pub(crate) struct Selection {
    pub(crate) kind: Kind,
    namespace: Option<&'static str>,
    label: Label,
    field: Field,
}

impl Selection {
    /// Everything of a kind.
    pub(crate) fn everything(kind: Kind) -> Self {
        Selection { kind, namespace: None, label: Label::Any, field: Field::Any }
    }

    pub(crate) fn draw(dice: &mut Dice) -> Self {
        let kind = dice.pick(&crate::KINDS);
        let namespace = (dice.roll(2) == 0).then(|| dice.pick(&NAMESPACES));
        let label = match dice.roll(8) {
            0 => Label::Is("gold"),
            1 => Label::IsNot("gold"),
            2 => Label::OneOf("gold", "silver"),
            3 => Label::Present,
            4 => Label::Absent,
            _ => Label::Any,
        };
        let field = match (dice.roll(6), kind) {
            (0, Kind::Widget) => Field::Colour(dice.pick(&COLOURS)),
            (1, Kind::Widget) => Field::NotColour(dice.pick(&COLOURS)),
            (2, _) => {
                Field::Name(crate::writer::name(dice.roll(crate::WRITERS), dice.roll(crate::writer::OBJECTS)))
            }
            (3, _) => Field::NotNamespace(dice.pick(&NAMESPACES)),
            _ => Field::Any,
        };
        Selection { kind, namespace, label, field }
    }

    /// The path and query that ask for it, to be continued with `&`.
    pub(crate) fn query(&self) -> String {
        let label = match self.label {
            Label::Any => String::new(),
            Label::Is(tier) => format!("tier%3D{tier}"),
            Label::IsNot(tier) => format!("tier%21%3D{tier}"),
            Label::OneOf(a, b) => format!("tier%20in%20%28{a}%2C{b}%29"),
            Label::Present => "tier".to_owned(),
            Label::Absent => "%21tier".to_owned(),
        };
        let field = match &self.field {
            Field::Any => String::new(),
            Field::Colour(colour) => format!("spec.colour%3D{colour}"),
            Field::NotColour(colour) => format!("spec.colour%21%3D{colour}"),
            Field::Name(name) => format!("metadata.name%3D{name}"),
            Field::NotNamespace(namespace) => format!("metadata.namespace%21%3D{namespace}"),
        };
        format!("{}?labelSelector={label}&fieldSelector={field}", self.kind.collection(self.namespace))
    }

    pub(crate) fn selects(&self, object: &Value) -> bool {
        let metadata = &object["metadata"];
        let tier = metadata["labels"]["tier"].as_str();
        let colour = object["spec"]["colour"].as_str();
        let by_namespace = self.namespace.is_none_or(|namespace| metadata["namespace"] == namespace);
        let by_label = match self.label {
            Label::Any => true,
            Label::Is(wanted) => tier == Some(wanted),
            Label::IsNot(unwanted) => tier != Some(unwanted),
            Label::OneOf(a, b) => tier.is_some_and(|tier| tier == a || tier == b),
            Label::Present => tier.is_some(),
            Label::Absent => tier.is_none(),
        };
        let by_field = match &self.field {
            Field::Any => true,
            Field::Colour(wanted) => colour == Some(wanted),
            Field::NotColour(unwanted) => colour != Some(unwanted),
            Field::Name(name) => metadata["name"] == name.as_str(),
            Field::NotNamespace(namespace) => metadata["namespace"] != *namespace,
        };
        by_namespace && by_label && by_field
    }
}
