//! Metrics other than time: changes in words, and JSON form.

use super::wire::{Interval, finite};
use perfunit_model as model;
use perfunit_model::format::{self, Glyphs};
use perfunit_model::{
    Basis, Change, Metered, Metric, MetricVerdict, Metrics, NamedCount, NotMetered, Outcome, Sides, StartedProgram,
    Unit,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Formats the metrics that changed by the threshold or more, unless they follow time and are not among the deciding
/// `gates`: `allocations 12 → 18 (+50.0 %), peak heap 1.2 KiB → 1.8 KiB (+50.0 %)`. Time is in the row itself; if the
/// row has first calls only, the time of later calls comes first.
pub fn changed_metrics(outcome: &Outcome, gates: &[Metric], glyphs: Glyphs) -> Option<String> {
    // If work changed and time did not, each metric matters.
    let is_work_alone = matches!(outcome.cross_check, Some(model::CrossCheck::WorkAlone(_)));
    let says_more = |metric, metered: &Metered| {
        // Programs have lines of their own.
        let is_new = metric != Metric::ProgramTime && !follows_time(outcome, metered);
        is_work_alone || gates.contains(&metric) || is_new
    };
    let later = outcome.later_ns().map(|ns| later_calls(ns, glyphs));
    join(&later.into_iter().chain(changed_among(outcome, glyphs, says_more)).collect::<Vec<_>>())
}

fn later_calls(ns: Sides<f64>, glyphs: Glyphs) -> String {
    let Sides { base, head } = ns.map(|ns| format::duration(ns, glyphs));
    format!("later calls {base} {} {head} ({})", glyphs.arrow(), format::percent(ns.head / ns.base - 1.0))
}

/// Formats the changed metrics among the deciding ones, like [`changed_metrics`].
pub fn deciding(outcome: &Outcome, gates: &[Metric]) -> Option<String> {
    changed_among(outcome, Glyphs::Unicode, |metric, _| gates.contains(&metric))
}

fn changed_among(outcome: &Outcome, glyphs: Glyphs, is_wanted: impl Fn(Metric, &Metered) -> bool) -> Option<String> {
    let changed = besides_time(outcome).filter_map(|(metric, metered)| {
        let metered = metered.as_ref().ok()?;
        (metered.verdict.is_change() && is_wanted(metric, metered)).then(|| phrase(metric, metered, glyphs))
    });
    join(&changed.collect::<Vec<_>>())
}

/// Returns a line for each workspace program that the test starts.
pub fn programs(outcome: &Outcome, glyphs: Glyphs) -> Vec<String> {
    match outcome.metrics.get(&Metric::ProgramTime) {
        Some(Ok(metered)) => {
            let is_open = outcome.verdict == model::Verdict::Inconclusive && metered.verdict.is_change();
            let hint =
                is_open.then(|| "the time of its programs is certain: --metric program-time decides by it".to_owned());
            metered.programs.iter().map(|program| program_line(program, glyphs)).chain(hint).collect()
        }
        Some(Err(why @ NotMetered::EndNotSeen)) => vec![format!("no {}: {why}", Metric::ProgramTime)],
        Some(Err(_)) | None => Vec::new(),
    }
}

/// Formats the time of a program: `fd (started 3 times): 1.42 ms → 1.35 ms  -4.9 % [-5.8 %, -4.1 %], CPU time`.
fn program_line(program: &StartedProgram, glyphs: Glyphs) -> String {
    let Sides { base, head } = program.starts;
    let arrow = glyphs.arrow();
    let [before, after] = [base, head].map(format::calls);
    let starts = match (before == after, after.as_str()) {
        (true, "1") => "once".to_owned(),
        (true, _) => format!("{after} times"),
        (false, _) => format!("{before} {arrow} {after} times"),
    };
    let name = format::one_line(&program.name);
    let Some(times) = &program.times else {
        let why = if base > 0.0 && head > 0.0 { ": its end was not observed, so its time is unknown" } else { "" };
        return format!("{name} (started {starts}){why}");
    };
    let deciding = times.deciding();
    let [base, head] =
        [deciding.readings.base.value, deciding.readings.head.value].map(|ns| format::duration(ns, glyphs));
    let change = deciding.change;
    let change = change.map(|change| format!("  {} {}", format::percent(change.estimate), format::interval(change)));
    let clock = if times.by_cpu { ", CPU time" } else { "" };
    let unsure = if deciding.verdict == MetricVerdict::Inconclusive { " (inconclusive)" } else { "" };
    format!("{name} (started {starts}): {base} {arrow} {head}{}{clock}{unsure}", change.unwrap_or_default())
}

/// Returns true if a metric changed like time, so that it adds no information: its change lies within the interval of
/// time's change, with a tolerance of a tenth.
fn follows_time(outcome: &Outcome, metered: &Metered) -> bool {
    if let Some(Sides { base, head }) = outcome.later_ns() {
        return metered.change.is_some_and(|change| (change.low..=change.high).contains(&(head / base - 1.0)));
    }
    let time = outcome.measured.as_ref().filter(|_| outcome.verdict.is_change());
    let (Some(time), Some(change)) = (time.map(|time| time.change), metered.change) else { return false };
    let margin = 0.1 * time.estimate.abs();
    (time.low - margin..=time.high + margin).contains(&change.estimate)
}

/// Formats all known metrics with a value, and the reasons for unknown ones, except reasons that apply to all tests.
pub fn all(outcome: &Outcome, glyphs: Glyphs) -> Vec<String> {
    let known = besides_time(outcome).filter_map(|(metric, metered)| Some((metric, metered.as_ref().ok()?)));
    let known: Vec<String> = known
        .filter(|(_, metered)| !is_zero(metered))
        .map(|(metric, metered)| phrase(metric, metered, glyphs))
        .collect();
    let mut unknown: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let missing = besides_time(outcome).filter_map(|(metric, metered)| Some((metric, metered.as_ref().err()?)));
    for (metric, why) in missing.filter(|(_, why)| !is_for_all(why) && **why != NotMetered::EndNotSeen) {
        unknown.entry(why.to_string()).or_default().push(metric.to_string());
    }
    let unknown = unknown.into_iter().map(|(why, metrics)| format!("no {}: {why}", metrics.join(", no ")));
    join(&known).map(|known| format!("metrics: {known}")).into_iter().chain(unknown).collect()
}

/// Lists the metrics that are unknown for all tests, with the reason.
pub fn for_none(outcomes: &[Outcome]) -> Vec<String> {
    let missing = outcomes.iter().flat_map(besides_time).filter_map(|(metric, metered)| {
        let why = metered.as_ref().err().filter(|why| is_for_all(why))?;
        Some(format!("{metric}: {why}"))
    });
    missing.collect::<BTreeSet<_>>().into_iter().collect()
}

/// Returns true if the reason is the machine or the user's options, not the test.
fn is_for_all(why: &NotMetered) -> bool {
    matches!(why, NotMetered::NoCounter(_) | NotMetered::SwitchedOff | NotMetered::NotCounted | NotMetered::NotTraced)
}

/// Returns true if neither version usually does what the metric counts, so that the figures need no row.
pub(super) fn is_zero(metered: &Metered) -> bool {
    let model::Sides { base, head } = &metered.readings;
    !metered.verdict.is_change() && base.value == 0.0 && head.value == 0.0
}

/// Returns true if no difference is shown: the verdict says so, or single calls differ and the medians do not.
pub(super) fn is_unchanged(metered: &Metered) -> bool {
    let is_small = metered.verdict == MetricVerdict::ChangedBelowThreshold;
    let has_no_size = metered.change.is_some_and(|Change { low, high, .. }| low == 0.0 && high == 0.0);
    metered.verdict == MetricVerdict::Same || is_small && has_no_size
}

/// Returns all metrics except time, which is in the row.
pub(super) fn besides_time(outcome: &Outcome) -> impl Iterator<Item = (Metric, &Result<Metered, NotMetered>)> {
    let metrics = outcome.metrics.iter().filter(|(metric, _)| **metric != Metric::Time);
    metrics.map(|(metric, metered)| (*metric, metered))
}

fn join(phrases: &[String]) -> Option<String> {
    (!phrases.is_empty()).then(|| phrases.join(", "))
}

fn phrase(metric: Metric, metered: &Metered, glyphs: Glyphs) -> String {
    let unit = metric.unit();
    let (base, head) =
        (amount(unit, metered.readings.base.value, glyphs), amount(unit, metered.readings.head.value, glyphs));
    let arrow = glyphs.arrow();
    let change = metered.change.map(|change| format::percent(change.estimate));
    let details = |of_verdict: Option<String>| {
        let details: Vec<String> = of_verdict.into_iter().chain(names(metered, glyphs)).collect();
        if details.is_empty() { String::new() } else { format!(" ({})", details.join("; ")) }
    };
    match metered.verdict {
        _ if is_unchanged(metered) => format!("{metric} {head}{}", details(None)),
        MetricVerdict::Varies => {
            let range = |readings: &model::Readings| {
                let [low, high] = [readings.low, readings.high].map(|value| amount(unit, value, glyphs));
                if low == high { low } else { format!("{low} to {high}") }
            };
            let [base, head] = [&metered.readings.base, &metered.readings.head].map(range);
            format!("{metric} {base} {arrow} {head}{}", details(Some("varies from call to call".to_owned())))
        }
        MetricVerdict::Inconclusive => format!("{metric} {base} {arrow} {head} (inconclusive)"),
        MetricVerdict::More | MetricVerdict::Less | MetricVerdict::ChangedBelowThreshold | MetricVerdict::Same => {
            format!("{metric} {base} {arrow} {head}{}", details(change))
        }
    }
}

/// Maximum number of named counts in a phrase.
const NAMES: usize = 3;

/// Formats the named counts that differ most: `newfstatat 812 → 406, close 12 → 10, ...`.
fn names(metered: &Metered, glyphs: Glyphs) -> Option<String> {
    let named = |named: &NamedCount| {
        let Sides { base, head } = named.counts.map(format::large_count);
        format!("{} {base} {} {head}", named.name, glyphs.arrow())
    };
    let more = (metered.names.len() > NAMES).then(|| "...".to_owned());
    let shown: Vec<String> = metered.names.iter().take(NAMES).map(named).chain(more).collect();
    (!shown.is_empty()).then(|| shown.join(", "))
}

/// Describes the system calls that a change adds or saves where they are few beside all calls of a test, by kind, those of most
/// tests first: `system calls changed by less than 1 %: statx +1 in 5 tests`. A kind that one of many tests shows may be chance:
/// threads may need more memory in all runs of a version.
pub(super) fn small_changes_of_calls(outcomes: &[Outcome]) -> Option<String> {
    let counted: Vec<&Metered> =
        outcomes.iter().filter_map(|outcome| outcome.metrics.get(&Metric::SystemCalls)?.as_ref().ok()).collect();
    let mut kinds: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    let mut limit = 0.0_f64;
    for calls in counted.iter().filter(|calls| !calls.verdict.is_change()) {
        limit = limit.max(calls.threshold);
        for NamedCount { name, counts } in &calls.names {
            kinds.entry(name).or_default().push(counts.head - counts.base);
        }
    }
    let fewest = counted.len().min(2);
    let mut kinds: Vec<(&str, Vec<f64>)> =
        kinds.into_iter().filter(|(_, differences)| differences.len() >= fewest).collect();
    kinds.sort_by_key(|(_, differences)| std::cmp::Reverse(differences.len()));
    let shown = kinds.iter_mut().take(NAMES).map(|(name, differences)| {
        differences.sort_by(f64::total_cmp);
        let (least, most) = (differences[0], differences[differences.len() - 1]);
        let upto = if least < most { format!(" to {most:+}") } else { String::new() };
        format!("{name} {least:+}{upto} in {}", format::count(differences.len(), "test"))
    });
    let shown: Vec<String> = shown.collect();
    let more = (kinds.len() > NAMES).then(|| "...".to_owned());
    let shown = join(&shown.into_iter().chain(more).collect::<Vec<_>>())?;
    Some(format!("system calls changed by less than {}: {shown}", format::threshold(limit)))
}

/// Formats a figure in its unit: `12`, `1.23 M`, `1.2 KiB`, `5.1 µs`.
pub(super) fn amount(unit: Unit, value: f64, glyphs: Glyphs) -> String {
    match unit {
        Unit::Nanoseconds => format::duration(value, glyphs),
        Unit::Bytes => format::bytes(value),
        Unit::Count => format::large_count(value),
    }
}

/// One metric; figures are `null` where it is unavailable.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MetricResult {
    /// `more`, `less`, `changed-below-threshold`, `same`, `inconclusive`, `varies` or `unavailable`.
    pub verdict: String,
    /// `ns`, `bytes` or `count`.
    pub unit: String,
    /// Readings on base.
    pub base: Option<Readings>,
    /// Readings on head.
    pub head: Option<Readings>,
    /// Change of head against base, as a fraction of base; `null` if base's value is zero.
    pub change: Option<Interval>,
    /// The smallest change that counts, as a fraction of base.
    pub threshold: Option<f64>,
    /// Kind of readings: `pairs`, `calls` or `first-calls`.
    pub basis: Option<String>,
    /// Number of readings.
    pub readings: Option<usize>,
    /// The reason for missing figures.
    pub unavailable: Option<Unavailable>,
    /// The programs with their times, for metrics that sum programs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub programs: Vec<ProgramResult>,
    /// Counts by name that differ between the versions, the largest difference first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<NameResult>,
}

