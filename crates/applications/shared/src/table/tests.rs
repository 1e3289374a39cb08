use super::*;

#[test]
fn what_is_no_file_with_a_table_is_refused_before_it_is_opened() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    std::fs::write(path("a.csv"), "a\n").unwrap();
    std::fs::write(path("a.xlsx"), "a\n").unwrap();
    std::fs::create_dir(path("b.csv")).unwrap();
    assert!(matches!(open(&path("a.csv")), Ok((Format::Csv(b','), _))));
    assert!(matches!(open(&path("a.xlsx")), Err(FileError::Extension { .. })));
    assert!(matches!(open(&path("b.csv")), Err(FileError::Folder { .. })));
    assert!(matches!(open(&path("c.csv")), Err(FileError::Read { .. })));
    #[cfg(target_os = "linux")]
    {
        std::os::unix::fs::symlink("/dev/zero", path("zero.csv")).unwrap();
        assert!(matches!(open(&path("zero.csv")), Err(FileError::NoRegularFile { .. })));
        // Nothing ever writes to this pipe.
        let made = std::process::Command::new("mkfifo").arg(path("pipe.parquet")).status();
        if made.is_ok_and(|status| status.success()) {
            assert!(matches!(open(&path("pipe.parquet")), Err(FileError::NoRegularFile { .. })));
        }
    }
}

#[test]
fn columns_are_found_by_one_name() {
    let (path, names) = (Path::new("x.csv"), ["a", "b", "a"].map(str::to_owned));
    assert_eq!(column(path, &names, "b", "").unwrap(), 1);
    let twice = column(path, &names, "a", "").unwrap_err().to_string();
    assert_eq!(twice, "x.csv: the columns 1 and 3 are both named \"a\"; rename one of them");
    let none = column(path, &names, "c", "; look there").unwrap_err().to_string();
    assert_eq!(none, "x.csv: there is no column \"c\"; there are a, b, a; look there");
}

#[test]
fn texts_in_messages_are_short_and_plain() {
    assert_eq!(shortened(&"é".repeat(41)).chars().count(), 40);
    assert_eq!(shortened("a\u{1b}[2Jb\n"), "a [2Jb ");
    let many: Vec<String> = (0..70_000).map(|column| format!("c{column}")).collect();
    assert!(listed(&many).ends_with("c29 and 69970 more"));
    assert_eq!(delimiter(";"), Ok(b';'));
    assert_eq!(delimiter("\\t"), Ok(b'\t'));
    assert!(["", "ab", "\"", "é", "\n"].iter().all(|wrong| delimiter(wrong).is_err()));
}
