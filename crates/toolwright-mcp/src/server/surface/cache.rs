//! The surfaces of one offer, shared by all clients that see the same; each is made when it is first looked at.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use toolwright::Text;

use super::{Generation, Surface};
use crate::server::caller::Caller;
use crate::server::offer::{Audience, Offer};
use crate::server::profile::Profile;

/// Where a surface stands once it is made.
type Place = Arc<OnceLock<Arc<Surface>>>;

/// The surfaces of one offer.
pub(crate) struct Surfaces {
    offer: Arc<Offer>,
    page_items: usize,
    // INVARIANT: a key is an audience of the offer, one of its profile or the built-in ones, and a generation, so there are few.
    made: Mutex<HashMap<(Text, Profile, Generation), Place>>,
}

impl std::fmt::Debug for Surfaces {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Surfaces").field("offer", &self.offer).finish_non_exhaustive()
    }
}

impl Surfaces {
    /// None yet.
    pub(crate) fn new(offer: Arc<Offer>, page_items: usize) -> Self {
        Self { offer, page_items, made: Mutex::default() }
    }

    /// What is offered.
    pub(crate) fn offer(&self) -> &Arc<Offer> {
        &self.offer
    }

    /// What a caller sees whose client calls itself so; nothing at all when there is no such audience.
    pub(crate) fn of(&self, caller: &Caller, client_name: Option<&str>, generation: Generation) -> Option<Arc<Surface>> {
        let audience = self.offer.audiences.get(&caller.audience)?;
        let profile = audience.profile.clone().unwrap_or_else(|| client_name.map(Profile::of_client).unwrap_or_default());
        let place = {
            let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
            made.entry((caller.audience.clone(), profile.clone(), generation)).or_default().clone()
        };
        // Outside of the lock: who waits here waits for the same surface.
        Some(place.get_or_init(|| Arc::new(self.build(audience, &profile, generation))).clone())
    }

    fn build(&self, audience: &Audience, profile: &Profile, generation: Generation) -> Surface {
        let surface = Surface::build(&self.offer.catalog, audience, profile, generation, self.page_items);
        let (tools, left_out) = (surface.seen.len(), surface.left_out.len());
        tracing::debug!(profile = %profile.name, ?generation, tools, left_out, "made what an audience sees");
        surface
    }
}
