//! Every test of the applications' kernels on every engine. They are one binary, so that their
//! shared code is compiled once.

mod images {
    mod keys;
    mod search;
    mod tally;
}

mod shapes {
    mod frames;
    mod reference;
}
