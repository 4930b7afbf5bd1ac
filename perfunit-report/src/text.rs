//! The terminal report: slower and faster tests first, then the limits of the figures.

mod sections;

#[cfg(test)]
pub(super) use sections::plain_text;
pub(super) use sections::{count_verdicts, coverage, stages, write_unreached};

use super::figures::{
    Detail, Words, phrase, row, sort_by_change, status, unexplained_reason, within_bound, within_bounds,
};
use super::sections::{Kind, Section, Sections};
use super::terminal::{DIM, GOOD, INDENT, Layout, Row, STRONG, Screen, Text, WARN, test_id};
use super::{counts, metrics};
use perfunit_model::format::{self, Glyphs, count, one_line, threshold};
use perfunit_model::{
    Conclusion, CrossCheck, Denied, LayoutMatch, MeasuringLinker, NothingBecause, Outcome, Run, Selection, Spent,
    Verdict, VersionName,
};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

/// Tests shown per verdict without `--verbose`.
const ROWS: usize = 10;
/// Tests shown with the largest measuring time.
const COSTLIEST: usize = 10;
/// Tests shown with changed work but unchanged time, without `--verbose`.
const WORK_ALONE: usize = 5;

/// Options of text output.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TextOptions {
    /// Columns; 0 for no limit, such as when the output is not a terminal.
    pub width: usize,
    pub detail: Detail,
    pub glyphs: Glyphs,
}

/// Sections below the verdicts, in this order.
const BELOW: [Kind; 10] = [
    Kind::Programs,
    Kind::Functions,
    Kind::Uncovered,
    Kind::NotCompiled,
    Kind::Scaling,
    Kind::Growth,
    Kind::Tests(Verdict::NotMeasured),
    Kind::Caveats,
    Kind::Ratchet,
    Kind::Generated,
];

/// Formats the report with ANSI colors and one trailing newline. `denied` decides the style of its last line.
pub fn render(run: &Run, options: &TextOptions, denied: Denied) -> String {
    let detail = options.detail;
    let all = Sections::of(run, denied);
    let mut screen = Screen::new(options.width, options.glyphs);
    heading(&run.base, &run.head, &mut screen);
    tests(run, &mut screen);
    if let Some(insensitive) = counts::insensitive(run) {
        screen.status("Limits", WARN, &Text::plain(insensitive));
    }
    sections::shards(run, &mut screen);
    if detail == Detail::Full {
        circumstances(run, &mut screen);
    }
    screen.bar();
    sections::write(Kind::Failing, run, &all, detail, &mut screen);
    if let Some(because) = counts::nothing_because(run) {
        nothing(run, because, &mut screen);
    } else {
        if let Some(unaffected) = counts::only_unaffected(run) {
            screen.status("Unchanged", GOOD, &Text::plain(unaffected));
        }
        verdicts(run, &all, detail, &mut screen);
    }
    for kind in BELOW {
        sections::write(kind, run, &all, detail, &mut screen);
    }
    if detail == Detail::Full {
        costliest(run, &mut screen);
    }
    screen.bar();
    sections::summary(run, Conclusion::of(run, denied), &mut screen);
    sections::further(run, &all, &mut screen);
    screen.finish()
}

/// Formats the lines below the summary: denied facts without an answer.
pub fn undecided_lines(run: &Run, options: &TextOptions, denied: Denied) -> String {
    let mut screen = Screen::new(options.width, options.glyphs);
    let all = Sections::of(run, denied);
    sections::write(Kind::Undecided, run, &all, Detail::Full, &mut screen);
    screen.finish()
}

/// Writes the compared versions.
pub(super) fn heading(base: &VersionName, head: &VersionName, screen: &mut Screen) {
    let arrow = format!(" {} ", screen.glyphs().arrow());
    screen.status("Comparing", GOOD, &version(base).and(arrow).join(version(head)));
}

fn version(version: &VersionName) -> Text {
    let label = Text::new(STRONG, one_line(&version.label));
    let changes = version.changes();
    match version.commit_beside_label() {
        None => label.and(changes),
        Some(commit) => label.and(format!(" ({commit}{changes})")),
    }
}

