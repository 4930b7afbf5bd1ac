//! Error rates of the sequential rule on artificial pairs, with fixed seeds.
//!
//! The quick tests print tables of few experiments (`cargo test simulated -- --nocapture`) and fail if a rate is worse
//! than claimed by more than chance allows. `docs/measurements/false-alarms.md` and
//! `docs/measurements/sensitivity.md` show the tables of
//! `cargo test --release -p perfunit-decide simulated_tables -- --ignored --nocapture` and of
//! `cargo test --release -p perfunit-decide simulated_by_shape -- --ignored --nocapture`.

mod noise;
mod shapes;
mod whole_rule;

use super::{Decision, Estimate, Looks, Rule, Sequential, Step, conclude, confirmation_alpha, on_fresh_values};
use noise::{Noise, Shape};
use perfunit_model::Verdict;
use std::fmt::Write;

const ALPHA: f64 = 0.01;
const SEED: u64 = 0x5eed;
const SYMMETRIC: [Shape; 4] = [Shape::Normal, Shape::HeavyTails, Shape::Contaminated, Shape::SkewedSides];

/// Returns a seed for each row: rows of a table with equal draws would agree by construction.
fn seed(row: &[f64]) -> u64 {
    row.iter().fold(SEED, |seed, value| seed.rotate_left(13) ^ value.to_bits())
}

/// Applies the rule from the first look to its decision. The true `change` is a fraction of base, and `deviation` is
/// the standard deviation of the noise of a pair's log ratio.
fn decide(rule: &Rule, change: f64, deviation: f64, noise: &mut Noise) -> Decision {
    decide_within(rule, usize::MAX, change, deviation, noise)
}

/// Applies the rule in the same way, but stops after `most` values.
fn decide_within(rule: &Rule, most: usize, change: f64, deviation: f64, noise: &mut Noise) -> Decision {
    let mut sequential = Sequential::new(*rule);
    let ended = (0..most).find_map(|_| match sequential.push(change.ln_1p() + deviation * noise.draw(), usize::MAX) {
        Step::Ended(decision) => Some(decision),
        Step::Continue => None,
    });
    ended.unwrap_or_else(|| sequential.conclude()).expect("it does not end before the first look")
}

fn rule(threshold: f64) -> Rule {
    Rule { alpha: ALPHA, alpha_of_change: ALPHA, threshold, distance: 0.0, bias: 0.0, looks: Looks::OF_PAIRS }
}

/// Counts over experiments of one kind.
#[derive(Default)]
struct Tally {
    experiments: usize,
    slower: usize,
    faster: usize,
    below: usize,
    same: usize,
    inconclusive: usize,
    /// Intervals of the deciding look that miss the true change.
    missed: usize,
    pairs: usize,
}

impl Tally {
    fn of(experiments: usize, rule: &Rule, change: f64, deviation: f64, shape: Shape) -> Self {
        let mut noise = Noise::new(shape, seed(&[rule.threshold, change, deviation]));
        let mut tally = Tally::default();
        for _ in 0..experiments {
            tally.add(&decide(rule, change, deviation, &mut noise), change);
        }
        tally
    }

    fn add(&mut self, decision: &Decision, change: f64) {
        self.experiments += 1;
        self.slower += usize::from(decision.verdict == Verdict::Slower);
        self.faster += usize::from(decision.verdict == Verdict::Faster);
        self.below += usize::from(decision.verdict == Verdict::ChangedBelowThreshold);
        self.same += usize::from(decision.verdict == Verdict::Same);
        self.inconclusive += usize::from(decision.verdict == Verdict::Inconclusive);
        self.missed += usize::from(change < decision.change.low || decision.change.high < change);
        self.pairs += decision.values;
    }

    fn merge(&mut self, other: &Tally) {
        self.experiments += other.experiments;
        self.slower += other.slower;
        self.faster += other.faster;
        self.below += other.below;
        self.same += other.same;
        self.inconclusive += other.inconclusive;
        self.missed += other.missed;
        self.pairs += other.pairs;
    }

    /// Returns the number of verdicts that claim a change of any size.
    fn count_changed(&self) -> usize {
        self.slower + self.faster + self.below
    }

