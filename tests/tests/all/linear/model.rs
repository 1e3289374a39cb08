//! The slot protocol of `LinearMap` under loom: small scenes, each in every order that threads and
//! relaxed loads allow.
//!
//! Every scene has one criterion. Its answers and its final words must be the outcome of its
//! operations one after the other, in some order that keeps each thread's own order. The
//! documentation defines that outcome (`Op::alone`). If two threads run in all orders, each
//! possible outcome must occur.
//!
//! The other guarantees follow from this: no key is stored twice, only one of several threads gets
//! `taken`, returned values were in the table, and a refused key had no slot. The final words are
//! also checked on their own (`Scene::unsound`).

use super::model_checker::{EMPTY, Inserted, Loads, Op, Op::*, Scene, View, held, key, sequence};
use gpu_kernels::linear::slot::{Cells, IfHeld, IfHeld::*, removed, value_of};
use gpu_kernels::primitives::reduce::SumKind;
use gpu_kernels::table::fold::{Fold, FoldKind};
use warpnest_tests::is_thorough;

/// The slot where the probe sequences of most keys here begin. It is the second last of a bucket of
/// 4 slots, so the probe order of indices 1 and 2 is opposite to the order of their slots. Index 4
/// is in the next bucket, index 8 in the next line.
const START: usize = 2;

/// Checks a scene in which only outcomes are allowed that its operations have one after the other.
fn sound(scene: Scene) {
    // Three threads have too many orders to run all of them, and so do two threads with relaxed
    // loads. By default, threads are interrupted once less often, which leaves a tenth of the
    // orders.
    let bounds = match scene.size() {
        (2, _) => [None, Some(4)],
        (_, 3) if is_thorough() => [Some(3), Some(2)],
        _ if is_thorough() => [Some(3), Some(1)],
        _ => [Some(2), Some(1)],
    };
    for (loads, bound) in [Loads::Newest, Loads::Relaxed].into_iter().zip(bounds) {
        let begun = std::time::Instant::now();
        let orders = scene.explore(loads, bound).unwrap_or_else(|fault| panic!("{fault}"));
        let name = std::thread::current().name().unwrap_or_default().to_owned();
        println!("{name} {loads:?}: {orders} orders in {:?}", begun.elapsed());
    }
}

/// Checks a scene that violates the protocol; the model must fail with this message.
fn broken(scene: Scene, how: &str) {
    let fault = scene.explore(Loads::Newest, None).expect_err("the model finds nothing wrong");
    println!("{fault}");
    assert!(fault.contains(how), "{fault}");
}

/// Returns three keys with the same probe sequence.
fn keys() -> [u32; 3] {
    [0, 1, 2].map(|n| key(START, n))
}

#[test]
fn a_new_key_in_place_takes_one_slot_for_all_its_threads() {
    let [k, ..] = keys();
    // The code handles the first slot separately. The following slots are in the rest of the
    // bucket, from its end to its begin, and in later buckets.
    for free in [&[0, 1][..], &[1], &[1, 2], &[3, 4], &[4, 5], &[7, 8], &[15]] {
        let scene = free.iter().fold(Scene::along(k), |scene, &index| scene.with(index, EMPTY));
        let two = scene.thread([InPlace(k, 1, Replace)]).thread([InPlace(k, 2, Replace)]);
        sound(two.clone());
        sound(two.clone().thread([InPlace(k, 3, Replace)]));
        sound(two.thread([InPlace(k, 3, Keep)]));
    }
}

#[test]
fn values_of_a_key_are_added_whatever_comes_between() {
    let [k, j, _] = keys();
    let add = IfHeld::Combine(Fold::new(FoldKind::Sum, SumKind::Unsigned, 32));
    for word in [held(k, 7), EMPTY, removed(k)] {
        let scene = Scene::along(k).with(1, word).with(2, EMPTY).constant(3, EMPTY);
        let two = scene.clone().thread([InPlace(k, 1, add)]).thread([InPlace(k, 20, add)]);
        sound(two.clone());
        sound(two.clone().thread([InPlace(k, 300, add)]));
        sound(two.clone().thread([InPlace(k, 300, Replace)]));
        sound(two.clone().thread([Remove(k)]));
        sound(two.thread([InPlace(j, 4, add)]));
    }
    for word in [removed(j), EMPTY, held(k, 7)] {
        let scene = Scene::along(k).with(1, word).with(2, EMPTY).constant(3, EMPTY);
        let two = scene.thread([Anywhere(k, 1, add)]).thread([Anywhere(k, 20, add)]);
        sound(two.clone());
        sound(two.thread([Anywhere(j, 300, add)]));
    }
}

