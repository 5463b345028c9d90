//! Tools of the default runtime in an application with types of its own: tools of MCP servers and command lines know
//! nothing of anybody's context, and so fit everywhere.

use std::sync::{Arc, OnceLock};

use super::{Answer, Body, BoxFuture, Def, Handler, ToolDef, ToolError};
use crate::frame::{Call, Context, Host, Scope};
use crate::runtime::{Rt, Runtime};
use crate::value::Value;

struct Adopted(Arc<dyn Handler<Rt>>);

impl<R: Runtime> Handler<R> for Adopted {
    fn handle<'a>(&'a self, input: Value, call: Call<R>) -> BoxFuture<'a, Result<Answer, ToolError>> {
        let host = Host { view: None, live: None, context: Arc::new(Context::default()) };
        let scope = Scope { frame: call.scope.frame.clone(), host: Arc::new(host) };
        self.0.handle(input, Call { scope: Arc::new(scope), step: call.step, reads: call.reads })
    }
}

impl ToolDef {
    /// The same tool for an application with types of its own. It sees an empty [`Context`], and cannot call other tools.
    ///
    /// `None` for a composite, and for a tool with hooks: those speak of the other runtime's types.
    ///
    /// ```
    /// use toolwright::{Registry, Rt, tool};
    /// struct AppCx { user: String }
    /// type App = Rt<AppCx>;
    /// // For example what a source of MCP tools gives.
    /// let tools = [tool("echo", "Gives back what it gets").reads().run_json(|input, _call| async move { Ok(input) })];
    /// let mut registry = Registry::<App>::default();
    /// registry.register_all(tools.iter().filter_map(|tool| tool.adopted()))?;
    /// assert!(registry.has("echo"));
    /// # Ok::<(), toolwright::RegisterError>(())
    /// ```
    pub fn adopted<R: Runtime>(&self) -> Option<ToolDef<R>> {
        let Body::Handler(handler) = &self.0.body else { return None };
        if self.0.hooks.is_some() {
            return None;
        }
        let reconcile = self.0.reconcile.clone().map(|reconcile| {
            let adopted = move |begun, _: &Arc<R::Context>| reconcile(begun, &Arc::new(Context::default()));
            Arc::new(adopted) as Arc<super::Reconcile<R>>
        });
        let def = &self.0;
        Some(ToolDef(Arc::new(Def {
            id: def.id.clone(),
            name: def.name.clone(),
            title: def.title.clone(),
            description: def.description.clone(),
            version: def.version.clone(),
            effect: def.effect.clone(),
            input: def.input.clone(),
            output: def.output.clone(),
            expected: def.expected.clone(),
            examples: def.examples.clone(),
            origin: def.origin.clone(),
            annotations: def.annotations.clone(),
            hidden: def.hidden,
            kind: def.kind.clone(),
            audience: def.audience.clone(),
            goals: def.goals.clone(),
            delegate: def.delegate.clone(),
            intent: def.intent.clone(),
            produces: def.produces.clone(),
            terminal: def.terminal,
            debug_steps: def.debug_steps,
            meta: R::Meta::default(),
            hooks: None,
            health: None,
            hashed: None,
            reconcile,
            body: Body::Handler(Arc::new(Adopted(handler.clone()))),
            root: OnceLock::new(),
            handed_through: crate::call::HandedThrough::default(),
            sensitive: def.sensitive,
            pinned: def.pinned.clone(),
        })))
    }
}
