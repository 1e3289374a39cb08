//! Batches of many operations that run concurrently.

use super::batch_in_turn::Batch;
use super::line::Told;
use super::same_keys::{Row, SLOTS, SameKeys, THREADS};
use super::slot::{IfHeld, Inserted};
use super::{Emptying, Filling, InUse, Layout, count_up, header};
use crate::double_word::PackedPair;
use crate::seam::{Block, Global, Shared, Tile};
use crate::table::fold::Fold;
use crate::types::{KeyWord, ValueWord};

/// The effect of an operation on its key. The word of a [`Fold`] is an operation, too: it combines
/// the value of the key with the given one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Operation {
    /// Looks the key up.
    Get = 0,
    /// Inserts the key, or replaces its value.
    Insert = 1,
    /// Inserts the key unless it has a value.
    GetOrInsert = 2,
    /// Removes the key.
    Remove = 3,
}

/// Returns whether an operation on values of type `V` may need a slot for its key.
#[inline(always)]
fn inserts<V: ValueWord>(operation: u32) -> bool {
    operation == Operation::Insert as u32
        || operation == Operation::GetOrInsert as u32
        || Fold::of_word(operation, V::BITS).is_some()
}

/// Returns the effect of an inserting operation on the value of a key that is present.
#[inline(always)]
fn if_held<V: ValueWord, const MIXED: bool>(operation: u32) -> IfHeld {
    match Fold::of_word(operation, V::BITS) {
        Some(fold) if MIXED => IfHeld::Combine(fold),
        _ if operation == Operation::GetOrInsert as u32 => IfHeld::Keep,
        _ => IfHeld::Replace,
    }
}

/// The scalar arguments of [`Apply`].
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct ApplyParams {
    /// The table's layout.
    pub layout: Layout,
    /// The index of the first operation, a multiple of 32.
    pub first: u64,
    /// The index of the last operation, plus one.
    pub end: u64,
    /// The [`Operation`] of all keys, used without [`Apply`]'s `kinds`.
    pub operation: u32,
    /// 1 if slots of removed keys may be used again; all operations must then be insertions.
    pub anywhere: u32,
    /// The limit of slot requests, if there is a `pending` array. New keys may take a slot while
    /// the header's word `ASKED` is below the limit.
    pub max_asked: u64,
}

/// An insertion.
#[derive(Clone, Copy)]
struct Insertion<K: KeyWord, V: ValueWord> {
    in_use: InUse<K, V>,
    anywhere: bool,
    key: K,
    value: V,
    if_held: IfHeld,
}

impl<K: KeyWord, V: ValueWord> Insertion<K, V> {
    #[inline(always)]
    fn run(self, may_take: bool) -> Inserted<V> {
        let Self { in_use, anywhere, key, value, if_held } = self;
        if anywhere {
            Filling::of(in_use).insert(key, value, if_held, may_take)
        } else {
            in_use.insert(key, value, if_held, may_take)
        }
    }
}

/// The result of an operation.
#[derive(Default)]
struct Done<V> {
    /// The value that the operation's key had before.
    before: Option<V>,
    taken: bool,
    gained: bool,
    lost: bool,
    refused: bool,
    emptied: bool,
    /// Whether the operation must be done.
    wanted: bool,
    /// Whether this thread does it, and not another one for it.
    leads: bool,
}

kernel! {
    /// Does the operations of the plan's range, all concurrently, with one thread for each.
    ///
    /// With `MIXED` operation `i` is the [`Operation`] or [`Fold`] in `kinds[i]`; other words have
    /// no effect. Without it, all operations are the plan's [`Operation`], and `kinds` is null.
    /// Operation `i` applies to `keys[i]` and, if it inserts, `values[i]`.
    ///
    /// Bit `i mod 32` of `before[i / 32]` tells whether the key was present before. `answers[i]`
    /// becomes the value that it had, or for `GetOrInsert` the value that it has now, or 0. Both
    /// arrays may be null.
    ///
    /// If `pending` is not null, only the operations whose bit is set there are done, and the
    /// refused operations stay pending.
    ///
    /// The operations of a block that combine values of one key in the same way are merged first.
    /// If all operations remove, a warp does only one of its operations for each key.
    Apply<K: KeyWord, V: ValueWord; const MIXED: bool>, "linear_apply" | "linear_apply_mixed", threads 256, resident 6, wide atomics, cpu cores,
        shared slots: u32 = SLOTS, shared leaders: u32 = THREADS, shared combined: u64 = THREADS;
    {
        kinds: Global<u32>, keys: Global<K>, values: Global<V>, words: Global<PackedPair<K, V>>, header: Global<u64>,
        answers: Global<V>, before: Global<u32>, pending: Global<u32>, plan: ApplyParams,
    }
}

