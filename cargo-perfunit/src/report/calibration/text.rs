//! A calibration as tables: how often verdicts are right, by effect size, and what they cost.

use super::{ALL, Compared, Document, Interval, Level, Rate, Workload};
use crate::report::format::{self, one_line, percent, threshold};
use crate::report::screen::{INDENT, Screen};
use crate::report::style::{GOOD, PLAIN, STRONG, Text, WARN};
use crate::report::text::TextOptions;
use std::time::Duration;

/// Space between columns.
const GAP: usize = 2;
/// What stands for a figure that there is none of.
const NONE: &str = "-";

/// A line of a table; the first cells say what it is about.
type Row = (anstyle::Style, Vec<String>);

/// The tables with ANSI colours, one trailing newline.
pub fn render(document: &Document, options: &TextOptions) -> String {
    let mut screen = Screen::new(options.width, options.glyphs());
    heading(document, &mut screen);
    screen.bar();
    table(&verdicts(document), &mut screen);
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
    let text = format!(
        "error probability {}, at most {:.0} s for a verdict; what is flagged is confirmed at {} in as much time again",
        threshold(terms.alpha),
        terms.verdict_seconds,
        threshold(terms.confirmation_alpha)
    );
    screen.status("Rule", GOOD, &Text::plain(text));
}

fn verdicts(document: &Document) -> Vec<Row> {
    let titles =
        ["effect", "threshold", "test", "measured", "F1", "missed", "false alarms", "s if changed", "s if equal"];
    let mut rows = vec![(STRONG, titles.map(str::to_owned).to_vec())];
    for level in &document.levels {
        for (index, workload) in level.workloads.iter().enumerate() {
            // Told once for all tests of the level.
            let [effect, gate] =
                if index == 0 { [percent(level.effect), threshold(level.threshold)] } else { Default::default() };
            let style = if workload.workload == ALL { STRONG } else { PLAIN };
            rows.push((style, [vec![effect, gate], figures(workload)].concat()));
        }
    }
    rows
}

fn figures(workload: &Workload) -> Vec<String> {
    let seconds = |seconds: Option<f64>| seconds.map_or_else(|| NONE.to_owned(), |seconds| format!("{seconds:.2}"));
    let measured = workload.change.and_then(|change| change.estimate);
    vec![
        workload.workload.clone(),
        measured.map_or_else(String::new, percent),
        interval(workload.f1),
        rate(&missed(&workload.found)),
        rate(&workload.false_alarms),
        seconds(workload.changed.seconds_per_verdict),
        seconds(workload.equal.seconds_per_verdict),
    ]
}

/// What was not found.
fn missed(found: &Rate) -> Rate {
    let complement = |value: Option<f64>| value.map(|value| 1.0 - value);
    let rate = found.rate.map(|rate| Interval {
        estimate: complement(rate.estimate),
        low: complement(rate.high),
        high: complement(rate.low),
    });
    Rate { count: found.of.saturating_sub(found.count), of: found.of, rate }
}

/// `2 of 60: 3.3 % [0.4, 11.5]`.
fn rate(rate: &Rate) -> String {
    format!("{} of {}: {}", rate.count, rate.of, interval(rate.rate))
}

/// `98.3 % [90.1, 100]`.
fn interval(interval: Option<Interval>) -> String {
    let Some(Interval { estimate: Some(estimate), low: Some(low), high: Some(high) }) = interval else {
        return NONE.to_owned();
    };
    format!("{} % [{}, {}]", part(estimate), part(low), part(high))
}

/// A fraction as percent with at most one decimal.
fn part(fraction: f64) -> String {
    let text = format!("{:.1}", 100.0 * fraction.abs());
    text.strip_suffix(".0").map(str::to_owned).unwrap_or(text)
}

/// By rule, F1 at each effect with what it missed and its false alarms.
fn comparison(document: &Document) -> Vec<Row> {
    let title = |level: &Level| format!("{}: F1 (missed, false)", percent(level.effect));
    let titles = ["rule", "processes"].map(str::to_owned).into_iter().chain(document.levels.iter().map(title));
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

/// `98.3 % (3.3 %, 0 %)`.
fn answers(compared: &Compared) -> String {
    let estimate = |interval: Option<Interval>| {
        interval.and_then(|interval| interval.estimate).map_or_else(|| NONE.to_owned(), |value| part(value) + " %")
    };
    let missed = missed(&compared.found).rate;
    format!("{} ({}, {})", estimate(compared.f1), estimate(missed), estimate(compared.false_alarms.rate))
}

fn table(rows: &[Row], screen: &mut Screen) {
    let columns = rows.iter().map(|(_, cells)| cells.len()).max().unwrap_or(0);
    let width =
        |column: usize| rows.iter().filter_map(|(_, cells)| cells.get(column)).map(|cell| cell.chars().count()).max();
    let widths: Vec<usize> = (0..columns).map(|column| width(column).unwrap_or(0)).collect();
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
    let confidence = threshold(document.terms.confidence);
    let mut note = |text: &str| screen.status("Note", WARN, &Text::plain(text));
    note(&format!(
        "rates are of verdicts over consecutive, disjoint stretches of recorded pairs, [intervals] at {confidence}; F1 is \
         of as many changed as equal tests; missed is also what was inconclusive"
    ));
    note(
        "all versions have one and the same machine code in the same places: what another layout of the code does to \
         the time is not in these figures",
    );
    if !document.circumstances.paired_address_space {
        note("this system does not let us switch off address space randomisation");
    }
    if document.interrupted {
        note("interrupted: not all tests were recorded as long as planned, and nothing is kept");
    }
    if document.levels.iter().any(|level| !level.compared.is_empty()) {
        screen.below(
            INDENT,
            &Text::plain(
                "other rules at error probability 1 % had as much wall time as our verdicts took; lockstep: 10 % \
                 quantiles of the same processes; sequential: means of processes run one after the other, as in Peass; \
                 the plain mean calls changed what differs by half of the effect",
            ),
        );
    }
}
