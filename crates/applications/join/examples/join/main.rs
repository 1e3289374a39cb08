//! An example that joins the rows of two CSV or Parquet files as SQL does. It prints the first
//! rows, or writes all rows to a file.

mod output;
#[cfg(test)]
mod tests;

use anyhow::Context;
use arrow_array::RecordBatch;
use clap::Parser;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use output::Summary;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;
use warpnest::Device;
use warpnest::arrow::ArrowJoin;
use warpnest::relational::{JoinKind, JoinMethod};
use warpnest_applications_shared::allocator::Ending;
use warpnest_applications_shared::memory::{self, MemoryArgument};
use warpnest_applications_shared::parquet::without_panic_messages;
use warpnest_applications_shared::program;
use warpnest_applications_shared::table::delimiter;
use warpnest_join::made_up::orders_and_customers;
use warpnest_join::read::{KeysAs, Options, read};
use warpnest_join::write::{self, write};

#[global_allocator]
static ALLOCATOR: Ending = Ending;

/// The advice to a user if there is not enough memory.
const REMEDY: &str = "leave out columns, or divide the files";

/// Join the rows of two CSV or Parquet files whose keys are equal.
#[derive(Debug, Parser)]
#[command(after_help = "Without files, two are made up: orders and customers.\n\n\
    Files: .csv, .txt (comma), .tsv (tab), whose first line names the columns; .parquet, .pq (without compression or\n\
    with Snappy). Types of CSV are inferred from all rows: integers of 64 bits, other numbers, booleans, dates, times,\n\
    and text. An empty field is null. A row with more or fewer fields than the first line, a quoted field that nothing\n\
    closes, and text behind the quote that closes one are errors. Lines end with a line feed, a carriage return, or both.\n\n\
    Kinds: inner (rows that meet), left, right, full (and the rows of that side, or of both, that meet none, with\n\
    nulls beside them), semi (left rows that meet one, once), anti (left rows that meet none).\n\n\
    Keys: null keys meet no row, as in SQL, so anti joins keep rows with null keys. Both columns must have the same\n\
    type; --text compares them as text. Columns that are joined by --on NAME become one column.\n\n\
    Memory: all rows of both files are kept, and all that are joined. What does not fit --memory is an error.\n\n\
    Rows come in any order. The preview goes to the standard output; summary and errors go to the standard error.\n\n\
    examples:\n  join orders.csv customers.parquet --on customer=id --kind left --out out.csv\n  \
    join a.csv b.csv --on city --on year --kind anti --device cuda")]
struct Arguments {
    /// The left file
    #[arg(requires = "right", requires = "on")]
    left: Option<PathBuf>,
    /// The right file
    right: Option<PathBuf>,
    /// The columns to join by: LEFT=RIGHT, or a name that is in both files; any number of times
    #[arg(long, value_name = "LEFT=RIGHT", requires = "left")]
    on: Vec<String>,
    /// The rows of the result
    #[arg(short, long, default_value = "inner", value_parser = kinds())]
    kind: JoinKind,
    /// The suffix of a right column's name if the left file has a column of that name
    #[arg(long, default_value = "_right")]
    suffix: String,
    /// Write all rows to this file: .csv, .tsv, .txt, .parquet or .pq
    #[arg(short, long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Compare keys as text
    #[arg(long)]
    text: bool,
    /// The algorithm of the join
    #[arg(long, default_value = "auto", value_parser = methods())]
    method: JoinMethod,
    /// The device that joins the rows: best, cpu, cuda or cuda:N
    #[arg(short, long, default_value = "best")]
    device: String,
    /// The delimiter of CSV fields, if the names of the files do not imply it
    #[arg(long, value_name = "CHARACTER", value_parser = delimiter)]
    delimiter: Option<u8>,
    #[command(flatten)]
    memory: MemoryArgument,
}

