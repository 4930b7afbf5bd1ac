use super::*;

const RULE: Rule =
    Rule { alpha: 0.01, alpha_of_change: 0.01, threshold: 0.10, distance: 0.0, bias: 0.0, looks: Looks::OF_PAIRS };

/// Returns `count` log ratios around `change` (a fraction of base) that alternate by `spread` (logarithmic) to either
/// side.
fn around(change: f64, spread: f64, count: usize) -> Vec<f64> {
    (0..count).map(|i| change.ln_1p() + if i % 2 == 0 { spread } else { -spread }).collect()
}

/// Checks the verdict of a look; `expected` is `None` if nothing is clear.
#[track_caller]
fn check(log_ratios: &[f64], expected: Option<Verdict>) {
    let verdict = look(&RULE, log_ratios).map(|decision| decision.verdict);
    assert_eq!(verdict, expected);
}

#[track_caller]
fn check_conclusion(log_ratios: &[f64], expected: Verdict, values: usize) {
    let decision = conclude(&RULE, log_ratios).unwrap();
    assert_eq!((decision.verdict, decision.values), (expected, values));
}

// With 8 pairs of +-2 %, the interval reaches about 9 % to either side.

#[test]
fn a_large_change_is_decided_at_the_first_look() {
    check(&around(0.25, 0.02, 8), Some(Verdict::Slower));
    check(&around(-0.25, 0.02, 8), Some(Verdict::Faster));
}

#[test]
fn a_change_needs_only_its_estimate_beyond_the_threshold() {
    check(&around(0.11, 0.01, 8), Some(Verdict::Slower));
    check(&around(-0.11, 0.01, 8), Some(Verdict::Faster));
}

#[test]
fn an_interval_that_nearly_holds_zero_is_no_change_yet() {
    // 11 % [3.7, 19] is less than half of the threshold away from 0, at the end as well.
    let near = around(0.11, 0.02, 8);
    check(&near, None);
    check_conclusion(&near, Verdict::Inconclusive, 8);
    // 50 % [10, 104] is less than a quarter of the estimate away from 0, which more pairs may correct.
    let wide = around(0.5, 0.09, 8);
    check(&wide, None);
    check_conclusion(&wide, Verdict::Slower, 8);
}

#[test]
fn a_change_has_a_level_of_its_own() {
    let values = around(0.15, 0.02, 8);
    let strict = Rule { alpha_of_change: 1e-6, ..RULE };
    assert_eq!(look(&RULE, &values).unwrap().verdict, Verdict::Slower);
    assert_eq!(look(&strict, &values), None);
    // The interval that is shown is the one that decides.
    let conclusion = conclude(&strict, &values).unwrap();
    assert!(conclusion.verdict == Verdict::Inconclusive && conclusion.change.low < 0.0);
    let small = around(0.0, 0.01, 8);
    assert_eq!(look(&strict, &small).unwrap().change, look(&RULE, &small).unwrap().change);
}

#[test]
fn the_threshold_is_a_fraction_of_base_and_belongs_to_the_change() {
    let rule = |threshold| Rule { threshold, ..RULE };
    let twice = vec![2_f64.ln(); 8];
    let half = vec![0.5_f64.ln(); 8];
    let verdict = |threshold, values: &[f64]| conclude(&rule(threshold), values).unwrap().verdict;
    assert_eq!(verdict(0.999, &twice), Verdict::Slower);
    assert_eq!(verdict(1.001, &twice), Verdict::ChangedBelowThreshold);
    assert_eq!(verdict(0.499, &half), Verdict::Faster);
    assert_eq!(verdict(0.501, &half), Verdict::ChangedBelowThreshold);
    assert_eq!(verdict(0.0, &[1e-9; 8]), Verdict::Slower);
}

#[test]
fn a_small_certain_change_is_changed_below_threshold() {
    check(&around(0.03, 0.002, 8), Some(Verdict::ChangedBelowThreshold));
    check(&around(-0.03, 0.002, 8), Some(Verdict::ChangedBelowThreshold));
}

#[test]
fn an_interval_around_zero_inside_the_threshold_is_same() {
    check(&around(0.0, 0.01, 8), Some(Verdict::Same));
    check(&[0.0; 8], Some(Verdict::Same));
}

