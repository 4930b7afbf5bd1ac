//! A run in parts: each machine measures a shard of the tests, and the parts are joined again.

use super::{Environment, Function, Stages, TestId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

/// How tests are dealt out to shards.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, strum::Display)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum PartitionKind {
    /// In turn, over the candidates sorted by name: shards of equal size.
    Slice,
    /// By the test's name alone: a test stays in its shard whatever tests come and go.
    Hash,
}

/// One shard of several, written as cargo-nextest does: `slice:1/4`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Partition {
    /// How tests are dealt out.
    pub kind: PartitionKind,
    /// Which shard, from 1.
    pub shard: usize,
    pub shards: usize,
}

impl fmt::Display for Partition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}/{}", self.kind, self.shard, self.shards)
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidPartition {
    #[error("`{0}` is no partition: try slice:1/4 or hash:1/4")]
    Malformed(String),
    #[error("there is no shard {shard} of {shards}: they are numbered from 1 to {shards}")]
    NoSuchShard { shard: usize, shards: usize },
}

impl FromStr for Partition {
    type Err = InvalidPartition;

    fn from_str(text: &str) -> Result<Self, InvalidPartition> {
        let malformed = || InvalidPartition::Malformed(text.to_owned());
        let (kind, numbers) = text.split_once(':').ok_or_else(malformed)?;
        let kind = match kind {
            // cargo-nextest's older name. It counts within each executable; we have no reason to.
            "slice" | "count" => PartitionKind::Slice,
            "hash" => PartitionKind::Hash,
            _ => return Err(malformed()),
        };
        let (shard, shards) = numbers.split_once('/').ok_or_else(malformed)?;
        let number = |text: &str| text.parse::<usize>().map_err(|_| malformed());
        let (shard, shards) = (number(shard)?, number(shards)?);
        if shard == 0 || shard > shards {
            return Err(InvalidPartition::NoSuchShard { shard, shards });
        }
        Ok(Self { kind, shard, shards })
    }
}

/// What a run in parts has measured so far.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Sharding {
    /// How tests were dealt out.
    pub kind: PartitionKind,
    /// To how many shards.
    pub shards: usize,
    /// All tests that were dealt out, sorted. Their number is what the error rate of the whole run is divided by.
    pub candidates: Vec<TestId>,
    /// The shards of this run, by number: one, or after `merge` all.
    pub parts: Vec<Part>,
    /// Changed functions to which only these tests lead, of which some could not be measured: whether any could, all shards
    /// together know.
    pub led_to: BTreeSet<(Function, BTreeSet<TestId>)>,
}

impl Sharding {
    /// The shard, if this is a run of one.
    pub fn single(&self) -> Option<Partition> {
        match &self.parts[..] {
            [part] => Some(Partition { kind: self.kind, shard: part.shard, shards: self.shards }),
            _ => None,
        }
    }
}

/// What is known of one shard besides its tests.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Part {
    /// Its number, from 1.
    pub shard: usize,
    /// Tests that were its to measure.
    pub tests: usize,
    /// Where it was measured.
    pub environment: Environment,
    /// Where its time went.
    pub stages: Stages,
    /// True if Ctrl-C cut it short.
    pub interrupted: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Result<&str, &str>) {
        let found = text.parse::<Partition>().map(|partition| partition.to_string());
        match expected {
            Ok(expected) => assert_eq!(found.as_deref(), Ok(expected)),
            Err(part) => assert!(found.as_ref().is_err_and(|error| error.to_string().contains(part)), "{found:?}"),
        }
    }

    #[test]
    fn partitions_are_spelled_as_in_nextest() {
        check("slice:1/4", Ok("slice:1/4"));
        check("hash:4/4", Ok("hash:4/4"));
        check("count:2/3", Ok("slice:2/3"));
    }

    #[test]
    fn a_shard_that_cannot_be_is_named() {
        check("slice:0/4", Err("no shard 0 of 4"));
        check("slice:5/4", Err("no shard 5 of 4"));
        check("1/4", Err("try slice:1/4"));
        check("random:1/4", Err("`random:1/4` is no partition"));
        check("slice:1", Err("try slice:1/4"));
        check("slice:a/b", Err("try slice:1/4"));
    }
}
