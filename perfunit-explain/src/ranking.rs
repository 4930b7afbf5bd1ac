//! All functions of all tests, ranked by the [`score`](super::score) of Zhou and Li: hot spots, bottom-up.

use super::score::score;
use super::usage::usages;
use perfunit_model::{Function, Profiles, Ranked, Spread};
use std::collections::BTreeMap;

/// The functions, those with the highest score first.
pub fn ranking(profiles: &Profiles) -> Vec<Ranked> {
    let mut found: BTreeMap<&Function, Vec<(f64, f64)>> = BTreeMap::new();
    for profile in &profiles.tests {
        let whole = profile.total_cost();
        for (function, usage) in usages(profile) {
            let share = if whole > 0.0 { usage.self_cost / whole } else { 0.0 };
            found.entry(function).or_default().push((share, usage.self_cost));
        }
    }
    let ranked = found.into_iter().filter_map(|(function, used)| {
        let (shares, times): (Vec<f64>, Vec<f64>) = used.into_iter().unzip();
        let (score, self_cost) = (score(&shares)?, Spread::of(&times));
        Some(Ranked { function: function.clone(), score, self_cost, tests: times.len() })
    });
    let mut ranked: Vec<Ranked> = ranked.collect();
    ranked.sort_by(|a, b| b.score.value.total_cmp(&a.score.value));
    ranked
}

#[cfg(test)]
mod tests {
    use super::super::usage::tests::{profile, timed};
    use super::*;

    #[test]
    fn the_shares_of_the_papers_example_rank_as_there() {
        // Shares of 0.9, 0.2, 0.2 and of 0.6, 0.5, 0.5: even beats uneven.
        let profiles = timed([
            profile("1", 0.0, "uneven 1 90, rest 1 10"),
            profile("2", 0.0, "uneven 1 20, rest 1 80"),
            profile("3", 0.0, "uneven 1 20, rest 1 80"),
            profile("4", 0.0, "even 1 600, other 1 400"),
            profile("5", 0.0, "even 1 5, other 1 5"),
            profile("6", 0.0, "even 1 5, other 1 5"),
        ]);
        let ranked = ranking(&profiles);
        let place = |name: &str| ranked.iter().position(|ranked| ranked.function.name == name).unwrap();
        assert!(place("even") < place("uneven"));
        let even = &ranked[place("even")];
        assert!((even.score.distance - 0.535).abs() < 5e-4 && (even.score.deviation - 0.047).abs() < 5e-4);
        assert_eq!((even.tests, even.self_cost.max, even.self_cost.min), (3, 600.0, 5.0));
    }

    #[test]
    fn only_tests_that_call_it_count() {
        let profiles = timed([profile("1", 50.0, "a 1 50"), profile("2", 50.0, "b 1 50")]);
        assert_eq!(ranking(&profiles).iter().map(|ranked| ranked.tests).collect::<Vec<_>>(), [1, 1]);
    }
}
