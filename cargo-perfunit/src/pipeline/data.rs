//! Changed data files: which tests may read them, by the configuration or else by their package.

use super::rules::{Data, TestRules};
use super::setup::Setup;
use crate::git::{FileSet, Repository};
use crate::impact::Cause;
use crate::model::{Sides, TargetId};
use crate::source::{ChangedInput, InputKind, SourceDiff};
use std::collections::{BTreeMap, BTreeSet};

/// Takes out of the difference the data files that the configuration has a rule for: first those that reach the tests that
/// the rule names, then, in words, those that mean nothing.
pub fn apart(setup: &mut Setup, rules: &TestRules, diff: &mut SourceDiff) -> (Vec<ChangedInput>, Vec<String>) {
    let (mut data, mut ignored) = (Vec::new(), Vec::new());
    let inputs = std::mem::take(&mut diff.inputs);
    for input in inputs {
        let rule = if input.kind == InputKind::Data { rules.data(&input.path) } else { Data::Unruled };
        match rule {
            Data::Unruled => diff.inputs.push(input),
            Data::Reaches(_) | Data::Ignored(_) if is_compiled_in(setup, &input.path) => {
                let path = &input.path;
                setup.warnings.push(format!("{path} is compiled in: it counts in spite of the rule about its path"));
                diff.inputs.push(input);
            }
            Data::Reaches(_) => data.push(input),
            Data::Ignored(from) => ignored.push(format!("{}: ignored ({from})", input.path)),
        }
    }
    (data, ignored)
}

/// True if some line of Rust code includes a file of this name.
fn is_compiled_in(setup: &Setup, path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let code = all_rust(&setup.repository, &setup.files);
    let code = String::from_utf8_lossy(&code);
    code.lines().any(|line| line.contains(name) && line.contains("include"))
}

/// For each target that can see some, the changed files that are neither code nor part of the build.
pub fn files(reached: &BTreeMap<TargetId, Vec<Cause>>, diff: &SourceDiff) -> BTreeMap<TargetId, Vec<String>> {
    let is_data =
        |path: &String| diff.inputs.iter().any(|input| input.path == *path && matches!(input.kind, InputKind::Data));
    let files = |causes: &[Cause]| {
        let paths = causes.iter().filter_map(|cause| match cause {
            Cause::File { path } if is_data(path) => Some(path.clone()),
            _ => None,
        });
        paths.collect::<Vec<_>>()
    };
    let all = reached.iter().map(|(target, causes)| (target.clone(), files(causes)));
    all.filter(|(_, files)| !files.is_empty()).collect()
}

/// All Rust code of both sides, to look for file names in.
pub fn all_rust(repository: &Repository, files: &Sides<FileSet>) -> Vec<u8> {
    let mut text = Vec::new();
    let mut seen = BTreeSet::new();
    for (path, entry) in files.base.entries.iter().chain(&files.head.entries) {
        if path.extension().is_some_and(|extension| extension == "rs") && seen.insert(entry.id) {
            text.extend(repository.read(entry, path).unwrap_or_default());
        }
    }
    text
}
