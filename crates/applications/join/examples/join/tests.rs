//! Tests of the program, which runs in its own process.

mod hostile;

use super::Arguments;
use std::path::Path;
use warpnest_applications_shared::testing::{self, Folder, printed};
use warpnest_join::read::{KeysAs, Options, read};

/// Runs the program if a test started this process for it.
#[test]
fn run_as_a_program() {
    testing::run_as_a_program("join", super::run);
}

const ORDERS: &str = "order,customer,price\n1,30,2.5\n2,,9\n3,10,4\n4,99,1\n5,10,7\n";
const CUSTOMERS: &str = "id,name,order\n10,Ada,x\n20,\"Bo, \"\"B\"\"\",\n30,Cy,y\n,Dee,z\n";

/// Returns the lines of a file: the first line, then the other lines sorted.
fn lines(path: &str) -> Vec<String> {
    let text = std::fs::read_to_string(path).unwrap();
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    lines[1..].sort_unstable();
    lines
}

#[test]
fn each_kind_of_join_is_written_as_csv() {
    let folder = Folder::new();
    let (orders, customers) = (folder.write("orders.csv", ORDERS), folder.write("customers.csv", CUSTOMERS));
    let out = folder.path("out.csv");
    let header = "order,customer,price,id,name,order_right";
    let inner = ["1,30,2.5,30,Cy,y", "3,10,4.0,10,Ada,x", "5,10,7.0,10,Ada,x"];
    let left = ["2,,9.0,,,", "4,99,1.0,,,"];
    let right = [",,,,Dee,z", ",,,20,\"Bo, \"\"B\"\"\","];
    let semi = ["1,30,2.5", "3,10,4.0", "5,10,7.0"];
    for (kind, header, rows) in [
        ("inner", header, inner.to_vec()),
        ("left", header, [&inner[..], &left].concat()),
        ("right", header, [&inner[..], &right].concat()),
        ("full", header, [&inner[..], &left, &right].concat()),
        ("semi", "order,customer,price", semi.to_vec()),
        ("anti", "order,customer,price", vec!["2,,9.0", "4,99,1.0"]),
    ] {
        for method in ["auto", "split"] {
            let arguments =
                [&orders, &customers, "--on", "customer=id", "--kind", kind, "--method", method, "--out", &out];
            let [printed, error] = printed(&arguments);
            let mut rows = rows.clone();
            rows.sort_unstable();
            let found = lines(&out);
            assert_eq!(
                (&found[0][..], &found[1..]),
                (header, &rows.iter().map(|row| (*row).to_owned()).collect::<Vec<_>>()[..]),
                "{kind}"
            );
            assert!(error.contains(&format!("5 left and 4 right rows in, {} rows out; ", rows.len())), "{error}");
            assert!(error.contains("s joining on CPU") && error.contains(" s writing"), "{error}");
            assert!(!printed.contains("Ada"), "{printed}");
        }
    }
}

#[test]
fn rows_are_previewed_and_columns_of_one_name_are_one() {
    let folder = Folder::new();
    let left = folder.write("left.csv", "city,year,visits\nUlm,2024,7\nBonn,2024,8\nUlm,2023,9\n");
    let right = folder.write("right.tsv", "year\tcity\tvisits\n2024\tUlm\t1\n2023\tJena\t2\n");
    let [out, error] = printed(&[&left, &right, "--on", "city", "--on", "year", "--kind", "full", "--suffix", "_b"]);
    let table = out.lines().skip_while(|line| !line.contains("city"));
    let mut rows: Vec<Vec<&str>> = table.map(|line| line.split_whitespace().collect()).collect();
    rows[1..].sort_unstable();
    let expected = [
        ["city", "year", "visits", "visits_b"],
        ["Bonn", "2024", "8", "null"],
        ["Jena", "2023", "null", "2"],
        ["Ulm", "2023", "9", "null"],
        ["Ulm", "2024", "7", "1"],
    ];
    assert_eq!(rows, expected);
    assert!(error.contains("3 left and 2 right rows in, 4 rows out; ") && !error.contains("writing"), "{error}");
}

#[test]
fn what_is_written_as_parquet_is_read_again() {
    let folder = Folder::new();
    let (orders, customers) = (folder.write("orders.csv", ORDERS), folder.write("customers.csv", CUSTOMERS));
    let [first, second] = [folder.path("first.parquet"), folder.path("second.csv")];
    printed(&[&orders, &customers, "--on", "customer=id", "--kind", "left", "--out", &first]);
    let read = read(Path::new(&first), &["customer".to_owned()], Options::default()).unwrap();
    assert_eq!((read.num_rows(), read.num_columns()), (5, 6));
    printed(&[&first, &customers, "--on", "customer=id", "--on", "name", "--kind", "semi", "--out", &second]);
    assert_eq!(lines(&second).len(), 4);
    // Keys are integers in Parquet, and text in this CSV file.
    let texts = folder.write("texts.csv", "id\n10\n010\nx\n");
    printed(&[&first, &texts, "--on", "customer=id", "--text", "--out", &second]);
    assert_eq!(lines(&second).len(), 3);
}

#[test]
fn without_files_some_are_made_up() {
    let [out, error] = printed(&[]);
    assert!(out.contains("customer") && out.contains("city") && out.contains("more rows; --out FILE"), "{out}");
    assert!(error.contains("1,000 left and 200 right rows in, "), "{error}");
}

