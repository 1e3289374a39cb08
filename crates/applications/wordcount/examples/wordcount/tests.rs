//! Tests of the program, which runs in its own process.

mod hostile;

use super::Arguments;
use warpnest_applications_shared::testing::{self, Folder, gzip, printed};

/// Runs the program if a test started this process for it.
#[test]
fn run_as_a_program() {
    testing::run_as_a_program("wordcount", super::run);
}

const TEXT: &str = "To be, or not to be: that is\nthe question. Don't be!\n";

/// Returns the words of each line of the table.
fn table(out: &str) -> Vec<Vec<&str>> {
    testing::table(out, "rank")
}

#[test]
fn words_are_printed_written_drawn_and_summed_up() {
    let folder = Folder::new();
    let text = folder.write("text.txt", TEXT);
    let (svg, csv) = (folder.path("words.svg"), folder.path("words.csv"));
    let [out, error] = printed(&[&text, "--ignore-case", "--top", "3", "--chart", &svg, "--csv", &csv]);
    assert_eq!(
        table(&out),
        [
            vec!["rank", "word", "count", "share", "first", "at"],
            vec!["1", "be", "3", "25.00", "%", "line", "1,", "byte", "3"],
            vec!["2", "to", "2", "16.67", "%", "line", "1,", "byte", "0"],
            vec!["3", "or", "1", "8.33", "%", "line", "1,", "byte", "7"],
        ]
    );
    assert!(error.contains("12 words, 9 different (3 shown), in 2 lines and 53 bytes; "), "{error}");
    let written = std::fs::read_to_string(&csv).unwrap();
    let lines: Vec<&str> = written.lines().collect();
    assert_eq!((lines[0], lines.len()), ("word,count,file,line,byte", 10));
    assert_eq!(lines[1], format!("be,3,{text},1,3"));
    assert_eq!(lines[9], format!("don't,1,{text},2,43"));
    let drawn = std::fs::read_to_string(&svg).unwrap();
    for text in ["How often words come", "rank of the word", "Zipf", "<circle"] {
        assert!(drawn.contains(text), "{text} in {drawn}");
    }
}

#[test]
fn several_files_also_compressed_ones_are_counted_together() {
    let folder = Folder::new();
    let one = folder.write("one.txt", TEXT);
    let packed = gzip(b"be\nBe so");
    let two = folder.write("two.txt.gz", packed);
    let png = folder.path("words.png");
    let [out, error] = printed(&[&one, &two, "--top", "30", "--chart", &png]);
    let rows = table(&out);
    assert_eq!(rows[1][..4], ["1", "be", "4", "26.67"]);
    let so: Vec<_> = rows.iter().filter(|row| row[1] == "so").collect();
    assert_eq!((so.len(), &so[0][so[0].len() - 4..]), (1, &["line", "2,", "byte", "6"][..]));
    assert!(error.contains("15 words, 12 different (12 shown), in 4 lines and 61 bytes; "), "{error}");
    let (size, pixels) = testing::pixels(&png);
    assert_eq!(size, [1000, 640]);
    let of = |colour: [u8; 3]| pixels.iter().filter(|pixel| **pixel == colour).count();
    // Twelve words and one point in the legend have 37 pixels each, and words may overlap.
    let blue = of([0, 114, 178]);
    assert!((250..=13 * 37).contains(&blue), "{blue}");
    assert!(of([213, 94, 0]) > 500);
}

#[test]
fn parts_give_what_the_whole_gives() {
    let folder = Folder::new();
    // The text is a little longer than two parts of 1 MiB, with new words everywhere.
    let text: String = (0..300_000).map(|i| format!("w{} {}", i / 3, if i % 7 == 0 { "\n" } else { "" })).collect();
    assert!(text.len() > 2 << 20);
    let path = folder.write("text.txt", &text);
    let csv = |part: &str| {
        let csv = folder.path(part);
        let [out, _] = printed(&[&path, "--part", part, "--csv", &csv, "--spaces"]);
        (table(&out).join(&"\n").join(" "), std::fs::read_to_string(&csv).unwrap())
    };
    let parts = csv("1");
    assert_eq!(parts, csv("100"));
    let last = parts.1.lines().last().unwrap();
    let (line, byte) = (1 + text[..text.find("w99999 ").unwrap()].matches('\n').count(), text.find("w99999 ").unwrap());
    assert_eq!(last, format!("w99999,3,{path},{line},{byte}"));
}

#[test]
fn nothing_is_counted_where_nothing_is() {
    let folder = Folder::new();
    let empty = folder.write("empty.txt", b"");
    let [out, error] = printed(&[&empty, "--chart", &folder.path("empty.svg")]);
    assert_eq!(table(&out).len(), 1);
    assert!(error.contains("0 words, 0 different (0 shown), in 0 lines and 0 bytes; "), "{error}");
}

#[test]
fn whatever_is_wrong_is_said_in_one_line() {
    let folder = Folder::new();
    let text = &folder.write("text.txt", TEXT)[..];
    let whole = gzip(TEXT.as_bytes());
    let cut = &folder.write("cut.gz", &whole[..whole.len() - 4])[..];
    let out = folder.path("none/out.csv");
    testing::assert_refused(&[
        (&["none.txt"][..], &["none.txt: cannot read the file"][..]),
        (&[text, &folder.path("")], &["is a folder; give the files in it"]),
        (&[text, cut], &["cut.gz: cannot read the file"]),
        (&[text, "--chart", "a.gif"], &["a.gif: a chart is SVG or PNG"]),
        (&[text, "--csv", &out], &["out.csv: cannot write the file; give another --csv"]),
        (&[text, "--chart", &(out.clone() + ".png")], &["cannot write the file; give another --chart"]),
        (&[text, "--top", "0"], &["--top"]),
        (&[text, "--part", "0"], &["--part"]),
        (&[], &["<FILES>"]),
        (&[text, "--device", "cuda:x"], &["cuda:x"]),
    ]);
}

#[test]
fn the_help_has_what_is_needed() {
    testing::assert_help::<Arguments>(
        "--ignore-case, --spaces, --top, --chart, --csv, --device, --part, --memory, apostrophes, gzip",
    );
}
