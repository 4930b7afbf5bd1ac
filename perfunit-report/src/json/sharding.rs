//! How a run was shared out, in the document.

use super::environment::Environment;
use crate::wire::Test;
use perfunit_model as model;
use perfunit_model::PartitionKind;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How a run was shared out, and what of it is in this document.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Sharding {
    /// `slice` or `hash`.
    pub kind: PartitionKind,
    /// To how many shards.
    pub shards: usize,
    /// All tests that were dealt out, sorted; the error rate is that of so many.
    pub candidates: Vec<Test>,
    /// The shards in this document: one, or after `merge` all.
    pub parts: Vec<Part>,
}

/// One shard.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Part {
    /// Its number, from 1.
    pub shard: usize,
    /// Tests that were its to measure.
    pub tests: usize,
    /// Where it was measured.
    pub environment: Environment,
    /// Wall time of its measuring, in seconds.
    pub measure_seconds: f64,
    /// Whether Ctrl-C cut it short.
    pub interrupted: bool,
}

impl From<&model::Sharding> for Sharding {
    fn from(sharding: &model::Sharding) -> Self {
        Self {
            kind: sharding.kind,
            shards: sharding.shards,
            candidates: sharding.candidates.iter().map(Test::from).collect(),
            parts: sharding.parts.iter().map(Part::from).collect(),
        }
    }
}

impl From<&model::Part> for Part {
    fn from(part: &model::Part) -> Self {
        Self {
            shard: part.shard,
            tests: part.tests,
            environment: Environment::from(&part.environment),
            measure_seconds: part.stages.measure.as_secs_f64(),
            interrupted: part.interrupted,
        }
    }
}
