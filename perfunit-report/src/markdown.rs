//! A comment for a pull request: slower tests with their certainty and responsible functions; the rest is folded.
//!
//! GitHub Flavored Markdown. Equal runs give equal text, so that a comment changes only with its content. All foreign
//! text (names of tests, functions and versions, messages) is in code spans and cannot act as markup, mention or link.

use super::by_cause::Group;
use super::counts::{self, Excluded, Unmeasured, is_no_shortcoming};
use super::figures::{Words, at_least, possible, rule, times, within_bound, word};
use super::headline::headline;
use super::rendering::{Rendering, WhenFine, is_fine};
use super::sections::{Item, Kind, Section, Sections, place};
use super::{acceptance, causes, metrics};
use perfunit_model::format::{self, Glyphs, count, is_deceptive, one_line, percent, sentence};
use perfunit_model::{
    Conclusion, CrossCheck, Explanation, MainCause, Measured, Mode, Outcome, Repeat, Run, Verdict, VersionName,
    variant_name,
};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// First line of a comment, which identifies the comment to replace.
pub const MARKER: &str = "<!-- cargo-perfunit -->";
/// Slower tests shown; the others are folded.
const SLOWER: usize = 10;
/// Rows shown of faster tests.
const FASTER: usize = 5;
/// Items of a folded list.
const ITEMS: usize = 10;
/// No rows are added beyond this many bytes. GitHub accepts 65,536 characters, and the text after the rows is short.
const ROOM: usize = 45_000;

/// Sections above the tables of tests, in this order.
const ABOVE: [Kind; 7] = [
    Kind::Programs,
    Kind::Functions,
    Kind::Uncovered,
    Kind::NotCompiled,
    Kind::Scaling,
    Kind::Growth,
    Kind::ProbablySlower,
];
/// Sections below the tables.
const BELOW: [Kind; 3] = [Kind::Ratchet, Kind::Generated, Kind::Undecided];

/// Returns the comment; empty if there is nothing to report and `when_fine` is silent.
pub fn render(run: &Run, rendering: &Rendering) -> String {
    let sections = Sections::of(run, rendering.denied);
    if rendering.when_fine == WhenFine::Silent && is_fine(run, &sections, rendering.denied) {
        return String::new();
    }
    let words = Words::of(&run.all_gates());
    let conclusion = Conclusion::of(run, rendering.denied);
    let headline = headline(run, &sections, conclusion);
    let mut page = format!("{MARKER}\n### {}\n\n{}\n", plain(&headline), describe_comparison(run));
    if let Some(excluded) = Excluded::describe_beyond_verdicts(run) {
        let _ = writeln!(page, "\n**{}**", plain(&sentence(&excluded)));
    }
    if let Some(failing) = sections.get(Kind::Failing) {
        section(failing, &mut page);
    }
    if let Some(insensitive) = counts::insensitive(run) {
        let _ = writeln!(page, "\n**{insensitive}.**");
    }
    sections.of_kinds(&ABOVE).for_each(|above| section(above, &mut page));
    if let Some(slower) = sections.get(Kind::Tests(Verdict::Slower)) {
        causes(slower, run, &mut page);
    }
    for (verdict, shown) in [(Verdict::Slower, SLOWER), (Verdict::Faster, FASTER), (Verdict::Inconclusive, 0)] {
        if let Some(tests) = sections.get(Kind::Tests(verdict)) {
            tables(tests, run, &word(verdict, words), shown, &mut page);
        }
        if let Some(accepted) = sections.get(Kind::Accepted).filter(|_| verdict == Verdict::Slower) {
            tables(accepted, run, "accepted", SLOWER, &mut page);
        }
    }
    if let Some(within) = sections.get(Kind::Within) {
        tables(within, run, &counts::unchanged_within(run.bound, Glyphs::Unicode), 0, &mut page);
    }
    sections.of_kinds(&BELOW).for_each(|below| section(below, &mut page));
    details(run, &sections, &mut page);
    page.replace(is_deceptive, "\u{fffd}")
}

/// Describes the compared versions and the number of tests.
fn describe_comparison(run: &Run) -> String {
    let mut text = format!("{} → {}", version(&run.base), version(&run.head));
    match &run.selection.nothing_because {
        Some(because) if counts::count_measured(run) == 0 => {
            let _ = write!(text, ": {}", code(&because.to_string()));
        }
        _ => {
            let (measured, found) = (counts::count_measured(run), count(run.selection.found, "test"));
            let _ = write!(text, ": {measured} measured of {found}");
        }
    }
    if run.interrupted {
        text.push_str(", then interrupted");
    }
    text + "."
}

