//! The schema of a version: which fields it may use, and where.
//!
//! Errors of nested schemas come before those of the schema around them, as in the reference.

use meta::{FieldError, FieldPath, Value};

use super::defaults;
use super::go_struct;
use super::options::Options;
use super::structural;
use super::view::SchemaField;
use crate::compile::Compiler;
use crate::expr::definition::{Scope, Terms as RuleTerms, TotalCost};
use crate::field_path::{Brackets, resolve};
use crate::parse::{Dependency, Items, Props, PropsOrBool, RuleProps};
use crate::prune::is_meta_field;
use crate::structural::Schema;

const TYPES: [&str; 6] = ["array", "boolean", "integer", "number", "object", "string"];
const REASONS: [&str; 4] =
    ["FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"];

/// What is demanded of a schema besides what holds for all.
pub(super) struct Terms<'o> {
    has_status: bool,
    require_structural: bool,
    /// The schema is that of the old definition.
    is_unchanged: bool,
    options: &'o Options,
}

impl<'o> Terms<'o> {
    pub(super) fn new(
        has_status: bool,
        require_structural: bool,
        version: &str,
        options: &'o Options,
    ) -> Self {
        let is_unchanged = options.unchanged_schemas.contains(version);
        Terms { has_status, require_structural, is_unchanged, options }
    }
}

/// Judges the `schema` at `path`.
pub(super) fn validate(schema: &SchemaField<'_>, terms: &Terms<'_>, path: &FieldPath<'_>) -> Vec<FieldError> {
    let Some((written, props)) = &schema.root else {
        return Vec::new();
    };
    let mut errors = Vec::new();
    if terms.has_status {
        errors.extend(root_with_status(written, props, path));
    }
    if props.nullable {
        let detail = "nullable cannot be true at the root";
        errors.push(FieldError::forbidden(&path.field("openAPIV3Schema.nullable"), detail));
    }
    let path = path.field("openAPIV3Schema");
    let mut no_form = None;
    let mut compiled = None;
    if terms.require_structural {
        no_form = structural::conversion_error(props);
        if no_form.is_none() {
            match structural_and_defaults(props, terms.options, &path) {
                Ok(schema) => compiled = Some(schema),
                Err(found) => errors.extend(found),
            }
        }
    }
    let mut walk = Walk::new(terms);
    let scope = compiled.as_ref().map(|schema| Scope::root(&schema.root));
    walk.schema(props, Place { scope, ..Place::ROOT }, &path);
    errors.append(&mut walk.errors);
    errors.append(&mut walk.rule_errors);
    // Overlaps with what the walk reports, so it is only shown when that is nothing.
    if let Some(error) = no_form.filter(|_| errors.is_empty()) {
        errors.push(FieldError::invalid(&path, "", error));
    }
    errors.extend(walk.total_cost.judge(&path));
    errors
}

/// The schema in its compiled form, with defaults as written, if nothing is wrong with either.
fn structural_and_defaults(
    props: &Props<'_>,
    options: &Options,
    path: &FieldPath<'_>,
) -> Result<Schema, Vec<FieldError>> {
    let errors = structural::validate(props, path);
    if !errors.is_empty() {
        return Err(errors);
    }
    let schema = Compiler::default().compile_unpruned(props);
    let errors = defaults::validate(&schema, options.require_pruned_defaults, path);
    if errors.is_empty() { Ok(schema) } else { Err(errors) }
}

