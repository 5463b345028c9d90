//! `cargo xtask cases FILE…`: executable case files of any of the forms at the end of the specification.

use toolwright::testing::cases::{Verdict, run_file};

use crate::repo::Outcome;

/// Runs every case of every file, prints a line per case that does not do what it says, and counts.
pub(crate) fn run(files: &[&str]) -> Outcome {
    let (mut passed, mut failed, mut skipped) = (0_u64, 0_u64, 0_u64);
    for file in files {
        let text = match std::fs::read_to_string(file) {
            Ok(text) => text,
            Err(error) => {
                println!("{file}: cannot be read: {error}");
                failed += 1;
                continue;
            }
        };
        for outcome in run_file(file, &text) {
            match outcome.verdict {
                Verdict::Passed => passed += 1,
                Verdict::Failed(why) => {
                    failed += 1;
                    println!("{file}: {}: {why}", outcome.id);
                }
                Verdict::LeftOut(why) => {
                    skipped += 1;
                    println!("{file}: {}: left out: {why}", outcome.id);
                }
            }
        }
    }
    let left_out = if skipped == 0 { String::new() } else { format!(", {skipped} skipped") };
    println!("{passed} passed, {failed} failed{left_out}");
    Ok(failed == 0)
}
