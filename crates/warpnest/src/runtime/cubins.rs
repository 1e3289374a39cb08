//! Machine code of kernels, in files of `cargo xtask build-cubins`: one for each architecture, with
//! an image for each entry point.
//!
//! A file begins with lines of text: what it is, the three lines of the PTX's header by which its
//! contents are known, and for each block a line, followed by the kernels whose images lie in it,
//! one after the other. An empty line ends them. Behind it are the blocks, compressed by zstd. A
//! block has kernels that are used together, and is small enough to be unpacked in less than a
//! millisecond. `warpnest-build` writes such files (`cubins.rs` there).

use super::ptx;
use ruzstd::decoding::FrameDecoder;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

/// The files that were there when the library was compiled (`build.rs`).
pub(crate) const EMBEDDED: &[&[u8]] = include!(concat!(env!("OUT_DIR"), "/cubins.rs"));

/// The words at the beginning of a file, with the version of its form.
const TITLE: &str = "warpnest cubins 1 sm_";
/// The lines before the first block: the title, and the lines from the PTX.
const HEAD: usize = 4;
/// The most bytes that a block may have, so that a damaged file does not take all memory.
const MAX_BLOCK: usize = 16 << 20;

/// The machine code of one architecture.
pub(crate) struct Cubins {
    blocks: Vec<Block>,
    kernels: HashMap<&'static str, Place>,
    /// The block that was unpacked last: kernels that are used together often lie in the same one.
    last: Mutex<Option<(usize, Vec<u8>)>>,
    refused: AtomicBool,
}

struct Block {
    packed: &'static [u8],
    /// The bytes once it is unpacked.
    bytes: usize,
}

/// A block's index, and the bytes of it.
struct Place {
    block: usize,
    bytes: Range<usize>,
}

impl Cubins {
    /// Returns the machine code of some PTX for a GPU of this compute capability: of its own or an
    /// earlier minor version, the newest one. A file that is damaged, or of other PTX, is none.
    pub(crate) fn best(files: &[&'static [u8]], ptx: &str, capability: (i32, i32)) -> Option<Self> {
        let of_device = |file: &&'static [u8]| {
            let index = index_of(file)?;
            let mut lines = index.lines();
            let number: i32 = lines.next()?.strip_prefix(TITLE)?.split(' ').next()?.parse().ok()?;
            let (major, minor) = (number / 10, number % 10);
            let runs = major == capability.0 && minor <= capability.1 && ptx::head(ptx).eq(lines.take(HEAD - 1));
            let blocks = runs.then(|| &file[index.len() + 2..])?;
            Some((minor, Self::read(index, blocks)?))
        };
        files.iter().filter_map(of_device).max_by_key(|(minor, _)| *minor).map(|(_, cubins)| cubins)
    }

    fn read(index: &'static str, mut packed: &'static [u8]) -> Option<Self> {
        let (mut blocks, mut kernels, mut end) = (Vec::new(), HashMap::new(), 0);
        for line in index.lines().skip(HEAD) {
            if let Some(sizes) = line.strip_prefix("block ") {
                let (length, bytes) = sizes.split_once(' ')?;
                let (block, behind) = packed.split_at_checked(length.parse().ok()?)?;
                let bytes = bytes.parse().ok().filter(|&bytes| bytes <= MAX_BLOCK)?;
                blocks.push(Block { packed: block, bytes });
                (packed, end) = (behind, 0);
            } else {
                let (length, name) = line.split_once(' ')?;
                let (block, start) = (blocks.len().checked_sub(1)?, end);
                end = length.parse::<usize>().ok()?.checked_add(start)?;
                kernels.insert(name, Place { block, bytes: start..end });
            }
        }
        Some(Self { blocks, kernels, last: Mutex::default(), refused: AtomicBool::new(false) })
    }

