//! The errors of this crate. Their texts contain the figures and what to do.
//!
//! [`Error`] is here, and its variants' types are in the other files. `check` checks inputs.

mod build;
mod check;
mod config;
mod file;
mod input;

pub use build::{BuildError, FullError};
pub(crate) use check::{check_slots, same_length};
pub use config::ConfigError;
pub use file::{FileError, IoError, TableKind};
pub use input::InputError;

use std::io;

/// The result of an operation of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The reason why an operation failed. Unless a variant says otherwise, nothing has changed.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A setting is invalid, alone or for the size of the input.
    #[error(transparent)]
    Config(#[from] ConfigError),

    /// The operation refuses an input.
    #[error(transparent)]
    Input(#[from] InputError),

    /// A build did not succeed. If it was a rebuild, the table is empty.
    #[error(transparent)]
    BuildFailed(#[from] BuildError),

    /// A table has no capacity left for new keys.
    #[error(transparent)]
    Full(#[from] FullError),

    /// A table could not be saved or loaded. A file that existed before is unchanged.
    #[error(transparent)]
    File(#[from] FileError),

    /// The device does not have enough memory.
    #[error("{}", out_of_memory(*asked, *free, *total, device))]
    OutOfMemory {
        /// The count of bytes that were requested. It is 0 if the driver lacks an unknown amount of
        /// memory for a kernel or a stream, and `u64::MAX` if 64 bits cannot count the bytes.
        asked: u64,
        /// The count of free bytes, which is also 0 if it is unknown.
        free: u64,
        /// The count of bytes that the process may use in all, or 0 if it is unknown. On the CPU
        /// engine it is the memory of the machine, or the limit of a control group or `ulimit`.
        total: u64,
        /// The device's name.
        device: String,
    },

    /// A change of a table failed halfway, and the table has lost its keys.
    #[error(
        "the table is empty, for a change of it failed in its middle: insert its keys again. What failed: {source}"
    )]
    Emptied {
        /// The error that made the change fail. The text of this variant contains it, so it is not
        /// returned again by [`source`](std::error::Error::source).
        r#source: Box<Error>,
    },

    /// A buffer or stream belongs to another device.
    #[error("{}", wrong_device(what, found, expected))]
    WrongDevice {
        /// The name of the buffer or stream.
        what: &'static str,
        /// The device of the buffer or stream.
        found: String,
        /// The device of the operation.
        expected: String,
    },

    /// The device cannot load and change words of 128 bits atomically.
    #[error(
        "{what} needs atomic operations on words of 128 bits, and {device} has none: take keys and values of 32 bits, a GPU of compute \
         capability 9.0 or later, or the CPU"
    )]
    NoWideAtomics {
        /// The name of the table.
        what: &'static str,
        /// The device's name.
        device: String,
    },

    /// The device does not exist, or it cannot be used.
    #[error("CUDA device {ordinal} cannot be used: {reason}")]
    NoDevice {
        /// The requested ordinal.
        ordinal: u32,
        /// The reason, and what to do.
        reason: String,
    },

    /// The driver refused the kernels of a package. If the package is `gpu-kernels`, which belongs
    /// to this library, this is a bug of warpnest or of the driver.
    #[error(
        "the driver could not compile the kernels of {package} ({name}): update the driver, build their PTX again, or report this as a \
         bug of warpnest if they are its own; the driver's log:\n{log}"
    )]
    Jit {
        /// The package that declares the kernels.
        package: String,
        /// The name of the driver's error.
        name: String,
        /// The log of the driver's compiler.
        log: String,
    },

    /// The driver reported an error. After an error inside a kernel the context is lost, and every
    /// further call reports the error.
    #[error(
        "the driver's {call} failed: {name} ({code}); if all calls fail from now on, drop all that is on the device, or start the \
         program again"
    )]
    Driver {
        /// The driver's function.
        call: &'static str,
        /// The driver's result code.
        code: u32,
        /// The driver's name for that code, if it has one.
        name: String,
    },

    /// Arrow could not make an array of a result.
    #[error(
        "Arrow could not make {what}: {reason}; take fewer rows, leave out columns of such types, or cast them first"
    )]
    Arrow {
        /// The array that could not be made.
        what: String,
        /// The text of Arrow's error.
        reason: String,
    },

    /// A module of kernels cannot be loaded.
    #[error("the module of {package} cannot be loaded: {reason}")]
    Module {
        /// The package of the kernels.
        package: String,
        /// The reason, and what to do.
        reason: String,
    },

    /// The device does not have the kernel, or an engine reported a fault in it.
    #[error("kernel {kernel} failed: {fault}")]
    Kernel {
        /// The kernel's name.
        kernel: String,
        /// The description of the fault.
        fault: String,
    },
}

