//! Estimates how long measuring will take, and prints it before measuring begins.

use super::options::Accepting;
use super::runs;
use super::session::Session;
use perfunit_model::Run;
use perfunit_model::format::count;
use perfunit_system::term;
use std::time::Duration;

/// Time of a test in a project without an earlier run: between the times of unchanged and of changed tests.
const PER_TEST: Duration = Duration::from_millis(1500);
/// Minimum number of tests in an earlier run for an estimate by it.
const ENOUGH: usize = 5;
/// The time of a shorter comparison is not printed.
const SHORT: Duration = Duration::from_mins(1);

/// Prints how long measuring this many tests takes, if that is long, a user waits for it, and no budget limits it.
pub fn announce(session: &Session<'_>, tests: usize) {
    let options = session.options;
    // Histories consist of many comparisons.
    let is_useful = options.accepting == Accepting::Change && options.measuring.budget.is_none();
    if !is_useful || !term::stderr_is_terminal() {
        return;
    }
    let known = runs::last(&session.context.ours).ok().and_then(|(_, record)| per_test(&record.run));
    if let Some(text) = text(tests, known.unwrap_or(PER_TEST)) {
        session.context.terminal.status("Measuring", &text);
    }
}

/// Returns the mean time of a test in a run.
fn per_test(run: &Run) -> Option<Duration> {
    let seconds: Vec<f64> =
        run.outcomes.iter().filter_map(|outcome| outcome.spent).map(|spent| spent.seconds).collect();
    let mean = seconds.iter().sum::<f64>() / seconds.len() as f64;
    Duration::try_from_secs_f64(mean).ok().filter(|_| seconds.len() >= ENOUGH)
}

fn text(tests: usize, per_test: Duration) -> Option<String> {
    let time = per_test.saturating_mul(u32::try_from(tests).unwrap_or(u32::MAX));
    let minutes = (time.as_secs_f64() / 60.0).round();
    let tests = count(tests, "test");
    (time > SHORT).then(|| format!("{tests}, about {minutes} min; `--budget 60s` measures the likeliest first"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use perfunit_model::Verdict;
    use perfunit_model::samples::{measured, outcome, run, unmeasured};

    #[test]
    fn only_long_comparisons_have_a_line() {
        let said = |tests| text(tests, PER_TEST);
        assert_eq!(said(183).unwrap(), "183 tests, about 5 min; `--budget 60s` measures the likeliest first");
        assert_eq!((said(0), said(1), said(40)), (None, None, None));
        assert!(said(41).is_some_and(|text| text.contains("41 tests, about 1 min;")));
    }

    #[test]
    fn the_last_run_says_how_long_a_test_takes() {
        let test = |name: &str| outcome(name, Verdict::Same, Some(measured(1e3, 0.0)));
        let with = |tests: usize| {
            let outcomes = (0..tests).map(|index| test(&index.to_string())).chain([unmeasured("x", None)]);
            per_test(&run(outcomes.collect()))
        };
        assert_eq!(with(6), Some(Duration::from_millis(1500)));
        assert_eq!((with(4), with(0)), (None, None));
    }
}
