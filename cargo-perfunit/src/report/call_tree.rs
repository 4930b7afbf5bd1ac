//! The call tree of both versions side by side, folded where nothing changed.

use super::format::{self, Glyphs};
use crate::model::{CallNode, Explanation, Sides};

/// Nodes below which less than this part of the larger side's time passes are folded, unless they differ.
const LEAST_PART: f64 = 0.01;

/// A line for each node that is worth one, callers first.
pub fn lines(explanation: &Explanation, glyphs: Glyphs) -> Vec<String> {
    let mut lines = Vec::new();
    let whole = explanation.ns.base.max(explanation.ns.head);
    add(explanation, 0, 0, LEAST_PART * whole, glyphs, &mut lines);
    lines.extend(without_probe(explanation));
    lines
}

/// What the tree cannot show, if anything.
fn without_probe(explanation: &Explanation) -> Option<String> {
    let reasons: Vec<_> = explanation.without_probe.iter().map(|(why, count)| format!("{count} {why}")).collect();
    (!reasons.is_empty())
        .then(|| format!("functions without a probe, whose time is their callers': {}", reasons.join(", ")))
}

fn add(explanation: &Explanation, index: usize, depth: usize, least: f64, glyphs: Glyphs, lines: &mut Vec<String>) {
    let node = &explanation.nodes[index];
    lines.push(line(explanation, node, depth, glyphs));
    let (shown, folded): (Vec<usize>, Vec<usize>) = node.children.iter().partition(|child| {
        let child = &explanation.nodes[**child];
        child.total_change.is_certain() || child.total_ns.base.max(child.total_ns.head) >= least
    });
    for child in shown {
        add(explanation, child, depth + 1, least, glyphs, lines);
    }
    if !folded.is_empty() {
        let indent = "  ".repeat(depth + 1);
        lines.push(format!("{:>37}  {indent}({} more)", "", folded.len()));
    }
}

fn line(explanation: &Explanation, node: &CallNode, depth: usize, glyphs: Glyphs) -> String {
    let Sides { base, head } = node.total_ns.map(|cost| format::cost(cost, explanation.engine, glyphs));
    let change = node.total_change;
    let change = if change.is_certain() {
        let sign = if change.estimate < 0.0 { "-" } else { "+" };
        format!("{sign}{}", format::cost(change.estimate.abs(), explanation.engine, glyphs))
    } else {
        String::new()
    };
    let name = match node.function {
        None => "(the test)".to_owned(),
        Some(function) => {
            let function = &explanation.functions[function];
            format!("{} ({}:{})", function.name, function.file, function.line)
        }
    };
    let calls = if node.function.is_some() { calls(node.calls) } else { String::new() };
    format!("{base:>9} {} {head:>9} {change:>12}  {}{name}{calls}", glyphs.arrow(), "  ".repeat(depth))
}

fn calls(calls: Sides<f64>) -> String {
    let number = |calls: f64| if calls >= 10.0 { format!("{calls:.0}") } else { format!("{calls:.2}") };
    let [base, head] = [number(calls.base), number(calls.head)];
    if base == head { format!(" x{head}") } else { format!(" x{head} for {base}") }
}
