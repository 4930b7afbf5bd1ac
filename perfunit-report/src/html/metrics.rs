//! What a test costs besides time, as a table.

use crate::metrics::{amount, besides_time};
use maud::{Markup, html};
use perfunit_model::format::{self, Glyphs};
use perfunit_model::{Basis, Metered, Metric, MetricVerdict, Outcome, Readings, Run};
use std::collections::BTreeMap;

/// All that is known, and why the rest is not.
pub fn section(run: &Run, outcome: &Outcome) -> Markup {
    let mut known = Vec::new();
    let mut unknown: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (metric, metered) in besides_time(outcome) {
        match metered {
            Ok(metered) => known.push((metric, metered)),
            Err(why) => unknown.entry(why.to_string()).or_default().push(metric.to_string()),
        }
    }
    html! {
        @if !known.is_empty() || !unknown.is_empty() {
            h4 { "Other metrics of a run" }
            @if !known.is_empty() {
                div.scroll tabindex="0" role="group" aria-label="Other metrics as figures" {
                    table.figures {
                        thead {
                            tr {
                                td {}
                                @for name in ["base", "head", "change"] {
                                    th scope="col" { (name) }
                                }
                                td {}
                            }
                        }
                        tbody {
                            @for (metric, metered) in known {
                                (row(run.gates_of(outcome), metric, metered))
                            }
                        }
                    }
                }
            }
            @for (why, metrics) in unknown {
                p.note { (format::one_line(&format!("No {}: {why}.", metrics.join(", no ")))) }
            }
        }
    }
}

fn row(gates: &[Metric], metric: Metric, metered: &Metered) -> Markup {
    let figure = |readings: &Readings| {
        let [low, high, value] =
            [readings.low, readings.high, readings.value].map(|value| amount(metric.unit(), value, Glyphs::Unicode));
        if metered.verdict == MetricVerdict::Varies && low != high { format!("{low} to {high}") } else { value }
    };
    let change = match metered.change {
        Some(change) if change.low < change.high => {
            format!("{} {}", format::percent(change.estimate), format::interval(change))
        }
        Some(change) if change.estimate != 0.0 => format::percent(change.estimate),
        _ => String::new(),
    };
    let (class, word) = verdict(metered.verdict);
    html! {
        tr {
            th scope="row" { (metric.to_string()) }
            td { (figure(&metered.readings.base)) }
            td { (figure(&metered.readings.head)) }
            td class=[class] { (change) }
            td.words title=(basis(metered.basis)) {
                (word)
                @if gates.contains(&metric) { "; decides" }
            }
        }
    }
}

fn verdict(verdict: MetricVerdict) -> (Option<&'static str>, &'static str) {
    match verdict {
        MetricVerdict::More => (Some("slower"), "▲ more"),
        MetricVerdict::Less => (Some("faster"), "▼ less"),
        MetricVerdict::ChangedBelowThreshold => (Some("changed"), "below the threshold"),
        MetricVerdict::Same => (None, "same"),
        MetricVerdict::Inconclusive => (None, "inconclusive"),
        MetricVerdict::Varies => (None, "varies from call to call"),
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
    use perfunit_model::samples::{metered, outcome, run};
    use perfunit_model::{NotMetered, Verdict};

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
        let table = section(&run, &outcome).0;
        assert!(table.contains("<td>12</td><td>18</td><td class=\"slower\">+50.0 %</td>"), "{table}");
        assert!(table.contains(">▲ more; decides<") && table.contains(">same<"), "{table}");
        assert!(table.contains("No bytes written, no instructions: not asked for."), "{table}");
        assert_eq!(table.matches("<tr>").count(), 3);
    }
}
