//! Gives the library the name of NVIDIA's driver library. Once the library is open, whoever
//! requests that name from the dynamic loader gets this library.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libcuda.so.1");
}
