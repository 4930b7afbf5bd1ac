//! Path dependencies of a crate: existing ones, and copies of others from cargo's cache, which can be changed. None is
//! a member of the workspace.

use super::functions::{self, Function};
use super::{Result, copy, repository, tool};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use toml::{Table, Value};

/// Folder of the copies.
const FOLDER: &str = "vendored";

/// A dependency that can be changed.
pub struct Vendored {
    /// Name of the dependency.
    pub name: String,
    /// Functions of the dependency.
    pub functions: Vec<Function>,
}

/// Cargo's metadata of a workspace and its dependencies.
#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
    workspace_members: Vec<String>,
    resolve: Resolve,
}

#[derive(Deserialize)]
struct Package {
    id: String,
    name: String,
    /// `None` for path dependencies.
    source: Option<String>,
    manifest_path: PathBuf,
}

#[derive(Deserialize)]
struct Resolve {
    nodes: Vec<Node>,
}

#[derive(Deserialize)]
struct Node {
    id: String,
    deps: Vec<Dependency>,
}

#[derive(Deserialize)]
struct Dependency {
    pkg: String,
    dep_kinds: Vec<DependencyKind>,
}

#[derive(Deserialize)]
struct DependencyKind {
    /// `None` for ordinary dependencies, otherwise `dev` or `build`.
    kind: Option<String>,
}

/// Commits a version of the tree in which all direct dependencies are path dependencies. Returns the commit and the
/// dependencies that can be changed.
pub fn vendor(tree: &Path) -> Result<(String, Vec<Vendored>)> {
    let metadata = metadata(tree)?;
    let mut found = Vec::new();
    let mut by_path = BTreeMap::new();
    for Package { name, source, manifest_path, .. } in metadata.used() {
        let from = manifest_path.parent().unwrap_or(Path::new(""));
        let mut folder = Path::new(FOLDER).join(name);
        if source.is_some() {
            copy_folder(from, &tree.join(&folder))?;
            by_path.insert(name.clone(), folder.clone());
        } else {
            let Ok(inside) = from.strip_prefix(tree) else { continue };
            inside.clone_into(&mut folder);
        }
        let functions = functions_below(tree, &folder.join("src"))?;
        found.push(Vendored { name: name.clone(), functions });
    }
    let root = tree.join("Cargo.toml");
    let members = metadata.members().map(|package| package.manifest_path.clone());
    for manifest in members.chain([root]).collect::<BTreeSet<_>>() {
        redirect(tree, &manifest, &by_path)?;
    }
    repository::commit(tree, "dependencies by path")?;
    Ok((copy::git(tree, &["rev-parse", "HEAD"])?, found))
}

fn metadata(tree: &Path) -> Result<Metadata> {
    let lock = tree.join("Cargo.lock");
    let had_lock = lock.exists();
    let output = tool::clean("cargo", tree).args(["metadata", "--format-version", "1", "--offline"]).output()?;
    if !had_lock && lock.exists() {
        fs::remove_file(&lock)?;
    }
    if !output.status.success() {
        return Err(format!("cargo metadata: {}", String::from_utf8_lossy(&output.stderr)).into());
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}

impl Metadata {
    fn members(&self) -> impl Iterator<Item = &Package> {
        self.packages.iter().filter(|package| self.workspace_members.contains(&package.id))
    }

    /// Returns the direct dependencies outside of the workspace.
    fn used(&self) -> impl Iterator<Item = &Package> {
        let members = self.resolve.nodes.iter().filter(|node| self.workspace_members.contains(&node.id));
        let used: BTreeSet<&str> = members
            .flat_map(|node| &node.deps)
            .filter(|dependency| dependency.dep_kinds.iter().any(|kind| kind.kind.is_none()))
            .map(|dependency| dependency.pkg.as_str())
            .collect();
        let is_outside = move |package: &&Package| {
            !self.workspace_members.contains(&package.id) && used.contains(package.id.as_str())
        };
        self.packages.iter().filter(is_outside)
    }
}

/// Rewrites a manifest to take these dependencies by path.
fn redirect(tree: &Path, manifest: &Path, by_path: &BTreeMap<String, PathBuf>) -> Result<()> {
    let Ok(inside) = manifest.strip_prefix(tree) else { return Ok(()) };
    let up = "../".repeat(inside.components().count() - 1);
    let mut table: Table = fs::read_to_string(manifest)?.parse()?;
    let redirect = |dependencies: Option<&mut Value>| {
        let Some(Value::Table(dependencies)) = dependencies else { return };
        for (key, value) in dependencies {
            if let Value::String(version) = value {
                *value = Value::Table(Table::from_iter([("version".to_owned(), Value::String(version.clone()))]));
            }
            let Value::Table(dependency) = value else { continue };
            let name = dependency.get("package").and_then(Value::as_str).unwrap_or(key);
            // Dependencies inherited from the workspace are rewritten in the workspace's manifest.
            if let Some(folder) = by_path.get(name)
                && !dependency.contains_key("workspace")
            {
                dependency.insert("path".to_owned(), Value::String(format!("{up}{}", folder.display())));
            }
        }
    };
    redirect(table.get_mut("dependencies"));
    redirect(table.get_mut("workspace").and_then(|workspace| workspace.get_mut("dependencies")));
    Ok(fs::write(manifest, table.to_string())?)
}

/// Copies a package without hidden files, which are unused or would hide files from git.
fn copy_folder(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let name = entry.file_name();
        if name.to_string_lossy().starts_with('.') {
            continue;
        }
        if entry.file_type()?.is_dir() {
            copy_folder(&entry.path(), &to.join(name))?;
        } else {
            fs::copy(entry.path(), to.join(name))?;
        }
    }
    Ok(())
}

fn functions_below(tree: &Path, folder: &Path) -> Result<Vec<Function>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(tree.join(folder))? {
        let entry = entry?;
        let path = folder.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            found.extend(functions_below(tree, &path)?);
        } else if path.extension().is_some_and(|end| end == "rs") {
            let text = fs::read_to_string(tree.join(&path))?;
            found.extend(functions::functions(&path.to_string_lossy(), &text));
        }
    }
    found.sort_by(|a, b| (&a.path, a.line).cmp(&(&b.path, b.line)));
    Ok(found)
}
