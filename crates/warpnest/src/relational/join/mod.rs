//! Joins: [`Join`](super::Join) has the documentation.

mod chunks;
mod columns;
mod in_place;
mod joined;
mod kept;
mod launch_pass;
mod launches;
mod machine;
mod pass;
mod plan;
mod query;
mod run;
mod side_layout;
mod sides;
mod values;

pub use gpu_kernels::relational::join::NO_ROW;
pub use joined::{JoinKind, JoinMethod, JoinReport, Joined};
pub use kept::KeptSide;
pub use query::Join;
pub(super) use sides::{Table, renumber};
pub use values::{JoinWithValues, JoinedValues};
