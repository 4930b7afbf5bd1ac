//! The table of all tests, the gravest first: a row each, below it the details while there is room.

use super::detail;
use super::interval::Scale;
use super::percent;
use crate::figures::{self, Words};
use crate::sections::{Item, Kind, Sections};
use crate::{causes, responsible};
use maud::{Markup, html};
use perfunit_model::format::{self, Glyphs, count, one_line};
use perfunit_model::{Measured, Outcome, Run, TargetId, TestId, Verdict};
use std::collections::BTreeMap;

/// Bytes around a row, and around the details of a test, at most.
const AROUND: usize = 140;
/// Bytes of the page besides what is above the table and in its rows, at most where names have usual lengths.
const REST: usize = 30_000;

/// In the order of the table.
pub const VERDICTS: [Verdict; 6] = [
    Verdict::Slower,
    Verdict::Faster,
    Verdict::Inconclusive,
    Verdict::ChangedBelowThreshold,
    Verdict::Same,
    Verdict::NotMeasured,
];

/// Tells a verdict from others without colour.
pub fn sign(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Slower => "▲",
        Verdict::Faster => "▼",
        Verdict::Inconclusive => "?",
        Verdict::ChangedBelowThreshold => "≈",
        Verdict::Same => "=",
        Verdict::NotMeasured => "–",
    }
}

/// The sign and the word for a verdict.
pub fn word(verdict: Verdict, words: Words) -> String {
    format!("{} {}", sign(verdict), figures::status(verdict, words).0)
}

/// The class of what has to do with a verdict.
pub fn class(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Slower => "slower",
        Verdict::Faster => "faster",
        Verdict::Inconclusive => "inconclusive",
        Verdict::ChangedBelowThreshold => "changed",
        Verdict::Same => "same",
        Verdict::NotMeasured => "unmeasured",
    }
}

/// The targets that have tests, each with its number in the page.
pub fn targets(run: &Run) -> BTreeMap<&TargetId, usize> {
    let mut targets: BTreeMap<&TargetId, usize> =
        run.outcomes.iter().map(|outcome| (&outcome.test.target, 0)).collect();
    for (number, place) in targets.values_mut().enumerate() {
        *place = number;
    }
    targets
}

/// The table. Details come as long as the whole page stays below the limit, those of the gravest first.
pub fn table(run: &Run, sections: &Sections<'_>, most_bytes: usize) -> Markup {
    let tests = sorted(sections);
    let page = Page { words: Words::of(&run.all_gates()), scale: Scale::of(run), targets: targets(run) };
    let rows: Vec<Markup> = tests.iter().map(|outcome| page.row(outcome)).collect();
    let taken = REST + rows.iter().map(|row| row.0.len() + AROUND).sum::<usize>();
    let details = details(run, &tests, most_bytes.saturating_sub(taken));
    let left_out = tests.iter().filter(|outcome| detail::is_worth(outcome)).count() - details.len();
    html! {
        @if left_out > 0 {
            p.note {
                "To keep this page small, details of " (count(left_out, "test"))
                " are left out; the run's JSON has them."
            }
        }
        table id="tests" aria-describedby="order" style={ "--threshold:" (percent(page.scale.threshold())) } {
            caption.away { "Tests with their verdicts" }
            thead {
                tr {
                    @for title in ["Test", "Verdict", "Base", "Head", "Change"] {
                        @let key = if title == "Test" { "name".to_owned() } else { title.to_lowercase() };
                        th scope="col" class=(key) data-sort=(key) { (title) }
                    }
                    th.interval scope="col" { "Interval" }
                }
            }
            @for (index, (outcome, row)) in tests.iter().zip(&rows).enumerate() {
                "\n"
                tbody class=(class(outcome.verdict)) data-target=(page.targets[&outcome.test.target]) {
                    (row)
                    @if let Some(details) = details.get(&index) {
                        tr.more id={ "d" (index) } {
                            td colspan="6" {
                                details {
                                    summary { "Details" }
                                    (details)
                                }
                            }
                        }
                    }
                }
            }
        }
        button id="all" type="button" hidden="hidden" {}
    }
}

/// The details of as many tests as fit, from the first on, by place in the table.
fn details(run: &Run, tests: &[&Outcome], mut room: usize) -> BTreeMap<usize, Markup> {
    let all = tests.iter().enumerate().filter(|(_, outcome)| detail::is_worth(outcome));
    all.map_while(|(index, outcome)| {
        let details = detail::of(run, outcome);
        room = room.checked_sub(details.0.len() + AROUND)?;
        Some((index, details))
    })
    .collect()
}

/// By verdict; then the largest change first, or by reason; then by name.
fn sorted<'a>(sections: &Sections<'a>) -> Vec<&'a Outcome> {
    let of = |items: &[Item<'a>]| items.iter().filter_map(|item| item.test).collect::<Vec<_>>();
    let of_verdict = |verdict| {
        let section = sections.get(Kind::Tests(verdict));
        section.map(|section| [of(&section.items), section.reasons.iter().flat_map(|group| of(&group.items)).collect()])
    };
    VERDICTS.into_iter().filter_map(of_verdict).flatten().flatten().collect()
}

