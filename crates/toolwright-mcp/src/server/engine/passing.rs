//! Requests that a server behind us answers: resources, prompts, skills and completion. They go to whoever has what they name, under the
//! name that it has there.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use toolwright::{Object, Text, Value};

use super::lists::Kind;
use super::routes::{self, Current};
use super::{Engine, shortened};
use crate::server::calls::Shape;
use crate::server::message::{self, RpcError};
use crate::server::outlet::{Outlet, Reply};
use crate::server::request::{Request, Terms, complete};

/// Where a request goes: the server, and the parameters for it.
struct Hop {
    source: usize,
    params: Value,
    /// Names in the result that are not those that clients know.
    renames: Option<Renames>,
}

/// What a resource is called there and here.
#[derive(Clone)]
struct Renames {
    source: Text,
    own: Text,
}

impl Engine {
    pub(super) fn passed(self: &Arc<Self>, request: Request) {
        let current = self.current.load_full();
        let engine = self.clone();
        tokio::spawn(async move {
            if current.visible(&request.client.caller).is_empty() {
                return request.refuse(&super::unknown_method(&request));
            }
            match hops(&current, &request).await {
                Ok(hops) => engine.pass_on(&current, request, hops),
                Err(error) => request.refuse(&error),
            }
        });
    }

    /// Sends a request to the first of these servers, and to the next one when that one does not have it.
    fn pass_on(self: &Arc<Self>, current: &Arc<Current>, mut request: Request, mut hops: VecDeque<Hop>) {
        let Some(hop) = hops.pop_front() else {
            let named = request.params.get("uri").cloned().unwrap_or_default();
            return request.refuse(&no_resource(&request.terms, &named));
        };
        let Some(upstream) = current.upstream(hop.source).cloned() else {
            return self.pass_on(current, request, hops);
        };
        if !hops.is_empty() {
            let again = Again { engine: self.clone(), current: current.clone(), request: request.clone(), hops };
            request.outlet = Arc::new(Attempt { inner: request.outlet.clone(), again: Mutex::new(Some(again)) });
        }
        request.params = hop.params;
        let shape = shape(request.method.clone(), hop.renames);
        self.calls.pass(upstream, request, shape);
    }
}

/// The outlet of an attempt: a server's word that it knows no such thing sends the request to the next one.
struct Attempt {
    inner: Arc<dyn Outlet>,
    again: Mutex<Option<Again>>,
}

struct Again {
    engine: Arc<Engine>,
    current: Arc<Current>,
    request: Request,
    hops: VecDeque<Hop>,
}

impl Outlet for Attempt {
    fn tell(&self, message: String) {
        self.inner.tell(message);
    }

    fn reply(&self, reply: Reply) {
        let again = self.again.lock().unwrap_or_else(PoisonError::into_inner).take();
        let unknown = matches!(
            reply.error,
            Some(message::RESOURCE_NOT_FOUND | message::INVALID_PARAMS | message::METHOD_NOT_FOUND | message::INTERNAL_ERROR)
        );
        match again {
            // The job of this attempt ends with this reply: the next one begins after it.
            Some(Again { engine, current, request, hops }) if unknown && self.inner.is_open() => {
                tokio::spawn(async move { engine.pass_on(&current, request, hops) });
            }
            _ => self.inner.reply(reply),
        }
    }

    fn end(&self) {
        self.inner.end();
    }

    fn is_open(&self) -> bool {
        self.inner.is_open()
    }
}

/// Where a request may go, the likeliest first.
async fn hops(current: &Current, request: &Request) -> Result<VecDeque<Hop>, RpcError> {
    let caller = &request.client.caller;
    match request.method.as_str() {
        "prompts/get" => {
            let name = text_of(request, "name")?;
            let found = current.find(Kind::Prompts, caller, &name).await;
            let (source, own) = found.ok_or_else(|| {
                let text = format!("there is no prompt `{}` here; `prompts/list` has those that there are", shortened(&name));
                RpcError::new(message::INVALID_PARAMS, text)
            })?;
            Ok(VecDeque::from([Hop { source, params: with(&request.params, "name", own), renames: None }]))
        }
        "completion/complete" => completion(current, request).await.map(|hop| VecDeque::from([hop])),
        _ => {
            let uri = text_of(request, "uri")?;
            let homes = current.homes(caller, &uri).await;
            if homes.is_empty() {
                return Err(no_resource(&request.terms, &Value::from(uri)));
            }
            let hop = |(source, own): (usize, Text)| {
                let name = current.upstream(source).map_or("", |upstream| upstream.name());
                let renames = (own != uri).then(|| Renames { source: Text::from(name), own: own.clone() });
                Hop { source, params: with(&request.params, "uri", own), renames }
            };
            Ok(homes.into_iter().map(hop).collect())
        }
    }
}

