//! Builds a map on the best device that there is, and asks it.

use warpnest::{Device, PageMap};

fn main() -> warpnest::Result<()> {
    let device = Device::best()?;
    println!("running on {}", device.name());
    if let Some(reason) = device.fallback_reason() {
        println!("not on a GPU: {reason}");
    }

    let keys: Vec<u32> = (0..10_000).map(|i| i * 7).collect();
    let values: Vec<u64> = (0..10_000).map(|i| i * i).collect();
    let map = PageMap::build(&device, &keys, &values)?;
    let answers = map.get_many(&[0, 7, 8, 7 * 9_999])?;
    println!("{answers:?}");
    assert_eq!(answers, [Some(0), Some(1), None, Some(9_999 * 9_999)]);
    Ok(())
}
