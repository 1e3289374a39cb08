//! Graphs: captured work returns what calls return, in order with all other work on the memory, and
//! what cannot be captured is refused and does no harm.

use std::fmt::Debug;
use std::panic::AssertUnwindSafe;
use warpnest::design::{Finds, Kind, Loads};
use warpnest::error::InputError;
use warpnest::primitives::{Scratch, expand_flags, fill_absent, gather};
use warpnest::relational::{GroupBy, JoinKind, KeptSide, Unique, unique_on};
use warpnest::{
    Answers, Buffer, CompactingTable, CuckooMap, Device, Error, ExtendibleMap, Graph, LinearMap, PageMap, PageSet,
    Result, SortedMap, Stream, Table, TwoLevelMap,
};
use warpnest_tests::{assert_wrong_device, distinct_keys, elsewhere, parameterized};

/// Launches a graph.
fn launch(graph: &Graph, stream: &Stream) -> Result<()> {
    // SAFETY: no test changes a captured table, and one thread uses what was captured.
    unsafe { graph.launch(stream) }
}

/// Fails unless a capture was refused, because a call `does` something.
fn is_refused(captured: Result<Graph>, does: &str) {
    match captured {
        Err(Error::Input(InputError::NotCaptured { what })) => assert!(what.contains(does), "{what}: {does}"),
        other => panic!("{other:?}: {does}"),
    }
}

/// Checks lookups of a table in a graph, with queries that are replaced between launches.
fn look_up<T: Finds<Key = u32, Value: Debug + PartialEq>>(table: &Table<T>, queries: [&[u32]; 3]) {
    let device = table.device();
    let (one, two) = (device.stream().unwrap(), device.stream().unwrap());
    let length = queries[0].len();
    let mut asked = Buffer::<u32>::zeroed(device, length).unwrap();
    let mut answers = Answers::new(device, length).unwrap();
    let mut found = Buffer::<u32>::zeroed(device, length.div_ceil(32)).unwrap();
    // What is captured is not run, and kernels are loaded before.
    table.get_many_into(&one, &asked, &mut answers).unwrap();
    table.contains_many_into(&one, &asked, &mut found).unwrap();
    let before = answers.download(&one).unwrap();
    asked.upload(&one, queries[0]).unwrap();
    let graph = one.capture(|| {
        table.get_many_into(&one, &asked, &mut answers)?;
        table.contains_many_into(&one, &asked, &mut found)
    });
    let graph = graph.unwrap();
    assert!(graph.len() >= 2, "{graph:?}");
    assert_eq!(answers.download(&two).unwrap(), before);
    for (round, queries) in queries.into_iter().enumerate() {
        let (launched, read) = if round % 2 == 0 { (&one, &two) } else { (&two, &one) };
        asked.upload(read, queries).unwrap();
        launch(&graph, launched).unwrap();
        let expected = table.get_many(queries).unwrap();
        assert_eq!(answers.download(read).unwrap(), expected);
        let words = found.download(read).unwrap();
        let flags: Vec<bool> = (0..length).map(|at| words[at / 32] >> (at % 32) & 1 == 1).collect();
        assert_eq!(flags, expected.iter().map(Option::is_some).collect::<Vec<_>>());
    }
}

/// Returns a linear map and an extendible map of the pairs.
fn changing(device: &Device, keys: &[u32], values: &[u32]) -> (LinearMap<u32, u32>, ExtendibleMap<u32, u32>) {
    let (mut linear, mut extendible) = (LinearMap::new(device).unwrap(), ExtendibleMap::new(device).unwrap());
    linear.insert_many(keys, values).unwrap();
    extendible.insert_many(keys, values).unwrap();
    (linear, extendible)
}

#[parameterized]
fn lookups_of_every_table_are_captured(device: &Device) {
    for count in [0, 1, 90] {
        let all: Vec<u32> = distinct_keys(count + 60, 9);
        let (keys, values) = (&all[..count], &all[60..]);
        let most = all.len() - 20;
        let queries = [&all[..most], &all[10..10 + most], &all[20..]];
        let (linear, extendible) = changing(device, keys, values);
        look_up(&PageMap::build(device, keys, values).unwrap(), queries);
        look_up(&CuckooMap::build(device, keys, values).unwrap(), queries);
        look_up(&TwoLevelMap::build(device, keys, values).unwrap(), queries);
        look_up(&SortedMap::build(device, keys, values).unwrap(), queries);
        look_up(&CompactingTable::build(device, keys).unwrap(), queries);
        look_up(&linear, queries);
        look_up(&extendible, queries);
    }
}

