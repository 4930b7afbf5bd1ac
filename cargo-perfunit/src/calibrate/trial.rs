//! One verdict made like `diff` makes it, but from recorded pairs: screening, then confirmation on the following pairs.
//!
//! Looks, early ends and levels are those of `measure`; the clock is that of the recording.

use perfunit_decide as decide;
use perfunit_decide::{FIRST_LOOK, Looks, Rule, Sequential, Step};
use perfunit_measure::RecordedPair;
use perfunit_model::{Terms, Verdict};

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ended {
    /// The final verdict.
    pub verdict: Verdict,
    /// The estimated change, as a fraction of base.
    pub estimate: f64,
    /// Number of pairs used, confirmation included.
    pub pairs: usize,
    pub seconds: f64,
}

/// A verdict in progress.
#[derive(Debug, Clone)]
pub struct Trial {
    confirmation: Rule,
    budget: f64,
    stage: Stage,
    /// The result of screening, if it needs confirmation.
    flagged: Option<Ended>,
    screening: Rule,
}

#[derive(Debug, Clone)]
struct Stage {
    sequential: Sequential,
    seconds: f64,
}

impl Trial {
    /// Starts a verdict by the rule with this threshold.
    pub fn new(terms: &Terms, threshold: f64) -> Self {
        let rule = |alpha_of_change| Rule {
            alpha: terms.alpha,
            alpha_of_change,
            threshold,
            distance: 0.0,
            bias: 0.0,
            looks: Looks::OF_PAIRS,
        };
        let (screening, confirmation) = (rule(terms.alpha), rule(terms.confirmation_alpha));
        let (budget, flagged) = (terms.verdict_seconds, None);
        Self { confirmation, budget, stage: Stage::new(screening), flagged, screening }
    }

    /// Adds the next pair, and returns the verdict once it is final.
    pub fn add(&mut self, pair: &RecordedPair) -> Option<Ended> {
        let ended = self.stage.add(pair, self.budget)?;
        let is_flagged = ended.verdict.is_change();
        if self.flagged.is_none() && is_flagged {
            self.flagged = Some(ended);
            self.stage = Stage::new(self.confirmation);
            return None;
        }
        self.stage = Stage::new(self.screening);
        let Some(first) = self.flagged.take() else { return Some(ended) };
        Some(Ended {
            verdict: decide::on_fresh_values(first.verdict, ended.verdict),
            estimate: ended.estimate,
            pairs: first.pairs + ended.pairs,
            seconds: first.seconds + ended.seconds,
        })
    }
}

impl Stage {
    fn new(rule: Rule) -> Self {
        Self { sequential: Sequential::new(rule), seconds: 0.0 }
    }

    fn add(&mut self, pair: &RecordedPair, budget: f64) -> Option<Ended> {
        self.seconds += pair.seconds;
        let pairs = self.sequential.log_ratios().len() + 1;
        let affordable = decide::affordable(pairs, self.seconds, budget - self.seconds);
        let Step::Ended(decision) = self.sequential.push(pair.log_ratio, affordable) else { return None };
        // Without a look there is no result.
        let (verdict, estimate) = match decision {
            Some(decision) if pairs >= FIRST_LOOK => (decision.verdict, decision.change.estimate),
            _ => (Verdict::Inconclusive, 0.0),
        };
        Some(Ended { verdict, estimate, pairs, seconds: self.seconds })
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use perfunit_model::Sides;

    pub const TERMS: Terms =
        Terms { quick: false, seed: 1, alpha: 0.01, confirmation_alpha: 0.001, verdict_seconds: 10.0 };

    /// Builds a pair of 10 ms in which head is slower by `change`, with some noise.
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
        // Screening takes 8 pairs; at the confirmation's level 16 pairs are the minimum.
        check(0.5, 0.001, 0.1, Verdict::Slower, 24);
        check(-0.5, 0.001, 0.1, Verdict::Faster, 24);
    }

    #[test]
    fn what_is_not_flagged_needs_no_confirmation() {
        check(0.0, 0.001, 0.1, Verdict::Same, 8);
        check(0.02, 0.001, 0.1, Verdict::ChangedBelowThreshold, 8);
    }

    #[test]
    fn an_end_without_an_answer_is_inconclusive() {
        // With 4 % noise, 0.1 % cannot be distinguished from zero in 10 s.
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
