//! Explanations of several tests: in the terminal, and as JSON documents.

use super::causes;
use super::figures::{self, Words};
use super::terminal::{DIM, GOOD, INDENT, Screen, Text, WARN, test_id};
use super::text::{TextOptions, heading};
use super::wire::{Interval, SCHEMA_VERSION, Test, finite, finite_sides, pretty};
use perfunit_model as model;
use perfunit_model::format::{count, one_line};
use perfunit_model::{
    CallNode, Engine, Explanations, Measured, Responsibility, Sides, Strategy, TestExplained, Verdict, VersionName,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Returns the text for the terminal.
pub fn text(explanations: &Explanations, options: &TextOptions) -> String {
    let mut screen = Screen::new(options.width, options.glyphs);
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
            for line in causes::lines(explanation, glyphs) {
                screen.below(INDENT, &Text::plain(line));
            }
            screen.blank();
            for line in causes::tree_lines(explanation, glyphs) {
                screen.below(INDENT, &Text::new(DIM, line));
            }
        }
        Err(why) => screen.below(INDENT, &Text::plain(format!("not explained: {}", one_line(&why.to_string())))),
    }
}

/// The JSON document of `explain`, described in `docs/json.md`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Document {
    /// Version of the format.
    pub schema_version: u32,
    /// The version compared against.
    pub base: VersionName,
    /// The version under test.
    pub head: VersionName,
    /// The explained tests.
    pub tests: Vec<TestDocument>,
    /// Warnings.
    pub warnings: Vec<String>,
}

/// The explanation of one test.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TestDocument {
    /// The test.
    #[serde(flatten)]
    pub test: Test,
    /// The verdict, the same as in `diff`.
    pub verdict: Verdict,
    /// Time of one run of the test body on base, ns; null unless it was measured.
    pub base_ns: Option<f64>,
    /// Time of one run on head, ns.
    pub head_ns: Option<f64>,
    /// Change of head against base, as a fraction of base.
    pub change: Option<f64>,
    /// Lower end of the change's interval.
    pub low: Option<f64>,
    /// Upper end of the change's interval.
    pub high: Option<f64>,
    /// The explanation, the same as in `diff`.
    pub explanation: Option<Explanation>,
    /// The reason for a missing explanation.
    pub unexplained_because: Option<String>,
}

/// Returns the JSON document.
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
            explanation: test.answer.as_ref().ok().map(Explanation::from),
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

/// The explanation of a slower or faster test. Costs are in `unit`; costs and calls are those of one run of the test
/// body.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Explanation {
    /// How costs were counted.
    pub engine: Engine,
    /// `ns`, `instructions` or `system calls`.
    pub unit: String,
    /// How functions to time were chosen.
    pub strategy: Strategy,
    /// Wall time of the explanation without builds, in seconds.
    pub seconds: Option<f64>,
    /// Pairs of processes behind the intervals.
    pub pairs: usize,
    /// The test's cost with probes, after subtracting the probes' calibrated cost.
    pub cost: Sides<Option<f64>>,
    /// Difference of `cost`, head minus base.
    pub difference: Interval,
    /// Base's `cost` as a multiple of its time without probes.
    pub distortion: Option<f64>,
    /// The subtracted cost of the probes.
    pub probe_cost: Sides<Option<f64>>,
    /// The responsible functions, the largest share first.
    pub responsible: Vec<Responsible>,
    /// Other changes that may be the cause, the largest share first.
    #[serde(default)]
    pub causes: Vec<Cause>,
    /// True if workspace code that the test can reach changed; null if this is not known.
    #[serde(default)]
    pub code_changed: Option<bool>,
    /// The functions in the call tree.
    pub functions: Vec<model::Function>,
    /// The call tree; the first node is the test.
    pub nodes: Vec<Node>,
    /// Functions of head without a probe, counted by reason.
    pub without_probe: BTreeMap<String, usize>,
    /// Change of executed instructions, as a fraction of base; null unless callgrind counted them.
    #[serde(default)]
    pub instructions: Option<f64>,
    /// Remarks.
    pub notes: Vec<String>,
}

/// A responsible function.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Responsible {
    /// Index in `functions`.
    pub function: usize,
    /// `own`: its calls take more or less time; `calls`: it calls another one more or less often.
    pub kind: String,
    /// The function's part of the difference, as a cost.
    pub difference: Interval,
    /// Share as a fraction of the test's difference.
    pub share: Option<f64>,
    /// Calls per run.
    pub calls: Sides<Option<f64>>,
    /// For `calls`: index in `functions` of the callee that is called more or less often.
    pub callee: Option<usize>,
    /// For `calls`: calls of the callee per call of this function.
    pub calls_each: Option<Sides<Option<f64>>>,
    /// The change of the function's source in words; null if the source is unchanged.
    pub changed: Option<String>,
    /// Callers with unchanged source that contribute to `difference`, because calls are too short to be timed
    /// separately: indices in `functions`, null for the test.
    #[serde(default)]
    pub not_apart: Vec<Option<usize>>,
}

