//! The program's output: the groups and a summary in print, and the groups as CSV.

use std::io::{self, Write};
use std::path::Path;
use std::time::Duration;

use anyhow::Context;
use comfy_table::{CellAlignment, Table as Printed, presets};
use warpnest::Device;
use warpnest::relational::Method;
use warpnest_applications_shared::program::{self, cannot_write};
use warpnest_applications_shared::shown::{grouped, shortened};
use warpnest_groupby::answer::Answer;
use warpnest_groupby::table::Table;

/// Prints a table of some groups.
pub fn print(answer: &Answer, groups: &[usize], out: &mut impl Write) -> io::Result<()> {
    let mut printed = Printed::new();
    printed.load_style(presets::NOTHING);
    printed.set_header(answer.names.iter().map(|name| shortened(name)));
    for group in groups {
        printed.add_row((0..answer.columns.len()).map(|column| shortened(&answer.shown(column, *group))));
    }
    for (column, values) in printed.column_iter_mut().zip(&answer.columns) {
        column.set_cell_alignment(if values.are_numbers() { CellAlignment::Right } else { CellAlignment::Left });
    }
    writeln!(out, "{}", printed.trim_fmt())
}

/// Writes groups as CSV, with all digits of numbers.
pub fn write_csv(answer: &Answer, groups: &[usize], path: &Path) -> anyhow::Result<()> {
    let write = || -> Result<(), csv::Error> {
        let mut writer = csv::Writer::from_path(path)?;
        writer.write_record(&answer.names)?;
        for group in groups {
            writer.write_record(answer.columns.iter().map(|values| values.exact(*group)))?;
        }
        Ok(writer.flush()?)
    };
    write().with_context(|| cannot_write(path, "--csv"))
}

/// The summary printed after the groups.
pub struct Summary<'a> {
    pub device: &'a Device,
    pub table: &'a Table,
    pub answer: &'a Answer,
    /// The number of groups in the printed table.
    pub shown: usize,
    pub reading: Duration,
    pub grouping: Duration,
}

impl Summary<'_> {
    pub fn print(&self, out: &mut impl Write) -> io::Result<()> {
        let Self { device, table, answer, shown, reading, grouping } = self;
        let groups = grouped(answer.groups as u64);
        let of_them = if *shown < answer.groups { format!(" ({shown} shown)") } else { String::new() };
        let method = match answer.report.method {
            Method::Hash => "by hashing",
            _ => "by sorting",
        };
        writeln!(
            out,
            "{} rows read, {} skipped, {groups} groups{of_them}; {:.3} s reading, {:.3} s grouping {method} on {}",
            grouped(table.rows as u64 + table.skipped),
            grouped(table.skipped),
            reading.as_secs_f64(),
            grouping.as_secs_f64(),
            device.name()
        )?;
        program::print_fallback("", device, out)?;
        if let Some(unreadable) = &table.first_skipped {
            writeln!(out, "skipped first: {unreadable}; --strict makes that an error")?;
        }
        Ok(())
    }
}
