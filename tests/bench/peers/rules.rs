//! Rules by which a change is reported to the user: each tool's own, or one that is set for the effect.

use super::contenders::{Contender, Time};
use super::pairs::Pair;
use super::program::{Claim, Said};
use super::tango::Design;
use std::fmt;

/// A line of a table: a tool, and a rule for its results.
#[derive(Debug, Clone, Copy)]
pub struct Line {
    /// The tool.
    pub contender: Contender,
    /// The rule for a claim.
    pub rule: Rule,
}

/// Rule by which a change becomes a claim.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Rule {
    /// The tool's own rule with its defaults.
    Own,
    /// The tool's own rule with this threshold, as a fraction.
    Told(f64),
    /// A limit on the estimate. Used for tools without a rule.
    CutOff(f64),
}

impl Rule {
    /// Returns the claim of the rule, if any.
    pub fn claim(self, said: &Said) -> Option<Claim> {
        let is_claimed = match self {
            Self::Own => return said.claim,
            Self::Told(threshold) => said.is_significant? && is_beyond(said, threshold),
            Self::CutOff(threshold) => said.change?.abs() > threshold,
        };
        is_claimed.then_some(Claim::of(said.change?))
    }
}

/// Returns whether the change exceeds the threshold: for criterion the whole interval, for tango the estimate.
fn is_beyond(said: &Said, threshold: f64) -> bool {
    match said.interval {
        Some([low, high]) => low > threshold || high < -threshold,
        None => said.change.is_some_and(|change| change.abs() > threshold),
    }
}

impl Line {
    /// Returns all lines of the table for an effect, which is one of those in `pairs`.
    pub fn all(effect: Pair, pairs: &[Pair]) -> Vec<Self> {
        let line = |contender, rule| Self { contender, rule };
        let mut lines = vec![line(Contender::Criterion, Rule::Own)];
        let told = (effect.threshold() > 0.0).then(|| effect.threshold());
        lines.extend(told.map(|threshold| line(Contender::Criterion, Rule::Told(threshold))));
        for time in [Time::Default, Time::Second] {
            lines.push(line(Contender::Tango(Design::TwoProcesses, time), Rule::Own));
            lines.extend(
                told.map(|threshold| line(Contender::Tango(Design::TwoProcesses, time), Rule::Told(threshold))),
            );
            // This design has no options.
            lines.push(line(Contender::Tango(Design::OneProcess, time), Rule::Own));
        }
        for time in [Time::Default, Time::Second] {
            let mut cut_offs: Vec<f64> = told.into_iter().chain([0.01, 0.05]).collect();
            cut_offs.sort_by(f64::total_cmp);
            lines.extend(cut_offs.into_iter().map(|cut_off| line(Contender::Divan(time), Rule::CutOff(cut_off))));
        }
        let ours = Contender::all(effect, pairs).into_iter().filter(|one| matches!(one, Contender::Ours(_)));
        lines.extend(ours.map(|contender| line(contender, Rule::Own)));
        lines
    }
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.contender)?;
        match self.rule {
            Rule::Own => Ok(()),
            Rule::Told(threshold) => write!(f, ", told {:.2} %", 100.0 * threshold),
            Rule::CutOff(threshold) => write!(f, ", medians {:.2} % apart", 100.0 * threshold),
        }
    }
}
