//! Explains one test by timing functions: chooses them by a strategy, until the responsible ones are clear.

use super::assemble::{Known, Plain, told, unless_contrary};
use super::attribute::{Attribution, Differences, PROBE_NS, attribute, attribute_joined, differences, leaks, medians};
use super::causes;
use super::causes::{Facts, add_causes, sources, text};
use super::merge::{Merged, match_renamed};
use super::probe_cost::attribute_corrected;
use super::question::{ALPHA, Answers, Goal, Inquiry, LONGEST, Question};
use perfunit_build::shadow::{self, Injections};
use perfunit_build::{
    Attempt, BuildFailure, Builder, InPlace, Linkers, Next, Place, Probes, Seeds, SideBuild, Variant,
};
use perfunit_measure::{Bench, Config, Layouts, ProbeRequest, ProbedPairs, ROOT, Subject, THREADS};
use perfunit_model::error::{Error, Result, Stop, Tried, apart};
use perfunit_model::{
    BuiltWith, Engine, Explanation, Function, Side, Sides, Strategy, TargetId, Unexplained, Unprobed, Warning,
};
use perfunit_project::git::{Entry, FileSet, Mode};
use perfunit_runtime::tree::mode;
use perfunit_select::source::{LeftOut, Site, instrument, packages_with_path};
use perfunit_system::interrupt;
use perfunit_system::progress::Progress;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Numbers of pairs after which the result is looked at.
const LOOKS: [usize; 4] = [8, 16, 32, 64];
/// Attributed share of the difference that suffices.
const EXPLAINED: f64 = 0.8;
/// Fraction of a test's time up to which timing all of its calls does not hide the difference.
const LIGHT: f64 = 0.5;
/// Change (a fraction) below which probes in all functions add too much noise, as in [Peass].
const SMALL_CHANGE: f64 = 0.02;
/// Largest number of levels to examine.
const MOST_LEVELS: usize = 24;

/// Longest explanation if other programs have the core and the required pairs take longer.
const LONGEST_ON_A_BUSY_MACHINE: Duration = Duration::from_mins(1);

/// Number of pairs that an interval needs.
const INTERVAL_PAIRS: usize = 4;
/// Number of pairs of a profile.
const PROFILE_PAIRS: usize = 4;
/// Request to time all functions.
const ALL: ProbeRequest = ProbeRequest { default_mode: mode::TIMING, listed_mode: mode::INACTIVE, keys: Vec::new() };

/// Explains the tests of one pairing.
struct Examiner<'a> {
    bench: &'a Bench,
    config: Config,
    probed: &'a Probed,
    inquiry: &'a Inquiry<'a>,
    facts: &'a Facts,
    layouts: Layouts<'a>,
    /// Time at which the explanation of a test ends at the latest. It may continue after its deadline until it has as
    /// many pairs as on a quiet machine.
    end: Instant,
}

/// Result of a number of pairs.
struct Finding {
    strategy: Strategy,
    merged: Merged,
    attribution: Attribution,
    differences: Differences,
    /// Cost of the probes in one run, ns.
    cost: Sides<f64>,
    /// Number of calls that did not fit into the tree.
    overflow: u64,
}

/// A result, or the reason why there is none.
type Told<T> = Tried<T, Unexplained>;

/// The trees of pairs.
struct Pairs {
    merged: Merged,
    /// Number of calls that did not fit into the tree.
    overflow: u64,
}

