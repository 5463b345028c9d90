//! The types that an application fixes once: its context, its decisions, and what its hooks speak about.
//!
//! Nothing runs here. [`Rt`] is the runtime of a program that names no type; `Rt<AppCx>` is the usual one; the
//! macro [`runtime!`](crate::runtime!) overrides by name.
//!
//! In reading order: [`Rt`] carries the types, [`Runtime`] says what each is for. [`Decision`] and [`Phase`] are the
//! usual ones; [`AsDecision`] makes one of a program's own. [`IntoContext`] is why `()` is a context where none is
//! needed.

use std::any::Any;
use std::marker::PhantomData;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::frame::Context;
use crate::tool::ToolBuilder;
use crate::value::{Text, Value};

/// The types of one application.
///
/// Implement it by hand only when the decision type cannot be [`AsDecision`]; otherwise take [`Rt`] or
/// [`runtime!`](crate::runtime!).
///
/// ```
/// use toolwright::{Runtime, Value};
/// struct App;
/// impl Runtime for App {
///     type Context = u8;
///     type Decision = (String, Value);
///     type Composition = String;
///     type Phase = toolwright::Phase;
///     type Placement = String;
///     type NormalizerArgs = ();
///     type Reply = Value;
///     type Receiver = ();
///     type Meta = ();
///     fn invocation_id(decision: &Self::Decision) -> &str { &decision.0 }
///     fn arguments(decision: &Self::Decision) -> Value { decision.1.clone() }
/// }
/// assert_eq!(App::invocation_id(&("say".into(), Value::Null)), "say");
/// ```
pub trait Runtime: Sized + Send + Sync + 'static {
    /// What the caller says about itself; every hook and every tool of a call can read it.
    type Context: Send + Sync + 'static;
    /// What a model or a program chose to do next.
    type Decision: Send + Sync + 'static;
    /// The output template that owns a delivery. Has nothing to do with composites.
    type Composition: Send + 'static;
    /// When a `finalize` hook is asked.
    type Phase: Send + Sync + 'static;
    /// Where in the model's context a field stands.
    type Placement: PartialEq + Clone + Send + Sync + 'static;
    /// Further arguments of the normaliser; a tuple when there are several.
    type NormalizerArgs: Send + 'static;
    /// What the finalizer gives back.
    type Reply: 'static;
    /// To whom the finalizer hands its reply.
    type Receiver: 'static;
    /// The host's own data on every declaration.
    type Meta: Clone + Default + Send + Sync + 'static;

    /// Id of the tool, delegate or output that the decision asks for. Must be total and pure.
    fn invocation_id(decision: &Self::Decision) -> &str;

    /// The arguments in the decision; `{}` by default.
    fn arguments(decision: &Self::Decision) -> Value {
        let _ = decision;
        empty_object()
    }

    /// A decision that stands for "run this tool with this input" where no model made one: a direct invocation, a
    /// step of a composite. `None` when the application cannot make one.
    fn decision_for(tool: &str, input: &Value) -> Option<Self::Decision> {
        let _ = (tool, input);
        None
    }

    /// Composites that the caller says it had entered elsewhere; they count against the limit of nesting.
    /// By default what a [`Context`] says, and 0 for every other type.
    fn depth(context: &Self::Context) -> u32 {
        (context as &dyn Any).downcast_ref::<Context>().map_or(0, Context::depth)
    }

    /// Starts the declaration of a tool for this application, so that its hooks need no types. Without `reads`,
    /// `writes` or `effect` the tool declares nothing, and no composite may use it.
    fn tool(id: impl Into<Text>, description: impl Into<Text>) -> ToolBuilder<Self> {
        ToolBuilder::new(id, description)
    }
}

