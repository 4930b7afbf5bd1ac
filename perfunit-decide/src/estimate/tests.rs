use super::*;

/// Relative accuracy of statrs that the tests require, compared with scipy.
const ACCURACY: f64 = 1e-10;

#[track_caller]
fn close(actual: f64, expected: f64) {
    assert!((actual / expected - 1.0).abs() < ACCURACY, "{actual} is not {expected}");
}

/// Checks the quantiles of the tail probabilities .025, .005, .01/14, .001/14 and .00001/14.
#[track_caller]
fn check_quantiles(freedom: f64, expected: [f64; 5]) {
    for (tail, expected) in [0.025, 0.005, 0.01 / 14.0, 0.001 / 14.0, 1e-5 / 14.0].into_iter().zip(expected) {
        close(upper_quantile(tail, freedom), expected);
    }
}

// Tables print the first two columns (2.571 and 4.032 for 5 degrees of freedom); all values are from scipy.stats.t.isf.
// The degrees of freedom are those at 4, 8, 16, 32, 64, 128, 256 and 512 pairs.
#[test]
fn quantiles_as_in_tables_at_every_look_and_level_in_use() {
    check_quantiles(
        3.0,
        [3.182_446_305_284, 5.840_909_309_733, 11.453_164_801_899, 24.851_217_025_843, 115.562_583_471_990],
    );
    check_quantiles(
        5.0,
        [2.570_581_835_636, 4.032_142_983_555, 6.351_760_340_482, 10.380_843_724_119, 26.506_989_604_508],
    );
    check_quantiles(
        9.0,
        [2.262_157_162_798, 3.249_835_541_592, 4.528_839_360_248, 6.288_894_905_112, 11.156_869_432_431],
    );
    check_quantiles(
        19.0,
        [2.093_024_054_408, 2.860_934_606_465, 3.727_134_643_391, 4.738_800_257_918, 6.890_213_754_647],
    );
    check_quantiles(
        39.0,
        [2.022_690_920_037, 2.707_913_183_518, 3.432_788_264_130, 4.215_854_062_478, 5.682_718_001_723],
    );
    check_quantiles(
        77.0,
        [1.991_254_395_388, 2.641_197_611_389, 3.308_369_003_554, 4.002_969_589_851, 5.227_853_713_282],
    );
    check_quantiles(
        153.0,
        [1.975_590_315_005, 2.608_344_423_224, 3.247_989_828_608, 3.901_471_591_139, 5.018_710_288_401],
    );
    check_quantiles(
        307.0,
        [1.967_721_288_155, 2.591_938_276_175, 3.218_059_356_588, 3.851_604_208_656, 4.917_806_959_399],
    );
}

// Wilcox prints 282.7, standard error 56.1 and the .95 interval (160.4, 404.99) for the self-awareness data.
#[test]
fn interval_as_in_the_book() {
    let estimate = Estimate::of(&SELF_AWARENESS).unwrap();
    close(estimate.mean, 282.692_307_692_307_7);
    close(estimate.standard_error, 56.131_928_583_634_505);
    close(estimate.degrees_of_freedom, 12.0);
    let interval = estimate.interval(0.05);
    close(interval.low, 160.391_341_540_320_16);
    close(interval.high, 404.993_273_844_295_23);
    close(interval.estimate, estimate.mean);
    close(estimate.p_value(), 0.000_291_139_490_757_979_33);
}

#[test]
fn eight_pairs_with_an_outlier_as_scipy() {
    let estimate = Estimate::of(&[0.012, -0.004, 0.021, 0.008, 0.015, 0.003, 0.35, -0.011]).unwrap();
    close(estimate.mean, 0.009_166_666_666_666_668);
    close(estimate.standard_error, 0.005_926_132_602_216_021);
    close(estimate.degrees_of_freedom, 5.0);
    let interval = estimate.interval(0.01);
    close(interval.low, -0.014_728_347_324_976_55);
    close(interval.high, 0.033_061_680_658_309_89);
    close(estimate.p_value(), 0.182_577_252_253_488_8);
    close(estimate.detectable(interval.high - estimate.mean, 0.99), 0.043_836_035_362_342_006);
}

#[test]
fn the_p_value_is_the_level_whose_interval_ends_at_zero() {
    let estimate = Estimate::of(&SELF_AWARENESS).unwrap();
    let interval = estimate.interval(estimate.p_value());
    assert!(interval.low.abs() < 1e-6 * interval.high, "{interval:?}");
}

#[test]
fn swapping_base_and_head_mirrors_the_estimate() {
    let estimate = Estimate::of(&SELF_AWARENESS).unwrap();
    let mirrored = Estimate::of(&SELF_AWARENESS.map(|value| -value)).unwrap();
    close(mirrored.mean, -estimate.mean);
    close(mirrored.interval(0.01).low, -estimate.interval(0.01).high);
    close(mirrored.p_value(), estimate.p_value());
}

#[test]
fn identical_values_are_a_point_beyond_doubt() {
    let estimate = Estimate::of(&[0.1; 8]).unwrap();
    assert_eq!(estimate.interval(0.01), Interval { estimate: estimate.mean, low: estimate.mean, high: estimate.mean });
    assert!(estimate.p_value() == 0.0);
    assert!(estimate.detectable(0.0, 0.99) == 0.0);
}

#[test]
fn identical_zeros_are_no_change() {
    close(Estimate::of(&[0.0; 8]).unwrap().p_value(), 1.0);
}

#[test]
fn too_few_or_unusable_values_have_no_estimate() {
    assert_eq!(Estimate::of(&[]), None);
    assert_eq!(Estimate::of(&[0.1, 0.2, 0.3]), None);
    assert_eq!(Estimate::of(&[0.1, 0.2, 0.3, f64::NAN]), None);
    assert_eq!(Estimate::of(&[0.1, 0.2, 0.3, f64::INFINITY]), None);
    assert!(Estimate::of(&[0.1, 0.2, 0.3, 0.4]).is_some());
}

/// Data of Dana (1990), the running example of Wilcox's book.
const SELF_AWARENESS: [f64; 19] = [
    77.0, 87.0, 88.0, 114.0, 151.0, 210.0, 219.0, 246.0, 253.0, 262.0, 296.0, 299.0, 306.0, 376.0, 428.0, 515.0, 666.0,
    1310.0, 2611.0,
];