    fn percent(&self, count: usize) -> f64 {
        100.0 * count as f64 / self.experiments as f64
    }

    /// Passes if a true rate of at most `rate` explains `count`, up to 3.1 standard deviations (one case in 1,000).
    #[track_caller]
    fn assert_at_most(&self, rate: f64, count: usize, what: &str) {
        let experiments = self.experiments as f64;
        let limit = experiments * rate + 3.1 * (experiments * rate * (1.0 - rate)).sqrt();
        assert!(count as f64 <= limit, "{what}: {count} of {experiments} are more than {limit:.1}");
    }
}

/// Returns the table of false alarms of unchanged tests, and the sum of the rows of each shape.
fn type_one_table(experiments: usize, shapes: &[Shape]) -> (String, Vec<Tally>) {
    let mut table = String::from(
        "| noise | SD of a pair | threshold | false slower or faster | any false change | mean pairs |\n\
         |-|-|-|-|-|-|\n",
    );
    let mut tallies = Vec::new();
    for &shape in shapes {
        let mut sum = Tally::default();
        // With threshold 0 the deviation is only a unit.
        for (deviation, threshold) in [(0.02, 0.0), (0.005, 0.001), (0.02, 0.001), (0.05, 0.001)] {
            let tally = Tally::of(experiments, &rule(threshold), 0.0, deviation, shape);
            let (flagged, changed) = (tally.percent(tally.slower + tally.faster), tally.percent(tally.count_changed()));
            let (sd, gate, pairs) = (100.0 * deviation, 100.0 * threshold, tally.pairs / experiments);
            writeln!(table, "| {shape:?} | {sd} % | {gate} % | {flagged:.2} % | {changed:.2} % | {pairs} |").unwrap();
            sum.merge(&tally);
        }
        tallies.push(sum);
    }
    (table, tallies)
}

/// Returns the table of verdicts by true change.
fn power_table(experiments: usize, threshold: f64, deviations: &[f64], changes: &[f64], shape: Shape) -> String {
    let gate = 100.0 * threshold;
    let mut table = format!("Threshold {gate} %, {shape:?} noise:\n\n");
    table += "| SD of a pair | true change | slower | changed below | same | faster or inconclusive | mean pairs |\n";
    table += "|-|-|-|-|-|-|-|\n";
    for &deviation in deviations {
        for &change in changes {
            let tally = Tally::of(experiments, &rule(threshold), change, deviation, shape);
            let counts = [tally.slower, tally.below, tally.same, tally.faster + tally.inconclusive];
            let [slower, below, same, rest] = counts.map(|count| tally.percent(count));
            let (sd, truth, pairs) = (100.0 * deviation, 100.0 * change, tally.pairs / experiments);
            writeln!(
                table,
                "| {sd} % | {truth:+.1} % | {slower:.1} % | {below:.1} % | {same:.1} % | {rest:.1} % | {pairs} |"
            )
            .unwrap();
        }
    }
    table
}

/// Counts the intervals at level `ALPHA` that miss the truth at a fixed number of pairs.
fn coverage(experiments: usize, pairs: usize, shape: Shape) -> Tally {
    let mut noise = Noise::new(shape, seed(&[pairs as f64]));
    let mut tally = Tally { experiments, ..Tally::default() };
    for _ in 0..experiments {
        let values: Vec<f64> = (0..pairs).map(|_| noise.draw()).collect();
        let interval = Estimate::of(&values).unwrap().interval(ALPHA);
        tally.missed += usize::from(interval.low > 0.0 || interval.high < 0.0);
    }
    tally
}

fn coverage_table(experiments: usize, looks: &[usize], shapes: &[Shape]) -> (String, Vec<Tally>) {
    let mut table = String::from("| noise | pairs | intervals at 99 % that miss |\n|-|-|-|\n");
    let mut tallies = Vec::new();
    for &shape in shapes {
        for &pairs in looks {
            let tally = coverage(experiments, pairs, shape);
            writeln!(table, "| {shape:?} | {pairs} | {:.2} % |", tally.percent(tally.missed)).unwrap();
            tallies.push(tally);
        }
    }
    (table, tallies)
}

