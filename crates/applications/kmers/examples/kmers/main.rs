//! An example that counts the k-mers of sequences, prints the most frequent ones, and draws how
//! many have each count.

mod chart;
mod output;
#[cfg(test)]
mod tests;

use std::{
    fs::File,
    io::{self, BufWriter, Write},
    path::{Path, PathBuf},
    process::ExitCode,
    time::Instant,
};

use anyhow::{Context, ensure};
use clap::Parser;
use output::{Dump, Summary};
use warpnest::Device;
use warpnest_applications_shared::allocator::Ending;
use warpnest_applications_shared::chart::ChartFile;
use warpnest_applications_shared::memory::{self, MemoryArgument};
use warpnest_applications_shared::program;
use warpnest_kmers::genome;
use warpnest_kmers::packed::{Options, Packed};
use warpnest_kmers::spectrum::Survey;

#[global_allocator]
static ALLOCATOR: Ending = Ending;

/// Count the k-mers of FASTA and FASTQ files.
#[derive(Debug, Parser)]
#[command(
    after_help = "Files are FASTA or FASTQ, plain or compressed by gzip. A k-mer is k neighbouring bases of one record: A, C, G and T, in\n\
    either case. No k-mer goes over another letter, such as N, or from one record to the next.\n\n\
    A k-mer and its reverse complement count as one, named by the smaller of both, unless --not-canonical is given.\n\n\
    Lines end with a line feed, a carriage return, or both.\n\n\
    Memory: about 2 bytes a k-mer on the host, within --memory; a record may take an eighth of it, at most 4 GiB. The device counts some of the k-mers at once, all that are equal together.\n\n\
    The table goes to the standard output; progress, summary and errors go to the standard error.\n\n\
    examples:\n  kmers genome.fna.gz\n  \
    kmers reads_1.fq.gz reads_2.fq.gz -k 31 --spectrum spectrum.csv --chart spectrum.svg\n  \
    kmers made-up.fna --make 100000000 --dump counts.tsv"
)]
struct Arguments {
    /// The files to read
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// The number of bases of a k-mer, 1 to 32
    #[arg(short, default_value_t = 21, value_parser = clap::value_parser!(u32).range(1..=32))]
    k: u32,
    /// Count a k-mer and its reverse complement separately
    #[arg(short, long)]
    not_canonical: bool,
    /// The number of k-mers to show
    #[arg(short, long, default_value_t = 10)]
    top: u32,
    /// Write the number of k-mers with each count to this file, as CSV
    #[arg(short, long, value_name = "FILE")]
    spectrum: Option<PathBuf>,
    /// Draw the number of k-mers with each count to this file: .svg or .png
    #[arg(short, long, value_name = "FILE")]
    chart: Option<PathBuf>,
    /// Write all k-mers and their counts to this file, a line each, in any order
    #[arg(long, value_name = "FILE")]
    dump: Option<PathBuf>,
    /// The device that counts k-mers: best, cpu, cuda or cuda:N
    #[arg(short, long, default_value = "best")]
    device: String,
    /// The maximum number of k-mers sorted at once, in millions. A map counts larger bins, which
    /// cannot be divided
    #[arg(long, default_value_t = 64, value_parser = clap::value_parser!(u16).range(1..=4000))]
    batch: u16,
    /// First of all, write a made-up genome of this many bases to the file, which must not exist
    #[arg(long, value_name = "BASES", value_parser = clap::value_parser!(u64).range(1..=1 << 33))]
    make: Option<u64>,
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
    memory::now("reading sequences".to_owned(), "give fewer of them");
    if let Some(bases) = arguments.make {
        ensure!(arguments.files.len() == 1, "--make writes one file; give one");
        make(bases, &arguments.files[0])?;
    }
    let options = Options { k: arguments.k, canonical: !arguments.not_canonical, ..Options::default() };
    let mut dump = arguments.dump.as_deref().map(|path| Dump::create(path, arguments.k)).transpose()?;

    let length = |path: &PathBuf| path.metadata().map_or(0, |metadata| metadata.len());
    let bytes = arguments.files.iter().map(length).sum();
    let bar = program::bar(bytes, "{msg} {wide_bar} {percent}% {bytes_per_sec} {eta}");
    let start = Instant::now();
    let packed = Packed::read(&arguments.files, options, &|bytes| bar.inc(bytes))?;
    let reading = start.elapsed();
    bar.set_message("counting");
    memory::now("counting k-mers".to_owned(), "give a smaller --batch");
    let sizes = (usize::from(arguments.batch) * 1_000_000, arguments.top as usize);
    let counted = Survey::of(&device, &packed, sizes, &mut |pairs| match &mut dump {
        Some(dump) => dump.write(pairs),
        None => Ok(()),
    });
    let survey = counted.context("if memory is short, allow more by --memory, or give a smaller --batch")??;
    dump.map_or(Ok(()), Dump::finish)?;
    let counting = start.elapsed() - reading;
    bar.finish_and_clear();

    if arguments.top > 0 {
        output::print(&survey, packed.totals, arguments.k, out)?;
    }
    if let Some(path) = &arguments.spectrum {
        output::write_spectrum(&survey.spectrum, path)?;
    }
    if let Some(file) = chart {
        chart::write(&survey.spectrum, arguments.k, file)?;
    }
    Summary { device: &device, packed: &packed, survey: &survey, reading, counting }.print(&mut io::stderr())?;
    Ok(())
}

/// Writes a made-up genome to a new file.
fn make(bases: u64, path: &Path) -> anyhow::Result<()> {
    let failed = || format!("{}: cannot write the file; give a new one that --make may write", path.display());
    let mut file = BufWriter::new(File::create_new(path).with_context(failed)?);
    genome::write(bases as usize, 1, &mut file).with_context(failed)
}
