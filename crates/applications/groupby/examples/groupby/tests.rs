//! Tests of the program, which runs in its own process.

mod hostile;

use super::Arguments;
use warpnest_applications_shared::testing::{self, Folder, printed};

/// Runs the program if a test started this process for it.
#[test]
fn run_as_a_program() {
    testing::run_as_a_program("groupby", super::run);
}

const TRIPS: &str = "zone,hour,fare,tip\nnorth,7,10.5,1\nsouth,8,4,0\nnorth,8,2.25,3\n\
    east,7,8,2\nsouth,7,oops,1\nsouth,7,6,\n";

/// Returns the words of each line of the table.
fn table(out: &str) -> Vec<Vec<&str>> {
    testing::table(out, "zone")
}

#[test]
fn groups_are_printed_written_drawn_and_summed_up() {
    let folder = Folder::new();
    let trips = folder.write("trips.csv", TRIPS);
    let (svg, csv) = (folder.path("fares.svg"), folder.path("result.csv"));
    let aggregates = ["--agg", "count", "--agg", "mean:fare", "--agg", "max:tip"];
    let rest = ["--sort", "mean:fare", "--top", "2", "--chart", &svg, "--csv", &csv];
    let [out, error] = printed(&[&[&trips, "--by", "zone"], &aggregates[..], &rest].concat());
    assert_eq!(
        table(&out),
        [
            vec!["zone", "count", "mean:fare", "max:tip"],
            vec!["east", "1", "8.000", "2"],
            vec!["north", "2", "6.375", "3"]
        ]
    );
    assert!(error.contains("6 rows read, 2 skipped, 3 groups (2 shown); "), "{error}");
    assert!(error.contains("grouping by sorting on CPU"), "{error}");
    assert!(error.contains("line 6: the column \"fare\" is \"oops\", which is no finite number"), "{error}");
    let written = std::fs::read_to_string(&csv).unwrap();
    assert_eq!(written, "zone,count,mean:fare,max:tip\neast,1,8,2\nnorth,2,6.375,3\nsouth,1,4,0\n");
    let drawn = std::fs::read_to_string(&svg).unwrap();
    for text in ["mean:fare by zone, 2 of 3 groups", "east", "north", "8.000", "6.375"] {
        assert!(drawn.contains(text), "{text} in {drawn}");
    }
    assert!(!drawn.contains("south"));
}

#[test]
fn two_keys_in_their_own_order_and_a_chart_of_pixels() {
    let folder = Folder::new();
    let trips = folder.write("trips.csv", TRIPS);
    let png = folder.path("count.png");
    let [out, error] = printed(&[&trips, "--by", "zone", "--by", "hour", "--agg", "sum:tip", "--chart", &png]);
    let expected = [
        ["zone", "hour", "sum:tip"],
        ["north", "7", "1"],
        ["north", "8", "3"],
        ["south", "7", "1"],
        ["south", "8", "0"],
        ["east", "7", "2"],
    ];
    assert_eq!(table(&out), expected);
    assert!(error.contains("6 rows read, 1 skipped, 5 groups; "), "{error}");
    let (size, pixels) = testing::pixels(&png);
    assert_eq!(size[0], 1000);
    let blue = pixels.iter().filter(|pixel| **pixel == [0, 114, 178]).count();
    // The longest bar has 540 pixels in 18 rows. All five together are 7/3 as long.
    assert!((20_000..26_000).contains(&blue), "{blue}");
}

#[test]
fn groups_are_counted_and_sorted_upwards() {
    let folder = Folder::new();
    let trips = folder.write("trips.csv", TRIPS);
    let [out, _] = printed(&[&trips, "--by", "zone", "--sort", "count", "--ascending"]);
    assert_eq!(table(&out), [["zone", "count"], ["east", "1"], ["north", "2"], ["south", "3"]]);
    let [out, _] = printed(&[&trips, "--by", "zone", "--sort", "zone", "--ascending", "--agg", "last:tip"]);
    assert_eq!(table(&out), [["zone", "last:tip"], ["east", "2"], ["north", "3"], ["south", "1"]]);
    let none = folder.write("none.csv", "zone,fare\n");
    let [out, error] = printed(&[&none, "--by", "zone", "--chart", &folder.path("none.svg")]);
    assert_eq!(table(&out), [["zone", "count"]]);
    assert!(error.contains("0 rows read, 0 skipped, 0 groups; "), "{error}");
}

#[test]
fn whatever_is_wrong_is_said_in_one_line() {
    let folder = Folder::new();
    let trips = &folder.write("trips.csv", TRIPS)[..];
    let text = &folder.write("text.csv", "zone,note\na,x\na,y\n")[..];
    let empty = &folder.write("empty.parquet", "")[..];
    let out = folder.path("none/out.csv");
    testing::assert_refused(&[
        (&["none.csv", "--by", "zone"][..], &["none.csv: cannot read the file"][..]),
        (&[&folder.path(""), "--by", "zone"], &["is a folder"]),
        (&[empty, "--by", "zone"], &["empty.parquet: cannot be read as Parquet"]),
        (&[trips, "--by", "area"], &["trips.csv: there is no column \"area\"; there are zone, hour, fare, tip"]),
        (
            &[trips, "--by", "zone", "--agg", "mean:fare", "--strict"],
            &["trips.csv: line 6: the column \"fare\" is \"oops\""],
        ),
        (&[text, "--by", "zone", "--agg", "sum:note"], &["text.csv: none of 2 rows", "line 2", "\"note\" is \"x\""]),
        (&[text, "--by", "zone", "--agg", "first:note", "--chart", "a.svg"], &["--chart: no aggregate is a number"]),
        (&[trips, "--by", "zone", "--chart", "a.gif"], &["a.gif: a chart is SVG or PNG"]),
        (&[trips, "--by", "zone", "--sort", "sum:fare"], &["--sort sum:fare", "it has count, zone"]),
        (&[trips, "--by", "zone", "--by", "hour", "--by", "tip"], &["3 columns of keys"]),
        (&[trips, "--by", "zone", "--csv", &out], &["out.csv: cannot write the file; give another --csv"]),
        (
            &[trips, "--by", "zone", "--chart", &(out.clone() + ".png")],
            &["cannot write the file; give another --chart"],
        ),
        (&[trips, "--by", "zone", "--agg", "mode:fare"], &["\"mode:fare\" is no aggregate; give count"]),
        (&[trips, "--by", "zone", "--top", "0"], &["--top"]),
        (&[trips, "--by", "zone", "--delimiter", "ab"], &["one ASCII character"]),
        (&[trips, "--by", "zone", "--ascending"], &["--sort"]),
        (&[trips], &["--by"]),
        (&[trips, "--by", "zone", "--device", "cuda:x"], &["cuda:x"]),
    ]);
}

#[test]
fn the_help_has_what_is_needed() {
    testing::assert_help::<Arguments>(
        "--by, --agg, --sort, --top, --chart, --csv, --device, --strict, --memory, mean:fare, skipped",
    );
}
