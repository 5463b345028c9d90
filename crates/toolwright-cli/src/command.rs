//! One file a command. Each says what it did as an exit code; none of them ends the process.

pub(crate) mod add;
pub(crate) mod approve;
pub(crate) mod check;
pub(crate) mod completions;
pub(crate) mod connect;
pub(crate) mod describe;
pub(crate) mod diff;
pub(crate) mod doctor;
pub(crate) mod dry_run;
pub(crate) mod explain;
pub(crate) mod fork;
pub(crate) mod graph;
pub(crate) mod journal;
pub(crate) mod learn;
pub(crate) mod list;
pub(crate) mod lock;
pub(crate) mod resume;
pub(crate) mod run;
pub(crate) mod runs;
pub(crate) mod schema;
pub(crate) mod serve;
pub(crate) mod show;
pub(crate) mod trust;
