//! What must hold of the words of a linear map, read by a decoder of its own, and of the answers of operations done at the same time.

use gpu_kernels::linear::{Layout, header, slot};
use std::collections::HashMap;
use warpnest::{LinearMap, LinearOperation};

/// Slots of a bucket.
const BUCKET: u64 = slot::BUCKET as u64;
/// The key beside the slots.
const K: u32 = u32::MAX;

/// What is in a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slot {
    /// Nothing, ever.
    Empty,
    /// A key and its value.
    Living(u32, u32),
    /// What a removed key left.
    Removed(u32),
}

/// The meaning of a word.
pub fn slot_of(word: u64) -> Slot {
    match ((word >> 32) as u32, word as u32) {
        (K, K) => Slot::Empty,
        (K, key) => Slot::Removed(key),
        (key, value) => Slot::Living(key, value),
    }
}

/// The word of a removed key.
pub fn removed_word(key: u32) -> u64 {
    (K as u64) << 32 | key as u64
}

/// All slots of a key's search, in its order.
pub fn search_order(layout: &Layout, key: u32) -> impl Iterator<Item = u64> {
    let (layout, mut probe) = (*layout, layout.probe(key));
    (0..layout.slots() / BUCKET).flat_map(move |number| {
        if number > 0 {
            layout.advance(&mut probe);
        }
        let (bucket, start) = (probe.bucket as u64, probe.start as u64);
        (0..BUCKET).map(move |i| bucket * BUCKET + (start + i) % BUCKET)
    })
}

/// What the words of a table say.
#[derive(Debug, Default)]
pub struct Decoded {
    /// All pairs, that of the cell, too.
    pub pairs: HashMap<u32, u32>,
    /// Slots that are not empty.
    pub taken: u64,
    /// Slots of removed keys.
    pub removed: u64,
    /// For every key in a slot, how many slots a search for it looks at.
    pub lengths: Vec<u64>,
}

/// Reads a table, or says what is wrong with it.
pub fn decode(words: &[u64], beside: &[u64], layout: &Layout) -> Result<Decoded, String> {
    if words.len() as u64 != layout.slots() || beside.len() != header::WORDS {
        return Err(format!("{} slots and {} words beside them: {layout:?}", words.len(), beside.len()));
    }
    let mut found = Decoded::default();
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
        if found.pairs.insert(key, value).is_some() {
            return Err(format!("key {key} is there twice, the second time in slot {slot}"));
        }
        let mut length = 0;
        for earlier in search_order(layout, key) {
            length += 1;
            if earlier == slot as u64 {
                break;
            }
            match slot_of(words[earlier as usize]) {
                // Within its bucket a slot may have been emptied since; in a bucket that the key went past none ever is.
                Slot::Empty if earlier / BUCKET == slot as u64 / BUCKET => {}
                Slot::Empty => return Err(format!("key {key} in slot {slot} is behind the empty slot {earlier}")),
                Slot::Removed(owner) if owner == key => {
                    return Err(format!("key {key} in slot {slot} is behind its removed slot {earlier}"));
                }
                _ => {}
            }
        }
        found.lengths.push(length);
    }
    let cell = beside[header::CELL as usize];
    match cell >> 32 {
        0 if cell == 0 => {}
        1 => drop(found.pairs.insert(K, cell as u32)),
        _ => return Err(format!("the cell holds {cell:#x}")),
    }
    Ok(found)
}

/// The words of a map's slots.
pub fn words_of(map: &LinearMap) -> Result<Vec<u64>, String> {
    map.words().download(map.device().default_stream()).map_err(|error| error.to_string())
}

/// Reads a map, or says what is wrong with its words or with what it says of itself.
pub fn check_linear_map(map: &LinearMap) -> Result<Decoded, String> {
    let beside = map.header().download(map.device().default_stream()).map_err(|error| error.to_string())?;
    let found = decode(&words_of(map)?, &beside, map.layout())?;
    let keys = found.pairs.len() as u64;
    if (map.len(), map.is_empty()) != (keys, keys == 0) {
        return Err(format!("there are {keys} keys, and the map says {}", map.len()));
    }
    if map.taken() != found.taken {
        return Err(format!("{} slots are not empty, and the map says {}", found.taken, map.taken()));
    }
    if map.slots() != map.words().len() as u64 {
        return Err(format!("the map says it has {} slots", map.slots()));
    }
    Ok(found)
}

/// Says what is wrong with the map, if its pairs should be those of `reference`.
pub fn check_pairs(map: &LinearMap, reference: &HashMap<u32, u32>) -> Result<Decoded, String> {
    let found = check_linear_map(map)?;
    crate::page_checker::same_pairs(&found.pairs, reference)?;
    Ok(found)
}

/// An operation and its answer.
pub type Done = (LinearOperation, Option<u32>);

/// The state that an operation leaves of its key.
fn after(operation: LinearOperation, before: Option<u32>) -> Option<u32> {
    match operation {
        LinearOperation::Get(_) => before,
        LinearOperation::Insert(_, value) => Some(value),
        LinearOperation::GetOrInsert(_, value) => before.or(Some(value)),
        LinearOperation::Remove(_) => None,
    }
}

/// Whether there is an order in which the operations, all on one key, give these answers and lead from one state to the other.
///
/// Each operation is an edge from the state that it answered with to the one that it left. An order is a walk along all edges, once each:
/// there is one exactly if the edges at each state balance, but for the first and the last, and all hang together with the first.
pub fn in_some_order(first: Option<u32>, done: &[Done], last: Option<u32>) -> bool {
    let mut surplus: HashMap<Option<u32>, i64> = HashMap::new();
    let mut neighbours: HashMap<Option<u32>, Vec<Option<u32>>> = HashMap::new();
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

/// Says for which key the answers of a batch have no order; keys that are not in the batch must be as they were.
pub fn check_answers(
    before: &HashMap<u32, u32>,
    done: impl IntoIterator<Item = Done>,
    after: &HashMap<u32, u32>,
) -> Result<(), String> {
    let mut of_key: HashMap<u32, Vec<Done>> = HashMap::new();
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
