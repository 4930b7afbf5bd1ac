//! A comment for a pull request: what got slower, how sure that is, the responsible function; the rest folded away.
//!
//! GitHub Flavored Markdown. The same run gives the same text, so that a comment only changes when its content does. All
//! foreign text (names of tests, functions, versions, messages) stands in code spans: nothing in it is markup, nobody is
//! mentioned, no issue is linked.

mod escape;

pub(super) use self::escape::{code, plain};
use super::by_cause::{self, Group, Responsible};
use super::caveats;
use super::counts::Unmeasured;
use super::failing;
use super::figures::{Words, at_least, sorted, times, word};
use super::growth;
use super::rendering::{Rendering, WhenFine, is_fine, with_conclusion};
use super::responsible;
use super::uncovered;
use super::undecided;
use super::unmeasured::is_no_shortcoming;
use super::{causes, generated, metrics, ratchet};
use perfunit_model::format::{self, Glyphs, count, percent, threshold};
use perfunit_model::{
    Conclusion, CrossCheck, Explanation, Function, GrowthFinding, Measured, Mode, Outcome, Repeat, Run, Selection,
    Side, Verdict, VersionName, variant_name,
};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// By this line a comment is found again that is to be replaced.
pub const MARKER: &str = "<!-- cargo-perfunit -->";
/// Rows shown of the tests that got slower; the others are folded.
const SLOWER: usize = 10;
/// The same of those that got faster.
const FASTER: usize = 5;
/// Items of a folded list.
const ITEMS: usize = 10;
/// Bytes after which no more rows are added: GitHub takes 65,536 characters, and what comes after the rows is short.
const ROOM: usize = 45_000;

/// The comment; empty if there is nothing to say and that is not to be said.
pub fn render(run: &Run, rendering: &Rendering) -> String {
    if rendering.when_fine == WhenFine::Silent && is_fine(run, rendering.denied) {
        return String::new();
    }
    let words = Words::of(&run.all_gates());
    let heading = with_conclusion(heading(run, words), run, Conclusion::of(run, rendering.denied));
    let mut page = format!("{MARKER}\n### {}\n\n{}\n", plain(&heading), compared(run));
    failing(run, &mut page);
    if let Some(insensitive) = caveats::insensitive(run) {
        let _ = writeln!(page, "\n**{insensitive}.**");
    }
    uncovered(run, &mut page);
    growth(run, &mut page);
    by_cause(run, &mut page);
    for (verdict, shown) in [(Verdict::Slower, SLOWER), (Verdict::Faster, FASTER), (Verdict::Inconclusive, 0)] {
        section(run, verdict, shown, words, &mut page);
    }
    ratchet(run, &mut page);
    generated(run, &mut page);
    let undecided = undecided::lines(run, rendering.denied);
    if !undecided.is_empty() {
        page.push_str("\n**Undecided**:\n\n");
        items(undecided.iter().map(|line| plain(line)), &mut page);
    }
    details(run, &mut page);
    page
}

fn heading(run: &Run, words: Words) -> String {
    let [worse, better] = [Verdict::Slower, Verdict::Faster].map(|verdict| word(verdict, words));
    let said = |verdict, word: &str| {
        let tests = run.count(verdict);
        (tests > 0).then(|| format!("{} got {word}", count(tests, "test")))
    };
    let failing = match run.failing(Side::Head).count() {
        0 => None,
        1 => Some("1 test fails".to_owned()),
        tests => Some(format!("{} fail", count(tests, "test"))),
    };
    let changed = [failing, said(Verdict::Slower, &worse), ratchet::found(run), said(Verdict::Faster, &better)];
    let changed: Vec<String> = changed.into_iter().flatten().collect();
    match () {
        () if !changed.is_empty() => changed.join(", "),
        () if run.interrupted => "The comparison was interrupted".to_owned(),
        () if caveats::measured(run) > 0 => format!("No test got {worse} or {better}"),
        () if run.selection.nothing_because.is_some() => "No test can have changed".to_owned(),
        () => "No test could be measured".to_owned(),
    }
}

/// What was compared, by how many tests.
fn compared(run: &Run) -> String {
    let mut text = format!("{} → {}", version(&run.base), version(&run.head));
    match &run.selection.nothing_because {
        Some(because) if caveats::measured(run) == 0 => {
            let _ = write!(text, ": {}", code(&because.to_string()));
        }
        _ => {
            let (measured, found) = (caveats::measured(run), count(run.selection.found, "test"));
            let _ = write!(text, ": {measured} measured of {found}");
        }
    }
    if run.interrupted {
        text.push_str(", then stopped by Ctrl-C");
    }
    text + "."
}

fn version(version: &VersionName) -> String {
    let changes = if version.dirty { " with changes" } else { "" };
    let label = code(&version.label);
    match version.commit_beside_label() {
        None => format!("{label}{changes}"),
        Some(commit) => format!("{label} ({}{changes})", code(commit)),
    }
}