/// The status subresource validates `properties.status` alone, so nothing else at the root may concern it.
fn root_with_status(written: &Value, props: &Props<'_>, path: &FieldPath<'_>) -> Option<FieldError> {
    let is_before_type = !props.id.is_empty() || !props.schema.is_empty() || props.reference.is_some();
    if !is_before_type && !props.type_name.is_empty() && props.type_name != "object" {
        let detail = r#"only "object" is allowed as the type at the root of the schema if the status subresource is enabled"#;
        return Some(FieldError::invalid(&path.field("openAPIV3Schema.type"), props.type_name, detail));
    }
    let is_other = is_before_type
        || props.nullable
        || props.default.is_some()
        || props.one_of_values.is_some()
        || props.max_properties.is_some()
        || props.min_properties.is_some()
        || !props.all_of.is_empty()
        || !props.one_of.is_empty()
        || !props.any_of.is_empty()
        || props.not.is_some()
        || props.additional_properties.is_some()
        || !props.pattern_properties.is_empty()
        || props.has_dependencies
        || props.additional_items.is_some()
        || !props.definitions.is_empty()
        || props.embedded_resource
        || props.int_or_string
        || !props.list_map_keys.is_empty()
        || props.list_type.is_some()
        || props.map_type.is_some();
    is_other.then(|| {
        let detail = "only [Description Type Format Title Maximum ExclusiveMaximum Minimum ExclusiveMinimum MaxLength \
                      MinLength Pattern MaxItems MinItems UniqueItems MultipleOf Required Items Properties ExternalDocs \
                      Example XPreserveUnknownFields XValidations] fields are allowed at the root of the schema if the \
                      status subresource is enabled";
        FieldError::invalid(&path.field("openAPIV3Schema"), Value::Null, detail).shown_as(go_struct::schema(written))
    })
}

/// What the place of a schema forbids.
#[derive(Clone, Copy)]
struct Place<'a> {
    /// Why defaults are forbidden, if they are.
    no_defaults: Option<&'a str>,
    /// Inside the type or the metadata of a resource.
    in_meta: bool,
    is_root: bool,
    /// The outermost schema inside of which old values cannot be told.
    uncorrelatable: Option<&'a FieldPath<'a>>,
    /// What rules need; not there below `allOf` and its siblings, nor when the definition has other errors.
    scope: Option<Scope<'a>>,
}

impl<'a> Place<'a> {
    const ROOT: Place<'static> =
        Place { no_defaults: None, in_meta: false, is_root: true, uncorrelatable: None, scope: None };

    /// The place of a schema one level down.
    fn inner(self, scope: Option<Scope<'a>>) -> Place<'a> {
        Place { is_root: false, scope, ..self }
    }

    /// The same where values below `path` do not correspond to old ones.
    fn without_old(self, path: &'a FieldPath<'a>) -> Place<'a> {
        Place { uncorrelatable: self.uncorrelatable.or(Some(path)), ..self }
    }
}

struct Walk<'o> {
    options: &'o Options,
    is_unchanged: bool,
    errors: Vec<FieldError>,
    /// Errors of rules, which come after all others.
    rule_errors: Vec<FieldError>,
    total_cost: TotalCost,
}

impl<'o> Walk<'o> {
    fn new(terms: &Terms<'o>) -> Self {
        Walk {
            options: terms.options,
            is_unchanged: terms.is_unchanged,
            errors: Vec::new(),
            rule_errors: Vec::new(),
            total_cost: TotalCost::default(),
        }
    }

    fn schema(&mut self, props: &Props<'_>, place: Place<'_>, path: &FieldPath<'_>) {
        let errors_before = self.errors.len();
        self.fields(props, place, path);
        if props.unique_items {
            let detail = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic";
            self.forbid(&path.field("uniqueItems"), detail);
        }
        self.members(props, place, path);
        self.nested(props, place, path);
        self.extensions(props, path);
        self.list(props, path);
        if self.options.require_list_keys {
            self.errors.extend(list_keys(props, path));
        }
        let rules = path.field("x-kubernetes-validations");
        for (index, rule) in props.rules.iter().enumerate() {
            self.rule(rule, props, &rules.index(index));
        }
        // Expressions about a schema with errors in it would only fail for reasons that go away with them.
        if let Some(scope) = place.scope
            && !props.rules.is_empty()
            && self.errors.len() == errors_before
        {
            let terms = RuleTerms { uncorrelatable: place.uncorrelatable, is_unchanged: self.is_unchanged };
            self.rule_errors.extend(scope.check(path, &terms, &mut self.total_cost));
        }
    }

    fn forbid(&mut self, path: &FieldPath<'_>, detail: &str) {
        self.errors.push(FieldError::forbidden(path, detail));
    }

