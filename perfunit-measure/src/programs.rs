//! The time of the workspace's programs that a test starts, compared as the test's own time is. Pure.
//!
//! A program has two times. Its wall time includes its waits and every disturbance of the machine; its CPU time is much
//! less noisy. CPU time decides where it explains the wall time.

use super::column::{Column, readings};
use super::lockstep::PairEnd;
use super::starts::Use;
use super::work::Comparison;
use perfunit_decide as decide;
use perfunit_decide::Rule;
use perfunit_model::{Basis, Change, Metered, MetricVerdict, NotMetered, ProgramTimes, Side, Sides, StartedProgram};
use std::collections::{BTreeMap, BTreeSet};

/// The least share of CPU time in the wall time of a program that hardly waits, in its quickest starts.
const COMPUTES: f64 = 0.8;
/// The number of waits per start that can be due to chance.
const STRAY_WAITS: f64 = 0.5;

/// The programs that a test starts.
#[derive(Debug, Clone, Default)]
pub struct Programs {
    pairs: usize,
    each: BTreeMap<String, Times>,
    /// The sum of all programs.
    all: Times,
}

/// The figures of a program, an entry for each pair.
#[derive(Debug, Clone, Default)]
struct Times {
    wall: Column,
    cpu: Column,
    starts: Sides<Vec<f64>>,
    waits: Sides<Vec<f64>>,
    /// Wall and CPU time of the quickest starts.
    quickest: Sides<Vec<(f64, f64)>>,
    is_incomplete: bool,
}

/// The waits of a program in one run.
#[derive(Debug, Clone, Copy)]
struct Waiting {
    /// Typical number of waits of one start.
    waits: f64,
    /// The share of the wall time in which the program computes, where nothing disturbs it.
    computes: f64,
}

impl Waiting {
    /// Returns whether the CPU time is about the whole wall time: the program computes all the time, or never waits.
    fn is_little(self) -> bool {
        self.computes >= COMPUTES || self.waits <= STRAY_WAITS
    }
}

impl Programs {
    /// Adds the programs that the processes of a pair started.
    pub fn add(&mut self, pair: &PairEnd, comparison: Comparison, values: usize) {
        let split = |calls: Sides<&[f64]>| comparison.split_figures(calls, pair.shape.batches, values);
        let Sides { base, head } = pair.sides.as_ref().map(|side| &side.programs);
        let names: BTreeSet<&String> = self.each.keys().chain(base.keys()).chain(head.keys()).collect();
        let names: Vec<String> = names.into_iter().cloned().collect();
        let none = Use::NONE;
        let mut sum = Sides { base: Use::NONE, head: Use::NONE };
        for name in names {
            let used = Sides { base, head }.map(|side| side.get(&name).unwrap_or(&none));
            sum.base.include(used.base);
            sum.head.include(used.head);
            let missed = self.pairs;
            self.each.entry(name).or_insert_with(|| Times::absent(missed)).add(used, split);
        }
        self.all.add(sum.as_ref(), split);
        self.pairs += 1;
    }

    pub fn end_unit(&mut self) {
        self.each.values_mut().for_each(Times::end_unit);
        self.all.end_unit();
    }

    /// Returns the column that decides on all programs together; `None` if the test starts none.
    pub fn deciding(&self, rule: &Rule) -> Option<&Column> {
        if self.each.is_empty() {
            return None;
        }
        Some(if self.all.times(rule).is_some_and(|times| times.by_cpu) { &self.all.cpu } else { &self.all.wall })
    }

    /// Returns the time of all programs together; `None` if the test starts none, unless the metric `decides`.
    pub fn judge(&self, rule: &Rule, decides: bool) -> Option<Result<Metered, NotMetered>> {
        if self.each.is_empty() {
            return decides.then(|| self.all.without_times(rule));
        }
        let program = |(name, times): (&String, &Times)| StartedProgram {
            name: name.clone(),
            starts: times.starts.as_ref().map(|starts| decide::median(&mut starts.clone())),
            times: times.times(rule),
        };
        let programs = self.each.iter().map(program).collect();
        let all = match self.all.times(rule) {
            _ if self.all.is_incomplete => Err(NotMetered::EndNotSeen),
            Some(times) => Ok(times.deciding().clone()),
            None => self.all.without_times(rule),
        };
        Some(all.map(|all| Metered { programs, ..all }))
    }
}

