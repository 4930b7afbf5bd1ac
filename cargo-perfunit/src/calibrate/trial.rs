//! One verdict as `diff` comes to it, from pairs that were recorded: screening, then confirmation on the pairs after.
//!
//! The looks, the early ends and the levels are those of `measure`; the clock is that of the recording.

use crate::measure::{RecordedPair, after_confirmation};
use crate::model::{Terms, Verdict};
use crate::stats::{self, LOOKS, Look, Rule};

/// How a trial ended.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ended {
    /// What is said in the end.
    pub verdict: Verdict,
    /// The estimate behind it, as a fraction of base.
    pub estimate: f64,
    /// Pairs used, confirmation included.
    pub pairs: usize,
    /// Their wall time.
    pub seconds: f64,
}

/// A verdict in the making.
#[derive(Debug, Clone)]
pub struct Trial {
    rule: Rule,
    confirmation: Rule,
    budget: f64,
    stage: Stage,
    /// What screening said, if that needs confirmation.
    flagged: Option<(Verdict, Stage)>,
}

/// Screening or confirmation.
#[derive(Debug, Clone, Default)]
struct Stage {
    log_ratios: Vec<f64>,
    seconds: f64,
}

impl Trial {
    /// The rule with this threshold, with no pairs yet.
    pub fn new(terms: &Terms, threshold: f64) -> Self {
        Self {
            rule: Rule { alpha: terms.alpha, threshold, bias: 0.0 },
            confirmation: Rule { alpha: terms.confirmation_alpha, threshold, bias: 0.0 },
            budget: terms.verdict_seconds,
            stage: Stage::default(),
            flagged: None,
        }
    }

    /// Takes the next pair; the end, if there is enough now.
    pub fn add(&mut self, pair: &RecordedPair) -> Option<Ended> {
        self.stage.log_ratios.push(pair.log_ratio);
        self.stage.seconds += pair.seconds;
        let rule = if self.flagged.is_some() { self.confirmation } else { self.rule };
        let (verdict, estimate) = self.stage.decide(&rule, self.budget)?;
        let (flagged, screening) = match self.flagged.take() {
            None if matches!(verdict, Verdict::Slower | Verdict::Faster) => {
                self.flagged = Some((verdict, std::mem::take(&mut self.stage)));
                return None;
            }
            None => (verdict, Stage::default()),
            Some(flagged) => flagged,
        };
        let stage = std::mem::take(&mut self.stage);
        Some(Ended {
            verdict: after_confirmation(flagged, verdict),
            estimate,
            pairs: screening.log_ratios.len() + stage.log_ratios.len(),
            seconds: screening.seconds + stage.seconds,
        })
    }
}

impl Stage {
    fn decide(&self, rule: &Rule, budget: f64) -> Option<(Verdict, f64)> {
        let pairs = self.log_ratios.len();
        let decision = match stats::look(rule, &self.log_ratios) {
            Look::Decided(decision) => Some(decision),
            Look::Continue if self.seconds >= budget || self.is_hopeless(rule, budget) => {
                stats::conclude(rule, &self.log_ratios)
            }
            Look::Continue => return None,
        };
        // Without a single look there is nothing to say.
        let unclear = (Verdict::Inconclusive, 0.0);
        Some(decision.filter(|_| pairs >= LOOKS[0]).map_or(unclear, |d| (d.verdict, d.change.estimate)))
    }

    fn is_hopeless(&self, rule: &Rule, budget: f64) -> bool {
        let pairs = self.log_ratios.len();
        let each = (self.seconds / pairs as f64).max(1e-6);
        let affordable = pairs + ((budget - self.seconds) / each) as usize;
        LOOKS.contains(&pairs) && stats::is_hopeless(rule, &self.log_ratios, affordable.min(LOOKS[LOOKS.len() - 1]))
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use crate::model::Sides;

    pub const TERMS: Terms =
        Terms { quick: false, seed: 1, alpha: 0.01, confirmation_alpha: 0.001, verdict_seconds: 10.0 };

    /// A pair of 10 ms whose head is that much slower, give or take `noise`.
    pub fn pair(change: f64, noise: f64, index: usize) -> RecordedPair {
        let wobble = [0.9, -0.4, 0.1, -1.0, 0.5, -0.1, -0.7, 0.7][index % 8];
        let ns = Sides { base: 1000.0, head: 1000.0 * (1.0 + change) * (noise * wobble).exp() };
        RecordedPair { ns, mean_ns: ns, log_ratio: (ns.head / ns.base).ln(), seconds: 0.01, seconds_in_turns: 0.007 }
    }

    #[track_caller]
    fn check(change: f64, noise: f64, threshold: f64, verdict: Verdict, pairs: usize) {
        let mut trial = Trial::new(&TERMS, threshold);
        let ended = (0..2000).find_map(|index| trial.add(&pair(change, noise, index))).unwrap();
        assert_eq!((ended.verdict, ended.pairs), (verdict, pairs));
        assert!((ended.seconds - 0.01 * pairs as f64).abs() < 1e-9);
    }

    #[test]
    fn what_is_flagged_is_confirmed_on_the_pairs_after() {
        check(0.5, 0.001, 0.1, Verdict::Slower, 16);
        check(-0.5, 0.001, 0.1, Verdict::Faster, 16);
    }

    #[test]
    fn what_is_not_flagged_needs_no_confirmation() {
        check(0.0, 0.001, 0.1, Verdict::Same, 8);
        check(0.02, 0.001, 0.1, Verdict::ChangedBelowThreshold, 8);
    }

    #[test]
    fn an_end_without_an_answer_is_inconclusive() {
        // 4 % of noise cannot tell 0.1 % from nothing in 10 s.
        let mut trial = Trial::new(&TERMS, 0.001);
        let ended = (0..2000).find_map(|index| trial.add(&pair(0.0, 0.04, index))).unwrap();
        assert_eq!(ended.verdict, Verdict::Inconclusive);
        assert!(ended.pairs < 512);
    }

    #[test]
    fn a_first_pair_beyond_the_budget_says_nothing() {
        let mut trial = Trial::new(&TERMS, 0.1);
        let ended = trial.add(&RecordedPair { seconds: 11.0, ..pair(0.5, 0.0, 0) }).unwrap();
        assert_eq!((ended.verdict, ended.pairs), (Verdict::Inconclusive, 1));
    }

    #[test]
    fn a_trial_that_has_ended_begins_anew() {
        let mut trial = Trial::new(&TERMS, 0.1);
        let ends = (0..32).filter_map(|index| trial.add(&pair(0.0, 0.001, index))).count();
        assert_eq!(ends, 4);
    }
}
