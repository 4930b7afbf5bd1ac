//! The file in which a process leaves how much work its functions did on inputs of which length.
//!
//! ```text
//! Header | keys: [u64; keys] | entries: [Entry; CAPACITY]
//! ```
//!
//! Each part begins on a page of memory. The tool makes the file as long as [`bytes`], filled with zeros and sparse, and
//! writes the header and the keys. An *entry* is a function, one of its arguments and a [`bin`] of lengths, with sums over
//! calls; its place follows from those three, the next free one if another has it.
//!
//! *Work* is counted in sixteenths of a basic block: a block that is executed counts [`BLOCK`], a byte that is moved, set or
//! compared by the C library counts 1.
//!
//! Every field is an atomic, for threads share the entries: read them after the process has ended.

use crate::page::PAGE;
use std::mem::size_of;
use std::sync::atomic::{AtomicU32, AtomicU64};

/// First word of the file: refuses a tool of another version. Change it with the layout.
pub const MAGIC: u64 = 0x7065_7266_6772_0001;
/// Entries of the table; a power of two.
pub const CAPACITY: usize = 1 << 16;
/// What a basic block counts.
pub const BLOCK: u64 = 16;

/// Lengths below have a bin each.
const EXACT: u64 = 32;
/// Bins of a doubling of the length beyond.
const PER_OCTAVE: u64 = 16;

/// Begins the file.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Header {
    /// [`MAGIC`]; written by the tool.
    pub magic: AtomicU64,
    /// Keys of the functions to look at, sorted; 0 for all functions. Written by the tool.
    pub keys: AtomicU32,
    /// Unused; keeps the layout free of padding.
    pub reserved: AtomicU32,
    /// Calls whose entry found no room.
    pub overflow: AtomicU64,
}

/// Calls of a function with lengths of one bin.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Entry {
    /// 0 if it is free.
    pub claimed: AtomicU64,
    /// Names the function.
    pub key: AtomicU64,
    /// Number of the argument, from 0.
    pub argument: AtomicU32,
    /// The [`bin`].
    pub bin: AtomicU32,
    /// How many calls ended.
    pub calls: AtomicU64,
    /// Their lengths.
    pub lengths: AtomicU64,
    /// Their work, with that of what they called.
    pub work: AtomicU64,
    /// The same without calls of other functions that are looked at.
    pub own: AtomicU64,
}

/// Where the keys are.
pub const KEYS: usize = PAGE;

/// Where the entries are, behind so many keys.
pub const fn entries(keys: usize) -> usize {
    KEYS + (keys * size_of::<u64>()).div_ceil(PAGE) * PAGE
}

/// Bytes of the file.
pub const fn bytes(keys: usize) -> usize {
    entries(keys) + (CAPACITY * size_of::<Entry>()).div_ceil(PAGE) * PAGE
}

/// Lengths that count as one: a few per cent apart.
pub fn bin(length: u64) -> u32 {
    if length < EXACT {
        return length as u32;
    }
    let octave = length.ilog2() - EXACT.ilog2();
    let shift = length.ilog2() - PER_OCTAVE.ilog2();
    let within = (length >> shift) % PER_OCTAVE;
    (EXACT + u64::from(octave) * PER_OCTAVE + within) as u32
}

#[cfg(target_os = "linux")]
pub use table::{open, table, Call, Table};

#[cfg(target_os = "linux")]
mod table {
    use super::{bin, bytes, entries, Entry, Header, CAPACITY, KEYS, MAGIC};
    use crate::preloaded::mix;
    use crate::sys;
    use std::slice::from_raw_parts;
    use std::sync::atomic::AtomicU64;
    use std::sync::atomic::Ordering::Relaxed;
    use std::sync::OnceLock;

    /// Places that are looked at before an entry counts as without room.
    const PROBED: usize = 64;

    /// The table of this process; empty unless the tool asked for one.
    static TABLE: OnceLock<Table> = OnceLock::new();

