//! Calibration results: how often verdicts are right at each effect size and what they cost, as tables and as the JSON
//! document described in `docs/json.md`.

use super::terminal::{GOOD, PLAIN, STRONG, Screen, Text, WARN};
use super::text::TextOptions;
use super::wire::{Interval, SCHEMA_VERSION, finite, pretty};
use perfunit_decide as decide;
use perfunit_model as model;
use perfunit_model::format::{self, one_line, percent, threshold};
use perfunit_model::{Calibration, Cell, Circumstances, DecisionRule, Processes, Share, Tally};
use schemars::JsonSchema;
use serde::Serialize;
use std::time::Duration;

/// Level of the intervals around rates.
const ALPHA: f64 = 0.05;
/// The name of all kinds of work together.
const ALL: &str = "all";

/// The document.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Document {
    /// Version of the format.
    pub schema_version: u32,
    /// The machine and the time.
    pub circumstances: Circumstances,
    /// The requested settings.
    pub terms: Terms,
    /// Results by effect size, smallest first.
    pub levels: Vec<Level>,
    /// Wall time of the whole calibration, in seconds.
    pub seconds: f64,
    /// True if Ctrl-C stopped the calibration.
    pub interrupted: bool,
}

/// The settings of a calibration.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Terms {
    /// True with `--quick`.
    pub quick: bool,
    /// Seed of the random shifts.
    pub seed: u64,
    /// Probability of a false verdict before confirmation.
    pub alpha: f64,
    /// Probability of a false verdict in the confirmation.
    pub confirmation_alpha: f64,
    /// Time limit of a verdict's measurement, and again of its confirmation, in seconds.
    pub verdict_seconds: f64,
    /// Confidence level of the intervals around rates.
    pub confidence: f64,
}

/// Results for one effect size.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Level {
    /// Operations of base's tests.
    pub base_operations: u32,
    /// Operations of head's tests.
    pub operations: u32,
    /// The difference, as a fraction of base's time.
    pub effect: f64,
    /// The threshold used for this effect size.
    pub threshold: f64,
    /// Results for each kind of work, then for all together.
    pub workloads: Vec<Workload>,
    /// Results of other decision rules.
    pub compared: Vec<Compared>,
}

/// The verdicts on one kind of work.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Workload {
    /// The name of the kind; `all` for all together.
    pub workload: String,
    /// Estimated change of changed tests, from all their recorded pairs.
    pub change: Option<Interval>,
    /// Estimated change of equal tests, from all their recorded pairs.
    pub equal_change: Option<Interval>,
    /// Changed tests with a correct verdict.
    pub found: Rate,
    /// Equal tests that were called changed.
    pub false_alarms: Rate,
    /// F1 score at equal numbers of changed and equal tests.
    pub f1: Option<Interval>,
    /// Verdicts on changed tests.
    pub changed: Verdicts,
    /// Verdicts on equal tests.
    pub equal: Verdicts,
}

/// A count out of a total.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Rate {
    /// The count.
    pub count: usize,
    /// The total.
    pub of: usize,
    /// The rate with its confidence interval; null if the total is zero.
    pub rate: Option<Interval>,
}

/// The cost of verdicts.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Verdicts {
    /// Verdicts that are inconclusive.
    pub inconclusive: usize,
    /// Mean number of process pairs per verdict, confirmation included.
    pub pairs_per_verdict: Option<f64>,
    /// Mean wall time per verdict, in seconds.
    pub seconds_per_verdict: Option<f64>,
}

/// Results of one decision rule.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Compared {
    /// Name of the rule.
    pub rule: String,
    /// `lockstep` or `sequential`.
    pub processes: String,
    /// Changed tests that the rule detects.
    pub found: Rate,
    /// Equal tests that the rule calls changed.
    pub false_alarms: Rate,
    /// F1 score at equal numbers of changed and equal tests.
    pub f1: Option<Interval>,
}

/// Returns the document as pretty JSON with a trailing newline.
pub fn json(document: &Document) -> String {
    pretty(document)
}

