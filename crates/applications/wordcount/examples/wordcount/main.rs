//! An example that counts the words of text files, prints the most frequent ones, and draws their
//! counts by rank.

mod chart;
mod output;
#[cfg(test)]
mod tests;

use std::{
    io::{self, Write},
    path::PathBuf,
    process::ExitCode,
    time::Instant,
};

use anyhow::Context;
use clap::Parser;
use output::Summary;
use warpnest::Device;
use warpnest_applications_shared::allocator::Ending;
use warpnest_applications_shared::chart::ChartFile;
use warpnest_applications_shared::memory::{self, MemoryArgument};
use warpnest_applications_shared::program;
use warpnest_wordcount::counter::Counter;
use warpnest_wordcount::words::{Kind, Options};

#[global_allocator]
static ALLOCATOR: Ending = Ending;

/// Count the words of text files.
#[derive(Debug, Parser)]
#[command(
    after_help = "Files are UTF-8, plain or compressed by gzip. They are read part by part, so they may be larger than memory:\n\
    only the different words are kept. Bytes that are no UTF-8 are between words.\n\n\
    Words: letters and digits of any script, and apostrophes between them, so \"don't\" is one word and \"day--he\" are\n\
    two. With --spaces, whatever is between white space. A word beyond 256 MiB, or a sixteenth of --memory, is an error.\n\n\
    Lines end with a line feed, a carriage return, or both.\n\n\
    The table goes to the standard output; progress, summary and errors go to the standard error.\n\n\
    examples:\n  wordcount book.txt\n  \
    wordcount book.txt.gz more.txt --ignore-case --top 50 --chart words.svg --csv words.csv"
)]
struct Arguments {
    /// The files to read
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// Count words in lower case
    #[arg(short, long)]
    ignore_case: bool,
    /// Take every run of characters between white space as a word, with its punctuation
    #[arg(short, long)]
    spaces: bool,
    /// The number of words to show
    #[arg(short, long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..))]
    top: u32,
    /// Draw the counts of words by their ranks to this file, beside Zipf's law, by which counts
    /// fall as ranks grow: .svg or .png
    #[arg(short, long, value_name = "FILE")]
    chart: Option<PathBuf>,
    /// Write all words to this file, as CSV
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
    /// The device that counts words: best, cpu, cuda or cuda:N
    #[arg(short, long, default_value = "best")]
    device: String,
    /// The text that is counted at once, in MiB
    #[arg(long, default_value_t = 16, value_parser = clap::value_parser!(u16).range(1..=1024))]
    part: u16,
    #[command(flatten)]
    memory: MemoryArgument,
}

fn main() -> ExitCode {
    program::main(run)
}

fn run(arguments: &Arguments, out: &mut impl Write) -> anyhow::Result<()> {
    // Errors in the command are reported before a long file is read.
    let chart = arguments.chart.as_deref().map(ChartFile::new).transpose()?;
    let device: Device = arguments.device.parse()?;
    arguments.memory.apply(&device).context(memory::CANNOT_LIMIT)?;
    let kind = if arguments.spaces { Kind::Spaces } else { Kind::Letters };
    let options = Options { kind, fold: arguments.ignore_case };

    let start = Instant::now();
    let length = |path: &PathBuf| path.metadata().map_or(0, |metadata| metadata.len());
    let bytes = arguments.files.iter().map(length).sum();
    let bar = program::bar(bytes, "{msg} {wide_bar} {percent}% {bytes_per_sec} {eta}");
    let mut counter = Counter::new(&device, options, usize::from(arguments.part) << 20);
    let mut before = 0;
    for path in &arguments.files {
        bar.set_message(path.display().to_string());
        memory::now(format!("counting the words of {}", path.display()), "give a smaller --part or fewer files");
        counter.add(path, &mut |bytes| bar.set_position(before + bytes))?;
        before += length(path);
    }
    bar.finish_and_clear();
    let counting = start.elapsed();

    let shown = counter.counts().most_common_ids(arguments.top as usize);
    output::print(&counter, &arguments.files, &shown, out)?;
    if let Some(path) = &arguments.csv {
        output::write_csv(&counter, &arguments.files, path)?;
    }
    if let Some(file) = chart {
        chart::write(&counter, file)?;
    }
    Summary { device: &device, counter: &counter, shown: shown.len(), counting }.print(&mut io::stderr())?;
    Ok(())
}
