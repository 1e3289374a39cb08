//! The driver's library: opened once, kept for ever.

mod stub;
mod symbols;
mod trampoline;

use std::error::Error as _;
use std::sync::OnceLock;
use std::sync::atomic::Ordering;

use libloading::os::unix::Library;

use crate::LoadError;
use symbols::ENTRIES;

const LIBRARY: &str = "libcuda.so.1";

/// The open driver. A static is never dropped, so the addresses in the slots stay good as long as the process runs.
static DRIVER: OnceLock<Result<Library, LoadError>> = OnceLock::new();

pub(crate) fn load() -> Result<(), LoadError> {
    match DRIVER.get_or_init(open) {
        Ok(_) => Ok(()),
        Err(error) => Err(error.clone()),
    }
}

fn open() -> Result<Library, LoadError> {
    // SAFETY: opening a library runs its initializers. The name is the driver's, whose initializers may run at any
    // time and on any thread; whoever puts another library under that name answers for it.
    let library = unsafe { Library::new(LIBRARY) }.map_err(|error| {
        // The loader's message is in the source: libloading's own text says only that dlopen failed.
        let message = error.source().map_or_else(|| error.to_string(), ToString::to_string);
        LoadError::Open { library: LIBRARY, message }
    })?;
    // Before any slot is written: a library that fails here is closed again.
    if address(&library, "cuInit").is_none() {
        return Err(LoadError::NotADriver { library: LIBRARY });
    }
    for entry in ENTRIES {
        // A library linked against this one could hand back our own symbol: a slot that held it would jump to itself.
        // Reading the trampoline's address here has a second effect, on which the crate relies: whoever links `load`
        // links all the symbols, in whatever order the linker meets the crates.
        let ours = entry.trampoline as *mut ();
        if let Some(theirs) = address(&library, entry.name).filter(|&theirs| theirs != ours) {
            entry.slot.store(theirs, Ordering::Release);
        }
    }
    Ok(library)
}

fn address(library: &Library, name: &str) -> Option<*mut ()> {
    // SAFETY: the symbol is not used as a value of any type, only its address is taken.
    let symbol = unsafe { library.get::<*mut ()>(name) }.ok()?;
    Some(symbol.as_raw_ptr().cast()).filter(|address: &*mut ()| !address.is_null())
}
