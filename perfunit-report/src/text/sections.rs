//! Sections of a report and its last lines in the terminal.

use crate::counts::{self, Excluded, Unmeasured, is_no_shortcoming};
use crate::figures::{Detail, Words, row, status};
use crate::ratchet::{accepted_of, found};
use crate::sections::{Item, Kind, Section, Sections, place, unmeasured_targets};
use crate::terminal::{BAD, DIM, GOOD, INDENT, Layout, Row, STRONG, Screen, Text, WARN, test_id};
use crate::{causes, caveats, sections};
use perfunit_model::format::{self, Glyphs, count, one_line};
use perfunit_model::{
    Conclusion, Denied, Function, GeneratedCalls, Generation, Outcome, Part, Run, Selection, Sharding, Stages, Verdict,
    WithoutWorkload,
};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// Items shown per section without `--verbose`.
const SHOWN: usize = 10;
/// Functions and reasons shown in the growth section.
const GROWING: usize = 5;
/// Tests named per reason.
const NAMES: usize = 3;

/// Writes a section, or a line that the result is empty if the reader expects an answer.
pub fn write(kind: Kind, run: &Run, sections: &Sections<'_>, detail: Detail, screen: &mut Screen) {
    match (kind, sections.get(kind)) {
        (Kind::Growth, _) => growth(run, sections, detail, screen),
        (Kind::Generated, _) => write_generated(run, detail, screen),
        (Kind::Failing, Some(section)) => failing(section, detail, screen),
        (Kind::Programs, Some(section)) => programs(section.items.iter(), screen),
        (Kind::Functions, Some(section)) => means(section, screen),
        (Kind::Uncovered, Some(section)) => functions(section, sections.get(Kind::NotCompiled), detail, screen),
        (Kind::NotCompiled, Some(section)) => functions(section, sections.get(Kind::Uncovered), detail, screen),
        (Kind::Scaling, Some(section)) => {
            for item in &section.items {
                screen.status("Growth", BAD, &Text::new(STRONG, &item.name).and(format!(": {}", item.text)));
            }
        }
        (Kind::Tests(Verdict::NotMeasured), Some(section)) => not_measured(section, run, detail, screen),
        (Kind::Caveats, Some(section)) => {
            for item in &section.items {
                screen.status(&item.name, WARN, &Text::plain(&item.text));
            }
        }
        (Kind::Ratchet, Some(section)) => ratchet(section, run, detail, screen),
        (Kind::Undecided, Some(section)) => {
            for item in &section.items {
                screen.status("Undecided", BAD, &Text::plain(&item.text));
            }
        }
        (Kind::ProbablySlower | Kind::Tests(_) | Kind::Accepted | Kind::Within | Kind::GrowthUnknown, Some(_))
        | (_, None) => {}
    }
}

fn failing(section: &Section<'_>, detail: Detail, screen: &mut Screen) {
    screen.status("Failing", BAD, &Text::new(STRONG, &section.headline));
    let shown = detail.limit(SHOWN);
    for (item, test) in section.items.iter().take(shown).filter_map(|item| Some((item, item.test?))) {
        screen.below(INDENT + 2, &test_id(&test.test).with(DIM, format!("  {}", item.text)));
    }
    screen.more(INDENT + 2, section.items.len().saturating_sub(shown));
}

/// Writes a line for each program that many tests start.
fn programs<'a>(items: impl Iterator<Item = &'a Item<'a>>, screen: &mut Screen) {
    for item in items {
        let style = if item.is_bad { BAD } else { DIM };
        screen.status("Program", style, &Text::new(STRONG, &item.name).and(format!(": {}", item.text)));
    }
}

/// Writes the changed functions whose tests changed in the mean.
fn means(section: &Section<'_>, screen: &mut Screen) {
    let style = if section.is_bad { BAD } else { GOOD };
    screen.status("Functions", style, &Text::new(STRONG, &section.headline).and(":"));
    for item in &section.items {
        let text = Text::new(STRONG, &item.name).and(format!(": {}", item.text));
        screen.below(INDENT + 2, &text.with(DIM, format!("  {}", item.place())));
    }
}

