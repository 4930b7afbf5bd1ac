use super::*;
use fastrand::Rng;
use statrs::distribution::{ContinuousCDF as _, Normal};

/// Commits with known times, compared with noise.
struct Line {
    /// Logarithms of the times; `None` does not build.
    times: Vec<Option<f64>>,
    deviation: f64,
    random: Rng,
    built: BTreeSet<usize>,
}

impl Compare for Line {
    fn compare(&mut self, base: usize, head: usize, effort: u32) -> Result<Answer> {
        let mut time = |index: usize| {
            self.built.insert(index);
            self.times[index]
        };
        let Some(base_time) = time(base) else { return Ok(Answer::Cannot(base)) };
        let Some(head_time) = time(head) else { return Ok(Answer::Cannot(head)) };
        let deviation = self.deviation / f64::from(effort).sqrt();
        let uniform = self.random.f64().clamp(1e-9, 1.0 - 1e-9);
        // Unchanged code is equal by comparing machine code.
        if base_time.to_bits() == head_time.to_bits() {
            return Ok(Answer::Change(LogChange::NONE));
        }
        let estimate = head_time - base_time + deviation * Normal::standard().inverse_cdf(uniform);
        let reach = 3.3 * deviation;
        Ok(Answer::Change(LogChange { estimate, low: estimate - reach, high: estimate + reach }))
    }
}

fn line(times: Vec<Option<f64>>, deviation: f64, seed: u64) -> Line {
    Line { times, deviation, random: Rng::with_seed(seed), built: BTreeSet::new() }
}

/// Returns a line with a step at a random place, in which some commits do not build.
fn with_step(seed: u64, broken: f64, effect: f64) -> (Line, usize, usize) {
    let mut random = Rng::with_seed(seed);
    let last = random.usize(2..200);
    let step = random.usize(1..=last);
    let time = |index: usize| if index >= step { effect.ln_1p() } else { 0.0 };
    let builds = |index: usize, random: &mut Rng| index == 0 || index == last || random.f64() >= broken;
    let times = (0..=last).map(|index| builds(index, &mut random).then(|| time(index))).collect();
    (line(times, effect.ln_1p() / 10.0, seed), last, step)
}

fn expect_searched(found: Found) -> Searched {
    let Found::Searched(searched) = found else { panic!("{found:?}") };
    searched
}

/// Returns the steps as pairs of the commits before and after.
fn steps(found: &Searched) -> Vec<(usize, usize)> {
    found.steps.iter().map(|step| (step.before, step.after)).collect()
}

#[test]
fn a_step_is_found_exactly_with_few_builds() {
    for seed in 0..500 {
        let (mut line, last, step) = with_step(seed, 0.0, 0.04);
        let found = expect_searched(largest(last, &mut line).unwrap());
        assert_eq!(steps(&found), [(step - 1, step)], "{seed}: {found:?}, of {last}");
        assert!(!found.up && !found.down && found.left.is_empty(), "{seed}: {found:?}");
        let most = (last as f64).log2().ceil() as usize + 2;
        assert!(line.built.len() <= most, "{seed}: {} of {last} built, at most {most}", line.built.len());
    }
}

#[test]
fn among_commits_that_do_not_build_the_true_one_is_in_the_set() {
    for seed in 0..500 {
        let (mut line, last, step) = with_step(seed, 0.3, 0.04);
        for found in [largest(last, &mut line), all(last, 0.02, &mut line)] {
            let found = expect_searched(found.unwrap());
            let [(before, after)] = steps(&found)[..] else { panic!("{seed}: {found:?}") };
            assert!(before < step && step <= after, "{seed}: {step} is not in {before}..{after}");
            assert!(line.times[before + 1..after].iter().all(Option::is_none), "{seed}");
        }
    }
}

#[test]
fn without_a_step_nothing_is_named() {
    for seed in 0..200 {
        let mut random = Rng::with_seed(seed);
        // Each commit has other code with the same speed.
        let times: Vec<_> = (0..50).map(|index| Some(1e-9 * f64::from(index))).collect();
        let noise = random.u64(..);
        for found in
            [largest(49, &mut line(times.clone(), 0.004, noise)), all(49, 0.02, &mut line(times, 0.004, noise))]
        {
            match found.unwrap() {
                Found::NoChange(_) => {}
                Found::Searched(found) => assert!(found.steps.is_empty(), "{seed}: {found:?}"),
                Found::EndCannot(end) => panic!("{seed}: {end}"),
            }
        }
    }
}

