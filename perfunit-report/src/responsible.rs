//! Responsible functions, in a line each.

use super::causes;
use perfunit_model::format::{self, Glyphs};
use perfunit_model::{Engine, Explanation, Function, Outcome, Responsibility, ResponsibleFunction, Sides};
use std::collections::BTreeMap;

/// Functions named below a test unless everything is asked for.
const NAMED: usize = 3;
/// Functions named in the summary line.
const IN_SUMMARY: usize = 2;

/// The responsible functions, and what else is known.
pub fn lines(explanation: &Explanation, glyphs: Glyphs) -> Vec<String> {
    let responsible =
        explanation.responsible.iter().take(NAMED).map(|responsible| line(explanation, responsible, glyphs));
    let causes = causes::lines(explanation, glyphs).into_iter().map(|line| format!("cause: {line}"));
    let nobody = explanation.why_nobody().filter(|_| explanation.notes.is_empty());
    let nobody = nobody.map(|why| why.to_string());
    let notes = explanation.notes.iter().map(ToString::to_string);
    let notes = evidence(explanation).into_iter().chain(notes).chain(nobody);
    let notes = notes.map(|note| format!("note: {}", format::one_line(&note))).collect::<Vec<_>>();
    if explanation.outer_cause().is_some() {
        // The functions that are named did not change.
        causes.chain(responsible).chain(notes).collect()
    } else {
        responsible.chain(causes).chain(notes).collect()
    }
}

/// What is responsible first, of all tests that are explained, for most tests first.
pub fn responsible(outcomes: &[Outcome], glyphs: Glyphs) -> Option<String> {
    let mut tests: BTreeMap<String, usize> = BTreeMap::new();
    for explanation in outcomes.iter().filter_map(|outcome| outcome.explanation.as_ref()) {
        let function = explanation.responsible.first().map(|first| place(&explanation.functions[first.function]));
        let cause = explanation.outer_cause().map(|cause| causes::name(cause, glyphs));
        if let Some(name) = cause.or(function) {
            *tests.entry(name).or_default() += 1;
        }
    }
    let mut ranked: Vec<(String, usize)> = tests.into_iter().collect();
    ranked.sort_by_key(|(_, tests)| std::cmp::Reverse(*tests));
    let more = ranked.len().saturating_sub(IN_SUMMARY);
    let named: Vec<String> = ranked.iter().take(IN_SUMMARY).map(|(name, _)| name.clone()).collect();
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    (!named.is_empty()).then(|| format!("{}{more}", named.join(", ")))
}

fn line(explanation: &Explanation, responsible: &ResponsibleFunction, glyphs: Glyphs) -> String {
    let function = &explanation.functions[responsible.function];
    let [change, low, high] = [responsible.change.estimate, responsible.change.low, responsible.change.high]
        .map(|cost| signed(cost, explanation.engine, glyphs));
    let share = 100.0 * responsible.share;
    let how = how(explanation, responsible);
    let source = responsible.changed.map_or_else(|| "source unchanged".to_owned(), |change| change.to_string());
    format!(
        "responsible: {}{}: {change} [{low}, {high}], {share:.0} % of the difference: {how} ({source})",
        place(function),
        not_apart(explanation, responsible)
    )
}

/// Whose own time is part of it: `, or its caller f`.
pub(super) fn not_apart(explanation: &Explanation, responsible: &ResponsibleFunction) -> String {
    let name = |caller: &Option<usize>| match caller {
        Some(function) => format::one_line(&explanation.functions[*function].name),
        None => "the test".to_owned(),
    };
    match &responsible.not_apart[..] {
        [] => String::new(),
        [caller] => format!(", or its caller {} (calls are too short to be timed apart)", name(caller)),
        callers => {
            let names: Vec<String> = callers.iter().map(name).collect();
            format!(", or one of its callers {} (calls are too short to be timed apart)", names.join(", "))
        }
    }
}

/// By what it was decided, where both were looked at.
pub(super) fn evidence(explanation: &Explanation) -> Option<String> {
    let change = format::percent(explanation.instructions?);
    Some(match explanation.engine {
        Engine::Probes => format!("attributed by time: executed instructions ({change}) do not explain it"),
        Engine::Callgrind => format!("attributed by executed instructions ({change})"),
    })
}

pub(super) fn place(function: &Function) -> String {
    format::one_line(&format!("{} ({}:{})", function.name, function.file, function.line))
}

