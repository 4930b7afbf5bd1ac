//! Reads the parts of cargo's configuration files that we need to know.

use super::shadow::Tree;
use perfunit_model::error::Result;
use perfunit_project::cargo::{Location, make_absolute, user_folder};
use perfunit_project::git::FileSet;
use perfunit_system::fs;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use toml::{Table, Value};

/// The name without extension is older and wins if both exist.
const NAMES: [&str; 2] = ["config", "config.toml"];
/// Maximum depth of nested includes; a deeper nesting is a cycle.
const DEEPEST: usize = 8;
/// Options with values that cargo joins from files and variables, in any order.
const JOINED: [&str; 2] = ["rustflags", "rustdocflags"];
/// Options that we set ourselves.
const SET_BY_US: [&str; 2] = ["progress", "runner"];
/// Tables that may contain secrets, which must not appear on a command line that all users of the machine can read.
const SECRET: [&str; 4] = ["credential-alias", "http", "registries", "registry"];
/// Options that name programs, possibly relative to the user's folder.
const PROGRAMS: [&str; 5] = ["linker", "rustc", "rustc-wrapper", "rustc-workspace-wrapper", "rustdoc"];

/// Content of one file.
pub(super) struct Configuration {
    pub content: Vec<u8>,
    /// Parsed content; `None` if it is not TOML, which cargo will report.
    pub table: Option<Table>,
}

impl Configuration {
    /// Reads a file and the files that it includes, in order of increasing precedence. Returns nothing if it is not a
    /// file.
    pub fn read(file: &Path) -> Result<Vec<Self>> {
        Self::read_by(file, &|file| if file.is_file() { fs::read(file).map(Some) } else { Ok(None) })
    }

    /// Does the same with files from `content`.
    pub fn read_by(file: &Path, content: &dyn Fn(&Path) -> Result<Option<Vec<u8>>>) -> Result<Vec<Self>> {
        let mut found = Vec::new();
        read(file, content, DEEPEST, &mut found)?;
        Ok(found)
    }
}

/// Lists cargo's configuration files as cargo would find them from the user's folder, outermost first. Files of the
/// repository come from the version that is being built, `own`. Cargo itself finds those of `/` and `CARGO_HOME`.
pub(super) fn files_of(location: &Location, root: &Path, tree: &Tree, [own, other]: [&FileSet; 2]) -> Vec<PathBuf> {
    let home = user_folder();
    let start = location.manifest.parent().unwrap_or(root);
    let mut found = Vec::new();
    for folder in start.ancestors().filter(|folder| folder.parent().is_some()) {
        let folder = folder.join(".cargo");
        if Some(&folder) == home.as_ref() {
            continue;
        }
        for name in NAMES {
            let live = folder.join(name);
            let relative = live.strip_prefix(root).ok();
            let has = |files: &FileSet| relative.is_some_and(|relative| files.entries.contains_key(relative));
            let path = match relative {
                Some(relative) if has(own) => tree.path(relative),
                _ if has(other) => continue,
                // Ignored by git or outside of the repository, so both sides share the file.
                _ if live.is_file() => live,
                _ => continue,
            };
            found.push(path);
            break;
        }
    }
    found.reverse();
    found
}

/// Finds cargo's configuration file in a `.cargo` folder.
pub(super) fn file_in(folder: &Path) -> Option<PathBuf> {
    NAMES.map(|name| folder.join(name)).into_iter().find(|file| file.is_file())
}

fn read(
    file: &Path,
    reader: &dyn Fn(&Path) -> Result<Option<Vec<u8>>>,
    depth: usize,
    found: &mut Vec<Configuration>,
) -> Result<()> {
    let Some(content) = reader(file)? else { return Ok(()) };
    let table = std::str::from_utf8(&content).ok().and_then(|text| text.parse::<Table>().ok());
    let folder = file.parent().unwrap_or(Path::new("/"));
    let include = table.as_ref().and_then(|table| table.get("include"));
    for included in include.map(included_paths).unwrap_or_default().into_iter().filter(|_| depth > 0) {
        read(&folder.join(included), reader, depth - 1, found)?;
    }
    found.push(Configuration { content, table });
    Ok(())
}

/// Extracts the included paths: `include` is a path, or a list of paths or of tables with a path.
fn included_paths(include: &Value) -> Vec<&str> {
    match include {
        Value::String(path) => vec![path],
        Value::Table(table) => table.get("path").and_then(Value::as_str).into_iter().collect(),
        Value::Array(list) => list.iter().flat_map(included_paths).collect(),
        _ => Vec::new(),
    }
}

/// Reads the target triples that configuration files select.
pub(super) fn configured_targets(files: &[PathBuf]) -> Result<BTreeSet<String>> {
    // A custom target is a file named by its triple.
    let triple = |name: &str| Some(Path::new(name).file_name()?.to_str()?.trim_end_matches(".json").to_owned());
    let mut triples = BTreeSet::new();
    for table in tables(files)? {
        let target = table.get("build").and_then(|build| build.get("target"));
        let several = target.and_then(Value::as_array).into_iter().flatten();
        triples.extend(target.into_iter().chain(several).filter_map(Value::as_str).filter_map(triple));
    }
    Ok(triples)
}

