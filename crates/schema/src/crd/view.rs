//! A definition in the form that the reference judges: what is the same in all versions is lifted to the top and
//! gone from the versions.
//!
//! Upstream: apiextensions-apiserver/pkg/apis/apiextensions/v1/conversion.go, v1.36.

use meta::{FieldError, FieldPath, Value};

use crate::parse::{Props, props};

/// A definition, borrowed from its value.
pub(super) struct Definition<'a> {
    pub(super) group: &'a str,
    pub(super) names: Names<'a>,
    pub(super) scope: &'a str,
    /// The first version's name.
    pub(super) version: &'a str,
    pub(super) versions: Vec<Version<'a>>,
    /// Whether the list of versions is there at all, as prints show it.
    pub(super) has_versions: bool,
    /// What all versions have in common.
    pub(super) common: PerVersion<'a>,
    pub(super) conversion: Option<&'a Value>,
    pub(super) preserve_unknown_fields: bool,
}

pub(super) struct Version<'a> {
    pub(super) name: &'a str,
    pub(super) served: bool,
    pub(super) storage: bool,
    pub(super) deprecated: bool,
    pub(super) deprecation_warning: Option<&'a str>,
    /// What it does not share with the others.
    pub(super) own: PerVersion<'a>,
}

/// What can differ between versions.
#[derive(Default)]
pub(super) struct PerVersion<'a> {
    pub(super) schema: Option<SchemaField<'a>>,
    pub(super) subresources: Option<&'a Value>,
    pub(super) columns: &'a [Value],
    pub(super) selectable: &'a [Value],
    /// Whether the two lists are there at all, as prints show it.
    pub(super) has_columns: bool,
    pub(super) has_selectable: bool,
}

/// The `schema` of a version.
pub(super) struct SchemaField<'a> {
    /// `openAPIV3Schema` as written and as read.
    pub(super) root: Option<(&'a Value, Props<'a>)>,
}

impl<'a> SchemaField<'a> {
    pub(super) fn props(&self) -> Option<&Props<'a>> {
        self.root.as_ref().map(|(_, props)| props)
    }
}

impl<'a> PerVersion<'a> {
    pub(super) fn props(&self) -> Option<&Props<'a>> {
        self.schema.as_ref().and_then(SchemaField::props)
    }

    pub(super) fn has_status(&self) -> bool {
        self.subresources.is_some_and(|subresources| present(subresources, "status").is_some())
    }
}

#[derive(Clone, Copy)]
pub(super) struct Names<'a> {
    pub(super) plural: &'a str,
    pub(super) singular: &'a str,
    pub(super) kind: &'a str,
    pub(super) list_kind: &'a str,
    pub(super) short: &'a [Value],
    pub(super) categories: &'a [Value],
}

impl<'a> Names<'a> {
    pub(super) fn of(names: Option<&'a Value>) -> Self {
        let text = |name| names.map_or("", |names| text(names, name));
        let list = |name| names.map_or(&[][..], |names| list(names, name));
        Names {
            plural: text("plural"),
            singular: text("singular"),
            kind: text("kind"),
            list_kind: text("listKind"),
            short: list("shortNames"),
            categories: list("categories"),
        }
    }
}

/// A member that is there and not null.
pub(super) fn present<'a>(value: &'a Value, name: &str) -> Option<&'a Value> {
    value.get(name).filter(|value| !value.is_null())
}

pub(super) fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}

pub(super) fn flag(value: &Value, name: &str) -> bool {
    value.get(name).and_then(Value::as_bool).unwrap_or_default()
}

pub(super) fn list<'a>(value: &'a Value, name: &str) -> &'a [Value] {
    value.get(name).and_then(Value::as_array).unwrap_or_default()
}

impl<'a> Definition<'a> {
    /// The schema of a version, be it the version's own or common to all.
    pub(super) fn schema_of(&self, version: &str) -> Option<&Props<'a>> {
        let version = self.versions.iter().find(|candidate| candidate.name == version)?;
        version.own.props().or_else(|| self.common.props())
    }

    pub(super) fn new(definition: &'a Value) -> Result<Self, FieldError> {
        let spec = definition.get("spec").unwrap_or(&Value::Null);
        let written = list(spec, "versions");
        let is_common = |name: &str| {
            let first = written.first().and_then(|version| present(version, name));
            written.iter().all(|version| present(version, name) == first)
        };
        let shared = Shared {
            schema: is_common("schema"),
            subresources: is_common("subresources"),
            columns: is_common("additionalPrinterColumns"),
            selectable: is_common("selectableFields"),
        };
        let path = FieldPath::ROOT.field("spec");
        let common = match written.first() {
            Some(first) => PerVersion::of(first, shared, &path.field("validation"))?,
            None => PerVersion::default(),
        };
        let versions = written.iter().enumerate().map(|(index, version)| {
            let path = path.field("versions");
            let path = path.index(index);
            Ok(Version {
                name: text(version, "name"),
                served: flag(version, "served"),
                storage: flag(version, "storage"),
                deprecated: flag(version, "deprecated"),
                deprecation_warning: version.get("deprecationWarning").and_then(Value::as_str),
                own: PerVersion::of(version, shared.others(), &path.field("schema"))?,
            })
        });
        Ok(Definition {
            group: text(spec, "group"),
            names: Names::of(spec.get("names")),
            scope: text(spec, "scope"),
            version: written.first().map_or("", |version| text(version, "name")),
            has_versions: present(spec, "versions").is_some(),
            versions: versions.collect::<Result<_, FieldError>>()?,
            common,
            conversion: present(spec, "conversion"),
            preserve_unknown_fields: flag(spec, "preserveUnknownFields"),
        })
    }

    /// Every schema of the definition, shared ones once.
    pub(super) fn schemas(&self) -> impl Iterator<Item = &Props<'a>> {
        let own = self.versions.iter().filter_map(|version| version.own.props());
        self.common.props().into_iter().chain(own)
    }

    pub(super) fn has_own_subresources(&self) -> bool {
        self.versions.iter().any(|version| version.own.subresources.is_some())
    }
}

/// Which of the fields to take.
#[derive(Clone, Copy)]
#[expect(clippy::struct_excessive_bools, reason = "one for each field that versions have of their own")]
struct Shared {
    schema: bool,
    subresources: bool,
    columns: bool,
    selectable: bool,
}

impl Shared {
    fn others(self) -> Shared {
        Shared {
            schema: !self.schema,
            subresources: !self.subresources,
            columns: !self.columns,
            selectable: !self.selectable,
        }
    }
}

impl<'a> PerVersion<'a> {
    fn of(version: &'a Value, take: Shared, path: &FieldPath<'_>) -> Result<Self, FieldError> {
        let schema = present(version, "schema").filter(|_| take.schema);
        let root = match schema.and_then(|schema| present(schema, "openAPIV3Schema")) {
            Some(root) => Some((root, props(root, &path.field("openAPIV3Schema"))?)),
            None => None,
        };
        let columns = present(version, "additionalPrinterColumns").filter(|_| take.columns);
        let selectable = present(version, "selectableFields").filter(|_| take.selectable);
        Ok(PerVersion {
            schema: schema.map(|_| SchemaField { root }),
            subresources: present(version, "subresources").filter(|_| take.subresources),
            columns: columns.and_then(Value::as_array).unwrap_or_default(),
            selectable: selectable.and_then(Value::as_array).unwrap_or_default(),
            has_columns: columns.is_some(),
            has_selectable: selectable.is_some(),
        })
    }
}
