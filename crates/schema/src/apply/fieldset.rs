//! Sets of field paths, kept as the `FieldsV1` document that the API shows.
//!
//! A set is a tree of path elements (see [`super::element`]). A node without children is a member; a node
//! with children is a member only when it also holds the element `.`. Nodes that are neither do not exist.
//! Because the tree is the document, reading and writing a set costs nothing, and the ownership of an
//! object is changed in place.
//!
//! DIFFERENCE: elements appear in the order of their texts, as the reference does for custom resources; for
//! its own kinds it orders numbers by size. [`FieldSet::to_json`] does the latter.
//!
//! All operations are member by member: removing a parent leaves its children, except where the name says
//! `recursive`.
//!
//! Upstream: structured-merge-diff/v6/fieldpath/{set,serialize}.go, v1.36.

use std::fmt;

use meta::{Map, Text, Value};

use super::element::{self, ElementError, PathElement};

/// Marks a node with children as a member.
const SELF: &str = ".";

/// Invariant: every node is an object; no node other than the root is an empty non-member.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FieldSet {
    root: Map,
}

/// The text is no `FieldsV1` document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldsError(String);

impl fmt::Display for FieldsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for FieldsError {}

impl FieldSet {
    pub fn new() -> Self {
        FieldSet::default()
    }

    /// Takes a document that this module wrote; what is no object counts as a leaf.
    pub fn trusted(document: Value) -> Self {
        match document {
            Value::Object(root) => FieldSet { root },
            _ => FieldSet::default(),
        }
    }

    /// Takes a document from elsewhere: elements are brought into canonical form, those of unknown types are
    /// dropped, and anything else is an error.
    ///
    /// ```
    /// use crest_schema::apply::FieldSet;
    /// let read = |text: &[u8]| FieldSet::from_value(meta::wire::json::parse(text).unwrap().value);
    /// let set = read(br#"{"f:a":{"k:{ \"n\": 1 }":{}},"x:future":{}}"#).unwrap();
    /// assert_eq!(set.to_string(), ".a[n=1]");
    /// assert!(read(br#"{"junk":{}}"#).is_err());
    /// ```
    pub fn from_value(document: Value) -> Result<Self, FieldsError> {
        let mut root = read_node(document)?;
        root.remove(SELF); // nobody owns the whole object
        Ok(FieldSet { root })
    }

    pub fn as_map(&self) -> &Map {
        &self.root
    }

    /// The `FieldsV1` document.
    pub fn into_value(self) -> Value {
        Value::Object(self.root)
    }

    /// `FieldsV1` bytes with the elements in the reference's order, which sorts numbers by size.
    pub fn to_json(&self) -> String {
        let mut out = String::new();
        write_node(&self.root, &mut out);
        out
    }

    /// Takes the children of the root, whose mark does not count.
    pub(super) fn from_sorted(children: Vec<(Text, Value)>) -> Self {
        FieldSet { root: node(children, false).unwrap_or_default() }
    }

    pub fn is_empty(&self) -> bool {
        self.root.is_empty()
    }

    /// The number of members.
    pub fn len(&self) -> usize {
        let mut members = 0;
        self.for_each(&mut |_| members += 1);
        members
    }

    /// Adds one path of encoded elements; its parents do not become members. The empty path is no member.
    pub fn insert<E: AsRef<str>>(&mut self, path: &[E]) {
        let Some((last, parents)) = path.split_last() else { return };
        let mut node = &mut self.root;
        for element in parents {
            node = descend(node, element.as_ref());
        }
        match node.get_mut(last.as_ref()).and_then(Value::as_object_mut) {
            None => _ = node.insert(last.as_ref(), Map::new()),
            Some(found) if !is_member(found) => _ = found.insert(SELF, Map::new()),
            Some(_) => {}
        }
    }

    /// A set of field-name paths.
    pub fn of_fields<'a>(paths: impl IntoIterator<Item = &'a [&'a str]>) -> Self {
        let mut set = FieldSet::new();
        for path in paths {
            let elements: Vec<Text> = path.iter().map(|name| element::field(name)).collect();
            set.insert(&elements);
        }
        set
    }

    pub fn contains<E: AsRef<str>>(&self, path: &[E]) -> bool {
        let mut node = &self.root;
        for element in path {
            match node.get(element.as_ref()).and_then(Value::as_object) {
                Some(child) => node = child,
                None => return false,
            }
        }
        !path.is_empty() && is_member(node)
    }

    pub fn union(&mut self, other: FieldSet) {
        merge_children(&mut self.root, other.root);
    }

    pub fn subtract(&mut self, other: &FieldSet) {
        subtract_children(&mut self.root, &other.root);
    }

