//! Tests with malformed files, and small files that expand beyond the memory.

use warpnest_applications_shared::testing::{Folder, assert_cause_once, gzip, refusal, run, run_within};

#[test]
fn a_small_file_of_one_letter_is_refused() {
    let folder = Folder::new();
    let bases = vec![b'A'; 96 << 20];
    let path = folder.write("letter.gz", gzip(&bases));
    let said = refusal(&run(&[&path, "--memory", "100M"]));
    assert!(said.contains("letter.gz: neither FASTA nor FASTQ: the text begins with 'A'"), "{said}");
    let path = folder.write("record.gz", gzip(&[&b">one\nACGT\n>two\n"[..], &bases].concat()));
    for said in [refusal(&run(&[&path, "--memory", "100M"])), refusal(&run_within(400 << 20, &[&path]))] {
        assert!(said.contains("record.gz: record 2 takes more than "), "{said}");
        assert!(said.contains("divide the record, or allow more by --memory"), "{said}");
    }
    // A header that does not end is a record, too.
    let path = folder.write("header.gz", gzip(&[&b">"[..], &bases].concat()));
    let said = refusal(&run(&[&path, "--memory", "100M"]));
    assert!(said.contains("header.gz: record 1 takes more than "), "{said}");
}

#[test]
fn what_nobody_can_refuse_ends_the_program_with_a_message() {
    let folder = Folder::new();
    let line = [&b"ACGTTGCA".repeat(1 << 15)[..], b"\n"].concat();
    let records: Vec<u8> = (0..200).flat_map(|_| [b">r\n", &line[..]].concat()).collect();
    let path = folder.write("many.gz", gzip(&records));
    let said = refusal(&run(&[&path, "-k", "5", "--memory", "64M", "--device", "cpu"]));
    assert!(said.contains("allow more by --memory"), "{said}");
}

#[test]
fn records_are_the_same_whatever_ends_their_lines() {
    let folder = Folder::new();
    for (text, name) in
        [(">one\nACGACG\nacgN\n>two\nGGGG\n", "ends.fa"), ("@one\nACGACGacg\n+\n!!!!!!!!!\n", "ends.fq")]
    {
        let mut counts = Vec::new();
        for end in ["\n", "\r\n", "\r"] {
            let (path, dump) = (folder.write(name, text.replace('\n', end)), folder.path("dump.tsv"));
            let output = run(&[&path, "-k", "3", "--dump", &dump, "--device", "cpu"]);
            assert!(output.status.success(), "{name} {end:?}: {}", String::from_utf8_lossy(&output.stderr));
            counts.push(super::lines(&dump));
        }
        assert!(!counts[0].is_empty() && counts.iter().all(|other| *other == counts[0]), "{counts:?}");
    }
}

#[test]
fn causes_are_told_once() {
    let folder = Folder::new();
    let whole = gzip(b">one\nACGT\n");
    for path in [folder.path("none.fa"), folder.write("cut.gz", &whole[..whole.len() - 9])] {
        let said = refusal(&run(&[&path]));
        assert_cause_once(&said);
        assert!(said.starts_with(&format!("error: {path}: cannot read the file; ")), "{said}");
    }
    let said = refusal(&run(&[&folder.write("uneven.fq", b"@r1\nACGT\n+\nIII\n")]));
    assert_cause_once(&said);
    assert!(said.contains("uneven.fq: record 1 cannot be read; nothing was counted"), "{said}");
    assert!(said.matches("r1").count() == 1, "{said}");
}
