//! The explanation of a slower or faster test: the responsible functions, other causes, and the call tree.

use super::percent;
use crate::causes;
use maud::{Markup, html};
use perfunit_model::format::{self, Glyphs, one_line, sentence};
use perfunit_model::{CallNode, Engine, Explanation, ResponsibleFunction, Sides, Strategy, Verdict};

const NAMED: usize = 12;

/// Renders the whole explanation.
pub fn section(explanation: &Explanation, verdict: Verdict) -> Markup {
    let causes = html! {
        @for text in causes::cause_lines(explanation, Glyphs::Unicode) {
            p { (sentence(&text)) }
        }
    };
    let is_outer = explanation.outer_cause().is_some();
    html! {
        h4 { (title(explanation, verdict)) }
        p { (found(explanation)) }
        @if is_outer { (causes) }
        (responsible(explanation))
        @if !is_outer { (causes) }
        @for note in causes::evidence(explanation).into_iter().chain(explanation.notes.iter().map(ToString::to_string)) {
            p.note { (sentence(&one_line(&note))) }
        }
        (flame(explanation))
        (calls_tree(explanation))
        p.note { (how(explanation)) }
    }
}

/// Returns the title. Users can request the explanation of any test, even an unchanged one.
fn title(explanation: &Explanation, verdict: Verdict) -> &'static str {
    match verdict {
        _ if !verdict.is_change() => "What differs",
        _ if explanation.change.estimate < 0.0 => "Why it got faster",
        _ => "Why it got slower",
    }
}

/// Describes the explained difference.
fn found(explanation: &Explanation) -> String {
    let (engine, glyphs, change) = (explanation.engine, Glyphs::Unicode, explanation.change);
    let [base, head] = [explanation.cost.base, explanation.cost.head].map(|cost| format::cost(cost, engine, glyphs));
    let what = match explanation.engine {
        Engine::Probes => "A run with probes takes",
        Engine::Callgrind => "A run executes",
        Engine::SystemCalls => "A run makes",
        Engine::SystemTime => "In system calls a run spends",
    };
    let estimate = causes::format_difference(change.estimate, engine, glyphs);
    format!("{what} {head} instead of {base}: {estimate}{}.", causes::interval(change, engine, glyphs))
}

fn responsible(explanation: &Explanation) -> Markup {
    let more = explanation.responsible.len().saturating_sub(NAMED);
    html! {
        @if !explanation.responsible.is_empty() {
            ol.responsible {
                @for responsible in explanation.responsible.iter().take(NAMED) {
                    li { (function(explanation, responsible)) }
                }
            }
            @if more > 0 {
                p.note { (format::count(more, "function")) " more with smaller shares." }
            }
        }
    }
}

fn function(explanation: &Explanation, responsible: &ResponsibleFunction) -> Markup {
    let function = &explanation.functions[responsible.function];
    let change = responsible.change;
    let estimate = causes::format_difference(change.estimate, explanation.engine, Glyphs::Unicode);
    html! {
        code { (one_line(&function.name)) } " "
        span.place { (one_line(&function.file)) ":" (function.line) } " "
        b class=(if change.estimate < 0.0 { "faster" } else { "slower" }) { (estimate) }
        (causes::not_apart(explanation, responsible))
        (causes::interval(change, explanation.engine, Glyphs::Unicode)) ", "
        (format!("{:.0}", 100.0 * responsible.share)) " % of the difference: " (causes::how(explanation, responsible)) ". "
        @match &responsible.changed {
            Some(changed) => { span.hunk { (sentence(&changed.to_string())) } }
            None => { span.note { "Source unchanged." } }
        }
    }
}

/// Describes how the explanation was found.
fn how(explanation: &Explanation) -> String {
    let strategy = match explanation.strategy {
        Strategy::Complete => "all functions at once",
        Strategy::Levelwise => "level by level",
        Strategy::UntilSourceChange => "functions on the way to changed ones",
    };
    let by = match explanation.engine {
        Engine::Probes => format!(
            "Found by probes ({strategy}) in {}; base takes {} times as long with probes, their cost subtracted",
            format::count(explanation.pairs, "pair"),
            format::number(explanation.distortion)
        ),
        Engine::Callgrind | Engine::SystemCalls | Engine::SystemTime => "Counted by callgrind".to_owned(),
    };
    format!("{by}. It took {:.1} s.", explanation.seconds)
}

