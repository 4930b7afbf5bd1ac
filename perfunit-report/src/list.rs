//! `cargo perfunit list`: tests that can have changed with their reasons, grouped by target like `cargo nextest list`.

use super::counts;
use super::figures::Detail;
use super::generate::Without;
use super::json;
use super::sections::unmeasured_targets;
use super::terminal::{DIM, GOOD, INDENT, STRONG, Screen, TARGET, Text, test_name};
use super::text::{coverage, heading, write_unreached};
use super::wire::{self, SCHEMA_VERSION, pretty};
use perfunit_model::format::{Glyphs, count, one_line};
use perfunit_model::{
    Capture, ListSeconds, Listed, Listing, ReachedBy, Reason, SelectedBecause, Selection, Sides, TargetId, VersionName,
    Why, variant_name,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Indent of a test below its target.
const TEST: usize = 4;
/// Indent of lines below a test.
const BELOW: usize = 8;
/// Reasons go below the names if fewer columns than this remain.
const NARROWEST_REASON: usize = 32;

/// Options of the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListOptions<'a> {
    /// List all tests with their capture method, not only the selected ones.
    pub all: bool,
    /// Explain every test with a name that contains this: the call path to the change, or the stage that dropped the
    /// test.
    pub why: Option<&'a str>,
    /// Show the effect of each change if nothing was selected.
    pub explain_none: bool,
    /// Columns; 0 for no limit, such as when the output is not a terminal.
    pub width: usize,
    pub glyphs: Glyphs,
}

/// Returns the list with ANSI colors, one trailing newline.
pub fn text(listing: &Listing, options: &ListOptions<'_>) -> String {
    let mut screen = Screen::new(options.width, options.glyphs);
    heading(&listing.base, &listing.head, &mut screen);
    let shown = listing.tests.iter().filter(|listed| match options.why {
        Some(part) => listed.test.name.contains(part),
        None => options.all || listed.selected_because.is_some(),
    });
    let lines: Vec<(&TargetId, Line)> = shown.map(|listed| (&listed.test.target, Line::of(listed, options))).collect();
    let longest = lines.iter().map(|(_, line)| line.head.width()).max().unwrap_or(0);
    for target in targets(&lines) {
        screen.blank();
        screen.line(&Text::new(TARGET, target.to_string()).and(":"));
        for (_, line) in lines.iter().filter(|(owner, _)| *owner == target) {
            line.write(longest, &mut screen);
        }
    }
    screen.blank();
    if options.explain_none && !listing.tests.iter().any(|listed| listed.selected_because.is_some()) {
        effects(&listing.selection, &mut screen);
    }
    let detail = if options.why.is_some() || options.explain_none { Detail::Full } else { Detail::Brief };
    coverage(&listing.selection, detail, &mut screen);
    write_unreached(&listing.without, &mut screen);
    for line in unmeasured_targets(&listing.selection.unmeasured_targets, detail == Detail::Full) {
        screen.status("Not measured", STRONG, &Text::plain(line));
    }
    screen.status("Summary", GOOD, &summary(listing));
    screen.finish()
}

/// Returns the JSON document of all tests, selected or not, with a trailing newline.
pub fn json(listing: &Listing) -> String {
    pretty(&ListDocument::from(listing))
}

/// Writes the effect of each change.
fn effects(selection: &Selection, screen: &mut Screen) {
    let mut lines = selection.effects.iter().map(|effect| Text::plain(one_line(&effect.to_string())));
    if let Some(first) = lines.next() {
        screen.status("Changes", GOOD, &first);
    }
    for line in lines {
        screen.below(INDENT, &line);
    }
}

/// Returns the targets in order of first appearance.
fn targets<'a>(lines: &[(&'a TargetId, Line)]) -> Vec<&'a TargetId> {
    let mut targets: Vec<&TargetId> = Vec::new();
    for (target, _) in lines {
        if !targets.contains(target) {
            targets.push(target);
        }
    }
    targets
}

/// A test: name and capture method on the left, remarks on the right.
struct Line {
    head: Text,
    why: Text,
    below: Vec<Text>,
}

impl Line {
    fn of(listed: &Listed, options: &ListOptions<'_>) -> Self {
        let name = test_name(&listed.test.name);
        let head = if options.all { Text::new(DIM, capture_column(listed.capture)).join(name) } else { name };
        let because = listed.selected_because.as_ref().map(|because| one_line(&because.to_string()));
        let obstacle = listed.reason.as_ref().map(|reason| one_line(&reason.to_string()));
        let why = match (because, obstacle) {
            (Some(because), Some(obstacle)) => Text::plain(because).with(DIM, format!("  [{obstacle}]")),
            (Some(because), None) => Text::plain(because),
            (None, Some(obstacle)) => Text::new(DIM, format!("[{obstacle}]")),
            (None, None) => Text::new(DIM, "cannot have changed"),
        };
        let below = listed.why.as_ref().filter(|_| options.why.is_some()).map(explanation).unwrap_or_default();
        Self { head, why, below }
    }

    fn write(&self, longest: usize, screen: &mut Screen) {
        let column = TEST + longest + 2;
        let start = Text::default().pad(TEST).join(self.head.clone());
        if screen.width() > 0 && screen.width() < column + NARROWEST_REASON {
            screen.line(&start);
            screen.below(BELOW, &self.why);
        } else {
            self.beside(start, column, screen);
        }
        for line in &self.below {
            screen.below(BELOW, line);
        }
    }

    fn beside(&self, start: Text, column: usize, screen: &mut Screen) {
        let mut lines = self.why.wrap(screen.room(column)).into_iter();
        let gap = column - start.width();
        screen.line(&start.pad(gap).join(lines.next().unwrap_or_default()));
        for line in lines {
            screen.line(&Text::default().pad(column).join(line));
        }
    }
}

