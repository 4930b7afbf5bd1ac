//! The order of measurements in a run: one test after the other, then fresh pairs of flagged tests.

use super::bench::{Bench, Config};
use super::classify;
use super::confirmation::{Confirmer, Screened};
use super::doubt::is_flagged;
use super::extra_time::ExtraTime;
use super::first_calls::{self, Look};
use super::layouts::{Layouts, Placed};
use super::lockstep::Task;
use super::measured_process::{Pads, Programs};
use super::measurement::{Measurement, Unit};
use super::meter;
use super::pair;
use super::pilot;
use super::pool::{Pooling, pools};
use super::secondary_metrics::OF_PAIRS;
use super::single_calls::{self, Alone, Found};
use super::subject::{Ended, Figures, Finding, Observer, Subject};
use super::trial::{Settled, Trial};
use super::verdict::{Criteria, Evidence, FirstCalls, verdict, verdicts_of_pairs};
use super::whole_process::{self, Starts};
use perfunit_build::{SideBuild, TestClock, TestExecutable};
use perfunit_decide as decide;
use perfunit_model::error::{Result, apart};
use perfunit_model::{
    LayoutMatch, Metric, NoLayout, Note, Placement, PooledChange, Reason, Repeated, Side, Sides, Spent, TargetId,
};
use perfunit_system::interrupt;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// The part of the time left that a round of screening may take.
const PART_OF_SCREENING: f64 = 0.75;
/// The time of a confirmation, in times of a test's screening.
const CONFIRMING: f64 = 4.0;
/// The part of the time left after the first looks that counts may take, in a run of limited time.
const PART_OF_COUNTING: f64 = 0.1;
/// The part of the rest that confirming its tests may take if further tests wait.
const PART_OF_CONFIRMING: f64 = 0.5;
/// The shortest time worth dividing.
const SHORTEST_ROUND: Duration = Duration::from_secs(2);
/// The time of a test that is not put off in a run of limited time, in equal shares of the time left.
const SHARES: u32 = 4;
/// The calls that a first look takes.
const CALLS_OF_FIRST_LOOK: u32 = 32;
/// The shortest call that is put off for its share: about half of it is the start of the process.
const SHORT_CALL: Duration = Duration::from_millis(20);

/// The ends of all tests, and the layouts that they were measured on.
#[derive(Debug)]
pub struct AllEnded {
    /// One for each subject, in their order.
    pub tests: Vec<Ended>,
    /// Mean changes of tests that enter the changed code through one function.
    pub pooled: Vec<PooledChange>,
    /// The layouts by target, or the reason why a target has none.
    pub layouts: BTreeMap<TargetId, std::result::Result<LayoutMatch, NoLayout>>,
}

