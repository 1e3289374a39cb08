//! What the examples share: meshes, their voxels, and pictures of them; interest points of
//! pictures, and geometric hashing of them.
//!
//! The examples are the applications that the first papers on GPU hash tables had in mind.
#![allow(missing_docs, reason = "this crate is for its examples, and is not published; fields say what they are")]

pub mod camera;
pub mod images;
pub mod lettering;
pub mod mesh;
pub mod models;
pub mod picture;
pub mod solids;
pub mod voxelize;
