//! What the fixture offers, read from `offer.json`.

use std::collections::BTreeMap;

use rmcp::ErrorData;
use rmcp::model::{CallToolResult, GetPromptResult, Prompt, ReadResourceResult, Resource, ResourceTemplate, Tool};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

/// All of it.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Offer {
    pub(crate) tools: Vec<OfferedTool>,
    /// The tool that is in the list now and then.
    pub(crate) extra: OfferedTool,
    /// The prompt that is in the list now and then.
    pub(crate) extra_prompt: OfferedPrompt,
    pub(crate) resources: Vec<OfferedResource>,
    pub(crate) templates: Vec<ResourceTemplate>,
    pub(crate) prompts: Vec<OfferedPrompt>,
    /// What completes an argument of that name.
    pub(crate) completions: BTreeMap<String, Vec<String>>,
    pub(crate) skills: Vec<OfferedSkill>,
}

/// A tool, and what it does unless a handler says otherwise.
#[derive(Debug, Deserialize)]
pub(crate) struct OfferedTool {
    pub(crate) tool: Tool,
    /// Answers with this.
    pub(crate) result: Option<Value>,
    /// Asks the client this while it works.
    pub(crate) asks: Option<Asks>,
    /// Requires these answers before it goes on.
    #[serde(default)]
    pub(crate) needs: Map<String, Value>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Asks {
    pub(crate) method: String,
    pub(crate) params: Value,
    /// What stands before the answer.
    pub(crate) says: String,
}

#[derive(Debug, Deserialize)]
pub(crate) struct OfferedResource {
    pub(crate) resource: Resource,
    contents: Value,
}

#[derive(Debug, Deserialize)]
pub(crate) struct OfferedPrompt {
    pub(crate) prompt: Prompt,
    result: Option<Value>,
    #[serde(default)]
    pub(crate) needs: Map<String, Value>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct OfferedSkill {
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) files: Vec<SkillFile>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct SkillFile {
    pub(crate) path: String,
    pub(crate) text: String,
}

/// A typed part of the protocol out of JSON.
pub(crate) fn typed<T: DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).expect("of that type")
}

/// A result out of JSON; `rmcp` takes the word that it is complete away again for older generations.
fn complete<T: DeserializeOwned>(mut result: Value) -> T {
    result["resultType"] = json!("complete");
    typed(result)
}

impl Offer {
    pub(crate) fn read() -> Self {
        let value: Value = serde_json::from_str(include_str!("offer.json")).expect("JSON");
        typed(value)
    }

    pub(crate) fn tool(&self, name: &str) -> Option<&OfferedTool> {
        self.tools.iter().chain([&self.extra]).find(|offered| offered.tool.name == name)
    }

    /// A resource by its URI: one of the list, one of the template, or a file of a skill.
    pub(crate) fn resource(&self, uri: &str) -> Option<ReadResourceResult> {
        let listed = self.resources.iter().find(|offered| offered.resource.uri == uri);
        let mut contents = match listed {
            Some(offered) => {
                let mut contents = offered.contents.clone();
                contents["mimeType"] = json!(offered.resource.mime_type);
                contents
            }
            None => match uri.strip_prefix("test://template/").and_then(|rest| rest.strip_suffix("/data")) {
                Some(id) => json!({
                    "mimeType": "application/json",
                    "text": json!({"id": id, "templateTest": true, "data": format!("Data for ID: {id}")}).to_string(),
                }),
                None => json!({"mimeType": "text/markdown", "text": self.skill_file(uri)?.text}),
            },
        };
        contents["uri"] = json!(uri);
        Some(complete(json!({"contents": [contents]})))
    }

    fn skill_file(&self, uri: &str) -> Option<&SkillFile> {
        let files = self.skills.iter().flat_map(|skill| skill.files.iter().map(move |file| (skill, file)));
        files.into_iter().find(|(skill, file)| skill.uri(&file.path) == uri).map(|(_, file)| file)
    }

    /// The direct children of a folder of a skill.
    pub(crate) fn folder(&self, uri: &str) -> Option<Vec<Resource>> {
        let inside = format!("{}/", uri.trim_end_matches('/'));
        let mut children = BTreeMap::new();
        for (skill, file) in self.skills.iter().flat_map(|skill| skill.files.iter().map(move |file| (skill, file))) {
            let file_uri = skill.uri(&file.path);
            let Some(rest) = file_uri.strip_prefix(&inside).filter(|_| inside.starts_with("skill://")) else { continue };
            let (name, kind) = match rest.split_once('/') {
                Some((folder, _)) => (folder, "inode/directory"),
                None => (rest, "text/markdown"),
            };
            let uri = format!("{inside}{name}");
            children.insert(uri.clone(), typed(json!({"uri": uri, "name": name, "mimeType": kind})));
        }
        // The scheme's own root is no folder of a skill.
        (inside != "skill://" && !children.is_empty()).then(|| children.into_values().collect())
    }

    /// A prompt with its arguments; `None` when there is no such prompt.
    pub(crate) fn prompt(&self, name: &str, arguments: &Map<String, Value>) -> Option<Result<GetPromptResult, ErrorData>> {
        let offered = self.prompts.iter().find(|offered| offered.prompt.name == name)?;
        let missing =
            offered.prompt.arguments.iter().flatten().find(|argument| {
                argument.required == Some(true) && arguments.get(&argument.name).is_none_or(|value| value.as_str().is_none())
            });
        if let Some(argument) = missing {
            return Some(Err(ErrorData::invalid_params(format!("the argument `{}` is missing", argument.name), None)));
        }
        let text = |name: &str| arguments.get(name).and_then(Value::as_str).unwrap_or_default();
        let message = |content: Value| json!({"role": "user", "content": content});
        let said = |text: String| message(json!({"type": "text", "text": text}));
        let result = match name {
            "test_prompt_with_arguments" => {
                json!({"messages": [said(format!("Prompt with arguments: arg1='{}', arg2='{}'", text("arg1"), text("arg2")))]})
            }
            "test_prompt_with_embedded_resource" => {
                let resource = json!({
                    "uri": text("resourceUri"), "mimeType": "text/plain", "text": "Embedded resource content for testing.",
                });
                let embedded = message(json!({"type": "resource", "resource": resource}));
                json!({"messages": [embedded, said("Please process the embedded resource above.".to_owned())]})
            }
            _ => offered.result.clone().unwrap_or_else(|| json!({"messages": []})),
        };
        Some(Ok(complete(result)))
    }
}

impl OfferedTool {
    /// Its fixed answer, if it has one.
    pub(crate) fn fixed(&self) -> Option<CallToolResult> {
        self.result.clone().map(complete)
    }
}

impl OfferedSkill {
    pub(crate) fn uri(&self, path: &str) -> String {
        format!("skill://{}/{path}", self.name)
    }
}