/// Measures all subjects in the given order. Tests that pairs can hardly measure come last, so that the others and their
/// confirmations do not wait for them.
pub fn measure_all(
    bench: &Bench,
    config: &Config,
    sides: &Sides<&SideBuild>,
    subjects: &[Subject<'_>],
    observer: Observer<'_>,
) -> Result<AllEnded> {
    let _span = tracing::info_span!("measure", tests = subjects.len()).entered();
    let mut random = fastrand::Rng::with_seed(config.seed);
    let layouts = Layouts::new(bench, config.placement, random.u64(..));
    // Single calls need no confirmation; they share the error rate with it.
    let first = Config { other_verdicts: config.other_verdicts + subjects.len(), ..config.clone() };
    let starts = Starts::default();
    let mut screening = Screening {
        bench,
        config: first,
        sides,
        layouts,
        starts,
        random,
        observer,
        round: None,
        left_to_narrow: Duration::ZERO,
        share: None,
        open: Vec::new(),
        extra: ExtraTime::of_run(config),
    };
    let mut tests: Vec<Option<(Ended, Option<Settled>)>> = subjects.iter().map(|_| None).collect();
    let mut waiting: Vec<Waiting<'_>> = subjects.iter().enumerate().map(Waiting::new).collect();
    let verdicts = |subject: &Subject<'_>| verdicts_of_pairs(&criteria(&config.on(subject.terms)).gates);
    // The number of verdicts that pairs gave or could have given.
    let mut done = 0;
    while !waiting.is_empty() {
        let Batch { places, subjects, screened, put_off, .. } = screening.batch(waiting)?;
        // Tests without a verdict count too: they may be measured again, in another round or pairing.
        done += subjects.iter().map(|subject| verdicts(subject)).sum::<usize>();
        let open = screening.open.iter().map(|open| open.subject);
        let to_come: usize = put_off.iter().map(|waiting| waiting.subject).chain(open).map(verdicts).sum();
        let alpha = decide::confirmation_alpha(config.alpha, (config.other_verdicts + done + to_come) * config.family);
        let part = if put_off.is_empty() { 1.0 } else { PART_OF_CONFIRMING };
        let deadline = config.deadline.map(|deadline| end_of_round(deadline, part));
        let config = &Config { deadline, ..config.clone() };
        let Screening { layouts, random, extra, .. } = &mut screening;
        let ways: Vec<Option<Settled>> = screened.iter().map(|screened| screened.way.clone()).collect();
        let mut confirmer =
            Confirmer { bench, config, alpha, sides, subjects: &subjects, observer, layouts, random, extra };
        let ends = confirmer.run(screened)?.into_iter().zip(ways);
        places.into_iter().zip(ends).for_each(|(place, end)| tests[place] = Some(end));
        if !put_off.is_empty() {
            observer.progress.proceed("Measuring", put_off.len());
        }
        waiting = put_off;
    }
    let Screening { layouts, random, .. } = &mut screening;
    let (tests, ways): (Vec<Ended>, Vec<Option<Settled>>) = tests.into_iter().flatten().unzip();
    let pools = pools(config, subjects.iter().zip(ways).zip(&tests).map(|((subject, way), end)| (subject, way, end)));
    let pooled = Pooling { bench, config, sides, observer, layouts, random }.run(pools, config.other_verdicts)?;
    Ok(AllEnded { tests, pooled, layouts: screening.layouts.states() })
}

/// Returns the end of a round that takes this part of the time left.
fn end_of_round(deadline: Instant, part: f64) -> Instant {
    let left = deadline.saturating_duration_since(Instant::now());
    if left < SHORTEST_ROUND { deadline } else { Instant::now() + left.mul_f64(part) }
}

/// Returns the moment this long before another one.
fn before(end: Instant, time: Duration) -> Instant {
    end.checked_sub(time).unwrap_or(end)
}

/// A test to screen.
struct Waiting<'a> {
    /// The position among all tests.
    place: usize,
    subject: &'a Subject<'a>,
    /// The lower bound of a call's time, if it is known to be too long for pairs.
    slow: Option<Duration>,
    /// The time spent on finding that out.
    spent: Duration,
}

impl<'a> Waiting<'a> {
    fn new((place, subject): (usize, &'a Subject<'a>)) -> Self {
        Self { place, subject, slow: None, spent: Duration::ZERO }
    }
}

/// Tests that are confirmed together; places, subjects and evidence are in the same order.
#[derive(Default)]
struct Batch<'a> {
    places: Vec<usize>,
    subjects: Vec<&'a Subject<'a>>,
    screened: Vec<Screened>,
    /// Seconds that the screening of these tests took.
    seconds: f64,
    /// Seconds that the screening of those took that need confirmation, as far as their places are known.
    seconds_to_confirm: f64,
    /// Tests that pairs can hardly measure.
    put_off: Vec<Waiting<'a>>,
}

/// Returns the remaining time of screening as text; a pilot calls slow tests on both sides.
fn time_left(started: Instant, done: usize, left: impl Iterator<Item = Option<Duration>>) -> String {
    if done < 3 {
        return String::new();
    }
    let each = started.elapsed() / u32::try_from(done).unwrap_or(u32::MAX);
    let left: Duration = left.map(|slow| slow.map_or(each, |call| each.max(call * 2))).sum();
    format!(", about {} s left", left.as_secs() + 1)
}

