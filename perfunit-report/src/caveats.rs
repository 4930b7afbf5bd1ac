//! What a reader must know before trusting the figures; nothing where nothing applies.

use super::screen::Screen;
use super::style::{Text, WARN};
use perfunit_model::format::{count, one_line, threshold};
use perfunit_model::{NoLayout, NothingBecause, Reason, Run, Verdict, Warning};
use std::collections::BTreeMap;
use std::mem::discriminant;

pub fn measured(run: &Run) -> usize {
    run.outcomes.len() - run.count(Verdict::NotMeasured)
}

/// Why there are no figures, if selection is the reason.
pub fn nothing_because(run: &Run) -> Option<NothingBecause> {
    run.selection.nothing_because.filter(|_| measured(run) == 0)
}

/// How many of the measured tests could not have shown the change that was asked for, if any.
pub fn insensitive(run: &Run) -> Option<String> {
    let asked: Vec<f64> = run.insensitive().map(|measured| measured.asked.margin()).collect();
    let first = *asked.first()?;
    let all = count(measured(run), "test");
    let change = if asked.iter().all(|each| each.to_bits() == first.to_bits()) {
        format!("a change of {}", threshold(first))
    } else {
        "a change of its threshold".to_owned()
    };
    Some(format!("{} of {all} could not have detected {change}", asked.len()))
}

/// All that apply, gravest first, each with the word in front of it.
pub fn all(run: &Run) -> Vec<(&'static str, String)> {
    let interrupted = run.interrupted.then(|| ("Interrupted", interrupted(run)));
    let notes = notes(run).into_iter().map(|note| ("Note", note));
    let warnings = counted(&run.warnings).into_iter().map(|(warning, times)| {
        let again = if times > 1 { format!(" ({times} times)") } else { String::new() };
        ("Warning", warning + &again)
    });
    interrupted.into_iter().chain(notes).chain(warnings).collect()
}

pub fn write(run: &Run, screen: &mut Screen) {
    show(all(run), screen);
}

/// Those of a run's second comparison that the run itself does not have; what the machine did is said once.
pub fn write_further(second: &Run, run: &Run, screen: &mut Screen) {
    let kind = |warning: &Warning| match warning {
        Warning::Machine(machine) => Some(discriminant(machine)),
        _ => None,
    };
    let known: Vec<_> = run.warnings.iter().filter_map(kind).collect();
    let is_new = |warning: &&Warning| kind(warning).is_none_or(|kind| !known.contains(&kind));
    let second = Run { warnings: second.warnings.iter().filter(is_new).cloned().collect(), ..second.clone() };
    let said = all(run);
    show(all(&second).into_iter().filter(|one| !said.contains(one)).collect(), screen);
}

fn show(caveats: Vec<(&'static str, String)>, screen: &mut Screen) {
    for (word, text) in caveats {
        screen.status(word, WARN, &Text::plain(text));
    }
}

/// How far an interrupted run came.
fn interrupted(run: &Run) -> String {
    let done = measured(run);
    let left = run.outcomes.iter().filter(|outcome| outcome.reason == Some(Reason::Interrupted));
    // A test stopped halfway has figures and the reason at once; it counts as measured.
    let planned = done + left.filter(|outcome| outcome.verdict == Verdict::NotMeasured).count();
    format!("stopped by Ctrl-C: {done} of {} measured", count(planned, "test"))
}

/// What the figures cannot say by themselves, if anything.
pub fn notes(run: &Run) -> Vec<String> {
    let mut notes = Vec::new();
    if measured(run) == 0 {
        return notes;
    }
    let uncontrolled =
        run.environment.layouts.iter().filter_map(|(target, state)| Some((target, state.as_ref().err()?)));
    let mut reasons: BTreeMap<&NoLayout, Vec<String>> = BTreeMap::new();
    for (target, why) in uncontrolled {
        reasons.entry(why).or_default().push(target.to_string());
    }
    for (why, targets) in &reasons {
        let targets = targets.join(", ");
        notes.push(format!("code layout not controlled in {targets}: {}", one_line(&why.to_string())));
    }
    if !reasons.is_empty() {
        notes.extend(within_reach_of_layout(run));
    }
    notes.extend(unknown_gates(run));
    if !run.environment.paired_address_space {
        let layouts = &run.environment.layouts;
        let fixed = layouts.values().filter(|state| state.as_ref().is_ok_and(|layout| layout.fixed_addresses)).count();
        notes.push(random_addresses(fixed, layouts.len()).to_owned());
    }
    notes
}

/// What random addresses do where so many of the targets were linked to fixed ones.
fn random_addresses(fixed: usize, targets: usize) -> &'static str {
    match fixed {
        0 => "base and head ran at different random addresses: the same precision takes longer",
        fixed if fixed == targets => {
            "base and head ran with stack, heap and libraries at different random addresses; code and data were linked at fixed addresses"
        }
        _ => {
            "base and head ran at different random addresses; only some targets had code and data linked at fixed addresses"
        }
    }
}

/// What decides and is not known, with how many tests it leaves open.
fn unknown_gates(run: &Run) -> Vec<String> {
    let mut unknown: BTreeMap<(&str, String), usize> = BTreeMap::new();
    for outcome in &run.outcomes {
        if let Some(Reason::MetricUnknown { metric, why }) = &outcome.reason {
            *unknown.entry((metric.name(), why.to_string())).or_default() += 1;
        }
    }
    let note = |((metric, why), tests): ((&str, String), usize)| {
        format!("--metric {metric} is not available for {}: {}", count(tests, "test"), one_line(&why))
    };
    unknown.into_iter().map(note).collect()
}

