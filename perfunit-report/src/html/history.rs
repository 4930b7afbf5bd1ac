//! The page of a history: the courses of tests as plots, and a table of commits.

use super::page::{HtmlOptions, document};
use super::plots::Axis;
use super::{percent, plots, table};
use crate::figures::Words;
use crate::history::{
    Counts, Move, Moves, anchors, changed_tests, counts, error_rate, name, notes, skip_reason, worst,
};
use crate::pooled_change::describe_program;
use maud::{Markup, html};
use perfunit_model::format::{self, count, one_line, sentence, short_commit};
use perfunit_model::{Course, Entry, History, Point, Span, Step, StepOutcome, Verdict};
use perfunit_system::date;
use std::fmt::Write as _;

/// Renders the page, which has no scripts. Courses are drawn while there is room, the largest changes first.
pub fn render(history: &History, courses: &[Course], options: &HtmlOptions) -> String {
    let counts = Counts::of(history);
    let commits = commits(history);
    let room = options.most_bytes.saturating_sub(commits.0.len());
    let body = html! {
        (header(history, &counts)) "\n"
        main {
            @if !courses.is_empty() {
                section aria-labelledby="courses-title" {
                    h2 id="courses-title" { "Courses" }
                    p.note {
                        "Tests that got slower or faster, the largest change first. Line: time as a multiple of that before the first "
                        "commit, the product of the steps or a direct comparison; band: interval; upright: releases; short marks at "
                        "the foot: commits that were not compared."
                    }
                    (drawn(history, courses, room))
                }
            }
            section aria-labelledby="commits-title" {
                h2 id="commits-title" { "Commits" }
                p.note { "Latest first. Each commit is compared with the previous commit that builds." }
                (commits)
            }
            section aria-labelledby="about-title" {
                h2 id="about-title" { "About this history" }
                @if let Some(note) = &history.note {
                    p { (sentence(&one_line(note))) }
                }
                @for note in notes(history, &counts) {
                    p { (sentence(&one_line(&note))) }
                }
                p { (sentence(&error_rate(history))) }
                p { "Times of different comparisons are never compared, only their ratios are multiplied." }
            }
        }
    };
    document(&title(history, &counts), &Markup::default(), &body)
}

fn title(history: &History, counts: &Counts) -> String {
    let (first, last) = ends(history);
    format!("{}: {first} → {last} – cargo-perfunit", headline(history, counts))
}

fn ends(history: &History) -> (String, String) {
    let last = history.entries.last().map_or(&history.base, |entry| &entry.commit);
    (one_line(name(&history.base)), one_line(name(last)))
}

fn headline(history: &History, counts: &Counts) -> String {
    let is_slower = |span: &Span| span.step.with(Verdict::Slower).next().is_some();
    match counts.slower {
        0 if history.spans.iter().any(is_slower) => {
            "Several commits together made tests slower, but no single one did".to_owned()
        }
        0 => format!("No test got slower in {}", count(counts.commits - counts.open, "commit")),
        slower => format!("{} of {} made tests slower", slower, count(counts.commits, "commit")),
    }
}

fn header(history: &History, counts: &Counts) -> Markup {
    let (first, last) = ends(history);
    let with =
        [(counts.slower, Verdict::Slower, "with slower tests"), (counts.faster, Verdict::Faster, "with faster tests")];
    html! {
        header {
            p.tool { "cargo-perfunit" }
            h1 class=[(counts.slower > 0).then_some("slower")] { (headline(history, counts)) }
            p { b { (first) } " → " b { (last) } }
            ul.counts aria-label="Commits by result" {
                @for (commits, verdict, word) in with {
                    li class=(table::class(verdict)) { (table::sign(verdict)) " " b { (commits) } " " (word) }
                }
                li.same { "= " b { (counts.unchanged) } " in which no test can have changed" }
                li.inconclusive { "× " b { (counts.skipped) } " skipped" }
                @if counts.open > 0 {
                    li.unmeasured { "… " b { (counts.open) } " not compared yet" }
                }
            }
        }
    }
}

