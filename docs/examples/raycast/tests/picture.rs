//! The picture on every engine: the CPU, the one that finds conflicts, the PTX in the interpreter,
//! and a GPU if there is one.

use raycast::{Raycast, View, scene};
use warpnest::{Buffer, Device, Module, PageMap, Result};

static KERNELS: Module = warpnest::module!("../ptx/raycast");

fn drawn(device: &Device, side: u32, width: u32, height: u32) -> Result<Vec<u32>> {
    device.load(&KERNELS)?;
    let (keys, normals) = scene::gyroid(side);
    let map: PageMap<u32, u32> = PageMap::build(device, &keys, &normals)?;
    drawn_of(device, &map, scene::view(side, width, height))
}

fn drawn_of(device: &Device, map: &PageMap<u32, u32>, view: View) -> Result<Vec<u32>> {
    let (stream, count) = (device.default_stream(), (view.width * view.height) as usize);
    let mut pixels = Buffer::<u32>::zeroed(device, count)?;
    // SAFETY: there are as many pixels as the view has.
    unsafe {
        stream.launch(count, |uses| Raycast { voxels: uses.table(map), pixels: uses.write(&mut pixels), view })?;
    }
    pixels.download(stream)
}

#[test]
fn all_engines_draw_the_same_picture_and_it_shows_the_surface() {
    let expected = drawn(&Device::cpu(), 12, 12, 9).unwrap();
    let bright = expected.iter().filter(|&&pixel| pixel & 0xff > 60 || pixel >> 16 > 60).count();
    assert!((20..100).contains(&bright), "{bright} of 108 pixels show the surface");
    for device in warpnest_testing::devices(2) {
        assert_eq!(drawn(&device, 12, 12, 9).unwrap(), expected, "{}", device.name());
    }
}

#[test]
fn a_map_without_voxels_is_sky() {
    let device = Device::cpu();
    let map: PageMap<u32, u32> = PageMap::build(&device, &[], &[]).unwrap();
    let pixels = drawn_of(&device, &map, scene::view(8, 4, 3)).unwrap();
    assert!(pixels.iter().all(|pixel| pixel & 0xff < 60 && pixel >> 16 < 60), "{pixels:x?}");
}
