//! Matched layouts: unchanged code and data have the same addresses in both versions.

use crate::support::{Project, skipped};
use serde_json::Value;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

/// Returns a hot loop after a branch that is never taken, with this code in the branch, and a test that does not
/// execute it. Inlining must be prevented, because in the test's frame the accesses would have other encodings.
fn source(cold: &str) -> String {
    format!(
        "#[inline(never)]\npub fn hot(values: &mut [u64], limit: u64) -> u64 {{\n    if limit == u64::MAX {{\n        {cold}\n    }}\n    \
         let mut sum = 0;\n    for value in values.iter_mut() {{\n        *value = value.rotate_left(7) ^ limit;\n        \
         sum ^= *value / (limit | 1);\n    }}\n    sum\n}}\n\
         pub fn other(text: &str) -> usize {{\n    text.split(' ').filter(|word| word.len() > 2).count()\n}}\n\
         #[cfg(test)]\nmod tests {{\n    #[test]\n    fn sums() {{\n        \
         assert_ne!(super::hot(&mut [3; 300], 5), 1);\n    }}\n    #[test]\n    fn counts() {{\n        \
         assert_eq!(super::other(\"some words in a line\"), 3);\n    }}\n}}\n"
    )
}

const SHORT: &str = "panic!(\"no\")";
const LONG: &str = "panic!(\"a limit of {limit} for {} values, the first {:?}\", values.len(), values.first())";

fn layout(document: &Value) -> &Value {
    &document["environment"]["layouts"][0]
}

#[test]
fn common_functions_and_loops_of_changed_ones_lie_at_equal_addresses() {
    let project = Project::library(&source(SHORT), &source(LONG));
    let document = project.diff(&["--all-tests"]).expect(0).json();
    let layout = layout(&document);
    let count = |field: &str| layout[field].as_u64().unwrap_or_else(|| panic!("{field}: {layout}"));
    assert_eq!(document["environment"]["layout_controlled"], true, "{layout}");
    assert!(count("common") > 200 && count("equal") == count("common"), "{layout}");
    assert!(count("changed") >= 1 && count("anchored") == count("changed"), "{layout}");
    assert!(count("loops") >= 1 && count("held") == count("loops"), "{layout}");
    // The panic message is longer in head.
    assert!(count("data") > 200 && count("data_equal") == count("data"), "{layout}");
    assert_eq!(layout["uncontrolled_because"], Value::Null);
    let warnings = document["warnings"].to_string();
    assert!(!warnings.contains("could not be moved"), "{warnings}");
}

/// Creates a project of two versions with cargo's configuration and additional files.
fn project(config: &str, files: &[(&str, &str)], sources: [&str; 2]) -> Project {
    let project = Project::empty();
    project.write("Cargo.toml", "[package]\nname = \"sample\"\nversion = \"0.1.0\"\nedition = \"2021\"\n");
    project.write(".cargo/config.toml", config);
    for (path, text) in files {
        project.write(path, text);
        let executable = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(project.path().join(path), executable).unwrap();
    }
    project.write("src/lib.rs", sources[0]);
    project.commit("base");
    project.write("src/lib.rs", sources[1]);
    project.commit("head");
    project
}

/// Asserts that all functions, loops and data of both versions have equal addresses, linked by this linker.
#[track_caller]
fn check_matched(project: &Project, linker: &str) -> Value {
    let document = project.diff(&["--all-tests", "--explain", "never"]).expect(0).json();
    let layout = layout(&document);
    let count = |field: &str| layout[field].as_u64().unwrap_or_else(|| panic!("{field}: {layout}"));
    assert_eq!(document["environment"]["layout_controlled"], true, "{layout}");
    assert_eq!(layout["linker"], linker, "{layout}");
    assert!(count("common") > 200 && count("equal") == count("common"), "{layout}");
    assert!(count("changed") >= 1 && count("anchored") == count("changed"), "{layout}");
    assert!(count("loops") >= 1 && count("held") == count("loops"), "{layout}");
    assert!(count("data") > 200 && count("data_equal") == count("data"), "{layout}");
    for test in document["tests"].as_array().unwrap() {
        // A threshold is relative: 1 ns is many percent of the shortest test, which is too short to measure on some machines.
        let is_short = test["verdict"] == "not-measured" || test["base_ns"].as_f64() < Some(10.0);
        assert!(is_short || test["threshold"].as_f64() < Some(0.15), "{test}");
    }
    document
}

/// Data that a program finds by a section's name, and that nothing else refers to.
const REGISTERED: &str = "#[cfg(test)]\n#[used]\n#[link_section = \"perfunit_things\"]\nstatic THING: u64 = 7;\n\
                          #[cfg(test)]\nextern \"C\" {\n    #[link_name = \"__start_perfunit_things\"]\n    static FIRST: u64;\n}\n\
                          #[test]\nfn registered() {\n    assert_eq!(unsafe { FIRST }, 7);\n}\n";

