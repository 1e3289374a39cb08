//! Builds of small packages outside of the workspace, where there is a compiler for kernels.

use std::fs;
use std::path::Path;

use tempfile::TempDir;
use warpnest_build::{Build, Comparison, Error, Target, compiler};

/// The workspace.
const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// The beginning of a library that does without gpu-kernels.
const ALONE: &str = "#![no_std]\n#![feature(abi_ptx, asm_experimental_arch, stdarch_nvptx)]\n\
    #[panic_handler]\nfn panic(_: &core::panic::PanicInfo) -> ! { loop {} }\n";

/// A library with a kernel over gpu-kernels, and launch bounds.
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

/// A package in a folder of its own.
struct Package(TempDir);

impl Package {
    /// Makes one; each test gives its own name, by which files of builds at once are told apart.
    fn new(name: &str, dependencies: &str, library: &str) -> Package {
        let package = Package(tempfile::tempdir().unwrap());
        // Settings of a user's, which must not reach the kernels.
        let manifest = format!(
            "[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[dependencies]\n{dependencies}\n\n\
             [profile.release]\nopt-level = 1\ndebug = 2\noverflow-checks = true\n"
        );
        package.write("Cargo.toml", &manifest);
        package.write("src/lib.rs", library);
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

    /// Returns the build for one GPU, whose work is kept for later runs: core takes longer than the
    /// kernels.
    fn build(&self) -> Build {
        let build = Build::new(self.folder().join("Cargo.toml")).unwrap();
        let targets = Target::defaults().into_iter().skip(1);
        build.targets(targets).work_dir(concat!(env!("CARGO_TARGET_TMPDIR"), "/ptx-build"))
    }

    /// Builds what must be refused, and checks that nothing was written.
    fn refused(&self) -> Error {
        let error = self.build().run().unwrap_err();
        assert!(!self.folder().join("ptx").exists());
        error
    }
}

/// Returns whether there is no compiler for kernels, and says so.
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
    let kernels = Path::new(ROOT).join("gpu-kernels").display().to_string();
    let package = Package::new("own-kernels", &format!("gpu-kernels.path = {kernels:?}"), ADD_ONE);
    package.write("src/main.rs", "fn main() {}\n");
    // The versions that this workspace has fetched.
    fs::copy(Path::new(ROOT).join("Cargo.lock"), package.folder().join("Cargo.lock")).unwrap();
    let report = package.build().run().unwrap();
    let [built] = &report.modules[..] else { panic!("{report}") };
    assert!(built.written && built.kernels == 1, "{report}");
    assert_eq!(built.module.file_name(), "own_kernels_sm90.ptx");
    let (ptx, header) = built.module.committed().unwrap();
    assert_eq!((header.package.as_str(), &header.compiler), ("own-kernels", &report.compiler.version.line));
    assert!(ptx.contains(".entry add_one(") && ptx.contains(".maxntid 64, 1, 1\n.minnctapersm 4\n"), "{ptx}");
    let sources =
        [package.folder().join("src"), Path::new(&kernels).join("src")].map(|path| path.canonicalize().unwrap());
    assert!(sources.iter().all(|path| report.sources.contains(path)), "{:?}", report.sources);

    let again = package.build().run().unwrap();
    assert!(!again.modules[0].written, "{again}");

    // A program counts for nothing, the library and what it depends on for all.
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
    let error = Package::new("broken", "", &format!("{ALONE}fn broken() -> u32 {{ nowhere }}\n")).refused();
    assert!(matches!(error, Error::Failed { .. }), "{error}");
    let text = error.to_string();
    assert!(text.contains("cannot find value `nowhere`") && text.contains("src/lib.rs:5"), "{text}");
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
