//! Tests with malformed files, and small files that expand beyond the memory.

use warpnest_applications_shared::testing::{Folder, assert_cause_once, gzip, refusal, run, run_within};

#[test]
fn a_small_file_of_one_very_long_word_is_refused() {
    let folder = Folder::new();
    let bytes = gzip(&[&b"two words\n"[..], &vec![b'a'; 48 << 20]].concat());
    assert!(bytes.len() < 1 << 20, "{} bytes", bytes.len());
    let path = folder.write("letter.gz", &bytes);
    for said in [
        refusal(&run(&[&path, "--memory", "200M"])),
        refusal(&run(&[&path, "--memory", "200M", "--spaces", "--part", "1"])),
        refusal(&run_within(500 << 20, &[&path])),
    ] {
        assert!(said.contains("letter.gz: line 2: a word has more than "), "{said}");
        assert!(said.contains("is this a text? If so, allow more by --memory"), "{said}");
    }
    // Zeros belong to no word of letters, but they are not white space, so here they are one word.
    let zeros = folder.write("zeros", vec![0; 48 << 20]);
    let said = refusal(&run(&[&zeros, "--memory", "200M", "--spaces"]));
    assert!(said.contains("zeros: line 1: a word has more than "), "{said}");
}

#[test]
fn a_long_line_of_short_words_is_counted_within_little_memory() {
    let folder = Folder::new();
    let path = folder.write("line.txt", "one,two;".repeat(8 << 20));
    let output = run(&[&path, "--memory", "300M", "--part", "1", "--device", "cpu"]);
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && error.contains("16,777,216 words, 2 different"), "{error}");
}

#[test]
fn what_nobody_can_refuse_ends_the_program_with_a_message() {
    let folder = Folder::new();
    let words: String = (0..600_000).map(|word| format!("word{word} ")).collect();
    let path = folder.write("different.txt", words);
    let said = refusal(&run(&[&path, "--memory", "48M", "--part", "1", "--device", "cpu"]));
    assert!(said.contains("different.txt: ") && said.contains("allow more by --memory"), "{said}");
}

#[test]
fn lines_are_counted_whatever_ends_them_and_causes_are_told_once() {
    let folder = Folder::new();
    for end in ["\n", "\r", "\r\n"] {
        let path = folder.write("ends.txt", format!("one{end}two three{end}four"));
        let output = run(&[&path, "--device", "cpu"]);
        let (out, error) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(error.contains("4 words, 4 different (4 shown), in 3 lines and "), "{error}");
        let four = out.lines().find(|line| line.contains("four")).unwrap();
        assert!(four.contains("line 3, byte "), "{four}");
    }
    let whole = gzip(b"some words");
    for path in [folder.path("none.txt"), folder.write("cut.gz", &whole[..whole.len() - 9])] {
        let said = refusal(&run(&[&path]));
        assert_cause_once(&said);
        assert!(said.starts_with(&format!("error: {path}: cannot read the file; ")), "{said}");
    }
}
