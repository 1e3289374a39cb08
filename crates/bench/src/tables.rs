//! Tables that are printed.

use comfy_table::{CellAlignment, Row, Table, presets};

/// Returns an empty table with this header. All columns except the first `names` contain numbers.
pub fn new_table(header: impl Into<Row>, names: usize) -> Table {
    let mut table = Table::new();
    table.load_style(presets::UTF8_FULL_CONDENSED);
    table.set_header(header);
    table.column_iter_mut().skip(names).for_each(|column| column.set_cell_alignment(CellAlignment::Right));
    table
}
