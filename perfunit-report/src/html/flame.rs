//! The flamegraph of an explanation (Gregg): as wide as head's time, red where a function itself takes longer than on
//! base, blue where it takes less. What only base does has no width in it.

use super::percent;
use maud::{Markup, html};
use perfunit_model::format::{self, Glyphs};
use perfunit_model::{CallNode, Engine, Explanation};

/// Frames narrower than this part of the whole would not be seen.
const NARROWEST: f64 = 0.002;
/// Names in frames narrower than this would not be read.
const NAMED: f64 = 0.02;
/// Deeper frames are left out: a recursion would be higher than the page.
const DEEPEST: usize = 48;
/// Height of a frame, px.
const ROW: usize = 19;

/// A function at one place, as a box. Parts are of the whole width.
#[derive(Debug, Clone, PartialEq)]
struct Frame {
    node: usize,
    left: f64,
    width: f64,
    depth: usize,
}

/// The picture; nothing if head has no time to show.
pub fn picture(explanation: &Explanation) -> Markup {
    let frames = frames(explanation);
    let what = match explanation.engine {
        Engine::Probes => "time",
        Engine::Callgrind => "instructions",
    };
    let deepest = frames.iter().map(|frame| frame.depth).max();
    let largest = frames.iter().map(|frame| certain_change(&explanation.nodes[frame.node]).abs()).fold(0.0, f64::max);
    html! {
        @if let Some(deepest) = deepest {
            figure {
                div.flame role="img" aria-label="Flamegraph of head. The calls below say the same in words."
                    style={ "height:" ((deepest + 1) * ROW) "px" } {
                    @for frame in &frames {
                        (draw(explanation, frame, largest))
                    }
                }
                figcaption {
                    "Width: " (what) " on head; ▲ red: more self " (what) " than on base; ▼ blue: less."
                    span.scripted {
                        " Click a frame to zoom in, the first one to zoom out."
                    }
                }
            }
        }
    }
}

/// All boxes that can be seen, callers first.
fn frames(explanation: &Explanation) -> Vec<Frame> {
    let totals = totals(explanation);
    let Some(whole) = totals.first().copied().filter(|whole| *whole > 0.0) else { return Vec::new() };
    let mut frames = Vec::new();
    let mut open = vec![(0, 0.0, 0)];
    while let Some((node, left, depth)) = open.pop() {
        let width = totals[node] / whole;
        if width < NARROWEST || depth > DEEPEST {
            continue;
        }
        frames.push(Frame { node, left, width, depth });
        let mut next = left;
        for child in &explanation.nodes[node].children {
            open.push((*child, next, depth + 1));
            next += totals[*child] / whole;
        }
    }
    frames
}

/// Head's time of each node, made from the times in the functions themselves so that callees never take more than their
/// caller: what was subtracted for the probes can leave less than no time.
fn totals(explanation: &Explanation) -> Vec<f64> {
    let mut totals: Vec<f64> = explanation.nodes.iter().map(|node| node.self_cost.head.max(0.0)).collect();
    let mut order = Vec::with_capacity(totals.len());
    let mut open: Vec<(usize, Option<usize>)> = if totals.is_empty() { Vec::new() } else { vec![(0, None)] };
    while let Some((index, caller)) = open.pop() {
        order.push((index, caller));
        open.extend(explanation.nodes[index].children.iter().map(|child| (*child, Some(index))));
    }
    for (index, caller) in order.into_iter().rev() {
        if let Some(caller) = caller {
            totals[caller] += totals[index];
        }
    }
    totals
}

/// Head minus base in the function itself; 0 unless it is certain that they differ.
fn certain_change(node: &CallNode) -> f64 {
    if node.self_change.is_certain() { node.self_change.estimate } else { 0.0 }
}

