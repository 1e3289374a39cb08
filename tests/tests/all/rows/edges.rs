//! Edge cases of row maps, and invalid requests, on every engine.

use std::collections::HashMap;
use warpnest::design::Config;
use warpnest::design::{Changes, Extendible, Linear, Page};
use warpnest::low_level::engine::Cores;
use warpnest::primitives::scatter;
use warpnest::{Answers, Buffer, Error, LinearConfig, PageMap, RowMap, Stream};
use warpnest_tests::limited::limited;
use warpnest_tests::random::derived;
use warpnest_tests::rows::{Under, check, rows_of};
use warpnest_tests::{assert_lengths, assert_wrong_device, at, distinct_keys, elsewhere, on_each_engine, says};

type Rows = [u32; 6];

/// Expands to tests that run each function with each design.
macro_rules! of_each_design {
    ($($test:ident),+ $(,)?) => {$(
        mod $test {
            #[test]
            fn over_pages() {
                super::$test::<super::Page>();
            }
            #[test]
            fn over_slots() {
                super::$test::<super::Linear>();
            }
            #[test]
            fn over_extendible_buckets() {
                super::$test::<super::Extendible>();
            }
        }
    )+};
}
of_each_design! {
    nothing_is_inserted_removed_and_found,
    the_last_row_of_a_repeated_key_counts_as_a_whole,
    sizes_around_words_and_blocks,
    what_makes_no_sense_is_refused_and_nothing_is_done,
    rows_are_changed_where_they_are,
    a_change_waits_for_the_lookups_of_other_streams,
}

/// Runs a test of an empty map of 32-bit keys on every engine.
fn on_all<D: Under>(test: impl Fn(RowMap<u32, Rows, D>, usize)) {
    on_each_engine(|engine| test(D::config(derived("rows")).create_rows(&engine.device).unwrap(), engine.max_items));
}

fn holds<D: Changes>(map: &RowMap<u32, Rows, D>, keys: &[u32], rows: &[Rows]) {
    let reference: HashMap<u32, Rows> = keys.iter().copied().zip(rows.iter().copied()).collect();
    check(map, &reference, &[0, 1, u32::MAX]).unwrap();
}

fn nothing_is_inserted_removed_and_found<D: Under>() {
    // These maps have their default initial size.
    on_each_engine(|engine| {
        let mut map: RowMap<u32, Rows, D> = Config::default().create_rows(&engine.device).unwrap();
        assert_eq!(map.insert_many(&[], &[]), Ok(0));
        assert_eq!(map.get_many(&[]), Ok(vec![]));
        assert_eq!(map.remove_many(&[]), Ok(vec![]));
        assert_eq!(map.remove_many(&[7, 7]), Ok(vec![None, None]));
        assert_eq!((map.erase_many(&[7]), map.clear(), map.shrink_to_fit()), (Ok(0), Ok(()), Ok(())));
        holds(&map, &[], &[]);
    });
}

fn the_last_row_of_a_repeated_key_counts_as_a_whole<D: Under>() {
    on_all::<D>(|mut map, _| {
        // The key is new first, and then present.
        for round in 0..2 {
            let rows = rows_of(200, 1000 * round);
            assert_eq!(map.insert_many(&[u32::MAX; 200], &rows), Ok(1 - round as usize));
            holds(&map, &[u32::MAX], &rows[199..]);
            assert_eq!(map.rows().len(), 1, "copies take no rows");
        }
        assert_eq!(map.remove_many(&[u32::MAX; 40]).unwrap().iter().flatten().count(), 1);
        holds(&map, &[], &[]);
    });
}

fn sizes_around_words_and_blocks<D: Under>() {
    on_all::<D>(|mut map, most| {
        for n in [1usize, 2, 31, 32, 33, 255, 256, 257].into_iter().filter(|&n| n <= most) {
            let _at = at(format!("{n} keys"));
            let (keys, rows) = (distinct_keys::<u32>(n, n as u64), rows_of(n, 9));
            let before = map.rows().len();
            assert_eq!(map.insert_many(&keys, &rows), Ok(n));
            holds(&map, &keys, &rows);
            let removed = map.remove_many(&keys[..n / 2]).unwrap();
            assert_eq!(removed, rows[..n / 2].iter().copied().map(Some).collect::<Vec<_>>());
            holds(&map, &keys[n / 2..], &rows[n / 2..]);
            // Free rows are reused, and only as many rows are added as are needed.
            assert_eq!(map.insert_many(&keys[..n / 2], &rows[..n / 2]), Ok(n / 2));
            assert_eq!(map.rows().len(), n.max(before));
            holds(&map, &keys, &rows);
            assert_eq!(map.erase_many(&keys), Ok(n));
        }
    });
}

