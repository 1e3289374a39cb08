//! Joins: [`Join`](super::Join) has the documentation.

mod in_place;
mod joined;
mod launches;
mod plan;
mod query;
mod run;

pub use gpu_kernels::relational::join::NO_ROW;
pub use joined::{JoinKind, JoinMethod, JoinReport, Joined};
pub use query::Join;
