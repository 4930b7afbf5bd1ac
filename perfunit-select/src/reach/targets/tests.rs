use super::super::graph::TargetNode;
use super::*;
use crate::source::{FileChange, FileInTarget, diff};
use perfunit_project::cargo::{Dependency, DependencyKind};

/// Builds a target; a file with a trailing `?` is test-only.
fn target(package: &str, kind: TargetKind, name: &str, files: &[&str]) -> TargetNode {
    let file = |path: &&str| {
        let plain = path.trim_end_matches('?');
        (plain.to_owned(), FileInTarget { test_only: plain != *path, ..FileInTarget::default() })
    };
    TargetNode {
        id: TargetId { package: package.to_owned(), kind, name: name.to_owned() },
        root: files[0].to_owned(),
        files: files.iter().map(file).collect(),
        has_tests: kind != TargetKind::Example,
    }
}

fn package(name: &str, dependencies: &[(&str, bool)], targets: Vec<TargetNode>) -> PackageNode {
    let kind = |dev| if dev { DependencyKind::Development } else { DependencyKind::Normal };
    let dependency = |(package, dev): &(&str, bool)| Dependency { package: (*package).to_owned(), kind: kind(*dev) };
    PackageNode {
        name: name.to_owned(),
        dir: name.to_owned(),
        dependencies: dependencies.iter().map(dependency).collect(),
        targets,
        build_script: Some(format!("{name}/make.rs")),
        member: true,
        is_macro: false,
    }
}

/// `core` <- `mid` <- `app`; `helper` uses `core`, and `mid` uses `helper` in tests only.
fn graph() -> Graph {
    use TargetKind::{Bin, Example, Lib, Test};
    let lib = |name: &str| target(name, Lib, name, &[&format!("{name}/src/lib.rs"), &format!("{name}/src/tests.rs?")]);
    let external = |name: &str, of: &[&str]| (name.to_owned(), of.iter().map(ToString::to_string).collect());
    Graph {
        root: String::new(),
        packages: vec![
            package("core", &[], vec![lib("core"), target("core", Test, "it", &["core/tests/it.rs"])]),
            package("mid", &[("core", false), ("helper", true)], vec![lib("mid")]),
            package("helper", &[("core", false)], vec![lib("helper")]),
            package(
                "app",
                &[("mid", false)],
                vec![
                    target("app", Bin, "app", &["app/src/main.rs"]),
                    target("app", Test, "cli", &["app/tests/cli.rs", "app/tests/common/mod.rs"]),
                    target("app", Test, "other", &["app/tests/other.rs"]),
                    target("app", Example, "demo", &["app/examples/demo.rs"]),
                ],
            ),
        ],
        external: [external("core", &["libc"]), external("mid", &["libc", "serde"]), external("helper", &["libc"])]
            .into(),
        outside: vec!["fuzz".to_owned()],
        named_by: [("testdata/a.json".to_owned(), ["mid".to_owned()].into())].into(),
        ..Graph::default()
    }
}

fn reach_in_sample(changes: &[(&str, &str, &str)]) -> Reached {
    reached_in(&graph(), changes)
}

fn reached_in(graph: &Graph, changes: &[(&str, &str, &str)]) -> Reached {
    let changes: Vec<_> = changes
        .iter()
        .map(|(path, base, head)| FileChange {
            path: (*path).to_owned(),
            base: Some(base.as_bytes().to_vec()),
            head: (!head.is_empty()).then(|| head.as_bytes().to_vec()),
        })
        .collect();
    reach(graph, &diff(&changes, &|_| false))
}

#[track_caller]
fn check(path: &str, base: &str, head: &str, expected: &[&str]) {
    let reached = reach_in_sample(&[(path, base, head)]);
    assert_eq!(reached.targets.keys().map(ToString::to_string).collect::<Vec<_>>(), expected);
}

const ALL: &[&str] = &["app::bin/app", "app::cli", "app::other", "core", "core::it", "helper", "mid"];

