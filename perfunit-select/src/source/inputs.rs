//! Classifies changed files other than Rust code: whether the change can affect a build or a run.

use super::change::{FileChange, InputKind};
use super::lock_file::changes;
use perfunit_model::Irrelevance;
use perfunit_model::guesses::{
    DOCUMENT_EXTENSIONS, DOCUMENT_FOLDERS, DOCUMENTS, PICTURE_EXTENSIONS, RUNNER_SETTINGS, TOOLING_FILES,
    TOOLING_FOLDERS,
};
use toml::{Table, Value};

/// Category of a changed file.
#[derive(Debug, PartialEq)]
pub enum Fate {
    /// To be compared as Rust code.
    Rust,
    /// Can affect a build or a run.
    Input(InputKind),
    Irrelevant(Irrelevance),
}

/// Classifies a file by name, then by content. For `mentioned` see [`super::diff`].
pub fn fate(change: &FileChange, mentioned: &dyn Fn(&str) -> bool) -> Fate {
    let (folder, name) = change.path.rsplit_once('/').unwrap_or(("", &change.path));
    match name {
        "Cargo.toml" => manifest(change),
        "Cargo.lock" => lock_file(change),
        "rust-toolchain" | "rust-toolchain.toml" => cargo_config(change),
        "config" | "config.toml" if folder == ".cargo" || folder.ends_with("/.cargo") => cargo_config(change),
        _ if has_extension(name, &["rs"]) => Fate::Rust,
        _ if is_tooling(folder, name) && !mentioned(name) => Fate::Irrelevant(Irrelevance::Tooling),
        _ if is_documentation(folder, name) && !mentioned(name) => Fate::Irrelevant(Irrelevance::Documentation),
        _ => Fate::Input(InputKind::Data),
    }
}

/// Checks for a `build.rs` that is not a module of the crate. A manifest can name another file; that one is compared as
/// Rust code, and `reach` knows its path.
pub fn is_build_script(path: &str) -> bool {
    let mut segments = path.rsplit('/');
    segments.next() == Some("build.rs") && !segments.any(|folder| folder == "src" || folder == "tests")
}

fn has_extension(name: &str, extensions: &[&str]) -> bool {
    name.rsplit_once('.')
        .is_some_and(|(_, extension)| extensions.iter().any(|known| extension.eq_ignore_ascii_case(known)))
}

fn is_tooling(folder: &str, name: &str) -> bool {
    let below = |tool: &&str| folder.split('/').any(|folder| folder == *tool);
    let config = folder == ".config" || folder.ends_with("/.config");
    TOOLING_FILES.contains(&name) || (config && RUNNER_SETTINGS.contains(&name)) || TOOLING_FOLDERS.iter().any(below)
}

/// Checks whether a file is meant for people. Programs that read such a file contain its name.
pub fn is_document(path: &str) -> bool {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    is_documentation(folder, name)
}

fn is_documentation(folder: &str, name: &str) -> bool {
    let text = has_extension(name, &DOCUMENT_EXTENSIONS);
    let start = name.to_ascii_uppercase();
    let known = (text || !name.contains('.') || start.starts_with("LICENSE"))
        && DOCUMENTS.iter().any(|document| start.starts_with(document));
    let in_docs = folder.split('/').any(|folder| DOCUMENT_FOLDERS.contains(&folder));
    // Test images are in other folders.
    let picture = has_extension(name, &PICTURE_EXTENSIONS);
    known || (in_docs && (text || picture)) || (folder.is_empty() && picture)
}

/// Classifies a configuration file, which is unchanged if both sides are the same TOML.
fn cargo_config(change: &FileChange) -> Fate {
    match both_tables(change) {
        Some((base, head)) if base == head => Fate::Irrelevant(Irrelevance::OnlyCommentsOrFormatting),
        _ => Fate::Input(InputKind::CargoConfig),
    }
}

/// Parses both sides as TOML; `None` if one is missing or invalid.
fn both_tables(change: &FileChange) -> Option<(Table, Table)> {
    let table = |content: &Option<Vec<u8>>| std::str::from_utf8(content.as_deref()?).ok()?.parse::<Table>().ok();
    Some((table(&change.base)?, table(&change.head)?))
}