/// A count by name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NameResult {
    /// Name, such as that of a system call in the kernel.
    pub name: String,
    /// Count in one run on base.
    pub base: f64,
    /// Count in one run on head.
    pub head: f64,
}

/// A workspace program that a test starts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProgramResult {
    /// Name of the binary.
    pub name: String,
    /// Starts in one run of the test.
    pub starts: Starts,
    /// The deciding metric, `time` or `cpu-time`; `null` if the program's times are not known.
    pub decides: Option<String>,
    /// Wall time of all starts in one run, from start to exit of the program.
    pub time: Option<MetricResult>,
    /// CPU time of all starts in one run, including processes that the program waited for.
    pub cpu_time: Option<MetricResult>,
}

/// Starts of a program in each version.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Starts {
    /// On base.
    pub base: f64,
    /// On head.
    pub head: f64,
}

/// Readings on one side.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Readings {
    /// Median.
    pub value: Option<f64>,
    /// Smallest.
    pub low: Option<f64>,
    /// Largest.
    pub high: Option<f64>,
}

/// The reason for missing figures.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Unavailable {
    /// `own-allocator`, `static`, ...
    pub kind: String,
    /// The reason in words.
    pub text: String,
}

/// A contradiction between time and work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CrossCheck {
    /// `suspect` or `work-alone`.
    pub kind: String,
    /// The metrics that changed alone.
    pub metrics: Vec<String>,
    /// The contradiction as a sentence.
    pub text: String,
}

