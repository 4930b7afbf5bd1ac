//! What CI systems show as test results: a `JUnit` document, with a suite for each target and a case for each test.
//!
//! A case's time is that of one run of the test body on head. Documents of this kind have no standard; what is written
//! here is understood by cargo-nextest's reader, and valid by the strict schema of Jenkins' xUnit plugin (junit-10.xsd),
//! which knows no properties of a case: the figures are text.

use super::failing::is_failing;
use super::figures::{phrase, statistics, times, unexplained};
use super::format::{Glyphs, one_line, short_commit, threshold};
use super::rendering::Denied;
use super::unmeasured::is_unaffected;
use super::{blame, json, metrics};
use crate::model::{Outcome, Run, TargetId, Verdict, VersionName};
use quick_junit::{NonSuccessKind, Property, Report, TestCase, TestCaseStatus, TestSuite};
use std::collections::BTreeMap;
use std::time::Duration;

/// The document; tests that got slower have failed, and those that are denied.
pub fn render(run: &Run, denied: Denied) -> String {
    let mut suites: BTreeMap<&TargetId, TestSuite> = BTreeMap::new();
    for outcome in &run.outcomes {
        let target = &outcome.test.target;
        let suite = suites.entry(target).or_insert_with(|| suite(target, run));
        suite.add_test_case(case(outcome, denied));
    }
    let mut report = Report::new("cargo-perfunit");
    report.add_test_suites(suites.into_values());
    // Into memory, and without characters that XML does not know: there is nothing to refuse.
    let text = report.to_string().unwrap_or_else(|error| unreachable!("{error}"));
    // quick-junit counts what was skipped on the outermost element, too, where Jenkins knows no such attribute.
    text.replacen(&format!(" skipped=\"{}\"", report.skipped), "", 1)
}

fn suite(target: &TargetId, run: &Run) -> TestSuite {
    let mut suite = TestSuite::new(target.to_string());
    let gates: Vec<&str> = run.gates.iter().map(|gate| gate.name()).collect();
    let properties = [
        ("base", version(&run.base)),
        ("head", version(&run.head)),
        ("threshold", run.threshold.fraction().to_string()),
        ("metric", gates.join(",")),
    ];
    suite.add_properties(properties.map(|(name, value)| Property::new(name, value)));
    suite
}

fn version(version: &VersionName) -> String {
    let changes = if version.dirty { " + changes" } else { "" };
    one_line(&format!("{} ({}{changes})", version.label, short_commit(&version.commit)))
}

fn case(outcome: &Outcome, denied: Denied) -> TestCase {
    let mut case = TestCase::new(outcome.test.name.as_str(), status(outcome, denied));
    case.set_classname(outcome.test.target.to_string());
    if let Some(measured) = &outcome.measured {
        case.set_time(Duration::try_from_secs_f64(measured.head_ns / 1e9).unwrap_or_default());
        if matches!(case.status, TestCaseStatus::Success { .. }) {
            case.set_system_out(lines(outcome).join("\n"));
        }
    }
    case
}

