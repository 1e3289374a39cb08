//! Geometric hashing of interest points, which finds reference pictures and their poses in a scene.
#![allow(missing_docs, reason = "this crate is for its example, and is not published; fields say what they are")]

pub mod corners;
pub mod drawn;
pub mod finder;
pub mod gallery;
pub mod hypothesis;
pub mod load;
pub mod points;
pub mod scenes;
pub mod sets;

/// The kernels of the applications.
pub static KERNELS: warpnest::Module = warpnest::module!("../../kernels/ptx/applications");
