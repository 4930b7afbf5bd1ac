//! Whether saved runs are the shards of one run, all of them, each once.

use crate::options::Options;
use crate::runs::Record;
use perfunit_model::error::{Error, Result};
use perfunit_model::{Ignored, Partition, PartitionKind, Ratchet, Run, Side, Sides, TargetKind, VersionName};
use perfunit_project::config::word_of;
use perfunit_select::{Filter, Scope};
use perfunit_system::cache;
use std::path::{Path, PathBuf};

/// The shards by number, or what is wrong with them.
pub(super) fn in_order(shards: Vec<Shard>) -> Result<Vec<Shard>> {
    let mut numbered = Vec::new();
    for shard in shards {
        numbered.push((partition(&shard)?, shard));
    }
    numbered.sort_by_key(|(partition, _)| partition.shard);
    let Some((one, first)) = numbered.first() else {
        return Err(Error::usage("there is nothing to merge").hint("name the files or folders of all shards"));
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
            return Err(Error::usage(format!("shard {one} is there twice: {first} and {second}"))
                .hint("leave one of them out; a shard that was measured again replaces the first one"));
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
            "run `cargo perfunit diff` with `--partition {}:{}/{}`, or see why that job left nothing",
            one.kind, missing[0], one.shards
        )));
    }
    Ok(numbered.into_iter().map(|(_, shard)| shard).collect())
}

fn partition(shard: &Shard) -> Result<Partition> {
    let path = shard.path.display();
    match &shard.record.run.sharding {
        None => Err(Error::usage(format!("{path} is no shard but a run of all its tests"))
            .hint("shards are what `cargo perfunit diff --partition slice:1/4` leaves")),
        Some(sharding) => sharding.single().ok_or_else(|| {
            Error::usage(format!("{path} is no shard but a merged run")).hint("merge the shards that it was made of")
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

/// What decides which tests there are and what a verdict means must be the same. Budgets and limits of time need not:
/// machines differ.
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
        ("what is passed to cargo", format!("`{}`", options.build.arguments.join(" "))),
        ("the choice of packages and targets", scope(&options.scope)),
        ("the filter", filter(&options.filter)),
        ("what the configuration says of some tests", rules_key(options)),
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

/// The version, and which losses are accepted.
fn ratchet(record: &Record) -> String {
    let Some(Ratchet { version, .. }) = &record.run.ratchet else { return "none".to_owned() };
    let accepted = serde_json::to_vec(&record.options.ratchet).unwrap_or_default();
    format!("{} (accepted {})", version.commit.get(..7).unwrap_or(&version.commit), cache::hash(&accepted))
}

/// Rules are long: that they differ has to do.
fn rules_key(options: &Options) -> String {
    let rules = serde_json::to_vec(&options.rules).unwrap_or_default();
    format!("rules {}", cache::hash(&rules))
}

/// As it could be typed.
fn scope(scope: &Scope) -> String {
    let Scope { packages, workspace, exclude, targets, only: _ } = scope;
    let packages = packages.iter().map(|package| format!("--package {package}"));
    let workspace = workspace.then(|| "--workspace".to_owned());
    let exclude = exclude.iter().map(|package| format!("--exclude {package}"));
    let targets = targets.iter().map(|(kind, name)| match (kind, name) {
        (_, Some(name)) => format!("--{kind} {name}"),
        (TargetKind::Lib, None) => "--lib".to_owned(),
        (TargetKind::Doctest, None) => "--doc".to_owned(),
        (TargetKind::Bench, None) => "--benches".to_owned(),
        (_, None) => format!("--{kind}s"),
    });
    typed(packages.chain(workspace).chain(exclude).chain(targets))
}

/// As it could be typed.
fn filter(filter: &Filter) -> String {
    let Filter { names, expressions, exact, skip, ignored } = filter;
    let expressions = expressions.iter().map(|expression| format!("--filterset '{expression}'"));
    let exact = exact.then(|| "--exact".to_owned());
    let skip = skip.iter().map(|name| format!("--skip {name}"));
    let ignored = (*ignored != Ignored::default()).then(|| format!("--run-ignored {}", word_of(ignored)));
    typed(names.iter().cloned().chain(expressions).chain(exact).chain(skip).chain(ignored))
}

fn typed(words: impl Iterator<Item = String>) -> String {
    let words: Vec<String> = words.collect();
    if words.is_empty() { "none".to_owned() } else { format!("`{}`", words.join(" ")) }
}

/// A version and the key of its content, however it was called.
fn version(side: Side, record: &Record) -> String {
    let name = Sides { base: &record.run.base, head: &record.run.head };
    let name: &VersionName = name.get(side);
    let changes = if name.dirty { " with changes" } else { "" };
    let content = record.contents.get(side);
    format!("{}{changes} (content {content})", name.commit.get(..7).unwrap_or(&name.commit))
}

/// Slices are cut from a list; shards that saw different lists may have cut differently.
fn same_candidates([first, other]: [&Shard; 2], of: impl Fn(&Run) -> Option<&Run>) -> Result<()> {
    let list = |shard: &Shard| of(&shard.record.run)?.sharding.as_ref().map(|sharding| sharding.candidates.clone());
    let (Some(one), Some(two)) = (list(first), list(other)) else { return Ok(()) };
    let difference = one.iter().find(|test| !two.contains(test)).map(|test| (test, &first.path, &other.path));
    let difference =
        difference.or_else(|| two.iter().find(|test| !one.contains(test)).map(|test| (test, &other.path, &first.path)));
    let Some((test, with, without)) = difference else { return Ok(()) };
    Err(Error::usage(format!(
        "the shards do not agree about the tests to share out: {test} is one in {}, and not in {}",
        with.display(),
        without.display()
    ))
    .hint("the machines compile differently; build once with `cargo perfunit archive`, or deal tests out by `hash:`"))
}

fn foreign(first: &Path, other: &Path, what: &str, one: &str, two: &str) -> Error {
    let (first, other) = (first.display(), other.display());
    Error::usage(format!("{other} is not of the same run as {first}: {what} differs, {two} there and {one} here"))
        .hint("merge takes the shards of one run: the same two versions, compared with the same options")
}

/// A saved run and its file.
pub struct Shard {
    pub path: PathBuf,
    pub record: Record,
}