/// The time of a test in a run of limited time.
#[derive(Debug, Clone, Copy)]
struct Share {
    /// An equal share of the time left.
    equal: Duration,
    /// The most that a test may take.
    most: Duration,
}

/// The first pairs of tests, on one layout of each target.
struct Screening<'a> {
    bench: &'a Bench,
    config: Config,
    sides: &'a Sides<&'a SideBuild>,
    layouts: Layouts<'a>,
    starts: Starts,
    random: fastrand::Rng,
    observer: Observer<'a>,
    /// The end of this round, if the run's time is limited.
    round: Option<Instant>,
    /// The time left after the first looks of a round, if the run's time is limited.
    left_to_narrow: Duration,
    /// The time that the test at hand may take for its first look, if the run's time is limited.
    share: Option<Share>,
    /// Tests whose first pairs go on after all tests had their first look.
    open: Vec<Open<'a>>,
    extra: ExtraTime,
}

impl<'a> Screening<'a> {
    /// Screens the waiting tests. Puts off tests that turn out to be hard to measure by pairs; screens those already
    /// known to be.
    ///
    /// Breadth first: each test gets its first pairs before any test gets more. Then the test with the largest possible
    /// change comes next, so that an interrupted run has a result for every test. If the run's time is limited, tests
    /// that would take several times their share of it are put off, too, and so are all that do not fit this round.
    fn batch(&mut self, waiting: Vec<Waiting<'a>>) -> Result<Batch<'a>> {
        self.round = self.config.deadline.map(|deadline| end_of_round(deadline, PART_OF_SCREENING));
        let mut batch = Batch::default();
        self.first_looks(waiting, &mut batch)?;
        let is_last = batch.put_off.is_empty();
        self.extra.reserve(!is_last);
        let left = self.config.deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        self.left_to_narrow = left.unwrap_or_default();
        if is_last || !self.is_round_over() {
            self.narrow(&mut batch)?;
        }
        let end = if is_last { self.start_of_confirming(&batch) } else { self.round };
        self.count_late(&mut batch, end)?;
        Ok(batch)
    }

    /// Returns the time at which confirming has to begin if the run's time is limited: the tests screened so far that need it,
    /// and one more, have the time for it.
    fn start_of_confirming(&self, batch: &Batch<'_>) -> Option<Instant> {
        let deadline = self.config.deadline?;
        let mean = batch.seconds / batch.screened.len().max(1) as f64;
        let needed = CONFIRMING * (batch.seconds_to_confirm + mean);
        let most = self.left_to_narrow.mul_f64(1.0 - PART_OF_SCREENING);
        Some(before(deadline, most.min(Duration::from_secs_f64(needed))))
    }

    /// Returns the time at which a round stops narrowing its tests if the run's time is limited: a look may last longer than
    /// a round that others follow.
    fn end_of_narrowing(&self, batch: &Batch<'_>) -> Option<Instant> {
        if !batch.put_off.is_empty() {
            return self.config.deadline;
        }
        let counting = if self.config.metering.is_some() { PART_OF_COUNTING } else { 0.0 };
        self.start_of_confirming(batch).map(|start| before(start, self.left_to_narrow.mul_f64(counting)))
    }

    /// Counts the operations of tests that waited for it until pairs had narrowed all tests, up to the end of the time for it.
    fn count_late(&mut self, batch: &mut Batch<'a>, end: Option<Instant>) -> Result<()> {
        for (subject, screened) in batch.subjects.iter().zip(&mut batch.screened).filter(|(_, one)| one.is_uncounted) {
            let (Some(settled), Ok(figures)) = (&screened.way, &mut screened.evidence.screening.result) else {
                continue;
            };
            self.observer.progress.message(subject.test.to_string());
            let config = Config { deadline: end, ..self.config.on(subject.terms) };
            let programs = self.layouts.first_programs(self.sides, subject)?;
            let trial = Trial { bench: self.bench, config: &config, programs };
            add_counts(figures, &trial, settled, &mut self.random)?;
            screened.is_uncounted = false;
        }
        Ok(())
    }

    /// Measures these tests up to their first look.
    fn first_looks(&mut self, waiting: Vec<Waiting<'a>>, batch: &mut Batch<'a>) -> Result<()> {
        let started = Instant::now();
        let is_alone = waiting.len() == 1;
        let (mut slow_ones, mut done) = (Vec::new(), 0);
        let mut queue = waiting.into_iter();
        while let Some(next) = queue.next() {
            if done > 0 && self.is_round_over() {
                batch.put_off.push(next);
                batch.put_off.extend(queue);
                break;
            }
            let Waiting { place, subject, slow, spent } = next;
            let began = Instant::now();
            let left = queue.as_slice().iter().chain(&slow_ones).map(|waiting| waiting.slow).chain([slow]);
            let time_left = time_left(started, done, left);
            self.observer.progress.message(format!("{}{time_left}", subject.test));
            self.share = self.share_of(queue.len() + slow_ones.len() + 1);
            if !is_alone
                && slow.is_none()
                && let Some(longer_than) = self.is_slow(subject)?
            {
                slow_ones.push(Waiting { slow: Some(longer_than), spent: began.elapsed(), ..next });
                self.observer.progress.put_off();
                continue;
            }
            done += 1;
            match self.begin(subject, slow.is_some())? {
                Begun::Over(screened) => self.end(batch, (place, subject), *screened, spent + began.elapsed()),
                Begun::Open(series) => {
                    let possible = series.measurement.largest_possible();
                    self.open.push(Open { place, subject, series: *series, spent: spent + began.elapsed(), possible });
                }
            }
            self.observer.progress.advance();
        }
        batch.put_off.extend(slow_ones);
        Ok(())
    }

    /// Returns true if tests wait for a later round because the time of this one is over.
    fn is_round_over(&self) -> bool {
        let is_over = |end: Option<Instant>| end.is_some_and(|end| Instant::now() >= end);
        is_over(self.round) && !is_over(self.config.deadline)
    }

    /// Returns the share of one of this many tests, if the run's time is limited.
    fn share_of(&self, tests: usize) -> Option<Share> {
        let left = self.config.deadline?.saturating_duration_since(Instant::now());
        let equal = left / u32::try_from(tests).unwrap_or(u32::MAX);
        Some(Share { equal, most: left.min(equal * SHARES) })
    }

    /// Measures more pairs of the tests that are still open, the largest possible change first. Tests that their budgets leave
    /// in doubt get extra time after that.
    fn narrow(&mut self, batch: &mut Batch<'a>) -> Result<()> {
        let mut open = std::mem::take(&mut self.open);
        if !open.is_empty() {
            self.observer.progress.proceed("Measuring more", open.len());
        }
        let mut in_doubt = Vec::new();
        loop {
            // Tests that are open when the round ends go on in the next one.
            if !batch.put_off.is_empty() && self.is_round_over() {
                self.open = open.into_iter().chain(in_doubt).collect();
                return Ok(());
            }
            let next = take_widest(&mut open).or_else(|| self.extend_widest(&mut in_doubt));
            let Some(mut next) = next else { return Ok(()) };
            let Open { place, subject, .. } = next;
            let began = Instant::now();
            self.share = self.share_of(open.len() + in_doubt.len() + 1);
            self.observer.progress.message(subject.test.to_string());
            self.bench.settle();
            next.series.config.deadline = self.end_of_narrowing(batch);
            self.advance(subject, &mut next.series)?;
            if self.may_extend(&next.series) {
                in_doubt.push(Open { spent: next.spent + began.elapsed(), ..next });
            } else if next.series.measurement.is_over() {
                self.extra.give_back(next.series.measurement.unused());
                let screened = self.complete(subject, next.series, false)?;
                self.end(batch, (place, subject), screened, next.spent + began.elapsed());
                self.observer.progress.advance();
            } else {
                let possible = next.series.measurement.largest_possible();
                open.push(Open { spent: next.spent + began.elapsed(), possible, ..next });
            }
        }
    }

    /// Returns whether extra time may settle a series that is over.
    fn may_extend(&self, series: &Series) -> bool {
        series.granted.is_zero() && self.extra.may_settle(&series.measurement, &series.config)
    }

    /// Removes the test with the largest possible change, and gives it extra time.
    fn extend_widest(&mut self, in_doubt: &mut Vec<Open<'a>>) -> Option<Open<'a>> {
        let next = take_widest(in_doubt)?;
        let measurement = self.extra.lend(next.series.measurement, &next.series.config);
        Some(Open { series: Series { measurement, ..next.series }, ..next })
    }

    /// Adds a test with complete first evidence to the batch.
    fn end(
        &mut self,
        batch: &mut Batch<'a>,
        (place, subject): (usize, &'a Subject<'a>),
        mut screened: Screened,
        spent: Duration,
    ) {
        let budget = self.config.on(subject.terms).per_test_budget;
        self.extra.give_back(screened.granted.saturating_sub(spent.saturating_sub(budget)));
        screened.evidence.spent =
            Spent { seconds: spent.as_secs_f64(), pairs: screened.way.as_ref().map_or(0, |way| way.pairs_run.get()) };
        let of_time = screened.evidence.screening.result.as_ref().ok().map(|figures| figures.verdict);
        tracing::info!(test = %subject.test, verdict = ?of_time, "test measured");
        if screened.way.is_none() {
            (self.observer.ended)(&subject.test, &verdict(&screened.evidence));
        }
        batch.seconds += spent.as_secs_f64();
        if screened.needs_confirmation(self.layouts.known_places(subject)) {
            batch.seconds_to_confirm += spent.as_secs_f64();
        }
        batch.places.push(place);
        batch.subjects.push(subject);
        batch.screened.push(screened);
    }

    /// Returns the longest call that pairs can measure, or that the test's share of the time allows, if a call on base takes
    /// longer.
    fn is_slow(&mut self, subject: &Subject<'_>) -> Result<Option<Duration>> {
        let is_over = self.config.deadline.is_some_and(|deadline| Instant::now() >= deadline);
        if is_over || interrupt::is_requested() || subject.executables.head.harness.repeats() == Repeated::Process {
            return Ok(None);
        }
        let config = self.config.on(subject.terms);
        let longest = classify::longest_call(config.per_test_budget).min(config.timeout);
        let longest =
            self.share.map_or(longest, |share| longest.min((share.most / CALLS_OF_FIRST_LOOK).max(SHORT_CALL)));
        let (programs, pads) = (subject.programs(self.sides), Pads::draw(&mut self.random));
        let end = pair::run(self.bench, &programs, Task::Solo(Side::Base), pads, longest)?;
        Ok(end.timed_out.map(|_| longest))
    }

    /// Measures a test up to its first look. A slow test may take more than its budget.
    fn begin(&mut self, subject: &Subject<'_>, is_slow: bool) -> Result<Begun> {
        let config = self.config.on(subject.terms);
        let (budget, extra) = (config.per_test_budget, self.extra.for_slow_test(&config));
        if !is_slow {
            let begun = self.begin_with(subject, Duration::ZERO)?;
            if !begun.can_be_measured_with(budget + extra) {
                return Ok(begun);
            }
        }
        self.extra.take(extra);
        Ok(self.begin_with(subject, extra)?.grant(extra))
    }

    /// Measures a test up to its first look, with this time for pairs in addition to its budget.
    fn begin_with(&mut self, subject: &Subject<'_>, granted: Duration) -> Result<Begun> {
        let config = self.config.on(subject.terms);
        let of_pairs = config.plus(granted);
        if interrupt::is_requested() {
            return Ok(Begun::without_pairs(&config, Err(interrupt::reason())));
        }
        if self.config.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            return Ok(Begun::without_pairs(&config, Err(Reason::BudgetUsedUp)));
        }
        self.bench.settle();
        let first = self.layouts.first_of(subject)?.map(|first| first.map(TestExecutable::clone));
        // Experiments with natural placement show its effect, so they must not allow for it.
        let matched = first.is_some() || self.config.placement == Placement::Natural;
        let trial = Trial { bench: self.bench, config: &config, programs: self.programs(subject, first.as_ref()) };
        match self.settle(subject, &Trial { config: &of_pairs, ..trial })? {
            Ok(settled) => self.measure(subject, first, &of_pairs, Settled { matched, ..settled }),
            Err(reason) => {
                let task = match subject.executables.head.harness.repeats() {
                    Repeated::Function => Task::Cold,
                    Repeated::Process => Task::Process,
                };
                let alone = Alone { trial, task, clock: TestClock::True };
                let end = apart(alone.instead(reason, &mut self.random))?;
                let always_fails = end.as_ref().is_err_and(|reason| reason.always_fails_on().is_some());
                let as_built = if first.is_some() && always_fails { self.as_built(subject, &of_pairs)? } else { None };
                Ok(as_built.unwrap_or_else(|| Begun::without_pairs(&config, end)))
            }
        }
    }

    /// Returns the programs of a test: its executables with matched layouts if there are any, else as they were built.
    fn programs<'p>(&self, subject: &'p Subject<'p>, matched: Option<&'p Sides<TestExecutable>>) -> Programs<'p>
    where
        Self: 'p,
    {
        let executables = matched.map_or(subject.executables, Sides::as_ref);
        Programs { executables, ..subject.programs(self.sides) }
    }

