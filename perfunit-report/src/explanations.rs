//! `cargo perfunit explain`: why tests got slower or faster, with their call trees.

use super::explained;
use super::figures::{self, Words};
use super::screen::{INDENT, Screen};
use super::style::{DIM, GOOD, Text, WARN, test_id};
use super::text::{TextOptions, heading};
use super::wire::{SCHEMA_VERSION, Test, finite, pretty};
use super::{call_tree, responsible};
use perfunit_model::format::{count, one_line};
use perfunit_model::{Explanations, Measured, TestExplained, Verdict, VersionName};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// For people.
pub fn text(explanations: &Explanations, options: &TextOptions) -> String {
    let mut screen = Screen::new(options.width, options.glyphs());
    heading(&explanations.versions.base, &explanations.versions.head, &mut screen);
    for test in &explanations.tests {
        screen.bar();
        write(test, &mut screen);
    }
    screen.bar();
    for warning in &explanations.warnings {
        screen.status("Warning", WARN, &Text::plain(one_line(&warning.to_string())));
    }
    let explained = explanations.tests.iter().filter(|test| test.answer.is_ok()).count();
    let tests = count(explanations.tests.len(), "test");
    let text = if explanations.tests.is_empty() {
        "no test of the last run got slower or faster; name a test to see its calls".to_owned()
    } else {
        format!("{explained} of {tests} explained")
    };
    screen.status("Summary", GOOD, &Text::plain(text));
    screen.finish()
}

fn write(test: &TestExplained, screen: &mut Screen) {
    let glyphs = screen.glyphs();
    let (word, style) = figures::status(test.verdict, Words::of(&test.gates));
    let mut name = test_id(&test.test);
    if let Some(measured) = &test.measured {
        let [base, head] = figures::times(measured, glyphs);
        name = name.and(format!("  {base} {} {head}  ", glyphs.arrow())).with(style, figures::phrase(measured));
    }
    screen.status(word, style, &name);
    match &test.answer {
        Ok(explanation) => {
            for line in responsible::lines(explanation, glyphs) {
                screen.below(INDENT, &Text::plain(line));
            }
            screen.blank();
            for line in call_tree::lines(explanation, glyphs) {
                screen.below(INDENT, &Text::new(DIM, line));
            }
        }
        Err(why) => screen.below(INDENT, &Text::plain(format!("not explained: {}", one_line(&why.to_string())))),
    }
}

/// The document, described in `docs/json.md`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Document {
    /// Version of the format.
    pub schema_version: u32,
    /// The version compared against.
    pub base: VersionName,
    /// The version under test.
    pub head: VersionName,
    /// The tests.
    pub tests: Vec<TestDocument>,
    /// What the user should know.
    pub warnings: Vec<String>,
}

/// One test.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TestDocument {
    /// Which test.
    #[serde(flatten)]
    pub test: Test,
    /// As in `diff`.
    pub verdict: Verdict,
    /// Time of one run of the test body on base, ns; null unless it was measured.
    pub base_ns: Option<f64>,
    /// The same on head.
    pub head_ns: Option<f64>,
    /// Head's change, as a fraction of base.
    pub change: Option<f64>,
    /// Lower end of its interval.
    pub low: Option<f64>,
    /// Upper end of its interval.
    pub high: Option<f64>,
    /// As in `diff`.
    pub explanation: Option<explained::Explanation>,
    /// Why there is none.
    pub unexplained_because: Option<String>,
}

/// For programs.
pub fn json(explanations: &Explanations) -> String {
    let test = |test: &TestExplained| {
        let figure = |of: fn(&Measured) -> f64| test.measured.as_ref().and_then(|measured| finite(of(measured)));
        TestDocument {
            test: Test::from(&test.test),
            verdict: test.verdict,
            base_ns: figure(|measured| measured.base_ns),
            head_ns: figure(|measured| measured.head_ns),
            change: figure(|measured| measured.change.estimate),
            low: figure(|measured| measured.change.low),
            high: figure(|measured| measured.change.high),
            explanation: test.answer.as_ref().ok().map(explained::Explanation::from),
            unexplained_because: test.answer.as_ref().err().map(ToString::to_string),
        }
    };
    pretty(&Document {
        schema_version: SCHEMA_VERSION,
        base: explanations.versions.base.clone(),
        head: explanations.versions.head.clone(),
        tests: explanations.tests.iter().map(test).collect(),
        warnings: explanations.warnings.iter().map(ToString::to_string).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use perfunit_model::format::without_escapes;
    use perfunit_model::samples::{self, base, head, whole};
    use perfunit_model::{Metric, Sides, Unexplained};
    use snapbox::{IntoData, assert_data_eq, str};

    #[test]
    fn each_test_has_its_responsible_functions_and_its_calls_or_why_not() {
        let explanation = whole().outcomes.swap_remove(2).explanation.unwrap();
        let test = |name: &str, answer| TestExplained {
            test: samples::test(name),
            verdict: Verdict::Slower,
            gates: vec![Metric::Time],
            measured: Some(samples::measured(1_000.0, 0.41)),
            answer,
        };
        let tests = vec![test("a", Ok(explanation)), test("b", Err(Unexplained::WholeProcesses))];
        let explanations = Explanations { versions: Sides { base: base(), head: head() }, tests, warnings: Vec::new() };
        let options = TextOptions { width: 0, verbose: false, unicode: true };
        assert_data_eq!(without_escapes(&text(&explanations, &options)), str![[r"
   Comparing  main (3f2a91c) → working tree (8d01e7b + changes)
────────────
      Slower  mycrate a  1.00 µs → 1.41 µs  +41.0 % [+40.0 %, +42.0 %]
              responsible: lexer::word (src/lexer.rs:12): +400 ns [+390 ns, +410 ns], 98 % of the difference: each of its calls calls parser::Parser::line 3 times instead of once (source unchanged)
              cause: 31 % of the difference is in functions with unchanged source; other changes that can reach them: Cargo.toml: profile.bench.lto

                1.00 µs →   1.41 µs               (the test)
                 900 ns →   1.30 µs                 parser::Parser::line (src/parser.rs:88) x1
                 500 ns →    900 ns                   lexer::word (src/lexer.rs:12) x3
────────────
      Slower  mycrate b  1.00 µs → 1.41 µs  +41.0 % [+40.0 %, +42.0 %]
              not explained: whole processes were measured, and only calls can be explained
────────────
     Summary  1 of 2 tests explained

"]].raw());
    }
}
