//! Tests that kernels compiled by rustc return the right results for every interleaving.

mod common;

use common::{Device, schedule};
use ptx_tools::{Fault, Module, lint};

const SM75: &str = include_str!("fixtures/samples_sm75.ptx");
const SM90: &str = include_str!("fixtures/samples_sm90.ptx");
const DUPLICATED: &str = include_str!("fixtures/jump_threading_sm75.ptx");

fn modules() -> [Module; 2] {
    [SM75, SM90].map(|text| Module::parse(text).expect("rustc wrote it"))
}

/// Returns pseudo-random words.
fn words(count: usize) -> Vec<u64> {
    let step = |x: &u64| Some(x.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407));
    std::iter::successors(Some(12345u64), step).map(|x| x ^ x >> 31).skip(5).take(count).collect()
}

#[test]
fn modules_are_described() {
    let [old, new] = modules();
    assert_eq!((old.version.as_str(), old.target.as_str()), ("6.3", "sm_75"));
    assert_eq!((new.version.as_str(), new.target.as_str()), ("8.3", "sm_90"));
    let entry = new.entry("arithmetic").expect("it is there");
    let layout: Vec<_> = entry.params.iter().map(|p| (p.offset, p.size, p.align)).collect();
    assert_eq!(layout, [(0, 8, 8), (8, 8, 8), (16, 24, 8)]);
    assert_eq!(new.entry("reverse").map(|e| e.shared_bytes), Some(4096));
    let scalars = &new.entry("probe_insert").expect("it is there").params;
    assert_eq!(
        scalars.iter().map(|p| (p.offset, p.size)).collect::<Vec<_>>(),
        [(0, 8), (8, 4), (16, 8), (24, 4), (32, 8)]
    );
    assert_eq!(lint(SM75), []);
    assert_eq!(lint(SM90), []);
}

#[test]
fn atomics_add_up() {
    for module in modules() {
        for seed in 0..4 {
            let (grid, threads) = (5, 70u32);
            let n = grid * threads;
            let mut device = Device::new();
            let a = device.upload(&[0u32, 0, u32::MAX, 0, 0, 0]);
            let b = device.upload(&[0u64; 5]);
            let out = device.upload(&vec![0u32; n as usize]);
            module
                .launch("atomics", grid, threads, &arguments!(a, b, out), &device.regions, schedule(seed))
                .expect("no fault");
            let sum = u64::from(n * (n - 1) / 2);
            let xor = (0..n).fold(0, |x, i| x ^ i);
            assert_eq!(device.download::<u32>(a, 6), [n, n - 1, 0, u32::MAX, xor, sum as u32]);
            let words: Vec<u64> = device.download(b, 5);
            assert_eq!(words[..3], [sum + (u64::from(n) << 32), u64::from(n - 1) << 33, sum]);
            // The sum of the replaced values and the value that remains equals the sum of all
            // written values.
            assert_eq!(words[3] + words[4], sum + u64::from(n));
            let mut tickets: Vec<u32> = device.download(out, n as usize);
            assert!(!tickets.is_sorted(), "seed {seed}: nothing was interleaved");
            tickets.sort();
            assert!(tickets.into_iter().eq(0..n));
        }
    }
}

#[test]
fn seeds_give_different_interleavings_and_the_same_seed_the_same() {
    let [module, _] = modules();
    let tickets = |seed| {
        let mut device = Device::new();
        let (a, b, out) = (device.upload(&[0u32; 6]), device.upload(&[0u64; 5]), device.upload(&[0u32; 256]));
        module.launch("atomics", 4, 64, &arguments!(a, b, out), &device.regions, schedule(seed)).expect("no fault");
        device.download::<u32>(out, 256)
    };
    assert_eq!(tickets(1), tickets(1));
    assert_ne!(tickets(1), tickets(2));
    // Three blocks are resident. Any of them may be first, and the fourth block begins when one has
    // ended.
    let blocks = |seed| -> Vec<(u32, u32)> {
        let ends = |block: &[u32]| (*block.iter().min().unwrap_or(&0), *block.iter().max().unwrap_or(&0));
        tickets(seed).chunks(64).map(ends).collect()
    };
    let blocks: Vec<_> = (1..40).map(blocks).collect();
    for first in 0..3 {
        assert!(blocks.iter().any(|block| block[first].0 == 0), "block {first} is never first: {blocks:?}");
    }
    assert!(blocks.iter().any(|block| block[0].0 < block[1].1 && block[1].0 < block[0].1), "they never take turns");
    assert!(blocks.iter().all(|block| block[3].0 >= 64), "{blocks:?}");
}

