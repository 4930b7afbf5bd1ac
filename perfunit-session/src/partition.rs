//! Selects the candidates that this run measures, if it is one shard of several.
//!
//! Tests are divided before they are traced: traces may differ between machines, while compiled code does not. All
//! shards see the same candidates, so that each test is in exactly one shard.

use perfunit_model::{Part, Partition, PartitionKind, Reason, Run, Sharding, TestId};
use perfunit_select::{Candidate, Candidates, LedTo, not_measured, tests_hiding_code};
use siphasher::sip::SipHasher13;
use std::collections::BTreeMap;
use std::hash::Hasher as _;

/// All divided tests, sorted.
pub type Dealt = Vec<TestId>;

/// Removes the candidates of other shards from all rounds.
pub fn deal(partition: Partition, rounds: &mut [&mut Candidates]) -> Dealt {
    let chosen = rounds.iter().flat_map(|candidates| &candidates.chosen);
    let mut all: Dealt = chosen.map(|candidate| candidate.test.clone()).collect();
    all.sort();
    all.dedup();
    let shards: BTreeMap<&TestId, usize> =
        all.iter().enumerate().map(|(position, test)| (test, shard_of(partition, position, test))).collect();
    for candidates in rounds {
        let is_ours = |candidate: &Candidate| shards.get(&candidate.test) == Some(&partition.shard);
        let (ours, others) = std::mem::take(&mut candidates.chosen).into_iter().partition(is_ours);
        candidates.chosen = ours;
        let others: Vec<Candidate> = others;
        for candidate in others {
            let shard = shards.get(&candidate.test).copied().unwrap_or_default();
            let reason = Reason::OtherShard { shard, shards: partition.shards };
            let mut outcome = not_measured(candidate.test, reason, candidate.capture, Some(candidate.because));
            outcome.why = candidate.why;
            candidates.excluded.push(outcome);
        }
    }
    all
}

/// Returns the data about a run's shard when it ends; `None` for a run that is not divided.
pub fn sharding(partition: Option<Partition>, dealt: Option<Dealt>, led_to: LedTo, run: &Run) -> Option<Sharding> {
    let Partition { kind, shard, shards } = partition?;
    let candidates = dealt.unwrap_or_default();
    let elsewhere = run.outcomes.iter().filter(|outcome| outcome.is_of_other_shard()).count();
    let part = Part {
        shard,
        tests: candidates.len() - elsewhere,
        environment: run.environment.clone(),
        stages: run.stages,
        interrupted: run.interrupted,
    };
    let hidden = tests_hiding_code(run.outcomes.iter());
    let led_to = led_to.into_iter().filter(|(_, tests)| tests.iter().any(|test| hidden.contains(test))).collect();
    Some(Sharding { kind, shards, candidates, parts: vec![part], led_to })
}

/// Returns the shard of a test, from 1. `position` is its index among all sorted candidates.
fn shard_of(partition: Partition, position: usize, test: &TestId) -> usize {
    let number = match partition.kind {
        PartitionKind::Slice => position,
        PartitionKind::Hash => usize::try_from(hash(test) % partition.shards as u64).unwrap_or_default(),
    };
    number % partition.shards + 1
}

/// Hashes `<target> <test>` by SipHash-1-3 with a key of zeros. `hash:` guarantees this, so it must never change.
fn hash(test: &TestId) -> u64 {
    let mut hasher = SipHasher13::new();
    hasher.write(test.to_string().as_bytes());
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use perfunit_measure::Measuring;
    use perfunit_model::{ReachedBy, SelectedBecause, Sides, TargetId, TargetKind};

    fn candidates(names: &[String]) -> Candidates {
        let target = TargetId { package: "demo".to_owned(), kind: TargetKind::Lib, name: "demo".to_owned() };
        let candidate = |name: &String| Candidate {
            test: TestId { target: target.clone(), name: name.clone() },
            because: SelectedBecause::Target(ReachedBy::Request),
            why: None,
            enters: None,
            capture: None,
            ignored: false,
            of_name: Sides { base: 1, head: 1 },
            differs: None,
            terms: Measuring::default().terms(),
        };
        let mut candidates = Candidates::default();
        candidates.chosen.extend(names.iter().map(candidate));
        candidates
    }

    fn names(range: std::ops::Range<usize>) -> Vec<String> {
        range.map(|number| format!("tests::case_{number:03}")).collect()
    }

    /// Returns the tests of each shard.
    fn shards(kind: PartitionKind, count: usize, first: &[String], second: &[String]) -> Vec<Vec<String>> {
        let shard = |shard| {
            let (mut one, mut two) = (candidates(first), candidates(second));
            let partition = Partition { kind, shard, shards: count };
            let dealt = deal(partition, &mut [&mut one, &mut two]);
            assert_eq!(dealt.len(), first.len() + second.len());
            assert_eq!(one.chosen.len() + one.excluded.len(), first.len());
            one.chosen.iter().chain(&two.chosen).map(|candidate| candidate.test.name.clone()).collect()
        };
        (1..=count).map(shard).collect()
    }

    #[test]
    fn each_test_is_in_one_shard_whatever_its_round() {
        for kind in [PartitionKind::Slice, PartitionKind::Hash] {
            let mut all: Vec<String> = shards(kind, 4, &names(0..30), &names(30..50)).concat();
            all.sort();
            assert_eq!(all, names(0..50), "{kind}");
        }
    }

    #[test]
    fn slices_have_equal_sizes_whatever_the_order_of_interest() {
        let mut mixed = names(0..10);
        mixed.reverse();
        let sliced = shards(PartitionKind::Slice, 3, &mixed, &[]);
        assert_eq!(sliced.iter().map(Vec::len).collect::<Vec<_>>(), [4, 3, 3]);
        assert_eq!(sliced[1], ["tests::case_007", "tests::case_004", "tests::case_001"]);
    }

    #[test]
    fn a_hashed_test_stays_where_it_is_when_others_come() {
        let before = shards(PartitionKind::Hash, 4, &names(0..40), &[]);
        let after = shards(PartitionKind::Hash, 4, &names(0..60), &[]);
        for (before, after) in before.iter().zip(&after) {
            assert!(!before.is_empty() && before.iter().all(|test| after.contains(test)));
        }
    }

    #[test]
    fn the_hash_is_for_ever() {
        let target = TargetId { package: "demo".to_owned(), kind: TargetKind::Test, name: "it".to_owned() };
        let test = TestId { target, name: "a::b".to_owned() };
        assert_eq!(hash(&test), 0xac45_d824_0da4_ba68);
    }
}
