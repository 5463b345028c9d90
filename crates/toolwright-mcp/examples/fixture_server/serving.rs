//! The methods of the protocol, each short.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use rmcp::model::*;
use rmcp::service::{NotificationContext, Peer, RequestContext, SubscriptionContext};
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::{Value, json};

use crate::offer::Offer;
use crate::state::{Options, State};

/// How long clients may keep lists and contents, in milliseconds.
const KEPT_MS: u64 = 60_000;

/// A session, or one request without a session: all share what is remembered.
#[derive(Clone)]
pub(crate) struct Fixture {
    pub(crate) offer: Arc<Offer>,
    pub(crate) state: Arc<State>,
}

/// What has another content now.
#[derive(Clone)]
pub(crate) enum Changed {
    Tools,
    Prompts,
    Resource(String),
}

impl Fixture {
    pub(crate) fn new(options: Options) -> Self {
        Fixture { offer: Arc::new(Offer::read()), state: Arc::new(State::new(options)) }
    }

    /// One page of a list, and the cursor of the next one.
    fn page<T>(&self, all: Vec<T>, request: Option<PaginatedRequestParams>) -> Result<(Vec<T>, Option<String>), ErrorData> {
        let cursor = request.and_then(|request| request.cursor);
        let from = match &cursor {
            Some(cursor) => cursor.strip_prefix("from-").and_then(|from| from.parse().ok()).filter(|from| *from < all.len()),
            None => Some(0),
        };
        let Some(from) = from else { return Err(ErrorData::invalid_params("this cursor is none of ours", None)) };
        let to = from.saturating_add(self.state.page_items);
        let next = (to < all.len()).then(|| format!("from-{to}"));
        Ok((all.into_iter().skip(from).take(self.state.page_items).collect(), next))
    }

    /// Tells everybody who wants to know.
    pub(crate) async fn announce(&self, changed: Changed) {
        let listeners: Vec<_> = self.state.listeners.lock().unwrap().values().cloned().collect();
        for listener in listeners {
            let _ = match &changed {
                Changed::Tools => listener.notify_tool_list_changed().await,
                Changed::Prompts => listener.notify_prompt_list_changed().await,
                Changed::Resource(uri) => listener.notify_resource_updated(uri).await,
            };
        }
        let sessions: Vec<Peer<RoleServer>> = match &changed {
            Changed::Resource(uri) => {
                let watchers = self.state.watchers.lock().unwrap();
                watchers.iter().filter(|(watched, _)| watched == uri).map(|(_, peer)| peer.clone()).collect()
            }
            _ => self.state.sessions.lock().unwrap().clone(),
        };
        for session in sessions {
            let _ = match &changed {
                Changed::Tools => session.notify_tool_list_changed().await,
                Changed::Prompts => session.notify_prompt_list_changed().await,
                Changed::Resource(uri) => session.notify_resource_updated(ResourceUpdatedNotificationParam::new(uri.clone())).await,
            };
        }
    }

    fn tools(&self) -> Vec<Tool> {
        let extra = self.state.extra.load(Ordering::SeqCst).then_some(&self.offer.extra);
        self.offer.tools.iter().chain(extra).map(|offered| offered.tool.clone()).collect()
    }

    fn skills(&self) -> Vec<Skill> {
        let skills = self.offer.skills.iter();
        skills
            .map(|skill| {
                let files = skill.files.iter().map(|file| SkillResource::from_bytes(skill.uri(&file.path), file.text.as_bytes()));
                let frontmatter = SkillFrontmatter::new(&skill.name, &skill.description);
                Skill::new(skill.uri("SKILL.md"), frontmatter, SkillResources::Files(files.collect()))
            })
            .collect()
    }
}