/// Explains tests by the time of their functions.
pub fn explain(builder: &mut Builder<'_>, inquiry: &Inquiry<'_>, questions: &[Question]) -> Result<Answers> {
    let _span = tracing::debug_span!("probes").entered();
    let targets: BTreeSet<TargetId> = questions.iter().map(|question| question.test.target.clone()).collect();
    let probed = match apart(build(builder, inquiry, &targets, Probes::With))? {
        Ok(probed) => probed,
        Err(why) => return Ok(Answers::none(questions, why)),
    };
    let (context, measuring) = (builder.context(), inquiry.measuring);
    let mut bench = Bench::open(&context.ours)?;
    bench.seeds = Seeds::new(inquiry.built.seeds.clone());
    bench.linkers = Linkers::of(&context.cargo);
    bench.made = Some(InPlace::put(&probed.sides, &context.ours)?);
    let layouts = Layouts::new(&bench, measuring.placement, measuring.seed);
    let facts = causes::facts(inquiry);
    let mut examiner = Examiner {
        bench: &bench,
        // Only the deadline ends it, even if fewer pairs fit than a verdict needs.
        config: inquiry.config(Duration::MAX, None),
        probed: &probed,
        inquiry,
        facts: &facts,
        layouts,
        end: Instant::now(),
    };
    let mut answers = Answers::default();
    let progress = Progress::bar(context.terminal, "Explaining", questions.len());
    for question in questions {
        if interrupt::is_requested() {
            break;
        }
        progress.message(question.test.to_string());
        let by = |longest: Duration| inquiry.end().into_iter().fold(Instant::now() + longest, Instant::min);
        let limit = by(LONGEST);
        examiner.end = by(LONGEST_ON_A_BUSY_MACHINE);
        if let Some(why) = inquiry.over() {
            answers.tests.insert(question.test.clone(), Err(why));
            continue;
        }
        let answer = match inquiry.explaining.goal {
            Goal::Responsible => examiner.explain(question, limit),
            Goal::Profile => examiner.profile(question, limit),
        };
        match apart(answer) {
            Ok(answer) => drop(answers.tests.insert(question.test.clone(), answer)),
            Err(error) => {
                answers.warnings.push(Warning::NothingMoreExplained { why: error.message().to_owned() });
                break;
            }
        }
        progress.advance();
    }
    Ok(answers)
}