/// Writes the changed functions that no test executes, and those that are not compiled.
pub fn coverage(selection: &Selection, detail: Detail, screen: &mut Screen) {
    let [uncovered, not_compiled] = &sections::of_coverage(selection);
    for (section, other) in [(uncovered, not_compiled), (not_compiled, uncovered)] {
        if let Some(section) = section {
            functions(section, other.as_ref(), detail, screen);
        }
    }
}

/// Writes a section of functions; the `other` section may have functions with the same names.
fn functions(section: &Section<'_>, other: Option<&Section<'_>>, detail: Detail, screen: &mut Screen) {
    let status = if section.kind == Kind::Uncovered { "Uncovered" } else { "Not compiled" };
    let text = Text::new(STRONG, &section.headline).and(":");
    if detail == Detail::Full {
        screen.status(status, WARN, &text);
        for item in &section.items {
            let why = if item.text.is_empty() { String::new() } else { format!(", {}", item.text) };
            screen.below(INDENT + 2, &Text::plain(&item.name).with(DIM, format!("  {}{why}", item.place())));
        }
        return;
    }
    // A function can occur once for each platform or feature.
    let is_in_both = |name: &str| other.is_some_and(|other| other.names().any(|known| known == name));
    let name = |item: &Item<'_>| {
        if is_in_both(&item.name) { format!("{} ({})", item.name, item.place()) } else { item.name.clone() }
    };
    let mut names: Vec<String> = section.items.iter().map(name).collect();
    names.dedup();
    let more = names.len().saturating_sub(SHOWN);
    let more = if more > 0 { format!(", ... and {more} more (-v)") } else { String::new() };
    let names = names[..names.len().min(SHOWN)].join(", ");
    screen.status(status, WARN, &text.and(" ").and(names).with(DIM, more));
}

/// Writes the functions with growing work, or the number of functions with unchanged growth, then the unknown ones.
fn growth(run: &Run, sections: &Sections<'_>, detail: Detail, screen: &mut Screen) {
    let Some(growth) = &run.growth else { return };
    match sections.headline(Kind::Growth) {
        Some(headline) => screen.status("Growth", BAD, &Text::new(STRONG, headline).and(":")),
        None if !growth.compared.is_empty() => {
            let functions = count(growth.compared.len(), "function");
            screen.status("Growth", DIM, &Text::plain(format!("work grows as before in {functions}")));
        }
        None if growth.has_only_narrow_lengths() => {
            screen.status("Growth", WARN, &Text::plain("no function was called with lengths over four octaves"));
        }
        None => screen.status("Growth", WARN, &Text::plain("whether work grows as before is known of no function")),
    }
    let shown = detail.limit(GROWING);
    let (growing, unknown) = (sections.items(Kind::Growth), sections.items(Kind::GrowthUnknown));
    for item in growing.iter().take(shown) {
        let text = Text::new(STRONG, &item.name).and(format!(": {}", item.text));
        screen.below(INDENT + 2, &text.with(DIM, format!("  {}", item.place())));
    }
    for item in unknown.iter().take(shown) {
        screen.below(INDENT + 2, &Text::plain("not known: ").with(DIM, one_line(&item.text)));
    }
    screen.more(INDENT + 2, growing.len().saturating_sub(shown) + unknown.len().saturating_sub(shown));
}

