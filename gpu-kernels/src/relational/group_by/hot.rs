//! The hot pass: rows of hot keys are aggregated on chip, and the other rows are appended to an
//! output.

use super::columns::each_on_chip;
use super::copies::{Copies, SPARE};
use super::hot_rows::{Held, HotRows};
use super::hot_table::HotTable;
use super::in_memory::InMemory;
use super::on_chip::OnChip;
use super::sample::header;
use crate::column_values::ColumnParams;
use crate::relational::keys::RowKeys;
use crate::seam::{Block, Global, Shared};
use crate::types::{KeyWord, Row, WordOf};

pub use super::hot_rows::{region, tile};

/// The scalar arguments of [`HotPass`].
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct HotParams {
    /// The table of hot keys.
    pub table: HotTable,
    /// The rules for adding and comparing values.
    pub column: ColumnParams,
    /// The count of rows.
    pub rows: u64,
    /// The count of 32-bit words of the aggregates of listed columns of a group.
    pub listed_words: u32,
    /// An unused field: 0.
    pub padding: u32,
}

/// Declares the hot pass for two sizes of blocks.
macro_rules! hot_passes {
    ($($argument:ident: $type:ty),* $(,)?) => {
        kernel! {
            /// Adds each row with a hot key to the aggregates of the key's slot, and writes the
            /// other rows, the missed rows, to `missed_keys` and `missed_values`. Their count is
            /// added to the header's [`header::MISSED`], 0 at first. The keys are [`RowKeys`]. The
            /// tiles are divided among any count of blocks.
            ///
            /// `table`, `places`, `sums`, `counts`, `minima` and `maxima` have as many slots as the
            /// plan says; the latter four are 0 at first, and `places` is null unless slots are
            /// placed. `sums` gets sums of
            /// [addends](ColumnParams::addend), `maxima` the greatest
            /// [`ColumnParams::max_rank`], and `minima` the greatest [`ColumnParams::min_rank`].
            /// Outputs that are not wanted are null. So are `values` and `missed_values` if there
            /// is no column of values. If `V` is [`Columns`](crate::types::Columns), `columns` has
            /// the columns of values, and the only other aggregate is the count.
            ///
            /// If `FEW` is true, missed rows are few. They are written without gaps to arrays as
            /// long as the input, and every warp with missed rows reserves their offsets. Otherwise
            /// each block has its own region, of [`region`] rows. `missed_counts`, which is null if
            /// `FEW`, gets the count of rows of each region, and the header's
            /// [`header::MOST_MISSED`], 0 at first, the greatest count.
            HotPass<K: KeyWord, V: Row; const FEW: bool>, "group_hot" | "group_hot_few",
                threads 512, resident 3,
                // No words are read here, so `()` is passed for them.
                dynamic words: u32 = |kernel| kernel.on_chip(()).end_after(kernel.plan.listed_words), shared found: u32 = 1;
            { $($argument: $type),* }
        }

        kernel! {
            /// Works as [`HotPass`] with larger blocks, for tables that need all shared memory of a
            /// multiprocessor.
            HotPassLarge<K: KeyWord, V: Row; const FEW: bool>, "group_hot_large" | "group_hot_large_few",
                threads 1024, resident 1,
                dynamic words: u32 = |kernel| kernel.as_small().on_chip(()).end_after(kernel.plan.listed_words), shared found: u32 = 1;
            { $($argument: $type),* }
        }

        kernel! {
            /// Works as [`HotPassLarge`], for a table with several parts, and few missed rows. The
            /// count of blocks is a multiple of the count of parts.
            HotPassParts<K: KeyWord, V: Row>, "group_hot_parts",
                threads 1024, resident 1,
                dynamic words: u32 = |kernel| kernel.as_small().on_chip(()).end_after(kernel.plan.listed_words), shared found: u32 = 1;
            { $($argument: $type),* }
        }

        impl<K: KeyWord, V: Row> From<HotPass<K, V, true>> for HotPassParts<K, V> {
            fn from(pass: HotPass<K, V, true>) -> Self {
                let HotPass { $($argument),* } = pass;
                Self { $($argument),* }
            }
        }

        impl<K: KeyWord, V: Row> HotPassParts<K, V> {
            /// Returns the same arguments as a launch of the smaller blocks.
            #[inline(always)]
            fn as_small(&self) -> HotPass<K, V, true> {
                let Self { $($argument),* } = *self;
                HotPass { $($argument),* }
            }
        }

        impl<K: KeyWord, V: Row, const FEW: bool> From<HotPass<K, V, FEW>> for HotPassLarge<K, V, FEW> {
            fn from(pass: HotPass<K, V, FEW>) -> Self {
                let HotPass { $($argument),* } = pass;
                Self { $($argument),* }
            }
        }

        impl<K: KeyWord, V: Row, const FEW: bool> HotPassLarge<K, V, FEW> {
            /// Returns the same arguments as a launch of the smaller blocks.
            #[inline(always)]
            fn as_small(&self) -> HotPass<K, V, FEW> {
                let Self { $($argument),* } = *self;
                HotPass { $($argument),* }
            }
        }
    };
}

hot_passes! {
    keys: Global<K>, upper: Global<u32>, values: Global<WordOf<V>>, table: Global<K>, places: Global<u32>, sums: Global<u64>,
    counts: Global<u32>, minima: Global<WordOf<V>>, maxima: Global<WordOf<V>>, missed_keys: Global<K>,
    missed_values: Global<WordOf<V>>, missed_counts: Global<u32>, columns: Global<u64>, header: Global<u64>,
    plan: HotParams,
}

