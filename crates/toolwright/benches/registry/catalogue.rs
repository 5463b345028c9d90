//! A catalogue text as large servers give it, the same on every machine, and what is measured of it. For both programs
//! that measure: `cargo bench` and `cargo xtask bench`.
//!
//! Only the public API is used.

use std::error::Error;
use std::fmt::Write as _;
use std::hint::black_box;

use serde_json::{Map, Value as Json, json};
use toolwright::{Answer, BoxFuture, Call, Catalog, Context, Effect, Handler, Options, Registry, ToolError, Value, tool};

pub(crate) type Failure = Box<dyn Error>;

/// Tools of the catalogue; each has two schemas.
pub(crate) const TOOLS: usize = 1_000;

/// What is measured of the catalogue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Figure {
    /// The base line: `serde_json` parses the text.
    SerdeJson,
    /// Parse, register, seal; validators are built when they are needed.
    SealLazily,
    /// The same, and every validator is built.
    SealEagerly,
    /// One tool by its id.
    Get,
    /// Everything for a model, in a context.
    Describe,
    /// What a model may choose from, in a context.
    ModelProtocols,
    /// A text through two tools of a thousand that change it.
    FoldOfMany,
    /// A text through the same two tools, alone in their catalogue.
    FoldOfTwo,
}

impl Figure {
    pub(crate) const ALL: [(&'static str, Self); 8] = [
        ("serde_json", Self::SerdeJson),
        ("seal lazily", Self::SealLazily),
        ("seal eagerly", Self::SealEagerly),
        ("get", Self::Get),
        ("describe", Self::Describe),
        ("model_protocols", Self::ModelProtocols),
        ("visible_text, 2 of 1,000", Self::FoldOfMany),
        ("visible_text, 2 of 2", Self::FoldOfTwo),
    ];
}

/// One figure, ready to be measured.
pub(crate) struct Measurement {
    figure: Figure,
    text: String,
    catalog: Catalog,
    ids: Vec<String>,
}

impl Measurement {
    pub(crate) fn new(figure: Figure) -> Result<Self, Failure> {
        let text = text();
        let tools = if figure == Figure::FoldOfTwo { 2 } else { TOOLS };
        let catalog = registered(&text, tools)?.seal();
        let ids = catalog.ids().map(str::to_owned).collect();
        Ok(Self { figure, text, catalog, ids })
    }

    /// Does it so often.
    pub(crate) fn run(&self, loops: u64) {
        let cx = Context::default();
        let mut ids = self.ids.iter().cycle();
        for _ in 0..loops {
            match self.figure {
                Figure::SerdeJson => {
                    let parsed: Result<Json, _> = serde_json::from_str(black_box(&self.text));
                    assert!(black_box(parsed).is_ok(), "the text is JSON");
                }
                Figure::SealLazily => drop(black_box(self.sealed())),
                Figure::SealEagerly => self.sealed().warm(),
                Figure::Get => {
                    let id = ids.next().map_or("", String::as_str);
                    assert!(black_box(self.catalog.get(black_box(id))).is_some(), "it is there");
                }
                Figure::Describe => drop(black_box(self.catalog.describe(Some("model"), Some(&cx)))),
                Figure::ModelProtocols => drop(black_box(self.catalog.model_protocols(&cx).is_ok())),
                Figure::FoldOfMany | Figure::FoldOfTwo => {
                    let shown = self.catalog.visible_text(black_box("shown"), &cx);
                    assert!(black_box(shown).is_ok_and(|shown| shown.len() == 7), "two tools have a say in it");
                }
            }
        }
    }

    fn sealed(&self) -> Catalog {
        let registry = registered(black_box(&self.text), TOOLS);
        registry.expect("the catalogue is right").seal()
    }
}

/// The first `tools` of the catalogue in a text. Two of them have a say in what is shown.
pub(crate) fn registered(text: &str, tools: usize) -> Result<Registry, Failure> {
    let document = Value::parse(text)?;
    let listed = document.get("tools").and_then(Value::as_array).ok_or("it lists tools")?;
    let mut registry = Registry::with_options(Options::new())?;
    for (index, listed) in listed.iter().take(tools).enumerate() {
        let word = |member: &str| listed.get(member).and_then(Value::as_text).cloned().ok_or("a tool is described");
        let schema = |member: &str| listed.get(member).cloned().ok_or("a tool has two schemas");
        let reads = listed.pointer("/annotations/readOnlyHint").and_then(Value::as_bool) == Some(true);
        let mut declared = tool(word("name")?, word("description")?)
            .effect(if reads { Effect::read() } else { Effect::write() })
            .input_schema(schema("inputSchema")?)
            .output_schema(schema("outputSchema")?);
        if index == 0 || index + 1 == tools {
            declared = declared.visible_text(|text: String, _| text + ".");
        }
        registry.register(declared.handler(Silent))?;
    }
    Ok(registry)
}

/// The text of the whole catalogue: what 1,000 tools of some fifty servers say in answer to `tools/list`.
pub(crate) fn text() -> String {
    let mut draw = Draw(7);
    let tools: Vec<Json> = (0..TOOLS).map(|number| described(number, &mut draw)).collect();
    json!({ "tools": tools }).to_string()
}

fn described(number: usize, draw: &mut Draw) -> Json {
    let style = Style::of(number);
    let (verb, noun) = (draw.word(VERBS), draw.word(NOUNS));
    json!({
        "name": format!("{verb}_{noun}_{number}"),
        "description": format!("{verb}s the {noun} of a project. {}", draw.sentence(12)),
        "inputSchema": style.schema(true, draw),
        "outputSchema": style.schema(false, draw),
        "annotations": {"readOnlyHint": !number.is_multiple_of(3), "openWorldHint": false},
    })
}

/// Which generator the schemas of a server come from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Style {
    /// From TypeScript: draft-07, closed objects.
    Zod,
    /// From Python: a title on everything, `anyOf` with null, definitions.
    Pydantic,
    /// From Rust: 2020-12, sized integers, definitions.
    Schemars,
}