/// In what way it is responsible: `takes longer, 3 calls per run`.
pub(super) fn how(explanation: &Explanation, responsible: &ResponsibleFunction) -> String {
    if let (Responsibility::CallsOf(callee), Some(each)) = (&responsible.how, responsible.calls_each) {
        if *callee == responsible.function {
            return format!(
                "calls itself, directly or indirectly, {} instead of {}",
                times(each.head),
                times(each.base)
            );
        }
        let callee = &explanation.functions[*callee].name;
        return format!("each of its calls calls {callee} {} instead of {}", times(each.head), times(each.base));
    }
    let takes = match (explanation.engine, responsible.change.estimate > 0.0) {
        (Engine::Probes, true) => "takes longer",
        (Engine::Probes, false) => "takes less time",
        (Engine::Callgrind, true) => "executes more",
        (Engine::Callgrind, false) => "executes less",
    };
    format!("{takes}{}", called(responsible.calls))
}

fn called(calls: Sides<f64>) -> String {
    if (calls.head - calls.base).abs() < 0.01 * calls.base.max(0.1) {
        format!(", {} per run", calls_in_words(calls.head))
    } else {
        format!(", {} per run instead of {}", calls_in_words(calls.head), format::calls(calls.base))
    }
}

fn calls_in_words(calls: f64) -> String {
    if (calls - 1.0).abs() < 0.005 { "1 call".to_owned() } else { format!("{} calls", format::calls(calls)) }
}

fn times(calls: f64) -> String {
    if (calls - 1.0).abs() < 0.005 { "once".to_owned() } else { format!("{} times", format::calls(calls)) }
}

/// A difference with its sign.
pub(super) fn signed(cost: f64, engine: Engine, glyphs: Glyphs) -> String {
    format!("{}{}", if cost < 0.0 { "-" } else { "+" }, format::cost(cost.abs(), engine, glyphs))
}

#[cfg(test)]
mod tests {
    use super::*;
    use perfunit_model::samples::{explanation, outcome};
    use perfunit_model::{Cause, Changed, Difference, Verdict};

    /// The helper is responsible for all of it.
    fn responsible() -> Explanation {
        let change = Difference { estimate: 400.0, low: 390.0, high: 410.0 };
        let calls = Sides { base: 3.0, head: 3.0 };
        let responsible = ResponsibleFunction {
            function: 1,
            how: Responsibility::ItsOwn,
            change,
            share: 1.0,
            calls,
            calls_each: None,
            changed: None,
            not_apart: Vec::new(),
        };
        Explanation { responsible: vec![responsible], ..explanation() }
    }

    fn with_cause(code_changed: bool) -> Explanation {
        let changed = Changed::Configuration { path: "Cargo.toml".into(), keys: vec!["profile.bench.lto".into()] };
        Explanation { causes: vec![Cause { changed, share: 0.97 }], code_changed: Some(code_changed), ..responsible() }
    }

    #[track_caller]
    fn check(explanation: Explanation, responsible: &str, first: &str) {
        let lines = lines(&explanation, Glyphs::Ascii);
        assert!(lines[0].starts_with(first), "{lines:?}");
        let mut outcome = outcome("a", Verdict::Slower, None);
        outcome.explanation = Some(explanation);
        assert_eq!(super::responsible(&[outcome], Glyphs::Ascii).as_deref(), Some(responsible));
    }

    #[test]
    fn where_no_code_changed_the_cause_comes_before_the_function() {
        check(with_cause(false), "Cargo.toml: profile.bench.lto", "cause: no code of the workspace changed");
        check(with_cause(true), "lexer::word (src/lexer.rs:12)", "responsible: lexer::word (src/lexer.rs:12): +400 ns");
        check(responsible(), "lexer::word (src/lexer.rs:12)", "responsible: lexer::word (src/lexer.rs:12): +400 ns");
    }

    #[test]
    fn calls_are_whole_numbers_where_they_can_be() {
        assert_eq!([0.9999, 3.0001, 2.5, 1234.4].map(times), ["once", "3 times", "2.50 times", "1234 times"]);
        assert_eq!(called(Sides { base: 3.0, head: 5.0 }), ", 5 calls per run instead of 3");
        assert_eq!(called(Sides { base: 1.0, head: 1.0 }), ", 1 call per run");
    }
}
