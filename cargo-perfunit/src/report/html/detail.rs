//! All that is known of one test, below its row.

use super::markup::{Markup, sentence};
use super::{batches, explained, metrics, strip};
use crate::model::{Capture, LayoutMatch, Measured, Metric, Outcome, Run, Verdict, Why};
use crate::report::figures::{Words, phrase, statistics, times, unexplained};
use crate::report::format::{Glyphs, count, one_line, threshold};

/// Functions named on the way to a change, and changed ones.
const NAMED: usize = 12;

/// Whether there is more to say of a test than its row does.
pub fn is_worth(outcome: &Outcome) -> bool {
    outcome.measured.is_some() || outcome.explanation.is_some() || outcome.why.is_some()
}

/// The details of a test.
pub fn of(run: &Run, outcome: &Outcome) -> Markup {
    let mut out = Markup::default();
    out.element("h3", &[], |out| out.words("code", "", &one_line(&outcome.test.to_string())));
    out.words("p", "", &verdict(run, outcome));
    if let Some(measured) = &outcome.measured {
        pictures(run, outcome, measured, &mut out);
    }
    if let Some(explanation) = &outcome.explanation {
        explained::write(explanation, &mut out);
    }
    if let Some(text) = unexplained(outcome) {
        out.words("p", "note", &sentence(&text));
    }
    metrics::write(run, outcome, &mut out);
    selected(outcome, &mut out);
    out
}

/// The verdict in words.
fn verdict(run: &Run, outcome: &Outcome) -> String {
    let mut sentences = Vec::new();
    if let Some(measured) = &outcome.measured {
        let [base, head] = times(measured, Glyphs::Unicode);
        sentences.push(format!("A run takes {head} instead of {base}: {}.", phrase(measured)));
        // What is open has a reason, which says more.
        if measured.bound.is_some() {
            let bound =
                "Each call of the slower version took so many times as long as the longest call of the other one.";
            sentences.push(bound.to_owned());
        } else if outcome.verdict != Verdict::Inconclusive || outcome.reason.is_none() {
            sentences.push(meaning(run.gates_of(outcome), outcome.verdict, measured));
        }
    }
    sentences.extend(outcome.reason.as_ref().map(|reason| sentence(&one_line(&reason.to_string()))));
    sentences.extend(outcome.cross_check.as_ref().map(|check| sentence(&check.to_string())));
    sentences.join(" ")
}

/// What the verdict claims.
fn meaning(gates: &[Metric], verdict: Verdict, measured: &Measured) -> String {
    let threshold = threshold(measured.threshold);
    if Words::of(gates) == Words::OfAny {
        let gates: Vec<String> = gates.iter().map(ToString::to_string).collect();
        let gates = gates.join(", ");
        return match verdict {
            Verdict::Slower => format!("Worse by what decides: {gates}."),
            Verdict::Faster => format!("Better by what decides: {gates}."),
            Verdict::ChangedBelowThreshold => format!("What decides ({gates}) changed by less than counts."),
            Verdict::Same => format!("What decides ({gates}) is the same."),
            Verdict::Inconclusive | Verdict::NotMeasured => format!("What decides ({gates}) does not tell."),
        };
    }
    match verdict {
        Verdict::Slower => format!("Slower by {threshold} or more, and fresh pairs confirmed it."),
        Verdict::Faster => format!("Faster by {threshold} or more, and fresh pairs confirmed it."),
        Verdict::ChangedBelowThreshold => format!("It certainly changed, but by less than {threshold}."),
        Verdict::Same => format!("No change of {threshold} or more."),
        Verdict::Inconclusive | Verdict::NotMeasured => "The interval is too wide to tell.".to_owned(),
    }
}

fn pictures(run: &Run, outcome: &Outcome, measured: &Measured, out: &mut Markup) {
    out.element("div", &[("class", "two")], |out| {
        out.element("div", &[], |out| {
            let is_bound = measured.bound.is_some();
            out.words(
                "h4",
                "",
                if is_bound {
                    "Single calls"
                } else if measured.layouts > 1 {
                    "Change in each layout"
                } else {
                    "Change in each pair"
                },
            );
            strip::write(measured, outcome.verdict, out);
            if measured.sample.estimates.is_empty() && !is_bound {
                out.words("p", "note", "The estimates were not kept.");
            }
            out.words("p", "note", &format!("{}.", statistics(measured)));
            if let Some(text) = layout(run, outcome) {
                out.words("p", "note", &text);
            }
            for note in &outcome.notes {
                out.words("p", "note", &sentence(&one_line(&note.to_string())));
            }
        });
        if !measured.sample.batches.base.is_empty() {
            out.element("div", &[], |out| {
                out.words("h4", "", "Time of a run");
                batches::write(measured, out);
            });
        }
    });
}

