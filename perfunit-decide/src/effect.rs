//! Cohen's d: the size of a difference, in contrast to the evidence for it.

use super::location::{mean, variance};
use perfunit_model::{EffectClass, EffectSize};

/// Returns Cohen's d of times per process (any unit, the same for both), positive if head is slower:
/// (mean of head - mean of base) / pooled standard deviation, with
/// pooled variance = ((n1 - 1) s1^2 + (n2 - 1) s2^2) / (n1 + n2 - 2).
///
/// Returns `None` if d does not exist: fewer than two values on a side, values that are not finite, or means that
/// differ without any spread. Equal means without spread give d = 0.
pub fn cohens_d(base: &[f64], head: &[f64]) -> Option<EffectSize> {
    if base.len() < 2 || head.len() < 2 {
        return None;
    }
    let difference = mean(head) - mean(base);
    let d = if difference == 0.0 { 0.0 } else { difference / pooled_deviation(base, head) };
    d.is_finite().then(|| effect_size(d))
}

fn pooled_deviation(base: &[f64], head: &[f64]) -> f64 {
    let (base_freedom, head_freedom) = ((base.len() - 1) as f64, (head.len() - 1) as f64);
    let squares = base_freedom * variance(base) + head_freedom * variance(head);
    (squares / (base_freedom + head_freedom)).sqrt()
}

/// Returns d with its class; a value on a bound belongs to the smaller class.
pub fn effect_size(d: f64) -> EffectSize {
    let class = match d.abs() {
        size if size <= 0.2 => EffectClass::Trivial,
        size if size <= 0.5 => EffectClass::Small,
        size if size <= 0.8 => EffectClass::Medium,
        _ => EffectClass::Large,
    };
    EffectSize { d, class }
}

#[cfg(test)]
mod tests {
    use super::*;
    use EffectClass::{Large, Medium, Small, Trivial};

    const BASE: [f64; 5] = [10.0, 12.0, 11.0, 13.0, 9.0];
    const HEAD: [f64; 6] = [12.0, 14.0, 13.0, 16.0, 11.0, 15.0];

    #[test]
    fn as_computed_with_numpy() {
        let effect = cohens_d(&BASE, &HEAD).unwrap();
        assert!((effect.d - 1.430_193_883_868_388_5).abs() < 1e-14, "{}", effect.d);
        assert_eq!(effect.class, EffectClass::Large);
    }

    #[test]
    fn a_faster_head_is_negative() {
        assert!((cohens_d(&HEAD, &BASE).unwrap().d + 1.430_193_883_868_388_5).abs() < 1e-14);
    }

    #[test]
    fn bounds_belong_to_the_smaller_class() {
        let classes = [0.0, 0.2, 0.201, 0.5, 0.501, 0.8, 0.801, 7.0].map(|d| effect_size(d).class);
        assert_eq!(classes, [Trivial, Trivial, Small, Small, Medium, Medium, Large, Large]);
        assert_eq!(effect_size(-0.6).class, Medium);
    }

    #[test]
    fn identical_sides_are_trivial() {
        let effect = cohens_d(&[3.0, 3.0], &[3.0, 3.0]).unwrap();
        assert_eq!(effect, EffectSize { d: 0.0, class: EffectClass::Trivial });
    }

    #[test]
    fn no_spread_or_too_few_values_have_no_d() {
        assert_eq!(cohens_d(&[3.0, 3.0], &[4.0, 4.0]), None);
        assert_eq!(cohens_d(&[3.0], &[4.0, 5.0]), None);
        assert_eq!(cohens_d(&[], &[]), None);
        assert_eq!(cohens_d(&[3.0, f64::NAN], &[4.0, 5.0]), None);
    }
}
