//! Lists of columns in the device's memory, from which kernels read several columns.

use super::outputs::{Arrays, Moved, Part};
use crate::Result;
use crate::runtime::stream::Batch;
use crate::split::or_null;
use gpu_kernels::column_values::ColumnParams;
use gpu_kernels::columns::{ListColumns, ListedColumn, MAX_COLUMNS, Source, kind};
use gpu_kernels::seam::Global;

/// The columns that a kernel reads: where their values are, and their aggregates.
#[derive(Clone, Copy, Debug)]
pub(super) struct List {
    columns: [ListedColumn; MAX_COLUMNS],
    count: usize,
}

impl List {
    /// Returns a list of at most [`MAX_COLUMNS`] columns, with the aggregates of slots and groups,
    /// as far as the kernel uses them.
    pub(super) fn new(
        columns: impl IntoIterator<Item = (Part, ColumnParams, Moved)>,
        [slots, groups]: [Option<Arrays>; 2],
    ) -> Self {
        let [slots, groups] = [slots, groups].map(|arrays| arrays.unwrap_or(Arrays::new(or_null(None), [])).columns);
        let mut list = Self { columns: [nothing(); MAX_COLUMNS], count: 0 };
        for (number, (part, params, Moved { words, source, out })) in columns.into_iter().enumerate() {
            let (slots, groups, kind) = (slots[number], groups[number], kind_of(part, source));
            list.columns[number] = ListedColumn { words, out, params, slots, groups, kind };
            list.count = number + 1;
        }
        list
    }

    /// Queues writing the list to the words at `list`, of which there are
    /// [`LIST_WORDS`](gpu_kernels::columns::LIST_WORDS).
    ///
    /// # Safety
    /// The batch gave `list` for writing.
    pub(super) unsafe fn queue(&self, batch: &Batch<'_>, list: Global<u64>) -> Result<()> {
        let [first, second, third, fourth] = self.columns;
        let kernel = ListColumns { list, first, second, third, fourth, count: self.count as u64 };
        // SAFETY: the caller guarantees it.
        unsafe { batch.launch_blocks(&kernel, 1) }
    }
}

/// Returns a column that no kernel reads.
fn nothing() -> ListedColumn {
    let none = Arrays::new(or_null(None), []).columns[0];
    let (words, params) = (or_null(None), ColumnParams::unsigned());
    ListedColumn { words, out: words, params, slots: none, groups: none, kind: 0 }
}

/// Returns the bits that describe a column.
fn kind_of(Part { wanted, bits }: Part, source: Source) -> u64 {
    let bit = |is_set: bool, bit: u32| if is_set { bit } else { 0 };
    let aggregates = bit(wanted.sums, kind::SUM) | bit(wanted.minima, kind::MIN) | bit(wanted.maxima, kind::MAX);
    (bit(bits == 64, kind::IS_WIDE) | aggregates | (source as u32) << kind::SOURCE).into()
}
