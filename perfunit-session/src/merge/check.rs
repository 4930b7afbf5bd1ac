//! Checks that saved runs are the shards of one run: complete, and each of them once.

use crate::options::{self, Options};
use crate::runs::Record;
use perfunit_model::error::{Error, Result};
use perfunit_model::format::short_commit;
use perfunit_model::{Partition, PartitionKind, Ratchet, Run, Side, Sides, VersionName};
use perfunit_project::config::word_of;
use perfunit_system::cache;
use std::path::{Path, PathBuf};

/// Sorts the shards by number, or returns what is wrong with them.
pub(super) fn in_order(shards: Vec<Shard>) -> Result<Vec<Shard>> {
    let mut numbered = Vec::new();
    for shard in shards {
        numbered.push((partition(&shard)?, shard));
    }
    numbered.sort_by_key(|(partition, _)| partition.shard);
    let Some((one, first)) = numbered.first() else {
        return Err(Error::usage("no runs to merge").hint("name the files or folders of all shards"));
    };
    for (other, shard) in &numbered[1..] {
        same_partition((*one, &first.path), (*other, &shard.path))?;
        same_terms(first, shard)?;
        if other.kind == PartitionKind::Slice {
            same_candidates([first, shard], |run| Some(run))?;
            same_candidates([first, shard], Run::against_ratchet)?;
        }
    }
    for pair in numbered.windows(2) {
        let [(one, first), (two, second)] = pair else { continue };
        if one.shard == two.shard {
            let (first, second) = (first.path.display(), second.path.display());
            return Err(Error::usage(format!("shard {one} occurs twice: {first} and {second}"))
                .hint("remove one of them; a repeated shard replaces the first one"));
        }
    }
    let missing: Vec<String> = (1..=one.shards)
        .filter(|number| numbered.iter().all(|(p, _)| p.shard != *number))
        .map(|n| n.to_string())
        .collect();
    if !missing.is_empty() {
        let (plural, verb) = if missing.len() == 1 { ("", "is") } else { ("s", "are") };
        return Err(Error::usage(format!(
            "shard{plural} {} of {} {verb} missing: {} of {} were given",
            missing.join(", "),
            one.shards,
            numbered.len(),
            one.shards
        ))
        .hint(format!(
            "run `cargo perfunit diff` with `--partition {}:{}/{}`, or check why that job wrote nothing",
            one.kind, missing[0], one.shards
        )));
    }
    Ok(numbered.into_iter().map(|(_, shard)| shard).collect())
}

fn partition(shard: &Shard) -> Result<Partition> {
    let path = shard.path.display();
    match &shard.record.run.sharding {
        None => Err(Error::usage(format!("{path} is not a shard, but a run of all tests"))
            .hint("create shards with `cargo perfunit diff --partition slice:1/4`")),
        Some(sharding) => sharding.single().ok_or_else(|| {
            Error::usage(format!("{path} is not a shard, but a merged run")).hint("merge its shards instead")
        }),
    }
}

fn same_partition(first: (Partition, &Path), other: (Partition, &Path)) -> Result<()> {
    let of = |partition: Partition| format!("{} of {}", partition.kind, partition.shards);
    if of(first.0) == of(other.0) {
        return Ok(());
    }
    Err(foreign(first.1, other.1, "the partition", &first.0.to_string(), &other.0.to_string()))
}

/// Checks that the settings that determine the tests and their verdicts are equal. Budgets and timeouts may differ,
/// like machines do.
fn same_terms(first: &Shard, other: &Shard) -> Result<()> {
    let contents = |shard: &Shard| shard.record.contents.clone();
    for side in Side::BOTH {
        if contents(first).get(side) != contents(other).get(side) {
            let [one, two] = [first, other].map(|shard| version(side, &shard.record));
            return Err(foreign(&first.path, &other.path, &side.to_string(), &one, &two));
        }
    }
    for ((what, one), (_, two)) in terms(&first.record).into_iter().zip(terms(&other.record)) {
        if one != two {
            return Err(foreign(&first.path, &other.path, what, &one, &two));
        }
    }
    Ok(())
}

