//! Whether the processor's performance counters are there and may be used.

use crate::measure::no_counter;
use crate::model::NoCounter;
use std::io::Error;
use std::os::fd::{FromRawFd, OwnedFd};

/// `struct perf_event_attr` in its first published size of 64 bytes, as words.
const WORDS: usize = 8;
/// Type `PERF_TYPE_HARDWARE` (0) in the low half, the size in the high half.
const HARDWARE: u64 = (WORDS as u64 * 8) << 32;
const INSTRUCTIONS: u64 = 1;
/// The flags `disabled`, `exclude_kernel` and `exclude_hv`: what an ordinary user may ask for.
const OURS_ONLY: u64 = 1 | 1 << 5 | 1 << 6;

/// Whether instructions of our own can be counted, or why not.
pub fn available() -> Result<(), NoCounter> {
    let mut attributes = [0_u64; WORDS];
    attributes[..2].copy_from_slice(&[HARDWARE, INSTRUCTIONS]);
    attributes[5] = OURS_ONLY;
    // SAFETY: the structure is as long as it says and only read; a non-negative result is a descriptor of our own.
    let counter = unsafe {
        let fd = libc::syscall(libc::SYS_perf_event_open, attributes.as_ptr(), 0, -1, -1, 0);
        i32::try_from(fd).ok().filter(|fd| *fd >= 0).map(|fd| OwnedFd::from_raw_fd(fd))
    };
    if counter.is_some() {
        return Ok(());
    }
    Err(no_counter(&Error::last_os_error()))
}