#[test]
fn different_keys_in_place_get_a_slot_each_while_there_are_any() {
    let [k, j, m] = keys();
    // If fewer slots are free than there are keys, the other keys are refused.
    for free in [&[0][..], &[1], &[0, 1], &[1, 2], &[3, 4], &[1, 2, 3], &[3, 4, 5]] {
        let scene = free.iter().fold(Scene::along(k), |scene, &index| scene.with(index, EMPTY));
        let two = scene.thread([InPlace(k, 1, Replace)]).thread([InPlace(j, 2, Replace)]);
        sound(two.clone());
        sound(two.thread([InPlace(m, 3, Replace)]));
    }
    // These keys reach the same slots by different probe sequences.
    for other in [key(0, 0), key(3, 0), key(6, 0)] {
        for free in [&[1][..], &[1, 2], &[2, 4], &[1, 2, 4]] {
            let scene = free.iter().fold(Scene::along(k), |scene, &index| scene.with(index, EMPTY));
            let two = scene.thread([InPlace(k, 1, Replace)]).thread([InPlace(other, 2, Replace)]);
            sound(two.clone().thread([InPlace(k, 3, Replace)]));
            sound(two.thread([InPlace(m, 3, Replace)]));
        }
    }
}

#[test]
fn a_key_may_be_inserted_and_removed_at_the_same_time() {
    let [k, ..] = keys();
    for index in [0, 1, 4] {
        for word in [held(k, 7), EMPTY, removed(k)] {
            let scene = Scene::along(k).with(index, word).constant(index + 1, EMPTY);
            let one = scene.thread([InPlace(k, 1, Replace)]);
            sound(one.clone().thread([Remove(k)]));
            sound(one.clone().thread([Remove(k)]).thread([InPlace(k, 2, Replace)]));
            sound(one.clone().thread([Remove(k)]).thread([Remove(k)]));
            sound(one.clone().thread([Remove(k), InPlace(k, 2, Keep)]));
            sound(one.thread([Remove(k), InPlace(k, 2, Replace)]).thread([Remove(k)]));
        }
    }
}

#[test]
fn a_slot_that_was_a_keys_own_stays_so_while_others_come() {
    let [k, j, m] = keys();
    for (first, second) in [(1, 2), (3, 4)] {
        for word in [held(k, 7), removed(k)] {
            let scene = Scene::along(k).with(first, word).with(second, EMPTY).constant(second + 1, EMPTY);
            sound(scene.clone().thread([Remove(k), InPlace(k, 1, Replace)]).thread([InPlace(j, 2, Replace)]));
            let three = scene.thread([InPlace(k, 1, Replace)]).thread([Remove(k)]);
            sound(three.thread([InPlace(j, 2, Replace), Remove(j)]));
        }
        // Both keys are new, and one of them is removed again.
        let scene = Scene::along(k).with(first, EMPTY).with(second, EMPTY);
        let two = scene.thread([InPlace(k, 1, Replace), Remove(k)]).thread([InPlace(j, 2, Replace)]);
        sound(two.clone());
        sound(two.clone().thread([InPlace(k, 3, Replace)]));
        sound(two.thread([InPlace(m, 3, Replace)]));
    }
}

#[test]
fn without_leave_to_take_a_slot_only_a_key_that_had_one_gets_in() {
    let [k, j, _] = keys();
    for word in [held(k, 7), EMPTY, removed(k)] {
        let scene = Scene::along(k).with(1, word).with(2, EMPTY).constant(3, EMPTY);
        let one = scene.thread([InOwn(k, 1, Replace)]);
        sound(one.clone().thread([InPlace(k, 2, Replace)]));
        sound(one.clone().thread([Remove(k)]).thread([InOwn(k, 2, Keep)]));
        sound(one.thread([InPlace(j, 2, Replace)]).thread([InPlace(k, 3, Replace)]));
        let scene = Scene::along(k).with(1, word).with(2, EMPTY);
        sound(scene.thread([Change(k, 1, Replace)]).thread([Change(k, 2, Keep)]).thread([Anywhere(k, 3, Replace)]));
    }
}

