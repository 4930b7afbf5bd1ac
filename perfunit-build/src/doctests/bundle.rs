//! The crate that contains all doc tests of a library, each in a module so that its names stay private.

use super::extraction::{Code, Main};
use crate::shadow::MACROS;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::ops::Range;

/// Name of each test's function.
const FUNCTION: &str = "doc";

/// A doc test to include in a bundle.
#[derive(Debug, Clone)]
pub struct Part<'a> {
    pub module: String,
    pub should_panic: bool,
    pub code: &'a Code,
    pub attribute: Attribute,
}

/// Test attribute of a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Attribute {
    /// Ours, which makes constants opaque.
    Ours,
    /// The built-in one, for code that does not compile with ours.
    BuiltIn,
}

/// Source of the crate.
#[derive(Debug)]
pub struct Bundle {
    pub text: String,
    /// Parts that need each of the first lines, which parts can share.
    root: Vec<Vec<usize>>,
    /// Line range of each part, counted from 1.
    lines: Vec<Range<usize>>,
}

impl Bundle {
    /// Builds a bundle. `library` is the crate that the doc tests belong to.
    pub fn new(parts: &[Part<'_>], library: &str, edition: &str) -> Self {
        let (mut text, root) = root(parts);
        text.push_str(MACROS);
        text.push('\n');
        if edition == "2015" {
            // In this edition, `use` paths start at the crate root.
            let _ = writeln!(text, "extern crate r#{library};");
        }
        let mut lines = Vec::new();
        for part in parts {
            let first = text.lines().count() + 1;
            text.push_str(&module(part));
            lines.push(first..text.lines().count() + 1);
        }
        Self { text, root, lines }
    }

    /// Returns the parts that a line belongs to.
    pub fn parts_at(&self, line: usize) -> Vec<usize> {
        let shared = line.checked_sub(1).and_then(|line| self.root.get(line));
        shared
            .cloned()
            .unwrap_or_else(|| self.lines.iter().position(|lines| lines.contains(&line)).into_iter().collect())
    }
}

/// Merges the lines for the crate root, one attribute per name, and returns the parts that need each.
fn root(parts: &[Part<'_>]) -> (String, Vec<Vec<usize>>) {
    let name = |attribute: &str| attribute.split('=').next().unwrap_or_default().to_owned();
    let mut lines: Vec<(String, &str, Vec<usize>)> = Vec::new();
    let attributes = parts.iter().enumerate().flat_map(|(part, of)| {
        of.code.root.attributes.iter().map(move |attribute| (part, name(attribute), attribute.as_str()))
    });
    let macros = parts
        .iter()
        .enumerate()
        .flat_map(|(part, of)| of.code.root.macros.iter().map(move |line| (part, line.clone(), line.as_str())));
    for (part, key, line) in attributes.chain(macros) {
        match lines.iter_mut().find(|(known, ..)| *known == key) {
            Some((.., parts)) => parts.push(part),
            None => lines.push((key, line, vec![part])),
        }
    }
    let text = lines.iter().flat_map(|(_, line, _)| [line, "\n"]).collect();
    (text, lines.into_iter().map(|(.., parts)| parts).collect())
}

fn module(part: &Part<'_>) -> String {
    let Part { module, should_panic, code: Code { crates, body, main, .. }, attribute } = part;
    let should_panic = if *should_panic { "#[should_panic]" } else { "" };
    let test = match attribute {
        Attribute::Ours => "#[test]",
        Attribute::BuiltIn => "#[::std::prelude::v1::test]",
    };
    let start = format!("mod {module} {{\n{crates}\n");
    let test = format!("{test} {should_panic}\nfn {FUNCTION}()");
    match main {
        Main::Plain => format!("{start}{test} {{\n{body}\n}}\n}}\n"),
        Main::Fallible => {
            let result = "::std::result::Result<(), impl ::std::fmt::Debug>";
            format!("{start}{test} -> {result} {{\n{body}\n}}\n}}\n")
        }
        Main::Own => {
            let passes = "::std::process::Termination::report(main()) == ::std::process::ExitCode::SUCCESS";
            format!("{start}{body}\n{test} {{ ::std::assert!({passes}); }}\n}}\n")
        }
    }
}

/// Returns a module name for a doc test that is not in `used`, and adds it there.
pub fn module_for(name: &str, used: &mut BTreeSet<String>) -> String {
    let mut module: String = name.chars().map(|letter| if letter.is_alphanumeric() { letter } else { '_' }).collect();
    while !used.insert(module.clone()) {
        module.push('_');
    }
    module
}

/// Returns the name of a part's test, as libtest prints it.
pub fn test_in(module: &str) -> String {
    format!("{module}::{FUNCTION}")
}

#[cfg(test)]
mod tests {
    use super::super::extraction::Root;
    use super::*;

    #[test]
    fn each_doc_test_has_a_module_and_its_lines() {
        let limit =
            |limit: u32| Root { attributes: vec![format!("#![recursion_limit = \"{limit}\"]")], macros: Vec::new() };
        let code =
            |main| Code { root: limit(main as u32), crates: String::new(), body: "fn main() {\n}".to_owned(), main };
        let codes = [Main::Plain, Main::Fallible, Main::Own].map(code);
        let mut used = BTreeSet::new();
        let part = |(number, code)| Part {
            module: module_for(&format!("S::get #{number}"), &mut used),
            should_panic: false,
            code,
            attribute: Attribute::Ours,
        };
        let parts: Vec<Part<'_>> = codes.iter().enumerate().map(part).collect();
        let bundle = Bundle::new(&parts, "demo", "2021");
        assert!(syn::parse_file(&bundle.text).is_ok(), "{}", bundle.text);
        assert_eq!(bundle.text.matches("recursion_limit").count(), 1);
        assert_eq!(bundle.parts_at(1), [0, 1, 2]);
        for (line, text) in bundle.text.lines().enumerate().filter(|(_, text)| text.starts_with("mod ")) {
            let part = bundle.parts_at(line + 1)[0];
            assert!(text.contains(&parts[part].module));
            assert_eq!(bundle.parts_at(line).first().copied(), part.checked_sub(1));
        }
    }

    #[test]
    fn modules_differ_where_names_do() {
        let mut used = BTreeSet::new();
        let modules = ["a::b #1", "a__b #1", "a::b #1"].map(|name| module_for(name, &mut used));
        assert_eq!(modules, ["a__b__1", "a__b__1_", "a__b__1__"]);
    }
}
