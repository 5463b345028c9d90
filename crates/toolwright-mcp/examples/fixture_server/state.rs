//! What the fixture remembers, and what it tells whoever tests with it.

use std::collections::HashMap;
use std::fs::File;
use std::io::Write;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, Mutex};

use rmcp::RoleServer;
use rmcp::model::RequestStateCodec;
use rmcp::service::{Peer, SubscriptionSink};
use rmcp::task_manager::TaskManager;
use serde_json::{Value, json};

/// What the command line says.
#[derive(Debug, Default)]
pub(crate) struct Options {
    pub(crate) log: Option<PathBuf>,
    pub(crate) page_items: Option<usize>,
    pub(crate) versions: Vec<String>,
    /// The extra tool and prompt are listed from the beginning.
    pub(crate) extra: bool,
}

/// One for a process, whatever sessions there are.
pub(crate) struct State {
    pub(crate) page_items: usize,
    pub(crate) versions: Vec<String>,
    log: Option<Mutex<File>>,
    pub(crate) notes: Mutex<Vec<String>>,
    /// Whether the extra tool is listed.
    pub(crate) extra: AtomicBool,
    /// Whether the extra prompt is.
    pub(crate) extra_prompt: AtomicBool,
    /// Streams of the newest generation that listen.
    pub(crate) listeners: Mutex<HashMap<u64, SubscriptionSink>>,
    pub(crate) next_listener: AtomicU64,
    /// Sessions of older generations.
    pub(crate) sessions: Mutex<Vec<Peer<RoleServer>>>,
    /// Which of them watch a resource.
    pub(crate) watchers: Mutex<Vec<(String, Peer<RoleServer>)>>,
    pub(crate) seal: RequestStateCodec,
    pub(crate) tasks: TaskManager,
}

impl State {
    pub(crate) fn new(options: Options) -> Self {
        let open = |path| File::options().create(true).append(true).open(path).unwrap();
        State {
            page_items: options.page_items.unwrap_or(usize::MAX),
            versions: options.versions,
            log: options.log.map(|path| Mutex::new(open(path))),
            notes: Mutex::default(),
            extra: AtomicBool::new(options.extra),
            extra_prompt: AtomicBool::new(options.extra),
            listeners: Mutex::default(),
            next_listener: AtomicU64::new(0),
            sessions: Mutex::default(),
            watchers: Mutex::default(),
            // A key that everybody knows: nothing here is worth protecting.
            seal: RequestStateCodec::new(b"the fixture's key, known to everybody".to_vec()),
            tasks: TaskManager::new(),
        }
    }

    fn tell(&self, line: &Value) {
        if let Some(log) = &self.log {
            // One write a line, so that lines of several processes do not mix.
            log.lock().unwrap().write_all(format!("{line}\n").as_bytes()).unwrap();
        }
    }

    /// Tells that a call began; its end is told when the guard goes.
    pub(crate) fn called(self: &Arc<Self>, tool: &str, arguments: &Value, key: Option<Value>) -> Running {
        self.tell(&json!({"event": "called", "tool": tool, "arguments": arguments, "key": key}));
        Running { state: self.clone(), tool: tool.to_owned(), finished: false }
    }
}

/// A call under way. Whatever ends it early, the log says so.
pub(crate) struct Running {
    state: Arc<State>,
    tool: String,
    finished: bool,
}

impl Running {
    pub(crate) fn finished(mut self) {
        self.finished = true;
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let event = if self.finished { "finished" } else { "cancelled" };
        self.state.tell(&json!({"event": event, "tool": self.tool}));
    }
}
