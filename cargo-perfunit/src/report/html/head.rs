//! What is said of the whole run: the headline, what to know before trusting the figures, and the circumstances.

use super::markup::Markup;
use super::rows::{self, VERDICTS};
use crate::model::{LayoutMatch, Run, Side, Stages, Verdict, VersionName};
use crate::report::figures::Words;
use crate::report::format::{self, count, one_line};
use crate::report::{caveats, failing, metrics, unmeasured as groups};

/// Tests named of those that share a reason.
const NAMED: usize = 20;

/// What the window is called.
pub fn title(run: &Run) -> String {
    let [base, head] = [&run.base, &run.head].map(|version| one_line(&version.label));
    format!("{}: {base} → {head} – cargo-perfunit", headline(run))
}

/// The answer in a few words.
fn headline(run: &Run) -> String {
    let answer = of_time(run);
    match failing::headline(run) {
        Some(failing) if caveats::measured(run) == 0 => failing,
        Some(failing) => format!("{failing}; {}{}", answer[..1].to_lowercase(), &answer[1..]),
        None => answer,
    }
}

/// What the figures say.
fn of_time(run: &Run) -> String {
    let worse = if Words::of(&run.all_gates()) == Words::OfAny { "worse" } else { "slower" };
    match (run.count(Verdict::Slower), caveats::measured(run)) {
        (0, 0) if run.selection.nothing_because.is_some() => "No test can have changed".to_owned(),
        (0, 0) => "No test was measured".to_owned(),
        (0, _) => match run.count(Verdict::Inconclusive) {
            0 => format!("No test got {worse}"),
            open => format!("No test got {worse}, {open} could not be told"),
        },
        (slower, _) => format!("{} got {worse}", count(slower, "test")),
    }
}

/// The answer, what was compared, and how many tests have which verdict.
pub fn header(run: &Run, out: &mut Markup) {
    out.element("header", &[], |out| {
        out.words("p", "tool", "cargo-perfunit");
        let is_bad = run.count(Verdict::Slower) > 0 || run.failing(Side::Head).next().is_some();
        let class = if is_bad { "slower" } else { "" };
        out.words("h1", class, &headline(run));
        out.element("p", &[], |out| {
            version(&run.base, out);
            out.text(" → ");
            version(&run.head, out);
        });
        let words = Words::of(&run.all_gates());
        out.element("ul", &[("class", "counts"), ("aria-label", "Tests by verdict")], |out| {
            for verdict in VERDICTS.into_iter().filter(|verdict| run.count(*verdict) > 0) {
                out.element("li", &[("class", rows::class(verdict))], |out| {
                    let word = rows::word(verdict, words).to_lowercase();
                    let (sign, word) = word.split_once(' ').unwrap_or(("", &word));
                    out.text(&format!("{sign} "));
                    out.words("b", "", &run.count(verdict).to_string());
                    out.text(&format!(" {word}"));
                });
            }
        });
        if let Some(insensitive) = caveats::insensitive(run) {
            out.words("p", "", &insensitive);
        }
        if let Some(because) = &run.selection.nothing_because {
            out.words("p", "", &one_line(because));
        }
    });
    out.line();
}

fn version(version: &VersionName, out: &mut Markup) {
    out.words("b", "", &one_line(&version.label));
    let changes = if version.dirty { " + changes" } else { "" };
    match format::commit_beside_label(version) {
        None => out.text(changes),
        Some(commit) => {
            out.text(" (");
            out.words("code", "", commit);
            out.text(&format!("{changes})"));
        }
    }
}

/// Tests that base passes and head does not; nothing where there is none.
pub fn failing(run: &Run, out: &mut Markup) {
    let Some(headline) = failing::headline(run) else { return };
    out.element("section", &[("class", "remarks"), ("aria-labelledby", "failing-title")], |out| {
        out.element("h2", &[("id", "failing-title")], |out| out.text(&headline));
        out.element("ul", &[], |out| {
            for outcome in run.failing(Side::Head) {
                out.element("li", &[], |out| {
                    out.words("code", "", &one_line(&outcome.test.to_string()));
                    out.text(&format!(": {}", failing::said(outcome)));
                });
            }
        });
    });
    out.line();
}

/// What limits the figures; nothing where nothing does.
pub fn remarks(run: &Run, out: &mut Markup) {
    let mut remarks = Vec::new();
    if run.interrupted {
        remarks.push(("Interrupted", caveats::interrupted(run)));
    }
    remarks.extend(caveats::notes(run).into_iter().map(|note| ("Note", note)));
    for (warning, times) in caveats::counted(&run.warnings) {
        let again = if times > 1 { format!(" ({times} times)") } else { String::new() };
        remarks.push(("Warning", warning + &again));
    }
    if remarks.is_empty() {
        return;
    }
    out.element("section", &[("class", "remarks"), ("aria-labelledby", "remarks-title")], |out| {
        out.element("h2", &[("id", "remarks-title")], |out| out.text("Before you trust the figures"));
        out.element("ul", &[], |out| {
            for (word, text) in remarks {
                out.element("li", &[], |out| {
                    out.words("b", "", word);
                    out.text(&format!(": {text}"));
                });
            }
        });
    });
    out.line();
}

