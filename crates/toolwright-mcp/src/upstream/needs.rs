//! What a tool needs of servers whose tools were accepted, compared before anything of it runs: a composite whose third step would
//! be withheld does not begin its first. Who asks says in its own words what stands in the way.

use std::sync::Arc;

use futures_util::future::join_all;
use toolwright::{Catalog, Text};

use super::{Changed, Upstream, UpstreamError};

/// What a tool needs of servers of which something is expected ([`ServerSpec::pins`](super::ServerSpec::pins)): those of their tools
/// that are called when it is, itself or in its steps. Clones share it.
///
/// ```
/// use toolwright::{Registry, tool};
/// use toolwright_mcp::upstream::{Needs, ServerSpec, Upstream};
/// let own = tool("own", "Runs here").reads().run_json(|input, _call| async move { Ok(input) });
/// let catalog = Registry::new().with(own)?.seal();
/// let files = Upstream::new(ServerSpec::stdio("files", "node", ["server.js"]));
/// assert!(Needs::of(&catalog, [&files], "own").is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Needs(Option<Arc<[Need]>>);

/// A server, and those of its tools that will be called.
#[derive(Debug)]
struct Need {
    upstream: Upstream,
    tools: Vec<Used>,
}

#[derive(Debug)]
struct Used {
    /// In the catalogue.
    id: Text,
    /// On its server.
    name: Text,
}

/// What stands in the way of a call before anything of it ran.
#[derive(Clone, Debug)]
pub enum Hindrance {
    /// A server cannot be started, or does not say what it offers.
    Silent {
        /// The server.
        server: Text,
        /// Why.
        error: UpstreamError,
    },
    /// A tool that would be called is not what was accepted.
    Changed {
        /// Its id in the catalogue.
        tool: Text,
        /// What is different, in words of the server, without what must not be shown.
        why: String,
        /// The server does not offer it any more.
        gone: bool,
    },
}

impl Needs {
    /// What a tool of a catalogue needs of these servers.
    pub fn of<'u>(catalog: &Catalog, upstreams: impl IntoIterator<Item = &'u Upstream>, tool: &str) -> Self {
        let Some(entry) = catalog.get(tool) else { return Self::default() };
        let own = [Text::from(tool)];
        let tools = entry.composite().map_or(own.as_slice(), |composite| composite.tools());
        let needs: Arc<[Need]> = upstreams
            .into_iter()
            .filter(|upstream| upstream.is_pinned())
            .filter_map(|upstream| Need::of(catalog, upstream, tools))
            .collect();
        Self((!needs.is_empty()).then_some(needs))
    }

    /// Whether it needs nothing.
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// Starts what is needed, all at once, and looks whether it is what was accepted. Costs next to nothing when that is done.
    ///
    /// # Errors
    /// All that stands in the way; that a tool is another one comes before a server that is away just now. Nothing was called.
    pub async fn compare(&self) -> Result<(), Vec<Hindrance>> {
        let Some(needs) = &self.0 else { return Ok(()) };
        let found = match &**needs {
            [need] => need.compare().await,
            needs => join_all(needs.iter().map(Need::compare)).await.into_iter().flatten().collect(),
        };
        if found.is_empty() {
            return Ok(());
        }
        let (changed, silent): (Vec<_>, Vec<_>) = found.into_iter().partition(|hindrance| matches!(hindrance, Hindrance::Changed { .. }));
        Err(changed.into_iter().chain(silent).collect())
    }
}

impl Need {
    fn of(catalog: &Catalog, upstream: &Upstream, tools: &[Text]) -> Option<Self> {
        let used = |id: &Text| {
            let entry = catalog.get(id)?;
            let origin = entry.origin().filter(|origin| origin.source == upstream.name())?;
            Some(Used { id: id.clone(), name: origin.name.clone() })
        };
        let tools: Vec<Used> = tools.iter().filter_map(used).collect();
        (!tools.is_empty()).then(|| Self { upstream: upstream.clone(), tools })
    }

    async fn compare(&self) -> Vec<Hindrance> {
        let changed: Arc<Vec<Changed>> = match self.upstream.compare().await {
            Ok(changed) => changed,
            Err(error) => return vec![Hindrance::Silent { server: self.upstream.name().into(), error }],
        };
        if changed.is_empty() {
            return Vec::new();
        }
        let of_this = |used: &Used| {
            let changed = changed.iter().find(|changed| changed.tool == used.name)?;
            Some(Hindrance::Changed { tool: used.id.clone(), why: self.upstream.masked(&changed.why), gone: changed.gone })
        };
        self.tools.iter().filter_map(of_this).collect()
    }
}
