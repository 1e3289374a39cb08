//! Adds up the weights of some words of a sentence on a GPU, or on the CPU where there is none.

use own_kernel::AddWeights;
use warpnest::{Buffer, Device, PageMap};

fn main() -> warpnest::Result<()> {
    let number = |word: &str| word.bytes().fold(0, |number, byte| number << 8 | byte as u64);
    let device = Device::best()?;
    device.load(&warpnest::module!("../ptx/own_kernel"))?;
    let map: PageMap<u64, u32> = PageMap::build(&device, &["the", "cat", "dog"].map(number), &[0, 1, 2])?;
    let text: Vec<u64> = "the dog saw the cat and the bird".split(' ').map(number).collect();
    // Each word weighs half of the one before.
    let weights: Vec<f32> = (0..text.len() as i32).map(|row| 0.5f32.powi(row)).collect();
    let (words, weights) = (Buffer::from_slice(&device, &text)?, Buffer::from_slice(&device, &weights)?);
    let mut totals = Buffer::<f32>::zeroed(&device, 3)?;
    // SAFETY: the map's ids are below 3; there are `rows` words, and as many weights.
    unsafe {
        device.default_stream().launch(text.len(), |uses| AddWeights {
            words: uses.read(&words),
            weights: uses.read(&weights),
            map: uses.table(&map),
            totals: uses.write(&mut totals),
            rows: text.len() as u64,
        })?;
    }
    println!("{}: the, cat, dog: {:?}", device.name(), totals.download(device.default_stream())?);
    Ok(())
}
