//! The page of a history: the courses of tests, and each commit.

use super::course::Courses;
use super::page::{HtmlOptions, document};
use super::{commits, rows};
use crate::history::{Counts, error_rate, name, notes};
use maud::{Markup, html};
use perfunit_model::format::{count, one_line, sentence};
use perfunit_model::{Course, History, Span, Verdict};

/// Everything can be read without scripts; there are none. Courses are drawn while there is room, those of the largest
/// changes first.
pub fn render(history: &History, courses: &[Course], options: &HtmlOptions) -> String {
    let counts = Counts::of(history);
    let commits = commits::table(history);
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
                p.note { "The youngest first. Each is compared with the one before it that builds." }
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
            "Several commits together made tests slower, and none of them by itself".to_owned()
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
                    li class=(rows::class(verdict)) { (rows::sign(verdict)) " " b { (commits) } " " (word) }
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

#[cfg(test)]
mod tests;
