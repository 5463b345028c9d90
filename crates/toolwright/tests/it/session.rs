//! Tools that are made while a program runs: shared registries, copies, sessions, suspension, and taking up a run that used
//! a forged tool.

#[path = "session/copying.rs"]
mod copying;
#[path = "session/fixture.rs"]
mod fixture;
#[path = "session/forging.rs"]
mod forging;
#[path = "session/form.rs"]
mod form;
#[path = "session/isolating.rs"]
mod isolating;
#[path = "session/resuming.rs"]
mod resuming;
#[path = "session/sealing.rs"]
mod sealing;
#[path = "session/seam.rs"]
mod seam;
#[path = "session/suspending.rs"]
mod suspending;
#[path = "session/testing.rs"]
mod testing;
