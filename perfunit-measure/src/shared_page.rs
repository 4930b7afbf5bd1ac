//! The page that the tool shares with the two processes of a pair.

use perfunit_model::error::{Error, Result};
use perfunit_runtime::page::{MAGIC, PAGE_BYTES, Page, state, unit};
use perfunit_system::os::SharedMemory;
use std::fs::File;
use std::ops::Deref;
use std::sync::atomic::Ordering::Relaxed;

/// A mapped page.
#[derive(Debug)]
pub struct SharedPage(SharedMemory);

impl SharedPage {
    pub fn new() -> Result<Self> {
        let memory = SharedMemory::new(c"perfunit", PAGE_BYTES);
        memory.map(Self).map_err(|error| Error::setup(format!("cannot create shared memory: {error}")))
    }

    /// What the processes inherit.
    pub fn file(&self) -> &File {
        self.0.file()
    }

    /// Clears what an earlier pair left behind; repetitions and plan are kept for the next pair to set.
    pub fn reset(&self) {
        self.magic.store(MAGIC, Relaxed);
        self.turn.store(0, Relaxed);
        for side in &self.sides {
            side.state.store(state::STARTING, Relaxed);
            side.whole_function.store(0, Relaxed);
            side.first_ns.store(0, Relaxed);
            side.prepared_ns.store(0, Relaxed);
            side.message_len.store(0, Relaxed);
            side.settled.store(0, Relaxed);
            for figure in [
                &side.heap,
                &side.readings,
                &side.no_instructions,
                &side.io_is_counted,
                &side.starts_processes,
                &side.child_status,
            ] {
                figure.store(0, Relaxed);
            }
            side.first_cpu_ns.store(0, Relaxed);
            side.clock_readings.store(0, Relaxed);
            side.passed_ns.store(0, Relaxed);
            side.peak_rss.store(0, Relaxed);
            side.unit.store(unit::NONE, Relaxed);
        }
    }
}

impl Deref for SharedPage {
    type Target = Page;

    fn deref(&self) -> &Page {
        // SAFETY: mapped as long as `self` lives; `Page` consists of atomics, valid for every bit pattern.
        unsafe { self.0.address().cast().as_ref() }
    }
}
