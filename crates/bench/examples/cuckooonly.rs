//! x
use std::time::Instant;
use warpnest::{CuckooMap, Device, ExtendibleConfig, ExtendibleMap, TwoLevelMap};
fn best(n: usize, reps: usize, mut f: impl FnMut()) -> f64 {
    let mut best = f64::MAX;
    for _ in 0..reps {
        let t = Instant::now();
        f();
        best = best.min(t.elapsed().as_nanos() as f64 / n as f64);
    }
    best
}
fn main() {
    let d = Device::cpu();
    let n: usize = std::env::args().nth(1).map(|s| 1usize << s.parse::<u32>().unwrap()).unwrap_or(1 << 20);
    let what = std::env::args().nth(2).unwrap_or_default();
    let mut x = 1u32;
    let mut next = || {
        x ^= x << 13;
        x ^= x >> 17;
        x ^= x << 5;
        x
    };
    let keys: Vec<u32> = (0..n).map(|_| next()).collect();
    let absent: Vec<u32> = (0..n).map(|_| next()).collect();
    let reps = ((1usize << 24) / n).max(3);
    let mut h = hashbrown::HashMap::<u32, u32, std::hash::RandomState>::default();
    let hb = best(n, reps.min(20), || {
        h = hashbrown::HashMap::with_capacity_and_hasher(n, Default::default());
        for &k in &keys {
            h.insert(k, k);
        }
    });
    let hp = best(n, reps.min(20), || {
        std::hint::black_box(keys.iter().map(|k| h.get(k).copied()).collect::<Vec<_>>());
    });
    let ha = best(n, reps.min(20), || {
        std::hint::black_box(absent.iter().map(|k| h.get(k).copied()).collect::<Vec<_>>());
    });
    println!("std        build {hb:.2} present {hp:.2} absent {ha:.2}");
    let mut h = hashbrown::HashMap::<u32, u32>::default();
    let hb = best(n, reps.min(20), || {
        h = hashbrown::HashMap::with_capacity(n);
        for &k in &keys {
            h.insert(k, k);
        }
    });
    let hp = best(n, reps.min(20), || {
        std::hint::black_box(keys.iter().map(|k| h.get(k).copied()).collect::<Vec<_>>());
    });
    let ha = best(n, reps.min(20), || {
        std::hint::black_box(absent.iter().map(|k| h.get(k).copied()).collect::<Vec<_>>());
    });
    println!("hashbrown  build {hb:.2} present {hp:.2} absent {ha:.2}");
    macro_rules! go {
        ($name:literal, $t:ident) => {
            if what.is_empty() || $name.starts_with(&what) {
                let m = $t::<u32, u32>::build(&d, &keys, &keys).unwrap();
                let b = best(n, reps, || {
                    std::hint::black_box($t::<u32, u32>::build(&d, &keys, &keys).unwrap());
                });
                let p = best(n, reps, || {
                    std::hint::black_box(m.get_many(&keys).unwrap());
                });
                let a = best(n, reps, || {
                    std::hint::black_box(m.get_many(&absent).unwrap());
                });
                println!("{} build {b:.2} present {p:.2} absent {a:.2}", $name);
            }
        };
    }
    go!("cuckoo    ", CuckooMap);
    go!("two level ", TwoLevelMap);
    if what.is_empty() || "extendible".starts_with(&what) {
        let make = || {
            let mut m: ExtendibleMap<u32, u32> = ExtendibleConfig::default().create(&d).unwrap();
            m.insert_many(&keys, &keys).unwrap();
            m
        };
        let m = make();
        let b = best(n, reps, || {
            std::hint::black_box(make());
        });
        let p = best(n, reps, || {
            std::hint::black_box(m.get_many(&keys).unwrap());
        });
        let a = best(n, reps, || {
            std::hint::black_box(m.get_many(&absent).unwrap());
        });
        println!("extendible build {b:.2} present {p:.2} absent {a:.2}");
    }
}