fn version(version: &VersionName) -> String {
    let changes = version.changes();
    let label = code(&version.label);
    match version.commit_beside_label() {
        None => format!("{label}{changes}"),
        Some(commit) => format!("{label} ({}{changes})", code(commit)),
    }
}

/// Writes the first items, and the number of the rest.
fn items(all: impl ExactSizeIterator<Item = String>, page: &mut String) {
    let more = all.len().saturating_sub(ITEMS);
    for item in all.take(ITEMS) {
        let _ = writeln!(page, "- {item}");
    }
    if more > 0 {
        let _ = writeln!(page, "- ... and {more} more");
    }
}

/// Writes a section other than a table.
fn section(section: &Section<'_>, page: &mut String) {
    let headline = &section.headline;
    let remark = |item: &Item<'_>| format!("{}: {}", code(&item.name), code(&item.text));
    let all = section.items.iter();
    match section.kind {
        Kind::Failing => {
            let _ = writeln!(page, "\n{headline}:\n");
            items(all.map(remark), page);
        }
        Kind::Uncovered | Kind::NotCompiled => {
            let with_place = |item: &Item<'_>| format!("{} ({})", code(&item.name), code(&item.place()));
            let mut names: Vec<String> = all.take(ITEMS).map(with_place).collect();
            if section.items.len() > ITEMS {
                names.push(format!("... and {} more", section.items.len() - ITEMS));
            }
            let _ = writeln!(page, "\n**{headline}**: {}.", names.join(", "));
        }
        Kind::Scaling => all.take(ITEMS).for_each(|item| {
            let _ = writeln!(page, "\n**{headline}**: {}: {}.", code(&item.name), item.text);
        }),
        Kind::Programs | Kind::Functions | Kind::Growth => {
            let _ = writeln!(page, "\n**{headline}**:\n");
            let line = |item: &Item<'_>| {
                let place = item.function.map(|_| format!(" ({})", code(&item.place()))).unwrap_or_default();
                format!("{}{place}: {}", code(&item.name), plain(&item.text))
            };
            items(all.map(line), page);
        }
        Kind::ProbablySlower => {
            let _ = writeln!(page, "\n**{headline}, not confirmed: budget used up.**");
        }
        Kind::Ratchet | Kind::Generated => {
            let title = if section.kind == Kind::Ratchet { "Ratchet" } else { "Generated calls" };
            let _ = writeln!(page, "\n**{title}**: {}.", plain(headline));
            if !section.items.is_empty() {
                page.push('\n');
            }
            items(all.map(remark), page);
        }
        Kind::Undecided => {
            let _ = writeln!(page, "\n**{headline}**:\n");
            items(all.map(|item| plain(&item.text)), page);
        }
        Kind::Tests(_) | Kind::Accepted | Kind::Within | Kind::GrowthUnknown | Kind::Caveats => {}
    }
}

/// Writes a line for each cause of several slower tests.
fn causes(section: &Section<'_>, run: &Run, page: &mut String) {
    let causes = section.telling_causes();
    if causes.is_empty() {
        return;
    }
    page.push('\n');
    let gates = run.all_gates();
    let item = |group: &Group<'_>| format!("{}: {}", code(&group.name()), group.tests(Verdict::Slower, &gates));
    items(causes.iter().map(item), page);
}

/// Writes the tests with one verdict. The first `shown` are visible and the others folded.
fn tables(section: &Section<'_>, run: &Run, word: &str, shown: usize, page: &mut String) {
    let tests: Vec<&Outcome> = section.items.iter().filter_map(|item| item.test).collect();
    let (shown, folded) = tests.split_at(tests.len().min(shown));
    if !shown.is_empty() {
        page.push('\n');
        table(shown, run, word, page);
    }
    if !folded.is_empty() {
        let more = if shown.is_empty() { "" } else { " more" };
        fold(&format!("{}{more} {word}", folded.len()), page, |page| table(folded, run, word, page));
    }
}

/// Writes a row for each test while there is room.
fn table(tests: &[&Outcome], run: &Run, word: &str, page: &mut String) {
    let _ = writeln!(page, "| {word} | change | base | head | interval | remarks |");
    page.push_str("|---|--:|--:|--:|---|---|\n");
    for (index, outcome) in tests.iter().enumerate() {
        let row = row(outcome, run);
        if page.len() + row.len() > ROOM {
            let _ = writeln!(page, "\n... and {} more.", tests.len() - index);
            return;
        }
        page.push_str(&row);
    }
}

