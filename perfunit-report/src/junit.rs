//! Test results for CI systems: a `JUnit` document with a suite for each target and a case for each test.
//!
//! A case's time is that of one run of the test body on head. The format has no standard; this document is understood
//! by cargo-nextest's reader and valid under the strict schema of Jenkins' xUnit plugin (junit-10.xsd). The schema has
//! no properties of cases, so figures are text.

use super::counts::is_unaffected;
use super::figures::{phrase, possible, statistics, times, unexplained_reason};
use super::sections::{Kind, Section, Sections, is_failing};
use super::{acceptance, causes, counts, metrics};
use perfunit_model::format::{Glyphs, one_line, threshold};
use perfunit_model::{Denied, Outcome, Run, TargetId, Verdict, variant_name};
use quick_junit::{NonSuccessKind, Property, Report, TestCase, TestCaseStatus, TestSuite};
use std::collections::BTreeMap;
use std::time::Duration;

/// Sections with a suite of their own, in this order.
const FURTHER: [Kind; 7] =
    [Kind::Uncovered, Kind::Programs, Kind::Functions, Kind::Growth, Kind::Ratchet, Kind::Generated, Kind::Undecided];

/// Returns the document. Tests count as failed if they got slower, fail on head only or are denied.
pub fn render(run: &Run, denied: Denied) -> String {
    let mut suites: BTreeMap<&TargetId, TestSuite> = BTreeMap::new();
    for outcome in &run.outcomes {
        let target = &outcome.test.target;
        let suite = suites.entry(target).or_insert_with(|| suite(target, run));
        suite.add_test_case(case(outcome, run, denied));
    }
    let mut report = Report::new("cargo-perfunit");
    let sections = Sections::of(run, denied);
    let further = sections.of_kinds(&FURTHER).filter_map(|section| further(section, run, denied));
    report.add_test_suites(suites.into_values().chain(further));
    // Writing to memory without characters that XML forbids cannot fail.
    let text = report.to_string().unwrap_or_else(|error| unreachable!("{error}"));
    // quick-junit also writes the number of skipped tests on the outermost element, where Jenkins' schema does not
    // allow it.
    text.replacen(&format!(" skipped=\"{}\"", report.skipped), "", 1)
}

fn suite(target: &TargetId, run: &Run) -> TestSuite {
    let mut suite = TestSuite::new(target.to_string());
    let gates: Vec<&str> = run.gates.iter().map(|gate| gate.name()).collect();
    let properties = [
        ("base", run.base.to_string()),
        ("head", run.head.to_string()),
        ("threshold", run.threshold.fraction().to_string()),
        ("metric", gates.join(",")),
    ];
    let lto_off = run.environment.lto_off.map(|kind| ("lto-off", kind.to_string()));
    suite.add_properties(properties.into_iter().chain(lto_off).map(|(name, value)| Property::new(name, value)));
    suite
}

/// Returns the suite of a section.
fn further(section: &Section<'_>, run: &Run, denied: Denied) -> Option<TestSuite> {
    match section.kind {
        Kind::Uncovered => Some(functions("uncovered", section, denied.uncovered)),
        Kind::Programs => Some(functions("programs", section, true)),
        Kind::Functions => Some(functions("functions", section, denied.functions)),
        Kind::Growth => Some(functions("growth", section, denied.growth)),
        Kind::Ratchet => ratchet(section, run, denied),
        Kind::Generated => generated_suite(section, run, denied),
        Kind::Undecided => Some(undecided_suite(section)),
        _ => None,
    }
}