/// A change outside the functions with probes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Cause {
    /// The change in words: `serde 1.0.200 -> 1.0.219`.
    pub text: String,
    /// The change as data, by `kind`.
    #[serde(flatten)]
    pub changed: model::Changed,
    /// Fraction of the test's difference that is attributed to unchanged functions that this change can reach.
    pub share: Option<f64>,
}

/// A node of the call tree.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Node {
    /// Index in `functions`; null for the test and for threads that it starts.
    pub function: Option<usize>,
    /// Calls of the function at this node.
    pub calls: Sides<Option<f64>>,
    /// The function's own cost.
    pub self_cost: Sides<Option<f64>>,
    /// The function's cost including its callees.
    pub total_cost: Sides<Option<f64>>,
    /// Head minus base of `self_cost`.
    pub self_difference: Interval,
    /// Head minus base of `total_cost`.
    pub total_difference: Interval,
    /// Indices in `nodes`.
    pub children: Vec<usize>,
}

impl From<&model::Explanation> for Explanation {
    fn from(explanation: &model::Explanation) -> Self {
        Self {
            engine: explanation.engine,
            unit: unit(explanation.engine).to_owned(),
            strategy: explanation.strategy,
            seconds: finite(explanation.seconds),
            pairs: explanation.pairs,
            cost: finite_sides(explanation.cost),
            difference: explanation.change.into(),
            distortion: finite(explanation.distortion),
            probe_cost: finite_sides(explanation.probe_cost),
            responsible: explanation.responsible.iter().map(Responsible::from).collect(),
            causes: explanation.causes.iter().map(Cause::from).collect(),
            code_changed: explanation.code_changed,
            functions: explanation.functions.clone(),
            nodes: explanation.nodes.iter().map(Node::from).collect(),
            instructions: explanation.instructions.and_then(finite),
            without_probe: explanation.without_probe.iter().map(|(why, count)| (why.to_string(), *count)).collect(),
            notes: explanation.notes.iter().map(ToString::to_string).collect(),
        }
    }
}

/// Returns the unit of costs.
pub(super) fn unit(engine: Engine) -> &'static str {
    match engine {
        Engine::Probes | Engine::SystemTime => "ns",
        Engine::Callgrind => "instructions",
        Engine::SystemCalls => "system calls",
    }
}

impl From<&model::ResponsibleFunction> for Responsible {
    fn from(responsible: &model::ResponsibleFunction) -> Self {
        let (kind, callee) = match responsible.how {
            Responsibility::ItsOwn => ("own", None),
            Responsibility::CallsOf(callee) => ("calls", Some(callee)),
        };
        Self {
            function: responsible.function,
            kind: kind.to_owned(),
            difference: responsible.change.into(),
            share: finite(responsible.share),
            calls: finite_sides(responsible.calls),
            callee,
            calls_each: responsible.calls_each.map(finite_sides),
            changed: responsible.changed.map(|change| change.to_string()),
            not_apart: responsible.not_apart.clone(),
        }
    }
}

impl From<&model::Cause> for Cause {
    fn from(cause: &model::Cause) -> Self {
        Self { text: causes::change_words(&cause.changed), changed: cause.changed.clone(), share: finite(cause.share) }
    }
}

impl From<&CallNode> for Node {
    fn from(node: &CallNode) -> Self {
        Self {
            function: node.function,
            calls: finite_sides(node.calls),
            self_cost: finite_sides(node.self_cost),
            total_cost: finite_sides(node.total_cost),
            self_difference: node.self_change.into(),
            total_difference: node.total_change.into(),
            children: node.children.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use perfunit_model::format::{Glyphs, without_escapes};
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
        let options = TextOptions { glyphs: Glyphs::Unicode, ..TextOptions::default() };
        assert_data_eq!(without_escapes(&text(&explanations, &options)), str![[r"
   Comparing  main (3f2a91c) → working tree (8d01e7b + changes)
────────────
      Slower  mycrate a  1.00 µs → 1.41 µs  +41.0 % [+40.0 %, +42.0 %]
              responsible: lexer::word (src/lexer.rs:12): +400 ns [+390 ns, +410 ns], 98 % of the difference: calls parser::Parser::line 3 times per call instead of once (source unchanged)
              cause: 31 % of the difference is in functions with unchanged source; other changes that can reach them: Cargo.toml: profile.bench.lto

                1.00 µs →   1.41 µs               (the test)
                 900 ns →   1.30 µs                 parser::Parser::line (src/parser.rs:88) x1
                 500 ns →    900 ns                   lexer::word (src/lexer.rs:12) x3
────────────
      Slower  mycrate b  1.00 µs → 1.41 µs  +41.0 % [+40.0 %, +42.0 %]
              not explained: whole processes were measured, but only calls can be explained
────────────
     Summary  1 of 2 tests explained

"]].raw());
    }
}
