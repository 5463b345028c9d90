//! Where composites meet the catalogue.
