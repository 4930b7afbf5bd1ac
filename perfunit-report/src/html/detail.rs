//! All that is known of one test, below its row.

use super::{batches, explained, metrics, strip};
use crate::figures::{Words, phrase, statistics, throughput, times, unexplained};
use crate::text;
use maud::{Markup, html};
use perfunit_model::format::{Glyphs, one_line, sentence, threshold};
use perfunit_model::{Capture, ChangedFunction, Measured, Metric, Outcome, Run, Verdict, Why};

/// Functions named on the way to a change, and changed ones.
const NAMED: usize = 12;

/// Whether there is more to say of a test than its row does.
pub fn is_worth(outcome: &Outcome) -> bool {
    outcome.measured.is_some() || outcome.explanation.is_some() || outcome.why.is_some()
}

/// The details of a test.
pub fn of(run: &Run, outcome: &Outcome) -> Markup {
    html! {
        h3 { code { (one_line(&outcome.test.to_string())) } }
        p { (verdict(run, outcome)) }
        @if let Some(measured) = &outcome.measured {
            (pictures(run, outcome, measured))
        }
        @if let Some(explanation) = &outcome.explanation {
            (explained::section(explanation, outcome.verdict))
        }
        @if let Some(text) = unexplained(outcome) {
            p.note { (sentence(&text)) }
        }
        (metrics::section(run, outcome))
        (selected(outcome))
    }
}

/// The verdict in words.
fn verdict(run: &Run, outcome: &Outcome) -> String {
    let mut sentences = Vec::new();
    if let Some(measured) = &outcome.measured {
        let [base, head] = times(measured, Glyphs::Unicode);
        sentences.push(format!("A run takes {head} instead of {base}: {}.", phrase(measured)));
        // What is open has a reason, which says more.
        if measured.bound.is_some() {
            let bound = "Each call of the slower version took at least that many times as long as the longest call of the other one.";
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
    let [threshold, margin] = [measured.threshold, measured.margin()].map(threshold);
    if Words::of(gates) == Words::OfAny {
        let gates: Vec<String> = gates.iter().map(ToString::to_string).collect();
        let gates = gates.join(", ");
        return match verdict {
            Verdict::Slower => format!("Worse by the deciding metrics: {gates}."),
            Verdict::Faster => format!("Better by the deciding metrics: {gates}."),
            Verdict::ChangedBelowThreshold => format!("The deciding metrics ({gates}) changed below the threshold."),
            Verdict::Same => format!("No change of the deciding metrics ({gates})."),
            Verdict::Inconclusive | Verdict::NotMeasured => format!("The deciding metrics ({gates}) are inconclusive."),
        };
    }
    match verdict {
        Verdict::Slower => format!("Slower by {threshold} or more, and fresh pairs confirmed it."),
        Verdict::Faster => format!("Faster by {threshold} or more, and fresh pairs confirmed it."),
        Verdict::ChangedBelowThreshold => format!("Changed for certain, but by less than {margin}."),
        Verdict::Same => format!("No change of {margin} or more."),
        Verdict::Inconclusive | Verdict::NotMeasured => "The interval is too wide for a verdict.".to_owned(),
    }
}

fn pictures(run: &Run, outcome: &Outcome, measured: &Measured) -> Markup {
    let title = match (&measured.bound, measured.layouts) {
        (Some(_), _) => "Single calls",
        (None, 0 | 1) => "Change in each pair",
        (None, _) => "Change in each layout",
    };
    html! {
        div.two {
            div {
                h4 { (title) }
                (strip::picture(measured, outcome.verdict))
                @if measured.sample.estimates.is_empty() && measured.bound.is_none() {
                    p.note { "The estimates were not kept." }
                }
                p.note { (statistics(measured)) "." }
                @if let Some(throughput) = throughput(measured, Glyphs::Unicode) {
                    p.note { (sentence(&throughput)) }
                }
                @if let Some(layout) = layout(run, outcome) {
                    p.note { (layout) }
                }
                @for note in &outcome.notes {
                    p.note { (sentence(&one_line(&note.to_string()))) }
                }
            }
            @if !measured.sample.batches.base.is_empty() {
                div {
                    h4 { "Time of a run" }
                    (batches::picture(measured))
                }
            }
        }
    }
}

/// How far the code of both versions lay at the same places.
fn layout(run: &Run, outcome: &Outcome) -> Option<String> {
    Some(match run.environment.layouts.get(&outcome.test.target)? {
        Ok(layout) => format!("Matched layout: {}.", text::layout(layout)),
        Err(why) => format!("Code layout not controlled: {}.", one_line(&why.to_string())),
    })
}

fn selected(outcome: &Outcome) -> Markup {
    let captured = outcome.capture.map(|capture| match capture {
        Capture::Macro => "Its body is measured.",
        Capture::Runner => "The whole test function is measured, because another macro generated it.",
        Capture::Bench => "What its harness would repeat is measured.",
        Capture::Generated => "A call is measured whose arguments the tool made up.",
        Capture::Process => "Whole processes are measured, because its target has its own test harness.",
    });
    html! {
        @if outcome.selected_because.is_some() || outcome.why.is_some() {
            h4 { "Why it was selected" }
            @if let Some(because) = &outcome.selected_because {
                p { (sentence(&one_line(&because.to_string()))) }
            }
            @if let Some(why) = &outcome.why {
                (reached(why))
            }
            @if let Some(captured) = captured {
                p.note { (captured) }
            }
        }
    }
}

/// The way to the nearest change, and where the versions part.
fn reached(why: &Why) -> Markup {
    html! {
        @if why.path.len() > 1 {
            p { "Call path to the nearest change:" }
            ul.path { (first(&why.path, |name| one_line(name))) }
        }
        @if !why.changed.is_empty() {
            p { "Changed machine code:" }
            ul { (first(&why.changed, changed)) }
        }
        @if !why.others.is_empty() {
            p { "What differs besides its code:" }
            ul { (first(&why.others, ToString::to_string)) }
        }
    }
}

fn changed(function: &ChangedFunction) -> String {
    one_line(&match &function.data {
        Some(data) => format!("{} (through data that it uses: {data})", function.name),
        None => function.name.clone(),
    })
}

/// The first few of a list, and how many more there are.
fn first<T>(items: &[T], name: impl Fn(&T) -> String) -> Markup {
    html! {
        @for item in items.iter().take(NAMED) {
            li { code { (name(item)) } }
        }
        @if items.len() > NAMED {
            li.note { (items.len() - NAMED) " more" }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use perfunit_model::Reason;
    use perfunit_model::samples::{measured, outcome, run, unmeasured};

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
        assert!(told(Verdict::Slower, &[Metric::Allocations]).ends_with("Worse by the deciding metrics: allocations."));
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
        outcome.why = Some(Why {
            path: vec!["a".into(), "b".into(), "c::Vec<&str>::f".into()],
            changed: vec![changed; 14],
            others: Vec::new(),
        });
        let page = of(&run(Vec::new()), &outcome).0;
        assert!(page.contains("<li><code>c::Vec&lt;&amp;str&gt;::f</code></li>"), "{page}");
        assert!(page.contains("(through data that it uses: a table)") && page.contains(">2 more<"), "{page}");
    }

    #[test]
    fn a_row_says_all_of_what_was_not_measured() {
        assert!(!is_worth(&unmeasured("a", Some(Reason::Ignored))));
        assert!(is_worth(&outcome("a", Verdict::Same, Some(measured(1e3, 0.0)))));
    }
}
