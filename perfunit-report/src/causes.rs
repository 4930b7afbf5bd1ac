//! The causes of a change in words: responsible functions, causes outside the code, and the call tree.

use perfunit_model::format::{self, Glyphs, some};
use perfunit_model::{
    CallNode, Cause, Changed, CodeChange, Difference, Engine, Explanation, Function, MainCause, Responsibility,
    ResponsibleFunction, Run, Sides, Verdict,
};
use std::collections::BTreeMap;

/// Functions named below a test without `--verbose`.
const NAMED: usize = 3;
/// Functions named in the summary line.
const IN_SUMMARY: usize = 2;

/// Returns a line for each responsible function, and for other facts about the change.
pub fn lines(explanation: &Explanation, glyphs: Glyphs) -> Vec<String> {
    let responsible =
        explanation.responsible.iter().take(NAMED).map(|responsible| line(explanation, responsible, glyphs));
    let causes = cause_lines(explanation, glyphs).into_iter().map(|line| format!("cause: {line}"));
    let nobody = explanation.why_nobody().filter(|_| explanation.notes.is_empty());
    let nobody = nobody.map(|why| why.to_string());
    let notes = explanation.notes.iter().map(ToString::to_string);
    let notes = evidence(explanation).into_iter().chain(notes).chain(nobody);
    let notes = notes.map(|note| format!("note: {}", format::one_line(&note))).collect::<Vec<_>>();
    if explanation.outer_cause().is_some() {
        // Outer causes come first, because the responsible functions themselves did not change.
        causes.chain(responsible).chain(notes).collect()
    } else {
        responsible.chain(causes).chain(notes).collect()
    }
}

/// Returns the main cause of each explained test, the cause of most tests first.
pub fn responsible(run: &Run, glyphs: Glyphs) -> Option<String> {
    let mut tests: BTreeMap<String, usize> = BTreeMap::new();
    for verdict in Verdict::ALL {
        let causes = run.main_causes(verdict);
        let explained =
            run.outcomes.iter().filter(|outcome| outcome.verdict == verdict && outcome.explained_cause().is_some());
        for name in explained.filter_map(|outcome| cause_name(&causes.of(outcome), glyphs)) {
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
    let change = format_difference(responsible.change.estimate, explanation.engine, glyphs);
    let interval = interval(responsible.change, explanation.engine, glyphs);
    let share = 100.0 * responsible.share;
    let how = how(explanation, responsible);
    // The sources outside of the workspace are not compared.
    let source = match responsible.changed {
        Some(change) => format!(" ({change})"),
        None if function.place().is_none() => String::new(),
        None => " (source unchanged)".to_owned(),
    };
    format!(
        "responsible: {}{}: {change}{interval}, {share:.0} % of the difference: {how}{source}",
        place(function),
        not_apart(explanation, responsible)
    )
}

/// Returns functions that cannot be timed separately from this one: `, or its caller f`.
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

/// Returns the evidence that decided, if there are two kinds.
pub(super) fn evidence(explanation: &Explanation) -> Option<String> {
    let change = format::percent(explanation.instructions?);
    Some(match explanation.engine {
        Engine::SystemCalls => format!("attributed by system calls (executed instructions: {change})"),
        Engine::SystemTime => format!("attributed by the time in system calls (executed instructions: {change})"),
        Engine::Probes => format!("attributed by time (executed instructions: {change})"),
        Engine::Callgrind => format!("attributed by executed instructions ({change})"),
    })
}

/// Returns the name of a function with its place; with its package if it is outside of the workspace.
pub(super) fn place(function: &Function) -> String {
    let place = function.place().unwrap_or_else(|| format!("of {}", function.package));
    format::one_line(&format!("{} ({place})", function.name))
}

/// Describes how a function is responsible: `takes longer, 3 calls per run`.
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
        return format!("calls {callee} {} per call instead of {}", times(each.head), times(each.base));
    }
    let takes = match (explanation.engine, responsible.change.estimate > 0.0) {
        (Engine::Probes, true) => "takes longer",
        (Engine::Probes, false) => "takes less time",
        (Engine::Callgrind, true) => "executes more",
        (Engine::Callgrind, false) => "executes less",
        (Engine::SystemCalls, true) => "makes more system calls",
        (Engine::SystemCalls, false) => "makes fewer system calls",
        (Engine::SystemTime, true) => "spends more time in system calls",
        (Engine::SystemTime, false) => "spends less time in system calls",
    };
    format!("{takes}{}", describe_calls(responsible.calls))
}

fn describe_calls(calls: Sides<f64>) -> String {
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
    match calls {
        0.0 => "never".to_owned(),
        calls if (calls - 1.0).abs() < 0.005 => "once".to_owned(),
        calls => format!("{} times", format::calls(calls)),
    }
}