/// Returns the call path to the nearest change, then all changed functions.
fn explanation(why: &Why) -> Vec<Text> {
    let mut lines = Vec::new();
    let path: Vec<String> = why.path.iter().map(|name| one_line(name)).collect();
    if path.len() > 1 {
        lines.push(Text::new(DIM, "path     ").and(path.join(" > ")));
    }
    for function in &why.changed {
        let name = Text::new(DIM, "changed  ").and(one_line(&function.name));
        lines.push(match &function.data {
            Some(data) => name.and(format!(" (through data that it uses: {})", one_line(data))),
            None => name,
        });
    }
    lines.extend(why.others.iter().map(|input| Text::new(DIM, "changed  ").and(input.to_string())));
    lines
}

/// Returns the capture method as a column.
fn capture_column(capture: Option<Capture>) -> String {
    let word = capture.map_or_else(|| "-".to_owned(), variant_name);
    format!("{word:<9}")
}

fn summary(listing: &Listing) -> Text {
    let Selection { found, targets, nothing_because, reachable, executed, .. } = &listing.selection;
    let selected = listing.tests.iter().filter(|listed| listed.selected_because.is_some());
    // Generated calls are not among the found tests.
    let (calls, selected): (Vec<_>, Vec<_>) = selected.partition(|listed| listed.capture == Some(Capture::Generated));
    let (calls, selected) = (calls.len(), selected.len());
    let called = count(calls, "generated call");
    // Targets that cannot have changed may not have been built, so their tests were not counted.
    let subject = if *found > 0 { format!("{selected} of {}", count(*found, "test")) } else { "no test".to_owned() };
    let is_requested = |listed: &Listed| listed.selected_because == Some(SelectedBecause::Target(ReachedBy::Request));
    let are_requested = listing.tests.iter().any(is_requested);
    let text = Text::new(STRONG, subject).and(if are_requested { " were requested" } else { " can have changed" });
    match nothing_because {
        Some(because) if selected == 0 => {
            let text = text.and(format!(": {because}"));
            return if calls > 0 { text.and(format!("; {called} can")) } else { text };
        }
        // The chosen packages or the filters leave no target.
        None if *found == 0 && calls == 0 => return Text::new(STRONG, "no test was found"),
        _ => {}
    }
    let text = if calls > 0 { text.and(format!(", and {called}")) } else { text };
    if *targets == 0 {
        return text;
    }
    let text = text.and(format!(",{}", counts::in_targets(&listing.selection)));
    let data = counts::only_data_changed(listing.tests.iter().filter_map(|listed| listed.reason.as_ref()));
    let text = data.map_or(text.clone(), |(tests, differ)| text.and(format!("; {tests} {differ}")));
    let elsewhere = listing.tests.iter().filter(|listed| is_of_other_shard(listed)).count();
    let text = if elsewhere > 0 { text.and(format!("; {elsewhere} more in other shards")) } else { text };
    let filtered = listing.tests.iter().filter(|listed| listed.reason == Some(Reason::Filtered)).count();
    let text = if filtered > 0 { text.and(format!("; {filtered} excluded by the filter")) } else { text };
    match reachable.saturating_sub(*executed) {
        0 => text,
        1 => text.and("; 1 more can reach the change but does not execute it"),
        idle => text.and(format!("; {idle} more can reach the change but do not execute it")),
    }
}

fn is_of_other_shard(listed: &Listed) -> bool {
    matches!(listed.reason, Some(Reason::OtherShard { .. }))
}

/// The JSON document of `list`, described in `docs/json.md`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ListDocument {
    /// Version of the format.
    pub schema_version: u32,
    /// The version compared against.
    pub base: VersionName,
    /// The version under test.
    pub head: VersionName,
    /// The result of selection.
    pub selection: json::Selection,
    /// All tests found.
    pub tests: Vec<ListedTest>,
    /// Changed functions without a test or a generated call, if generated calls were requested.
    #[serde(default)]
    pub without: Vec<Without>,
    /// Directories of both versions' executables, if any were built.
    pub kept: Option<Sides<PathBuf>>,
    /// Wall time of the stages.
    pub seconds: ListSeconds,
}

/// One test found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ListedTest {
    /// The test.
    #[serde(flatten)]
    pub test: wire::Test,
    /// True if the test can have changed.
    pub selected: bool,
    /// The reason in words.
    pub selected_because: Option<String>,
    /// True if a call graph by names leads from the test to a changed item.
    pub by_name: bool,
    /// Capture method: `macro`, `runner`, `process`, `bench` or `generated`.
    pub capture: Option<Capture>,
    /// Differences of the test's machine code, if compared.
    pub why: Option<Why>,
    /// The reason if the test was dropped or cannot be measured.
    pub reason: Option<wire::Reason>,
}

impl From<&Listing> for ListDocument {
    fn from(listing: &Listing) -> Self {
        Self {
            schema_version: SCHEMA_VERSION,
            base: listing.base.clone(),
            head: listing.head.clone(),
            selection: json::Selection::from(&listing.selection),
            tests: listing.tests.iter().map(ListedTest::from).collect(),
            without: listing.without.iter().map(Without::from).collect(),
            kept: listing.kept.clone(),
            seconds: listing.seconds,
        }
    }
}

impl From<&Listed> for ListedTest {
    fn from(listed: &Listed) -> Self {
        Self {
            test: wire::Test::from(&listed.test),
            selected: listed.selected_because.is_some(),
            selected_because: listed.selected_because.as_ref().map(ToString::to_string),
            by_name: listed.by_name,
            capture: listed.capture,
            why: listed.why.clone(),
            reason: listed.reason.as_ref().map(wire::Reason::from),
        }
    }
}

#[cfg(test)]
mod tests;
