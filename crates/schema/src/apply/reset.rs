//! The fields whose ownership is not recorded.
//!
//! Some belong to the system in every object (`kind`, `metadata.name`, …); others are put back by the
//! server whatever a request says, such as `status` in a write to the main resource. A walk skips them.
//!
//! Upstream: managedfields/internal/stripmeta.go, rest.ResetFieldsStrategy, v1.36.

use std::sync::{Arc, LazyLock};

use meta::Text;

use super::fieldset::FieldSet;

/// Recorded for nobody: they identify the object or are set by the server.
const SYSTEM: &[&[&str]] = &[
    &["apiVersion"],
    &["kind"],
    &["metadata", "clusterName"],
    &["metadata", "creationTimestamp"],
    &["metadata", "generation"],
    &["metadata", "managedFields"],
    &["metadata", "name"],
    &["metadata", "namespace"],
    &["metadata", "resourceVersion"],
    &["metadata", "selfLink"],
    &["metadata", "uid"],
];

/// Removes the system's own fields from a set; `metadata` as such counts as one.
pub(super) fn strip_system(fields: &mut FieldSet) {
    static STRIPPED: LazyLock<FieldSet> =
        LazyLock::new(|| FieldSet::of_fields(SYSTEM.iter().copied().chain([["metadata"].as_slice()])));
    fields.subtract(&STRIPPED);
}

/// Field paths to skip; always includes the system's own. Cheap to clone.
#[derive(Clone, Debug)]
pub struct ResetFields(Arc<Skips>);

#[derive(Debug)]
struct Skips {
    root: Skip,
    /// Without the system's own.
    given: Skip,
}

/// Invariant: `below` is strictly ascending by name.
#[derive(Clone, Debug, Default)]
pub(super) struct Skip {
    /// The field itself with everything below it.
    all: bool,
    /// The field itself, but not what is below it.
    container: bool,
    below: Vec<(Text, Skip)>,
}

impl ResetFields {
    /// ```
    /// use crest_schema::apply::ResetFields;
    /// let main = ResetFields::new(&[&["status"]]);
    /// let status = ResetFields::new(&[&["metadata"], &["spec"]]);
    /// # let _ = (main, status);
    /// ```
    pub fn new(paths: &[&[&str]]) -> Self {
        let mut given = Skip::default();
        for path in paths {
            given.add(path);
        }
        let mut root = given.clone();
        for path in SYSTEM {
            root.add(path);
        }
        root.enter("metadata").container = true;
        ResetFields(Arc::new(Skips { root, given }))
    }

    /// Only the system's own fields.
    pub fn none() -> &'static Self {
        static NONE: LazyLock<ResetFields> = LazyLock::new(|| ResetFields::new(&[]));
        &NONE
    }

    pub(super) fn root(&self) -> &Skip {
        &self.0.root
    }

    pub(super) fn root_with_system(&self) -> &Skip {
        &self.0.given
    }
}

impl Skip {
    fn add(&mut self, path: &[&str]) {
        let Some((first, rest)) = path.split_first() else {
            self.all = true;
            return;
        };
        self.enter(first).add(rest);
    }

    fn enter(&mut self, name: &str) -> &mut Skip {
        let index = match self.below.binary_search_by(|(candidate, _)| candidate.as_str().cmp(name)) {
            Ok(index) => index,
            Err(index) => {
                self.below.insert(index, (Text::from(name), Skip::default()));
                index
            }
        };
        &mut self.below[index].1
    }

    pub(super) fn is_all(&self) -> bool {
        self.all
    }

    pub(super) fn hides_container(&self) -> bool {
        self.container
    }

    /// What to skip within a member.
    pub(super) fn member(&self, name: &str) -> Option<&Skip> {
        let index = self.below.binary_search_by(|(candidate, _)| candidate.as_str().cmp(name)).ok()?;
        Some(&self.below[index].1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_skipped_parent_covers_the_system_fields_below_it() {
        let status = ResetFields::new(&[&["metadata"], &["spec"]]);
        assert!(status.root().member("metadata").unwrap().is_all());
        assert!(status.root().member("spec").unwrap().is_all());
        assert!(status.root().member("status").is_none());
        let metadata = ResetFields::none().root().member("metadata").unwrap();
        assert!(!metadata.is_all());
        assert!(metadata.member("uid").unwrap().is_all());
        assert!(metadata.member("labels").is_none());
    }
}