#[test]
fn whatever_is_wrong_is_said_in_one_line() {
    let folder = Folder::new();
    let orders = &folder.write("orders.csv", ORDERS)[..];
    let customers = &folder.write("customers.csv", CUSTOMERS)[..];
    let texts = &folder.write("texts.csv", "id\n10\nx\n")[..];
    let empty = &folder.write("empty.csv", "")[..];
    let ragged = &folder.write("ragged.csv", "a,b\n1,2\n3\n4,5\n")[..];
    let long = &folder.write("long.csv", "a,b\n1,2\n3,4,5\n")[..];
    let twice = &folder.write("twice.csv", "a,a\n1,2\n")[..];
    let large = &folder.write("large.csv", "a\n1\n99999999999999999999999\n")[..];
    let garbage: Vec<u8> = (0..5000u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    let [garbage_csv, garbage_parquet] =
        [&folder.write("garbage.csv", &garbage)[..], &folder.write("garbage.parquet", &garbage)[..]];
    let no_parquet = &folder.write("empty.parquet", "")[..];
    let parquet = folder.path("good.parquet");
    printed(&[orders, customers, "--on", "customer=id", "--out", &parquet]);
    let mut damaged = std::fs::read(&parquet).unwrap();
    let middle = damaged.len() / 3;
    damaged[4..middle].iter_mut().for_each(|byte| *byte ^= 0x55);
    let damaged = &folder.write("damaged.parquet", &damaged)[..];
    let here = &folder.path("")[..];
    let folder_csv = &folder.path("folder.csv")[..];
    std::fs::create_dir(folder_csv).unwrap();
    let out = folder.path("none/out.csv");
    testing::assert_refused(&[
        (&["none.csv", customers, "--on", "id"][..], &["none.csv: cannot read the file"][..]),
        (&[orders, "none.parquet", "--on", "order"], &["none.parquet: cannot read the file"]),
        (&[folder_csv, customers, "--on", "id"], &["folder.csv: is a folder"]),
        (&[here, customers, "--on", "id"], &["is a folder; give the path of a CSV or Parquet file"]),
        (&[empty, customers, "--on", "id"], &["empty.csv: the file is empty"]),
        (
            &[ragged, customers, "--on", "a=id"],
            &["ragged.csv: line 3: fields: 1, columns in the first line: 2; correct it"],
        ),
        (
            &[long, customers, "--on", "a=id"],
            &["long.csv: line 3: fields: 3, columns in the first line: 2; correct it"],
        ),
        (&[large, customers, "--on", "a=id"], &["large.csv"]),
        (&[twice, customers, "--on", "a=id"], &["twice.csv: the columns 1 and 2 are both named \"a\""]),
        (&[garbage_csv, customers, "--on", "id"], &["garbage.csv: "]),
        (&[garbage_parquet, customers, "--on", "id"], &["garbage.parquet: cannot be read as Parquet"]),
        (&[no_parquet, customers, "--on", "id"], &["empty.parquet: cannot be read as Parquet"]),
        (&[damaged, customers, "--on", "customer=id"], &["damaged.parquet: "]),
        (
            &[orders, customers, "--on", "customer=number"],
            &["customers.csv: there is no column \"number\"; there are id, name, order"],
        ),
        (
            &[orders, texts, "--on", "customer=id"],
            &[
                "orders.csv and ",
                "the left column \"customer\" is of type Int64 and the right column \"id\" of type Utf8",
            ],
        ),
        (&[orders, customers, "--on", "customer=id", "--suffix="], &["two columns \"order\"", "another suffix"]),
        (&[orders, customers, "--on", "customer=id", "--out", &out], &["out.csv: cannot write the file"]),
        (&[orders, customers, "--on", "customer=id", "--out", "out.xml"], &["out.xml: its name does not say"]),
        (&[orders, customers], &["--on"]),
        (&[orders], &["<RIGHT>"]),
        (&["--on", "a"], &["<LEFT>"]),
        (&[orders, customers, "--on", "customer=id", "--kind", "outer"], &["possible values: inner, left"]),
        (&[orders, customers, "--on", "customer=id", "--device", "cuda:x"], &["cuda:x"]),
    ]);
}

/// Checks that no damage to a Parquet file makes the program panic.
#[test]
fn damage_of_a_file_is_an_error_or_other_rows() {
    let folder = Folder::new();
    let (orders, customers) = (folder.write("orders.csv", ORDERS), folder.write("customers.csv", CUSTOMERS));
    let parquet = folder.path("good.parquet");
    printed(&[&orders, &customers, "--on", "customer=id", "--out", &parquet]);
    let good = std::fs::read(&parquet).unwrap();
    let keys = ["customer".to_owned()];
    for byte in 0..good.len() {
        let mut bad = good.clone();
        bad[byte] ^= 1 << (byte % 8);
        let path = folder.write("bad.parquet", &bad);
        let _ = read(Path::new(&path), &keys, Options::default());
        let options = Options { keys_as: KeysAs::Text, ..Options::default() };
        let _ = read(Path::new(&folder.write("cut.parquet", &good[..byte])), &keys, options);
    }
}

#[test]
fn the_help_has_what_is_needed() {
    testing::assert_help::<Arguments>(
        "--on, --kind, --suffix, --out, --method, --device, --text, --memory, --delimiter, anti, null, \
        customer=id",
    );
}
