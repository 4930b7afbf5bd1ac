//! The files of the project's own code, of which functions are told apart.

use perfunit_model::{Function, Side};
use perfunit_project::git::{FileSet, Mode, Versions};
use perfunit_select::Selected;
use perfunit_select::source::{FileInTarget, Place};
use std::collections::BTreeMap;
use std::path::Path;

/// A file of the project's own code.
pub struct SourceFile {
    pub package: String,
    /// From the package's folder.
    pub place: String,
    /// Of the first target that holds it.
    pub module: String,
    pub is_root: bool,
}

impl SourceFile {
    /// Where it is to those who give functions their keys.
    pub fn place(&self) -> Place<'_> {
        Place { package: &self.package, path: &self.place }
    }

    /// A function of it, as people know it.
    pub fn function(&self, path: &str, name: &str, line: usize) -> Function {
        let name = if self.module.is_empty() { name.to_owned() } else { format!("{}::{name}", self.module) };
        Function { package: self.package.clone(), file: path.to_owned(), line, name }
    }
}

pub fn text(versions: &Versions, files: &FileSet, path: &str) -> Option<String> {
    let is_file = files.entries.get(Path::new(path)).is_some_and(|entry| entry.mode != Mode::Symlink);
    is_file.then(|| versions.read_file(files, path)).flatten().and_then(|content| String::from_utf8(content).ok())
}

/// The files of all targets of the workspace, by path.
pub fn sources(selected: &Selected, side: Side) -> BTreeMap<String, SourceFile> {
    let mut found = BTreeMap::new();
    let folders: BTreeMap<&str, &str> =
        selected.workspace.packages.iter().map(|package| (package.name.as_str(), package.dir.as_str())).collect();
    let roots = selected.roots();
    for (target, files) in &selected.target_files {
        let folder = folders.get(target.package.as_str()).copied().unwrap_or_default();
        for (path, FileInTarget { module, .. }) in files.get(side) {
            found.entry(path.clone()).or_insert_with(|| SourceFile {
                package: target.package.clone(),
                place: Path::new(path).strip_prefix(folder).unwrap_or(Path::new(path)).to_string_lossy().into_owned(),
                module: module.clone(),
                is_root: roots.contains(path),
            });
        }
    }
    found
}