    /// Runs the pilot of a test.
    fn settle(&mut self, subject: &Subject<'_>, trial: &Trial<'_>) -> Result<std::result::Result<Settled, Reason>> {
        apart(match subject.executables.head.harness.repeats() {
            Repeated::Function => pilot::settle(trial, &mut self.random),
            Repeated::Process => whole_process::settle(trial, &mut self.starts, &mut self.random),
        })
    }

    /// Measures a test that fails with matched layouts in the executables of the project's linker; `None` if it fails there
    /// too.
    fn as_built(&mut self, subject: &Subject<'_>, config: &Config) -> Result<Option<Begun>> {
        let trial = Trial { bench: self.bench, config, programs: subject.programs(self.sides) };
        let Ok(mut settled) = self.settle(subject, &trial)? else { return Ok(None) };
        tracing::info!(test = %subject.test, "fails only as linked with matched layouts");
        self.layouts.leave_as_built(&subject.test);
        settled.matched = false;
        settled.notes.push(Note::AsBuilt);
        self.measure(subject, None, config, settled).map(Some)
    }

    /// Measures single calls of a test if they decide, else its first pairs, which have a budget of their own.
    fn measure(
        &mut self,
        subject: &Subject<'_>,
        executables: Option<Sides<TestExecutable>>,
        of_pairs: &Config,
        settled: Settled,
    ) -> Result<Begun> {
        let config = self.config.on(subject.terms);
        let trial =
            Trial { bench: self.bench, config: &config, programs: self.programs(subject, executables.as_ref()) };
        if single_calls::is_first(&config, &settled)
            && let Some(mut figures) = by_calls(&trial, &settled, &mut self.random)?
        {
            add_counts(&mut figures, &trial, &settled, &mut self.random)?;
            let screening = Finding { result: Ok(figures), reason: None, capture: Some(settled.capture) };
            return Ok(Begun::Over(Box::new(Screened::complete(criteria(&config), screening))));
        }
        let share = self.share.map_or(Duration::MAX, |share| share.equal.mul_f64(PART_OF_SCREENING));
        let time = share.min(of_pairs.per_test_budget);
        let unit = Unit::on_one_layout(self.bench, time, &settled);
        let mut measurement = Measurement::new(of_pairs, settled.clone(), unit, config.alpha);
        let first_look = measurement.next_look();
        measurement.advance(&trial, None, first_look, &mut self.random)?;
        let left_open = !measurement.is_over()
            && confirms_all(&config)
            && self.layouts.places(self.sides, subject)? != Placed::Matched;
        let series = Series { executables, config, settled, measurement, granted: Duration::ZERO };
        // More pairs on one layout decide only where equal code keeps its place.
        let may_go_on = !series.measurement.is_over()
            || self.may_extend(&series) && self.layouts.places(self.sides, subject)? == Placed::Matched;
        if left_open || !may_go_on {
            return self.complete(subject, series, left_open).map(|screened| Begun::Over(Box::new(screened)));
        }
        Ok(Begun::Open(Box::new(series)))
    }

