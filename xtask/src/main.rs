//! `cargo xtask`: the tasks of this repository. Everything is in the library, so that its checks are tests as well.

use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    xtask::run(&arguments)
}
