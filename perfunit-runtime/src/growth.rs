//! The file in which a process records how much work its functions did, by length of the input.
//!
//! ```text
//! Header | keys: [u64; keys] | entries: [Entry; CAPACITY]
//! ```
//!
//! Each part begins on a page of memory. The tool creates a sparse file of [`bytes`] zeros, and writes the header and
//! the keys. An *entry* belongs to a function, one of its arguments and a [`bin`] of lengths, and has sums over calls.
//! Its place is a hash of these three, or the next free place if the place is taken.
//!
//! *Work* is counted in sixteenths of a basic block: an executed block counts [`BLOCK`], and each byte that the C
//! library moves, sets or compares counts 1.
//!
//! Every field is an atomic because threads share the entries. Read the fields after the process has ended.

use crate::page::PAGE;
use std::mem::size_of;
use std::sync::atomic::{AtomicU32, AtomicU64};

/// First word of the file, by which versions of the tool and the runtime are matched. Change it with the layout.
pub const MAGIC: u64 = 0x7065_7266_6772_0001;
/// Number of entries in the table; a power of two.
pub const CAPACITY: usize = 1 << 16;
/// Work of one basic block.
pub const BLOCK: u64 = 16;

/// Lengths below this have one bin each.
const EXACT: u64 = 32;
/// Number of bins per doubling of the length beyond [`EXACT`].
const PER_OCTAVE: u64 = 16;

/// Header of the file.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Header {
    /// [`MAGIC`], written by the tool.
    pub magic: AtomicU64,
    /// Number of keys of functions to record, which are sorted; 0 for all functions. Written by the tool.
    pub keys: AtomicU32,
    /// Unused; keeps the layout free of padding.
    pub reserved: AtomicU32,
    /// Number of calls that were lost because the table had no room.
    pub overflow: AtomicU64,
}

/// Calls of a function with lengths of one bin.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Entry {
    /// Hash of function, argument and bin; 0 if the entry is free.
    pub claimed: AtomicU64,
    /// Key of the function.
    pub key: AtomicU64,
    /// Index of the argument, from 0.
    pub argument: AtomicU32,
    /// The [`bin`] of lengths.
    pub bin: AtomicU32,
    /// Number of calls that ended.
    pub calls: AtomicU64,
    /// Sum of the lengths.
    pub lengths: AtomicU64,
    /// Sum of the work, including called functions.
    pub work: AtomicU64,
    /// Sum of the work without calls of other recorded functions.
    pub own: AtomicU64,
}

/// Offset of the keys in the file.
pub const KEYS: usize = PAGE;

/// Returns the offset of the entries after this many keys.
pub const fn entries(keys: usize) -> usize {
    KEYS + (keys * size_of::<u64>()).div_ceil(PAGE) * PAGE
}

/// Returns the length of the file in bytes.
pub const fn bytes(keys: usize) -> usize {
    entries(keys) + (CAPACITY * size_of::<Entry>()).div_ceil(PAGE) * PAGE
}

/// Returns the bin of a length. Lengths in one bin differ by a few percent.
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
    use crate::preload_interface::mix;
    use crate::sys;
    use std::slice::from_raw_parts;
    use std::sync::atomic::AtomicU64;
    use std::sync::atomic::Ordering::Relaxed;
    use std::sync::OnceLock;

    /// Number of places that are tried for an entry.
    const PROBED: usize = 64;

    /// Table of this process; empty unless the tool requested one.
    static TABLE: OnceLock<Table> = OnceLock::new();

    /// A mapped file.
    pub struct Table {
        header: &'static Header,
        keys: &'static [AtomicU64],
        entries: &'static [Entry],
    }

    /// Work of one call of a function.
    pub struct Call {
        /// Key of the function.
        pub key: u64,
        /// Work, including called functions.
        pub work: u64,
        /// Work without calls of other recorded functions.
        pub own: u64,
    }

    /// Returns the table, if this process has one.
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
        // SAFETY: the mapping is never unmapped, has the requested length and is page-aligned; atomics may have any
        // bits.
        let header = unsafe { &*header };
        if header.magic.load(Relaxed) != MAGIC {
            return None;
        }
        let keys = header.keys.load(Relaxed) as usize;
        // Maps the file again, because only the header has its length.
        let file = sys::map_file(descriptor, bytes(keys))?.cast::<u8>();
        // SAFETY: see above; both parts begin on pages, and the tool created the file with this length.
        let (keys, entries) = unsafe {
            (from_raw_parts(file.add(KEYS).cast(), keys), from_raw_parts(file.add(entries(keys)).cast(), CAPACITY))
        };
        Some(Table { header, keys, entries })
    }

    impl Table {
        /// Returns whether calls of a function are to be recorded.
        pub fn wants(&self, key: u64) -> bool {
            self.keys.is_empty() || self.keys.binary_search_by_key(&key, |listed| listed.load(Relaxed)).is_ok()
        }

        /// Adds a call to the entry of an argument with this length.
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
        let same = |length: u64| (length + 1..u64::MAX).take_while(|more| bin(*more) == bin(length)).count() as f64;
        for length in [32, 64, 1024, 65_536] {
            assert!(same(length) / length as f64 <= 1.0 / 16.0, "{length}");
        }
        assert_eq!((0..40).map(bin).collect::<std::collections::BTreeSet<_>>().len(), 36);
        assert!(bin(u64::MAX) < 32 + 60 * 16);
    }
}