    /// Fields that `OpenAPI` has and definitions have not.
    fn fields(&mut self, props: &Props<'_>, place: Place<'_>, path: &FieldPath<'_>) {
        if self.options.require_valid_types && has_invalid_own_type(props) {
            self.errors.push(FieldError::not_supported(&path.field("type"), props.type_name, &TYPES));
        }
        if let (Some(_), Some(reason)) = (props.default, place.no_defaults) {
            self.forbid(&path.field("default"), &format!("must not be set {reason}"));
        }
        let unsupported = [
            (!props.id.is_empty(), "id"),
            (props.additional_items.is_some(), "additionalItems"),
            (!props.pattern_properties.is_empty(), "patternProperties"),
            (!props.definitions.is_empty(), "definitions"),
            (props.has_dependencies, "dependencies"),
            (props.reference.is_some(), "$ref"),
        ];
        for (_, field) in unsupported.iter().filter(|(is_set, _)| *is_set) {
            self.forbid(&path.field(field), &format!("{field} is not supported"));
        }
        if props.type_name == "null" {
            self.forbid(&path.field("type"), "type cannot be set to null, use nullable as an alternative");
        }
        if matches!(&props.items, Some(Items::Each(list, _)) if !list.is_empty()) {
            self.forbid(&path.field("items"), "items must be a schema object and not an array");
        }
        if place.in_meta && props.embedded_resource {
            self.forbid(
                &path.field("x-kubernetes-embedded-resource"),
                "must not be used inside of resource meta",
            );
        }
    }

    fn members(&mut self, props: &Props<'_>, place: Place<'_>, path: &FieldPath<'_>) {
        if let Some(additional) = &props.additional_properties {
            let path = path.field("additionalProperties");
            if !props.properties.is_empty() && !matches!(additional, PropsOrBool::Bool(true)) {
                self.forbid(&path, "additionalProperties and properties are mutual exclusive");
            }
            let mut place = place.inner(place.scope.and_then(Scope::additional));
            if place.in_meta {
                place.no_defaults = Some("inside additionalProperties applying to object metadata");
            }
            if let Some(additional) = additional.props() {
                self.schema(additional, place, &path);
            }
        }
        let properties = path.field("properties");
        for (name, property) in &props.properties {
            let reason;
            let is_root = place.is_root;
            let mut place = place.inner(place.scope.and_then(|scope| scope.property(name)));
            if (is_root || props.embedded_resource) && is_meta_field(name) {
                place.in_meta = true;
                if is_root {
                    reason = format!("in top-level {name}");
                    place.no_defaults = Some(&reason);
                }
            }
            self.schema(property, place, &properties.key(name));
        }
    }

    fn nested(&mut self, props: &Props<'_>, place: Place<'_>, path: &FieldPath<'_>) {
        let items_scope = place.scope.and_then(Scope::items);
        let place = place.inner(None);
        if let Some(part) = &props.not {
            self.schema(part, place, &path.field("not"));
        }
        for (field, parts) in [("allOf", &props.all_of), ("oneOf", &props.one_of), ("anyOf", &props.any_of)] {
            for (index, part) in parts.iter().enumerate() {
                self.schema(part, place, &path.field(field).index(index));
            }
        }
        for (name, part) in &props.definitions {
            self.schema(part, place, &path.field("definitions").key(name));
        }
        let items_place = match props.list_type {
            Some("map") => place,
            _ => place.without_old(path),
        };
        match &props.items {
            Some(Items::All(items)) => {
                self.schema(items, items_place.inner(items_scope), &path.field("items"));
            }
            Some(Items::Each(list, _)) => {
                for (index, items) in list.iter().enumerate() {
                    self.schema(items, items_place, &path.field("items").index(index));
                }
            }
            None => {}
        }
        for (name, dependency) in &props.dependencies {
            if let Dependency::Props(part) = dependency {
                self.schema(part, place, &path.field("dependencies").key(name));
            }
        }
    }

    fn extensions(&mut self, props: &Props<'_>, path: &FieldPath<'_>) {
        if props.preserve_unknown == Some(false) {
            let path = path.field("x-kubernetes-preserve-unknown-fields");
            self.errors.push(FieldError::invalid(&path, false, "must be true or undefined"));
        }
        let Some(map_type) = props.map_type else {
            return;
        };
        self.wrong_type(props, "object", "x-kubernetes-map-type", path);
        if !matches!(map_type, "atomic" | "granular") {
            let path = path.field("x-kubernetes-map-type");
            self.errors.push(FieldError::not_supported(&path, map_type, &["atomic", "granular"]));
        }
    }

