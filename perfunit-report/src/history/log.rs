//! The log in the terminal: an entry for each commit, then the courses of tests and counts.

use crate::figures::{self, Words};
use crate::pooled_change::describe_program;
use crate::terminal::{BAD, DIM, GOOD, INDENT, PLAIN, STRONG, Screen, Text, WARN, test_id};
use crate::text::TextOptions;
use perfunit_model::format::{self, Glyphs, count, interval, one_line, short_commit};
use perfunit_model::{
    Anchor, Commit, Course, Entry, History, HistorySource, Point, Skipped, Step, StepOutcome, StepTest, TestId,
    Verdict, variant_name,
};
use perfunit_system::date;
use std::collections::{BTreeSet, HashMap};

/// Tests shown per commit without `--verbose`.
const SHOWN: usize = 5;

/// Formats a commit for the terminal.
pub fn entry(entry: &Entry, options: &TextOptions) -> String {
    let mut screen = Screen::new(options.width, options.glyphs);
    let name = commit(&entry.commit);
    match &entry.outcome {
        StepOutcome::Compared(step) => write_compared(step, &name, options, &mut screen),
        StepOutcome::Skipped(why) => {
            screen.status("Skipped", WARN, &name);
            screen.below(INDENT, &Text::new(DIM, skip_reason(why)));
        }
        StepOutcome::Open => screen.status("Open", WARN, &name.with(DIM, "  not compared yet")),
    }
    screen.finish()
}

fn write_compared(step: &Step, name: &Text, options: &TextOptions, screen: &mut Screen) {
    heading(step, name, screen);
    screen.below(INDENT, &Text::new(DIM, counts(step)));
    for program in &step.programs {
        screen.below(INDENT, &Text::plain(format!("{} {}", one_line(&program.name), describe_program(program))));
    }
    let moved = changed_tests(step);
    let most = options.detail.limit(SHOWN);
    for found in moved.iter().take(most) {
        screen.below(INDENT, &line(found, options));
    }
    screen.more(INDENT, moved.len().saturating_sub(most));
}

/// Returns the worst verdict of a step's tests and programs, if it has any.
pub fn worst(step: &Step) -> Option<Verdict> {
    use Verdict::{ChangedBelowThreshold, Faster, Inconclusive, NotMeasured, Same, Slower};
    let worst = [Slower, Faster, Inconclusive, ChangedBelowThreshold, Same, NotMeasured];
    worst.into_iter().find(|verdict| step.has(*verdict))
}

/// Returns whether no test of a step can have changed.
pub fn is_unchanged(step: &Step) -> bool {
    step.tests.is_empty() && (step.found > 0 || step.nothing_because.is_some())
}

/// Returns slower and faster tests, the largest change first.
pub fn changed_tests(step: &Step) -> Vec<&StepTest> {
    let mut moved: Vec<&StepTest> = step.changed_tests().collect();
    let size = |found: &StepTest| found.figures.map_or(0.0, |figures| figures.change.estimate.ln_1p().abs());
    moved.sort_by(|one, two| size(two).total_cmp(&size(one)));
    moved
}

/// Writes a heading with the worst verdict.
pub(super) fn heading(step: &Step, name: &Text, screen: &mut Screen) {
    match worst(step) {
        Some(verdict) => {
            let (word, style) = figures::status(verdict, Words::OfTime);
            screen.status(word, style, name);
        }
        None if is_unchanged(step) => screen.status("Unchanged", PLAIN, name),
        None => screen.status("Not measured", WARN, name),
    }
}

/// Counts the tests by verdict.
pub fn counts(step: &Step) -> String {
    let unlisted: Vec<String> =
        step.unlisted.iter().map(|target| format!("; tests of {target} are not known")).collect();
    format!("{}{}", counts_of_tests(step), unlisted.concat())
}

fn counts_of_tests(step: &Step) -> String {
    if step.tests.is_empty() {
        let because = step.nothing_because.map(|because| format!(": {because}")).unwrap_or_default();
        let is_unchanged = is_unchanged(step);
        return if is_unchanged {
            format!("no test can have changed{because}")
        } else {
            "no test was found".to_owned()
        };
    }
    let verdicts = [
        (Verdict::Slower, "slower"),
        (Verdict::Faster, "faster"),
        (Verdict::ChangedBelowThreshold, "changed by less than the threshold"),
        (Verdict::Same, "unchanged"),
        (Verdict::Inconclusive, "inconclusive"),
        (Verdict::NotMeasured, "not measured"),
    ];
    let counted = verdicts.into_iter().map(|(verdict, word)| (step.with(verdict).count(), word));
    let counted: Vec<String> = counted.filter(|(n, _)| *n > 0).map(|(n, word)| format!("{n} {word}")).collect();
    let of = if step.found > 0 { format!(" of {}", step.found) } else { String::new() };
    format!("{}{of}: {}", count(step.tests.len(), "test"), counted.join(", "))
}

