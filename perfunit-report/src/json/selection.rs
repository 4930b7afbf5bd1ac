//! What selection did.

use perfunit_model as model;
use perfunit_model::{Function, Uncovered};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What selection did.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Selection {
    /// Tests found in the built targets.
    pub found: usize,
    /// Targets of the workspace that hold tests.
    pub targets: usize,
    /// Targets that the change can reach.
    pub targets_reached: usize,
    /// Tests that can reach changed machine code, whether they execute it or not.
    pub reachable: usize,
    /// Tests taken: those that can reach changed machine code and were not seen to run without it.
    pub executed: usize,
    /// Tests left out before measuring, by kind of reason; with `executed` they add up to `found`.
    pub left_out: BTreeMap<String, usize>,
    /// Changed items and inputs, in words, most telling first.
    pub changes: Vec<String>,
    /// What became of each change, in words, for when nothing was selected.
    pub effects: Vec<String>,
    /// Set when nothing was selected: why.
    pub nothing_because: Option<String>,
    /// Changed functions that no test executes, by file and line.
    #[serde(default)]
    pub uncovered: Vec<Uncovered>,
    /// Functions of which a condition (`cfg`) leaves the change out of both builds, by file and line.
    #[serde(default)]
    pub not_compiled: Vec<Function>,
    /// Targets and kinds of test that we do not measure at all, each with its reason
    /// ("doc tests of foo: measured on request (--doc)").
    pub unmeasured_targets: Vec<String>,
}

impl From<&model::Selection> for Selection {
    fn from(selection: &model::Selection) -> Self {
        let model::Selection { found, targets, targets_reached, reachable, executed, .. } = *selection;
        Self {
            found,
            targets,
            targets_reached,
            reachable,
            executed,
            left_out: selection.left_out.clone(),
            changes: words(&selection.changes),
            effects: words(&selection.effects),
            nothing_because: selection.nothing_because.map(|because| because.to_string()),
            uncovered: selection.uncovered.clone(),
            not_compiled: selection.not_compiled.clone(),
            unmeasured_targets: words(&selection.unmeasured_targets),
        }
    }
}

fn words(all: &[impl ToString]) -> Vec<String> {
    all.iter().map(ToString::to_string).collect()
}