impl ServerHandler for Fixture {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_completions()
            .enable_logging()
            .enable_prompts()
            .enable_prompts_list_changed()
            .enable_resources()
            .enable_resources_list_changed()
            .enable_resources_subscribe()
            .enable_skills_with_directory_read()
            .enable_tasks()
            .enable_tools()
            .enable_tool_list_changed();
        ServerConfig::new(capabilities.build())
            .with_server_info(Implementation::new("toolwright-fixture", "1.0.0"))
            .with_instructions("Everything that a server can do, for tests.")
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        let all = ProtocolVersion::KNOWN_VERSIONS;
        if self.state.versions.is_empty() {
            return Cow::Borrowed(all);
        }
        Cow::Owned(all.iter().filter(|known| self.state.versions.iter().any(|version| version == known.as_str())).cloned().collect())
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        let mut sessions = self.state.sessions.lock().unwrap();
        sessions.retain(|session| !session.is_transport_closed());
        sessions.push(context.peer);
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        Some(requested.supported_by(&self.get_info().capabilities))
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let key = self.state.next_listener.fetch_add(1, Ordering::Relaxed);
        self.state.listeners.lock().unwrap().insert(key, context.sink().clone());
        context.cancelled().await;
        self.state.listeners.lock().unwrap().remove(&key);
        Ok(())
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.offer.tool(name).map(|offered| offered.tool.clone())
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let (tools, next) = self.page(self.tools(), request)?;
        let mut list = ListToolsResult::with_all_items(tools).with_ttl_ms(KEPT_MS).with_cache_scope(CacheScope::Public);
        list.next_cursor = next;
        Ok(list)
    }

    async fn call_tool(&self, request: CallToolRequestParams, context: RequestContext<RoleServer>) -> Result<CallToolResponse, ErrorData> {
        self.call(request, &context).await
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let skills = self.offer.skills.iter().map(|skill| {
            Resource::new(skill.uri("SKILL.md"), skill.name.clone())
                .with_description(skill.description.clone())
                .with_mime_type("text/markdown")
        });
        let all = self.offer.resources.iter().map(|offered| offered.resource.clone()).chain(skills).collect();
        let (resources, next) = self.page(all, request)?;
        let mut list = ListResourcesResult::with_all_items(resources).with_ttl_ms(KEPT_MS).with_cache_scope(CacheScope::Public);
        list.next_cursor = next;
        Ok(list)
    }

    async fn list_resource_templates(
        &self,
        request: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let (templates, next) = self.page(self.offer.templates.clone(), request)?;
        let mut list = ListResourceTemplatesResult::with_all_items(templates).with_ttl_ms(KEPT_MS).with_cache_scope(CacheScope::Public);
        list.next_cursor = next;
        Ok(list)
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let found = self.offer.resource(&request.uri);
        let result = found.ok_or_else(|| {
            let message = format!("there is no resource `{}`", request.uri);
            ErrorData::resource_not_found(message, Some(json!({"uri": request.uri})))
        })?;
        Ok(result.with_ttl_ms(KEPT_MS).with_cache_scope(CacheScope::Public).into())
    }

    async fn subscribe(&self, request: SubscribeRequestParams, context: RequestContext<RoleServer>) -> Result<(), ErrorData> {
        self.state.watchers.lock().unwrap().push((request.uri, context.peer));
        Ok(())
    }

    async fn unsubscribe(&self, request: UnsubscribeRequestParams, _: RequestContext<RoleServer>) -> Result<(), ErrorData> {
        self.state.watchers.lock().unwrap().retain(|(uri, _)| *uri != request.uri);
        Ok(())
    }

    async fn list_prompts(
        &self,
        request: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        let extra = self.state.extra_prompt.load(Ordering::SeqCst).then_some(&self.offer.extra_prompt);
        let all = self.offer.prompts.iter().chain(extra).map(|offered| offered.prompt.clone()).collect();
        let (prompts, next) = self.page(all, request)?;
        let mut list = ListPromptsResult::with_all_items(prompts).with_ttl_ms(KEPT_MS).with_cache_scope(CacheScope::Public);
        list.next_cursor = next;
        Ok(list)
    }

    async fn get_prompt(&self, request: GetPromptRequestParams, _: RequestContext<RoleServer>) -> Result<GetPromptResponse, ErrorData> {
        self.prompt(request)
    }

    async fn complete(&self, request: CompleteRequestParams, _: RequestContext<RoleServer>) -> Result<CompleteResult, ErrorData> {
        let known = self.offer.completions.get(&request.argument.name).cloned().unwrap_or_default();
        let fitting = known.into_iter().filter(|value| value.starts_with(&request.argument.value)).collect();
        Ok(CompleteResult::new(CompletionInfo::with_all_values(fitting).unwrap()))
    }

    async fn set_level(&self, _: SetLevelRequestParams, _: RequestContext<RoleServer>) -> Result<(), ErrorData> {
        Ok(())
    }

    async fn get_task(&self, request: GetTaskParams, _: RequestContext<RoleServer>) -> Result<GetTaskResult, ErrorData> {
        Ok(GetTaskResult::new(self.state.tasks.get_task(&request.task_id)?))
    }

    async fn update_task(&self, request: UpdateTaskParams, _: RequestContext<RoleServer>) -> Result<(), ErrorData> {
        self.state.tasks.update_task(&request.task_id, request.input_responses)
    }

    async fn cancel_task(&self, request: CancelTaskParams, _: RequestContext<RoleServer>) -> Result<(), ErrorData> {
        self.state.tasks.cancel_task(&request.task_id)
    }

    async fn list_skills(
        &self,
        request: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListSkillsResult, ErrorData> {
        let (skills, next) = self.page(self.skills(), request)?;
        let mut list = ListSkillsResult::with_all_items(skills).with_ttl_ms(KEPT_MS).with_cache_scope(CacheScope::Public);
        list.next_cursor = next;
        Ok(list)
    }

    async fn get_skill(&self, request: GetSkillRequestParams, _: RequestContext<RoleServer>) -> Result<GetSkillResult, ErrorData> {
        let found = self.skills().into_iter().find(|skill| skill.uri == request.uri);
        found.map(GetSkillResult::new).ok_or_else(|| ErrorData::invalid_params(format!("there is no skill `{}`", request.uri), None))
    }

    async fn read_resource_directory(
        &self,
        request: ReadResourceDirectoryRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<ReadResourceDirectoryResult, ErrorData> {
        let folder = self.offer.folder(&request.uri);
        let folder = folder.ok_or_else(|| ErrorData::invalid_params(format!("`{}` is no folder", request.uri), None))?;
        Ok(ReadResourceDirectoryResult::with_all_items(folder))
    }
}

/// The text result that most tools give.
pub(crate) fn said(text: impl Into<String>) -> CallToolResult {
    CallToolResult::success(vec![ContentBlock::text(text)])
}

/// A result with structured content, and its text.
pub(crate) fn structured(value: Value) -> CallToolResult {
    CallToolResult::structured(value)
}
