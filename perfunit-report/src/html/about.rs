//! The circumstances of a run: with what it was measured, how long it took, and what was looked at.

use crate::{counts, metrics, text};
use maud::{Markup, html};
use perfunit_model::Run;
use perfunit_model::format::{self, count, one_line};

/// All that is known of them.
pub fn about(run: &Run) -> Markup {
    html! {
        section aria-labelledby="about-title" {
            h2 id="about-title" { "About this run" }
            dl {
                @for (term, texts) in facts(run).into_iter().filter(|(_, texts)| !texts.is_empty()) {
                    dt { (term) }
                    @for text in texts {
                        dd { (text) }
                    }
                }
            }
        }
    }
}

fn facts(run: &Run) -> Vec<(&'static str, Vec<String>)> {
    let environment = &run.environment;
    let gates: Vec<String> = run.gates.iter().map(ToString::to_string).collect();
    let rule = format!(
        "{}, threshold {}; at most {} false verdicts per test before confirmation",
        gates.join(", "),
        format::threshold(run.threshold),
        format::threshold(run.alpha)
    );
    let addresses =
        if environment.paired_address_space { "equal in both processes of a pair" } else { "random in each process" };
    let layouts = environment.layouts.iter().map(|(target, state)| match state {
        Ok(layout) => format!("{target}: {}", text::layout(layout)),
        Err(why) => format!("{target}: not controlled ({})", one_line(&why.to_string())),
    });
    vec![
        ("Tests", vec![found(run)]),
        ("Changes", lines(&run.selection.changes)),
        ("Their effects", lines(&run.selection.effects)),
        ("Decided by", vec![rule]),
        ("Stages", text::stages(&run.stages).into_iter().collect()),
        ("Toolchain", vec![format!("{}, {} profile, {}", environment.rustc, environment.profile, environment.host)]),
        ("Processor", vec![format!("{}, core {}", one_line(&environment.cpu), environment.core)]),
        ("Addresses", vec![addresses.to_owned()]),
        ("Layout", layouts.collect()),
        ("Not available", metrics::for_none(&run.outcomes).iter().map(|text| one_line(text)).collect()),
    ]
}

fn lines(facts: &[impl ToString]) -> Vec<String> {
    facts.iter().map(|fact| one_line(&fact.to_string())).collect()
}

fn found(run: &Run) -> String {
    let selection = &run.selection;
    let place = match selection.targets {
        0 => String::new(),
        targets => format!(" in {} of {}", selection.targets_reached, count(targets, "target")),
    };
    format!("{} found{place}, {} measured", selection.found, counts::measured(run))
}

#[cfg(test)]
mod tests {
    use super::*;
    use perfunit_model::samples::full;

    #[test]
    fn circumstances_leave_out_what_is_not_known() {
        let text = about(&full()).0;
        assert!(text.contains("<dd>412 found in 3 of 12 targets, 7 measured</dd>"), "{text}");
        assert!(text.contains("<dt>Stages</dt><dd>prepare 0.4 s, build 12.1 s, measure 8.3 s</dd>"), "{text}");
        assert!(text.contains("mycrate: not controlled (the linker ld refuses: no such option)"), "{text}");
        assert!(!text.contains("Their effects") && !text.contains("Not available"), "{text}");
    }
}
