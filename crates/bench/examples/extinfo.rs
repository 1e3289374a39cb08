//! x
use warpnest::{Device, ExtendibleConfig, ExtendibleMap};
fn main() {
    let d = Device::cpu();
    let mut x = 1u32;
    let mut next = || {
        x ^= x << 13;
        x ^= x >> 17;
        x ^= x << 5;
        x
    };
    for n in [64usize, 256, 4096, 65536, 1 << 20] {
        let keys: Vec<u32> = (0..n).map(|_| next()).collect();
        let mut m: ExtendibleMap<u32, u32> = ExtendibleConfig::default().create(&d).unwrap();
        println!("empty {} bytes", m.memory_bytes());
        m.insert_many(&keys, &keys).unwrap();
        println!("{n}: {} bytes {:?}", m.memory_bytes(), m.table().report());
    }
}
