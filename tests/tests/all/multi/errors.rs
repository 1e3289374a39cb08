//! Invalid requests to the multimap, which are refused on every engine and on every base table.
//!
//! `multi/properties.rs` tests the rebuilds that are refused, and `multi/faults.rs` tests device
//! failures.

use warpnest::design::Config;
use warpnest::error::ConfigError;
use warpnest::{Buffer, CuckooConfig, Device, Error, MultiConfig, MultiMap, PageConfig};
use warpnest_tests::forms::Form;
use warpnest_tests::{assert_lengths, assert_wrong_device, elsewhere, on_all, parameterized};

#[parameterized]
fn a_table_that_makes_no_sense_is_refused(device: &Device) {
    let error = MultiConfig::on(PageConfig::default().load(0.0)).build(device, &[1u32], &[1u32]).unwrap_err();
    assert!(matches!(error, Error::Config(ConfigError::Load { .. })), "{error}");
    let error = MultiConfig::on(CuckooConfig::default().functions(6)).build(device, &[1u32], &[1u32]).unwrap_err();
    assert_eq!(error, Error::Config(ConfigError::FunctionCount { asked: 6 }));
    let error = MultiMap::build(device, &[1u32], &[1u32, 2]).unwrap_err();
    assert_lengths(error, ("the keys", 1), ("the values", 2));
}

fn what_makes_no_sense_is_refused<F: Form>() {
    on_all(|device| {
        let stream = device.default_stream();
        let config = MultiConfig::on(Config::<F>::default());
        let error = config.build(device, &[1u32], &[1u32, 2]).unwrap_err();
        assert_lengths(error, ("the keys", 1), ("the values", 2));
        let map = config.build(device, &[4u32, 5, 4], &[1u32, 2, 3]).unwrap();
        let queries = Buffer::from_slice(device, &[4u32, 5]).unwrap();
        let [mut two, mut three] = [2, 3].map(|length| Buffer::zeroed(device, length).unwrap());
        let error = map.runs_many_into(stream, &queries, &mut three, &mut two).unwrap_err();
        assert_lengths(error, ("the queries", 2), ("the starts", 3));
        let error = map.runs_many_into(stream, &queries, &mut two, &mut three).unwrap_err();
        assert_lengths(error, ("the queries", 2), ("the counts", 3));
        let error = map.count_many_into(stream, &queries, &mut three).unwrap_err();
        assert_lengths(error, ("the queries", 2), ("the counts", 3));
        map.count_many_into(stream, &queries, &mut two).unwrap();
        assert_eq!(two.download(stream).unwrap(), [2, 1]);
        let error = map.contains_many_into(stream, &queries, &mut two).unwrap_err();
        assert_lengths(error, ("the queries, in words of 32,", 1), ("the found-words", 2));
        let mut found = Buffer::zeroed(device, 1).unwrap();
        map.contains_many_into(stream, &queries, &mut found).unwrap();
        assert_eq!(found.download(stream).unwrap(), [3]);
        let there = elsewhere();
        let foreign = Buffer::from_slice(&there, &[4u32]).unwrap();
        assert_wrong_device(map.retrieve_many_on(stream, &foreign).unwrap_err(), "a buffer", &there, device);
        let mut one = Buffer::zeroed(device, 1).unwrap();
        let error = map.count_many_into(stream, &foreign, &mut one).unwrap_err();
        assert_wrong_device(error, "a buffer", &there, device);
        let error = map.contains_many_into(stream, &foreign, &mut one).unwrap_err();
        assert_wrong_device(error, "a buffer", &there, device);
    });
}

warpnest_tests::of_all_forms! {
    what_makes_no_sense_is_refused,
}
