use std::time::Instant;
use warpnest::primitives::{BitField, Scratch, histogram, partition_pairs, sort_pairs};
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
    let mut k2 = Buffer::from_slice(&d, &keys).unwrap();
    let mut v2 = Buffer::from_slice(&d, &keys).unwrap();
    let mut c = Buffer::<u32>::zeroed(&d, 256).unwrap();
    let mut sc = Scratch::new(&d);
    for _ in 0..5 {
        let t = Instant::now();
        histogram(s, &k, BitField { shift: 0, bits: 8 }, &mut c).unwrap();
        let a = t.elapsed();
        let t = Instant::now();
        partition_pairs(s, &mut sc, (&k, &v), BitField { shift: 0, bits: 8 }, (&mut k2, &mut v2), &mut c).unwrap();
        let b = t.elapsed();
        for bits in [9, 10] {
            let mut c = Buffer::<u32>::zeroed(&d, 1 << bits).unwrap();
            let t = Instant::now();
            partition_pairs(s, &mut sc, (&k, &v), BitField { shift: 0, bits }, (&mut k2, &mut v2), &mut c).unwrap();
            print!("{bits} bits {:.2} ", t.elapsed().as_nanos() as f64 / n as f64);
        }
        k.upload(s, &keys).unwrap();
        let t = Instant::now();
        sort_pairs(s, &mut sc, &mut k, &mut v).unwrap();
        let e = t.elapsed();
        let mut p: Vec<(u32, u32)> = keys.iter().map(|&k| (k, k)).collect();
        let t = Instant::now();
        p.sort_unstable_by_key(|p| p.0);
        let f = t.elapsed();
        let ns = |d: std::time::Duration| d.as_nanos() as f64 / n as f64;
        println!("hist {:.2} partition {:.2} sort {:.2} std {:.2} ns/item", ns(a), ns(b), ns(e), ns(f));
        k.upload(s, &keys).unwrap();
    }
}
