//! Which of many reference pictures is in a scene, and where: geometric hashing of interest points.

pub mod finder;
pub mod plain;
pub mod points;
pub mod scenes;