impl Style {
    fn of(number: usize) -> Self {
        match number / 20 % 5 {
            0 | 1 => Self::Zod,
            2 | 3 => Self::Pydantic,
            _ => Self::Schemars,
        }
    }

    fn schema(self, input: bool, draw: &mut Draw) -> Json {
        let mut schema = Map::new();
        let refers = self != Self::Zod && draw.below(4) == 0;
        match self {
            Self::Zod => schema.insert("$schema".into(), "http://json-schema.org/draft-07/schema#".into()),
            Self::Schemars => schema.insert("$schema".into(), "https://json-schema.org/draft/2020-12/schema".into()),
            Self::Pydantic => schema.insert("title".into(), if input { "Arguments".into() } else { "Output".into() }),
        };
        schema.insert("type".into(), "object".into());
        let (mut properties, required) = self.properties(2 + draw.below(6), 1, draw);
        if refers {
            let entries = json!({"type": "array", "items": {"$ref": "#/$defs/Entry"}, "title": "Entries"});
            properties.insert("entries".into(), entries);
            let (properties, required) = self.properties(2 + draw.below(3), 0, draw);
            let entry = json!({"type": "object", "title": "Entry", "properties": properties, "required": required});
            schema.insert("$defs".into(), json!({ "Entry": entry }));
        }
        schema.insert("properties".into(), properties.into());
        schema.insert("required".into(), required);
        if self == Self::Zod {
            schema.insert("additionalProperties".into(), false.into());
        }
        Json::Object(schema)
    }

    fn properties(self, count: usize, levels: u32, draw: &mut Draw) -> (Map<String, Json>, Json) {
        let mut properties = Map::new();
        for _ in 0..count {
            let name = draw.word(NOUNS);
            properties.insert(name.to_owned(), self.property(name, levels, draw));
        }
        let required = properties.keys().take(1 + count / 3).cloned().collect();
        (properties, required)
    }

    fn property(self, name: &str, levels: u32, draw: &mut Draw) -> Json {
        let mut property = match draw.below(12) {
            0 => json!({"type": "integer", "minimum": 1, "maximum": 1_000, "default": 50}),
            1 => json!({"type": "boolean", "default": false}),
            2 => json!({"type": "string", "enum": ["open", "closed", "merged", "all"], "default": "open"}),
            3 => json!({"type": "array", "items": {"type": "string"}, "maxItems": 100}),
            4 => json!({"type": "number", "exclusiveMinimum": 0}),
            5 => json!({"type": "string", "format": "date-time"}),
            6 => json!({"anyOf": [{"type": "string"}, {"type": "null"}], "default": null}),
            7 if levels > 0 => {
                let (properties, required) = self.properties(3, levels - 1, draw);
                json!({"type": "object", "properties": properties, "required": required})
            }
            8 if self == Self::Schemars => json!({"type": "integer", "format": "uint32", "minimum": 0}),
            9 if draw.below(4) == 0 => json!({"type": "string", "pattern": "^[A-Za-z0-9._-]+$"}),
            _ => json!({"type": "string", "minLength": 1, "maxLength": 256}),
        };
        let mut said = Map::new();
        if self == Self::Pydantic {
            said.insert("title".into(), name.into());
        }
        if self != Self::Pydantic || draw.below(2) == 0 {
            let words = 6 + draw.below(8);
            said.insert("description".into(), draw.sentence(words).into());
        }
        if let Some(property) = property.as_object_mut() {
            property.append(&mut said);
        }
        property
    }
}

const VERBS: &[&str] = &["list", "get", "create", "update", "delete", "search", "merge", "export", "import", "review"];
const NOUNS: &[&str] = &[
    "issue",
    "branch",
    "commit",
    "repository",
    "file",
    "path",
    "owner",
    "label",
    "comment",
    "query",
    "limit",
    "cursor",
    "project",
    "team",
    "page",
    "order",
    "state",
    "title",
    "body",
    "date",
    "user",
    "size",
    "kind",
    "id",
    "version",
    "token",
    "region",
    "zone",
    "bucket",
    "table",
];
const WORDS: &[&str] = &[
    "the", "name", "of", "which", "a", "result", "is", "given", "back", "for", "every", "entry", "that", "matches", "when", "none", "more",
    "than", "one", "page", "in", "order", "as", "last", "changed",
];

/// Numbers that are the same on every machine: SplitMix64.
struct Draw(u64);

impl Draw {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (bits ^ (bits >> 31)) as usize % bound
    }

    fn word(&mut self, words: &[&'static str]) -> &'static str {
        words.get(self.below(words.len())).copied().unwrap_or("thing")
    }

    fn sentence(&mut self, words: usize) -> String {
        let mut sentence = String::from("Says");
        for _ in 0..words {
            // Writing to a `String` cannot fail.
            let _ = write!(sentence, " {}", self.word(WORDS));
        }
        sentence + "."
    }
}

struct Silent;

impl Handler for Silent {
    fn handle<'a>(&'a self, _: Value, _: Call) -> BoxFuture<'a, Result<Answer, ToolError>> {
        Box::pin(async { Ok(Answer::default()) })
    }
}
