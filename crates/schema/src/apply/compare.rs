//! Which fields differ between two versions of an object: the walk behind every tracked write.
//!
//! One pass over both trees side by side. Nothing is allocated for what is equal; for what differs the
//! `FieldsV1` nodes are built directly. The walk also checks the differing parts against the type, because
//! ownership of an object that does not conform to its type is not recorded.
//!
//! Upstream: structured-merge-diff/v6/typed/compare.go, v1.36. Its `Added` and `Modified` are one set here,
//! since ownership never tells them apart.

use std::cmp::Ordering;

use meta::{Map, Text, Value};

use super::element;
use super::fieldset::{self, FieldSet};
use super::reset::{ResetFields, Skip};
use super::typed;
use super::typedef::{Field, ListDef, ListKind, MapDef, Shape, TypeDef, TypeRef};

/// The difference between two objects.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Delta {
    /// Added, or present in both with different values.
    pub changed: FieldSet,
    pub removed: FieldSet,
}

/// An object does not conform to its type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotConforming;

/// Compares the objects, without the fields of `reset`.
pub fn compare(
    ty: &TypeRef,
    old: Option<&Value>,
    new: Option<&Value>,
    reset: &ResetFields,
) -> Result<Delta, NotConforming> {
    walk(ty.def(), old, new, Some(reset.root())).map(Branches::into_delta)
}

/// Compares all fields, those of the system included.
pub(super) fn compare_all(
    ty: &TypeRef,
    old: Option<&Value>,
    new: Option<&Value>,
) -> Result<Delta, NotConforming> {
    walk(ty.def(), old, new, None).map(Branches::into_delta)
}

/// Whether two values are the same, a number being the same whether written as integer or float.
pub(super) fn same(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Float(_), Value::Int(_)) | (Value::Int(_), Value::Float(_)) => {
            element::as_float(left).partial_cmp(&element::as_float(right)) == Some(Ordering::Equal)
        }
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(left, right)| same(left, right))
        }
        (Value::Object(left), Value::Object(right)) => {
            let entries = || left.iter().zip(right.iter());
            left.len() == right.len() && entries().all(|((l, left), (r, right))| l == r && same(left, right))
        }
        _ => left == right,
    }
}

/// A `FieldsV1` node that is being built.
#[derive(Default)]
pub(super) struct Branch {
    pub member: bool,
    pub children: Vec<(Text, Value)>,
}

impl Branch {
    const fn leaf() -> Self {
        Branch { member: true, children: Vec::new() }
    }

    /// Makes room for the children of a member, after its mark.
    fn begin(&mut self, children: usize) {
        self.children.reserve_exact(children + 1);
        self.children.push(fieldset::mark());
    }

    /// Hangs a child on; `element` is called only when there is something to hang on.
    pub(super) fn push(&mut self, element: impl FnOnce() -> Text, child: Branch) {
        if let Some(node) = fieldset::node(child.children, child.member) {
            self.children.push((element(), Value::Object(node)));
        }
    }
}

#[derive(Default)]
struct Branches {
    changed: Branch,
    removed: Branch,
}

impl Branches {
    fn into_delta(self) -> Delta {
        Delta {
            changed: FieldSet::from_sorted(self.changed.children),
            removed: FieldSet::from_sorted(self.removed.children),
        }
    }
}

fn walk(
    def: &TypeDef,
    old: Option<&Value>,
    new: Option<&Value>,
    skip: Option<&Skip>,
) -> Result<Branches, NotConforming> {
    match (old, new) {
        (None, None) => Ok(Branches::default()),
        (None, Some(new)) => Ok(Branches { changed: one_sided(def, new, skip)?, ..Branches::default() }),
        (Some(old), None) => Ok(Branches { removed: one_sided(def, old, skip)?, ..Branches::default() }),
        (Some(old), Some(new)) => both(def, old, new, skip),
    }
}

