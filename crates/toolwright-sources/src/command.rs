//! x
mod mask; mod tail; mod process; mod template;