fn draw(explanation: &Explanation, frame: &Frame, largest: f64) -> Markup {
    let node = &explanation.nodes[frame.node];
    let change = certain_change(node);
    let name = match (node.function, frame.node) {
        (Some(function), _) => explanation.functions[function].name.as_str(),
        (None, 0) => "the test",
        (None, _) => "threads",
    };
    let sign = match change {
        change if change > 0.0 => "▲ ",
        change if change < 0.0 => "▼ ",
        _ => "",
    };
    let [left, width] = [frame.left, frame.width].map(|part| percent(100.0 * part));
    html! {
        span class=(class(change, largest))
            style={ "left:" (left) ";width:" (width) ";top:" (frame.depth * ROW) "px" }
            title=(title(explanation, node, name)) {
            @if frame.width >= NAMED { (sign) (format::one_line(name)) }
        }
    }
}

/// What the pointer brings up.
fn title(explanation: &Explanation, node: &CallNode, name: &str) -> String {
    let cost = |cost: f64| format::cost(cost, explanation.engine, Glyphs::Unicode);
    let [base, head] = [node.self_cost.base, node.self_cost.head].map(cost);
    format!("{}: {} on head; self {base} → {head}", format::one_line(name), cost(node.total_cost.head))
}

/// The stronger the colour, the larger the part of the largest difference.
fn class(change: f64, largest: f64) -> &'static str {
    if change == 0.0 || largest == 0.0 {
        return "f";
    }
    let level = match change.abs() / largest {
        part if part > 0.5 => 2,
        part if part > 0.1 => 1,
        _ => 0,
    };
    let classes = if change > 0.0 { ["f r1", "f r2", "f r3"] } else { ["f b1", "f b2", "f b3"] };
    classes[level]
}

#[cfg(test)]
mod tests {
    use super::*;
    use perfunit_model::samples::explanation;
    use perfunit_model::{Difference, Sides};

    #[test]
    fn callees_lie_below_their_callers_and_take_their_part() {
        let frames = frames(&explanation());
        let told: Vec<_> =
            frames.iter().map(|frame| (frame.node, frame.depth, (frame.width * 1410.0).round())).collect();
        assert_eq!(told, [(0, 0, 1410.0), (1, 1, 1300.0), (2, 2, 900.0)]);
        assert!(frames.iter().all(|frame| frame.left == 0.0));
    }

    #[test]
    fn neighbours_do_not_overlap_even_where_probes_were_subtracted() {
        let mut explanation = explanation();
        let mut extra = explanation.nodes[2].clone();
        extra.self_cost = Sides { base: 100.0, head: -50.0 };
        explanation.nodes[1].children = vec![3, 2];
        explanation.nodes.push(extra.clone());
        extra.self_cost = Sides { base: 100.0, head: 90.0 };
        explanation.nodes[1].children.push(4);
        explanation.nodes.push(extra);
        let frames = frames(&explanation);
        let (helper, other) =
            (frames.iter().find(|f| f.node == 2).unwrap(), frames.iter().find(|f| f.node == 4).unwrap());
        assert!(frames.iter().all(|frame| frame.node != 3));
        assert!((helper.left + helper.width - other.left).abs() < 1e-9);
        assert!(other.left + other.width <= 1.0);
    }

    #[test]
    fn only_what_is_certain_has_a_colour_and_a_sign() {
        let mut explanation = explanation();
        explanation.nodes[2].self_change = Difference { estimate: 400.0, low: 390.0, high: 410.0 };
        explanation.nodes[1].self_change = Difference { estimate: -90.0, low: -95.0, high: -85.0 };
        explanation.nodes[0].self_change = Difference { estimate: 10.0, low: -1.0, high: 21.0 };
        let picture = picture(&explanation).0;
        assert!(picture.contains(">▲ lexer::word<") && picture.contains("class=\"f r3\""), "{picture}");
        assert!(picture.contains(">▼ parser::Parser::line<") && picture.contains("class=\"f b2\""), "{picture}");
        assert!(picture.contains("class=\"f\" style=\"left:0%;width:100%;top:0px\""), "{picture}");
    }

    #[test]
    fn no_time_is_no_picture() {
        let mut explanation = explanation();
        explanation.nodes.clear();
        assert!(picture(&explanation).0.is_empty());
    }
}
