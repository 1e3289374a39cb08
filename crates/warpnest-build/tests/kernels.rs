//! Tests that build small packages outside of the workspace. They are skipped if there is no
//! compiler for kernels.

use std::fs;
use std::path::Path;

use ptx_tools::{Launch, Module, Regions, Schedule};
use tempfile::TempDir;
use warpnest_build::{Build, Comparison, Error, Target, compiler};

/// The workspace's root folder.
const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// The beginning of a library that does not use gpu-kernels.
const ALONE: &str = "#![no_std]\n#![feature(abi_ptx, asm_experimental_arch, stdarch_nvptx)]\n\
    #[panic_handler]\nfn panic(_: &core::panic::PanicInfo) -> ! { loop {} }\n";

/// A library with a kernel that uses gpu-kernels and has launch bounds.
const ADD_ONE: &str = r#"#![no_std]
#![cfg_attr(target_arch = "nvptx64", feature(abi_ptx, asm_experimental_arch))]
use gpu_kernels::kernel;
use gpu_kernels::seam::{Block, Global};

kernel! {
    /// Adds 1 to a word a thread.
    AddOne<>, "add_one", threads 64, resident 4;
    { words: Global<u32> }
}

impl AddOne {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B) {
        let args = self;
        let first = block.first_thread();
        let mut nothing = block.local(|_| ());
        block.each(&mut nothing, |thread, _| {
            args.words.atomic(first + thread as u64).fetch_add(1);
        });
    }
}
"#;

/// A library whose kernel does all operations on `f32` and `f64` that gpu-kernels offers.
const FLOATS: &str = r#"#![no_std]
#![cfg_attr(target_arch = "nvptx64", feature(abi_ptx, asm_experimental_arch))]
use gpu_kernels::kernel;
use gpu_kernels::seam::{AtomicNumber, Block, BlockScope, Global, SystemScope};

kernel! {
    /// One thread a row of 64.
    Floats<>, "floats", threads 32;
    { singles: Global<f32>, doubles: Global<f64>, single_out: Global<f32>, double_out: Global<f64> }
}

impl Floats {
    #[inline(always)]
    fn run<B: Block>(self, block: &mut B) {
        let args = self;
        block.each_item(64, |row| {
            work(args.singles, args.single_out, row);
            work(args.doubles, args.double_out, row);
        });
    }
}

#[inline(always)]
fn work<T: AtomicNumber>(numbers: Global<T>, out: Global<T>, row: u64) {
    let number = numbers.load(row);
    out.atomic(0).fetch_add(number);
    out.atomic(1).scoped::<SystemScope>().fetch_add(numbers.load_streaming(row));
    // The two blocks have a sum each.
    out.atomic(2 + row / 32).scoped::<BlockScope>().fetch_add(numbers.load_read_only(row));
    out.store(64 + row, out.atomic(4).exchange(number));
    out.store(128 + row, out.atomic(192 + row).compare_exchange(T::default(), number));
    out.store(256 + row, numbers.atomic(64 + row).load());
    out.store(320 + row, numbers.load(64 + row));
}
"#;

/// A package in a temporary folder.
struct Package(TempDir);

impl Package {
    /// Makes a package. Each test uses a different name, so that builds at the same time use
    /// different files.
    fn new(name: &str, dependencies: &str, library: &str) -> Package {
        let package = Package(tempfile::tempdir().unwrap());
        // These are settings of a user, which must not affect the kernels.
        let manifest = format!(
            "[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[dependencies]\n{dependencies}\n\n\
             [profile.release]\nopt-level = 1\ndebug = 2\noverflow-checks = true\n"
        );
        package.write("Cargo.toml", &manifest);
        package.write("src/lib.rs", library);
        package
    }

    /// Makes a package that depends on gpu-kernels.
    fn over_the_seam(name: &str, library: &str) -> Package {
        let kernels = Path::new(ROOT).join("gpu-kernels").display().to_string();
        let package = Package::new(name, &format!("gpu-kernels.path = {kernels:?}"), library);
        // This lock file has the versions that are already fetched.
        fs::copy(Path::new(ROOT).join("Cargo.lock"), package.folder().join("Cargo.lock")).unwrap();
        package
    }

