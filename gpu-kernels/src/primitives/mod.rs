//! Building blocks of the tables, each for itself:
//!
//! * sums over tiles in one pass ([`look_back`]), and what is made of them: [`scan`], [`compact`],
//!   and [`radix`] partition and sort;
//! * [`reduce`], by the functions of `combine`; histograms of many values ([`wide_histogram`]);
//! * [`gather`] and [`scatter`] of rows, [`flags`], indices in order ([`iota`]);
//! * how blocks [`append`] to an output, and how a few words are read back to the host
//!   ([`readback`]).

pub mod append;
mod combine;
pub mod compact;
pub mod flags;
pub mod gather;
pub mod iota;
pub mod look_back;
pub mod radix;
pub mod readback;
pub mod reduce;
pub mod scan;
pub mod scatter;
pub mod wide_histogram;