fn tests(run: &Run, screen: &mut Screen) {
    let selection = &run.selection;
    if selection.found == 0 && selection.nothing_because.is_some() {
        return;
    }
    let place = counts::in_targets(selection);
    let mut text = Text::new(STRONG, selection.found.to_string()).and(format!(" found{place}"));
    for (tests, predicate) in counts::unaffected(run) {
        text = text.and(format!(", {tests} {predicate}"));
    }
    let measured = counts::count_measured(run);
    screen.status("Tests", GOOD, &text.and(", ").with(STRONG, measured.to_string()).and(" measured"));
}

fn circumstances(run: &Run, screen: &mut Screen) {
    let environment = &run.environment;
    let text = format!(
        "{}, {} profile, {}, core {} of {}",
        environment.rustc, environment.profile, environment.host, environment.core, environment.cpu
    );
    screen.status("With", GOOD, &Text::plain(one_line(&text)));
    for (target, state) in &environment.layouts {
        let state = state.as_ref().map_or_else(
            |_| "not controlled".to_owned(),
            |state| format!("matched, {}{}", layout(state), describe_matching(state)),
        );
        screen.status("Layout", GOOD, &Text::plain(format!("{target}: {state}")));
    }
    for missing in metrics::for_none(&run.outcomes) {
        screen.status("Without", GOOD, &Text::plain(one_line(&missing)));
    }
    let mut changes = run.selection.changes.iter().map(|change| Text::plain(one_line(&change.to_string())));
    if let Some(first) = changes.next() {
        screen.status("Changes", GOOD, &first);
    }
    for change in changes {
        screen.below(INDENT, &change);
    }
}

/// Writes the tests with the largest measuring time.
fn costliest(run: &Run, screen: &mut Screen) {
    let spent = |outcome: &'_ Outcome| outcome.spent.map_or(0.0, |spent| spent.seconds);
    let mut all: Vec<&Outcome> = run.outcomes.iter().filter(|outcome| spent(outcome) > 0.0).collect();
    all.sort_by(|a, b| spent(b).total_cmp(&spent(a)));
    for (index, outcome) in all.into_iter().take(COSTLIEST).enumerate() {
        let Spent { seconds, pairs } = outcome.spent.unwrap_or_default();
        let time = format::seconds(Duration::try_from_secs_f64(seconds).unwrap_or_default());
        let text = test_id(&outcome.test).and(format!("  {time}, {}", count(pairs, "pair")));
        match index {
            0 => screen.status("Most time", GOOD, &text),
            _ => screen.below(INDENT, &text),
        }
    }
}

/// Describes how much code of base and head has equal addresses.
pub(super) fn layout(state: &LayoutMatch) -> String {
    let LayoutMatch { common, equal, changed, anchored, data, data_equal, .. } = state;
    let mut text = format!(
        "{equal} of {} at equal addresses, {data_equal} of {data} constants and variables",
        count(*common, "common function")
    );
    if *changed > 0 {
        let _ = write!(text, ", {anchored} of {} anchored", count(*changed, "changed function"));
    }
    if state.fixed_addresses {
        text.push_str(", position-dependent");
    }
    if state.linker != MeasuringLinker::Project {
        let _ = write!(text, ", linked by {}", state.linker);
    }
    text
}

/// Describes additional results of matching the layout.
fn describe_matching(state: &LayoutMatch) -> String {
    let LayoutMatch { loops, held, text_bytes, link_seconds, .. } = state;
    let megabytes = *text_bytes as f64 / 1e6;
    let loops = if *loops > 0 {
        format!("; {held} of {} of changed functions in place", count(*loops, "loop"))
    } else {
        String::new()
    };
    format!("{loops}; {megabytes:.1} MB of code linked in {link_seconds:.2} s")
}

fn nothing(run: &Run, because: NothingBecause, screen: &mut Screen) {
    let Selection { found, targets, .. } = run.selection;
    // Targets that cannot have changed may not have been built, so their tests were not counted.
    let subject = match (found, targets) {
        (0, 0) => "no test".to_owned(),
        (0, targets) => format!("no test in {}", count(targets, "target")),
        (found, _) => format!("0 of {}", count(found, "test")),
    };
    let text = Text::new(STRONG, subject).and(format!(" can have changed: {because}"));
    screen.status("Unchanged", GOOD, &text);
}

