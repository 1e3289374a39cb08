//! A few slots, a few threads, and every order of their operations: the protocol of `LinearMap`
//! under loom.
//!
//! loom runs a scene once for each interleaving of its atomic operations, and for each older word
//! that a relaxed load may still return. Version 0.7.2 forgets a thread's load when another thread
//! loads the same word. It then omits orders in which a change comes before the first load.
//! [`Loads`] works around that, and [`Scene::explore`] checks that no outcome is missing.
//!
//! Only slots that a scene can change are loom's atomics. The other slots are constants, which no
//! order can alter, so their loads create no further orders. An operation that tries to change a
//! constant panics.

use gpu_kernels::linear::Layout;
use gpu_kernels::linear::slot::{self, Cells, IfHeld};
use loom::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

/// The layout of the model's table: two lines of two buckets.
pub const LAYOUT: Layout = Layout { a: 0x9e37_79b9_7f4a_7c15, b: 0xd1b5_4a32_d192_ed03, lines: 2, linear: 1 };
/// The count of slots in a bucket with 64-bit words. The code is the same for all words, so wider
/// words have no other orders.
const BUCKET: u32 = 4;
const SLOTS: usize = 4 * BUCKET as usize;
/// The word of an empty slot.
pub const EMPTY: u64 = u64::MAX;
/// The result of an insertion.
pub type Inserted = slot::Inserted<u32>;
/// The key that is all ones.
const K: u64 = u32::MAX as u64;

/// Returns the `n`th key whose probe sequence begins at `slot`.
pub fn key(slot: usize, n: usize) -> u32 {
    (1..).filter(|&key| sequence(key)[0] == slot).nth(n).expect("every slot is the first of some keys")
}

/// Returns the slots that a search for a key reads, in order.
pub fn sequence(key: u32) -> [usize; SLOTS] {
    let (mut probe, mut order) = (LAYOUT.probe::<u64>(key), [0; SLOTS]);
    for bucket in order.chunks_mut(BUCKET as usize) {
        for (within, slot) in (probe.start..).zip(bucket) {
            *slot = (probe.bucket * BUCKET + within % BUCKET) as usize;
        }
        LAYOUT.advance(&mut probe);
    }
    order
}

/// Returns the word of a key with its value.
pub fn held(key: u32, value: u32) -> u64 {
    (key as u64) << 32 | value as u64
}

/// An insertion that exists only in the model.
pub type Variant = fn(&View, u32, u32) -> Inserted;

/// An operation of a thread.
#[derive(Clone, Copy, Debug)]
pub enum Op {
    /// An `insert_in_place` that may take a slot.
    InPlace(u32, u32, IfHeld),
    /// An `insert_in_place` that may not take a slot.
    InOwn(u32, u32, IfHeld),
    /// An `insert_anywhere` that may take a slot.
    Anywhere(u32, u32, IfHeld),
    /// An `insert_anywhere` that may not take a slot.
    Change(u32, u32, IfHeld),
    /// A variant that should behave like an `insert_anywhere` that replaces.
    By(Variant, u32, u32),
    /// `remove`.
    Remove(u32),
    /// `remove_and_empty`.
    Empty(u32),
    /// `get`.
    Get(u32),
}
use Op::*;

/// The answer to an operation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Answer {
    /// The answer to an insertion.
    Inserted(Inserted),
    /// The answer to a removal or a lookup.
    Value(Option<u32>),
    /// The answer to a removal that may empty the slot.
    Emptied(Option<(u32, bool)>),
}

impl Op {
    fn run(self, cells: &View) -> Answer {
        let layout = &cells.0.layout;
        match self {
            InPlace(key, value, held) => Answer::Inserted(slot::insert_in_place(cells, layout, key, value, held, true)),
            InOwn(key, value, held) => Answer::Inserted(slot::insert_in_place(cells, layout, key, value, held, false)),
            Anywhere(key, value, held) => {
                Answer::Inserted(slot::insert_anywhere(cells, layout, key, value, held, true))
            }
            Change(key, value, held) => Answer::Inserted(slot::insert_anywhere(cells, layout, key, value, held, false)),
            By(variant, key, value) => Answer::Inserted(variant(cells, key, value)),
            Remove(key) => Answer::Value(slot::remove(cells, layout, key)),
            Empty(key) => Answer::Emptied(slot::remove_and_empty(cells, layout, key)),
            Get(key) => Answer::Value(slot::get(cells, layout, key)),
        }
    }