/// A decision that can say what it asks for. Implement it for an own enum of decisions.
///
/// ```
/// use toolwright::{AsDecision, Value, json};
/// enum Move { Say(String), Use(String) }
/// impl AsDecision for Move {
///     fn invocation_id(&self) -> &str {
///         match self {
///             Self::Say(_) => "say",
///             Self::Use(tool) => tool,
///         }
///     }
///     // Without this, a tool gets no arguments.
///     fn arguments(&self) -> Value {
///         match self {
///             Self::Say(text) => json!({ "text": text.as_str() }),
///             Self::Use(_) => json!({}),
///         }
///     }
///     // Without this, tools that `inspect` decisions cannot inspect the steps of a composite, which are then refused.
///     fn for_tool(tool: &str, _input: &Value) -> Option<Self> {
///         Some(Self::Use(tool.into()))
///     }
/// }
/// assert_eq!(Move::Say("hello".into()).invocation_id(), "say");
/// assert_eq!(Move::Use("search".into()).invocation_id(), "search");
/// ```
pub trait AsDecision: Sized + Send + Sync + 'static {
    /// Id of the tool, delegate or output that it asks for. Must be total and pure.
    fn invocation_id(&self) -> &str;

    /// The arguments in it; `{}` by default.
    fn arguments(&self) -> Value {
        empty_object()
    }

    /// A decision that stands for "run this tool with this input"; `None` by default.
    fn for_tool(tool: &str, input: &Value) -> Option<Self> {
        let _ = (tool, input);
        None
    }
}

/// The usual decision: an id and arguments.
///
/// ```
/// use toolwright::{Decision, json};
/// let decision: Decision = serde_json::from_str(r#"{"type": "search", "arguments": {"topic": "ducks"}}"#)?;
/// assert_eq!(decision, Decision::new("search", json!({ "topic": "ducks" })));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Decision {
    /// Id of the tool, delegate or output; `type` in JSON.
    #[serde(rename = "type")]
    pub invocation: String,
    /// Its arguments; `{}` when the JSON has none.
    #[serde(default = "empty_object")]
    pub arguments: Value,
}

impl Decision {
    /// A decision for `invocation`.
    pub fn new(invocation: impl Into<String>, arguments: impl Into<Value>) -> Self {
        Self { invocation: invocation.into(), arguments: arguments.into() }
    }
}

impl AsDecision for Decision {
    fn invocation_id(&self) -> &str {
        &self.invocation
    }

    fn arguments(&self) -> Value {
        self.arguments.clone()
    }

    fn for_tool(tool: &str, input: &Value) -> Option<Self> {
        Some(Self::new(tool, input.clone()))
    }
}

fn empty_object() -> Value {
    crate::json!({})
}

/// The usual phases of `finalize`: before and after a delivery.
///
/// ```
/// assert_ne!(toolwright::Phase::Before, toolwright::Phase::After);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Before the delivery.
    Before,
    /// After it.
    After,
}

/// Carries an application's types; each that is not given keeps its default. It has no values.
///
/// In order: context, decision, composition, phase, placement, the normaliser's arguments, reply, receiver, meta.
///
/// ```
/// struct AppCx { can_read: bool }
/// type App = toolwright::Rt<AppCx>;
/// ```
#[expect(clippy::type_complexity, reason = "it carries nine types and holds none")]
pub struct Rt<C = Context, D = Decision, Comp = String, Ph = Phase, Pl = String, NA = (), Out = Value, Rv = (), M = ()>(
    PhantomData<Types<C, D, Comp, Ph, Pl, NA, Out, Rv, M>>,
);

type Types<C, D, Comp, Ph, Pl, NA, Out, Rv, M> = fn() -> (C, D, Comp, Ph, Pl, NA, Out, Rv, M);

impl<C, D, Comp, Ph, Pl, NA, Out, Rv, M> std::fmt::Debug for Rt<C, D, Comp, Ph, Pl, NA, Out, Rv, M> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Rt")
    }
}