/// Reads the tables of these files and of the files that they include, skipping those that are not TOML.
fn tables(files: &[PathBuf]) -> Result<Vec<Table>> {
    let read: Vec<Vec<Configuration>> = files.iter().map(|file| Configuration::read(file)).collect::<Result<_>>()?;
    Ok(read.into_iter().flatten().filter_map(|read| read.table).collect())
}

/// Returns the settings that environment variables override, as `--config` arguments. Cargo ranks variables above
/// configuration files that it finds, but below those passed with `--config`.
pub(super) fn variable_overrides(files: &[PathBuf], variable: &dyn Fn(&str) -> Option<String>) -> Result<Vec<String>> {
    let may_be_shown = |name: &&String| *name != "include" && !SECRET.contains(&name.as_str());
    let mut overrides = Vec::new();
    for table in tables(files)? {
        for (name, value) in table.iter().filter(|(name, _)| may_be_shown(name)) {
            push_overrides(&[name], value, variable, &mut overrides);
        }
    }
    Ok(overrides)
}

fn push_overrides(
    path: &[&str],
    value: &Value,
    variable: &dyn Fn(&str) -> Option<String>,
    overrides: &mut Vec<String>,
) {
    let last = path.last().copied().unwrap_or_default();
    match value {
        Value::Table(table) => {
            for (name, value) in table {
                push_overrides(&[path, &[name.as_str()]].concat(), value, variable, overrides);
            }
        }
        // Cargo adds the variable's value to these.
        Value::Array(_) => {}
        _ if JOINED.contains(&last) || SET_BY_US.contains(&last) => {}
        value => {
            let Some(new) = variable(&format!("CARGO_{}", path.join("_").to_uppercase().replace('-', "_"))) else {
                return;
            };
            let new = if PROGRAMS.contains(&last) { make_absolute(Path::new(&new)).display().to_string() } else { new };
            // Values of profiles can be text, numbers or booleans, whatever the current type.
            let is_text = value.is_str() && path.first() != Some(&"profile");
            let is_plain = !is_text && (new.parse::<bool>().is_ok() || new.parse::<i64>().is_ok());
            let new = if is_plain { new } else { Value::String(new).to_string() };
            let key: Vec<String> = path.iter().map(|part| Value::String((*part).to_owned()).to_string()).collect();
            overrides.push(format!("{}={new}", key.join(".")));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_triples_or_files() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("config.toml");
        let check = |text: &str, expected: &[&str]| {
            fs::write(&file, text).unwrap();
            let found = configured_targets(std::slice::from_ref(&file)).unwrap();
            assert_eq!(found.into_iter().collect::<Vec<_>>(), expected);
        };
        check("[build]\ntarget = 'x86_64-unknown-linux-musl'\n", &["x86_64-unknown-linux-musl"]);
        check("[build]\ntarget = ['a', 'b/c.json']\n", &["a", "c"]);
        check("[build]\njobs = 2\n", &[]);
    }

    #[test]
    fn variables_override_configuration_files() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("config.toml");
        let text = "include = 'more.toml'\n[target.x86_64-unknown-linux-gnu]\nlinker = 'clang'\nrunner = 'qemu'\n\
            [build]\nrustflags = '-g'\njobs = 2\n[profile.bench.package.\"a b\"]\nopt-level = 's'\n[http]\nproxy = 'p'\n";
        fs::write(&file, text).unwrap();
        fs::write(&folder.path().join("more.toml"), "[build]\nincremental = true\n[profile.bench]\nlto = true\n")
            .unwrap();
        let variable = |name: &str| {
            let value = match name {
                "CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_LINKER" => "1",
                "CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUNNER" | "CARGO_BUILD_RUSTFLAGS" | "CARGO_INCLUDE" => "x",
                "CARGO_HTTP_PROXY" => "user:password@proxy",
                "CARGO_BUILD_INCREMENTAL" => "false",
                "CARGO_PROFILE_BENCH_LTO" => "a\"b",
                "CARGO_PROFILE_BENCH_PACKAGE_A B_OPT_LEVEL" => "3",
                _ => return None,
            };
            Some(value.to_owned())
        };
        let mut overrides = variable_overrides(&[file], &variable).unwrap();
        overrides.sort();
        let key = |line: &str| line.parse::<Table>().unwrap();
        let expected = [
            "build.incremental=false",
            "profile.bench.lto='a\"b'",
            "profile.bench.package.\"a b\".opt-level=3",
            "target.x86_64-unknown-linux-gnu.linker=\"1\"",
        ];
        assert_eq!(overrides.iter().map(|line| key(line)).collect::<Vec<_>>(), expected.map(key));
    }
}