fn verdicts(run: &Run, all: &Sections<'_>, detail: Detail, screen: &mut Screen) {
    let tests_of = |kind| all.items(kind).iter().filter_map(|item| item.test).collect::<Vec<_>>();
    let rows_of = |tests: Vec<&Outcome>| rows(&tests, run, detail, screen.glyphs());
    let probable = tests_of(Kind::ProbablySlower);
    let open = tests_of(Kind::Tests(Verdict::Inconclusive));
    let open = open.into_iter().filter(|outcome| !probable.iter().any(|other| other.test == outcome.test)).collect();
    let (probable, inconclusive) = (rows_of(probable), rows_of(open));
    let [slower, faster] = [Verdict::Slower, Verdict::Faster].map(|verdict| rows_of(tests_of(Kind::Tests(verdict))));
    let accepted = rows_of(tests_of(Kind::Accepted));
    let [changed, same] = [Verdict::ChangedBelowThreshold, Verdict::Same].map(|verdict| match detail {
        Detail::Full => rows_of(tests_of(Kind::Tests(verdict))),
        Detail::Brief => Vec::new(),
    });
    let shown = |rows: &[Row]| if detail == Detail::Full { rows.len() } else { rows.len().min(ROWS) };
    let within = if detail == Detail::Full { rows_of(tests_of(Kind::Within)) } else { Vec::new() };
    let in_order = [&probable, &slower, &accepted, &faster, &changed, &inconclusive, &within, &same];
    let layout = Layout::of(in_order.into_iter().flat_map(|rows| &rows[..shown(rows)]), screen.width());
    let write = |rows: &[Row], screen: &mut Screen| {
        rows[..shown(rows)].iter().for_each(|row| layout.write(row, screen));
        screen.more(INDENT, rows.len() - shown(rows));
    };
    write(&probable, screen);
    for (verdict, rows) in [(Verdict::Slower, &slower), (Verdict::Faster, &faster)] {
        if let Some(section) = all.get(Kind::Tests(verdict)) {
            causes(section, verdict, run, screen);
        }
        write(rows, screen);
        if verdict == Verdict::Slower {
            write(&accepted, screen);
        }
    }
    write(&changed, screen);
    if detail == Detail::Brief {
        changed_line(run, screen);
    }
    write(&inconclusive, screen);
    write(&within, screen);
    write(&same, screen);
    unchanged_lines(run, screen);
    explained_line(run, screen);
    if detail == Detail::Brief {
        work_alone(run, screen);
    }
}

/// Writes a line for each cause of several tests.
fn causes(section: &Section<'_>, verdict: Verdict, run: &Run, screen: &mut Screen) {
    let (_, style) = status(verdict, Words::of(&run.all_gates()));
    for group in section.telling_causes() {
        let text = Text::new(STRONG, group.name()).and(": ").with(style, group.tests(verdict, &run.all_gates()));
        screen.status("Responsible", style, &text);
    }
}

/// Writes how many of the slower tests are explained, unless all are or none was requested.
fn explained_line(run: &Run, screen: &mut Screen) {
    let explained = |outcome: &&&Outcome| outcome.explanation.is_some();
    let slower = sort_by_change(&run.outcomes, Verdict::Slower);
    let known = slower.iter().filter(explained).count();
    // A missing explanation with a reason is not open.
    let is_open = slower.iter().any(|outcome| outcome.explanation.is_none() && outcome.unexplained.is_none());
    if known > 0 && is_open {
        let text = format!("{known} of {}; `cargo perfunit explain` explains all", count(slower.len(), "slower test"));
        screen.status("Explained", GOOD, &Text::plain(text));
    }
}