fn row(outcome: &Outcome, run: &Run) -> String {
    let cells = outcome.measured.as_ref().map_or_else(Default::default, figures);
    let [base, head, change, interval] = cells;
    let test = code(&outcome.test.to_string());
    // The change is next to the name, so that narrow screens show it.
    format!("| {test} | {change} | {base} | {head} | {interval} | {} |\n", remarks(outcome, run).join("<br>"))
}

fn figures(measured: &Measured) -> [String; 4] {
    let [base, head] = times(measured, Glyphs::Unicode).map(|time| join_unit(&plain(&time)));
    let [change, low, high] =
        [measured.change.estimate, measured.change.low, measured.change.high].map(|part| join_unit(&percent(part)));
    let mode = match measured.mode {
        Mode::Steady => "",
        Mode::FirstCall | Mode::Cold => " (first call)",
        Mode::Process => " (process)",
    };
    if let Some(bound) = &measured.bound {
        return [base, head, format!("**{}**", at_least(bound)), mode.trim_start().to_owned()];
    }
    [base, head, format!("**{change}**"), format!("{low} to {high}{mode}")]
}

/// Keeps a figure and its unit in one line of a narrow cell.
fn join_unit(figure: &str) -> String {
    figure.replace(' ', "&nbsp;")
}

/// Returns the responsible function and other remarks.
fn remarks(outcome: &Outcome, run: &Run) -> Vec<String> {
    let responsible = outcome.explanation.as_ref().and_then(responsible);
    let work = metrics::changed_metrics(outcome, run.gates_of(outcome), Glyphs::Unicode).map(|work| plain(&work));
    let programs = metrics::programs(outcome, Glyphs::Unicode).into_iter().map(|program| plain(&program));
    let suspect = outcome.cross_check.as_ref().filter(|check| matches!(check, CrossCheck::Suspect));
    let suspect = suspect.map(|check| plain(&check.to_string()));
    let reason = outcome.reason.as_ref().map(|reason| code(&reason.to_string()));
    let within = run.unchanged_within(outcome).map(|bound| within_bound(bound, Glyphs::Unicode));
    let possible = possible(outcome, run).map(|possible| plain(&possible));
    let accepted = acceptance::said(outcome, run).map(|accepted| plain(&accepted));
    accepted
        .into_iter()
        .chain(responsible)
        .chain(work)
        .chain(programs)
        .chain(suspect)
        .chain(within)
        .chain(reason)
        .chain(possible)
        .collect()
}

fn responsible(explanation: &Explanation) -> Option<String> {
    let cause = explanation.main_cause()?;
    let MainCause::Function { function, .. } = cause else {
        return causes::cause_name(&cause, Glyphs::Unicode).map(|name| code(&name));
    };
    let responsible = explanation.responsible.first()?;
    let place = code(&place(function));
    let share = format!("{:.0} % of the change", 100.0 * responsible.share);
    let source = if responsible.changed.is_some() { "" } else { ", source unchanged" };
    let apart = plain(&causes::not_apart(explanation, responsible));
    Some(format!("{} ({place}){apart}, {share}{source}", code(&function.name)))
}

/// Writes a folded part.
fn fold(summary: &str, page: &mut String, inside: impl FnOnce(&mut String)) {
    let _ = write!(page, "\n<details><summary>{summary}</summary>\n\n");
    inside(page);
    page.push_str("\n</details>\n");
}

fn details(run: &Run, sections: &Sections<'_>, page: &mut String) {
    fold("Details and how to reproduce", page, |page| {
        let _ = writeln!(page, "- {}", describe_decision(run));
        if let Some(reasons) = not_measured(run) {
            let _ = writeln!(page, "- Not measured: {reasons}");
        }
        let environment = &run.environment;
        let (rustc, profile, cpu) = (&environment.rustc, &environment.profile, &environment.cpu);
        let _ = writeln!(page, "- Both on one machine: {}", code(&format!("{rustc}, {profile} profile, {cpu}")));
        list("Changed", &run.selection.changes, page);
        let texts = |kind, name: &str| {
            let items = sections.items(kind).iter().filter(|item| item.name == name);
            items.map(|item| item.text.as_str()).collect::<Vec<_>>()
        };
        list("Unknown growth", &texts(Kind::GrowthUnknown, ""), page);
        list("Note", &texts(Kind::Caveats, "Note"), page);
        list("Warning", &texts(Kind::Caveats, "Warning"), page);
        // Half of a command is none.
        let command =
            run.repeat.as_ref().map(|repeat| command(repeat, &[])).filter(|command| command.len() <= LONGEST_COMMAND);
        if let Some(command) = command {
            let _ = write!(page, "\n```sh\n{command}\n```\n");
        }
    });
}