#[test]
fn a_library_reaches_all_that_depend_on_it() {
    check("core/src/lib.rs", "fn f() {}", "fn f() { 1 }", ALL);
    check("mid/src/lib.rs", "fn f() {}", "fn f() { 1 }", &["app::bin/app", "app::cli", "app::other", "mid"]);
}

#[test]
fn a_dev_dependency_goes_no_further() {
    check("helper/src/lib.rs", "fn f() {}", "fn f() { 1 }", &["helper", "mid"]);
}

#[test]
fn of_two_packages_with_one_name_both_are_depended_on() {
    let mut graph = graph();
    let library = target("core", TargetKind::Lib, "core", &["old/src/lib.rs"]);
    graph.packages.push(PackageNode { dir: "old".into(), member: false, ..package("core", &[], vec![library]) });
    let change = FileChange {
        path: "old/src/lib.rs".into(),
        base: Some(b"fn f() {}".to_vec()),
        head: Some(b"fn f() { 1 }".to_vec()),
    };
    let targets = reach(&graph, &diff(&[change], &|_| false)).targets;
    let packages: BTreeSet<_> = targets.keys().map(|target| target.package.as_str()).collect();
    assert_eq!(packages, BTreeSet::from(["app", "helper", "mid"]));
}

#[test]
fn test_code_of_a_library_reaches_its_own_tests() {
    check("core/src/lib.rs", "#[cfg(test)] fn f() {}", "#[cfg(test)] fn f() { 1 }", &["core"]);
    check("core/src/tests.rs", "fn f() {}", "fn f() { 1 }", &["core"]);
}

#[test]
fn a_binary_reaches_the_tests_that_can_start_it() {
    check("app/src/main.rs", "fn f() {}", "fn f() { 1 }", &["app::bin/app", "app::cli", "app::other"]);
}

#[test]
fn an_integration_test_reaches_only_itself() {
    check("app/tests/common/mod.rs", "fn f() {}", "fn f() { 1 }", &["app::cli"]);
    check("app/examples/demo.rs", "fn f() {}", "fn f() { 1 }", &[]);
}

#[test]
fn comments_reach_nothing() {
    check("core/src/lib.rs", "fn f() {}", "/// F.\nfn f() {}", &[]);
}

#[test]
fn a_manifest_reaches_its_package_and_those_that_depend_on_it() {
    let base = "[package]\nname = \"mid\"\nversion = \"1.0.0\"";
    let dependents = ["app::bin/app", "app::cli", "app::other", "mid"];
    check("mid/Cargo.toml", base, &format!("{base}\nedition = \"2024\""), &dependents);
    check("mid/Cargo.toml", base, &format!("{base}\n[profile.dev]\nopt-level = 1"), &dependents);
    check("mid/Cargo.toml", base, &base.replace("1.0.0", "1.0.1"), &dependents);
    check("mid/Cargo.toml", base, &format!("{base}\ndescription = \"Mid\""), &[]);
    check("Cargo.toml", "[workspace]", "[workspace]\nresolver = \"2\"", ALL);
    check("fuzz/Cargo.toml", base, &format!("{base}\nedition = \"2024\""), &[]);
}

#[test]
fn the_lock_file_reaches_who_depends_on_what_changed() {
    let lock = |name: &str| {
        let package = |name: &str, version: &str| {
            format!("[[package]]\nname = \"{name}\"\nversion = \"{version}\"\nsource = \"registry\"\n")
        };
        package("libc", if name == "libc" { "2" } else { "1" })
            + &package("serde", if name == "serde" { "2" } else { "1" })
    };
    // The dependencies of `app` are unknown, so it may depend on any.
    check("Cargo.lock", &lock(""), &lock("serde"), &["app::bin/app", "app::cli", "app::other", "mid"]);
    check("Cargo.lock", &lock(""), &lock("libc"), ALL);
    check("Cargo.lock", &lock(""), "= broken", ALL);
    check("core/Cargo.lock", &lock(""), &lock("libc"), &[]);
    let reached = reach_in_sample(&[("Cargo.lock", &lock(""), &lock("serde"))]);
    assert!(reached.targets.values().all(|causes| causes[0].to_string() == "Cargo.lock: serde changed"));
}