/// Writes the unmeasured tests by reason, then the targets that are never measured.
fn not_measured(section: &Section<'_>, run: &Run, detail: Detail, screen: &mut Screen) {
    let mut is_first = true;
    let mut heading = |text: &Text, screen: &mut Screen| {
        if std::mem::take(&mut is_first) {
            screen.status("Not measured", STRONG, text);
        } else {
            screen.below(INDENT, text);
        }
    };
    for group in &section.reasons {
        // Skips tests that are only counted, and failing tests, which have their own section.
        let is_listed = |test: &Outcome| !is_no_shortcoming(test) && !sections::is_failing(test);
        let tests = group.items.iter().filter_map(|item| Some((item.test.filter(|test| is_listed(test))?, &item.text)));
        let tests: Vec<_> = tests.collect();
        if tests.is_empty() {
            continue;
        }
        let text = Text::new(STRONG, count(tests.len(), "test")).and(": ").and(&group.reason);
        heading(&text, screen);
        let shown = if detail == Detail::Full { tests.len() } else { tests.len().min(NAMES) };
        let more = tests.len() - shown;
        let tests = &tests[..shown];
        if !group.is_shared && (detail == Detail::Full || group.is_worth_a_line()) {
            for (test, particulars) in tests {
                screen.below(INDENT + 2, &test_id(&test.test).with(DIM, format!("  {particulars}")));
            }
            screen.more(INDENT + 2, more);
        } else {
            let names = tests.iter().map(|(test, _)| test_id(&test.test));
            let list = names.reduce(|list, name| list.and(", ").join(name)).unwrap_or_default();
            let more = if more > 0 { format!(", ... and {more} more (-v)") } else { String::new() };
            screen.below(INDENT + 2, &list.with(DIM, more));
        }
    }
    for line in unmeasured_targets(&run.selection.unmeasured_targets, detail == Detail::Full) {
        heading(&Text::plain(line), screen);
    }
}

/// Writes the losses against the ratchet's version, and those that were accepted.
fn ratchet(section: &Section<'_>, run: &Run, detail: Detail, screen: &mut Screen) {
    let Some(ratchet) = &run.ratchet else { return };
    let Some(second) = ratchet.run() else { return };
    if section.items.is_empty() && detail == Detail::Brief {
        return;
    }
    let is_loss = |outcome: &Outcome| second.is_slower(outcome);
    let (lost, accepted): (Vec<_>, Vec<_>) =
        section.items.iter().filter_map(|item| Some((item.test?, &item.text))).partition(|(test, _)| is_loss(test));
    screen.bar();
    let since = Text::plain("since ").with(STRONG, one_line(&ratchet.version.label));
    let since = match ratchet.version.commit_beside_label() {
        Some(commit) => since.and(format!(" ({commit}): ")),
        None => since.and(": "),
    };
    screen.status("Ratchet", GOOD, &since.join(count_verdicts(second, screen.glyphs())));
    let shown = detail.limit(SHOWN);
    let others = second.outcomes.iter().filter(|outcome| {
        detail == Detail::Full && outcome.measured.is_some() && !lost.iter().any(|(lost, _)| lost.test == outcome.test)
    });
    let rows: Vec<Row> = lost
        .iter()
        .map(|(test, _)| *test)
        .take(shown)
        .chain(others)
        .map(|test| {
            let beyond = || accepted_of(test).map(|accepted| format!("beyond {accepted}"));
            with_remark(row(test, second, detail, screen.glyphs()), beyond)
        })
        .collect();
    write_rows(&rows, screen);
    screen.more(INDENT, lost.len().saturating_sub(shown));
    programs(section.items.iter().filter(|item| item.test.is_none()), screen);
    for (test, acceptance) in accepted.iter().take(shown) {
        screen.status("Accepted", GOOD, &test_id(&test.test).and(format!("  {acceptance}")));
    }
    screen.more(INDENT, accepted.len().saturating_sub(shown));
    if detail == Detail::Full {
        let of_second = Sections::of(second, Denied::default());
        write(Kind::Tests(Verdict::NotMeasured), second, &of_second, detail, screen);
    }
    for (word, text) in caveats::further(second, run) {
        screen.status(word, WARN, &Text::plain(text));
    }
}

