//! Targets of which the sources of both versions show that they hold no tests: nothing is built for them.

use super::source::may_hold_tests;
use super::target_files::TargetFiles;
use crate::cargo::{Package, Workspace};
use crate::git::Versions;
use crate::model::{Side, TargetId, TargetKind};

/// Whether a target of the workspace holds no tests, whatever it is built with.
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
            let files = files.get(side);
            !has_own_harness(package, &read)
                && files.iter().all(|(path, file)| {
                    let is_file = |module: &str| {
                        let names = [file.module.as_str(), module].into_iter().filter(|name| !name.is_empty());
                        let module = names.collect::<Vec<_>>().join("::");
                        files.values().any(|known| known.module == module)
                    };
                    let text = read(path).map(|text| String::from_utf8_lossy(&text).into_owned());
                    !file.is_behind_link && text.is_some_and(|text| !may_hold_tests(&text, &is_file))
                })
        })
}

/// Whether a target of the package may be a harness of its own, whose tests are no functions.
fn has_own_harness(package: &Package, read: &dyn Fn(&str) -> Option<Vec<u8>>) -> bool {
    let path = if package.dir.is_empty() { "Cargo.toml".to_owned() } else { format!("{}/Cargo.toml", package.dir) };
    read(&path).is_some_and(|text| String::from_utf8_lossy(&text).contains("harness"))
}