fn manifest(change: &FileChange) -> Fate {
    let Some((mut base, mut head)) = both_tables(change) else { return Fate::Input(InputKind::Manifest) };
    if base == head {
        return Fate::Irrelevant(Irrelevance::OnlyCommentsOrFormatting);
    }
    [&mut base, &mut head].into_iter().for_each(remove_description);
    if base == head {
        return Fate::Irrelevant(Irrelevance::OnlyPackageDescription);
    }
    [&mut base, &mut head].into_iter().for_each(remove_version);
    if base == head {
        return Fate::Input(InputKind::ManifestVersion);
    }
    let shared = ["workspace", "profile", "patch", "replace", "cargo-features"];
    let is_shared = shared.iter().any(|key| base.get(*key) != head.get(*key));
    Fate::Input(if is_shared { InputKind::WorkspaceManifest } else { InputKind::Manifest })
}

/// Returns the `[package]` and `[workspace.package]` tables.
fn package_tables(manifest: &mut Table) -> Vec<&mut Table> {
    let mut tables = Vec::new();
    for (key, value) in manifest.iter_mut() {
        match (key.as_str(), value) {
            ("package" | "project", Value::Table(package)) => tables.push(package),
            ("workspace", Value::Table(workspace)) => {
                tables.extend(workspace.get_mut("package").and_then(Value::as_table_mut));
            }
            _ => {}
        }
    }
    tables
}

/// Removes the keys that cannot affect the code.
pub(super) fn remove_description(manifest: &mut Table) {
    manifest.remove("badges");
    for package in package_tables(manifest) {
        for key in [
            "description",
            "documentation",
            "readme",
            "repository",
            "homepage",
            "keywords",
            "categories",
            "license",
            "license-file",
            "authors",
            "exclude",
            "include",
            "publish",
        ] {
            package.remove(key);
        }
        let metadata = package.get_mut("metadata").and_then(Value::as_table_mut);
        if let Some(metadata) = metadata {
            metadata.remove("docs");
            metadata.remove("release");
            if metadata.is_empty() {
                package.remove("metadata");
            }
        }
    }
    remove_versions_of_paths(manifest);
}

/// Removes `version` next to `path`, which is only used when the package comes from a registry.
fn remove_versions_of_paths(table: &mut Table) {
    for (_, value) in table.iter_mut() {
        if let Value::Table(inner) = value {
            if inner.get("path").is_some_and(Value::is_str) {
                inner.remove("version");
            }
            remove_versions_of_paths(inner);
        }
    }
}

/// Removes the versions of the packages themselves.
pub(super) fn remove_version(manifest: &mut Table) {
    for package in package_tables(manifest) {
        package.remove("version");
    }
}

