//! Tools that are made while a program runs: shared registries, copies, sessions, suspension, and taking up a run that used
//! a forged tool.

mod copying;
mod fixture;
mod forging;
mod form;
mod resuming;
mod seam;
mod sealing;
mod suspending;
mod testing;
