//! The resources of kernels, as ptxas reports them: their limits, and their table.

use comfy_table::{CellAlignment, Table, presets};
use warpnest_build::ptxas::Usage;

/// The advice in the line of a skipped step.
pub const HOW_TO_GET_PTXAS: &str = "ptxas not found: skipped; pip install --no-deps 'nvidia-cuda-nvcc<14' into a venv at target/ptxas, or set WARPNEST_PTXAS";

/// The exceptions to the rule, with the allowed bytes of stack, of spill stores and of spill loads.
///
/// A radix pass whose threads hold 16 items and spill a few words is faster than one whose threads
/// hold 12 and spill none (figures were not kept). The ordered split is such a pass. A page is
/// built fastest with four blocks a multiprocessor. Its spills are in the code where pairs search
/// for a slot, which few do (docs/page-map.md). This is also true for batches that are added to or
/// removed from pages; with keys alone, a bucket's eight words of tags do not fit the registers. A
/// join keeps some words of its bin in memory while it compares rows, and on chip also words of its
/// next rows. If a map's 64-bit values are combined, the order of NaNs takes two more registers.
const ALLOWED: [(&str, u32); 15] = [
    ("radix_partition_", 96),
    ("page_split_in_order_", 256),
    ("page_build_", 160),
    ("page_add_", 256),
    ("page_remove_", 512),
    ("join_pages_", 256),
    ("join_on_chip_", 256),
    ("join_direct_", 128),
    ("linear_apply_mixed_", 64),
    ("linear_combine_", 32),
    // A pass over a list of columns has more state than registers. A tile of a split with the
    // offsets of its rows, and the rows of a hot pass, are kept over the columns.
    ("group_hot_", 160),
    ("group_pages_", 256),
    ("group_chains_u32_u32", 16),
    ("page_split_u32_columns", 48),
    ("page_split_u64_columns", 32),
];

/// Returns the violation of the rule that a kernel's state is in registers. The rule is stated only
/// here.
///
/// A stack or a spill means memory traffic that is not in the source. Usually its cause is an array
/// indexed by a variable, or bounds that leave too few registers.
pub fn violation(usage: &Usage) -> Option<String> {
    let Usage { kernel, stack, spill_stores, spill_loads, .. } = usage;
    let allowed = ALLOWED.iter().find(|(name, _)| kernel.starts_with(name)).map_or(0, |(_, bytes)| *bytes);
    (*stack.max(spill_stores).max(spill_loads) > allowed)
        .then(|| format!("{kernel}: {stack} bytes of stack, {spill_stores} spilled, {spill_loads} loaded back"))
}

/// Returns the kernels of one module as a table.
pub fn table(kernels: &[Usage]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::UTF8_BORDERS_ONLY);
    table.set_header(["kernel", "registers", "shared", "stack", "spill stores", "spill loads"]);
    for k in kernels {
        let numbers = [k.registers, k.shared, k.stack, k.spill_stores, k.spill_loads].map(|number| number.to_string());
        table.add_row([k.kernel.clone()].into_iter().chain(numbers));
    }
    table.column_iter_mut().skip(1).for_each(|column| column.set_cell_alignment(CellAlignment::Right));
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usage(kernel: &str, stack: u32) -> Usage {
        Usage { kernel: kernel.into(), registers: 32, stack, ..Usage::default() }
    }

    #[test]
    fn stack_and_spills_break_the_rule() {
        assert_eq!(violation(&usage("find32", 0)), None);
        let build = Usage { spill_stores: 8, spill_loads: 12, ..usage("build", 64) };
        assert_eq!(violation(&build).unwrap(), "build: 64 bytes of stack, 8 spilled, 12 loaded back");
        let partition = |stack| violation(&usage("radix_partition_u32_u32", stack));
        assert!(partition(96).is_none() && partition(97).is_some());
    }

    #[test]
    fn the_table_has_a_row_for_each_kernel() {
        let text = table(&[usage("find32", 0), usage("build", 0)]).to_string();
        assert_eq!(text.lines().filter(|line| line.contains("find32") || line.contains("build")).count(), 2, "{text}");
    }
}
