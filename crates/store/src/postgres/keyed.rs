//! The last change of a plan to each row of a table: put or removed.

use std::collections::BTreeMap;

/// Changes by key. Later ones replace earlier ones.
pub(super) struct Keyed<K, R>(BTreeMap<K, Option<R>>);

impl<K, R> Default for Keyed<K, R> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<K: Ord, R> Keyed<K, R> {
    pub(super) fn put(&mut self, key: K, row: R) {
        self.0.insert(key, Some(row));
    }

    pub(super) fn delete(&mut self, key: K) {
        self.0.insert(key, None);
    }

    /// Forgets puts of rows that a statement about many rows removes from the table.
    pub(super) fn forget(&mut self, is_removed: impl Fn(&K, &R) -> bool) {
        self.0.retain(|key, row| !row.as_ref().is_some_and(|row| is_removed(key, row)));
    }

    /// The rows that are put, to be changed.
    pub(super) fn put_mut(&mut self) -> impl Iterator<Item = (&K, &mut R)> {
        self.0.iter_mut().filter_map(|(key, row)| Some((key, row.as_mut()?)))
    }

    /// Rows to write, in the order of their keys.
    pub(super) fn puts(&self) -> Vec<(&K, &R)> {
        self.0.iter().filter_map(|(key, row)| Some((key, row.as_ref()?))).collect()
    }

    /// Keys of rows to remove.
    pub(super) fn deletes(&self) -> Vec<&K> {
        self.0.iter().filter(|(_, row)| row.is_none()).map(|(key, _)| key).collect()
    }
}
