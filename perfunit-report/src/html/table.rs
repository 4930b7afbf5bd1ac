//! The table of all tests, the most severe first: one row each, with details below it while there is room.

use super::plots::Scale;
use super::{explanation, percent, plots};
use crate::figures::{self, Words, phrase, statistics, throughput, times, unexplained_reason};
use crate::metrics::{amount, besides_time, is_unchanged, is_zero};
use crate::sections::{Item, Kind, Sections};
use crate::{acceptance, causes, text};
use maud::{Markup, html};
use perfunit_model::format::{self, Glyphs, count, one_line, sentence, threshold};
use perfunit_model::{
    Basis, Capture, ChangedFunction, Measured, Metered, Metric, MetricVerdict, Outcome, Readings, Run, TargetId,
    TestId, Verdict, Why,
};
use std::collections::BTreeMap;

/// Maximum number of bytes around a row and around the details of a test.
const AROUND: usize = 140;
/// Bytes of the page outside the rows and the part above the table, for names of usual length.
const REST: usize = 30_000;

/// A group of tests in the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Group {
    Of(Verdict),
    /// Tests with an accepted slowdown.
    Accepted,
    /// Tests that are unchanged within a bound.
    Within,
}

/// The groups in the order of the table.
pub const GROUPS: [Group; 8] = [
    Group::Of(Verdict::Slower),
    Group::Accepted,
    Group::Of(Verdict::Faster),
    Group::Of(Verdict::Inconclusive),
    Group::Of(Verdict::ChangedBelowThreshold),
    Group::Within,
    Group::Of(Verdict::Same),
    Group::Of(Verdict::NotMeasured),
];

impl Group {
    fn of(run: &Run, outcome: &Outcome) -> Self {
        match () {
            () if run.unchanged_within(outcome).is_some() => Self::Within,
            () if run.accepted_by(outcome).is_some() => Self::Accepted,
            () => Self::Of(outcome.verdict),
        }
    }

    /// Returns the number of tests in the group.
    pub fn tests(self, run: &Run) -> usize {
        run.outcomes.iter().filter(|outcome| Self::of(run, outcome) == self).count()
    }

    fn kind(self) -> Kind {
        match self {
            Self::Of(verdict) => Kind::Tests(verdict),
            Self::Accepted => Kind::Accepted,
            Self::Within => Kind::Within,
        }
    }

    /// Returns a sign that distinguishes the group without color.
    pub fn sign(self) -> &'static str {
        match self {
            Self::Of(verdict) => sign(verdict),
            Self::Accepted => "△",
            Self::Within => "≤",
        }
    }

    /// Returns the CSS class of the group.
    pub fn class(self) -> &'static str {
        match self {
            Self::Of(verdict) => class(verdict),
            Self::Accepted => "accepted",
            Self::Within => "within",
        }
    }

    /// Returns the sign and the word of the group.
    pub fn word(self, words: Words) -> String {
        match self {
            Self::Of(verdict) => word(verdict, words),
            Self::Accepted => format!("{} Accepted", self.sign()),
            Self::Within => format!("{} Unchanged (wider bound)", self.sign()),
        }
    }
}

/// Returns a sign that distinguishes a verdict without color.
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

/// Returns the sign and the word of a verdict.
pub fn word(verdict: Verdict, words: Words) -> String {
    format!("{} {}", sign(verdict), figures::status(verdict, words).0)
}

/// Returns the CSS class of a verdict.
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

/// Numbers the targets that have tests.
pub fn targets(run: &Run) -> BTreeMap<&TargetId, usize> {
    let mut targets: BTreeMap<&TargetId, usize> =
        run.outcomes.iter().map(|outcome| (&outcome.test.target, 0)).collect();
    for (number, place) in targets.values_mut().enumerate() {
        *place = number;
    }
    targets
}

