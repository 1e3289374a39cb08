//! The conversion of the library's errors to Python exceptions.

use pyo3::PyErr;
use pyo3::exceptions::{PyMemoryError, PyOSError, PyRuntimeError, PyValueError};
use warpnest::Error;
use warpnest::error::FileError;

/// Returns the exception for an error, of the class that Python's own code would raise.
pub fn to_python(error: Error) -> PyErr {
    let text = error.to_string();
    match &error {
        Error::OutOfMemory { .. } | Error::Full(_) => PyMemoryError::new_err(text),
        Error::File(file) => match file.reason() {
            // Given the system's error code, Python chooses the matching subclass of `OSError`.
            FileError::Io { source, .. } => match source.get().raw_os_error() {
                Some(number) => PyOSError::new_err((number, text)),
                None => PyOSError::new_err(text),
            },
            _ => PyValueError::new_err(text),
        },
        Error::Config(_) | Error::Input(_) | Error::WrongDevice { .. } => PyValueError::new_err(text),
        _ => PyRuntimeError::new_err(text),
    }
}
