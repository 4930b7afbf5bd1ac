//! Which tests to explain, and how, as the user asked for it.

use perfunit_model::{Engine, Explain, Strategy};
use serde::{Deserialize, Serialize};

/// How to find the responsible functions.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub struct Explaining {
    pub explain: Explain,
    /// What is counted; chosen for each test if absent.
    pub engine: Option<Engine>,
    /// By which functions are timed; chosen for each test if absent.
    pub strategy: Option<Strategy>,
    #[serde(skip)]
    pub goal: Goal,
}

/// What the probes are to show.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Goal {
    /// The functions responsible for a difference.
    #[default]
    Responsible,
    /// Where the time goes, whether it differs or not.
    Profile,
}
