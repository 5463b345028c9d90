//! What a person is shown who is asked for a yes to a call, and what of their answer is a yes.

use toolwright::approval::{Answer, Request};
use toolwright::{Impact, Text, Value};

use super::input;
use crate::upstream::{Answered, Question};

/// The member of `_meta` with the whole question, for clients that show more than text.
pub(crate) const APPROVAL_META: &str = "dev.toolwright/approval";

/// Characters of arguments that the text shows; the whole is in `_meta`.
const SHOWN_CHARS_MAX: usize = 4_000;

/// The question as a form with one required field: nothing but `approve: true` in it is a yes.
pub(crate) fn question(request: &Request) -> Question {
    let text = |text: &str| Value::from(text);
    let approve = [
        ("type", text("boolean")),
        ("title", text("Let it run")),
        ("description", text("true: exactly what is shown may run, once. false: it does not run.")),
    ];
    let reason =
        [("type", text("string")), ("title", text("Why not")), ("description", text("What the model is told, if it does not run"))];
    let schema = Value::object([
        ("type", text("object")),
        ("properties", Value::object([("approve", Value::object(approve)), ("reason", Value::object(reason))])),
        ("required", Value::array(["approve"])),
    ]);
    let params = Value::object([
        ("message", Value::from(message(request))),
        ("requestedSchema", schema),
        ("_meta", Value::object([(APPROVAL_META, whole(request))])),
    ]);
    Question { key: request.id.clone(), method: input::ELICIT.into(), params }
}

/// What the client's answer says. An accept without the field says nothing, and is a no.
pub(crate) fn answer(answered: &Answered, who: &Text) -> Option<Answer> {
    let Answered::Result(result) = answered else { return None };
    let no = |reason: &str| Some(Answer::No { who: who.clone(), reason: reason.into() });
    let content = result.get("content");
    let reason = content.and_then(|content| content.get("reason")).and_then(Value::as_str).unwrap_or_default();
    match result.get("action").and_then(Value::as_str) {
        Some("accept") => match content.and_then(|content| content.get("approve")) {
            Some(Value::Bool(true)) => Some(Answer::Yes { who: who.clone() }),
            Some(Value::Bool(false)) => no(reason),
            _ => no("the answer did not say `approve: true`"),
        },
        Some("decline") => no(reason),
        _ => no("the question was put away without an answer"),
    }
}

fn message(request: &Request) -> String {
    let mut lines = vec![format!("May `{}` run with these arguments?", visible(&request.tool, 200)), arguments(&request.arguments)];
    if !request.description.is_empty() {
        lines.push(format!("It says of itself: {}", visible(&request.description, 400)));
    }
    if let Some(plan) = &request.plan {
        let steps: Vec<String> = plan.steps.iter().map(|step| visible(step, 80)).collect();
        lines.push(format!("It is the step `{}` of `{}` ({}).", visible(&plan.step, 80), visible(&plan.composite, 200), steps.join(" → ")));
    }
    lines.push(effect(request));
    for covered in &request.covers {
        lines.push(format!("The same yes lets `{}` run with:", visible(&covered.tool, 200)));
        lines.push(arguments(&covered.arguments));
    }
    if !request.done.is_empty() {
        lines.push(format!("Effects of this run so far: {}.", request.done.len()));
    }
    if let Some(expires) = request.expires {
        let at = std::time::UNIX_EPOCH.checked_add(std::time::Duration::from_nanos(expires.0));
        lines.extend(at.map(|at| format!("Without an answer until {} it does not run.", super::ids::iso(at))));
    }
    lines.join("\n")
}

fn effect(request: &Request) -> String {
    let said = match request.effect.as_ref().map(|effect| effect.impact) {
        Some(Impact::None) => "it changes nothing",
        Some(Impact::Idempotent) => "it changes something; doing it twice is as doing it once",
        Some(Impact::Once) => "it changes something, each time again",
        None => "nobody has said what it changes",
    };
    format!("Its effect: {said}.")
}

