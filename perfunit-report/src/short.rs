//! `--message-format short`: a line for each test with a result that matters, then a summary line. For `grep`, editors and
//! coding agents, described in `docs/reports.md`. Neither the width of the terminal nor colors change it.
//!
//! Fields are separated by two spaces, which no field contains.

use super::counts::{self, Unmeasured};
use super::sections::{Item, Kind, Sections, place};
use super::{acceptance, causes, github, metrics};
use perfunit_model::format::{Glyphs, one_line};
use perfunit_model::{CodeChange, Conclusion, Denied, MainCause, Outcome, Run, Side, Verdict};

/// Replacement of an empty field before another one.
const NONE: &str = "-";
/// Characters of a text; the other formats have all of it.
const LONGEST: usize = 300;

/// Returns the lines. `denied` decides the conclusion, and whether functions that no test executes are listed.
pub fn render(run: &Run, denied: Denied) -> String {
    let sections = Sections::of(run, denied);
    let of = |kind: Kind, word: &'static str| {
        let tests: Vec<&Outcome> = sections.items(kind).iter().filter_map(|item| item.test).collect();
        test_lines(word, &tests, run)
    };
    let functions = |kind: Kind, word: &'static str| {
        let line = move |item: &Item<'_>| line(word, &item.name, &item.place(), &item.text);
        sections.items(kind).iter().map(line).collect::<Vec<_>>()
    };
    let second = run.against_ratchet();
    let lost =
        second.into_iter().flat_map(|second| test_lines("slower-than-ratchet", &run.cumulative_losses(), second));
    let programs = sections.items(Kind::Ratchet).iter().filter(|item| item.test.is_none());
    let lost = lost.chain(programs.map(|item| line("program-slower-than-ratchet", &item.name, "", &item.text)));
    let generated = sections.items(Kind::Generated).iter().map(|item| line("generated", &item.name, "", &item.text));
    let undecided = sections.items(Kind::Undecided).iter().map(|item| line("undecided", &item.text, "", ""));
    let uncovered = if denied.uncovered { functions(Kind::Uncovered, "uncovered") } else { Vec::new() };
    let lines = of(Kind::Failing, "failing").into_iter();
    lines
        .chain(of(Kind::Tests(Verdict::Slower), "slower"))
        .chain(of(Kind::Accepted, "accepted"))
        .chain(of(Kind::Tests(Verdict::Faster), "faster"))
        .chain(of(Kind::Tests(Verdict::Inconclusive), "inconclusive"))
        .chain(lost)
        .chain(functions(Kind::Programs, "program"))
        .chain(functions(Kind::Functions, "function"))
        .chain(functions(Kind::Growth, "grows"))
        .chain(uncovered)
        .chain(generated)
        .chain(undecided)
        .chain([summary(run, Conclusion::of(run, denied))])
        .collect()
}

/// Returns the lines of tests of one verdict.
fn test_lines<'a>(word: &str, tests: &[&'a Outcome], run: &'a Run) -> Vec<String> {
    let Some(first) = tests.first() else { return Vec::new() };
    let causes = run.main_causes(first.verdict);
    let cause = |test: &'a Outcome| match &test.explanation {
        None if !test.verdict.is_change() => MainCause::Unknown,
        _ => causes.of(test),
    };
    tests.iter().map(|test| test_line(word, test, &cause(test), run)).collect()
}

/// Returns the line of a test: verdict, change and test; the place and name of the responsible function; further remarks.
fn test_line(word: &str, outcome: &Outcome, cause: &MainCause<'_>, run: &Run) -> String {
    let change = outcome.measured.as_ref().map(|measured| {
        let [estimate, low, high] = [measured.change.estimate, measured.change.low, measured.change.high].map(percent);
        let sign = if measured.change.estimate >= 0.0 { "+" } else { "" };
        format!("{sign}{estimate} % [{low}, {high}] ")
    });
    let test = one_line(&outcome.test.to_string());
    let (function, cause) = match cause {
        MainCause::Function { function, .. } => {
            (Some(format!("{} {}", place(function), one_line(&function.name))), None)
        }
        MainCause::Item(CodeChange { item, path, line, .. }) => (Some(format!("{path}:{line} {item}")), None),
        MainCause::Outer(changed) => (None, Some(causes::change_name(changed, Glyphs::Ascii))),
        MainCause::Code(name) => (None, Some(format!("changed machine code: {name}"))),
        MainCause::Unknown => (None, None),
    };
    let reason = outcome.reason.as_ref().map(|reason| one_line(&reason.to_string()));
    let others = metrics::changed_metrics(outcome, run.gates_of(outcome), Glyphs::Ascii);
    let texts = [acceptance::said(outcome, run), reason, others, cause];
    let texts: Vec<String> = texts.into_iter().flatten().collect();
    line(word, &format!("{}{test}", change.unwrap_or_default()), &function.unwrap_or_default(), &texts.join("; "))
}