    /// Removes each path of `other` with everything below it.
    pub fn subtract_recursive(&mut self, other: &FieldSet) {
        subtract_trees(&mut self.root, &other.root);
    }

    #[must_use]
    pub fn intersection(&self, other: &FieldSet) -> FieldSet {
        FieldSet { root: common_children(&self.root, &other.root) }
    }

    /// Whether every member of this set is one of `other`.
    pub fn is_subset(&self, other: &FieldSet) -> bool {
        children_within(&self.root, &other.root)
    }

    /// The members that have no member below them.
    #[must_use]
    pub fn leaves(&self) -> FieldSet {
        let mut leaves = self.clone();
        drop_inner_members(&mut leaves.root);
        leaves
    }

    /// Visits each member, at every level the members before what is below them, in the reference's order.
    pub fn for_each(&self, visit: &mut dyn FnMut(&[&str])) {
        visit_members(&self.root, &mut Vec::new(), visit);
    }

    /// Each member as the reference prints paths.
    pub fn paths(&self) -> Vec<String> {
        let mut paths = Vec::new();
        self.for_each(&mut |path| paths.push(path.iter().map(|text| element::display(text)).collect()));
        paths
    }

    pub(super) fn root_mut(&mut self) -> &mut Map {
        &mut self.root
    }
}

/// One path per line.
impl fmt::Display for FieldSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.paths().join("\n"))
    }
}

pub(super) fn is_member(node: &Map) -> bool {
    node.is_empty() || node.contains_key(SELF)
}

pub(super) fn has_children(node: &Map) -> bool {
    node.len() > usize::from(node.contains_key(SELF))
}

/// The children of a node, without the mark.
pub(super) fn children(node: &Map) -> impl Iterator<Item = (&str, &Value)> {
    node.iter().filter(|(element, _)| *element != SELF)
}

/// Brings the mark of a node in line with its membership, or says that the node has to go.
fn settle(node: &mut Map, member: bool) -> bool {
    let marked = node.contains_key(SELF);
    let inner = node.len() > usize::from(marked);
    match (inner, member) {
        (true, true) if !marked => _ = node.insert(SELF, Map::new()),
        (true, false) | (false, true) if marked => _ = node.remove(SELF),
        _ => {}
    }
    inner || member
}

/// The mark of a node as a member, to be put before its children.
pub(super) fn mark() -> (Text, Value) {
    (Text::const_new(SELF), Value::Object(Map::new()))
}

/// Makes the content of a node that is built from parts; `None` when nothing is left of it. The children of
/// a member may already begin with the mark.
pub(super) fn node(mut children: Vec<(Text, Value)>, member: bool) -> Option<Map> {
    let marked = children.first().is_some_and(|(element, _)| element == SELF);
    if children.len() == usize::from(marked) {
        return member.then(Map::new);
    }
    match (member, marked) {
        (true, false) => children.insert(0, mark()),
        (false, true) => _ = children.remove(0),
        _ => {}
    }
    Some(Map::from_entries(children))
}

/// The child for a path to go through; a leaf on the way stays a member.
fn descend<'a>(node: &'a mut Map, element: &str) -> &'a mut Map {
    if let Some(Value::Object(leaf)) = node.get_mut(element)
        && leaf.is_empty()
    {
        leaf.insert(SELF, Map::new());
    }
    let child = node.get_or_insert_with(element, || Value::Object(Map::new()));
    if child.as_object().is_none() {
        *child = Value::Object(Map::new());
    }
    child.as_object_mut().expect("was made an object above")
}

fn merge_children(node: &mut Map, other: Map) {
    if node.is_empty() {
        *node = other;
        return;
    }
    let mut left = std::mem::take(node).into_entries().into_iter().peekable();
    let mut right = other.into_entries().into_iter().peekable();
    let mut merged = Vec::with_capacity(left.len().max(right.len()));
    while let (Some((left_key, _)), Some((right_key, _))) = (left.peek(), right.peek()) {
        match left_key.cmp(right_key) {
            std::cmp::Ordering::Less => merged.extend(left.next()),
            std::cmp::Ordering::Greater => merged.extend(right.next()),
            std::cmp::Ordering::Equal => {
                let both = left.next().zip(right.next());
                merged.extend(both.map(|((key, left), (_, right))| (key, merge_nodes(left, right))));
            }
        }
    }
    merged.extend(left);
    merged.extend(right);
    *node = Map::from_entries(merged);
}

fn merge_nodes(left: Value, right: Value) -> Value {
    match (left, right) {
        (Value::Object(mut left), Value::Object(right)) => {
            let member = is_member(&left) || is_member(&right);
            merge_children(&mut left, right);
            settle(&mut left, member);
            Value::Object(left)
        }
        (left, _) => left,
    }
}

