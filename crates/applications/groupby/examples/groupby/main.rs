//! An example that groups the rows of a CSV or Parquet file as SQL does. It prints a table of the
//! groups, and draws them as bars.

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
use warpnest_applications_shared::parquet::without_panic_messages;
use warpnest_applications_shared::program;
use warpnest_applications_shared::table::delimiter;
use warpnest_groupby::answer::Answer;
use warpnest_groupby::groups::group;
use warpnest_groupby::query::{Aggregation, Query};
use warpnest_groupby::read::read;
use warpnest_groupby::reading::Options;

#[global_allocator]
static ALLOCATOR: Ending = Ending;

/// Group the rows of a CSV or Parquet file by one or two columns, and aggregate other columns.
#[derive(Debug, Parser)]
#[command(
    after_help = "Aggregates: count, and of a column sum, min, max, mean, first, last (in the order of the file),\n\
    distinct (the count of distinct values), var and std (of a sample; NaN for one row), median.\n\n\
    Files: .csv, .txt (comma), .tsv (tab), whose first line names the columns; .parquet, .pq (flat columns, without\n\
    compression or with Snappy; dates and times are the integers that the file holds).\n\n\
    Types: integers have 64 bits, other numbers are 64-bit floating-point numbers, and everything else is text. A key\n\
    is a number if all keys are integers as they are usually written, so 007 stays text. first, last and\n\
    distinct take any column; the others need numbers. A sum of integers that might not fit into 64 bits is computed in floating point.\n\n\
    Rows: a row is skipped, and counted in the summary, if one of the columns named by --by or --agg is empty there,\n\
    is no finite number where one is needed, or is not UTF-8, or if the row has more or fewer fields than the first\n\
    line. --strict makes that an error. A quoted field that nothing closes, and text behind the quote that closes one,\n\
    are errors always. Lines end with a line feed, a carriage return, or both.\n\n\
    Memory: the columns that the command names are kept. What does not fit --memory is an error.\n\n\
    The table goes to the standard output; progress, summary and errors go to the standard error.\n\n\
    examples:\n  groupby trips.csv --by zone\n  \
    groupby trips.csv --by zone --agg count --agg mean:fare --agg max:tip --sort mean:fare --chart fares.svg\n  \
    groupby trips.parquet --by zone --by hour --agg sum:fare --top 5 --csv result.csv --device cuda"
)]
struct Arguments {
    /// The file to read: CSV or Parquet, by the end of its name
    file: PathBuf,
    /// A column to group by; give it once or twice
    #[arg(short, long, required = true, value_name = "COLUMN")]
    by: Vec<String>,
    /// An aggregate of each group: count, or mean:COLUMN and the like; any number of times
    /// [default: count]
    #[arg(short, long, value_name = "KIND[:COLUMN]")]
    agg: Vec<Aggregation>,
    /// Sort groups by this column of the result, the greatest first. By default, groups ascend if
    /// their only key is an integer; other keys are in the order of first appearance, column by
    /// column
    #[arg(short, long, value_name = "KIND[:COLUMN]")]
    sort: Option<String>,
    /// Sort with the least first
    #[arg(long, requires = "sort")]
    ascending: bool,
    /// The number of groups to show
    #[arg(short, long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..))]
    top: u32,
    /// Write all groups to this file, as CSV
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
    /// Draw the shown groups to this file (.svg or .png) as bars, as long as the column of --sort,
    /// or else the first numeric aggregate
    #[arg(short, long, value_name = "FILE")]
    chart: Option<PathBuf>,
    /// The device that computes the groups: best, cpu, cuda or cuda:N
    #[arg(short, long, default_value = "best")]
    device: String,
    /// The delimiter of CSV fields, if the name of the file does not imply it
    #[arg(long, value_name = "CHARACTER", value_parser = delimiter)]
    delimiter: Option<u8>,
    /// Stop at the first row that cannot be read, and print the reason
    #[arg(long)]
    strict: bool,
    #[command(flatten)]
    memory: MemoryArgument,
}

fn main() -> ExitCode {
    program::main(run)
}

fn run(arguments: &Arguments, out: &mut impl Write) -> anyhow::Result<()> {
    let count = ["count".parse()?];
    let aggregations = if arguments.agg.is_empty() { &count[..] } else { &arguments.agg };
    let query = Query::new(&arguments.by, aggregations)?;
    // Errors in the command are reported before a long file is read.
    let chart = arguments.chart.as_deref().map(ChartFile::new).transpose()?;
    check_sort(arguments, &query)?;
    let device: Device = arguments.device.parse()?;
    arguments.memory.apply(&device).context(memory::CANNOT_LIMIT)?;
    let path = arguments.file.display();
    memory::now(format!("reading {path}"), "name fewer columns, or divide the file");

    let start = Instant::now();
    let bar = program::bar(100, "{msg} {wide_bar} {percent}% {eta}").with_message("reading");
    let options = Options { strict: arguments.strict, delimiter: arguments.delimiter };
    let progress = &mut |share: f64| bar.set_position((100.0 * share) as u64);
    let table = without_panic_messages(|| read(&arguments.file, query.needs(), options, progress))?;
    bar.finish_and_clear();
    let reading = start.elapsed();
    memory::now(format!("grouping the rows of {path}"), "name fewer columns, or divide the file");
    let start = Instant::now();
    let answer = group(&device, &table, &query)?;
    let grouping = start.elapsed();

    let sort = arguments.sort.as_ref().and_then(|name| answer.column(name));
    let order = match sort {
        Some(column) => answer.sorted(column, arguments.ascending),
        None => (0..answer.groups).collect(),
    };
    let shown = &order[..order.len().min(arguments.top as usize)];
    output::print(&answer, shown, out)?;
    if let Some(path) = &arguments.csv {
        output::write_csv(&answer, &order, path)?;
    }
    if let Some(file) = chart {
        chart::write(&answer, shown, charted(&answer, sort)?, file)?;
    }
    let summary = Summary { device: &device, table: &table, answer: &answer, shown: shown.len(), reading, grouping };
    summary.print(&mut io::stderr())?;
    Ok(())
}

/// Checks that the result will have the column to sort by.
fn check_sort(arguments: &Arguments, query: &Query) -> anyhow::Result<()> {
    let Some(sort) = &arguments.sort else { return Ok(()) };
    let aggregations = query.aggregations().iter().map(|(aggregation, _)| aggregation.to_string());
    let names: Vec<String> =
        aggregations.chain(query.keys().iter().map(|key| query.needs()[*key].name.clone())).collect();
    anyhow::ensure!(
        names.contains(sort),
        "--sort {sort}: the result has no such column; it has {}; give one of them, or another --agg",
        names.join(", ")
    );
    Ok(())
}

/// Returns the column that the bars show.
fn charted(answer: &Answer, sort: Option<usize>) -> anyhow::Result<usize> {
    let mut candidates = sort.into_iter().chain(answer.keys..answer.columns.len());
    candidates
        .find(|column| *column >= answer.keys && answer.columns[*column].are_numbers())
        .context("--chart: no aggregate is a number; give another --agg, such as count")
}
