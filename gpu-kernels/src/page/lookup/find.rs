//! Looking up many keys.

use super::table::{MAX_NEAR_BUCKETS, Table, answer_at, beyond_line, filtered, near, one_line};
use crate::page::form::{BUCKET_WORDS, Form, Layout, with_form};
use crate::primitives::flags::{EXPANDED, expand};
use crate::seam::{Block, Global, Tile, Work, vectorized};
use crate::split::pairs::AT_ONCE;
use crate::table::lookup::Plain;
use crate::types::{KeyWord, Payload, Scalar, WordOf};
use core::marker::PhantomData;

/// The scalar arguments of [`Find`].
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct FindParams {
    /// The table's layout.
    pub layout: Layout,
    /// The count of queries.
    pub queries: u64,
    /// The value of queries whose key is absent.
    pub absent: u64,
}

/// A query and its answer.
struct Query<K, W> {
    mixed: K,
    answer: Option<W>,
}

kernel! {
    /// Answers query `i` by thread `i`. `values[i]` becomes the value, or `absent` if the key is
    /// absent. Bit `i mod 32` of `found[i / 32]` and byte `i` of `flags` tell whether it is
    /// present.
    ///
    /// `values`, `found` and `flags` may be null. `words` are the table's buckets.
    Find<K: KeyWord, V: Payload>, "page_find", threads 256, cpu cores;
    {
        queries: Global<K>, words: Global<u64>, values: Global<WordOf<V>>, found: Global<u32>, flags: Global<u8>,
        plan: FindParams
    }
}

impl<K: KeyWord, V: Payload> Find<K, V> {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B) {
        let args = self;
        let FindParams { layout, queries: count, .. } = args.plan;
        let table = Table::<K, V>::new(args.words.cast(), layout);
        let outputs = args.outputs();
        let block_first = block.first_thread();
        block.tiles(|tile| {
            let first = block_first + tile.first_thread() as u64;
            let mut queries = tile.local(|lane| {
                let index = first + lane as u64;
                let mut query = Query::<K, V::Word> { mixed: K::default(), answer: None };
                if index < count {
                    query.mixed = args.queries.load_streaming(index).mixed(layout.a, layout.b);
                    table.prefetch(query.mixed);
                }
                query
            });
            tile.each(&mut queries, |lane, query| {
                if first + (lane as u64) < count {
                    query.answer = table.get_mixed(query.mixed);
                }
            });
            outputs.write(tile, &mut queries, (first, count), |query| query.answer);
        });
    }

    #[inline(always)]
    fn cores<B: Block>(self, block: &mut B) {
        let (outputs, words, layout) = (self.outputs(), self.words.cast(), self.plan.layout);
        let first = block.first_thread();
        let end = self.plan.queries.min(first + block.threads() as u64);
        with_form!(layout.slots, K, V, F => {
            vectorized(InTurn::<F, K, V> {
                queries: self.queries, outputs, words, layout, first, end, form: PhantomData
            });
        });
    }

    #[inline(always)]
    fn outputs(&self) -> Plain<V::Word> {
        let Self { values, found, flags, .. } = *self;
        Plain { values, absent: Scalar::from_u64(self.plan.absent), found, flags }
    }
}

/// The lookup of the queries `first..end` where threads do not run in step.
///
/// The home buckets of a group of queries are computed first, which a CPU can vectorize. Then the
/// queries are answered one after the other.
struct InTurn<F, K: KeyWord, V: Payload> {
    queries: Global<K>,
    outputs: Plain<V::Word>,
    words: Global<K::PackedWord<V>>,
    layout: Layout,
    first: u64,
    end: u64,
    form: PhantomData<F>,
}

/// The homes of the queries that share a word of found bits, and their tags at home and in the
/// other bucket of the line.
#[derive(Clone, Copy, Default)]
struct Sought<W> {
    homes: [u32; AT_ONCE],
    tags: [[W; AT_ONCE]; 2],
}

impl<F: Form, K: KeyWord, V: Payload> Work for InTurn<F, K, V> {
    type Output = ();
    #[inline(always)]
    fn run(self) {
        if self.outputs.values.is_null() {
            self.all::<false>();
        } else {
            self.all::<true>();
        }
    }
}

