//! From a schema as written to the tree that the passes walk.
//!
//! Equal subtrees become one, defaults are pruned, formats without meaning are dropped and each node learns what
//! its subtree contains. Relies on a schema that [`crate::crd`] accepts; of one that it does not, the parts that
//! have no meaning here are ignored.
//!
//! Upstream: apiextensions-apiserver/pkg/apiserver/schema/convert.go and defaulting/prune.go, v1.36.

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, LazyLock, Mutex, PoisonError, Weak};

use meta::{FieldError, FieldPath, Map, Text, Value};

use crate::coerce;
use crate::expr;
use crate::formats::Format;
use crate::parse::{Items, Props, PropsOrBool, RuleProps, props};
use crate::pattern::Pattern;
use crate::prune;
use crate::structural::{
    Additional, Bound, Checks, Combined, Enum, Facts, ListType, MapType, Node, NumberChecks, Owned, Rule,
    Schema, SizeChecks, Types, unless_empty,
};

impl Schema {
    /// Compiles one `openAPIV3Schema`.
    ///
    /// ```
    /// use meta::wire::json;
    /// use crest_schema::Schema;
    /// let written = json::parse(br#"{"type": "object", "properties": {"n": {"type": "integer", "default": 3}}}"#);
    /// let schema = Schema::compile(&written.unwrap().value).unwrap();
    /// let mut object = json::parse(b"{\"m\": 1}").unwrap().value;
    /// schema.prune(&mut object, None);
    /// schema.default(&mut object);
    /// assert_eq!(json::to_string(&object), r#"{"n":3}"#);
    /// ```
    pub fn compile(value: &Value) -> Result<Schema, Vec<FieldError>> {
        let props = props(value, &FieldPath::ROOT).map_err(|error| vec![error])?;
        Ok(Compiler::default().compile(&props))
    }
}

/// The nodes in use, by their fingerprints. Definitions of one origin have much in common, and all have the plain
/// string, the list of conditions and the like; what is equal is kept once, with the programs of its rules.
/// It decides nothing but how much memory schemas take.
static NODES: LazyLock<Mutex<Nodes>> = LazyLock::new(Mutex::default);

#[derive(Default)]
struct Nodes {
    known: HashMap<u64, Vec<Weak<Node>>>,
    /// Entries made since nodes that are no longer in use were last looked for.
    made: usize,
}

/// So few entries are never worth a look.
const NODES_SWEPT_FROM: usize = 4096;

impl Nodes {
    /// The node, or the equal one that was made before.
    fn share(&mut self, node: Node) -> Arc<Node> {
        let bucket = self.known.entry(fingerprint(&node)).or_default();
        bucket.retain(|known| known.strong_count() > 0);
        if let Some(known) = bucket.iter().filter_map(Weak::upgrade).find(|known| **known == node) {
            return known;
        }
        let node = Arc::new(node);
        bucket.push(Arc::downgrade(&node));
        self.made += 1;
        if self.made > NODES_SWEPT_FROM.max(self.known.len()) {
            self.known.retain(|_, bucket| bucket.iter().any(|known| known.strong_count() > 0));
            self.made = 0;
        }
        node
    }
}

/// Compiles schemas.
#[derive(Default)]
pub struct Compiler {
    patterns: HashMap<Text, Arc<Pattern>>,
    /// Defaults that pruning changed, by the address of the schema that has them.
    pruned: HashMap<usize, Option<Value>>,
}

impl Compiler {
    pub fn compile(&mut self, props: &Props<'_>) -> Schema {
        self.pruned.clear();
        let root = self.node(props);
        if !root.facts.has(Facts::DEFAULTS) {
            return Schema { root };
        }
        let mut pruned = HashMap::new();
        DefaultPruner { root: &root, steps: Vec::new(), pruned: &mut pruned }.visit(props, &root, true);
        if pruned.is_empty() {
            return Schema { root };
        }
        self.pruned = pruned;
        Schema { root: self.node(props) }
    }

    /// As [`Compiler::compile`], with the defaults as they are written: what is to be judged, not served.
    pub fn compile_unpruned(&mut self, props: &Props<'_>) -> Schema {
        self.pruned.clear();
        Schema { root: self.node(props) }
    }