/// Renders the table. Details are included until the page reaches the limit, the most severe verdicts first.
pub fn table(run: &Run, sections: &Sections<'_>, most_bytes: usize) -> Markup {
    let tests = sort_outcomes(sections);
    let page = Page { run, words: Words::of(&run.all_gates()), scale: Scale::of(run), targets: targets(run) };
    let rows: Vec<Markup> = tests.iter().map(|outcome| page.row(outcome)).collect();
    let taken = REST + rows.iter().map(|row| row.0.len() + AROUND).sum::<usize>();
    let details = details(run, &tests, most_bytes.saturating_sub(taken));
    let left_out = tests.iter().filter(|outcome| has_details(outcome)).count() - details.len();
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
                tbody class=(Group::of(run, outcome).class()) data-target=(page.targets[&outcome.test.target]) {
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

/// Returns the details that fit, from the first test on, by position in the table.
fn details(run: &Run, tests: &[&Outcome], mut room: usize) -> BTreeMap<usize, Markup> {
    let all = tests.iter().enumerate().filter(|(_, outcome)| has_details(outcome));
    all.map_while(|(index, outcome)| {
        let details = detail(run, outcome);
        room = room.checked_sub(details.0.len() + AROUND)?;
        Some((index, details))
    })
    .collect()
}

/// Sorts the tests by verdict, then by change (the largest first) or reason, then by name.
fn sort_outcomes<'a>(sections: &Sections<'a>) -> Vec<&'a Outcome> {
    let of = |items: &[Item<'a>]| items.iter().filter_map(|item| item.test).collect::<Vec<_>>();
    let of_group = |group: Group| {
        let section = sections.get(group.kind());
        section.map(|section| [of(&section.items), section.reasons.iter().flat_map(|group| of(&group.items)).collect()])
    };
    GROUPS.into_iter().filter_map(of_group).flatten().flatten().collect()
}

/// Renders a test's name in its target.
pub fn name(test: &TestId) -> Markup {
    let name = one_line(&test.name);
    let (module, own) = name.split_at(name.rfind("::").map_or(0, |at| at + 2));
    html! { span.id { (module) b { (own) } } }
}

/// Data shared by all rows.
struct Page<'a> {
    run: &'a Run,
    words: Words,
    scale: Scale,
    targets: BTreeMap<&'a TargetId, usize>,
}

impl Page<'_> {
    /// Renders the name with the target (if there are several) and the most important remark, then the figures.
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
                td.verdict {
                    @match self.run.unchanged_within(outcome) {
                        Some(bound) => { (Group::Within.sign()) " Within " (threshold(bound)) }
                        None => { (Group::of(self.run, outcome).word(self.words)) }
                    }
                }
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

/// Returns the sort keys for the script.
fn keys(measured: &Measured) -> String {
    let keys = [measured.base_ns, measured.head_ns, measured.change.estimate];
    keys.map(|key| if key.is_finite() { format!("{key:.4e}") } else { "-".to_owned() }).join(" ")
}

/// Returns the reason for a missing verdict, or the responsible function.
fn remark(outcome: &Outcome) -> Option<String> {
    if let Some(reason) = &outcome.reason {
        return Some(one_line(&reason.to_string()));
    }
    let Some(explanation) = &outcome.explanation else {
        return (outcome.verdict == Verdict::NotMeasured).then(|| "no reason was recorded".to_owned());
    };
    Some(format!("responsible: {}", causes::cause_name(&explanation.main_cause()?, Glyphs::Unicode)?))
}

/// Functions shown of a call path and of a list of changed functions.
const NAMED: usize = 12;

/// Returns true if a test has details beyond its row.
pub fn has_details(outcome: &Outcome) -> bool {
    outcome.measured.is_some() || outcome.explanation.is_some() || outcome.why.is_some()
}

/// Renders the details of a test.
fn detail(run: &Run, outcome: &Outcome) -> Markup {
    html! {
        h3 { code { (one_line(&outcome.test.to_string())) } }
        p { (verdict(run, outcome)) }
        @if let Some(measured) = &outcome.measured {
            (pictures(run, outcome, measured))
        }
        @if let Some(explanation) = &outcome.explanation {
            (explanation::section(explanation, outcome.verdict))
        }
        @if let Some(text) = unexplained_reason(outcome) {
            p.note { (sentence(&text)) }
        }
        (metrics(run, outcome))
        (render_selection(outcome))
    }
}

