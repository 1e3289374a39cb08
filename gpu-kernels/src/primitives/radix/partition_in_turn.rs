//! A tile of a pass that one thread processes, pair by pair in the order of the input.

use super::partition_plan::{PartitionArrays, PartitionParams};
use super::tile::{PREFIX, Published, SUM};
use super::{Digit, DigitOf};
use crate::seam::{Global, Shared, Word, Work, vectorized};
use crate::types::{KeyWord, Payload, Scalar, WordOf};

/// The pass over a tile by one thread, which first counts the pairs of each digit and then writes
/// each pair to the next offset of its digit.
pub(super) struct PartitionInTurn<K: KeyWord, V: Payload, S> {
    pub args: PartitionArrays<K, V>,
    pub plan: PartitionParams,
    /// The shared memory for one word per digit.
    pub starts: S,
    /// The tile's index.
    pub index: u32,
    /// The index of the tile's first pair. `here` is the count of the tile's pairs.
    pub first: u64,
    pub here: u32,
}

impl<K: KeyWord, V: Payload, S: Shared<u32>> PartitionInTurn<K, V, S> {
    #[inline(always)]
    pub fn run(self) {
        // A pass by digits of keys is compiled without hash functions. Keys are next to their
        // values only between passes.
        let beside = (is_beside(self.args.keys, self.args.values), is_beside(self.args.keys_out, self.args.values_out));
        match (self.plan.digit.of == DigitOf::Key as u32, beside) {
            (false, (false, false)) => self.move_pairs::<true, false, false>(),
            (false, (false, true)) => self.move_pairs::<true, false, true>(),
            (false, (true, false)) => self.move_pairs::<true, true, false>(),
            (false, (true, true)) => self.move_pairs::<true, true, true>(),
            (true, (false, false)) => self.move_pairs::<false, false, false>(),
            (true, (false, true)) => self.move_pairs::<false, false, true>(),
            (true, (true, false)) => self.move_pairs::<false, true, false>(),
            (true, (true, true)) => self.move_pairs::<false, true, true>(),
        }
    }

    #[inline(always)]
    fn move_pairs<const HASHED: bool, const BESIDE: bool, const BESIDE_OUT: bool>(self) {
        let Self { ref args, plan, starts, first, here, .. } = self;
        let from = Tile::<K, V, HASHED, BESIDE> {
            keys: args.keys.offset(first << BESIDE as u32),
            values: args.values.offset(first << BESIDE as u32),
            here,
            digit: plan.digit,
        };
        let (keys_out, values_out) = (args.keys_out, args.values_out);
        if plan.digit.bits == 0 {
            return vectorized(Copy { from, keys_out, values_out, first });
        }
        if self.alone() {
            self.take_all();
        } else {
            vectorized(Count { from, starts });
            self.take_parts();
        }
        vectorized(Scatter::<K, V, S, HASHED, BESIDE, BESIDE_OUT> { from, keys_out, values_out, starts });
        if self.alone() {
            for digit in 0..plan.digit.bins() {
                args.next_starts.store(digit as u64, starts.get(digit));
            }
        }
    }

    /// Returns whether this is the only tile.
    #[inline(always)]
    fn alone(&self) -> bool {
        self.first == self.plan.first && self.first + self.here as u64 == self.plan.end
    }

    /// Sets `starts` from the starts of the digits among all pairs. This is for the only tile.
    #[inline(always)]
    fn take_all(&self) {
        for digit in 0..self.plan.digit.bins() {
            let begin = self.args.digit_starts.load_read_only(digit as u64);
            self.starts.set(digit, begin.wrapping_sub(self.plan.base));
        }
    }

    /// Replaces the tile's count of each digit in `starts` by the output offset where the tile's
    /// pairs with that digit begin.
    #[inline(always)]
    fn take_parts(&self) {
        let (args, plan, starts) = (&self.args, &self.plan, self.starts);
        let pairs = plan.digit.bins() / 2;
        let published = Published { words: args.state.offset(1), pairs };
        let own = |pair: u32| starts.get(2 * pair) as u64 | (starts.get(2 * pair + 1) as u64) << 32;
        let status = if self.index == 0 { PREFIX } else { SUM };
        (0..pairs).for_each(|pair| published.word(self.index, pair).store(status | own(pair)));
        let last = self.first + self.here as u64 >= plan.end;
        for pair in 0..pairs {
            let (own, before) = (own(pair), published.before(self.index, pair));
            if self.index != 0 {
                published.word(self.index, pair).store(PREFIX | (before + own));
            }
            for half in 0..2 {
                let digit = 2 * pair + half;
                let begin = args.digit_starts.load_read_only(digit as u64).wrapping_sub(plan.base);
                let begin = begin.wrapping_add((before >> (32 * half)) as u32);
                starts.set(digit, begin);
                if last {
                    args.next_starts.store(digit as u64, begin.wrapping_add((own >> (32 * half)) as u32));
                }
            }
        }
    }
}