impl From<&Calibration> for Document {
    fn from(calibration: &Calibration) -> Self {
        let model::Terms { quick, seed, alpha, confirmation_alpha, verdict_seconds } = calibration.terms;
        Self {
            schema_version: SCHEMA_VERSION,
            circumstances: calibration.circumstances.clone(),
            terms: Terms { quick, seed, alpha, confirmation_alpha, verdict_seconds, confidence: 1.0 - ALPHA },
            levels: calibration.levels.iter().map(Level::from).collect(),
            seconds: calibration.seconds,
            interrupted: calibration.interrupted,
        }
    }
}

impl From<&model::Level> for Level {
    fn from(level: &model::Level) -> Self {
        let all = Cell {
            workload: ALL.to_owned(),
            change: None,
            equal_change: None,
            changed: level.cells.iter().fold(Tally::default(), |sum, cell| sum.and(&cell.changed)),
            equal: level.cells.iter().fold(Tally::default(), |sum, cell| sum.and(&cell.equal)),
        };
        Self {
            base_operations: level.base_operations,
            operations: level.operations,
            effect: level.effect(),
            threshold: level.threshold,
            workloads: level.cells.iter().chain([&all]).map(Workload::from).collect(),
            compared: level.compared.iter().map(Compared::from).collect(),
        }
    }
}

impl From<&Cell> for Workload {
    fn from(cell: &Cell) -> Self {
        let (found, false_alarms) = (cell.changed.found(), cell.equal.false_alarms());
        Self {
            workload: cell.workload.clone(),
            change: cell.change.map(Interval::from),
            equal_change: cell.equal_change.map(Interval::from),
            found: Rate::from(found),
            false_alarms: Rate::from(false_alarms),
            f1: decide::f1(found, false_alarms, ALPHA).map(Interval::from),
            changed: Verdicts::from(&cell.changed),
            equal: Verdicts::from(&cell.equal),
        }
    }
}

impl From<&model::Compared> for Compared {
    fn from(compared: &model::Compared) -> Self {
        let rule = match compared.rule {
            DecisionRule::Ours => "cargo perfunit",
            DecisionRule::MannWhitney => "Mann-Whitney",
            DecisionRule::WelchT => "Welch's t",
            DecisionRule::IntervalOverlap => "interval overlap",
            DecisionRule::PlainMean => "plain mean",
        };
        let processes = match compared.processes {
            Processes::Lockstep => "lockstep",
            Processes::Sequential => "sequential",
        };
        Self {
            rule: rule.to_owned(),
            processes: processes.to_owned(),
            found: Rate::from(compared.found),
            false_alarms: Rate::from(compared.false_alarms),
            f1: decide::f1(compared.found, compared.false_alarms, ALPHA).map(Interval::from),
        }
    }
}

impl From<Share> for Rate {
    fn from(share: Share) -> Self {
        Self { count: share.count, of: share.of, rate: decide::rate(share, ALPHA).map(Interval::from) }
    }
}

impl From<&Tally> for Verdicts {
    fn from(tally: &Tally) -> Self {
        let mean = |sum: f64| finite(sum / tally.experiments as f64);
        Self {
            inconclusive: tally.inconclusive,
            pairs_per_verdict: mean(tally.pairs as f64),
            seconds_per_verdict: mean(tally.seconds),
        }
    }
}

const GAP: usize = 2;
/// The mark of a missing figure.
const NONE: &str = "-";

/// Columns that fit the terminal's width.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Columns {
    /// Rates with their intervals, and the measured changes.
    Full,
    /// For a narrow terminal.
    Brief,
}

/// A line of a table; the first cells are its labels.
type Row = (anstyle::Style, Vec<String>);

/// Returns the tables with ANSI colors, one trailing newline.
pub fn render(document: &Document, options: &TextOptions) -> String {
    let mut screen = Screen::new(options.width, options.glyphs);
    heading(document, &mut screen);
    screen.bar();
    let full = verdicts(document, Columns::Full);
    let fits = options.width == 0 || width(&full) <= options.width;
    table(&if fits { full } else { verdicts(document, Columns::Brief) }, &mut screen);
    if document.levels.iter().any(|level| !level.compared.is_empty()) {
        screen.bar();
        table(&comparison(document), &mut screen);
    }
    screen.bar();
    notes(document, &mut screen);
    screen.finish()
}