fn terms(record: &Record) -> Vec<(&'static str, String)> {
    let Record { options, run, .. } = record;
    let measuring = &options.measuring;
    let gates: Vec<String> = measuring.gates.iter().map(ToString::to_string).collect();
    vec![
        ("the version of cargo-perfunit", record.tool.clone()),
        ("the compiler", run.environment.rustc.clone()),
        ("the host", run.environment.host.clone()),
        ("cargo's profile", options.build.profile.clone()),
        ("--lto", word_of(&options.build.lto)),
        ("the list of cargo options", format!("`{}`", options.build.arguments.join(" "))),
        ("the selection of packages and targets", command_line(&options::scope(&options.scope))),
        ("the filter", command_line(&options::filter(&options.filter))),
        ("the configuration's rules for tests", rules_key(options)),
        ("--all-tests", options.all_tests.to_string()),
        ("--threshold", measuring.threshold.to_string()),
        ("--bound", measuring.bound.to_string()),
        ("--metric", gates.join(",")),
        ("--instructions", word_of(&measuring.instructions)),
        ("the error rate", measuring.alpha.to_string()),
        ("--layout", word_of(&measuring.placement)),
        ("--ratchet", ratchet(record)),
    ]
}

/// Describes the ratchet's version and the accepted losses.
fn ratchet(record: &Record) -> String {
    let Some(Ratchet { version, .. }) = &record.run.ratchet else { return "none".to_owned() };
    let accepted = serde_json::to_vec(&record.options.ratchet).unwrap_or_default();
    format!("{} (accepted {})", short_commit(&version.commit), cache::hash(&accepted))
}

/// Returns a key of the rules, which are too long to be shown.
fn rules_key(options: &Options) -> String {
    let rules = serde_json::to_vec(&options.rules).unwrap_or_default();
    format!("rules {}", cache::hash(&rules))
}

/// Formats options as they are typed.
fn command_line(words: &[String]) -> String {
    if words.is_empty() { "none".to_owned() } else { format!("`{}`", words.join(" ")) }
}

/// Describes a version with the key of its content, regardless of its name.
fn version(side: Side, record: &Record) -> String {
    let name = Sides { base: &record.run.base, head: &record.run.head };
    let name: &VersionName = name.get(side);
    format!("{}{} (content {})", short_commit(&name.commit), name.changes(), record.contents.get(side))
}

/// Checks that two shards divided the same list of tests. Slices of different lists may overlap or leave gaps.
fn same_candidates([first, other]: [&Shard; 2], of: impl Fn(&Run) -> Option<&Run>) -> Result<()> {
    let list = |shard: &Shard| of(&shard.record.run)?.sharding.as_ref().map(|sharding| sharding.candidates.clone());
    let (Some(one), Some(two)) = (list(first), list(other)) else { return Ok(()) };
    let difference = one.iter().find(|test| !two.contains(test)).map(|test| (test, &first.path, &other.path));
    let difference =
        difference.or_else(|| two.iter().find(|test| !one.contains(test)).map(|test| (test, &other.path, &first.path)));
    let Some((test, with, without)) = difference else { return Ok(()) };
    Err(Error::usage(format!(
        "the shards disagree about the tests to divide: {test} is one in {}, but not in {}",
        with.display(),
        without.display()
    ))
    .hint("the machines compile differently; build once with `cargo perfunit archive`, or divide tests by `hash:`"))
}

fn foreign(first: &Path, other: &Path, what: &str, one: &str, two: &str) -> Error {
    let (first, other) = (first.display(), other.display());
    Error::usage(format!("{other} is not of the same run as {first}: {what} differs ({two} there, {one} here)"))
        .hint("merge takes the shards of one run: the same two versions, compared with the same options")
}

/// A saved run and its file.
pub struct Shard {
    pub path: PathBuf,
    pub record: Record,
}
