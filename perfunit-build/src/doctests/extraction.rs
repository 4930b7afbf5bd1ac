//! Parses rustdoc's extracted doc tests (`--output-format=doctest`), and names each one so that the name survives moved
//! lines: the path of its item without generics, and its number there.

use perfunit_model::{NoDoctest, NotExtracted};
use proc_macro2::TokenStream;
use quote::ToTokens;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use syn::{Attribute, Item};

/// Supported version of the format.
const FORMAT: u32 = 2;
/// Attributes that affect the whole program, so that an executable cannot contain two of them.
const SHARED: [&str; 4] = ["no_mangle", "export_name", "global_allocator", "link_section"];
/// Crate attributes that affect only warnings and documentation, or restrict what a crate may use.
const WITHOUT_EFFECT: [&str; 7] = ["allow", "warn", "deny", "forbid", "expect", "doc", "no_std"];
/// Crate attributes that several doc tests can share.
const SHAREABLE: [&str; 2] = ["recursion_limit", "type_length_limit"];

/// A doc test.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DocTest {
    /// `Type::method #2`; `crate #1` for the documentation of the crate itself.
    pub name: String,
    pub should_panic: bool,
    /// Code of the doc test, or the reason why it cannot be in a bundle.
    pub code: Result<Code, NoDoctest>,
}

/// The code of a doc test.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Code {
    /// Items that only a crate root can have and that do not affect other doc tests.
    pub root: Root,
    /// `extern crate` items before the function.
    pub crates: String,
    pub body: String,
    pub main: Main,
}

/// Items of a doc test for the crate root.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Root {
    pub attributes: Vec<String>,
    /// `#[macro_use] extern crate`, bound to `_`.
    pub macros: Vec<String>,
}

/// Function that holds the code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Main {
    /// A function that returns nothing.
    Plain,
    /// A function that returns a `Result`.
    Fallible,
    /// The doc test's own `main`.
    Own,
}

#[derive(Deserialize)]
struct Header {
    format_version: u32,
}

#[derive(Deserialize)]
struct Output {
    doctests: Vec<Raw>,
}

#[derive(Deserialize)]
struct Raw {
    name: String,
    doctest_attributes: Attributes,
    original_code: String,
    doctest_code: Option<RawCode>,
}

#[derive(Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "each is an attribute of rustdoc's")]
struct Attributes {
    should_panic: bool,
    no_run: bool,
    ignore: Ignore,
    test_harness: bool,
    compile_fail: bool,
    edition: Option<String>,
}

#[derive(Deserialize)]
enum Ignore {
    All,
    None,
    /// Ignored on targets whose triple contains one of these.
    Some(Vec<String>),
}

#[derive(Deserialize)]
struct RawCode {
    crate_level: String,
    code: String,
    wrapper: Option<Wrapper>,
}

#[derive(Deserialize)]
struct Wrapper {
    returns_result: bool,
}

/// Parses rustdoc's output for a crate of this edition and target.
pub fn read(text: &str, edition: &str, triple: &str) -> Result<Vec<DocTest>, NotExtracted> {
    let other_format = |error: serde_json::Error| NotExtracted::OtherFormat { error: error.to_string() };
    let Header { format_version } = serde_json::from_str(text).map_err(other_format)?;
    if format_version != FORMAT {
        return Err(NotExtracted::OtherFormat { error: format!("format {format_version}") });
    }
    let Output { doctests } = serde_json::from_str(text).map_err(other_format)?;
    let mut numbers: BTreeMap<String, usize> = BTreeMap::new();
    let named = doctests.into_iter().map(|raw| {
        let path = item_path(&raw.name);
        let number = numbers.entry(path.clone()).or_default();
        *number += 1;
        DocTest {
            name: format!("{path} #{number}"),
            should_panic: raw.doctest_attributes.should_panic,
            code: code(raw, edition, triple),
        }
    });
    Ok(named.collect())
}

/// Parses the item in `src/lib.rs - module::Type<T>::method (line 12)`.
fn item_path(name: &str) -> String {
    let path = name.split_once(" - ").map_or(name, |(_, path)| path);
    let path = path.rsplit_once("(line ").map_or(path, |(path, _)| path).trim();
    let (mut depth, mut before, mut plain) = (0_usize, ' ', String::new());
    for letter in path.chars() {
        match letter {
            '<' => depth += 1,
            '>' if before != '-' => depth = depth.saturating_sub(1),
            _ if depth == 0 => plain.push(letter),
            _ => {}
        }
        before = letter;
    }
    let plain = plain.trim_matches(':');
    if plain.is_empty() { "crate".to_owned() } else { plain.to_owned() }
}

fn code(raw: Raw, edition: &str, triple: &str) -> Result<Code, NoDoctest> {
    let attributes = &raw.doctest_attributes;
    let is_ignored = match &attributes.ignore {
        Ignore::All => true,
        Ignore::None => false,
        Ignore::Some(targets) => targets.iter().any(|target| triple.contains(target.as_str())),
    };
    match attributes {
        _ if is_ignored => return Err(NoDoctest::Ignored),
        Attributes { compile_fail: true, .. } => return Err(NoDoctest::CompileFail),
        Attributes { no_run: true, .. } => return Err(NoDoctest::NoRun),
        Attributes { test_harness: true, .. } => return Err(NoDoctest::TestHarness),
        Attributes { edition: Some(other), .. } if other != edition => {
            return Err(NoDoctest::OtherEdition { edition: other.clone() });
        }
        _ => {}
    }
    if let Some(shared) = SHARED.into_iter().find(|shared| raw.original_code.contains(shared)) {
        return Err(NoDoctest::WholeProgram { what: shared.to_owned() });
    }
    let RawCode { crate_level, code, wrapper } =
        raw.doctest_code.ok_or_else(|| NoDoctest::DoesNotCompile { error: "no code was extracted".to_owned() })?;
    let main = match wrapper {
        None => Main::Own,
        Some(Wrapper { returns_result: true }) => Main::Fallible,
        Some(Wrapper { returns_result: false }) => Main::Plain,
    };
    let (root, crates) = crates(&crate_level)?;
    Ok(Code { root, crates, body: code, main })
}