#[test]
fn a_small_threshold_leaves_open_no_more_than_its_margin() {
    let rule = Rule { threshold: 0.01, ..RULE };
    let verdict = |change, spread| look(&rule, &around(change, spread, 8)).map(|decision| decision.verdict);
    // [-1.7 %, 1.7 %] lies inside the margin of 2 %.
    assert_eq!(verdict(0.0, 0.005), Some(Verdict::Same));
    // The estimate is 0.9 % [0.6, 1.2].
    assert_eq!(verdict(0.009, 0.001), Some(Verdict::ChangedBelowThreshold));
    // The estimate is 1.3 % [1.0, 1.6], which is a change although it lies inside the margin.
    assert_eq!(verdict(0.013, 0.001), Some(Verdict::Slower));
    // The estimates 1.2 % [0.2, 2.2] and 1.3 % [0.4, 2.2] give no verdict yet.
    assert_eq!([verdict(0.012, 0.003), verdict(0.013, 0.0025)], [None, None]);
    assert_eq!(verdict(0.0, 0.006), None);
}

#[test]
fn an_unclear_interval_asks_for_more_pairs() {
    check(&around(0.0, 0.05, 8), None);
    check(&around(0.08, 0.05, 8), None);
}

#[test]
fn an_estimate_inside_with_an_interval_across_the_threshold_asks_for_more_pairs() {
    let values = around(0.09, 0.01, 8);
    check(&values, None);
    check_conclusion(&values, Verdict::Inconclusive, 8);
}

#[test]
fn between_looks_nothing_is_decided() {
    for count in [0, 3, 7, 9, 12, 100, 513] {
        check(&around(0.25, 0.02, count), None);
    }
}

#[test]
fn the_last_look_concludes() {
    let noise = around(0.0, 0.5, 512);
    check(&noise, None);
    let mut sequential = Sequential::new(RULE);
    let (last, before) = noise.split_last().unwrap();
    assert!(before.iter().all(|value| sequential.push(*value, usize::MAX) == Step::Continue));
    let Step::Ended(Some(decision)) = sequential.push(*last, usize::MAX) else { panic!("there are no more looks") };
    assert_eq!(decision.verdict, Verdict::Inconclusive);
}

#[test]
fn an_ended_budget_falls_back_to_the_last_planned_look() {
    check_conclusion(&around(0.25, 0.02, 15), Verdict::Slower, 8);
    check_conclusion(&around(0.0, 0.2, 200), Verdict::Inconclusive, 128);
    check_conclusion(&around(0.0, 0.01, 600), Verdict::Same, 512);
    // The 8 pairs of the look show no difference; the pairs after the look are ignored although they would show one.
    let mut values = around(0.0, 0.2, 8);
    values.extend([0.5; 7]);
    check_conclusion(&values, Verdict::Inconclusive, 8);
}

#[test]
fn fewer_than_eight_pairs_are_never_conclusive() {
    check_conclusion(&[0.5; 7], Verdict::Inconclusive, 7);
    check_conclusion(&[0.0; 4], Verdict::Inconclusive, 4);
}

#[test]
fn too_few_or_unusable_pairs_have_no_decision() {
    assert_eq!(conclude(&RULE, &[0.5; 3]), None);
    assert_eq!(conclude(&RULE, &[f64::NAN; 8]), None);
    assert_eq!(look(&RULE, &[f64::NAN; 8]), None);
}

#[test]
fn figures_are_fractions_of_base_at_the_level_of_one_look() {
    let values = around(0.25, 0.02, 8);
    let decision = conclude(&RULE, &values).unwrap();
    let estimate = Estimate::of(&values).unwrap();
    let interval = estimate.interval(0.3 * 0.01);
    assert!((decision.change.estimate - 0.25).abs() < 1e-12);
    assert!((decision.change.low - (interval.low.exp() - 1.0)).abs() < 1e-12);
    assert!((decision.change.high - (interval.high.exp() - 1.0)).abs() < 1e-12);
    let half = interval.high - interval.estimate;
    assert!((decision.detectable - (estimate.detectable(half, 0.99).exp() - 1.0)).abs() < 1e-12);
}

#[test]
fn the_p_value_is_at_most_alpha_exactly_when_the_interval_excludes_zero() {
    for thousandths in 0..100 {
        let decision = conclude(&RULE, &around(f64::from(thousandths) / 1000.0, 0.01, 8)).unwrap();
        let excludes = decision.change.low > 0.0 || decision.change.high < 0.0;
        assert_eq!(decision.p_value <= RULE.alpha, excludes, "{decision:?}");
    }
}

/// Returns eight evenly spread values around 0, twice.
fn noise(spread: f64) -> Vec<f64> {
    (0..16).map(|i| spread * (f64::from(i * 5 % 8) - 3.5)).collect()
}

