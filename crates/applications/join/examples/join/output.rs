//! What the program prints: the first rows, and a summary.

use arrow_array::RecordBatch;
use arrow_cast::display::{ArrayFormatter, FormatOptions};
use comfy_table::{CellAlignment, Table, presets};
use std::io::{self, Write};
use std::time::Duration;
use warpnest::Device;

/// The rows of a preview.
const PREVIEW: usize = 10;

/// Prints the first rows of a batch.
pub fn print(batch: &RecordBatch, out: &mut impl Write) -> anyhow::Result<()> {
    let shown = batch.slice(0, batch.num_rows().min(PREVIEW));
    let options = FormatOptions::default().with_null("null").with_display_error(true);
    let columns = shown.columns().iter().map(|column| ArrayFormatter::try_new(column, &options));
    let columns = columns.collect::<Result<Vec<_>, _>>()?;
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(shown.schema().fields().iter().map(|field| in_a_line(field.name())));
    for row in 0..shown.num_rows() {
        table.add_row(columns.iter().map(|column| in_a_line(&column.value(row).to_string())));
    }
    for (printed, column) in table.column_iter_mut().zip(shown.columns()) {
        let is_number = column.data_type().is_numeric();
        printed.set_cell_alignment(if is_number { CellAlignment::Right } else { CellAlignment::Left });
    }
    writeln!(out, "{}", table.trim_fmt())?;
    if batch.num_rows() > PREVIEW {
        writeln!(out, "… {} more rows; --out FILE writes all", grouped(batch.num_rows() - PREVIEW))?;
    }
    Ok(())
}

/// Returns a text for one line of a terminal: short, and without what would move the cursor.
fn in_a_line(text: &str) -> String {
    const MOST: usize = 40;
    let plain = |character: char| if character.is_control() { ' ' } else { character };
    if text.chars().nth(MOST).is_none() {
        return text.chars().map(plain).collect();
    }
    text.chars().take(MOST - 3).map(plain).chain("...".chars()).collect()
}

/// What is told besides the rows.
pub struct Summary<'a> {
    pub device: &'a Device,
    pub rows_in: [usize; 2],
    pub rows_out: usize,
    pub reading: Duration,
    pub joining: Duration,
    /// The time of writing, if rows were written to a file.
    pub writing: Option<Duration>,
}

impl Summary<'_> {
    pub fn print(&self, out: &mut impl Write) -> io::Result<()> {
        let Self { device, rows_in: [left, right], rows_out, reading, joining, writing } = self;
        let writing = writing.map_or(String::new(), |writing| format!(", {:.3} s writing", writing.as_secs_f64()));
        writeln!(
            out,
            "{} left and {} right rows in, {} rows out; {:.3} s reading, {:.3} s joining on {}{writing}",
            grouped(*left),
            grouped(*right),
            grouped(*rows_out),
            reading.as_secs_f64(),
            joining.as_secs_f64(),
            device.name()
        )?;
        match device.fallback_reason() {
            Some(reason) => writeln!(out, "({reason})"),
            None => Ok(()),
        }
    }
}

/// Returns a number with commas between its thousands.
fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
