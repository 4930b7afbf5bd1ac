//! Layouts of cargo's build folder, for paths that cargo's messages do not contain.
//!
//! | | default until cargo 1.98 | `-Z build-dir-new-layout` |
//! |---|---|---|
//! | rustc's output | `<profile>/deps/<name>-<hash>` | `<profile>/build/<package>/<hash>/out/<name>` |
//! | fingerprints | `<profile>/.fingerprint/<package>-<hash>` | `<profile>/build/<package>/<hash>/fingerprint` |
//! | output of a build script | `<profile>/build/<package>-<hash>/output` | `<profile>/build/<package>/<hash>/run/stdout` |
//!
//! In both layouts cargo links a finished binary or library to `<profile>/<name>` or `<profile>/examples/<name>`, and
//! reports only that path.

use perfunit_model::error::Result;
use perfunit_system::fs;
use perfunit_system::os::unix::fs::MetadataExt as _;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Folder in a profile with the outputs of all units.
const DEPS: &str = "deps";
/// Folder of the units in the new layout, and of build scripts in the old one.
const BUILD: &str = "build";

/// Returns the file that rustc wrote for a file that cargo reports. Rustc's list of source files (`.d`) and our notes
/// are next to that file.
pub(super) fn written_by_rustc(reported: &Path, package: &str) -> Result<PathBuf> {
    let (mut same_name, name) = (Vec::new(), strip_hash(reported));
    for folder in output_folders(reported, package)? {
        // `my-bin` may be written as `my_bin-<hash>`.
        let has_name = |path: &PathBuf| strip_hash(path).starts_with(&name) && path.extension() == reported.extension();
        same_name.extend(fs::list_dir(&folder)?.into_iter().filter(|path| has_name(path) && path != reported));
    }
    // Cargo creates a hard link, or a copy if that is not possible.
    let inode = |path: &Path| path.metadata().ok().map(|data| (data.dev(), data.ino()));
    if let Some(linked) = same_name.iter().find(|path| inode(path).is_some_and(|one| Some(one) == inode(reported))) {
        return Ok(linked.clone());
    }
    for path in same_name.into_iter().filter(|path| path.is_file()) {
        if fs::same_content(&path, reported)? {
            return Ok(path);
        }
    }
    Ok(reported.to_owned())
}

/// Returns the folders that may hold rustc's output for a reported file. Returns none if the file is that output.
fn output_folders(reported: &Path, package: &str) -> Result<Vec<PathBuf>> {
    let Some(folder) = reported.parent() else { return Ok(Vec::new()) };
    let is_example = folder.ends_with("examples");
    let profile = folder.parent().filter(|_| is_example).unwrap_or(folder);
    let mut folders = if is_example { vec![folder.to_owned()] } else { vec![folder.join(DEPS)] };
    folders.extend(units(&profile.join(BUILD).join(package))?.into_iter().map(|unit| unit.join("out")));
    Ok(folders)
}

fn strip_hash(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().replace('-', "_")
}

/// Returns the file with the output of the build script that ran with this `OUT_DIR`.
pub(super) fn script_output(out_dir: &Path) -> PathBuf {
    let output = out_dir.with_file_name("output");
    if output.exists() { output } else { out_dir.with_file_name("run").join("stdout") }
}

/// Returns the fingerprint folders of these packages in a target folder.
pub(super) fn fingerprints(target_dir: &Path, of: &dyn Fn(&str) -> bool) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for profile in profiles(target_dir)? {
        for unit in fs::list_dir(&profile.join(".fingerprint"))? {
            let name = file_name(&unit);
            if of(name.rsplit_once('-').map_or(name.as_str(), |(package, _)| package)) {
                found.push(unit);
            }
        }
        for package in folders(&profile.join(BUILD))?.into_iter().filter(|package| of(&file_name(package))) {
            found.extend(units(&package)?.into_iter().map(|unit| unit.join("fingerprint")));
        }
    }
    found.retain(|folder| folder.is_dir());
    Ok(found)
}

/// Returns the profile folders, such as `release` and `<triple>/release`.
fn profiles(target_dir: &Path) -> Result<BTreeSet<PathBuf>> {
    let mut found = BTreeSet::new();
    for outer in folders(target_dir)? {
        found.extend(folders(&outer)?);
        found.insert(outer);
    }
    Ok(found)
}

