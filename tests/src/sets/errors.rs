//! The inputs that sets of any kind refuse, and the state of sets afterwards.

use super::{Tested, build, holds};
use crate::{assert_lengths, assert_wrong_device, at, distinct_keys, elsewhere, on_all};
use warpnest::design::{BulkSet, Config};
use warpnest::{Buffer, Device, Error, Result};

/// Returns the error of `config` for `keys` keys, which must be the same from a slice, from a
/// buffer and from the memory queries.
pub fn refused(device: &Device, config: &Config<impl Tested>, keys: usize) -> Error {
    let _at = at(format!("{config:?}"));
    let keys: Vec<u32> = distinct_keys(keys, 1);
    let error = config.build_set(device, &keys).expect_err("it makes no sense");
    let on_device = Buffer::from_slice(device, &keys).unwrap();
    let others = [
        config.build_set(device, &on_device).err(),
        config.set_memory_bytes::<u64>(keys.len()).err(),
        config.set_scratch_bytes::<u32>(keys.len()).err(),
    ];
    // The errors are compared as text, since a figure may be NaN.
    let said = format!("{:?}", Some(&error));
    assert!(others.iter().all(|other| format!("{other:?}") == said), "{error:?}, {others:?}");
    error
}

/// Checks that builds, rebuilds, queries, copies and operations refuse these inputs and leave the
/// set as it was.
pub fn what_belongs_to_another_device_and_other_lengths_are_refused<D: Tested>(config: &Config<D>) {
    fn error<T>(refused: Result<T>) -> Error {
        refused.err().expect("it was not refused")
    }
    on_all(|device| {
        let (stream, there) = (device.default_stream(), elsewhere());
        let keys = [4u32, 5, 4];
        let mut set = BulkSet::<u32, D>::build(device, &keys).unwrap();
        let report = set.report().clone();
        let (ours, theirs) = (Buffer::from_slice(device, &keys).unwrap(), Buffer::from_slice(&there, &keys).unwrap());
        assert_wrong_device(error(config.build_set(device, &theirs)), "the buffer of keys", &there, device);
        assert_wrong_device(error(set.rebuild(&theirs)), "the buffer of keys", &there, device);
        let mut found = Buffer::zeroed(device, 1).unwrap();
        assert_wrong_device(error(set.contains_many_into(stream, &theirs, &mut found)), "a buffer", &there, device);
        let refused = error(set.contains_many_into(stream, &ours, &mut Buffer::zeroed(device, 2).unwrap()));
        assert_lengths(refused, ("the queries, in words of 32,", 1), ("the found-words", 2));
        let refused = error(set.keys_into(stream, &mut Buffer::zeroed(device, 3).unwrap()));
        assert_lengths(refused, ("the set", 2), ("the keys", 3));
        assert_wrong_device(error(set.on(there.default_stream())), "the stream", &there, device);

        let foreign = BulkSet::<u32, D>::build(&there, &keys).unwrap();
        for made in [set.union(&foreign), set.intersection(&foreign), set.difference(&foreign)] {
            assert_wrong_device(error(made), "the other set", &there, device);
        }
        holds(&set, &keys);
        assert_eq!(*set.report(), report);
    });
}

/// Checks that the result of an operation has the first set's configuration, also for repeated keys
/// in a rebuild. `own` checks each result, and returns the count of different keys that it must be
/// able to hold.
pub fn the_result_of_an_operation_has_the_configuration_of_the_first_set<D: Tested>(
    (config, keys): (&Config<D>, usize),
    (other, other_keys): (&Config<D>, usize),
    own: impl Fn(&BulkSet<u32, D>) -> usize,
) {
    on_all(|device| {
        let one = build::<D, u32>(device, config, &distinct_keys(keys, 1));
        let other = build::<D, u32>(device, other, &distinct_keys(other_keys, 1));
        for made in [one.union(&other), one.intersection(&other), one.difference(&other)] {
            let mut made = made.unwrap();
            let twice = distinct_keys::<u32>(own(&made), 9).repeat(2);
            made.rebuild(&Buffer::from_slice(device, &twice).unwrap()).unwrap();
            holds(&made, &twice);
        }
    });
}
