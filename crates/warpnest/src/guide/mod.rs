//! The guide, one subject a chapter, behind the [start page](crate). The [`cookbook`] has recipes
//! of three lines.

// What the chapters link to.
#[allow(unused_imports)]
use crate::*;

#[doc = include_str!("buffers.md")]
pub mod buffers {}
#[doc = include_str!("changing.md")]
pub mod changing {}
#[doc = include_str!("choosing.md")]
pub mod choosing {}
#[doc = include_str!("consistency.md")]
pub mod consistency {}
#[doc = include_str!("environment.md")]
pub mod environment {}
#[doc = include_str!("errors.md")]
pub mod errors {}
#[doc = include_str!("files.md")]
pub mod files {}
#[doc = include_str!("generic.md")]
pub mod generic {}
#[doc = include_str!("grouping.md")]
pub mod grouping {}
#[doc = include_str!("kernels.md")]
pub mod kernels {}
#[doc = include_str!("order.md")]
pub mod order {}
#[doc = include_str!("sets.md")]
pub mod sets {}
#[doc = include_str!("sharing.md")]
pub mod sharing {}
#[doc = include_str!("strings.md")]
pub mod strings {}