/// Splits the items before the function into those for the crate root and those for a module.
fn crates(crate_level: &str) -> Result<(Root, String), NoDoctest> {
    let file = syn::parse_file(crate_level).map_err(|error| NoDoctest::DoesNotCompile { error: error.to_string() })?;
    let is_one_of = |attribute: &Attribute, names: &[&str]| names.iter().any(|name| attribute.path().is_ident(name));
    let mut root = Root::default();
    for attribute in file.attrs.iter().filter(|attribute| !is_one_of(attribute, &WITHOUT_EFFECT)) {
        if !is_one_of(attribute, &SHAREABLE) {
            let what = attribute.path().to_token_stream().to_string();
            return Err(NoDoctest::CrateAttribute { what });
        }
        root.attributes.push(attribute.to_token_stream().to_string());
    }
    let mut crates = TokenStream::new();
    for mut item in file.items {
        if let Item::ExternCrate(item) = &mut item {
            let macro_use = item.attrs.iter().position(|attribute| attribute.path().is_ident("macro_use"));
            if let Some(attribute) = macro_use.map(|position| item.attrs.remove(position)) {
                let (attribute, ident) = (attribute.to_token_stream(), &item.ident);
                root.macros.push(format!("{attribute} extern crate {ident} as _;"));
            }
        }
        item.to_tokens(&mut crates);
    }
    Ok((root, crates.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    #[test]
    fn the_path_of_an_item_has_no_file_line_or_generics() {
        assert_eq!(item_path("src/lib.rs - (line 3)"), "crate");
        assert_eq!(item_path("src/a.rs - a::S<T, fn(T) -> u32>::get (line 45)"), "a::S::get");
        assert_eq!(item_path("src/a.rs - <impl From<u8> for S>::from (line 4)"), "from");
        assert_eq!(item_path("README.md - mac (line 4)"), "mac");
    }

    /// Formats rustdoc's output for one doc test.
    fn output(attributes: &Value, crate_level: &str, wrapper: &Value) -> String {
        let mut all = json!({
            "should_panic": false, "no_run": false, "ignore": "None", "test_harness": false, "compile_fail": false,
            "standalone_crate": false, "edition": null
        });
        all.as_object_mut().unwrap().extend(attributes.as_object().unwrap().clone());
        let code = json!({"crate_level": crate_level, "code": "f();", "wrapper": wrapper});
        let test = json!({
            "name": "src/lib.rs - f (line 1)", "file": "src/lib.rs", "line": 1, "doctest_attributes": all,
            "original_code": "f();", "doctest_code": code
        });
        json!({"format_version": 2, "doctests": [test]}).to_string()
    }

    #[track_caller]
    fn check(attributes: &Value, crate_level: &str, expected: &NoDoctest) {
        let text = output(attributes, crate_level, &Value::Null);
        let found = read(&text, "2021", "x86_64-unknown-linux-gnu").unwrap();
        assert_eq!(found[0].code.as_ref().unwrap_err(), expected);
    }

    #[test]
    fn what_fits_no_bundle_has_its_reason() {
        check(&json!({"ignore": "All"}), "", &NoDoctest::Ignored);
        check(&json!({"ignore": {"Some": ["wasm", "x86_64"]}}), "", &NoDoctest::Ignored);
        check(&json!({"no_run": true, "compile_fail": true}), "", &NoDoctest::CompileFail);
        check(&json!({"no_run": true}), "", &NoDoctest::NoRun);
        check(&json!({"edition": "2018"}), "", &NoDoctest::OtherEdition { edition: "2018".to_owned() });
        let what = "feature".to_owned();
        check(&json!({}), "#![allow(unused)]\n#![feature(test)]\n", &NoDoctest::CrateAttribute { what });
    }

    #[test]
    fn a_doc_test_of_the_crates_own_edition_and_of_another_target_fits() {
        let attributes = json!({"edition": "2021", "ignore": {"Some": ["wasm"]}, "should_panic": true});
        let text = output(&attributes, "#![allow(unused)]\nextern crate r#demo;\n", &json!({"returns_result": true}));
        let found = read(&text, "2021", "x86_64-unknown-linux-gnu").unwrap();
        let code = found[0].code.as_ref().unwrap();
        assert_eq!((found[0].name.as_str(), found[0].should_panic, code.main), ("f #1", true, Main::Fallible));
        assert_eq!(code.crates, "extern crate r#demo ;");
    }

    #[test]
    fn what_only_the_root_of_a_crate_can_have_is_told_apart() {
        let level =
            "#![no_std]\n#![recursion_limit = \"256\"]\n#[macro_use]\nextern crate demo;\nextern crate r#other;\n";
        let (root, crates) = crates(level).unwrap();
        assert_eq!(root.attributes, ["# ! [recursion_limit = \"256\"]"]);
        assert_eq!(root.macros, ["# [macro_use] extern crate demo as _;"]);
        assert_eq!(crates, "extern crate demo ; extern crate r#other ;");
    }

    #[test]
    fn another_format_is_not_understood() {
        let found = read(r#"{"format_version": 9, "doctests": 3}"#, "2021", "");
        assert_eq!(found, Err(NotExtracted::OtherFormat { error: "format 9".to_owned() }));
    }
}
