//! The call that is being polled on this thread. A tool that calls its catalogue through a plain handle, after an
//! await as much as before one, is found here as the caller.

use std::cell::Cell;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as Waking, Poll};

use super::{Frame, Life, Names, Nested, PathNode, Segment};
use crate::diagnostics::Diagnostics;
use crate::value::Text;

/// A check inside a check inside a check takes more stack than a call, so each counts as so many.
const CALLS_OF_A_CHECK: u32 = 7;

/// Where a call is: its run and its place in it.
///
/// A task that a tool starts does not inherit it; hand it on with [`FrameRef::attach`].
///
/// ```
/// use toolwright::{Call, Invocation, Registry, json, tool};
/// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
/// let place = tool("place", "Says where it is").reads().run_json(|_, call: Call| async move { Ok(json!(call.frame().path())) });
/// let catalog = Registry::new().with(place)?.seal();
/// let result = catalog.invoke(Invocation::new("place", json!({})), ()).await?;
/// assert_eq!(result.value(), &json!("place"));
/// # Ok::<(), Box<dyn std::error::Error>>(()) })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct FrameRef {
    pub(crate) frame: Arc<Frame>,
    pub(crate) step: u32,
    /// The tool says it changes nothing.
    pub(crate) reads: bool,
    /// The code that runs is the host's, about this call: a check, or one that finds out what became of it. What it
    /// calls is counted on from here, and is no call of the tool.
    pub(crate) aside: Option<&'static str>,
}

impl std::fmt::Debug for FrameRef {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FrameRef").field("run", &self.run_id()).field("path", &self.path()).finish()
    }
}

impl FrameRef {
    /// Id of the run.
    pub fn run_id(&self) -> Text {
        self.frame.life.id.text()
    }

    /// `research/0:search`
    pub fn path(&self) -> String {
        self.frame.node.path(self.step)
    }

    /// Names of the calling tools, outermost first.
    pub fn lineage(&self) -> Vec<Text> {
        self.frame.node.lineage()
    }

    /// The call's diagnostic scope.
    pub fn diagnostics(&self) -> Diagnostics {
        self.frame.scope(self.step)
    }

    /// Makes this the current call whenever `future` is polled.
    pub fn attach<F: Future>(&self, future: F) -> Attached<F> {
        Attached { future: Some(Box::pin(future)), frame: Some(self.clone()) }
    }

    /// Makes this the current call while the host's code runs.
    pub(crate) fn around<T>(self, run: impl FnOnce() -> T) -> T {
        within(&mut Some(self), run)
    }

    /// The place that calls made from here have around them. Those of the host's code about a call have one of their
    /// own: as deep as the call, without effects, in an order of their own, and not in the run's journal, since a check
    /// must look at the world as it is now.
    pub(crate) fn entered(self) -> Self {
        let Some(what) = self.aside else { return self };
        let around = &self.frame;
        let outer = &around.life;
        let (mode, limits, clock) = (outer.mode.clone(), outer.limits.clone(), outer.clock.clone());
        let life = Life::new(outer.id.clone(), mode, limits, outer.nesting, outer.entered, clock);
        let node = PathNode {
            parent: Some((around.node.clone(), self.step)),
            names: Arc::new(Names::of_call(what.into(), Text::new())),
            segment: Segment::Nested,
            repeats: around.node.repeats,
            depth: around.node.depth,
            calls: around.node.calls.saturating_add(CALLS_OF_A_CHECK),
            identity: super::Identity::default(),
        };
        let frame = Frame {
            life: Arc::new(life),
            node: Arc::new(node),
            cancel: around.cancel.clone(),
            diagnostics: around.scope(self.step),
            logger: around.logger.clone(),
            resumed: false,
            effectless: true,
            nested: Nested::default(),
        };
        Self { frame: Arc::new(frame), step: 0, reads: true, aside: None }
    }
}

thread_local! {
    static CURRENT: Cell<Option<FrameRef>> = const { Cell::new(None) };
}

/// The call whose tool is being polled on this thread, if any.
///
/// ```
/// assert!(toolwright::current_frame().is_none());
/// ```
pub fn current_frame() -> Option<FrameRef> {
    let copied = |current: &Cell<Option<FrameRef>>| {
        let frame = current.take();
        let copy = frame.clone();
        current.set(frame);
        copy
    };
    CURRENT.try_with(copied).ok().flatten()
}

/// Makes `frame` the current call while `poll` runs, and gives it back: nothing is counted on the way.
#[inline]
pub(crate) fn within<T>(frame: &mut Option<FrameRef>, poll: impl FnOnce() -> T) -> T {
    struct Restore<'a> {
        frame: &'a mut Option<FrameRef>,
        around: Option<FrameRef>,
    }
    impl Drop for Restore<'_> {
        fn drop(&mut self) {
            *self.frame = exchange(self.around.take());
        }
    }
    let around = exchange(frame.take());
    let _restore = Restore { frame, around };
    poll()
}

/// A thread that is ending has no current call.
#[inline]
fn exchange(frame: Option<FrameRef>) -> Option<FrameRef> {
    CURRENT.try_with(|current| current.replace(frame)).ok().flatten()
}

/// A future that is polled as part of a call.
///
/// [`FrameRef::attach`] makes it, for work that a tool hands to another task.
///
/// ```
/// use toolwright::{Call, Invocation, Registry, current_frame, json, tool};
/// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
/// let spread = tool("spread", "Works in a task").reads().run_json(|_, call: Call| async move {
///     let work = call.frame().attach(async { current_frame().map(|frame| frame.path()) });
///     let path = tokio::spawn(work).await?;
///     Ok(json!(path))
/// });
/// let catalog = Registry::new().with(spread)?.seal();
/// let result = catalog.invoke(Invocation::new("spread", json!({})), ()).await?;
/// assert_eq!(result.value(), &json!("spread"));
/// # Ok::<(), Box<dyn std::error::Error>>(()) })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "futures do nothing unless polled"]
pub struct Attached<F> {
    /// Taken only to be dropped.
    future: Option<Pin<Box<F>>>,
    frame: Option<FrameRef>,
}

impl<F> std::fmt::Debug for Attached<F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Attached").field("frame", &self.frame).finish_non_exhaustive()
    }
}

impl<F: Future> Future for Attached<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, waking: &mut Waking<'_>) -> Poll<F::Output> {
        let this = &mut *self;
        let Some(future) = &mut this.future else { return Poll::Pending };
        within(&mut this.frame, || future.as_mut().poll(waking))
    }
}

impl<F> Drop for Attached<F> {
    /// What the future's own parts do while they are dropped is still part of the call.
    fn drop(&mut self) {
        let future = self.future.take();
        within(&mut self.frame, || drop(future));
    }
}