impl<C, D, Comp, Ph, Pl, NA, Out, Rv, M> Runtime for Rt<C, D, Comp, Ph, Pl, NA, Out, Rv, M>
where
    C: Send + Sync + 'static,
    D: AsDecision,
    Comp: Send + 'static,
    Ph: Send + Sync + 'static,
    Pl: PartialEq + Clone + Send + Sync + 'static,
    NA: Send + 'static,
    Out: 'static,
    Rv: 'static,
    M: Clone + Default + Send + Sync + 'static,
{
    type Context = C;
    type Decision = D;
    type Composition = Comp;
    type Phase = Ph;
    type Placement = Pl;
    type NormalizerArgs = NA;
    type Reply = Out;
    type Receiver = Rv;
    type Meta = M;

    fn invocation_id(decision: &D) -> &str {
        decision.invocation_id()
    }

    fn arguments(decision: &D) -> Value {
        decision.arguments()
    }

    fn decision_for(tool: &str, input: &Value) -> Option<D> {
        D::for_tool(tool, input)
    }
}

/// Names an application's types; what is not named keeps the default of [`Rt`](crate::Rt).
///
/// The names are the associated types of [`Runtime`](crate::Runtime); the decision must be
/// [`AsDecision`](crate::AsDecision).
///
/// ```
/// use toolwright::{Runtime, runtime};
/// #[derive(Clone, Debug, Default)]
/// pub struct Price(u32);
/// runtime! {
///     /// The types of our shop.
///     pub struct Shop { Context = u8, Meta = Price }
/// }
/// let price: <Shop as Runtime>::Meta = Price(3);
/// assert_eq!(Shop::depth(&7), 0);
/// ```
///
/// A name that is no type of the runtime does not compile, nor does one that stands twice:
///
/// ```compile_fail,E0437
/// toolwright::runtime! { struct Mine { Kontext = u8 } }
/// ```
///
/// ```compile_fail,E0201
/// toolwright::runtime! { struct Mine { Context = u8, Context = u16 } }
/// ```
#[macro_export]
macro_rules! runtime {
    ($(#[$attribute:meta])* $visibility:vis struct $name:ident { $($key:ident = $type:ty),* $(,)? }) => {
        $(#[$attribute])*
        $visibility struct $name;

        impl $crate::Runtime for $name {
            $(type $key = $type;)*
            $crate::__runtime_default!(Context ($crate::Context) $($key)*);
            $crate::__runtime_default!(Decision ($crate::Decision) $($key)*);
            $crate::__runtime_default!(Composition (::std::string::String) $($key)*);
            $crate::__runtime_default!(Phase ($crate::Phase) $($key)*);
            $crate::__runtime_default!(Placement (::std::string::String) $($key)*);
            $crate::__runtime_default!(NormalizerArgs (()) $($key)*);
            $crate::__runtime_default!(Reply ($crate::Value) $($key)*);
            $crate::__runtime_default!(Receiver (()) $($key)*);
            $crate::__runtime_default!(Meta (()) $($key)*);

            fn invocation_id(decision: &Self::Decision) -> &str {
                $crate::AsDecision::invocation_id(decision)
            }

            fn arguments(decision: &Self::Decision) -> $crate::Value {
                $crate::AsDecision::arguments(decision)
            }

            fn decision_for(tool: &str, input: &$crate::Value) -> ::std::option::Option<Self::Decision> {
                $crate::AsDecision::for_tool(tool, input)
            }
        }
    };
}

/// The default of one type of [`runtime!`](crate::runtime!), unless it is among the names that were given.
#[doc(hidden)]
#[macro_export]
macro_rules! __runtime_default {
    (Context $default:tt Context $($rest:ident)*) => {};
    (Decision $default:tt Decision $($rest:ident)*) => {};
    (Composition $default:tt Composition $($rest:ident)*) => {};
    (Phase $default:tt Phase $($rest:ident)*) => {};
    (Placement $default:tt Placement $($rest:ident)*) => {};
    (NormalizerArgs $default:tt NormalizerArgs $($rest:ident)*) => {};
    (Reply $default:tt Reply $($rest:ident)*) => {};
    (Receiver $default:tt Receiver $($rest:ident)*) => {};
    (Meta $default:tt Meta $($rest:ident)*) => {};
    ($key:ident ($default:ty)) => { type $key = $default; };
    ($key:ident $default:tt $other:ident $($rest:ident)*) => { $crate::__runtime_default!($key $default $($rest)*); };
}

/// What a call takes as its context: the context itself, a shared one, or `()` for an empty [`Context`].
///
/// ```
/// use std::sync::Arc;
/// use toolwright::{Context, IntoContext, json};
/// let shared: Arc<u8> = 7.into_context();
/// let same: Arc<u8> = shared.clone().into_context();
/// assert!(Arc::ptr_eq(&shared, &same));
/// let empty: Arc<Context> = ().into_context();
/// assert_eq!(empty.data(), &json!(null));
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not the context of this runtime",
    label = "expected `{C}`, an `Arc` of it, or `()` when the runtime's context is `toolwright::Context`"
)]
pub trait IntoContext<C> {
    /// The context, shared.
    fn into_context(self) -> Arc<C>;
}

