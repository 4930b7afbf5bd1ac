use super::*;
use perfunit_model::samples;
use perfunit_model::{
    Environment, Function, NotCompared, Outcome, Part, Partition, PartitionKind, Ratchet, Reason, Sharding, Shards,
    Sides, TestId, Uncovered, UncoveredBecause, Verdict, VersionName, Warning,
};

use std::collections::BTreeSet;

const NAMES: [&str; 5] = ["a", "b", "c", "d", "e"];

fn not_measured(name: &str, reason: Reason) -> Outcome {
    samples::unmeasured(name, Some(reason))
}

/// Builds a shard of five candidates divided in turn, and a test of no shard.
fn shard(number: usize, shards: usize) -> Shard {
    let outcome = |(position, name): (usize, &&str)| {
        let owner = position % shards + 1;
        if owner == number {
            samples::outcome(name, Verdict::Same, Some(samples::measured(100.0, 0.0)))
        } else {
            not_measured(name, Reason::OtherShard { shard: owner, shards })
        }
    };
    let mut outcomes: Vec<Outcome> = NAMES.iter().enumerate().map(outcome).collect();
    let tests = outcomes.iter().filter(|outcome| outcome.measured.is_some()).count();
    outcomes.push(not_measured("idle", Reason::Ignored));
    let mut run = samples::run(outcomes);
    let environment = run.environment.clone();
    let part = Part { shard: number, tests, environment, stages: run.stages, interrupted: false };
    let candidates: Vec<TestId> = NAMES.map(samples::test).to_vec();
    run.selection.executed = tests;
    run.selection.left_out = [("other-shard".to_owned(), NAMES.len() - tests), ("ignored".to_owned(), 1)].into();
    run.sharding =
        Some(Sharding { kind: PartitionKind::Slice, shards, candidates, parts: vec![part], led_to: BTreeSet::new() });
    let contents = Sides { base: "1".to_owned(), head: "2".to_owned() };
    let options = Options {
        partition: Some(Partition { kind: PartitionKind::Slice, shard: number, shards }),
        ..Options::default()
    };
    Shard { path: format!("shard-{number}/run.json").into(), record: Record::new(options, contents, run) }
}

fn merge_shards(shards: Vec<Shard>) -> Result<Run> {
    check::in_order(shards).map(|shards| join::join(&shards))
}

#[track_caller]
fn check_refusal(shards: Vec<Shard>, words: &[&str]) {
    let error = merge_shards(shards).expect_err("not refused").to_string();
    for word in words {
        assert!(error.contains(word), "no `{word}` in: {error}");
    }
    assert!(error.contains("hint: "), "{error}");
}

#[test]
fn shards_in_any_order_are_one_run() {
    let run = merge_shards(vec![shard(3, 3), shard(1, 3), shard(2, 3)]).unwrap();
    assert_eq!((run.count(Verdict::Same), run.outcomes.len()), (5, 6));
    let selection = &run.selection;
    assert_eq!((selection.found, selection.reachable, selection.executed), (6, 5, 5));
    assert_eq!(selection.left_out, [("ignored".to_owned(), 1)].into());
    let sharding = run.sharding.unwrap();
    assert_eq!(sharding.candidates.len(), 5);
    assert_eq!(
        sharding.parts.iter().map(|part| (part.shard, part.tests)).collect::<Vec<_>>(),
        [(1, 2), (2, 2), (3, 1)]
    );
    assert!(run.warnings.is_empty(), "{:?}", run.warnings);
}

