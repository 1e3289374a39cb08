//! The program's output: the most frequent k-mers, a summary, the spectrum, and all counts.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::time::Duration;

use anyhow::Context;
use comfy_table::{CellAlignment, Table, presets};
use warpnest::Device;
use warpnest_applications_shared::program::{self, cannot_write};
use warpnest_applications_shared::shown::grouped;
use warpnest_kmers::bases::text_of;
use warpnest_kmers::packed::{Packed, Totals};
use warpnest_kmers::spectrum::{Spectrum, Survey};

/// Prints a table of the most frequent k-mers.
pub fn print(survey: &Survey, totals: Totals, k: u32, out: &mut impl Write) -> io::Result<()> {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(["rank", "k-mer", "count", "share"]);
    for (&(key, count), rank) in survey.top.iter().zip(1..) {
        let share = format!("{:.4} %", 100.0 * count as f64 / totals.kmers as f64);
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

/// A file with all k-mers and their counts, one k-mer per line.
pub struct Dump<'p> {
    path: &'p Path,
    k: u32,
    file: BufWriter<File>,
}

impl<'p> Dump<'p> {
    pub fn create(path: &'p Path, k: u32) -> anyhow::Result<Self> {
        let file = File::create(path).with_context(|| cannot_write(path, "--dump"))?;
        Ok(Self { path, k, file: BufWriter::with_capacity(1 << 20, file) })
    }

    pub fn write(&mut self, pairs: &[(u64, u64)]) -> anyhow::Result<()> {
        let mut lines = pairs.iter();
        let written = lines.try_for_each(|(key, count)| writeln!(self.file, "{}\t{count}", text_of(*key, self.k)));
        written.with_context(|| cannot_write(self.path, "--dump"))
    }

    pub fn finish(mut self) -> anyhow::Result<()> {
        self.file.flush().with_context(|| cannot_write(self.path, "--dump"))
    }
}

/// The summary printed after the k-mers.
pub struct Summary<'a> {
    pub device: &'a Device,
    pub packed: &'a Packed,
    pub survey: &'a Survey,
    pub reading: Duration,
    pub counting: Duration,
}

impl Summary<'_> {
    pub fn print(&self, out: &mut impl Write) -> io::Result<()> {
        let Self { device, packed, survey, reading, counting } = self;
        let (totals, options) = (packed.totals, packed.options);
        writeln!(
            out,
            "{} bases and {} other letters in {} records; {} {}-mers{}, {} different, {} of them once ({} shown)",
            grouped(totals.bases),
            grouped(totals.others),
            grouped(totals.records),
            grouped(totals.kmers),
            options.k,
            if options.canonical { " of both strands" } else { "" },
            grouped(survey.spectrum.distinct()),
            grouped(survey.spectrum.singletons()),
            survey.top.len(),
        )?;
        let seconds = (*reading + *counting).as_secs_f64();
        writeln!(
            out,
            "{:.3} s reading into {:.1} MB, {:.3} s counting on {}; {:.1} M bases/s",
            reading.as_secs_f64(),
            packed.memory_bytes() as f64 / 1e6,
            counting.as_secs_f64(),
            device.name(),
            totals.bases as f64 / seconds.max(f64::MIN_POSITIVE) / 1e6,
        )?;
        program::print_fallback("", device, out)
    }
}
