//! The files in which the processes of a pair store the work of their functions.

use perfunit_model::error::{Error, Result};
use perfunit_model::{Side, Sides};
use perfunit_runtime::growth::{self, BLOCK, CAPACITY, Entry, Header, MAGIC};
use perfunit_system::os::SharedMemory;
use std::fs::File;
use std::ptr::NonNull;
use std::sync::atomic::Ordering::Relaxed;

/// The calls of a function with about the same length of an argument.
#[derive(Debug, Clone, PartialEq)]
pub struct CountedWork {
    /// The identifier of the function.
    pub key: u64,
    /// The number of the argument, from 0.
    pub argument: u32,
    /// The identifier of the lengths that count as one.
    pub bin: u32,
    /// The mean length.
    pub length: f64,
    /// The mean work of a call, including the functions that it called, basic blocks.
    pub work: f64,
    /// The mean work of a call without calls of other examined functions, basic blocks.
    pub own: f64,
}

/// The files of both sides.
#[derive(Debug)]
pub struct WorkTables {
    files: Sides<SharedMemory>,
    /// The functions to examine, sorted; all functions if the list is empty.
    keys: Vec<u64>,
}

impl WorkTables {
    /// Creates the files for these functions, sorted; for all functions if the list is empty.
    pub fn new(keys: Vec<u64>) -> Result<Self> {
        let file = || {
            SharedMemory::new(c"perfunit-growth", growth::bytes(keys.len()))
                .map_err(|error| Error::setup(format!("cannot create shared memory: {error}")))
        };
        Ok(Self { files: Sides { base: file()?, head: file()? }, keys })
    }

    /// Empties the files and writes the request into them; required before each pair.
    pub fn reset(&self) -> Result<()> {
        for side in Side::BOTH {
            let file = self.files.get(side);
            file.clear().map_err(|error| Error::setup(format!("cannot empty shared memory: {error}")))?;
            let header = header(file);
            header.magic.store(MAGIC, Relaxed);
            header.keys.store(self.keys.len() as u32, Relaxed);
            for (index, key) in self.keys.iter().enumerate() {
                // SAFETY: the file was made with room for as many keys.
                unsafe { file.address().add(growth::KEYS).cast::<u64>().add(index).write(*key) };
            }
        }
        Ok(())
    }

    /// Returns the file that a process inherits.
    pub fn file(&self, side: Side) -> &File {
        self.files.get(side).file()
    }

    /// Returns the work that both processes stored.
    pub fn read(&self) -> Sides<Vec<CountedWork>> {
        self.files.as_ref().map(|file| self.entries(file).iter().filter_map(read_entry).collect())
    }

    fn entries<'a>(&self, file: &'a SharedMemory) -> &'a [Entry] {
        let first = growth::entries(self.keys.len());
        // SAFETY: the file was made with room for them; atomics, valid for every bit pattern.
        unsafe { NonNull::slice_from_raw_parts(file.address().add(first).cast(), CAPACITY).as_ref() }
    }
}

fn header(file: &SharedMemory) -> &Header {
    // SAFETY: mapped as long as `file` lives; atomics, valid for every bit pattern.
    unsafe { file.address().cast().as_ref() }
}

fn read_entry(entry: &Entry) -> Option<CountedWork> {
    let calls = entry.calls.load(Relaxed);
    let mean = |sum: u64| sum as f64 / calls as f64;
    (calls > 0).then(|| CountedWork {
        key: entry.key.load(Relaxed),
        argument: entry.argument.load(Relaxed),
        bin: entry.bin.load(Relaxed),
        length: mean(entry.lengths.load(Relaxed)),
        work: mean(entry.work.load(Relaxed)) / BLOCK as f64,
        own: mean(entry.own.load(Relaxed)) / BLOCK as f64,
    })
}
