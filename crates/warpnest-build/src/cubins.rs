//! Machine code of each entry point of PTX, and the file that it is packed into, which `warpnest`
//! reads (`runtime/cubins.rs` there has the form).

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use std::sync::Mutex;
use std::{fs, io, thread};

use crate::error::{Error, Result};
use crate::merge::{name_of_data, split, words};
use crate::process::capture;

/// The most bytes of a block, unless one image has more: it is unpacked whole when a program needs
/// a kernel of it, which takes half a millisecond.
const BLOCK: usize = 128 << 10;

/// The machine code of a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// The entry point's name.
    pub kernel: String,
    /// The ELF file.
    pub bytes: Vec<u8>,
}

/// Assembles each entry point of PTX by itself for the GPU `cpu`, on all cores. The files between
/// lie in the folder `work`.
///
/// # Errors
/// [`Error::Failed`] with what ptxas says, [`Error::Io`], [`Error::Start`].
pub fn assemble(ptxas: &Path, cpu: &str, ptx: &str, work: &Path) -> Result<Vec<Image>> {
    let (head, entries) = split(ptx);
    let assemble = |&(kernel, entry): &(&str, &str)| {
        let (source, image) = (work.join(format!("{kernel}.ptx")), work.join(format!("{kernel}.cubin")));
        let written = fs::write(&source, alone(head, entry));
        written.map_err(|error| Error::Io { action: "write", path: source.clone(), source: error })?;
        capture(Command::new(ptxas).arg(format!("-arch={cpu}")).arg(&source).arg("-o").arg(&image))?;
        let bytes =
            fs::read(&image).map_err(|error| Error::Io { action: "read", path: image.clone(), source: error })?;
        // What is left of them is in the way of nothing.
        let _ = (fs::remove_file(&source), fs::remove_file(&image));
        Ok(Image { kernel: kernel.to_owned(), bytes })
    };
    let (next, images) = (Mutex::new(entries.iter().enumerate()), Mutex::new(Vec::new()));
    let take = || next.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).next();
    let worker = || {
        while let Some((index, entry)) = take() {
            let image = assemble(entry)?;
            images.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).push((index, image));
        }
        Ok(())
    };
    thread::scope(|scope| {
        let cores = thread::available_parallelism().map_or(1, usize::from);
        let workers: Vec<_> = (0..cores).map(|_| scope.spawn(worker)).collect();
        workers
            .into_iter()
            .try_for_each(|worker| worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    })?;
    let mut images = images.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
    images.sort_by_key(|(index, _)| *index);
    Ok(images.into_iter().map(|(_, image)| image).collect())
}

/// Returns the PTX of an entry point with the data that it names, and no other.
fn alone(head: &str, entry: &str) -> String {
    let named: BTreeSet<&str> = words(entry).collect();
    let lines = head.split_inclusive('\n').filter(|line| name_of_data(line).is_none_or(|name| named.contains(name)));
    lines.chain([entry]).collect()
}

/// Returns the version of ptxas, such as `13.5.37`.
///
/// # Errors
/// [`Error::Answer`] if it does not say it; [`Error::Failed`], [`Error::Start`].
pub fn version(ptxas: &Path) -> Result<String> {
    let (text, _) = capture(Command::new(ptxas).arg("--version"))?;
    let version = text.split(", V").nth(1).and_then(|rest| rest.split_whitespace().next());
    let unknown = || Error::Answer { program: "ptxas", problem: format!("no version in {text:?}") };
    version.map(str::to_owned).ok_or_else(unknown)
}

/// Packs the images that ptxas of this version has made of PTX for the GPU `cpu`. `compress` makes
/// a frame of zstd with a checksum.
///
/// # Errors
/// The error of `compress`.
pub fn pack(
    ptx: &str,
    cpu: &str,
    version: &str,
    images: &[Image],
    mut compress: impl FnMut(&[u8]) -> io::Result<Vec<u8>>,
) -> io::Result<Vec<u8>> {
    let mut index = format!("warpnest cubins 1 {cpu} ptxas {version}\n");
    // The digest of the sources, the compiler and the flags.
    ptx.lines().skip(1).take(3).for_each(|line| index += &format!("{line}\n"));
    let (mut rest, mut packed) = (images, Vec::new());
    while !rest.is_empty() {
        let (mut block, mut count) = (Vec::new(), 0);
        while let Some(image) = rest.get(count).filter(|image| count == 0 || block.len() + image.bytes.len() <= BLOCK) {
            block.extend_from_slice(&image.bytes);
            count += 1;
        }
        let of_block;
        (of_block, rest) = rest.split_at(count);
        let frame = compress(&block)?;
        index += &format!("block {} {}\n", frame.len(), block.len());
        of_block.iter().for_each(|image| index += &format!("{} {}\n", image.bytes.len(), image.kernel));
        packed.extend(frame);
    }
    Ok([index.as_bytes(), b"\n", &packed].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    const PTX: &str = "\
// Generated by `c` from p. Do not edit.
// sources-sha256: 1
// compiler: rustc
// flags: none
.version 7.4
.target sm_75
.address_size 64
.global .align 4 .b8 of_one[4] = {1};
.global .align 4 .b8 of_two[4] = {2};
.visible .entry one(
	.param .u64 one_param_0
)
{
	.reg .b64 %rd<2>;
	mov.u64 %rd1, of_one;
	ret;
}
.visible .entry two()
{
	ret;
}
";

    #[test]
    fn an_entry_point_keeps_the_data_that_it_names() {
        let (head, entries) = split(PTX);
        let [one, two] = [0, 1].map(|index| alone(head, entries[index].1));
        assert!(one.contains("of_one[4]") && !one.contains("of_two") && one.ends_with("ret;\n}\n"), "{one}");
        assert!(!two.contains(".global") && two.contains(".visible .entry two()"), "{two}");
    }

    #[test]
    fn images_are_packed_in_blocks_behind_their_index() {
        let image = |kernel: &str, bytes| Image { kernel: kernel.to_owned(), bytes: vec![7; bytes] };
        let images = [image("one", 100_000), image("two", 40_000), image("three", 5)];
        let file = pack(PTX, "sm_80", "1.2.3", &images, |block| Ok(vec![b'z'; block.len() / 10_000])).unwrap();
        let expected = "warpnest cubins 1 sm_80 ptxas 1.2.3\n// sources-sha256: 1\n// compiler: rustc\n// flags: none\n\
                        block 10 100000\n100000 one\nblock 4 40005\n40000 two\n5 three\n\nzzzzzzzzzzzzzz";
        assert_eq!(String::from_utf8(file).unwrap(), expected);
    }

    #[test]
    fn each_entry_point_becomes_an_elf_file() {
        let target = std::env::current_exe().unwrap();
        let Some(ptxas) = target.ancestors().find_map(|dir| crate::ptxas::find(dir).unwrap()) else { return };
        let work = tempfile::tempdir().unwrap();
        let images = assemble(&ptxas, "sm_90", PTX, work.path()).unwrap();
        assert_eq!(images.iter().map(|image| &*image.kernel).collect::<Vec<_>>(), ["one", "two"]);
        assert!(images.iter().all(|image| image.bytes.starts_with(b"\x7fELF")));
        assert!(version(&ptxas).unwrap().starts_with(char::is_numeric));
        assert!(assemble(&ptxas, "sm_90", &PTX.replace("ret;", "nonsense;"), work.path()).is_err());
    }
}