/// A change of a table.
type Change<T> = fn(&mut Table<T>) -> Result<()>;

/// Fails unless a change of a table that is captured is refused, and changes nothing.
fn change<T: Kind<Key = u32, Item: Debug + Ord> + Loads>(mut table: Table<T>, changes: &[Change<T>]) {
    let stream = table.device().default_stream().clone();
    let sorted = |table: &Table<T>| {
        let mut items: Vec<T::Item> = table.iter().unwrap().collect();
        items.sort_unstable();
        items
    };
    let before = sorted(&table);
    for change in changes {
        // Once with all memory that it needs, and once without.
        is_refused(stream.capture(|| change(&mut table)), "");
        assert_eq!(sorted(&table), before);
        let mut changed = table.try_clone().unwrap();
        change(&mut changed).unwrap();
        is_refused(stream.capture(|| change(&mut changed)), "");
        change(&mut changed).unwrap();
        assert!(changed.contains_many(&[77]).unwrap()[0] || changed.len() <= before.len());
    }
    assert_eq!(sorted(&table), before);
}

#[parameterized]
fn changes_that_wait_are_refused_and_change_nothing(device: &Device) {
    let keys: Vec<u32> = (1..40).collect();
    let (linear, extendible) = changing(device, &keys, &keys);
    change(
        linear,
        &[
            |map| map.insert_many(&[77, 78], &[1, 2]).map(drop),
            |map| map.erase_many(&[3, 4]).map(drop),
            |map| map.reserve(10_000),
            |map| map.clear(),
        ],
    );
    change(
        extendible,
        &[
            |map| map.insert_many(&[77, 78], &[1, 2]).map(drop),
            |map| map.erase_many(&[3, 4]).map(drop),
            |map| map.clear(),
        ],
    );
    change(
        PageMap::build(device, &keys, &keys).unwrap(),
        &[
            |map| map.insert_many(&[77, 78], &[1, 2]).map(drop),
            |map| map.erase_many(&[3, 4]).map(drop),
            |map| map.shrink_to_fit(),
            |map| map.clear(),
        ],
    );
    change(
        PageSet::build(device, &keys).unwrap(),
        &[|set| set.insert_many(&[77, 78]).map(drop), |set| set.erase_many(&[3, 4]).map(drop)],
    );
}

#[parameterized]
fn what_allocates_or_waits_is_refused(device: &Device) {
    let (stream, other) = (device.stream().unwrap(), device.stream().unwrap());
    let keys: Vec<u32> = (0..100).collect();
    let (mut buffer, map) = (Buffer::from_slice(device, &keys).unwrap(), PageMap::build(device, &keys, &keys).unwrap());
    let event = other.record().unwrap();
    let mut linear = changing(device, &keys, &keys).0;
    is_refused(stream.capture(|| linear.insert_many(&buffer, &buffer).map(drop)), "changes");
    is_refused(stream.capture(|| map.get_many_on(&stream, &buffer).map(drop)), "allocates");
    is_refused(stream.capture(|| Buffer::<u8>::zeroed(device, 9).map(drop)), "allocates");
    is_refused(stream.capture(|| PageMap::build(device, &keys, &keys).map(drop)), "allocates");
    is_refused(stream.capture(|| unique_on(&stream, &mut Scratch::new(device), &buffer).map(drop)), "allocates");
    is_refused(stream.capture(|| buffer.upload(&stream, &keys)), "from the host");
    is_refused(
        stream.capture(|| buffer.fill(&stream, 7).and_then(|()| buffer.download(&stream).map(drop))),
        "to the host",
    );
    is_refused(stream.capture(|| buffer.fill(&other, 7)), "another stream");
    is_refused(stream.capture(|| stream.synchronize()), "waits");
    is_refused(stream.capture(|| stream.wait(&event)), "waits");
    is_refused(stream.capture(|| stream.record().map(drop)), "event");
    is_refused(stream.capture(|| stream.capture(|| Ok(())).map(drop)), "captures");
    assert_eq!(buffer.download(&stream).unwrap(), keys);
    // After a refusal, and after a panic, nothing is captured any more.
    let panicked = std::panic::catch_unwind(AssertUnwindSafe(|| stream.capture(|| panic!("on purpose"))));
    assert!(panicked.is_err());
    buffer.fill(&other, 0).unwrap();
    assert_eq!(buffer.download(&stream).unwrap(), vec![0; 100]);
}