fn drawn(history: &History, courses: &[Course], room: usize) -> Markup {
    let shared = Courses::new(history);
    let mut left = room;
    let mut sections = Vec::new();
    for course in courses {
        let section = shared.section(course);
        let Some(rest) = left.checked_sub(section.0.len()) else { break };
        left = rest;
        sections.push(section);
    }
    let left_out = courses.len() - sections.len();
    html! {
        @for section in sections {
            (section)
        }
        @if left_out > 0 {
            p { "and " (count(left_out, "test")) " with smaller changes; the table of commits has their steps." }
        }
    }
}

/// Maximum number of labels at the left.
const TICKS: usize = 4;
/// Heights of the picture and of what is below it, px.
const HEIGHT: f64 = 110.0;
const FOOT: f64 = 22.0;
/// Units of the inner picture, which is stretched to the whole width.
const WIDTH: f64 = 1000.0;
const UNITS: f64 = 100.0;
/// Minimum distance between two names of releases, as a fraction of the width.
const APART: f64 = 0.12;
/// Commits named below a picture.
const NAMED_MOVES: usize = 8;

/// The common parts of all courses of a history.
pub struct Courses<'a> {
    history: &'a History,
    moves: Moves<'a>,
    /// Marks of releases and of skipped commits.
    marks: Markup,
}

impl<'a> Courses<'a> {
    pub fn new(history: &'a History) -> Self {
        let marks = html! { (releases(history)) (mark_uncompared(history)) };
        Self { history, moves: Moves::of(history), marks }
    }

    /// Renders one test: its name, the picture, and the commits that changed it.
    pub fn section(&self, course: &Course) -> Markup {
        let total = course.total();
        let [change, low, high] = [total.estimate, total.low, total.high].map(format::percent);
        let class = if total.estimate > 0.0 { "slower" } else { "faster" };
        html! {
            section.course {
                h3 { (table::name(&course.test)) span.target { (course.test.target.to_string()) } }
                p { b class=(class) { (change) } " [" (low) ", " (high) "] over " (count(course.points.len(), "commit")) }
                (self.picture(course))
                (self.steps(course))
            }
            "\n"
        }
    }

    fn picture(&self, course: &Course) -> Markup {
        let shown = course.points.iter().flat_map(|point| [point.ratio, point.low, point.high]);
        // An unbounded interval must not hide the other points.
        let largest = course.points.iter().map(|point| point.ratio).fold(1.0, f64::max);
        let shown = shown.filter(|ratio| *ratio <= 4.0 * largest).map(|ratio| ratio - 1.0);
        let Some(axis) = Axis::around(shown.chain([0.0])) else { return Markup::default() };
        let label = format!("Course of the time: {}", self.description(course));
        html! {
            figure {
                svg.plot.course role="img" aria-label=(label) width="100%" height=(HEIGHT + FOOT) {
                    (levels(&axis))
                    svg width="100%" height=(HEIGHT) viewBox={ "0 0 " (WIDTH) " " (UNITS) } preserveAspectRatio="none" {
                        path.band d=(band(&course.points, &axis)) {}
                        path.line d=(line(&course.points, &axis)) {}
                    }
                    (self.marks)
                    @for (index, point) in course.points.iter().enumerate() {
                        @if let Some(verdict) = point.moved {
                            circle class=(table::class(verdict)) cx=(percent(100.0 * self.place(index + 1)))
                                cy=(format!("{:.1}", height(&axis, point.ratio) * HEIGHT / UNITS)) r="4" {}
                        }
                    }
                }
            }
        }
    }

    fn place(&self, index: usize) -> f64 {
        place(index, self.history)
    }

    fn description(&self, course: &Course) -> String {
        let moves = self.moves.test(&course.test);
        format!("{} by {}", format::percent(course.total().estimate), count(moves.len(), "step"))
    }