/// Writes the generated calls, and the functions without a call.
fn write_generated(run: &Run, detail: Detail, screen: &mut Screen) {
    let Some(generated) = &run.generated else { return };
    let Generation { workloads, without } = &generated.generation;
    if workloads.is_empty() && without.is_empty() {
        return;
    }
    screen.bar();
    if let Some(compared) = generated.run() {
        let reached: BTreeSet<&Function> = workloads.iter().map(|workload| &workload.call.function).collect();
        let functions = count(reached.len(), "function");
        let made =
            Text::new(STRONG, count(workloads.len(), "call")).and(format!(" for {functions} that no test executes: "));
        screen.status("Generated", GOOD, &made.join(count_verdicts(compared, screen.glyphs())));
        let measured = compared.outcomes.iter().filter(|outcome| outcome.measured.is_some());
        let rows: Vec<Row> = measured.map(|outcome| call_row(generated, compared, outcome, detail, screen)).collect();
        write_rows(&rows, screen);
        let sections = Sections::of(compared, Denied::default());
        write(Kind::Tests(Verdict::NotMeasured), compared, &sections, Detail::Full, screen);
        write(Kind::Caveats, compared, &sections, detail, screen);
    }
    write_unreached(without, screen);
}

fn call_row(generated: &GeneratedCalls, compared: &Run, outcome: &Outcome, detail: Detail, screen: &Screen) -> Row {
    let workload = generated.generation.workload(&outcome.test);
    let calls = || workload.map(|workload| format!("calls {}", workload.call.function.name));
    with_remark(row(outcome, compared, detail, screen.glyphs()), calls)
}

/// Adds a remark to a row without one.
fn with_remark(row: Row, remark: impl FnOnce() -> Option<String>) -> Row {
    Row { remark: row.remark.or_else(remark), ..row }
}

fn write_rows(rows: &[Row], screen: &mut Screen) {
    let layout = Layout::of(rows.iter(), screen.width());
    for row in rows {
        layout.write(row, screen);
    }
}

/// Writes the functions without a generated call.
pub fn write_unreached(without: &[WithoutWorkload], screen: &mut Screen) {
    for WithoutWorkload { function, because } in without {
        let why = format!("  {}, {because}", place(function));
        screen.status("No call", WARN, &Text::plain(one_line(&function.name)).with(DIM, why));
    }
}

/// Writes which share of the tests was measured here, or which machines measured the shares; nothing for a run in one
/// piece.
pub fn shards(run: &Run, screen: &mut Screen) {
    let Some(sharding) = &run.sharding else { return };
    match (sharding.single(), &sharding.parts[..]) {
        (Some(partition), [part]) if sharding.shards > 1 => {
            let all = count(sharding.candidates.len(), "test");
            let text = Text::new(STRONG, partition.to_string())
                .and(format!(": {} of {all}; `cargo perfunit merge` joins the shards", part.tests));
            screen.status("Shard", GOOD, &text);
        }
        _ => write_sharding(sharding, screen),
    }
}

fn write_sharding(sharding: &Sharding, screen: &mut Screen) {
    let tests = count(sharding.candidates.len(), "test");
    let text = Text::new(STRONG, count(sharding.parts.len(), "shard")).and(format!(" by {}, {tests}", sharding.kind));
    screen.status("Merged", GOOD, &text);
    let machines = machines(sharding);
    if machines.len() > 1 {
        for (machine, parts) in machines {
            let numbers: Vec<String> = parts.iter().map(|part| part.shard.to_string()).collect();
            let shards = if numbers.len() == 1 { "shard" } else { "shards" };
            let tests = count(parts.iter().map(|part| part.tests).sum(), "test");
            screen.below(INDENT, &Text::plain(format!("{shards} {}: {machine}, {tests}", numbers.join(", "))));
        }
    }
}

/// Returns the shards by the machine that measured them.
fn machines(sharding: &Sharding) -> BTreeMap<String, Vec<&Part>> {
    let mut machines: BTreeMap<String, Vec<&Part>> = BTreeMap::new();
    for part in &sharding.parts {
        let machine = one_line(&format!("{} ({})", part.environment.cpu, part.environment.host));
        machines.entry(machine).or_default().push(part);
    }
    machines
}

