//! Tests of the program, which runs in its own process.

mod hostile;

use super::Arguments;
use warpnest_applications_shared::testing::{self, Folder, gzip, printed};

/// Runs the program if a test started this process for it.
#[test]
fn run_as_a_program() {
    testing::run_as_a_program("kmers", super::run);
}

const TEXT: &str = ">one\nACGACG\nacgN\n>two\nGGGG\n";

/// Returns the words of each line of the table.
fn table(out: &str) -> Vec<Vec<&str>> {
    testing::table(out, "rank")
}

/// Returns the lines of a file, sorted.
fn lines(path: &str) -> Vec<String> {
    let text = std::fs::read_to_string(path).unwrap();
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    lines.sort();
    lines
}

#[test]
fn kmers_are_printed_written_drawn_and_summed_up() {
    let folder = Folder::new();
    let text = folder.write("text.fa", TEXT);
    let [svg, csv, dump] = ["spectrum.svg", "spectrum.csv", "all.tsv"].map(|name| folder.path(name));
    let [out, error] = printed(&[&text, "-k", "3", "--top", "2", "--chart", &svg, "--spectrum", &csv, "--dump", &dump]);
    // Reverse complements count together: ACG with CGT, CGA with TCG, GAC with GTC, GGG with CCC.
    assert_eq!(
        table(&out),
        [
            vec!["rank", "k-mer", "count", "share"],
            vec!["1", "ACG", "3", "33.3333", "%"],
            vec!["2", "CCC", "2", "22.2222", "%"],
        ]
    );
    for words in [
        "13 bases and 1 other letters in 2 records; ",
        "; 9 3-mers of both strands, 4 different, 0 of them once (2 shown)",
        " s counting on CPU; ",
    ] {
        assert!(error.contains(words), "{words} in {error}");
    }
    assert_eq!(std::fs::read_to_string(&csv).unwrap(), "count,kmers\n2,3\n3,1\n");
    assert_eq!(lines(&dump), ["ACG\t3", "CCC\t2", "CGA\t2", "GAC\t2"]);
    let drawn = std::fs::read_to_string(&svg).unwrap();
    for text in ["How many 3-mers occur how often", "occurrences of a k-mer", "<circle", "<polyline"] {
        assert!(drawn.contains(text), "{text} in {drawn}");
    }
    let [out, error] = printed(&[&text, "-k", "3", "--not-canonical", "--top", "0", "--dump", &dump]);
    assert_eq!(lines(&dump), ["ACG\t3", "CGA\t2", "GAC\t2", "GGG\t2"]);
    assert!(table(&out).is_empty() && error.contains("; 9 3-mers, 4 different"), "{out} {error}");
}

#[test]
fn several_files_also_compressed_ones_are_counted_together() {
    let folder = Folder::new();
    let one = folder.write("one.fa", TEXT);
    let packed = gzip(b"@r\nACGT\n+\nIIII\n");
    let two = folder.write("two.fq.gz", packed);
    let png = folder.path("spectrum.png");
    let [out, error] = printed(&[&one, &two, "-k", "4", "--chart", &png]);
    assert_eq!(table(&out)[1][..3], ["1", "ACGA", "2"]);
    assert!(error.contains("17 bases and 1 other letters in 3 records"), "{error}");
    let (size, pixels) = testing::pixels(&png);
    assert_eq!(size, [1000, 640]);
    // The chart has two points of 37 pixels each, and a line between them.
    let blue = pixels.iter().filter(|pixel| **pixel == [0, 114, 178]).count();
    assert!((2 * 37..3000).contains(&blue), "{blue}");
}

#[test]
fn a_made_up_genome_is_written_once_and_counted_in_one_batch_and_in_many() {
    let folder = Folder::new();
    let (genome, csv) = (folder.path("made.fa"), folder.path("spectrum.csv"));
    let [_, error] = printed(&[&genome, "--make", "2100000", "--spectrum", &csv]);
    let one = std::fs::read_to_string(&csv).unwrap();
    assert!(error.contains(" in 1 records; "), "{error}");
    // Short k-mers are all in one bin, which is larger than a batch, so a map counts them.
    for (k, batches) in [("21", ["1", "64"]), ("12", ["1", "64"])] {
        let [few, many] = batches.map(|batch| {
            printed(&[&genome, "-k", k, "--batch", batch, "--spectrum", &csv]);
            std::fs::read_to_string(&csv).unwrap()
        });
        assert!(few == many && (k == "12" || few == one), "{k}");
    }
    let again = testing::run(&[&genome, "--make", "10"]);
    assert!(!again.status.success() && String::from_utf8_lossy(&again.stderr).contains("give a new one"));
}

#[test]
fn short_sequences_have_no_kmers() {
    let folder = Folder::new();
    let text = folder.write("short.fa", b">x\nACGT\n>y\n\n");
    let [out, error] = printed(&[&text, "--chart", &folder.path("none.svg"), "--dump", &folder.path("none.tsv")]);
    assert_eq!(table(&out).len(), 1);
    assert!(error.contains("4 bases and 0 other letters in 2 records; 0 21-mers"), "{error}");
    assert_eq!(std::fs::read(folder.path("none.tsv")).unwrap(), b"");
}

#[test]
fn whatever_is_wrong_is_said_in_one_line() {
    let folder = Folder::new();
    let text = &folder.write("text.fa", TEXT)[..];
    let whole = gzip(TEXT.as_bytes());
    let cut = &folder.write("cut.gz", &whole[..whole.len() - 4])[..];
    let empty = &folder.write("empty.fa", b"")[..];
    let uneven = &folder.write("uneven.fq", b"@r1 x\nACGT\n+\nIII\n")[..];
    let out = folder.path("none/out.csv");
    testing::assert_refused(&[
        (&["none.fa"][..], &["none.fa: cannot read the file"][..]),
        (&[text, &folder.path("")], &["is a folder; give the files in it"]),
        (&[text, cut], &["cut.gz: cannot read the file"]),
        (&[empty], &["empty.fa: the file has no records"]),
        (&[uneven], &["uneven.fq: record 1 cannot be read; ", "4", "3", "r1"]),
        (&[text, "--chart", "a.gif"], &["a.gif: a chart is SVG or PNG"]),
        (&[text, "--spectrum", &out], &["out.csv: cannot write the file; give another --spectrum"]),
        (&[text, "--dump", &out], &["out.csv: cannot write the file; give another --dump"]),
        (&[text, "--chart", &(out.clone() + ".png")], &["cannot write the file; give another --chart"]),
        (&[text, "-k", "0"], &["-k"]),
        (&[text, "-k", "33"], &["-k", "33"]),
        (&[text, "--batch", "0"], &["--batch"]),
        (&["a.fa", "b.fa", "--make", "10"], &["--make writes one file"]),
        (&[], &["<FILES>"]),
        (&[text, "--device", "cuda:x"], &["cuda:x"]),
    ]);
}

#[test]
fn the_help_has_what_is_needed() {
    testing::assert_help::<Arguments>(
        "--not-canonical, --top, --spectrum, --chart, --dump, --device, --batch, --make, --memory, gzip, \
        reverse complement",
    );
}
