//! For tests of this crate and of hosts: the runner of the executable case files.

pub mod cases;
mod fixture;
