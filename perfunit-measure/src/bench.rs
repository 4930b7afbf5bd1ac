//! The place where processes are measured: the core, the scratch folders, the address space.

use super::call_trees::CallTrees;
use super::cores::quietest;
use super::fork_servers::ForkServers;
use super::gauge::{Gauge, Gauges};
use super::idle::IdleWatch;
use super::kernel;
use super::noise::Watch;
use super::options::Measuring;
use super::program_files::ProgramFiles;
use super::shared_memory::{CommonFile, SharedPage};
use super::starts::StartLog;
use super::work_tables::WorkTables;
use perfunit_build::{InPlace, Linkers, Seeds, SideBuild, TestExecutable};
use perfunit_model::error::{Error, Result};
use perfunit_model::{AcceptedLoss, Instructions, Machine, Metric, Placement, Sides, Threshold};
use perfunit_project::config::Terms;
use perfunit_system::cache;
use perfunit_system::fs;
use perfunit_system::os;
use perfunit_system::process;
use perfunit_system::temporary::TestFolder;
use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::{Duration, Instant};

/// Settings of the user.
#[derive(Debug, Clone)]
pub struct Config {
    /// Timeout for each measured process.
    pub timeout: Duration,
    /// Time budget of one test, for screening and for confirmation each.
    pub per_test_budget: Duration,
    /// Time at which the whole run has to end.
    pub deadline: Option<Instant>,
    /// Smallest change that is gated, as a fraction of base.
    pub threshold: Threshold,
    /// Probability of a false verdict per test before confirmation.
    pub alpha: f64,
    /// Largest number of verdicts of pairs (see [`verdicts_of_pairs`](super::verdicts_of_pairs)) that the whole run
    /// gives in other rounds and shards, in addition to those on the tests at hand. All these verdicts share one error
    /// rate.
    pub other_verdicts: usize,
    /// Number of runs that share the error rate, including this one.
    pub family: usize,
    /// Seed of the random shifts and of the random numbers that tests draw.
    pub seed: u64,
    /// Placement of code: matched layouts, or the linker's.
    pub placement: Placement,
    /// Accepted loss: only the part of a change that exceeds it is judged.
    pub accepted: Option<AcceptedLoss>,
    /// Metrics other than time to measure, if any.
    pub metering: Option<Metering>,
}

impl Config {
    /// Returns these settings for a run that gives no other verdicts, has no time limit, and measures time only.
    pub fn of(measuring: &Measuring) -> Self {
        Self {
            timeout: measuring.timeout,
            per_test_budget: measuring.per_test_budget,
            deadline: None,
            threshold: measuring.threshold,
            alpha: measuring.alpha,
            other_verdicts: 0,
            family: 1,
            seed: measuring.seed,
            placement: measuring.placement,
            accepted: None,
            metering: None,
        }
    }

    /// Returns the same settings for a test with terms of its own.
    #[must_use]
    pub fn on(&self, terms: Option<&Terms>) -> Self {
        let Some(terms) = terms else { return self.clone() };
        let metering = self.metering.as_ref();
        Self {
            threshold: terms.threshold,
            per_test_budget: terms.per_test_budget,
            timeout: terms.timeout,
            accepted: terms.accepted.clone(),
            metering: metering.map(|metering| Metering { gates: terms.gates.clone(), ..metering.clone() }),
            ..self.clone()
        }
    }

    /// Returns the same settings with more time for each test.
    #[must_use]
    pub fn plus(&self, time: Duration) -> Self {
        Self { per_test_budget: self.per_test_budget + time, ..self.clone() }
    }
}

/// Measurement of metrics other than time.
#[derive(Debug, Clone, Default)]
pub struct Metering {
    /// Metrics that decide: they are measured until they are clear, and confirmed.
    pub gates: Vec<Metric>,
    /// Source of instruction counts.
    pub instructions: Instructions,
}

