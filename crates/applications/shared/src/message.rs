//! The message of an error, with the messages of its causes.

use std::error::Error;

/// Returns the texts of an error and of its causes. A text is left out if the error before it
/// contains it, as some errors of other crates do.
pub fn with_causes(error: &dyn Error) -> String {
    let mut message = error.to_string();
    let mut last = message.clone();
    let mut cause = error.source();
    while let Some(error) = cause {
        let text = error.to_string();
        if !last.contains(&text) {
            message += ": ";
            message += &text;
            last = text;
        }
        cause = error.source();
    }
    message
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io;
    use thiserror::Error;

    #[derive(Debug, Error)]
    #[error("{0}")]
    struct Twice(#[source] io::Error);

    #[derive(Debug, Error)]
    #[error("a file cannot be read")]
    struct Whole(#[source] Twice);

    #[test]
    fn a_cause_is_told_once() {
        let error = Whole(Twice(io::Error::other("no such file")));
        assert_eq!(with_causes(&error), "a file cannot be read: no such file");
    }
}
