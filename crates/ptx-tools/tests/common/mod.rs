//! Helpers for several test files: memory that kernels may use, and small modules around a few
//! instructions.
#![allow(dead_code)]

use ptx_tools::{Fault, Launch, Module, Regions, Schedule};

/// Memory that kernels may use.
pub struct Device {
    pub regions: Regions,
    buffers: Vec<(*mut u64, usize)>,
}

impl Device {
    pub fn new() -> Self {
        Device { regions: Regions::new(), buffers: Vec::new() }
    }

    /// Copies values into memory that lives as long as the device, and returns its address.
    pub fn upload<T: Copy>(&mut self, values: &[T]) -> u64 {
        let bytes = size_of_val(values);
        let words = vec![0u64; bytes.div_ceil(16) * 2 + 2].into_boxed_slice();
        let count = words.len();
        let start = Box::into_raw(words).cast::<u64>();
        self.buffers.push((start, count));
        // Kernels need vectors aligned to 16 bytes, but the box may be aligned to 8 bytes only.
        let data = start.cast::<u8>().wrapping_add((start.addr().wrapping_neg()) % 16);
        // SAFETY: the box is at least 16 bytes larger than the values, so they fit after the
        // alignment.
        unsafe { std::ptr::copy_nonoverlapping(values.as_ptr().cast::<u8>(), data, bytes) };
        let address = data.expose_provenance();
        // SAFETY: the memory is initialised and exposed, and lives until `drop`. Only launches and
        // `download` use it.
        unsafe { self.regions.insert(address, bytes) };
        address as u64
    }

    pub fn download<T: Copy + Default>(&self, address: u64, count: usize) -> Vec<T> {
        let mut out = vec![T::default(); count];
        let from = std::ptr::with_exposed_provenance::<T>(address as usize);
        // SAFETY: the tests pass addresses from `upload`, and counts that do not exceed the
        // uploaded values.
        unsafe { std::ptr::copy_nonoverlapping(from, out.as_mut_ptr(), count) };
        out
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        for &(start, count) in &self.buffers {
            // SAFETY: `upload` made the pointer from a box of `count` words.
            drop(unsafe { Box::from_raw(std::ptr::slice_from_raw_parts_mut(start, count)) });
        }
    }
}

/// Converts each argument to its bytes.
#[macro_export]
macro_rules! arguments {
    ($($value:expr),* $(,)?) => { [$(&$value.to_le_bytes()[..]),*] };
}

pub fn schedule(seed: u64) -> Schedule {
    Schedule { seed, longest_slice: 20, concurrent_blocks: 3 }
}

/// Returns a module with one entry point `k(x, y)`, which declares registers and loads x into
/// `%rd30` and y into `%rd31`.
pub fn kernel(body: &str) -> String {
    format!(
        ".version 8.3\n.target sm_90\n.address_size 64\n\
        .extern .shared .align 16 .b8 dynamic[];\n\
        .visible .entry k(.param .u64 .ptr .align 1 x, .param .u64 .ptr .align 1 y)\n{{\n\
        .reg .pred %p<10>; .reg .b16 %rs<10>; .reg .b32 %r<30>; .reg .b64 %rd<32>; .reg .b128 %rq<4>;\n\
        ld.param.b64 %rd30, [x];\nld.param.b64 %rd31, [y];\n{body}\nret;\n}}\n"
    )
}

/// Runs `body` in `grid` blocks of `threads` threads. x points to `input`, and y to `outputs`
/// zeroed words, which are returned.
pub fn run(body: &str, grid: u32, threads: u32, input: &[u64], outputs: usize, seed: u64) -> Result<Vec<u64>, Fault> {
    let module = Module::parse(&kernel(body)).expect("the test's PTX is well-formed");
    let mut device = Device::new();
    let (x, y) = (device.upload(input), device.upload(&vec![0u64; outputs]));
    let mut launch = Launch::new("k", grid, threads);
    launch.schedule = schedule(seed);
    launch.dynamic_shared = 256;
    launch.step_limit = 2_000_000;
    module.launch_with(&launch, &arguments!(x, y), &device.regions)?;
    Ok(device.download(y, outputs))
}

/// Runs `body` on one thread and returns `%rd9`. The input is in `%rd0` to `%rd3`, and its low
/// halves are in `%r0` to `%r3`.
pub fn eval(body: &str, input: &[u64]) -> u64 {
    let mut text = String::new();
    for i in 0..input.len() {
        text += &format!("ld.global.b64 %rd{i}, [%rd30+{}]; cvt.u32.u64 %r{i}, %rd{i};\n", 8 * i);
    }
    text += body;
    text += "\nst.global.b64 [%rd31], %rd9;";
    match run(&text, 1, 1, input, 1, 0) {
        Ok(out) => out[0],
        Err(fault) => panic!("{body}: {fault}"),
    }
}

/// Does the same as [`eval`], except that the result is `%r9`.
pub fn eval32(body: &str, input: &[u64]) -> u32 {
    eval(&format!("{body}\ncvt.u64.u32 %rd9, %r9;"), input) as u32
}