/// Returns all metrics by name; `None` for a test that was not measured.
pub fn metrics(metrics: &Metrics) -> Option<BTreeMap<String, MetricResult>> {
    let result = |(metric, metered): (&Metric, &_)| (metric.name().to_owned(), MetricResult::of(*metric, metered));
    (!metrics.is_empty()).then(|| metrics.iter().map(result).collect())
}

impl MetricResult {
    fn of(metric: Metric, metered: &Result<model::Metered, NotMetered>) -> Self {
        let known = metered.as_ref().ok();
        let basis = known.map(|known| match known.basis {
            Basis::Pairs(count) => ("pairs", count),
            Basis::Calls(count) => ("calls", count),
            Basis::FirstCalls(count) => ("first-calls", count),
        });
        Self {
            verdict: known.map_or("unavailable", |known| verdict(known.verdict)).to_owned(),
            unit: unit(metric).to_owned(),
            base: known.map(|known| Readings::from(&known.readings.base)),
            head: known.map(|known| Readings::from(&known.readings.head)),
            change: known.and_then(|known| known.change).map(Interval::from),
            threshold: known.and_then(|known| finite(known.threshold)),
            basis: basis.map(|(basis, _)| basis.to_owned()),
            readings: basis.map(|(_, count)| count),
            unavailable: metered.as_ref().err().map(Unavailable::from),
            programs: known.iter().flat_map(|known| &known.programs).map(ProgramResult::from).collect(),
            names: known.iter().flat_map(|known| &known.names).map(NameResult::from).collect(),
        }
    }
}

