//! The groups of some rows, found by one thread: their keys, and a hash table of them with linear
//! probing.

use gpu_kernels::seam::{Work, vectorized};
use gpu_kernels::types::KeyWord;

/// The most rows whose groups are found at once.
pub(super) const AT_ONCE: usize = 1024;
/// The binary logarithm of the fewest slots.
const MIN_BITS: u32 = 8;
/// The binary logarithm of the fewest slots for each key, and of the factor by which a table grows.
/// A key outside its first two slots costs a mispredicted branch, so most slots are free.
const SPARE_BITS: u32 = 2;
const GROWTH_BITS: u32 = 2;

/// The hash function of keys.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hash {
    /// The random words of [`KeyWord::mixed`].
    pub constants: [u64; 2],
    /// The count of leading bits that the hashes of all keys of a table share.
    pub skipped: u32,
}

impl Hash {
    #[inline(always)]
    pub(super) fn of<K: KeyWord>(self, key: K) -> K {
        key.mixed(self.constants[0], self.constants[1])
    }

    /// Returns the first slot of a key with this hash in a table of 2^`bits` slots.
    #[inline(always)]
    pub(super) fn home<K: KeyWord>(self, mixed: K, bits: u32) -> usize {
        (mixed.to_u64() << (64 - K::BITS + self.skipped) >> (64 - bits)) as usize
    }
}

/// A slot: the hash of a key, which determines the key, and its group.
#[derive(Clone, Copy, Debug, Default)]
struct Slot<K> {
    mixed: K,
    /// The index of the group plus 1, or 0 in a free slot.
    group_plus_one: u32,
}

impl<K: KeyWord> Slot<K> {
    #[inline(always)]
    fn has(self, mixed: K) -> bool {
        self.mixed == mixed && self.group_plus_one != 0
    }
}

/// The groups of some rows.
#[derive(Debug)]
pub(super) struct Table<K> {
    hash: Hash,
    bits: u32,
    slots: Vec<Slot<K>>,
    /// The key of each group.
    pub keys: Vec<K>,
}

impl<K: KeyWord> Table<K> {
    pub(super) fn new(hash: Hash) -> Self {
        Self { hash, bits: 0, slots: Vec::new(), keys: Vec::new() }
    }

    /// Removes all groups, and makes slots for about as many groups as are expected.
    pub(super) fn clear(&mut self, expected: usize) {
        self.keys.clear();
        // An estimate may be low.
        let expected = (expected / 4 * 5 + 1).next_power_of_two();
        self.set_slots((expected.ilog2() + SPARE_BITS).max(MIN_BITS));
    }

    /// Makes 2^`bits` free slots.
    fn set_slots(&mut self, bits: u32) {
        self.bits = bits;
        self.slots.clear();
        self.slots.resize(1 << bits, Slot::default());
    }

    /// Finds the groups of at most [`AT_ONCE`] rows, and makes groups of new keys. The new groups
    /// are in the order of their first rows.
    pub(super) fn find(&mut self, keys: &[K], groups: &mut [u32; AT_ONCE]) {
        let mut mixed = [K::default(); AT_ONCE];
        let mut missed = [0; AT_ONCE];
        let (mixed_here, missed_here) = (&mut mixed, &mut missed);
        let look = Look { table: self, keys, mixed: mixed_here, groups, missed: missed_here };
        let count = vectorized(look);
        for &row in &missed[..count] {
            groups[row as usize] = self.find_further(keys[row as usize], mixed[row as usize]);
        }
    }

    /// Returns the group of a key, which is made unless there is one.
    fn find_further(&mut self, key: K, mixed: K) -> u32 {
        let mut at = self.hash.home(mixed, self.bits);
        // At most as many steps as slots: there are more slots than keys, so an empty one ends the
        // loop.
        loop {
            let slot = self.slots[at];
            if slot.has(mixed) {
                return slot.group_plus_one - 1;
            }
            if slot.group_plus_one == 0 {
                break;
            }
            at = (at + 1) & (self.slots.len() - 1);
        }
        self.keys.push(key);
        let group_plus_one = self.keys.len() as u32;
        self.slots[at] = Slot { mixed, group_plus_one };
        if self.keys.len() << SPARE_BITS > self.slots.len() {
            self.grow();
        }
        group_plus_one - 1
    }

    #[cold]
    fn grow(&mut self) {
        self.set_slots(self.bits + GROWTH_BITS);
        for (&key, group_plus_one) in self.keys.iter().zip(1..) {
            let mixed = self.hash.of(key);
            let mut at = self.hash.home(mixed, self.bits);
            // At most as many steps as slots, as in `find_further`.
            while self.slots[at].group_plus_one != 0 {
                at = (at + 1) & (self.slots.len() - 1);
            }
            self.slots[at] = Slot { mixed, group_plus_one };
        }
    }
}

/// A look at the first slot of the key of each row, without a branch that depends on the keys. The
/// output is the count of rows whose keys are not there, whose indices are in `missed`.
struct Look<'t, K> {
    table: &'t Table<K>,
    keys: &'t [K],
    mixed: &'t mut [K; AT_ONCE],
    groups: &'t mut [u32; AT_ONCE],
    missed: &'t mut [u32; AT_ONCE],
}

impl<K: KeyWord> Work for Look<'_, K> {
    type Output = usize;

    #[inline(always)]
    fn run(self) -> usize {
        let Self { table: &Table { hash, bits, ref slots, .. }, keys, mixed, groups, missed } = self;
        for (mixed, &key) in mixed.iter_mut().zip(keys) {
            *mixed = hash.of(key);
        }
        let mut count = 0;
        assert!(slots.len() == 1 << bits && keys.len() <= AT_ONCE);
        for (row, (&mixed, group)) in mixed.iter().zip(groups).enumerate().take(keys.len()) {
            let home = hash.home(mixed, bits);
            // SAFETY: the home of a key is below 2^bits, which is the count of slots, and so is the
            // next slot.
            let [first, second] = unsafe { [home, (home + 1) & (slots.len() - 1)].map(|at| *slots.get_unchecked(at)) };
            let slot = if first.has(mixed) { first } else { second };
            *group = slot.group_plus_one.wrapping_sub(1);
            missed[count] = row as u32;
            count += usize::from(!slot.has(mixed));
        }
        count
    }
}
