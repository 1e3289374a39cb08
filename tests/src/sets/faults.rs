//! Device failures during the operations of a set, and the memory that builds take, for sets of any
//! kind.

use super::{Tested, build, holds, wrong_operations};
use crate::{Counts, at, counting, distinct_keys, faulty, only};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use warpnest::design::{BulkSet, Config};
use warpnest::types::WordKey as Key;
use warpnest::{Buffer, Device, Error, Result};

/// Lets each launch or allocation of a rebuild from the keys `old` to `new` fail once, and returns
/// the errors. `left` is the device's countdown. After a failure the set must be empty, with the
/// report of the build before, and a new build must succeed. `own` checks the set of the rebuild
/// that succeeds.
pub fn failing_rebuilds<D: Tested, K: Key>(
    (device, left): (&Device, &AtomicU32),
    config: &Config<D>,
    (old, new): (&[K], &[K]),
    own: impl Fn(&BulkSet<K, D>),
) -> Vec<Error> {
    let input = Buffer::from_slice(device, new).unwrap();
    let mut errors = Vec::new();
    for good in 0.. {
        let _at = at(format!("{config:?}, {good} good ones, after {:?}", errors.last()));
        let mut set = build(device, config, old);
        let report = set.report().clone();
        let rebuilt = only(left, good, || set.rebuild(&input));
        if let Err(error) = rebuilt {
            assert!(matches!(error, Error::Kernel { .. } | Error::OutOfMemory { .. }), "{error}");
            errors.push(error);
            assert_eq!(*set.report(), report);
            holds(&set, &[]);
            set.rebuild(&input).unwrap();
            holds(&set, new);
        } else {
            own(&set);
            holds(&set, new);
            break;
        }
    }
    errors
}

/// The counts of launches or of allocations of some operations on 500 keys, each of which occurs
/// twice.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Takes {
    /// The count in a build.
    pub build: u32,
    /// The count in a copy.
    pub copy: u32,
    /// The count in listing the keys.
    pub keys: u32,
}

/// Lets each launch or allocation of a build, a copy, a list or an operation fail. The call must
/// return an error and leave the sets as they were, and no memory may leak.
pub fn whatever_fails_beside_a_set_it_stays_whole<D: Tested>(config: &Config<D>, launches: Takes, allocations: Takes) {
    fn with<D: Tested>((device, left): (&Device, &AtomicU32), config: &Config<D>) -> Takes {
        let old = distinct_keys::<u32>(500, 1).repeat(2);
        let (one, other) = (build(device, config, &old), build(device, config, &distinct_keys::<u32>(3000, 1)[200..]));
        let input = Buffer::from_slice(device, &old).unwrap();
        let fails = |work: &dyn Fn() -> Result<()>| {
            let mut good = 0;
            while let Err(error) = only(left, good, work) {
                assert!(matches!(error, Error::Kernel { .. } | Error::OutOfMemory { .. }), "{error}");
                good += 1;
            }
            good
        };
        for operation in [BulkSet::<u32, D>::union, BulkSet::<u32, D>::intersection, BulkSet::<u32, D>::difference] {
            let good = fails(&|| operation(&one, &other).map(drop));
            assert!(good >= 4, "{good} good ones");
        }
        let takes = Takes {
            build: fails(&|| config.build_set(device, &input).map(drop)),
            copy: fails(&|| one.try_clone().map(drop)),
            keys: fails(&|| one.to_keys().map(drop)),
        };
        holds(&one, &old);
        assert_eq!(wrong_operations(&one, &other), Ok(()));
        takes
    }
    let (device, left) = faulty();
    assert_eq!(with((&device, &left), config), launches, "launches");
    let (device, counts) = counting();
    assert_eq!(with((&device, &counts.allocations), config), allocations, "allocations");
    assert_eq!(counts.bytes.load(Relaxed), 0);
}

/// A set on a counting device, and the memory of its build.
#[derive(Debug)]
pub struct Measured<K: Key, S> {
    /// The device of the set.
    pub device: Device,
    /// The device's counts.
    pub counts: Arc<Counts>,
    /// The keys.
    pub input: Buffer<K>,
    /// The set.
    pub set: S,
    /// The most bytes that the build used at once, besides the keys.
    pub most: u64,
}

/// Builds a set, which must keep exactly the announced memory. During the build it may use no more
/// additional memory than announced.
pub fn memory_is_as_said<D: Tested, K: Key>(config: &Config<D>, keys: &[K]) -> Measured<K, BulkSet<K, D>> {
    let n = keys.len() as u64;
    let _at = at(format!("{n} keys of {}, {config:?}", std::any::type_name::<K>()));
    let (device, counts) = counting();
    let input = Buffer::from_slice(&device, keys).unwrap();
    let before = counts.bytes.load(Relaxed);
    counts.most.store(before, Relaxed);
    let set = config.build_set(&device, &input).unwrap();
    let (most, keeps) = (counts.most.load(Relaxed) - before, counts.bytes.load(Relaxed) - before);
    let (kept, scratch) =
        (config.set_memory_bytes::<K>(n as usize).unwrap(), config.set_scratch_bytes::<K>(n as usize).unwrap());
    assert_eq!((set.memory_bytes() as u64, keeps), (kept as u64, kept as u64));
    // An allocation takes at least 16 bytes.
    assert!(most <= (kept + scratch + 64) as u64, "{most} bytes, and {kept} + {scratch} were said");
    Measured { device, counts, input, set, most }
}