    /// Runs the operation on words that no other thread changes. This function follows the
    /// documentation and not the code.
    fn alone(self, words: &mut [u64; SLOTS]) -> Answer {
        let (InPlace(key, ..)
        | InOwn(key, ..)
        | Anywhere(key, ..)
        | Change(key, ..)
        | By(_, key, _)
        | Remove(key)
        | Empty(key)
        | Get(key)) = self;
        let gone = K << 32 | key as u64;
        let first = |words: &[u64; SLOTS], fits: &dyn Fn(u64) -> bool| {
            sequence(key).into_iter().find(|&slot| fits(words[slot]))
        };
        let living = first(words, &|word| word >> 32 == key as u64);
        let before = living.map(|slot| words[slot] as u32);
        let (slot, value, held) = match self {
            Get(_) => return Answer::Value(before),
            Remove(_) => {
                if let Some(slot) = living {
                    words[slot] = gone;
                }
                return Answer::Value(before);
            }
            Empty(_) => {
                return Answer::Emptied(living.map(|slot| {
                    let bucket = slot - slot % BUCKET as usize;
                    let empties = words[bucket..bucket + BUCKET as usize].contains(&EMPTY);
                    let value = words[slot] as u32;
                    words[slot] = if empties { EMPTY } else { gone };
                    (value, empties)
                }));
            }
            InPlace(_, value, held) => {
                let own = living.or_else(|| first(words, &|word| word == gone));
                (own.or_else(|| first(words, &|word| word == EMPTY)), value, held)
            }
            InOwn(_, value, held) => (living.or_else(|| first(words, &|word| word == gone)), value, held),
            Change(_, value, held) => (living, value, held),
            Anywhere(_, value, held) => (living.or_else(|| free(words, key)), value, held),
            By(_, _, value) => (living.or_else(|| free(words, key)), value, IfHeld::Replace),
        };
        let Some(slot) = slot else {
            return Answer::Inserted(Inserted { before: None, taken: false, refused: true });
        };
        let taken = words[slot] == EMPTY;
        let value = match (before, held) {
            (Some(before), IfHeld::Keep) => before,
            (Some(before), IfHeld::Combine(_)) => before + value,
            _ => value,
        };
        words[slot] = (key as u64) << 32 | value as u64;
        Answer::Inserted(Inserted { before, taken, refused: false })
    }
}

/// Returns the slot for a new key that may go to any free slot: the first removed slot up to the
/// end of the first bucket with an empty slot, or else that empty slot.
fn free(words: &[u64; SLOTS], key: u32) -> Option<usize> {
    let order = sequence(key);
    let empty = order.iter().position(|&slot| words[slot] == EMPTY);
    let end = empty.map_or(SLOTS, |index| (index + 1).next_multiple_of(BUCKET as usize));
    let removed = order[..end].iter().find(|&&slot| words[slot] >> 32 == K && words[slot] != EMPTY);
    removed.copied().or(empty.map(|index| order[index]))
}

/// The way in which the model loads a shared word.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Loads {
    /// An exchange of the word for itself, which always returns the newest word.
    Newest,
    /// A relaxed load, which may return an older word. Each access to the slot comes after an
    /// exchange in a gate of the slot. The gate orders nothing, but loom tries all orders of these
    /// exchanges.
    Relaxed,
}

enum Cell {
    Constant(u64),
    Shared { word: AtomicU64, gate: AtomicU64 },
}