/// The tests that base passes and head does not.
fn failing(run: &Run, page: &mut String) {
    let Some(headline) = failing::headline(run) else { return };
    let _ = writeln!(page, "\n{headline}:\n");
    let tests: Vec<&Outcome> = run.failing(Side::Head).collect();
    let item = |outcome: &&Outcome| format!("{}: {}", code(&outcome.test.to_string()), code(&failing::said(outcome)));
    items(tests.iter().map(item), page);
}

/// The first of several items, and how many more there are.
fn items(all: impl ExactSizeIterator<Item = String>, page: &mut String) {
    let more = all.len().saturating_sub(ITEMS);
    for item in all.take(ITEMS) {
        let _ = writeln!(page, "- {item}");
    }
    if more > 0 {
        let _ = writeln!(page, "- ... and {more} more");
    }
}

/// What the comparison with the ratchet's version says.
fn ratchet(run: &Run, page: &mut String) {
    let Some(headline) = ratchet::headline(run) else { return };
    let _ = writeln!(page, "\n**Ratchet**: {}.", plain(&headline));
    let lost = ratchet::items(run);
    if !lost.is_empty() {
        page.push('\n');
    }
    items(lost.iter().map(|(outcome, said)| format!("{}: {}", code(&outcome.test.to_string()), code(said))), page);
}

/// What the comparison of generated calls says.
fn generated(run: &Run, page: &mut String) {
    let Some(headline) = generated::headline(run) else { return };
    let _ = writeln!(page, "\n**Generated calls**: {}.", plain(&headline));
    let calls = generated::items(run);
    if !calls.is_empty() {
        page.push('\n');
    }
    items(calls.iter().map(|(call, said)| format!("{}: {}", code(call), code(said))), page);
}

/// The changed functions that no test executes, and those that are not compiled.
fn uncovered(run: &Run, page: &mut String) {
    let mut write = |headline: Option<String>, functions: &[&Function]| {
        let Some(headline) = headline else { return };
        let item = |function: &&Function| format!("{} ({})", code(&function.name), code(&growth::place(function)));
        let mut names: Vec<String> = functions.iter().take(ITEMS).map(item).collect();
        if functions.len() > ITEMS {
            names.push(format!("... and {} more", functions.len() - ITEMS));
        }
        let _ = writeln!(page, "\n**{headline}**: {}.", names.join(", "));
    };
    let Selection { uncovered, not_compiled, .. } = &run.selection;
    let uncovered: Vec<&Function> = uncovered.iter().map(|uncovered| &uncovered.function).collect();
    write(uncovered::headline(&run.selection), &uncovered);
    write(uncovered::not_compiled(&run.selection), &not_compiled.iter().collect::<Vec<_>>());
}

/// The functions whose work grows faster than before.
fn growth(run: &Run, page: &mut String) {
    for scaling in run.scaling.iter().take(ITEMS) {
        let name = format!("{} {}", scaling.target, scaling.name);
        let _ = writeln!(page, "\n**Growth**: {}: {}.", code(&name), growth::scaled(scaling));
    }
    let Some(headline) = growth::headline(run) else { return };
    let _ = writeln!(page, "\n**{headline}**:\n");
    let item = |finding: &GrowthFinding| {
        let place = growth::place(&finding.function);
        format!("{} ({}): {}", code(&finding.function.name), code(&place), plain(&growth::said(finding)))
    };
    items(run.growing().map(item).collect::<Vec<_>>().into_iter(), page);
}

/// A line for each cause of several slower tests, and one for what is only probably slower.
fn by_cause(run: &Run, page: &mut String) {
    let probable = run.probably_slower().count();
    if probable > 0 {
        let _ = writeln!(page, "\n**{} probably slower, not confirmed: budget used up.**", count(probable, "test"));
    }
    let tests = sorted(&run.outcomes, Verdict::Slower);
    let groups = by_cause::groups(&tests, run);
    if tests.len() < 2 || groups.iter().all(|group| group.responsible == Responsible::Unknown) {
        return;
    }
    page.push('\n');
    let gates = run.all_gates();
    let item = |group: &Group<'_>| format!("{}: {}", code(&group.name()), group.tests(Verdict::Slower, &gates));
    items(groups.iter().map(item), page);
}

/// The tests with a verdict, so many of them in sight.
fn section(run: &Run, verdict: Verdict, shown: usize, words: Words, page: &mut String) {
    let tests = sorted(&run.outcomes, verdict);
    let (shown, folded) = tests.split_at(tests.len().min(shown));
    let word = word(verdict, words);
    if !shown.is_empty() {
        page.push('\n');
        table(shown, run, &word, page);
    }
    if !folded.is_empty() {
        let more = if shown.is_empty() { "" } else { " more" };
        fold(&format!("{}{more} {word}", folded.len()), page, |page| table(folded, run, &word, page));
    }
}