    fn node(&mut self, props: &Props<'_>) -> Arc<Node> {
        let declared_types = Types::named(props.type_name);
        let types = if props.int_or_string { Types::INTEGER_OR_STRING } else { declared_types };
        let mut node = Node {
            types,
            declared_types,
            nullable: props.nullable,
            preserve_unknown: props.preserve_unknown == Some(true),
            embedded_resource: props.embedded_resource,
            int_or_string: props.int_or_string,
            list_type: match props.list_type {
                Some("set") => ListType::Set,
                Some("map") => ListType::Map,
                _ => ListType::Atomic,
            },
            map_type: if props.map_type == Some("atomic") { MapType::Atomic } else { MapType::Granular },
            facts: Facts::NONE,
            properties: props
                .properties
                .iter()
                .map(|(name, props)| ((*name).into(), self.node(props)))
                .collect(),
            additional: match &props.additional_properties {
                None => Additional::Unspecified,
                Some(PropsOrBool::Bool(false)) => Additional::Denied,
                Some(PropsOrBool::Bool(true)) => Additional::Allowed,
                Some(PropsOrBool::Props(props)) => Additional::Schema(self.node(props)),
            },
            items: props.items.as_ref().and_then(Items::single).map(|props| self.node(props)),
            list_map_keys: props.list_map_keys.iter().map(|key| Text::from(*key)).collect(),
            list_map_names: expr::field_names(&props.list_map_keys),
            default: self.default_of(props),
            checks: self.checks(props, types),
            rules: props.rules.iter().map(rule).collect(),
            owned: Owned::default(),
        };
        node.facts = facts(&node);
        NODES.lock().unwrap_or_else(PoisonError::into_inner).share(node)
    }

    fn default_of(&self, props: &Props<'_>) -> Option<Box<Value>> {
        match self.pruned.get(&address(props)) {
            Some(pruned) => pruned.clone().map(Box::new),
            None => props.default.cloned().map(Box::new),
        }
    }

    fn checks(&mut self, props: &Props<'_>, types: Types) -> Option<Box<Checks>> {
        let bound = |limit: Option<f64>, exclusive| limit.map(|limit| Bound { limit, exclusive });
        let values = props.one_of_values.filter(|values| !values.is_empty());
        let numbers = NumberChecks {
            maximum: bound(props.maximum, props.exclusive_maximum),
            minimum: bound(props.minimum, props.exclusive_minimum),
            multiple_of: props.multiple_of,
        };
        let sizes = SizeChecks {
            max_length: props.max_length,
            min_length: props.min_length,
            max_items: props.max_items,
            min_items: props.min_items,
            max_properties: props.max_properties,
            min_properties: props.min_properties,
        };
        let combined = Combined {
            all_of: props.all_of.iter().map(|props| self.node(props)).collect(),
            any_of: props.any_of.iter().map(|props| self.node(props)).collect(),
            one_of: props.one_of.iter().map(|props| self.node(props)).collect(),
            not: props.not.as_deref().map(|props| self.node(props)),
        };
        let checks = Checks {
            format: Format::of(props.format, types),
            format_as_written: props.format.into(),
            pattern: (!props.pattern.is_empty()).then(|| self.pattern(props.pattern)),
            one_of_values: values.map(|values| Box::new(Enum::new(values.to_vec()))),
            required: props.required.iter().map(|name| Text::from(*name)).collect(),
            unique_items: props.unique_items,
            numbers: unless_empty(numbers),
            sizes: unless_empty(sizes),
            combined: unless_empty(combined),
        };
        (checks != Checks::default()).then(|| Box::new(checks))
    }

    fn pattern(&mut self, source: &str) -> Arc<Pattern> {
        if let Some(pattern) = self.patterns.get(source) {
            return Arc::clone(pattern);
        }
        let pattern = Arc::new(Pattern::new(source));
        self.patterns.insert(source.into(), Arc::clone(&pattern));
        pattern
    }
}

fn rule(props: &RuleProps<'_>) -> Rule {
    Rule {
        rule: props.rule.into(),
        message: props.message.into(),
        message_expression: props.message_expression.into(),
        reason: props.reason.map(Text::from),
        field_path: props.field_path.into(),
        optional_old_self: props.optional_old_self,
    }
}

