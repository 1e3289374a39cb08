//! Modules, their functions, and launches of the functions.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::slice;

use super::{call_in, give};
use crate::answer::code;
use crate::stream::Work;
use crate::{MOST_SHARED, SHARED};

/// Machine code as a driver sees it: an ELF file. This driver takes files of its own, which have a
/// mark in their header, and behind it PTX that ends with a zero byte.
struct Elf {
    is_fake: bool,
    /// The architecture, such as 90, if it is a fake.
    arch: u8,
}

impl Elf {
    /// The bytes of the header.
    const HEADER: usize = 64;
    /// The first bytes of any ELF file.
    const MAGIC: [u8; 4] = *b"\x7fELF";
    /// The word behind these, where a real file has its class and version.
    const MARK: [u8; 4] = *b"fake";

    /// Returns what the header of an image says, unless it is PTX.
    ///
    /// # Safety
    /// The image has four bytes, and the whole header if it is an ELF file.
    unsafe fn of(image: *const c_char) -> Option<Self> {
        // SAFETY: there are four bytes.
        if unsafe { *image.cast::<[u8; 4]>() } != Self::MAGIC {
            return None;
        }
        // SAFETY: there is the header.
        let header = unsafe { &*image.cast::<[u8; Self::HEADER]>() };
        Some(Self { is_fake: header[4..8] == Self::MARK, arch: header[8] })
    }

    fn runs_on(&self, (major, minor): (i32, i32)) -> bool {
        let arch = i32::from(self.arch);
        self.is_fake && arch / 10 == major && arch % 10 <= minor
    }
}

functions! {
    call_in cuModuleLoadDataEx(
        module: *mut usize,
        image: *const c_char,
        options: c_uint,
        names: *const c_uint,
        values: *const *mut c_void,
    ) |state| {
        // SAFETY: the arrays of names and values have `options` items.
        let (names, values) = unsafe {
            (slice::from_raw_parts(names, options as usize), slice::from_raw_parts(values, options as usize))
        };
        let handle = state.handle();
        // SAFETY: the caller's image ends with a zero byte, or is an ELF file, which has a header.
        let elf = unsafe { Elf::of(image) };
        // SAFETY: the image is PTX, or an ELF file with PTX in it, and ends with a zero byte.
        let ptx = |at| unsafe { CStr::from_ptr(image.add(at)) }.to_string_lossy();
        let context = state.context()?;
        let loaded = match elf {
            None => context.load(handle, &ptx(0)),
            Some(elf) if elf.runs_on(context.capability()) => context.load(handle, &ptx(Elf::HEADER)),
            Some(_) => Err((code::NO_BINARY_FOR_GPU, String::new())),
        };
        if let Err((code, log)) = loaded {
            let option = |number| names.iter().position(|&name| name == number).map(|at| values[at]);
            // Options 5 and 6 are the log's buffer and its size.
            if let (Some(buffer), Some(bytes)) = (option(5), option(6)) {
                let bytes = (bytes as usize).saturating_sub(1).min(log.len());
                // SAFETY: the caller's buffer has `bytes + 1` bytes.
                unsafe {
                    buffer.cast::<u8>().copy_from_nonoverlapping(log.as_ptr(), bytes);
                    buffer.cast::<u8>().add(bytes).write(0);
                }
            }
            return Err(code);
        }
        give(module, handle)
    }

    call_in cuModuleGetFunction(function: *mut usize, module: usize, name: *const c_char) |state| {
        // SAFETY: the caller's name ends with a zero byte.
        let name = unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned();
        let handle = state.handle();
        let context = state.context()?;
        let Some(found) = context.modules.get(&module) else {
            return state.violation("cuModuleGetFunction", "no such module", code::INVALID_HANDLE);
        };
        found.entry(&name).ok_or(code::NOT_FOUND)?;
        context.functions.insert(handle, (module, name));
        give(function, handle)
    }

    call_in cuFuncSetAttribute(function: usize, attribute: c_int, value: c_int) |state| {
        let context = state.context()?;
        let found = context.functions.get(&function).and_then(|(module, name)| context.modules.get(module)?.entry(name));
        let Some(entry) = found else {
            return state.violation("cuFuncSetAttribute", "no such function", code::INVALID_HANDLE);
        };
        // Attribute 8 is the most dynamic shared memory that launches may request.
        if attribute != 8 || !(0..=MOST_SHARED as i64 - entry.shared_bytes as i64).contains(&value.into()) {
            return Err(code::INVALID_VALUE);
        }
        context.dynamic_shared.insert(function, value as u32);
        Ok(())
    }

    call_in cuModuleUnload(module: usize) |state| {
        let context = state.context()?;
        context.functions.retain(|_, (of, _)| *of != module);
        let functions = &context.functions;
        context.dynamic_shared.retain(|function, _| functions.contains_key(function));
        if context.modules.remove(&module).is_none() {
            return state.violation("cuModuleUnload", "no such module", code::INVALID_HANDLE);
        }
        Ok(())
    }

    call_in cuLaunchKernel(
        function: usize,
        grid_x: c_uint,
        grid_y: c_uint,
        grid_z: c_uint,
        block_x: c_uint,
        block_y: c_uint,
        block_z: c_uint,
        shared: c_uint,
        stream: usize,
        arguments: *const *const u8,
        extra: *const *const c_void,
    ) |state| {
        let context = state.context()?;
        let found = context.functions.get(&function).and_then(|(module, name)| context.modules.get(module)?.entry(name));
        let Some(entry) = found else {
            return state.violation("cuLaunchKernel", "no such function", code::INVALID_HANDLE);
        };
        let most = SHARED.saturating_sub(entry.shared_bytes as u32);
        let most = context.dynamic_shared.get(&function).copied().unwrap_or(most);
        let plain = [grid_y, grid_z, block_y, block_z] == [1, 1, 1, 1] && extra.is_null();
        if !plain || shared > most || grid_x == 0 || block_x == 0 {
            return Err(code::INVALID_VALUE);
        }
        let arguments = entry.params.iter().enumerate().map(|(at, param)| {
            // SAFETY: the caller passes a pointer to each argument, of the size that the kernel
            // declares.
            unsafe { slice::from_raw_parts(*arguments.add(at), param.size) }.to_vec()
        });
        let work = Work::Launch { function, blocks: grid_x, threads: block_x, shared, arguments: arguments.collect() };
        state.queue("cuLaunchKernel", stream, work)
    }
}