/// Returns a case for each test that was compared with the ratchet's version, or one with the reason for a missing
/// comparison.
fn ratchet(section: &Section<'_>, run: &Run, denied: Denied) -> Option<TestSuite> {
    let found = run.ratchet.as_ref()?;
    let mut suite = TestSuite::new(one_line(&format!("ratchet {}", found.version.label)));
    if let Ok(second) = &found.comparison {
        let compared = second.outcomes.iter().filter(|outcome| outcome.measured.is_some());
        suite.add_test_cases(compared.map(|outcome| case(outcome, second, denied)));
        for program in section.items.iter().filter(|item| item.test.is_none()) {
            let mut status = failed_or_skipped(true);
            status.set_message(program.text.as_str());
            suite.add_test_case(TestCase::new(program.name.as_str(), status));
        }
    } else {
        let mut status = failed_or_skipped(section.is_bad);
        status.set_message(section.headline.as_str());
        suite.add_test_case(TestCase::new("comparison", status));
    }
    suite.add_property(Property::new("ratchet", &section.headline));
    Some(suite)
}

/// Returns a case for each compared generated call, or one with the reason for a missing comparison that is denied.
fn generated_suite(section: &Section<'_>, run: &Run, denied: Denied) -> Option<TestSuite> {
    let found = run.generated.as_ref()?;
    let mut suite = TestSuite::new("generated");
    if let Some(compared) = found.run() {
        for outcome in compared.outcomes.iter().filter(|outcome| outcome.measured.is_some()) {
            let mut call = case(outcome, compared, denied);
            if !denied.generated {
                call.status = TestCaseStatus::success();
            }
            suite.add_test_case(call);
        }
    }
    if denied.generated && matches!(found.comparison, Some(Err(_))) {
        let mut status = failed_or_skipped(true);
        status.set_message(section.headline.as_str());
        suite.add_test_case(TestCase::new("comparison", status));
    }
    suite.add_property(Property::new("generated", &section.headline));
    Some(suite)
}

/// Returns a case for each function of a section. The cases fail if the section is denied, except those that fail no run.
fn functions(name: &str, section: &Section<'_>, is_denied: bool) -> TestSuite {
    let mut suite = TestSuite::new(name);
    let prefix = if section.kind == Kind::Uncovered { "executed by no test: " } else { "" };
    for item in &section.items {
        let is_denied = is_denied && item.is_bad;
        let is_shown_only = section.kind == Kind::Programs && !item.is_bad;
        let mut status = if is_shown_only { TestCaseStatus::success() } else { failed_or_skipped(is_denied) };
        if is_denied {
            status.set_type(name);
        }
        let place = item.function.map(|_| format!(" ({})", item.place())).unwrap_or_default();
        status.set_message(format!("{prefix}{}{place}", item.text));
        let mut case = TestCase::new(item.name.as_str(), status);
        case.set_classname(item.function.map(|function| function.package.as_str()).unwrap_or_default());
        suite.add_test_case(case);
    }
    suite.add_property(Property::new(name, &section.headline));
    suite
}

/// Returns a case for each requested answer that is missing.
fn undecided_suite(section: &Section<'_>) -> TestSuite {
    let mut suite = TestSuite::new("undecided");
    for item in &section.items {
        let mut status = failed_or_skipped(true);
        status.set_type("undecided").set_message(item.text.as_str());
        suite.add_test_case(TestCase::new(item.text.as_str(), status));
    }
    suite
}

fn failed_or_skipped(is_failed: bool) -> TestCaseStatus {
    if is_failed { TestCaseStatus::non_success(NonSuccessKind::Failure) } else { TestCaseStatus::skipped() }
}

fn case(outcome: &Outcome, run: &Run, denied: Denied) -> TestCase {
    let mut case = TestCase::new(outcome.test.name.as_str(), status(outcome, run, denied));
    case.set_classname(outcome.test.target.to_string());
    if let Some(measured) = &outcome.measured {
        case.set_time(Duration::try_from_secs_f64(measured.head_ns / 1e9).unwrap_or_default());
        if matches!(case.status, TestCaseStatus::Success { .. }) {
            case.set_system_out(lines(outcome, run).join("\n"));
        }
    }
    case
}