/// Formats a test that got slower or faster.
pub(super) fn line(found: &StepTest, options: &TextOptions) -> Text {
    let (word, style) = figures::status(found.verdict, Words::OfTime);
    let mut text = test_id(&found.test).and("  ");
    if let Some(figures) = found.figures {
        let glyphs = options.glyphs;
        let [base, head] = [figures.base_ns, figures.head_ns].map(|ns| format::duration(ns, glyphs));
        let change = format::percent(figures.change.estimate);
        text = text
            .and(format!("{base} {} {head}  ", glyphs.arrow()))
            .with(style, format!("{change} {}", word.to_lowercase()))
            .with(DIM, format!("  {}", format::interval(figures.change)));
    }
    match &found.function {
        Some(function) => text.and(format!("  {function}")),
        None => text,
    }
}

/// Courses shown without `--verbose`.
const SHOWN_COURSES: usize = 10;
/// Commits named per course without `--verbose`.
const NAMED_MOVES: usize = 6;

/// Formats the courses and counts for the terminal.
pub fn summary(history: &History, courses: &[Course], options: &TextOptions) -> String {
    let mut screen = Screen::new(options.width, options.glyphs);
    screen.bar();
    let most = options.detail.limit(SHOWN_COURSES);
    let moves = Moves::of(history);
    for course in courses.iter().take(most) {
        write(&moves, course, options, &mut screen);
    }
    screen.more(INDENT, courses.len().saturating_sub(most));
    if !courses.is_empty() {
        screen.bar();
    }
    let counts = Counts::of(history);
    if counts.open > 0 {
        let text = format!("{} not compared yet; {}", count(counts.open, "commit"), continuation(history.source));
        screen.status("Open", WARN, &Text::plain(text));
    }
    for note in notes(history, &counts) {
        screen.status("Note", WARN, &Text::plain(note));
    }
    let style = if counts.open > 0 { WARN } else { GOOD };
    let text = Text::plain(counts.text()).with(DIM, format!("; {}", error_rate(history)));
    screen.status("Summary", style, &text);
    screen.finish()
}

/// The number of commits by result.
pub struct Counts {
    pub commits: usize,
    /// Commits with slower tests or programs, and with faster ones.
    pub slower: usize,
    pub faster: usize,
    /// Commits in which no test can have changed.
    pub unchanged: usize,
    pub skipped: usize,
    pub open: usize,
    /// Commits of the range that were excluded.
    pub left_out: usize,
}

impl Counts {
    pub fn of(history: &History) -> Self {
        let steps: Vec<_> = history.steps().map(|(_, step)| step).collect();
        let with = |verdict: Verdict| steps.iter().filter(|step| step.has(verdict)).count();
        let open = history.entries.iter().filter(|entry| entry.outcome == StepOutcome::Open).count();
        Self {
            commits: history.entries.len(),
            slower: with(Verdict::Slower),
            faster: with(Verdict::Faster),
            unchanged: steps.iter().filter(|step| is_unchanged(step)).count(),
            skipped: history.entries.len() - steps.len() - open,
            open,
            left_out: history.left_out,
        }
    }

    /// Formats the counts, except the commits that are not compared yet.
    pub fn text(&self) -> String {
        let Self { slower, faster, unchanged, skipped, .. } = self;
        let commits = count(self.commits, "commit");
        let left_out = match self.left_out {
            0 => String::new(),
            others => format!(", {others} others of the range not looked at"),
        };
        format!(
            "{commits}: {slower} with slower tests, {faster} with faster ones, {unchanged} in which no test can have changed, {skipped} skipped{left_out}"
        )
    }
}

/// Returns notes on the limits of the history.
pub fn notes(history: &History, counts: &Counts) -> Vec<String> {
    let is_unfinished = history.interrupted && counts.open == 0;
    let rest = continuation(history.source);
    let unfinished = format!("not all tests are compared over the whole range yet; {rest}");
    let machines = machines(history);
    let several = format!("measured on {} models of processor: {}", machines.len(), machines.join(", "));
    let several = (machines.len() > 1).then_some(several);
    is_unfinished.then_some(unfinished).into_iter().chain(several).collect()
}

/// Returns the command that compares the rest.
fn continuation(source: HistorySource) -> &'static str {
    match source {
        HistorySource::Comparisons => "the same command goes on",
        HistorySource::Stored => "the same command without --stored goes on",
    }
}

/// Returns the error rate of all verdicts together.
pub fn error_rate(history: &History) -> String {
    let rate = format::magnitude(history.family_wise_error());
    format!("the probability that any test is falsely called slower or faster is at most {rate}")
}

