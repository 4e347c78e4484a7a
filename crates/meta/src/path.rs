//! Where in an object something is: `spec.items[0].name`, `metadata.labels[a/b]`.
//!
//! A path is a chain of borrowed steps on the stack, so that walking an object allocates nothing;
//! it becomes text only when an error is made.

use std::fmt;

/// One step of a path and the way back to the root.
#[derive(Clone, Copy, Debug)]
pub struct FieldPath<'a> {
    parent: Option<&'a FieldPath<'a>>,
    step: Step<'a>,
}

#[derive(Clone, Copy, Debug)]
enum Step<'a> {
    Root,
    /// `.name`, as for a declared field.
    Field(&'a str),
    /// `[key]`, as for an entry of a map.
    Key(&'a str),
    /// `[3]`
    Index(usize),
}

impl<'a> FieldPath<'a> {
    /// The path of the object itself; it prints as nothing.
    pub const ROOT: FieldPath<'static> = FieldPath { parent: None, step: Step::Root };

    /// ```
    /// use crest_meta::FieldPath;
    /// let spec = FieldPath::ROOT.field("spec");
    /// let items = spec.field("items");
    /// let item = items.index(2);
    /// assert_eq!(item.key("a/b").to_string(), "spec.items[2][a/b]");
    /// ```
    #[must_use]
    pub fn field(&'a self, name: &'a str) -> FieldPath<'a> {
        FieldPath { parent: Some(self), step: Step::Field(name) }
    }

    #[must_use]
    pub fn key(&'a self, key: &'a str) -> FieldPath<'a> {
        FieldPath { parent: Some(self), step: Step::Key(key) }
    }

    #[must_use]
    pub fn index(&'a self, index: usize) -> FieldPath<'a> {
        FieldPath { parent: Some(self), step: Step::Index(index) }
    }

    pub fn is_root(&self) -> bool {
        matches!(self.step, Step::Root)
    }
}

impl fmt::Display for FieldPath<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(parent) = self.parent {
            parent.fmt(f)?;
        }
        match self.step {
            Step::Root => Ok(()),
            Step::Field(name) => {
                let first = self.parent.is_none_or(FieldPath::is_root);
                if first { f.write_str(name) } else { write!(f, ".{name}") }
            }
            Step::Key(key) => write!(f, "[{key}]"),
            Step::Index(index) => write!(f, "[{index}]"),
        }
    }
}