    /// Returns the image of a kernel in words, unless there is none, it is damaged, or the driver
    /// has refused another one.
    pub(crate) fn image(&self, kernel: &str) -> Option<Vec<u64>> {
        let place = self.kernels.get(kernel).filter(|_| !self.refused.load(Ordering::Relaxed))?;
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if last.as_ref().is_none_or(|(block, _)| *block != place.block) {
            *last = Some((place.block, self.blocks[place.block].unpacked()?));
        }
        let (_, block) = last.as_ref()?;
        let bytes = block.get(place.bytes.clone())?;
        // The driver reads words of it.
        let mut image = vec![0; bytes.len().div_ceil(size_of::<u64>())];
        bytemuck::cast_slice_mut(&mut image)[..bytes.len()].copy_from_slice(bytes);
        Some(image)
    }

    /// Has all kernels come from PTX from now on: the driver does not take this machine code.
    pub(crate) fn refuse(&self) {
        self.refused.store(true, Ordering::Relaxed);
    }
}

impl Block {
    fn unpacked(&self) -> Option<Vec<u8>> {
        let (mut block, mut decoder) = (vec![0; self.bytes], FrameDecoder::new());
        let length = decoder.decode_all(self.packed, &mut block).ok()?;
        let is_whole = length == self.bytes && decoder.get_checksum_from_data() == decoder.get_calculated_checksum();
        is_whole.then_some(block)
    }
}

/// Returns the lines at the beginning of a file.
fn index_of(file: &'static [u8]) -> Option<&'static str> {
    std::str::from_utf8(&file[..memchr::memmem::find(file, b"\n\n")?]).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ruzstd::encoding::{CompressionLevel, compress_to_vec};

    const PTX: &str = "// title\n// sources-sha256: 1\n// compiler: c\n// flags: f\n.version 7.4\n";

    /// Returns a file in which the image of the one kernel is the name of the architecture.
    fn file(arch: &str) -> &'static [u8] {
        let frame = compress_to_vec(arch.as_bytes(), CompressionLevel::Fastest);
        let (packed, bytes) = (frame.len(), arch.len());
        let head = "// sources-sha256: 1\n// compiler: c\n// flags: f\n";
        let index = format!("{TITLE}{arch} ptxas 1\n{head}block {packed} {bytes}\n{bytes} kernel\n\n");
        [index.as_bytes(), &frame].concat().leak()
    }

    #[test]
    fn a_gpu_gets_the_newest_minor_version_up_to_its_own() {
        let files = ["86", "80", "89", "90", "100", "120"].map(file);
        let image = |ptx: &str, capability| Cubins::best(&files, ptx, capability)?.image("kernel");
        for (capability, expected) in [
            ((7, 5), None),
            ((8, 0), Some("80")),
            ((8, 7), Some("86")),
            ((8, 9), Some("89")),
            ((9, 0), Some("90")),
            ((10, 3), Some("100")),
            ((11, 0), None),
            ((12, 1), Some("120")),
        ] {
            let image = image(PTX, capability);
            let bytes = image.as_deref().map(bytemuck::cast_slice::<u64, u8>);
            assert_eq!(bytes.map(|bytes| &bytes[..expected.map_or(0, str::len)]), expected.map(str::as_bytes));
        }
        assert_eq!(image(&PTX.replace(": 1", ": 2"), (9, 0)), None, "it is of other PTX");
    }

    #[test]
    fn machine_code_that_was_refused_is_not_given_again() {
        let cubins = Cubins::best(&[file("90")], PTX, (9, 0)).unwrap();
        assert_eq!(cubins.image("other"), None);
        assert!(cubins.image("kernel").is_some());
        cubins.refuse();
        assert_eq!(cubins.image("kernel"), None);
    }

    #[test]
    fn the_embedded_machine_code_has_every_kernel() {
        for (file, ptx) in EMBEDDED.iter().flat_map(|file| [(file, ptx::BASELINE), (file, ptx::HOPPER)]) {
            let number = index_of(file).and_then(|index| index.strip_prefix(TITLE)?.split(' ').next()?.parse().ok());
            let number: i32 = number.unwrap();
            let Some(cubins) = Cubins::best(&[file], ptx, (number / 10, number % 10)) else { continue };
            for kernel in ptx::kernels(ptx) {
                let image = cubins.image(kernel).unwrap();
                assert!(bytemuck::cast_slice::<u64, u8>(&image).starts_with(b"\x7fELF"), "{kernel}");
            }
        }
    }
}