#[test]
fn a_function_is_uncovered_if_no_shard_could_measure_a_test_of_it() {
    let function =
        |line| Function { package: "demo".to_owned(), file: "src/lib.rs".to_owned(), line, name: "f".to_owned() };
    let uncovered = |failing: &[(usize, &str)]| {
        let mut shards = [shard(1, 2), shard(2, 2)];
        for (number, name) in failing {
            let run = &mut shards[number - 1].record.run;
            let at = run.outcomes.iter().position(|outcome| outcome.test.name == *name).unwrap();
            run.outcomes[at] = not_measured(name, Reason::Ignored);
            let reason = run.outcomes[at].reason.as_ref().unwrap();
            assert!(reason.hides_code());
            let tests = ["a", "b"].map(samples::test).into();
            run.sharding.as_mut().unwrap().led_to.insert((function(1), tests));
        }
        let because = UncoveredBecause::NotMeasured;
        shards[1].record.run.selection.uncovered = vec![Uncovered { function: function(9), because }];
        let run = merge_shards(shards.into()).unwrap();
        run.selection.uncovered.iter().map(|uncovered| uncovered.function.line).collect::<Vec<_>>()
    };
    // `a` belongs to the first shard, `b` to the second.
    assert_eq!(uncovered(&[]), [9]);
    assert_eq!(uncovered(&[(1, "a")]), [9]);
    assert_eq!(uncovered(&[(1, "a"), (2, "b")]), [1, 9]);
}

#[test]
fn what_one_shard_measured_is_not_lost_where_another_saw_no_change() {
    let verdict = |owner: Outcome| {
        let mut shards = [shard(1, 2), shard(2, 2)];
        for (number, outcome) in [(0, not_measured("b", Reason::SameCode)), (1, owner)] {
            let outcomes = &mut shards[number].record.run.outcomes;
            outcomes.retain(|outcome| outcome.test.name != "b");
            outcomes.push(outcome);
        }
        let run = merge_shards(shards.into()).unwrap();
        let outcome = run.outcomes.into_iter().find(|outcome| outcome.test.name == "b").unwrap();
        (outcome.verdict, outcome.reason)
    };
    let slower = samples::outcome("b", Verdict::Slower, Some(samples::measured(1e3, 0.5)));
    assert_eq!(verdict(slower), (Verdict::Slower, None));
    let nobodys = Reason::OtherShard { shard: 1, shards: 2 };
    assert_eq!(verdict(not_measured("b", nobodys.clone())), (Verdict::NotMeasured, Some(nobodys)));
}

#[test]
fn a_missing_shard_is_named() {
    check_refusal(
        vec![shard(1, 3), shard(3, 3)],
        &["shard 2 of 3 is missing: 2 of 3 were given", "--partition slice:2/3"],
    );
    check_refusal(vec![shard(2, 4)], &["shards 1, 3, 4 of 4 are missing"]);
    check_refusal(Vec::new(), &["no runs to merge"]);
}

#[test]
fn a_doubled_shard_is_named_with_both_files() {
    let again = Shard { path: "again/run.json".into(), ..shard(1, 2) };
    check_refusal(
        vec![shard(1, 2), again, shard(2, 2)],
        &["shard slice:1/2 occurs twice", "shard-1/run.json", "again/"],
    );
}

#[test]
fn what_is_of_another_run_is_named_with_what_differs() {
    let with = |change: &dyn Fn(&mut Record)| {
        let mut other = shard(2, 2);
        change(&mut other.record);
        vec![shard(1, 2), other]
    };
    let content = |record: &mut Record| record.contents.head = "3".to_owned();
    check_refusal(
        with(&content),
        &["shard-2/run.json is not of the same run as shard-1/run.json", "head differs", "content 3"],
    );
    check_refusal(
        with(&|record| record.options.measuring.threshold = "50%".parse().unwrap()),
        &["--threshold differs (50% there, 1% here)"],
    );
    check_refusal(
        with(&|record| record.tool = "9.9.9".to_owned()),
        &["the version of cargo-perfunit differs (9.9.9 there"],
    );
    check_refusal(with(&|record| record.run.environment.rustc = "rustc 1.80".to_owned()), &["the compiler differs"]);
    check_refusal(vec![shard(1, 2), shard(2, 3)], &["the partition differs (slice:2/3 there, slice:1/2 here)"]);
}

#[test]
fn budgets_may_differ() {
    let mut other = shard(2, 2);
    other.record.options.measuring.budget = Some(std::time::Duration::from_mins(1));
    other.record.options.measuring.seed = 7;
    assert!(merge_shards(vec![shard(1, 2), other]).is_ok());
}

