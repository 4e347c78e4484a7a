//! Defaults fit their schema, have no unknown fields, and make valid metadata where they are metadata.
//!
//! Upstream: apiextensions-apiserver/pkg/apiserver/schema/defaulting/validation.go, v1.36.

use meta::{FieldError, FieldPath, Map, Value};

use super::conditions::aggregate;
use super::structural;
use crate::compile::{Compiler, Step, surround};
use crate::expr::Level;
use crate::expr::eval::{self, Ratcheting, Subject};
use crate::parse::Props;
use crate::prune::{is_meta_field, prune_default};
use crate::structural::{Facts, Node, Schema};
use crate::validate::{Purpose, validate as validate_value};
use crate::{coerce, embedded};

/// Judges the defaults of a schema whose defaults are still as written.
pub(super) fn validate(schema: &Schema, require_pruned: bool, path: &FieldPath<'_>) -> Vec<FieldError> {
    let mut walk = Walk {
        require_pruned,
        errors: Vec::new(),
        steps: Vec::new(),
        resource: &schema.root,
        rule_budget: eval::OBJECT_BUDGET,
    };
    walk.node(&schema.root, true, false, path);
    walk.errors
}

/// Whether pruning would change a default of a structural schema.
pub(super) fn has_unpruned(props: &Props<'_>) -> bool {
    if !props.any(|props| props.default.is_some()) || !structural::is_structural(props) {
        return false;
    }
    let mut compiler = Compiler::default();
    let written = compiler.compile_unpruned(props);
    let pruned = compiler.compile(props);
    written.root != pruned.root
}

struct Walk<'a> {
    require_pruned: bool,
    errors: Vec<FieldError>,
    /// From the innermost resource to here.
    steps: Vec<Step<'a>>,
    /// The innermost resource.
    resource: &'a Node,
    /// What the rules may still cost; negative when they cost too much already.
    rule_budget: i64,
}

impl<'a> Walk<'a> {
    fn node(&mut self, node: &'a Node, is_root: bool, in_meta: bool, path: &FieldPath<'_>) {
        if !node.facts.has(Facts::DEFAULTS) || self.rule_budget < 0 {
            return;
        }
        let is_resource = is_root || node.embedded_resource;
        let outer = is_resource
            .then(|| (std::mem::take(&mut self.steps), std::mem::replace(&mut self.resource, node)));
        let in_meta = in_meta && !is_resource;
        if let Some(default) = &node.default {
            let path = path.field("default");
            if in_meta {
                self.in_metadata(node, default, &path);
            } else {
                self.plain(node, is_resource, default, &path);
            }
        }
        // Defaults below additionalProperties are not looked at.
        if let Some(items) = &node.items {
            self.steps.push(Step::Item);
            self.node(items, false, in_meta, &path.field("items"));
            self.steps.pop();
        }
        let properties = path.field("properties");
        for (name, property) in &node.properties {
            self.steps.push(Step::Key(name));
            let in_meta = in_meta || (is_resource && is_meta_field(name));
            self.node(property, false, in_meta, &properties.key(name));
            self.steps.pop();
        }
        if let Some((steps, resource)) = outer {
            self.steps = steps;
            self.resource = resource;
        }
    }

    fn plain(&mut self, node: &Node, is_resource: bool, default: &Value, path: &FieldPath<'_>) {
        if self.require_pruned {
            let mut pruned = default.clone();
            prune_default(&mut pruned, node, is_resource);
            if pruned != *default {
                let detail = "must not have unknown fields";
                self.errors.push(FieldError::invalid(path, default.clone(), detail));
            }
        }
        let mut coerced = default.clone();
        if let Err(error) = coerce::check(&mut coerced, node, is_resource, path) {
            self.errors.push(error);
            return;
        }
        let errors = embedded::validate(&coerced, node, is_resource, path);
        if !errors.is_empty() {
            self.errors.extend(errors);
            return;
        }
        self.value(node, &coerced, path);
    }

    /// What the schema says about a default, and if that is nothing, what its rules do.
    fn value(&mut self, node: &Node, default: &Value, path: &FieldPath<'_>) {
        let errors = validate_value(node, default, None, &path.to_string(), Purpose::Default);
        if errors.is_empty() {
            self.rules(node, default, path);
        }
        self.errors.extend(errors);
    }

    /// Rules must hold for a default that is there already, and for one that appears.
    fn rules(&mut self, node: &Node, default: &Value, path: &FieldPath<'_>) {
        let level = if std::ptr::eq(node, self.resource) { Level::Root } else { Level::Inner };
        let mut subject = Subject { node, level, new: default, old: Some(default) };
        let kept = eval::run(subject, path, Ratcheting::Off, self.rule_budget);
        let mut remaining = kept.remaining;
        if kept.errors.is_empty() {
            subject.old = None;
            let introduced = eval::run(subject, path, Ratcheting::Off, self.rule_budget);
            remaining = remaining.min(introduced.remaining);
            self.errors.extend(introduced.errors);
        }
        self.errors.extend(kept.errors);
        self.rule_budget = remaining;
    }

    /// A default inside of metadata is judged as part of a resource that has nothing else.
    fn in_metadata(&mut self, node: &Node, default: &Value, path: &FieldPath<'_>) {
        let mut object = surround(&self.steps, default.clone());
        if let Value::Object(map) = &mut object {
            add_type(map);
        }
        let problem = match coerce::check(&mut object, self.resource, true, &FieldPath::ROOT) {
            Err(error) => Some(error.to_string()),
            Ok(()) => aggregate(&embedded::validate(&object, self.resource, true, &FieldPath::ROOT)),
        };
        if let Some(problem) = problem {
            let detail = format!("must result in valid metadata: {problem}");
            self.errors.push(FieldError::invalid(path, default.clone(), detail));
            return;
        }
        self.value(node, default, path);
    }
}

fn add_type(map: &mut Map) {
    map.get_or_insert_with("apiVersion", || "validation/v1".into());
    map.get_or_insert_with("kind", || "Validation".into());
}