fn arguments(arguments: &Value) -> String {
    visible(&arguments.to_json_string(), SHOWN_CHARS_MAX)
}

/// Text of strangers that a person decides by: what cannot be seen, or turns the direction around, is written out.
fn visible(text: &str, chars_max: usize) -> String {
    let mut shown = String::with_capacity(text.len().min(chars_max));
    for (at, c) in text.chars().enumerate() {
        if at == chars_max {
            let more = text.chars().count().saturating_sub(chars_max);
            shown.push_str(&format!("… ({more} more characters, not shown here)"));
            break;
        }
        let hidden = matches!(c, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}');
        if c.is_control() || hidden {
            shown.extend(c.escape_unicode());
        } else {
            shown.push(c);
        }
    }
    shown
}

/// The question as data.
fn whole(request: &Request) -> Value {
    let text = |text: &Text| Value::String(text.clone());
    let mut members = vec![
        ("id", text(&request.id)),
        ("run", text(&request.run)),
        ("path", text(&request.path)),
        ("tool", text(&request.tool)),
        ("arguments", request.arguments.clone()),
    ];
    if let Some(plan) = &request.plan {
        let steps = Value::array(plan.steps.iter().map(text));
        let plan = [("composite", text(&plan.composite)), ("step", text(&plan.step)), ("steps", steps)];
        members.push(("plan", Value::object(plan)));
    }
    if !request.covers.is_empty() {
        let covered = request.covers.iter().map(|covered| {
            Value::object([("path", text(&covered.path)), ("tool", text(&covered.tool)), ("arguments", covered.arguments.clone())])
        });
        members.push(("covers", Value::array(covered)));
    }
    if !request.caller.is_empty() {
        members.push(("caller", text(&request.caller)));
    }
    members.extend(request.expires.map(|expires| ("expires", expires.0.into())));
    if !request.rule.is_empty() {
        members.push(("rule", text(&request.rule)));
    }
    if !request.binding.is_empty() {
        members.push(("binding", text(&request.binding)));
    }
    Value::object(members)
}

#[cfg(test)]
mod tests {
    use toolwright::json;

    use super::*;

    #[test]
    fn only_this_very_yes_is_a_yes() {
        let who: Text = "ann".into();
        let yes = Some(Answer::Yes { who: who.clone() });
        let is = |result: Value| answer(&Answered::Result(result), &who);
        assert_eq!(is(json!({ "action": "accept", "content": { "approve": true } })), yes);
        for not in [
            json!({ "action": "accept" }),
            json!({ "action": "accept", "content": {} }),
            json!({ "action": "accept", "content": { "approve": "true" } }),
            json!({ "action": "accept", "content": { "approve": false, "reason": "too much" } }),
            json!({ "action": "decline", "content": { "approve": true } }),
            json!({ "action": "cancel" }),
            json!({ "content": { "approve": true } }),
        ] {
            assert!(matches!(is(not.clone()), Some(Answer::No { .. })), "{not}");
        }
        assert_eq!(answer(&Answered::Refused { code: -32_601, message: String::new() }, &who), None);
    }

    #[test]
    fn a_person_sees_what_will_be_sent_and_nothing_hidden() {
        let mut request = Request::new("a1", "r1", "pay", json!({ "to": "x\u{202e}y", "amount": 40 }));
        request.covers.push(toolwright::approval::Covered::new("r/2:log", "log", json!({ "line": "sent" })));
        let question = question(&request);
        let message = question.params.get("message").and_then(Value::as_str).unwrap();
        assert!(message.contains(r#"{"to":"x\u{202e}y","amount":40}"#), "{message}");
        assert!(message.contains("`log`") && message.contains(r#"{"line":"sent"}"#), "{message}");
        assert_eq!(question.params.pointer("/requestedSchema/required"), Some(&json!(["approve"])));
        let whole = question.params.get("_meta").and_then(|meta| meta.get(APPROVAL_META)).unwrap();
        assert_eq!(whole.get("arguments"), Some(&request.arguments));
    }
}