#[test]
fn a_look_beside_insertions_in_place_and_removals_finds_what_was_there() {
    let [k, j, _] = keys();
    for index in [0, 1, 4] {
        for word in [held(k, 7), EMPTY, removed(k)] {
            let scene = Scene::along(k).with(index, word).constant(index + 1, EMPTY);
            let looks = scene.thread([Get(k), Get(k)]);
            sound(looks.clone().thread([InPlace(k, 1, Replace)]));
            sound(looks.clone().thread([Remove(k)]));
            sound(looks.clone().thread([InPlace(k, 1, Replace), Remove(k)]));
            sound(looks.clone().thread([InPlace(k, 1, Replace)]).thread([Remove(k)]));
            sound(looks.thread([Remove(k), InPlace(k, 1, Replace)]).thread([InPlace(k, 2, Replace)]));
        }
    }
    // The key comes after a key that is removed and inserted, or after a key that is just being
    // inserted.
    let scene = Scene::along(k).with(1, held(j, 5)).with(2, held(k, 7)).constant(3, EMPTY);
    sound(scene.thread([Get(k)]).thread([Remove(j), InPlace(j, 6, Replace)]).thread([InPlace(k, 1, Replace)]));
    let scene = Scene::along(k).with(1, EMPTY).with(2, EMPTY).constant(3, EMPTY);
    sound(scene.thread([Get(k), Get(k)]).thread([InPlace(j, 1, Replace)]).thread([InPlace(k, 2, Replace)]));
}

#[test]
fn a_thread_may_see_two_keys_come_in_the_order_against_that_of_their_coming() {
    // Nothing orders operations on different keys. The test also shows that relaxed loads of the
    // model return older words.
    let [k, j, _] = keys();
    let scene = Scene::along(k).with(1, held(k, 1)).with(2, held(j, 1));
    let scene = scene.thread([Get(j), Get(k)]).thread([InPlace(k, 2, Replace), InPlace(j, 2, Replace)]);
    assert!(scene.explore(Loads::Newest, None).is_ok());
    let fault = scene.explore(Loads::Relaxed, None).expect_err("the model does not know of older words");
    assert!(fault.contains("no order of the operations explains this"), "{fault}");
}

/// Returns the relevant tables that do not contain `k` and have a removed slot near an empty one.
fn with_removed_slots() -> Vec<Scene> {
    let [k, j, m] = keys();
    let scene = |words: &[(usize, u64)]| words.iter().fold(Scene::along(k), |scene, &(at, word)| scene.with(at, word));
    vec![
        scene(&[(0, removed(j)), (1, EMPTY)]),
        // A removed slot is preferred to an empty slot of its bucket, but not to one of an earlier
        // bucket.
        scene(&[(0, EMPTY), (1, removed(j))]),
        scene(&[(3, EMPTY), (4, removed(j))]),
        scene(&[(1, removed(k)), (2, EMPTY)]),
        scene(&[(1, removed(j)), (2, removed(k))]),
        scene(&[(1, removed(j)), (2, removed(m)), (3, EMPTY)]),
        // The removed slots are in the first bucket, and the second bucket has the empty slot or
        // the key's own removed slot.
        scene(&[(3, removed(j)), (4, EMPTY)]),
        scene(&[(2, removed(j)), (4, removed(k))]),
    ]
}

#[test]
fn a_key_inserted_anywhere_by_several_threads_stands_once() {
    let [k, ..] = keys();
    for scene in with_removed_slots() {
        let two = scene.thread([Anywhere(k, 1, Replace)]).thread([Anywhere(k, 2, Replace)]);
        sound(two.clone());
        sound(two.thread([Anywhere(k, 3, Keep)]));
    }
}