/// Where a completion goes: to whoever has the prompt, or the template of the resource.
async fn completion(current: &Current, request: &Request) -> Result<Hop, RpcError> {
    let invalid = |text: String| RpcError::new(message::INVALID_PARAMS, text);
    let reference = request.params.get("ref").and_then(Value::as_object);
    let reference = reference.ok_or_else(|| invalid("`completion/complete` needs a `ref`, an object with a `type`".to_owned()))?;
    let named = |member: &str| {
        let text = reference.get(member).and_then(Value::as_text).cloned();
        text.ok_or_else(|| invalid(format!("the `ref` of `completion/complete` needs a `{member}`, a text")))
    };
    let caller = &request.client.caller;
    let (member, found) = match reference.get("type").and_then(Value::as_str) {
        Some("ref/prompt") => ("name", current.find(Kind::Prompts, caller, &named("name")?).await),
        Some("ref/resource") => {
            let uri = named("uri")?;
            let template = current.find(Kind::Templates, caller, &uri).await;
            (
                "uri",
                match template {
                    Some(found) => Some(found),
                    None => current.find(Kind::Resources, caller, &uri).await,
                },
            )
        }
        _ => return Err(invalid("the `type` of a `ref` is `ref/prompt` or `ref/resource`".to_owned())),
    };
    let (source, own) = found.ok_or_else(|| {
        let name = named(member).unwrap_or_default();
        invalid(format!("there is no prompt or resource template `{}` here; the lists have those that there are", shortened(&name)))
    })?;
    let reference = Value::from(reference.with(member, own));
    Ok(Hop { source, params: with(&request.params, "ref", reference), renames: None })
}

fn text_of(request: &Request, member: &str) -> Result<Text, RpcError> {
    request
        .params
        .get(member)
        .and_then(Value::as_text)
        .cloned()
        .ok_or_else(|| RpcError::new(message::INVALID_PARAMS, format!("`{}` needs a `{member}`, a text", request.method)))
}

fn with(params: &Value, member: &str, value: impl Into<Value>) -> Value {
    params.as_object().map_or(Value::Null, |params| Value::from(params.with(member, value)))
}

/// The error of a resource that nobody has.
pub(super) fn no_resource(terms: &Terms, uri: &Value) -> RpcError {
    let code = if terms.version.sessionless() { message::INVALID_PARAMS } else { message::RESOURCE_NOT_FOUND };
    let text =
        format!("there is no resource `{}` here; `resources/list` has those that there are", shortened(uri.as_str().unwrap_or_default()));
    RpcError::new(code, text).with_data(Value::object([("uri", uri.clone())]))
}

/// What becomes of the result on its way to the client: names as it knows them, and how long it may keep it.
fn shape(method: Text, renames: Option<Renames>) -> Shape {
    Box::new(move |terms, result| {
        let Value::Object(mut result) = result else { return result };
        if let Some(renames) = &renames {
            for member in ["contents", "resources"] {
                result = renamed(&result, member, renames);
            }
        }
        let interim = result.get("resultType").and_then(Value::as_str).is_some_and(|kind| kind != "complete");
        if terms.version.sessionless()
            && !interim
            && matches!(method.as_str(), "resources/read" | "resources/directory/read" | "skills/get")
        {
            // What a server of an older generation gives says nothing of it: then it is stale at once, and nobody else's.
            for (member, value) in [("ttlMs", Value::from(0)), ("cacheScope", Value::from("private"))] {
                if result.get(member).is_none() {
                    result = result.with(member, value);
                }
            }
        }
        complete(terms, Value::from(result))
    })
}

/// The URIs of the items under the names that clients know.
fn renamed(result: &Object, member: &str, renames: &Renames) -> Object {
    let Some(items) = result.get(member).and_then(Value::as_array) else { return result.clone() };
    let item = |item: &Value| match (item.as_object(), item.get("uri").and_then(Value::as_str)) {
        (Some(object), Some(uri)) if member == "resources" || uri == renames.own => {
            Value::from(object.with("uri", routes::sourced_uri(&renames.source, uri)))
        }
        _ => item.clone(),
    };
    result.with(member, items.iter().map(item).collect::<Value>())
}