    fn folder(&self) -> &Path {
        self.0.path()
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.folder().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Returns the build for one GPU. Its work folder is kept for later runs, because compiling
    /// core takes longer than compiling the kernels.
    fn build(&self) -> Build {
        let build = Build::new(self.folder().join("Cargo.toml")).unwrap();
        let targets = Target::defaults().into_iter().skip(1);
        build.targets(targets).work_dir(concat!(env!("CARGO_TARGET_TMPDIR"), "/ptx-build"))
    }

    /// Runs a build that must fail, and checks that nothing was written.
    fn refused(&self) -> Error {
        let error = self.build().run().unwrap_err();
        assert!(!self.folder().join("ptx").exists());
        error
    }
}

/// Returns whether there is no compiler for kernels, and prints the reason.
fn no_compiler() -> bool {
    let found = compiler::find();
    if let Err(error) = &found {
        println!("not tested: {error}");
    }
    found.is_err()
}

#[test]
fn a_package_outside_is_built_with_its_own_kernels_and_compared() {
    if no_compiler() {
        return;
    }
    let package = Package::over_the_seam("own-kernels", ADD_ONE);
    package.write("src/main.rs", "fn main() {}\n");
    let report = package.build().run().unwrap();
    let [built] = &report.modules[..] else { panic!("{report}") };
    assert!(built.written && built.kernels == 1, "{report}");
    assert_eq!(built.module.file_name(), "own_kernels_sm90.ptx");
    let (ptx, header) = built.module.committed().unwrap();
    assert_eq!((header.package.as_str(), &header.compiler), ("own-kernels", &report.compiler.version.line));
    assert!(ptx.contains(".entry add_one(") && ptx.contains(".maxntid 64, 1, 1\n.minnctapersm 4\n"), "{ptx}");
    let kernels = Path::new(ROOT).join("gpu-kernels");
    let sources = [package.folder().join("src"), kernels.join("src")].map(|path| path.canonicalize().unwrap());
    assert!(sources.iter().all(|path| report.sources.contains(path)), "{:?}", report.sources);

    let again = package.build().run().unwrap();
    assert!(!again.modules[0].written, "{again}");

    // A program's sources do not affect the PTX. The library and its dependencies do.
    package.write("src/main.rs", "fn main() { println!() }\n");
    let compared = package.build().check().unwrap();
    assert!(matches!(compared[..], [(_, Comparison::Identical)]), "{compared:?}");
    fs::write(&built.module.path, ptx.replace("add_one", "add_two")).unwrap();
    let error = package.build().check().unwrap_err();
    assert!(matches!(error, Error::Different { .. }), "{error}");
    package.write("src/lib.rs", &format!("{ADD_ONE}\n"));
    let error = package.build().check_digests().unwrap_err();
    assert!(matches!(error, Error::Stale { .. }) && error.to_string().contains("cargo warpnest build-ptx"), "{error}");
}

#[test]
fn a_barrier_under_a_branch_is_refused_by_the_lint() {
    if no_compiler() {
        return;
    }
    let kernel = r#"#[unsafe(no_mangle)]
        pub unsafe extern "ptx-kernel" fn half_waits() {
            if unsafe { core::arch::nvptx::_thread_idx_x() } < 16 {
                unsafe { core::arch::asm!("bar.sync 0;") }
            }
        }"#;
    let error = Package::new("divergent", "", &format!("{ALONE}{kernel}\n")).refused();
    let Error::Lint { findings } = &error else { panic!("{error}") };
    assert!(
        findings.iter().all(|finding| finding.starts_with("divergent_sm90.ptx: half_waits: convergent")),
        "{error}"
    );
}

#[test]
fn the_errors_of_a_broken_source_are_those_of_cargo() {
    if no_compiler() {
        return;
    }
    let error = Package::over_the_seam("broken", &format!("fn broken() -> u32 {{ nowhere }}\n{ADD_ONE}")).refused();
    assert!(matches!(error, Error::Failed { .. }), "{error}");
    let text = error.to_string();
    assert!(text.contains("cannot find value `nowhere`") && text.contains("src/lib.rs:1"), "{text}");
    // The build of the dependency gpu-kernels must not show warnings either.
    assert!(!text.contains("warning"), "{text}");
}

/// Runs the kernel of [`FLOATS`] in the interpreter on the bits of 128 floats of each width.
/// Returns the bits of the two output arrays.
fn run_floats(module: &Module, seed: u64, mut singles: Vec<u32>, mut doubles: Vec<u64>) -> (Vec<u32>, Vec<u64>) {
    let (mut single_out, mut double_out) = (vec![0u32; 384], vec![0u64; 384]);
    // Every second word is the negative zero, which equals zero but has other bits.
    single_out[192..256].iter_mut().step_by(2).for_each(|word| *word = (-0.0f32).to_bits());
    double_out[192..256].iter_mut().step_by(2).for_each(|word| *word = (-0.0f64).to_bits());
    let arrays = [
        (singles.as_mut_ptr() as usize, size_of_val(&singles[..])),
        (doubles.as_mut_ptr() as usize, size_of_val(&doubles[..])),
        (single_out.as_mut_ptr() as usize, size_of_val(&single_out[..])),
        (double_out.as_mut_ptr() as usize, size_of_val(&double_out[..])),
    ];
    let mut regions = Regions::new();
    for (address, bytes) in arrays {
        // SAFETY: the arrays live until the launch ends, and nothing else uses them meanwhile.
        unsafe { regions.insert(address, bytes) };
    }
    let arguments = arrays.map(|(address, _)| address.to_ne_bytes());
    let arguments = arguments.each_ref().map(|argument| &argument[..]);
    let schedule = Schedule { seed, longest_slice: 3, concurrent_blocks: 2 };
    module.launch_with(&Launch { schedule, ..Launch::new("floats", 2, 32) }, &arguments, &regions).unwrap();
    (single_out, double_out)
}

/// Checks the output of the kernel of [`FLOATS`] for the bits of 128 floats, whose sums are exact.
fn check_floats<B: Copy + Ord + std::fmt::Debug>(numbers: &[B], out: &[B], sum: impl Fn(&[B]) -> B, zeros: [B; 2]) {
    assert_eq!(out[..4], [sum(&numbers[..64]), sum(&numbers[..64]), sum(&numbers[..32]), sum(&numbers[32..64])]);
    let sorted = |parts: [&[B]; 2]| {
        let mut words = parts.concat();
        words.sort_unstable();
        words
    };
    let exchanged = sorted([&out[64..128], &out[4..5]]);
    assert_eq!(exchanged, sorted([&numbers[..64], &zeros[..1]]), "each number is exchanged for one other");
    for row in 0..64 {
        let is_zero = row % 2 == 1;
        assert_eq!(out[128 + row], zeros[!is_zero as usize]);
        assert_eq!(out[192 + row], if is_zero { numbers[row] } else { zeros[1] }, "row {row}");
    }
    assert_eq!([&out[256..320], &out[320..]], [&numbers[64..]; 2], "any bits are loaded and stored as they are");
}

#[test]
fn kernels_read_write_and_add_floats() {
    if no_compiler() {
        return;
    }
    let package = Package::over_the_seam("floats", FLOATS);
    let report = package.build().run().unwrap();
    let (ptx, _) = report.modules[0].module.committed().unwrap();
    for (scope, number) in
        [("gpu", "f32"), ("sys", "f32"), ("cta", "f32"), ("gpu", "f64"), ("sys", "f64"), ("cta", "f64")]
    {
        assert!(ptx.contains(&format!("atom.relaxed.{scope}.global.add.{number}")), "{ptx}");
    }
    let module = Module::parse(&ptx).unwrap();
    for seed in 0..20 {
        // The first 64 floats are quarters, whose sums are exact in any order. The others have
        // arbitrary bits, including NaNs.
        let quarter = |row: u64| ((row * 37 + seed * 11) % 101) as f32 / 4.0 - 9.0;
        let bits = |row: u64| (row + seed).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 0x7f << 57;
        let doubles: Vec<u64> =
            (0..128).map(|row| if row < 64 { f64::from(quarter(row)).to_bits() } else { bits(row) }).collect();
        let singles: Vec<u32> =
            (0..128).map(|row| if row < 64 { quarter(row).to_bits() } else { (bits(row) >> 32) as u32 }).collect();
        let (single_out, double_out) = run_floats(&module, seed, singles.clone(), doubles.clone());
        let sum = |words: &[u32]| words.iter().map(|&word| f32::from_bits(word)).sum::<f32>().to_bits();
        check_floats(&singles, &single_out, sum, [0.0f32, -0.0].map(f32::to_bits));
        let sum = |words: &[u64]| words.iter().map(|&word| f64::from_bits(word)).sum::<f64>().to_bits();
        check_floats(&doubles, &double_out, sum, [0.0f64, -0.0].map(f64::to_bits));
    }
}

#[test]
fn manifests_and_targets_that_make_no_sense_are_refused() {
    let package = Package::new("empty", "", "");
    let error = Build::new(package.folder().join("none.toml")).err().unwrap();
    assert!(matches!(error, Error::Io { .. }), "{error}");
    package.write("virtual/Cargo.toml", "[workspace]\nresolver = \"3\"\nmembers = [\"member\"]\n");
    package.write("virtual/member/Cargo.toml", "[package]\nname = \"member\"\nedition = \"2024\"\n");
    package.write("virtual/member/src/main.rs", "fn main() {}\n");
    let error = Build::new(package.folder().join("virtual/Cargo.toml")).err().unwrap();
    assert!(matches!(error, Error::NoPackage { .. }), "{error}");
    let error = Build::new(package.folder().join("virtual/member/Cargo.toml")).err().unwrap();
    assert!(matches!(&error, Error::NoLibrary { package } if package == "member"), "{error}");
    let twice = [&Target::defaults()[..], &Target::defaults()[..1]].concat();
    for targets in [Vec::new(), twice] {
        assert!(matches!(package.build().targets(targets).run(), Err(Error::Targets)));
    }
}