impl<K: KeyWord, V: ValueWord, const MIXED: bool> Apply<K, V, MIXED> {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B, slots: B::Shared<u32>, leaders: B::Shared<u32>, combined: B::Shared<u64>) {
        let args = self;
        let block_first = args.plan.first + block.first_thread();
        let mut nothing = block.local(|_| ());
        let combines =
            MIXED && block.count(&mut nothing, |thread, _| args.fold_of(block_first + thread as u64).is_some()) != 0;
        let same_keys = SameKeys { slots, leaders, values: combined };
        if combines {
            same_keys.meet::<K, V>(block, |thread| {
                let index = block_first + thread as u64;
                let row = |fold| Row { key: args.keys.load(index), fold, value: args.values.load(index) };
                args.fold_of(index).map(row)
            });
        }
        let mut done = block.local(|thread| {
            let wanted = args.is_wanted(block_first + thread as u64);
            Done { wanted, leads: wanted && (!combines || same_keys.leads(thread)), ..Done::default() }
        });
        if !MIXED && args.plan.operation == Operation::Remove as u32 {
            block.tiles_of(&mut done, |warp, done| {
                let first = block_first + warp.first_thread() as u64;
                let key = |lane: u32, done: &Done<V>| {
                    let key = || args.keys.load(first + lane as u64);
                    done.wanted.then(key).map(|key| (key, args.plan.layout.class(key)))
                };
                warp.twins(done, key, |lane, done, twin| done.leads &= twin == lane);
            });
        }
        block.each(&mut done, |thread, done| {
            let index = block_first + thread as u64;
            if done.leads {
                args.apply(index, done, || same_keys.combined(thread));
            } else if done.wanted && !combines && !args.answers.is_null() {
                // Another operation of the warp removes the key.
                args.answers.store_streaming(index, V::default());
            }
        });
        if combines {
            args.tell_led(block, &mut done, same_keys);
        }
        args.write_bits(block, &mut done);
        let counts = [
            (header::TAKEN, block.count(&mut done, |_, done| done.taken)),
            (header::GAINED, block.count(&mut done, |_, done| done.gained)),
            (header::LOST, block.count(&mut done, |_, done| done.lost)),
            (header::REFUSED, block.count(&mut done, |_, done| done.refused)),
            (header::EMPTIED, block.count(&mut done, |_, done| done.emptied)),
        ];
        count_up(block, args.header, counts);
    }

    #[inline(always)]
    fn cores<B: Block>(self, block: &mut B, slots: B::Shared<u32>, leaders: B::Shared<u32>, combined: B::Shared<u64>) {
        let changes = [Operation::Insert, Operation::GetOrInsert, Operation::Remove].map(|kind| kind as u32);
        if !MIXED && changes.contains(&self.plan.operation) {
            self.change_in_turn(block);
        } else {
            self.run(block, slots, leaders, combined);
        }
    }

    /// Returns whether only pending operations are done.
    #[inline(always)]
    fn counted(&self) -> bool {
        !self.pending.is_null()
    }

    /// Returns whether an operation must be done.
    #[inline(always)]
    fn is_wanted(&self, index: u64) -> bool {
        let pending = || self.pending.load_streaming(index / 32) >> (index % 32) & 1 != 0;
        index < self.plan.end && (!self.counted() || pending())
    }

    /// Returns the fold of an operation, if it must be done and combines values.
    #[inline(always)]
    fn fold_of(&self, index: u64) -> Option<Fold> {
        if self.is_wanted(index) { Fold::of_word(self.kinds.load_streaming(index), V::BITS) } else { None }
    }

    /// Does an operation. `combined` returns the merged value of all operations that this thread
    /// leads.
    #[inline(always)]
    fn apply(&self, index: u64, done: &mut Done<V>, combined: impl Fn() -> V) {
        let args = *self;
        let ApplyParams { layout, operation, anywhere, max_asked, .. } = args.plan;
        let mut inserted_value = V::default();
        let kind = if MIXED { args.kinds.load_streaming(index) } else { operation };
        let key = args.keys.load_streaming(index);
        let in_use = InUse::new(args.words, args.header, layout);
        if MIXED && kind == Operation::Get as u32 {
            done.before = in_use.get(key);
        } else if kind == Operation::Remove as u32 {
            if !MIXED {
                // All operations of the launch remove.
                let removed = Emptying::new(args.words, args.header, layout).remove(key);
                done.before = removed.map(|(value, _)| value);
                done.emptied = removed.is_some_and(|(_, emptied)| emptied);
            } else {
                done.before = in_use.remove(key);
            }
            done.lost = done.before.is_some();
        } else if !MIXED || inserts::<V>(kind) {
            let if_held = if_held::<V, MIXED>(kind);
            let value = match if_held {
                IfHeld::Combine(_) if MIXED => combined(),
                _ => args.values.load_streaming(index),
            };
            let insertion = Insertion { in_use, anywhere: !MIXED && anywhere != 0, key, value, if_held };
            let mut inserted = insertion.run(!args.counted());
            if args.counted() && inserted.refused && args.header.atomic(header::ASKED).fetch_add(1) < max_asked {
                inserted = insertion.run(true);
            }
            let Inserted { before, taken, refused } = inserted;
            (done.before, done.taken, done.refused, done.gained) = (before, taken, refused, inserted.is_new());
            if kind == Operation::GetOrInsert as u32 && done.gained {
                inserted_value = value;
            }
        }
        if !args.answers.is_null() {
            args.answers.store_streaming(index, done.before.unwrap_or(inserted_value));
        }
    }

    /// Answers the operations that their leaders have done.
    #[inline(always)]
    fn tell_led<B: Block>(
        &self,
        block: &mut B,
        done: &mut B::Local<Done<V>>,
        same_keys: SameKeys<impl Shared<u32>, impl Shared<u64>>,
    ) {
        let block_first = self.plan.first + block.first_thread();
        block.phase(done, |thread, done| {
            if self.fold_of(block_first + thread as u64).is_some() && same_keys.leads(thread) {
                same_keys.finish(thread, done.before, done.refused);
            }
        });
        block.each(done, |thread, done| {
            let Some(fold) = self.fold_of(block_first + thread as u64) else { return };
            if same_keys.is_led(thread) {
                done.before = same_keys.found(thread, fold);
                done.refused = done.before.is_none();
                if !self.answers.is_null() {
                    let answer = done.before.unwrap_or_default();
                    self.answers.store_streaming(block_first + thread as u64, answer);
                }
            }
        });
    }

    /// Writes the bits of keys that were present before, and of refused operations, which stay
    /// pending.
    #[inline(always)]
    fn write_bits<B: Block>(&self, block: &mut B, done: &mut B::Local<Done<V>>) {
        let (args, end) = (*self, self.plan.end);
        let block_first = args.plan.first + block.first_thread();
        block.tiles_of(done, |warp, done| {
            let found = warp.ballot(done, |_, done| done.before.is_some());
            let wanted = warp.ballot(done, |_, done| done.wanted);
            let refused = warp.ballot(done, |_, done| done.refused);
            let warp_first = block_first + warp.first_thread() as u64;
            warp.each(done, |lane, _| {
                let index = warp_first + lane as u64;
                if lane == 0 && index < end {
                    if !args.before.is_null() {
                        // Bits of the word from earlier launches are kept, except bits after the
                        // last operation.
                        let there = u32::MAX >> (32 - (end - index).min(32) as u32);
                        let others = if args.counted() { args.before.load(index / 32) & !wanted & there } else { 0 };
                        args.before.store(index / 32, others | found);
                    }
                    if args.counted() {
                        args.pending.store(index / 32, refused);
                    }
                }
            });
        });
    }

    /// Does a batch of insertions only or of removals only on CPU cores.
    #[inline(always)]
    fn change_in_turn<B: Block>(self, block: &mut B) {
        let Self { keys, values, words, header, answers, before, pending, plan, .. } = self;
        let ApplyParams { layout, first, end, operation, anywhere, max_asked } = plan;
        let batch = Batch { keys, values, value: 0, words, header, answers, before, pending, layout, first, end };
        let totals = if operation == Operation::Remove as u32 {
            batch.remove(block)
        } else {
            let if_held = if_held::<V, MIXED>(operation);
            // SAFETY: if requests are not counted, the word is not accessed.
            let asked = if pending.is_null() { unsafe { Global::null() } } else { header.offset(header::ASKED) };
            batch.insert::<true>(block, Told { if_held, anywhere: anywhere != 0, asked, max_asked })
        };
        let counts = [
            (header::TAKEN, totals.taken),
            (header::GAINED, totals.gained),
            (header::LOST, totals.lost),
            (header::REFUSED, totals.refused),
            (header::EMPTIED, totals.emptied),
        ];
        count_up(block, header, counts);
    }
}

/// The scalar arguments of [`CountInserting`].
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct InsertingParams {
    /// The index of the first operation.
    pub first: u64,
    /// The index of the last operation, plus one.
    pub end: u64,
}

kernel! {
    /// Adds the count of the plan's operations that insert to the header's word `INSERTING`, with
    /// one thread for each operation.
    CountInserting<>, "linear_count_inserting", threads 256;
    { kinds: Global<u32>, header: Global<u64>, plan: InsertingParams }
}

impl CountInserting {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B) {
        let args = self;
        let InsertingParams { first, end } = args.plan;
        let block_first = first + block.first_thread();
        let mut nothing = block.local(|_| ());
        let inserting = block.count(&mut nothing, |thread, _| {
            let index = block_first + thread as u64;
            let kind = if index < end { args.kinds.load_read_only(index) } else { Operation::Get as u32 };
            let is_fold = Fold::of_word(kind, 32).is_some() || Fold::of_word(kind, 64).is_some();
            kind == Operation::Insert as u32 || kind == Operation::GetOrInsert as u32 || is_fold
        });
        block.each(&mut nothing, |thread, _| {
            if thread == 0 && inserting != 0 {
                args.header.atomic(header::INSERTING).fetch_add(inserting as u64);
            }
        });
    }
}