    /// Measures a series of pairs up to its next look.
    fn advance(&mut self, subject: &Subject<'_>, series: &mut Series) -> Result<()> {
        let programs = self.programs(subject, series.executables.as_ref());
        let trial = Trial { bench: self.bench, config: &series.config, programs };
        let units = series.measurement.next_look();
        series.measurement.advance(&trial, None, units, &mut self.random)
    }

    /// Collects all evidence of a test before its confirmation: its pairs, counts and first calls, which get at most its share
    /// of the run's time. The pairs are `left_open` if only drawn layouts can decide.
    fn complete(&mut self, subject: &Subject<'_>, series: Series, left_open: bool) -> Result<Screened> {
        let Series { executables, config, settled, measurement, granted } = series;
        let trial =
            Trial { bench: self.bench, config: &config, programs: self.programs(subject, executables.as_ref()) };
        let mut screening = measurement.finish();
        let (mut first_calls, mut first_call) = (FirstCalls::Unremarkable, None);
        let is_uncounted = may_count_late(&config, &screening);
        if let Ok(figures) = &mut screening.result {
            if !is_uncounted {
                add_counts(figures, &trial, &settled, &mut self.random)?;
            }
            let per_test_budget =
                self.share.map_or(config.per_test_budget, |share| share.most.min(config.per_test_budget));
            let of_first_calls = Config { per_test_budget, ..config.clone() };
            let trial = Trial { config: &of_first_calls, ..trial };
            match first_calls::look(&trial, &settled, figures, &mut self.random)? {
                Look::Flagged(flagged) => first_call = Some(*flagged),
                Look::Unknown(because) => first_calls = FirstCalls::Unknown(because),
                Look::Unremarkable => {}
            }
        }
        let (criteria, places, spent) = (criteria(&config), Placed::Uncertain, Spent::default());
        let evidence = Evidence { criteria, screening, places, confirmation: None, first_calls, spent };
        Ok(Screened { evidence, way: Some(settled), first_call, left_open, is_uncounted, granted })
    }
}

