//! The key of a side: everything known before a build that decides its result.

use super::configuration::{Configuration, file_in};
use super::lto;
use super::request::Request;
use super::toolchain::Toolchain;
use perfunit_model::error::{Error, Result};
use perfunit_model::guesses::{
    BUILD_VARIABLE_PREFIXES, BUILD_VARIABLES, C_TOOL_VARIABLES, CODE_VARIABLES, UNBUILT_TABLES,
};
use perfunit_model::{Lto, TargetId, TargetKind};
use perfunit_project::cargo::{Cargo, user_folder};
use perfunit_project::git::Repository;
use perfunit_system::cache::KeyBuilder;
use serde::Serialize;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use toml::{Table, Value};

/// Parts of a request that decide the build.
#[derive(Serialize)]
struct Recipe<'a> {
    profile: &'a str,
    lto: Lto,
    arguments: &'a [String],
    targets: Targets<'a>,
    packages: Vec<&'a String>,
    requires_features: bool,
    manifest: &'a Path,
    texts: Option<&'a str>,
}

/// Targets as part of a key.
#[derive(Serialize)]
enum Targets<'a> {
    Exactly {
        targets: &'a BTreeSet<TargetId>,
        whole_packages: bool,
    },
    /// Packages, and whether cargo also builds their binaries. Both decide the features.
    Of(BTreeSet<(&'a str, bool)>),
}

impl<'a> Targets<'a> {
    fn family_of(targets: &'a BTreeSet<TargetId>) -> Self {
        let is_with_binaries = |package: &str| {
            let mut of_package = targets.iter().filter(|target| target.package == package);
            of_package.any(|target| matches!(target.kind, TargetKind::Test | TargetKind::Bench))
        };
        let packages = targets.iter().map(|target| target.package.as_str());
        Self::Of(packages.map(|package| (package, is_with_binaries(package))).collect())
    }
}

/// Returns the key shared by builds that differ only in their targets. Each target is the same in all of them.
pub(super) fn family_key(toolchain: &Toolchain, request: &Request<'_>) -> Result<String> {
    recipe_key(toolchain, request, Targets::family_of(request.targets), None)
}

/// Returns the key of everything known before a build. `texts` is the key of the other side's doc tests, if this side
/// uses them.
pub(super) fn side_key(toolchain: &Toolchain, request: &Request<'_>, texts: Option<&str>) -> Result<String> {
    let targets = Targets::Exactly { targets: request.targets, whole_packages: request.whole_packages };
    recipe_key(toolchain, request, targets, texts)
}

fn recipe_key(
    toolchain: &Toolchain,
    request: &Request<'_>,
    targets: Targets<'_>,
    texts: Option<&str>,
) -> Result<String> {
    let recipe = Recipe {
        profile: &request.options.profile,
        lto: request.lto,
        arguments: &request.options.arguments,
        targets,
        packages: request.packages.keys().collect(),
        requires_features: request.requires_features,
        manifest: &request.manifest,
        texts,
    };
    let recipe = serde_json::to_vec(&recipe).map_err(|error| Error::setup(error.to_string()))?;
    let mut key = KeyBuilder::default().with(&toolchain.key).with(request.content_key).with(recipe);
    for file in configuration_files(request) {
        key = configuration(key, &file)?;
    }
    key = with_variables(key, decides_build);
    for folder in std::env::var_os("LD_LIBRARY_PATH").iter().flat_map(|folders| libraries(folders)) {
        key = key.with(folder.as_os_str().as_encoded_bytes());
    }
    Ok(key.finish())
}

/// Returns the library search path without the toolchain's own folders, which rustup adds or not depending on how we
/// were started.
fn libraries(folders: &OsStr) -> Vec<PathBuf> {
    std::env::split_paths(folders).filter(|folder| !folder.join("rustlib").is_dir()).collect()
}

/// Returns all configuration files that cargo reads, in order of increasing precedence.
pub(super) fn configuration_files(request: &Request<'_>) -> Vec<PathBuf> {
    let given = given_configuration(&request.options.arguments);
    implicit_configuration().into_iter().chain(request.config_files.iter().cloned()).chain(given).collect()
}

/// Returns everything that decides a version's profiles, in order of increasing precedence: its manifest, configuration
/// files, variables and arguments. `content` reads files of the version and others.
pub(super) fn profile_tables(
    manifest: &Path,
    configuration: Vec<PathBuf>,
    arguments: &[String],
    content: &dyn Fn(&Path) -> Result<Option<Vec<u8>>>,
) -> Result<Vec<Table>> {
    let read = |file: &PathBuf| Configuration::read_by(file, content);
    let of_files = |files: Vec<PathBuf>| -> Result<Vec<Table>> {
        let read: Vec<_> = files.iter().map(read).collect::<Result<_>>()?;
        Ok(read.into_iter().flatten().filter_map(|read| read.table).collect())
    };
    let mut tables = of_files([vec![manifest.to_owned()], implicit_configuration(), configuration].concat())?;
    let variables =
        std::env::vars_os().map(|(name, value)| [name, value].map(|text| text.to_string_lossy().into_owned()));
    tables.push(lto::environment_overrides(variables.map(|[name, value]| (name, value))));
    for given in given_configuration(arguments) {
        match given.to_str().and_then(|setting| setting.parse::<Table>().ok()) {
            Some(setting) => tables.push(setting),
            None => tables.extend(of_files(vec![given])?),
        }
    }
    Ok(tables)
}

/// Returns the values of `--config`: files, and settings that are not files.
fn given_configuration(arguments: &[String]) -> impl Iterator<Item = PathBuf> {
    arguments.windows(2).filter(|pair| pair[0] == "--config").map(|pair| PathBuf::from(&pair[1]))
}

/// Returns the configuration files that cargo reads by default when started in `/`.
fn implicit_configuration() -> Vec<PathBuf> {
    let folders = [Some(PathBuf::from("/.cargo")), user_folder()];
    folders.into_iter().flatten().filter_map(|folder| file_in(&folder)).collect()
}

/// Returns the configuration files that cargo reads in a folder of the repository and that no version contains.
fn unversioned_configuration(folder: &Path, repository: &Repository, arguments: &[String]) -> Vec<PathBuf> {
    let above = folder.ancestors().map(|folder| folder.join(".cargo")).filter_map(|folder| file_in(&folder));
    let mut files: Vec<PathBuf> = above.filter(|file| !repository.tracks(file)).collect();
    files.extend(implicit_configuration());
    files.reverse();
    files.extend(given_configuration(arguments));
    files
}

/// Adds the build settings of a configuration file and of the files that it includes. Cargo's `[env]` applies only to
/// unset variables, so the values of set ones are added.
fn configuration(key: KeyBuilder, file: &Path) -> Result<KeyBuilder> {
    let mut key = key;
    for Configuration { content, table } in Configuration::read(file)? {
        let Some(mut table) = table else {
            key = key.with(content);
            continue;
        };
        table.retain(|name, _| !UNBUILT_TABLES.contains(&name));
        // Tables are sorted by key.
        key = key.with(table.to_string());
        for (name, _) in table.get("env").and_then(Value::as_table).into_iter().flatten() {
            let value = std::env::var_os(name);
            let value = value.as_deref().map(OsStr::as_encoded_bytes);
            key = key.with([u8::from(value.is_some())]).with(value.unwrap_or_default());
        }
    }
    Ok(key)
}

/// Adds settings that change the generated code of any version on any machine: variables, and configuration outside of
/// the versions, as cargo finds it from this folder or gets it by argument.
pub fn with_code_settings(
    key: KeyBuilder,
    folder: &Path,
    repository: &Repository,
    arguments: &[String],
) -> Result<KeyBuilder> {
    let mut key = with_variables(key, decides_code);
    for file in unversioned_configuration(folder, repository, arguments) {
        for table in Configuration::read(&file)?.into_iter().filter_map(|read| read.table) {
            let table = code_settings(table);
            if !table.is_empty() {
                key = key.with(table.to_string());
            }
        }
    }
    Ok(key)
}

/// Adds everything except the files in `tree` that decides how cargo resolves dependencies there: the toolchain,
/// cargo's variables, and its configuration above the folder.
pub fn with_resolution_settings(key: KeyBuilder, cargo: &Cargo, tree: &Path) -> Result<KeyBuilder> {
    let programs = [&cargo.cargo, &cargo.rustc, &cargo.sysroot].map(|path| path.as_os_str().as_encoded_bytes());
    let words = [&cargo.version, &cargo.host, cargo.rustup_toolchain.as_deref().unwrap_or_default()];
    let key = programs.into_iter().chain(words.map(str::as_bytes)).fold(key, KeyBuilder::with);
    let mut key = with_variables(key.with([u8::from(cargo.offline)]), decides_resolution);
    let above = tree.ancestors().skip(1).map(|folder| folder.join(".cargo")).chain(user_folder());
    for file in above.filter_map(|folder| file_in(&folder)) {
        key = key.with(file.as_os_str().as_encoded_bytes());
        key = Configuration::read(&file)?.into_iter().fold(key, |key, read| key.with(read.content));
    }
    Ok(key)
}

/// Reduces a configuration to the settings that change generated code, without tools and folders.
fn code_settings(mut table: Table) -> Table {
    let only = |value: &mut Value, wanted: &[&str]| {
        value.as_table_mut().is_some_and(|table| {
            table.retain(|name, _| wanted.contains(&name));
            !table.is_empty()
        })
    };
    table.retain(|name, value| match name {
        "profile" => true,
        "build" => only(value, &["rustflags", "target"]),
        "target" => value.as_table_mut().is_some_and(|targets| {
            targets.retain(|_, target| only(target, &["rustflags"]));
            !targets.is_empty()
        }),
        _ => false,
    });
    table
}

fn with_variables(key: KeyBuilder, decides: fn(&OsStr) -> bool) -> KeyBuilder {
    let mut variables: Vec<_> = std::env::vars_os().filter(|(name, _)| decides(name)).collect();
    variables.sort();
    variables
        .into_iter()
        .fold(key, |key, (name, value)| key.with(name.as_encoded_bytes()).with(value.as_encoded_bytes()))
}

/// Checks for any variable of cargo and rustup. A superfluous one costs time; a missing one would reuse a wrong result.
fn decides_resolution(variable: &OsStr) -> bool {
    let name = variable.to_string_lossy();
    name == "HOME" || name.starts_with("CARGO") || name.starts_with("RUST")
}

fn decides_code(variable: &OsStr) -> bool {
    let name = variable.to_string_lossy();
    name.ends_with("RUSTFLAGS") || name.starts_with("CARGO_PROFILE_") || CODE_VARIABLES.contains(&&*name)
}

fn decides_build(variable: &OsStr) -> bool {
    let variable = variable.to_string_lossy();
    let tool = variable.strip_prefix("HOST_").or_else(|| variable.strip_prefix("TARGET_")).unwrap_or(&variable);
    let is_tool = C_TOOL_VARIABLES.iter().any(|name| {
        tool.strip_prefix(name)
            .is_some_and(|triple| triple.is_empty() || (triple.starts_with('_') && is_triple(triple)))
    });
    variable != "CARGO_TARGET_DIR"
        && (is_tool
            || BUILD_VARIABLES.contains(&&*variable)
            || BUILD_VARIABLE_PREFIXES.iter().any(|prefix| variable.starts_with(prefix)))
}

/// Checks for a suffix like `_x86_64-unknown-linux-gnu`, which may use underscores only.
fn is_triple(suffix: &str) -> bool {
    suffix.split(['_', '-']).count() >= 4
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_the_users_configuration_only_what_changes_code_counts() {
        let settings = |text: &str| code_settings(text.parse().unwrap()).to_string();
        let tools = "[build]\njobs = 3\n[http]\nproxy = 'p'\n[target.x]\nlinker = 'clang'\n";
        assert_eq!(settings(tools), "");
        let flags = "[build]\nrustflags = ['-g']\n[profile.bench]\nlto = true\n[target.x]\nrustflags = '-g'\n";
        let with_tools = flags.replace("rustflags = '-g'", "linker = 'clang'\nrustflags = '-g'");
        assert_eq!(settings(&with_tools), settings(flags));
        assert_eq!(settings(flags).matches("-g").count(), 2);
    }
    use perfunit_project::git::fixture::Fixture;
    use perfunit_system::fs;

    #[test]
    fn variables_of_compilers_count_for_host_and_target_and_with_a_triple() {
        let decides = |name: &str| decides_build(OsStr::new(name));
        for name in ["CC", "HOST_CC", "TARGET_CFLAGS", "CFLAGS_x86_64-unknown-linux-gnu", "AR_aarch64_apple_darwin"] {
            assert!(decides(name), "{name}");
        }
        for name in ["PKG_CONFIG_PATH", "CMAKE_TOOLCHAIN_FILE", "CARGO_PROFILE_BENCH_LTO", "RUSTFLAGS", "CPATH"] {
            assert!(decides(name), "{name}");
        }
        for name in ["CARGO_TARGET_DIR", "CC_REPORTER_ID", "LDAP", "ARCH", "HOME", "TARGET_HOST", "AR_KEY"] {
            assert!(!decides(name), "{name}");
        }
    }

    #[test]
    fn of_configuration_what_no_build_reads_does_not_count() {
        let folder = tempfile::tempdir().unwrap();
        let key = |text: &str| {
            let file = folder.path().join("config.toml");
            fs::write(&file, text).unwrap();
            configuration(KeyBuilder::default(), &file).unwrap().finish()
        };
        let plain = key("[build]\nrustflags = ['-Cdebuginfo=1']\n");
        assert_eq!(plain, key("# words\n[term]\ncolor = 'never'\n[build]\nrustflags = [ '-Cdebuginfo=1' ]\n"));
        assert_ne!(plain, key("[build]\nrustflags = ['-Cdebuginfo=2']\n"));
        assert_ne!(plain, key("[build]\nrustflags = ['-Cdebuginfo=1']\n[env]\nX = '1'\n"));
        assert_ne!(key("not TOML"), key("not TOML either"));
    }

    #[test]
    fn configuration_that_no_version_has_decides_code() {
        let flags = |level: u8| format!("[build]\nrustflags = ['-Copt-level={level}']\n");
        let fixture = Fixture::new(&[(".cargo/config.toml", &flags(1))]);
        let write = |path: PathBuf, text: &str| {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, text).unwrap();
        };
        let given = fixture.outside().join("given.toml");
        let arguments = ["--config".to_owned(), given.to_string_lossy().into_owned()];
        let key = || {
            let folder = fixture.root.join("nested");
            with_code_settings(KeyBuilder::default(), &folder, &fixture.open(), &arguments).unwrap().finish()
        };
        let plain = key();
        write(fixture.root.join(".cargo/config.toml"), &flags(2));
        assert_eq!(key(), plain);
        for path in [given.clone(), fixture.outside().join(".cargo/config"), fixture.root.join("nested/.cargo/config")]
        {
            let before = key();
            write(path.clone(), &flags(3));
            assert_ne!(key(), before, "{}", path.display());
        }
    }

    #[test]
    fn toolchain_network_variables_and_configuration_decide_resolution() {
        let folder = tempfile::tempdir().unwrap();
        let tree = folder.path().join("a/tree");
        let path = |name: &str| PathBuf::from(name);
        let cargo = Cargo {
            cargo: path("/cargo"),
            rustc: path("/rustc"),
            version: "rustc 1.95.0".to_owned(),
            host: "x86_64-unknown-linux-gnu".to_owned(),
            sysroot: path("/stable"),
            rustup_toolchain: Some("stable".to_owned()),
            offline: false,
        };
        let key = |cargo: &Cargo| {
            let key = with_resolution_settings(KeyBuilder::default(), cargo, &tree).unwrap();
            key.finish()
        };
        let plain = key(&cargo);
        assert_eq!(key(&cargo), plain);
        let others = [
            Cargo { cargo: path("/other/cargo"), ..cargo.clone() },
            Cargo { rustc: path("/other/rustc"), ..cargo.clone() },
            Cargo { version: "rustc 1.96.0".to_owned(), ..cargo.clone() },
            Cargo { host: "aarch64-unknown-linux-gnu".to_owned(), ..cargo.clone() },
            Cargo { sysroot: path("/nightly"), ..cargo.clone() },
            Cargo { rustup_toolchain: None, ..cargo.clone() },
            Cargo { offline: true, ..cargo.clone() },
        ];
        for other in &others {
            assert_ne!(key(other), plain, "{other:?}");
        }
        let mut known = std::collections::BTreeSet::from([plain]);
        let texts = [
            (".cargo/config.toml", "[net]\noffline = true\n"),
            (".cargo/config.toml", "include = 'more.toml'\n"),
            (".cargo/more.toml", "[patch.crates-io]\na = { path = 'a' }\n"),
            (".cargo/more.toml", "[patch.crates-io]\na = { path = 'b' }\n"),
            ("a/.cargo/config", "[net]\noffline = false\n"),
        ];
        for (name, text) in texts {
            fs::create_dir_all(folder.path().join(name).parent().unwrap()).unwrap();
            fs::write(&folder.path().join(name), text).unwrap();
            assert!(known.insert(key(&cargo)), "{name}: {text}");
        }
        for name in
            ["CARGO_HOME", "CARGO_NET_OFFLINE", "CARGO_RESOLVER_INCOMPATIBLE_RUST_VERSIONS", "RUSTFLAGS", "HOME"]
        {
            assert!(decides_resolution(OsStr::new(name)), "{name}");
        }
        assert!(!decides_resolution(OsStr::new("PWD")));
    }

    #[test]
    fn flags_and_profiles_decide_code_and_places_do_not() {
        let check = |name: &str, expected| assert_eq!(decides_code(OsStr::new(name)), expected, "{name}");
        for name in [
            "RUSTFLAGS",
            "CARGO_ENCODED_RUSTFLAGS",
            "CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUSTFLAGS",
            "CARGO_PROFILE_BENCH_LTO",
            "CFLAGS",
        ] {
            check(name, true);
        }
        for name in ["CARGO_HOME", "CARGO_TARGET_DIR", "LIBRARY_PATH", "RUSTDOCFLAGS"] {
            check(name, false);
        }
    }

    #[test]
    fn variables_count_that_tests_get_only_where_they_are_not_set() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(&folder.path().join("lib/rustlib")).unwrap();
        let folders = format!("{}/lib:/a", folder.path().display());
        assert_eq!(libraries(OsStr::new(&folders)), [Path::new("/a")]);
        let file = folder.path().join("config.toml");
        fs::write(&file, "[env]\nHOME = 'x'\n").unwrap();
        let with = |home: &[u8]| KeyBuilder::default().with("[env]\nHOME = \"x\"\n").with([1]).with(home).finish();
        let home = std::env::var_os("HOME").unwrap();
        assert_eq!(configuration(KeyBuilder::default(), &file).unwrap().finish(), with(home.as_encoded_bytes()));
    }

    #[test]
    fn included_configuration_counts_even_in_a_circle() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("config.toml");
        fs::write(&file, "include = ['more.toml', { path = 'most.toml', optional = true }]\n").unwrap();
        let key = |text: &str| {
            fs::write(&folder.path().join("more.toml"), text).unwrap();
            configuration(KeyBuilder::default(), &file).unwrap().finish()
        };
        assert_ne!(key("[env]\nX = '1'\n"), key("[env]\nX = '2'\n"));
        assert_ne!(key("include = 'config.toml'\n"), key("include = 'config.toml'\n[env]\nX = '2'\n"));
    }
}
