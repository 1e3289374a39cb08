//! Compiles src/prices.cu: by nvcc if there is one (the variable NVCC, or on PATH), else as C++ for
//! the host alone (the variable CXX, or g++).

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The folder of warpnest.cuh.
const INCLUDE: &str = "../../../crates/warpnest/include";

fn main() {
    println!("cargo::rerun-if-changed=src/prices.cu");
    println!("cargo::rerun-if-changed={INCLUDE}");
    for variable in ["NVCC", "CXX"] {
        println!("cargo::rerun-if-env-changed={variable}");
    }
    let output = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    let library = output.join("libprices.a");
    if let Some(nvcc) = nvcc() {
        run(Command::new(&nvcc)
            // Machine code for all GPUs, since a driver may be older than the compiler.
            .args([
                "-std=c++17",
                "-O3",
                "-arch=all-major",
                "-Xcompiler",
                "-fPIC",
                "-I",
                INCLUDE,
                "-lib",
                "src/prices.cu",
            ])
            .arg("-o")
            .arg(&library));
        let toolkit = nvcc.parent().and_then(Path::parent).expect("it is in a folder bin");
        for folder in ["lib64", "lib", "targets/x86_64-linux/lib"] {
            println!("cargo::rustc-link-search={}", toolkit.join(folder).display());
        }
        // The program may use a GPU.
        println!("cargo::rustc-env=PRICES_ON_GPU=1");
        for needed in ["cudart_static", "rt", "dl", "pthread"] {
            println!("cargo::rustc-link-lib={needed}");
        }
    } else {
        let compiler = env::var("CXX").unwrap_or_else(|_| "g++".to_owned());
        let object = output.join("prices.o");
        run(Command::new(&compiler)
            .args(["-std=c++17", "-O2", "-fPIC", "-I", INCLUDE, "-x", "c++", "-c", "src/prices.cu", "-o"])
            .arg(&object));
        run(Command::new("ar").arg("crs").arg(&library).arg(&object));
    }
    println!("cargo::rustc-link-search={}", output.display());
    println!("cargo::rustc-link-lib=static=prices");
    println!("cargo::rustc-link-lib=stdc++");
}

/// Returns the path of nvcc, if there is one.
fn nvcc() -> Option<PathBuf> {
    let named = env::var_os("NVCC").map(PathBuf::from);
    let on_path =
        || env::split_paths(&env::var_os("PATH")?).map(|folder| folder.join("nvcc")).find(|file| file.is_file());
    // The libraries are beside the file itself, and not beside a link to it.
    named.or_else(on_path)?.canonicalize().ok()
}

/// Runs a compiler; its errors are those of the build.
fn run(command: &mut Command) {
    let status = command.status().unwrap_or_else(|error| panic!("cannot run {command:?}: {error}"));
    assert!(status.success(), "{command:?} failed");
}