#[test]
fn going_on_is_hopeless_only_if_no_look_can_help() {
    // The next look is out of reach.
    assert!(is_hopeless(&RULE, &noise(0.05), 31));
    // The next look is within reach, and the interval would be narrow enough.
    assert!(!is_hopeless(&RULE, &noise(0.02), 64));
    // The look is within reach, but pairs that differ by factors would need thousands; the first look alone does not
    // show that.
    assert!(is_hopeless(&RULE, &noise(0.5), 64));
    assert!(!is_hopeless(&RULE, &noise(0.5)[..8], 64));
}

#[test]
fn values_go_on_until_they_exclude_large_changes() {
    let strict = Rule { threshold: 0.01, ..RULE };
    // Neither 1 % nor 2 % can be decided, but 10 % can be excluded, and is not excluded yet.
    assert!(!is_hopeless(&strict, &noise(0.04), 64));
    // 10 % cannot be excluded, or is excluded already.
    assert!(is_hopeless(&strict, &noise(0.15), 64));
    assert!(is_hopeless(&strict, &noise(0.026), 32));
}

#[test]
fn a_change_that_could_have_another_cause_goes_on_until_that_is_excluded() {
    let values: Vec<f64> = (0..64).map(|i| 0.2 + 0.012 * f64::from(i * 5 % 8 - 3)).collect();
    let mut first = Sequential::new(RULE);
    let decided = values[..8].iter().find_map(|value| match first.push(*value, 512) {
        Step::Ended(decision) => decision,
        Step::Continue => None,
    });
    let early = decided.unwrap();
    assert_eq!((early.verdict, early.values), (Verdict::Slower, 8));
    assert!(early.change.from_zero() < 0.15);
    let mut further = first.continued_to(0.15);
    let end = values[8..].iter().find_map(|value| match further.push(*value, 512) {
        Step::Ended(decision) => decision,
        Step::Continue => None,
    });
    let end = end.unwrap();
    assert_eq!(end.verdict, Verdict::Slower);
    assert!(end.values > 8 && end.change.from_zero() >= 0.15, "{end:?}");
    // Without more values the result stays open, and the usual distance gives the same verdict as before.
    let cut = Sequential { ended: None, ..further }.continued_to(0.3);
    assert_eq!(cut.conclude().unwrap().verdict, Verdict::Inconclusive);
    assert_eq!(cut.continued_to(0.0).conclude().unwrap().verdict, Verdict::Slower);
}

#[test]
fn a_disturbance_of_half_of_the_values_is_no_forecast() {
    let strict = Rule { threshold: 0.01, ..RULE };
    let disturbed = [noise(0.1)[..8].to_vec(), noise(0.001)[..8].to_vec()].concat();
    assert!(!is_hopeless(&strict, &disturbed, 64));
    let single = [0.004, -0.003, 0.31, 0.002, -0.22, 0.001, -0.002, 0.19].repeat(2);
    assert!(!is_hopeless(&strict, &single, 64));
    assert!(is_hopeless(&strict, &noise(0.1), 64));
}

#[test]
fn a_bias_widens_every_interval_and_no_number_of_pairs_narrows_it() {
    let pairs: Vec<f64> = (0..512).map(|pair| 0.2 + 1e-4 * f64::from(pair % 7)).collect();
    let decided = |bias| conclude(&Rule { bias, ..RULE }, &pairs).unwrap();
    let (without, with) = (decided(0.0), decided(0.09));
    assert_eq!((without.verdict, with.verdict), (Verdict::Slower, Verdict::Slower));
    assert!((with.change.low.ln_1p() - without.change.low.ln_1p() + 0.09).abs() < 1e-12);
    assert!((with.change.high.ln_1p() - without.change.high.ln_1p() - 0.09).abs() < 1e-12);
    assert!(with.detectable > 0.09);
    assert_eq!(decided(0.3).verdict, Verdict::Inconclusive);
}

#[test]
fn what_is_clear_ends_and_stays() {
    let mut sequential = Sequential::new(RULE);
    let steps: Vec<Step> = around(0.25, 0.02, 12).into_iter().map(|value| sequential.push(value, usize::MAX)).collect();
    assert!(steps[..7].iter().all(|step| *step == Step::Continue));
    let Step::Ended(Some(decision)) = steps[7] else { panic!("it is clear") };
    assert_eq!((decision.verdict, decision.values), (Verdict::Slower, 8));
    assert!(steps[8..].iter().all(|step| *step == steps[7]));
    assert_eq!(sequential.conclude(), Some(decision));
}

#[test]
fn the_end_of_time_ends_it() {
    let mut sequential = Sequential::new(RULE);
    let noise = around(0.0, 0.2, 12);
    assert!(noise[..11].iter().all(|value| sequential.push(*value, 600) == Step::Continue));
    let Step::Ended(Some(decision)) = sequential.push(noise[11], 12) else { panic!("there is no time left") };
    assert_eq!((decision.verdict, decision.values), (Verdict::Inconclusive, 8));
    assert_eq!(Sequential::new(RULE).push(0.5, 1), Step::Ended(None));
}

