//! Who can be asked while a call runs: the client that made it.

use toolwright::{BoxFuture, Value};

use super::client::Client;
use super::message::{Id, RpcError};

use crate::upstream::{Answered, Asked, Questions};

/// The clients whose calls are running, by run. Cheap to clone; one for a server and its catalogue.
#[derive(Clone, Debug, Default)]
pub struct Askers {}

impl Askers {
    /// Nobody can be asked yet.
    pub fn new() -> Self {
        Self::default()
    }
}

impl Askers {
    /// What a client answered to a question of ours.
    pub(crate) fn answered(&self, client: &Client, id: &Id, outcome: Result<Value, RpcError>) {
        let _ = (client, id, outcome);
    }
}

impl Questions for Askers {
    fn ask(&self, asked: Asked) -> BoxFuture<'_, Vec<Answered>> {
        let refused = |_| Answered::Refused { code: -32_601, message: "nobody can be asked".to_owned() };
        let answers = asked.questions.iter().map(refused).collect();
        Box::pin(async move { answers })
    }
}
