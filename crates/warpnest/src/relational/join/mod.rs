//! Joins: [`Join`](super::Join) has the documentation.
//!
//! A join starts as a `query`: `by_keys`, or with `values`. It has two `sides`. `chunks` and `kept`
//! are other forms of joins, and `joined` is the result. `plan` computes all sizes for the device:
//! the layout of each side (`side_layout`), and the `pass`es. `run` executes the plan with the
//! launches of `launches` and `launch_pass`.

mod by_keys;
mod chunks;
mod columns;
mod joined;
mod kept;
mod launch_pass;
mod launches;
mod pass;
mod plan;
mod query;
mod run;
mod side_layout;
mod sides;
mod values;

pub use by_keys::Join;
pub use gpu_kernels::relational::join::NO_ROW;
pub use joined::{JoinKind, JoinMethod, JoinReport, Joined};
pub use kept::KeptSide;
pub use query::JoinQuery;
pub(crate) use query::{JoinOptions, Joins, JoinsRows};
pub(super) use sides::{Table, renumber};
pub use values::{JoinWithValues, JoinedValues};
