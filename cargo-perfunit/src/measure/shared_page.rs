//! The page that the tool shares with the two processes of a pair.

use crate::error::{Error, Result};
use nix::sys::memfd::{MFdFlags, memfd_create};
use nix::sys::mman::{MapFlags, ProtFlags, mmap, munmap};
use perfunit_runtime::page::{MAGIC, PAGE_BYTES, Page, state};
use std::num::NonZeroUsize;
use std::ops::Deref;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::Ordering::Relaxed;

/// A mapped page; anonymous, so that nobody else can open it and nothing is left of it after a crash.
#[derive(Debug)]
pub struct SharedPage {
    file: OwnedFd,
    address: NonNull<Page>,
}

impl SharedPage {
    pub fn new() -> Result<Self> {
        let failed = |error: nix::Error| Error::setup(format!("cannot create shared memory: {error}"));
        let file = memfd_create(c"perfunit", MFdFlags::MFD_CLOEXEC).map_err(failed)?;
        nix::unistd::ftruncate(&file, PAGE_BYTES.cast_signed() as i64).map_err(failed)?;
        let length = NonZeroUsize::new(PAGE_BYTES).ok_or_else(|| Error::setup("the shared page is empty"))?;
        // SAFETY: a new shared mapping of a file that is as long as the mapping.
        let address =
            unsafe { mmap(None, length, ProtFlags::PROT_READ | ProtFlags::PROT_WRITE, MapFlags::MAP_SHARED, &file, 0) };
        Ok(Self { file, address: address.map_err(failed)?.cast() })
    }

    /// The descriptor that the processes inherit.
    pub fn descriptor(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
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
            for figure in [&side.heap, &side.readings, &side.no_instructions, &side.io_is_counted, &side.child_status] {
                figure.store(0, Relaxed);
            }
            side.first_cpu_ns.store(0, Relaxed);
            side.peak_rss.store(0, Relaxed);
        }
    }
}

impl Deref for SharedPage {
    type Target = Page;

    fn deref(&self) -> &Page {
        // SAFETY: mapped as long as `self` lives; `Page` consists of atomics, valid for every bit pattern.
        unsafe { self.address.as_ref() }
    }
}

impl Drop for SharedPage {
    fn drop(&mut self) {
        // SAFETY: the mapping that `new` made; no reference to it outlives `self`.
        let _ = unsafe { munmap(self.address.cast(), PAGE_BYTES) };
    }
}
