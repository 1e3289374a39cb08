//! The build of a page table. `protocol` tries one strategy after another, reads the [`outcome`] of
//! each attempt, and writes the [`report`]. An [`attempt`] splits the pairs and builds the pages. A
//! [`counted`] attempt cannot overflow a bin. An [`unordered`] attempt treats keys as if they were
//! unique. [`plan`] and [`unordered_plan`] have all sizes.

pub(super) mod attempt;
mod counted;
pub(super) mod outcome;
pub(super) mod plan;
mod protocol;
pub(super) mod report;
mod unordered;
mod unordered_plan;