/// Simulates runs of 200 unchanged tests each, screened and confirmed on fresh pairs. Returns the flags after
/// screening, the tests still flagged in the same direction after confirmation, and the runs that have such a test.
fn two_step(runs: usize, shape: Shape) -> (Tally, usize, Tally) {
    const TESTS: usize = 200;
    let screening = rule(0.01);
    let confirmation = Rule { alpha_of_change: confirmation_alpha(ALPHA, TESTS), ..screening };
    let mut noise = Noise::new(shape, SEED);
    let mut screened = Tally::default();
    let mut confirmed = 0;
    let mut false_runs = Tally { experiments: runs, ..Tally::default() };
    for _ in 0..runs {
        let before = confirmed;
        for _ in 0..TESTS {
            let decision = decide(&screening, 0.0, 0.02, &mut noise);
            screened.add(&decision, 0.0);
            if decision.verdict.is_change() {
                let fresh = decide(&confirmation, 0.0, 0.02, &mut noise);
                confirmed += usize::from(on_fresh_values(decision.verdict, fresh.verdict) == decision.verdict);
            }
        }
        false_runs.slower += usize::from(confirmed > before);
    }
    (screened, confirmed, false_runs)
}

fn two_step_table(runs: usize, shapes: &[Shape]) -> (String, Vec<(Tally, Tally)>) {
    let mut table = String::from(
        "| noise | runs of 200 unchanged tests | flagged by screening | still flagged after confirmation | \
         runs with a false alarm |\n|-|-|-|-|-|\n",
    );
    let mut tallies = Vec::new();
    for &shape in shapes {
        let (screened, confirmed, false_runs) = two_step(runs, shape);
        let flagged = screened.slower + screened.faster;
        let (percent, tests) = (screened.percent(flagged), screened.experiments);
        let of_runs = false_runs.percent(false_runs.slower);
        writeln!(
            table,
            "| {shape:?} | {runs} | {flagged} of {tests} ({percent:.2} %) | {confirmed} | {of_runs:.2} % |"
        )
        .unwrap();
        tallies.push((screened, false_runs));
    }
    (table, tallies)
}

#[test]
fn simulated_unchanged_tests_are_flagged_less_often_than_alpha() {
    let (table, tallies) = type_one_table(250, &SYMMETRIC);
    println!("{table}");
    for tally in tallies {
        tally.assert_at_most(ALPHA, tally.count_changed(), "false change");
        tally.assert_at_most(ALPHA, tally.missed, "interval of the deciding look misses 0");
    }
}

#[test]
fn simulated_runs_of_unchanged_tests_hold_no_confirmed_false_alarm() {
    let (table, tallies) = two_step_table(10, &[Shape::Normal, Shape::HeavyTails]);
    println!("{table}");
    for (screened, false_runs) in tallies {
        screened.assert_at_most(ALPHA, screened.slower + screened.faster, "flagged by screening");
        assert_eq!(false_runs.slower, 0);
    }
}

#[test]
fn simulated_large_changes_are_always_found() {
    let rule = rule(0.10);
    for shape in SYMMETRIC {
        let slower = Tally::of(200, &rule, 0.25, 0.02, shape);
        assert_eq!(slower.slower, 200, "{shape:?}");
        slower.assert_at_most(ALPHA, slower.missed, "interval of the deciding look misses the truth");
        let faster = Tally::of(200, &rule, -0.25, 0.02, shape);
        assert_eq!(faster.faster, 200, "{shape:?}");
    }
}

#[test]
fn simulated_changes_near_the_threshold_fall_on_their_side() {
    let rule = rule(0.10);
    println!("{}", power_table(200, 0.10, &[0.02], &[0.0, 0.05, 0.08, 0.10, 0.12, 0.15, 0.25], Shape::Normal));
    for shape in SYMMETRIC {
        for (deviation, within, beyond) in [(0.005, 0.09, 0.11), (0.02, 0.08, 0.12), (0.05, 0.05, 0.15)] {
            let tally = Tally::of(200, &rule, within, deviation, shape);
            tally.assert_at_most(0.02, tally.slower, "slower, although below the threshold");
            tally.assert_at_most(ALPHA, tally.missed, "interval misses a change below the threshold");
            let tally = Tally::of(200, &rule, beyond, deviation, shape);
            tally.assert_at_most(0.02, 200 - tally.slower, "not slower, although beyond the threshold");
            tally.assert_at_most(ALPHA, tally.missed, "interval misses a change beyond the threshold");
        }
    }
}

