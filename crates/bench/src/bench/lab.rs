//! What all measurements have in common.

use super::record::Run;
use super::roofline::Roofline;
use anyhow::Context as _;
use warpnest::Device;
use warpnest::design::{Design, Page};

/// The device, the number of pairs, and what else all measurements have in common.
#[derive(Clone, Copy)]
pub struct Bench<'b> {
    pub device: &'b Device,
    pub run: &'b Run,
    pub roofline: &'b Roofline<'b>,
    pub n: u64,
    pub runs: u32,
}

/// Returns the name of a table over a map: with the map's name, unless it is a page map.
pub fn name_on<D: Design>(table: &str) -> String {
    if D::NAME == Page::NAME { table.to_owned() } else { format!("{table}<{}Map>", D::NAME) }
}

/// Returns whether it is the CPU engine, which is only there with the feature `cpu`.
#[cfg(feature = "cpu")]
pub fn is_cpu(device: &Device) -> bool {
    *device == Device::cpu()
}

/// Returns whether it is the CPU engine, which is only there with the feature `cpu`.
#[cfg(not(feature = "cpu"))]
pub fn is_cpu(_: &Device) -> bool {
    false
}

/// Reads a number of pairs, as 1000000 or 2^20.
pub fn parse_size(text: &str) -> anyhow::Result<u64> {
    let size = match text.split_once('^') {
        Some((base, exponent)) => base.parse::<u64>()?.checked_pow(exponent.parse()?),
        None => Some(text.parse()?),
    };
    // There are 2^32 keys of 32 bits, and half of the queries are absent ones.
    size.filter(|n| (1..=1 << 31).contains(n)).context("give a number from 1 to 2^31, such as 1000000 or 2^24")
}

/// Returns the name of a device in the records: the CPU engine has its number of threads in it.
pub fn device_name(device: &Device) -> String {
    if is_cpu(device) {
        format!("CPU, {} threads", std::thread::available_parallelism().map_or(1, usize::from))
    } else {
        device.name().to_owned()
    }
}