/// Up to this one layout was seen to fake a change of code that had not changed (docs/method.md).
const LAYOUT_REACHES: f64 = 0.4;

fn within_reach_of_layout(run: &Run) -> Option<String> {
    let flagged = run.outcomes.iter().filter(|outcome| outcome.verdict.is_change());
    let small = flagged.filter_map(|outcome| outcome.measured.as_ref());
    // Over many layouts it would have shown as a wide interval.
    let one_layout = small.filter(|measured| measured.layouts <= 1);
    let small = one_layout.filter(|measured| measured.change.estimate.abs() < LAYOUT_REACHES).count();
    (small > 0).then(|| {
        let reach = threshold(LAYOUT_REACHES);
        format!(
            "{} below {reach} rest{} on one layout: code placement alone can cause such a change",
            count(small, "verdict"),
            if small == 1 { "s" } else { "" }
        )
    })
}

/// Each warning once, in order of first appearance, with how often it came.
fn counted(warnings: &[Warning]) -> Vec<(String, usize)> {
    let mut counted: Vec<(String, usize)> = Vec::new();
    for warning in warnings.iter().map(|warning| one_line(&warning.to_string())) {
        match counted.iter_mut().find(|(known, _)| *known == warning) {
            Some((_, times)) => *times += 1,
            None => counted.push((warning, 1)),
        }
    }
    counted
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TextOptions;
    use crate::json::Document;
    use perfunit_model::format::{Glyphs, without_escapes};
    use perfunit_model::samples::{layout, measured as figures, outcome, run, target, uncontrolled, unmeasured};
    use perfunit_model::{Denied, LayoutMatch, Measured, Metric, NoVerdict};

    #[track_caller]
    fn check(run: &Run, expected: &str) {
        let mut screen = Screen::new(0, Glyphs::Ascii);
        write(run, &mut screen);
        assert_eq!(without_escapes(&screen.finish()), expected);
    }

    #[test]
    fn a_clean_run_has_none() {
        check(&run(vec![outcome("a", Verdict::Same, Some(figures(1e3, 0.0)))]), "");
    }

    #[test]
    fn tests_that_could_not_have_shown_the_change_are_counted() {
        let with = |verdict, threshold, detectable| {
            outcome("a", verdict, Some(Measured { detectable, threshold, ..figures(1e3, 0.0) }))
        };
        // Of those that are the same the interval excludes such a change.
        let sensitive =
            [with(Verdict::Same, 0.1, 0.3), with(Verdict::Slower, 0.2, 0.3), with(Verdict::Inconclusive, 0.1, 0.05)];
        assert_eq!(insensitive(&run(sensitive.to_vec())), None);
        let mut outcomes = sensitive.to_vec();
        outcomes.extend([with(Verdict::Same, 0.2, 0.05), with(Verdict::Inconclusive, 0.1, 0.3)]);
        let mut run = run(outcomes);
        let expected = "2 of 5 tests could not have detected a change of 10 %";
        assert_eq!(insensitive(&run).as_deref(), Some(expected));
        let text = without_escapes(&crate::text::render(&run, &TextOptions::default(), Denied::default()));
        assert!(text.lines().nth(2).is_some_and(|line| line.trim() == format!("Limits  {expected}")), "{text}");
        assert_eq!(Document::from(&run).summary.insensitive, 2);
        // Time does not decide: nobody asked for a change of it.
        run.gates = vec![Metric::Allocations];
        assert_eq!(insensitive(&run), None);
    }

    #[test]
    fn uncontrolled_layout_and_random_addresses_are_said() {
        let mut run = run(vec![outcome("a", Verdict::Same, Some(figures(1e3, 0.0)))]);
        run.environment.layouts = uncontrolled();
        run.environment.paired_address_space = false;
        let expected = "        \
        Note  code layout not controlled in mycrate: the linker ld refuses: no such option
        Note  base and head ran at different random addresses: the same precision takes longer
";
        check(&run, expected);
        run.environment.layouts.insert(target(), Ok(LayoutMatch { fixed_addresses: true, ..layout() }));
        let expected = "        \
        Note  base and head ran with stack, heap and libraries at different random addresses; code and data were linked at fixed addresses
";
        check(&run, expected);
        run.outcomes.clear();
        check(&run, "");
    }

    #[test]
    fn what_decides_and_is_not_known_is_said_once() {
        let mut open = outcome("a", Verdict::Inconclusive, Some(figures(1e3, 0.0)));
        open.reason = Some(Reason::MetricUnknown { metric: Metric::Instructions, why: NoVerdict::NotLookedAt });
        let run = run(vec![open.clone(), open]);
        check(&run, "        Note  --metric instructions is not available for 2 tests: it was not looked at\n");
    }

    #[test]
    fn an_interrupted_run_says_how_far_it_came() {
        let mut half = outcome("a", Verdict::Inconclusive, Some(figures(1e3, 0.0)));
        half.reason = Some(Reason::Interrupted);
        let mut run = run(vec![half, unmeasured("b", Some(Reason::Interrupted)), unmeasured("c", None)]);
        run.interrupted = true;
        check(&run, " Interrupted  stopped by Ctrl-C: 1 of 2 tests measured\n");
    }

    #[test]
    fn repeated_warnings_are_counted() {
        let mut run = run(Vec::new());
        let why = |why: &str| Warning::NothingMoreExplained { why: why.to_owned() };
        run.warnings = ["b", "a\nb", "b"].map(why).to_vec();
        let said = "nothing more is explained:";
        check(&run, &format!("     Warning  {said} b (2 times)\n     Warning  {said} a b\n"));
    }
}
