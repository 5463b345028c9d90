//! What an error tells, and to whom.

use toolwright::{Invocation, Retry, json};

use crate::lifecycle_fixture::{block_on, catalog, cx, d, echo, error};

#[test]
fn t11_2_a_model_that_asks_for_nothing_learns_of_no_other_tool() {
    let ids: Vec<String> = (0..500).map(|n| format!("tool_{n:03}")).collect();
    let catalog = catalog(ids.iter().map(|id| echo(id)));
    for near in ["tool_0000", "tool_04", "tool", "ghost"] {
        let by_invocation = error(block_on(catalog.invoke(Invocation::new(near, json!({})), cx())));
        let by_decision = error(block_on(catalog.call(&d(near), cx())));
        for error in [by_invocation, by_decision] {
            let shown = error.for_model().to_json_text();
            let named: Vec<_> = ids.iter().filter(|id| shown.contains(id.as_str()) && !near.contains(id.as_str())).collect();
            assert!(named.is_empty(), "{shown}");
            assert!(shown.contains(error.code()) && shown.contains(near), "{shown}");
            assert_eq!(error.retry(), Retry::Never);
        }
    }
}

trait Shown {
    fn to_json_text(&self) -> String;
}

impl Shown for toolwright::Value {
    fn to_json_text(&self) -> String {
        serde_json::to_string(self).unwrap()
    }
}