impl Times {
    /// Returns the figures of a program that this many pairs did not start.
    fn absent(pairs: usize) -> Self {
        let mut times = Self::default();
        let none = Use::NONE;
        (0..pairs).for_each(|_| times.add(Sides { base: &none, head: &none }, |_| None));
        times
    }

    /// Adds a pair; `split` returns the log ratios of groups of calls.
    fn add(&mut self, used: Sides<&Use>, split: impl Fn(Sides<&[f64]>) -> Option<Vec<f64>>) {
        let of_calls = used.map(|used| used.each_run.wall.as_slice());
        self.wall.add_split(used.map(|used| used.wall_ns), split(of_calls));
        let of_calls = used.map(|used| used.each_run.cpu.as_slice());
        self.cpu.add_split(used.map(|used| used.cpu_ns), split(of_calls));
        for side in Side::BOTH {
            self.starts.get_mut(side).push(used.get(side).starts);
            self.waits.get_mut(side).push(used.get(side).waits);
            self.quickest.get_mut(side).push((used.get(side).quickest_wall_ns, used.get(side).quickest_cpu_ns));
        }
        self.is_incomplete |= !(used.base.is_complete && used.head.is_complete);
    }

    fn end_unit(&mut self) {
        self.wall.end_unit();
        self.cpu.end_unit();
    }

    /// Returns both times; `None` if they are not known of each pair.
    fn times(&self, rule: &Rule) -> Option<ProgramTimes> {
        let (wall, cpu) = (self.wall.judge(rule).ok()?, self.cpu.judge(rule).ok()?);
        let by_cpu =
            is_explained(&wall, &cpu, Sides { base: self.waiting(Side::Base), head: self.waiting(Side::Head) });
        (!self.is_incomplete).then_some(ProgramTimes { wall, cpu, by_cpu })
    }

    fn waiting(&self, side: Side) -> Waiting {
        let least = |of: fn(&(f64, f64)) -> f64| self.quickest.get(side).iter().map(of).fold(f64::INFINITY, f64::min);
        let starts = decide::median(&mut self.starts.get(side).clone());
        Waiting {
            waits: decide::median(&mut self.waits.get(side).clone()) / starts.max(1.0),
            computes: least(|(_, cpu)| *cpu) / least(|(wall, _)| *wall),
        }
    }

    /// Returns the verdict where a version starts nothing.
    fn without_times(&self, rule: &Rule) -> Result<Metered, NotMetered> {
        let (base, head) = (&self.wall.values().base, &self.wall.values().head);
        let starts = |values: &[f64]| values.iter().all(|value| *value > 0.0);
        let is_idle = |values: &[f64]| values.iter().all(|value| *value <= 0.0);
        let (verdict, estimate) = match () {
            () if is_idle(base) && is_idle(head) => (MetricVerdict::Same, Some(0.0)),
            // A base without starts has no time to compare with.
            () if is_idle(base) && starts(head) => (MetricVerdict::More, None),
            () if starts(base) && is_idle(head) => (MetricVerdict::Less, Some(-1.0)),
            () => return Err(NotMetered::NotCounted),
        };
        let change = estimate.map(|estimate| Change { estimate, low: estimate, high: estimate });
        let readings = self.wall.values().as_ref().map(|values| readings(values));
        let basis = Basis::Pairs(base.len());
        Ok(Metered {
            verdict,
            readings,
            change,
            threshold: rule.threshold,
            basis,
            programs: Vec::new(),
            names: Vec::new(),
        })
    }
}

