//! Gives the library the name of NVIDIA's driver library, by which the dynamic loader finds it once
//! it is open.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libcuda.so.1");
}
