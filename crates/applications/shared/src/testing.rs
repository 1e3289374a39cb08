//! Helpers for tests that run a program in its own process as a user does, also with little memory,
//! and files that are wrong in many ways.

use crate::program::succeeds;
use clap::{CommandFactory, Parser};
use flate2::Compression;
use flate2::write::GzEncoder;
use std::io::{Cursor, Stdout, Write};
use std::process::{Command, Output, exit};
use tempfile::TempDir;

/// The environment variable with a program's arguments, one per line.
const ARGUMENTS: &str = "WARPNEST_PROGRAM_ARGUMENTS";
/// The environment variable with the maximum bytes of the process's address space.
const ADDRESS_SPACE: &str = "WARPNEST_PROGRAM_ADDRESS_SPACE";
/// The address space of programs that read hostile files. On a machine with much memory, a file
/// that takes all of it would be noticed late.
const MAX_ADDRESS_SPACE: u64 = 8 << 30;

/// Runs the program of the running test binary, which has a test `tests::run_as_a_program` that
/// calls [`run_as_a_program`].
pub fn run(arguments: &[&str]) -> Output {
    run_within(MAX_ADDRESS_SPACE, arguments)
}

/// Does the same as [`run`] with `address_space` bytes of address space.
pub fn run_within(address_space: u64, arguments: &[&str]) -> Output {
    let mut command = program(arguments);
    command.env(ADDRESS_SPACE, address_space.to_string());
    // The stacks of many threads take much address space.
    command.env("RAYON_NUM_THREADS", "2");
    command.output().expect("a test binary can be run")
}

/// Returns a command that runs the program without a limit.
pub fn program(arguments: &[&str]) -> Command {
    let this = std::env::current_exe().expect("a test binary has a path");
    let mut command = Command::new(this);
    command.args(["--exact", "tests::run_as_a_program", "--nocapture"]).env(ARGUMENTS, arguments.join("\n"));
    command
}

/// Runs the program if a test started this process for it.
pub fn run_as_a_program<A: Parser>(name: &str, run: impl FnOnce(&A, &mut Stdout) -> anyhow::Result<()>) {
    let Some(arguments) = arguments() else { return };
    let succeeds = succeeds([name.to_owned()].into_iter().chain(arguments), run);
    exit(if succeeds { 0 } else { 1 });
}

/// Returns the arguments of the program if a test has started this process, and sets its limit.
fn arguments() -> Option<Vec<String>> {
    let arguments = std::env::var(ARGUMENTS).ok()?;
    #[cfg(unix)]
    if let Some(bytes) = std::env::var(ADDRESS_SPACE).ok().and_then(|bytes| bytes.parse().ok()) {
        use rustix::process::{Resource, Rlimit, setrlimit};
        let limit = Rlimit { current: Some(bytes), maximum: Some(bytes) };
        setrlimit(Resource::As, limit).expect("a limit can be lowered");
    }
    Some(arguments.lines().map(str::to_owned).collect())
}

/// Returns the standard output and error of a run on the CPU, which must succeed.
pub fn printed(arguments: &[&str]) -> [String; 2] {
    let output = run(&[arguments, &["--device", "cpu"]].concat());
    let [out, error] = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).expect("it is text"));
    assert!(output.status.success(), "{error}");
    [out, error]
}

/// Returns the words of each line of a printed table, whose first line begins with `head`.
pub fn table<'o>(out: &'o str, head: &str) -> Vec<Vec<&'o str>> {
    let lines = out.lines().skip_while(|line| !line.trim_start().starts_with(head));
    lines.map(|line| line.split_whitespace().collect()).collect()
}

/// Returns the width and height of a PNG file, and its pixels.
pub fn pixels(path: &str) -> ([u32; 2], Vec<[u8; 3]>) {
    let file = Cursor::new(std::fs::read(path).expect("it was written"));
    let mut reader = png::Decoder::new(file).read_info().expect("it is PNG");
    let mut bytes = vec![0; reader.output_buffer_size().expect("it is small")];
    let info = reader.next_frame(&mut bytes).expect("it is whole");
    ([info.width, info.height], bytes.as_chunks().0.to_vec())
}

/// Fails unless the program refuses each list of arguments with a message that has its words.
pub fn assert_refused(wrong: &[(&[&str], &[&str])]) {
    for (arguments, words) in wrong {
        let output = run(arguments);
        let error = String::from_utf8(output.stderr).expect("it is text");
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {error}");
        assert!(error.contains("error: ") && words.iter().all(|word| error.contains(word)), "{arguments:?}: {error}");
        assert!(!error.contains("panicked"), "{error}");
    }
}