impl FileError {
    /// Returns a function that converts an error of the operating system to an [`Error`].
    pub(crate) fn io(action: &'static str) -> impl FnOnce(io::Error) -> Error {
        move |error| Error::File(Self::Io { action, path: None, source: error.into() })
    }

    /// Returns the error for contents that no table has.
    pub(crate) fn inconsistent(what: &'static str) -> Error {
        Error::File(Self::Inconsistent { what })
    }
}

fn out_of_memory(asked: u64, free: u64, total: u64, device: &str) -> String {
    let is_free = asked <= free && asked != 0;
    let asked = match asked {
        0 => "memory for the driver itself was".to_owned(),
        u64::MAX => "more bytes than any device has were".to_owned(),
        _ => format!("{asked} bytes were"),
    };
    let of_all = if total > free { format!(" of {total} ({} are in use)", total - free) } else { String::new() };
    let device = match free {
        // An engine that does not know the free memory reports 0 free bytes of 0.
        0 if total == 0 => format!("{device} does not have them"),
        // Free memory may be in pieces that are too small, or the system may refuse it for another
        // reason.
        _ if is_free => format!("the system did not give them in one piece, though {device} has {free} free{of_all}"),
        _ => format!("{device} has {free} free{of_all}"),
    };
    format!("{asked} asked for, and {device}: take less, or free buffers first")
}

fn wrong_device(what: &str, found: &str, expected: &str) -> String {
    let is_elsewhere = if found == expected {
        format!("{what} and this operation are on two devices that are both named {found}")
    } else {
        format!("{what} is on {found}, and this operation runs on {expected}")
    };
    let remedy = match what {
        "the stream" => "take a stream of the operation's device, such as its `default_stream()`",
        "the other set" => "build that set again on the operation's device, from its `to_keys()`",
        "an event" => "take two events of one device",
        // The buffer may be on the right device, and the stream on the wrong one.
        _ => {
            "copy a buffer to the operation's device with `Buffer::to_device`, or take a stream of the buffer's device"
        }
    };
    format!("{is_elsewhere}: {remedy}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::engine::{Cores, HostEngine};
    use crate::{Buffer, Device};

    #[test]
    fn two_devices_of_one_name_are_said_to_be_two() {
        let [here, there] = [(); 2].map(|()| Device::from_engine(HostEngine::new(Cores)).unwrap());
        let buffer = Buffer::from_slice(&here, &[1u32]).unwrap();
        let text = buffer.download(there.default_stream()).unwrap_err().to_string();
        let name = here.name();
        assert!(
            text.starts_with(&format!("a buffer and this operation are on two devices that are both named {name}"))
        );
        assert!(text.contains("`Buffer::to_device`") && text.contains("a stream of the buffer's device"), "{text}");
    }

    #[test]
    fn memory_that_there_is_not_is_named_as_far_as_it_is_known() {
        let text = |asked, free, total| Error::OutOfMemory { asked, free, total, device: "CPU".to_owned() }.to_string();
        let remedy = ": take less, or free buffers first";
        let known = "100 bytes were asked for, and CPU has 7 free of 50 (43 are in use)";
        assert_eq!(text(100, 7, 50), format!("{known}{remedy}"));
        assert_eq!(text(100, 0, 50), format!("{}{remedy}", known.replace("7 free", "0 free").replace("43", "50")));
        let driver = "memory for the driver itself was asked for, and CPU has 7 free";
        assert_eq!(text(0, 7, 7), format!("{driver}{remedy}"));
        let unknown = "100 bytes were asked for, and CPU does not have them";
        assert_eq!(text(100, 0, 0), format!("{unknown}{remedy}"));
        // More bytes are free than were requested, but the request was refused nevertheless.
        let pieces = "100 bytes were asked for, and the system did not give them in one piece, though CPU has 200 free \
            of 300 (100 are in use)";
        assert_eq!(text(100, 200, 300), format!("{pieces}{remedy}"));
        let error = Buffer::<u64>::zeroed(&Device::cpu(), usize::MAX).unwrap_err().to_string();
        assert!(error.starts_with("more bytes than any device has were asked for"), "{error}");
    }

    #[test]
    fn what_the_text_has_is_no_source_besides() {
        let io = FileError::io("open")(io::Error::other("the cause"));
        let emptied = Error::Emptied { source: Box::new(io.clone()) };
        for error in [io, emptied] {
            assert!(error.to_string().ends_with(": the cause"), "{error}");
            assert!(std::error::Error::source(&error).is_none(), "{error} tells its cause twice");
        }
    }
}
