//! The program, run as a person runs it: in a process of its own.

use std::process::{Command, Output, exit};

use clap::CommandFactory;

use super::Arguments;

/// The variable with the program's arguments, one a line.
const ARGUMENTS: &str = "WARPNEST_RENUMBER_ARGUMENTS";

/// Runs the program: this binary, which is compiled of the same files.
fn program(arguments: &[&str]) -> Output {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "tests::run_as_a_program", "--nocapture"]).env(ARGUMENTS, arguments.join("\n"));
    command.output().unwrap()
}

/// Is the program where [`program`] started it, and does nothing otherwise.
#[test]
fn run_as_a_program() {
    let Ok(arguments) = std::env::var(ARGUMENTS) else { return };
    let succeeds = super::succeeds(["renumber"].into_iter().chain(arguments.lines()));
    exit(if succeeds { 0 } else { 1 });
}

#[test]
fn nodes_get_ids_and_rates_are_printed() {
    for (arguments, words) in [
        (
            &["--edges", "20000", "--nodes", "50", "--in-order"][..],
            &["20000 edges between 50 of 50 nodes", "in order of"][..],
        ),
        (&["--edges", "20000", "--degrees", "uniform"], &["of 2500 nodes", "in any order"]),
        (&["--edges", "1", "--nodes", "1", "--seed", "9"], &["1 edges between 1 of 1 nodes"]),
    ] {
        let output = program(&[arguments, &["--device", "cpu"]].concat());
        let [out, error] = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
        assert!(output.status.success(), "{error}");
        let all =
            ["device     CPU", "number the nodes", "ids of all ends", "and back", "M ends/s", "every id leads back"];
        for word in words.iter().chain(&all) {
            assert!(out.contains(word), "{word} in {out}");
        }
    }
}

#[test]
fn whatever_is_wrong_is_said_in_one_line() {
    for (arguments, word) in [
        (&["--edges", "0"][..], "--edges"),
        (&["--edges", "5000000000"], "--edges"),
        (&["--nodes", "0"], "--nodes"),
        (&["--exponent", "11"], "--exponent"),
        (&["--exponent", "NaN"], "from 0 to 10"),
        (&["--degrees", "none"], "power-law"),
        (&["--device", "cuda:x"], "cuda:x"),
    ] {
        let output = program(arguments);
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {error}");
        assert!(error.contains("error: ") && error.contains(word), "{arguments:?}: {error}");
        assert!(!error.contains("panicked"), "{error}");
    }
}

#[test]
fn the_help_has_what_is_needed() {
    Arguments::command().debug_assert();
    let output = program(&["--help"]);
    assert!(output.status.success());
    let help = String::from_utf8(output.stdout).unwrap();
    for word in ["--edges", "--nodes", "--degrees", "--exponent", "--in-order", "--seed", "--device", "uniform"] {
        assert!(help.contains(word), "{word} in {help}");
    }
}