/// Fails unless the program's help contains all words of a list, which is separated by commas.
pub fn assert_help<A: CommandFactory>(words: &str) {
    A::command().debug_assert();
    let output = run(&["--help"]);
    assert!(output.status.success());
    let help = String::from_utf8(output.stdout).expect("it is text");
    for word in words.split(", ") {
        assert!(help.contains(word), "{word} in {help}");
    }
}

/// Returns a text compressed by gzip.
pub fn gzip(text: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(text).expect("memory takes it");
    encoder.finish().expect("memory takes it")
}

/// A temporary folder, deleted after the test.
pub struct Folder(TempDir);

impl Folder {
    #[expect(clippy::new_without_default, reason = "a folder is made on the disk")]
    pub fn new() -> Self {
        Self(TempDir::new().expect("there is space for a test"))
    }

    /// Returns the path of a file in the folder, or of the folder itself if the name is empty.
    pub fn path(&self, name: &str) -> String {
        self.0.path().join(name).display().to_string()
    }

    /// Writes a file, and returns its path.
    pub fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> String {
        std::fs::write(self.path(name), bytes).expect("there is space for a test");
        self.path(name)
    }
}

/// Returns the one-line message of a program that must fail.
pub fn refusal(output: &Output) -> String {
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{}: {error}", output.status);
    let refusals = error.lines().filter(|line| line.starts_with("error: ")).count();
    assert!(refusals == 1 && error.lines().count() == 1, "{error}");
    assert!(error.len() < 1000 && !error.contains("panicked"), "{error}");
    error.trim_end().to_owned()
}

/// Fails if a message repeats the text of a cause in succession.
pub fn assert_cause_once(message: &str) {
    let parts: Vec<&str> = message.split(": ").collect();
    let twice = parts.windows(2).find(|pair| pair[0] == pair[1]);
    assert!(twice.is_none(), "{twice:?} in {message}");
}

/// Returns files that no program accepts as a table with the columns `a` and `b`: name, bytes, and
/// the message after the file's name.
pub fn bad_tables() -> Vec<(&'static str, Vec<u8>, &'static str)> {
    let text = |text: &str| text.as_bytes().to_vec();
    let utf_16 = "\u{feff}a,b\n1,2\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    vec![
        ("empty.csv", text(""), "the file is empty; its first line must name the columns"),
        ("blank.csv", text("\n\r\n\r"), "the file is empty; its first line must name the columns"),
        (
            "unclosed.csv",
            text("a,b\n1,2\n3,\"4\n5,6\n7,8\n"),
            "line 3: a quoted field begins here and nothing closes it; add the quote that closes it",
        ),
        (
            "unclosed-first.csv",
            text("\"a,b\n1,2\n"),
            "line 1: a quoted field begins here and nothing closes it; add the quote that closes it",
        ),
        (
            "unclosed-mac.tsv",
            text("a\tb\r1\t2\r\"3\t4\r"),
            "line 3: a quoted field begins here and nothing closes it; add the quote that closes it",
        ),
        (
            "closed-late.csv",
            text("a,b\n1,\"x\n2,y\n3,\"z\"\n"),
            "line 4: text follows the quote that closes a field, which begins on line 2; close that field where it \
            ends, or double the quotes within it",
        ),
        (
            "zeros.csv",
            vec![0; 1 << 20],
            "line 1: a byte is 0, which no CSV has; if the file is UTF-16, save it as UTF-8",
        ),
        (
            "zero-within.csv",
            text("a,b\n1,2\n3,\0\n"),
            "line 3: a byte is 0, which no CSV has; if the file is UTF-16, save it as UTF-8",
        ),
        ("utf-16.csv", utf_16, "the file is UTF-16; save it as UTF-8"),
        (
            "packed.csv",
            text("\u{1f}").into_iter().chain([0x8b, 8, 0, 0, 0, 0, 0]).collect(),
            "the file is compressed by gzip; unpack it, and give what was in it",
        ),
        (
            "headless.csv",
            text("1,2\n3,4\n"),
            "there is no column \"a\"; there are 1, 2; the first line must name the columns",
        ),
        (
            "semicolons.csv",
            text("a;b\n1;2\n"),
            "there is no column \"a\"; there are a;b; the first line must name the columns, and --delimiter says what \
            is between them",
        ),
        ("twice.csv", text("a,b,a\n1,2,3\n"), "the columns 1 and 3 are both named \"a\"; rename one of them"),
        (
            "table.xlsx",
            text("a,b\n1,2\n"),
            "its name does not say what it is; name it .csv, .tsv, .txt, .parquet or .pq",
        ),
    ]
}