/// Everything there is in a value: each container is a member beside its content.
fn one_sided(def: &TypeDef, value: &Value, skip: Option<&Skip>) -> Result<Branch, NotConforming> {
    let shape = conforming_shape(def, value)?;
    let mut branch = Branch::leaf();
    match (shape, value) {
        (Shape::Map, Value::Object(object)) => {
            let map = map_of(def);
            if map.atomic {
                deep_check(def, value)?;
            } else {
                branch.begin(object.len());
                members_of(map, object, skip, &mut branch)?;
            }
        }
        (Shape::List, Value::Array(items)) => {
            let list = list_of(def);
            match list.kind {
                ListKind::Atomic => deep_check(def, value)?,
                _ => items_of(list, items, &mut branch)?,
            }
        }
        _ => {}
    }
    Ok(branch)
}

fn members_of(
    map: &MapDef,
    object: &Map,
    skip: Option<&Skip>,
    branch: &mut Branch,
) -> Result<(), NotConforming> {
    let mut fields = Fields::of(map);
    for (name, value) in object.iter() {
        let below = skip.and_then(|skip| skip.member(name));
        let member = fields.find(name)?;
        if below.is_some_and(Skip::is_all) {
            deep_check(member.def, value)?;
            continue;
        }
        let child = one_sided(member.def, value, below)?;
        branch.push(|| member.element(name), hide(child, below));
    }
    Ok(())
}

fn items_of(list: &ListDef, items: &[Value], branch: &mut Branch) -> Result<(), NotConforming> {
    let items = keyed(list, items)?;
    branch.begin(items.len());
    let mut at = 0;
    while at < items.len() {
        let count = same_key(&items, at);
        let child =
            if count > 1 { Branch::leaf() } else { one_sided(list.element.def(), items[at].1, None)? };
        branch.push(|| items[at].0.clone(), child);
        at += count;
    }
    Ok(())
}

fn both(def: &TypeDef, old: &Value, new: &Value, skip: Option<&Skip>) -> Result<Branches, NotConforming> {
    let old_shape = conforming_shape(def, old)?;
    let new_shape = conforming_shape(def, new)?;
    let mut branches = by_shape(def, new_shape, old, new, skip)?;
    if old_shape != new_shape {
        // A value of unknown type changed its shape: the old shape's part goes, the new one's comes.
        let of_old = by_shape(def, old_shape, old, new, skip)?;
        unite(&mut branches.changed, of_old.changed);
        unite(&mut branches.removed, of_old.removed);
    }
    Ok(branches)
}

/// Compares under one shape; a side that has another shape counts as empty.
fn by_shape(
    def: &TypeDef,
    shape: Shape,
    old: &Value,
    new: &Value,
    skip: Option<&Skip>,
) -> Result<Branches, NotConforming> {
    match shape {
        Shape::Scalar => Ok(leaf(old, new)),
        Shape::List => {
            let list = list_of(def);
            let (old_items, new_items) =
                (old.as_array().unwrap_or_default(), new.as_array().unwrap_or_default());
            // Two empty sides are compared as leaves, so that null and [] stay apart.
            if matches!(list.kind, ListKind::Atomic) || old_items.is_empty() && new_items.is_empty() {
                return checked_leaf(def, old, new);
            }
            items(list, old_items, new_items)
        }
        Shape::Map => {
            let map = map_of(def);
            let (old_map, new_map) = (old.as_object(), new.as_object());
            if map.atomic || old_map.is_none_or(Map::is_empty) && new_map.is_none_or(Map::is_empty) {
                return checked_leaf(def, old, new);
            }
            members(map, old_map, new_map, skip)
        }
    }
}

fn leaf(old: &Value, new: &Value) -> Branches {
    let changed = Branch { member: !same(old, new), children: Vec::new() };
    Branches { changed, removed: Branch::default() }
}

fn checked_leaf(def: &TypeDef, old: &Value, new: &Value) -> Result<Branches, NotConforming> {
    let branches = leaf(old, new);
    if branches.changed.member {
        deep_check(def, old)?;
        deep_check(def, new)?;
    }
    Ok(branches)
}