/// Returns the folders of a package's units, which are named by hashes.
fn units(package: &Path) -> Result<Vec<PathBuf>> {
    let is_hash = |path: &PathBuf| file_name(path).bytes().all(|byte| byte.is_ascii_hexdigit());
    Ok(folders(package)?.into_iter().filter(is_hash).collect())
}

fn folders(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut entries = if folder.is_dir() { fs::list_dir(folder)? } else { Vec::new() };
    entries.retain(|path| path.is_dir());
    Ok(entries)
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// Parses the package name from an ID: `path+file:///a/app#0.1.0` or `registry+https://b/index#app@0.1.0`.
pub(super) fn package_name(id: &str) -> &str {
    let (url, fragment) = id.rsplit_once('#').unwrap_or((id, ""));
    let of_url = || url.split('?').next().unwrap_or(url).rsplit('/').next().unwrap_or(url);
    match fragment.split_once('@') {
        Some((name, _)) => name,
        None if fragment.starts_with(|c: char| c.is_ascii_digit()) || fragment.is_empty() => of_url(),
        None => fragment,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn package_ids_contain_the_name_once() {
        let check = |id: &str, name: &str| assert_eq!(package_name(id), name);
        check("path+file:///a/my-app#0.1.0", "my-app");
        check("path+file:///a/folder#my-app@0.1.0", "my-app");
        check("registry+https://b/index#itoa@1.0.19", "itoa");
        check("git+https://b/itoa?rev=1f#1.0.0", "itoa");
    }

    #[test]
    fn the_output_of_rustc_is_found_in_both_layouts() {
        let check = |reported: &str, written: &str, content: &str| {
            let dir = tempfile::tempdir().unwrap();
            let (reported, written) = (dir.path().join(reported), dir.path().join(written));
            let other = written.with_file_name("my_bin_2-0123456789abcdef");
            fs::write(&other, "another").unwrap();
            fs::write(&written, "binary").unwrap();
            fs::write(&reported, content).unwrap();
            let expected = if content == "binary" { &written } else { &reported };
            assert_eq!(written_by_rustc(&reported, "my-app").unwrap(), *expected);
            fs::remove_file(&reported).unwrap();
            fs::link_or_copy(&written, &reported).unwrap();
            assert_eq!(written_by_rustc(&reported, "my-app").unwrap(), written);
        };
        for content in ["binary", "of another package"] {
            check("release/my-bin", "release/deps/my_bin-0123456789abcdef", content);
            check("release/my-bin", "release/build/my-app/0123456789abcdef/out/my_bin", content);
            check("release/examples/my-bin", "release/examples/my_bin-0123456789abcdef", content);
            check("release/examples/my-bin", "release/build/my-app/0123456789abcdef/out/my_bin", content);
        }
        let dir = tempfile::tempdir().unwrap();
        let test = dir.path().join("release/deps/it-0123456789abcdef");
        assert_eq!(written_by_rustc(&test, "my-app").unwrap(), test);
    }

    #[test]
    fn fingerprints_are_found_in_both_layouts() {
        let dir = tempfile::tempdir().unwrap();
        let places = [
            "release/.fingerprint/my-app-0123456789abcdef",
            "x86_64-unknown-linux-gnu/dev/build/my-app/0123456789abcdef/fingerprint",
            "release/build/other/0123456789abcdef/fingerprint",
        ];
        for place in places {
            fs::create_dir_all(&dir.path().join(place)).unwrap();
        }
        let found = fingerprints(dir.path(), &|package| package == "my-app").unwrap();
        assert_eq!(found, [dir.path().join(places[0]), dir.path().join(places[1])]);
        assert_eq!(fingerprints(dir.path(), &|_| true).unwrap().len(), 3);
    }

    #[test]
    fn the_output_of_a_build_script_is_found_in_both_layouts() {
        let dir = tempfile::tempdir().unwrap();
        let old = dir.path().join("build/app-1f/output");
        fs::write(&old, "").unwrap();
        assert_eq!(script_output(&dir.path().join("build/app-1f/out")), old);
        let new = dir.path().join("build/app/1f/run/stdout");
        assert_eq!(script_output(&dir.path().join("build/app/1f/out")), new);
    }
}
