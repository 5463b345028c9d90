//! Arguments that clients of the sessionless generation repeat in headers: `x-mcp-header` in an input schema.

use toolwright::{Object, Text, Value};

/// An argument that a client also sends as the header `Mcp-Param-…`.
///
/// ```
/// use toolwright::{Registry, json, tool};
/// use toolwright_mcp::server::{Audience, Generation, Profile, Surface};
/// let schema = json!({ "type": "object", "properties": { "region": { "type": "string", "x-mcp-header": "Region" } } });
/// let query = tool("query", "Asks").reads().input_schema(schema).run_json(|input, _call| async move { Ok(input) });
/// let catalog = Registry::new().with(query)?.seal();
/// let surface = Surface::build(&catalog, &Audience::default(), &Profile::default(), Generation::Sessionless, 100);
/// assert_eq!(surface.mirrored("query")[0].header, "Region");
/// # Ok::<(), toolwright::RegisterError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Mirrored {
    /// The header's name behind `Mcp-Param-`, as written.
    pub header: Text,
    /// The names of members that lead to the argument, outermost first.
    pub path: Vec<Text>,
}

/// How deep members are looked at.
const DEPTH_MAX: usize = 32;

/// The annotated arguments of a schema that can be reached through `properties` alone; the others count for nothing.
pub(super) fn of(schema: Option<&Value>) -> Vec<Mirrored> {
    let mut found = Vec::new();
    if let Some(schema) = schema.and_then(Value::as_object) {
        look(schema, &mut Vec::new(), &mut found);
    }
    found
}

fn look(schema: &Object, path: &mut Vec<Text>, found: &mut Vec<Mirrored>) {
    if path.len() >= DEPTH_MAX {
        return;
    }
    for (name, property) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
        let Some(property) = property.as_object() else { continue };
        path.push(name.clone());
        let header = property.get("x-mcp-header").and_then(Value::as_text).filter(|header| !header.is_empty());
        found.extend(header.map(|header| Mirrored { header: header.clone(), path: path.clone() }));
        look(property, path, found);
        path.pop();
    }
}
