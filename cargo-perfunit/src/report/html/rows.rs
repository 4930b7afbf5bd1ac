//! The table of all tests, the gravest first: a row each, below it the details while there is room.

use super::detail;
use super::interval::Scale;
use super::markup::{Markup, percent};
use crate::model::{Outcome, Run, TargetId, Verdict};
use crate::report::figures::{self, Words};
use crate::report::format::{self, Glyphs, count, one_line};
use crate::report::{blame, unmeasured};
use std::collections::BTreeMap;

/// Bytes around a row, and around the details of a test, at most.
const AROUND: usize = 140;
/// Bytes of the page besides what is above the table and in its rows, at most where names have usual lengths.
const REST: usize = 30_000;

/// In the order of the table.
pub const VERDICTS: [Verdict; 6] = [
    Verdict::Slower,
    Verdict::Faster,
    Verdict::Inconclusive,
    Verdict::ChangedBelowThreshold,
    Verdict::Same,
    Verdict::NotMeasured,
];

/// The word for a verdict, with a sign that tells it from others without colour.
pub fn word(verdict: Verdict, words: Words) -> String {
    let sign = match verdict {
        Verdict::Slower => "▲",
        Verdict::Faster => "▼",
        Verdict::Inconclusive => "?",
        Verdict::ChangedBelowThreshold => "≈",
        Verdict::Same => "=",
        Verdict::NotMeasured => "–",
    };
    format!("{sign} {}", figures::status(verdict, words).0)
}

/// The class of what has to do with a verdict.
pub fn class(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Slower => "slower",
        Verdict::Faster => "faster",
        Verdict::Inconclusive => "inconclusive",
        Verdict::ChangedBelowThreshold => "changed",
        Verdict::Same => "same",
        Verdict::NotMeasured => "unmeasured",
    }
}

/// The targets that have tests, each with its number in the page.
pub fn targets(run: &Run) -> BTreeMap<&TargetId, usize> {
    let mut targets: BTreeMap<&TargetId, usize> =
        run.outcomes.iter().map(|outcome| (&outcome.test.target, 0)).collect();
    for (number, place) in targets.values_mut().enumerate() {
        *place = number;
    }
    targets
}

/// Writes the table. Details come as long as the whole page stays below the limit, those of the gravest first.
pub fn write(run: &Run, most_bytes: usize, out: &mut Markup) {
    let tests = sorted(run);
    let page = Page { words: Words::of(&run.all_gates()), scale: Scale::of(run), targets: targets(run) };
    let rows: Vec<Markup> = tests.iter().map(|outcome| page.row(outcome)).collect();
    let taken = out.len() + REST + rows.iter().map(|row| row.len() + AROUND).sum::<usize>();
    let room = most_bytes.saturating_sub(taken);
    let details = details(run, &tests, room);
    let left_out = tests.iter().filter(|outcome| detail::is_worth(outcome)).count() - details.len();
    if left_out > 0 {
        let text = format!(
            "To keep this page small, details of {} are left out; the run's JSON has them.",
            count(left_out, "test")
        );
        out.words("p", "note", &text);
    }
    let threshold = format!("--threshold:{}", percent(page.scale.threshold()));
    out.element("table", &[("id", "tests"), ("aria-describedby", "order"), ("style", &threshold)], |out| {
        head(out);
        for (index, (outcome, row)) in tests.iter().zip(&rows).enumerate() {
            let target = page.targets[&outcome.test.target].to_string();
            out.line();
            out.element("tbody", &[("class", class(outcome.verdict)), ("data-target", &target)], |out| {
                out.append(row);
                if let Some(details) = details.get(&index) {
                    below(index, details, out);
                }
            });
        }
    });
    out.element("button", &[("id", "all"), ("type", "button"), ("hidden", "hidden")], |_| ());
}

/// The details of as many tests as fit, from the first on, by place in the table.
fn details(run: &Run, tests: &[&Outcome], mut room: usize) -> BTreeMap<usize, Markup> {
    let all = tests.iter().enumerate().filter(|(_, outcome)| detail::is_worth(outcome));
    all.map_while(|(index, outcome)| {
        let details = detail::of(run, outcome);
        room = room.checked_sub(details.len() + AROUND)?;
        Some((index, details))
    })
    .collect()
}

fn head(out: &mut Markup) {
    let columns = [("Test", "name"), ("Verdict", "verdict"), ("Base", "base"), ("Head", "head"), ("Change", "change")];
    out.words("caption", "away", "Tests with their verdicts");
    out.element("thead", &[], |out| {
        out.element("tr", &[], |out| {
            for (title, key) in columns {
                out.element("th", &[("scope", "col"), ("class", key), ("data-sort", key)], |out| out.text(title));
            }
            out.element("th", &[("scope", "col"), ("class", "interval")], |out| out.text("Interval"));
        });
    });
}

/// Writes the details of a test below its row.
fn below(index: usize, details: &Markup, out: &mut Markup) {
    let id = format!("d{index}");
    out.element("tr", &[("class", "more"), ("id", &id)], |out| {
        out.element("td", &[("colspan", "6")], |out| {
            out.element("details", &[], |out| {
                out.words("summary", "", "Details");
                out.append(details);
            });
        });
    });
}

