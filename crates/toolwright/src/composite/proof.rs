//! What makes checking a step's arguments needless: everything that they are made of is known to fit, because it was
//! checked in this very run.

use crate::reference::template::{Plan, Source};
use crate::value::Value;

/// What is known of a value that a tool gave, beside the schema that the tool publishes for it.
///
/// What nobody looked at in this run, the answer of a journal or one given for a dry run, is [`Standing::Unknown`]
/// whatever its schema.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Standing {
    /// Nothing: it may be anything.
    #[default]
    Unknown,
    /// It fits.
    Fits,
    /// It fits, and every integer that the schema wants is written as one.
    Exact,
    /// It fits, and some integer is written as a decimal, `100.0`: where it goes, that may have to be mended.
    Inexact,
}

/// The whole mapping of a step is proved: whatever arrives fits the tool's input schema, as long as what it reads of
/// earlier steps fits theirs. The composite's own input does, or the composite would not run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Proof {
    reads: Box<[Read]>,
}

/// An earlier step whose output a proof rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Read {
    /// Its position.
    pub(crate) step: usize,
    /// Some of it goes where the tool wants an integer.
    pub(crate) exact: bool,
}

impl Proof {
    /// A proof that rests on these, each of which may come more than once.
    pub(crate) fn resting_on(mut reads: Vec<Read>) -> Self {
        reads.sort_unstable_by_key(|read| (read.step, !read.exact));
        reads.dedup_by_key(|read| read.step);
        Self { reads: reads.into() }
    }

    /// Whether it holds for what came out of the steps before. `look` says whether the integers of an output are exact;
    /// it is asked at most once an output.
    #[inline]
    pub(crate) fn holds(&self, standings: &mut [Standing], look: impl Fn(usize) -> bool) -> bool {
        self.reads.iter().all(|read| match standings.get_mut(read.step) {
            None | Some(Standing::Unknown) => false,
            Some(Standing::Exact) => true,
            Some(Standing::Inexact) => !read.exact,
            Some(standing) if read.exact => {
                *standing = if look(read.step) { Standing::Exact } else { Standing::Inexact };
                *standing == Standing::Exact
            }
            Some(Standing::Fits) => true,
        })
    }
}

/// What is known of an output that a mapping made, beside the schema that was derived for it. The derivation follows
/// members by name; where a path may as well mean an item, or a length, nothing is claimed.
pub(crate) fn of_mapped(plan: &Plan, input_checked: bool, standings: &[Standing]) -> Standing {
    let mut fits = true;
    plan.each_reference(&mut |reference| {
        let by_name = reference.path.iter().all(|hop| hop.index.is_none() && !hop.length);
        fits &= by_name
            && match reference.source {
                Source::Input => input_checked,
                Source::Step(position) => standings.get(position).is_some_and(|standing| *standing != Standing::Unknown),
                Source::Null | Source::Nothing => false,
            };
    });
    if fits { Standing::Fits } else { Standing::Unknown }
}

/// Whether two handles are of the very same container.
pub(crate) fn is_same(one: &Value, other: &Value) -> bool {
    one.container_address().is_some_and(|address| other.container_address() == Some(address))
}