fn lock_file(change: &FileChange) -> Fate {
    let any = Fate::Input(InputKind::LockFile { packages: Vec::new() });
    let Some((base, head)) = both_tables(change) else { return any };
    if base == head {
        return Fate::Irrelevant(Irrelevance::OnlyCommentsOrFormatting);
    }
    let packages: Vec<String> = changes(&base, &head).into_iter().map(|change| change.name).collect();
    if packages.is_empty() {
        return Fate::Irrelevant(Irrelevance::OnlyLocalVersions);
    }
    Fate::Input(InputKind::LockFile { packages })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(path: &str, base: &str, head: &str) -> FileChange {
        FileChange { path: path.to_owned(), base: Some(base.into()), head: Some(head.into()) }
    }

    #[track_caller]
    fn check_manifest(base: &str, head: &str, expected: &Fate) {
        assert_eq!(fate(&change("a/Cargo.toml", base, head), &|_| false), *expected);
    }

    #[track_caller]
    fn check_path(path: &str, expected: &Fate) {
        assert_eq!(
            fate(&change(path, "a", "b"), &|name| ["spec.md", "CHANGES.md", "clippy.toml"].contains(&name)),
            *expected
        );
    }

    #[test]
    fn a_manifest_counts_by_what_its_keys_can_reach() {
        let base =
            "[package]\nname = \"a\"\nversion = \"1.0.0\"\n[dependencies]\nb = { path = \"../b\", version = \"1\" }";
        let check = |head: &str, expected| check_manifest(base, head, expected);
        check(
            "# A.\n[package]\nversion = \"1.0.0\"\nname = \"a\"\n[dependencies.b]\nversion = \"1\"\npath = \"../b\"",
            &Fate::Irrelevant(Irrelevance::OnlyCommentsOrFormatting),
        );
        check(
            &base.replace("[dep", "description = \"A\"\n[dep"),
            &Fate::Irrelevant(Irrelevance::OnlyPackageDescription),
        );
        check(&base.replace("\"1\"", "\"2\""), &Fate::Irrelevant(Irrelevance::OnlyPackageDescription));
        check(&base.replace("1.0.0", "1.0.1"), &Fate::Input(InputKind::ManifestVersion));
        check(&base.replace("1.0.0", "1.0.1").replace("../b", "../c"), &Fate::Input(InputKind::Manifest));
        check(&format!("{base}\n[profile.release]\nlto = true"), &Fate::Input(InputKind::WorkspaceManifest));
        check("[", &Fate::Input(InputKind::Manifest));
    }

    #[test]
    fn an_inherited_version_is_only_a_version() {
        check_manifest(
            "[workspace.package]\nversion = \"1.0.0\"",
            "[workspace.package]\nversion = \"1.0.1\"",
            &Fate::Input(InputKind::ManifestVersion),
        );
    }

    const LOCK: &str = r#"version = 4
[[package]]
name = "mine"
version = "0.1.0"
[[package]]
name = "serde"
version = "1.0.0"
source = "registry"
checksum = "aa"
[[package]]
name = "libc"
version = "0.2.0"
source = "registry"
checksum = "bb"
"#;

    #[track_caller]
    fn check_lock(head: &str, expected: &Fate) {
        assert_eq!(fate(&change("Cargo.lock", LOCK, head), &|_| false), *expected);
    }

    #[test]
    fn a_lock_file_names_the_packages_that_differ() {
        let differing = |names: &[&str]| {
            Fate::Input(InputKind::LockFile { packages: names.iter().map(ToString::to_string).collect() })
        };
        check_lock(&LOCK.replace("1.0.0", "1.0.1"), &differing(&["serde"]));
        let second = format!("{LOCK}\n[[package]]\nname = \"libc\"\nversion = \"1.0.0\"\nsource = \"registry\"");
        check_lock(&second, &differing(&["libc"]));
        check_lock("= broken", &differing(&[]));
        check_lock(&LOCK.replace("0.1.0", "0.1.1"), &Fate::Irrelevant(Irrelevance::OnlyLocalVersions));
        check_lock(&format!("# Generated.\n{LOCK}"), &Fate::Irrelevant(Irrelevance::OnlyCommentsOrFormatting));
    }

    #[test]
    fn files_are_known_by_their_place() {
        check_path("src/a.rs", &Fate::Rust);
        check_path(".cargo/config.toml", &Fate::Input(InputKind::CargoConfig));
        check_path("rust-toolchain", &Fate::Input(InputKind::CargoConfig));
        check_path("config.toml", &Fate::Input(InputKind::Data));
        check_path("src/grammar.pest", &Fate::Input(InputKind::Data));
        check_path(".github/workflows/ci.yml", &Fate::Irrelevant(Irrelevance::Tooling));
        check_path("a/.gitignore", &Fate::Irrelevant(Irrelevance::Tooling));
    }

    #[test]
    fn what_the_code_mentions_is_data() {
        check_path("clippy.toml", &Fate::Input(InputKind::Data));
        check_path("README.md", &Fate::Irrelevant(Irrelevance::Documentation));
        check_path("LICENSE-MIT", &Fate::Irrelevant(Irrelevance::Documentation));
        check_path("docs/guide.md", &Fate::Irrelevant(Irrelevance::Documentation));
        check_path("CHANGES.md", &Fate::Input(InputKind::Data));
        check_path("docs/spec.md", &Fate::Input(InputKind::Data));
        check_path("tests/data/input.txt", &Fate::Input(InputKind::Data));
        check_path("benches/readme.bin", &Fate::Input(InputKind::Data));
    }

    #[test]
    fn a_module_named_build_is_no_build_script() {
        assert!(is_build_script("build.rs") && is_build_script("crates/a/build.rs"));
        assert!(!is_build_script("src/build.rs") && !is_build_script("crates/a/src/cli/build.rs"));
    }
}
