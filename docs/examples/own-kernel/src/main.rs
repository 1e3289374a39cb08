//! Counts some words of a sentence on a GPU, or on the CPU where there is none.

use own_kernel::CountWords;
use warpnest::{Buffer, Device, PageMap};

fn main() -> warpnest::Result<()> {
    let number = |word: &str| word.bytes().fold(0, |number, byte| number << 8 | byte as u64);
    let device = Device::best()?;
    device.load(&warpnest::module!("../ptx/own_kernel"))?;
    let map: PageMap<u64, u32> = PageMap::build(&device, &["the", "cat", "dog"].map(number), &[0, 1, 2])?;
    let text: Vec<u64> = "the dog saw the cat and the bird".split(' ').map(number).collect();
    let (words, mut counts) = (Buffer::from_slice(&device, &text)?, Buffer::zeroed(&device, 3)?);
    // SAFETY: the map's numbers are below 3; there are `rows` words.
    unsafe {
        device.default_stream().launch(text.len(), |uses| CountWords {
            words: uses.read(&words),
            map: uses.table(&map),
            counts: uses.write(&mut counts),
            rows: text.len() as u64,
        })?;
    }
    println!("{}: the, cat, dog: {:?}", device.name(), counts.download(device.default_stream())?);
    Ok(())
}