#[test]
fn build_scripts_and_cargo_config_reach_code() {
    check("core/build.rs", "fn main() {}", "fn main() { f() }", ALL);
    check("helper/make.rs", "fn main() {}", "fn main() { f() }", &["helper", "mid"]);
    check(".cargo/config.toml", "a = 1", "a = 2", ALL);
}

#[test]
fn data_reaches_the_targets_of_its_package() {
    check("core/tests/data/a.json", "1", "2", &["core", "core::it"]);
    check("core/src/table.bin", "1", "2", ALL);
    check("data/a.json", "1", "2", &[]);
    check("testdata/a.json", "1", "2", &["app::bin/app", "app::cli", "app::other", "mid"]);
}

#[test]
fn data_that_a_library_has_built_in_reaches_all_that_depend_on_it() {
    // Its build script may read the file.
    check("core/proto/a.proto", "1", "2", ALL);
    let mut graph = graph();
    graph.packages.iter_mut().for_each(|package| package.build_script = None);
    let count = |graph: &Graph| reached_in(graph, &[("core/proto/a.proto", "1", "2")]).targets.len();
    assert_eq!(count(&graph), 2);
    graph.named_by.insert("core/proto/a.proto".to_owned(), ["core".to_owned()].into());
    assert_eq!(count(&graph), ALL.len());
}

#[test]
fn what_code_takes_in_as_data_reaches_it_whatever_it_is() {
    let mut graph = graph();
    for path in ["app/examples/demo.rs", "core/Cargo.toml", "prelude.rs", "fuzz/main.rs"] {
        let mut check = |by: &str, expected: usize| {
            graph.taken_in = [(path.to_owned(), [by.to_owned()].into())].into();
            let reached = reached_in(&graph, &[(path, "a = 1", "a = 1 # new")]);
            let cause = ReachedBy::File { path: path.to_owned() };
            let found = reached.targets.values().filter(|causes| causes.contains(&cause)).count();
            assert_eq!(found, expected, "{path} by {by}: {reached:?}");
        };
        check("mid/src/lib.rs", 4);
        check("mid/make.rs", 4);
        check("app/tests/cli.rs", 1);
        check("mid/benches/not_asked_for.rs", 1);
    }
}

#[test]
fn what_packages_of_another_workspace_inherit_reaches_those_that_depend_on_them() {
    let mut graph = graph();
    for package in graph.packages.iter_mut().filter(|package| package.name == "core") {
        (package.dir, package.member) = ("other/core".to_owned(), false);
    }
    graph.outside.push("other".to_owned());
    let count = |base, head| reached_in(&graph, &[("other/Cargo.toml", base, head)]).targets.len();
    let dependents = ALL.len() - 2;
    assert_eq!(count("[workspace.dependencies]\na = '1'", "[workspace.dependencies]\na = '2'"), dependents);
    assert_eq!(count("[workspace.package]\nversion = '1.0.0'", "[workspace.package]\nversion = '1.0.1'"), dependents);
    // Cargo does not read its lock file and profiles.
    assert!(reached_in(&graph, &[("other/Cargo.lock", "a = 1", "a = 2")]).targets.is_empty());
}

#[test]
fn configuration_above_the_workspace_reaches_it_even_in_another_one() {
    let mut graph = graph();
    graph.root = "nested".to_owned();
    for package in &mut graph.packages {
        package.dir = format!("nested/{}", package.name);
    }
    graph.outside.push(String::new());
    let count = |path| reached_in(&graph, &[(path, "a = 1", "a = 2")]).targets.len();
    assert_eq!((count(".cargo/config.toml"), count("rust-toolchain.toml")), (ALL.len(), ALL.len()));
    assert_eq!(count("fuzz/.cargo/config.toml"), 0);
}