/// Returns a line of a word, a name, a place and a text; the last two may be empty.
fn line(word: &str, name: &str, place: &str, text: &str) -> String {
    let [name, place, text] = [name, place, text].map(|field| cut(&one_line(field)));
    match (place.is_empty(), text.is_empty()) {
        (true, true) => format!("{word} {name}\n"),
        (false, true) => format!("{word} {name}  {place}\n"),
        (true, false) => format!("{word} {name}  {NONE}  {text}\n"),
        (false, false) => format!("{word} {name}  {place}  {text}\n"),
    }
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}

fn percent(fraction: f64) -> String {
    let text = format!("{:.1}", 100.0 * fraction);
    // Zero has no direction.
    if text == "-0.0" { "0.0".to_owned() } else { text }
}

/// Returns the last line: the conclusion and counts of tests as `key=value`, then why nothing was measured, if so.
fn summary(run: &Run, conclusion: Conclusion) -> String {
    let unmeasured = Unmeasured::of(run);
    let bounded = run.count(Verdict::Inconclusive) - run.inconclusive().count();
    let counts = [
        ("slower", run.slower().count()),
        ("accepted", run.accepted_tests().count()),
        ("faster", run.count(Verdict::Faster)),
        ("failing", run.failing(Side::Head).count()),
        ("inconclusive", run.inconclusive().count()),
        ("slower-than-ratchet", run.cumulative_losses().len()),
        ("below-threshold", run.count(Verdict::ChangedBelowThreshold)),
        ("unchanged", run.count(Verdict::Same) + bounded),
        ("not-measured", unmeasured.not_measured),
        ("unaffected", unmeasured.unaffected),
    ];
    let counts = counts.map(|(key, tests)| format!(" {key}={tests}")).concat();
    let because = counts::nothing_because(run).map(|because| because.to_string()).unwrap_or_default();
    line("summary", &format!("verdict={}{counts}", github::verdict(run, conclusion)), "", &because)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::Detail;
    use crate::{Format, Rendering, TextOptions};
    use perfunit_model::samples::{self, bounded, full, measured, outcome, run, unmeasured};
    use perfunit_model::{
        Acceptance, AcceptedIn, Difference, Explanation, FailedOn, Failure, NothingBecause, Ratchet, Reason,
        Responsibility, ResponsibleFunction, Sides,
    };
    use std::io::Write as _;
    use std::process::{Command, Stdio};

    fn slower(name: &str, change: f64) -> Outcome {
        outcome(name, Verdict::Slower, Some(measured(1e3, change)))
    }

    fn explained_outcome(outcome: Outcome) -> Outcome {
        let responsible = ResponsibleFunction {
            function: 1,
            how: Responsibility::ItsOwn,
            change: Difference { estimate: 400.0, low: 390.0, high: 410.0 },
            share: 0.98,
            calls: Sides { base: 3.0, head: 3.0 },
            calls_each: None,
            changed: None,
            not_apart: Vec::new(),
        };
        let explanation = Explanation { responsible: vec![responsible], ..samples::explanation() };
        Outcome { explanation: Some(explanation), ..outcome }
    }

    fn fails(said: &str) -> Reason {
        Reason::Fails { side: FailedOn::Head, how: Failure::Said(said.into()), intermittent: false }
    }

    fn of_each_kind() -> Run {
        let open = samples::open_within("e", 1e3, -0.1, 0.2);
        let mut run = run(vec![
            explained_outcome(slower("a::x", 0.124)),
            slower("a::y", 0.04),
            outcome("b", Verdict::Faster, Some(measured(1e3, -0.5))),
            unmeasured("c", Some(fails("left\nright"))),
            open,
            outcome("f", Verdict::Same, Some(measured(1e3, 0.0))),
            outcome("g", Verdict::Slower, Some(bounded(1e3, 3e3, Some(3e3)))),
            unmeasured("h", Some(Reason::Ignored)),
            unmeasured("i", Some(Reason::SameCode)),
        ]);
        let from = AcceptedIn::Commit { id: "3f2a91c0".into(), step: 0 };
        run.acceptances = vec![Acceptance::parse("a::y <= 5% because x  y", from).unwrap()];
        let lost = Run { base: samples::base(), ..samples::run(vec![slower("f", 0.02)]) };
        run.ratchet = Some(Ratchet { version: samples::base(), comparison: Ok(Box::new(lost)) });
        run
    }

    #[test]
    fn each_kind_of_result_has_a_line() {
        let expected = "\
failing mycrate c  -  fails on head: left right
slower +200.0 % [200.0, inf] mycrate g
slower +12.4 % [11.4, 13.4] mycrate a::x  src/lexer.rs:12 lexer::word
accepted +4.0 % [3.0, 5.0] mycrate a::y  -  accepted up to 5 %: x y (3f2a91c)
faster -50.0 % [-51.0, -49.0] mycrate b
inconclusive +5.0 % [-10.0, 20.0] mycrate e  -  too noisy for its budget (--per-test-budget)
slower-than-ratchet +2.0 % [1.0, 3.0] mycrate f
summary verdict=slower slower=2 accepted=1 faster=1 failing=1 inconclusive=1 slower-than-ratchet=1 below-threshold=0 unchanged=1 not-measured=2 unaffected=1
";
        assert_eq!(render(&of_each_kind(), Denied::default()), expected);
    }

    /// Prints word, change, test, place and text of each line.
    const SCRIPT: &str = r#"
        BEGIN { FS = "  "; OFS = "|" }
        {
            word = $1; sub(/ .*/, "", word)
            rest = substr($1, length(word) + 2); change = ""
            if (match(rest, /^[+-][0-9.]+ % \[[^]]*\] /)) {
                change = substr(rest, 1, RLENGTH - 1); rest = substr(rest, RLENGTH + 1)
            }
            print word, change, rest, $2, $3
        }"#;

    #[test]
    fn a_short_script_reads_the_lines_of_all_kinds() {
        let mut awk = Command::new("awk");
        let spawned = awk.arg(SCRIPT).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let Ok(mut child) = spawned else {
            println!("skipped: awk is not installed");
            return;
        };
        let text = render(&of_each_kind(), Denied::default());
        child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
        let output = String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap();
        let expected = "\
failing||mycrate c|-|fails on head: left right
slower|+200.0 % [200.0, inf]|mycrate g||
slower|+12.4 % [11.4, 13.4]|mycrate a::x|src/lexer.rs:12 lexer::word|
accepted|+4.0 % [3.0, 5.0]|mycrate a::y|-|accepted up to 5 %: x y (3f2a91c)
faster|-50.0 % [-51.0, -49.0]|mycrate b||
inconclusive|+5.0 % [-10.0, 20.0]|mycrate e|-|too noisy for its budget (--per-test-budget)
slower-than-ratchet|+2.0 % [1.0, 3.0]|mycrate f||
";
        assert!(output.starts_with(expected), "{output}");
        assert!(output.lines().last().unwrap().starts_with("summary||verdict=slower slower=2 "), "{output}");
    }

    #[test]
    fn without_results_there_is_the_summary_with_its_reason() {
        let mut run = run(Vec::new());
        run.selection.nothing_because = Some(NothingBecause::Comments { files: 3 });
        let text = render(&run, Denied::default());
        assert!(text.starts_with("summary verdict=nothing slower=0 "), "{text}");
        assert!(
            text.ends_with("unaffected=0  -  only comments, documentation comments and formatting differ (3 files)\n"),
            "{text}"
        );
    }

    #[test]
    fn what_is_denied_has_lines_too() {
        let mut run = Run { growth: Some(samples::growth()), ..run(Vec::new()) };
        run.selection.uncovered = vec![samples::uncovered()];
        let denied = Denied { growth: true, uncovered: true, ..Denied::default() };
        let text = render(&run, denied);
        assert!(text.starts_with("grows Parser::parse  "), "{text}");
        assert!(text.contains("\nuncovered idle::Pool::drain  src/idle.rs:7  no test can reach it\n"), "{text}");
        assert!(text.contains("\nundecided growth is unknown") && text.contains("\nsummary verdict=grows "), "{text}");
        assert!(!render(&run, Denied::default()).contains("uncovered idle"));
    }

    #[test]
    fn hostile_names_and_messages_stay_in_their_fields() {
        let name =
            format!("a\n\u{1b}[31mslower +9.9 % [9.0, 10.0] other\u{1b}[0m  src/x.rs:1 f {}", "x".repeat(10_000));
        let run = run(vec![unmeasured(&name, Some(fails("\r\nsummary verdict=same")))]);
        let text = render(&run, Denied::default());
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 2, "{text}");
        assert!(lines[0].starts_with("failing mycrate a slower") && !text.contains('\u{1b}'), "{text}");
        assert_eq!(lines[0].split("  ").count(), 3, "{text}");
        assert!(lines[0].len() < 1_000 && lines[1].starts_with("summary verdict=failing "), "{text}");
    }

    #[test]
    fn neither_width_nor_verbosity_changes_it() {
        let with = |text| crate::render(&full(), Format::Short, &Rendering { text, ..Rendering::default() });
        let narrow = TextOptions { width: 40, detail: Detail::Full, glyphs: Glyphs::Unicode };
        assert_eq!(with(TextOptions::default()), with(narrow));
        assert!(with(narrow).is_ascii());
    }
}
