//! A governed tool runtime for LLM agents.

pub mod limits;
pub mod value;