#[test]
fn simulated_quiet_unchanged_tests_are_the_same_with_few_pairs() {
    let tally = Tally::of(500, &rule(0.10), 0.0, 0.02, Shape::Normal);
    tally.assert_at_most(ALPHA, tally.experiments - tally.same, "not the same");
    assert!(tally.pairs / tally.experiments <= 16, "{} pairs", tally.pairs / tally.experiments);
}

#[test]
fn simulated_intervals_cover_the_truth() {
    let (table, tallies) = coverage_table(1_000, &[8, 16, 32, 64], &SYMMETRIC);
    println!("{table}");
    for tally in tallies {
        tally.assert_at_most(ALPHA, tally.missed, "interval misses the truth");
    }
}

#[test]
fn simulated_changes_of_detectable_size_are_found_with_the_stated_power() {
    let mut noise = Noise::new(Shape::Normal, SEED);
    let rule = rule(0.001);
    let draws: Vec<[f64; 32]> = (0..1_000).map(|_| [(); 32].map(|()| 0.01 * noise.draw())).collect();
    let mut tally = Tally { experiments: draws.len(), ..Tally::default() };
    // Each look computes its own detectable change; the mean is close to the true one, and becomes the change.
    let detectable = |values: &[f64; 32]| conclude(&rule, values).unwrap().detectable.ln_1p();
    let change = draws.iter().map(detectable).sum::<f64>() / draws.len() as f64;
    for values in draws {
        let shifted = values.map(|value| value + change);
        tally.missed += usize::from(conclude(&rule, &shifted).unwrap().change.low <= 0.0);
    }
    // The limit is twice the nominal 1 %, because the mean of a spread of errors flatters.
    tally.assert_at_most(0.02, tally.missed, "changes of detectable size not found");
}

#[test]
#[ignore = "minutes in release; for the tables in the docs"]
fn simulated_by_shape_units() {
    println!("{}", shapes::unit_table(8_000));
}

#[test]
#[ignore = "minutes in release; for the tables in the docs"]
fn simulated_by_shape_error_rates() {
    println!("{}", shapes::error_table(8_000));
}

#[test]
#[ignore = "minutes in release; for the tables in the docs"]
fn simulated_by_shape_verdicts() {
    println!("{}", shapes::verdict_table(500));
}

#[test]
#[ignore = "minutes in release; for the tables in the docs"]
fn simulated_by_shape_bounds() {
    println!("{}", shapes::bound_table(8_000));
}

#[test]
#[ignore = "minutes in release; for the tables in the docs"]
fn simulated_by_shape_confirmation() {
    println!("{}", shapes::confirmation_table(8_000));
}

#[test]
#[ignore = "more than a minute in release; for the tables in the docs"]
fn simulated_tables() {
    let all = [SYMMETRIC.as_slice(), &[Shape::Lopsided, Shape::Correlated(0.3)]].concat();
    println!("{}", type_one_table(20_000, &all).0);
    println!("{}", two_step_table(500, &all).0);
    println!("{}", coverage_table(20_000, &Looks::OF_PAIRS.all().collect::<Vec<_>>(), &all).0);
    let changes = [0.0, 0.05, 0.08, 0.09, 0.10, 0.11, 0.12, 0.15, 0.25];
    for shape in [Shape::Normal, Shape::Contaminated] {
        println!("{}", power_table(10_000, 0.10, &[0.005, 0.02, 0.05, 0.10], &changes, shape));
    }
    let changes = [0.0, 0.005, 0.01, 0.015, 0.02, 0.025, 0.03, 0.05];
    println!("{}", power_table(10_000, 0.02, &[0.005, 0.02, 0.05], &changes, Shape::Normal));
}

#[test]
#[ignore = "minutes in release; for the tables in the docs"]
fn simulated_tables_of_the_whole_rule() {
    println!("{}", whole_rule::table(2_000));
}
