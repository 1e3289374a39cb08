//! Algorithms that the tables use, each independent of any table:
//!
//! * sums over tiles in one pass ([`look_back`]), and the algorithms that use them: [`scan`],
//!   [`compact`], and [`radix`] partition and sort;
//! * [`reduce`] by the functions of `combine`; histograms of wide bit fields ([`wide_histogram`]);
//! * [`gather`] and [`scatter`] of rows, [`flags`], and ascending indices ([`iota`]);
//! * [`append`] to an output by many blocks, and [`readback`] of a few words to the host.

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
