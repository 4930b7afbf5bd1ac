//! Which change is told to the user: by each contender's own rule, or by one that knows what to look for.

use super::contenders::{Contender, Time};
use super::pairs::Pair;
use super::program::{Claim, Said};
use super::tango::Design;
use std::fmt;

/// A line of a table: a contender, and a rule on what it says.
#[derive(Debug, Clone, Copy)]
pub struct Line {
    /// Who measured.
    pub contender: Contender,
    /// What makes a claim of it.
    pub rule: Rule,
}

/// What makes a claim of a change.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Rule {
    /// The contender's, with its defaults.
    Own,
    /// The contender's, told this threshold, a fraction.
    Told(f64),
    /// The estimate alone, if it is beyond this. Ours, for who has no rule.
    CutOff(f64),
}

impl Rule {
    /// Whether head is called slower or faster.
    pub fn claim(self, said: &Said) -> Option<Claim> {
        let is_claimed = match self {
            Self::Own => return said.claim,
            Self::Told(threshold) => said.is_significant? && is_beyond(said, threshold),
            Self::CutOff(threshold) => said.change?.abs() > threshold,
        };
        is_claimed.then_some(Claim::of(said.change?))
    }
}

/// Criterion demands it of the whole interval, tango of the estimate.
fn is_beyond(said: &Said, threshold: f64) -> bool {
    match said.interval {
        Some([low, high]) => low > threshold || high < -threshold,
        None => said.change.is_some_and(|change| change.abs() > threshold),
    }
}

impl Line {
    /// All lines of the table of an effect, one of those of these pairs.
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
            // Nothing can be told to it.
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
