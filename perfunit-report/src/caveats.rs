//! Caveats: the limits of the figures of a run.

use super::counts::count_measured;
use super::metrics::small_changes_of_calls;
use perfunit_model::format::{count, one_line, threshold};
use perfunit_model::{NoLayout, Reason, Run, Verdict, Warning};
use std::collections::BTreeMap;
use std::mem::discriminant;

/// Returns all caveats of a run, the most severe first, each with its status word.
pub fn all(run: &Run) -> Vec<(&'static str, String)> {
    let interrupted = run.interrupted.then(|| ("Interrupted", describe_interruption(run)));
    let notes = notes(run).into_iter().map(|note| ("Note", note));
    let warnings = count_repetitions(&run.warnings).into_iter().map(|(warning, times)| {
        let again = if times > 1 { format!(" ({times} times)") } else { String::new() };
        ("Warning", warning + &again)
    });
    interrupted.into_iter().chain(notes).chain(warnings).collect()
}

/// Returns the caveats of an additional comparison that the run itself does not have. Warnings about the machine count
/// as equal even if their figures differ.
pub fn further(second: &Run, run: &Run) -> Vec<(&'static str, String)> {
    let kind = |warning: &Warning| match warning {
        Warning::Machine(machine) => Some(discriminant(machine)),
        _ => None,
    };
    let known: Vec<_> = run.warnings.iter().filter_map(kind).collect();
    let is_new = |warning: &&Warning| kind(warning).is_none_or(|kind| !known.contains(&kind));
    let second = Run { warnings: second.warnings.iter().filter(is_new).cloned().collect(), ..second.clone() };
    let said = all(run);
    all(&second).into_iter().filter(|caveat| !said.contains(caveat)).collect()
}

/// Describes how far an interrupted run came.
fn describe_interruption(run: &Run) -> String {
    let done = count_measured(run);
    let left = run.outcomes.iter().filter(|outcome| outcome.reason == Some(Reason::Interrupted));
    // A test stopped halfway has figures and the reason at once; it counts as measured.
    let planned = done + left.filter(|outcome| outcome.verdict == Verdict::NotMeasured).count();
    format!("stopped after {done} of {}", count(planned, "test"))
}

/// Returns notes on what limits the figures, and on what is too small for a row.
pub fn notes(run: &Run) -> Vec<String> {
    let mut notes = Vec::new();
    if count_measured(run) == 0 {
        return notes;
    }
    if let Some(kind) = run.environment.lto_off {
        let profile = one_line(&run.environment.profile);
        notes.push(format!(
            "built without the {profile} profile's link-time optimization ({kind}); `--lto keep` builds with it"
        ));
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
    notes.extend(small_changes_of_calls(&run.outcomes));
    if !run.environment.paired_address_space {
        let layouts = &run.environment.layouts;
        let fixed = layouts.values().filter(|state| state.as_ref().is_ok_and(|layout| layout.fixed_addresses)).count();
        notes.push(random_addresses(fixed, layouts.len()).to_owned());
    }
    notes
}

/// Describes the effect of random addresses when this many targets were linked at fixed addresses.
fn random_addresses(fixed: usize, targets: usize) -> &'static str {
    match fixed {
        0 => "base and head ran at different random addresses: measuring takes longer for the same precision",
        fixed if fixed == targets => {
            "base and head ran with stack, heap and libraries at different random addresses; code and data were linked at fixed addresses"
        }
        _ => {
            "base and head ran at different random addresses; only some targets had code and data linked at fixed addresses"
        }
    }
}

/// Names the deciding metrics that are not available, with the number of tests that this leaves open.
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

/// The largest change that a single layout was seen to cause in unchanged code (docs/method.md).
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

/// Returns each warning once, in order of first appearance, with its number of repetitions.
fn count_repetitions(warnings: &[Warning]) -> Vec<(String, usize)> {
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
    use perfunit_model::samples::{layout, measured as figures, outcome, run, target, uncontrolled, unmeasured};
    use perfunit_model::{LayoutMatch, LtoKind, Metric, NoVerdict};

    #[track_caller]
    fn check(run: &Run, expected: &str) {
        let lines = all(run).into_iter();
        let lines = lines.fold(String::new(), |lines, (word, text)| format!("{lines}{word:>12}  {text}\n"));
        assert_eq!(lines, expected);
    }

    #[test]
    fn a_clean_run_has_none() {
        check(&run(vec![outcome("a", Verdict::Same, Some(figures(1e3, 0.0)))]), "");
    }

    #[test]
    fn link_time_optimization_that_was_left_out_is_named() {
        let mut run = run(vec![outcome("a", Verdict::Same, Some(figures(1e3, 0.0)))]);
        run.environment.lto_off = Some(LtoKind::Thin);
        let expected = "        \
        Note  built without the bench profile's link-time optimization (thin); `--lto keep` builds with it
";
        check(&run, expected);
    }

    #[test]
    fn uncontrolled_layout_and_random_addresses_are_said() {
        let mut run = run(vec![outcome("a", Verdict::Same, Some(figures(1e3, 0.0)))]);
        run.environment.layouts = uncontrolled();
        run.environment.paired_address_space = false;
        let expected = "        \
        Note  code layout not controlled in mycrate: the linker ld refuses: no such option
        Note  base and head ran at different random addresses: measuring takes longer for the same precision
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
        check(&run, "        Note  --metric instructions is not available for 2 tests: it was not measured\n");
    }

    #[test]
    fn an_interrupted_run_says_how_far_it_came() {
        let mut half = outcome("a", Verdict::Inconclusive, Some(figures(1e3, 0.0)));
        half.reason = Some(Reason::Interrupted);
        let mut run = run(vec![half, unmeasured("b", Some(Reason::Interrupted)), unmeasured("c", None)]);
        run.interrupted = true;
        check(&run, " Interrupted  stopped after 1 of 2 tests\n");
    }

    #[test]
    fn repeated_warnings_are_counted() {
        let mut run = run(Vec::new());
        let why = |why: &str| Warning::NothingMoreExplained { why: why.to_owned() };
        run.warnings = ["b", "a\nb", "b"].map(why).to_vec();
        let said = "no further test is explained:";
        check(&run, &format!("     Warning  {said} b (2 times)\n     Warning  {said} a b\n"));
    }
}