/// Writes tests without a row that changed in work but not in time.
fn work_alone(run: &Run, screen: &mut Screen) {
    let has_no_row = |outcome: &&Outcome| matches!(outcome.verdict, Verdict::Same | Verdict::ChangedBelowThreshold);
    let alone = |outcome: &&Outcome| matches!(outcome.cross_check, Some(CrossCheck::WorkAlone(_)));
    let tests: Vec<&Outcome> = run.outcomes.iter().filter(has_no_row).filter(alone).collect();
    for outcome in tests.iter().take(WORK_ALONE) {
        let changed = metrics::changed_metrics(outcome, run.gates_of(outcome), screen.glyphs()).unwrap_or_default();
        let text = test_id(&outcome.test)
            .and(": ")
            .with(WARN, changed)
            .and(", although its time changed by less than its threshold");
        screen.status("More work", WARN, &text);
        let explanation = outcome.explanation.iter().flat_map(|found| super::causes::lines(found, screen.glyphs()));
        for line in explanation.take(1).chain(unexplained_reason(outcome)).collect::<Vec<_>>() {
            screen.below(INDENT, &Text::plain(line));
        }
    }
    screen.more(INDENT, tests.len().saturating_sub(WORK_ALONE));
}

fn rows(tests: &[&Outcome], run: &Run, detail: Detail, glyphs: Glyphs) -> Vec<Row> {
    let mut tests = tests.to_vec();
    // Unchanged tests are easier to find by name.
    if tests.iter().all(|outcome| outcome.verdict == Verdict::Same) {
        tests.sort_by(|a, b| a.test.cmp(&b.test));
    }
    tests.into_iter().map(|outcome| row(outcome, run, detail, glyphs)).collect()
}

fn changed_line(run: &Run, screen: &mut Screen) {
    let changed = sort_by_change(&run.outcomes, Verdict::ChangedBelowThreshold);
    let Some((first, (_, largest))) = changed.first().zip(counts::bounds(&changed, run)) else { return };
    if Words::of(&run.all_gates()) == Words::OfAny {
        let text = Text::new(STRONG, count(changed.len(), "test")).and(" by less than the threshold (-v)");
        return screen.status("Changed", WARN, &text);
    }
    let which = if changed.len() == 1 { ": " } else { ", the largest is " };
    let mut text = Text::new(STRONG, count(changed.len(), "test"))
        .and(format!(" by less than {}{which}", threshold(largest)))
        .join(test_id(&first.test));
    if let Some(measured) = &first.measured {
        text = text.and(" ").with(WARN, phrase(measured));
    }
    if changed.len() > 1 {
        text = text.with(DIM, format!("  ... and {} more (-v)", changed.len() - 1));
    }
    screen.status("Changed", WARN, &text);
}

/// Writes the number of unchanged tests for each bound that their intervals exclude, and for each set of other metrics.
fn unchanged_lines(run: &Run, screen: &mut Screen) {
    let (mut by_bound, mut by_gates) = (BTreeMap::<u64, usize>::new(), BTreeMap::<_, usize>::new());
    for (bound, tests) in counts::within(run) {
        *by_bound.entry(f64::from(bound).to_bits()).or_default() += tests.len();
    }
    for outcome in sort_by_change(&run.outcomes, Verdict::Same) {
        let gates = run.gates_of(outcome);
        if Words::of(gates) == Words::OfAny {
            *by_gates.entry(gates.to_vec()).or_default() += 1;
        } else {
            *by_bound.entry(counts::bound(outcome, run).to_bits()).or_default() += 1;
        }
    }
    let glyphs = screen.glyphs();
    let mut line = |tests: usize, of: String| {
        screen.status("Unchanged", GOOD, &Text::new(STRONG, count(tests, "test")).and(format!(" ({of})")));
    };
    for (gates, tests) in by_gates {
        line(tests, gates.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "));
    }
    // Bounds beyond the run's belong to single tests.
    let beyond = by_bound.split_off(&(run.bound.fraction().max(run.threshold.margin()).to_bits() + 1));
    for (bound, tests) in by_bound {
        line(tests, within_bound(f64::from_bits(bound), glyphs));
    }
    if let Some(((low, _), (high, _))) = beyond.first_key_value().zip(beyond.last_key_value()) {
        line(beyond.values().sum(), within_bounds(f64::from_bits(*low), f64::from_bits(*high), glyphs));
    }
}

#[cfg(test)]
mod tests;
