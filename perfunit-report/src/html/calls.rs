//! The calls of a test on both versions, as lists in lists, folded where nothing changed.

use crate::call_tree;
use maud::{Markup, html};
use perfunit_model::format::{self, Glyphs, one_line, sentence};
use perfunit_model::{Explanation, Sides};

/// Deeper calls are counted only.
const DEEPEST: usize = 48;

pub fn tree(explanation: &Explanation) -> Markup {
    html! {
        @if !explanation.nodes.is_empty() {
            ul.calls { (node(explanation, 0, 0)) }
            @if let Some(text) = call_tree::without_probe(explanation) {
                p.note { (sentence(&text)) }
            }
        }
    }
}

fn node(explanation: &Explanation, index: usize, depth: usize) -> Markup {
    let here = &explanation.nodes[index];
    let (shown, folded) =
        if depth < DEEPEST { call_tree::callees(explanation, here) } else { (Vec::new(), here.children.len()) };
    html! {
        li {
            @if here.children.is_empty() {
                (line(explanation, index))
            } @else {
                // What did not change is there, but not in the way.
                details open[depth == 0 || here.total_change.is_certain()] {
                    summary { (line(explanation, index)) }
                    ul {
                        @for child in shown {
                            (node(explanation, child, depth + 1))
                        }
                        @if folded > 0 {
                            li.note { (folded) " more" }
                        }
                    }
                }
            }
        }
    }
}

fn line(explanation: &Explanation, index: usize) -> Markup {
    let node = &explanation.nodes[index];
    let function = node.function.map(|function| &explanation.functions[function]);
    let Sides { base, head } = node.total_cost.map(|cost| format::cost(cost, explanation.engine, Glyphs::Unicode));
    let class = if node.total_change.estimate < 0.0 { "faster" } else { "slower" };
    html! {
        @match function {
            Some(function) => {
                code { (one_line(&function.name)) } " "
                span.place { (one_line(&function.file)) ":" (function.line) }
            }
            None => { span { (if index == 0 { "the test" } else { "threads" }) } }
        }
        " " span.times { (base) " → " (head) }
        @if let Some(change) = call_tree::change(explanation, node, Glyphs::Unicode) {
            " " b class=(class) { (change) }
        }
        @if function.is_some() {
            " " span.place { (calls(node.calls)) }
        }
    }
}

fn calls(calls: Sides<f64>) -> String {
    let Sides { base, head } = calls.map(format::calls);
    let noun = if head == "1" { "call" } else { "calls" };
    if base == head { format!("{head} {noun}") } else { format!("{head} {noun} instead of {base}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use perfunit_model::samples::explanation;
    use perfunit_model::{Difference, Unprobed};

    #[test]
    fn calls_are_lists_in_lists_with_the_times_of_both_versions() {
        let mut explanation = explanation();
        explanation.nodes[1].total_change = Difference { estimate: 400.0, low: 390.0, high: 410.0 };
        explanation.nodes[2].calls.head = 5.0;
        let tree = tree(&explanation).0;
        assert_eq!(tree.matches("<ul").count(), 3);
        assert!(tree.contains("900 ns → 1.30 µs") && tree.contains("<b class=\"slower\">+400 ns</b>"), "{tree}");
        assert!(tree.contains(">5 calls instead of 3<") && tree.contains(">src/lexer.rs:12<"), "{tree}");
    }

    #[test]
    fn what_takes_no_time_is_counted() {
        let mut explanation = explanation();
        explanation.nodes[2].total_cost = Sides { base: 1.0, head: 1.0 };
        explanation.without_probe.insert(Unprobed::Const, 2);
        let tree = tree(&explanation).0;
        assert!(tree.contains(">1 more<") && !tree.contains("lexer::word"), "{tree}");
        assert!(tree.contains("cannot read the clock (2)"), "{tree}");
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
        assert_eq!(tree(&explanation).0.matches("lexer::word").count(), DEEPEST);
    }
}