struct Table {
    cells: [Cell; SLOTS],
    layout: Layout,
    loads: Loads,
    steps: Mutex<Vec<(usize, &'static str, usize, u64)>>,
}

/// The table as seen by one thread, and the thread's index.
pub struct View(Arc<Table>, usize);

impl View {
    /// Accesses a word by `act`. A word that the scene made constant must not be `unless`, which
    /// `act` would change.
    fn at(&self, what: &'static str, slot: u64, unless: Option<u64>, act: impl FnOnce(&AtomicU64) -> u64) -> u64 {
        match &self.0.cells[slot as usize] {
            Cell::Constant(word) => {
                assert_ne!(Some(*word), unless, "the scene takes slot {slot} for constant");
                *word
            }
            Cell::Shared { word, gate } => {
                if self.0.loads == Loads::Relaxed {
                    gate.fetch_or(0, Relaxed);
                }
                let word = act(word);
                self.0.steps.lock().expect("no step panics").push((self.1, what, slot as usize, word));
                word
            }
        }
    }
}

impl Cells for View {
    type Word = u64;
    fn bucket(&self, bucket: u32) -> [u64; BUCKET as usize] {
        std::array::from_fn(|i| self.load(bucket as u64 * BUCKET as u64 + i as u64))
    }
    fn load(&self, slot: u64) -> u64 {
        self.at("loads", slot, None, |word| match self.0.loads {
            Loads::Newest => word.fetch_or(0, Relaxed),
            Loads::Relaxed => word.load(Relaxed),
        })
    }
    fn exchange(&self, slot: u64, word: u64) -> u64 {
        let any = match self.0.cells[slot as usize] {
            Cell::Constant(word) => Some(word),
            Cell::Shared { .. } => None,
        };
        self.at("exchanges", slot, any, |cell| cell.swap(word, Relaxed))
    }
    fn compare_exchange(&self, slot: u64, expected: u64, word: u64) -> u64 {
        self.at("compares", slot, Some(expected), |cell| {
            let (Ok(seen) | Err(seen)) = cell.compare_exchange(expected, word, Relaxed, Relaxed);
            seen
        })
    }
}

/// A table and the threads that work on it.
#[derive(Clone)]
pub struct Scene {
    words: [u64; SLOTS],
    shared: [bool; SLOTS],
    sequence: [usize; SLOTS],
    layout: Layout,
    threads: Vec<Vec<Op>>,
}

impl Scene {
    /// Creates a table full of other keys that stay, each in its first slot. Slots are indexed
    /// along the probe sequence of the given key.
    pub fn along(of: u32) -> Self {
        let words = std::array::from_fn(|slot| held(key(slot, 9), 900));
        Self { words, shared: [false; SLOTS], sequence: sequence(of), layout: LAYOUT, threads: Vec::new() }
    }

    /// Sets a word that may change, at this index of the probe sequence.
    pub fn with(mut self, index: usize, word: u64) -> Self {
        self.shared[self.sequence[index]] = true;
        self.words[self.sequence[index]] = word;
        self
    }

    /// Sets a word that no thread will change, at this index.
    pub fn constant(mut self, index: usize, word: u64) -> Self {
        self.words[self.sequence[index]] = word;
        self
    }

    /// Returns the count of threads and the count of operations.
    pub fn size(&self) -> (usize, usize) {
        (self.threads.len(), self.threads.iter().map(Vec::len).sum())
    }

    /// Adds a thread.
    pub fn thread<const N: usize>(mut self, ops: [Op; N]) -> Self {
        self.threads.push(ops.to_vec());
        self
    }

    /// Runs the scene in every order, or in all orders that interrupt threads at most `bound`
    /// times. `Ok` has the count of orders; without a bound, every outcome of the operations one
    /// after the other has occurred. `Err` describes the first order with any other outcome.
    pub fn explore(&self, loads: Loads, bound: Option<usize>) -> Result<usize, String> {
        let mut builder = loom::model::Builder::new();
        (builder.preemption_bound, builder.max_branches) = (bound, 10_000);
        let (mut possible, mut done) = (Vec::new(), vec![Vec::new(); self.threads.len()]);
        self.one_by_one(&self.words, &mut done, &mut possible);
        let found = Arc::new(Mutex::new((0, None, vec![false; possible.len()])));
        let (scene, into) = (self.clone(), found.clone());
        builder.check(move || {
            let outcome = scene.once(loads, &possible);
            let mut into = into.lock().expect("no scene panics");
            into.0 += 1;
            match outcome {
                Ok(which) => into.2[which] = true,
                Err(fault) => _ = into.1.get_or_insert(fault),
            }
        });
        let mut found = found.lock().expect("no scene panics");
        found.1.take().map_or(Ok(()), Err)?;
        assert!(bound.is_some() || found.2.iter().all(|&seen| seen), "some outcome has not come about: {:?}", found.2);
        Ok(found.0)
    }