impl Examiner<'_> {
    /// Explains one test until the deadline. Fails with the reason if this is impossible.
    fn explain(&mut self, question: &Question, deadline: Instant) -> Told<Explanation> {
        let started = Instant::now();
        let finding = match self.inquiry.explaining.strategy {
            Some(Strategy::Complete) => self.complete(question, deadline)?,
            strategy => {
                let calls = self.survey(question, deadline)?;
                match strategy {
                    Some(strategy) => self.by(strategy, question, &calls, deadline)?,
                    None => self.by_choice(question, &calls, started.elapsed(), deadline)?,
                }
            }
        };
        Ok(unless_contrary(self.told(question, &finding, started.elapsed()), question.change))
    }

    /// Determines callers, callees and numbers of calls by a pair with counting probes.
    fn survey(&mut self, question: &Question, deadline: Instant) -> Told<Merged> {
        let request = ProbeRequest { default_mode: mode::COUNTING, listed_mode: mode::INACTIVE, keys: Vec::new() };
        Ok(self.pairs(question, request, deadline, |_| true)?.merged)
    }

    fn by(&mut self, strategy: Strategy, question: &Question, calls: &Merged, deadline: Instant) -> Told<Finding> {
        match strategy {
            Strategy::Complete => self.complete(question, deadline),
            Strategy::Levelwise => self.levelwise(question, calls, deadline),
            Strategy::UntilSourceChange => self.until_source_change(question, calls, deadline),
        }
    }

    /// Tries one strategy after the other until a function is found. All functions are timed at once if that is cheap.
    /// Otherwise the paths to changed functions come first, because most differences arise there. Tries no more
    /// strategies than the time allows: `survey` is the time of preparing the test and running a pair.
    fn by_choice(&mut self, question: &Question, calls: &Merged, survey: Duration, deadline: Instant) -> Told<Finding> {
        let is_light = all_calls(calls) * PROBE_NS <= LIGHT * question.base_ns;
        let order = if is_light && question.change.abs() >= SMALL_CHANGE {
            [Strategy::Complete, Strategy::UntilSourceChange, Strategy::Levelwise]
        } else {
            [Strategy::UntilSourceChange, Strategy::Levelwise, Strategy::Complete]
        };
        let left = deadline.saturating_duration_since(Instant::now());
        let fitting = left.as_secs_f64() / (LOOKS[0] as f64 * survey.as_secs_f64() / 2.0);
        let order = &order[..(fitting as usize).clamp(1, order.len())];
        let mut best: Option<std::result::Result<Finding, Unexplained>> = None;
        for (index, strategy) in order.iter().copied().enumerate() {
            let left = deadline.saturating_duration_since(Instant::now());
            let share = left / (order.len() - index) as u32;
            let found = apart(self.by(strategy, question, calls, Instant::now() + share))?;
            let is_enough = found.as_ref().is_ok_and(|finding| finding.is_enough(question));
            let is_better = match (&best, &found) {
                (None | Some(Err(_)), _) => true,
                (Some(Ok(best)), Ok(found)) => found.explained_share(question) > best.explained_share(question),
                (Some(Ok(_)), Err(_)) => false,
            };
            if is_better {
                best = Some(found);
            }
            if is_enough {
                break;
            }
        }
        best.unwrap_or(Err(Unexplained::NoTimeLeft)).map_err(Stop::Because)
    }

    /// Times all functions at once.
    fn complete(&mut self, question: &Question, deadline: Instant) -> Told<Finding> {
        self.find(question, Strategy::Complete, ALL, deadline)
    }

    /// Times the callees of the test, then those of responsible functions, and so on.
    fn levelwise(&mut self, question: &Question, calls: &Merged, deadline: Instant) -> Told<Finding> {
        let mut timed = first_level(calls);
        let mut found = self.timing(question, Strategy::Levelwise, &timed, deadline)?;
        for _ in 1..MOST_LEVELS {
            let more = closer(calls, &found.attribution, &timed);
            if more.is_empty() || Instant::now() >= deadline {
                break;
            }
            timed.extend(more);
            let closer = apart(self.timing(question, Strategy::Levelwise, &timed, deadline))?;
            // The known result is better than a level for which no time was left.
            match closer {
                Ok(closer) if closer.attribution.responsible().next().is_some() => found = closer,
                _ => break,
            }
        }
        Ok(found)
    }

    /// Times the functions on the paths to those with changed source, and the callees of these functions.
    fn until_source_change(&mut self, question: &Question, calls: &Merged, deadline: Instant) -> Told<Finding> {
        let is_changed = |key: &u64| self.inquiry.has_changed(&self.probed.functions, *key);
        let called: BTreeSet<u64> = calls.nodes.iter().map(|node| node.key).collect();
        let wanted: Keys = called.into_iter().filter(is_changed).collect();
        match ways_to(calls, &wanted) {
            Some(keys) => self.timing(question, Strategy::UntilSourceChange, &keys, deadline),
            None => Err(Stop::Because(Unexplained::NoChangeCalled)),
        }
    }

    fn timing(&mut self, question: &Question, strategy: Strategy, keys: &Keys, deadline: Instant) -> Told<Finding> {
        let renamed = self.probed.renamed.iter().filter(|(_, old)| keys.contains(old)).map(|(new, _)| *new);
        // A request needs sorted keys.
        let keys = keys.iter().copied().chain(renamed).collect::<Keys>().into_iter().collect();
        let request = ProbeRequest { default_mode: mode::INACTIVE, listed_mode: mode::TIMING, keys };
        self.find(question, strategy, request, deadline)
    }

    /// Runs pairs until the responsible functions are clear.
    fn find(
        &mut self,
        question: &Question,
        strategy: Strategy,
        request: ProbeRequest,
        deadline: Instant,
    ) -> Told<Finding> {
        let (probed, inquiry) = (self.probed, self.inquiry);
        let is_enough = |merged: &Merged| {
            LOOKS.contains(&merged.pairs)
                && (attribute_to_functions(merged, question, probed, inquiry)
                    .is_some_and(|(_, attribution)| explained_share(&attribution, question) >= EXPLAINED)
                    || merged.pairs == LOOKS[LOOKS.len() - 1])
        };
        self.pairs(question, request, deadline, is_enough)?.judge(question, strategy, probed, inquiry)
    }

    /// Profiles both versions without looking for responsible functions.
    fn profile(&mut self, question: &Question, deadline: Instant) -> Told<Explanation> {
        let started = Instant::now();
        let pairs = self.pairs(question, ALL, deadline, |merged| merged.pairs == PROFILE_PAIRS)?;
        let finding = pairs.judge(question, Strategy::Complete, self.probed, self.inquiry)?;
        Ok(self.told(question, &finding, started.elapsed()))
    }

    /// Returns the trees of pairs when there are enough or no time is left.
    fn pairs(
        &mut self,
        question: &Question,
        request: ProbeRequest,
        deadline: Instant,
        is_enough: impl Fn(&Merged) -> bool,
    ) -> Told<Pairs> {
        let executable = |side: Side| {
            let mut executables = self.probed.sides.get(side).executables.iter();
            executables.find(|executable| executable.target == question.test.target)
        };
        let (Some(base), Some(head)) = (executable(Side::Base), executable(Side::Head)) else {
            return Err(Stop::Because(Unexplained::TargetNotBuilt { with: BuiltWith::Probes }));
        };
        let built = Sides { base, head };
        let executables = self.layouts.first(built)?.unwrap_or(built);
        let subject = Subject::new(question.test.clone(), executables);
        self.config.deadline = Some(self.end);
        let sides = self.probed.sides.as_ref();
        let opened = ProbedPairs::open(self.bench, &self.config, sides, subject, request);
        let mut pairs = opened.map_err(|stop| stop.map(Unexplained::NoLaterCalls))?;
        let mut merged = Merged::default();
        let mut overflow = 0;
        while let Some(runs) = pairs.pair()? {
            overflow = overflow.max(runs.base.overflow).max(runs.head.overflow);
            let mut trees = runs.map(|run| run.tree);
            trees.head.rename(&self.probed.renamed);
            merged.add(&trees);
            let is_late = merged.pairs >= pairs_in_time(question) && Instant::now() >= deadline;
            if is_enough(&merged) || is_late {
                break;
            }
        }
        Ok(Pairs { merged, overflow })
    }

    fn told(&self, question: &Question, finding: &Finding, took: Duration) -> Explanation {
        let known = Known {
            test: &question.test,
            engine: Engine::Probes,
            seconds: took.as_secs_f64(),
            strategy: finding.strategy,
            plain: Some(Plain { base_ns: question.base_ns, difference: question.difference() }),
            probe_cost: finding.cost,
            functions: &self.probed.functions,
            without_probe: self.probed.without_probe.clone(),
            overflow: finding.overflow,
            changed: &|function| self.inquiry.source_change(function),
            names: &|function| self.inquiry.names(function),
            of_test: &|| self.inquiry.of_test(&question.test, &self.facts.index),
        };
        let mut explanation = told(&finding.merged, &finding.differences, &finding.attribution, &known);
        add_causes(&mut explanation, &finding.attribution, &known, self.facts);
        explanation
    }
}

