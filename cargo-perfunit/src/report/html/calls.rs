//! The calls of a test on both versions, as lists in lists, folded where nothing changed.

use super::markup::Markup;
use crate::model::{CallNode, Explanation, Sides};
use crate::report::format::{self, Glyphs};

/// Nodes below which less than this part of the larger side's time passes are counted only, unless they differ.
const LEAST_PART: f64 = 0.01;
/// Deeper calls are counted only.
const DEEPEST: usize = 48;

pub fn write(explanation: &Explanation, out: &mut Markup) {
    if explanation.nodes.is_empty() {
        return;
    }
    let least = LEAST_PART * explanation.ns.base.max(explanation.ns.head);
    out.element("ul", &[("class", "calls")], |out| node(explanation, 0, 0, least, out));
    let reasons: Vec<_> = explanation.without_probe.iter().map(|(why, count)| format!("{count} {why}")).collect();
    if !reasons.is_empty() {
        let text = format!("Functions without a probe, whose time is their callers': {}.", reasons.join(", "));
        out.words("p", "note", &text);
    }
}

fn node(explanation: &Explanation, index: usize, depth: usize, least: f64, out: &mut Markup) {
    let node_here = &explanation.nodes[index];
    let (shown, counted): (Vec<usize>, Vec<usize>) = node_here.children.iter().partition(|child| {
        let child = &explanation.nodes[**child];
        let matters = child.total_change.is_certain() || child.total_ns.base.max(child.total_ns.head) >= least;
        matters && depth < DEEPEST
    });
    out.element("li", &[], |out| {
        if shown.is_empty() && counted.is_empty() {
            return line(explanation, index, out);
        }
        // What did not change is there, but not in the way.
        let open = if depth == 0 || node_here.total_change.is_certain() { "open" } else { "" };
        out.element("details", &[("open", open)], |out| {
            out.element("summary", &[], |out| line(explanation, index, out));
            out.element("ul", &[], |out| {
                for child in shown {
                    node(explanation, child, depth + 1, least, out);
                }
                if !counted.is_empty() {
                    out.words("li", "note", &format!("{} more", counted.len()));
                }
            });
        });
    });
}

fn line(explanation: &Explanation, index: usize, out: &mut Markup) {
    let node = &explanation.nodes[index];
    let function = node.function.map(|function| &explanation.functions[function]);
    match function {
        Some(function) => {
            out.words("code", "", &format::one_line(&function.name));
            out.text(" ");
            out.words("span", "place", &format::one_line(&format!("{}:{}", function.file, function.line)));
        }
        None => out.words("span", "", if index == 0 { "the test" } else { "threads" }),
    }
    let Sides { base, head } = node.total_ns.map(|cost| format::cost(cost, explanation.engine, Glyphs::Unicode));
    out.text(" ");
    out.words("span", "times", &format!("{base} → {head}"));
    if let Some((class, change)) = change(explanation, node) {
        out.text(" ");
        out.words("b", class, &change);
    }
    if function.is_some() {
        out.text(" ");
        out.words("span", "place", &calls(node.calls));
    }
}

/// The difference with what it is like, if it is certain.
fn change(explanation: &Explanation, node: &CallNode) -> Option<(&'static str, String)> {
    let change = node.total_change;
    let cost = format::cost(change.estimate.abs(), explanation.engine, Glyphs::Unicode);
    let (class, sign) = if change.estimate < 0.0 { ("faster", "-") } else { ("slower", "+") };
    change.is_certain().then(|| (class, format!("{sign}{cost}")))
}

fn calls(calls: Sides<f64>) -> String {
    let number = |calls: f64| {
        if (calls - calls.round()).abs() < 0.005 || calls >= 10.0 {
            format!("{calls:.0}")
        } else {
            format!("{calls:.2}")
        }
    };
    let [base, head] = [number(calls.base), number(calls.head)];
    let noun = if head == "1" { "call" } else { "calls" };
    if base == head { format!("{head} {noun}") } else { format!("{head} {noun} instead of {base}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Difference;
    use crate::report::samples::explanation;

    fn tree(explanation: &Explanation) -> String {
        let mut out = Markup::default();
        write(explanation, &mut out);
        out.finish()
    }

    #[test]
    fn calls_are_lists_in_lists_with_the_times_of_both_versions() {
        let mut explanation = explanation();
        explanation.nodes[1].total_change = Difference { estimate: 400.0, low: 390.0, high: 410.0 };
        explanation.nodes[2].calls.head = 5.0;
        let tree = tree(&explanation);
        assert_eq!(tree.matches("<ul").count(), 3);
        assert!(tree.contains("900 ns → 1.30 µs") && tree.contains("<b class=\"slower\">+400 ns</b>"), "{tree}");
        assert!(tree.contains(">5 calls instead of 3<") && tree.contains(">src/lexer.rs:12<"), "{tree}");
    }

    #[test]
    fn what_takes_no_time_is_counted() {
        let mut explanation = explanation();
        explanation.nodes[2].total_ns = Sides { base: 1.0, head: 1.0 };
        explanation.without_probe.insert("const fn".into(), 2);
        let tree = tree(&explanation);
        assert!(tree.contains(">1 more<") && !tree.contains("lexer::word"), "{tree}");
        assert!(tree.contains("2 const fn"), "{tree}");
    }

    #[test]
    fn endless_recursion_ends() {
        let mut explanation = explanation();
        let count = 500;
        let template = explanation.nodes[2].clone();
        explanation.nodes.truncate(1);
        explanation.nodes[0].children = vec![1];
        for index in 1..count {
            let mut node = template.clone();
            node.children = if index + 1 < count { vec![index + 1] } else { Vec::new() };
            explanation.nodes.push(node);
        }
        assert_eq!(tree(&explanation).matches("lexer::word").count(), DEEPEST);
    }
}
