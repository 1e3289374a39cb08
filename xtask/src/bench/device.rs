//! The device that a command runs on, as its arguments name it.

use std::str::FromStr;

use anyhow::{Context as _, bail};
use warpnest::Device;

/// Which device to run on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum DeviceChoice {
    Best,
    Cpu,
    Cuda(u32),
}

impl FromStr for DeviceChoice {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> anyhow::Result<Self> {
        Ok(match text {
            "best" => Self::Best,
            "cpu" => Self::Cpu,
            "cuda" => Self::Cuda(0),
            _ => match text.strip_prefix("cuda:") {
                Some(ordinal) => Self::Cuda(ordinal.parse().context("after `cuda:` comes a device's number")?),
                None => bail!("name `best`, `cpu`, `cuda` or `cuda:N`"),
            },
        })
    }
}

impl DeviceChoice {
    /// Opens it.
    pub fn open(self) -> anyhow::Result<Device> {
        Ok(match self {
            Self::Best => Device::best()?,
            Self::Cpu => Device::cpu(),
            Self::Cuda(ordinal) => Device::cuda(ordinal)?,
        })
    }
}