fn heading(document: &Document, screen: &mut Screen) {
    let (here, terms) = (&document.circumstances, &document.terms);
    let base = document.levels.first().map_or(0, |level| level.base_operations);
    let heads: Vec<String> = document.levels.iter().map(|level| level.operations.to_string()).collect();
    let took = format::seconds(Duration::try_from_secs_f64(document.seconds).unwrap_or_default());
    let how = if terms.quick { ", quickly" } else { "" };
    let text = format!(
        "{}, {took}{how}: tests of {base} operations against {} and against as many",
        one_line(&here.date),
        heads.join(", ")
    );
    screen.status("Calibrated", GOOD, &Text::plain(text));
    let load = |load: Option<f64>| load.map_or_else(|| NONE.to_owned(), |load| format!("{load:.1}"));
    let text = format!(
        "{}, core {}, {}, {}, cargo-perfunit {}; load {} before measuring, {} at the end",
        here.cpu,
        here.core,
        here.kernel,
        here.rustc,
        here.tool,
        load(here.load_before),
        load(here.load_after)
    );
    screen.status("Machine", GOOD, &Text::plain(one_line(&text)));
    let share = document.levels.first().map_or(0.0, |level| level.threshold / level.effect);
    let text = format!(
        "threshold {} of the effect, error probability {}, at most {} s for a verdict; flagged tests are confirmed at \
         {}, within the same time again",
        threshold(share),
        threshold(terms.alpha),
        terms.verdict_seconds,
        threshold(terms.confirmation_alpha)
    );
    screen.status("Rule", GOOD, &Text::plain(text));
}

fn verdicts(document: &Document, columns: Columns) -> Vec<Row> {
    let titles: &[&str] = match columns {
        Columns::Full => {
            &["effect", "test", "measured", "if equal", "F1", "missed", "false alarms", "s changed", "s equal"]
        }
        Columns::Brief => &["effect", "test", "F1", "missed", "false alarms", "s changed", "s equal"],
    };
    let mut rows = vec![(STRONG, titles.iter().map(|title| (*title).to_owned()).collect())];
    for level in &document.levels {
        for (index, workload) in level.workloads.iter().enumerate() {
            // Printed once per level.
            let effect = if index == 0 { percent(level.effect) } else { String::new() };
            let style = if workload.workload == ALL { STRONG } else { PLAIN };
            rows.push((style, [vec![effect], figures(workload, columns)].concat()));
        }
    }
    rows
}

fn figures(workload: &Workload, columns: Columns) -> Vec<String> {
    let seconds = |seconds: Option<f64>| seconds.map_or_else(|| NONE.to_owned(), |seconds| format!("{seconds:.2}"));
    let measured =
        |change: Option<Interval>| change.and_then(|change| change.estimate).map_or_else(String::new, percent);
    let mut figures = vec![workload.workload.clone()];
    if columns == Columns::Full {
        figures.extend([workload.change, workload.equal_change].map(measured));
    }
    figures.extend([
        interval(workload.f1),
        rate(&missed_rate(&workload.found), columns),
        rate(&workload.false_alarms, columns),
        seconds(workload.changed.seconds_per_verdict),
        seconds(workload.equal.seconds_per_verdict),
    ]);
    figures
}

/// Returns the rate of missed effects.
fn missed_rate(found: &Rate) -> Rate {
    let complement = |value: Option<f64>| value.map(|value| 1.0 - value);
    let rate = found.rate.map(|rate| Interval {
        estimate: complement(rate.estimate),
        low: complement(rate.high),
        high: complement(rate.low),
    });
    Rate { count: found.of.saturating_sub(found.count), of: found.of, rate }
}

/// Formats a rate as `2/60  3.3 % [0.4, 11.5]`, or briefly as `2/60  3.3 %`.
fn rate(rate: &Rate, columns: Columns) -> String {
    let figure = match columns {
        Columns::Full => interval(rate.rate),
        Columns::Brief => estimate(rate.rate),
    };
    format!("{}/{}  {figure}", rate.count, rate.of)
}

