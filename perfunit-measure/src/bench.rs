//! The place where processes are measured: the core, the scratch folders, the address space.

use super::call_trees::CallTrees;
use super::cores::quietest;
use super::fork_servers::ForkServers;
use super::gauge::{Gauge, Gauges};
use super::kernel;
use super::noise::Watch;
use super::shared_memory::{CommonFile, SharedPage};
use super::starts::StartLog;
use super::work_tables::WorkTables;
use perfunit_build::{InPlace, Linkers, Seeds, TestExecutable};
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

/// What the user can set.
#[derive(Debug, Clone)]
pub struct Config {
    /// Longest life of one measured process.
    pub timeout: Duration,
    /// Longest measuring of one test, screening and confirmation each.
    pub per_test_budget: Duration,
    /// When the whole run has to end.
    pub deadline: Option<Instant>,
    /// Gate, as a fraction of base.
    pub threshold: Threshold,
    /// Probability of a false verdict per test before confirmation.
    pub alpha: f64,
    /// Verdicts of pairs (see [`verdicts_of_pairs`](super::verdicts_of_pairs)) that the whole run gives at most besides those
    /// on the tests at hand, in other rounds and shards: all of them share one error rate.
    pub others: usize,
    /// Runs that share the error rate, this one included.
    pub family: usize,
    /// Seed of the random shifts and of what tests draw.
    pub seed: u64,
    /// Whether layouts are matched.
    pub placement: Placement,
    /// A loss that is accepted: what goes beyond it is judged.
    pub accepted: Option<AcceptedLoss>,
    /// What to look at besides time, if anything.
    pub metering: Option<Metering>,
}

impl Config {
    /// The same for a test with terms of its own.
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
}

/// What to look at besides time.
#[derive(Debug, Clone, Default)]
pub struct Metering {
    /// The metrics that decide: these are measured until they are told, and confirmed.
    pub gates: Vec<Metric>,
    /// Where instructions come from.
    pub instructions: Instructions,
}

/// A prepared machine. Pins the tool away from the measured core while it lives.
#[derive(Debug)]
pub struct Bench {
    /// Whether address space randomisation can be switched off.
    pub paired_address_space: bool,
    /// How both processes of a pair get the same random numbers; not at all unless it is set.
    pub seeds: Seeds,
    /// The linkers that can make layouts, besides the project's.
    pub linkers: Linkers,
    /// What processes need that count; nothing unless it is set.
    pub gauges: Gauges,
    /// Where processes leave call trees; nowhere unless it is set.
    pub trees: RefCell<Option<CallTrees>>,
    /// Where processes leave the work of functions; nowhere unless it is set.
    pub tables: RefCell<Option<WorkTables>>,
    /// What build scripts of each side left in `OUT_DIR`.
    pub made: Option<InPlace>,
    /// The page of the running pair.
    pub page: SharedPage,
    /// What the processes of each side note of the programs that they start.
    pub starts: Sides<StartLog>,
    /// Processes that fork those of the next pairs.
    pub fork_servers: RefCell<ForkServers>,
    /// `TMPDIR` of each side; equally long paths.
    pub temporary: Sides<TestFolder>,
    /// For all that is gone after the run.
    folder: PathBuf,
    core: Cell<usize>,
    cores: Cores,
    watch: RefCell<Watch>,
    common: RefCell<CommonFile>,
    /// Whether some process could not move its program.
    unsettled: Cell<bool>,
}

/// Time on other cores than those that are left to us while we measure.
pub struct Visit<'a>(&'a Bench);

impl Drop for Visit<'_> {
    fn drop(&mut self) {
        if self.0.cores.before.is_some() {
            self.0.cores.keep_away_from(self.0.core.get());
        }
    }
}

/// The cores that we may use, as we found them.
#[derive(Debug)]
struct Cores {
    allowed: Vec<usize>,
    /// Our own cores before; `None` where the system does not let us choose.
    before: Option<BTreeSet<usize>>,
}

