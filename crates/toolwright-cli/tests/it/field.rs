//! Failures that users of other programs met, as data in `tests/cases/`, through the real binary: what only it can show of them.

use crate::world::World;

#[path = "field/blocks.rs"]
mod blocks;
#[path = "field/canary.rs"]
mod canary;
#[path = "field/progress.rs"]
mod progress;
#[path = "field/recorded.rs"]
mod recorded;
#[cfg(target_os = "linux")]
#[path = "field/tree.rs"]
mod tree;
#[path = "field/upstream.rs"]
mod upstream;

/// A case, by the beginning of its file's name.
fn case(name: &str) -> serde_json::Value {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases").join(format!("{name}.json"));
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// A folder whose one source is this server, with more behind it.
fn world_over(name: &str, upstream: &upstream::Upstream, more: &str) -> World {
    let world = World::new(name);
    world.write("toolwright.yaml", &format!("sources:\n  up:\n    url: {}\n{more}", upstream.url));
    world
}