/// How far the code of both versions lay at the same places.
fn layout(run: &Run, outcome: &Outcome) -> Option<String> {
    Some(match run.environment.layouts.get(&outcome.test.target)? {
        Ok(LayoutMatch { common, equal, changed, anchored, .. }) => {
            let changed = match changed {
                0 => String::new(),
                changed => format!("; {anchored} of {} anchored", count(*changed, "changed function")),
            };
            format!("Matched layout: {equal} of {} at equal addresses{changed}.", count(*common, "common function"))
        }
        Err(why) => format!("Code lies where the linker put it: {}.", one_line(&why.to_string())),
    })
}

fn selected(outcome: &Outcome, out: &mut Markup) {
    if outcome.selected_because.is_empty() && outcome.why.is_none() {
        return;
    }
    out.words("h4", "", "Why it was selected");
    if !outcome.selected_because.is_empty() {
        out.words("p", "", &sentence(&one_line(&outcome.selected_because)));
    }
    if let Some(why) = &outcome.why {
        reached(why, out);
    }
    match outcome.capture {
        Some(Capture::Macro) => out.words("p", "note", "Its body is measured."),
        Some(Capture::Runner) => {
            out.words("p", "note", "The whole test function is measured, as another macro made it.");
        }
        Some(Capture::Process) => {
            out.words("p", "note", "Whole processes are measured, as its target has a test harness of its own.");
        }
        None => {}
    }
}

/// The way to the nearest change, and where the versions part.
fn reached(why: &Why, out: &mut Markup) {
    if why.path.len() > 1 {
        out.words("p", "", "Its machine code leads to a change:");
        names(why.path.iter().map(|name| one_line(name)), why.path.len(), "path", out);
    }
    if !why.changed.is_empty() {
        out.words("p", "", "Machine code that differs:");
        let names_with_data = why.changed.iter().map(|function| match &function.data {
            Some(data) => one_line(&format!("{} (by what it uses: {data})", function.name)),
            None => one_line(&function.name),
        });
        names(names_with_data, why.changed.len(), "", out);
    }
}

fn names(names: impl Iterator<Item = String>, all: usize, class: &'static str, out: &mut Markup) {
    out.element("ul", &[("class", class)], |out| {
        for name in names.take(NAMED) {
            out.element("li", &[], |out| out.words("code", "", &name));
        }
        if all > NAMED {
            out.words("li", "note", &format!("{} more", all - NAMED));
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{ChangedFunction, Reason};
    use crate::report::samples::{measured, outcome, run, unmeasured};

    fn told(verdict: Verdict, gates: &[Metric]) -> String {
        let outcome = outcome("a", verdict, Some(measured(1e3, 0.306)));
        let mut run = run(Vec::new());
        run.gates = gates.to_vec();
        super::verdict(&run, &outcome)
    }

    #[test]
    fn verdicts_are_sentences() {
        let time = [Metric::Time];
        let figures = "A run takes 1.31 µs instead of 1.00 µs: +30.6 % [+29.6 %, +31.6 %].";
        let slower = format!("{figures} Slower by 10 % or more, and fresh pairs confirmed it.");
        assert_eq!(told(Verdict::Slower, &time), slower);
        assert!(told(Verdict::Same, &time).ends_with("No change of 10 % or more."));
        assert!(told(Verdict::Slower, &[Metric::Allocations]).ends_with("Worse by what decides: allocations."));
    }

    #[test]
    fn the_reason_ends_the_verdict() {
        let mut noisy = outcome("a", Verdict::Inconclusive, Some(measured(1e3, 0.0)));
        noisy.reason = Some(Reason::TooNoisy);
        let told = super::verdict(&run(Vec::new()), &noisy);
        assert!(told.ends_with("Too noisy to tell within its budget (--per-test-budget)."), "{told}");
    }

    #[test]
    fn the_way_to_the_change_is_a_list() {
        let mut outcome = outcome("a", Verdict::Same, Some(measured(1e3, 0.0)));
        let changed = ChangedFunction { name: "c::Vec<&str>::f".into(), data: Some("a table".into()) };
        outcome.why =
            Some(Why { path: vec!["a".into(), "b".into(), "c::Vec<&str>::f".into()], changed: vec![changed; 14] });
        let page = of(&run(Vec::new()), &outcome).finish();
        assert!(page.contains("<li><code>c::Vec&lt;&amp;str&gt;::f</code></li>"), "{page}");
        assert!(page.contains("(by what it uses: a table)") && page.contains(">2 more<"), "{page}");
    }

    #[test]
    fn a_row_says_all_of_what_was_not_measured() {
        assert!(!is_worth(&unmeasured("a", Some(Reason::Ignored))));
        assert!(is_worth(&outcome("a", Verdict::Same, Some(measured(1e3, 0.0)))));
    }
}
