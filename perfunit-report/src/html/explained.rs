//! Why a test got slower or faster: the responsible functions, what else changed, and the calls that show it.

use super::{calls, flame};
use crate::{causes, responsible};
use maud::{Markup, html};
use perfunit_model::format::{self, Glyphs, one_line, sentence};
use perfunit_model::{Engine, Explanation, ResponsibleFunction, Strategy, Verdict};

const NAMED: usize = 12;

/// The whole explanation.
pub fn section(explanation: &Explanation, verdict: Verdict) -> Markup {
    let causes = html! {
        @for text in causes::lines(explanation, Glyphs::Unicode) {
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
        @for note in responsible::evidence(explanation).into_iter().chain(explanation.notes.iter().map(ToString::to_string)) {
            p.note { (sentence(&one_line(&note))) }
        }
        (flame::picture(explanation))
        (calls::tree(explanation))
        p.note { (how(explanation)) }
    }
}

/// Who asks has any test explained.
fn title(explanation: &Explanation, verdict: Verdict) -> &'static str {
    match verdict {
        _ if !verdict.is_change() => "What differs",
        _ if explanation.change.estimate < 0.0 => "Why it got faster",
        _ => "Why it got slower",
    }
}

/// The difference that is explained.
fn found(explanation: &Explanation) -> String {
    let signed = |cost| responsible::signed(cost, explanation.engine, Glyphs::Unicode);
    let cost = |cost| format::cost(cost, explanation.engine, Glyphs::Unicode);
    let change = explanation.change;
    let what = match explanation.engine {
        Engine::Probes => "A run with probes takes",
        Engine::Callgrind => "A run executes",
    };
    format!(
        "{what} {} instead of {}: {} [{}, {}].",
        cost(explanation.cost.head),
        cost(explanation.cost.base),
        signed(change.estimate),
        signed(change.low),
        signed(change.high)
    )
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
    let [estimate, low, high] = [change.estimate, change.low, change.high]
        .map(|cost| responsible::signed(cost, explanation.engine, Glyphs::Unicode));
    html! {
        code { (one_line(&function.name)) } " "
        span.place { (one_line(&function.file)) ":" (function.line) } " "
        b class=(if change.estimate < 0.0 { "faster" } else { "slower" }) { (estimate) }
        (responsible::not_apart(explanation, responsible)) " [" (low) ", " (high) "], "
        (format!("{:.0}", 100.0 * responsible.share)) " % of the difference: " (responsible::how(explanation, responsible)) ". "
        @match &responsible.changed {
            Some(changed) => { span.hunk { (sentence(&changed.to_string())) } }
            None => { span.note { "Source unchanged." } }
        }
    }
}

/// How it was found out.
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
        Engine::Callgrind => "Counted by callgrind".to_owned(),
    };
    format!("{by}. It took {:.1} s.", explanation.seconds)
}

#[cfg(test)]
mod tests {
    use super::*;
    use perfunit_model::samples::explanation;
    use perfunit_model::{Cause, ChangeKind, Changed, Difference, Responsibility, Sides};

    fn written(explanation: &Explanation) -> String {
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
        let text = written(&responsible());
        assert!(text.contains("<code>lexer::word</code> <span class=\"place\">src/lexer.rs:12</span>"), "{text}");
        assert!(text.contains("<b class=\"slower\">+400 ns</b> [+390 ns, +410 ns], 98 % of the difference: takes longer, 3 calls per run."), "{text}");
        assert!(text.contains(">Changed.<") && text.contains("+410 ns [+400 ns, +420 ns]."), "{text}");
    }

    #[test]
    fn an_outer_cause_comes_before_the_functions() {
        let changed = Changed::Configuration { path: "Cargo.toml".into(), keys: vec!["profile.bench.lto".into()] };
        let causes = vec![Cause { changed, share: 0.97 }];
        let text = written(&Explanation { causes, code_changed: Some(false), ..responsible() });
        let cause = text.find("No code of the workspace changed, but this did: Cargo.toml").unwrap();
        assert!(cause < text.find("<ol class=\"responsible\"").unwrap(), "{text}");
    }

    #[test]
    fn callgrind_counts_instructions() {
        let text = written(&Explanation { engine: Engine::Callgrind, ..responsible() });
        assert!(
            text.contains("A run executes 1410 instr instead of 1000 instr: +410 instr [+400 instr, +420 instr]."),
            "{text}"
        );
        assert!(text.contains("Width: instructions on head"), "{text}");
        assert!(!text.contains(" ns") && !text.contains("self time"), "{text}");
    }
}
