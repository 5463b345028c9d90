//! What hooks do together, through the public API.

#[path = "hooks/calling.rs"]
mod calling;
#[path = "hooks/deciding.rs"]
mod deciding;
#[path = "hooks/ending.rs"]
mod ending;
#[path = "hooks/listing.rs"]
mod listing;
#[path = "hooks/prompting.rs"]
mod prompting;
#[path = "hooks/selecting.rs"]
mod selecting;
#[path = "hooks/together.rs"]
mod together;
#[path = "hooks/turning.rs"]
mod turning;
