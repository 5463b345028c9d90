//! Where composites meet the catalogue: every step is a call like any other.

#[path = "seam/crashing.rs"]
mod crashing;
#[path = "seam/fixture.rs"]
mod fixture;
#[path = "seam/forking.rs"]
mod forking;
#[path = "seam/judging.rs"]
mod judging;
#[path = "seam/killing.rs"]
mod killing;
#[path = "seam/laundering.rs"]
mod laundering;
#[path = "seam/recording.rs"]
mod recording;
#[path = "seam/trying.rs"]
mod trying;
#[path = "seam/values.rs"]
mod values;