impl<C> IntoContext<C> for C {
    fn into_context(self) -> Arc<C> {
        Arc::new(self)
    }
}

impl<C> IntoContext<C> for Arc<C> {
    fn into_context(self) -> Arc<C> {
        self
    }
}

impl IntoContext<Context> for () {
    fn into_context(self) -> Arc<Context> {
        Arc::new(Context::default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json;

    #[derive(Debug, PartialEq)]
    enum Move {
        Say,
        Use(String),
    }

    impl AsDecision for Move {
        fn invocation_id(&self) -> &str {
            match self {
                Self::Say => "say",
                Self::Use(tool) => tool,
            }
        }
    }

    runtime! { struct Mine { Context = u8, Decision = Move, Meta = u32, } }
    runtime! {
        /// Every type named.
        #[derive(Debug)]
        pub(super) struct All {
            Meta = u8, Receiver = u8, Reply = u8, NormalizerArgs = (u8, u16), Placement = char, Phase = u8, Composition = u8,
            Decision = Decision, Context = Context
        }
    }
    runtime! { struct None {} }

    fn same<A: 'static, B: 'static>() -> bool {
        std::any::TypeId::of::<A>() == std::any::TypeId::of::<B>()
    }

    #[test]
    fn what_the_macro_is_not_told_keeps_its_default() {
        assert!(same::<<Mine as Runtime>::Context, u8>() && same::<<Mine as Runtime>::Meta, u32>());
        assert!(same::<<Mine as Runtime>::Placement, String>() && same::<<Mine as Runtime>::Phase, Phase>());
        assert!(same::<<None as Runtime>::Context, Context>() && same::<<None as Runtime>::Decision, Decision>());
        assert!(same::<<None as Runtime>::NormalizerArgs, ()>() && same::<<None as Runtime>::Reply, Value>());
        assert!(same::<<All as Runtime>::NormalizerArgs, (u8, u16)>() && same::<<All as Runtime>::Placement, char>());
        assert!(same::<<Rt as Runtime>::Composition, <None as Runtime>::Composition>());
    }

    #[test]
    fn a_decision_says_what_it_asks_for() {
        assert_eq!(Mine::invocation_id(&Move::Say), "say");
        assert_eq!(Mine::invocation_id(&Move::Use("search".into())), "search");
        assert_eq!(Mine::arguments(&Move::Say), json!({}));
        assert_eq!(Mine::decision_for("search", &json!({})), Option::None);
        assert_eq!(<Rt>::decision_for("search", &json!({ "a": 1 })), Some(Decision::new("search", json!({ "a": 1 }))));
    }

    #[test]
    fn the_usual_decision_reads_and_writes_its_json() {
        let bare: Decision = serde_json::from_str(r#"{"type":"say"}"#).unwrap();
        assert_eq!(bare, Decision::new("say", json!({})));
        assert_eq!(serde_json::to_string(&bare).unwrap(), r#"{"type":"say","arguments":{}}"#);
    }

    #[test]
    fn depth_is_what_a_json_context_says_and_nothing_for_others() {
        let deep = Context::new(json!({ "sessionData": { "emergentDepth": 3 } }));
        assert_eq!((<Rt>::depth(&deep), All::depth(&deep), Mine::depth(&3)), (3, 3, 0));
    }
}
