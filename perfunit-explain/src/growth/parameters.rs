//! Parameters that a project already has: workloads whose names differ by a number (`sort/16`, `sort/256`; `sums::n_1_16`).
//! Pure.

use perfunit_decide::{TimeAt, scaling};
use perfunit_model::{Exponent, Mode, Outcome, Scaling, Sides, TargetId, Verdict};
use std::collections::BTreeMap;

/// The parametrised workloads that are slower at their largest parameter because time grows with another power.
pub fn parameters(outcomes: &[Outcome]) -> Vec<Scaling> {
    let mut series: BTreeMap<(&TargetId, String), Vec<(TimeAt, Verdict)>> = BTreeMap::new();
    for outcome in outcomes {
        let Some(measured) = outcome.measured.as_ref().filter(|measured| measured.mode == Mode::Steady) else {
            continue;
        };
        let Some((name, parameter)) = parameter(&outcome.test.name) else { continue };
        let error = (measured.change.high - measured.change.low) / 2.0 / (1.0 + measured.change.estimate);
        let ns = Sides { base: measured.base_ns, head: measured.head_ns };
        let time = TimeAt { parameter: parameter as f64, ns, error };
        series.entry((&outcome.test.target, name)).or_default().push((time, outcome.verdict));
    }
    let found = series.into_iter().filter_map(|((target, name), mut times)| {
        times.sort_by(|(a, _), (b, _)| a.parameter.total_cmp(&b.parameter));
        // That it is slower there is certain for the whole run.
        times.last().filter(|(_, verdict)| *verdict == Verdict::Slower)?;
        let times: Vec<TimeAt> = times.into_iter().map(|(time, _)| time).collect();
        let (exponent, last) = scaling(&times)?;
        let exponent =
            exponent.map(|interval| Exponent { estimate: interval.estimate, low: interval.low, high: interval.high });
        let ratio = last.ns.head / last.ns.base;
        Some(Scaling { target: target.clone(), name, exponent, largest: last.parameter as u64, ratio, ns: last.ns })
    });
    found.collect()
}

/// The name without the number at its end, and that number. A macro that numbers its cases puts that number before the
/// value.
fn parameter(name: &str) -> Option<(String, u64)> {
    let digits = |text: &str| text.len() - text.trim_end_matches(|c: char| c.is_ascii_digit()).len();
    let length = digits(name);
    let (before, number) = name.split_at(name.len() - length);
    let number = number.parse().ok()?;
    let separator = before.chars().next_back()?;
    if !matches!(separator, '/' | ':' | '_') {
        return None;
    }
    let stem = &before[..before.len() - 1];
    let index = digits(stem);
    let stem = match stem[..stem.len() - index].strip_suffix('_') {
        Some(cut) if separator == '_' && index > 0 => format!("{cut}_*"),
        _ => stem.to_owned(),
    };
    Some((format!("{stem}{separator}*"), number))
}

#[cfg(test)]
mod tests {
    use super::*;
    use perfunit_model::samples;

    #[track_caller]
    fn check(name: &str, expected: Option<(&str, u64)>) {
        assert_eq!(parameter(name), expected.map(|(name, number)| (name.to_owned(), number)));
    }

    #[test]
    fn numbers_at_the_end_of_names_are_parameters() {
        check("sort/16", Some(("sort/*", 16)));
        check("sort/random/4096", Some(("sort/random/*", 4096)));
        check("benches::sort::256", Some(("benches::sort::*", 256)));
        check("tests::sums::n_2_256", Some(("tests::sums::n_*_*", 256)));
        check("tests::sums_100", Some(("tests::sums_*", 100)));
        check("tests::sha256", None);
        check("tests::sums", None);
        check("16", None);
        check("a/99999999999999999999999", None);
    }

    fn outcome(name: &str, base_ns: f64, head_ns: f64, verdict: Verdict) -> Outcome {
        let mut outcome = samples::outcome(name, verdict, Some(samples::measured(base_ns, head_ns / base_ns - 1.0)));
        if let Some(measured) = &mut outcome.measured {
            (measured.base_ns, measured.head_ns) = (base_ns, head_ns);
            measured.mode = Mode::Steady;
            let estimate = head_ns / base_ns - 1.0;
            measured.change = perfunit_model::Change { estimate, low: estimate - 0.01, high: estimate + 0.01 };
        }
        outcome
    }

    fn series(of_head: impl Fn(f64) -> f64, last: Verdict) -> Vec<Scaling> {
        let verdict = |n: f64| if n > 1000.0 { last } else { Verdict::Slower };
        let at = |n: f64| outcome(&format!("sort/{n}"), 5.0 + 2.0 * n, of_head(n), verdict(n));
        parameters(&[16.0, 256.0, 4096.0].map(at))
    }

    #[test]
    fn a_series_that_grows_with_another_power_is_found_if_it_is_slower_for_certain() {
        let found = series(|n| 5.0 + n * n, Verdict::Slower);
        assert_eq!((found[0].name.as_str(), found[0].largest), ("sort/*", 4096));
        assert!((found[0].exponent.head.estimate - 2.0).abs() < 0.05 && found[0].ratio > 2000.0);
        assert!(series(|n| 5.0 + n * n, Verdict::Inconclusive).is_empty());
        assert!(series(|n| 5.0 + 20.0 * n, Verdict::Slower).is_empty());
    }
}
