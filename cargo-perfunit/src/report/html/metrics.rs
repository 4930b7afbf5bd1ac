//! What a test costs besides time, as a table.

use super::markup::Markup;
use crate::model::{Basis, Metered, Metric, MetricVerdict, Outcome, Readings, Run};
use crate::report::format::{self, Glyphs};
use crate::report::metrics::{amount, besides_time};
use std::collections::BTreeMap;

/// Writes all that is known, and why the rest is not.
pub fn write(run: &Run, outcome: &Outcome, out: &mut Markup) {
    let mut known = Vec::new();
    let mut unknown: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (metric, metered) in besides_time(outcome) {
        match metered {
            Ok(metered) => known.push((metric, metered)),
            Err(why) => unknown.entry(why.to_string()).or_default().push(metric.to_string()),
        }
    }
    if known.is_empty() && unknown.is_empty() {
        return;
    }
    out.words("h4", "", "Other costs of a run");
    if !known.is_empty() {
        table(run, &known, out);
    }
    for (why, metrics) in unknown {
        out.words("p", "note", &format::one_line(&format!("No {}: {why}.", metrics.join(", no "))));
    }
}

fn table(run: &Run, known: &[(Metric, &Metered)], out: &mut Markup) {
    let scroll = [("class", "scroll"), ("tabindex", "0"), ("role", "group"), ("aria-label", "Other costs as figures")];
    out.element("div", &scroll, |out| {
        out.element("table", &[("class", "figures")], |out| {
            out.element("thead", &[], |out| {
                out.element("tr", &[], |out| {
                    for name in ["", "base", "head", "change", ""] {
                        match name {
                            "" => out.words("td", "", ""),
                            name => out.element("th", &[("scope", "col")], |out| out.text(name)),
                        }
                    }
                });
            });
            out.element("tbody", &[], |out| {
                for (metric, metered) in known {
                    row(run, *metric, metered, out);
                }
            });
        });
    });
}

fn row(run: &Run, metric: Metric, metered: &Metered, out: &mut Markup) {
    let figure = |readings: &Readings| {
        let [low, high, value] =
            [readings.low, readings.high, readings.value].map(|value| amount(metric.unit(), value, Glyphs::Unicode));
        if metered.verdict == MetricVerdict::Varies && low != high { format!("{low} to {high}") } else { value }
    };
    let change = match metered.change {
        Some(change) if change.low < change.high => {
            let [estimate, low, high] = [change.estimate, change.low, change.high].map(format::percent);
            format!("{estimate} [{low}, {high}]")
        }
        Some(change) if change.estimate == 0.0 => String::new(),
        Some(change) => format::percent(change.estimate),
        None => String::new(),
    };
    let (class, word) = verdict(metered.verdict);
    let gates = if run.gates.contains(&metric) { "; decides" } else { "" };
    out.element("tr", &[], |out| {
        out.element("th", &[("scope", "row")], |out| out.text(&metric.to_string()));
        out.words("td", "", &figure(&metered.readings.base));
        out.words("td", "", &figure(&metered.readings.head));
        out.words("td", class, &change);
        out.element("td", &[("class", "words"), ("title", &basis(metered.basis))], |out| {
            out.text(&format!("{word}{gates}"));
        });
    });
}

fn verdict(verdict: MetricVerdict) -> (&'static str, &'static str) {
    match verdict {
        MetricVerdict::More => ("slower", "▲ more"),
        MetricVerdict::Less => ("faster", "▼ less"),
        MetricVerdict::ChangedBelowThreshold => ("changed", "less than counts"),
        MetricVerdict::Same => ("", "same"),
        MetricVerdict::Inconclusive => ("", "too noisy to tell"),
        MetricVerdict::Varies => ("", "differs from call to call"),
    }
}

fn basis(basis: Basis) -> String {
    match basis {
        Basis::Pairs(pairs) => format!("from {}", format::count(pairs, "pair")),
        Basis::Calls(calls) => format!("from {}", format::count(calls, "later call")),
        Basis::FirstCalls(calls) => format!("from {}", format::count(calls, "first call")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{NotMetered, Verdict};
    use crate::report::samples::{metered, outcome, run};

    #[test]
    fn what_decides_says_so_and_what_is_not_known_says_why() {
        let mut outcome = outcome("a", Verdict::Slower, None);
        outcome.metrics.insert(Metric::Time, Ok(metered(MetricVerdict::Same, 1.0, 1.0)));
        outcome.metrics.insert(Metric::Allocations, Ok(metered(MetricVerdict::More, 12.0, 18.0)));
        outcome.metrics.insert(Metric::PeakHeap, Ok(metered(MetricVerdict::Same, 640.0, 640.0)));
        outcome.metrics.insert(Metric::Instructions, Err(NotMetered::SwitchedOff));
        outcome.metrics.insert(Metric::WrittenBytes, Err(NotMetered::SwitchedOff));
        let mut run = run(Vec::new());
        run.gates = vec![Metric::Allocations];
        let mut out = Markup::default();
        write(&run, &outcome, &mut out);
        let table = out.finish();
        assert!(table.contains("<td>12</td><td>18</td><td class=\"slower\">+50.0 %</td>"), "{table}");
        assert!(table.contains(">▲ more; decides<") && table.contains(">same<"), "{table}");
        assert!(table.contains("No bytes written, no instructions: not asked for."), "{table}");
        assert_eq!(table.matches("<tr>").count(), 3);
    }
}
