//! The command that makes a comparison again.

use super::options::Options;
use perfunit_model::{Generated, Ignored, Metric, Repeat, Sides, TargetKind, VersionName};
use perfunit_project::config::Value as _;
use perfunit_select::{Filter, Scope};
use std::path::Path;

/// The command for these versions in the repository with this root. Of uncommitted changes only their owner can repeat it.
pub fn repeat(options: &Options, root: &Path, versions: &Sides<VersionName>) -> Repeat {
    let Sides { base, head } = versions;
    let head = if head.dirty { String::new() } else { format!("..{}", head.commit) };
    let mut words = vec!["perfunit".to_owned(), "diff".to_owned(), format!("{}{head}", base.commit)];
    words.extend(filter(&options.filter));
    words.extend(scope(&options.scope));
    words.extend(options.all_tests.then(|| "--all-tests".to_owned()));
    words.extend(options.configuration.iter().cloned());
    if options.build.profile != "bench" {
        words.extend(["--cargo-profile".to_owned(), options.build.profile.clone()]);
    }
    words.extend(options.build.arguments.iter().cloned());
    words.extend(options.ratchet.iter().flat_map(|ratchet| ["--ratchet".to_owned(), ratchet.revision.clone()]));
    words.extend((options.generated == Generated::Uncovered).then(|| "--generated".to_owned()));
    let measuring = &options.measuring;
    words.extend(["--threshold".to_owned(), measuring.threshold.fraction().to_string()]);
    if measuring.gates != [Metric::Time] {
        let gates: Vec<&str> = measuring.gates.iter().map(|gate| gate.name()).collect();
        words.extend(["--metric".to_owned(), gates.join(",")]);
    }
    let folder = options.folder.strip_prefix(root).unwrap_or(Path::new(""));
    Repeat { folder: folder.to_string_lossy().into_owned(), arguments: words }
}

fn filter(filter: &Filter) -> Vec<String> {
    let mut words = filter.names.clone();
    words.extend(each("--filterset", &filter.expressions));
    words.extend(each("--skip", &filter.skip));
    words.extend(filter.exact.then(|| "--exact".to_owned()));
    if filter.ignored != Ignored::default() {
        words.extend(["--run-ignored".to_owned(), filter.ignored.shown()]);
    }
    words
}

fn scope(scope: &Scope) -> Vec<String> {
    let mut words: Vec<String> = each("--package", &scope.packages).collect();
    words.extend(scope.workspace.then(|| "--workspace".to_owned()));
    words.extend(each("--exclude", &scope.exclude));
    let is_tests = scope.targets.contains(&(TargetKind::Test, None));
    words.extend(is_tests.then(|| "--tests".to_owned()));
    for target in &scope.targets {
        match target {
            (TargetKind::Lib, None) if !is_tests => words.push("--lib".to_owned()),
            (TargetKind::Bin, None) if !is_tests => words.push("--bins".to_owned()),
            (TargetKind::Doctest, None) => words.push("--doc".to_owned()),
            (TargetKind::Bench, None) => words.push("--benches".to_owned()),
            (TargetKind::Bench, Some(name)) => words.extend(["--bench".to_owned(), name.clone()]),
            (TargetKind::Bin, Some(name)) => words.extend(["--bin".to_owned(), name.clone()]),
            (TargetKind::Test, Some(name)) => words.extend(["--test".to_owned(), name.clone()]),
            _ => {}
        }
    }
    words
}

fn each<'a>(option: &'a str, values: &'a [String]) -> impl Iterator<Item = String> + 'a {
    values.iter().flat_map(move |value| [option.to_owned(), value.clone()])
}
