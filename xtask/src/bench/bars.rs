//! The figures of a case, the ratios between them, and the bars they must reach.

use std::fmt;

use serde_json::Value;

/// The name of the peer's variant; all others are ours.
pub(super) const PEER: &str = "peer";

/// What is measured of a case: samples while it runs, medians afterwards.
#[derive(Debug, Default)]
pub(super) struct Figures<T = f64> {
    id: String,
    /// Steps of one run.
    steps: f64,
    echo: T,
    bare: T,
    governed: T,
    bare_threads: T,
    governed_threads: T,
    peer: T,
}

impl Figures<Vec<f64>> {
    /// The variants and their samples, in the order in which a round takes them: neighbours are compared.
    pub(super) fn variants(&mut self) -> [(&'static str, &mut Vec<f64>); 6] {
        [
            ("echo", &mut self.echo),
            ("bare", &mut self.bare),
            (PEER, &mut self.peer),
            ("governed", &mut self.governed),
            ("bare on two threads", &mut self.bare_threads),
            ("governed on two threads", &mut self.governed_threads),
        ]
    }

    pub(super) fn medians(self) -> Figures {
        Figures {
            id: self.id,
            steps: self.steps,
            echo: median(self.echo),
            bare: median(self.bare),
            governed: median(self.governed),
            bare_threads: median(self.bare_threads),
            governed_threads: median(self.governed_threads),
            peer: median(self.peer),
        }
    }
}

impl Figures {
    pub(super) fn series(id: &str, steps: f64) -> Figures<Vec<f64>> {
        Figures { id: id.to_owned(), steps, ..Figures::default() }
    }

    pub(super) fn heading() -> String {
        let echo = "/echo";
        format!(
            "{:<36} {:>8} {:>8} {:>7} {:>8} {:>7} {:>9} {:>9} {:>9} {:>9} {:>9}",
            "case (ns CPU per step)", "echo", "bare", echo, "governed", echo, "peer", "peer/bare", "peer/gov.", "2thr bare", "2thr gov."
        )
    }
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { id, echo, bare, governed, bare_threads, governed_threads, peer, .. } = self;
        write!(f, "{id:<36} {echo:>8.1} {bare:>8.0} {:>7.1} {governed:>8.0} {:>7.1} ", bare / echo, governed / echo)?;
        if peer.is_nan() {
            write!(f, "{:>9} {:>9} {:>9} ", "-", "-", "-")?;
        } else {
            write!(f, "{peer:>9.0} {:>9.1} {:>9.1} ", peer / bare, peer / governed)?;
        }
        write!(f, "{:>9.2} {:>9.2}", bare_threads / bare, governed_threads / governed)
    }
}

/// The middle of the samples; not a number when there are none.
pub(super) fn median(mut samples: Vec<f64>) -> f64 {
    samples.sort_by(f64::total_cmp);
    samples.get(samples.len() / 2).copied().unwrap_or(f64::NAN)
}

/// A ratio held against what it must be.
#[derive(Debug, PartialEq)]
pub(super) struct Bar {
    pub(super) met: bool,
    text: String,
}

impl Bar {
    pub(super) fn at_most(what: String, ratio: f64, bar: f64) -> Self {
        Self { met: ratio <= bar, text: format!("{what} is {ratio:.2}, at most {bar}") }
    }

    pub(super) fn at_least(what: String, ratio: f64, bar: f64) -> Self {
        Self { met: ratio >= bar, text: format!("{what} is {ratio:.2}, at least {bar}") }
    }
}

impl fmt::Display for Bar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", if self.met { "met        " } else { "FALLS SHORT" }, self.text)
    }
}

/// The bars of one case, as its `bars` in the case file say; those that need a peer only where there was one.
pub(super) fn judge(case: &Value, figures: &Figures, all: &[Figures]) -> Result<Vec<Bar>, String> {
    let mut bars = Vec::new();
    let wanted = case.get("bars").and_then(Value::as_object);
    for (name, bar) in wanted.into_iter().flatten() {
        bars.extend(match name.as_str() {
            "over" => over(bar, figures, all)?,
            "moreSteps" => more_steps(bar, figures, all)?,
            _ => held(name, bar.as_f64().unwrap_or(f64::NAN), figures)?,
        });
    }
    Ok(bars)
}

/// The bars whose two sides are figures of the same case.
fn held(name: &str, bar: f64, figures: &Figures) -> Result<Vec<Bar>, String> {
    let Figures { id, echo, bare, governed, bare_threads, governed_threads, peer, .. } = figures;
    let at_most = |what, ratio| Bar::at_most(format!("{id}: {what}"), ratio, bar);
    let at_least = |what, ratio| Bar::at_least(format!("{id}: {what}"), ratio, bar);
    Ok(match name {
        "bareOverEcho" => vec![at_most("a bare step in boxed echo calls", bare / echo)],
        "governedOverEcho" => vec![at_most("a governed step in boxed echo calls", governed / echo)],
        "peerOverBare" | "peerOverGoverned" if peer.is_nan() => vec![],
        "peerOverBare" => vec![at_least("the peer's step in bare steps", peer / bare)],
        "peerOverGoverned" => vec![at_least("the peer's step in governed steps", peer / governed)],
        "twoThreads" => vec![
            at_most("a bare step on two threads by one on one", bare_threads / bare),
            at_most("a governed step on two threads by one on one", governed_threads / governed),
        ],
        _ => return Err(format!("`{name}` of `{id}` is no bar")),
    })
}

