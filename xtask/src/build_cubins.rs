//! Machine code of the library's kernels, which its feature `cubins` embeds.

use std::fs;
use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result};
use warpnest_build::{Module, cubins, ptxas};

use crate::{build_ptx, resources, workspace};

/// The GPUs for which there is machine code if none are named. One for `sm_80` also runs on
/// `sm_86`, but is made for another machine.
const COMMON: [&str; 6] = ["sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120"];
/// How hard zstd compresses. Higher levels take twice as long, and gain nothing.
const LEVEL: i32 = 19;

/// Assemble the committed PTX of gpu-kernels to machine code, in crates/warpnest/cubins, for the
/// feature `cubins` of the library.
///
/// Needs ptxas, which WARPNEST_PTXAS may name. Files that were there are removed. A driver takes
/// machine code of a ptxas of its own major version or an older one; for other devices and drivers
/// there is the PTX.
#[derive(clap::Args)]
pub struct Args {
    /// The GPUs, instead of sm_80, sm_86, sm_89, sm_90, sm_100 and sm_120; may be repeated.
    #[arg(long = "arch", value_name = "GPU", value_delimiter = ',')]
    archs: Vec<String>,
}

/// Runs `cargo xtask build-cubins`.
pub fn main(args: &Args) -> Result<()> {
    let root = workspace::root()?;
    let named: Vec<&str> = args.archs.iter().map(String::as_str).collect();
    build(&root, if named.is_empty() { &COMMON } else { &named })
}

/// Builds the machine code for the common GPUs.
pub fn common(root: &Path) -> Result<()> {
    build(root, &COMMON)
}

fn build(root: &Path, archs: &[&str]) -> Result<()> {
    let ptxas = ptxas::find(&workspace::target_dir(root))?.context(resources::HOW_TO_GET_PTXAS)?;
    let version = cubins::version(&ptxas)?;
    let modules = build_ptx::kernels(root)?.modules();
    let sources = archs.iter().map(|arch| source(&modules, arch)).collect::<Result<Vec<_>>>()?;
    let folder = root.join("crates/warpnest/cubins");
    for file in workspace::files(&folder)? {
        if file.extension().is_some_and(|extension| extension == "cubins") {
            fs::remove_file(&file).with_context(|| format!("cannot remove {}", file.display()))?;
        }
    }
    let work = tempfile::tempdir()?;
    for (&arch, module) in archs.iter().zip(sources) {
        let start = Instant::now();
        let ptx = fs::read_to_string(&module.path).with_context(|| format!("cannot read {}", module.path.display()))?;
        let images = cubins::assemble(&ptxas, arch, &ptx, work.path())?;
        let packed = cubins::pack(&ptx, arch, &version, &images, compressed)?;
        let path = folder.join(format!("{arch}.cubins"));
        fs::write(&path, &packed).with_context(|| format!("cannot write {}", path.display()))?;
        let bytes: usize = images.iter().map(|image| image.bytes.len()).sum();
        println!(
            "{arch}: {} kernels of {} by ptxas {version}, {bytes} bytes, packed {}, in {:.0} s",
            images.len(),
            module.file_name(),
            packed.len(),
            start.elapsed().as_secs_f64()
        );
    }
    Ok(())
}

/// Returns the PTX that a GPU of an architecture gets: of the newest target that is no newer.
fn source<'m>(modules: &'m [Module], arch: &str) -> Result<&'m Module> {
    let number = |name: &str| name.strip_prefix("sm_").and_then(|number| number.parse::<u32>().ok());
    let wanted = number(arch).with_context(|| format!("{arch} is no GPU: name one as sm_90"))?;
    let older = modules.iter().filter(|module| number(module.target.cpu()).is_some_and(|number| number <= wanted));
    let newest = older.max_by_key(|module| number(module.target.cpu()));
    newest.with_context(|| format!("no PTX is for {arch}"))
}

/// Returns a frame of zstd with a checksum.
fn compressed(block: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut compressor = zstd::bulk::Compressor::new(LEVEL)?;
    compressor.include_checksum(true)?;
    compressor.compress(block)
}