/// A row for each test, as long as there is room.
fn table(tests: &[&Outcome], run: &Run, word: &str, page: &mut String) {
    let _ = writeln!(page, "| {word} | base | head | change | interval | responsible |");
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
    format!("| {test} | {base} | {head} | {change} | {interval} | {} |\n", remarks(outcome, run).join("<br>"))
}

fn figures(measured: &Measured) -> [String; 4] {
    let [base, head] = times(measured, Glyphs::Unicode);
    let [low, high] = [measured.change.low, measured.change.high].map(percent);
    let mode = match measured.mode {
        Mode::Steady => "",
        Mode::FirstCall | Mode::Cold => " (first call)",
        Mode::Process => " (process)",
    };
    if let Some(bound) = &measured.bound {
        return [plain(&base), plain(&head), format!("**{}**", at_least(bound)), mode.trim_start().to_owned()];
    }
    [base, head, format!("**{}**", percent(measured.change.estimate)), format!("{low} to {high}{mode}")]
}

/// The responsible function, and what else to know.
fn remarks(outcome: &Outcome, run: &Run) -> Vec<String> {
    let responsible = outcome.explanation.as_ref().and_then(responsible);
    let work = metrics::changed(outcome, run.gates_of(outcome), Glyphs::Unicode).map(|work| plain(&work));
    let suspect = outcome.cross_check.as_ref().filter(|check| matches!(check, CrossCheck::Suspect));
    let suspect = suspect.map(|check| plain(&check.to_string()));
    let reason = outcome.reason.as_ref().map(|reason| code(&reason.to_string()));
    responsible.into_iter().chain(work).chain(suspect).chain(reason).collect()
}

fn responsible(explanation: &Explanation) -> Option<String> {
    if let Some(cause) = explanation.outer_cause() {
        return Some(code(&causes::name(cause, Glyphs::Unicode)));
    }
    let responsible = explanation.responsible.first()?;
    let function = &explanation.functions[responsible.function];
    let place = code(&format!("{}:{}", function.file, function.line));
    let share = format!("{:.0} % of the change", 100.0 * responsible.share);
    let source = if responsible.changed.is_some() { "" } else { ", source unchanged" };
    let apart = plain(&responsible::not_apart(explanation, responsible));
    Some(format!("{} ({place}){apart}, {share}{source}", code(&function.name)))
}

/// What is below a line that unfolds it.
fn fold(summary: &str, page: &mut String, inside: impl FnOnce(&mut String)) {
    let _ = write!(page, "\n<details><summary>{summary}</summary>\n\n");
    inside(page);
    page.push_str("\n</details>\n");
}

fn details(run: &Run, page: &mut String) {
    fold("Details and how to reproduce", page, |page| {
        let _ = writeln!(page, "- {}", counts(run));
        if let Some(reasons) = unmeasured(run) {
            let _ = writeln!(page, "- Not measured: {reasons}");
        }
        let environment = &run.environment;
        let (rustc, profile, cpu) = (&environment.rustc, &environment.profile, &environment.cpu);
        let _ = writeln!(page, "- Both on one machine: {}", code(&format!("{rustc}, {profile} profile, {cpu}")));
        list("Changed", &run.selection.changes, page);
        list("Growth not known", &run.growth.iter().flat_map(growth::unknown).collect::<Vec<_>>(), page);
        list("Note", &caveats::notes(run), page);
        list("Warning", &run.warnings, page);
        if let Some(repeat) = &run.repeat {
            let _ = write!(page, "\n```sh\n{}\n```\n", command(repeat));
        }
    });
}

fn counts(run: &Run) -> String {
    let verdicts = [
        (Verdict::ChangedBelowThreshold, "changed below it"),
        (Verdict::Same, "same"),
        (Verdict::Inconclusive, "inconclusive"),
    ];
    let unmeasured = Unmeasured::of(run);
    let others = [(unmeasured.not_measured, "not measured")].into_iter().chain(unmeasured.others());
    let verdicts = verdicts.into_iter().map(|(verdict, word)| (run.count(verdict), word));
    let counts: Vec<String> = verdicts.chain(others).map(|(tests, word)| format!("{tests} {word}")).collect();
    let gates: Vec<String> = run.gates.iter().map(ToString::to_string).collect();
    format!("Decided by {}, threshold {}: {}.", gates.join(", "), threshold(run.threshold), counts.join(", "))
}

/// How many tests were not measured, by reason, but for those that cannot have changed.
fn unmeasured(run: &Run) -> Option<String> {
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

/// The command that makes the same comparison again, for a shell at the root of the repository.
fn command(repeat: &Repeat) -> String {
    let quoted = |word: &str| shlex::try_quote(word).unwrap_or_default().into_owned();
    let words: Vec<String> = repeat.arguments.iter().map(|word| quoted(word)).collect();
    let folder = if repeat.folder.is_empty() { String::new() } else { format!("cd {} && ", quoted(&repeat.folder)) };
    format::one_line(&format!("{folder}cargo {}", words.join(" ")))
}

#[cfg(test)]
mod tests;