fn write(moves: &Moves<'_>, course: &Course, options: &TextOptions, screen: &mut Screen) {
    let total = course.total();
    let style = if total.estimate > 0.0 { BAD } else { GOOD };
    let change = format::percent(total.estimate);
    let text = test_id(&course.test).and("  ").with(style, change).with(DIM, format!("  {}", format::interval(total)));
    screen.status("Course", STRONG, &text);
    let drawn = sparkline(&course.points, screen.glyphs());
    screen.below(INDENT, &Text::plain(drawn).with(DIM, format!("  {}", list_largest(moves, course, options))));
    for anchor in shown_anchors(course) {
        screen.below(INDENT, &anchor_text(anchor));
    }
}

/// Returns the processor models on which anything was measured.
fn machines(history: &History) -> Vec<&str> {
    let steps = history.steps().map(|(_, step)| step).chain(history.spans.iter().map(|span| &span.step));
    let measured = steps.filter(|step| step.tests.iter().any(|test| test.figures.is_some()));
    measured.map(|step| step.machine.as_str()).collect::<BTreeSet<_>>().into_iter().collect()
}

/// Lists the commits with the largest effect on a test, as far as there is room.
fn list_largest(moves: &Moves<'_>, course: &Course, options: &TextOptions) -> String {
    let (largest, left_out) = moves.largest(&course.test, options.detail.limit(NAMED_MOVES));
    let name = |one: &Move<'_>| format!("{} {}", short_commit(&one.commit.id), format::percent(one.estimate()));
    let mut texts: Vec<String> = largest.iter().map(name).collect();
    if left_out > 0 {
        texts.push(format!("and {left_out} smaller"));
    }
    texts.join(", ")
}

/// Formats id, day, tags and subject of a commit.
pub fn commit(commit: &Commit) -> Text {
    let tags = if commit.tags.is_empty() { String::new() } else { format!("({}) ", commit.tags.join(", ")) };
    Text::plain(short_commit(&commit.id))
        .with(DIM, format!(" {} ", date::day(commit.seconds)))
        .and(format!("{tags}{}", one_line(&commit.subject)))
}

/// Returns the tag of a commit, or its short id.
pub fn name(commit: &Commit) -> &str {
    commit.tags.first().map_or_else(|| short_commit(&commit.id), String::as_str)
}

/// Returns the tag of a commit, or its full id.
pub fn name_in_full(commit: &Commit) -> &str {
    commit.tags.first().unwrap_or(&commit.id)
}

/// Returns the reason why a commit was not compared.
pub fn skip_reason(why: &Skipped) -> String {
    match why {
        Skipped::DoesNotBuild { error } => format!("does not build: {}", one_line(error)),
        Skipped::NothingBefore => "no commit before it in the range builds".to_owned(),
        Skipped::Unlisted => "the tests of the target could not be listed".to_owned(),
        Skipped::NoTest => "does not have the test by this name".to_owned(),
        Skipped::Failed { error } => format!("could not be compared: {}", one_line(error)),
    }
}

/// Returns the direct comparisons that add to the steps, and the last one.
pub fn shown_anchors(course: &Course) -> impl Iterator<Item = &Anchor> {
    let last = course.anchors.len().saturating_sub(1);
    let tells = |anchor: &Anchor| anchor.is_gradual() || anchor.is_contradiction();
    course.anchors.iter().enumerate().filter(move |(index, anchor)| *index == last || tells(anchor)).map(|(_, one)| one)
}

/// Formats the shown comparisons as plain text.
pub fn anchors(course: &Course) -> impl Iterator<Item = String> {
    shown_anchors(course).map(|anchor| format::without_escapes(&anchor_text(anchor).to_string()))
}

/// Formats a direct comparison for the terminal.
pub fn anchor_text(anchor: &Anchor) -> Text {
    let (word, style) = match anchor.verdict {
        Verdict::Slower => (" slower", BAD),
        Verdict::Faster => (" faster", GOOD),
        Verdict::Inconclusive => (" inconclusive", WARN),
        Verdict::ChangedBelowThreshold | Verdict::Same | Verdict::NotMeasured => ("", PLAIN),
    };
    let change = format::percent(anchor.direct.estimate);
    let text = Text::new(style, format!("{change}{word}"))
        .with(DIM, format!(" {}", interval(anchor.direct)))
        .and(format!(" since {}, compared directly", name(&anchor.since)));
    let product = format::with_interval(anchor.product);
    if anchor.is_contradiction() {
        return text.with(WARN, format!("; the steps give {product} and contradict it"));
    }
    if anchor.is_gradual() {
        let which = variant_name(anchor.verdict);
        let looked_at = if anchor.is_complete { "no single commit" } else { "none of the commits that were measured" };
        return text.and(format!("; {looked_at} made it {which}"));
    }
    if anchor.is_complete && anchor.differs() {
        return text.and(format!("; the steps give {product}, with other code of the test"));
    }
    if anchor.differs() {
        return text.and(format!("; the steps that were measured give {product}, and others lie between"));
    }
    text
}