impl Pairs {
    fn judge(self, question: &Question, strategy: Strategy, probed: &Probed, inquiry: &Inquiry<'_>) -> Told<Finding> {
        let found = attribute_to_functions(&self.merged, question, probed, inquiry);
        let (merged, attribution) = found.ok_or(Stop::Because(Unexplained::TooFewPairs))?;
        let differences = differences(&merged, level()).ok_or(Stop::Because(Unexplained::TooFewPairs))?;
        let cost = probe_cost(&merged);
        Ok(Finding { strategy, merged, attribution, differences, cost, overflow: self.overflow })
    }
}

impl Finding {
    fn explained_share(&self, question: &Question) -> f64 {
        explained_share(&self.attribution, question)
    }

    fn is_enough(&self, question: &Question) -> bool {
        self.explained_share(question) >= EXPLAINED
    }
}

/// Attributes the difference to functions, and to groups that timing cannot separate. Also returns the tree after the
/// correction for the probes' cost.
fn attribute_to_functions(
    merged: &Merged,
    question: &Question,
    probed: &Probed,
    inquiry: &Inquiry<'_>,
) -> Option<(Merged, Attribution)> {
    attribute_corrected(merged, &question.difference(), |merged| {
        let apart = attribute(merged, level())?;
        let joined = leaks(merged, &apart, |key| inquiry.has_changed(&probed.functions, key));
        if joined.is_empty() { Some(apart) } else { attribute_joined(merged, level(), &joined) }
    })
}

/// Returns the number of pairs that a strategy gets on a busy machine too: as many as a quiet machine runs in time.
fn pairs_in_time(question: &Question) -> usize {
    // A process makes some calls to warm up and some batches; the rest of a pair takes about a tenth of a second.
    const CALLS: f64 = 40.0;
    let pair = 0.1 + CALLS * question.pair_seconds();
    let fit = |pairs: &&usize| **pairs as f64 * pair <= LONGEST.as_secs_f64();
    LOOKS[..2].iter().rev().find(fit).copied().unwrap_or(INTERVAL_PAIRS)
}

/// Returns the cost of the probes in one run, in ns.
fn probe_cost(merged: &Merged) -> Sides<f64> {
    let costs = merged.nodes.iter().map(|node| medians(&node.probe_cost));
    costs.fold(Sides { base: 0.0, head: 0.0 }, |sum, cost| Sides {
        base: sum.base + cost.base,
        head: sum.head + cost.head,
    })
}