    /// An extension that goes with one type only.
    fn wrong_type(&mut self, props: &Props<'_>, wanted: &str, extension: &str, path: &FieldPath<'_>) {
        let detail = format!("must be {wanted} if {extension} is specified");
        let path = path.field("type");
        match props.type_name {
            name if name == wanted => {}
            "" => self.errors.push(FieldError::required(&path, detail)),
            name => self.errors.push(FieldError::invalid(&path, name, detail)),
        }
    }

    fn list(&mut self, props: &Props<'_>, path: &FieldPath<'_>) {
        if props.list_type.is_some() {
            self.wrong_type(props, "array", "x-kubernetes-list-type", path);
        }
        if props.type_name == "array" && self.options.require_atomic_sets {
            self.errors.extend(atomic_set(props, path));
        }
        let type_path = path.field("x-kubernetes-list-type");
        if let Some(list_type) = props.list_type
            && !matches!(list_type, "atomic" | "set" | "map")
        {
            self.errors.push(FieldError::not_supported(&type_path, list_type, &["atomic", "set", "map"]));
        }
        if !props.list_map_keys.is_empty() {
            let detail = "must be map if x-kubernetes-list-map-keys is non-empty";
            match props.list_type {
                None => self.errors.push(FieldError::required(&type_path, detail)),
                Some("map") => {}
                Some(other) => self.errors.push(FieldError::invalid(&type_path, other, detail)),
            }
        }
        if props.list_type == Some("map") {
            self.map_list(props, path);
        }
    }

    fn map_list(&mut self, props: &Props<'_>, path: &FieldPath<'_>) {
        let keys_path = path.field("x-kubernetes-list-map-keys");
        let items_path = path.field("items");
        if props.list_map_keys.is_empty() {
            let detail = "must not be empty if x-kubernetes-list-type is map";
            self.errors.push(FieldError::required(&keys_path, detail));
        }
        let items = match &props.items {
            None => {
                let detail = "must have a schema if x-kubernetes-list-type is map";
                self.errors.push(FieldError::required(&items_path, detail));
                return;
            }
            Some(Items::Each(_, written)) => {
                let detail = "must only have a single schema if x-kubernetes-list-type is map";
                let shown = go_struct::items_each(written);
                self.errors.push(FieldError::invalid(&items_path, Value::Null, detail).shown_as(shown));
                return;
            }
            Some(Items::All(items)) => items,
        };
        if items.type_name != "object" {
            let detail = "must be object if parent array's x-kubernetes-list-type is map";
            self.errors.push(FieldError::invalid(&items_path.field("type"), items.type_name, detail));
            return;
        }
        let shown: Vec<Value> = props.list_map_keys.iter().map(|key| Value::from(*key)).collect();
        let mut seen = std::collections::HashSet::new();
        for key in &props.list_map_keys {
            match items.properties.iter().find(|(name, _)| name == key) {
                Some((_, property)) if matches!(property.type_name, "array" | "object") => {
                    let detail = "must be a scalar type if parent array's x-kubernetes-list-type is map";
                    let properties = items_path.field("properties");
                    let path = properties.key(key);
                    self.errors.push(FieldError::invalid(&path.field("type"), items.type_name, detail));
                }
                Some(_) => {}
                None => {
                    let detail = "entries must all be names of item properties";
                    self.errors.push(FieldError::invalid(&keys_path, shown.clone(), detail));
                }
            }
            if !seen.insert(key) {
                let detail = "must not contain duplicate entries";
                self.errors.push(FieldError::invalid(&keys_path, shown.clone(), detail));
            }
        }
    }