#[test]
fn a_project_that_gnu_ld_links_is_measured_by_lld() {
    let config = "[target.'cfg(all())']\nlinker = \"gcc\"\n[build]\nrustflags = [\n    \
                  \"-Clink-arg=-Wl,--emit-relocs\",\n    \"-Clink-arg=-s\",\n    \
                  \"-Clink-arg=-Wl,--version-script=symbols.map\",\n    \"-Clink-arg=-Wl,-T,extra.ld\",\n]\n";
    let files = [
        ("symbols.map", "{ local: hidden_*; };\n"),
        ("extra.ld", "SECTIONS { .extra : { *(.extra) } } INSERT AFTER .data;\n"),
    ];
    let sources = [SHORT, LONG].map(|cold| source(cold) + REGISTERED);
    let project = project(config, &files, [&sources[0], &sources[1]]);
    let document = check_matched(&project, "rust-lld");
    let text = document.to_string();
    assert!(
        !text.contains("\"kind\":\"fails\"") && !text.contains("project's own executable was measured"),
        "{document}"
    );
}

#[test]
fn a_project_that_clang_links_is_measured_by_lld() {
    // A driver with clang's name and gcc's interface, with an option for the linker to call.
    let config = "[target.'cfg(all())']\nlinker = \"./tools/clang\"\nrustflags = [\"-Clink-arg=-fuse-ld=bfd\"]\n";
    let files = [("tools/clang", "#!/bin/sh\nexec cc \"$@\"\n")];
    check_matched(&project(config, &files, [&source(SHORT), &source(LONG)]), "rust-lld");
}

#[test]
fn a_project_that_mold_links_is_measured_by_lld() {
    if Command::new("mold").arg("--version").output().is_err() {
        skipped("mold is not installed");
        return;
    }
    let config = "[build]\nrustflags = [\"-Clink-arg=-fuse-ld=mold\"]\n";
    let sources = [SHORT, LONG].map(|cold| source(cold) + REGISTERED);
    check_matched(&project(config, &[], [&sources[0], &sources[1]]), "rust-lld");
}

#[test]
fn gnu_ld_matches_layouts_where_lld_does_not_link() {
    // An option that lld does not support.
    let config = "[build]\nrustflags = [\"-Clink-arg=-fuse-ld=bfd\", \"-Clink-arg=-Wl,--spare-dynamic-tags=4\"]\n";
    check_matched(&project(config, &[], [&source(SHORT), &source(LONG)]), "gnu-ld");
}

#[test]
fn where_no_linker_orders_functions_each_is_named() {
    let config = "[target.'cfg(all())']\nlinker = \"./tools/cc\"\n";
    let linker =
        "#!/bin/sh\ncase \"$*\" in *section-start*) echo \"sections stay\" >&2; exit 1;; esac\nexec cc \"$@\"\n";
    let project = project(config, &[("tools/cc", linker)], [&source(SHORT), &source(LONG)]);
    let document = project.diff(&["--all-tests"]).expect(0).json();
    assert_eq!(document["environment"]["layout_controlled"], false, "{document}");
    let because = layout(&document)["uncontrolled_because"].as_str().unwrap();
    assert!(because.contains("rust-lld: sections stay") && because.contains("ld.bfd: sections stay"), "{because}");
    assert_eq!(document["summary"]["measured"], 2, "{document}");
    let test = &document["tests"][0];
    let change = |field: &str| test["change"][field].as_f64().unwrap();
    assert!(test["threshold"].as_f64() >= Some(0.15), "{test}");
    // The interval includes the possible effect of placement.
    assert!(change("high") - change("low") > 0.17, "{test}");
    let summary = project.perfunit(["diff", "HEAD~1", "--all-tests"]).expect(0).stdout;
    assert!(summary.contains("code layout not controlled in sample"), "{summary}");
}

#[test]
fn a_different_linker_does_not_change_the_code() {
    let project = project("", &[], [&source(LONG), &source(SHORT)]);
    project.write(".cargo/config.toml", "[target.'cfg(all())']\nlinker = \"gcc\"\n");
    project.commit("linker");
    let document = project.diff(&[]).expect(0).json();
    assert_eq!(document["summary"]["measured"], 0, "{document}");
    assert!(!document.to_string().contains("options differ"), "{document}");
    // Both are linked by the same linker for the measurement.
    let document = project.diff(&["--all-tests", "--explain", "never"]).expect(0).json();
    assert_eq!(document["environment"]["layout_controlled"], true, "{document}");
    assert_eq!((&layout(&document)["linker"], &document["summary"]["measured"]), (&"rust-lld".into(), &2.into()));
}

