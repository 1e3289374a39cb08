//! A program from its command line to its exit status, and what it shows of its work.

use crate::message::with_causes;
use clap::Parser;
use indicatif::{ProgressBar, ProgressStyle};
use std::ffi::OsString;
use std::fmt::Display;
use std::io::{self, Stdout, Write};
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;
use warpnest::Device;

/// Runs a program with the command line of the process.
pub fn main<A: Parser>(run: impl FnOnce(&A, &mut Stdout) -> anyhow::Result<()>) -> ExitCode {
    exit_code(succeeds(std::env::args_os(), run))
}

/// Runs a program with a command line. An error is printed.
pub fn succeeds<A: Parser>(
    line: impl IntoIterator<Item = impl Into<OsString> + Clone>,
    run: impl FnOnce(&A, &mut Stdout) -> anyhow::Result<()>,
) -> bool {
    match parsed(line) {
        Ok(arguments) => is_done(&run(&arguments, &mut io::stdout())),
        Err(succeeds) => succeeds,
    }
}

/// Reads a command line. Where it asks for help, or is wrong, that is printed, and the error is
/// whether the program succeeds.
pub fn parsed<A: Parser>(line: impl IntoIterator<Item = impl Into<OsString> + Clone>) -> Result<A, bool> {
    A::try_parse_from(line).map_err(|error| {
        // Where nothing reads it, nothing is to be said.
        let _ = error.print();
        !error.use_stderr()
    })
}

/// Returns whether a program has done its work. An error is printed.
pub fn is_done(done: &anyhow::Result<()>) -> bool {
    if let Err(error) = done {
        // Only the message: with RUST_BACKTRACE set, returning the error would bury it under a
        // backtrace.
        eprintln!("error: {}", with_causes(error.as_ref()));
    }
    done.is_ok()
}

/// Returns what the process returns.
pub fn exit_code(succeeds: bool) -> ExitCode {
    if succeeds { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Returns a progress bar; nothing where the output is not a terminal.
pub fn bar(length: u64, template: &'static str) -> ProgressBar {
    let bar = ProgressBar::new(length);
    // The template is a constant; were it wrong, the plain bar would do.
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    bar
}

/// Returns a spinner while something is going on; nothing where the output is not a terminal.
pub fn spinner(what: &'static str) -> ProgressBar {
    let spinner = ProgressBar::new_spinner().with_message(what);
    spinner.enable_steady_tick(Duration::from_millis(100));
    spinner
}

/// Prints the device's name, and why it is no GPU if one was looked for.
pub fn print_device(device: &Device, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "device     {}", device.name())?;
    print_fallback("           ", device, out)
}

/// Prints behind `indent` why a device is no GPU, if one was looked for.
pub fn print_fallback(indent: &str, device: &Device, out: &mut impl Write) -> io::Result<()> {
    device.fallback_reason().map_or(Ok(()), |reason| writeln!(out, "{indent}({reason})"))
}

/// Returns the error of a file that cannot be written.
pub fn cannot_write(path: &Path, option: impl Display) -> String {
    format!("{}: cannot write the file; give another {option}", path.display())
}
