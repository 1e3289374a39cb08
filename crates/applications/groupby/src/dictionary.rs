//! Ids of texts and numbers, in the order of first appearance.

use std::borrow::Borrow;
use std::collections::HashMap;
use std::hash::Hash;

/// The id of each distinct entry. Ids of 32 bits suffice, because a table has no more rows than
/// that.
#[derive(Clone, Debug)]
pub struct Dictionary<T> {
    ids: HashMap<T, u32>,
    entries: Vec<T>,
}

impl<T> Default for Dictionary<T> {
    fn default() -> Self {
        Self { ids: HashMap::new(), entries: Vec::new() }
    }
}

impl<T: Clone + Eq + Hash> Dictionary<T> {
    /// Returns the id of an entry, and adds the entry if it is new.
    pub fn id<Q>(&mut self, entry: &Q) -> u32
    where
        T: Borrow<Q> + for<'q> From<&'q Q>,
        Q: Eq + Hash + ?Sized,
    {
        if let Some(&id) = self.ids.get(entry) {
            return id;
        }
        let (id, entry) = (self.entries.len() as u32, T::from(entry));
        self.entries.push(entry.clone());
        self.ids.insert(entry, id);
        id
    }

    /// Returns the entries in the order of their ids.
    pub fn entries(&self) -> &[T] {
        &self.entries
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn ids_follow_the_first_appearance() {
        let mut dictionary = Dictionary::<Arc<str>>::default();
        let ids = ["b", "a", "b", "", "a", "c"].map(|text| dictionary.id(text));
        assert_eq!(ids, [0, 1, 0, 2, 1, 3]);
        assert_eq!(dictionary.entries().iter().map(|text| &**text).collect::<Vec<_>>(), ["b", "a", "", "c"]);
    }
}
