//! One call, whoever makes it: its request, its stages, its records, its end.

#[path = "calling/dropping.rs"]
mod dropping;
#[path = "calling/entering.rs"]
mod entering;
#[path = "calling/errors.rs"]
mod errors;
#[path = "calling/fixture.rs"]
pub(crate) mod fixture;
#[path = "calling/frames.rs"]
mod frames;
#[path = "calling/judging.rs"]
mod judging;
#[path = "calling/ports.rs"]
mod ports;
#[path = "calling/reading.rs"]
mod reading;
#[path = "calling/recording.rs"]
mod recording;
#[path = "calling/requests.rs"]
mod requests;
#[path = "calling/stages.rs"]
mod stages;
