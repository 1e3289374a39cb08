//! Names the library as NVIDIA's is named: who asks the loader for that name, once it is open, gets
//! it.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libcuda.so.1");
}