fn status(outcome: &Outcome, run: &Run, denied: Denied) -> TestCaseStatus {
    let failed = match outcome.verdict {
        Verdict::Slower => run.is_slower(outcome),
        Verdict::Inconclusive => denied.is_open(run, outcome),
        Verdict::NotMeasured if is_failing(outcome) => true,
        Verdict::NotMeasured => {
            let mut status = TestCaseStatus::skipped();
            status.set_message(why_not(outcome));
            return status;
        }
        Verdict::Faster | Verdict::ChangedBelowThreshold | Verdict::Same => false,
    };
    if !failed {
        return TestCaseStatus::success();
    }
    let mut status = failed_or_skipped(true);
    let lines = lines(outcome, run);
    let kind = if is_failing(outcome) { "failing".to_owned() } else { variant_name(outcome.verdict) };
    status.set_type(kind).set_message(lines[0].as_str()).set_description(lines.join("\n"));
    status
}

fn why_not(outcome: &Outcome) -> String {
    match &outcome.reason {
        Some(reason) => one_line(&reason.to_string()),
        None if is_unaffected(outcome) => "cannot have changed".to_owned(),
        None => "no reason was recorded".to_owned(),
    }
}

/// Returns the verdict in a line, then statistics, work, responsible functions and remarks.
fn lines(outcome: &Outcome, run: &Run) -> Vec<String> {
    let glyphs = Glyphs::Unicode;
    let work = metrics::changed_metrics(outcome, run.gates_of(outcome), glyphs);
    let verdict = variant_name(outcome.verdict);
    let figures = outcome.measured.as_ref().map(|measured| {
        let [base, head] = times(measured, glyphs);
        format!(": {base} {} {head}, {}", glyphs.arrow(), phrase(measured))
    });
    let sure = outcome
        .measured
        .as_ref()
        .map(|measured| format!("threshold {}; {}", threshold(measured.threshold), statistics(measured)));
    let reason = outcome.reason.as_ref().map(|reason| one_line(&reason.to_string()));
    let bound = run.unchanged_within(outcome).map(|bound| counts::unchanged_within(bound, glyphs));
    let check = outcome.cross_check.as_ref().map(ToString::to_string);
    let responsible = outcome.explanation.iter().flat_map(|explanation| causes::lines(explanation, glyphs));
    let first = if is_failing(outcome) {
        "passes on base and fails on head".to_owned()
    } else {
        format!("{verdict}{}", figures.unwrap_or_default())
    };
    let rest = reason
        .into_iter()
        .chain(bound)
        .chain(acceptance::said(outcome, run))
        .chain(possible(outcome, run))
        .chain(sure)
        .chain(work)
        .chain(check)
        .chain(responsible);
    let rest = rest.chain(unexplained_reason(outcome));
    let notes = outcome.notes.iter().map(|note| one_line(&note.to_string()));
    std::iter::once(first).chain(rest).chain(notes).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use perfunit_model::samples::{full, outcome, pooled, run, started_by_many, unmeasured};
    use perfunit_model::{FailedOn, Failure, Note, PooledChange, Reason, Threshold, Verdict};
    use snapbox::{IntoData, assert_data_eq, str};

    const NOTHING: Denied = Denied {
        inconclusive: false,
        unconfirmed: false,
        uncovered: false,
        growth: false,
        functions: false,
        generated: false,
        nothing_measured: false,
    };
    const INCONCLUSIVE: Denied = Denied { inconclusive: true, ..NOTHING };

    fn read(run: &Run, denied: Denied) -> Report {
        Report::deserialize_from_str(&render(run, denied)).unwrap()
    }

    #[test]
    fn every_test_is_a_case_and_the_slower_ones_have_failed() {
        assert_data_eq!(render(&full(), Denied::default()), str![[r#"
<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="cargo-perfunit" tests="14" failures="2" errors="0">
    <testsuite name="mycrate" tests="11" skipped="3" errors="0" failures="2">
        <properties>
            <property name="base" value="main (3f2a91c)"/>
            <property name="head" value="working tree (8d01e7b + changes)"/>
            <property name="threshold" value="0.1"/>
            <property name="metric" value="time"/>
        </properties>
        <testcase name="parser::tests::empty" classname="mycrate" time="0.000">
            <system-out>same: 310 ns → 310 ns, +0.10 % [-0.90 %, +1.1 %]
threshold 10 %; p &lt; 0.0001, Cohen&apos;s d 4.20 (large), 64 pairs, detectable 0.41 % (power 99 %), steady state</system-out>
        </testcase>
        <testcase name="lexer::tests::tiny" classname="mycrate" time="0.000">
            <failure message="slower: 8.20 ns → 9.40 ns, +14.6 % (+1.2 ns) [+13.6 %, +15.6 %]" type="slower">slower: 8.20 ns → 9.40 ns, +14.6 % (+1.2 ns) [+13.6 %, +15.6 %]
threshold 10 %; p &lt; 0.0001, Cohen&apos;s d 4.20 (large), 64 pairs, detectable 0.41 % (power 99 %), steady state</failure>
        </testcase>
        <testcase name="parser::tests::long" classname="mycrate" time="0.000">
            <failure message="slower: 1.21 µs → 1.58 µs, +30.6 % [+29.6 %, +31.6 %]" type="slower">slower: 1.21 µs → 1.58 µs, +30.6 % [+29.6 %, +31.6 %]
threshold 10 %; p &lt; 0.0001, Cohen&apos;s d 4.20 (large), 64 pairs, detectable 0.41 % (power 99 %), steady state
its work differs from call to call</failure>
        </testcase>
        <testcase name="cache::tests::first" classname="mycrate" time="0.002">
            <system-out>faster: 2.05 ms → 1.56 ms, -24.0 % [-25.0 %, -23.0 %] (cold)
threshold 10 %; p &lt; 0.0001, Cohen&apos;s d 4.20 (large), 64 pairs, detectable 0.41 % (power 99 %), first call in a process</system-out>
        </testcase>
        <testcase name="parser::tests::short" classname="mycrate" time="0.000">
            <system-out>changed-below-threshold: 95.0 ns → 98.9 ns, +4.1 % [+3.1 %, +5.1 %]
threshold 10 %; p &lt; 0.0001, Cohen&apos;s d 4.20 (large), 64 pairs, detectable 0.41 % (power 99 %), steady state</system-out>
        </testcase>
        <testcase name="parser::tests::nested" classname="mycrate" time="0.000">
            <system-out>changed-below-threshold: 950 ns → 928 ns, -2.3 % [-3.3 %, -1.3 %]
threshold 10 %; p &lt; 0.0001, Cohen&apos;s d 4.20 (large), 64 pairs, detectable 0.41 % (power 99 %), steady state</system-out>
        </testcase>
        <testcase name="net::tests::roundtrip" classname="mycrate" time="0.000">
            <system-out>inconclusive: 48.3 µs → 49.8 µs, +3.1 % [-14.2 %, +20.4 %]
too noisy for its budget (--per-test-budget)
about 7 times as many pairs would settle it
threshold 10 %; p &lt; 0.0001, Cohen&apos;s d 4.20 (large), 64 pairs, detectable 0.41 % (power 99 %), steady state</system-out>
        </testcase>
        <testcase name="slow::tests::all" classname="mycrate">
            <skipped message="ignored (measured with --run-ignored all)"/>
        </testcase>
        <testcase name="net::tests::dns" classname="mycrate">
            <skipped message="fails on both: no network"/>
        </testcase>
        <testcase name="docs::tests::unrelated" classname="mycrate">
            <skipped message="cannot have changed"/>
        </testcase>
        <testcase name="net::tests::handshake" classname="mycrate" time="0.000">
            <system-out>inconclusive: 51.2 µs → 51.7 µs, +0.90 % [-1.8 %, +3.6 %]
too noisy for its budget (--per-test-budget)
unchanged (within ±5 %)
threshold 10 %; p &lt; 0.0001, Cohen&apos;s d 4.20 (large), 64 pairs, detectable 0.41 % (power 99 %), steady state</system-out>
        </testcase>
    </testsuite>
    <testsuite name="uncovered" tests="1" skipped="1" errors="0" failures="0">
        <properties>
            <property name="uncovered" value="1 changed function is executed by no test"/>
        </properties>
        <testcase name="idle::Pool::drain" classname="mycrate">
            <skipped message="executed by no test: no test can reach it (src/idle.rs:7)"/>
        </testcase>
    </testsuite>
    <testsuite name="programs" tests="1" skipped="0" errors="0" failures="0">
        <properties>
            <property name="programs" value="Programs over the tests that the change can reach"/>
        </properties>
        <testcase name="mytool" classname=""/>
    </testsuite>
    <testsuite name="functions" tests="1" skipped="1" errors="0" failures="0">
        <properties>
            <property name="functions" value="1 changed function slower in the mean of several tests"/>
        </properties>
        <testcase name="Parser::skip" classname="mycrate">
            <skipped message="slower +1.9 % [+1.4 %, +2.4 %] in the mean of 2 of 31 tests (src/idle.rs:7)"/>
        </testcase>
    </testsuite>
</testsuites>

"#]].raw());
    }

    #[test]
    fn only_functions_that_are_slower_in_the_mean_fail_if_that_is_denied() {
        let mut both = run(Vec::new());
        let faster = PooledChange { name: "faster".into(), function: None, verdict: Verdict::Faster, ..pooled() };
        both.pooled = vec![pooled(), faster];
        assert_eq!(read(&both, NOTHING).failures, 0);
        assert_eq!(read(&both, Denied { functions: true, ..NOTHING }).failures, 1);
    }

    #[test]
    fn a_program_that_is_slower_over_its_tests_fails() {
        let with = |estimate| Run { programs: vec![started_by_many(estimate)], ..run(Vec::new()) };
        assert_eq!([0.06, 0.002].map(|estimate| read(&with(estimate), NOTHING).failures), [1, 0]);
    }

    #[test]
    fn inconclusive_tests_fail_if_that_is_denied() {
        // Two tests are slower, one is inconclusive, and one is unchanged within a bound.
        assert_eq!(read(&full(), INCONCLUSIVE).failures, 3);
    }

    #[test]
    fn foreign_text_is_no_markup_and_what_is_not_a_number_no_time() {
        let mut odd = perfunit_model::samples::measured(f64::NAN, f64::INFINITY);
        odd.head_ns = f64::NEG_INFINITY;
        let text = "a < b && c > \"d\" ]]> \u{1b}[31mred\u{1b}[0m \u{0}\u{8}";
        let fails = Reason::Fails { side: FailedOn::Base, how: Failure::Said(text.to_owned()), intermittent: false };
        let mut named = unmeasured("weird <&\"'>", Some(fails));
        named.notes.push(Note::OwnThreshold { threshold: Threshold::default(), from: text.to_owned() });
        let report = read(&run(vec![outcome("nan", Verdict::Inconclusive, Some(odd)), named]), INCONCLUSIVE);
        let [nan, named] = &report.test_suites[0].test_cases[..] else { panic!("not two") };
        assert_eq!(nan.time, Some(Duration::ZERO));
        assert_eq!(named.name.as_str(), "weird <&\"'>");
        let TestCaseStatus::Skipped { message, .. } = &named.status else { panic!("not skipped") };
        assert_eq!(message.as_ref().unwrap().as_str(), "fails on base: a < b && c > \"d\" ]]> red");
    }

    #[test]
    fn a_run_without_tests_is_a_document_too() {
        assert_eq!(read(&run(Vec::new()), Denied::default()).tests, 0);
    }
}
