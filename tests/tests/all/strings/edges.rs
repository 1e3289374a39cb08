//! Edge cases of strings, on every engine, and requests that are refused.

use super::hashers::HASHERS;
use super::reference::{Reference, batches_are_right, map_is_right, unique_is_right};
use std::hash::RandomState as SipState;
use warpnest::error::InputError;
use warpnest::strings::{StringColumn, StringConfig, StringIds, StringMap, Strings, unique};
use warpnest::{Device, Error};
use warpnest_tests::{TestEngine, assert_lengths, parameterized, says};

fn all_are_right(device: &Device, rows: &[Vec<u8>]) {
    unique_is_right(device, rows, &Reference::of(rows), &SipState::new());
    let few = rows.len() / 20;
    batches_are_right(device, rows, few + 2, &SipState::new());
    map_is_right(device, &StringConfig::default().hasher(SipState::new()), rows);
    for hasher in HASHERS {
        unique_is_right(device, rows, &Reference::of(rows), &hasher);
        batches_are_right(device, rows, few + 3, &hasher);
        map_is_right(device, &StringConfig::default().hasher(hasher), rows);
    }
}

#[parameterized]
fn no_rows_and_empty_strings_and_zeros_and_what_is_no_utf_8(engine: &TestEngine) {
    let device = &engine.device;
    all_are_right(device, &[]);
    all_are_right(device, &[vec![]]);
    all_are_right(device, &vec![vec![]; 40]);
    all_are_right(device, &(0..40).map(|zeros| vec![0; zeros % 20]).collect::<Vec<_>>());
    all_are_right(device, &(0..=255).map(|byte| vec![byte]).collect::<Vec<_>>());
    all_are_right(device, &[vec![0xff, 0xfe], vec![0xff], vec![0xc3, 0x28], vec![0xff, 0xfe], vec![]]);
    // The host hashes strings, so the longest ones are not needed on each engine.
    let bytes = vec![7; if engine.max_items > 2000 { 1 << 16 } else { 1 << 10 }];
    let long = |last: u8| [&bytes[..], &[last]].concat();
    all_are_right(device, &[long(1), long(2), long(1), bytes.clone(), long(2)]);
}

#[test]
fn columns_are_of_anything_that_has_bytes() {
    let device = Device::cpu();
    let ids = [0, 1, 0];
    assert_eq!(unique(&device, &["a", "b", "a"]).unwrap().ids, ids);
    assert_eq!(unique(&device, &[b"a", b"b", b"a"]).unwrap().ids, ids);
    assert_eq!(unique(&device, &vec!["a".to_owned(), "b".to_owned(), "a".to_owned()]).unwrap().ids, ids);
    assert_eq!(unique(&device, &[vec![1u8], vec![], vec![1]][..]).unwrap().ids, ids);
    assert_eq!(unique(&device, &StringColumn::new(b"xaba", &[1u64, 2, 3, 4]).unwrap()).unwrap().ids, ids);
    let boxed: Vec<Box<[u8]>> = [b"a", b"b", b"a"].map(|string| string[..].into()).to_vec();
    let unique = unique(&device, &boxed).unwrap();
    assert_eq!((unique.pick(&boxed), unique.counts), (boxed[..2].to_vec(), vec![2, 1]));
    let dynamic: &StringIds = &StringIds::new(&device);
    assert!(dynamic.is_empty() && dynamic.get("a").is_none());
}

#[test]
fn offsets_that_make_no_column_are_refused() {
    let number = |error: Error| match error {
        Error::Input(InputError::Offsets { number, bytes: 4 }) => number,
        error => panic!("{error}"),
    };
    assert_eq!(StringColumn::new(b"text", &[] as &[i32]).unwrap().rows(), 0);
    assert_eq!(StringColumn::new(b"text", &[3i64]).unwrap().rows(), 0);
    let column = StringColumn::new(b"text", &[0u32, 0, 4, 4]).unwrap();
    assert_eq!([column.row(0), column.row(1), column.row(2)], [&b""[..], b"text", b""]);
    assert_eq!(number(StringColumn::new(b"text", &[0i32, 2, 1, 4]).unwrap_err()), 2);
    assert_eq!(number(StringColumn::new(b"text", &[-1i32, 2]).unwrap_err()), 0);
    assert_eq!(number(StringColumn::new(b"text", &[0u64, 5]).unwrap_err()), 1);
    let error = StringColumn::new(b"text", &[0i64, 1, i64::MAX]).unwrap_err();
    says(&error, &["offset 2", "4 bytes", "ascend"]);
}

#[test]
fn a_map_wants_a_value_for_each_string() {
    let error = StringMap::build(&Device::cpu(), &["a", "b"], &[1]).unwrap_err();
    assert_lengths(error, ("the strings", 2), ("the values", 1));
}

#[test]
fn what_is_there_is_described() {
    let map = StringMap::build(&Device::cpu(), &["a", "b"], &[1, 2]).unwrap();
    let text = format!("{map:?}");
    assert!(text.starts_with("StringMap { strings: 2, ") && text.contains("PageMap { keys: 2"), "{text}");
    assert_eq!((map.device(), map.table().len(), map.values()), (&Device::cpu(), 2, &[1, 2][..]));
    let mut ids = StringIds::new(&Device::cpu());
    ids.get_or_insert_many(&["a"; 3]).unwrap();
    let before = ids.memory_bytes();
    assert!(format!("{ids:?}").starts_with("StringIds { strings: 1, "), "{ids:?}");
    ids.get_or_insert_many(&["x".repeat(100_000)]).unwrap();
    assert!(before < 10_000 && ids.memory_bytes() > 100_000 && ids.device() == &Device::cpu());
    let copy = ids.clone();
    ids.get_or_insert_many(&["b"]).unwrap();
    assert_eq!((copy.get("b"), copy.get("a"), ids.get("b")), (None, Some(0), Some(2)));
}
