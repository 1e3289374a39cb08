//! The totals by the C++ code beside those by `HashMap`, on the CPU, and on a GPU if nvcc compiled
//! the code.

use std::collections::HashMap;
use warpnest::{Buffer, Device, PageMap};

fn check(device: &Device, products: usize, orders: usize) {
    let key = |number: usize| (number as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let prices: HashMap<u64, u32> = (0..products).map(|number| (key(number), number as u32 * 3 + 1)).collect();
    let (keys, values): (Vec<u64>, Vec<u32>) = prices.iter().unzip();
    let map: PageMap<u64, u32> = PageMap::build(device, &keys, &values).unwrap();
    // Every fourth product has no price.
    let of: Vec<u64> = (0..orders).map(|order| key(order * 7 % (products + products / 3 + 1))).collect();
    let quantities: Vec<u32> = (0..orders as u32).collect();
    let expected: Vec<u64> = of
        .iter()
        .zip(&quantities)
        .map(|(key, &n)| prices.get(key).map_or(0, |&price| price as u64 * n as u64))
        .collect();
    let stream = device.stream().unwrap();
    let (of, quantities) = (Buffer::from_slice(device, &of).unwrap(), Buffer::from_slice(device, &quantities).unwrap());
    let mut totals = Buffer::zeroed(device, orders).unwrap();
    cpp_probe::total(&stream, &map, (&of, &quantities), &mut totals).unwrap();
    // Another stream waits for the C++ code's.
    assert_eq!(totals.download(device.default_stream()).unwrap(), expected, "{}", device.name());
}

#[test]
fn totals_are_those_by_a_hash_map() {
    let mut devices = vec![Device::cpu()];
    match Device::cuda(0) {
        Ok(gpu) if option_env!("PRICES_ON_GPU").is_some() => devices.push(gpu),
        Ok(_) => eprintln!("not tested on the GPU: the code was compiled without nvcc"),
        Err(error) => eprintln!("not tested on a GPU: {error}"),
    }
    for device in devices {
        for (products, orders) in [(0, 3), (1, 0), (1, 1), (100, 1000), (5000, 40_000)] {
            check(&device, products, orders);
        }
    }
}
