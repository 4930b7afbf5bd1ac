//! The place where processes are measured: the core, the scratch folders, the address space.

use super::seeds::Seeds;
use super::shared_page::SharedPage;
use crate::cache;
use crate::error::{Error, Result};
use crate::fs;
use crate::model::Sides;
use crate::process;
use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::sys::personality::{self, Persona};
use nix::unistd::Pid;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Where the code of the measured executables lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Placement {
    /// What is the same in both versions lies at the same places.
    #[default]
    Matched,
    /// Wherever the linker put it: for experiments on what matching is worth.
    Natural,
}

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
    pub threshold: f64,
    /// Probability of a false verdict per test before confirmation.
    pub alpha: f64,
    /// Seed of the random shifts and of what tests draw.
    pub seed: u64,
    /// Whether layouts are matched.
    pub placement: Placement,
}

/// A prepared machine. Pins the tool away from the measured core while it lives.
#[derive(Debug)]
pub struct Bench {
    /// The core that runs both processes of a pair.
    pub core: usize,
    /// Whether address space randomisation can be switched off.
    pub paired_address_space: bool,
    /// How both processes of a pair get the same random numbers; not at all unless it is set.
    pub seeds: Seeds,
    /// The page of the running pair.
    pub page: SharedPage,
    /// `TMPDIR` of each side; equally long paths.
    pub temporary: Sides<PathBuf>,
    before: CpuSet,
}

impl Bench {
    /// Prepares the machine; `ours` is our folder below cargo's target folder.
    pub fn open(ours: &Path) -> Result<Self> {
        process::spare_children();
        let this = Pid::from_raw(0);
        let before =
            sched_getaffinity(this).map_err(|error| Error::setup(format!("cannot read the CPU affinity: {error}")))?;
        let allowed: Vec<usize> = (0..CpuSet::count()).filter(|core| before.is_set(*core).unwrap_or(false)).collect();
        // The last one: interrupts prefer the first.
        let core = *allowed.last().ok_or_else(|| Error::setup("no CPU may be used"))?;
        let mut others = CpuSet::new();
        for other in allowed.iter().filter(|other| **other != core) {
            let _ = others.set(*other);
        }
        if allowed.len() > 1 {
            // Not fatal: the measured processes are pinned in any case.
            let _ = sched_setaffinity(this, &others);
        }
        let tmp = ours.join("tmp");
        fs::remove_dir_all(&tmp)?;
        cache::private_dir(&tmp)?;
        let temporary = Sides { base: tmp.join("base"), head: tmp.join("head") };
        let (paired_address_space, page) = (can_fix_addresses(), SharedPage::new()?);
        Ok(Self { core, paired_address_space, seeds: Seeds::default(), page, temporary, before })
    }

    /// Folder for executables with other layouts.
    pub fn layouts(&self) -> PathBuf {
        self.temporary.base.with_file_name("layouts")
    }

    /// Gives each side an empty temporary folder.
    pub fn clean_temporary(&self) -> Result<()> {
        [&self.temporary.base, &self.temporary.head].into_iter().try_for_each(|dir| {
            if std::fs::read_dir(dir).is_ok_and(|mut entries| entries.next().is_none()) {
                return Ok(());
            }
            fs::remove_dir_all(dir)?;
            cache::private_dir(dir)
        })
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        let _ = sched_setaffinity(Pid::from_raw(0), &self.before);
        if let Some(tmp) = self.temporary.base.parent() {
            let _ = fs::remove_dir_all(tmp);
        }
    }
}

/// Containers may refuse `personality(ADDR_NO_RANDOMIZE)`: try it on ourselves, where it has no effect until exec.
fn can_fix_addresses() -> bool {
    let Ok(before) = personality::get() else { return false };
    let fixed = personality::set(before | Persona::ADDR_NO_RANDOMIZE).is_ok();
    let _ = personality::set(before);
    fixed
}
