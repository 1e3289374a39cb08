//! The program's output: the first rows, and a summary.

use arrow_array::RecordBatch;
use arrow_cast::display::{ArrayFormatter, FormatOptions};
use comfy_table::{CellAlignment, Table, presets};
use std::io::{self, Write};
use std::time::Duration;
use warpnest::Device;
use warpnest_applications_shared::program;
use warpnest_applications_shared::shown::{grouped, shortened};

/// The number of rows printed.
const PREVIEW: usize = 10;

/// Prints the first rows of a batch.
pub fn print(batch: &RecordBatch, out: &mut impl Write) -> anyhow::Result<()> {
    let shown = batch.slice(0, batch.num_rows().min(PREVIEW));
    let options = FormatOptions::default().with_null("null").with_display_error(true);
    let columns = shown.columns().iter().map(|column| ArrayFormatter::try_new(column, &options));
    let columns = columns.collect::<Result<Vec<_>, _>>()?;
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(shown.schema().fields().iter().map(|field| shortened(field.name())));
    for row in 0..shown.num_rows() {
        table.add_row(columns.iter().map(|column| shortened(&column.value(row).to_string())));
    }
    for (printed, column) in table.column_iter_mut().zip(shown.columns()) {
        let is_number = column.data_type().is_numeric();
        printed.set_cell_alignment(if is_number { CellAlignment::Right } else { CellAlignment::Left });
    }
    writeln!(out, "{}", table.trim_fmt())?;
    if batch.num_rows() > PREVIEW {
        writeln!(out, "… {} more rows; --out FILE writes all", grouped((batch.num_rows() - PREVIEW) as u64))?;
    }
    Ok(())
}

/// The summary printed after the rows.
pub struct Summary<'a> {
    pub device: &'a Device,
    pub rows_in: [usize; 2],
    pub rows_out: usize,
    pub reading: Duration,
    pub joining: Duration,
    /// The time spent on writing, if rows were written to a file.
    pub writing: Option<Duration>,
}

impl Summary<'_> {
    pub fn print(&self, out: &mut impl Write) -> io::Result<()> {
        let Self { device, rows_in: [left, right], rows_out, reading, joining, writing } = self;
        let writing = writing.map_or(String::new(), |writing| format!(", {:.3} s writing", writing.as_secs_f64()));
        writeln!(
            out,
            "{} left and {} right rows in, {} rows out; {:.3} s reading, {:.3} s joining on {}{writing}",
            grouped(*left as u64),
            grouped(*right as u64),
            grouped(*rows_out as u64),
            reading.as_secs_f64(),
            joining.as_secs_f64(),
            device.name()
        )?;
        program::print_fallback("", device, out)
    }
}
