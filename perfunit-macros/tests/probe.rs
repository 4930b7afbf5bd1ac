//! Compiles and runs code with many probes, in every edition that supports it. A stand-in of the runtime records
//! entries and exits.

mod compiled;

use compiled::{externs, rustc, succeed};
use std::process::Command;

#[track_caller]
fn check(file: &str, edition: &str) {
    let externs: Vec<&str> = externs().iter().map(String::as_str).collect();
    let name = file.strip_suffix(".rs").unwrap();
    let out =
        rustc(format!("probe/{file}"), edition, &[&["--test", "--cfg", "perfunit_probes"], &externs[..]].concat());
    let said = succeed(&mut Command::new(out.join(name)));
    assert!(!said.contains("running 0 tests"), "{said}");
}

#[test]
fn functions_of_2015() {
    check("functions.rs", "2015");
}

#[test]
fn functions_of_2018() {
    check("functions.rs", "2018");
}

#[test]
fn functions_of_2021() {
    check("functions.rs", "2021");
}

#[test]
fn functions_of_2024() {
    check("functions.rs", "2024");
}

#[test]
fn futures_of_2018() {
    check("futures.rs", "2018");
}

#[test]
fn futures_of_2021() {
    check("futures.rs", "2021");
}

#[test]
fn futures_of_2024() {
    check("futures.rs", "2024");
}

#[test]
fn crates_without_std() {
    let externs: Vec<&str> = externs().iter().map(String::as_str).collect();
    for edition in ["2018", "2021", "2024"] {
        rustc(
            "probe/no_std.rs",
            edition,
            &[&["--crate-type", "rlib", "--cfg", "perfunit_probes"], &externs[..]].concat(),
        );
    }
}
