//! A candidate with larger and larger arguments, as long as that is not expected to take too long.

use super::Candidate;
use super::one::{self, Passed};
use crate::build::{SideBuild, TestExecutable};
use crate::error::Result;
use crate::model::{NotGenerated, Side, Sides};
use std::path::PathBuf;

/// Sizes of arguments.
const SIZES: [usize; 3] = [16, 256, 4096];
/// A call that would take longer is not tried, ns.
const LONGEST_NS: f64 = 10e6;

/// A size with which a candidate is a workload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rung {
    pub n: usize,
    /// Time of a call on base.
    pub ns: u64,
    /// What it returns on base, if that can be printed.
    pub value: Option<String>,
}

/// Where candidates are tried.
pub struct Ladder<'a> {
    pub sides: &'a Sides<SideBuild>,
    /// A folder for them, which nothing ever is in.
    pub temporary: PathBuf,
}

impl Ladder<'_> {
    /// The sizes with which a candidate is a workload; or why it is none with the smallest. `counts` says whether its
    /// function counts its calls.
    pub fn climb(&self, candidate: &Candidate, counts: bool) -> Result<std::result::Result<Vec<Rung>, NotGenerated>> {
        let mut rungs: Vec<Rung> = Vec::new();
        let sizes = if candidate.call.is_sized { &SIZES[..] } else { &SIZES[..1] };
        for n in sizes {
            if !rungs.is_empty() && predicted(&rungs, *n) > LONGEST_NS {
                break;
            }
            match self.rung(candidate, *n, counts)? {
                Ok(rung) => rungs.push(rung),
                Err(why) if rungs.is_empty() => return Ok(Err(why)),
                Err(_) => break,
            }
        }
        Ok(Ok(rungs))
    }

    fn rung(&self, candidate: &Candidate, n: usize, counts: bool) -> Result<std::result::Result<Rung, NotGenerated>> {
        let mut passed = Vec::new();
        for side in [Side::Base, Side::Base, Side::Head] {
            let is_it = |executable: &&TestExecutable| executable.target == candidate.target;
            let Some(executable) = self.sides.get(side).executables.iter().find(is_it) else {
                return Ok(Err(NotGenerated::NoTarget));
            };
            match one::run(executable, candidate, n, &self.temporary)? {
                Ok(found) => passed.push(found),
                Err(how) => return Ok(Err(NotGenerated::Fails { how })),
            }
        }
        let [first, second, head] = &passed[..] else { return Ok(Err(NotGenerated::NotRepeatable)) };
        if counts && head.executed == 0 {
            return Ok(Err(NotGenerated::NotExecuted));
        }
        if passed.iter().any(|passed| !passed.repeats) || first.fingerprint != second.fingerprint {
            return Ok(Err(NotGenerated::NotRepeatable));
        }
        let Passed { ns, text, .. } = first;
        // Words in another order are one fingerprint, and two values.
        let value = (text == &second.text).then(|| text.clone()).flatten();
        Ok(Ok(Rung { n, ns: (*ns).min(second.ns), value }))
    }
}

/// How long a call would take: as the last two sizes suggest; after the first one as if its time were the square of its size.
fn predicted(rungs: &[Rung], n: usize) -> f64 {
    let Some(last) = rungs.last() else { return 0.0 };
    let growth = (n / last.n) as f64;
    let exponent = match rungs {
        [.., before, last] => {
            let (ns, size) = (last.ns.max(1) as f64 / before.ns.max(1) as f64, last.n as f64 / before.n as f64);
            (ns.ln() / size.ln()).max(1.0)
        }
        _ => 2.0,
    };
    last.ns as f64 * growth.powf(exponent)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_size_takes_as_much_longer_as_the_last_one_did() {
        let rung = |n, ns| Rung { n, ns, value: None };
        let about = |rungs: &[Rung], n| predicted(rungs, n).round();
        assert_eq!(about(&[rung(16, 100)], 256), 25_600.0);
        assert_eq!(about(&[rung(16, 100), rung(256, 1600)], 4096), 25_600.0);
        assert_eq!(about(&[rung(16, 100), rung(256, 25_600)], 4096), 6_553_600.0);
        // It never takes less.
        assert_eq!(about(&[rung(16, 100), rung(256, 10)], 4096), 160.0);
    }
}