impl Bench {
    /// Prepares the machine; `ours` is our folder below cargo's target folder.
    pub fn open(ours: &Path) -> Result<Self> {
        let _span = tracing::debug_span!("core").entered();
        os::supported()?;
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
            page: SharedPage::new()?,
            starts: Sides { base: StartLog::new()?, head: StartLog::new()? },
            fork_servers: RefCell::default(),
            temporary,
            folder,
            core: Cell::new(core),
            cores,
            watch: RefCell::new(Watch::new(core)),
            common: RefCell::default(),
            unsettled: Cell::new(false),
        })
    }

    /// The core that runs both processes of a pair.
    pub fn core(&self) -> usize {
        self.core.get()
    }

    /// The core that a process is kept on; none if it only simulates one.
    pub fn core_of(&self, gauge: Option<Gauge>) -> Option<usize> {
        (!gauge.is_some_and(Gauge::is_callgrind)).then(|| self.core())
    }

    /// Returns what tests are told of cores, as the preloaded library reads it: they see those that we were started with
    /// instead of the measured core, and of those that we keep to meanwhile. `None` if there is nothing to hide.
    pub fn cores_told(&self) -> Option<String> {
        let before = self.cores.before.as_ref().filter(|before| before.len() > 1)?;
        let now = os::own_cores().filter(|now| now != before);
        let sets = [Some(before.clone()), Some(BTreeSet::from([self.core.get()])), now];
        Some(core_masks(&sets.into_iter().flatten().collect::<Vec<_>>()))
    }

    /// Puts ourselves on the core of the measured processes, until the result is dropped: who starts there and waits there
    /// has its children there from their first instruction to their last.
    pub fn visit_core(&self) -> Visit<'_> {
        if self.cores.before.is_some() {
            let _ = os::keep_on([self.core.get()]);
        }
        Visit(self)
    }

    /// Lets us, and what we start, use all cores until the result is dropped: for work while nothing is measured.
    pub fn use_all_cores(&self) -> Visit<'_> {
        self.cores.release();
        Visit(self)
    }

    /// How many cores there are for such work.
    pub fn all_cores(&self) -> usize {
        self.cores.allowed.len()
    }

    /// Between two tests: if others were busy on the core, moves to a quieter one.
    pub fn settle(&self) {
        let mut watch = self.watch.borrow_mut();
        if self.cores.allowed.len() > 1 && watch.wants_to_move() {
            // From all of them: we are on the others now.
            self.cores.release();
            let core = quietest(&self.cores.allowed).unwrap_or(self.core.get());
            self.core.set(core);
            // They and their variables belong to the former core.
            self.fork_servers.borrow_mut().clear();
            self.cores.keep_away_from(core);
            watch.move_to(core);
        }
    }

    /// What the user should know about this machine and the time of the measurement.
    pub fn remarks(&self) -> Vec<Machine> {
        let mut remarks = Vec::new();
        if !self.paired_address_space {
            remarks.push(Machine::RandomAddresses);
        }
        if self.cores.before.is_none() {
            // Whose core it was cannot be told either.
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

    /// The file with the pages that both programs have in common; `None` if these cannot be moved.
    pub fn common_pages(&self, executables: Sides<&TestExecutable>) -> Result<Option<Rc<File>>> {
        self.common.borrow_mut().of(executables)
    }

    /// Notes that a process could not move its program to the pages that it should lie in.
    pub fn note_unsettled(&self) {
        self.unsettled.set(true);
    }

    /// Folder for what callgrind writes.
    pub fn callgrind(&self) -> PathBuf {
        self.folder.join("callgrind")
    }

    /// `TMPDIR` of tests that are watched.
    pub fn traced(&self) -> TestFolder {
        self.temporary.base.beside("traced")
    }

    /// Folder for executables with debug information.
    pub fn lined(&self) -> PathBuf {
        self.folder.join("lined")
    }

    /// Folder for executables with other layouts.
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

/// The cores that we may use, and whether we may choose among them.
pub fn usable_cores() -> (Vec<usize>, bool) {
    let Cores { allowed, before } = Cores::find();
    (allowed, before.is_some())
}

impl Cores {
    fn find() -> Self {
        let before = os::own_cores();
        let allowed = match &before {
            Some(cores) => cores.iter().copied().collect(),
            // Where the processes run is then for the scheduler to say.
            None => vec![0],
        };
        Self { allowed, before }
    }

    /// Keeps us, who wait for the measured processes, off their core and what shares its execution units. Not fatal if it
    /// fails: the measured processes are pinned in any case.
    fn keep_away_from(&self, core: usize) {
        let units = kernel::siblings(core);
        let without =
            |excluded: &[usize]| os::keep_on(self.allowed.iter().copied().filter(|other| !excluded.contains(other)));
        // An empty set is refused: then there is nothing but the core's other half, or the core itself.
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

/// Containers may refuse `personality(ADDR_NO_RANDOMIZE)`: try it on ourselves, where it has no effect until exec.
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
