//! What the processes of a pair get from us by being our children.
//!
//! Set on ourselves while they start, and not in the child before `exec`: a child that runs code of ours has to be forked,
//! with a copy of all our page tables, and that cost more than the rest of its start.

use super::bench::Bench;
use crate::error::{Error, Result};
use crate::model::{Side, Sides};
use nix::fcntl::{FcntlArg, fcntl};
use nix::libc::rlim_t;
use nix::sys::personality::{self, Persona};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

/// Descriptors from here on are not ones that a test expects to be free.
const FIRST_DESCRIPTOR: RawFd = 200;

/// Holds while processes are started, and puts everything back when dropped.
pub struct Inheritance {
    page: OwnedFd,
    common: Option<OwnedFd>,
    trees: Option<Sides<OwnedFd>>,
    /// Ours, if theirs is another one.
    persona: Option<Persona>,
    core_files: Option<(rlim_t, rlim_t)>,
}

impl Inheritance {
    /// Sets up what the next processes get.
    pub fn prepare(bench: &Bench, common: Option<BorrowedFd<'_>>) -> Result<Self> {
        let mut inheritance = Self {
            page: inherited(bench.page.descriptor())?,
            common: None,
            trees: None,
            persona: None,
            core_files: None,
        };
        inheritance.common = common.map(inherited).transpose()?;
        if let Some(trees) = bench.trees.borrow().as_ref() {
            let copy = |side: Side| inherited(trees.descriptor(side));
            inheritance.trees = Some(Sides { base: copy(Side::Base)?, head: copy(Side::Head)? });
        }
        if bench.paired_address_space {
            let failed = |error| Error::setup(format!("cannot switch off address space randomisation: {error}"));
            let ours = personality::set(personality::get().map_err(failed)? | Persona::ADDR_NO_RANDOMIZE);
            inheritance.persona = Some(ours.map_err(failed)?);
        }
        // A test that aborts shall not leave a core file.
        inheritance.core_files = getrlimit(Resource::RLIMIT_CORE)
            .and_then(|limits| setrlimit(Resource::RLIMIT_CORE, 0, limits.1).map(|()| limits))
            .ok();
        Ok(inheritance)
    }

    /// Under which descriptor a process finds the page.
    pub fn page(&self) -> RawFd {
        self.page.as_raw_fd()
    }

    /// Under which descriptor it finds the pages that both programs have in common; 0 if there are none.
    pub fn common(&self) -> RawFd {
        self.common.as_ref().map_or(0, AsRawFd::as_raw_fd)
    }

    /// Under which descriptor a side's process finds the file for its call tree; 0 if none is wanted.
    pub fn tree(&self, side: Side) -> RawFd {
        self.trees.as_ref().map_or(0, |trees| trees.get(side).as_raw_fd())
    }
}

impl Drop for Inheritance {
    fn drop(&mut self) {
        if let Some(persona) = self.persona {
            let _ = personality::set(persona);
        }
        if let Some((soft, hard)) = self.core_files {
            let _ = setrlimit(Resource::RLIMIT_CORE, soft, hard);
        }
    }
}

/// A copy of a descriptor that `exec` leaves open.
fn inherited(descriptor: BorrowedFd<'_>) -> Result<OwnedFd> {
    let copy = fcntl(descriptor, FcntlArg::F_DUPFD(FIRST_DESCRIPTOR))
        .map_err(|error| Error::setup(format!("cannot hand over shared memory: {error}")))?;
    // SAFETY: a new descriptor that nobody else owns.
    Ok(unsafe { OwnedFd::from_raw_fd(copy) })
}