#[test]
fn keys_that_want_the_same_removed_slot_all_get_in_while_there_is_room() {
    let [k, j, m] = keys();
    for scene in with_removed_slots() {
        let two = scene.thread([Anywhere(k, 1, Replace)]).thread([Anywhere(j, 2, Replace)]);
        sound(two.clone());
        sound(two.clone().thread([Anywhere(k, 3, Replace)]));
        sound(two.thread([Anywhere(m, 3, Replace)]));
    }
    // Only one slot is free, so all keys except one are refused, even if the slot was their own.
    for word in [removed(j), removed(key(1, 5)), EMPTY] {
        let two = Scene::along(k).with(1, word).thread([Anywhere(k, 1, Replace)]).thread([Anywhere(j, 2, Replace)]);
        sound(two.clone());
        sound(two.clone().thread([Anywhere(m, 3, Replace)]));
        sound(two.thread([Anywhere(k, 3, Replace)]));
    }
    // These keys reach the same slots by different probe sequences.
    for other in [key(0, 0), key(6, 0)] {
        for scene in with_removed_slots() {
            let two = scene.thread([Anywhere(k, 1, Replace)]).thread([Anywhere(other, 2, Replace)]);
            sound(two.thread([Anywhere(k, 3, Replace)]));
        }
    }
}

#[test]
fn a_key_further_on_than_a_removed_slot_stays_where_it_is() {
    // In cuCollections' issue 606, threads that take the first removed slot without looking further
    // insert the key again.
    let [k, j, _] = keys();
    for (before, at) in [(0, 1), (1, 2), (3, 4), (2, 8)] {
        let scene = Scene::along(k).with(before, removed(j)).with(at, held(k, 7)).constant(at + 1, EMPTY);
        let two = scene.thread([Anywhere(k, 1, Replace)]).thread([Anywhere(k, 2, Replace)]);
        sound(two.clone());
        sound(two.clone().thread([Anywhere(k, 3, Keep)]));
        sound(two.thread([Anywhere(j, 3, Replace)]));
    }
}

#[test]
fn a_look_beside_insertions_anywhere_finds_what_was_there() {
    let [k, j, _] = keys();
    for scene in with_removed_slots() {
        let looks = scene.thread([Get(k), Get(k)]);
        sound(looks.clone().thread([Anywhere(k, 1, Replace)]));
        sound(looks.clone().thread([Anywhere(k, 1, Replace)]).thread([Anywhere(k, 2, Replace)]));
        sound(looks.thread([Anywhere(k, 1, Replace)]).thread([Anywhere(j, 2, Replace)]));
    }
    let scene = Scene::along(k).with(1, removed(j)).with(2, held(k, 7)).constant(3, EMPTY);
    sound(scene.thread([Get(k), Get(k)]).thread([Anywhere(k, 1, Replace)]).thread([Anywhere(j, 2, Replace)]));
}

#[test]
fn threads_that_keep_what_is_held_agree_on_one_value() {
    let [k, j, _] = keys();
    let three = |scene: Scene, op: fn(u32, u32, IfHeld) -> Op| {
        sound(scene.thread([op(k, 1, Keep)]).thread([op(k, 2, Keep)]).thread([op(k, 3, Keep), Get(k)]));
    };
    for word in [EMPTY, removed(k), held(k, 7)] {
        for index in [0, 1, 4] {
            three(Scene::along(k).with(index, word), InPlace);
            three(Scene::along(k).with(index, word), Anywhere);
        }
        // An insertion after the removal stores a new value.
        let scene = Scene::along(k).with(1, word).constant(2, EMPTY);
        sound(scene.thread([InPlace(k, 1, Keep)]).thread([InPlace(k, 2, Keep)]).thread([Remove(k)]));
    }
    for scene in with_removed_slots() {
        three(scene, Anywhere);
    }
    three(Scene::along(k).with(1, removed(j)).with(2, held(k, 7)).constant(3, EMPTY), Anywhere);
}

#[test]
fn threads_that_remove_and_empty_lose_no_key_and_take_each_once() {
    let [k, j, _] = keys();
    let looks = |scene: Scene| scene.thread([Empty(k)]).thread([Empty(j)]).thread([Get(k), Get(k)]);
    // In a bucket with an empty slot, removals make slots empty. In a full bucket they do not,
    // however many keys are removed.
    for empties in [&[2][..], &[3], &[4], &[]] {
        let scene = Scene::along(k).with(0, held(j, 5)).with(1, held(k, 7));
        let scene = empties.iter().fold(scene, |scene, &index| scene.constant(index, EMPTY));
        sound(scene.clone().thread([Empty(k)]).thread([Empty(k)]).thread([Empty(j)]));
        sound(looks(scene));
    }
    sound(looks(Scene::along(k).with(3, held(j, 5)).with(4, held(k, 7)).constant(5, EMPTY)));
    sound(looks(Scene::along(k).with(1, held(j, 5)).with(2, removed(k)).constant(3, EMPTY)));
}