/// Returns the level of each look; all looks share the error rate.
fn level() -> f64 {
    ALPHA / LOOKS.len() as f64
}

/// Returns the share of the difference that is certainly attributed; 0 if the difference has another direction than
/// without probes.
fn explained_share(attribution: &Attribution, question: &Question) -> f64 {
    if attribution.whole.estimate.signum() != question.change.signum() {
        return 0.0;
    }
    attribution.responsible().map(|part| attribution.share(part)).sum()
}

pub type Keys = BTreeSet<u64>;

/// Returns the direct callees of the test and its threads.
pub fn first_level(tree: &Merged) -> Keys {
    called_by(tree, |key| key == ROOT || key == THREADS)
}

/// Returns the callees of these functions.
pub fn below(tree: &Merged, keys: &Keys) -> Keys {
    called_by(tree, |key| keys.contains(&key))
}

fn called_by(tree: &Merged, by: impl Fn(u64) -> bool) -> Keys {
    let called = tree.nodes.iter().skip(1).filter(|node| by(tree.nodes[node.parent].key));
    called.map(|node| node.key).filter(|key| *key != THREADS).collect()
}

/// Returns the functions on the paths from the test to these, and their callees; `None` if the test calls none of them.
pub fn ways_to(tree: &Merged, wanted: &Keys) -> Option<Keys> {
    let mut keys = Keys::new();
    for node in tree.nodes.iter().filter(|node| wanted.contains(&node.key)) {
        let mut node = node;
        while node.key != ROOT {
            if node.key != THREADS {
                keys.insert(node.key);
            }
            node = &tree.nodes[node.parent];
        }
    }
    if keys.is_empty() {
        return None;
    }
    keys.extend(below(tree, wanted));
    Some(keys)
}

/// Returns the functions to examine next: untimed callees of functions with a certain part that is large enough. The
/// test itself is responsible for time outside of all other functions.
pub fn closer(tree: &Merged, attribution: &Attribution, timed: &Keys) -> Keys {
    let responsible: Keys = attribution.responsible().map(|part| part.key).collect();
    let own = called_by(tree, |key| responsible.contains(&key) || (key == THREADS && responsible.contains(&ROOT)));
    own.difference(timed).copied().collect()
}

/// Returns the calls of one run on the side that makes more.
pub fn all_calls(tree: &Merged) -> f64 {
    let calls = |side: fn(&super::merge::MergedNode) -> &[f64]| {
        let last = |values: &[f64]| values.last().copied().unwrap_or(0.0);
        tree.nodes.iter().map(|node| last(side(node))).sum::<f64>()
    };
    calls(|node| &node.calls.base).max(calls(|node| &node.calls.head))
}

/// Builds of both sides with probes.
#[derive(Debug)]
pub struct Probed {
    pub sides: Sides<SideBuild>,
    /// Functions with probes by the keys of their sites.
    pub functions: Sides<BTreeMap<u64, Function>>,
    /// Head's keys of functions with another key in base, with base's keys; all other code uses base's keys.
    pub renamed: BTreeMap<u64, u64>,
    /// Number of head's functions without a probe, by reason.
    pub without_probe: BTreeMap<Unprobed, usize>,
    /// Head's functions in the sources, by the keys of their sites.
    pub sites: BTreeMap<u64, Site>,
    /// Files that do not compile with probes.
    pub without: BTreeSet<String>,
}

/// Returns whether all packages of the project are members of the workspace. For cargo, other path packages are the
/// same package in both trees, and fresh by the times of their files, so a build of one tree would be reused for the
/// other. Members are separate because the wrapper is.
fn has_only_members(inquiry: &Inquiry<'_>) -> bool {
    let Inquiry { versions, selected, .. } = *inquiry;
    let members = selected.workspace.members();
    let members: BTreeSet<&str> = members.map(|package| package.name.as_str()).collect();
    let lock = Path::new(&selected.workspace.root).join("Cargo.lock").to_string_lossy().into_owned();
    Side::BOTH.iter().all(|side| {
        let known = versions.read_file(versions.files.get(*side), &lock).and_then(|lock| packages_with_path(&lock));
        known.is_some_and(|names| {
            let distinct: BTreeSet<&str> = names.iter().map(String::as_str).collect();
            distinct.len() == names.len() && distinct.is_subset(&members)
        })
    })
}

