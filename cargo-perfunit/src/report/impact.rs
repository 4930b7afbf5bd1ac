//! Which tests a function matters to: bars for people, a list for programs (described in `docs/json.md`).

use super::format::{self, Glyphs};
use super::gauge::gauge;
use super::screen::{INDENT, Screen};
use super::style::{DIM, GOOD, STRONG, Text, test_id};
use super::text::TextOptions;
use super::wire::{SCHEMA_VERSION, Test, finite, pretty};
use crate::explain::{self, FunctionImpact, TestImpact};
use crate::model::Function;
use serde::{Deserialize, Serialize};

/// Tests shown of each function unless everything is asked for.
const SHOWN: usize = 20;

/// Each function with its tests, those first to whose time it contributes the largest part.
pub fn text(impact: &explain::Impact, options: &TextOptions) -> String {
    let mut screen = Screen::new(options.width, options.glyphs());
    if impact.functions.len() > 1 {
        let text =
            format!("{} match this path; a longer path selects one", format::count(impact.functions.len(), "function"));
        screen.status("Several", STRONG, &Text::plain(text));
    }
    for function in &impact.functions {
        write(function, options, &mut screen);
    }
    screen.finish()
}

fn write(found: &FunctionImpact, options: &TextOptions, screen: &mut Screen) {
    screen.status("Function", GOOD, &name(&found.function).and(": ").join(summary(found, screen.glyphs())));
    let header =
        format!("{:>7}  {:>8}  {:<20} {:>9}  {:>8}", "self", "callees", "of the test's time", "per run", "calls");
    screen.line(&Text::default().pad(INDENT).with(DIM, header));
    let shown = if options.verbose { found.tests.len() } else { SHOWN };
    for test in found.tests.iter().take(shown) {
        screen.line(&row(test, screen.glyphs()));
    }
    screen.more(INDENT, found.tests.len().saturating_sub(shown));
}

fn summary(found: &FunctionImpact, glyphs: Glyphs) -> Text {
    let [max, mean, min] = [found.ns.max, found.ns.mean, found.ns.min].map(|ns| format::duration(ns, glyphs));
    let tests = format::count(found.tests.len(), "test");
    let spread = if found.tests.len() > 1 { format!(", {min} to {max} per run, mean {mean}") } else { String::new() };
    Text::plain(tests).and(spread)
}

fn row(test: &TestImpact, glyphs: Glyphs) -> Text {
    let share = |share: f64| format!("{:.1} %", 100.0 * share);
    let figures = format!("{:>7}  {:>8}  ", share(test.self_share), share(test.children_share));
    let costs = format!(" {:>9}  {:>8}  ", format::duration(test.ns, glyphs), calls(test.calls));
    let bar = gauge(test.self_share, test.children_share, glyphs);
    Text::default().pad(INDENT).and(figures).join(bar).and(costs).join(test_id(&test.test))
}

pub(super) fn name(function: &Function) -> Text {
    let place = format!("({}:{})", format::one_line(&function.file), function.line);
    Text::new(STRONG, format::one_line(&function.name)).and(" ").with(DIM, place)
}

/// Calls of one run.
pub(super) fn calls(calls: f64) -> String {
    if calls >= 100.0 { format!("x{}", format::large_count(calls)) } else { format!("x{}", format::calls(calls)) }
}

/// The answer as a document.
pub fn json(impact: &explain::Impact) -> String {
    let functions = impact.functions.iter().map(FunctionTests::from).collect();
    pretty(&Document { schema_version: SCHEMA_VERSION, functions })
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Document {
    pub schema_version: u32,
    /// The functions with the path that was asked for.
    pub functions: Vec<FunctionTests>,
}

/// A function with its tests.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FunctionTests {
    pub function: Function,
    /// Time in it and in all that it calls, over its tests.
    pub ns: Spread,
    /// Its tests, those first to whose time it contributes the largest part.
    pub tests: Vec<TestShare>,
}

/// A time over tests, ns per run.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    pub max: Option<f64>,
    pub mean: Option<f64>,
    pub min: Option<f64>,
}

/// What a function is to one test.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TestShare {
    #[serde(flatten)]
    pub test: Test,
    /// Part of the test's time in the function itself.
    pub self_share: Option<f64>,
    /// Part of the test's time in what the function calls.
    pub children_share: Option<f64>,
    /// Time in it and in all that it calls, one run.
    pub ns: Option<f64>,
    /// Calls in one run.
    pub calls: Option<f64>,
}

impl From<explain::Spread> for Spread {
    fn from(spread: explain::Spread) -> Self {
        let explain::Spread { max, mean, min } = spread;
        Self { max: finite(max), mean: finite(mean), min: finite(min) }
    }
}

impl From<&FunctionImpact> for FunctionTests {
    fn from(found: &FunctionImpact) -> Self {
        let tests = found.tests.iter().map(TestShare::from).collect();
        Self { function: found.function.clone(), ns: found.ns.into(), tests }
    }
}

impl From<&TestImpact> for TestShare {
    fn from(test: &TestImpact) -> Self {
        Self {
            test: Test::from(&test.test),
            self_share: finite(test.self_share),
            children_share: finite(test.children_share),
            ns: finite(test.ns),
            calls: finite(test.calls),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::explain::impact;
    use crate::model::Side;
    use crate::report::format::without_escapes;
    use crate::report::samples::explanation;

    const ASCII: TextOptions = TextOptions { width: 0, verbose: false, unicode: false };

    #[test]
    fn a_function_has_a_bar_for_each_test() {
        let found = impact(&[explanation().profile(Side::Base)], "Parser::line").unwrap();
        let expected = "    Function  parser::Parser::line (src/parser.rs:88): 1 test
                 self   callees  of the test's time     per run     calls
               40.0 %    50.0 %  ########----------      900 ns        x1  mycrate parser::tests::long
";
        assert_eq!(without_escapes(&text(&found, &ASCII)), expected);
    }

    #[test]
    fn several_functions_are_told_apart_by_their_places() {
        let mut profile = explanation().profile(Side::Head);
        profile.functions[1] = Function { name: "other::Parser::line".into(), ..profile.functions[1].clone() };
        let shown = without_escapes(&text(&impact(&[profile], "line").unwrap(), &ASCII));
        assert!(shown.contains("2 functions match this path"), "{shown}");
        assert!(shown.contains("(src/parser.rs:88)") && shown.contains("(src/lexer.rs:12)"), "{shown}");
    }

    #[test]
    fn the_document_can_be_read_again() {
        let found = impact(&[explanation().profile(Side::Base)], "Parser::line").unwrap();
        let document: Document = serde_json::from_str(&json(&found)).unwrap();
        let [function] = &document.functions[..] else { panic!("{document:?}") };
        assert_eq!(function.ns, Spread { max: Some(900.0), mean: Some(900.0), min: Some(900.0) });
        assert_eq!(
            (function.tests[0].self_share, function.tests[0].test.name.as_str()),
            (Some(0.4), "parser::tests::long")
        );
    }
}