/// Widest interval of counts that is left out, as a part of the estimate.
const EXACT: f64 = 0.02;

/// Formats the interval of a difference, ` [+390 ns, +410 ns]`; nothing for counts without spread.
pub(super) fn interval(change: Difference, engine: Engine, glyphs: Glyphs) -> String {
    let is_count = matches!(engine, Engine::Callgrind | Engine::SystemCalls);
    if is_count && change.high - change.low <= EXACT * change.estimate.abs() {
        return String::new();
    }
    let [low, high] = [change.low, change.high].map(|cost| format_difference(cost, engine, glyphs));
    format!(" [{low}, {high}]")
}

/// Formats a difference with its sign.
pub(super) fn format_difference(cost: f64, engine: Engine, glyphs: Glyphs) -> String {
    format!("{}{}", if cost < 0.0 { "-" } else { "+" }, format::cost(cost.abs(), engine, glyphs))
}

/// Causes named in a line.
const NAMED_CAUSES: usize = 4;

/// Returns a line for each cause outside the code, the largest share first.
pub fn cause_lines(explanation: &Explanation, glyphs: Glyphs) -> Vec<String> {
    let groups = explanation.causes.chunk_by(|a, b| percent_of(a) == percent_of(b));
    groups.map(|causes| cause_line(causes, explanation.code_changed, glyphs)).collect()
}

/// Returns one line for causes that reach the same functions. The figures cannot separate them.
fn cause_line(causes: &[Cause], code_changed: Option<bool>, glyphs: Glyphs) -> String {
    let named = causes.iter().take(NAMED_CAUSES).map(|cause| change_name(&cause.changed, glyphs));
    let mut named = named.collect::<Vec<_>>().join("; ");
    if causes.len() > NAMED_CAUSES {
        named = format!("{named}; and {} more", causes.len() - NAMED_CAUSES);
    }
    let share = percent_of(&causes[0]);
    let they = if causes.len() == 1 { "it" } else { "they" };
    let text = match code_changed {
        Some(false) => {
            format!(
                "no workspace code that the test can reach changed, but this did: {named}. {share} % of the difference is in code that {they} can reach"
            )
        }
        _ => format!(
            "{share} % of the difference is in functions with unchanged source; other changes that can reach them: {named}"
        ),
    };
    format::one_line(&text)
}

fn percent_of(cause: &Cause) -> String {
    format!("{:.0}", 100.0 * cause.share)
}

/// Names a cause that an explanation names.
pub fn cause_name(cause: &MainCause<'_>, glyphs: Glyphs) -> Option<String> {
    match cause {
        MainCause::Function { function, .. } => Some(place(function)),
        MainCause::Outer(changed) => Some(change_name(changed, glyphs)),
        MainCause::Item(change) => Some(item_with_place(change)),
        MainCause::Code(_) | MainCause::Unknown => None,
    }
}

/// Returns `Lexer::word (src/lexer.rs:12)`.
pub fn item_with_place(CodeChange { item, path, line, .. }: &CodeChange) -> String {
    format::one_line(&format!("{item} ({path}:{line})"))
}

/// Names the changed thing with the arrow that the terminal can show.
pub fn change_name(changed: &Changed, glyphs: Glyphs) -> String {
    format::one_line(&change_words(changed).replace("->", glyphs.arrow()))
}

/// Names the changed thing: `serde 1.0.200 -> 1.0.219`, `Cargo.toml: profile.bench.lto`.
pub fn change_words(changed: &Changed) -> String {
    match changed {
        Changed::Dependency { package, base, head } => match (base.join(", "), head.join(", ")) {
            (base, head) if base.is_empty() => format!("{package} {head} (new)"),
            (base, head) if head.is_empty() => format!("{package} {base} (removed)"),
            (base, head) if base == head => format!("{package} {head} (from another source)"),
            (base, head) => format!("{package} {base} -> {head}"),
        },
        Changed::LocalDependency { package, changes } => {
            format!("{package}: {}", some(changes.iter().map(CodeChange::to_string)))
        }
        Changed::Configuration { path, keys } if keys.is_empty() => path.clone(),
        Changed::Configuration { path, keys } => format!("{path}: {}", some(keys.iter().cloned())),
        Changed::BuildScript { path } => format!("build script {path}"),
        Changed::Code(change) => change.to_string(),
        Changed::File { path } => path.clone(),
    }
}

/// Nodes with less than this share of the larger side's time are folded, unless they differ.
const LEAST_PART: f64 = 0.01;

/// Returns the callees to show below a node, and the number of the others.
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

/// Describes functions that the tree cannot show, if there are any.
pub fn without_probe(explanation: &Explanation) -> Option<String> {
    let reasons: Vec<_> = explanation.without_probe.iter().map(|(why, count)| format!("{why} ({count})")).collect();
    (!reasons.is_empty())
        .then(|| format!("functions without a probe, their time counted for their callers: {}", reasons.join(", ")))
}

