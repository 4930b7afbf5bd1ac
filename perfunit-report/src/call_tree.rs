//! The call tree of both versions side by side, folded where nothing changed: what text and HTML share, and its lines.

use super::responsible::{place, signed};
use perfunit_model::format::{self, Glyphs};
use perfunit_model::{CallNode, Explanation, Sides};

/// Nodes below which less than this part of the larger side's time passes are folded, unless they differ.
const LEAST_PART: f64 = 0.01;

/// The callees of a node that are worth showing, and how many are not.
pub fn callees(explanation: &Explanation, node: &CallNode) -> (Vec<usize>, usize) {
    let least = LEAST_PART * explanation.cost.base.max(explanation.cost.head);
    let matters = |child: &&usize| {
        let child = &explanation.nodes[**child];
        child.total_change.is_certain() || child.total_cost.base.max(child.total_cost.head) >= least
    };
    let shown: Vec<usize> = node.children.iter().filter(matters).copied().collect();
    let folded = node.children.len() - shown.len();
    (shown, folded)
}

/// What the tree cannot show, if anything.
pub fn without_probe(explanation: &Explanation) -> Option<String> {
    let reasons: Vec<_> = explanation.without_probe.iter().map(|(why, count)| format!("{why} ({count})")).collect();
    (!reasons.is_empty())
        .then(|| format!("functions without a probe, their time counted for their callers: {}", reasons.join(", ")))
}

/// The difference, if it is certain.
pub fn change(explanation: &Explanation, node: &CallNode, glyphs: Glyphs) -> Option<String> {
    let change = node.total_change;
    change.is_certain().then(|| signed(change.estimate, explanation.engine, glyphs))
}

/// A line for each node that is worth one, callers first.
pub fn lines(explanation: &Explanation, glyphs: Glyphs) -> Vec<String> {
    let mut lines = Vec::new();
    // Nodes still to be written, the next one last, or how many were folded there.
    let mut open = vec![(0, Ok(0))];
    while let Some((depth, next)) = open.pop() {
        match next {
            Ok(index) => {
                let node = &explanation.nodes[index];
                lines.push(line(explanation, node, depth, glyphs));
                let (shown, folded) = callees(explanation, node);
                open.extend((folded > 0).then_some((depth + 1, Err(folded))));
                open.extend(shown.into_iter().rev().map(|child| (depth + 1, Ok(child))));
            }
            Err(folded) => {
                let place = 3 * format::cost_width(explanation.engine) + 10;
                lines.push(format!("{:>place$}  {}({folded} more)", "", "  ".repeat(depth)));
            }
        }
    }
    lines.extend(without_probe(explanation));
    lines
}

fn line(explanation: &Explanation, node: &CallNode, depth: usize, glyphs: Glyphs) -> String {
    let Sides { base, head } = node.total_cost.map(|cost| format::cost(cost, explanation.engine, glyphs));
    let change = change(explanation, node, glyphs).unwrap_or_default();
    let name = match node.function {
        None => if depth == 0 { "(the test)" } else { "(threads)" }.to_owned(),
        Some(function) => {
            let Sides { base, head } = node.calls.map(format::calls);
            let calls = if base == head { format!("x{head}") } else { format!("x{head} for {base}") };
            format!("{} {calls}", place(&explanation.functions[function]))
        }
    };
    let width = format::cost_width(explanation.engine);
    let of_change = width + 3;
    format!("{base:>width$} {} {head:>width$} {change:>of_change$}  {}{}", glyphs.arrow(), "  ".repeat(depth), name)
}