/// A test after its first look.
enum Begun {
    Over(Box<Screened>),
    /// More pairs can narrow the result.
    Open(Box<Series>),
}

impl Begun {
    /// Returns a test that pairs cannot measure, with the figures of its single calls if they suffice.
    fn without_pairs(config: &Config, result: std::result::Result<Figures, Reason>) -> Self {
        let finding = Finding { result, reason: None, capture: None };
        Self::Over(Box::new(Screened::complete(criteria(config), finding)))
    }

    /// Notes the time that the test got in addition to its budget.
    fn grant(mut self, granted: Duration) -> Self {
        match &mut self {
            Self::Over(screened) => screened.granted = granted,
            Self::Open(series) => series.granted = granted,
        }
        self
    }

    /// Returns whether a test was too long, but is not for this budget.
    fn can_be_measured_with(&self, budget: Duration) -> bool {
        let Self::Over(screened) = self else { return false };
        let Err(Reason::TooLong { needed_seconds, .. }) = screened.evidence.screening.result else { return false };
        needed_seconds <= budget.as_secs_f64()
    }
}

/// The first pairs of a test.
struct Series {
    /// The executables with matched layouts; `None` if the executables as built are measured.
    executables: Option<Sides<TestExecutable>>,
    config: Config,
    settled: Settled,
    measurement: Measurement,
    /// The time for pairs in addition to the budget, which the confirmation may take again.
    granted: Duration,
}