fn what_makes_no_sense_is_refused_and_nothing_is_done<D: Under>() {
    on_all::<D>(|mut map, _| {
        let (device, there) = (map.device().clone(), elsewhere());
        let stream = device.default_stream();
        let rows = rows_of::<Rows>(3, 1);
        map.insert_many(&[1, 2, 3], &rows).unwrap();
        let error = map.insert_many(&[4, 5], &rows).unwrap_err();
        assert_lengths(error, ("the keys", 2), ("the values", 3));
        let (keys, values) =
            (Buffer::from_slice(&device, &[4, 5]).unwrap(), Buffer::from_slice(&device, &rows).unwrap());
        let error = map.insert_many(&keys, &values).unwrap_err();
        assert_lengths(error, ("the keys", 2), ("the values", 3));
        let mut answers = Answers::new(&device, 3).unwrap();
        let error = map.get_many_into(stream, &keys, &mut answers).unwrap_err();
        assert_lengths(error, ("the queries", 2), ("the answers", 3));
        let error = map.remove_many_into(stream, &keys, &mut answers).unwrap_err();
        assert_lengths(error, ("the keys", 2), ("the answers", 3));
        let error = map.retain_many(&[1, 2], &[true]).unwrap_err();
        assert_lengths(error, ("the keys", 2), ("the flags", 1));
        let error = map.retain_many_on(stream, &keys, &Buffer::zeroed(&device, 2).unwrap()).unwrap_err();
        assert_lengths(error, ("the keys, in words of 32,", 1), ("the words to keep", 2));

        let foreign = (Buffer::from_slice(&there, &[1, 2, 3]).unwrap(), Buffer::from_slice(&there, &rows).unwrap());
        let keys = Buffer::from_slice(&device, &[1, 2, 3]).unwrap();
        let error = map.insert_many(&foreign.0, &values).unwrap_err();
        assert_wrong_device(error, "the buffer of keys", &there, &device);
        let error = map.insert_many(&keys, &foreign.1).unwrap_err();
        assert_wrong_device(error, "the buffer of values", &there, &device);
        let error = map.erase_many(&foreign.0).unwrap_err();
        assert_wrong_device(error, "the buffer of keys", &there, &device);
        let mut elsewhere = Answers::new(&there, 3).unwrap();
        let error = map.remove_many_into(stream, &keys, &mut elsewhere).unwrap_err();
        assert_wrong_device(error, "the buffer of answers", &there, &device);
        let error = map.get_many_into(stream, &keys, &mut elsewhere).unwrap_err();
        assert!(matches!(error, Error::WrongDevice { .. }), "{error}");
        assert_wrong_device(map.on(there.default_stream()).unwrap_err(), "the stream", &there, &device);

        let error = map.reserve(u32::MAX as usize).unwrap_err();
        says(&error, &["4294967298 pairs or keys", "at most 4294967295", "build several tables"]);
        holds(&map, &[1, 2, 3], &rows);
    });
}

