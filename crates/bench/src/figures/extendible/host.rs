//! Concurrent hash maps on the CPU that get the same batches. All cores share the operations of a
//! batch.

use std::time::Instant;

use dashmap::DashMap;
use hashbrown::DefaultHashBuilder;
use papaya::{HashMapRef, LocalGuard};
use rayon::prelude::*;
use warpnest::Device;
use warpnest::linear::LinearOperation;

use super::batches::Batch;
use super::maps::{Contender, Content, no_wrong};
use crate::bench::input::value;

/// The map of papaya. This map and dashmap's map use hashbrown's default hasher, because the
/// standard library's hasher is slower.
type Papaya = papaya::HashMap<u32, u32, DefaultHashBuilder>;
type Dash = DashMap<u32, u32, DefaultHashBuilder>;

/// A map that several threads may change at the same time.
trait Shared: Send + Sync {
    /// The guard that a thread holds during several operations.
    type Held<'m>
    where
        Self: 'm;
    fn hold(&self) -> Self::Held<'_>;
    /// Does an operation, and returns the value that the key had before.
    fn apply(held: &mut Self::Held<'_>, operation: &LinearOperation<u32, u32>) -> Option<u32>;
    fn keys(&self) -> u64;
}

impl Shared for Papaya {
    type Held<'m> = HashMapRef<'m, u32, u32, DefaultHashBuilder, LocalGuard<'m>>;

    fn hold(&self) -> Self::Held<'_> {
        self.pin()
    }
    fn apply(held: &mut Self::Held<'_>, operation: &LinearOperation<u32, u32>) -> Option<u32> {
        match *operation {
            LinearOperation::Get(key) => held.get(&key).copied(),
            LinearOperation::Insert(key, value) => held.insert(key, value).copied(),
            LinearOperation::GetOrInsert(key, value) => match held.try_insert(key, value) {
                Ok(_) => None,
                Err(there) => Some(*there.current),
            },
            LinearOperation::Remove(key) => held.remove(&key).copied(),
            LinearOperation::Combine(..) => unreachable!("no batch has any"),
        }
    }
    fn keys(&self) -> u64 {
        self.len() as u64
    }
}

impl Shared for Dash {
    type Held<'m> = &'m Self;

    fn hold(&self) -> &Self {
        self
    }
    fn apply(held: &mut &Self, operation: &LinearOperation<u32, u32>) -> Option<u32> {
        match *operation {
            LinearOperation::Get(key) => held.get(&key).map(|value| *value),
            LinearOperation::Insert(key, value) => held.insert(key, value),
            LinearOperation::GetOrInsert(key, value) => match held.entry(key) {
                dashmap::Entry::Occupied(there) => Some(*there.get()),
                dashmap::Entry::Vacant(place) => {
                    place.insert(value);
                    None
                }
            },
            LinearOperation::Remove(key) => held.remove(&key).map(|(_, value)| value),
            LinearOperation::Combine(..) => unreachable!("no batch has any"),
        }
    }
    fn keys(&self) -> u64 {
        self.len() as u64
    }
}

/// A map that gets a batch as one parallel loop over its operations.
struct AllCores<M>(M);

impl<M: Shared> AllCores<M> {
    fn fill(self, content: &Content) -> Self {
        content.keys.par_iter().for_each_init(
            || self.0.hold(),
            |held, &key| {
                M::apply(held, &LinearOperation::Insert(key, value(key)));
            },
        );
        self
    }
}

impl<M: Shared> Contender for AllCores<M> {
    fn run(&mut self, batch: &Batch) -> anyhow::Result<f64> {
        let mut answers = vec![None; batch.operations.len()];
        let start = Instant::now();
        batch
            .operations
            .par_iter()
            .zip(answers.par_iter_mut())
            .for_each_init(|| self.0.hold(), |held, (operation, answer)| *answer = M::apply(held, operation));
        let ms = start.elapsed().as_secs_f64() * 1e3;
        no_wrong(batch.wrong(&answers), "operations")?;
        Ok(ms)
    }

    fn len(&self) -> u64 {
        self.0.keys()
    }
}

pub fn papaya(_: &Device, content: &Content) -> anyhow::Result<Box<dyn Contender>> {
    let map = Papaya::with_capacity_and_hasher(content.most as usize, DefaultHashBuilder::default());
    Ok(Box::new(AllCores(map).fill(content)))
}

pub fn dashmap(_: &Device, content: &Content) -> anyhow::Result<Box<dyn Contender>> {
    let map = Dash::with_capacity_and_hasher(content.most as usize, DefaultHashBuilder::default());
    Ok(Box::new(AllCores(map).fill(content)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::input::key;

    #[test]
    fn both_maps_do_batches_and_a_batch_whose_keys_are_gone_is_an_error() {
        let content = Content { keys: (0..1000).map(key).collect(), most: 1400 };
        for new in [papaya, dashmap] {
            let mut map = new(&Device::cpu(), &content).unwrap();
            for number in 0..4 {
                assert!(map.run(&Batch::new(1000, 2000, number)).unwrap() > 0.0);
                assert_eq!(map.len(), 1000 + 40 * (number + 1));
            }
            assert!(map.run(&Batch::new(1000, 2000, 3)).unwrap_err().to_string().contains("of 200 operations"));
        }
    }

    #[test]
    fn every_operation_answers_with_what_its_key_had() {
        fn check<M: Shared>(map: &M) {
            use LinearOperation::{Get, GetOrInsert, Insert, Remove};
            let cases = [
                (Get(1), None),
                (Insert(1, 10), None),
                (GetOrInsert(1, 11), Some(10)),
                (Insert(1, 12), Some(10)),
                (Remove(1), Some(12)),
                (GetOrInsert(1, 13), None),
                (Get(1), Some(13)),
            ];
            for (operation, answer) in cases {
                assert_eq!(M::apply(&mut map.hold(), &operation), answer, "{operation:?}");
            }
        }
        check(&Papaya::default());
        check(&Dash::default());
    }
}