#[test]
fn static_executables_can_unwind_after_our_link() {
    let config = "[build]\nrustflags = [\"-Ctarget-feature=+crt-static\"]\n";
    let refusing = "#[test]\n#[should_panic]\nfn refuses() {\n    hot(&mut [3; 300], u64::MAX);\n}\n";
    let sources = [SHORT, LONG].map(|cold| source(cold) + refusing);
    let project = project(config, &[], [&sources[0], &sources[1]]);
    let document = project.diff(&["--all-tests", "--explain", "never"]).json();
    let refuses = document["tests"].as_array().unwrap().iter().find(|test| test["name"] == "refuses").unwrap();
    assert_ne!(refuses["verdict"], "not-measured", "{refuses}");
    assert_eq!(document["environment"]["layout_controlled"], true, "{document}");
    assert!(refuses["threshold"].as_f64() <= Some(0.01), "{refuses}");
}

#[test]
fn a_test_that_fails_after_our_link_is_measured_with_the_projects_link() {
    // Our links have no segment that becomes read-only after loading.
    let looks = "#[test]\nfn looks_at_itself() {\n    let own = std::fs::read(\"/proc/self/exe\").unwrap();\n    \
                 let place = u64::from_le_bytes(own[32..40].try_into().unwrap()) as usize;\n    \
                 let mut headers = own[place..].chunks(56).take(usize::from(own[56]));\n    \
                 assert!(headers.any(|header| header[..4] == 0x6474_e552_u32.to_le_bytes()));\n}\n";
    let sources = [SHORT, LONG].map(|cold| source(cold) + looks);
    let project = Project::library(&sources[0], &sources[1]);
    let document = project.diff(&["--all-tests", "--threshold", "90%", "--explain", "never"]).expect(0).json();
    let test = |name: &str| document["tests"].as_array().unwrap().iter().find(|test| test["name"] == name).unwrap();
    let looks = test("looks_at_itself");
    assert_ne!(looks["verdict"], "not-measured", "{looks}");
    assert!(looks["notes"].to_string().contains("the project's own executable was measured"), "{looks}");
    assert!(!test("tests::sums")["notes"].to_string().contains("linker"), "{document}");
}

/// Returns the source with the work of `hot` in a different loop, which no shift can align with the original.
fn rewritten() -> String {
    let source = source(SHORT);
    let start = source.find("    let mut sum = 0;").unwrap();
    let end = source[start..].find("    sum\n").unwrap() + start;
    let body = "    let mut sum = 0_u64;\n    let mut place = values.len();\n    while place > 0 {\n        place -= 1;\n        \
                values[place] = values[place].rotate_right(9).wrapping_add(limit);\n        \
                sum = sum.wrapping_add(values[place] / (limit | 1));\n    }\n";
    format!("{}{body}{}", &source[..start], &source[end..])
}

#[test]
fn tests_of_code_without_a_common_address_are_judged_over_layouts() {
    let layouts = |head: &str| {
        let project = Project::library(&source(SHORT), head);
        // The difference between the loops stays below the threshold, however large it is.
        let document =
            project.diff(&["--all-tests", "--threshold", "90%", "--per-test-budget", "30s"]).expect(0).json();
        let tests = document["tests"].as_array().unwrap();
        let layouts = |name: &str| tests.iter().find(|test| test["name"] == name).unwrap()["layouts"].as_u64().unwrap();
        let layout = layout(&document).clone();
        let is_held = layout["held"] == layout["loops"];
        (layouts("tests::sums"), layouts("tests::counts"), is_held, document.to_string())
    };
    let (sums, counts, held, document) = layouts(&source(LONG));
    assert!(sums == 1 && counts == 1 && held, "{document}");
    let (sums, counts, held, document) = layouts(&rewritten());
    assert!(sums >= 8 && !held, "{document}");
    assert_eq!(counts, 1, "it cannot reach the loop: {document}");
}

/// Returns a loop after this many bytes that are jumped over.
fn padded(bytes: usize) -> String {
    format!(
        "#[inline(never)]\npub fn count(mut left: u64) -> u64 {{\n    unsafe {{\n        core::arch::asm!(\"jmp 3f\", \
         \".fill {bytes}, 1, 0x90\", \"3:\", \"2:\", \"dec {{0}}\", \"jnz 2b\", inout(reg) left)\n    }};\n    left\n}}\n\
         #[test]\nfn counts() {{\n    assert_eq!(count(std::hint::black_box(1000)), 0);\n}}\n"
    )
}

#[test]
#[cfg_attr(not(target_arch = "x86_64"), ignore = "machine code of x86-64")]
fn a_loop_that_moved_by_a_few_bytes_lies_where_it_was() {
    let project = Project::library(&padded(2), &padded(9));
    let document = project.diff(&["--explain", "never"]).expect(0).json();
    let layout = layout(&document);
    assert!(layout["changed"] == 1 && layout["anchored"] == 1 && layout["held"] == layout["loops"], "{layout}");
    let test = &document["tests"][0];
    assert_eq!((&test["layouts"], &test["verdict"]), (&1.into(), &"same".into()), "{test}");
}
