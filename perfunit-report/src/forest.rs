//! The trees of all tests in one, each node with its share of the cost, folded where that is little.

use super::impact;
use super::screen::{INDENT, Screen};
use super::style::{DIM, STRONG, Text};
use super::wire::finite;
use perfunit_model::Forest;
use perfunit_model::format;
use serde::{Deserialize, Serialize};

/// Nodes with less than this part of the cost are folded.
const LEAST_SHARE: f64 = 0.01;

/// A line for each node that is worth one, callers first; nothing for a forest without tests.
pub fn write(forest: &Forest, screen: &mut Screen) {
    if forest.nodes.is_empty() {
        return;
    }
    screen.status("Trees", STRONG, &Text::plain("all tests merged, one run of each"));
    add(forest, 0, 0, screen);
}

fn add(forest: &Forest, index: usize, depth: usize, screen: &mut Screen) {
    let line = line(forest, index, depth, screen);
    screen.line(&line);
    let (shown, folded): (Vec<usize>, Vec<usize>) =
        forest.nodes[index].children.iter().partition(|child| forest.nodes[**child].share >= LEAST_SHARE);
    for child in shown {
        add(forest, child, depth + 1, screen);
    }
    if !folded.is_empty() {
        let place = format::cost_width(forest.engine) + 16;
        let more = format!("{:>place$}{}({} more)", "", "  ".repeat(depth + 1), folded.len());
        screen.line(&Text::default().pad(INDENT).with(DIM, more));
    }
}

fn line(forest: &Forest, index: usize, depth: usize, screen: &Screen) -> Text {
    let node = &forest.nodes[index];
    let share = format!("{:.1} %", 100.0 * node.share);
    let time = format::cost(node.total_cost, forest.engine, screen.glyphs());
    let width = format::cost_width(forest.engine);
    let figures = format!("{share:>7} {time:>width$}  {:>5}  {}", node.tests, "  ".repeat(depth));
    let name = match node.function {
        Some(function) => {
            impact::name(&forest.functions[function]).with(DIM, format!(" {}", impact::calls(node.calls)))
        }
        None if index == 0 => Text::plain("(the tests)"),
        None => Text::plain("(threads)"),
    };
    Text::default().pad(INDENT - 1).and(figures).join(name)
}

/// A function at one place of the merged tree.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Node {
    /// Index in `functions`; null for the tests themselves and for threads that they start.
    pub function: Option<usize>,
    /// Tests that pass here.
    pub tests: usize,
    /// Calls, over one run of each test.
    pub calls: Option<f64>,
    /// Of itself, over one run of each test.
    pub self_cost: Option<f64>,
    /// Of all, over one run of each test.
    pub total_cost: Option<f64>,
    /// `total_cost` as a part of that of all tests.
    pub share: Option<f64>,
    pub children: Vec<usize>,
}

/// The nodes as programs read them.
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