/// Deeper calls are only counted.
const DEEPEST_CALL: usize = 48;

pub fn calls_tree(explanation: &Explanation) -> Markup {
    html! {
        @if !explanation.nodes.is_empty() {
            ul.calls { (node(explanation, 0, 0)) }
            @if let Some(text) = causes::without_probe(explanation) {
                p.note { (sentence(&text)) }
            }
        }
    }
}

fn node(explanation: &Explanation, index: usize, depth: usize) -> Markup {
    let here = &explanation.nodes[index];
    let (shown, folded) =
        if depth < DEEPEST_CALL { causes::callees(explanation, here) } else { (Vec::new(), here.children.len()) };
    html! {
        li {
            @if here.children.is_empty() {
                (line(explanation, index))
            } @else {
                // Calls that did not change are folded.
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
        @if let Some(change) = causes::change(explanation, node, Glyphs::Unicode) {
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

/// Frames with a smaller share of the width are not drawn.
const NARROWEST: f64 = 0.002;
/// Frames with a smaller share of the width have no name.
const NAMED_FRAME: f64 = 0.02;
/// Deeper frames are left out, because a recursion would exceed the page.
const DEEPEST_FRAME: usize = 48;
/// Height of a frame, px.
const ROW: usize = 19;

/// A function in the flamegraph. Lengths are fractions of the whole width.
#[derive(Debug, Clone, PartialEq)]
struct Frame {
    node: usize,
    left: f64,
    width: f64,
    depth: usize,
}

/// Renders the flamegraph; nothing if head's time is zero.
pub fn flame(explanation: &Explanation) -> Markup {
    let frames = frames(explanation);
    let what = match explanation.engine {
        Engine::Probes => "time",
        Engine::Callgrind => "instructions",
        Engine::SystemCalls => "system calls",
        Engine::SystemTime => "time in system calls",
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

/// Returns all visible frames, callers first.
fn frames(explanation: &Explanation) -> Vec<Frame> {
    let totals = totals(explanation);
    let Some(whole) = totals.first().copied().filter(|whole| *whole > 0.0) else { return Vec::new() };
    let mut frames = Vec::new();
    let mut open = vec![(0, 0.0, 0)];
    while let Some((node, left, depth)) = open.pop() {
        let width = totals[node] / whole;
        if width < NARROWEST || depth > DEEPEST_FRAME {
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

/// Returns head's time of each node, summed from the functions' own times so that callees never take longer than their
/// caller. Subtracting the probes' cost can leave negative times.
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

/// Returns head minus base for the function itself; 0 if the interval includes zero.
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
        span class=(frame_class(change, largest))
            style={ "left:" (left) ";width:" (width) ";top:" (frame.depth * ROW) "px" }
            title=(frame_title(explanation, node, name)) {
            @if frame.width >= NAMED_FRAME { (sign) (format::one_line(name)) }
        }
    }
}

/// Returns the tooltip.
fn frame_title(explanation: &Explanation, node: &CallNode, name: &str) -> String {
    let cost = |cost: f64| format::cost(cost, explanation.engine, Glyphs::Unicode);
    let [base, head] = [node.self_cost.base, node.self_cost.head].map(cost);
    format!("{}: {} on head; self {base} → {head}", format::one_line(name), cost(node.total_cost.head))
}

/// Returns the class of a color: the larger the change relative to the largest one, the stronger.
fn frame_class(change: f64, largest: f64) -> &'static str {
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
    use perfunit_model::{Cause, ChangeKind, Changed, Difference, Responsibility, Sides, Unprobed};

    fn render(explanation: &Explanation) -> String {
        section(explanation, Verdict::Slower).0
    }

    fn responsible() -> Explanation {
        let change = Difference { estimate: 400.0, low: 390.0, high: 410.0 };
        let calls = Sides { base: 3.0, head: 3.0 };
        let changed = Some(ChangeKind::Changed);
        let responsible = ResponsibleFunction {
            function: 1,
            how: Responsibility::ItsOwn,
            change,
            share: 0.98,
            calls,
            calls_each: None,
            changed,
            not_apart: Vec::new(),
        };
        Explanation { responsible: vec![responsible], ..explanation() }
    }

    #[test]
    fn a_responsible_function_has_a_place_a_part_and_what_changed() {
        let text = render(&responsible());
        assert!(text.contains("<code>lexer::word</code> <span class=\"place\">src/lexer.rs:12</span>"), "{text}");
        assert!(text.contains("<b class=\"slower\">+400 ns</b> [+390 ns, +410 ns], 98 % of the difference: takes longer, 3 calls per run."), "{text}");
        assert!(text.contains(">Changed.<") && text.contains("+410 ns [+400 ns, +420 ns]."), "{text}");
    }

    #[test]
    fn an_outer_cause_comes_before_the_functions() {
        let changed = Changed::Configuration { path: "Cargo.toml".into(), keys: vec!["profile.bench.lto".into()] };
        let causes = vec![Cause { changed, share: 0.97 }];
        let text = render(&Explanation { causes, code_changed: Some(false), ..responsible() });
        let cause = text.find("No workspace code that the test can reach changed, but this did: Cargo.toml").unwrap();
        assert!(cause < text.find("<ol class=\"responsible\"").unwrap(), "{text}");
    }

    #[test]
    fn callgrind_counts_instructions() {
        let text = render(&Explanation { engine: Engine::Callgrind, ..responsible() });
        assert!(
            text.contains("A run executes 1410 instr instead of 1000 instr: +410 instr [+400 instr, +420 instr]."),
            "{text}"
        );
        assert!(text.contains("Width: instructions on head"), "{text}");
        assert!(!text.contains(" ns") && !text.contains("self time"), "{text}");
    }

    #[test]
    fn calls_are_lists_in_lists_with_the_times_of_both_versions() {
        let mut explanation = explanation();
        explanation.nodes[1].total_change = Difference { estimate: 400.0, low: 390.0, high: 410.0 };
        explanation.nodes[2].calls.head = 5.0;
        let tree = calls_tree(&explanation).0;
        assert_eq!(tree.matches("<ul").count(), 3);
        assert!(tree.contains("900 ns → 1.30 µs") && tree.contains("<b class=\"slower\">+400 ns</b>"), "{tree}");
        assert!(tree.contains(">5 calls instead of 3<") && tree.contains(">src/lexer.rs:12<"), "{tree}");
    }

    #[test]
    fn what_takes_no_time_is_counted() {
        let mut explanation = explanation();
        explanation.nodes[2].total_cost = Sides { base: 1.0, head: 1.0 };
        explanation.without_probe.insert(Unprobed::Const, 2);
        let tree = calls_tree(&explanation).0;
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
        assert_eq!(calls_tree(&explanation).0.matches("lexer::word").count(), DEEPEST_CALL);
    }

    #[test]
    fn callees_lie_below_their_callers_and_take_their_part() {
        let frames = frames(&explanation());
        let told: Vec<_> =
            frames.iter().map(|frame| (frame.node, frame.depth, (frame.width * 1410.0).round())).collect();
        assert_eq!(told, [(0, 0, 1410.0), (1, 1, 1300.0), (2, 2, 900.0)]);
        assert!(frames.iter().all(|frame| frame.left == 0.0));
    }

    #[test]
    fn neighbors_do_not_overlap_even_where_probes_were_subtracted() {
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
    fn only_what_is_certain_has_a_color_and_a_sign() {
        let mut explanation = explanation();
        explanation.nodes[2].self_change = Difference { estimate: 400.0, low: 390.0, high: 410.0 };
        explanation.nodes[1].self_change = Difference { estimate: -90.0, low: -95.0, high: -85.0 };
        explanation.nodes[0].self_change = Difference { estimate: 10.0, low: -1.0, high: 21.0 };
        let picture = flame(&explanation).0;
        assert!(picture.contains(">▲ lexer::word<") && picture.contains("class=\"f r3\""), "{picture}");
        assert!(picture.contains(">▼ parser::Parser::line<") && picture.contains("class=\"f b2\""), "{picture}");
        assert!(picture.contains("class=\"f\" style=\"left:0%;width:100%;top:0px\""), "{picture}");
    }

    #[test]
    fn no_time_is_no_picture() {
        let mut explanation = explanation();
        explanation.nodes.clear();
        assert!(flame(&explanation).0.is_empty());
    }
}
