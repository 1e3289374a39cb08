//! Machine code beside the PTX of a module: which the driver gets, and when there is PTX instead.

use crate::Session;
use crate::modules::{BASELINE, HOPPER, added, module};
use fake_cuda_driver::Fault;
use ruzstd::encoding::{CompressionLevel, compress_to_vec};
use warpnest::{Device, Error};
use warpnest_build::cubins::{Image, pack};

/// The result of the kernel in the PTX.
const OF_PTX: [f32; 3] = [75.0, 0.0, 37.5];

/// Returns a file of machine code, made of some PTX, that the driver takes for an architecture. Its
/// kernel writes the architecture as the first total.
fn file(ptx: &str, arch: u8) -> Vec<u8> {
    let (head, body) = ptx.split_once("\n{").unwrap();
    assert!(body.contains("add_weights_param_3"));
    let code = format!(
        "{head}\n{{\n.reg .b64 %rd<2>;\n.reg .b32 %r<2>;\nld.param.b64 %rd1, [add_weights_param_3];\nmov.b32 %r1, {};\n\
         st.global.b32 [%rd1], %r1;\nret;\n}}\n\0",
        f32::from(arch).to_bits()
    );
    let mut bytes = [0; 64];
    bytes[..8].copy_from_slice(b"\x7fELFfake");
    bytes[8] = arch;
    packed(ptx, arch, [&bytes, code.as_bytes()].concat())
}

/// Returns a file with one image.
fn packed(ptx: &str, arch: u8, bytes: Vec<u8>) -> Vec<u8> {
    let images = [Image { kernel: "add_weights".to_owned(), bytes }];
    let compress = |block: &[u8]| Ok(compress_to_vec(block, CompressionLevel::Fastest));
    pack(ptx, &format!("sm_{arch}"), "1.2.3", &images, compress).unwrap()
}

/// Loads the module with some machine code, and runs its kernel.
fn with(device: &Device, files: Vec<Vec<u8>>) -> Result<Vec<f32>, Error> {
    let files: Vec<&'static [u8]> = files.into_iter().map(|file| &*file.leak()).collect();
    device.load(&module(&[BASELINE, HOPPER]).with_cubins(files.leak()))?;
    added(device)
}

#[test]
fn a_gpu_gets_the_machine_code_of_its_architecture_and_any_other_the_ptx() {
    let session = Session::new();
    let files = || [80, 90, 100, 120].map(|arch| file(HOPPER, arch)).to_vec();
    assert_eq!(with(&session.device(0), files()).unwrap(), [90.0, 0.0, 0.0]);
    assert_eq!(with(&session.device(0), vec![file(HOPPER, 80), file(HOPPER, 100)]).unwrap(), OF_PTX);
    // Of capability 7.5, with the PTX of another file.
    assert_eq!(with(&session.device(1), vec![file(BASELINE, 75)]).unwrap(), [75.0, 0.0, 0.0]);
    assert_eq!(with(&session.device(1), files()).unwrap(), OF_PTX);
}

#[test]
fn machine_code_that_the_driver_refuses_gives_way_to_the_ptx() {
    let session = Session::new();
    let device = session.device(0);
    // Of another length each time, or it would be the module that is there already.
    let foreign = |more: usize| vec![packed(HOPPER, 90, [b"\x7fELF".as_slice(), &vec![0; 60 + more]].concat())];
    let before = session.driver.calls("cuModuleLoadDataEx");
    assert_eq!(with(&device, foreign(0)).unwrap(), OF_PTX);
    assert!(session.driver.calls("cuModuleLoadDataEx") >= before + 2);
    // Neither is taken.
    session.driver.plant(Fault::next("cuModuleLoadDataEx", 222).lasting());
    let error = with(&device, foreign(1)).unwrap_err();
    assert!(matches!(error, Error::Jit { .. }), "{error}");
    session.driver.clear();
    // An error that is not of the machine code.
    session.driver.plant(Fault::next("cuModuleLoadDataEx", 2));
    let error = with(&device, vec![file(HOPPER, 90)]).unwrap_err();
    assert!(matches!(error, Error::OutOfMemory { .. }), "{error}");
}

#[test]
fn machine_code_of_other_ptx_and_damaged_files_are_not_used() {
    let session = Session::new();
    let device = session.device(0);
    let good = file(HOPPER, 90);
    let text = |from: &str, to: &str| {
        let (index, blocks) = good.split_at(good.windows(2).position(|two| two == b"\n\n").unwrap());
        let index = std::str::from_utf8(index).unwrap();
        assert!(index.contains(from), "{index}");
        [index.replace(from, to).as_bytes(), blocks].concat()
    };
    assert_eq!(with(&device, vec![file(BASELINE, 90)]).unwrap(), OF_PTX, "it is of another module");
    for (from, to) in [
        ("sha256: ", "sha256: 0"),
        ("cubins 1", "cubins 2"),
        ("sm_90", "sm_x"),
        ("block ", "block x"),
        ("block ", "block 99999999999999999"),
        ("block ", "lock "),
        (" add_weights", " add_weight"),
    ] {
        assert_eq!(with(&device, vec![text(from, to)]).unwrap(), OF_PTX, "{from} became {to}");
    }
    for length in (0..good.len()).step_by(7) {
        assert_eq!(with(&device, vec![good[..length].to_vec()]).unwrap(), OF_PTX, "{length} bytes are left");
    }
    // A byte of the compressed blocks may have bits without a meaning, so that the machine code is
    // right nevertheless.
    let mut used = Vec::new();
    for at in (good.len() - 100..good.len()).step_by(9) {
        let mut file = good.clone();
        file[at] ^= 0x10;
        match with(&device, vec![file]).unwrap() {
            found if found == OF_PTX => {}
            found => used.push((at, found)),
        }
    }
    assert!(used.len() <= 1 && used.iter().all(|(_, found)| *found == [90.0, 0.0, 0.0]), "{used:?}");
    assert_eq!(with(&device, vec![good]).unwrap(), [90.0, 0.0, 0.0]);
}
