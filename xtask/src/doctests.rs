//! The pages of the repository whose Rust blocks are doctests. `cargo xtask test` fails for a page with such blocks that
//! no file includes.
