//! Tests of the JSON document.

use super::*;
use perfunit_model::samples::{bounded, full, measured, outcome, run};
use perfunit_model::{Between, Machine, Note, Warning};
use serde_json::{Value, json};

fn value(run: &Run) -> Value {
    serde_json::from_str(&render(run)).unwrap()
}

#[test]
fn the_document_reads_back_as_it_was() {
    let mut run = full();
    // serde_json reads some decimals one bit off, but halves and quarters exactly.
    for figures in run.outcomes.iter_mut().filter_map(|outcome| outcome.measured.as_mut()) {
        *figures = Measured { change: model::Change { estimate: 0.5, low: 0.25, high: 0.75 }, ..figures.clone() };
        (figures.base_ns, figures.head_ns) = (1024.0, 1536.0);
    }
    let text = render(&run);
    assert!(text.starts_with("{\n  \"schema_version\": 4,\n") && text.ends_with("\n}\n"));
    assert_eq!(serde_json::from_str::<Document>(&text).unwrap(), Document::from(&run));
}

#[test]
fn the_frame_has_every_promised_field() {
    let mut run = full();
    run.warnings.push(Warning::Machine(Machine::OnlyOneCore));
    let mut document = value(&run);
    document["tests"] = json!([]);
    let commit = "3f2a91c0d4e5f60718293a4b5c6d7e8f90a1b2c3";
    let head = "8d01e7b6a5948372615049382716f5e4d3c2b1a0";
    let expected = json!({
        "schema_version": 4,
        "base": {"label": "main", "commit": commit, "dirty": false},
        "head": {"label": "working tree", "commit": head, "dirty": true},
        "environment": {
            "rustc": "rustc 1.95.0", "host": "x86_64-unknown-linux-gnu", "profile": "bench", "lto_off": null, "cpu": "Xeon",
            "core": 1, "paired_address_space": true, "layout_controlled": false,
            "layouts": [{
                "target": "mycrate", "common": 0, "equal": 0, "changed": 0, "anchored": 0, "loops": 0, "held": 0,
                "data": 0, "data_equal": 0,
                "fixed_addresses": false, "text_bytes": 0, "link_seconds": 0.0, "linker": "project",
                "uncontrolled_because": "the linker ld refuses: no such option",
            }],
        },
        "selection": {
            "found": 412, "targets": 12, "targets_reached": 3,
            "reachable": 0, "executed": 0, "left_out": {}, "effects": [],
            "changes": ["changed Parser::line (src/parser.rs:88)", "changed Cargo.lock"],
            "nothing_because": null,
            "not_compiled": [],
            "uncovered": [{
                "package": "mycrate", "file": "src/idle.rs", "line": 7, "name": "idle::Pool::drain",
                "because": "unreached",
            }],
            "unmeasured_targets": ["doc tests of mycrate: measured on request (--doc)"],
        },
        "tests": [],
        "summary": {
            "verdicts": {
                "slower": 2, "faster": 1, "changed-below-threshold": 2, "same": 1, "inconclusive": 2,
                "not-measured": 3,
            },
            "unmeasured": {"not_measured": 2, "skipped_by_filter": 0, "unaffected": 1, "other_shards": 0},
            "bound": 0.1, "bounded": 1, "excluded": {"slower_by": 0.1, "tests": 5, "of": 9},
            "accepted": 0, "probably_slower": 0,
            "failing_on_head": 0, "failing_on_base": 0, "measured": 8, "insensitive": 0, "found": 412, "threshold": 0.1, "gates": ["time"], "alpha": 0.01,
            "seconds": {"prepare": 0.4, "build": 12.1, "select": 0.0, "measure": 8.3, "explain": 0.0},
        },
        "warnings": ["only one core is available; measuring takes longer for the same precision"],
        "interrupted": false,
        "repeat": {"folder": "crates/my crate", "arguments": ["perfunit", "diff", commit, "parser::", "--threshold", "0.1"]},
        "sharding": null,
        "programs": [{
            "name": "mytool", "tests": 240, "verdict": "same",
            "change": {"estimate": 0.002, "low": -0.002, "high": 0.006}, "threshold": 0.05, "p_value": 0.2,
            "accepted": null,
        }],
        "functions": [{
            "name": "Parser::skip",
            "function": {"package": "mycrate", "file": "src/idle.rs", "line": 7, "name": "Parser::skip"},
            "verdict": "slower", "change": {"estimate": 0.019, "low": 0.014, "high": 0.024},
            "threshold": 0.005, "p_value": 0.0001, "layouts": 16,
            "tests": ["mycrate parser::tests::skips", "mycrate parser::tests::skips_lines"], "entering": 31,
        }],
        "growth": null,
        "scaling": [],
        "ratchet": null,
        "generated": null,
    });
    assert_eq!(document, expected);
}