fn kinds() -> impl TypedValueParser<Value = JoinKind> {
    PossibleValuesParser::new(["inner", "left", "right", "full", "semi", "anti"]).map(|kind| match &kind[..] {
        "left" => JoinKind::Left,
        "right" => JoinKind::Right,
        "full" => JoinKind::Full,
        "semi" => JoinKind::Semi,
        "anti" => JoinKind::Anti,
        _ => JoinKind::Inner,
    })
}

fn methods() -> impl TypedValueParser<Value = JoinMethod> {
    PossibleValuesParser::new(["auto", "on-chip", "direct", "split"]).map(|method| match &method[..] {
        "on-chip" => JoinMethod::OnChip,
        "direct" => JoinMethod::Direct,
        "split" => JoinMethod::Split,
        _ => JoinMethod::Auto,
    })
}

fn main() -> ExitCode {
    program::main(run)
}

fn run(arguments: &Arguments, out: &mut impl Write) -> anyhow::Result<()> {
    // Errors in the command are reported before long files are read.
    arguments.out.as_deref().map(write::check).transpose()?;
    let device: Device = arguments.device.parse()?;
    arguments.memory.apply(&device).context(memory::CANNOT_LIMIT)?;
    match (&arguments.left, &arguments.right) {
        (Some(left), Some(right)) => {
            let pairs = arguments.on.iter().map(|on| on.split_once('=').unwrap_or((on, on)));
            let (left_on, right_on): (Vec<String>, Vec<String>) =
                pairs.map(|(left, right)| (left.to_owned(), right.to_owned())).unzip();
            join([left, right], [left_on, right_on], arguments, &device, out)
        }
        _ => {
            let folder = tempfile::tempdir().context("cannot make a folder for made-up files; give two files")?;
            let paths = [folder.path().join("orders.csv"), folder.path().join("customers.parquet")];
            for (path, batch) in paths.iter().zip(&orders_and_customers(1000, 200, 7)?) {
                write(path, batch)?;
            }
            eprintln!("made up: orders.csv and customers.parquet, joined by --on customer=id");
            let on = [vec!["customer".to_owned()], vec!["id".to_owned()]];
            join([&paths[0], &paths[1]], on, arguments, &device, out)
        }
    }
}

fn join(
    paths: [&Path; 2],
    on: [Vec<String>; 2],
    arguments: &Arguments,
    device: &Device,
    out: &mut impl Write,
) -> anyhow::Result<()> {
    let keys_as = if arguments.text { KeysAs::Text } else { KeysAs::TheyAre };
    let start = Instant::now();
    let options = Options { keys_as, delimiter: arguments.delimiter };
    let read = |side: usize| {
        memory::now(format!("reading {}", paths[side].display()), REMEDY);
        read(paths[side], &on[side], options)
    };
    let [left, right] = without_panic_messages(|| Ok::<_, anyhow::Error>([read(0)?, read(1)?]))?;
    memory::now(format!("joining {} and {}", paths[0].display(), paths[1].display()), REMEDY);
    let reading = start.elapsed();
    let start = Instant::now();
    let [left_on, right_on] = on;
    let query = ArrowJoin::new(&left, &right).left_on(left_on).right_on(right_on).kind(arguments.kind);
    let joined: RecordBatch =
        query.method(arguments.method).suffix(&arguments.suffix).run(device).with_context(|| {
            let hint =
                if arguments.text { "" } else { "; --text compares keys of different types as they are written" };
            format!("{} and {} cannot be joined{hint}", paths[0].display(), paths[1].display())
        })?;
    let joining = start.elapsed();
    let start = Instant::now();
    match &arguments.out {
        Some(path) => write(path, &joined)?,
        None => output::print(&joined, out)?,
    }
    let rows_in = [left.num_rows(), right.num_rows()];
    let writing = arguments.out.as_ref().map(|_| start.elapsed());
    Summary { device, rows_in, rows_out: joined.num_rows(), reading, joining, writing }.print(&mut io::stderr())?;
    Ok(())
}
