//! Every test of the applications' kernels on every engine. They are one binary, so that their
//! shared code is compiled once.

mod images {
    mod finder;
    mod keys;
    // The example measures the plain version beside the device, and so has it.
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
