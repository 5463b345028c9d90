//! Whether what a call was begun with is still what is offered: before a yes to it counts.

use std::sync::Arc;

use toolwright::approval::{Request, definition};
use toolwright::{Catalog, Text, ToolDef};

use super::job::{Job, What};
use crate::server::offer::Offer;

/// What is different by now about a call that waits for a yes: another tool, another server behind it, or a caller who may not reach
/// it any more. The run itself goes by what was offered when it began.
pub(crate) fn changed(now: &Arc<Offer>, job: &Job, request: &Request) -> Option<Text> {
    let (Some(then), What::Tool { tool: called, .. }) = (&job.offer, &job.what) else { return None };
    if Arc::ptr_eq(then, now) {
        return None;
    }
    let Some(audience) = now.audiences.get(&job.caller.audience) else {
        return Some("whoever called it may use nothing any more".into());
    };
    let offered = now.catalog.get(called).is_some_and(|tool| !tool.is_hidden());
    if !offered || !audience.sees(called) {
        return Some(format!("`{called}` is not offered to whoever called it any more").into());
    }
    if audience.denies(&request.tool) {
        return Some(format!("`{}` is denied to whoever called it", request.tool).into());
    }
    another(then, now, called).or_else(|| another(then, now, &request.tool))
}

/// How a tool is another one than it was. What is in no catalogue belongs to the tool around it.
fn another(then: &Offer, now: &Offer, name: &str) -> Option<Text> {
    let before = named(&then.catalog, name)?;
    let Some(after) = named(&now.catalog, name) else { return Some(format!("`{name}` is not there any more").into()) };
    if definition(before) != definition(after) || before.origin() != after.origin() {
        return Some(format!("`{name}` is another tool now").into());
    }
    let source = before.origin().map(|origin| origin.source.as_str()).unwrap_or_default();
    let behind = |offer: &'_ Offer| offer.upstreams.iter().find(|upstream| upstream.name() == source).cloned();
    let same = match (behind(then), behind(now)) {
        (Some(then), Some(now)) => then.is_same(&now),
        (then, now) => then.is_none() && now.is_none(),
    };
    (!same).then(|| format!("the server behind `{name}` is set up in another way now").into())
}

fn named<'c>(catalog: &'c Catalog, name: &str) -> Option<&'c ToolDef> {
    let by_id = catalog.get(name).map(|entry| &**entry);
    by_id.or_else(|| catalog.tools().find(|tool| tool.name() == name))
}