fn members(
    map: &MapDef,
    old: Option<&Map>,
    new: Option<&Map>,
    skip: Option<&Skip>,
) -> Result<Branches, NotConforming> {
    let mut fields = Fields::of(map);
    let mut branches = Branches::default();
    for (name, old, new) in zip(old, new) {
        let below = skip.and_then(|skip| skip.member(name));
        let member = fields.find(name)?;
        if below.is_some_and(Skip::is_all) {
            new.map_or(Ok(()), |new| deep_check(member.def, new))?; // not recorded, but has to conform
            continue;
        }
        let child = walk(member.def, old, new, below)?;
        branches.changed.push(|| member.element(name), hide(child.changed, below));
        branches.removed.push(|| member.element(name), hide(child.removed, below));
    }
    Ok(branches)
}

/// `metadata` itself is nobody's, only what is in it.
fn hide(mut branch: Branch, below: Option<&Skip>) -> Branch {
    branch.member &= !below.is_some_and(Skip::hides_container);
    branch
}

fn items(list: &ListDef, old: &[Value], new: &[Value]) -> Result<Branches, NotConforming> {
    let mut branches = Branches::default();
    if old == new {
        return Ok(branches);
    }
    let (old, new) = (keyed(list, old)?, keyed(list, new)?);
    let (mut old_at, mut new_at) = (0, 0);
    while old_at < old.len() || new_at < new.len() {
        let order = match (old.get(old_at), new.get(new_at)) {
            (Some(old), Some(new)) => old.0.cmp(&new.0),
            (Some(_), None) => Ordering::Less,
            (None, _) => Ordering::Greater,
        };
        let old_count = if order.is_le() { same_key(&old, old_at) } else { 0 };
        let new_count = if order.is_ge() { same_key(&new, new_at) } else { 0 };
        let key = if order.is_le() { &old[old_at].0 } else { &new[new_at].0 };
        let old_items = &old[old_at..old_at + old_count];
        let new_items = &new[new_at..new_at + new_count];
        let child = item(list.element.def(), old_items, new_items)?;
        branches.changed.push(|| key.clone(), child.changed);
        branches.removed.push(|| key.clone(), child.removed);
        (old_at, new_at) = (old_at + old_count, new_at + new_count);
    }
    Ok(branches)
}

/// The items of one key. Duplicates are owned together, as one leaf.
fn item(def: &TypeDef, old: &[Keyed<'_>], new: &[Keyed<'_>]) -> Result<Branches, NotConforming> {
    match (old.len(), new.len()) {
        (0 | 1, 0 | 1) => walk(def, single(old), single(new), None),
        (2.., 2..) => {
            let equal = old.len() == new.len() && old.iter().zip(new).all(|(old, new)| same(old.1, new.1));
            let changed = Branch { member: !equal, children: Vec::new() };
            Ok(Branches { changed, removed: Branch::default() })
        }
        (2.., _) => {
            let mut branches = walk(def, None, single(new), None)?;
            branches.removed.member = true;
            Ok(branches)
        }
        (_, _) => {
            let mut branches = walk(def, single(old), None, None)?;
            branches.changed.member = true;
            Ok(branches)
        }
    }
}

fn single<'a>(items: &[Keyed<'a>]) -> Option<&'a Value> {
    if let [(_, item)] = items { Some(item) } else { None }
}

type Keyed<'a> = (Text, &'a Value);

/// The items with their elements, sorted; duplicates keep their order.
fn keyed<'a>(list: &ListDef, items: &'a [Value]) -> Result<Vec<Keyed<'a>>, NotConforming> {
    let mut keyed = Vec::with_capacity(items.len());
    for value in items {
        keyed.push((element::item(list, value).map_err(|_| NotConforming)?, value));
    }
    if !keyed.is_sorted_by(|left: &Keyed<'_>, right| left.0 <= right.0) {
        keyed.sort_by(|left, right| left.0.cmp(&right.0));
    }
    Ok(keyed)
}

