//! What the figures of a run depend on besides the code, in the document.

use perfunit_model as model;
use perfunit_model::{LayoutMatch, NoLayout, TargetId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What the figures depend on besides the code.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Environment {
    /// First line of `rustc -vV`.
    pub rustc: String,
    /// Host triple.
    pub host: String,
    /// Cargo profile of the build.
    pub profile: String,
    /// CPU model.
    pub cpu: String,
    /// The core that ran the measured processes.
    pub core: usize,
    /// Whether both processes of a pair had the same address space.
    pub paired_address_space: bool,
    /// Whether the code of all measured targets was linked with matched layouts.
    pub layout_controlled: bool,
    /// How far that came about, by target.
    pub layouts: Vec<TargetLayout>,
}

/// How far the code of base and head lay at the same places in the executables of a target.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TargetLayout {
    /// The target.
    pub target: String,
    /// All 0 if nothing was done.
    #[serde(flatten)]
    pub matched: LayoutMatch,
    /// Why nothing was done about the layout, if so.
    pub uncontrolled_because: Option<String>,
}

impl From<&model::Environment> for Environment {
    fn from(environment: &model::Environment) -> Self {
        Self {
            rustc: environment.rustc.clone(),
            host: environment.host.clone(),
            profile: environment.profile.clone(),
            cpu: environment.cpu.clone(),
            core: environment.core,
            paired_address_space: environment.paired_address_space,
            layout_controlled: environment.layouts.values().all(Result::is_ok),
            layouts: environment.layouts.iter().map(TargetLayout::from).collect(),
        }
    }
}

impl From<(&TargetId, &Result<LayoutMatch, NoLayout>)> for TargetLayout {
    fn from((target, state): (&TargetId, &Result<LayoutMatch, NoLayout>)) -> Self {
        Self {
            target: target.to_string(),
            matched: state.clone().unwrap_or_default(),
            uncontrolled_because: state.as_ref().err().map(ToString::to_string),
        }
    }
}