/// A prepared machine. Keeps the tool away from the measured core as long as it exists.
#[derive(Debug)]
pub struct Bench {
    /// True if address space randomisation can be switched off.
    pub paired_address_space: bool,
    /// Method that gives both processes of a pair the same random numbers; none unless set.
    pub seeds: Seeds,
    /// Linkers that can make layouts, in addition to the project's linker.
    pub linkers: Linkers,
    /// Requirements of processes that count; none unless set.
    pub gauges: Gauges,
    /// Files in which processes record call trees; none unless set.
    pub trees: RefCell<Option<CallTrees>>,
    /// Files in which processes record the work of functions; none unless set.
    pub tables: RefCell<Option<WorkTables>>,
    /// Files that build scripts of each side left in `OUT_DIR`.
    pub made: Option<InPlace>,
    /// Files of the programs that tests start, if the sides exchange them.
    pub program_files: Option<ProgramFiles>,
    /// The page of the running pair.
    pub page: SharedPage,
    /// Logs in which the processes of each side note the programs that they start.
    pub starts: Sides<StartLog>,
    /// Processes that fork the processes of the next pairs.
    pub fork_servers: RefCell<ForkServers>,
    /// `TMPDIR` of each side; both paths are equally long.
    pub temporary: Sides<TestFolder>,
    /// Folder for files that are deleted after the run.
    folder: PathBuf,
    core: Cell<usize>,
    cores: Cores,
    idle: RefCell<IdleWatch>,
    watch: RefCell<Watch>,
    common: RefCell<CommonFile>,
    /// True if some process could not move its program.
    unsettled: Cell<bool>,
}

/// Guard for the use of cores beyond those left to the tool during measurements; its drop ends the use.
pub struct Visit<'a>(&'a Bench);

impl Drop for Visit<'_> {
    fn drop(&mut self) {
        if self.0.cores.before.is_some() {
            self.0.cores.keep_away_from(self.0.core.get());
        }
    }
}

/// The cores that this process may use, as they were at the start.
#[derive(Debug)]
struct Cores {
    allowed: Vec<usize>,
    /// The cores of this process before the run; `None` if the system does not allow a choice.
    before: Option<BTreeSet<usize>>,
}

impl Bench {
    /// Prepares the machine; `ours` is the state folder below cargo's target folder.
    pub fn open(ours: &Path) -> Result<Self> {
        let _span = tracing::debug_span!("core").entered();
        os::check_support()?;
        process::spare_children();
        let cores = Cores::find();
        let core = quietest(&cores.allowed).ok_or_else(|| Error::setup("no CPU may be used"))?;
        cores.keep_away_from(core);
        let folder = cache::temporary(ours);
        cache::empty_private_dir(&folder)?;
        let base = TestFolder::create("base")?;
        let temporary = Sides { head: base.beside("head"), base };
        Ok(Self {
            paired_address_space: can_fix_addresses(),
            seeds: Seeds::default(),
            linkers: Linkers::default(),
            gauges: Gauges::default(),
            trees: RefCell::default(),
            tables: RefCell::default(),
            made: None,
            program_files: None,
            page: SharedPage::new()?,
            starts: Sides { base: StartLog::new()?, head: StartLog::new()? },
            fork_servers: RefCell::default(),
            temporary,
            folder,
            core: Cell::new(core),
            cores,
            idle: RefCell::default(),
            watch: RefCell::new(Watch::new(core)),
            common: RefCell::default(),
            unsettled: Cell::new(false),
        })
    }

    /// Returns the core that runs both processes of a pair.
    pub fn core(&self) -> usize {
        self.core.get()
    }

    /// Lets the sides exchange the files of programs that differ.
    pub fn exchange_programs(&mut self, sides: &Sides<SideBuild>) -> Result<()> {
        self.program_files = ProgramFiles::prepare(&self.folder.join("programs"), sides)?;
        Ok(())
    }

    /// Watches how long the measured core is idle during calls, or stops it.
    pub fn watch_idle(&self, wanted: bool) {
        // The idle time of one core is useless unless processes stay on it.
        self.idle.borrow_mut().set(self.cores.before.is_some() && wanted, self.core());
    }

