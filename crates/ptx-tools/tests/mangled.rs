//! Tests that damaged text causes errors and faults, but never a panic.

use ptx_tools::{Launch, Module, Regions, Schedule, lint};

/// A generator of pseudo-random numbers.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((self.0 >> 33) as usize) % bound
    }
}

/// Lints a text and runs each of its kernels, without any memory.
fn try_all(text: &str) {
    lint(text);
    let Ok(module) = Module::parse(text) else { return };
    for entry in &module.entries {
        let zeros: Vec<Vec<u8>> = entry.params.iter().map(|p| vec![0; p.size]).collect();
        let arguments: Vec<&[u8]> = zeros.iter().map(Vec::as_slice).collect();
        let schedule = Schedule { seed: 1, longest_slice: 9, concurrent_blocks: 2 };
        let launch = Launch { step_limit: 5000, schedule, ..Launch::new(&entry.name, 3, 40) };
        let _ = module.launch_with(&launch, &arguments, &Regions::new());
    }
}

#[test]
fn damaged_text_never_panics() {
    let whole = include_str!("fixtures/samples_sm90.ptx");
    let mut random = Random(7);
    let pieces: Vec<&str> = whole.split_inclusive([' ', '\t', ',', ';', '\n']).collect();
    for _ in 0..400 {
        let mut text = pieces.clone();
        for _ in 0..1 + random.below(12) {
            let (at, other) = (random.below(text.len()), random.below(text.len()));
            match random.below(4) {
                0 => drop(text.remove(at)),
                1 => text[at] = text[other],
                2 => text.swap(at, other),
                _ => text.insert(
                    at,
                    ["}", "{", ";", "é", "[", "-1", "%rd1", "\"", ".b128 ", "99999999999", "!"][random.below(11)],
                ),
            }
        }
        try_all(&text.concat());
    }
}