/// A test that gets more of its first pairs.
struct Open<'a> {
    place: usize,
    subject: &'a Subject<'a>,
    series: Series,
    spent: Duration,
    /// The largest change that the pairs do not exclude, as a fraction of base.
    possible: f64,
}

/// Removes and returns the test with the largest possible change.
fn take_widest<'a>(open: &mut Vec<Open<'a>>) -> Option<Open<'a>> {
    let (at, _) = open.iter().enumerate().max_by(|(_, a), (_, b)| a.possible.total_cmp(&b.possible))?;
    Some(open.swap_remove(at))
}

/// Counts the operations of single calls of a test, and adds the counts to its figures.
fn add_counts(figures: &mut Figures, trial: &Trial<'_>, settled: &Settled, random: &mut fastrand::Rng) -> Result<()> {
    if settled.task != Task::Process {
        let ns = figures.measured.base_ns.max(figures.measured.head_ns);
        figures.metrics.extend(meter::meter(trial, settled, ns, random)?);
    }
    Ok(())
}

/// Returns whether the counts of a test may wait: in a run of limited time, bounds on all tests come before counts that decide
/// nothing.
fn may_count_late(config: &Config, screening: &Finding) -> bool {
    let gates = gates(config);
    let is_by_pairs = |gate: &Metric| *gate == Metric::Time || OF_PAIRS.contains(gate);
    config.deadline.is_some() && gates.iter().all(is_by_pairs) && !is_flagged(screening, gates)
}