/// The bar against another case: `{"case": ID, "max": RATIO}`.
fn over(bar: &Value, figures: &Figures, all: &[Figures]) -> Result<Vec<Bar>, String> {
    let Figures { id, bare, governed, .. } = figures;
    let other = bar.get("case").and_then(Value::as_str);
    let found = all.iter().find(|figures| Some(figures.id.as_str()) == other);
    let (Some(other), Some(most)) = (found, bar.get("max").and_then(Value::as_f64)) else {
        return Err(format!("`over` of `{id}` needs a `case` measured before and a `max`"));
    };
    Ok(vec![
        Bar::at_most(format!("{id}: bare by `{}`", other.id), bare / other.bare, most),
        Bar::at_most(format!("{id}: governed by `{}`", other.id), governed / other.governed, most),
    ])
}

/// The bar for what each further step costs, which is what a run costs that is like a shorter one but for its steps:
/// `{"than": ID, "over": {"case": ID, "than": ID}, "max": RATIO}`. What is done once a run, such as looking at its input,
/// is no part of it.
fn more_steps(bar: &Value, figures: &Figures, all: &[Figures]) -> Result<Vec<Bar>, String> {
    let wrong = || format!("`moreSteps` of `{}` needs `than` and `over` with `case` and `than`, all measured, and a `max`", figures.id);
    let named = |id: Option<&Value>| all.iter().find(|figures| Some(figures.id.as_str()) == id.and_then(Value::as_str)).ok_or_else(wrong);
    let over = bar.get("over").ok_or_else(wrong)?;
    let (fewer, case, case_fewer) = (named(bar.get("than"))?, named(over.get("case"))?, named(over.get("than"))?);
    let most = bar.get("max").and_then(Value::as_f64).ok_or_else(wrong)?;
    let each = |more: &Figures, fewer: &Figures| (more.governed * more.steps - fewer.governed * fewer.steps) / (more.steps - fewer.steps);
    let ratio = each(figures, fewer) / each(case, case_fewer);
    Ok(vec![Bar::at_most(format!("{}: each further governed step by one of `{}`", figures.id, case.id), ratio, most)])
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn figures(id: &str, bare: f64, governed: f64, peer: f64) -> Figures {
        Figures { id: id.to_owned(), steps: 10.0, echo: 25.0, bare, governed, bare_threads: bare, governed_threads: 2.0 * governed, peer }
    }

    #[test]
    fn a_bar_is_met_on_its_side_and_missed_on_the_other() {
        let all = [figures("a", 100.0, 300.0, 500.0), figures("b", 120.0, 300.0, f64::NAN)];
        let case =
            json!({"bars": {"bareOverEcho": 4, "governedOverEcho": 11, "peerOverBare": 5, "peerOverGoverned": 2, "twoThreads": 1.3}});
        let verdicts = |case: Value, figures: &Figures| -> Vec<bool> {
            judge(&case, figures, &all).expect("the bars are known").iter().map(|bar| bar.met).collect()
        };
        let [a, b] = &all;
        assert_eq!(verdicts(case, a), [true, false, true, false, true, false]);
        assert_eq!(verdicts(json!({"bars": {"peerOverBare": 5}}), b), Vec::<bool>::new());
        assert_eq!(verdicts(json!({"bars": {"over": {"case": "a", "max": 1.1}}}), b), [false, true]);
        assert!(judge(&json!({"bars": {"fast": 1}}), a, &all).is_err());
    }

    #[test]
    fn further_steps_are_held_without_what_is_done_once_a_run() {
        let run = |id: &str, steps: f64, governed: f64| Figures { steps, ..figures(id, 1.0, governed, f64::NAN) };
        // A step costs 50 or 55; the large runs spend 10,000 once.
        let all = [run("small", 10.0, 50.0), run("more", 100.0, 50.0), run("large", 10.0, 1_055.0), run("large more", 100.0, 155.0)];
        let bar = |max: f64| json!({"bars": {"moreSteps": {"than": "large", "over": {"case": "more", "than": "small"}, "max": max}}});
        let [.., large] = &all;
        let met = |max| judge(&bar(max), large, &all).expect("the bars are known").iter().all(|bar| bar.met);
        assert_eq!([met(1.11), met(1.09)], [true, false]);
        assert!(judge(&json!({"bars": {"moreSteps": {"max": 1}}}), large, &all).is_err());
    }

    #[test]
    fn what_was_not_measured_meets_no_bar() {
        let all = [figures("a", f64::NAN, f64::NAN, f64::NAN)];
        let [a] = &all;
        let bars = judge(&json!({"bars": {"bareOverEcho": 5}}), a, &all).expect("the bars are known");
        assert!(bars.iter().all(|bar| !bar.met));
    }

    #[test]
    fn the_median_is_the_middle_sample() {
        assert!((median(vec![3.0, 1.0, 2.0]) - 2.0).abs() < f64::EPSILON);
        assert!(median(vec![]).is_nan());
    }
}
