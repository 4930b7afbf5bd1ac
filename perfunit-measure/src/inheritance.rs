//! What the processes of a pair get from us by being our children.
//!
//! Set on ourselves while they start, and not in the child before `exec`: a child that runs code of ours has to be forked,
//! with a copy of all our page tables, and that cost more than the rest of its start.

use super::bench::Bench;
use perfunit_model::error::{Error, Result};
use perfunit_model::{Side, Sides};
use perfunit_system::os::{FixedAddresses, Inherited, NoCoreFiles};
use std::fs::File;

/// Holds while processes are started, and puts everything back when dropped.
pub struct Inheritance {
    page: Inherited,
    common: Option<Inherited>,
    probed: Sides<Option<Inherited>>,
    _addresses: Option<FixedAddresses>,
    _core_files: Option<NoCoreFiles>,
}

impl Inheritance {
    /// Sets up what the next processes get.
    pub fn prepare(bench: &Bench, common: Option<&File>) -> Result<Self> {
        let (trees, tables) = (bench.trees.borrow(), bench.tables.borrow());
        // One or the other: a program has probes of one kind.
        let file = |side: Side| {
            let tree = trees.as_ref().map(|trees| trees.file(side));
            tree.or_else(|| tables.as_ref().map(|tables| tables.file(side))).map(inherited).transpose()
        };
        let fixed = bench.paired_address_space.then(FixedAddresses::switch_on).transpose();
        Ok(Self {
            page: inherited(bench.page.file())?,
            common: common.map(inherited).transpose()?,
            probed: Sides { base: file(Side::Base)?, head: file(Side::Head)? },
            _addresses: fixed
                .map_err(|error| Error::setup(format!("cannot switch off address space randomisation: {error}")))?,
            // A test that aborts shall not leave a core file.
            _core_files: NoCoreFiles::switch_on().ok(),
        })
    }

    /// Under which descriptor a process finds the page.
    pub fn page(&self) -> i32 {
        self.page.number()
    }

    /// Under which descriptor it finds the pages that both programs have in common; 0 if there are none.
    pub fn common(&self) -> i32 {
        self.common.as_ref().map_or(0, Inherited::number)
    }

    /// Under which descriptor a side's process finds the file for its call tree or its table; 0 if none is wanted.
    pub fn tree(&self, side: Side) -> i32 {
        self.probed.get(side).as_ref().map_or(0, Inherited::number)
    }
}

fn inherited(file: &File) -> Result<Inherited> {
    Inherited::copy(file).map_err(|error| Error::setup(format!("cannot hand over shared memory: {error}")))
}
