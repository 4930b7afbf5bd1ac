//! Runs in shards: each machine measures a part of the tests, and the parts are merged.

use super::{Environment, Function, Stages, TestId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

/// How tests are divided into shards.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, strum::Display)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum PartitionKind {
    /// In turn over the candidates sorted by name, so that shards have equal size.
    Slice,
    /// By the test's name alone, so that a test stays in its shard when others come and go.
    Hash,
}

/// One shard of several, written as cargo-nextest does: `slice:1/4`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Partition {
    /// How tests are divided.
    pub kind: PartitionKind,
    /// Number of the shard, from 1.
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
    #[error("`{0}` is not a partition; use for example slice:1/4 or hash:1/4")]
    Malformed(String),
    #[error("shard {shard} of {shards} does not exist; shards are numbered from 1 to {shards}")]
    NoSuchShard { shard: usize, shards: usize },
}

impl FromStr for Partition {
    type Err = InvalidPartition;

    fn from_str(text: &str) -> Result<Self, InvalidPartition> {
        let malformed = || InvalidPartition::Malformed(text.to_owned());
        let (kind, numbers) = text.split_once(':').ok_or_else(malformed)?;
        let kind = match kind {
            // cargo-nextest's older name. It counts within each executable, which we do not need.
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

/// The measured part of a divided run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Sharding {
    /// How tests were divided.
    pub kind: PartitionKind,
    /// Number of shards.
    pub shards: usize,
    /// All divided tests, sorted. The error rate of the whole run is divided by their number.
    pub candidates: Vec<TestId>,
    /// The shards in this run by number: one, or all after `merge`.
    pub parts: Vec<Part>,
    /// Changed functions that only these tests reach. Only all shards together know whether any of the tests could be
    /// measured.
    pub led_to: BTreeSet<(Function, BTreeSet<TestId>)>,
}

impl Sharding {
    /// Returns the shard, if this run is a single one.
    pub fn single(&self) -> Option<Partition> {
        match &self.parts[..] {
            [part] => Some(Partition { kind: self.kind, shard: part.shard, shards: self.shards }),
            _ => None,
        }
    }
}

/// Data about one shard, apart from its tests.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Part {
    /// Number of the shard, from 1.
    pub shard: usize,
    /// Number of tests assigned to the shard.
    pub tests: usize,
    /// Environment of the measurement.
    pub environment: Environment,
    /// Time of the stages.
    pub stages: Stages,
    /// True if Ctrl-C stopped the shard.
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
        check("slice:0/4", Err("shard 0 of 4 does not exist"));
        check("slice:5/4", Err("shard 5 of 4 does not exist"));
        check("1/4", Err("use for example slice:1/4"));
        check("random:1/4", Err("`random:1/4` is not a partition"));
        check("slice:1", Err("use for example slice:1/4"));
        check("slice:a/b", Err("use for example slice:1/4"));
    }
}
