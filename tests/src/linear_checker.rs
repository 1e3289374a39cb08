//! Invariants of a linear map's words, read by a decoder of its own, and of the answers of
//! concurrent operations.

use crate::{TestEngine, engines};
use gpu_kernels::double_word::{Double, Half, PackedPair};
use gpu_kernels::linear::{Layout, header};
use gpu_kernels::types::Scalar;
use std::collections::HashMap;
use warpnest::linear::LinearOperation;
use warpnest::types::{WordKey as Key, WordValue as Value};
use warpnest::{Error, Fold, LinearConfig, LinearMap};

/// Returns the engines that support a linear map of keys `K` and values `V`. All engines do unless
/// the key or the value has 64 bits.
pub fn linear_engines<K: Key, V: Value>() -> impl Iterator<Item = &'static TestEngine> + Clone {
    engines().iter().filter(|engine| match LinearConfig::default().create::<K, V>(&engine.device) {
        Err(Error::NoWideAtomics { .. }) => false,
        map => map.is_ok(),
    })
}

/// Returns the count of slots in a bucket.
pub const fn bucket<K: Key, V: Value>() -> u64 {
    32 / size_of::<PackedPair<K, V>>() as u64
}

/// Returns the count of slots in a line, all of which a search reads before it goes on to another
/// line.
pub const fn line<K: Key, V: Value>() -> usize {
    2 * bucket::<K, V>() as usize
}

/// The content of a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slot<K, V> {
    /// A slot that was never used.
    Empty,
    /// A key and its value.
    Living(K, V),
    /// The tombstone of a removed key.
    Removed(K),
}

/// Returns the content of a slot by its word.
pub fn slot_of<K: Key, V: Value>(word: PackedPair<K, V>) -> Slot<K, V> {
    let (upper, lower) = (word.upper().to_u64(), word.lower().to_u64());
    let all_ones = Half::<K, V>::ALL_ONES.to_u64();
    if upper != all_ones {
        Slot::Living(K::from_u64(upper), V::from_u64(lower))
    } else if lower == all_ones {
        Slot::Empty
    } else {
        Slot::Removed(K::from_u64(lower))
    }
}

/// Returns the word of an empty slot.
pub fn empty_word<K: Key, V: Value>() -> PackedPair<K, V> {
    Double::of(Scalar::ALL_ONES, Scalar::ALL_ONES)
}

/// Returns the word of a removed key.
pub fn removed_word<K: Key, V: Value>(key: K) -> PackedPair<K, V> {
    Double::of(Scalar::ALL_ONES, Scalar::from_u64(key.to_u64()))
}

/// Returns the slots that a search for a key reads, in order.
pub fn search_order<K: Key, V: Value>(layout: &Layout, key: K) -> impl Iterator<Item = u64> {
    let key = Scalar::from_u64(key.to_u64());
    let (layout, mut probe) = (*layout, layout.probe::<PackedPair<K, V>>(key));
    (0..layout.buckets()).flat_map(move |number| {
        if number > 0 {
            layout.advance(&mut probe);
        }
        let (first, start, slots) = (probe.bucket as u64 * bucket::<K, V>(), probe.start as u64, bucket::<K, V>());
        (0..slots).map(move |i| first + (start + i) % slots)
    })
}

/// The contents of a table, decoded from its words.
#[derive(Debug, Default)]
pub struct Decoded<K, V> {
    /// All pairs, including the cell's pair.
    pub pairs: HashMap<K, V>,
    /// The count of slots that are not empty.
    pub taken: u64,
    /// The count of slots of removed keys.
    pub removed: u64,
    /// For every key in a slot, the count of slots that a search for the key reads.
    pub lengths: Vec<u64>,
}

/// Decodes a table, or says what is wrong with it.
pub fn decode<K: Key, V: Value>(
    words: &[PackedPair<K, V>],
    beside: &[u64],
    layout: &Layout,
) -> Result<Decoded<K, V>, String> {
    if words.len() as u64 != layout.slots::<PackedPair<K, V>>() || beside.len() != header::WORDS {
        return Err(format!("{} slots and {} words beside them: {layout:?}", words.len(), beside.len()));
    }
    let slot_of = slot_of::<K, V>;
    let mut found = Decoded { pairs: HashMap::new(), taken: 0, removed: 0, lengths: Vec::new() };
    for (slot, &word) in words.iter().enumerate() {
        let (key, value) = match slot_of(word) {
            Slot::Empty => continue,
            Slot::Living(key, value) => (key, value),
            Slot::Removed(_) => {
                (found.taken, found.removed) = (found.taken + 1, found.removed + 1);
                continue;
            }
        };
        found.taken += 1;
        if word != Double::of(Scalar::from_u64(key.to_u64()), Scalar::from_u64(value.to_u64())) {
            return Err(format!("slot {slot} holds more than key {key} and value {value}: {word:x?}"));
        }
        if found.pairs.insert(key, value).is_some() {
            return Err(format!("key {key} is there twice, the second time in slot {slot}"));
        }
        let mut length = 0;
        for earlier in search_order::<K, V>(layout, key) {
            length += 1;
            if earlier == slot as u64 {
                break;
            }
            match slot_of(words[earlier as usize]) {
                // A slot in the key's own bucket may have been emptied later. In a bucket that the
                // key's search passed, no slot is ever empty.
                Slot::Empty if earlier / bucket::<K, V>() == slot as u64 / bucket::<K, V>() => {}
                Slot::Empty => return Err(format!("key {key} in slot {slot} is behind the empty slot {earlier}")),
                Slot::Removed(owner) if owner == key => {
                    return Err(format!("key {key} in slot {slot} is behind its removed slot {earlier}"));
                }
                _ => {}
            }
        }
        found.lengths.push(length);
    }
    // The widest cell has two words; the first word is the lower half.
    let cell = (beside[1] as u128) << 64 | beside[0] as u128;
    match cell.checked_sub(1 << Half::<K, V>::BITS) {
        None if cell == 0 => {}
        Some(value) if value <= V::ALL_ONES.to_u64() as u128 => {
            found.pairs.insert(K::ALL_ONES, V::from_u64(value as u64));
        }
        _ => return Err(format!("the cell holds {cell:#x}")),
    }
    Ok(found)
}