/// Describes the verdict.
fn verdict(run: &Run, outcome: &Outcome) -> String {
    let mut sentences = Vec::new();
    if let Some(measured) = &outcome.measured {
        let [base, head] = times(measured, Glyphs::Unicode);
        sentences.push(format!("A run takes {head} instead of {base}: {}.", phrase(measured)));
        // For inconclusive tests the reason tells more.
        if measured.bound.is_some() {
            let bound = "Each call of the slower version took at least that many times as long as the longest call of the other one.";
            sentences.push(bound.to_owned());
        } else if outcome.verdict != Verdict::Inconclusive || outcome.reason.is_none() {
            sentences.push(meaning(run.gates_of(outcome), outcome.verdict, measured));
        }
    }
    sentences.extend(acceptance::said(outcome, run).map(|said| sentence(&said)));
    let within = run.unchanged_within(outcome);
    sentences.extend(within.map(|bound| format!("Unchanged within ±{}.", threshold(bound))));
    sentences.extend(outcome.reason.as_ref().map(|reason| sentence(&one_line(&reason.to_string()))));
    sentences.extend(figures::possible(outcome, run).map(|possible| sentence(&possible)));
    sentences.extend(outcome.cross_check.as_ref().map(|check| sentence(&check.to_string())));
    sentences.join(" ")
}

/// Describes the meaning of the verdict.
fn meaning(gates: &[Metric], verdict: Verdict, measured: &Measured) -> String {
    let [threshold, margin] = [measured.threshold, measured.margin()].map(threshold);
    if Words::of(gates) == Words::OfAny {
        let gates: Vec<String> = gates.iter().map(ToString::to_string).collect();
        let gates = gates.join(", ");
        return match verdict {
            Verdict::Slower => format!("Worse by the deciding metrics: {gates}."),
            Verdict::Faster => format!("Better by the deciding metrics: {gates}."),
            Verdict::ChangedBelowThreshold => {
                format!("The deciding metrics ({gates}) changed by less than the threshold.")
            }
            Verdict::Same => format!("No change of the deciding metrics ({gates})."),
            Verdict::Inconclusive | Verdict::NotMeasured => format!("The deciding metrics ({gates}) are inconclusive."),
        };
    }
    match verdict {
        Verdict::Slower => format!("Slower by {threshold} or more, confirmed by fresh pairs."),
        Verdict::Faster => format!("Faster by {threshold} or more, confirmed by fresh pairs."),
        Verdict::ChangedBelowThreshold => {
            format!(
                "Changed, but its estimate is below the threshold ({threshold}) and the interval excludes {margin}."
            )
        }
        Verdict::Same => format!("Unchanged within ±{margin}."),
        Verdict::Inconclusive | Verdict::NotMeasured => "The interval is too wide for a verdict.".to_owned(),
    }
}

fn pictures(run: &Run, outcome: &Outcome, measured: &Measured) -> Markup {
    let title = if measured.bound.is_some() {
        "Single calls".to_owned()
    } else {
        format!("Change in each {}", plots::unit(measured))
    };
    html! {
        div.two {
            div {
                h4 { (title) }
                (plots::changes(measured, outcome.verdict))
                @if measured.sample.estimates.is_empty() && measured.bound.is_none() {
                    p.note { "The estimates were not saved." }
                }
                p.note { (statistics(measured)) "." }
                @if let Some(throughput) = throughput(measured, Glyphs::Unicode) {
                    p.note { (sentence(&throughput)) }
                }
                @if let Some(layout) = layout(run, outcome) {
                    p.note { (layout) }
                }
                @for note in &outcome.notes {
                    p.note { (sentence(&one_line(&note.text(Glyphs::Unicode)))) }
                }
            }
            @if !measured.sample.batches.base.is_empty() {
                div {
                    h4 { "Time of a run" }
                    (plots::times(measured))
                }
            }
        }
    }
}

/// Describes how much code has equal addresses in both versions.
fn layout(run: &Run, outcome: &Outcome) -> Option<String> {
    Some(match run.environment.layouts.get(&outcome.test.target)? {
        Ok(layout) => format!("Matched layout: {}.", text::layout(layout)),
        Err(why) => format!("Code layout not controlled: {}.", one_line(&why.to_string())),
    })
}

fn render_selection(outcome: &Outcome) -> Markup {
    let captured = outcome.capture.map(|capture| match capture {
        Capture::Macro => "Its body is measured.",
        Capture::Runner => "The whole test function is measured, because another macro generated it.",
        Capture::Bench => "What its harness would repeat is measured.",
        Capture::Generated => "A call with generated arguments is measured.",
        Capture::Process => "Whole processes are measured, because its target has its own test harness.",
    });
    html! {
        @if outcome.selected_because.is_some() || outcome.why.is_some() {
            h4 { "Why it was selected" }
            @if let Some(because) = &outcome.selected_because {
                p { (sentence(&one_line(&because.to_string()))) }
            }
            @if let Some(why) = &outcome.why {
                (render_reach(why))
            }
            @if let Some(captured) = captured {
                p.note { (captured) }
            }
        }
    }
}

