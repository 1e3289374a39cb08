//! What the program prints and writes: the most frequent k-mers, a summary, the spectrum, all
//! counts.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use anyhow::Context;
use comfy_table::{CellAlignment, Table, presets};
use warpnest::Device;
use warpnest_kmers::bases::text_of;
use warpnest_kmers::count::{Counted, Options};
use warpnest_kmers::spectrum::{Spectrum, Survey};

use super::cannot_write;

/// Prints a table of the most frequent k-mers.
pub fn print(survey: &Survey, counted: &Counted, k: u32, out: &mut impl Write) -> io::Result<()> {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(["rank", "k-mer", "count", "share"]);
    for (&(key, count), rank) in survey.top.iter().zip(1..) {
        let share = format!("{:.4} %", 100.0 * count as f64 / counted.totals.kmers as f64);
        table.add_row([rank.to_string(), text_of(key, k), grouped(count), share]);
    }
    for column in [0, 2, 3] {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    writeln!(out, "{}", table.trim_fmt())
}

/// Writes the spectrum as CSV.
pub fn write_spectrum(spectrum: &Spectrum, path: &Path) -> anyhow::Result<()> {
    let write = || -> Result<(), csv::Error> {
        let mut writer = csv::Writer::from_path(path)?;
        writer.write_record(["count", "kmers"])?;
        for (count, kmers) in spectrum.iter() {
            writer.write_record([count.to_string(), kmers.to_string()])?;
        }
        Ok(writer.flush()?)
    };
    write().with_context(|| cannot_write(path, "--spectrum"))
}

/// Writes all k-mers with their counts, one a line, in the order of their texts.
pub fn write_dump(counted: &mut Counted, k: u32, path: &Path) -> anyhow::Result<()> {
    counted.counts.sort()?;
    let failed = || cannot_write(path, "--dump");
    let mut file = BufWriter::with_capacity(1 << 20, File::create(path).with_context(failed)?);
    let written = counted
        .counts
        .each(&mut |pairs| pairs.iter().try_for_each(|(key, count)| writeln!(file, "{}\t{count}", text_of(*key, k))))?;
    written.and_then(|()| file.flush()).with_context(failed)
}

/// What is told besides the k-mers.
pub struct Summary<'a> {
    pub device: &'a Device,
    pub counted: &'a Counted,
    pub survey: &'a Survey,
    pub options: Options,
}

impl Summary<'_> {
    pub fn print(&self, out: &mut impl Write) -> io::Result<()> {
        let Self { device, counted, survey, options } = self;
        let totals = counted.totals;
        let seconds = counted.total.as_secs_f64();
        writeln!(
            out,
            "{} bases and {} other letters in {} records; {} {}-mers{}, {} different, {} of them once ({} shown)",
            grouped(totals.bases),
            grouped(totals.others),
            grouped(totals.records),
            grouped(totals.kmers),
            options.k,
            if options.canonical { " of both strands" } else { "" },
            grouped(counted.counts.distinct() as u64),
            grouped(survey.spectrum.singletons()),
            survey.top.len(),
        )?;
        writeln!(
            out,
            "{seconds:.3} s with reading, {:.3} s of them counting on {}; {:.1} M bases/s",
            counted.counting.as_secs_f64(),
            device.name(),
            totals.bases as f64 / seconds.max(f64::MIN_POSITIVE) / 1e6,
        )?;
        if let Some(reason) = device.fallback_reason() {
            writeln!(out, "({reason})")?;
        }
        Ok(())
    }
}

/// Returns a number with commas between its thousands.
fn grouped(number: u64) -> String {
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