    fn steps(&self, course: &Course) -> Markup {
        let (moves, left_out) = self.moves.largest(&course.test, NAMED_MOVES);
        html! {
            ul.moves {
                @for one in moves {
                    li { (step(one)) }
                }
                @if left_out > 0 {
                    li.note { "and " (left_out) " smaller; the table of commits has them" }
                }
                @for anchor in anchors(course) {
                    li { (format::one_line(&anchor)) }
                }
            }
        }
    }
}

fn step(one: Move<'_>) -> Markup {
    let verdict = one.found.verdict;
    html! {
        span class=(table::class(verdict)) { (table::sign(verdict)) " " (format::percent(one.estimate())) }
        @if let Some(figures) = one.found.figures {
            " [" (format::percent(figures.change.low)) ", " (format::percent(figures.change.high)) "]"
        }
        " "
        a href={ "#" (anchor(&one.commit.id)) } { code { (format::short_commit(&one.commit.id)) } }
        " " (format::one_line(&one.commit.subject))
        @if let Some(function) = &one.found.function {
            " " code.place { (format::one_line(function)) }
        }
    }
}

/// Returns the anchor of a commit's row.
pub fn anchor(commit: &str) -> String {
    format!("c-{}", commit.get(..12).unwrap_or(commit))
}

/// Returns the position of a commit; 0 is the commit before the first.
fn place(index: usize, history: &History) -> f64 {
    index as f64 / history.entries.len().max(1) as f64
}

/// Returns the distance from the top, in units of the picture.
fn height(axis: &Axis, ratio: f64) -> f64 {
    UNITS - axis.place(ratio - 1.0)
}

/// Returns the corners of a step function, from the commit before the first to the last.
fn corners(points: &[Point], at: impl Fn(&Point) -> f64) -> Vec<(f64, f64)> {
    let mut corners = vec![(0.0, at(&Point::START))];
    for (index, point) in points.iter().enumerate() {
        let (x, y) = (WIDTH * (index + 1) as f64 / points.len() as f64, at(point));
        let (_, before) = corners[corners.len() - 1];
        if (before - y).abs() > 0.05 {
            corners.extend([(x, before), (x, y)]);
        }
    }
    let (_, last) = corners[corners.len() - 1];
    corners.push((WIDTH, last));
    corners
}

fn line(points: &[Point], axis: &Axis) -> String {
    path(corners(points, |point| height(axis, point.ratio)).into_iter())
}

fn band(points: &[Point], axis: &Axis) -> String {
    let low = corners(points, |point| height(axis, point.low));
    let high = corners(points, |point| height(axis, point.high));
    path(low.into_iter().chain(high.into_iter().rev())) + "Z"
}

fn path(corners: impl Iterator<Item = (f64, f64)>) -> String {
    let mut path = String::new();
    for (x, y) in corners {
        let sign = if path.is_empty() { 'M' } else { 'L' };
        // Writing into a string cannot fail.
        let _ = write!(path, "{sign}{x:.1} {y:.1}");
    }
    path
}

/// Renders horizontal lines with their figures.
fn levels(axis: &Axis) -> Markup {
    let ticks = axis.ticks(TICKS);
    let step = ticks.get(1).map_or(1.0, |second| second - ticks[0]);
    html! {
        @for tick in ticks {
            @let y = format!("{:.1}", height(axis, 1.0 + tick) * HEIGHT / UNITS);
            line.level x1="0" x2="100%" y1=(y) y2=(y) {}
            text.side x="0" y=(y) dy="-2" { (plots::tick_label(tick, step)) }
        }
    }
}

/// Renders a line for each commit with tags, named where there is room.
fn releases(history: &History) -> Markup {
    let commits = std::iter::once(&history.base).chain(history.entries.iter().map(|entry| &entry.commit));
    let tagged = commits.enumerate().filter(|(_, commit)| !commit.tags.is_empty());
    let mut named = f64::NEG_INFINITY;
    let marks = tagged.map(|(index, commit)| {
        let x = place(index, history);
        let has_room = x - named >= APART;
        named = if has_room { x } else { named };
        (x, has_room.then(|| format::one_line(&commit.tags.join(", "))))
    });
    html! {
        @for (x, name) in marks {
            line.release x1=(percent(100.0 * x)) x2=(percent(100.0 * x)) y1="0" y2=(HEIGHT) {}
            @if let Some(name) = name {
                text.(side(x)) x=(percent(100.0 * x)) y=(HEIGHT + FOOT - 6.0) { (name) }
            }
        }
    }
}