/// Formats an interval as `98.3 % [90.1, 100]`.
fn interval(interval: Option<Interval>) -> String {
    let Some(Interval { estimate: Some(estimate), low: Some(low), high: Some(high) }) = interval else {
        return NONE.to_owned();
    };
    format!("{} % [{}, {}]", part(estimate), part(low), part(high))
}

/// Formats a fraction as a percentage with at most one decimal.
fn part(fraction: f64) -> String {
    let text = format!("{:.1}", 100.0 * fraction.abs());
    text.strip_suffix(".0").map(str::to_owned).unwrap_or(text)
}

fn estimate(interval: Option<Interval>) -> String {
    interval.and_then(|interval| interval.estimate).map_or_else(|| NONE.to_owned(), |value| part(value) + " %")
}

/// Returns a row for each rule: F1 at each effect with its misses and false alarms.
fn comparison(document: &Document) -> Vec<Row> {
    let effects = document.levels.iter().map(|level| percent(level.effect));
    let titles = ["F1 (missed, false)", "processes"].map(str::to_owned).into_iter().chain(effects);
    let mut rows = vec![(STRONG, titles.collect())];
    let count = document.levels.iter().map(|level| level.compared.len()).max().unwrap_or(0);
    for index in 0..count {
        let compared: Vec<Option<&Compared>> = document.levels.iter().map(|level| level.compared.get(index)).collect();
        let Some(first) = compared.iter().flatten().next() else { continue };
        let names = [one_line(&first.rule), one_line(&first.processes)];
        let figures = compared.iter().map(|compared| compared.map_or_else(|| NONE.to_owned(), answers));
        let style = if index == 0 { STRONG } else { PLAIN };
        rows.push((style, names.into_iter().chain(figures).collect()));
    }
    rows
}

/// Formats F1, misses and false alarms as `98.3 % (3.3 %, 0 %)`.
fn answers(compared: &Compared) -> String {
    let missed = missed_rate(&compared.found).rate;
    format!("{} ({}, {})", estimate(compared.f1), estimate(missed), estimate(compared.false_alarms.rate))
}

/// Returns the width of each column.
fn widths(rows: &[Row]) -> Vec<usize> {
    let columns = rows.iter().map(|(_, cells)| cells.len()).max().unwrap_or(0);
    let width =
        |column: usize| rows.iter().filter_map(move |(_, cells)| cells.get(column)).map(|cell| cell.chars().count());
    (0..columns).map(|column| width(column).max().unwrap_or(0)).collect()
}

fn width(rows: &[Row]) -> usize {
    widths(rows).into_iter().map(|width| GAP + width).sum()
}

fn table(rows: &[Row], screen: &mut Screen) {
    let widths = widths(rows);
    for (style, cells) in rows {
        let mut line = Text::default().pad(GAP);
        let mut pending = 0;
        for (cell, width) in cells.iter().zip(&widths) {
            line = line.pad(pending).with(*style, cell);
            pending = width - cell.chars().count() + GAP;
        }
        screen.line(&line);
    }
}

fn notes(document: &Document, screen: &mut Screen) {
    let mut note = |text: &str| screen.status("Note", WARN, &Text::plain(text));
    note(&format!(
        "rates cover verdicts over consecutive, disjoint stretches of recorded pairs, [intervals] at {}; F1 assumes \
         equal numbers of changed and equal tests; inconclusive counts as missed",
        threshold(document.terms.confidence)
    ));
    note(
        "all versions have the same machine code at the same addresses: effects of code layout are not in these \
         figures",
    );
    if document.levels.iter().any(|level| !level.compared.is_empty()) {
        note(&format!(
            "other rules decide at {} with the wall time that our verdicts took; lockstep: 10 % quantiles of the \
             very same processes; sequential: means of processes run one after the other, as in Peass; plain mean: \
             changed means a difference of half the effect",
            threshold(document.terms.alpha)
        ));
    }
    if !document.circumstances.paired_address_space {
        note("this system does not allow switching off address space randomisation");
    }
    if document.interrupted {
        note("interrupted: not all tests were recorded as long as planned, and the result is not saved");
    }
}

#[cfg(test)]
mod tests;
