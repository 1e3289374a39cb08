//! The frame of a program: its command line, its exit status, and its progress bars.

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

/// Runs a program with the arguments of the process.
pub fn main<A: Parser>(run: impl FnOnce(&A, &mut Stdout) -> anyhow::Result<()>) -> ExitCode {
    exit_code(succeeds(std::env::args_os(), run))
}

/// Runs a program with a command line, and prints its error.
pub fn succeeds<A: Parser>(
    line: impl IntoIterator<Item = impl Into<OsString> + Clone>,
    run: impl FnOnce(&A, &mut Stdout) -> anyhow::Result<()>,
) -> bool {
    match parsed(line) {
        Ok(arguments) => is_done(&run(&arguments, &mut io::stdout())),
        Err(succeeds) => succeeds,
    }
}

/// Parses a command line. If it requests help or is wrong, this is printed, and the error is
/// whether the program succeeds.
pub fn parsed<A: Parser>(line: impl IntoIterator<Item = impl Into<OsString> + Clone>) -> Result<A, bool> {
    A::try_parse_from(line).map_err(|error| {
        // Printing may fail if nobody reads the output.
        let _ = error.print();
        !error.use_stderr()
    })
}

/// Returns whether a program has succeeded, and prints its error if it has not.
pub fn is_done(done: &anyhow::Result<()>) -> bool {
    if let Err(error) = done {
        // Only the message is printed. RUST_BACKTRACE would bury a returned error under a
        // backtrace.
        eprintln!("error: {}", with_causes(error.as_ref()));
    }
    done.is_ok()
}

/// Returns the exit code of the process.
pub fn exit_code(succeeds: bool) -> ExitCode {
    if succeeds { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Returns a progress bar, which is only visible on a terminal.
pub fn bar(length: u64, template: &'static str) -> ProgressBar {
    let bar = ProgressBar::new(length);
    // A wrong template, which is a constant, would leave the plain bar.
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    bar
}

/// Returns a spinner for work in progress, which is only visible on a terminal.
pub fn spinner(what: &'static str) -> ProgressBar {
    let spinner = ProgressBar::new_spinner().with_message(what);
    spinner.enable_steady_tick(Duration::from_millis(100));
    spinner
}

/// Prints the device's name, and the reason if a GPU was looked for and none is used.
pub fn print_device(device: &Device, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "device     {}", device.name())?;
    print_fallback("           ", device, out)
}

/// Prints the reason, after `indent`, if a GPU was looked for and none is used.
pub fn print_fallback(indent: &str, device: &Device, out: &mut impl Write) -> io::Result<()> {
    device.fallback_reason().map_or(Ok(()), |reason| writeln!(out, "{indent}({reason})"))
}

/// Returns the message for a file that cannot be written.
pub fn cannot_write(path: &Path, option: impl Display) -> String {
    format!("{}: cannot write the file; give another {option}", path.display())
}
