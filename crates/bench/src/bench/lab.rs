//! The common parts of all measurements.

use super::record::Run;
use super::roofline::Roofline;
use anyhow::Context as _;
use warpnest::Device;
use warpnest::design::{Design, Page};

/// The device, the number of pairs, and the other common parameters of measurements.
#[derive(Clone, Copy)]
pub struct Bench<'b> {
    pub device: &'b Device,
    pub run: &'b Run,
    pub roofline: &'b Roofline<'b>,
    pub n: u64,
    pub runs: u32,
}

/// Returns the name of a table over a map. It contains the map's name, unless this is a page map.
pub fn name_on<D: Design>(table: &str) -> String {
    if D::NAME == Page::NAME { table.to_owned() } else { format!("{table}<{}Map>", D::NAME) }
}

/// Returns whether the device is the CPU engine, which only exists with the feature `cpu`.
#[cfg(feature = "cpu")]
pub fn is_cpu(device: &Device) -> bool {
    *device == Device::cpu()
}

/// Returns whether the device is the CPU engine, which only exists with the feature `cpu`.
#[cfg(not(feature = "cpu"))]
pub fn is_cpu(_: &Device) -> bool {
    false
}

/// Parses a number of pairs, written as 1000000 or 2^20.
pub fn parse_size(text: &str) -> anyhow::Result<u64> {
    let size = match text.split_once('^') {
        Some((base, exponent)) => base.parse::<u64>()?.checked_pow(exponent.parse()?),
        None => Some(text.parse()?),
    };
    // There are 2^32 keys of 32 bits, and half of the queries are for absent keys.
    size.filter(|n| (1..=1 << 31).contains(n)).context("give a number from 1 to 2^31, such as 1000000 or 2^24")
}

/// Returns the name of a device in records. The CPU engine's name contains its number of threads.
pub fn device_name(device: &Device) -> String {
    if is_cpu(device) {
        format!("CPU, {} threads", std::thread::available_parallelism().map_or(1, usize::from))
    } else {
        device.name().to_owned()
    }
}