#[test]
fn vectors_are_loaded_and_stored() {
    for module in modules() {
        let n = 100usize;
        let x: Vec<u32> = words(4 * n).iter().map(|w| *w as u32).collect();
        let mut device = Device::new();
        let (input, output) = (device.upload(&x), device.upload(&vec![0u32; 4 * n]));
        module
            .launch("vectors", 4, 32, &arguments!(input, output, (n as u32)), &device.regions, schedule(1))
            .expect("no fault");
        let expected: Vec<u32> = (0..n)
            .flat_map(|i| {
                let mirror = 4 * (n - 1 - i);
                let mut v = [x[4 * i], x[4 * i + 1], x[4 * i + 2], x[4 * i + 3]];
                v[1] ^= x[mirror].wrapping_add(x[mirror + 3]);
                v
            })
            .collect();
        assert_eq!(device.download::<u32>(output, 4 * n), expected);
    }
}

#[test]
fn shared_memory_and_counting_barriers() {
    for module in modules() {
        let (grid, threads) = (7usize, 96usize);
        let x: Vec<u32> = words(grid * threads).iter().map(|w| (*w >> 20) as u32).collect();
        let mut device = Device::new();
        let (data, odd) = (device.upload(&x), device.upload(&vec![0u32; grid]));
        module
            .launch("reverse", grid as u32, threads as u32, &arguments!(data, odd), &device.regions, schedule(3))
            .expect("no fault");
        let blocks = || x.chunks(threads);
        let reversed: Vec<u32> = blocks().flat_map(|b| b.iter().rev().copied()).collect();
        let counts: Vec<u32> = blocks().map(|b| b.iter().filter(|v| **v % 2 == 1).count() as u32).collect();
        assert_eq!(device.download::<u32>(data, x.len()), reversed);
        assert_eq!(device.download::<u32>(odd, grid), counts);
    }
}

#[test]
fn warps_work_together() {
    for module in modules() {
        let x: Vec<u32> = words(128).iter().map(|w| (*w % 200) as u32).collect();
        let mut device = Device::new();
        let (input, output) = (device.upload(&x), device.upload(&[0u32; 512]));
        module.launch("warps", 2, 64, &arguments!(input, output), &device.regions, schedule(8)).expect("no fault");
        let mask = |warp: &[u32], f: &dyn Fn(u32) -> bool| {
            warp.iter().enumerate().filter(|(_, v)| f(**v)).fold(0u32, |m, (l, _)| m | 1 << l)
        };
        let mut expected = Vec::new();
        for warp in x.chunks(32) {
            for (lane, v) in warp.iter().enumerate() {
                let next = warp[(lane + 1) % 32];
                expected.extend([mask(warp, &|o| o > 100), warp.iter().sum(), next, mask(warp, &|o| o == *v)]);
            }
        }
        assert_eq!(device.download::<u32>(output, 512), expected);
    }
}

