//! Counts of the distinct values of groups: a hash set of pairs of group and value with linear
//! probing, which one thread fills.

use super::states::Values;
use super::table::{AT_ONCE, Hash, Table};
use gpu_kernels::seam::{Global, Work, vectorized};

/// The distinct values of a column in groups.
#[derive(Debug)]
pub(super) struct Pairs {
    column: usize,
    hash: Hash,
    bits: u32,
    /// A group plus 1 in the upper half and a value in the lower half, or 0 in a free slot.
    slots: Vec<u64>,
    /// The counts of added rows and of distinct pairs.
    rows: usize,
    pairs: usize,
    /// The ids of values of 64 bits, which take their places in pairs.
    values: Table<u64>,
    /// The count of distinct values of each group.
    counts: Vec<u32>,
}

impl Pairs {
    pub(super) fn new(column: usize, hash: Hash) -> Self {
        let hash = Hash { skipped: 0, ..hash };
        let (slots, counts) = (Vec::new(), Vec::new());
        // At first half of the rows are expected to have a new value.
        Self { column, hash, bits: 0, slots, rows: 2, pairs: 1, values: Table::new(hash), counts }
    }

    /// Removes all values, for `groups` groups with `rows` rows, of which as many are expected to
    /// have a new value as before.
    pub(super) fn clear(&mut self, groups: usize, rows: usize) {
        self.counts.clear();
        self.counts.resize(groups, 0);
        self.values.clear(self.values.keys.len());
        let expected = (rows as f64 * self.pairs as f64 / self.rows.max(1) as f64) as usize;
        (self.rows, self.pairs) = (0, 0);
        self.set_slots((2 * expected.max(AT_ONCE)).next_power_of_two().ilog2());
    }

    /// Makes 2^`bits` free slots.
    fn set_slots(&mut self, bits: u32) {
        self.bits = bits;
        self.slots.clear();
        self.slots.resize(1 << bits, 0);
    }

    /// Adds at most [`AT_ONCE`] rows to their groups.
    pub(super) fn add(&mut self, groups: &[u32], columns: &[Values<'_>]) {
        // There are at least two slots for each pair.
        while 2 * (self.pairs + groups.len()) > self.slots.len() {
            self.grow();
        }
        self.rows += groups.len();
        match columns[self.column] {
            Values::Narrow(values) => self.insert(groups, values),
            Values::Wide(words) => {
                let mut values = [0; AT_ONCE];
                self.values.find(&words[..groups.len()], &mut values);
                self.insert(groups, &values);
            }
            Values::RowNumbers(_) => unreachable!("nobody counts row numbers"),
        }
    }

    fn insert(&mut self, groups: &[u32], values: &[u32]) {
        let Self { hash, bits, ref mut slots, ref mut counts, .. } = *self;
        self.pairs += vectorized(Insert { hash, bits, slots, counts, groups, values });
    }

    #[cold]
    fn grow(&mut self) {
        let old = std::mem::take(&mut self.slots);
        self.set_slots(self.bits + 1);
        for pair in old.into_iter().filter(|&pair| pair != 0) {
            let at = slot_of(&self.slots, pair, self.hash.home(self.hash.of(pair), self.bits));
            self.slots[at] = pair;
        }
    }

    /// Writes the counts of the groups to the indices `places` of the output.
    pub(super) fn write(&self, output: Global<u32>, places: &[u32]) {
        for (&count, &place) in self.counts.iter().zip(places) {
            output.store(place.into(), count);
        }
    }
}

/// Returns the slot of a pair, or the free slot for it.
fn slot_of(slots: &[u64], pair: u64, home: usize) -> usize {
    let mut at = home;
    // At most as many steps as slots: half of the slots are free.
    while slots[at] != 0 && slots[at] != pair {
        at = (at + 1) & (slots.len() - 1);
    }
    at
}

/// Inserts pairs, for which there are free slots. No branch depends on whether a pair is new, or
/// whether it is in its first slot. The output is the count of new pairs.
struct Insert<'s> {
    hash: Hash,
    bits: u32,
    slots: &'s mut [u64],
    counts: &'s mut [u32],
    groups: &'s [u32],
    values: &'s [u32],
}

impl Work for Insert<'_> {
    type Output = usize;

    #[inline(always)]
    fn run(self) -> usize {
        let Self { hash, bits, slots, counts, groups, values } = self;
        let mut pairs = 0;
        for (&group, &value) in groups.iter().zip(values) {
            let pair = (u64::from(group) + 1) << 32 | u64::from(value);
            let home = hash.home(hash.of(pair), bits);
            let is_other = (slots[home] != 0) & (slots[home] != pair);
            let mut at = (home + usize::from(is_other)) & (slots.len() - 1);
            if (slots[at] != 0) & (slots[at] != pair) {
                at = slot_of(slots, pair, at);
            }
            let is_new = u32::from(slots[at] == 0);
            slots[at] = pair;
            counts[group as usize] += is_new;
            pairs += is_new as usize;
        }
        pairs
    }
}
