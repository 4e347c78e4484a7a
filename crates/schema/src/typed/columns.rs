//! Tables of built-in kinds: what `kubectl get` shows.
//!
//! Cells are computed from an object as it is served. Columns with a priority above zero are for wide output; their
//! cells are always there.
//!
//! Upstream: kubernetes/pkg/printers/internalversion/printers.go; apiserver/pkg/registry/rest/table.go;
//! kube-aggregator/pkg/registry/apiservice/etcd/etcd.go, v1.36.

mod cells;
mod definitions;

use meta::Value;

pub use cells::human_duration;

/// A column of a table, as the Table kind describes it.
#[derive(Debug, PartialEq, Eq)]
pub struct Column {
    pub name: &'static str,
    pub kind: &'static str,
    pub format: &'static str,
    pub priority: i32,
    pub description: &'static str,
}

type Cells = fn(&Value, i64) -> Vec<Value>;

/// The columns of one kind and what fills them.
#[derive(Clone, Copy)]
pub(super) struct Columns {
    definitions: &'static [Column],
    cells: Cells,
}

impl Columns {
    pub(super) fn of(group: &str, kind: &str) -> Columns {
        definitions::of(group, kind)
    }

    pub(super) fn definitions(self) -> &'static [Column] {
        self.definitions
    }

    pub(super) fn cells(self, object: &Value, now: i64) -> Vec<Value> {
        (self.cells)(object, now)
    }
}

#[cfg(test)]
mod tests;