/// Returns times that change to these levels at these commits.
fn levels(last: usize, levels: &[(usize, f64)]) -> Vec<Option<f64>> {
    let at = |index: usize| levels.iter().rev().find(|(from, _)| *from <= index).map_or(0.0, |(_, time)| *time);
    (0..=last).map(|index| Some(at(index))).collect()
}

#[test]
fn of_two_steps_the_larger_is_found_and_the_other_mentioned_and_all_are_found_if_asked_for() {
    let times = levels(63, &[(10, 0.1), (40, 0.3)]);
    let found = expect_searched(largest(63, &mut line(times.clone(), 0.003, 5)).unwrap());
    assert!(steps(&found) == [(39, 40)] && found.up && !found.down, "{found:?}");
    let found = expect_searched(all(63, 0.02, &mut line(times, 0.003, 5)).unwrap());
    assert!(steps(&found) == [(39, 40), (9, 10)] && found.left.is_empty(), "{found:?}");
    assert!(found.rest.unwrap().contains(0.0), "{found:?}");
}

#[test]
fn a_test_that_got_slower_and_faster_again_is_reported_so() {
    for seed in 0..100 {
        let times = levels(31, &[(9, 0.3), (20, 0.2)]);
        let found = expect_searched(largest(31, &mut line(times.clone(), 0.005, seed)).unwrap());
        assert!(steps(&found) == [(8, 9)] && found.down && !found.up, "{seed}: {found:?}");
        let found = expect_searched(all(31, 0.02, &mut line(times, 0.005, seed)).unwrap());
        assert_eq!(steps(&found), [(8, 9), (19, 20)], "{seed}: {found:?}");
        assert!(found.steps[0].change.low > 0.0 && found.steps[1].change.high < 0.0, "{seed}: {found:?}");
    }
}

#[test]
fn many_small_steps_are_no_step_but_a_rest() {
    let times = (0..=32).map(|index| Some(0.002 * f64::from(index))).collect();
    let found = expect_searched(all(32, 0.02, &mut line(times, 0.001, 3)).unwrap());
    assert!(found.steps.is_empty() && found.left.is_empty(), "{found:?}");
    assert!(found.rest.unwrap().low > 0.05, "{found:?}");
}

/// Answers this many comparisons and then stops.
struct Interrupted(Line, usize);

impl Compare for Interrupted {
    fn compare(&mut self, base: usize, head: usize, effort: u32) -> Result<Answer> {
        let Some(left) = self.1.checked_sub(1) else { return Ok(Answer::Stop) };
        self.1 = left;
        self.0.compare(base, head, effort)
    }
}

#[test]
fn an_interrupted_search_says_where_the_change_is() {
    for questions in 0..6 {
        let interrupted = || Interrupted(line(levels(63, &[(10, 0.1), (40, 0.3)]), 0.003, 5), questions);
        for found in [largest(63, &mut interrupted()), all(63, 0.02, &mut interrupted())] {
            let found = expect_searched(found.unwrap());
            let is_in = |(stretch, left): &(Stretch, Left)| {
                *left == Left::Stopped && stretch.before < 40 && 40 <= stretch.after
            };
            assert!(found.left.iter().any(is_in) && found.rest.is_none(), "{questions}: {found:?}");
        }
    }
}

#[test]
fn ends_in_the_wrong_order_or_broken_are_reported() {
    for found in [
        largest(2, &mut line(vec![Some(0.2), Some(0.1), Some(0.0)], 0.003, 1)),
        all(2, 0.02, &mut line(vec![Some(0.2), Some(0.1), Some(0.0)], 0.003, 1)),
    ] {
        assert!(matches!(found, Ok(Found::NoChange(change)) if change.high < 0.0), "{found:?}");
    }
    let found = largest(2, &mut line(vec![Some(0.2), Some(0.1), None], 0.003, 1)).unwrap();
    assert_eq!(found, Found::EndCannot(2));
}
