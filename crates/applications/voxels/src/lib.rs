//! The library of the example `voxels`: meshes, their voxels, and pictures of them.
//!
//! The examples are the applications that the first papers on GPU hash tables had in mind.
#![allow(missing_docs, reason = "this crate is for examples, and is not published; fields say what they are")]

pub mod blur;
pub mod camera;
pub mod mesh;
pub mod models;
pub mod picture;
pub mod placement;
pub mod voxelize;