#[test]
fn a_key_behind_an_emptied_slot_is_found_and_stands_once() {
    let [k, j, _] = keys();
    for op in [InPlace, Anywhere] {
        // The emptied slot is the key's first slot or another slot before the key's. The key is
        // present, removed, or was never present.
        for (emptied, at) in [(0, 3), (1, 2)] {
            for word in [held(k, 7), removed(k), EMPTY] {
                let scene = Scene::along(k).with(emptied, EMPTY).with(at, word);
                let two = scene.thread([op(k, 1, Replace)]).thread([op(k, 2, Keep)]);
                sound(two.clone());
                sound(two.clone().thread([Get(k)]));
                sound(two.thread([op(j, 3, Replace)]));
            }
        }
    }
    let scene = Scene::along(k).with(0, EMPTY).with(1, held(k, 7));
    sound(scene.thread([InPlace(k, 1, Replace)]).thread([Remove(k)]).thread([InPlace(j, 2, Replace)]));
}

/// Inserts into the first removed slot, as (Farrell 2020) would.
fn first_removed(cells: &View, key: u32, value: u32) -> Inserted {
    take(cells, key, value, 0)
}

/// Looks for the key first. If another thread takes the free slot, it continues after that slot
/// instead of starting again.
fn no_second_look(cells: &View, key: u32, value: u32) -> Inserted {
    let order = sequence(key).map(|slot| (slot, cells.load(slot as u64)));
    let living = order.iter().position(|(_, word)| word >> 32 == key as u64);
    let free = order.iter().position(|(_, word)| value_of(*word).is_none());
    take(cells, key, value, living.or(free).unwrap_or(order.len()))
}

/// Inserts into the first slot, at index `from` or later, that is the key's own, empty or removed.
fn take(cells: &View, key: u32, value: u32, from: usize) -> Inserted {
    for slot in sequence(key).into_iter().skip(from).map(|slot| slot as u64) {
        let seen = cells.load(slot);
        if seen >> 32 == key as u64 {
            let before = value_of(cells.exchange(slot, held(key, value)));
            return Inserted { before, taken: false, refused: false };
        }
        if value_of(seen).is_none() && cells.compare_exchange(slot, seen, held(key, value)) == seen {
            return Inserted { before: None, taken: seen == EMPTY, refused: false };
        }
    }
    Inserted { before: None, taken: false, refused: true }
}

#[test]
fn the_model_catches_insertions_that_look_too_little() {
    let [k, j, _] = keys();
    // A single thread shows the first fault.
    let scene = Scene::along(k).with(1, removed(j)).with(2, held(k, 7)).constant(3, EMPTY);
    broken(scene.thread([By(first_removed, k, 1)]).thread([Get(k)]), "stands in slots");
    // The second fault needs two threads at the same time. A single thread, or two operations one
    // after the other, do right.
    let scene = Scene::along(k).with(1, removed(j)).with(2, EMPTY);
    sound(scene.clone().thread([By(no_second_look, k, 1), By(no_second_look, k, 2)]));
    broken(scene.thread([By(no_second_look, k, 1)]).thread([By(no_second_look, k, 2)]), "stands in slots");
}

#[test]
fn insertions_anywhere_bear_neither_removals_nor_insertions_in_place_beside_them() {
    let [k, j, m] = keys();
    let one = |words: [(usize, u64); 2]| {
        words
            .into_iter()
            .fold(Scene::along(k), |scene, (at, word)| scene.with(at, word))
            .thread([Anywhere(k, 1, Replace)])
    };
    // The earlier slot becomes free after one thread has passed it and before the other thread
    // reaches it.
    let scene = one([(1, held(j, 5)), (2, EMPTY)]);
    broken(scene.thread([Remove(j), Anywhere(k, 2, Replace)]), "stands in slots");
    // The key's slot is given to another key between the load and the exchange, so the exchange
    // overwrites that key.
    let scene = one([(1, held(k, 7)), (2, EMPTY)]);
    broken(scene.thread([Remove(k), Anywhere(m, 2, Replace)]), "no order of the operations explains this");
    // An insertion anywhere would not store the key in its own removed slot.
    let scene = one([(1, removed(j)), (2, removed(k))]);
    broken(scene.thread([InPlace(k, 2, Replace)]), "stands in slots");
}
