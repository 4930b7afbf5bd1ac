//! Finds the Cargo project of a repository without a manifest at its root.

use perfunit_system::fs;
use std::path::{Path, PathBuf};

/// Maximum depth of searched folders.
const DEPTH: usize = 3;

/// Returns the manifests nearest to the root of a repository, relative to it and sorted; only one if it is at the root.
pub fn manifests(root: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    search(root, Path::new(""), DEPTH, &mut found);
    found
}

fn search(root: &Path, folder: &Path, depth: usize, found: &mut Vec<PathBuf>) {
    let manifest = folder.join("Cargo.toml");
    if root.join(&manifest).is_file() {
        // Manifests below are members or unrelated.
        found.push(manifest);
        return;
    }
    if depth == 0 {
        return;
    }
    // Folders that cannot be read are skipped.
    for path in fs::list_dir(&root.join(folder)).unwrap_or_default() {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let is_folder = path.symlink_metadata().is_ok_and(|data| data.is_dir());
        if is_folder && !name.starts_with('.') && !["target", "node_modules", "vendor"].contains(&name.as_str()) {
            search(root, &folder.join(name), depth - 1, found);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(files: &[&str], expected: &[&str]) {
        let root = tempfile::tempdir().unwrap();
        for file in files {
            fs::write(&root.path().join(file), "").unwrap();
        }
        assert_eq!(manifests(root.path()), expected.iter().map(PathBuf::from).collect::<Vec<_>>());
    }

    #[test]
    fn the_manifest_at_the_top_hides_all_others() {
        check(&["Cargo.toml", "a/Cargo.toml"], &["Cargo.toml"]);
    }

    #[test]
    fn projects_in_subfolders_are_found_with_their_members_hidden() {
        check(&["server/rust/Cargo.toml", "server/rust/member/Cargo.toml"], &["server/rust/Cargo.toml"]);
        check(&["b/Cargo.toml", "a/Cargo.toml"], &["a/Cargo.toml", "b/Cargo.toml"]);
        check(&["target/package/Cargo.toml", ".cache/Cargo.toml", "README.md"], &[]);
    }
}
