//! Impact of functions: the tests that spend time in a function, its callers as trees, and the JSON form.

use super::explanations;
use super::terminal::{DIM, GOOD, INDENT, STRONG, Screen, Text, test_id};
use super::text::TextOptions;
use super::wire::{SCHEMA_VERSION, Test, finite, pretty};
use perfunit_model as model;
use perfunit_model::format::{self, Glyphs};
use perfunit_model::{Engine, Forest, Function, FunctionImpact, TestImpact};
use serde::{Deserialize, Serialize};

/// Tests shown per function without `--verbose`.
const SHOWN: usize = 20;

/// Returns each function with its tests, the largest share of a test's time first.
pub fn text(impact: &model::Impact, options: &TextOptions) -> String {
    let mut screen = Screen::new(options.width, options.glyphs);
    if impact.functions.len() > 1 {
        let text =
            format!("{} match this path; a longer path selects one", format::count(impact.functions.len(), "function"));
        screen.status("Several", STRONG, &Text::plain(text));
    }
    for function in &impact.functions {
        write(function, impact.engine, options, &mut screen);
    }
    screen.finish()
}

fn write(found: &FunctionImpact, engine: Engine, options: &TextOptions, screen: &mut Screen) {
    screen.status("Function", GOOD, &name(&found.function).and(": ").join(summary(found, engine, screen.glyphs())));
    let width = format::cost_width(engine);
    let header =
        format!("{:>7}  {:>8}  {:<20} {:>width$}  {:>8}", "self", "callees", of_the_test(engine), "per run", "calls");
    screen.line(&Text::default().pad(INDENT).with(DIM, header));
    let shown = options.detail.limit(SHOWN);
    for test in found.tests.iter().take(shown) {
        screen.line(&row(test, engine, screen.glyphs()));
    }
    screen.more(INDENT, found.tests.len().saturating_sub(shown));
}

/// Names what the shares refer to.
pub(super) fn of_the_test(engine: Engine) -> &'static str {
    match engine {
        Engine::Probes => "of the test's time",
        Engine::Callgrind => "of its instructions",
        Engine::SystemCalls => "of its system calls",
        Engine::SystemTime => "of its time in system calls",
    }
}

fn summary(found: &FunctionImpact, engine: Engine, glyphs: Glyphs) -> Text {
    let [max, mean, min] =
        [found.cost.max, found.cost.mean, found.cost.min].map(|cost| format::cost(cost, engine, glyphs));
    let tests = format::count(found.tests.len(), "test");
    let spread = if found.tests.len() > 1 { format!(", {min} to {max} per run, mean {mean}") } else { String::new() };
    Text::plain(tests).and(spread)
}

fn row(test: &TestImpact, engine: Engine, glyphs: Glyphs) -> Text {
    let share = |share: f64| format!("{:.1} %", 100.0 * share);
    let figures = format!("{:>7}  {:>8}  ", share(test.self_share), share(test.children_share));
    let width = format::cost_width(engine);
    let costs = format!(" {:>width$}  {:>8}  ", format::cost(test.cost, engine, glyphs), calls(test.calls));
    let bar = gauge(test.self_share, test.children_share, glyphs);
    Text::default().pad(INDENT).and(figures).join(bar).and(costs).join(test_id(&test.test))
}

pub(super) fn name(function: &Function) -> Text {
    let place = format!("({}:{})", format::one_line(&function.file), function.line);
    Text::new(STRONG, format::one_line(&function.name)).and(" ").with(DIM, place)
}

/// Formats the calls of one run.
pub(super) fn calls(calls: f64) -> String {
    if calls >= 100.0 { format!("x{}", format::large_count(calls)) } else { format!("x{}", format::calls(calls)) }
}

/// Returns the JSON document.
pub fn json(impact: &model::Impact) -> String {
    let functions = impact.functions.iter().map(FunctionTests::from).collect();
    pretty(&Document { schema_version: SCHEMA_VERSION, unit: explanations::unit(impact.engine).to_owned(), functions })
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Document {
    pub schema_version: u32,
    /// Unit of all costs: `ns` or `instructions`.
    pub unit: String,
    /// The functions that match the requested path.
    pub functions: Vec<FunctionTests>,
}

/// A function with its tests.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FunctionTests {
    pub function: Function,
    /// Cost of the function including its callees, over its tests.
    pub cost: Spread,
    /// Its tests, ordered by the function's share of their time, the largest first.
    pub tests: Vec<TestShare>,
}

