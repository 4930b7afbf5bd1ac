//! Which tests to explain, and how, as the user asked for it.

use crate::model::{Engine, Explain, Strategy};
use serde::{Deserialize, Serialize};

/// How to find out which functions are to blame.
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

/// What probes are asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Goal {
    /// Who is to blame for a difference.
    #[default]
    Blame,
    /// Where the time goes, whether it differs or not.
    Profile,
}