    /// The mapped file.
    pub struct Table {
        header: &'static Header,
        keys: &'static [AtomicU64],
        entries: &'static [Entry],
    }

    /// What a call of a function did.
    pub struct Call {
        /// Names the function.
        pub key: u64,
        /// With that of what it called.
        pub work: u64,
        /// Without calls of other functions that are looked at.
        pub own: u64,
    }

    /// The table, if there is one.
    pub fn table() -> Option<&'static Table> {
        TABLE.get()
    }

    /// Maps the file that the tool shares, and closes its descriptor.
    pub fn open(descriptor: i32) {
        if let Some(table) = map(descriptor) {
            let _ = TABLE.set(table);
        }
        sys::close_file(descriptor);
    }

    fn map(descriptor: i32) -> Option<Table> {
        let header = sys::map_file(descriptor, KEYS)?.cast::<Header>();
        // SAFETY: the mapping is never unmapped, as long as we asked for and page-aligned; atomics of any bits are valid.
        let header = unsafe { &*header };
        if header.magic.load(Relaxed) != MAGIC {
            return None;
        }
        let keys = header.keys.load(Relaxed) as usize;
        // The header a second time: only now is it known how long the file is.
        let file = sys::map_file(descriptor, bytes(keys))?.cast::<u8>();
        // SAFETY: as above; both parts begin on pages of a file that the tool made as long as this.
        let (keys, entries) = unsafe {
            (from_raw_parts(file.add(KEYS).cast(), keys), from_raw_parts(file.add(entries(keys)).cast(), CAPACITY))
        };
        Some(Table { header, keys, entries })
    }

    impl Table {
        /// Whether calls of a function are to be recorded.
        pub fn wants(&self, key: u64) -> bool {
            self.keys.is_empty() || self.keys.binary_search_by_key(&key, |listed| listed.load(Relaxed)).is_ok()
        }

        /// Adds a call to the entry of an argument of this length.
        pub fn add(&self, call: &Call, argument: u32, length: u64) {
            let Some(entry) = self.entry(call.key, argument, bin(length)) else {
                self.header.overflow.fetch_add(1, Relaxed);
                return;
            };
            entry.calls.fetch_add(1, Relaxed);
            entry.lengths.fetch_add(length, Relaxed);
            entry.work.fetch_add(call.work, Relaxed);
            entry.own.fetch_add(call.own, Relaxed);
        }

        fn entry(&self, key: u64, argument: u32, bin: u32) -> Option<&Entry> {
            let claim = mix(key ^ mix(u64::from(argument) << 32 | u64::from(bin))) | 1;
            (0..PROBED).find_map(|distance| {
                let entry = &self.entries[((claim >> 1) as usize).wrapping_add(distance) % CAPACITY];
                match entry.claimed.compare_exchange(0, claim, Relaxed, Relaxed) {
                    Ok(_) => {
                        entry.key.store(key, Relaxed);
                        entry.argument.store(argument, Relaxed);
                        entry.bin.store(bin, Relaxed);
                        Some(entry)
                    }
                    Err(claimed) => (claimed == claim).then_some(entry),
                }
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_are_in_the_order_of_lengths_and_a_few_per_cent_wide() {
        let mut before = 0;
        for length in 1..100_000_u64 {
            let bin = bin(length);
            assert!(bin == before || bin == before + 1, "{length}");
            before = bin;
        }
        let same = |length: u64| (length + 1..).take_while(|more| bin(*more) == bin(length)).count() as f64;
        for length in [32, 64, 1024, 65_536] {
            assert!(same(length) / length as f64 <= 1.0 / 16.0, "{length}");
        }
        assert_eq!((0..40).map(bin).collect::<std::collections::BTreeSet<_>>().len(), 36);
        assert!(bin(u64::MAX) < 32 + 60 * 16);
    }
}
