//! The search for imports that break a crate's layers. A room is a folder or a file of a crate, and
//! is on a floor, which is a layer.

use super::files::Files;

/// The crates whose rooms have floors, the lowest floor first. Rooms on one floor do not import
/// from each other, unless `+` joins them into one room. `lib` is the crate's root.
pub const HOUSES: [(&str, &[&str]); 2] = [
    (
        "crates/warpnest/src",
        &[
            "error",
            "runtime",
            "types hash strings/column",
            "primitives",
            "split",
            "relational/columns",
            // Tables combine values by this file, which uses no table.
            "relational/group_by",
            "table",
            "page cuckoo two_level sorted linear extendible",
            "layered",
            "relational",
            "strings",
            "arrow",
            "design low_level",
            "lib",
            "guide",
        ],
    ),
    (
        "gpu-kernels/src",
        &[
            "plain",
            "seam",
            "types",
            "double_word hash column_values",
            "columns",
            "primitives",
            "table",
            "split",
            "page cuckoo two_level sorted linear extendible",
            "layered",
            "refs",
            "relational",
            "lib",
        ],
    ),
];

/// A room's name and the index of its floor, which is 0 for the lowest floor.
type Placed<'f> = (&'f str, usize);

/// Returns descriptions of the imports from rooms that are not on lower floors, and of the files in
/// no room.
pub fn upward(files: &Files<'_>, floors: &[&str]) -> Vec<String> {
    let mut findings = Vec::new();
    for (from, path) in files.paths.iter().enumerate() {
        let Some(room) = room_of(&files.modules[from], floors) else {
            let folder = &files.modules[from][0];
            findings.push(format!("{path}: no floor has the room {folder}"));
            continue;
        };
        for (to, (name, line)) in files.all_imports_of(from) {
            // A file in no room is reported when the loop reaches that file itself.
            let Some(above) = room_of(&files.modules[to], floors) else { continue };
            if above.0 != room.0 && above.1 >= room.1 {
                let (to, [here, there]) =
                    (files.paths[to], [room, above].map(|(room, floor)| format!("{room} (floor {floor})")));
                findings.push(format!("{path}:{line} imports {name} of {to}: {here} is not above {there}"));
            }
        }
    }
    findings
}

/// Returns the room of a module. If several contain the module, it is the room with the longest
/// path.
fn room_of<'f>(module: &[String], floors: &[&'f str]) -> Option<Placed<'f>> {
    let is_in = |room: &str| match room {
        "lib" => module.is_empty(),
        room => room.split('/').enumerate().all(|(at, part)| module.get(at).is_some_and(|here| here == part)),
    };
    let rooms = floors.iter().enumerate().flat_map(|(floor, rooms)| rooms.split(' ').map(move |room| (room, floor)));
    let parts = rooms.flat_map(|(room, floor)| room.split('+').map(move |part| (part, (room, floor))));
    parts.filter(|(part, _)| is_in(part)).max_by_key(|(part, _)| part.len()).map(|(_, room)| room)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FLOORS: &[&str] = &["error", "table", "table/file", "page linear", "join+rows", "lib"];

    fn found(files: &[(&str, &str)]) -> Vec<String> {
        let sources: Vec<_> = files.iter().map(|(path, text)| (path.to_string(), text.to_string())).collect();
        upward(&Files::of(&sources), FLOORS)
    }

    #[test]
    fn imports_from_the_own_room_and_from_below_are_accepted() {
        let found = found(&[
            ("lib.rs", "pub use page::Page;\npub use error::Error;\n"),
            ("error.rs", "#[cfg(test)]\nuse crate::page::Page;\npub struct Error;\n"),
            ("page/mod.rs", "mod build;\npub use build::Page;\n"),
            ("page/build.rs", "use crate::Error;\nuse crate::table::file::Parts;\npub struct Page;\n"),
            ("table/file.rs", "use super::Table;\npub struct Parts;\n"),
            ("table/mod.rs", "use std::fmt;\npub struct Table;\n"),
            ("join/mod.rs", "use crate::rows::Rows;\npub struct Join;\n"),
            ("rows.rs", "use crate::join::Join;\npub struct Rows;\n"),
        ]);
        assert_eq!(found, [""; 0]);
    }

    #[test]
    fn an_import_from_above_or_from_the_same_floor_is_told() {
        let found = found(&[
            ("lib.rs", "pub use page::Page;\n"),
            ("page.rs", "pub struct Page;\nfn f() {\n    crate::linear::get()\n}\n"),
            ("linear/mod.rs", "pub fn get() {}\n"),
            ("table/mod.rs", "pub use crate::Page;\nuse file::Parts;\n"),
            ("table/file.rs", "pub struct Parts;\n"),
        ]);
        assert_eq!(
            found,
            [
                "page.rs:3 imports get of linear/mod.rs: page (floor 3) is not above linear (floor 3)",
                "table/mod.rs:1 imports Page of page.rs: table (floor 1) is not above page (floor 3)",
                "table/mod.rs:2 imports Parts of table/file.rs: table (floor 1) is not above table/file (floor 2)",
            ]
        );
    }

    #[test]
    fn a_room_without_a_floor_is_named() {
        let found = found(&[("lib.rs", ""), ("attic/mod.rs", "")]);
        assert_eq!(found, ["attic/mod.rs: no floor has the room attic"]);
    }
}
