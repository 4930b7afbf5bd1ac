//! Pages that a forked child lacks although its parent has them. Pages of files are not in the child's page tables, and
//! pages that it writes are copied first. These page faults come from the fork and not from the test, and they are most
//! of the time of a short body.
//!
//! The first child determines which pages a body needs, from the kernel's page map after the call. Populating all pages
//! of a program would take ten times as long and evict the body's own lines from the caches.

use crate::maps::{self, Mapping};
use crate::sys::{self, Advice, OpenFile};
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

/// Longest mapping that is examined, because longer ones have a long page map.
const LONGEST: usize = 256 << 20;
/// Largest number of runs of pages in the list; other pages are faulted in on demand.
const MOST_RUNS: usize = 1000;
/// Entries of the kernel's page map that are read at once.
const PIECE: usize = 256;
/// Bits of an entry in `/proc/self/pagemap`: the page is present, and no other process has it.
const PRESENT: u64 = 1 << 63;
const EXCLUSIVE: u64 = 1 << 56;

/// Pages that children need; all children share the list.
pub struct Pages {
    /// Mappings of the parent, sorted by address.
    mappings: Vec<Mapping>,
    list: Option<&'static List>,
}

/// Runs of pages, written by the first child.
#[repr(C)]
struct List {
    /// 0 until the list is complete, then the number of runs plus 1.
    filled: AtomicU64,
    /// Address of the first byte, and length with the advice in the lowest bit, which is free because pages are whole.
    runs: [[AtomicU64; 2]; MOST_RUNS],
}

impl Pages {
    /// Collects the mappings. Called in the parent, before the first child.
    pub fn find() -> Self {
        // SAFETY: zeros are an empty list of atomics, and the mapping is never unmapped.
        let list = sys::map_shared(std::mem::size_of::<List>()).map(|address| unsafe { &*address.cast::<List>() });
        let mappings = maps::mappings().into_iter().filter(|mapping| mapping.length <= LONGEST);
        Self { mappings: mappings.collect(), list }
    }

    /// Populates the pages that the first child needed. Called in a child, before its call.
    pub fn populate(&self) {
        let Some(list) = self.list else { return };
        let runs = (list.filled.load(Acquire) as usize).saturating_sub(1);
        for [start, length] in &list.runs[..runs] {
            let length = length.load(Relaxed) as usize;
            let advice = if length & 1 == 0 { Advice::Read } else { Advice::Write };
            sys::populate(start.load(Relaxed) as usize, length & !1, advice);
        }
    }

    /// Records the needed pages in the first child. Called in a child, after its call.
    pub fn note(&self) {
        let Some(list) = self.list.filter(|list| list.filled.load(Relaxed) == 0) else { return };
        let mut runs = 0;
        if let Some(map) = sys::open_page_map() {
            for mapping in &self.mappings {
                note_mapping(*mapping, &map, list, &mut runs);
            }
        }
        list.filled.store(runs as u64 + 1, Release);
    }
}

fn note_mapping(mapping: Mapping, map: &OpenFile, list: &List, runs: &mut usize) {
    let size = sys::page_size();
    let (first, pages) = (mapping.start / size, mapping.length / size);
    let mut run: Option<(usize, usize)> = None;
    let mut entries = [0_u64; PIECE];
    let mut close = |run: &mut Option<(usize, usize)>| {
        let (Some((start, length)), true) = (run.take(), *runs < MOST_RUNS) else { return };
        list.runs[*runs][0].store((start * size) as u64, Relaxed);
        let writes = u64::from(mapping.advice == Advice::Write);
        list.runs[*runs][1].store((length * size) as u64 | writes, Relaxed);
        *runs += 1;
    };
    let mut done = 0;
    while done < pages {
        let wanted = PIECE.min(pages - done);
        let read = sys::read_page_map(map, first + done, &mut entries[..wanted]);
        if read == 0 {
            break;
        }
        for (at, entry) in entries[..read].iter().enumerate() {
            let page = first + done + at;
            match (&mut run, is_needed(*entry, mapping.advice)) {
                (Some((_, length)), true) => *length += 1,
                (None, true) => run = Some((page, 1)),
                (_, false) => close(&mut run),
            }
        }
        done += read;
    }
    close(&mut run);
}

/// Returns whether the child used a page. Among writable pages only the child's own copies count, because all others
/// came with the fork.
fn is_needed(entry: u64, advice: Advice) -> bool {
    let wanted = if advice == Advice::Write { PRESENT | EXCLUSIVE } else { PRESENT };
    entry & wanted == wanted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_in_use_are_noted_once_and_populated_without_a_change() {
        let size = sys::page_size();
        let mut data = vec![0_u8; 64 * size];
        let pages = Pages::find();
        for page in [3, 4, 5, 40] {
            data[page * size] = 7;
        }
        pages.note();
        let list = pages.list.unwrap();
        let filled = list.filled.load(Relaxed);
        assert!(filled > 1, "this thread has a stack, at least");
        pages.populate();
        pages.note();
        assert_eq!(list.filled.load(Relaxed), filled);
        assert_eq!([3, 4, 5, 40, 41].map(|page| data[page * size]), [7, 7, 7, 7, 0]);
    }

    #[test]
    fn what_a_child_shares_with_its_parent_is_not_copied() {
        assert!(is_needed(PRESENT, Advice::Read) && is_needed(PRESENT | EXCLUSIVE, Advice::Write));
        assert!(!is_needed(PRESENT, Advice::Write) && !is_needed(EXCLUSIVE, Advice::Read));
    }
}