    /// What can be said of a rule without compiling it.
    fn rule(&mut self, rule: &RuleProps<'_>, props: &Props<'_>, path: &FieldPath<'_>) {
        let has_newline = |text: &str| text.contains(['\n', '\r']);
        let (expression, message) = (rule.rule.trim(), rule.message.trim());
        let message_path = path.field("message");
        if expression.is_empty() {
            self.errors.push(FieldError::required(&path.field("rule"), "rule is not specified"));
        } else if !rule.message.is_empty() && message.is_empty() {
            let detail = "must be non-empty if specified";
            self.errors.push(FieldError::invalid(&message_path, rule.message, detail));
        } else if has_newline(message) {
            self.errors.push(FieldError::invalid(
                &message_path,
                rule.message,
                "must not contain line breaks",
            ));
        } else if has_newline(expression) && message.is_empty() {
            let detail = "message must be specified if rule contains line breaks";
            self.errors.push(FieldError::required(&message_path, detail));
        }
        if !rule.message_expression.is_empty() && rule.message_expression.trim().is_empty() {
            let detail = "messageExpression must be non-empty if specified";
            self.errors.push(FieldError::required(&path.field("messageExpression"), detail));
        }
        if let Some(reason) = rule.reason
            && !REASONS.contains(&reason)
        {
            self.errors.push(FieldError::not_supported(&path.field("reason"), reason, &REASONS));
        }
        if rule.field_path.is_empty() {
            return;
        }
        let path = path.field("fieldPath");
        if rule.field_path.trim().is_empty() {
            self.errors.push(FieldError::invalid(&path, rule.field_path, "must be non-empty if specified"));
        }
        if has_newline(rule.field_path) {
            self.errors.push(FieldError::invalid(&path, rule.field_path, "must not contain line breaks"));
        }
        if structural::conversion_error(props).is_none()
            && resolve(rule.field_path, props, Brackets::Allowed).is_err()
        {
            self.errors.push(FieldError::invalid(&path, rule.field_path, "must be a valid path"));
        }
    }
}

fn has_invalid_own_type(props: &Props<'_>) -> bool {
    !props.type_name.is_empty() && !TYPES.contains(&props.type_name)
}

pub(super) fn has_invalid_type(props: &Props<'_>) -> bool {
    props.any(has_invalid_own_type)
}

pub(super) fn has_non_atomic_set(props: &Props<'_>) -> bool {
    props.any(|props| atomic_set(props, &FieldPath::ROOT).is_some())
}

pub(super) fn has_invalid_list_keys(props: &Props<'_>) -> bool {
    props.any(|props| !list_keys(props, &FieldPath::ROOT).is_empty())
}

/// The items of a set are whole.
fn atomic_set(props: &Props<'_>, path: &FieldPath<'_>) -> Option<FieldError> {
    let items = props.items.as_ref().and_then(Items::single).filter(|_| props.list_type == Some("set"))?;
    let field = match items.type_name {
        "array" if items.list_type.is_some_and(|list_type| list_type != "atomic") => "x-kubernetes-list-type",
        "object" if items.map_type != Some("atomic") => "x-kubernetes-map-type",
        _ => return None,
    };
    let shown = items.list_type.map_or(Value::Null, Value::from);
    let path = path.field("items");
    let detail = "must be atomic as item of a list with x-kubernetes-list-type=set";
    Some(FieldError::invalid(&path.field(field), shown, detail))
}

/// Keys of maps are always there, items of maps and sets are never null.
fn list_keys(props: &Props<'_>, path: &FieldPath<'_>) -> Vec<FieldError> {
    let list_type = props.list_type.filter(|list_type| matches!(*list_type, "set" | "map"));
    let (Some(items), Some(list_type)) = (props.items.as_ref().and_then(Items::single), list_type) else {
        return Vec::new();
    };
    let mut errors = Vec::new();
    let path = path.field("items");
    if items.nullable {
        let detail = format!("cannot be nullable when x-kubernetes-list-type is {list_type}");
        errors.push(FieldError::forbidden(&path.field("nullable"), detail));
    }
    if list_type != "map" {
        return errors;
    }
    let properties = path.field("properties");
    for key in &props.list_map_keys {
        let Some((_, property)) = items.properties.iter().find(|(name, _)| name == key) else {
            continue;
        };
        let path = properties.key(key);
        if !items.required.contains(key) && property.default.is_none() {
            let detail = "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required \
                          property";
            errors.push(FieldError::required(&path.field("default"), detail));
        }
        if property.nullable {
            let detail = "this property is in x-kubernetes-list-map-keys, so it cannot be nullable";
            errors.push(FieldError::forbidden(&path.field("nullable"), detail));
        }
    }
    errors
}
