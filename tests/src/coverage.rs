//! The share of the committed PTX that tests have executed.
//!
//! It counts the statements of all entries of the PTX for Hopper, and of those entries of the PTX
//! for every device that differ. The share is printed when all tests of a process have run, and
//! with `WARPNEST_COVERAGE=1` also after a selection of the tests. The statements that were not
//! executed are written to a file of the program in the folder `ptx-coverage` of the target folder.
//! `cargo xtask check` counts the statements that any program has executed.

use ptx_tools::Module;
use std::fmt::Write;
use std::path::PathBuf;
use std::sync::Once;
use warpnest_testing::interpreted::{BASELINE, HOPPER};

unsafe extern "C" {
    /// Registers a function that runs at the end of the process; the C library provides it.
    safe fn atexit(function: extern "C" fn()) -> i32;
}

/// Makes the process report its coverage when it ends; repeated calls do nothing.
pub(crate) fn report_at_exit() {
    static ASKED: Once = Once::new();
    ASKED.call_once(|| {
        atexit(report);
    });
}

/// Returns the entries whose statements are counted, as `(module, entry)`.
fn entries() -> impl Iterator<Item = (&'static Module, &'static ptx_tools::Entry)> {
    let all = HOPPER.entries.iter().map(|entry| (&*HOPPER, entry));
    let differs =
        |entry: &&ptx_tools::Entry| !HOPPER.entry(&entry.name).is_some_and(|other| entry.has_same_code(other));
    all.chain(BASELINE.entries.iter().filter(differs).map(|entry| (&*BASELINE, entry)))
}

extern "C" fn report() {
    // The coverage of a selection of the tests says nothing about all tests.
    let mut words = std::env::args().skip(1);
    if words.any(|word| !word.starts_with("--test-threads")) && std::env::var_os("WARPNEST_COVERAGE").is_none() {
        return;
    }
    let (mut executed, mut all, mut left_out) = (0, 0, String::new());
    for (module, entry) in entries() {
        let missing = entry.not_executed();
        executed += entry.statements() - missing.len();
        all += entry.statements();
        for (line, statement) in missing {
            let _ = writeln!(left_out, "{} {} line {line}: {statement}", module.target, entry.name);
        }
    }
    let share = 100.0 * executed as f64 / all as f64;
    println!("PTX: {executed} of {all} statements were executed, {share:.1} %");
    let Some((path, times)) = path("ptx-coverage").zip(path("test-times")) else { return };
    // Thorough tests have no limit of CPU time, so none is written.
    if !crate::settings::is_thorough()
        && let Err(error) = crate::times::write(&times)
    {
        println!("times of tests: {} cannot be written: {error}", times.display());
    }
    let digest = warpnest::low_level::ptx::digest_line(warpnest::low_level::ptx::hopper());
    let text = format!("{executed} of {all} statements\n{digest}\n{left_out}");
    let written = path.parent().map_or(Ok(()), std::fs::create_dir_all).and_then(|()| std::fs::write(&path, text));
    if let Err(error) = written {
        println!("PTX: {} cannot be written: {error}", path.display());
    }
}

/// Returns the path of the program's file in a folder of the target folder, if the program is in
/// one.
fn path(folder: &str) -> Option<PathBuf> {
    let program = std::env::current_exe().ok()?;
    let deps = program.parent().filter(|folder| folder.ends_with("deps"))?;
    // Cargo adds a hash to the name.
    let name = program.file_stem()?.to_str()?.rsplit_once('-')?.0;
    Some(deps.parent()?.parent()?.join(folder).join(name).with_extension("txt"))
}
