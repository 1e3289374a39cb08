//! A description of a table's file, in words for users.

use std::fmt;
use warpnest::files::FileInfo;
use warpnest_applications_shared::shown::grouped;

/// A description of a file in lines, each of which begins with a label.
///
/// ```
/// use warpnest::{files::FileInfo, Device, PageMap};
/// use warpnest_table::Description;
///
/// let mut saved = Vec::new();
/// PageMap::build(&Device::cpu(), &[7u64, 8], &[1u32, 2])?.save(&mut saved)?;
/// let text = Description(&FileInfo::verify(&saved[..])?).to_string();
/// assert!(text.starts_with("table      a PageMap with keys of 8 bytes and values of 4\n"));
/// assert!(text.contains("load it    PageMap::<u64, u32>::load_from"));
/// # Ok::<(), warpnest::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Description<'i>(pub &'i FileInfo);

impl fmt::Display for Description<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let info = self.0;
        writeln!(f, "table      {}", info.kind)?;
        writeln!(f, "keys       {}", grouped(info.keys))?;
        if info.values != 0 && info.values != info.keys {
            writeln!(f, "values     {}", grouped(info.values))?;
        }
        writeln!(f, "bytes      {}, {} a key", grouped(info.bytes), per_key(info))?;
        for (number, (name, bytes)) in info.sections.iter().enumerate() {
            let begin = if number == 0 { "sections" } else { "" };
            writeln!(f, "{begin:<10} {name}: {}", grouped(*bytes))?;
        }
        writeln!(f, "checksum   {:016x} of the header, format {}", info.checksum, info.format)?;
        writeln!(f, "load it    {}::load_from, or with other types of these sizes", type_of(info))
    }
}

/// Returns the file's bytes per key, with one decimal.
fn per_key(info: &FileInfo) -> String {
    match info.keys {
        0 => "none".to_owned(),
        keys => format!("{:.1}", info.bytes as f64 / keys as f64),
    }
}

/// Returns the name of a type that can load the file.
fn type_of(info: &FileInfo) -> String {
    let kind = &info.kind;
    let word = |bytes: u32| match bytes {
        4 => "u32".to_owned(),
        8 => "u64".to_owned(),
        bytes => format!("[u32; {}]", bytes / 4),
    };
    let (key, value) = (word(kind.key_bytes.into()), word(kind.value_bytes));
    let under = if kind.design == "Page" { String::new() } else { format!(", design::{}", kind.design) };
    match kind.form {
        "Map" => format!("{}Map::<{key}, {value}>", kind.design),
        "Set" => format!("{}Set::<{key}>", kind.design),
        "RowMap" if kind.value_bytes == 4 => format!("RowMap::<{key}, u32{under}>"),
        "RowMap" => format!("RowMap::<{key}, [u32; {}]{under}>", kind.value_bytes / 4),
        "CompactingTable" => format!("CompactingTable::<{key}{under}>"),
        form => format!("{form}::<{key}, {value}{under}>"),
    }
}
