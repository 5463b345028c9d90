//! A reference without a value: which it was, and where it stands.

use toolwright::{CallError, Fault, Unresolved};

use crate::config::reader::Place;
use crate::host::Host;

/// A reference without a value in one of the composites that ran.
pub(super) struct Missing<'e> {
    /// What the core says about it.
    pub(super) what: &'e Unresolved,
    /// Its place in a file; none for a composite that stands in no file.
    pub(super) place: Option<Place>,
}

/// The reference that ended the call of `tool`, when one did.
pub(super) fn find<'e>(error: &'e CallError, tool: &str, host: &Host) -> Option<Missing<'e>> {
    let mut composite = tool;
    let mut at = error;
    loop {
        let (mapping, source) = match at.fault() {
            Fault::Step(step) => (format!("/steps/{}/inputMapping", step.index), &step.source),
            Fault::Output(output) => ("/output".to_owned(), &output.source),
            _ => return None,
        };
        if let Fault::Unresolved(what) = source.fault() {
            let pointer = format!("{mapping}{}", what.pointer);
            return Some(Missing { what, place: host.place_in(composite, &pointer, &what.span) });
        }
        composite = at.step().map_or(composite, |step| step.tool.as_str());
        at = source;
    }
}

impl Missing<'_> {
    /// The reference with marks under the part that is missing.
    pub(super) fn marked(&self) -> [String; 2] {
        let text = self.what.reference.text.as_str();
        let part = |range: std::ops::Range<usize>| text.get(range).unwrap_or_default().chars().count();
        let before = part(0..self.what.span.start);
        let marks = part(self.what.span.clone()).max(1);
        [text.to_owned(), format!("{}{}", " ".repeat(before), "^".repeat(marks))]
    }
}

#[cfg(test)]
mod tests {
    use toolwright::{CompositeSpec, Invocation, Registry, Value, json};

    use crate::args::{Colour, Format};
    use crate::config::Config;
    use crate::failure::Failure;
    use crate::grant::Grants;
    use crate::host::{Host, Want};
    use crate::output::Output;

    /// A composite that stands in no file.
    async fn failure() -> (toolwright::CallError, Host) {
        let mut registry = Registry::new();
        let tool =
            toolwright::tool("give", "Gives a member").reads().run_json(|_: Value, _call| std::future::ready(Ok(json!({"größe": 1}))));
        registry.register(tool).unwrap();
        let steps = json!({"steps": [
            {"name": "a", "tool": "give"},
            {"name": "b", "tool": "give", "inputMapping": {"x": "$prev[\"größer\"].y"}},
        ]});
        let spec = CompositeSpec::from_value(&steps).unwrap();
        registry.register(toolwright::Composite::new("c", "Asks for another").spec(spec)).unwrap();
        let error = registry.seal().invoke(Invocation::new("c", json!({})), ()).await.unwrap_err();
        (error, Host::open(Config::default(), &Grants::default(), &Want::FilesOnly).await)
    }

    #[tokio::test]
    async fn without_a_file_the_reference_itself_is_marked() {
        let (error, host) = failure().await;
        let failure = Failure { error: &error, tool: "c", host: &host, kept: None };
        let told = failure.human(Output::new(Format::Human, Colour::Never, false));
        assert!(told.contains("\n      $prev[\"größer\"].y\n            ^^^^^^^^\n  help: "), "{told}");
        assert!(told.contains("did you mean `$prev[\"größe\"].y`?"), "{told}");
        assert!(told.contains("completed   a\n"), "{told}");
        let plain = failure.plain();
        assert!(plain.starts_with("unresolved_reference: ") && !plain.contains("the keys there are `größe` (the keys"), "{plain}");
    }
}
