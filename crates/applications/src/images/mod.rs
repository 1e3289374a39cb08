//! Which of many reference pictures is in a scene, and where: geometric hashing of interest points.

pub mod corners;
pub mod drawn;
pub mod finder;
pub mod gallery;
pub mod load;
pub mod plain;
pub mod points;
pub mod scenes;
pub mod sets;
