//! Tests that run until a time has passed, and tests that only read the clock.

use crate::support::Project;
use serde_json::Value;

/// Returns functions with a chain of dependent steps, `rounds` of them in one and `seed` in the other.
fn source(rounds: usize, seed: u64) -> String {
    format!(
        r"
#[inline(never)]
pub fn mix(seed: u64) -> u64 {{
    steps(seed, {rounds})
}}

#[inline(never)]
pub fn blend(seed: u64) -> u64 {{
    steps(seed ^ {seed}, 600)
}}

#[inline(never)]
fn steps(seed: u64, rounds: u64) -> u64 {{
    let mut state = seed | 1;
    for round in 0..std::hint::black_box(rounds) {{
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state = state.wrapping_add(round);
    }}
    state
}}

#[cfg(test)]
mod tests {{
    use super::{{blend, mix}};
    use std::sync::atomic::{{AtomicBool, Ordering}};
    use std::time::{{Duration, Instant, SystemTime}};

    fn until(deadline: Duration, function: fn(u64) -> u64) {{
        let (start, mut round) = (Instant::now(), 0);
        while start.elapsed() < deadline {{
            round += 1;
            assert_ne!(function(round), 0);
        }}
    }}

    #[test]
    fn loops_until_a_deadline() {{
        until(Duration::from_millis(20), mix);
    }}

    #[test]
    fn loops_for_long() {{
        until(Duration::from_millis(300), mix);
    }}

    #[test]
    fn loops_and_does_the_same() {{
        until(Duration::from_millis(20), blend);
    }}

    #[test]
    fn loops_by_the_time_of_day_in_few_rounds() {{
        let start = SystemTime::now();
        while start.elapsed().unwrap() < Duration::from_millis(10) {{
            assert_ne!((0..1000).fold(1, |state, round| mix(state ^ round)), 0);
        }}
    }}

    #[test]
    fn times_each_round() {{
        for round in 0..3000 {{
            let start = Instant::now();
            assert_ne!(mix(round), 0);
            assert!(start.elapsed() < Duration::from_secs(5));
        }}
    }}

    #[test]
    fn polls_a_worker() {{
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {{
            scope.spawn(|| {{
                assert_ne!((0..3000).fold(1, |state, round| mix(state ^ round)), 0);
                done.store(true, Ordering::Release);
            }});
            let start = Instant::now();
            while !done.load(Ordering::Acquire) {{
                assert!(start.elapsed() < Duration::from_secs(30));
                std::thread::sleep(Duration::from_micros(300));
            }}
        }});
    }}
}}
"
    )
}

/// Returns the verdict of a test, and whether it is reported to run by the clock.
fn judged(document: &Value, name: &str) -> (String, bool) {
    let tests = document["tests"].as_array().unwrap();
    let test = tests.iter().find(|test| test["name"] == format!("tests::{name}"));
    let test = test.unwrap_or_else(|| panic!("no {name}: {document}"));
    let notes = test["notes"].as_array().unwrap();
    let by_clock = notes.iter().any(|note| note.as_str().is_some_and(|note| note.contains("runs for a fixed time")));
    (test["verdict"].as_str().unwrap().to_owned(), by_clock)
}

#[test]
fn a_test_that_runs_by_the_clock_is_compared_by_equal_work() {
    let project = Project::library(&source(400, 1), &source(1200, 2));
    // A busy machine needs more time but reaches the same verdict.
    let document = project.diff(&["--per-test-budget", "60s"]).expect(100).json();
    let slower = |by_clock| ("slower".to_owned(), by_clock);
    for name in ["loops_until_a_deadline", "loops_for_long", "loops_by_the_time_of_day_in_few_rounds"] {
        assert_eq!(judged(&document, name), slower(true), "{name}: {document:#}");
    }
    // Reading the clock is not running by it.
    for name in ["times_each_round", "polls_a_worker"] {
        assert_eq!(judged(&document, name), slower(false), "{name}: {document:#}");
    }
    let (verdict, by_clock) = judged(&document, "loops_and_does_the_same");
    assert!(by_clock && !["slower", "faster"].contains(&verdict.as_str()), "{verdict}: {document:#}");
}