/// The pairs of a tile.
#[derive(Clone, Copy)]
struct Tile<K: KeyWord, V: Payload, const HASHED: bool, const BESIDE: bool> {
    keys: Global<K>,
    values: Global<WordOf<V>>,
    here: u32,
    digit: Digit,
}

impl<K: KeyWord, V: Payload, const HASHED: bool, const BESIDE: bool> Tile<K, V, HASHED, BESIDE> {
    /// Returns a key, which is mixed if digits are of mixed keys, and its value.
    #[inline(always)]
    fn pair(&self, item: u64) -> (K, V::Word) {
        let (mut key, value) = if BESIDE {
            let [key, value] = self.keys.load_pair_streaming(item << 1);
            (key, <V::Word>::from_u64(value.to_u64()))
        } else if V::VALUE_BITS != 0 {
            (self.keys.load_streaming(item), self.values.load_streaming(item))
        } else {
            (self.keys.load_streaming(item), <V::Word>::default())
        };
        if HASHED && self.digit.of == DigitOf::MixedKey as u32 {
            key = self.digit.functions.mixed_key(0, key);
        }
        (key, value)
    }

    /// Returns the digit of a key that [`Tile::pair`] returned.
    #[inline(always)]
    fn digit(&self, key: K) -> u32 {
        if HASHED && self.digit.of == DigitOf::Bucket as u32 {
            self.digit.field(self.digit.functions.slot(0, key))
        } else {
            self.digit.field(key)
        }
    }
}

/// The work of counting the pairs of each digit.
struct Count<K: KeyWord, V: Payload, S, const HASHED: bool, const BESIDE: bool> {
    from: Tile<K, V, HASHED, BESIDE>,
    starts: S,
}

impl<K: KeyWord, V: Payload, S: Shared<u32>, const HASHED: bool, const BESIDE: bool> Work
    for Count<K, V, S, HASHED, BESIDE>
{
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { from, starts } = self;
        starts.clear(0, from.digit.bins());
        for item in 0..from.here as u64 {
            starts.fetch_add(from.digit(from.pair(item).0), 1);
        }
    }
}

/// The work of writing each pair to the next offset of its digit.
struct Scatter<K: KeyWord, V: Payload, S, const HASHED: bool, const BESIDE: bool, const BESIDE_OUT: bool> {
    from: Tile<K, V, HASHED, BESIDE>,
    keys_out: Global<K>,
    values_out: Global<WordOf<V>>,
    starts: S,
}

/// The distance from the pair that is written to the later pair whose cache line is prefetched.
/// Otherwise the first write to a line would wait for it, and all later writes, too.
const AHEAD: u64 = 16;

impl<K: KeyWord, V: Payload, S: Shared<u32>, const HASHED: bool, const BESIDE: bool, const BESIDE_OUT: bool> Work
    for Scatter<K, V, S, HASHED, BESIDE, BESIDE_OUT>
{
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { from, keys_out, values_out, starts } = self;
        for item in 0..from.here as u64 {
            let (key, value) = from.pair(item);
            let target = starts.fetch_add(from.digit(key), 1) as u64;
            if BESIDE_OUT {
                keys_out.store_pair(target << 1, [key, K::from_u64(value.to_u64())]);
                keys_out.prefetch((target + AHEAD) << 1);
                continue;
            }
            keys_out.store(target, key);
            keys_out.prefetch(target + AHEAD);
            if V::VALUE_BITS != 0 {
                values_out.store(target, value);
                values_out.prefetch(target + AHEAD);
            }
        }
    }
}

/// The work of writing pairs in their order, as two arrays.
struct Copy<K: KeyWord, V: Payload, const HASHED: bool, const BESIDE: bool> {
    from: Tile<K, V, HASHED, BESIDE>,
    keys_out: Global<K>,
    values_out: Global<WordOf<V>>,
    first: u64,
}

impl<K: KeyWord, V: Payload, const HASHED: bool, const BESIDE: bool> Work for Copy<K, V, HASHED, BESIDE> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { from, keys_out, values_out, first } = self;
        for item in 0..from.here as u64 {
            let (key, value) = from.pair(item);
            keys_out.store(first + item, key);
            if V::VALUE_BITS != 0 {
                values_out.store(first + item, value);
            }
        }
    }
}

/// Returns whether each key is next to its value.
#[inline(always)]
fn is_beside<K: KeyWord, W: Word>(keys: Global<K>, values: Global<W>) -> bool {
    size_of::<K>() == size_of::<W>() && values.is_at(keys.offset(1))
}
