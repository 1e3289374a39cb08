//! Pairs whose keys occur equally often, and the expected answers of tables of these pairs.

use crate::bench::input::{key, shuffle};

/// `n` pairs of `distinct` keys. Pair `i` has the key with index `i % distinct`, and the value `i`.
pub struct Repeated {
    n: u32,
    distinct: u32,
    /// The indices of the keys, in ascending order of the keys.
    order: Vec<u32>,
    /// The rank of each key, in the order of the indices.
    ranks: Vec<u32>,
    /// The offset of each key's first pair among pairs sorted by key, in the order of the indices.
    starts: Vec<u32>,
}

impl Repeated {
    /// Makes `n` pairs in which each key occurs `multiplicity` times, or one time less.
    pub fn new(n: u32, multiplicity: u32) -> Self {
        let distinct = n.div_ceil(multiplicity);
        let mut order: Vec<u32> = (0..distinct).collect();
        order.sort_unstable_by_key(|&number| key::<u32>(number as u64));
        let mut repeated =
            Self { n, distinct, order, ranks: vec![0; distinct as usize], starts: vec![0; distinct as usize] };
        let mut start = 0;
        for (place, &number) in (0..).zip(&repeated.order) {
            repeated.ranks[number as usize] = place;
            repeated.starts[number as usize] = start;
            start += repeated.count(number);
        }
        repeated
    }

    /// Returns the number of pairs whose key has the index `number`.
    fn count(&self, number: u32) -> u32 {
        (self.n - number).div_ceil(self.distinct)
    }

    pub fn keys(&self) -> Vec<u32> {
        keys(&(0..self.n).map(|pair| pair % self.distinct).collect::<Vec<_>>())
    }

    pub fn values(&self) -> Vec<u32> {
        (0..self.n).collect()
    }

    /// Returns the key index of each pair, in random order.
    pub fn queries_for_pairs(&self) -> Vec<u32> {
        let mut numbers: Vec<u32> = (0..self.n).map(|pair| pair % self.distinct).collect();
        shuffle(&mut numbers);
        numbers
    }

    /// Returns the index of each key once, in random order.
    pub fn queries_for_keys(&self) -> Vec<u32> {
        let mut numbers: Vec<u32> = (0..self.distinct).collect();
        shuffle(&mut numbers);
        numbers
    }

    /// Returns the values of the key with an index, in the order of the input.
    fn values_of(&self, number: u32) -> impl Iterator<Item = u32> {
        (number..self.n).step_by(self.distinct as usize)
    }

    /// Returns the number of wrong values. `values` should be the values of all pairs, sorted by
    /// key.
    pub fn wrong_values(&self, values: &[u32]) -> u64 {
        differences(self.order.iter().flat_map(|&number| self.values_of(number)), values)
    }

    /// Returns the number of wrong offsets and values that were retrieved for keys with the indices
    /// `queries`.
    pub fn wrong_retrieved(&self, queries: &[u32], offsets: &[u64], values: &[u32]) -> u64 {
        let mut end = 0u64;
        let ends = queries.iter().map(|&number| {
            end += self.count(number) as u64;
            end
        });
        differences(std::iter::once(0).chain(ends), offsets)
            + differences(queries.iter().flat_map(|&number| self.values_of(number)), values)
    }

    /// Returns the number of wrong ranks of keys with the indices `queries`.
    pub fn wrong_ranks(&self, queries: &[u32], ranks: &[u32]) -> u64 {
        differences(queries.iter().map(|&number| self.ranks[number as usize]), ranks)
    }

    /// Returns the number of wrong starts and ends of the pairs of the queried keys, among pairs
    /// that are sorted by key.
    pub fn wrong_runs(&self, queries: &[u32], starts: &[u32], ends: impl Iterator<Item = u32>) -> u64 {
        let begin = |number: &u32| self.starts[*number as usize];
        let expected_ends = queries.iter().map(|number| begin(number) + self.count(*number));
        let ends: Vec<u32> = ends.collect();
        differences(queries.iter().map(begin), starts) + differences(expected_ends, &ends)
    }

    /// Returns the number of wrong groups of values. A group is the range of one queried key, from
    /// `starts` up to `ends`.
    ///
    /// A group is right if it has the expected number of `values`, and the expected first and last
    /// value.
    pub fn wrong_groups(
        &self,
        queries: &[u32],
        starts: &[u32],
        ends: impl Iterator<Item = u32>,
        values: &[u32],
    ) -> u64 {
        let found = starts.iter().zip(ends).map(|(&start, end)| {
            let group = values.get(start as usize..end as usize)?;
            Some((group.len() as u32, *group.first()?, *group.last()?))
        });
        let expected = queries.iter().map(|&number| {
            let count = self.count(number);
            Some((count, number, number + (count - 1) * self.distinct))
        });
        differences(expected, &found.collect::<Vec<_>>())
    }

