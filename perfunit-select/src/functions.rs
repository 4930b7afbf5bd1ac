//! Finds functions by name, whether or not tests execute them.

use super::code::{SourceName, stable_name};
use super::source::{ChangedItem, ItemKind, SourceDiff, items};
use super::target_selection::TargetSelection;
use perfunit_model::error::{Error, Result};
use perfunit_model::{ChangeKind, Function, TargetId, TargetKind, suggest};
use perfunit_project::git::Versions;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::Path;

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

/// Returns whether a symbol with the name of a changed function can be its path: that of a free function leads to the module
/// of its file, unless it is at the root of its crate. A method, or a function of another module, with that name can differ
/// because the changed function was inlined into it.
pub fn is_path_of(symbol: &str, item: &ChangedItem) -> bool {
    if !(item.owner.is_empty() && item.implements.is_empty()) {
        return true;
    }
    let path = stable_name(symbol);
    let segments: Vec<&str> = path.split("::").collect();
    let Some(at) = segments.iter().rposition(|segment| *segment == item.ident) else { return true };
    let file = Path::new(&item.path);
    let module = match file.file_stem().and_then(OsStr::to_str) {
        Some("mod") => file.parent().and_then(Path::file_name).and_then(OsStr::to_str),
        Some("lib" | "main") => None,
        stem => stem,
    };
    let modules = &segments[..at];
    let is_method = modules.last().is_some_and(|last| last.ends_with('>'));
    let is_in = |module: &str| modules.contains(&module.replace('-', "_").as_str());
    !is_method && (modules.len() < 2 || module.is_none_or(is_in))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::{FileChange, diff};

    #[test]
    fn a_symbol_is_the_path_of_a_function_in_the_module_of_its_file() {
        let is_path = |symbol: &str, path: &str| {
            let [base, head] = ["fn run() {}", "fn run() { panic!() }"].map(|text| Some(text.into()));
            let changed = diff(&[FileChange { path: path.to_owned(), base, head }], &|_| false);
            assert_eq!(changed.items[0].ident, "run");
            is_path_of(symbol, &changed.items[0])
        };
        let paths = ["src/cmd/join.rs", "src/cmd/join/mod.rs", "src/main.rs", "src/cmd/sort.rs", "src/bin/my-tool.rs"];
        let all = |symbol: &str| paths.map(|path| is_path(symbol, path));
        assert_eq!(all("xsv::cmd::join::run"), [true, true, true, false, false]);
        assert_eq!(all("xsv::cmd::join::run::{closure#0}"), [true, true, true, false, false]);
        assert_eq!(all("<xsv::Command>::run"), [false; 5]);
        assert_eq!(all("<xsv::join::Reader as xsv::Source>::run"), [false; 5]);
        assert_eq!(all("my_tool::run"), [true; 5]);
    }
}