/// Files of both versions for a build with probes.
struct WithProbes<'a> {
    inquiry: &'a Inquiry<'a>,
    place: Place,
    probes: Probes,
    /// Files that do not compile with probes.
    without: BTreeSet<String>,
    instrumented: Instrumentation,
}

/// Builds the targets of both sides with these probes. Fails with the reason if this is impossible.
pub fn build(
    builder: &mut Builder<'_>,
    inquiry: &Inquiry<'_>,
    targets: &BTreeSet<TargetId>,
    probes: Probes,
) -> Tried<Probed, Unexplained> {
    let place = Place::Probed { apart: !has_only_members(inquiry) };
    let without = BTreeSet::new();
    let instrumented = instrument_files(inquiry, &builder.root(place)?, &without)?;
    let mut attempt = WithProbes { inquiry, place, probes, without, instrumented };
    let with = if probes == Probes::Counting { BuiltWith::Counters } else { BuiltWith::Probes };
    let both = builder.both_sides(&inquiry.job(targets), &mut attempt);
    let mut sides = both.map_err(|stop| stop.map(|failure| inquiry.not_built(with, &failure)))?.sides;
    inquiry.built.export_to(&mut sides);
    let WithProbes { without, instrumented, .. } = attempt;
    let Instrumentation { files, mut functions, without_probe, mut sites } = instrumented;
    // Tests find the data files of their own version, as in the measurement.
    let own = files.get(inquiry.built.pairing.tests_of);
    let data = own.for_both(&files.base).map_or(Cow::Borrowed(own), Cow::Owned);
    builder.checkout(place, &*inquiry.built.pairing.with_steps(data)?, &inquiry.built.injections)?;
    let renamed = match_renamed(&functions);
    for (new, old) in &renamed {
        functions.head.remove(new).into_iter().for_each(|function| drop(functions.head.insert(*old, function)));
        sites.remove(new).into_iter().for_each(|site| drop(sites.insert(*old, site)));
    }
    Ok(Probed { sides, functions, renamed, without_probe, sites, without })
}

impl Attempt for WithProbes<'_> {
    fn place(&self) -> Place {
        self.place
    }

    fn variant(&self) -> Variant {
        Variant { probes: self.probes, ..self.inquiry.built.variant }
    }

    fn order(&self) -> [Side; 2] {
        self.inquiry.built.pairing.order()
    }

    fn files(&self, side: Side) -> &FileSet {
        self.instrumented.files.get(side)
    }

    fn injections(&self) -> &Injections {
        &self.inquiry.built.injections
    }

    fn is_left_out(&self, target: &TargetId) -> bool {
        self.inquiry.built.left_out.contains_key(target)
    }

    fn after(&mut self, side: Side, failure: &BuildFailure, tree: &Path) -> Result<Next> {
        // Files with errors that still have probes.
        let named = failure.places.iter().filter_map(|place| place.file.strip_prefix(tree).ok());
        let named = named.filter(|path| self.files(side).entries.contains_key(*path));
        let named = named.map(|path| path.to_string_lossy().into_owned());
        let responsible: Vec<String> = named.filter(|path| !self.without.contains(path)).collect();
        if responsible.is_empty() {
            return Ok(Next::Stop);
        }
        self.without.extend(responsible);
        self.instrumented = instrument_files(self.inquiry, tree, &self.without)?;
        Ok(Next::BothSides)
    }
}

struct Instrumentation {
    files: Sides<FileSet>,
    functions: Sides<BTreeMap<u64, Function>>,
    without_probe: BTreeMap<Unprobed, usize>,
    /// Sites of head.
    sites: BTreeMap<u64, Site>,
}