/// Renders the call path to the nearest change, and the places where the versions begin to differ.
fn render_reach(why: &Why) -> Markup {
    html! {
        @if why.path.len() > 1 {
            p { "Call path to the nearest change:" }
            ul.path { (first(&why.path, |name| one_line(name))) }
        }
        @if !why.changed.is_empty() {
            p { "Changed machine code:" }
            ul { (first(&why.changed, describe_change)) }
        }
        @if !why.others.is_empty() {
            p { "Other differences:" }
            ul { (first(&why.others, ToString::to_string)) }
        }
    }
}

fn describe_change(function: &ChangedFunction) -> String {
    one_line(&match &function.data {
        Some(data) => format!("{} (through data that it uses: {data})", function.name),
        None => function.name.clone(),
    })
}

/// Renders the first items of a list, and the number of the rest.
fn first<T>(items: &[T], name: impl Fn(&T) -> String) -> Markup {
    html! {
        @for item in items.iter().take(NAMED) {
            li { code { (name(item)) } }
        }
        @if items.len() > NAMED {
            li.note { (items.len() - NAMED) " more" }
        }
    }
}

/// Renders all known metrics with a value, and the reasons for unknown ones.
pub fn metrics(run: &Run, outcome: &Outcome) -> Markup {
    let mut known = Vec::new();
    let mut unknown: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (metric, metered) in besides_time(outcome) {
        match metered {
            Ok(metered) if is_zero(metered) => {}
            Ok(metered) => known.push((metric, metered)),
            Err(why) => unknown.entry(why.to_string()).or_default().push(metric.to_string()),
        }
    }
    html! {
        @if !known.is_empty() || !unknown.is_empty() {
            h4 { "Other metrics of a run" }
            @if !known.is_empty() {
                div.scroll tabindex="0" role="group" aria-label="Other metrics as figures" {
                    table.figures {
                        thead {
                            tr {
                                td {}
                                @for name in ["base", "head", "change"] {
                                    th scope="col" { (name) }
                                }
                                td {}
                            }
                        }
                        tbody {
                            @for (metric, metered) in known {
                                (metric_row(run.gates_of(outcome), metric, metered))
                            }
                        }
                    }
                }
            }
            @for (why, metrics) in unknown {
                p.note { (format::one_line(&format!("No {}: {why}.", metrics.join(", no ")))) }
            }
        }
    }
}

fn metric_row(gates: &[Metric], metric: Metric, metered: &Metered) -> Markup {
    let figure = |readings: &Readings| {
        let [low, high, value] =
            [readings.low, readings.high, readings.value].map(|value| amount(metric.unit(), value, Glyphs::Unicode));
        if metered.verdict == MetricVerdict::Varies && low != high { format!("{low} to {high}") } else { value }
    };
    let change = match metered.change {
        Some(change) if change.low < change.high => format::with_interval(change),
        Some(change) if change.estimate != 0.0 => format::percent(change.estimate),
        _ => String::new(),
    };
    let shown = if is_unchanged(metered) { MetricVerdict::Same } else { metered.verdict };
    let (class, word) = metric_verdict(shown);
    html! {
        tr {
            th scope="row" { (metric.to_string()) }
            td { (figure(&metered.readings.base)) }
            td { (figure(&metered.readings.head)) }
            td class=[class] { (change) }
            td.words title=(basis(metered.basis)) {
                (word)
                @if gates.contains(&metric) { "; decides" }
            }
        }
    }
}

fn metric_verdict(verdict: MetricVerdict) -> (Option<&'static str>, &'static str) {
    match verdict {
        MetricVerdict::More => (Some("slower"), "▲ more"),
        MetricVerdict::Less => (Some("faster"), "▼ less"),
        MetricVerdict::ChangedBelowThreshold => (Some("changed"), "by less than the threshold"),
        MetricVerdict::Same => (None, "unchanged"),
        MetricVerdict::Inconclusive => (None, "inconclusive"),
        MetricVerdict::Varies => (None, "varies from call to call"),
    }
}