/// Returns the side of its mark on which a name is written.
fn side(x: f64) -> &'static str {
    match x {
        x if x < APART => "right",
        x if x > 1.0 - APART => "left",
        _ => "middle",
    }
}

/// Renders short marks at the bottom for commits that were not compared.
fn mark_uncompared(history: &History) -> Markup {
    let is_left_out = |entry: &Entry| !matches!(entry.outcome, StepOutcome::Compared(_));
    let left_out = history.entries.iter().enumerate().filter(|(_, entry)| is_left_out(entry));
    let mut path = String::new();
    for (index, _) in left_out {
        let _ = write!(path, "M{:.1} 0V10", WIDTH * place(index + 1, history));
    }
    html! {
        @if !path.is_empty() {
            svg y=(HEIGHT - 5.0) width="100%" height="10" viewBox={ "0 0 " (WIDTH) " 10" } preserveAspectRatio="none" {
                path.left-out d=(path) {}
            }
        }
    }
}

/// Tests named per commit.
const NAMED: usize = 8;

/// Renders all commits, including those that could not be compared.
pub fn commits(history: &History) -> Markup {
    html! {
        table id="commits" {
            thead {
                tr {
                    th.commit scope="col" { "Commit" }
                    th scope="col" { "Subject" }
                    th.verdict scope="col" { "Result" }
                }
            }
            tbody {
                @for entry in history.entries.iter().rev() {
                    (row(entry)) "\n"
                }
            }
        }
    }
}

fn row(entry: &Entry) -> Markup {
    let commit = &entry.commit;
    let (class, word) = result(entry);
    html! {
        tr class=(class) id=(anchor(&commit.id)) {
            th.commit scope="row" {
                code { (short_commit(&commit.id)) }
                span.target { (date::day(commit.seconds)) }
            }
            td {
                @for tag in &commit.tags {
                    b.tag { (one_line(tag)) } " "
                }
                (one_line(&commit.subject))
                @match &entry.outcome {
                    StepOutcome::Compared(step) => { (tests(step)) }
                    StepOutcome::Skipped(why) => { span.remark { (skip_reason(why)) } }
                    StepOutcome::Open => {}
                }
            }
            td.verdict { (word) }
        }
    }
}

/// Returns a class and a word for the result of a commit.
fn result(entry: &Entry) -> (&'static str, String) {
    match &entry.outcome {
        StepOutcome::Compared(step) => match worst(step) {
            Some(verdict) => (table::class(verdict), table::word(verdict, Words::OfTime)),
            None => ("same", "= Unchanged".to_owned()),
        },
        StepOutcome::Skipped(_) => ("inconclusive", "× Skipped".to_owned()),
        StepOutcome::Open => (table::class(Verdict::NotMeasured), "… Open".to_owned()),
    }
}

fn tests(step: &Step) -> Markup {
    let moved = changed_tests(step);
    let left_out = moved.len().saturating_sub(NAMED);
    html! {
        span.remark { (counts(step)) }
        @for program in &step.programs {
            span.remark { code { (one_line(&program.name)) } " " (describe_program(program)) }
        }
        @if !moved.is_empty() {
            ul.moves {
                @for found in moved.into_iter().take(NAMED) {
                    li {
                        span class=(table::class(found.verdict)) {
                            (table::sign(found.verdict))
                            @if let Some(figures) = found.figures {
                                " " (format::percent(figures.change.estimate))
                            }
                        }
                        " " code { (one_line(&found.test.to_string())) }
                        @if let Some(function) = &found.function {
                            " " code.place { (one_line(function)) }
                        }
                    }
                }
                @if left_out > 0 {
                    li.note { "and " (left_out) " more" }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