/// Returns the expected results of the arithmetic kernel, computed by the same Rust on the host.
fn arithmetic(v: u64, a: u64, b: u32, c: u16, d: u8, p: u64) -> [u64; 16] {
    let w = v as u32;
    let wide = u128::from(v) << 32 | u128::from(a);
    [
        v.wrapping_mul(a).wrapping_add(b.into()) % p,
        v % u64::from(b),
        ((u128::from(v) * u128::from(a)) >> 64) as u64,
        v.rotate_left(d.into()) ^ u64::from(w.rotate_right(u32::from(c) & 31)),
        u64::from(v.count_ones() + 100 * v.leading_zeros() + 10000 * v.trailing_zeros()),
        v.swap_bytes() ^ u64::from(w.reverse_bits()),
        (v as i64 / i64::from(c)) as u64,
        (w as i32 % i32::from(d)) as u64,
        v as i8 as i64 as u64 ^ u64::from(v as u16) << 20,
        v.saturating_add(a),
        v.checked_add(a).unwrap_or(7),
        (wide.wrapping_add(u128::from(a) << 60) >> 64) as u64,
        (u64::from(w) * u64::from(b)) >> 32,
        (v % 4294967291) ^ u64::from(w % 1000),
        (v as i64).min(a as i64) as u64 ^ u64::from(w.max(b)) ^ (v as i64 >> 7) as u64,
        ((f32::from_bits(0x3f80_0000 | w >> 9) * 3.5 + w as f32) as u64).wrapping_add((v as f64 / 3.0) as u64),
    ]
}

#[test]
fn arithmetic_agrees_with_the_host() {
    let mut x = words(250);
    x.extend([0, 1, u64::MAX, 1 << 63, u64::from(u32::MAX), 255]);
    for module in modules() {
        for (a, b, c, d, p) in [
            (0x9e37_79b9_7f4a_7c15u64, 12345u32, 77u16, 9u8, 0xffff_ffff_0000_0001u64),
            (3, u32::MAX, 65535, 255, 1000),
            (u64::MAX, 1, 1, 1, 1),
        ] {
            let mut coefficients = Vec::new();
            coefficients.extend(a.to_le_bytes());
            coefficients.extend(b.to_le_bytes());
            coefficients.extend(c.to_le_bytes());
            coefficients.extend([d, 0]);
            coefficients.extend(p.to_le_bytes());
            let mut device = Device::new();
            let (input, output) = (device.upload(&x), device.upload(&vec![0u64; 16 * x.len()]));
            let arguments = [&input.to_le_bytes()[..], &output.to_le_bytes(), &coefficients];
            module.launch("arithmetic", 2, 128, &arguments, &device.regions, schedule(0)).expect("no fault");
            let out: Vec<u64> = device.download(output, 16 * x.len());
            for (v, found) in x.iter().zip(out.chunks(16)) {
                assert_eq!(found, arithmetic(*v, a, b, c, d, p), "of {v:#x}, {a:#x}");
            }
        }
    }
}

#[test]
fn branch_tables_and_constant_arrays() {
    let table = |v: u32| {
        let a = [1900, 17, 23, 5, 8012, 4, 77, 1][v as usize % 8];
        let b = match v / 8 % 8 {
            0 => v.wrapping_mul(v),
            1 => v ^ 0x5555,
            2 => v,
            3 => v.rotate_left(7),
            4 => v / 3,
            5 => v.count_ones(),
            6 => !v,
            _ => v & 15,
        };
        let c = [2u32, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37][v as usize % 12];
        b.wrapping_add(c).wrapping_add(a)
    };
    let x: Vec<u32> = (0..192).collect();
    for module in modules() {
        let mut device = Device::new();
        let data = device.upload(&x);
        module.launch("tables", 2, 96, &arguments!(data), &device.regions, schedule(0)).expect("no fault");
        assert_eq!(device.download::<u32>(data, 192), x.iter().map(|v| table(*v)).collect::<Vec<_>>());
    }
}

#[test]
fn the_last_block_sees_all_others() {
    for module in modules() {
        for seed in 0..10 {
            let x: Vec<u32> = words(64 * 9).iter().map(|w| *w as u32).collect();
            let mut device = Device::new();
            let (input, partial) = (device.upload(&x), device.upload(&[0u32; 9]));
            let (ticket, total) = (device.upload(&[0u32]), device.upload(&[0u32]));
            let arguments = arguments!(input, partial, ticket, total);
            module.launch("last_block", 9, 64, &arguments, &device.regions, schedule(seed)).expect("no fault");
            let sum = x.iter().fold(0u32, |s, v| s.wrapping_add(*v));
            assert_eq!(device.download::<u32>(total, 1), [sum]);
        }
    }
}