fn subtract_children(node: &mut Map, other: &Map) {
    if other.is_empty() {
        return;
    }
    node.retain(|element, child| {
        if element == SELF {
            return true;
        }
        match (child.as_object_mut(), other.get(element).and_then(Value::as_object)) {
            (Some(child), Some(other)) => {
                let member = is_member(child) && !is_member(other);
                subtract_children(child, other);
                settle(child, member)
            }
            _ => true,
        }
    });
}

fn subtract_trees(node: &mut Map, other: &Map) {
    node.retain(|element, child| {
        if element == SELF {
            return true;
        }
        match (child.as_object_mut(), other.get(element).and_then(Value::as_object)) {
            (Some(_), Some(other)) if is_member(other) => false,
            (Some(child), Some(other)) => {
                let member = is_member(child);
                subtract_trees(child, other);
                settle(child, member)
            }
            _ => true,
        }
    });
}

fn common_children(left: &Map, right: &Map) -> Map {
    let common = children(left).filter_map(|(element, left)| {
        let (left, right) = (left.as_object()?, right.get(element)?.as_object()?);
        let member = is_member(left) && is_member(right);
        let mut common = common_children(left, right);
        settle(&mut common, member).then(|| (Text::from(element), Value::Object(common)))
    });
    common.collect()
}

fn children_within(node: &Map, other: &Map) -> bool {
    children(node).all(|(element, child)| {
        match (child.as_object(), other.get(element).and_then(Value::as_object)) {
            (Some(child), Some(other)) => {
                (is_member(other) || !is_member(child)) && children_within(child, other)
            }
            _ => false,
        }
    })
}

fn drop_inner_members(node: &mut Map) {
    node.remove(SELF);
    for (_, child) in node.iter_mut() {
        child.as_object_mut().into_iter().for_each(drop_inner_members);
    }
}

/// Children in the reference's order. The order of the texts is the same unless there are list items.
fn ordered(node: &Map) -> Vec<(&str, &Map)> {
    let nodes = children(node).filter_map(|(element, child)| Some((element, child.as_object()?)));
    let mut ordered: Vec<(&str, &Map)> = nodes.collect();
    if ordered.iter().any(|(element, _)| !element.starts_with("f:")) {
        let parse = |element: &str| PathElement::parse(element).unwrap_or(PathElement::Index(i64::MAX));
        let mut parsed: Vec<_> = ordered.into_iter().map(|entry| (parse(entry.0), entry)).collect();
        parsed.sort_by(|left, right| left.0.order(&right.0));
        ordered = parsed.into_iter().map(|(_, entry)| entry).collect();
    }
    ordered
}

fn visit_members<'a>(node: &'a Map, path: &mut Vec<&'a str>, visit: &mut dyn FnMut(&[&str])) {
    let ordered = ordered(node);
    for (element, child) in &ordered {
        if is_member(child) {
            path.push(element);
            visit(path);
            path.pop();
        }
    }
    for (element, child) in ordered {
        if has_children(child) {
            path.push(element);
            visit_members(child, path, visit);
            path.pop();
        }
    }
}

fn write_node(node: &Map, out: &mut String) {
    out.push('{');
    let mut first = true;
    let mut separate = |out: &mut String| {
        if !std::mem::take(&mut first) {
            out.push(',');
        }
    };
    if node.contains_key(SELF) {
        separate(out);
        out.push_str("\".\":{}");
    }
    for (element, child) in ordered(node) {
        separate(out);
        element::write_json_string(element, out);
        out.push(':');
        write_node(child, out);
    }
    out.push('}');
}

fn read_node(document: Value) -> Result<Map, FieldsError> {
    let entries = match document {
        Value::Object(map) => map.into_entries(),
        Value::Null => Vec::new(),
        other => return Err(FieldsError(format!("expected an object, got {}", other.type_name()))),
    };
    let mut member = false;
    let mut read: Vec<(Text, Value)> = Vec::with_capacity(entries.len());
    for (text, child) in entries {
        if text == SELF {
            member = true;
            continue;
        }
        match PathElement::parse(&text) {
            Ok(element) => read.push((element.encode(), Value::Object(read_node(child)?))),
            Err(ElementError::UnknownType) => {}
            Err(ElementError::Malformed) => {
                return Err(FieldsError(format!("parsing key as path element: {text}")));
            }
        }
    }
    let member = member || read.is_empty();
    let mut content = Map::from_entries(read);
    settle(&mut content, member);
    Ok(content)
}

#[cfg(test)]
mod tests;