/// Returns whether a program's CPU time shows the same as its wall time: the program hardly waits, waits equally often in
/// both versions, and the changes of both times agree.
fn is_explained(wall: &Metered, cpu: &Metered, waiting: Sides<Waiting>) -> bool {
    let agree = match (wall.change, cpu.change) {
        (Some(wall), Some(cpu)) => wall.low <= cpu.high && cpu.low <= wall.high,
        _ => true,
    };
    let is_little = waiting.base.is_little() && waiting.head.is_little();
    is_little && agree && (waiting.head.waits - waiting.base.waits).abs() <= STRAY_WAITS
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lockstep::{Shape, SideEnd};
    use crate::starts::Sums;
    use perfunit_decide::Looks;
    use std::time::Duration;

    const RULE: Rule =
        Rule { alpha: 0.01, alpha_of_change: 0.01, threshold: 0.01, distance: 0.0, bias: 0.0, looks: Looks::OF_PAIRS };

    /// Returns the use of a program that computes and waits for this long in one run, ms.
    fn program_use(computes: f64, waits: f64) -> Use {
        let (cpu_ns, wall_ns) = (computes * 1e6, (computes + waits) * 1e6);
        let waits = f64::from(waits > 0.0);
        Use {
            starts: 1.0,
            wall_ns,
            cpu_ns,
            waits,
            quickest_wall_ns: wall_ns,
            quickest_cpu_ns: cpu_ns,
            is_complete: true,
            each_run: Sums::default(),
        }
    }

    /// Returns pairs in which other processes take up to this many ms of each run.
    fn programs(base: &[(&str, Use)], head: &[(&str, Use)], others_ms: f64) -> Programs {
        let (mut programs, mut random) = (Programs::default(), fastrand::Rng::with_seed(7));
        for _ in 0..32 {
            let mut side = |used: &[(&str, Use)]| {
                let disturbed = |(name, used): &(&str, Use)| {
                    let cpu_ns = used.cpu_ns * (1.0 + 0.001 * random.f64());
                    let wall_ns = used.wall_ns + others_ms * 1e6 * random.f64();
                    ((*name).to_owned(), Use { wall_ns, cpu_ns, ..used.clone() })
                };
                SideEnd { programs: used.iter().map(disturbed).collect(), ..SideEnd::default() }
            };
            let sides = Sides { base: side(base), head: side(head) };
            let shape = Shape { repetitions: 1, batches: 5, warm: 0 };
            let pair = PairEnd { sides, shape, starter: Side::Base, timed_out: None, took: Duration::ZERO };
            programs.add(&pair, Comparison::default(), 1);
            programs.end_unit();
        }
        programs
    }

    /// Returns the verdict on a program and whether CPU time gave it.
    fn verdict(programs: &Programs) -> (MetricVerdict, bool) {
        let metered = programs.judge(&RULE, false).unwrap().unwrap();
        let times = metered.programs[0].times.clone().unwrap();
        (times.deciding().verdict, times.by_cpu)
    }

    #[test]
    fn cpu_time_decides_on_a_program_that_hardly_waits() {
        let busy =
            |base, head| verdict(&programs(&[("a", program_use(base, 0.0))], &[("a", program_use(head, 0.0))], 2.0));
        assert_eq!(busy(1.0, 0.95), (MetricVerdict::Less, true));
        assert_eq!(busy(1.0, 1.0), (MetricVerdict::Same, true));
    }

    #[test]
    fn wall_time_decides_on_a_program_that_waits() {
        let waiting =
            |base, head| verdict(&programs(&[("a", program_use(1.0, base))], &[("a", program_use(1.0, head))], 0.001));
        assert_eq!(waiting(2.0, 3.0), (MetricVerdict::More, false));
        // The program waits little, but the change of wall time differs from the change of CPU time.
        assert_eq!(waiting(0.05, 0.1), (MetricVerdict::More, false));
        assert_eq!(waiting(0.0, 0.1), (MetricVerdict::More, false));
    }

    #[test]
    fn programs_of_one_version_are_told_without_times() {
        let a = ("a", program_use(1.0, 0.0));
        let of = |base: &[(&str, Use)], head: &[(&str, Use)]| programs(base, head, 0.0).judge(&RULE, false);
        let new = of(&[], std::slice::from_ref(&a)).unwrap().unwrap();
        assert_eq!((new.verdict, new.change, &new.programs[0].times), (MetricVerdict::More, None, &None));
        assert_eq!(new.programs[0].starts, Sides { base: 0.0, head: 1.0 });
        let gone = of(&[a.clone(), ("b", program_use(1.0, 0.0))], &[a]).unwrap().unwrap();
        assert_eq!((gone.verdict, &gone.programs[1].times), (MetricVerdict::Less, &None));
        assert!(gone.programs[0].times.is_some());
        assert!(of(&[], &[]).is_none());
        let decides = programs(&[], &[], 0.0).judge(&RULE, true).unwrap().unwrap();
        assert_eq!(decides.verdict, MetricVerdict::Same);
    }

    #[test]
    fn an_end_that_nobody_saw_makes_the_sum_unknown() {
        let lost = Use { is_complete: false, ..program_use(1.0, 0.0) };
        let metered = programs(&[("a", lost.clone())], &[("a", lost)], 0.0).judge(&RULE, false);
        assert_eq!(metered, Some(Err(NotMetered::EndNotSeen)));
    }
}