    /// Collects all outcomes of running the operations one after the other, in each thread's own
    /// order.
    fn one_by_one(&self, words: &[u64; SLOTS], done: &mut Vec<Vec<Answer>>, into: &mut Vec<Outcome>) {
        let mut ended = true;
        for thread in 0..self.threads.len() {
            if let Some(op) = self.threads[thread].get(done[thread].len()) {
                ended = false;
                let mut words = *words;
                done[thread].push(op.alone(&mut words));
                self.one_by_one(&words, done, into);
                done[thread].pop();
            }
        }
        let outcome = (done.clone(), *words);
        if ended && !into.contains(&outcome) {
            into.push(outcome);
        }
    }

    /// Runs one order and returns the index of its outcome among the possible outcomes.
    fn once(&self, loads: Loads, possible: &[Outcome]) -> Result<usize, String> {
        let cells = std::array::from_fn(|slot| match self.shared[slot] {
            true => Cell::Shared { word: AtomicU64::new(self.words[slot]), gate: AtomicU64::new(0) },
            false => Cell::Constant(self.words[slot]),
        });
        let table = Arc::new(Table { cells, layout: self.layout, loads, steps: Mutex::new(Vec::new()) });
        let work = |thread: usize| {
            let (view, ops) = (View(table.clone(), thread), self.threads[thread].clone());
            move || ops.into_iter().map(|op| op.run(&view)).collect::<Vec<_>>()
        };
        let others: Vec<_> = (1..self.threads.len()).map(|thread| loom::thread::spawn(work(thread))).collect();
        let mut answers = vec![work(0)()];
        answers.extend(others.into_iter().map(|thread| thread.join().expect("no operation panics")));
        let steps = std::mem::take(&mut *table.steps.lock().expect("no step panics"));
        let view = View(table, 0);
        let outcome = (answers, std::array::from_fn(|slot| view.load(slot as u64)));
        let fault = match (self.unsound(&outcome.1), possible.iter().position(|it| *it == outcome)) {
            (None, Some(which)) => return Ok(which),
            (Some(fault), _) => fault,
            (None, None) => "no order of the operations explains this".into(),
        };
        let steps: String = steps.iter().map(|step| format!("{step:x?}\n")).collect();
        Err(format!("{fault}\n{:x?}\n{:x?}\n{:x?}\n{steps}", self.threads, outcome.0, outcome.1))
    }

    /// Says what is wrong with the final words, whatever led to them.
    fn unsound(&self, words: &[u64; SLOTS]) -> Option<String> {
        let mut living = BTreeMap::new();
        for (slot, word) in words.iter().enumerate().filter(|(_, word)| *word >> 32 != K) {
            if let Some(other) = living.insert((word >> 32) as u32, slot) {
                return Some(format!("key {:x} stands in slots {other} and {slot}", word >> 32));
            }
        }
        let bucket = |slot: usize| slot / BUCKET as usize;
        living.into_iter().find_map(|(key, at)| {
            let mut before = sequence(key).into_iter().take_while(|&slot| slot != at);
            let hides = before.find(|&slot| {
                // An empty slot in the key's own bucket does not hide the key.
                let empty = words[slot] == EMPTY && bucket(slot) != bucket(at);
                empty || words[slot] == K << 32 | key as u64
            })?;
            Some(format!("slot {hides} hides key {key:x} in slot {at}"))
        })
    }
}

/// The answers of each thread, and the final words.
type Outcome = (Vec<Vec<Answer>>, [u64; SLOTS]);
