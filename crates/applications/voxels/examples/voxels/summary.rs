//! The program's output about surfaces and tables.

use std::io::{self, Write};

use warpnest_applications_shared::shown::{cut, grouped};

use super::{
    Side,
    tables::{Measured, Times},
};

/// The maximum characters of a name in a column.
const MAX_NAME_LENGTH: usize = 18;

/// Prints a column for each surface and its table.
pub fn print(grid: u32, sides: &[Side; 2], tables: &[Measured; 2], out: &mut impl Write) -> io::Result<()> {
    let of_sides = |cell: fn(&Side) -> String| sides.each_ref().map(cell);
    let of_tables = |cell: fn(&Measured) -> String| tables.each_ref().map(cell);
    writeln!(out, "grid       {grid} x {grid} x {grid}\n")?;
    print_row(out, "", ["A", "B"].map(str::to_owned), "")?;
    print_row(out, "surface", of_sides(|side| cut(&side.name, MAX_NAME_LENGTH)), "")?;
    print_row(out, "triangles", of_sides(|side| grouped(side.mesh.triangles.len() as u64)), "")?;
    print_row(out, "voxels", of_sides(|side| grouped(side.surface.keys.len() as u64)), "")?;
    print_row(out, "voxelized in", of_sides(|side| milliseconds(1e3 * side.voxelized.as_secs_f64())), "ms")?;
    print_row(out, "key", of_tables(|table| table.key_bits.to_string()), "bits")?;
    print_row(out, "table slots", of_tables(|table| grouped(table.slots)), "")?;
    print_row(out, "table bytes", of_tables(|table| grouped(table.bytes)), "")?;
    let from_host = tables.each_ref().map(|table| table.from_host);
    if let [Some(a), Some(b)] = tables.each_ref().map(|table| table.on_device) {
        writeln!(out, "from and to the host:")?;
        print_times(out, tables, from_host)?;
        writeln!(out, "on the device, without the bus:")?;
        print_times(out, tables, [a, b])?;
    } else {
        print_times(out, tables, from_host)?;
    }
    let found = of_tables(|table| grouped(table.answers.iter().flatten().count() as u64));
    print_row(out, "of them found", found, "")?;
    writeln!(out)
}

/// Prints times and rates. Each table is queried for the voxels in the other table.
fn print_times(out: &mut impl Write, tables: &[Measured; 2], [a, b]: [Times; 2]) -> io::Result<()> {
    let queries = tables.each_ref().map(|table| table.answers.len());
    let pairs = [queries[1], queries[0]];
    let rows =
        [("built", [a.build, b.build], pairs, "M pairs/s"), ("queried", [a.query, b.query], queries, "M queries/s")];
    for (done, times, counts, unit) in rows {
        let rate = |i: usize| format!("{:.1}", 1e-3 * counts[i] as f64 / times[i].max(1e-6));
        print_row(out, &format!("{done} in"), times.map(milliseconds), "ms")?;
        print_row(out, &format!("{done} at"), [rate(0), rate(1)], unit)?;
    }
    Ok(())
}

fn print_row(out: &mut impl Write, title: &str, [a, b]: [String; 2], unit: &str) -> io::Result<()> {
    writeln!(out, "{}", format!("{title:<18}{a:>20}{b:>20}  {unit}").trim_end())
}

/// Prints the memory of the tables beside the memory of full grids, which tables save.
pub fn print_memory(grid: u32, tables: &[Measured; 2], out: &mut impl Write) -> io::Result<()> {
    let size = |bytes: u64| match bytes >> 20 {
        0..10 => format!("{} KiB", grouped(bytes >> 10)),
        mebibytes => format!("{} MiB", grouped(mebibytes)),
    };
    let bytes = tables.iter().map(|table| table.bytes).sum();
    let full = 2 * u64::from(grid).pow(3) * size_of::<u32>() as u64;
    writeln!(out, "memory     {} for both tables", size(bytes))?;
    writeln!(out, "           ({} for two full grids with a triangle's number in each voxel)", size(full))
}

/// Returns a time in milliseconds as text, with more digits if it is short.
fn milliseconds(time: f64) -> String {
    if time < 10.0 { format!("{time:.3}") } else { format!("{time:.1}") }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{
        super::{Mesh, Surface},
        *,
    };

    fn printed(on_device: Option<Times>) -> String {
        let side = |name: &str| Side {
            name: name.to_owned(),
            mesh: Mesh::default(),
            surface: Surface::default(),
            voxelized: Duration::from_millis(1234),
        };
        let table = |queries: usize| Measured {
            key_bits: 32,
            slots: 5000,
            bytes: 40_000,
            from_host: Times { build: 8.0, query: 16.0 },
            on_device,
            answers: vec![None; queries],
        };
        let mut out = Vec::new();
        print(64, &["sphere", "knot"].map(side), &[4000, 2000].map(table), &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    /// Returns the numbers in all rows with a title.
    fn rows(text: &str, title: &str) -> Vec<[String; 2]> {
        let rows = text.lines().filter_map(|line| line.strip_prefix(title));
        let numbers = rows.map(|row| row.split_whitespace().map(str::to_owned));
        numbers.map(|mut words| [words.next().unwrap(), words.next().unwrap()]).collect()
    }

    #[test]
    fn rates_without_the_bus_stand_below_those_with_it() {
        let plain = printed(None);
        assert_eq!(rows(&plain, "key"), [["32", "32"]]);
        assert_eq!(rows(&plain, "voxelized in"), [["1234.0", "1234.0"]]);
        // A has 2,000 voxels, for which B's table is queried.
        assert_eq!(rows(&plain, "built at"), [["0.2", "0.5"]]);
        assert_eq!(rows(&plain, "queried at"), [["0.2", "0.1"]]);

        let both = printed(Some(Times { build: 0.25, query: 0.05 }));
        assert_eq!(rows(&both, "built in"), [["8.000", "8.000"], ["0.250", "0.250"]]);
        assert_eq!(rows(&both, "built at"), [["0.2", "0.5"], ["8.0", "16.0"]]);
        assert_eq!(rows(&both, "queried at"), [["0.2", "0.1"], ["80.0", "40.0"]]);
        assert_eq!(both.lines().count(), plain.lines().count() + 6);
    }
}
