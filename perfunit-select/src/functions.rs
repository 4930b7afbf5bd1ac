//! Finds functions by name, whether or not tests execute them.

use super::code::SourceName;
use super::source::{ChangedItem, ItemKind, SourceDiff, items};
use super::target_selection::TargetSelection;
use perfunit_model::error::{Error, Result};
use perfunit_model::{ChangeKind, Function, TargetId, TargetKind, suggest};
use perfunit_project::git::Versions;
use std::collections::BTreeSet;

/// Returns the functions in head's libraries and binaries in scope with one of these names, or all of them. A name is
/// the last part of a path, or more of it.
pub fn functions(versions: &Versions, selected: &TargetSelection, names: &[String]) -> Result<Vec<Function>> {
    let all = all(versions, selected);
    for name in names {
        if !all.iter().any(|function| function.is_named(name)) {
            let known = all.iter().map(|function| last(&function.name));
            let near = suggest::hint(&suggest::near(name, known, "\0"));
            return Err(Error::usage(format!("no function `{name}` in the selected libraries and binaries")).hint(
                near.unwrap_or_else(|| "name a function by the end of its path, such as `Parser::next`".to_owned()),
            ));
        }
    }
    let is_wanted = |function: &Function| names.is_empty() || names.iter().any(|name| function.is_named(name));
    Ok(all.into_iter().filter(is_wanted).collect())
}

fn all(versions: &Versions, selected: &TargetSelection) -> BTreeSet<Function> {
    let is_code = |kind| matches!(kind, TargetKind::Lib | TargetKind::Bin);
    // Libraries with unit tests disabled in the manifest are not in scope. Whether their functions can be called is
    // decided elsewhere.
    let members = selected.workspace.packages.iter().filter(|package| selected.packages.contains(&package.name));
    let untested = members.flat_map(|package| &package.targets).filter(|target| !target.tested);
    let untested: BTreeSet<&TargetId> = untested.map(|target| &target.id).collect();
    let is_meant = |target: &TargetId| selected.in_scope.contains(target) || untested.contains(target);
    let targets = selected.target_files.iter().filter(|(target, _)| is_code(target.kind) && is_meant(target));
    let mut found = BTreeSet::new();
    for (target, sides) in targets {
        for path in sides.head.iter().filter(|(_, file)| !file.test_only).map(|(path, _)| path) {
            let content = versions.read_file(&versions.files.head, path);
            for item in content.as_deref().and_then(items).unwrap_or_default() {
                let is_function = matches!(item.kind, ItemKind::Function | ItemKind::Method);
                if is_function && !item.test_only && item.code.text.trim_end().ends_with('}') {
                    let (package, file) = (target.package.clone(), path.clone());
                    found.insert(Function { package, file, line: item.line, name: item.name });
                }
            }
        }
    }
    found
}

fn last(name: &str) -> &str {
    name.rsplit("::").next().unwrap_or(name)
}

/// Returns the functions of head that are new or changed, without tests.
pub fn changed_functions(diff: &SourceDiff) -> Vec<&ChangedItem> {
    let is_function = |item: &&ChangedItem| {
        matches!(item.kind, ItemKind::Function | ItemKind::Method)
            && matches!(item.change, ChangeKind::Added | ChangeKind::Changed)
            && !item.test_only
    };
    diff.items.iter().filter(is_function).collect()
}

/// Returns a key that identifies a function.
pub fn key(item: &ChangedItem) -> String {
    format!("{}:{} {}", item.path, item.line, item.name)
}

/// Returns the names that the function's symbol contains.
pub fn name(item: &ChangedItem) -> SourceName<'_> {
    let around = [item.owner.as_str(), &item.implements];
    SourceName { ident: &item.ident, around: around.into_iter().filter(|name| !name.is_empty()).collect() }
}