#[test]
fn rust_outside_the_module_tree_is_an_input() {
    check("helper/src/generated.rs", "fn f() {}", "fn f() { 1 }", &["helper", "mid"]);
    check("core/tests/ui/fail.rs", "fn f() {}", "fn f() { 1 }", &["core", "core::it"]);
    check("core/tests/gone.rs", "fn f() {}", "", &[]);
    check("fuzz/main.rs", "fn f() {}", "fn f() { 1 }", &[]);
}

#[test]
fn a_binary_reaches_the_tests_of_packages_that_name_it() {
    let started_by = [("app".to_owned(), ["helper".to_owned()].into())].into();
    let graph = Graph { started_by, ..graph() };
    for path in ["app/src/main.rs", "mid/src/lib.rs"] {
        let reached = reached_in(&graph, &[(path, "fn f() {}", "fn f() { 1 }")]);
        assert!(reached.targets.keys().any(|target| target.package == "helper"), "{path}: {reached:?}");
    }
    assert!(
        !reach_in_sample(&[("app/src/main.rs", "fn f() {}", "fn f() { 1 }")])
            .targets
            .keys()
            .any(|t| t.package == "helper")
    );
}

#[test]
fn what_reaches_nothing_is_named() {
    assert_eq!(reach_in_sample(&[("fuzz/main.rs", "fn f() {}", "fn f() { 1 }")]).nowhere, ["fuzz/main.rs"]);
}

#[test]
fn causes_are_in_words_and_most_telling_first() {
    let reached = reach_in_sample(&[
        ("core/data/a.json", "1", "2"),
        ("core/src/lib.rs", "impl P {\nfn f() {}\n}", "fn g() {}\nimpl P {\nfn f() { 1 }\n}"),
        ("core/build.rs", "fn main() {}", "fn main() { f() }"),
    ]);
    let causes = reached.targets.values().find(|causes| causes.len() == 4).unwrap();
    let words: Vec<String> = causes.iter().map(ToString::to_string).collect();
    assert_eq!(
        words,
        [
            "changed P::f (core/src/lib.rs:3)",
            "build script core/build.rs changed",
            "added g (core/src/lib.rs:1)",
            "core/data/a.json changed",
        ]
    );
}

#[test]
fn a_build_script_reaches_all_packages_that_have_it() {
    let mut graph = graph();
    for package in graph.packages.iter_mut().filter(|package| ["helper", "app"].contains(&package.name.as_str())) {
        package.build_script = Some("common/build.rs".to_owned());
    }
    let reached = reached_in(&graph, &[("common/build.rs", "fn main() {}", "fn main() { f() }")]);
    let packages: BTreeSet<_> = reached.targets.keys().map(|target| target.package.as_str()).collect();
    assert_eq!(packages, BTreeSet::from(["app", "helper", "mid"]));
}

#[test]
fn other_features_reach_who_has_the_package() {
    let of = |package: &str| {
        let refeatured = [(package.to_owned(), "app/Cargo.toml".to_owned())].into();
        let reached = reached_in(&Graph { refeatured, ..graph() }, &[]);
        reached.targets.keys().map(ToString::to_string).collect::<Vec<_>>()
    };
    assert_eq!(of("helper"), ["helper", "mid"]);
    assert_eq!(of("serde"), ["mid"]);
}

#[test]
fn what_cargo_s_configuration_names_and_vendored_packages_reach_everything() {
    let graph = Graph { decisive: vec!["tools/rustc.sh".to_owned(), "vendor/itoa".to_owned()], ..graph() };
    for (path, head) in
        [("tools/rustc.sh", "exec b"), ("vendor/itoa/src/lib.rs", "fn f() { 1 }"), ("vendor/itoa/a", "b")]
    {
        let reached = reached_in(&graph, &[(path, "fn f() {}", head)]);
        assert_eq!(reached.targets.keys().map(ToString::to_string).collect::<Vec<_>>(), ALL, "{path}");
    }
    assert!(reached_in(&graph, &[("tools/other.sh", "a", "b")]).targets.is_empty());
}