fn status(outcome: &Outcome, denied: Denied) -> TestCaseStatus {
    let failed = match outcome.verdict {
        Verdict::Slower => true,
        Verdict::Inconclusive => denied.inconclusive,
        Verdict::NotMeasured if denied.failing && is_failing(outcome) => true,
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
    let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
    let lines = lines(outcome);
    let kind = if is_failing(outcome) { "failing" } else { json::verdict(outcome.verdict) };
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

/// The verdict in a line, then what is known besides: how sure it is, work, who is to blame, remarks.
fn lines(outcome: &Outcome) -> Vec<String> {
    let glyphs = Glyphs::Unicode;
    let verdict = json::verdict(outcome.verdict);
    let figures = outcome.measured.as_ref().map(|measured| {
        let [base, head] = times(measured, glyphs);
        format!(": {base} {} {head}, {}", glyphs.arrow(), phrase(measured))
    });
    let sure = outcome
        .measured
        .as_ref()
        .map(|measured| format!("changes count from {} on; {}", threshold(measured.threshold), statistics(measured)));
    let reason = outcome.reason.as_ref().map(|reason| one_line(&reason.to_string()));
    let check = outcome.cross_check.as_ref().map(ToString::to_string);
    let blame = outcome.explanation.iter().flat_map(|explanation| blame::lines(explanation, glyphs));
    let first = if is_failing(outcome) {
        "passes on base and fails on head".to_owned()
    } else {
        format!("{verdict}{}", figures.unwrap_or_default())
    };
    let rest = reason.into_iter().chain(sure).chain(metrics::changed(outcome, glyphs)).chain(check).chain(blame);
    let rest = rest.chain(unexplained(outcome));
    let notes = outcome.notes.iter().map(|note| one_line(&note.to_string()));
    std::iter::once(first).chain(rest).chain(notes).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{FailedOn, Note, Reason, Threshold};
    use crate::report::samples::{full, outcome, run, unmeasured};

    const INCONCLUSIVE: Denied = Denied { inconclusive: true, failing: false };

    fn read(run: &Run, denied: Denied) -> Report {
        Report::deserialize_from_str(&render(run, denied)).unwrap()
    }

    /// What Jenkins' schema allows besides names and counts is little.
    #[test]
    fn the_outermost_element_and_the_cases_have_nothing_that_jenkins_does_not_know() {
        let text = render(&full(), Denied::default());
        assert!(
            text.contains("<testsuites name=\"cargo-perfunit\" tests=\"10\" failures=\"2\" errors=\"0\">"),
            "{text}"
        );
        assert!(
            text.contains("<testsuite name=\"mycrate\" tests=\"10\" skipped=\"3\" errors=\"0\" failures=\"2\">"),
            "{text}"
        );
        assert_eq!(text.matches("<properties>").count(), 1);
    }

    #[test]
    fn every_test_is_a_case_and_the_slower_ones_have_failed() {
        let report = read(&full(), Denied::default());
        assert_eq!((report.tests, report.failures, report.errors, report.test_suites.len()), (10, 2, 0, 1));
        let suite = &report.test_suites[0];
        assert_eq!((suite.name.as_str(), suite.skipped), ("mycrate", 3));
        let case = |name: &str| suite.test_cases.iter().find(|case| case.name.as_str() == name).unwrap();
        let long = case("parser::tests::long");
        let TestCaseStatus::NonSuccess { ty, message, description, .. } = &long.status else { panic!("{long:?}") };
        let message = message.as_ref().unwrap().as_str();
        assert_eq!(message, "slower: 1.21 µs → 1.58 µs, +30.6 % [+29.6 %, +31.6 %]");
        assert_eq!(ty.as_ref().unwrap().as_str(), "slower");

        let description = description.as_ref().unwrap().as_str();
        assert!(description.ends_with("\nits work differs from call to call"));
        assert!(description.contains("\nchanges count from 10 % on; p < 0.0001, Cohen's d 4.20 (large), 64 pairs"));
        assert_eq!(long.classname.as_ref().unwrap().as_str(), "mycrate");
        let TestCaseStatus::Skipped { message, .. } = &case("net::tests::dns").status else { panic!("not skipped") };
        assert_eq!(message.as_ref().unwrap().as_str(), "fails on both: no network");
        let noisy = case("net::tests::roundtrip");
        assert!(matches!(noisy.status, TestCaseStatus::Success { .. }));
        assert!(noisy.system_out.as_ref().unwrap().as_str().contains("too noisy"), "{noisy:?}");
    }

    #[test]
    fn what_could_not_be_told_fails_if_that_is_denied() {
        assert_eq!(read(&full(), INCONCLUSIVE).failures, 3);
    }

    #[test]
    fn foreign_text_is_no_markup_and_what_is_not_a_number_no_time() {
        let mut odd = crate::report::samples::measured(f64::NAN, f64::INFINITY);
        odd.head_ns = f64::NEG_INFINITY;
        let text = "a < b && c > \"d\" ]]> \u{1b}[31mred\u{1b}[0m \u{0}\u{8}";
        let fails = Reason::Fails { side: FailedOn::Base, detail: text.to_owned(), intermittent: false };
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
