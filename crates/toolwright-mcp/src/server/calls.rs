//! The life of a call that a client makes: it runs by itself, and whoever waits for it attaches to it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use toolwright::{CancelSource, Catalog, Invocation, Text, Value, json};

use super::client::Client;
use super::message::{Id, RpcError};
use super::request::{Request, Terms};
use super::version::Version;
use super::{Askers, ServerOptions};
use crate::upstream::{Passed, PassedReply, Upstream};

/// Shapes the result of a request that was passed on.
pub(crate) type Shape = Box<dyn FnOnce(&Terms, Value) -> Value + Send>;

pub(crate) struct Calls {
    running: Mutex<HashMap<(u64, Id), CancelSource>>,
}

impl Calls {
    pub(crate) fn new(_options: &ServerOptions, _askers: Askers) -> Arc<Self> {
        Arc::new(Self { running: Mutex::default() })
    }

    fn running(&self) -> std::sync::MutexGuard<'_, HashMap<(u64, Id), CancelSource>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn start(self: &Arc<Self>, catalog: Catalog, tool: Text, request: Request) {
        let cancel = CancelSource::new();
        let token = cancel.token();
        let key = (request.client.key, request.id.clone());
        self.running().insert(key.clone(), cancel);
        let calls = self.clone();
        tokio::spawn(async move {
            let arguments = request.params.get("arguments").cloned().unwrap_or_default();
            let context = request.client.caller.context();
            let result = match catalog.invoke(Invocation::new(tool, arguments).cancel(token), context).await {
                Ok(result) => {
                    let content =
                        result.content.clone().unwrap_or_else(|| json!([{ "type": "text", "text": (result.value().to_json_string()) }]));
                    Value::object([("content", content)])
                }
                Err(error) => json!({ "content": [{ "type": "text", "text": (error.for_model().to_json_string()) }], "isError": true }),
            };
            calls.running().remove(&key);
            request.reply_complete(result);
        });
    }

    pub(crate) fn pass(self: &Arc<Self>, upstream: Upstream, request: Request, shape: Shape) {
        tokio::spawn(async move {
            match upstream.pass(Passed::new(request.method.clone(), request.params.clone(), "")).await {
                Ok(PassedReply::Result(result)) => request.reply(&shape(&request.terms, result)),
                Ok(PassedReply::Refused { code, message, data }) => request.refuse(&RpcError { code, message, data }),
                Err(error) => request.refuse(&RpcError::new(-32_603, error.to_string())),
            }
        });
    }

    pub(crate) fn task(self: &Arc<Self>, _request: &Request) -> bool {
        false
    }

    pub(crate) fn cancel(&self, client: &Client, id: &Id) -> bool {
        let cancel = self.running().remove(&(client.key, id.clone()));
        cancel.map(|cancel| cancel.cancel()).is_some()
    }

    pub(crate) fn left(&self, client: &Client) {
        self.running().retain(|(key, _), cancel| {
            let stays = *key != client.key;
            if !stays {
                cancel.cancel();
            }
            stays
        });
    }

    pub(crate) async fn stop(&self, grace: Duration) {
        let until = tokio::time::Instant::now() + grace;
        while !self.running().is_empty() && tokio::time::Instant::now() < until {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        self.running().values().for_each(CancelSource::cancel);
    }

    pub(crate) fn request_of_run(&self, _run: &str) -> Option<(Arc<Client>, Arc<Terms>, Arc<dyn super::outlet::Outlet>)> {
        None
    }

    pub(crate) fn capabilities(&self, _version: Version) -> Value {
        Value::Null
    }
}