    /// Returns the number of queried keys that have no id or another key's id. `keys` are in the
    /// order of their ids.
    pub fn wrong_ids(&self, queries: &[u32], ids: &[Option<u32>], keys: &[u32]) -> u64 {
        let key_of = |id: &Option<u32>| keys.get((*id)? as usize).copied();
        let answered: Vec<Option<u32>> = ids.iter().map(key_of).collect();
        let expected = queries.iter().map(|&number| Some(key(number as u64)));
        differences(expected, &answered) + (keys.len() as u64).abs_diff(self.distinct as u64)
    }
}

/// Returns the keys with these indices.
pub fn keys(numbers: &[u32]) -> Vec<u32> {
    numbers.iter().map(|&number| key(number as u64)).collect()
}

/// Returns the number of wrong, missing and additional items in `found`.
fn differences<T: PartialEq>(expected: impl Iterator<Item = T>, found: &[T]) -> u64 {
    let (mut wrong, mut number) = (0, 0);
    for (expected, place) in expected.zip(0..) {
        number += 1;
        wrong += (found.get(place) != Some(&expected)) as u64;
    }
    wrong + found.len().saturating_sub(number) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn right_answers_are_right_and_others_are_counted() {
        // There are 3 keys: index 0 has the pairs 0, 3 and 6, and the other two have two pairs
        // each.
        let pairs = Repeated::new(7, 3);
        assert_eq!((pairs.queries_for_keys().len(), pairs.keys().len()), (3, 7));
        let mut sorted: Vec<(u32, u32)> = pairs.keys().into_iter().zip(pairs.values()).collect();
        sorted.sort_unstable();
        let (sorted_keys, mut values): (Vec<u32>, Vec<u32>) = sorted.into_iter().unzip();
        assert_eq!(pairs.wrong_values(&values), 0);
        values[1] += 1;
        assert_eq!((pairs.wrong_values(&values), pairs.wrong_values(&values[..6])), (1, 2));

        let queries = pairs.queries_for_pairs();
        assert_eq!(queries.len(), 7);
        let start = |key: &u32| sorted_keys.partition_point(|other| other < key) as u32;
        let end = |key: &u32| sorted_keys.partition_point(|other| other <= key) as u32;
        let asked = keys(&queries);
        let (mut starts, ends): (Vec<u32>, Vec<u32>) = asked.iter().map(|key| (start(key), end(key))).unzip();
        assert_eq!(pairs.wrong_runs(&queries, &starts, ends.iter().copied()), 0);
        starts[4] += 1;
        assert_eq!(pairs.wrong_runs(&queries, &starts, ends.iter().map(|end| end - 1)), 8);

        assert_eq!(pairs.wrong_groups(&[1, 0], &[3, 0], [5, 3].into_iter(), &[0, 3, 6, 1, 4]), 0);
        assert_eq!(pairs.wrong_groups(&[1, 0], &[3, 0], [5, 3].into_iter(), &[0, 3, 6, 4, 1]), 1);
        assert_eq!(pairs.wrong_groups(&[1, 0], &[3, 1], [5, 3].into_iter(), &[0, 3, 6, 1, 4]), 1);

        let mut distinct = sorted_keys.clone();
        distinct.dedup();
        let mut ranks: Vec<u32> =
            asked.iter().map(|key| distinct.partition_point(|other| other < key) as u32).collect();
        let ids = |ranks: &[u32]| ranks.iter().copied().map(Some).collect::<Vec<_>>();
        assert_eq!(pairs.wrong_ranks(&queries, &ranks), 0);
        assert_eq!(pairs.wrong_ids(&queries, &ids(&ranks), &distinct), 0);
        ranks[2] = 3;
        assert_eq!(pairs.wrong_ranks(&queries, &ranks), 1);
        assert_eq!(pairs.wrong_ids(&queries, &ids(&ranks), &distinct), 1);

        let once = pairs.queries_for_keys();
        let offsets: Vec<u64> =
            (0..=3).map(|i| once[..i].iter().map(|&number| 2 + (number == 0) as u64).sum()).collect();
        let mut values: Vec<u32> = once.iter().flat_map(|&number| (number..7).step_by(3)).collect();
        assert_eq!(pairs.wrong_retrieved(&once, &offsets, &values), 0);
        values.pop();
        assert_eq!(pairs.wrong_retrieved(&once, &offsets, &values), 1);
    }
}
