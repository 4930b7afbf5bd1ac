//! What to know about an explanation.

use super::{Engine, Side};
use serde::{Deserialize, Serialize};

/// `report::unexplained` words it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ExplanationNote {
    /// Calls that found no room in the call tree: their time is their callers'.
    NoRoom { calls: u64 },
    /// What was counted changes by this fraction, the other way than the test's time.
    OtherWay {
        #[serde(default)]
        engine: Engine,
        change: f64,
    },
    /// What was counted shows no difference.
    DoesNotShow { engine: Engine },
    /// With probes the test takes so many times as long, their own time left out.
    Distorted { factor: f64 },
    /// This share of the difference is in the test itself, and in code that is not told apart from it.
    InTest { engine: Engine, share: f64 },
    /// With debug information this many functions have other instructions than those that were measured.
    OtherInstructions { side: Side, functions: usize },
    /// It is not known whether they have.
    UnknownInstructions { side: Side, why: String },
}
