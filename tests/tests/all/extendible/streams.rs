//! The extendible map over several streams, on every engine and on one that defers work. The map
//! changes on one stream and is read on others, without explicit waits.

use crate::deferred::on_all;
use std::collections::HashMap;
use warpnest::{Answers, Buffer, ExtendibleMap};
use warpnest_tests::distinct_keys;
use warpnest_tests::extendible_parts::small;
use warpnest_tests::maps::equals;

/// Checks batches that make the map grow and shrink, copies of it, and freed memory. Each round's
/// lookups must see the map of that round.
#[test]
fn a_map_that_grows_and_shrinks_while_others_look_up_gives_each_round_its_answers() {
    on_all(|device, most| {
        let n = most.min(20_000);
        let [change, other, first, second] = [(); 4].map(|()| device.stream().unwrap());
        let keys: Vec<u64> = distinct_keys(n, 9);
        let queries = Buffer::from_slice(device, &keys).unwrap();
        let mut map: ExtendibleMap<u64, u32> = small().create(device).unwrap();
        let mut there: HashMap<u64, u32> = HashMap::new();
        let mut rounds = Vec::new();
        for round in 0..9usize {
            // Each round uses another part of the keys, and the stream that changes the map
            // alternates.
            let part = &keys[round * n / 16..(round + 5) * n / 16];
            let stream = if round % 2 == 0 { &change } else { &other };
            let on_device = Buffer::from_slice(device, part).unwrap();
            let removes = round % 3 == 2;
            if removes {
                let mut answers = Answers::new(device, part.len()).unwrap();
                let removed = map.remove_many_into(stream, &on_device, &mut answers).unwrap();
                let expected: Vec<Option<u32>> = part.iter().map(|key| there.remove(key)).collect();
                assert_eq!(removed, expected.iter().flatten().count());
                assert!(answers.download(&first).unwrap() == expected, "round {round} on {}", device.name());
            } else {
                let values: Vec<u32> = (0..part.len() as u32).map(|i| (round as u32) << 24 | i).collect();
                let new = part.iter().filter(|key| !there.contains_key(key)).count();
                let on_device_too = Buffer::from_slice(device, &values).unwrap();
                assert_eq!(map.on(stream).unwrap().insert_many(&on_device, &on_device_too), Ok(new));
                there.extend(part.iter().copied().zip(values));
            }
            drop(on_device);
            // Two streams look up in the map, and one in a copy that is dropped at once.
            let copy = map.on(if round % 2 == 0 { &other } else { &change }).unwrap().try_clone().unwrap();
            let answers = [
                map.get_many_on(&first, &queries),
                map.get_many_on(&second, &queries),
                copy.get_many_on(&second, &queries),
            ];
            rounds.push((answers.map(Result::unwrap), there.clone()));
            match round {
                4 => map.shrink_to_fit().unwrap(),
                6 => map = copy,
                7 => {
                    map.on(&other).unwrap().clear().unwrap();
                    there.clear();
                }
                _ => {}
            }
        }
        drop(queries);
        for (round, (answers, there)) in rounds.iter().enumerate() {
            let expected: Vec<Option<u32>> = keys.iter().map(|key| there.get(key).copied()).collect();
            for (i, answers) in answers.iter().enumerate() {
                assert!(answers.download(&change).unwrap() == expected, "round {round}, {i} on {}", device.name());
            }
        }
        equals(&map, &there);
        drop(map);
    });
}
