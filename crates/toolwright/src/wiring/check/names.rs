//! Arguments by name: those that nobody takes, and those that nobody gives.

use super::super::node::Conj;
use super::super::words;
use super::{Bit, Check};
use crate::composite::spec::Fix;
use crate::nearest::{nearest, unmistakable};
use crate::reference::template::RefPlan;
use crate::value::Text;

impl Check<'_> {
    /// One that is given and that the tool does not take.
    pub(super) fn one_too_many(&mut self, key: &Text, named: &[Text], given: &[Text], pointer: String, argument: &str) {
        let near = nearest(key, named.iter().map(Text::as_str).filter(|name| !given.iter().any(|given| given == name)));
        let tool = self.target.tool;
        let message = match argument.is_empty() {
            true => format!("`{tool}` takes no argument `{}`", crate::cut(key, 60)),
            false => format!("{} takes no member `{}`", self.argument(argument), crate::cut(key, 60)),
        };
        let help = match near {
            Some(near) => format!("did you mean `{near}`?"),
            None if named.is_empty() => "take it out: there is nothing to give".into(),
            None => format!("take it out: only {} can be given", words::names(named)),
        };
        // Two that may mean the same cannot both be it.
        let alone = |near| given.iter().filter(|given| !named.contains(given) && nearest(given, [near]).is_some()).count() == 1;
        let sure = near.filter(|near| unmistakable(key, named.iter().map(Text::as_str)) == Some(near) && alone(near));
        let fix = sure.map(|near| Fix::Key { pointer: pointer.clone(), to: near.into() });
        self.error(self.target.code, message, Some(help), &pointer, None, fix);
    }

    /// One that the tool needs and that is not given.
    pub(super) fn not_given(&mut self, key: &Text, wanted: &Conj, named: &[Text], given: &[Text], pointer: &str, argument: &str) {
        let message = match argument.is_empty() {
            true => format!("`{}` needs the argument `{key}`, and the step does not give it", self.target.tool),
            false => format!("{} needs the member `{key}`, and the step does not give it", self.argument(argument)),
        };
        // One that was given under a wrong name was told as one too many.
        let misspelt = given.iter().filter(|given| !named.contains(given)).any(|given| nearest(given, [key.as_str()]).is_some());
        if misspelt && self.issues.iter().any(|issue| issue.help.as_deref() == Some(&format!("did you mean `{key}`?"))) {
            return;
        }
        let help = match argument.is_empty() {
            true => format!("add `{key}` to the step's `inputMapping`"),
            false => format!("add `{key}` there"),
        };
        let help = match self.engine.read_all(wanted).is_any() {
            true => help,
            false => format!("{help}; it takes {}", self.engine.describe(wanted)),
        };
        self.error(self.target.code, message, Some(help), pointer, None, None);
    }

    /// Those that the tool needs when another is given.
    pub(super) fn not_beside(&mut self, key: &Text, needed: &[Text], members: &[(Text, Bit<'_>)], pointer: &str, argument: &str) {
        let given = |name: &Text| members.iter().find(|(key, _)| key == name).map(|(_, bit)| bit);
        let Some(bit) = given(key) else { return };
        for name in needed {
            let (way, help) = match given(name) {
                None if !bit.may_be_left_out() => {
                    let message = format!("{} needs `{name}` beside `{key}`, and the step does not give it", self.argument(argument));
                    self.error(self.target.code, message, Some(format!("add `{name}`, or take out `{key}`")), pointer, None, None);
                    continue;
                }
                None => ("does not give it", format!("add `{name}`, or take out `{key}`")),
                Some(other) if other.may_be_left_out() => {
                    ("may leave it out", format!("take `{name}` from somewhere that always has it, or take out `{key}`"))
                }
                Some(_) => continue,
            };
            let message = format!("{} needs `{name}` beside `{key}`, and the step {way}", self.argument(argument));
            self.warn(message, Some(help), pointer, None, None);
        }
    }

    /// One that no step of a composite looks at, whose input nobody wrote down.
    pub(super) fn unused(&mut self, key: &Text, named: &[Text], given: &[Text], pointer: &str) {
        let near = nearest(key, named.iter().map(Text::as_str).filter(|name| !given.iter().any(|given| given == name)));
        let message = format!("no step of `{}` looks at its input's `{}`", self.target.tool, crate::cut(key, 60));
        let help = match near {
            Some(near) => format!("did you mean `{near}`?"),
            None if named.is_empty() => "take it out: it takes nothing".into(),
            None => format!("take it out: its steps look at {}", words::names(named)),
        };
        let sure = near.filter(|near| unmistakable(key, named.iter().map(Text::as_str)) == Some(near));
        let fix = sure.map(|near| Fix::Key { pointer: pointer.into(), to: near.into() });
        self.warn(message, Some(help), pointer, None, fix);
    }

    /// A member of the input for which no value is right: the steps that use it need different things.
    pub(super) fn nothing_is_right(&mut self, reference: &RefPlan, hop: usize, pointer: &str) {
        let path = reference.path.iter().take(hop + 1).map(super::hop_text).collect::<String>();
        let told = Text::from(path.as_str());
        if self.sources.told.borrow().contains(&told) {
            return;
        }
        self.sources.told.borrow_mut().push(told);
        let message = format!("no value of `$input{path}` is right: the steps that use it need values of different kinds");
        let help = "give each step a member of the input of its own, or change what one of them takes";
        self.error(self.target.code, message, Some(help.into()), pointer, None, None);
    }
}
