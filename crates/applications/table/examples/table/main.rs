//! An example that describes a file to which a table was saved, and checks it for damage.

#[cfg(test)]
mod tests;

use clap::{Parser, Subcommand};
use indicatif::{ProgressBar, ProgressStyle};
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;
use warpnest::files::FileInfo;
use warpnest_applications_shared::program;
use warpnest_applications_shared::shown::grouped;
use warpnest_table::Description;

/// Describe a file to which a table of warpnest was saved.
#[derive(Debug, Parser)]
#[command(
    name = "table",
    after_help = "Neither the types of keys and values nor a GPU is needed.\n\n\
    examples:\n  table info customers.warpnest\n  table verify *.warpnest"
)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Print the table, its types, keys, bytes and checksum; this reads the first 4096 bytes of a
    /// file
    Info {
        /// The files
        #[arg(required = true)]
        files: Vec<PathBuf>,
    },
    /// Read a whole file, and compare all checksums with the contents
    Verify {
        /// The files
        #[arg(required = true)]
        files: Vec<PathBuf>,
    },
}

fn main() -> ExitCode {
    program::exit_code(succeeds(std::env::args_os(), &mut io::stdout()))
}

/// Runs the program with a command line. After an error in one file, it continues with the others.
fn succeeds(line: impl IntoIterator<Item = impl Into<OsString> + Clone>, out: &mut impl Write) -> bool {
    let arguments: Arguments = match program::parsed(line) {
        Ok(arguments) => arguments,
        Err(succeeds) => return succeeds,
    };
    let (files, look): (_, fn(&Path, &mut _) -> anyhow::Result<()>) = match &arguments.command {
        Command::Info { files } => (files, tell),
        Command::Verify { files } => (files, verify),
    };
    let mut good = true;
    for file in files {
        if let Err(error) = look(file, out) {
            good = false;
            eprintln!("error: {error}");
        }
    }
    good
}

fn tell(path: &Path, out: &mut impl Write) -> anyhow::Result<()> {
    let info = FileInfo::open(path)?;
    writeln!(out, "{}\n{}", path.display(), Description(&info))?;
    Ok(())
}

fn verify(path: &Path, out: &mut impl Write) -> anyhow::Result<()> {
    // This refuses a file of the wrong length before all of it is read.
    let info = FileInfo::open(path)?;
    let bar = ProgressBar::new(info.bytes).with_style(ProgressStyle::with_template(
        "{msg} {bar:30} {decimal_bytes}/{decimal_total_bytes}, {decimal_bytes_per_sec}",
    )?);
    bar.set_message(path.display().to_string());
    let start = Instant::now();
    let verified = FileInfo::verify(bar.wrap_read(File::open(path)?));
    bar.finish_and_clear();
    // A stream's error names no path.
    verified.map_err(|error| anyhow::anyhow!("{}: {error}", path.display()))?;
    let seconds = start.elapsed().as_secs_f64();
    let speed = info.bytes as f64 / seconds / 1e9;
    writeln!(
        out,
        "{}: {}, {} bytes, no damage ({seconds:.3} s, {speed:.2} GB/s)",
        path.display(),
        info.kind,
        grouped(info.bytes)
    )?;
    Ok(())
}