#[test]
fn probing_finds_a_slot_for_every_key() {
    for module in modules() {
        let keys: Vec<u32> = words(300).iter().map(|w| (*w >> 8) as u32 >> 1).collect();
        let mut device = Device::new();
        let (input, table) = (device.upload(&keys), device.upload(&[u32::MAX; 320]));
        let probes = device.upload(&[0u32]);
        let arguments = arguments!(input, 300u32, table, 320u32, probes);
        module.launch("probe_insert", 5, 64, &arguments, &device.regions, schedule(2)).expect("no fault");
        let mut found: Vec<u32> = device.download::<u32>(table, 320).into_iter().filter(|k| *k != u32::MAX).collect();
        let mut expected = keys.clone();
        found.sort();
        expected.sort();
        expected.dedup();
        assert_eq!(found, expected);
        assert!(device.download::<u32>(probes, 1)[0] >= 300);
    }
}

#[test]
fn words_of_128_bits_move_together() {
    let [_, module] = modules();
    let mut device = Device::new();
    let (cell, out) = (device.upload(&[1000u64, !1000, 0, 0]), device.upload(&[0u64; 512]));
    module.launch("exchange128", 4, 64, &arguments!(cell, out), &device.regions, schedule(5)).expect("no fault");
    let mut seen: Vec<u64> = device.download(cell, 2);
    seen.extend(device.download::<u64>(out, 512));
    assert!(seen.chunks(2).all(|pair| pair[0] == !pair[1]));
    let mut values: Vec<u64> = seen.chunks(2).map(|pair| pair[0]).collect();
    values.sort();
    assert!(values.into_iter().eq((0..256).chain([1000])));
}

#[test]
fn a_failed_assertion_is_a_trap() {
    for module in modules() {
        let mut device = Device::new();
        let mut x = vec![5u32; 64];
        x[37] = 1000;
        let (input, out) = (device.upload(&x), device.upload(&[0u32; 64]));
        let fault = module.launch("bounds", 2, 32, &arguments!(input, out), &device.regions, schedule(0));
        let Err(Fault::Trap { at }) = fault else { panic!("{fault:?}") };
        assert_eq!((at.entry.as_str(), at.block, at.thread, at.instruction.as_str()), ("bounds", 1, 5, "trap"));
    }
}

#[test]
fn a_barrier_duplicated_by_the_compiler_is_found() {
    let duplicated = Module::parse(DUPLICATED).expect("rustc wrote it");
    let [right, _] = modules();
    let x: Vec<u32> = (0..64).collect();
    for seed in 0..5 {
        let mut device = Device::new();
        let data = device.upload(&x);
        let run = |module: &Module| {
            module.launch("jump_threading", 1, 64, &arguments!(data), &device.regions, schedule(seed))
        };
        let fault = run(&duplicated);
        let Err(Fault::DivergentBarrier { at, other_line, other }) = fault else { panic!("{fault:?}") };
        assert_eq!((at.instruction.as_str(), other.as_str()), ("bar.sync 0", "bar.sync 0"));
        assert_ne!(at.line, other_line);
        assert_eq!(run(&right), Ok(()));
    }
}

/// Launches kernels of one module on several threads, each with its own memory.
#[test]
fn launches_run_side_by_side() {
    let [module, _] = modules();
    std::thread::scope(|scope| {
        for seed in 0..4 {
            let module = &module;
            scope.spawn(move || {
                let mut device = Device::new();
                let x = device.upload(&[2u32; 64]);
                module.launch("tables", 2, 32, &arguments!(x), &device.regions, schedule(seed)).expect("no fault");
                // For v = 2, the match gives 23, the branch table gives v * v, and the third prime
                // is 5.
                assert_eq!(device.download::<u32>(x, 64), [23 + 4 + 5; 64]);
            });
        }
    });
}
