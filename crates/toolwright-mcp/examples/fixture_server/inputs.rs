//! Tools and prompts that require answers of the client before they go on, in the newest generation's way.

use rmcp::model::*;
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use serde_json::{Map, Value, json};

use crate::offer::{OfferedTool, typed};
use crate::serving::{Fixture, said};

type Response = Result<CallToolResponse, ErrorData>;

impl Fixture {
    /// What a tool that needs answers says; absent for the others.
    pub(crate) fn input(
        &self,
        offered: &OfferedTool,
        request: &CallToolRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Option<Response> {
        let answers = request.input_responses.as_ref();
        let kind = request.name.strip_prefix("test_input_required_result_").unwrap_or(&request.name);
        if kind == "multi_round" {
            return Some(self.rounds(request));
        }
        if offered.needs.is_empty() {
            return None;
        }
        if let Some(state) = &request.request_state
            && self.state.seal.open(state).is_err()
        {
            return Some(Err(ErrorData::invalid_params("the request state is none of ours", None)));
        }
        let mut needs = offered.needs.clone();
        if kind == "capabilities" {
            let able = context.client_capabilities().unwrap_or_default();
            needs.retain(|_, need| match need["method"].as_str() {
                Some("elicitation/create") => able.elicitation.is_some(),
                Some("sampling/createMessage") => able.sampling.is_some(),
                _ => able.roots.is_some(),
            });
        }
        let with_state = matches!(kind, "request_state" | "tampered_state" | "multiple_inputs");
        let complete = needs.keys().all(|key| answer(answers, key).is_some()) && (!with_state || request.request_state.is_some());
        if !complete {
            let state = with_state.then(|| self.state.seal.seal_json(&json!({"of": request.name})).unwrap());
            return Some(Ok(required(&needs, state).into()));
        }
        Some(Ok(said(text(kind, answers)).into()))
    }

    /// Two answers, one after the other; the state says how far it is.
    fn rounds(&self, request: &CallToolRequestParams) -> Response {
        let round = match &request.request_state {
            None => 0,
            Some(state) => {
                let state: Result<Value, _> = self.state.seal.open_json(state);
                let state = state.map_err(|_| ErrorData::invalid_params("the request state is none of ours", None))?;
                state["round"].as_u64().unwrap_or_default()
            }
        };
        let step = format!("step{}", round.max(1));
        let answered = round > 0 && answer(request.input_responses.as_ref(), &step).is_some();
        let next = if answered { round + 1 } else { round.max(1) };
        if next > 2 {
            return Ok(said("Multi-round flow complete").into());
        }
        let (message, field) = match next {
            1 => ("Step 1: What is your name?", "name"),
            _ => ("Step 2: What is your favorite color?", "color"),
        };
        let schema = json!({"type": "object", "properties": {field: {"type": "string"}}, "required": [field]});
        let need = json!({"method": "elicitation/create", "params": {"mode": "form", "message": message, "requestedSchema": schema}});
        let needs = Map::from_iter([(format!("step{next}"), need)]);
        let state = self.state.seal.seal_json(&json!({"round": next})).unwrap();
        Ok(required(&needs, Some(state)).into())
    }

    pub(crate) fn prompt(&self, request: GetPromptRequestParams) -> Result<GetPromptResponse, ErrorData> {
        let needs = self.offer.prompts.iter().find(|offered| offered.prompt.name == request.name).map(|offered| &offered.needs);
        if let Some(needs) = needs.filter(|needs| !needs.is_empty()) {
            let answers = request.input_responses.as_ref();
            if !needs.keys().all(|key| answer(answers, key).is_some()) {
                return Ok(required(needs, None).into());
            }
            let context = answer(answers, "user_context").and_then(|answer| answer["content"]["context"].as_str()).unwrap_or("none");
            let message = PromptMessage::new_text(Role::User, format!("Prompt with context: {context}"));
            return Ok(GetPromptResult::new(vec![message]).into());
        }
        let found = self.offer.prompt(&request.name, &request.arguments.unwrap_or_default());
        let unknown = || Err(ErrorData::invalid_params(format!("there is no prompt `{}`", request.name), None));
        found.unwrap_or_else(unknown).map(Into::into)
    }
}

/// An answer that can be one: whatever else came under that key counts as missing.
pub(crate) fn answer<'a>(answers: Option<&'a InputResponses>, key: &str) -> Option<&'a Value> {
    answers.and_then(|answers| answers.get(key)).filter(|answer| answer.is_object())
}

pub(crate) fn required(needs: &Map<String, Value>, state: Option<String>) -> InputRequiredResult {
    let requests = needs.iter().map(|(key, need)| (key.clone(), typed(need.clone())));
    InputRequiredResult::new(Some(requests.collect()), state)
}

fn text(kind: &str, answers: Option<&InputResponses>) -> String {
    let at = |key: &str, pointer: &str| answer(answers, key).and_then(|answer| answer.pointer(pointer)).cloned().unwrap_or_default();
    let word = |value: Value| value.as_str().unwrap_or("none").to_owned();
    match kind {
        "elicitation" => format!("Hello, {}!", word(at("user_name", "/content/name"))),
        "sampling" => format!("Sampling response: {}", word(at("capital_question", "/content/text"))),
        "list_roots" => format!("Client roots: {}", at("client_roots", "/roots")),
        "request_state" | "tampered_state" => "Confirmed: state-ok".to_owned(),
        "multiple_inputs" => {
            let (name, greeting) = (word(at("user_name", "/content/name")), word(at("greeting", "/content/text")));
            format!("All inputs received: {name}, {greeting}, {}", at("client_roots", "/roots"))
        }
        _ => "All inputs received".to_owned(),
    }
}
