//! Finds targets without tests in the sources of either version, so that they need not be built.

use super::reach::Files;
use super::source::{holds_tests, may_hold_tests};
use super::target_files::TargetFiles;
use perfunit_model::{Side, TargetId, TargetKind};
use perfunit_project::cargo::{Package, Workspace};
use perfunit_project::git::Versions;

/// Checks whether a target of the workspace contains no tests in any build.
pub fn is_without_tests(
    versions: &Versions,
    workspace: &Workspace,
    target_files: &TargetFiles,
    target: &TargetId,
) -> bool {
    let is_compiled_with_libtest = matches!(target.kind, TargetKind::Lib | TargetKind::Bin | TargetKind::Example);
    let package = workspace.members().find(|package| package.name == target.package);
    let (Some(package), Some(files)) = (package, target_files.get(target)) else { return false };
    is_compiled_with_libtest
        && !files.head.is_empty()
        && Side::BOTH.into_iter().all(|side| {
            let read = |path: &str| versions.read_file(versions.files.get(side), path);
            !has_own_harness(package, &read) && have_none(files.get(side), &read)
        })
}

/// Checks whether none of a target's files contains tests.
fn have_none(files: &Files, read: &dyn Fn(&str) -> Option<Vec<u8>>) -> bool {
    let mut texts = Vec::new();
    // Searching is cheaper than parsing.
    for (path, file) in files {
        let text = read(path).and_then(|text| String::from_utf8(text).ok());
        let Some(text) = text.filter(|text| !file.is_behind_link && !holds_tests(text)) else { return false };
        texts.push((file, text));
    }
    texts.iter().all(|(file, text)| {
        let is_file = |module: &str| {
            let names = [file.module.as_str(), module].into_iter().filter(|name| !name.is_empty());
            let module = names.collect::<Vec<_>>().join("::");
            files.values().any(|known| known.module == module)
        };
        !may_hold_tests(text, &is_file)
    })
}

/// Checks whether a target of the package may have its own harness, whose tests need not be functions.
fn has_own_harness(package: &Package, read: &dyn Fn(&str) -> Option<Vec<u8>>) -> bool {
    let path = if package.dir.is_empty() { "Cargo.toml".to_owned() } else { format!("{}/Cargo.toml", package.dir) };
    read(&path).is_some_and(|text| String::from_utf8_lossy(&text).contains("harness"))
}
