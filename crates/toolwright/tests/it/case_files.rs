//! Every line of the case files is a test. What only JavaScript can express is named here.

use toolwright::testing::cases::{Verdict, run_file};

/// Cases that cannot exist outside JavaScript, with the reason each gives.
const ONLY_JAVASCRIPT: [&str; 3] = ["input-35", "mapping-13", "mapping-14"];

#[test]
fn every_case_gives_the_right_answer() {
    let mut failed = Vec::new();
    let mut left_out = Vec::new();
    let mut passed = 0;
    for file in ["compose.jsonl", "gate.jsonl"] {
        let text = std::fs::read_to_string(format!("{}/tests/cases/{file}", env!("CARGO_MANIFEST_DIR"))).unwrap();
        for outcome in run_file(file, &text) {
            match outcome.verdict {
                Verdict::Passed => passed += 1,
                Verdict::Failed(why) => failed.push(format!("{}: {why}", outcome.id)),
                Verdict::LeftOut(_) => left_out.push(outcome.id),
            }
        }
    }
    assert!(failed.is_empty(), "{} failed:\n{}", failed.len(), failed.join("\n"));
    assert_eq!(left_out, ONLY_JAVASCRIPT);
    assert_eq!(passed, 170 - ONLY_JAVASCRIPT.len());
}