    /// Returns the clock that shows how long the measured core is idle, for a page.
    pub fn idle_clock(&self) -> i32 {
        self.idle.borrow_mut().clock()
    }

    /// Returns the core that a process moves to; `None` if it stays where it starts.
    pub fn core_of(&self, gauge: Option<Gauge>) -> Option<usize> {
        (!gauge.is_some_and(Gauge::suits_any_core)).then(|| self.core())
    }

    /// Returns core masks for the preloaded library. Tests see the cores that this process was started with (the first
    /// mask) instead of the measured core and of the cores that this process keeps to meanwhile. `None` if there is
    /// nothing to hide.
    pub fn cores_told(&self) -> Option<String> {
        let before = self.cores.before.as_ref().filter(|before| before.len() > 1)?;
        let now = os::own_cores().filter(|now| now != before);
        let sets = [Some(before.clone()), Some(BTreeSet::from([self.core.get()])), now];
        Some(core_masks(&sets.into_iter().flatten().collect::<Vec<_>>()))
    }

    /// Moves this process to the core of the measured processes until the result is dropped. Children that this process
    /// starts and waits for there run there from their first instruction to their last.
    pub fn visit_core(&self) -> Visit<'_> {
        self.visit(self.core_at(0))
    }

    /// Moves this process to a core, if one is given, until the result is dropped.
    pub fn visit(&self, core: Option<usize>) -> Visit<'_> {
        if let Some(core) = core {
            let _ = os::keep_on([core]);
        }
        Visit(self)
    }

    /// Returns the core of one of several processes that run at once: the measured core, then others as far as there are
    /// some. `None` if processes cannot be kept on cores.
    pub fn core_at(&self, index: usize) -> Option<usize> {
        self.cores.before.as_ref()?;
        let measured = self.core.get();
        let others = self.cores.allowed.iter().copied().filter(|core| *core != measured);
        Some(std::iter::once(measured).chain(others).nth(index).unwrap_or(measured))
    }

    /// Lets this process and its children use all cores until the result is dropped: for work while nothing is
    /// measured.
    pub fn use_all_cores(&self) -> Visit<'_> {
        self.cores.release();
        Visit(self)
    }

    /// Returns the number of cores for such work.
    pub fn all_cores(&self) -> usize {
        self.cores.allowed.len()
    }

    /// Returns whether the sides exchange the files of programs that tests start between two pairs, because these differ.
    pub fn exchanges_programs(&self) -> bool {
        self.program_files.as_ref().is_some_and(ProgramFiles::differ)
    }

    /// Moves to a quieter core between two tests, if other programs were busy on the current core.
    pub fn settle(&self) {
        let mut watch = self.watch.borrow_mut();
        if self.cores.allowed.len() > 1 && watch.wants_to_move() {
            // The choice includes the measured core, which this process does not use at this point.
            self.cores.release();
            let core = quietest(&self.cores.allowed).unwrap_or(self.core.get());
            self.core.set(core);
            // The fork servers, their variables and the idle process belong to the former core.
            self.fork_servers.borrow_mut().clear();
            self.idle.take();
            self.cores.keep_away_from(core);
            watch.move_to(core);
        }
    }

    /// Returns remarks for the user about this machine and the time of the measurement.
    pub fn remarks(&self) -> Vec<Machine> {
        let mut remarks = Vec::new();
        if !self.paired_address_space {
            remarks.push(Machine::RandomAddresses);
        }
        if self.cores.before.is_none() {
            // Without a fixed core, the load of the measured core is unknown as well.
            remarks.push(Machine::NoFixedCore);
            return remarks;
        }
        if self.unsettled.get() {
            remarks.push(Machine::Unmoved);
        }
        if self.cores.allowed.len() == 1 {
            remarks.push(Machine::OnlyOneCore);
        }
        remarks.extend(self.watch.borrow().remarks());
        remarks
    }

    /// Returns the file with the pages that both programs have in common; `None` if these cannot be moved.
    pub fn common_pages(&self, executables: Sides<&TestExecutable>) -> Result<Option<Rc<File>>> {
        self.common.borrow_mut().of(executables)
    }

    /// Notes that a process could not move its program to the intended pages.
    pub fn note_unsettled(&self) {
        self.unsettled.set(true);
    }

    /// Returns the folder for the output of callgrind.
    pub fn callgrind(&self) -> PathBuf {
        self.folder.join("callgrind")
    }

    /// Returns the `TMPDIR` of traced tests.
    pub fn traced_folder(&self) -> TestFolder {
        self.temporary.base.beside("traced")
    }

    /// Returns the folder for executables with debug information.
    pub fn debug_info_folder(&self) -> PathBuf {
        self.folder.join("lined")
    }

    /// Returns the folder for executables with other layouts.
    pub fn layouts(&self) -> PathBuf {
        self.folder.join("layouts")
    }

    /// Gives each side an empty temporary folder.
    pub fn clean_temporary(&self) -> Result<()> {
        [&self.temporary.base, &self.temporary.head].into_iter().try_for_each(|folder| {
            if std::fs::read_dir(folder.path()).is_ok_and(|mut entries| entries.next().is_none()) {
                return Ok(());
            }
            folder.empty()
        })
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        self.cores.release();
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Returns the cores that this process may use, and whether it may choose among them.
pub fn usable_cores() -> (Vec<usize>, bool) {
    let Cores { allowed, before } = Cores::find();
    (allowed, before.is_some())
}

impl Cores {
    fn find() -> Self {
        let before = os::own_cores();
        let allowed = match &before {
            Some(cores) => cores.iter().copied().collect(),
            // The scheduler then decides where the processes run.
            None => vec![0],
        };
        Self { allowed, before }
    }

    /// Keeps this process, which waits for the measured processes, off their core and off the cores that share its
    /// execution units. A failure is not fatal: the measured processes are pinned in any case.
    fn keep_away_from(&self, core: usize) {
        let units = kernel::siblings(core);
        let without =
            |excluded: &[usize]| os::keep_on(self.allowed.iter().copied().filter(|other| !excluded.contains(other)));
        // An empty set is refused: then only the core's other half is left, or only the core itself.
        let _ = without(&units).or_else(|_| without(&[core]));
    }

    fn release(&self) {
        if let Some(before) = &self.before {
            let _ = os::keep_on(before.iter().copied());
        }
    }
}

/// Returns sets of cores as hexadecimal numbers of equal length, separated by commas.
fn core_masks(sets: &[BTreeSet<usize>]) -> String {
    let digits = sets.iter().flatten().max().map_or(1, |last| last / 4 + 1);
    let digit = |set: &BTreeSet<usize>, place: usize| {
        let bits = (0..4).filter(|bit| set.contains(&(4 * place + bit))).map(|bit| 1 << bit);
        char::from_digit(bits.sum(), 16).unwrap_or('0')
    };
    let mask = |set| (0..digits).rev().map(|place| digit(set, place)).collect();
    sets.iter().map(mask).collect::<Vec<String>>().join(",")
}

/// Returns whether `personality(ADDR_NO_RANDOMIZE)` is allowed, because containers may refuse it. The call is tried on
/// this process, where it has no effect until exec.
pub fn can_fix_addresses() -> bool {
    os::FixedAddresses::switch_on().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_of_cores_are_masks_of_one_length() {
        let sets = |sets: &[&[usize]]| sets.iter().map(|set| set.iter().copied().collect()).collect::<Vec<_>>();
        assert_eq!(core_masks(&sets(&[&[0, 1], &[1], &[0]])), "3,2,1");
        assert_eq!(
            core_masks(&sets(&[&[0, 1, 2, 3, 64], &[64], &[2]])),
            "1000000000000000f,10000000000000000,00000000000000004"
        );
    }
}
