//! Programs run by their tests as a person runs them: in processes of their own, also with little
//! memory; and files that are wrong in every way.

use std::process::{Command, Output};

/// The variable with a program's arguments, one a line.
const ARGUMENTS: &str = "WARPNEST_PROGRAM_ARGUMENTS";
/// The variable with the bytes of address space that the process may take.
const ADDRESS_SPACE: &str = "WARPNEST_PROGRAM_ADDRESS_SPACE";
/// The address space of programs that read hostile files: on a machine with more memory, what
/// takes all of it would be seen only by those who wait.
const MAX_ADDRESS_SPACE: u64 = 8 << 30;

/// Runs the program of the running test binary, which has a test `tests::run_as_a_program` that
/// calls [`arguments`].
pub fn run(arguments: &[&str]) -> Output {
    run_within(MAX_ADDRESS_SPACE, arguments)
}

/// Does the same with so many bytes of address space.
pub fn run_within(address_space: u64, arguments: &[&str]) -> Output {
    let this = std::env::current_exe().expect("a test binary has a path");
    let mut command = Command::new(this);
    command.args(["--exact", "tests::run_as_a_program", "--nocapture"]);
    command.env(ARGUMENTS, arguments.join("\n")).env(ADDRESS_SPACE, address_space.to_string());
    // The stacks of many threads take much address space.
    command.env("RAYON_NUM_THREADS", "2");
    command.output().expect("a test binary can be run")
}

/// Returns the arguments of the program if [`run`] started this process, which is limited then.
pub fn arguments() -> Option<Vec<String>> {
    let arguments = std::env::var(ARGUMENTS).ok()?;
    #[cfg(unix)]
    if let Some(bytes) = std::env::var(ADDRESS_SPACE).ok().and_then(|bytes| bytes.parse().ok()) {
        use rustix::process::{Resource, Rlimit, setrlimit};
        let limit = Rlimit { current: Some(bytes), maximum: Some(bytes) };
        setrlimit(Resource::As, limit).expect("a limit can be lowered");
    }
    Some(arguments.lines().map(str::to_owned).collect())
}

/// Returns what a program that must fail says, which is one line.
pub fn refusal(output: &Output) -> String {
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{}: {error}", output.status);
    let refusals = error.lines().filter(|line| line.starts_with("error: ")).count();
    assert!(refusals == 1 && error.lines().count() == 1, "{error}");
    assert!(error.len() < 1000 && !error.contains("panicked"), "{error}");
    error.trim_end().to_owned()
}

/// Fails if a message has the same words of a cause twice in succession.
pub fn assert_cause_once(message: &str) {
    let parts: Vec<&str> = message.split(": ").collect();
    let twice = parts.windows(2).find(|pair| pair[0] == pair[1]);
    assert!(twice.is_none(), "{twice:?} in {message}");
}

/// Files that no program takes for a table with the columns `a` and `b`: a name, the bytes, and
/// what is said behind the file's name.
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