impl From<&NamedCount> for NameResult {
    fn from(named: &NamedCount) -> Self {
        Self { name: named.name.clone(), base: named.counts.base, head: named.counts.head }
    }
}

impl From<&StartedProgram> for ProgramResult {
    fn from(program: &StartedProgram) -> Self {
        let times = program.times.as_ref();
        let result = |metric: Metric, metered: &Metered| MetricResult::of(metric, &Ok(metered.clone()));
        Self {
            name: program.name.clone(),
            starts: Starts { base: program.starts.base, head: program.starts.head },
            decides: times.map(|times| if times.by_cpu { Metric::CpuTime } else { Metric::Time }.name().to_owned()),
            time: times.map(|times| result(Metric::Time, &times.wall)),
            cpu_time: times.map(|times| result(Metric::CpuTime, &times.cpu)),
        }
    }
}

impl From<&model::Readings> for Readings {
    fn from(readings: &model::Readings) -> Self {
        Self { value: finite(readings.value), low: finite(readings.low), high: finite(readings.high) }
    }
}

impl From<&NotMetered> for Unavailable {
    fn from(why: &NotMetered) -> Self {
        Self { kind: why.kind().to_owned(), text: why.to_string() }
    }
}

impl From<&model::CrossCheck> for CrossCheck {
    fn from(check: &model::CrossCheck) -> Self {
        let metrics = match check {
            model::CrossCheck::Suspect => Vec::new(),
            model::CrossCheck::WorkAlone(metrics) => metrics.iter().map(|metric| metric.name().to_owned()).collect(),
        };
        Self { kind: check.kind().to_owned(), metrics, text: check.to_string() }
    }
}

