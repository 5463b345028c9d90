//! Declaring tools and options: what a host may say, what is refused, and that what was said is what counts.

#[path = "declaring/adopting.rs"]
mod adopting;
#[path = "declaring/bodies.rs"]
mod bodies;
#[path = "declaring/journalling.rs"]
mod journalling;
#[path = "declaring/naming.rs"]
mod naming;
#[path = "declaring/options.rs"]
mod options;
#[path = "declaring/policies.rs"]
mod policies;
#[path = "declaring/ports.rs"]
mod ports;
#[path = "declaring/reading.rs"]
mod reading;
#[path = "declaring/runtimes.rs"]
mod runtimes;
