//! x
use std::time::Instant;
use warpnest::{Device, PageMap};
fn main() {
    let d = Device::cpu();
    let n: usize = std::env::args().nth(1).map(|s| 1usize << s.parse::<u32>().unwrap()).unwrap_or(1 << 20);
    let mut x = 1u32;
    let mut next = || {
        x ^= x << 13;
        x ^= x >> 17;
        x ^= x << 5;
        x
    };
    let keys: Vec<u32> = (0..n).map(|_| next()).collect();
    let mut best = f64::MAX;
    for _ in 0..5 {
        let t = Instant::now();
        std::hint::black_box(PageMap::<u32, u32>::build(&d, &keys, &keys).unwrap());
        best = best.min(t.elapsed().as_nanos() as f64 / n as f64);
    }
    println!("{best:.2}");
}