fn basis(basis: Basis) -> String {
    match basis {
        Basis::Pairs(pairs) => format!("from {}", format::count(pairs, "pair")),
        Basis::Calls(calls) => format!("from {}", format::count(calls, "later call")),
        Basis::FirstCalls(calls) => format!("from {}", format::count(calls, "first call")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use perfunit_model::samples::{full, measured, metered, outcome, run, unmeasured};
    use perfunit_model::{NotMetered, Reason, TargetKind, Verdict};

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
            "<b>handshake<",
            "<b>empty<",
            "<b>dns<",
            "<b>all<",
        ]
        .iter()
        .map(|name| table.find(name).unwrap_or_else(|| panic!("{name} is missing in {table}")))
        .collect();
        assert!(places.is_sorted(), "{places:?}");
        assert_eq!(table.matches("<tbody class").count(), 11);
        assert_eq!(table.matches("<tr class=\"more\"").count(), 8);
        assert!(table.contains("<tbody class=\"within\"") && table.contains("≤ Within 5 %"), "{table}");
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

    fn told(verdict: Verdict, gates: &[Metric]) -> String {
        let outcome = outcome("a", verdict, Some(measured(1e3, 0.306)));
        let mut run = run(Vec::new());
        run.gates = gates.to_vec();
        super::verdict(&run, &outcome)
    }

    #[test]
    fn verdicts_are_sentences() {
        let time = [Metric::Time];
        let figures = "A run takes 1.31 µs instead of 1.00 µs: +30.6 % [+29.6 %, +31.6 %].";
        let slower = format!("{figures} Slower by 10 % or more, confirmed by fresh pairs.");
        assert_eq!(told(Verdict::Slower, &time), slower);
        assert!(told(Verdict::Same, &time).ends_with("Unchanged within ±10 %."));
        assert!(told(Verdict::Slower, &[Metric::Allocations]).ends_with("Worse by the deciding metrics: allocations."));
    }

    #[test]
    fn the_reason_ends_the_verdict() {
        let mut noisy = outcome("a", Verdict::Inconclusive, Some(measured(1e3, 0.0)));
        noisy.reason = Some(Reason::TooNoisy);
        let told = super::verdict(&run(Vec::new()), &noisy);
        assert!(told.ends_with("Too noisy for its budget (--per-test-budget)."), "{told}");
    }

    #[test]
    fn the_way_to_the_change_is_a_list() {
        let mut outcome = outcome("a", Verdict::Same, Some(measured(1e3, 0.0)));
        let changed = ChangedFunction { name: "c::Vec<&str>::f".into(), data: Some("a table".into()) };
        outcome.why = Some(Why {
            path: vec!["a".into(), "b".into(), "c::Vec<&str>::f".into()],
            changed: vec![changed; 14],
            others: Vec::new(),
        });
        let page = detail(&run(Vec::new()), &outcome).0;
        assert!(page.contains("<li><code>c::Vec&lt;&amp;str&gt;::f</code></li>"), "{page}");
        assert!(page.contains("(through data that it uses: a table)") && page.contains(">2 more<"), "{page}");
    }

    #[test]
    fn a_row_says_all_of_what_was_not_measured() {
        assert!(!has_details(&unmeasured("a", Some(Reason::Ignored))));
        assert!(has_details(&outcome("a", Verdict::Same, Some(measured(1e3, 0.0)))));
    }

    #[test]
    fn what_decides_says_so_and_what_is_not_known_says_why() {
        let mut outcome = outcome("a", Verdict::Slower, None);
        outcome.metrics.insert(Metric::Time, Ok(metered(MetricVerdict::Same, 1.0, 1.0)));
        outcome.metrics.insert(Metric::Allocations, Ok(metered(MetricVerdict::More, 12.0, 18.0)));
        outcome.metrics.insert(Metric::PeakHeap, Ok(metered(MetricVerdict::Same, 640.0, 640.0)));
        outcome.metrics.insert(Metric::Instructions, Err(NotMetered::SwitchedOff));
        outcome.metrics.insert(Metric::WrittenBytes, Err(NotMetered::SwitchedOff));
        let mut run = run(Vec::new());
        run.gates = vec![Metric::Allocations];
        let table = metrics(&run, &outcome).0;
        assert!(table.contains("<td>12</td><td>18</td><td class=\"slower\">+50.0 %</td>"), "{table}");
        assert!(table.contains(">▲ more; decides<") && table.contains(">unchanged<"), "{table}");
        assert!(table.contains("No bytes written, no instructions: not requested."), "{table}");
        assert_eq!(table.matches("<tr>").count(), 3);
    }
}
