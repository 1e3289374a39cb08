//! Several columns of values beside the keys, which kernels read from a list in the device's
//! memory.

use crate::column_values::ColumnParams;
use crate::seam::{Block, Global};
use crate::types::Scalar;

/// The most columns of a list.
pub const MAX_COLUMNS: usize = 4;

/// The count of words of a column in a list.
const COLUMN_WORDS: u64 = 14;
/// The count of words of a list, whose first word is the count of its columns.
pub const LIST_WORDS: u64 = (MAX_COLUMNS as u64 + 1) * COLUMN_WORDS;

/// What the values of a column are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Source {
    /// The words in memory.
    Words,
    /// The index of each row.
    RowNumbers,
}

/// The bits of a column's [`ListedColumn::kind`]: whether values have 64 bits, which aggregates are
/// wanted, and the [`Source`] above them.
pub mod kind {
    /// Values have 64 bits, not 32.
    pub const IS_WIDE: u32 = 1;
    /// The sum is wanted.
    pub const SUM: u32 = 2;
    /// The least value is wanted.
    pub const MIN: u32 = 4;
    /// The greatest value is wanted.
    pub const MAX: u32 = 8;
    /// The count of bits below the source.
    pub const SOURCE: u32 = 4;
}

/// Arrays of aggregates of a column, with an element for each slot or group. What is not wanted is
/// null. Least and greatest values are as wide as the column's values.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct ListedAggregates {
    /// The sums.
    pub sums: Global<u64>,
    /// The least values, or their ranks.
    pub minima: Global<u64>,
    /// The greatest values, or their ranks.
    pub maxima: Global<u64>,
}

/// A column of a list.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct ListedColumn {
    /// The words, or null if the source is another one.
    pub words: Global<u64>,
    /// Where a kernel writes the values of rows that it moves.
    pub out: Global<u64>,
    /// How values are added and compared.
    pub params: ColumnParams,
    /// The aggregates of each slot, if the kernel has slots in memory.
    pub slots: ListedAggregates,
    /// The aggregates of each group, if the kernel writes groups.
    pub groups: ListedAggregates,
    /// The bits of [`kind`].
    pub kind: u64,
}
const _: () = assert!(size_of::<ListedColumn>() == COLUMN_WORDS as usize * 8);

kernel! {
    /// Writes a list of the first `count` columns, from which other kernels read them. The list has
    /// [`LIST_WORDS`].
    ListColumns<>, "list_columns", threads 32;
    {
        list: Global<u64>, first: ListedColumn, second: ListedColumn, third: ListedColumn, fourth: ListedColumn,
        count: u64
    }
}

impl ListColumns {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B) {
        let args = self;
        block.each_thread(|thread| {
            if thread == 0 {
                args.list.store_streaming(0, args.count);
                args.first.write_to(args.list, 1);
                args.second.write_to(args.list, 2);
                args.third.write_to(args.list, 3);
                args.fourth.write_to(args.list, 4);
            }
        });
    }
}

impl ListedColumn {
    #[inline(always)]
    fn write_to(self, list: Global<u64>, number: u64) {
        let Self { words, out, params, slots, groups, kind } = self;
        let ColumnParams { flip_negative, flip, sign, nans, addition } = params;
        let to = list.offset(number * COLUMN_WORDS);
        to.store_streaming(field::WORDS, words.address_word());
        to.store_streaming(field::OUT, out.address_word());
        to.store_streaming(field::PARAMS, flip_negative);
        to.store_streaming(field::PARAMS + 1, flip);
        to.store_streaming(field::PARAMS + 2, sign);
        to.store_streaming(field::PARAMS + 3, nans);
        to.store_streaming(field::PARAMS + 4, addition);
        for (first, aggregates) in [(field::SLOTS, slots), (field::GROUPS, groups)] {
            to.store_streaming(first, aggregates.sums.address_word());
            to.store_streaming(first + 1, aggregates.minima.address_word());
            to.store_streaming(first + 2, aggregates.maxima.address_word());
        }
        to.store_streaming(field::KIND, kind);
    }
}

/// The words of the fields of a column in a list.
mod field {
    pub const WORDS: u64 = 0;
    pub const OUT: u64 = 1;
    pub const PARAMS: u64 = 2;
    pub const SLOTS: u64 = 7;
    pub const GROUPS: u64 = 10;
    pub const KIND: u64 = 13;
}

/// A column in a list that [`ListColumns`] has written. Each field is read when it is needed.
#[derive(Clone, Copy)]
pub(crate) struct ColumnAt(Global<u64>);

/// The place of three arrays of aggregates in a [`ColumnAt`].
#[derive(Clone, Copy)]
pub(crate) enum Aggregated {
    Slots,
    Groups,
}

impl ColumnAt {
    /// Returns the count of columns of a list.
    #[inline(always)]
    pub fn count(list: Global<u64>) -> u32 {
        list.load_read_only(0) as u32
    }