impl<K: KeyWord, V: Row, const FEW: bool> HotPassLarge<K, V, FEW> {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B, words: B::Shared<u32>, found: B::Shared<u32>) {
        self.as_small().run(block, words, found);
    }
}

impl<K: KeyWord, V: Row> HotPassParts<K, V> {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B, words: B::Shared<u32>, found: B::Shared<u32>) {
        self.as_small().run_with::<true, _>(block, words, found);
    }
}

impl<K: KeyWord, V: Row, const FEW: bool> HotPass<K, V, FEW> {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B, words: B::Shared<u32>, found: B::Shared<u32>) {
        self.run_with::<false, _>(block, words, found);
    }

    /// Does the work of the kernels. `PARTS` is true if the table has several parts.
    #[inline(always)]
    fn run_with<const PARTS: bool, B: Block>(self, block: &mut B, words: B::Shared<u32>, found: B::Shared<u32>) {
        let args = self;
        args.begin(block, words, found);
        let rows = HotRows::<K, V, _, FEW> {
            keys: RowKeys::new(args.keys, args.upper),
            values: args.values,
            columns: args.columns,
            count: args.plan.rows,
            table: args.plan.table.in_registers(),
            part: args.part(block),
            words,
            chip: args.on_chip(words).in_registers(),
            missed_keys: args.missed_keys,
            missed_values: args.missed_values,
            region_first: args.region_first(block),
            header: args.header,
            found,
        };
        let mut threads = block.local(|_| Held::new());
        rows.aggregate::<PARTS, _>(block, &mut threads);
        block.sync();
        args.end(block, words, found);
    }

    /// Loads the table, and sets the aggregates to 0.
    #[inline(always)]
    fn begin<B: Block>(&self, block: &mut B, words: B::Shared<u32>, found: B::Shared<u32>) {
        let args = *self;
        let table = args.plan.table.in_registers();
        let chip = args.on_chip(words).in_registers();
        let (block_threads, held, end) = (block.threads(), words.cast::<K>(), chip.end_after(args.plan.listed_words));
        let own = self.first_slot(block);
        let mut nothing = block.local(|_| ());
        block.phase(&mut nothing, |thread, _| {
            let mut slot = thread;
            let places = table.slots * (K::BITS / 32);
            while slot < table.slots {
                held.set(slot, args.table.load_read_only(own + slot as u64));
                if table.is_placed != 0 {
                    words.set(places + slot, args.places.load_read_only(own + slot as u64));
                }
                slot += block_threads;
            }
            let mut word = table.words_before::<K>() + thread;
            while word < end {
                words.set(word, 0);
                word += block_threads;
            }
            if thread == 0 {
                found.set(0, 0);
            }
        });
    }

    /// Adds the block's aggregates, and its count of missed rows in `found`, to the results of all
    /// blocks.
    #[inline(always)]
    fn end<B: Block>(&self, block: &mut B, words: B::Shared<u32>, found: B::Shared<u32>) {
        let args = *self;
        let table = args.plan.table.in_registers();
        let chip = args.on_chip(words).in_registers();
        let (block_threads, block_index, held) = (block.threads(), block.index(), words.cast::<K>());
        let (own, part) = (self.first_slot(block), self.part(block));
        block.each_thread(|thread| {
            if !FEW && thread == 0 {
                let missed = found.get(0);
                args.missed_counts.store(block_index as u64, missed);
                args.header.atomic(header::MISSED).fetch_add(missed as u64);
                args.header.atomic(header::MOST_MISSED).fetch_max(missed as u64);
            }
            let mut slot = thread;
            while slot < table.slots {
                if table.find(part, held.get(slot), |slot| held.get(slot)) == slot {
                    args.merge(chip, table.copies_of::<K>(words, slot), (slot, own + slot as u64));
                }
                slot += block_threads;
            }
        });
    }

    /// Returns the block's part of the table.
    #[inline(always)]
    fn part<B: Block>(&self, block: &B) -> u32 {
        block.index() & ((1 << self.plan.table.part_bits) - 1)
    }

    /// Returns the first slot of the block's part.
    #[inline(always)]
    fn first_slot<B: Block>(&self, block: &B) -> u64 {
        (self.part(block) * self.plan.table.slots) as u64
    }

    /// Returns the offset of the block's region of missed rows.
    #[inline(always)]
    fn region_first<B: Block>(&self, block: &B) -> u64 {
        let region = || region::<K, V>(self.plan.rows, block.grid(), block.threads());
        if FEW { 0 } else { block.index() as u64 * region() }
    }

    /// Returns the block's aggregates, which are after its table.
    #[inline(always)]
    fn on_chip<S>(&self, words: S) -> OnChip<S> {
        let HotParams { table, column, .. } = self.plan;
        let wanted = self.aggregates().wanted();
        OnChip::new::<WordOf<V>>(words, column, wanted, table.words_before::<K>(), (table.aggregates, SPARE))
    }

    /// Returns the aggregates of all blocks.
    #[inline(always)]
    fn aggregates(&self) -> InMemory<WordOf<V>> {
        let Self { sums, counts, minima, maxima, .. } = *self;
        InMemory { sums, counts, minima, maxima }
    }

    /// Adds the block's aggregates of a slot of its part, `of_all` among all slots, to the
    /// aggregates of all blocks.
    #[inline(always)]
    fn merge<S: Shared<u32>>(&self, chip: OnChip<S>, copies: Copies, (slot, of_all): (u32, u64)) {
        self.aggregates().add(of_all, chip.merged(copies, slot), self.plan.column);
        if V::IS_LIST {
            each_on_chip!((column, own) in self.columns, after chip => { column.merge(&own, copies, (slot, of_all)); });
        }
    }
}