#[parameterized]
fn a_graph_keeps_its_memory_and_is_ordered_with_other_work(device: &Device) {
    const WORDS: usize = 3000;
    let (one, two) = (device.stream().unwrap(), device.stream().unwrap());
    let [mut first, mut second, mut third] = [(); 3].map(|()| Buffer::<u32>::zeroed(device, WORDS).unwrap());
    let all_of = |byte: u8| vec![u32::from_ne_bytes([byte; 4]); WORDS];
    let captured = one.capture(|| {
        second.copy_from(&one, &first)?;
        third.copy_from(&one, &second)?;
        second.fill(&one, 9)
    });
    let graph = captured.unwrap();
    assert_eq!((graph.len(), graph.is_empty()), (3, false));
    for byte in 1..4 {
        first.fill(&two, byte).unwrap();
        launch(&graph, &one).unwrap();
        first.fill(&two, 0xee).unwrap();
        assert!(third.download(&two).unwrap() == all_of(byte), "{byte}");
        assert!(second.download(&two).unwrap() == all_of(9), "{byte}");
    }
    first.fill(&two, 5).unwrap();
    drop((first, second));
    // These do not get the memory of the dropped buffers.
    let mut others = [(); 4].map(|()| Buffer::<u32>::zeroed(device, WORDS).unwrap());
    others.iter_mut().for_each(|other| other.fill(&two, 1).unwrap());
    launch(&graph, &two).unwrap();
    assert!(third.download(&one).unwrap() == all_of(5));
    launch(&graph, &two).unwrap();
    drop(graph);
    assert!(third.download(&one).unwrap() == all_of(5));
    assert!(others.iter().all(|other| other.download(&one).unwrap() == all_of(1)));
}

#[parameterized]
fn graphs_and_primitives_are_captured_in_graphs(device: &Device) {
    let stream = device.default_stream();
    let flags = Buffer::from_slice(device, &[0b1011u32]).unwrap();
    let (mut bytes, mut values) =
        (Buffer::<u8>::zeroed(device, 5).unwrap(), Buffer::from_slice(device, &[1u32, 2, 3, 4, 5]).unwrap());
    let at = Buffer::from_slice(device, &[4u32, 0, 2]).unwrap();
    let mut taken = Buffer::<u32>::zeroed(device, 3).unwrap();
    let inner = stream.capture(|| {
        expand_flags(stream, &flags, &mut bytes)?;
        fill_absent(stream, &flags, 70, &mut values)
    });
    let inner = inner.unwrap();
    let outer = stream.capture(|| {
        launch(&inner, stream)?;
        gather(stream, &values, &at, &mut taken)
    });
    let outer = outer.unwrap();
    assert_eq!((inner.len(), outer.len()), (2, 3));
    launch(&outer, stream).unwrap();
    assert_eq!(bytes.download(stream).unwrap(), [1, 1, 0, 1, 0]);
    assert_eq!(values.download(stream).unwrap(), [1, 2, 70, 4, 70]);
    assert_eq!(taken.download(stream).unwrap(), [70, 1, 70]);
    assert_wrong_device(launch(&outer, elsewhere().default_stream()).unwrap_err(), "the graph", device, &elsewhere());
    let none = stream.capture(|| Ok(())).unwrap();
    assert!(none.is_empty());
    launch(&none, stream).unwrap();
}

/// Returns a column of 700 keys, of which some are repeated, which depends on the round.
fn column_of(round: u32) -> Vec<u32> {
    (0..700).map(|row: u32| row.wrapping_mul(2 * round + 1) % (100 + 40 * round)).collect()
}

