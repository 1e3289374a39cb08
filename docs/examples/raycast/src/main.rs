//! Draws voxels that are in a `PageMap`, on a GPU, or on the CPU where there is none.

use clap::Parser;
use raycast::{Raycast, scene};
use std::error::Error;
use std::fs::File;
use std::io::BufWriter;
use std::path::PathBuf;
use warpnest::{Buffer, Device, PageMap};

/// Draws a surface of voxels: for each pixel a ray goes from voxel to voxel, and looks each one up
/// in a hash table.
#[derive(Parser)]
struct Args {
    /// The voxels along each edge of the cube.
    #[arg(long, default_value_t = 128, value_parser = clap::value_parser!(u32).range(2..=1024))]
    side: u32,
    /// The pixels of a row; the picture has three quarters as many rows.
    #[arg(long, default_value_t = 640, value_parser = clap::value_parser!(u32).range(4..=16384))]
    width: u32,
    /// The file for the picture.
    #[arg(long, default_value = "raycast.png")]
    output: PathBuf,
}

fn main() -> Result<(), Box<dyn Error>> {
    let Args { side, width, output } = Args::parse();
    let height = width * 3 / 4;
    let device = Device::best()?;
    device.load(&warpnest::module!("../ptx/raycast"))?;
    let (keys, normals) = scene::gyroid(side);
    let map: PageMap<u32, u32> = PageMap::build(&device, &keys, &normals)?;

    let view = scene::view(side, width, height);
    let count = (width * height) as usize;
    let (stream, mut pixels) = (device.default_stream(), Buffer::<u32>::zeroed(&device, count)?);
    let mut draw = || -> warpnest::Result<f32> {
        let start = stream.record()?;
        // SAFETY: there are as many pixels as the view has.
        unsafe {
            stream.launch(count, |uses| Raycast { voxels: uses.table(&map), pixels: uses.write(&mut pixels), view })?;
        }
        Ok(stream.record()?.milliseconds_since(&start)? as f32)
    };
    // The first launch compiles the kernel.
    draw()?;
    let milliseconds = draw()?;
    let colours: Vec<u8> =
        pixels.download(stream)?.iter().flat_map(|pixel| pixel.to_le_bytes()[..3].to_vec()).collect();
    let file = File::create(&output).map_err(|error| format!("cannot write {}: {error}", output.display()))?;
    let mut encoder = png::Encoder::new(BufWriter::new(file), width, height);
    encoder.set_color(png::ColorType::Rgb);
    encoder.write_header()?.write_image_data(&colours)?;
    println!("{}: {} voxels, {count} pixels in {milliseconds:.2} ms", device.name(), map.len());
    println!("{}", output.display());
    Ok(())
}
