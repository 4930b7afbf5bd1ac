//! Generated calls as JSON: what `generate` answers, and the part of a run's document.

use super::wire::{SCHEMA_VERSION, pretty};
use perfunit_model as model;
use perfunit_model::{Function, GeneratedWorkload, Generation, Sides, VersionName, WithoutWorkload};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The answer of `cargo perfunit generate`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GenerateDocument {
    pub schema_version: u32,
    pub base: VersionName,
    pub head: VersionName,
    #[serde(flatten)]
    pub generation: Calls,
}

/// The calls that were found, and the functions without one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Calls {
    pub calls: Vec<Call>,
    pub without: Vec<Without>,
}

/// A generated call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Call {
    pub function: Function,
    /// The target whose unit tests it joins.
    pub target: String,
    /// Its path inside the crate, as a test.
    pub name: String,
    /// What makes `(input, lent)` from `n`, as Rust source: the arguments that the call takes, and those that it borrows.
    pub setup: String,
    /// What is measured, as Rust source.
    pub call: String,
    /// The size of its arguments; null if they have none.
    pub n: Option<usize>,
    /// Time of a call on base when it was tried, roughly.
    pub about_ns: u64,
    /// What it returns on base, where that can be printed.
    pub value: Option<String>,
}

/// A function without a call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Without {
    pub function: Function,
    pub because: model::NotGenerated,
    /// The same in words.
    pub text: String,
}

/// The answer of `generate` as pretty JSON with a trailing newline.
pub fn render(versions: &Sides<VersionName>, generation: &Generation) -> String {
    let Sides { base, head } = versions.clone();
    pretty(&GenerateDocument { schema_version: SCHEMA_VERSION, base, head, generation: Calls::from(generation) })
}

impl From<&Generation> for Calls {
    fn from(Generation { workloads, without }: &Generation) -> Self {
        Self { calls: workloads.iter().map(Call::from).collect(), without: without.iter().map(Without::from).collect() }
    }
}

impl From<&WithoutWorkload> for Without {
    fn from(WithoutWorkload { function, because }: &WithoutWorkload) -> Self {
        Self { function: function.clone(), because: because.clone(), text: because.to_string() }
    }
}

impl From<&GeneratedWorkload> for Call {
    fn from(workload: &GeneratedWorkload) -> Self {
        let GeneratedWorkload { call, target, test, n, ns, value, .. } = workload;
        Self {
            function: call.function.clone(),
            target: target.to_string(),
            name: test.clone(),
            setup: call.setup.clone(),
            call: call.call.clone(),
            n: call.is_sized.then_some(*n),
            about_ns: *ns,
            value: value.clone(),
        }
    }
}