#[parameterized]
fn results_with_a_capacity_are_captured(device: &Device) {
    let (stream, mut scratch) = (device.default_stream(), Scratch::new(device));
    let mut column = Buffer::from_slice(device, &column_of(0)).unwrap();
    let numbers = Buffer::from_slice(device, &(0..700).collect::<Vec<u32>>()).unwrap();
    let kept_keys: Vec<u32> = (0..90).map(|key| key / 2).collect();
    let kept = KeptSide::new(device, &kept_keys).unwrap();
    let mut distinct = Unique::of(&column).ids().counts().run_bounded(stream, &mut scratch, 250).unwrap();
    let mut query = GroupBy::new(&column);
    let sum = query.sum(&numbers);
    let mut groups = query.run_bounded(stream, &mut scratch, 250).unwrap();
    let mut pairs = kept.join_bounded(JoinKind::Inner, stream, &mut scratch, &column, 1000).unwrap();
    let graph = stream.capture(|| {
        Unique::of(&column).ids().counts().run_bounded_into(stream, &mut scratch, &mut distinct)?;
        query.run_bounded_into(stream, &mut scratch, &mut groups)?;
        kept.join_bounded_into(JoinKind::Inner, stream, &mut scratch, &column, &mut pairs)
    });
    let graph = graph.unwrap();
    drop(query);
    for round in [1, 4, 0, 3] {
        let keys = column_of(round);
        column.upload(stream, &keys).unwrap();
        launch(&graph, stream).unwrap();
        let matches: usize = keys.iter().map(|key| kept_keys.iter().filter(|kept| *kept == key).count()).sum();
        if round == 4 {
            // 260 keys.
            assert!(distinct.finish(stream).is_err() && groups.finish(stream).is_err());
        } else {
            let found = distinct.finish(stream).unwrap();
            let [of_ids, ids, counts] =
                [&found.keys, &found.ids, &found.counts].map(|part| part.download(stream).unwrap());
            assert!(keys.iter().zip(&ids).all(|(key, &id)| of_ids[id as usize] == *key), "{round}");
            assert_eq!(of_ids.len(), 100 + 40 * round as usize);
            let count_of = |key: u32| keys.iter().filter(|other| **other == key).count() as u32;
            assert!(of_ids.iter().zip(&counts).all(|(&key, &count)| count == count_of(key)), "{round}");
            let found = groups.finish(stream).unwrap();
            let (of_groups, sums) =
                (found.keys().download(stream).unwrap(), found.column(sum).unwrap().download(stream).unwrap());
            let sum_of =
                |key: u32| keys.iter().zip(0..).filter(|(other, _)| **other == key).map(|(_, row)| row).sum::<u64>();
            assert!(of_groups.iter().zip(&sums).all(|(&key, &sum)| sum == sum_of(key)), "{round}");
        }
        assert_eq!(pairs.finish(stream).unwrap().len(), matches, "{round}");
    }
}

#[test]
fn a_slice_that_is_read_in_place_is_not_captured() {
    let device = Device::cpu();
    let (stream, mut scratch) = (device.default_stream(), Scratch::new(&device));
    let column = column_of(0);
    // Kernels read what begins at a multiple of 16 bytes.
    let column = &column[column.as_ptr().align_offset(16)..];
    let mut distinct = Unique::of(column).run_bounded(stream, &mut scratch, 100).unwrap();
    is_refused(stream.capture(|| Unique::of(column).run_bounded_into(stream, &mut scratch, &mut distinct)), "lent");
}

#[parameterized]
fn what_would_come_later_or_is_ignored_is_refused(device: &Device) {
    let stream = device.default_stream();
    let mut letters = Buffer::from_slice(device, &['a'; 4]).unwrap();
    letters.resize(stream, 0).unwrap();
    is_refused(stream.capture(|| letters.resize(stream, 3)), "longer");
    assert!(letters.is_empty());
    let ignored = stream.capture(|| {
        let _ = stream.synchronize();
        Ok(())
    });
    is_refused(ignored, "waits");
}
