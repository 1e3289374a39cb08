//! Tests of the program, which runs in its own process.

use super::Arguments;
use warpnest_applications_shared::testing::{self, printed};

/// Runs the program if a test started this process for it.
#[test]
fn run_as_a_program() {
    testing::run_as_a_program("renumber", super::run);
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
        let [out, _] = printed(arguments);
        let all =
            ["device     CPU", "number the nodes", "ids of all ends", "and back", "M ends/s", "every id leads back"];
        for word in words.iter().chain(&all) {
            assert!(out.contains(word), "{word} in {out}");
        }
    }
}

#[test]
fn whatever_is_wrong_is_said_in_one_line() {
    testing::assert_refused(&[
        (&["--edges", "0"], &["--edges"]),
        (&["--edges", "5000000000"], &["--edges"]),
        (&["--nodes", "0"], &["--nodes"]),
        (&["--exponent", "11"], &["--exponent"]),
        (&["--exponent", "NaN"], &["from 0 to 10"]),
        (&["--degrees", "none"], &["power-law"]),
        (&["--device", "cuda:x"], &["cuda:x"]),
    ]);
}

#[test]
fn the_help_has_what_is_needed() {
    testing::assert_help::<Arguments>("--edges, --nodes, --degrees, --exponent, --in-order, --seed, --device, uniform");
}