fn facts(node: &Node) -> Facts {
    let mut facts = Facts::NONE;
    let own = [
        (node.default.is_some(), Facts::DEFAULTS),
        (node.embedded_resource, Facts::EMBEDDED),
        (node.list_type != ListType::Atomic, Facts::LIST_TYPES),
        (!node.rules.is_empty(), Facts::RULES),
        (!node.types.is_empty() || node.checks.is_some(), Facts::DEMANDS),
        (matches!(node.additional, Additional::Denied), Facts::DEMANDS),
    ];
    for (_, fact) in own.into_iter().filter(|(holds, _)| *holds) {
        facts = facts.with(fact);
    }
    let children = node.properties.iter().map(|(_, node)| node);
    for child in children.chain(node.additional.schema()).chain(&node.items) {
        facts = facts.with(child.facts);
    }
    facts
}

/// A hash that equal nodes share; children count by their address because equal ones are already one.
fn fingerprint(node: &Node) -> u64 {
    let mut hasher = DefaultHasher::new();
    let address = |node: &Arc<Node>| Arc::as_ptr(node) as usize;
    (node.types, node.nullable, node.preserve_unknown, node.embedded_resource).hash(&mut hasher);
    (node.list_type, node.map_type, node.facts).hash(&mut hasher);
    for (name, child) in &node.properties {
        (name.as_str(), address(child)).hash(&mut hasher);
    }
    node.additional.schema().map(address).hash(&mut hasher);
    node.items.as_ref().map(address).hash(&mut hasher);
    node.rules.hash(&mut hasher);
    if let Some(checks) = &node.checks {
        checks.required.hash(&mut hasher);
        checks.sizes.hash(&mut hasher);
        checks.pattern.as_ref().map(|pattern| pattern.source.as_str()).hash(&mut hasher);
        checks.one_of_values.as_ref().map(|values| values.values.len()).hash(&mut hasher);
        if let Some(combined) = &checks.combined {
            let Combined { all_of, any_of, one_of, not } = &**combined;
            for child in all_of.iter().chain(any_of).chain(one_of).chain(not) {
                address(child).hash(&mut hasher);
            }
        }
    }
    hasher.finish()
}

fn address(props: &Props<'_>) -> usize {
    std::ptr::from_ref(props) as usize
}

/// One step from the root of an object to the place of a default.
#[derive(Clone, Copy)]
pub(crate) enum Step<'a> {
    Key(&'a str),
    Item,
}

/// Finds the defaults that pruning changes: each is put at its place in an otherwise empty object, the object is
/// pruned as a whole, and what is left at that place is the default.
struct DefaultPruner<'a> {
    root: &'a Arc<Node>,
    steps: Vec<Step<'a>>,
    pruned: &'a mut HashMap<usize, Option<Value>>,
}

impl<'a> DefaultPruner<'a> {
    fn visit(&mut self, props: &'a Props<'a>, node: &Node, is_root: bool) {
        if !node.facts.has(Facts::DEFAULTS) {
            return;
        }
        if let (Some(default), false) = (&node.default, is_root) {
            self.judge(props, default);
        }
        if let (Some(props), Some(node)) =
            (props.additional_properties.as_ref().and_then(PropsOrBool::props), node.additional.schema())
        {
            self.child(Step::Key("*"), props, node);
        }
        if let (Some(props), Some(node)) = (props.items.as_ref().and_then(Items::single), &node.items) {
            self.child(Step::Item, props, node);
        }
        for ((name, props), (_, node)) in props.properties.iter().zip(&node.properties) {
            self.child(Step::Key(name), props, node);
        }
    }

    fn child(&mut self, step: Step<'a>, props: &'a Props<'a>, node: &Node) {
        self.steps.push(step);
        self.visit(props, node, false);
        self.steps.pop();
    }

    fn judge(&mut self, props: &Props<'_>, default: &Value) {
        let mut object = surround(&self.steps, default.clone());
        coerce::repair(&mut object, self.root);
        prune::prune_defaults_in(&mut object, self.root);
        let left = extract(&self.steps, object);
        if left.as_ref() != Some(default) {
            self.pruned.insert(address(props), left);
        }
    }
}

/// An object that has nothing but `leaf` at the end of the steps.
pub(crate) fn surround(steps: &[Step<'_>], leaf: Value) -> Value {
    steps.iter().rev().fold(leaf, |value, step| match step {
        Step::Key(key) => [(*key, value)].into_iter().collect::<Map>().into(),
        Step::Item => vec![value].into(),
    })
}

fn extract(steps: &[Step<'_>], object: Value) -> Option<Value> {
    steps.iter().try_fold(object, |value, step| match (step, value) {
        (Step::Key(key), Value::Object(mut map)) => map.remove(key),
        (Step::Item, Value::Array(items)) => items.into_iter().next(),
        _ => None,
    })
}