/// Returns these sections of a run, without colors.
#[cfg(test)]
pub fn plain_text(run: &Run, kinds: &[Kind], detail: Detail) -> String {
    use perfunit_model::format::{Glyphs, without_escapes};
    let mut screen = Screen::new(0, Glyphs::Ascii);
    let sections = Sections::of(run, Denied::default());
    for kind in kinds {
        write(*kind, run, &sections, detail, &mut screen);
    }
    without_escapes(&screen.finish())
}

/// Writes the line of counts.
pub fn summary(run: &Run, conclusion: Conclusion, screen: &mut Screen) {
    let text = count_verdicts(run, screen.glyphs());
    let style = match conclusion {
        Conclusion::Passed if run.inconclusive().next().is_none() => GOOD,
        Conclusion::Passed | Conclusion::Interrupted => WARN,
        _ => BAD,
    };
    let responsible = causes::responsible(run, screen.glyphs()).map(|names| format!("; responsible: {names}"));
    let programs = run.slower_programs().count();
    let programs = (programs > 0).then(|| format!("; {} slower", count(programs, "program")));
    let text = text.with(BAD, programs.unwrap_or_default()).and(responsible.unwrap_or_default());
    let text =
        stages(&run.stages).into_iter().fold(text, |text, stages| text.and("  ").with(DIM, format!("[{stages}]")));
    if let Some(excluded) = Excluded::describe_beyond_verdicts(run) {
        screen.status("Bound", GOOD, &Text::plain(excluded));
    }
    screen.status("Summary", style, &text);
}

/// Formats the counts of tests by verdict.
pub fn count_verdicts(run: &Run, glyphs: Glyphs) -> Text {
    if counts::nothing_because(run).is_some() {
        return Text::plain("nothing to measure");
    }
    let words = Words::of(&run.all_gates());
    // Unchanged tests are not highlighted, although their status word is.
    let style = |verdict| if verdict == Verdict::Same { STRONG } else { status(verdict, words).1 };
    let verdicts = counts::by_verdict(run, glyphs).into_iter().map(|(verdict, text)| Text::new(style(verdict), text));
    let others = Unmeasured::of(run).others().map(|(tests, label)| Text::plain(format!("{tests} {label}")));
    let counted: Vec<Text> = verdicts.chain(others).collect();
    if counted.is_empty() {
        return Text::plain("nothing to measure");
    }
    let unaffected = if counts::count_measured(run) > 0 { Vec::new() } else { counts::unaffected(run) };
    let unaffected = unaffected.into_iter().map(|(tests, predicate)| Text::plain(format!("{tests} {predicate}")));
    unaffected.chain(counted).reduce(|all, text| all.and(", ").join(text)).unwrap_or_default()
}

/// Returns the stages that took time, with their times.
pub fn stages(stages: &Stages) -> Option<String> {
    let Stages { prepare, build, select, measure, explain } = *stages;
    let named =
        [("prepare", prepare), ("build", build), ("select", select), ("measure", measure), ("explain", explain)];
    let none = format::seconds(Duration::ZERO);
    let taken = named.map(|(name, time)| (name, format::seconds(time))).into_iter().filter(|(_, time)| *time != none);
    let texts: Vec<String> = taken.map(|(name, time)| format!("{name} {time}")).collect();
    (!texts.is_empty()).then(|| texts.join(", "))
}

/// Writes the results of the further comparisons, below the line.
pub fn further(run: &Run, all: &Sections<'_>, screen: &mut Screen) {
    if let Some(ratchet) = all.get(Kind::Ratchet) {
        let style = match () {
            () if found(run).is_some() => BAD,
            () if ratchet.is_bad => WARN,
            () => GOOD,
        };
        screen.status("Ratchet", style, &Text::plain(&ratchet.headline));
    }
    if let Some(generated) = all.get(Kind::Generated) {
        let style = if generated.is_bad { BAD } else { GOOD };
        screen.status("Generated", style, &Text::plain(&generated.headline));
    }
}

#[cfg(test)]
mod tests;