/// Looks up on one stream while the map changes on another. Each lookup must see the earlier rows,
/// even if their array grows, is compacted, or is reused for other keys.
fn a_change_waits_for_the_lookups_of_other_streams<D: Under>() {
    on_all::<D>(|mut map, most| {
        let device = map.device().clone();
        let [asking, changing] = [device.stream().unwrap(), device.stream().unwrap()];
        let n = most.min(3000) / 3;
        let (keys, others) = (distinct_keys::<u32>(n, 3), distinct_keys::<u32>(n, 1 << 30));
        let (rows, new) = (rows_of::<Rows>(n, 1), rows_of::<Rows>(n, 1 << 20));
        let queries = Buffer::from_slice(&device, &keys).unwrap();
        map.insert_many(&keys, &rows).unwrap();
        let expected: Vec<Option<Rows>> = rows.iter().copied().map(Some).collect();
        type Change<D> = fn(&mut RowMap<u32, Rows, D>, &Stream, &[Buffer<u32>; 2], &Buffer<Rows>);
        let changes: [Change<D>; 5] = [
            |map, stream, keys, rows| {
                map.on(stream).unwrap().insert_many(&keys[1], rows).unwrap();
            },
            |map, stream, keys, _| {
                map.on(stream).unwrap().erase_many(&keys[0]).unwrap();
            },
            |map, _, _, _| map.shrink_to_fit().unwrap(),
            |map, stream, keys, rows| {
                map.on(stream).unwrap().erase_many(&keys[0]).unwrap();
                map.on(stream).unwrap().insert_many(&keys[1], rows).unwrap();
            },
            |map, stream, keys, rows| {
                map.on(stream).unwrap().clear().unwrap();
                map.on(stream).unwrap().insert_many(&keys[1], rows).unwrap();
            },
        ];
        let keys = [queries.to_device(&asking, &device).unwrap(), Buffer::from_slice(&device, &others).unwrap()];
        let new = Buffer::from_slice(&device, &new).unwrap();
        for (number, change) in changes.into_iter().enumerate() {
            let _at = at(format!("change {number}"));
            let answers = map.get_many_on(&asking, &queries).unwrap();
            change(&mut map, &changing, &keys, &new);
            assert_eq!(answers.download(&asking).unwrap(), expected);
            map.clear().unwrap();
            map.on(&changing).unwrap().insert_many(&keys[0], &Buffer::from_slice(&device, &rows).unwrap()).unwrap();
        }
    });
}

fn rows_are_changed_where_they_are<D: Under>() {
    on_all::<D>(|mut map, _| {
        let (device, rows) = (map.device().clone(), rows_of::<Rows>(4, 1));
        let stream = device.default_stream();
        map.insert_many(&[1, 2, 3], &rows[..3]).unwrap();
        let queries = Buffer::from_slice(&device, &[2, 9]).unwrap();
        let numbers = map.map().get_many_on(stream, &queries).unwrap();
        let number = numbers.values().download(stream).unwrap()[0];
        let (new, target) = (Buffer::from_slice(&device, &rows[3..]).unwrap(), Buffer::from_slice(&device, &[number]));
        scatter(stream, &new, &target.unwrap(), map.rows_mut()).unwrap();
        holds(&map, &[1, 2, 3], &[rows[0], rows[3], rows[2]]);
    });
}

#[test]
fn a_row_that_a_file_lacks_or_has_otherwise_is_told() {
    let device = elsewhere();
    let map: RowMap<u64, [u32; 6]> = RowMap::build(&device, &[1, 2], &rows_of(2, 1)).unwrap();
    let mut file = Vec::new();
    map.save(&mut file).unwrap();
    let error = RowMap::<u64, [u32; 7]>::load(&device, &file[..]).unwrap_err();
    says(
        &error,
        &["has a RowMap on Page with keys of 8 bytes and rows of 24", "keys of 8 bytes and rows of 28 was asked"],
    );
    let error = RowMap::<u64, [u32; 6], Linear>::load(&device, &file[..]).unwrap_err();
    says(&error, &["a RowMap on Page", "a RowMap on Linear", "load it as what it is"]);
    let error = PageMap::<u64, u32>::load(&device, &file[..]).unwrap_err();
    says(&error, &["has a RowMap on Page", "a PageMap with keys of 8 bytes and values of 4 was asked for"]);
    // Other types of the same sizes are accepted.
    assert_eq!(RowMap::<i64, [u64; 3]>::load(&device, &file[..]).unwrap().len(), 2);
}

#[test]
fn a_device_that_lacks_memory_refuses_a_batch_and_nothing_is_done() {
    let device = limited(Cores, 1 << 20);
    let mut map = LinearConfig::default().pairs(1000).create_rows::<u32, [u32; 6]>(&device).unwrap();
    let rows = rows_of(1000, 1);
    let keys: Vec<u32> = (0..1000).collect();
    map.insert_many(&keys, &rows).unwrap();
    let many: Vec<u32> = (0..100_000).collect();
    let error = map.insert_many(&many, &rows_of(many.len(), 2)).unwrap_err();
    assert!(matches!(error, Error::OutOfMemory { .. }), "{error}");
    assert!(matches!(map.reserve(1 << 20), Err(Error::OutOfMemory { .. })));
    check(&map, &keys.into_iter().zip(rows).collect(), &many).unwrap();
}
