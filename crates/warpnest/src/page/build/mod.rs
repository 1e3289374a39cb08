//! The build of a table. `protocol` tries one way after the other, until an attempt succeeds whose
//! [`outcome`] it reads; what it reports is in [`report`]. An [`attempt`] splits the pairs, and
//! builds the pages; a [`counted`] one overflows no bin; an [`unordered`] one does as if keys were
//! unique. [`plan`] and [`unordered_plan`] have all sizes beforehand.

pub(super) mod attempt;
mod counted;
pub(super) mod outcome;
pub(super) mod plan;
mod protocol;
pub(super) mod report;
mod unordered;
mod unordered_plan;
