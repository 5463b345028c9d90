//! How far a call is, as one sequence that only rises, whatever its steps and the servers behind them report.

use toolwright::value::Number;
use toolwright::{EventName, Fact, Text, Value};

/// What a call has reported so far, of all its steps.
#[derive(Clone, Debug, Default)]
pub(crate) struct Track {
    /// For a composite: where its steps are in the run, and how many there are.
    steps: Option<(Text, u64)>,
    /// Steps that are over.
    done: f64,
    /// The newest report.
    reached: Option<f64>,
}

/// One report, ready to be told.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Report {
    pub(crate) progress: f64,
    pub(crate) total: Option<f64>,
    pub(crate) message: Text,
}

impl Track {
    /// What this fact means for whoever waits; nothing, when it says nothing new.
    pub(crate) fn take(&mut self, fact: &Fact) -> Option<Report> {
        match fact.event {
            EventName::StepStarted => self.step(&fact.payload, false),
            EventName::StepFinished => self.step(&fact.payload, true),
            EventName::Progress => self.inner(&fact.payload),
            _ => None,
        }
    }

    /// A step of the composite that was called counts; one of a composite inside it is only told.
    fn step(&mut self, payload: &Value, over: bool) -> Option<Report> {
        let path = payload.get("path").and_then(Value::as_str).unwrap_or_default();
        let around = path.rsplit_once('/').map_or("", |(around, _)| around);
        let count = payload.get("count").and_then(Value::as_u64);
        if self.steps.is_none()
            && let Some(count) = count
        {
            self.steps = Some((around.into(), count));
        }
        let name = path.rsplit_once(':').map_or(path, |(_, name)| name);
        let said = match over {
            false => format!("step {name} started"),
            true if payload.get("ok").and_then(Value::as_bool) == Some(false) => format!("step {name} did not succeed"),
            true => format!("step {name} is done"),
        };
        if self.steps.as_ref().is_none_or(|(place, _)| *place != around) {
            return self.report(None, said.into());
        }
        #[expect(clippy::cast_precision_loss, reason = "a count of steps")]
        let index = payload.get("index").and_then(Value::as_u64).unwrap_or(0) as f64;
        self.done = if over { index + 1.0 } else { index };
        self.report(Some(self.done), said.into())
    }

    /// What a tool says of itself: for a composite a part of the step it is in, otherwise the call's own.
    fn inner(&mut self, payload: &Value) -> Option<Report> {
        let number = |name: &str| payload.get(name).and_then(Value::as_f64).filter(|number| number.is_finite());
        let message = payload.get("message").and_then(Value::as_text).cloned().unwrap_or_default();
        let (done, total) = (number("done"), number("total"));
        if self.steps.is_none() {
            let mut report = self.report(done, message)?;
            report.total = total;
            return Some(report);
        }
        let part = done.zip(total).filter(|(_, total)| *total > 0.0).map(|(done, total)| (done / total).clamp(0.0, 0.99));
        self.report(part.map(|part| self.done + part), message)
    }

    /// A report at `wanted`, or, where that would not rise, a little further than the last one if there is something to say.
    fn report(&mut self, wanted: Option<f64>, message: Text) -> Option<Report> {
        let risen = |at: &f64| self.reached.is_none_or(|reached| *at > reached);
        let progress = match wanted.filter(risen) {
            Some(progress) => progress,
            None if message.is_empty() && wanted.is_some() => return None,
            None => self.little_further(),
        };
        if self.reached.is_some_and(|reached| progress <= reached) {
            return None;
        }
        self.reached = Some(progress);
        #[expect(clippy::cast_precision_loss, reason = "a count of steps")]
        let total = self.steps.as_ref().map(|(_, count)| *count as f64);
        Some(Report { progress, total, message })
    }

    /// Inside a step never as far as its end; without steps the next whole number.
    fn little_further(&self) -> f64 {
        match (self.reached, &self.steps) {
            (None, _) => self.done,
            (Some(reached), None) => reached.floor() + 1.0,
            (Some(reached), Some(_)) => reached + (self.done + 1.0 - reached).max(0.0) / 10.0,
        }
    }
}

impl Report {
    /// The parameters of the notification, under the client's own token.
    pub(crate) fn params(&self, token: &Value) -> Value {
        // A whole number is written as one: 50, not 50.0.
        let number = |number: f64| Number::parse(&number.to_string()).map_or(Value::Null, Value::Number);
        let mut params = vec![("progressToken", token.clone()), ("progress", number(self.progress))];
        params.extend(self.total.map(|total| ("total", number(total))));
        if !self.message.is_empty() {
            params.push(("message", Value::String(self.message.clone())));
        }
        Value::object(params)
    }
}

#[cfg(test)]
mod tests {
    use toolwright::{Identity, json};

    use super::*;

    fn fact(event: EventName, payload: Value) -> Fact {
        Fact { event, identity: Identity::default(), payload }
    }

    fn all(facts: Vec<Fact>) -> Vec<Report> {
        let mut track = Track::default();
        let reports: Vec<Report> = facts.iter().filter_map(|fact| track.take(fact)).collect();
        let rises = reports.windows(2).all(|two| two[0].progress < two[1].progress);
        assert!(rises, "{reports:?}");
        reports
    }

    #[test]
    fn a_tool_alone_is_told_as_it_reports() {
        let report = |done: f64, total: f64| fact(EventName::Progress, json!({ "path": "x", "message": "", "done": done, "total": total }));
        let reports = all(vec![report(0.0, 100.0), report(50.0, 100.0), report(50.0, 100.0), report(20.0, 100.0), report(100.0, 100.0)]);
        assert_eq!(reports.iter().map(|report| report.progress).collect::<Vec<_>>(), [0.0, 50.0, 100.0]);
        assert_eq!(reports[0].params(&json!("abc")), json!({ "progressToken": "abc", "progress": 0, "total": 100 }));
    }

    #[test]
    fn a_report_without_an_amount_or_with_news_still_rises() {
        let said = |message: &str, done: Option<f64>| fact(EventName::Progress, json!({ "path": "x", "message": message, "done": done }));
        let reports = all(vec![said("a", None), said("b", None), said("c", Some(0.5)), said("", Some(0.5)), said("d", Some(7.0))]);
        assert_eq!(reports.iter().map(|report| report.message.as_str()).collect::<Vec<_>>(), ["a", "b", "c", "d"]);
    }

    #[test]
    fn steps_of_a_composite_are_counted_and_what_is_inside_them_is_a_part() {
        let start =
            |path: &str, index: u64, count: u64| fact(EventName::StepStarted, json!({ "path": path, "index": index, "count": count }));
        let end = |path: &str, index: u64| fact(EventName::StepFinished, json!({ "path": path, "index": index, "ok": true }));
        let inner = |done: f64| fact(EventName::Progress, json!({ "path": "r/1:b", "message": "m", "done": done, "total": 4 }));
        let reports = all(vec![
            start("r/0:a", 0, 2),
            start("r/0:a/0:x", 0, 9),
            end("r/0:a/0:x", 0),
            end("r/0:a", 0),
            start("r/1:b", 1, 2),
            inner(1.0),
            inner(4.0),
            inner(4.0),
            end("r/1:b", 1),
        ]);
        assert!(reports.iter().all(|report| report.total == Some(2.0)), "{reports:?}");
        assert_eq!(reports.last().map(|report| report.progress), Some(2.0));
        assert!(reports.iter().any(|report| report.progress == 1.25), "{reports:?}");
        assert!(reports[..3].iter().all(|report| report.progress < 1.0), "{reports:?}");
    }
}