fn describe_decision(run: &Run) -> String {
    // The headline and the tables have the slower and the faster tests.
    let verdicts = counts::by_verdict(run, Glyphs::Unicode).into_iter().filter(|(verdict, _)| !verdict.is_change());
    let others = Unmeasured::of(run).others().map(|(tests, label)| format!("{tests} {label}"));
    let tests: Vec<String> = verdicts.map(|(_, text)| text).chain(others).collect();
    let rule = format!("Decided by {}", rule(run));
    if tests.is_empty() { format!("{rule}.") } else { format!("{rule}: {}.", tests.join(", ")) }
}

/// Counts the tests without figures by reason, except tests that cannot have changed.
fn not_measured(run: &Run) -> Option<String> {
    let mut reasons: BTreeMap<String, usize> = BTreeMap::new();
    let left = run.outcomes.iter().filter(|outcome| outcome.verdict == Verdict::NotMeasured);
    for outcome in left.filter(|outcome| !is_no_shortcoming(outcome)) {
        *reasons
            .entry(outcome.reason.as_ref().map_or("unknown".to_owned(), |reason| variant_name(reason.kind())))
            .or_default() += 1;
    }
    let reasons: Vec<String> = reasons.iter().map(|(kind, tests)| format!("{tests} {kind}")).collect();
    (!reasons.is_empty()).then(|| reasons.join(", "))
}

fn list(word: &str, all: &[impl ToString], page: &mut String) {
    items(all.iter().map(|item| format!("{word}: {}", code(&item.to_string()))), page);
}

/// Returns the shell command that repeats the comparison, to be run at the root of the repository.
/// Returns the line of a shell that repeats a comparison, with further options.
pub(super) fn command(repeat: &Repeat, further: &[&str]) -> String {
    let quoted = |word: &str| shlex::try_quote(word).unwrap_or_default().into_owned();
    let words = repeat.arguments.iter().map(String::as_str).chain(further.iter().copied());
    let words: Vec<String> = words.map(quoted).collect();
    let folder = if repeat.folder.is_empty() { String::new() } else { format!("cd {} && ", quoted(&repeat.folder)) };
    format::one_line(&format!("{folder}cargo {}", words.join(" ")))
}

/// Longer commands are left out.
const LONGEST_COMMAND: usize = 4_000;
/// Longer texts are shortened in the middle.
const LONGEST: usize = 200;

/// Returns a code span that is valid in text and in table cells.
pub fn code(text: &str) -> String {
    let text = cut(&one_line(text));
    if text.is_empty() {
        return String::new();
    }
    // Backticks would end the span and a bar would end the cell; the meaning of a backslash depends on the next
    // character. Rust's names contain none of them.
    if text.contains(['`', '|', '\\']) { format!("<code>{}</code>", entities(&text)) } else { format!("`{text}`") }
}

/// Returns running text without markup.
pub fn plain(text: &str) -> String {
    entities(&cut(&one_line(text)))
}

/// Writes characters that Markdown or HTML may interpret as numbers, which are never markup. GitHub also looks for mentions,
/// references and addresses in the text as it is shown, so a space without width follows the characters that begin one.
fn entities(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if matches!(c, '%' | '(' | ')' | ',' | '+' | '-' | '.' | ';' | '/') || !c.is_ascii_punctuation() {
            out.push(c);
        } else {
            // Writing into a string cannot fail.
            let _ = write!(out, "&#{};", u32::from(c));
        }
        if matches!(c, '@' | '#') {
            out.push_str("&#8203;");
        }
    }
    out.replace("www.", "www&#8203;.")
}

fn cut(text: &str) -> String {
    let length = text.chars().count();
    if length <= LONGEST {
        return text.to_owned();
    }
    let (front, end) = (LONGEST * 2 / 5, LONGEST * 3 / 5 - 1);
    text.chars().take(front).chain(['…']).chain(text.chars().skip(length - end)).collect()
}

#[cfg(test)]
mod tests;