/// A cost over tests, per run.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    pub max: Option<f64>,
    pub mean: Option<f64>,
    pub min: Option<f64>,
}

/// Share of a function in one test.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TestShare {
    #[serde(flatten)]
    pub test: Test,
    /// The function's own share of the test's cost.
    pub self_share: Option<f64>,
    /// Share of the function's callees in the test's cost.
    pub children_share: Option<f64>,
    /// Cost of the function including its callees, per run.
    pub cost: Option<f64>,
    /// Calls per run.
    pub calls: Option<f64>,
}

impl From<model::Spread> for Spread {
    fn from(spread: model::Spread) -> Self {
        let model::Spread { max, mean, min } = spread;
        Self { max: finite(max), mean: finite(mean), min: finite(min) }
    }
}

impl From<&FunctionImpact> for FunctionTests {
    fn from(found: &FunctionImpact) -> Self {
        let tests = found.tests.iter().map(TestShare::from).collect();
        Self { function: found.function.clone(), cost: found.cost.into(), tests }
    }
}

impl From<&TestImpact> for TestShare {
    fn from(test: &TestImpact) -> Self {
        Self {
            test: Test::from(&test.test),
            self_share: finite(test.self_share),
            children_share: finite(test.children_share),
            cost: finite(test.cost),
            calls: finite(test.calls),
        }
    }
}

/// Nodes with a smaller share of the cost are folded.
const LEAST_SHARE: f64 = 0.01;

/// Writes the tree, callers first, without folded nodes; nothing for a forest without tests.
pub fn write_forest(forest: &Forest, screen: &mut Screen) {
    if forest.nodes.is_empty() {
        return;
    }
    screen.status("Trees", STRONG, &Text::plain("all tests merged, one run of each"));
    add_node(forest, 0, 0, screen);
}

fn add_node(forest: &Forest, index: usize, depth: usize, screen: &mut Screen) {
    let line = forest_line(forest, index, depth, screen);
    screen.line(&line);
    let (shown, folded): (Vec<usize>, Vec<usize>) =
        forest.nodes[index].children.iter().partition(|child| forest.nodes[**child].share >= LEAST_SHARE);
    for child in shown {
        add_node(forest, child, depth + 1, screen);
    }
    if !folded.is_empty() {
        let place = format::cost_width(forest.engine) + 16;
        let more = format!("{:>place$}{}({} more)", "", "  ".repeat(depth + 1), folded.len());
        screen.line(&Text::default().pad(INDENT).with(DIM, more));
    }
}

fn forest_line(forest: &Forest, index: usize, depth: usize, screen: &Screen) -> Text {
    let node = &forest.nodes[index];
    let share = format!("{:.1} %", 100.0 * node.share);
    let time = format::cost(node.total_cost, forest.engine, screen.glyphs());
    let width = format::cost_width(forest.engine);
    let figures = format!("{share:>7} {time:>width$}  {:>5}  {}", node.tests, "  ".repeat(depth));
    let name = match node.function {
        Some(function) => name(&forest.functions[function]).with(DIM, format!(" {}", calls(node.calls))),
        None if index == 0 => Text::plain("(the tests)"),
        None => Text::plain("(threads)"),
    };
    Text::default().pad(INDENT - 1).and(figures).join(name)
}

/// A function at one place in the merged tree.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Node {
    /// Index in `functions`; null for the tests themselves and for threads that they start.
    pub function: Option<usize>,
    /// Number of tests with this node.
    pub tests: usize,
    /// Calls, summed over one run of each test.
    pub calls: Option<f64>,
    /// The function's own cost, summed over one run of each test.
    pub self_cost: Option<f64>,
    /// The function's cost including its callees, summed over one run of each test.
    pub total_cost: Option<f64>,
    /// `total_cost` as a fraction of the cost of all tests.
    pub share: Option<f64>,
    pub children: Vec<usize>,
}

/// Returns the nodes of the JSON document.
pub fn nodes(forest: &Forest) -> Vec<Node> {
    let nodes = forest.nodes.iter().map(|node| Node {
        function: node.function,
        tests: node.tests,
        calls: finite(node.calls),
        self_cost: finite(node.self_cost),
        total_cost: finite(node.total_cost),
        share: finite(node.share),
        children: node.children.clone(),
    });
    nodes.collect()
}

/// Width of a full bar in columns.
pub const GAUGE_WIDTH: usize = 20;