/// Returns the metrics that decide; wall time if there are none.
fn gates(config: &Config) -> &[Metric] {
    config.metering.as_ref().map_or(&[], |metering| &metering.gates)
}

/// Returns the terms by which a test with these settings is judged.
fn criteria(config: &Config) -> Criteria {
    Criteria { threshold: config.threshold, gates: gates(config).to_vec(), accepted: config.accepted.clone() }
}

/// Returns whether all metrics that decide are confirmed whenever time is. For other metrics the first pairs are final.
fn confirms_all(config: &Config) -> bool {
    gates(config).iter().all(|gate| *gate == Metric::CpuTime || !OF_PAIRS.contains(gate))
}

/// Measures single calls, and returns their figures if they decide.
fn by_calls(trial: &Trial<'_>, settled: &Settled, random: &mut fastrand::Rng) -> Result<Option<Figures>> {
    let alone = Alone { trial: *trial, task: settled.task, clock: settled.clock };
    let room = single_calls::room(trial.config);
    let found =
        alone.bound(single_calls::slower(&settled.ns), &settled.ns.map(Some), settled.task.mode(), room, random)?;
    let Found::Bound(mut figures) = found else { return Ok(None) };
    figures.notes.clone_from(&settled.notes);
    Ok(Some(*figures))
}

#[cfg(test)]
mod tests {
    use super::super::bench::Metering;
    use super::super::single_calls::tests::config;
    use super::super::verdict::tests::{figures, finding};
    use super::*;
    use perfunit_model::Verdict;

    #[test]
    fn counts_wait_in_limited_runs_unless_they_decide_or_pairs_show_a_change() {
        let may = |deadline, gates: &[Metric], verdict| {
            let metering = Some(Metering { gates: gates.to_vec(), ..Metering::default() });
            may_count_late(&Config { deadline, metering, ..config() }, &finding(figures(verdict, 0.0)))
        };
        let limited = Some(Instant::now());
        assert!(may(limited, &[Metric::Time, Metric::CpuTime], Verdict::Same));
        assert!(!may(None, &[Metric::Time], Verdict::Same));
        assert!(!may(limited, &[Metric::Time, Metric::Allocations], Verdict::Same));
        assert!(!may(limited, &[Metric::Time], Verdict::Slower));
    }
}
