//! All tests of the applications' kernels, on every engine. They are one binary, so that shared
//! code is compiled once.

mod images {
    mod finder;
    mod keys;
    // The example owns the plain version, because its benchmark compares it with the device.
    #[path = "../../find-image/examples/find-image/plain.rs"]
    mod plain;
    mod search;
    mod tally;
}

mod kmers {
    mod keys;
}

mod shapes {
    mod frames;
    mod reference;
}