#[test]
fn a_measured_test_has_every_promised_field() {
    let mut slower = outcome("parser::tests::long", Verdict::Slower, Some(measured(1024.0, 0.5)));
    slower.notes.push(Note::UnequalWork { between: Between::Calls, equal_seeds: false });
    let expected = json!({
        "package": "mycrate", "target": "mycrate", "target_kind": "lib", "name": "parser::tests::long",
        "verdict": "slower", "reason": null, "accepted": null, "change": {"estimate": 0.5, "low": 0.49, "high": 0.51},
        "possible_change": {"slower": 0.51, "faster": 0.0, "within": null},
        "base_ns": 1024.0, "head_ns": 1536.0, "throughput": null, "bound": null, "pairs": 64, "layouts": 1, "mode": "steady", "threshold": 0.1, "gates": null, "detectable": 0.0041,
        "p_value": 1e-9, "cohens_d": {"d": 4.2, "class": "large"}, "metrics": null, "cross_check": null, "capture": "macro",
        "selected_because": "names changed Parser::line (src/parser.rs:88)", "why": null, "explanation": null, "unexplained_because": null,
        "spent": {"seconds": 1.5, "pairs": 80}, "notes": ["its work differs from call to call"],
    });
    assert_eq!(value(&run(vec![slower]))["tests"], json!([expected]));
}

#[test]
fn of_calls_that_were_stopped_only_the_least_is_known() {
    let hung = outcome("a", Verdict::Slower, Some(bounded(1e6, 2e9, Some(2e9))));
    let document = value(&run(vec![hung]));
    let test = &document["tests"][0];
    let bound = json!({"kind": "at-least", "ratio": 2000.0, "limit_ns": 2e9, "calls": {"base": 62, "head": 2}});
    assert_eq!(test["bound"], bound);
    assert_eq!(test["change"], json!({"estimate": 1999.0, "low": 1999.0, "high": null}));
    assert_eq!(test["head_ns"], json!(2e9));
}

#[test]
fn a_test_without_figures_has_nulls_and_a_reason() {
    let document = value(&full());
    let test = document["tests"].as_array().unwrap().iter().find(|test| test["name"] == "net::tests::dns").unwrap();
    let expected = json!({
        "package": "mycrate", "target": "mycrate", "target_kind": "lib", "name": "net::tests::dns",
        "verdict": "not-measured",
        "reason": {
            "kind": "fails", "text": "fails on both: no network", "side": "both", "detail": "no network", "intermittent": false,
        },
        "accepted": null, "change": null, "possible_change": null, "base_ns": null, "head_ns": null, "throughput": null, "bound": null, "pairs": null, "layouts": null, "mode": null, "threshold": null, "gates": null, "detectable": null,
        "p_value": null, "cohens_d": null, "metrics": null, "cross_check": null, "capture": null, "selected_because": "", "why": null, "explanation": null, "unexplained_because": null, "spent": null, "notes": [],
    });
    assert_eq!(*test, expected);
}

#[test]
fn what_is_not_a_number_is_null() {
    let mut broken = measured(f64::NAN, f64::INFINITY);
    broken.p_value = f64::NAN;
    broken.effect.d = f64::NEG_INFINITY;
    let run = run(vec![outcome("a", Verdict::Inconclusive, Some(broken))]);
    let document = value(&run);
    let test = &document["tests"][0];
    assert_eq!(test["change"], json!({"estimate": null, "low": null, "high": null}));
    assert_eq!(test["cohens_d"], json!({"d": null, "class": "large"}));
    assert!([&test["base_ns"], &test["head_ns"], &test["p_value"]].iter().all(|figure| figure.is_null()));
    assert_eq!(serde_json::from_value::<Document>(document).unwrap(), Document::from(&run));
}