/// What the script filters by. It can do nothing without, so the script brings it to light.
pub fn filter(run: &Run, out: &mut Markup) {
    let words = Words::of(&run.all_gates());
    // The long tail of tests that cannot have changed would bury the others.
    let shown = |verdict| if verdict == Verdict::NotMeasured && caveats::measured(run) > 0 { "" } else { "checked" };
    out.element(
        "form",
        &[("id", "filter"), ("role", "search"), ("autocomplete", "off"), ("hidden", "hidden")],
        |out| {
            out.element("label", &[("class", "find")], |out| {
                out.words("span", "away", "Find tests by name, target or remark");
                out.empty("input", &[("type", "search"), ("id", "text"), ("placeholder", "Find tests")]);
            });
            let targets = rows::targets(run);
            if targets.len() > 1 {
                out.element("label", &[], |out| {
                    out.words("span", "away", "Target");
                    out.element("select", &[("id", "target")], |out| {
                        out.words("option", "", "all targets");
                        for (target, number) in &targets {
                            out.element("option", &[("value", &number.to_string())], |out| {
                                out.text(&target.to_string());
                            });
                        }
                    });
                });
            }
            out.element("fieldset", &[], |out| {
                out.words("legend", "away", "Verdicts");
                for verdict in VERDICTS.into_iter().filter(|verdict| run.count(*verdict) > 0) {
                    out.element("label", &[("class", rows::class(verdict))], |out| {
                        let attributes =
                            [("type", "checkbox"), ("value", rows::class(verdict)), ("checked", shown(verdict))];
                        out.empty("input", &attributes);
                        out.text(&format!(" {}", rows::word(verdict, words)));
                    });
                }
            });
            out.element("p", &[("id", "shown"), ("role", "status")], |_| ());
        },
    );
    out.element("p", &[("id", "order"), ("class", "note")], |out| {
        out.text("The gravest first. The interval is drawn on one line for all tests: even up to the threshold ");
        out.text(&format!("({}, dotted) and logarithmic beyond.", format::threshold(run.threshold)));
    });
}

/// What was not measured and why.
pub fn unmeasured(run: &Run, out: &mut Markup) {
    let groups = groups::groups(run);
    if groups.is_empty() && run.selection.unmeasured_targets.is_empty() {
        return;
    }
    out.element("section", &[("aria-labelledby", "unmeasured-title")], |out| {
        out.element("h2", &[("id", "unmeasured-title")], |out| out.text("Not measured"));
        out.element("ul", &[("class", "groups")], |out| {
            for (why, tests) in groups {
                out.element("li", &[], |out| {
                    out.element("details", &[], |out| {
                        out.words("summary", "", &format!("{}: {why}", count(tests.len(), "test")));
                        let names = tests.iter().take(NAMED).map(|outcome| one_line(&outcome.test.to_string()));
                        let more = tests.len().saturating_sub(NAMED);
                        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
                        out.words("p", "names", &format!("{}{more}", names.collect::<Vec<_>>().join(", ")));
                    });
                });
            }
            for target in &run.selection.unmeasured_targets {
                out.words("li", "", &one_line(target));
            }
        });
    });
    out.line();
}

/// With what, how long, and what was looked at.
pub fn about(run: &Run, out: &mut Markup) {
    out.element("section", &[("aria-labelledby", "about-title")], |out| {
        out.element("h2", &[("id", "about-title")], |out| out.text("About this run"));
        out.element("dl", &[], |out| {
            for (term, texts) in facts(run).into_iter().filter(|(_, texts)| !texts.is_empty()) {
                out.words("dt", "", term);
                for text in texts {
                    out.words("dd", "", &text);
                }
            }
        });
    });
}