/// All changes of tests in a history.
pub struct Moves<'a> {
    history: &'a History,
    /// Indices of entries, the oldest first.
    by_test: HashMap<&'a TestId, Vec<(usize, &'a StepTest)>>,
}

/// A commit that changed a test's time.
#[derive(Clone, Copy)]
pub struct Move<'a> {
    pub commit: &'a Commit,
    pub found: &'a StepTest,
}

impl Move<'_> {
    pub fn estimate(self) -> f64 {
        self.found.figures.map_or(0.0, |figures| figures.change.estimate)
    }

    /// Returns the size of a change, for sorting.
    pub fn size(self) -> f64 {
        self.estimate().max(-0.999_999).ln_1p().abs()
    }
}

impl<'a> Moves<'a> {
    pub fn of(history: &'a History) -> Self {
        let mut by_test: HashMap<&TestId, Vec<(usize, &StepTest)>> = HashMap::new();
        for (index, entry) in history.entries.iter().enumerate() {
            if let StepOutcome::Compared(step) = &entry.outcome {
                step.changed_tests().for_each(|found| by_test.entry(&found.test).or_default().push((index, found)));
            }
        }
        Self { history, by_test }
    }

    /// Returns the changes of one test, the oldest first.
    pub fn test(&self, test: &TestId) -> Vec<Move<'a>> {
        let entries = &self.history.entries;
        let found = self.by_test.get(test).into_iter().flatten();
        found.map(|(index, found)| Move { commit: &entries[*index].commit, found }).collect()
    }

    /// Returns the `most` largest changes of one test, the oldest first, and the number of the others.
    pub fn largest(&self, test: &TestId, most: usize) -> (Vec<Move<'a>>, usize) {
        let all = self.test(test);
        let mut by_size: Vec<usize> = (0..all.len()).collect();
        by_size.sort_by(|one, two| all[*two].size().total_cmp(&all[*one].size()));
        by_size.truncate(most);
        by_size.sort_unstable();
        let left_out = all.len() - by_size.len();
        (by_size.into_iter().map(|index| all[index]).collect(), left_out)
    }
}

/// Maximum number of columns.
const WIDEST: usize = 40;
const LEVELS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
const ASCII: [char; 8] = ['_', '.', ':', '-', '=', '+', '*', '#'];

/// Returns a column for each commit, or for several if there are many. Higher is slower; `?` marks unknown values.
pub fn sparkline(points: &[Point], glyphs: Glyphs) -> String {
    let levels = if glyphs == Glyphs::Unicode { LEVELS } else { ASCII };
    let log = |point: &Point| point.ratio.max(f64::MIN_POSITIVE).ln();
    let low = points.iter().map(log).fold(0.0, f64::min);
    let high = points.iter().map(log).fold(0.0, f64::max);
    let level = |point: &Point| {
        let part = if high > low { (log(point) - low) / (high - low) } else { 0.0 };
        levels[(part * (LEVELS.len() - 1) as f64).round() as usize]
    };
    let each = points.len().div_ceil(WIDEST).max(1);
    points
        .chunks(each)
        .filter_map(<[Point]>::last)
        .map(|point| if point.is_known { level(point) } else { '?' })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(ratios: &[f64]) -> Vec<Point> {
        ratios.iter().map(|ratio| Point { ratio: *ratio, ..Point::START }).collect()
    }

    #[test]
    fn slower_is_higher_and_the_first_level_is_that_before_the_first_commit() {
        assert_eq!(sparkline(&points(&[1.0, 1.1, 1.21, 1.0]), Glyphs::Unicode), "▁▅█▁");
        assert_eq!(sparkline(&points(&[1.0, 1.1, 1.21, 1.0]), Glyphs::Ascii), "_=#_");
        assert_eq!(sparkline(&points(&[1.0, 0.5]), Glyphs::Unicode), "█▁");
        assert_eq!(sparkline(&points(&[1.0, 1.0]), Glyphs::Unicode), "▁▁");
        assert_eq!(sparkline(&[Point { is_known: false, ..Point::START }], Glyphs::Unicode), "?");
    }

    #[test]
    fn many_commits_share_columns() {
        let line = sparkline(&points(&[1.0; 1000]), Glyphs::Unicode);
        assert_eq!(line.chars().count(), WIDEST);
    }
}