#[test]
fn fresh_values_have_the_last_word_unless_they_contradict() {
    use Verdict::{ChangedBelowThreshold, Faster, Inconclusive, Same, Slower};
    for fresh in [Slower, ChangedBelowThreshold, Same, Inconclusive] {
        assert_eq!(on_fresh_values(Slower, fresh), fresh);
        assert_eq!(on_fresh_values(Same, fresh), fresh);
    }
    assert_eq!(on_fresh_values(Slower, Faster), Inconclusive);
    assert_eq!(on_fresh_values(Faster, Slower), Inconclusive);
}

#[test]
fn of_two_groups_of_layouts_the_median_says_what_most_of_them_say() {
    let mut log_ratios: Vec<f64> = (0..48).map(|number| 0.2 + 0.001 * f64::from(number % 7)).collect();
    log_ratios.extend((0..16).map(|number| -0.4 + 0.001 * f64::from(number)));
    let rule = Rule { alpha_of_change: 0.001, looks: Looks::of_layouts(0.001), ..RULE };
    let decision = look(&rule, &log_ratios).unwrap();
    assert_eq!(decision.verdict, Verdict::Slower);
    assert!(decision.change.low > 0.2 && decision.change.high < 0.24, "{decision:?}");
    assert!(decision.p_value < 0.001);
    // On one layout there are no groups of layouts, and half of the values are not a majority.
    assert_eq!(look(&Rule { looks: Looks::OF_PAIRS, ..rule }, &log_ratios), None);
    log_ratios[32..].fill(-0.4);
    assert_eq!(look(&rule, &log_ratios), None);
}

#[test]
fn a_few_values_of_one_group_do_not_hide_the_other() {
    // The two equal groups are at -20 % and 25 %: seven of eight pairs are in the upper one, then thirteen of sixteen.
    let groups = |upper: usize, all: usize| -> Vec<f64> {
        let group = |number| if number < upper { 0.25_f64 } else { -0.2 };
        (0..all).map(|number| group(number * 5 % all).ln_1p() + 0.001 * (number % 2) as f64).collect()
    };
    check(&groups(7, 8), None);
    check_conclusion(&groups(7, 8), Verdict::Inconclusive, 8);
    check(&groups(13, 16), None);
    check(&groups(24, 32), None);
    // The same groups around the margin: most values show no change.
    let most_are_the_same: Vec<f64> = groups(7, 8).iter().map(|value| value - 0.223).collect();
    check(&most_are_the_same, None);
    // The interval that is shown reaches the other group.
    let change = conclude(&RULE, &groups(7, 8)).unwrap().change;
    assert!(change.estimate > 0.24 && change.low < -0.19, "{change:?}");
}

#[test]
fn one_disturbed_pair_of_sixteen_does_not_matter() {
    let mut values = around(0.25, 0.02, 16);
    values[5] = -1.0;
    check(&values, Some(Verdict::Slower));
    // Among eight pairs it could as well be the first of a group.
    check(&values[..8], None);
}

#[test]
fn eight_values_cannot_confirm_at_a_strict_level() {
    let values = around(0.25, 0.001, 16);
    let strict = Rule { alpha_of_change: 0.001, ..RULE };
    assert_eq!(look(&strict, &values[..8]), None);
    assert_eq!(look(&strict, &values).unwrap().verdict, Verdict::Slower);
    // The verdict on an unchanged test rests on the usual level.
    assert_eq!(look(&strict, &around(0.0, 0.001, 8)).unwrap().verdict, Verdict::Same);
    // If alpha of the whole is divided, eight values decide nothing.
    let divided = Rule { alpha: 0.001, ..strict };
    assert_eq!(look(&divided, &around(0.0, 0.001, 8)), None);
    assert_eq!(look(&divided, &around(0.0, 0.001, 16)).unwrap().verdict, Verdict::Same);
}

#[test]
fn values_that_depend_on_the_one_before_say_less() {
    let alternating = around(0.15, 0.03, 16);
    let mut in_blocks = alternating.clone();
    in_blocks.sort_by(f64::total_cmp);
    let width = |values: &[f64]| {
        let change = conclude(&RULE, values).unwrap().change;
        change.high - change.low
    };
    assert!(width(&in_blocks) > 3.0 * width(&alternating), "{}", width(&in_blocks));
    check(&alternating, Some(Verdict::Slower));
    check(&in_blocks, None);
}
