//! Freeing values that are nested deeper than the limit without recursion.
//!
//! Values within the limit free themselves the usual way; only what somebody built level by level comes here.

use super::Value;
use crate::limits::VALUE_DEPTH_MAX;

/// Frees what `take` hands over, and everything below it, with a list instead of the stack.
///
/// A container that another thread frees at the same moment is left to whoever is last; its children come here again.
#[cold]
#[inline(never)]
pub(crate) fn dismantle(take: impl FnOnce(&mut Vec<Value>)) {
    let mut waiting = Vec::new();
    take(&mut waiting);
    while let Some(mut value) = waiting.pop() {
        let value_is_shallow = value.depth() <= VALUE_DEPTH_MAX;
        match &mut value {
            _ if value_is_shallow => {}
            Value::Array(array) => array.take_items(&mut waiting),
            Value::Object(object) => object.take_values(&mut waiting),
            _ => {}
        }
    }
}
