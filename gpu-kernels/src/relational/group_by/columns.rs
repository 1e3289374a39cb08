//! The aggregates of the columns of a list, on chip and in memory.

use super::copies::Copies;
use super::in_memory::InMemory;
use super::on_chip::{MAX_ROWS, OnChip};
use crate::columns::{Aggregated, ColumnAt, kind};
use crate::seam::{Global, Shared};
use crate::types::Scalar;

impl ColumnAt {
    #[inline(always)]
    fn is_wide(&self) -> bool {
        self.kind() & kind::IS_WIDE != 0
    }

    /// Returns the column's arrays on chip, which follow the arrays `before`.
    #[inline(always)]
    pub(super) fn on_chip<S: Copy>(&self, before: &OnChip<S>) -> OnChip<S> {
        before.next(self.params(), self.kind())
    }

    /// Returns the arrays in memory of slots or groups.
    #[inline(always)]
    fn in_memory<W: Scalar>(&self, of: Aggregated) -> InMemory<W> {
        let (sums, minima, maxima) = self.aggregates(of);
        // SAFETY: counts are not wanted, so they are not accessed.
        InMemory { sums, counts: unsafe { Global::null() }, minima, maxima }
    }

    /// Adds rows to aggregates on chip. `at` has their indices as [`OnChip::add`] takes them.
    #[inline(always)]
    pub(super) fn add<const ROWS: usize, S: Shared<u32>>(
        &self,
        chip: &OnChip<S>,
        at: [u32; MAX_ROWS],
        (row, rows): (u64, u64),
    ) {
        if self.is_wide() {
            chip.add::<ROWS, u64>(at, self.load_rows::<ROWS, u64>(row, rows));
        } else {
            chip.add::<ROWS, u32>(at, self.load_rows::<ROWS, u32>(row, rows));
        }
    }

    /// Adds the rows that `row_of` returns to aggregates on chip, as [`ColumnAt::add`] does.
    #[inline(always)]
    pub(super) fn add_apart<const ROWS: usize, S: Shared<u32>>(
        &self,
        chip: &OnChip<S>,
        at: [u32; MAX_ROWS],
        row_of: impl Fn(usize) -> Option<u64>,
    ) {
        if self.is_wide() {
            chip.add::<ROWS, u64>(at, self.load_apart::<u64, MAX_ROWS>(ROWS, row_of));
        } else {
            chip.add::<ROWS, u32>(at, self.load_apart::<u32, MAX_ROWS>(ROWS, row_of));
        }
    }

    /// Adds the aggregate of a slot's copies on chip to its aggregates in memory, where it is slot
    /// `of_all`.
    #[inline(always)]
    pub(super) fn merge<S: Shared<u32>>(&self, chip: &OnChip<S>, copies: Copies, (slot, of_all): (u32, u64)) {
        if self.is_wide() {
            self.in_memory::<u64>(Aggregated::Slots).add(of_all, chip.merged(copies, slot), chip.column());
        } else {
            self.in_memory::<u32>(Aggregated::Slots).add(of_all, chip.merged(copies, slot), chip.column());
        }
    }

    /// Writes the aggregate of a slot's copies on chip as group `target`.
    #[inline(always)]
    pub(super) fn write<S: Shared<u32>>(&self, chip: &OnChip<S>, (copies, slot): (Copies, u32), target: u64) {
        if self.is_wide() {
            self.groups::<u64>().write(target, chip.merged(copies, slot), chip.column());
        } else {
            self.groups::<u32>().write(target, chip.merged(copies, slot), chip.column());
        }
    }

    /// Writes the aggregate of a slot in memory as group `target`.
    #[inline(always)]
    pub(super) fn copy_slot(&self, slot: u64, target: u64) {
        if self.is_wide() {
            self.in_memory::<u64>(Aggregated::Slots).copy_slot(slot, self.groups(), target, self.params());
        } else {
            self.in_memory::<u32>(Aggregated::Slots).copy_slot(slot, self.groups(), target, self.params());
        }
    }

    /// Returns the arrays of groups.
    #[inline(always)]
    pub(super) fn groups<W: Scalar>(&self) -> InMemory<W> {
        self.in_memory(Aggregated::Groups)
    }
}

/// Runs the body with each column of a list, and its arrays on chip, which follow the arrays
/// `$first`. Returns the end of all arrays.
macro_rules! each_on_chip {
    (($column:ident, $own:ident) in $list:expr, after $first:expr => $body:block) => {{
        let mut before = $first;
        $crate::columns::each_column!($column in $list => {
            let $own = $column.on_chip(&before);
            $body
            before = $own;
        });
        before.end
    }};
}
pub(super) use each_on_chip;