fn facts(run: &Run) -> Vec<(&'static str, Vec<String>)> {
    let environment = &run.environment;
    let lines = |texts: &[String]| texts.iter().map(|text| one_line(text)).collect::<Vec<_>>();
    let gates: Vec<String> = run.gates.iter().map(ToString::to_string).collect();
    let rule = format!(
        "{}, from {} on; at most {} of false verdicts for each test before confirmation",
        gates.join(", "),
        format::threshold(run.threshold),
        format::threshold(run.alpha)
    );
    let addresses = if environment.paired_address_space {
        "the same in both processes of a pair"
    } else {
        "random, of each process its own"
    };
    let layouts = environment.layouts.iter().map(|(target, state)| match state {
        Ok(layout) => format!("{target}: {}", matched(layout)),
        Err(why) => format!("{target}: not controlled ({})", one_line(&why.to_string())),
    });
    vec![
        ("Tests", vec![found(run)]),
        ("Changes", lines(&run.selection.changes)),
        ("What became of them", lines(&run.selection.effects)),
        ("What decides", vec![rule]),
        ("Stages", stages(&run.stages).into_iter().collect()),
        ("Toolchain", vec![format!("{}, {} profile, {}", environment.rustc, environment.profile, environment.host)]),
        ("Processor", vec![format!("{}, core {}", one_line(&environment.cpu), environment.core)]),
        ("Addresses", vec![addresses.to_owned()]),
        ("Layout", layouts.collect()),
        ("Without", metrics::for_none(&run.outcomes).iter().map(|text| one_line(text)).collect()),
    ]
}

fn found(run: &Run) -> String {
    let selection = &run.selection;
    let place = match selection.targets {
        0 => String::new(),
        targets => format!(" in {} of {}", selection.targets_reached, count(targets, "target")),
    };
    format!("{} found{place}, {} measured", selection.found, caveats::measured(run))
}

fn matched(layout: &LayoutMatch) -> String {
    let LayoutMatch { common, equal, changed, anchored, .. } = layout;
    let changed = match changed {
        0 => String::new(),
        changed => format!(", {anchored} of {} anchored", count(*changed, "changed function")),
    };
    let fixed = if layout.fixed_addresses { ", position-dependent" } else { "" };
    format!(
        "{equal} of {} at equal addresses, {} of {} constants and variables{changed}{fixed}",
        count(*common, "common function"),
        layout.data_equal,
        layout.data
    )
}

/// The stages that took place.
fn stages(stages: &Stages) -> Option<String> {
    let Stages { prepare, build, select, measure, explain } = *stages;
    let named =
        [("prepare", prepare), ("build", build), ("select", select), ("measure", measure), ("explain", explain)];
    let taken = named.iter().filter(|(_, time)| !time.is_zero());
    let texts: Vec<String> = taken.map(|(name, time)| format!("{name} {}", format::seconds(*time))).collect();
    (!texts.is_empty()).then(|| texts.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Measured, Metric, Outcome};
    use crate::report::samples::{full, measured, outcome, run};

    #[track_caller]
    fn check(outcomes: Vec<Outcome>, expected: &str) {
        assert_eq!(headline(&run(outcomes)), expected);
    }

    #[test]
    fn the_headline_is_the_answer() {
        let figures = || Some(measured(1e3, 0.3));
        check(vec![], "No test was measured");
        check(vec![outcome("a", Verdict::Same, figures())], "No test got slower");
        check(vec![outcome("a", Verdict::Inconclusive, figures())], "No test got slower, 1 could not be told");
        check(vec![outcome("a", Verdict::Slower, figures())], "1 test got slower");
        let mut gated = run(vec![outcome("a", Verdict::Slower, figures())]);
        gated.gates = vec![Metric::Allocations];
        assert_eq!(headline(&gated), "1 test got worse");
        let mut nothing = run(vec![]);
        nothing.selection.nothing_because = Some("only comments changed".into());
        assert_eq!(headline(&nothing), "No test can have changed");
    }

    #[test]
    fn what_could_not_have_shown_the_change_stands_in_front() {
        let cold = Measured { threshold: 0.3, ..measured(1e3, 0.0) };
        let mut page = Markup::default();
        header(&run(vec![outcome("a", Verdict::Same, Some(cold))]), &mut page);
        assert!(page.finish().contains("1 of 1 test could not have shown a change of 10 %"));
    }

    #[test]
    fn circumstances_leave_out_what_is_not_known() {
        let mut out = Markup::default();
        about(&full(), &mut out);
        let text = out.finish();
        assert!(text.contains("<dd>412 found in 3 of 12 targets, 7 measured</dd>"), "{text}");
        assert!(text.contains("<dt>Stages</dt><dd>prepare 0.4 s, build 12.1 s, measure 8.3 s</dd>"), "{text}");
        assert!(text.contains("mycrate: not controlled (the linker ld refuses: no such option)"), "{text}");
        assert!(!text.contains("What became of them") && !text.contains("Without"), "{text}");
    }

    #[test]
    fn remarks_are_only_there_where_there_are_some() {
        let mut out = Markup::default();
        remarks(&run(vec![]), &mut out);
        assert!(out.is_empty());
        remarks(&full(), &mut out);
        let text = out.finish();
        assert!(
            text.contains(
                "<b>Note</b>: code lies where the linker put it in mycrate: the linker ld refuses: no such option"
            ),
            "{text}"
        );
    }
}