fn same_key(items: &[Keyed<'_>], at: usize) -> usize {
    items[at..].iter().take_while(|item| item.0 == items[at].0).count()
}

fn unite(branch: &mut Branch, other: Branch) {
    branch.member |= other.member;
    if !other.children.is_empty() {
        let mut set = FieldSet::from_sorted(std::mem::take(&mut branch.children));
        set.union(FieldSet::from_sorted(other.children));
        branch.children = std::mem::take(set.root_mut()).into_entries();
    }
}

fn conforming_shape(def: &TypeDef, value: &Value) -> Result<Shape, NotConforming> {
    let shape = def.shape_of(value).ok_or(NotConforming)?;
    if typed::takes(def, shape, value) { Ok(shape) } else { Err(NotConforming) }
}

/// The content of a leaf is compared as a whole, but has to conform all the same.
fn deep_check(def: &TypeDef, value: &Value) -> Result<(), NotConforming> {
    if typed::conforms(def, value) { Ok(()) } else { Err(NotConforming) }
}

fn map_of(def: &TypeDef) -> &MapDef {
    def.map.as_ref().expect("the shape was chosen among those the type takes")
}

fn list_of(def: &TypeDef) -> &ListDef {
    def.list.as_ref().expect("the shape was chosen among those the type takes")
}

/// Finds the types of members asked for in ascending order, by walking along the sorted fields.
pub(super) struct Fields<'a> {
    map: &'a MapDef,
    at: usize,
}

impl<'a> Fields<'a> {
    /// Above this many fields between two members a search is cheaper than stepping.
    const STEPS: usize = 16;

    pub(super) fn of(map: &'a MapDef) -> Self {
        Fields { map, at: 0 }
    }

    pub(super) fn find(&mut self, name: &str) -> Result<Member<'a>, NotConforming> {
        let rest = &self.map.fields()[self.at..];
        for (step, field) in rest.iter().enumerate() {
            if step == Self::STEPS {
                return self.map.field(name).map_or_else(|| self.additional(), |field| Ok(Member::of(field)));
            }
            match field.name.as_str().cmp(name) {
                Ordering::Less => {}
                Ordering::Equal => {
                    self.at += step + 1;
                    return Ok(Member::of(field));
                }
                Ordering::Greater => {
                    self.at += step;
                    return self.additional();
                }
            }
        }
        self.at += rest.len();
        self.additional()
    }

    fn additional(&self) -> Result<Member<'a>, NotConforming> {
        let additional = self.map.additional.as_ref().ok_or(NotConforming)?;
        Ok(Member { def: additional.def(), field: None })
    }
}

/// The type of a member, and its field when it is declared.
#[derive(Clone, Copy)]
pub(super) struct Member<'a> {
    pub def: &'a TypeDef,
    pub field: Option<&'a Field>,
}

impl<'a> Member<'a> {
    fn of(field: &'a Field) -> Self {
        Member { def: field.ty.def(), field: Some(field) }
    }

    pub(super) fn element(&self, name: &str) -> Text {
        self.field.map_or_else(|| element::field(name), |field| field.element.clone())
    }
}

/// The members of two objects side by side, in order.
fn zip<'a>(
    old: Option<&'a Map>,
    new: Option<&'a Map>,
) -> impl Iterator<Item = (&'a str, Option<&'a Value>, Option<&'a Value>)> {
    let mut old = old.into_iter().flat_map(Map::iter).peekable();
    let mut new = new.into_iter().flat_map(Map::iter).peekable();
    std::iter::from_fn(move || {
        let order = match (old.peek(), new.peek()) {
            (Some(old), Some(new)) => old.0.cmp(new.0),
            (Some(_), None) => Ordering::Less,
            (None, _) => Ordering::Greater,
        };
        let old = if order.is_le() { old.next() } else { None };
        let new = if order.is_ge() { new.next() } else { None };
        let (name, _) = old.or(new)?;
        Some((name, old.map(|(_, value)| value), new.map(|(_, value)| value)))
    })
}
