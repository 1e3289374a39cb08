//! Totals a few orders on a GPU, if nvcc compiled the C++ code, or else on the CPU.

use cpp_probe::total;
use warpnest::{Buffer, Device, PageMap};

fn main() -> warpnest::Result<()> {
    let device = if option_env!("PRICES_ON_GPU").is_some() { Device::best()? } else { Device::cpu() };
    let prices: PageMap<u64, u32> = PageMap::build(&device, &[7, 11, u64::MAX], &[250, 1200, 5])?;
    let products = Buffer::from_slice(&device, &[11, 7, 8, u64::MAX])?;
    let quantities = Buffer::from_slice(&device, &[2, 3, 4, 1000])?;
    let mut totals = Buffer::zeroed(&device, 4)?;
    let stream = device.default_stream();
    total(stream, &prices, (&products, &quantities), &mut totals)?;
    println!("{}: totals {:?}", device.name(), totals.download(stream)?);
    Ok(())
}
