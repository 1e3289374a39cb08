//! Joins: [`Join`](super::Join) has the documentation.
//!
//! A join begins as a `query`, `by_keys` or with `values`, over `sides`, which `chunks`, `kept` and
//! `joined` put in other forms. `plan` has all sizes, for the machine at hand: how each side is
//! laid out (`side_layout`) and in how many `pass`es. `run` carries it out by `launches`; the
//! launches of a pass are in `launch_pass`.

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