/// Returns a bar of [`GAUGE_WIDTH`] columns for two fractions of 1. A fraction above zero has at least one column if
/// there is room.
pub fn gauge(own: f64, below: f64, glyphs: Glyphs) -> Text {
    let (full, light) = match glyphs {
        Glyphs::Unicode => ("█", "░"),
        Glyphs::Ascii => ("#", "-"),
    };
    let own = columns(own).min(GAUGE_WIDTH);
    let below = columns(below).min(GAUGE_WIDTH - own);
    Text::new(STRONG, full.repeat(own)).with(DIM, light.repeat(below)).pad(GAUGE_WIDTH - own - below)
}

/// Returns the columns of a fraction; less than half a per cent has none.
fn columns(share: f64) -> usize {
    let columns = (share.clamp(0.0, 1.0) * GAUGE_WIDTH as f64).round() as usize;
    if columns == 0 && share >= 0.005 { 1 } else { columns }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::Detail;
    use perfunit_explain::impact;
    use perfunit_model::format::{Glyphs, without_escapes};
    use perfunit_model::samples::explanation;
    use perfunit_model::{Explanation, Profiles, Side};

    const ASCII: TextOptions = TextOptions { width: 0, detail: Detail::Brief, glyphs: Glyphs::Ascii };

    #[test]
    fn a_function_has_a_bar_for_each_test() {
        let found = impact(&Profiles::of(Engine::Probes, [&explanation()], Side::Base), "Parser::line").unwrap();
        let expected = "    Function  parser::Parser::line (src/parser.rs:88): 1 test
                 self   callees  of the test's time     per run     calls
               40.0 %    50.0 %  ########----------      900 ns        x1  mycrate parser::tests::long
";
        assert_eq!(without_escapes(&text(&found, &ASCII)), expected);
    }

    #[test]
    fn instructions_are_no_time() {
        let counted = Explanation { engine: Engine::Callgrind, ..explanation() };
        let found = impact(&Profiles::of(Engine::Callgrind, [&counted], Side::Base), "Parser::line").unwrap();
        let shown = without_escapes(&text(&found, &ASCII));
        assert!(shown.contains("of its instructions") && shown.contains(" 900 instr "), "{shown}");
        assert!(!shown.contains(" ns ") && !shown.contains("time"), "{shown}");
        let document: Document = serde_json::from_str(&json(&found)).unwrap();
        assert_eq!(document.unit, "instructions");
    }

    #[test]
    fn several_functions_are_told_apart_by_their_places() {
        let mut profile = explanation().profile(Side::Head);
        profile.functions[1] = Function { name: "other::Parser::line".into(), ..profile.functions[1].clone() };
        let shown = without_escapes(&text(
            &impact(&Profiles { engine: Engine::Probes, tests: vec![profile] }, "line").unwrap(),
            &ASCII,
        ));
        assert!(shown.contains("2 functions match this path"), "{shown}");
        assert!(shown.contains("(src/parser.rs:88)") && shown.contains("(src/lexer.rs:12)"), "{shown}");
    }

    #[test]
    fn the_document_can_be_read_again() {
        let found = impact(&Profiles::of(Engine::Probes, [&explanation()], Side::Base), "Parser::line").unwrap();
        let document: Document = serde_json::from_str(&json(&found)).unwrap();
        let [function] = &document.functions[..] else { panic!("{document:?}") };
        assert_eq!(function.cost, Spread { max: Some(900.0), mean: Some(900.0), min: Some(900.0) });
        assert_eq!(
            (function.tests[0].self_share, function.tests[0].test.name.as_str()),
            (Some(0.4), "parser::tests::long")
        );
    }

    #[track_caller]
    fn check(own: f64, below: f64, expected: &str) {
        let bar = without_escapes(&gauge(own, below, Glyphs::Ascii).to_string());
        assert_eq!(bar, format!("{expected:<20}"));
    }

    #[test]
    fn both_parts_are_drawn_to_scale() {
        check(0.5, 0.25, "##########-----");
        check(0.0, 1.0, "--------------------");
        check(0.001, 0.0, "");
        check(0.01, 0.01, "#-");
        check(1.0, 0.1, "####################");
        check(f64::NAN, 0.5, "----------");
    }

    #[test]
    fn blocks_where_the_terminal_can_show_them() {
        let bar = without_escapes(&gauge(0.1, 0.1, Glyphs::Unicode).to_string());
        assert_eq!(bar.trim_end(), "██░░");
    }
}
