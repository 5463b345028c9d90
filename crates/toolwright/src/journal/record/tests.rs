//! How much room a record takes.

use super::*;
use crate::journal::{Admission, Record};

#[test]
fn records_of_every_step_are_small() {
    assert!(size_of::<Begin>() <= 128, "{}", size_of::<Begin>());
    assert!(size_of::<Finish>() <= 72, "{}", size_of::<Finish>());
    assert!(size_of::<Record>() <= 120, "{}", size_of::<Record>());
    assert!(size_of::<Admission>() <= 16, "{}", size_of::<Admission>());
    assert!(size_of::<StepKey>() <= 16, "{}", size_of::<StepKey>());
}