fn unit(metric: Metric) -> &'static str {
    match metric.unit() {
        Unit::Nanoseconds => "ns",
        Unit::Bytes => "bytes",
        Unit::Count => "count",
    }
}

fn verdict(verdict: MetricVerdict) -> &'static str {
    match verdict {
        MetricVerdict::More => "more",
        MetricVerdict::Less => "less",
        MetricVerdict::ChangedBelowThreshold => "changed-below-threshold",
        MetricVerdict::Same => "same",
        MetricVerdict::Inconclusive => "inconclusive",
        MetricVerdict::Varies => "varies",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use perfunit_model::samples::{measured, metered, outcome};
    use perfunit_model::{Note, ProgramTimes, Verdict};
    use serde_json::json;

    fn sample() -> Outcome {
        let mut outcome = outcome("a", Verdict::Same, None);
        let varying = |mut metered: Metered| {
            (metered.readings.head.low, metered.readings.head.high) = (10.0, 14.0);
            metered
        };
        outcome.metrics = [
            (Metric::Time, Ok(metered(MetricVerdict::More, 1e3, 2e3))),
            (Metric::CpuTime, Ok(metered(MetricVerdict::Inconclusive, 1210.0, 1300.0))),
            (Metric::Allocations, Ok(metered(MetricVerdict::More, 12.0, 18.0))),
            (Metric::AllocatedBytes, Ok(metered(MetricVerdict::Less, 1843.2, 1228.8))),
            (Metric::PeakHeap, Ok(metered(MetricVerdict::Same, 640.0, 640.0))),
            (Metric::PageFaults, Ok(varying(metered(MetricVerdict::Varies, 12.0, 12.0)))),
            (Metric::WrittenBytes, Err(NotMetered::TooLong)),
            (Metric::Instructions, Err(NotMetered::SwitchedOff)),
        ]
        .into_iter()
        .collect();
        outcome
    }

    #[test]
    fn what_changed_is_one_line() {
        let expected = "allocations 12 -> 18 (+50.0 %), bytes allocated 1.80 KiB -> 1.20 KiB (-33.3 %)";
        assert_eq!(changed_metrics(&sample(), &[], Glyphs::Ascii).as_deref(), Some(expected));
        assert_eq!(changed_metrics(&outcome("a", Verdict::Same, None), &[], Glyphs::Ascii), None);
    }

    #[test]
    fn beside_a_first_call_later_ones_are_told() {
        let mut first = outcome("a", Verdict::Slower, Some(measured(4e3, 2.0)));
        first.notes.push(Note::FirstCallDecides { later_ns: Sides { base: 304.0, head: 287.0 } });
        first.metrics.insert(Metric::CpuTime, Ok(metered(MetricVerdict::Less, 304.0, 287.0)));
        first.metrics.insert(Metric::Allocations, Ok(metered(MetricVerdict::More, 12.0, 18.0)));
        let expected = "later calls 304 ns -> 287 ns (-5.6 %), allocations 12 -> 18 (+50.0 %)";
        assert_eq!(changed_metrics(&first, &[Metric::Time], Glyphs::Ascii).as_deref(), Some(expected));
    }

    #[test]
    fn what_decides_is_said_even_if_time_changed_as_much() {
        let mut both = outcome("a", Verdict::Slower, Some(measured(1e3, 0.5)));
        both.metrics.insert(Metric::Allocations, Ok(metered(MetricVerdict::More, 12.0, 18.0)));
        assert_eq!(changed_metrics(&both, &[Metric::Time], Glyphs::Ascii), None);
        let gates = [Metric::Time, Metric::Allocations];
        assert_eq!(changed_metrics(&both, &gates, Glyphs::Ascii).as_deref(), Some("allocations 12 -> 18 (+50.0 %)"));
        assert_eq!(deciding(&both, &gates).as_deref(), Some("allocations 12 → 18 (+50.0 %)"));
        // If time may not have changed, no metric is known to follow it.
        let open = Outcome { verdict: Verdict::Inconclusive, ..both.clone() };
        assert_eq!(
            changed_metrics(&open, &[Metric::Time], Glyphs::Ascii).as_deref(),
            Some("allocations 12 -> 18 (+50.0 %)")
        );
        assert_eq!((deciding(&both, &[Metric::Time]), deciding(&both, &[Metric::PeakHeap])), (None, None));
    }

    #[test]
    fn all_that_is_known_is_said_and_why_the_rest_is_not() {
        let expected = [
            "metrics: CPU time 1.21 us -> 1.30 us (inconclusive), allocations 12 -> 18 (+50.0 %), \
             bytes allocated 1.80 KiB -> 1.20 KiB (-33.3 %), peak heap 640 B, \
             page faults 12 -> 10 to 14 (varies from call to call)",
            "no bytes written: more calls would exceed the test's budget (--per-test-budget)",
        ];
        assert_eq!(all(&sample(), Glyphs::Ascii), expected);
        assert_eq!(for_none(&[sample(), sample()]), ["instructions: not requested"]);
    }

    #[test]
    fn counts_whose_usual_readings_are_equal_or_zero_show_no_change() {
        let below = |usual: f64| {
            let mut metered = metered(MetricVerdict::ChangedBelowThreshold, usual, usual);
            metered.readings.head.high = usual + 1.0;
            metered.change = Some(Change { estimate: 0.0, low: 0.0, high: 0.0 });
            metered
        };
        let mut faults = outcome("a", Verdict::Same, None);
        faults.metrics.insert(Metric::PageFaults, Ok(below(0.0)));
        faults.metrics.insert(Metric::ContextSwitches, Ok(metered(MetricVerdict::Same, 0.0, 0.0)));
        assert_eq!(all(&faults, Glyphs::Ascii), Vec::<String>::new());
        faults.metrics.insert(Metric::PageFaults, Ok(below(12.0)));
        assert_eq!(all(&faults, Glyphs::Ascii), ["metrics: page faults 12"]);
        // A count that one version alone has is a difference.
        faults.metrics.insert(Metric::PageFaults, Ok(metered(MetricVerdict::More, 0.0, 5.0)));
        assert!(all(&faults, Glyphs::Ascii)[0].starts_with("metrics: page faults 0 -> 5"));
    }

    #[test]
    fn names_that_differ_stand_behind_the_count() {
        let counts = [("newfstatat", 812.0, 406.0), ("close", 4.0, 6.0), ("a", 2.0, 3.0), ("b", 1.0, 2.0)];
        let named =
            |(name, base, head): (&str, f64, f64)| NamedCount { name: name.into(), counts: Sides { base, head } };
        let calls = Metered { names: counts.map(named).to_vec(), ..metered(MetricVerdict::Less, 1000.0, 600.0) };
        let mut counted = outcome("a", Verdict::Same, None);
        counted.metrics.insert(Metric::SystemCalls, Ok(calls));
        let expected = "system calls 1000 -> 600 (-40.0 %; newfstatat 812 -> 406, close 4 -> 6, a 2 -> 3, ...)";
        assert_eq!(changed_metrics(&counted, &[], Glyphs::Ascii).as_deref(), Some(expected));
        let json = serde_json::to_value(metrics(&counted.metrics)).unwrap();
        assert_eq!(json["syscalls"]["names"][0], json!({"name": "newfstatat", "base": 812.0, "head": 406.0}));
    }

    #[test]
    fn few_calls_more_are_told_by_kind() {
        let of = |verdict, kinds: &[(&str, f64)]| {
            let named = |(name, more): &(&str, f64)| NamedCount {
                name: (*name).to_owned(),
                counts: Sides { base: 12.0, head: 12.0 + more },
            };
            let calls = Metered { names: kinds.iter().map(named).collect(), ..metered(verdict, 430.0, 431.0) };
            let mut counted = outcome("a", Verdict::Same, None);
            counted.metrics.insert(Metric::SystemCalls, Ok(calls));
            counted
        };
        let below = MetricVerdict::ChangedBelowThreshold;
        let outcomes = [
            of(below, &[("statx", 1.0), ("brk", -1.0)]),
            of(MetricVerdict::Varies, &[("statx", 3.0)]),
            of(MetricVerdict::More, &[("futex", 90.0)]),
            of(MetricVerdict::Same, &[]),
        ];
        let expected = "system calls changed by less than 1 %: statx +1 to +3 in 2 tests";
        assert_eq!(small_changes_of_calls(&outcomes).as_deref(), Some(expected));
        let alone = "system calls changed by less than 1 %: brk -1 in 1 test, statx +1 in 1 test";
        assert_eq!(small_changes_of_calls(&outcomes[..1]).as_deref(), Some(alone));
        assert_eq!(small_changes_of_calls(&outcomes[2..]), None);
    }

    #[test]
    fn a_program_has_a_line_and_its_times_in_json() {
        let times = |by_cpu| ProgramTimes {
            wall: metered(MetricVerdict::Inconclusive, 2e6, 2e6),
            cpu: metered(MetricVerdict::Less, 1.5e6, 1.2e6),
            by_cpu,
        };
        let program = |name: &str, base: f64, head: f64, times| {
            let starts = Sides { base, head };
            StartedProgram { name: name.to_owned(), starts, times }
        };
        let list = vec![
            program("fd", 3.0, 3.0, Some(times(true))),
            program("rg", 1.0, 1.0, Some(times(false))),
            program("new", 0.0, 2.0, None),
            program("daemon", 1.0, 1.0, None),
        ];
        let mut started = outcome("a", Verdict::Same, None);
        let sum = Metered { programs: list, ..metered(MetricVerdict::Less, 1.5e6, 1.2e6) };
        started.metrics.insert(Metric::ProgramTime, Ok(sum));
        let expected = [
            "fd (started 3 times): 1.50 ms -> 1.20 ms  -20.0 % [-20.0 %, -20.0 %], CPU time",
            "rg (started once): 2.00 ms -> 2.00 ms  +0.00 % [+0.00 %, +0.00 %] (inconclusive)",
            "new (started 0 -> 2 times)",
            "daemon (started once): its end was not observed, so its time is unknown",
        ];
        assert_eq!(programs(&started, Glyphs::Ascii), expected);
        let open = Outcome { verdict: Verdict::Inconclusive, ..started.clone() };
        let hint = "the time of its programs is certain: --metric program-time decides by it";
        assert_eq!(programs(&open, Glyphs::Ascii).last().map(String::as_str), Some(hint));
        assert_eq!(changed_metrics(&started, &[Metric::Time], Glyphs::Ascii), None);
        let json = serde_json::to_value(metrics(&started.metrics)).unwrap();
        let fd = &json["program-time"]["programs"][0];
        assert_eq!((&fd["decides"], &fd["starts"]), (&json!("cpu-time"), &json!({"base": 3.0, "head": 3.0})));
        assert_eq!((&fd["cpu_time"]["verdict"], &fd["time"]["base"]["value"]), (&json!("less"), &json!(2e6)));
        assert_eq!(json["program-time"]["programs"][2]["time"], json!(null));
    }

    #[test]
    fn nothing_on_base_has_no_percentage() {
        let mut outcome = outcome("a", Verdict::Same, None);
        let mut new = metered(MetricVerdict::More, 0.0, 3.0);
        new.change = None;
        outcome.metrics.insert(Metric::Allocations, Ok(new));
        assert_eq!(changed_metrics(&outcome, &[], Glyphs::Ascii).as_deref(), Some("allocations 0 -> 3"));
    }

    #[test]
    fn a_metric_has_every_promised_field() {
        let sample = Metrics::from([
            (Metric::Allocations, Ok(metered(MetricVerdict::More, 12.0, 18.0))),
            (Metric::Instructions, Err(NotMetered::SwitchedOff)),
        ]);
        let expected = json!({
            "allocations": {
                "verdict": "more", "unit": "count", "base": {"value": 12.0, "low": 12.0, "high": 12.0},
                "head": {"value": 18.0, "low": 18.0, "high": 18.0}, "change": {"estimate": 0.5, "low": 0.5, "high": 0.5},
                "threshold": 0.01, "basis": "calls", "readings": 5, "unavailable": null,
            },
            "instructions": {
                "verdict": "unavailable", "unit": "count", "base": null, "head": null, "change": null, "threshold": null,
                "basis": null, "readings": null, "unavailable": {"kind": "switched-off", "text": "not requested"},
            },
        });
        assert_eq!(serde_json::to_value(metrics(&sample)).unwrap(), expected);
        assert_eq!(metrics(&Metrics::new()), None);
    }

    #[test]
    fn a_cross_check_names_its_metrics() {
        let alone = CrossCheck::from(&model::CrossCheck::WorkAlone(vec![Metric::AllocatedBytes]));
        assert_eq!((alone.kind.as_str(), alone.metrics), ("work-alone", vec!["allocated-bytes".to_owned()]));
        assert_eq!(CrossCheck::from(&model::CrossCheck::Suspect).kind, "suspect");
    }
}