/// A test's name in its target.
pub fn name(test: &TestId) -> Markup {
    let name = one_line(&test.name);
    let (module, own) = name.split_at(name.rfind("::").map_or(0, |at| at + 2));
    html! { span.id { (module) b { (own) } } }
}

/// What all rows have in common.
struct Page<'a> {
    words: Words,
    scale: Scale,
    targets: BTreeMap<&'a TargetId, usize>,
}

impl Page<'_> {
    /// The name; below it the target, where there are several, and what is most worth knowing; then the figures.
    fn row(&self, outcome: &Outcome) -> Markup {
        html! {
            tr data-keys=[outcome.measured.as_ref().map(keys)] {
                th.name scope="row" {
                    (name(&outcome.test))
                    @if self.targets.len() > 1 {
                        span.target { (outcome.test.target.to_string()) }
                    }
                    @if let Some(remark) = remark(outcome) {
                        span.remark { (remark) }
                    }
                }
                td.verdict { (word(outcome.verdict, self.words)) }
                @match &outcome.measured {
                    None => { td colspan="4" {} }
                    Some(measured) => { (self.figures(measured)) }
                }
            }
        }
    }

    fn figures(&self, measured: &Measured) -> Markup {
        let [base, head] = figures::times(measured, Glyphs::Unicode);
        let [change, low, high] =
            [measured.change.estimate, measured.change.low, measured.change.high].map(format::percent);
        html! {
            td.base { (base) }
            td.head { (head) }
            @if let Some(bound) = &measured.bound {
                td.change { (figures::at_least(bound)) }
                td.interval {}
            } @else {
                td.change { (change) }
                td.interval { (self.scale.bar(measured)) (low) " to " (high) }
            }
        }
    }
}

/// What the script sorts by.
fn keys(measured: &Measured) -> String {
    let keys = [measured.base_ns, measured.head_ns, measured.change.estimate];
    keys.map(|key| if key.is_finite() { format!("{key:.4e}") } else { "-".to_owned() }).join(" ")
}

/// Why there is no verdict, or what is responsible for it.
fn remark(outcome: &Outcome) -> Option<String> {
    if let Some(reason) = &outcome.reason {
        return Some(one_line(&reason.to_string()));
    }
    let Some(explanation) = &outcome.explanation else {
        return (outcome.verdict == Verdict::NotMeasured).then(|| "no reason was recorded".to_owned());
    };
    let responsible = match explanation.outer_cause() {
        Some(cause) => causes::name(cause, Glyphs::Unicode),
        None => responsible::place(&explanation.functions[explanation.responsible.first()?.function]),
    };
    Some(format!("responsible: {responsible}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use perfunit_model::samples::{full, measured, outcome, run, unmeasured};
    use perfunit_model::{Reason, TargetKind};

    fn shown(run: &Run, most_bytes: usize) -> String {
        table(run, &Sections::of(run, perfunit_model::Denied::default()), most_bytes).0
    }

    #[test]
    fn the_gravest_come_first_and_each_test_has_a_row() {
        let table = shown(&full(), usize::MAX);
        let places: Vec<usize> = [
            "<b>long<",
            "<b>tiny<",
            "<b>first<",
            "<b>roundtrip<",
            "<b>short<",
            "<b>nested<",
            "<b>empty<",
            "<b>dns<",
            "<b>all<",
        ]
        .iter()
        .map(|name| table.find(name).unwrap_or_else(|| panic!("{name} is missing in {table}")))
        .collect();
        assert!(places.is_sorted(), "{places:?}");
        assert_eq!(table.matches("<tbody class").count(), 10);
        assert_eq!(table.matches("<tr class=\"more\"").count(), 7);
    }

    #[test]
    fn targets_are_named_where_there_are_several() {
        let one = run(vec![unmeasured("a", None)]);
        assert!(!shown(&one, 0).contains("class=\"target\""));
        let mut other = unmeasured("b", Some(Reason::New));
        other.test.target.kind = TargetKind::Test;
        other.test.target.name = "api".into();
        let two = run(vec![unmeasured("a", None), other]);
        let table = shown(&two, 0);
        assert!(
            table.contains("<span class=\"target\">mycrate::api</span>") && table.contains("data-target=\"1\""),
            "{table}"
        );
    }

    #[test]
    fn details_give_way_where_there_is_no_room() {
        let run = run(["a", "b"].map(|name| outcome(name, Verdict::Same, Some(measured(1e3, 0.0)))).to_vec());
        let whole = shown(&run, usize::MAX);
        assert!(!whole.contains("left out") && whole.matches("class=\"more\"").count() == 2);
        // Room for one of the two.
        let less = shown(&run, REST + whole.len() - 500);
        assert!(
            less.contains("details of 1 test are left out") && less.matches("class=\"more\"").count() == 1,
            "{less}"
        );
        assert!(shown(&run, 0).contains("details of 2 tests are left out"));
    }
}
