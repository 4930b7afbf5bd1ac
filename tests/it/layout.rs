//! Matched layouts: what is the same in both versions lies at the same addresses.

use crate::support::Project;
use serde_json::Value;

/// A hot loop behind a branch that is never taken, whose body is as long as wanted, and a test that does not know it.
fn source(cold: &str) -> String {
    format!(
        "pub fn hot(values: &mut [u64], limit: u64) -> u64 {{\n    if limit == u64::MAX {{\n        {cold}\n    }}\n    \
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
    // The message of the panic is longer in head.
    assert!(count("data") > 200 && count("data_equal") == count("data"), "{layout}");
    assert_eq!(layout["uncontrolled_because"], Value::Null);
    let warnings = document["warnings"].to_string();
    assert!(!warnings.contains("could not be moved"), "{warnings}");
}

#[test]
fn a_linker_that_cannot_place_functions_is_named() {
    let project = Project::empty();
    project.write("Cargo.toml", "[package]\nname = \"sample\"\nversion = \"0.1.0\"\nedition = \"2021\"\n");
    project.write(".cargo/config.toml", "[build]\nrustflags = [\"-Clink-arg=-fuse-ld=bfd\"]\n");
    project.write("src/lib.rs", source(SHORT));
    project.commit("base");
    project.write("src/lib.rs", source(LONG));
    project.commit("head");
    let document = project.diff(&["--all-tests"]).expect(0).json();
    assert_eq!(document["environment"]["layout_controlled"], false, "{document}");
    let because = layout(&document)["uncontrolled_because"].as_str().unwrap();
    assert!(because.contains("refuses"), "{because}");
    assert_eq!(document["summary"]["measured"], 2, "{document}");
    let test = &document["tests"][0];
    let change = |field: &str| test["change"][field].as_f64().unwrap();
    assert!(test["threshold"].as_f64() >= Some(0.15), "{test}");
    // What the place may do is part of the interval.
    assert!(change("high") - change("low") > 0.17, "{test}");
    let summary = project.perfunit(["diff", "HEAD~1", "--all-tests"]).expect(0).stdout;
    assert!(summary.contains("code layout not controlled in sample"), "{summary}");
}

/// The work of `hot` in a loop of its own, which no shift puts where the other one is.
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
fn what_rests_on_code_without_a_common_place_is_judged_over_layouts() {
    let layouts = |head: &str| {
        let project = Project::library(&source(SHORT), head);
        // Whatever the two loops take: it is no change that counts.
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
    assert_eq!(counts, 1, "it cannot come by the loop: {document}");
}

/// A loop behind so many bytes that are jumped over.
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
