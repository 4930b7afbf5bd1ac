//! Benchmarks as workloads (`--benches`, `--bench`).

use crate::support::{Case, Project};
use std::collections::BTreeSet;

fn project() -> Project {
    Case::all()["other-benches"].project()
}

/// Returns names and kinds of the tests that are listed with these arguments.
fn listed(project: &Project, arguments: &[&str]) -> BTreeSet<(String, String)> {
    let common = ["list", "HEAD~1", "--message-format", "json"];
    let document = project.perfunit([&common, arguments].concat()).expect(0).json();
    let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
    let tests = document["tests"].as_array().unwrap().iter();
    tests.map(|test| (text(&test["name"]), text(&test["target_kind"]))).collect()
}

#[test]
fn without_the_option_benchmarks_are_listed_with_a_hint() {
    let stdout = project().perfunit(["list", "HEAD~1", "--all-tests"]).expect(0).stdout;
    assert!(stdout.contains("benchmarks of other-benches: measured on request (--benches)"), "{stdout}");
    assert!(!stdout.contains("divans"), "{stdout}");
}

#[test]
fn a_bench_target_is_chosen_by_its_name_and_benchmarks_by_theirs() {
    let project = project();
    let names = ["count", "inner::mix", "left_out", "result"].map(|name| (name.to_owned(), "bench".to_owned()));
    assert_eq!(listed(&project, &["--bench", "libtests"]), names.into());
    let one = listed(&project, &["--benches", "-E", "kind(bench) & test(=divans::by_argument::2)"]);
    assert!(one.contains(&("divans::by_argument::2".to_owned(), "bench".to_owned())), "{one:?}");
    let filtered = project.perfunit(["list", "HEAD~1", "--benches", "made::", "--why"]).expect(0).stdout;
    assert!(filtered.contains("divans::made::values"), "{filtered}");
}

#[test]
fn benchmarks_among_unit_tests_are_listed_separately() {
    let project = Case::all()["unit-benches"].project();
    let named = |names: &[(&str, &str)]| -> BTreeSet<(String, String)> {
        names.iter().map(|(name, kind)| ((*name).to_owned(), (*kind).to_owned())).collect()
    };
    let benches = [
        ("tests::mix", "lib-bench"),
        ("tests::count_up", "lib-bench"),
        ("tests::left_out", "lib-bench"),
        ("in_binary", "bin-bench"),
    ];
    assert_eq!(listed(&project, &["--benches"]), named(&benches));
    assert_eq!(listed(&project, &["--benches", "-E", "kind(bench) & test(=in_binary)", "--all-tests"]).len(), 4);
    let stdout = project.perfunit(["list", "HEAD~1", "--lib", "--all-tests", "--why"]).expect(0).stdout;
    assert!(stdout.contains("[not captured: a benchmark, measured on request (--benches)]"), "{stdout}");
}

#[test]
fn unit_tests_remain_if_benchmarks_among_them_do_not_compile() {
    let project = Case::all()["unit-benches"].project();
    let library = std::fs::read_to_string(project.path().join("src/lib.rs")).unwrap();
    let more = "#[cfg(test)]\nmod more {\n    extern crate test;\n    pub use test::stats::Summary;\n}\n";
    project.write("src/lib.rs", library + more);
    project.commit("more");
    let run = project.perfunit(["list", "HEAD", "--lib", "--benches", "--all-tests"]).expect(0);
    assert!(run.stdout.contains("tests::is_no_benchmark"), "{}", run.stdout);
    let why = "unit-benches::lib-bench/unit_benches: does not compile with the interface that replaces its harness";
    assert!(run.stdout.contains(why), "{}", run.stdout);
}

