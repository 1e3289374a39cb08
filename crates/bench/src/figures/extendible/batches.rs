//! Batches of lookups, insertions and removals in the shares of (Hu 2015), with the expected
//! answers.

use rand_xoshiro::Xoshiro256StarStar;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use warpnest::linear::LinearOperation;

use crate::bench::input::{key, shuffle, value};

/// The number of operations of each kind in a batch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shares {
    pub lookups: u64,
    pub insertions: u64,
    pub removals: u64,
}

impl Shares {
    /// Returns the shares of (Hu 2015): of a hundred operations, 90 look up, 6 insert and 4 remove.
    /// A remainder looks up.
    pub fn of(operations: u64) -> Self {
        let (insertions, removals) = (operations * 6 / 100, operations * 4 / 100);
        Self { lookups: operations - insertions - removals, insertions, removals }
    }
}

/// A batch of operations. No two operations with the same key affect each other, so the answers do
/// not depend on the order.
pub struct Batch {
    pub removed: Vec<u32>,
    pub inserted: Vec<u32>,
    pub asked: Vec<u32>,
    /// All operations together, in random order.
    pub operations: Vec<LinearOperation<u32, u32>>,
}

impl Batch {
    /// Makes a batch that follows `number` other batches of `operations` operations each, for a
    /// table that had `keys` keys before all batches.
    ///
    /// The batch removes the oldest keys, inserts new keys, and looks up keys that are in the table
    /// before and after it.
    pub fn new(keys: u64, operations: u64, number: u64) -> Self {
        let Shares { lookups, insertions, removals } = Shares::of(operations);
        let (oldest, newest) = (number * removals, keys + number * insertions);
        let stay = oldest + removals;
        let removed: Vec<u32> = (oldest..stay).map(key).collect();
        let inserted: Vec<u32> = (newest..newest + insertions).map(key).collect();
        let mut random = Xoshiro256StarStar::seed_from_u64(number);
        // The product's high half is a random number below the second factor.
        let below = |random: u64, bound: u64| ((random as u128 * bound as u128) >> 64) as u64;
        let asked: Vec<u32> = (0..lookups).map(|_| key(stay + below(random.next_u64(), newest - stay))).collect();
        let mut mixed: Vec<LinearOperation<u32, u32>> = asked.iter().map(|&key| LinearOperation::Get(key)).collect();
        mixed.extend(inserted.iter().map(|&key| LinearOperation::Insert(key, value(key))));
        mixed.extend(removed.iter().map(|&key| LinearOperation::Remove(key)));
        shuffle(&mut mixed);
        Self { removed, inserted, asked, operations: mixed }
    }

    /// Returns the number of wrong answers to all operations.
    pub fn wrong(&self, answers: &[Option<u32>]) -> u64 {
        let missing = self.operations.len().abs_diff(answers.len()) as u64;
        missing
            + self.operations.iter().zip(answers).filter(|(operation, answer)| right(operation) != **answer).count()
                as u64
    }
}

/// Returns the value that an operation's key has before it.
fn right(operation: &LinearOperation<u32, u32>) -> Option<u32> {
    match *operation {
        LinearOperation::Get(key) | LinearOperation::Remove(key) => Some(value(key)),
        LinearOperation::Insert(..) | LinearOperation::GetOrInsert(..) => None,
        LinearOperation::Combine(..) => unreachable!("no batch has any"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    #[test]
    fn shares_are_the_papers_and_make_the_whole() {
        assert_eq!(Shares::of(100), Shares { lookups: 90, insertions: 6, removals: 4 });
        assert_eq!(Shares::of(1024), Shares { lookups: 923, insertions: 61, removals: 40 });
    }

    #[test]
    fn batches_one_after_the_other_give_the_answers_expected_in_any_order() {
        let keys = 1000;
        let mut map: HashMap<u32, u32> = (0..keys).map(|i| (key(i), value(key::<u32>(i)))).collect();
        for number in 0..5 {
            let batch = Batch::new(keys, 1000, number);
            assert_eq!((batch.asked.len(), batch.inserted.len(), batch.removed.len()), (900, 60, 40));
            let mut answers: Vec<Option<u32>> = Vec::new();
            for operation in &batch.operations {
                answers.push(match *operation {
                    LinearOperation::Get(key) => map.get(&key).copied(),
                    LinearOperation::Insert(key, value) => map.insert(key, value),
                    LinearOperation::Remove(key) => map.remove(&key),
                    LinearOperation::GetOrInsert(..) | LinearOperation::Combine(..) => unreachable!("no batch has any"),
                });
            }
            assert_eq!(map.len() as u64, keys + 20 * (number + 1));
            assert_eq!(batch.wrong(&answers), 0);
            answers[3] = Some(answers[3].map_or(0, |value| value ^ 1));
            assert_eq!((batch.wrong(&answers), batch.wrong(&answers[..990])), (1, 11));
        }
    }
}
