//! The two handlers that a registry has at most one of: the normaliser and the finalizer.

use crate::error::CallError;
use crate::refusal::Refusal;
use crate::runtime::Runtime;
use crate::value::Value;

/// Changes a value of the host's before it is used.
pub(crate) type Normalizer<R> = dyn Fn(Value, <R as Runtime>::NormalizerArgs) -> Result<Value, Refusal> + Send + Sync;

/// Makes the reply to a decision.
pub(crate) type Finalizer<R> = dyn Fn(&<R as Runtime>::Receiver, <R as Runtime>::Decision, &<R as Runtime>::Context) -> Result<<R as Runtime>::Reply, CallError>
    + Send
    + Sync;