impl<F: Form, K: KeyWord, V: Payload> InTurn<F, K, V> {
    /// Answers all queries, and writes values if `VALUES` is true.
    #[inline(always)]
    fn all<const VALUES: bool>(&self) {
        let (mut even, mut odd) = (Sought::default(), Sought::default());
        let (mut first, step) = (self.first, AT_ONCE as u64);
        self.seek(first, &mut even);
        // While some queries are answered, the buckets of the next queries are being fetched.
        while first + 2 * step <= self.end {
            self.seek(first + step, &mut odd);
            self.answer::<true, VALUES>(first, &even);
            self.seek(first + 2 * step, &mut even);
            self.answer::<true, VALUES>(first + step, &odd);
            first += 2 * step;
        }
        while first < self.end {
            self.seek(first, &mut even);
            self.answer::<false, VALUES>(first, &even);
            first += step;
        }
    }

    /// Computes the homes of the queries starting at index `first`, and prefetches these buckets.
    #[inline(always)]
    fn seek(&self, first: u64, sought: &mut Sought<K::PackedWord<V>>) {
        let here = self.end.saturating_sub(first).min(AT_ONCE as u64) as usize;
        // A whole group has a loop of its own, so that its length is constant.
        if here == AT_ONCE {
            for i in 0..AT_ONCE {
                self.seek_one(first, i, sought);
            }
        } else {
            for i in 0..here {
                self.seek_one(first, i, sought);
            }
        }
        if self.layout.buckets() > MAX_NEAR_BUCKETS {
            for home in sought.homes {
                self.words.prefetch(home as u64 * BUCKET_WORDS as u64);
            }
        }
    }

    #[inline(always)]
    fn seek_one(&self, first: u64, i: usize, sought: &mut Sought<K::PackedWord<V>>) {
        let layout = &self.layout;
        let mixed = self.queries.load_streaming(first + i as u64).mixed(layout.a, layout.b);
        let remainder = layout.remainder(mixed);
        sought.homes[i] = mixed.scaled(layout.buckets());
        (sought.tags[0][i], sought.tags[1][i]) = (layout.tag(remainder, 0), layout.tag(remainder, 1));
    }

    /// Answers the queries starting at index `first`. With `WHOLE` there is a whole group, whose
    /// found bits fill a word.
    #[inline(always)]
    fn answer<const WHOLE: bool, const VALUES: bool>(&self, first: u64, sought: &Sought<K::PackedWord<V>>) {
        let Self { outputs, words, ref layout, .. } = *self;
        let (homes, tags) = (&sought.homes, &sought.tags);
        let values = outputs.values.offset(first);
        let here = if WHOLE { AT_ONCE } else { AT_ONCE.min((self.end - first) as usize) };
        // Nearly all present keys are in their home line, so that line is searched first. For most
        // other keys the filter at home tells that they are absent.
        let (mut absent, mut missed) = (0, 0);
        for i in 0..here {
            let home = homes[i] as u64 * BUCKET_WORDS as u64;
            let equal = near::<F, _>(words, home, [tags[0][i], tags[1][i]], one_line::<F, K, V>());
            if equal == 0 {
                let filtered = filtered::<F, _>(words, home, tags[0][i]);
                absent |= (!filtered as u32) << i;
                missed |= (filtered as u32) << i;
                if VALUES {
                    values.store_streaming(i as u64, outputs.absent);
                }
            } else if VALUES {
                values.store_streaming(i as u64, answer_at::<F, K, V>(words, home, equal));
            }
        }
        let mut found = !(absent | missed) & u32::MAX >> (AT_ONCE - here);
        // At most 32 steps: each clears a bit.
        while missed != 0 {
            let i = missed.trailing_zeros() as usize;
            missed &= missed - 1;
            let answer = beyond_line::<F, K, V>(words, layout, homes[i], tags[0][i]);
            found |= (answer.is_some() as u32) << i;
            if VALUES {
                values.store_streaming(i as u64, answer.unwrap_or(outputs.absent));
            }
        }
        if !outputs.found.is_null() {
            outputs.found.store(first / AT_ONCE as u64, found);
        }
        if !outputs.flags.is_null() {
            expand(outputs.flags, first, self.end, found);
            if here as u64 > EXPANDED {
                expand(outputs.flags, first + EXPANDED, self.end, found >> EXPANDED);
            }
        }
    }
}
