//! x
use std::time::Instant;
use warpnest::primitives::{Scratch, sort_pairs};
use warpnest::{Buffer, Device};
fn main() {
    let d = Device::cpu();
    let n: usize = std::env::args().nth(1).map(|s| 1usize << s.parse::<u32>().unwrap()).unwrap_or(1 << 20);
    let mut x = 1u32;
    let keys: Vec<u32> = (0..n)
        .map(|_| {
            x ^= x << 13;
            x ^= x >> 17;
            x ^= x << 5;
            x
        })
        .collect();
    let s = d.default_stream();
    let mut k = Buffer::from_slice(&d, &keys).unwrap();
    let mut v = Buffer::from_slice(&d, &keys).unwrap();
    let mut sc = Scratch::new(&d);
    let reps = (1usize << 26) / n;
    let mut best = f64::MAX;
    for _ in 0..reps {
        k.upload(s, &keys).unwrap();
        let t = Instant::now();
        sort_pairs(s, &mut sc, &mut k, &mut v).unwrap();
        best = best.min(t.elapsed().as_nanos() as f64 / n as f64);
    }
    println!("best {best:.2}");
}