#[test]
fn what_is_no_shard_is_refused() {
    let mut whole = shard(1, 2);
    whole.record.run.sharding = None;
    check_refusal(vec![whole, shard(2, 2)], &["shard-1/run.json is not a shard, but a run of all tests"]);
    let mut joined = shard(1, 2);
    let part = joined.record.run.sharding.as_ref().unwrap().parts[0].clone();
    joined.record.run.sharding.as_mut().unwrap().parts.push(part);
    check_refusal(vec![joined], &["is not a shard, but a merged run"]);
}

#[test]
fn slices_of_different_lists_do_not_go_together_and_hashed_shards_do() {
    let other = |kind: PartitionKind| {
        [1, 2].map(|number| {
            let mut shard = shard(number, 2);
            let sharding = shard.record.run.sharding.as_mut().unwrap();
            sharding.kind = kind;
            if number == 2 {
                sharding.candidates.remove(0);
            }
            shard
        })
    };
    check_refusal(other(PartitionKind::Slice).into(), &["disagree", "mycrate a is one in shard-1/run.json"]);
    let run = merge_shards(other(PartitionKind::Hash).into()).unwrap();
    assert!(run.warnings.contains(&Warning::Shards(Shards::Disagree)), "{:?}", run.warnings);
    assert_eq!(run.sharding.unwrap().candidates.len(), 5);
}

#[test]
fn an_interrupted_shard_and_other_processors_are_told() {
    let mut other = shard(2, 2);
    other.record.run.interrupted = true;
    other.record.run.outcomes[1] = not_measured("b", Reason::Interrupted);
    other.record.run.environment = Environment { cpu: "EPYC".to_owned(), ..other.record.run.environment };
    let run = merge_shards(vec![shard(1, 2), other]).unwrap();
    assert!(run.interrupted);
    let [processors, interrupted] = &run.warnings[..] else { panic!("{:?}", run.warnings) };
    let (processors, interrupted) = (processors.to_string(), interrupted.to_string());
    assert!(processors.contains("EPYC (shard 2) and Xeon (shard 1)"), "{processors}");
    assert!(interrupted.contains("shard slice:2/2 was interrupted: 1 of its tests"), "{interrupted}");
    assert_eq!(run.environment.cpu, "EPYC, Xeon");
}

#[test]
fn shards_are_found_below_folders_each_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    for name in ["one/run.json", "two/deeper/run.json", "two/other.json"] {
        fs::write(&path(name), "{}").unwrap();
    }
    let found = files(&[folder.path().to_owned(), path("one/run.json")]).unwrap();
    assert_eq!(found, [path("one/run.json"), path("two/deeper/run.json")]);
    std::fs::create_dir(path("empty")).unwrap();
    assert!(files(&[path("empty")]).unwrap_err().to_string().contains("no run.json"));
}

#[test]
fn the_comparisons_with_the_ratchet_are_joined_too() {
    let with = |number: usize, commit: &str| {
        let mut shard = shard(number, 2);
        let run = &mut shard.record.run;
        let version = VersionName { commit: commit.to_owned(), ..run.base.clone() };
        let mut second = run.clone();
        second.outcomes.iter_mut().filter(|outcome| outcome.measured.is_some()).for_each(|outcome| {
            outcome.verdict = Verdict::Slower;
        });
        run.ratchet = Some(Ratchet { version, comparison: Ok(Box::new(second)) });
        shard
    };
    let run = merge_shards(vec![with(1, "1f"), with(2, "1f")]).unwrap();
    assert_eq!((run.count(Verdict::Same), run.cumulative_losses().len()), (5, 5));
    check_refusal(vec![with(1, "1f"), with(2, "2f")], &["--ratchet differs"]);
    check_refusal(vec![with(1, "1f"), shard(2, 2)], &["--ratchet differs", "none"]);
    let mut stopped = with(2, "1f");
    stopped.record.run.ratchet.as_mut().unwrap().comparison = Err(NotCompared::Interrupted);
    let run = merge_shards(vec![with(1, "1f"), stopped]).unwrap();
    assert_eq!(run.ratchet.unwrap().comparison, Err(NotCompared::Interrupted));
}