/// Returns the difference, if its interval excludes zero.
pub fn change(explanation: &Explanation, node: &CallNode, glyphs: Glyphs) -> Option<String> {
    let change = node.total_change;
    change.is_certain().then(|| format_difference(change.estimate, explanation.engine, glyphs))
}

/// Returns the lines of the call tree, callers first, without folded nodes.
pub fn tree_lines(explanation: &Explanation, glyphs: Glyphs) -> Vec<String> {
    let mut lines = Vec::new();
    // A stack of nodes to write, or the number of nodes folded there.
    let mut open = vec![(0, Ok(0))];
    while let Some((depth, next)) = open.pop() {
        match next {
            Ok(index) => {
                let node = &explanation.nodes[index];
                lines.push(tree_line(explanation, node, depth, glyphs));
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

fn tree_line(explanation: &Explanation, node: &CallNode, depth: usize, glyphs: Glyphs) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;
    use perfunit_model::samples::{explanation, outcome, run};
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
        assert_eq!(super::responsible(&run(vec![outcome]), Glyphs::Ascii).as_deref(), Some(responsible));
    }

    #[test]
    fn where_no_code_changed_the_cause_comes_before_the_function() {
        check(
            with_cause(false),
            "Cargo.toml: profile.bench.lto",
            "cause: no workspace code that the test can reach changed",
        );
        check(with_cause(true), "lexer::word (src/lexer.rs:12)", "responsible: lexer::word (src/lexer.rs:12): +400 ns");
        check(responsible(), "lexer::word (src/lexer.rs:12)", "responsible: lexer::word (src/lexer.rs:12): +400 ns");
    }

    #[test]
    fn calls_are_whole_numbers_where_they_can_be() {
        assert_eq!([0.9999, 3.0001, 2.5, 1234.4].map(times), ["once", "3 times", "2.50 times", "1234 times"]);
        assert_eq!(describe_calls(Sides { base: 3.0, head: 5.0 }), ", 5 calls per run instead of 3");
        assert_eq!(describe_calls(Sides { base: 1.0, head: 1.0 }), ", 1 call per run");
    }

    fn dependency(package: &str, share: f64) -> Cause {
        let versions = |version: &str| vec![version.to_owned()];
        let changed = Changed::Dependency { package: package.into(), base: versions("1.0"), head: versions("1.1") };
        Cause { changed, share }
    }

    #[test]
    fn versions_read_from_base_to_head() {
        let of = |base: &[&str], head: &[&str]| {
            let owned = |versions: &[&str]| versions.iter().map(ToString::to_string).collect();
            change_words(&Changed::Dependency { package: "serde".into(), base: owned(base), head: owned(head) })
        };
        assert_eq!(of(&["1.0.200"], &["1.0.219"]), "serde 1.0.200 -> 1.0.219");
        assert_eq!(of(&["1.0.1"], &["1.0.1"]), "serde 1.0.1 (from another source)");
        assert_eq!(of(&[], &["1.0.1"]), "serde 1.0.1 (new)");
        assert_eq!(of(&["0.9.0", "1.0.1"], &[]), "serde 0.9.0, 1.0.1 (removed)");
    }

    #[test]
    fn long_lists_are_cut() {
        let keys = ["a", "b", "c", "d", "e"].map(str::to_owned).to_vec();
        let changed = Changed::Configuration { path: "Cargo.toml".into(), keys };
        assert_eq!(change_words(&changed), "Cargo.toml: a, b, c and 2 more");
    }

    fn told(causes: &[Cause], code_changed: Option<bool>) -> String {
        cause_line(causes, code_changed, Glyphs::Ascii)
    }

    #[test]
    fn a_single_cause_is_told_plainly() {
        let expected = "no workspace code that the test can reach changed, but this did: serde 1.0 -> 1.1. 94 % of the difference \
                        is in code that it can reach";
        assert_eq!(told(&[dependency("serde", 0.94)], Some(false)), expected);
    }

    #[test]
    fn beside_changed_code_nothing_is_claimed() {
        let expected = "94 % of the difference is in functions with unchanged source; other changes that \
                        can reach them: serde 1.0 -> 1.1; memchr 1.0 -> 1.1";
        let causes = [dependency("serde", 0.94), dependency("memchr", 0.94)];
        assert_eq!(told(&causes, Some(true)), expected);
        assert_eq!(told(&causes, None), expected);
    }

    #[test]
    fn many_are_cut() {
        let causes: Vec<Cause> = ["a", "b", "c", "d", "e", "f"].map(|name| dependency(name, 1.0)).into();
        assert!(told(&causes, Some(true)).ends_with("d 1.0 -> 1.1; and 2 more"));
    }
}