/// Returns the words of a map's slots.
pub fn words_of<K: Key, V: Value>(map: &LinearMap<K, V>) -> Result<Vec<PackedPair<K, V>>, String> {
    map.table().words().download(map.device().default_stream()).map_err(|error| error.to_string())
}

/// Decodes a map, or says what is wrong with its words or with its statistics.
pub fn check_linear_map<K: Key, V: Value>(map: &LinearMap<K, V>) -> Result<Decoded<K, V>, String> {
    let beside = map.table().header().download(map.device().default_stream()).map_err(|error| error.to_string())?;
    let found = decode::<K, V>(&words_of(map)?, &beside, map.table().layout())?;
    let keys = found.pairs.len();
    if (map.len(), map.is_empty()) != (keys, keys == 0) {
        return Err(format!("there are {keys} keys, and the map says {}", map.len()));
    }
    if map.table().taken() != found.taken {
        return Err(format!("{} slots are not empty, and the map says {}", found.taken, map.table().taken()));
    }
    if map.table().slots() != map.table().words().len() as u64 {
        return Err(format!("the map says it has {} slots", map.table().slots()));
    }
    Ok(found)
}

/// Says what is wrong with the map, given that its pairs should be the pairs of `reference`.
pub fn check_pairs<K: Key, V: Value>(
    map: &LinearMap<K, V>,
    reference: &HashMap<K, V>,
) -> Result<Decoded<K, V>, String> {
    let found = check_linear_map(map)?;
    crate::page_checker::same_pairs(&found.pairs, reference)?;
    Ok(found)
}

/// An operation and its answer.
pub type Done<K, V> = (LinearOperation<K, V>, Option<V>);

/// Returns the fold of two values.
fn combined<V: Value>(fold: Fold<V>, held: V, value: V) -> V {
    match fold {
        _ if fold == Fold::SUM => V::from_u64(held.to_u64().wrapping_add(value.to_u64())),
        _ if fold == Fold::MIN => held.min(value),
        _ => held.max(value),
    }
}

/// Returns the state of a key after an operation.
fn after<K: Key, V: Value>(operation: LinearOperation<K, V>, before: Option<V>) -> Option<V> {
    match operation {
        LinearOperation::Get(_) => before,
        LinearOperation::Insert(_, value) => Some(value),
        LinearOperation::GetOrInsert(_, value) => before.or(Some(value)),
        LinearOperation::Remove(_) => None,
        LinearOperation::Combine(_, value, fold) => Some(before.map_or(value, |held| combined(fold, held, value))),
    }
}

/// Returns whether the operations, all on one key, can have run in some order that gives these
/// answers and leads from `first` to `last`.
///
/// Each operation is an edge from the state that it answered with to the state that it left. An
/// order is a walk along all edges, each of them once. Such a walk exists exactly if the edges at
/// each state balance, except at the first and the last, and all edges are connected to the first
/// state.
pub fn in_some_order<K: Key, V: Value>(first: Option<V>, done: &[Done<K, V>], last: Option<V>) -> bool {
    let mut surplus: HashMap<Option<V>, i64> = HashMap::new();
    let mut neighbours: HashMap<Option<V>, Vec<Option<V>>> = HashMap::new();
    for &(operation, answer) in done {
        let then = after(operation, answer);
        *surplus.entry(answer).or_default() += 1;
        *surplus.entry(then).or_default() -= 1;
        neighbours.entry(answer).or_default().push(then);
        neighbours.entry(then).or_default().push(answer);
    }
    *surplus.entry(first).or_default() -= 1;
    *surplus.entry(last).or_default() += 1;
    let (mut reached, mut open) = (std::collections::HashSet::from([first]), vec![first]);
    while let Some(state) = open.pop() {
        open.extend(neighbours.get(&state).into_iter().flatten().filter(|&&next| reached.insert(next)));
    }
    surplus.values().all(|&surplus| surplus == 0) && neighbours.keys().all(|state| reached.contains(state))
}

/// Says for which key no order of the batch's operations gives their answers; keys that are not in
/// the batch must be unchanged.
pub fn check_answers<K: Key, V: Value>(
    before: &HashMap<K, V>,
    done: impl IntoIterator<Item = Done<K, V>>,
    after: &HashMap<K, V>,
) -> Result<(), String> {
    let mut of_key: HashMap<K, Vec<Done<K, V>>> = HashMap::new();
    for done in done {
        of_key.entry(done.0.parts().1).or_default().push(done);
    }
    for key in before.keys().chain(after.keys()) {
        of_key.entry(*key).or_default();
    }
    for (key, done) in of_key {
        let (first, last) = (before.get(&key).copied(), after.get(&key).copied());
        if !in_some_order(first, &done, last) {
            let some = &done[..done.len().min(20)];
            return Err(format!("key {key}: no order leads from {first:?} to {last:?} through {some:?}"));
        }
    }
    Ok(())
}