    /// Returns a column of a list.
    #[inline(always)]
    pub fn of(list: Global<u64>, number: u32) -> Self {
        Self(list.offset((number as u64 + 1) * COLUMN_WORDS))
    }

    #[inline(always)]
    fn word(&self, field: u64) -> u64 {
        self.0.load_read_only(field)
    }

    #[inline(always)]
    fn array<T>(&self, field: u64) -> Global<T> {
        // SAFETY: the host wrote the address of an array with an element for each row, slot or
        // group.
        unsafe { Global::at_address(self.word(field)) }
    }

    /// Returns the bits of [`kind`].
    #[inline(always)]
    pub fn kind(&self) -> u32 {
        self.word(field::KIND) as u32
    }

    /// Returns how values are added and compared.
    #[inline(always)]
    pub fn params(&self) -> ColumnParams {
        let word = |number: u64| self.word(field::PARAMS + number);
        ColumnParams { flip_negative: word(0), flip: word(1), sign: word(2), nans: word(3), addition: word(4) }
    }

    /// Returns the sums, least values and greatest values of slots or groups.
    #[inline(always)]
    pub fn aggregates<W>(&self, of: Aggregated) -> (Global<u64>, Global<W>, Global<W>) {
        let first = match of {
            Aggregated::Slots => field::SLOTS,
            Aggregated::Groups => field::GROUPS,
        };
        (self.array(first), self.array(first + 1), self.array(first + 2))
    }

    /// Returns the words of the values, if they are in memory.
    #[inline(always)]
    pub fn words<W>(&self) -> Global<W> {
        self.array(field::WORDS)
    }

    /// Returns whether the values are words in memory.
    #[inline(always)]
    pub fn has_words(&self) -> bool {
        self.kind() >> kind::SOURCE == Source::Words as u32
    }

    /// Prefetches the memory line that begins at the value of a row, if one does.
    #[inline(always)]
    pub fn prefetch(&self, row: u64) {
        let line = if self.kind() & kind::IS_WIDE == 0 { 32 } else { 16 };
        if self.has_words() && row.is_multiple_of(line) {
            if line == 32 {
                self.words::<u32>().prefetch_far(row);
            } else {
                self.words::<u64>().prefetch_far(row);
            }
        }
    }

    /// Returns the value of a row.
    #[inline(always)]
    pub fn load<W: Scalar>(&self, row: u64) -> W {
        if self.has_words() { self.words::<W>().load_streaming(row) } else { W::from_u64(row) }
    }

    /// Returns the values of `ROWS` rows, at most four, of which those from `rows` on do not exist.
    /// `row`, the first one, is a multiple of `ROWS`.
    #[inline(always)]
    pub fn load_rows<const ROWS: usize, W: Scalar>(&self, row: u64, rows: u64) -> [W; 4] {
        if self.has_words() && row + ROWS as u64 <= rows {
            let words = self.words::<W>();
            if ROWS == 4 {
                return words.load_four_streaming(row);
            }
            if ROWS == 2 {
                let [first, second] = words.load_pair_streaming(row);
                return [first, second, W::default(), W::default()];
            }
        }
        self.load_apart(ROWS, |i| (row + (i as u64) < rows).then_some(row + i as u64))
    }

    /// Returns the values of the first `count` rows that `row_of` returns, at most `HELD`. All are
    /// loaded at the same time.
    #[inline(always)]
    pub fn load_apart<W: Scalar, const HELD: usize>(
        &self,
        count: usize,
        row_of: impl Fn(usize) -> Option<u64>,
    ) -> [W; HELD] {
        let mut values = [W::default(); HELD];
        let (words, has_words) = (self.words::<W>(), self.has_words());
        for i in 0..count {
            if let Some(row) = row_of(i) {
                values[i] = if has_words { words.load_streaming(row) } else { W::from_u64(row) };
            }
        }
        values
    }

    /// Writes the value of row `row` as element `to` of the output.
    #[inline(always)]
    pub fn copy_row(&self, row: u64, to: u64) {
        if self.kind() & kind::IS_WIDE == 0 {
            self.array::<u32>(field::OUT).store_streaming(to, self.load(row));
        } else {
            self.array::<u64>(field::OUT).store_streaming(to, self.load(row));
        }
    }

    /// Writes a value as element `to` of the output.
    #[inline(always)]
    pub fn store<W: Scalar>(&self, to: u64, value: W) {
        self.array::<W>(field::OUT).store_streaming(to, value);
    }
}

/// Runs the body with each column of a list. It is no function that takes a closure, since large
/// closures are not inlined.
macro_rules! each_column {
    ($column:ident in $list:expr => $body:block) => {{
        let list = $list;
        let count = $crate::columns::ColumnAt::count(list);
        for number in 0..count {
            let $column = $crate::columns::ColumnAt::of(list, number);
            $body
        }
    }};
}
pub(crate) use each_column;