/// By verdict; then the largest change first, or by reason; then by name.
fn sorted(run: &Run) -> Vec<&Outcome> {
    let mut tests = Vec::with_capacity(run.outcomes.len());
    for verdict in VERDICTS {
        if verdict == Verdict::NotMeasured {
            tests.extend(unmeasured::groups(run).into_iter().flat_map(|(_, group)| group));
        } else {
            tests.extend(figures::sorted(&run.outcomes, verdict));
        }
    }
    tests
}

/// What all rows have in common.
struct Page<'a> {
    words: Words,
    scale: Scale,
    targets: BTreeMap<&'a TargetId, usize>,
}

impl Page<'_> {
    fn row(&self, outcome: &Outcome) -> Markup {
        let mut out = Markup::default();
        let keys = outcome.measured.as_ref().map(|measured| {
            let keys = [measured.base_ns, measured.head_ns, measured.change.estimate];
            keys.map(|key| if key.is_finite() { format!("{key:.4e}") } else { "-".to_owned() }).join(" ")
        });
        out.element("tr", &[("data-keys", &keys.unwrap_or_default())], |out| {
            out.element("th", &[("scope", "row"), ("class", "name")], |out| self.name(outcome, out));
            out.words("td", "verdict", &word(outcome.verdict, self.words));
            self.figures(outcome, out);
        });
        out
    }

    /// The name; below it the target, where there are several, and what is most worth knowing.
    fn name(&self, outcome: &Outcome, out: &mut Markup) {
        let name = one_line(&outcome.test.name);
        let start = name.rfind("::").map_or(0, |at| at + 2);
        out.element("span", &[("class", "id")], |out| {
            out.text(&name[..start]);
            out.words("b", "", &name[start..]);
        });
        if self.targets.len() > 1 {
            out.words("span", "target", &outcome.test.target.to_string());
        }
        if let Some(remark) = remark(outcome) {
            out.words("span", "remark", &remark);
        }
    }

    fn figures(&self, outcome: &Outcome, out: &mut Markup) {
        let Some(measured) = &outcome.measured else {
            return out.element("td", &[("colspan", "4")], |_| ());
        };
        let [base, head] = figures::times(measured, Glyphs::Unicode);
        out.words("td", "base", &base);
        out.words("td", "head", &head);
        if let Some(bound) = &measured.bound {
            out.words("td", "change", &figures::at_least(bound));
            return out.element("td", &[("class", "interval")], |_| ());
        }
        out.words("td", "change", &format::percent(measured.change.estimate));
        let [low, high] = [measured.change.low, measured.change.high].map(format::percent);
        out.element("td", &[("class", "interval")], |out| {
            self.scale.write(measured, out);
            out.text(&format!("{low} to {high}"));
        });
    }
}

/// Why there is no verdict, or who is to blame for it.
fn remark(outcome: &Outcome) -> Option<String> {
    if let Some(reason) = &outcome.reason {
        return Some(one_line(&reason.to_string()));
    }
    let Some(explanation) = &outcome.explanation else {
        return (outcome.verdict == Verdict::NotMeasured).then(|| "no reason was recorded".to_owned());
    };
    let culprit = match explanation.outer_cause() {
        Some(cause) => one_line(&cause.changed.to_string()),
        None => blame::place(&explanation.functions[explanation.blamed.first()?.function]),
    };
    Some(format!("to blame: {culprit}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Reason, TargetKind};
    use crate::report::samples::{full, measured, outcome, run, unmeasured};

    fn table(run: &Run, most_bytes: usize) -> String {
        let mut out = Markup::default();
        write(run, most_bytes, &mut out);
        out.finish()
    }

    #[test]
    fn the_gravest_come_first_and_each_test_has_a_row() {
        let table = table(&full(), usize::MAX);
        let places: Vec<usize> = [
            "<b>long<",
            "<b>tiny<",
            "<b>first<",
            "<b>roundtrip<",
            "<b>short<",
            "<b>nested<",
            "<b>empty<",
            "<b>dns<",
            "<b>all<",
        ]
        .iter()
        .map(|name| table.find(name).unwrap_or_else(|| panic!("{name} is missing in {table}")))
        .collect();
        assert!(places.is_sorted(), "{places:?}");
        assert_eq!(table.matches("<tbody class").count(), 10);
        assert_eq!(table.matches("<tr class=\"more\"").count(), 7);
    }

    #[test]
    fn targets_are_named_where_there_are_several() {
        let one = run(vec![unmeasured("a", None)]);
        assert!(!table(&one, 0).contains("class=\"target\""));
        let mut other = unmeasured("b", Some(Reason::New));
        other.test.target.kind = TargetKind::Test;
        other.test.target.name = "api".into();
        let two = run(vec![unmeasured("a", None), other]);
        let table = table(&two, 0);
        assert!(
            table.contains("<span class=\"target\">mycrate::api</span>") && table.contains("data-target=\"1\""),
            "{table}"
        );
    }

    #[test]
    fn details_give_way_where_there_is_no_room() {
        let run = run(["a", "b"].map(|name| outcome(name, Verdict::Same, Some(measured(1e3, 0.0)))).to_vec());
        let whole = table(&run, usize::MAX);
        assert!(!whole.contains("left out") && whole.matches("class=\"more\"").count() == 2);
        // Room for one of the two.
        let less = table(&run, REST + whole.len() - 500);
        assert!(
            less.contains("details of 1 test are left out") && less.matches("class=\"more\"").count() == 1,
            "{less}"
        );
        assert!(table(&run, 0).contains("details of 2 tests are left out"));
    }
}
