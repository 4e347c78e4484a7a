//! The rules of a node: as written, and compiled once they are needed.
//!
//! Most definitions have objects of few of their kinds, and many are never used at all, so nothing is compiled
//! before an object is to be judged. What was compiled stays.

use std::hash::{Hash, Hasher};
use std::ops::Deref;
use std::sync::OnceLock;

use super::compile::{Compiled, compile};
use super::host::Level;
use super::types::Declaration;
use crate::structural::{Node, Rule};

/// The `x-kubernetes-validations` of a node, in order. Equal when they are written the same.
#[derive(Debug, Default)]
pub struct Rules(Option<Box<RuleSet>>);

#[derive(Debug)]
struct RuleSet {
    written: Box<[Rule]>,
    inner: OnceLock<Programs>,
    /// For the root of a resource, which shows more than its schema says.
    root: OnceLock<Programs>,
}

/// Compiled rules in the order of the written ones; `None` when expressions cannot see the values at all.
pub(super) type Programs = Option<Box<[Compiled]>>;

impl Rules {
    /// The rules of `node`, which is the node that these are the rules of.
    pub(super) fn programs(&self, node: &Node, level: Level) -> Option<&[Compiled]> {
        let set = self.0.as_ref()?;
        let programs = match level {
            Level::Root => &set.root,
            Level::Inner => &set.inner,
        };
        let compiled = || Declaration::of(node, level).map(|declaration| compile(node, &declaration));
        programs.get_or_init(compiled).as_deref()
    }
}

impl Deref for Rules {
    type Target = [Rule];

    fn deref(&self) -> &[Rule] {
        self.0.as_ref().map_or(&[], |set| &set.written)
    }
}

impl FromIterator<Rule> for Rules {
    fn from_iter<I: IntoIterator<Item = Rule>>(rules: I) -> Self {
        let written: Box<[Rule]> = rules.into_iter().collect();
        if written.is_empty() {
            return Rules(None);
        }
        Rules(Some(Box::new(RuleSet { written, inner: OnceLock::new(), root: OnceLock::new() })))
    }
}

impl PartialEq for Rules {
    fn eq(&self, other: &Rules) -> bool {
        **self == **other
    }
}

impl Hash for Rules {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (**self).hash(state);
    }
}
