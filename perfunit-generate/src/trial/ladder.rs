//! Trials of a candidate with growing arguments, as long as the next one is not expected to take too long.

use super::candidate::Candidate;
use super::one;
use perfunit_build::{SideBuild, TestExecutable};
use perfunit_model::error::{Stop, Tried, apart};
use perfunit_model::{CallFailure, NotGenerated, Side, Sides};
use perfunit_system::temporary::TestFolder;

/// Sizes of arguments.
const SIZES: [usize; 3] = [16, 256, 4096];
/// Size for functions that accept neither many equal values nor a large index.
const SMALLEST: usize = 1;
/// Expected time of a call above which it is not tried, ns.
const LONGEST_NS: f64 = 10e6;

/// A size with which a candidate is a workload.
///
/// The candidate passes on base. Its result on head is left to the comparison, which also runs in the cage: a call that
/// now fails or does not end is news.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rung {
    pub n: usize,
    /// Time of a call on base, ns.
    pub ns: u64,
    /// Printed result on base, if it implements `Debug`.
    pub value: Option<String>,
    /// True if the candidate passes on head too, so that a larger size may be tried.
    passes_on_head: bool,
}

#[cfg(test)]
impl Rung {
    pub fn new(n: usize, ns: u64) -> Self {
        Self { n, ns, value: None, passes_on_head: true }
    }
}

/// Context in which candidates are tried.
pub struct Ladder<'a> {
    pub sides: &'a Sides<SideBuild>,
    /// Temporary folder for the candidates, which stays empty.
    pub temporary: TestFolder,
}

impl Ladder<'_> {
    /// Returns the sizes with which a candidate is a workload, or the reason why the smallest one fails. `counts` is
    /// true if the function counts its calls, which a `const fn` cannot.
    pub fn climb(&self, candidate: &Candidate, counts: bool) -> Tried<Vec<Rung>, NotGenerated> {
        if candidate.call.by_caller && !counts {
            return Err(Stop::Because(NotGenerated::NotExecuted));
        }
        let mut rungs: Vec<Rung> = Vec::new();
        let sizes = if candidate.call.is_sized { &SIZES[..] } else { &SIZES[..1] };
        for n in sizes {
            let is_enough = |last: &Rung| !last.passes_on_head || predict(&rungs, *n) > LONGEST_NS;
            if rungs.last().is_some_and(is_enough) {
                break;
            }
            match self.rung(candidate, *n, counts) {
                Ok(rung) => rungs.push(rung),
                Err(Stop::Because(_)) if !rungs.is_empty() => break,
                Err(Stop::Because(why)) if candidate.call.is_sized && asks_for_less(&why) => {
                    return match apart(self.rung(candidate, SMALLEST, counts))? {
                        Ok(rung) => Ok(vec![rung]),
                        Err(_) => Err(Stop::Because(why)),
                    };
                }
                Err(stop) => return Err(stop),
            }
        }
        Ok(rungs)
    }

    fn rung(&self, candidate: &Candidate, n: usize, counts: bool) -> Tried<Rung, NotGenerated> {
        let run = |side: Side| {
            let is_it = |executable: &&TestExecutable| executable.target == candidate.target;
            let executable = self.sides.get(side).executables.iter().find(is_it);
            let executable = executable.ok_or(Stop::Because(NotGenerated::NoTarget))?;
            one::run(executable, candidate, n, &self.temporary)
                .map_err(|stop| stop.map(|how| NotGenerated::Fails { how }))
        };
        let on_base = [run(Side::Base)?, run(Side::Base)?];
        let on_head = match apart(run(Side::Head))? {
            Err(NotGenerated::NoTarget) => return Err(Stop::Because(NotGenerated::NoTarget)),
            on_head => on_head.ok(),
        };
        if on_head.as_ref().is_some_and(|passed| counts && passed.executed == 0) {
            return Err(Stop::Because(NotGenerated::NotExecuted));
        }
        let same = on_base[0].fingerprint == on_base[1].fingerprint;
        if !same || on_base.iter().chain(&on_head).any(|passed| !passed.repeats) {
            return Err(Stop::Because(NotGenerated::NotRepeatable));
        }
        let ns = on_base.iter().map(|passed| passed.ns).min().unwrap_or_default();
        // Words in another order have the same fingerprint but are two values.
        let value = (on_base[0].text == on_base[1].text).then(|| on_base[0].text.clone()).flatten();
        Ok(Rung { n, ns, value, passes_on_head: on_head.is_some() })
    }
}

/// Returns whether smaller arguments may succeed.
fn asks_for_less(why: &NotGenerated) -> bool {
    matches!(
        why,
        NotGenerated::NotExecuted | NotGenerated::Fails { how: CallFailure::Panics { .. } | CallFailure::DoesNotEnd }
    )
}

/// Predicts the time of a call, in ns: extrapolated from the last two sizes, or quadratic after the first size.
fn predict(rungs: &[Rung], n: usize) -> f64 {
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
        let rung = Rung::new;
        let about = |rungs: &[Rung], n| predict(rungs, n).round() as u64;
        assert_eq!(about(&[rung(16, 100)], 256), 25_600);
        assert_eq!(about(&[rung(16, 100), rung(256, 1600)], 4096), 25_600);
        assert_eq!(about(&[rung(16, 100), rung(256, 25_600)], 4096), 6_553_600);
        // A larger size never takes less time.
        assert_eq!(about(&[rung(16, 100), rung(256, 10)], 4096), 160);
    }
}
