//! The program's output: a table of words and a summary in print, and all words as CSV.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;
use comfy_table::{CellAlignment, Table, presets};
use warpnest::Device;
use warpnest_applications_shared::program::{self, cannot_write};
use warpnest_applications_shared::shown::{grouped, shortened};
use warpnest_wordcount::counter::Counter;

/// Prints a table of some words.
pub fn print(counter: &Counter, files: &[PathBuf], ids: &[u32], out: &mut impl Write) -> io::Result<()> {
    let (counts, total) = (counter.counts(), counter.counts().total());
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(["rank", "word", "count", "share", "first at"]);
    for (&id, rank) in ids.iter().zip(1..) {
        let (word, count) = (word(counter, id), counts.counts()[id as usize]);
        let place = counter.places()[id as usize];
        let file = &files[place.file as usize];
        let name = shortened(&file.file_name().unwrap_or(file.as_os_str()).to_string_lossy());
        let file = if files.len() == 1 { String::new() } else { format!("{name}, ") };
        let place = format!("{file}line {}, byte {}", place.line, grouped(place.offset));
        let share = format!("{:.2} %", 100.0 * count as f64 / total as f64);
        table.add_row([rank.to_string(), shortened(&word), grouped(count), share, place]);
    }
    for column in [0, 2, 3] {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    writeln!(out, "{}", table.trim_fmt())
}

fn word(counter: &Counter, id: u32) -> String {
    String::from_utf8_lossy(counter.counts().ids().string(id).unwrap_or_default()).into_owned()
}

/// Writes all words as CSV, the most frequent first.
pub fn write_csv(counter: &Counter, files: &[PathBuf], path: &Path) -> anyhow::Result<()> {
    let write = || -> Result<(), csv::Error> {
        let mut writer = csv::Writer::from_path(path)?;
        writer.write_record(["word", "count", "file", "line", "byte"])?;
        for id in counter.counts().most_common_ids(counter.counts().len()) {
            let (count, place) = (counter.counts().counts()[id as usize], counter.places()[id as usize]);
            let file = files[place.file as usize].display().to_string();
            let numbers = [count, place.line, place.offset].map(|number| number.to_string());
            writer.write_record([&word(counter, id), &numbers[0], &file, &numbers[1], &numbers[2]])?;
        }
        Ok(writer.flush()?)
    };
    write().with_context(|| cannot_write(path, "--csv"))
}

/// The summary printed after the words.
pub struct Summary<'a> {
    pub device: &'a Device,
    pub counter: &'a Counter,
    /// The number of words in the printed table.
    pub shown: usize,
    pub counting: Duration,
}

impl Summary<'_> {
    pub fn print(&self, out: &mut impl Write) -> io::Result<()> {
        let Self { device, counter, shown, counting } = self;
        let seconds = counting.as_secs_f64();
        writeln!(
            out,
            "{} words, {} different ({shown} shown), in {} lines and {} bytes; {seconds:.3} s with reading on {}, {:.1} M words/s",
            grouped(counter.counts().total()),
            grouped(counter.counts().len() as u64),
            grouped(counter.lines),
            grouped(counter.bytes),
            device.name(),
            counter.counts().total() as f64 / seconds.max(f64::MIN_POSITIVE) / 1e6,
        )?;
        program::print_fallback("", device, out)
    }
}
