//! Measures the speed of the interpreter on two kernels: insertion into a linear-probing table, and
//! reversal of words through shared memory.

use std::time::Instant;

use ptx_tools::{Launch, Module, Regions, Schedule};

const SAMPLES: &str = include_str!("../tests/fixtures/samples_sm90.ptx");

fn main() {
    let module = Module::parse(SAMPLES).expect("rustc wrote it");
    for (blocks, longest_slice) in [(1, 60), (4, 60), (4, 10), (4, 1), (32, 200)] {
        let schedule = Schedule { seed: 1, longest_slice, concurrent_blocks: blocks };
        let n = 1u32 << 18;
        let mut keys: Vec<u32> = (0..n).map(|i| i.wrapping_mul(2246822519) >> 1).collect();
        let slots = n / 4 * 5;
        let mut table = vec![u32::MAX; slots as usize];
        let mut probes = [0u32; 1];
        let mut regions = Regions::new();
        let mut lend = |words: &mut [u32]| {
            let address = words.as_mut_ptr().expose_provenance();
            // SAFETY: the vectors are initialised, live until the end of the loop's body, and are
            // used by nothing else.
            unsafe { regions.insert(address, size_of_val(words)) };
            address.to_le_bytes()
        };
        let (keys, table, probes) = (lend(&mut keys), lend(&mut table), lend(&mut probes));
        let (n_bytes, slots) = (n.to_le_bytes(), slots.to_le_bytes());
        let insert: [&[u8]; 5] = [&keys, &n_bytes, &table, &slots, &probes];
        let reverse: [&[u8]; 2] = [&keys, &table];
        for (entry, arguments) in [("probe_insert", &insert[..]), ("reverse", &reverse[..])] {
            let launch = Launch { schedule, ..Launch::new(entry, n / 256, 256) };
            let start = Instant::now();
            let steps = module.launch_with(&launch, arguments, &regions).expect("no fault");
            let seconds = start.elapsed().as_secs_f64();
            println!(
                "{entry:>14}, {blocks:>2} blocks, slices to {longest_slice:>3}: {:6.1} M thread-instructions/s",
                steps as f64 / seconds / 1e6
            );
        }
    }
}