/// Adds probes to all files of both versions except `without`.
fn instrument_files(inquiry: &Inquiry<'_>, tree: &Path, without: &BTreeSet<String>) -> Result<Instrumentation> {
    let Inquiry { versions, selected, built: plain, .. } = *inquiry;
    let sources = Sides { base: sources(selected, Side::Base), head: sources(selected, Side::Head) };
    let trivial = sources.try_map(|side, sources| {
        let files = plain.pairing.files.get(side);
        let mut found = BTreeMap::new();
        for (path, source) in &sources {
            let Some(text) = text(versions, files, path) else { continue };
            found.extend(
                instrument(&text, &source.place(), &|_| true).sites.into_iter().map(|site| (site.key, site.trivial)),
            );
        }
        Ok::<_, Error>((sources, found))
    })?;
    // A function has a probe on both sides or on neither.
    let is_trivial = |key: u64| Side::BOTH.iter().all(|side| trivial.get(*side).1.get(&key).is_none_or(|is| *is));
    let mut without_probe: BTreeMap<Unprobed, usize> = BTreeMap::new();
    let mut functions: Sides<BTreeMap<u64, Function>> = Sides::default();
    let mut sites = BTreeMap::new();
    let files = Sides { base: Side::Base, head: Side::Head }.try_map(|_, side| {
        let mut files = plain.pairing.files.get(side).clone();
        for (path, source) in &trivial.get(side).0 {
            if without.contains(path) && !source.is_root {
                continue;
            }
            let Some(text) = text(versions, &files, path) else { continue };
            let wanted = |site: &Site| !is_trivial(site.key) && !without.contains(path);
            let found = instrument(&text, &source.place(), &wanted);
            functions
                .get_mut(side)
                .extend(found.sites.iter().map(|site| (site.key, source.function(path, &site.name, site.line))));
            if side == Side::Head {
                for LeftOut { why, .. } in &found.left_out {
                    *without_probe.entry(*why).or_default() += 1;
                }
                sites.extend(found.sites.into_iter().map(|site| (site.key, site)));
            }
            let mut text = found.text;
            if source.is_root {
                let place = tree.join(files.place(path));
                text.push_str(&shadow::probes_text(shadow::place_in_tree(&place).unwrap_or(Path::new(path))));
            }
            let path = PathBuf::from(path);
            let mode = files.entries.get(&path).map_or(Mode::File, |entry| entry.mode);
            files.entries.insert(path, Entry { mode, ..Entry::snapshot(text.into_bytes()) });
        }
        Ok::<_, Error>(files)
    })?;
    Ok(Instrumentation { files, functions, without_probe, sites })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attribute::attribute;
    use perfunit_measure::{Recorded, RecordedNode};
    use perfunit_model::Sides;

    /// Builds a tree of nodes (key, parent, self time on base and on head); the root is 0.
    fn tree(nodes: &[(u64, usize, f64, f64)]) -> Merged {
        let recorded = |time: fn(&(u64, usize, f64, f64)) -> f64| {
            let below = nodes.iter().map(|node| RecordedNode {
                parent: node.1,
                calls: 1.0,
                self_cost: time(node),
                ..RecordedNode::root(node.0)
            });
            let root = RecordedNode { self_cost: 1.0, ..RecordedNode::root(ROOT) };
            Recorded { nodes: std::iter::once(root).chain(below).collect() }
        };
        let mut merged = Merged::default();
        let pair = Sides { base: recorded(|node| node.2), head: recorded(|node| node.3) };
        (0..4).for_each(|_| merged.add(&pair));
        merged
    }

    /// The test calls 10 and 11, 10 calls 12, which calls 13 and 14; a thread calls 15.
    fn example(head_of_12: f64) -> Merged {
        let nodes = [
            (10, 0, 1.0, 1.0),
            (11, 0, 1.0, 1.0),
            (12, 1, 1.0, head_of_12),
            (13, 3, 1.0, 1.0),
            (14, 3, 1.0, 1.0),
            (THREADS, 0, 0.0, 0.0),
            (15, 6, 1.0, 1.0),
        ];
        tree(&nodes)
    }

    #[test]
    fn the_first_level_is_what_the_test_and_its_threads_call() {
        assert_eq!(first_level(&example(1.0)), [10, 11, 15].into());
    }

    #[test]
    fn the_ways_to_a_function_and_what_it_calls() {
        assert_eq!(ways_to(&example(1.0), &[12].into()), Some([10, 12, 13, 14].into()));
        assert_eq!(ways_to(&example(1.0), &[15].into()), Some([15].into()));
        assert_eq!(ways_to(&example(1.0), &[99].into()), None);
    }

    #[test]
    fn one_looks_closer_below_those_who_pay() {
        let merged = example(9.0);
        let attribution = attribute(&merged, 0.01).unwrap();
        assert_eq!(closer(&merged, &attribution, &[10, 11, 12].into()), [13, 14].into());
        assert_eq!(closer(&merged, &attribution, &[10, 11, 12, 13, 14].into()), Keys::new());
    }

    #[test]
    fn all_calls_are_those_of_the_busier_side() {
        assert!((all_calls(&example(1.0)) - 7.0).abs() < 1e-9);
    }
}