#[test]
fn a_benchmarks_declared_amount_becomes_a_throughput() {
    let project = project().with_natural_layout();
    let tests = "test(=divans::made::values) | test(=inner::mix) | test(=divans::counted) | test(=divans::renamed)";
    let document = project.perfunit(["diff", "HEAD~1", "--benches", "-E", tests, "--message-format", "json"]).json();
    let found = document["tests"].as_array().unwrap().iter().filter(|test| test["verdict"] == "slower");
    let mut units = BTreeSet::new();
    for test in found {
        let throughput = &test["throughput"];
        let Some(unit) = throughput["unit"].as_str() else { continue };
        units.insert((test["name"].as_str().unwrap(), unit));
        let amount = |side: &str, ns: &str| throughput[side].as_f64().unwrap() * test[ns].as_f64().unwrap() / 1e9;
        let (base, head) = (amount("base_per_second", "base_ns"), amount("head_per_second", "head_ns"));
        assert!((base - head).abs() < 1e-6 && (base - base.round()).abs() < 1e-6, "{test}");
    }
    let expected = [("divans::made::values", "elements"), ("inner::mix", "bytes"), ("divans::counted", "chars")];
    assert_eq!(units, expected.into());
}

#[test]
fn an_unknown_bench_target_is_an_error_that_lists_the_known_ones() {
    let run = project().perfunit(["list", "HEAD~1", "--bench", "libtest"]).expect(2);
    assert!(run.stderr.contains("no bench target `libtest` in the selected packages"), "{}", run.stderr);
    assert!(run.stderr.contains("the selected packages have divans, libtests"), "{}", run.stderr);
}

/// A binary and a bench target with `bench = false`, and a library with `test = false`.
#[test]
fn the_manifest_says_which_targets_are_benchmarked() {
    let project = Project::empty();
    let manifest = "[package]\nname = \"sample\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\n[lib]\ntest = false\n\n\
        [[bin]]\nname = \"quiet\"\nbench = false\n\n[[bench]]\nname = \"by_name\"\nbench = false\n\n\
        [[bench]]\nname = \"needy\"\nrequired-features = [\"more\"]\n\n[features]\nmore = []\n";
    let source = |name: &str| {
        format!(
            "#![cfg_attr(test, feature(test))]\n#[cfg(test)]\nextern crate test;\n\n#[cfg(test)]\n#[bench]\n\
             fn {name}(bencher: &mut test::Bencher) {{\n    bencher.iter(|| test::black_box(7u64).pow(3));\n}}\n"
        )
    };
    project.write("Cargo.toml", manifest);
    project.write("src/lib.rs", source("in_library"));
    project.write("src/bin/quiet.rs", format!("{}\nfn main() {{}}\n", source("in_quiet")));
    project.write("src/bin/loud.rs", format!("{}\nfn main() {{}}\n", source("in_loud")));
    for name in ["by_name", "needy", "found"] {
        project.write(format!("benches/{name}.rs"), source(&format!("in_{name}")));
    }
    project.commit("base");
    let listed = |arguments: &[&str]| {
        let document =
            project.perfunit([&["list", "HEAD", "--all-tests", "--message-format", "json"], arguments].concat());
        let tests = document.expect(0).json()["tests"].as_array().unwrap().clone();
        let names = tests.iter().map(|test| test["name"].as_str().unwrap().to_owned());
        names.collect::<BTreeSet<_>>()
    };
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<_>>();
    assert_eq!(listed(&["--benches"]), names(&["in_library", "in_loud", "in_found"]));
    assert_eq!(listed(&["--benches", "--features", "more"]), names(&["in_library", "in_loud", "in_found", "in_needy"]));
    assert_eq!(listed(&["--bench", "by_name"]), names(&["in_by_name"]));
    // As with cargo, names add nothing to `--benches`.
    assert_eq!(listed(&["--benches", "--bench", "by_name"]), names(&["in_library", "in_loud", "in_found"]));
    let with_features = ["--bench", "by_name", "--bench", "needy", "--features", "more"];
    assert_eq!(listed(&with_features), names(&["in_by_name", "in_needy"]));
    let on_request = || project.perfunit(["list", "HEAD", "--all-tests"]).expect(0).stdout;
    assert!(on_request().contains("benchmarks of sample: measured on request (--benches)"));
    project.remove("benches/found.rs");
    project.write("Cargo.toml", manifest.replace("required-features", "bench = false\nrequired-features"));
    project.commit("no benchmarks unasked");
    assert!(!on_request().contains("benchmarks of sample"), "{}", on_request());
}
