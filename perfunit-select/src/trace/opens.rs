//! Openings of programs' files by any process of the system.
//!
//! A traced process that executes a program is seen anyway. Whatever else opens the file may execute it where nothing is
//! traced: a server that was started earlier, the dynamic linker as a program, an emulator. Then a run tells nothing.

use super::programs::ChangedProgram;
use super::unseen::Unseen;
use nix::errno::Errno;
use std::ffi::CString;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;

/// Counts how often files of programs were opened and executed.
#[derive(Debug)]
pub struct Opens {
    /// `None` if there is nothing to watch.
    queue: Option<OwnedFd>,
    /// By program.
    counts: Vec<Count>,
}

#[derive(Debug)]
struct Count {
    /// The kernel's number of the watched file; two names of one file share it.
    watch: i32,
    opened: usize,
    executed: usize,
}

/// A note of the kernel without a name: four numbers of 32 bits.
const NOTE: usize = size_of::<libc::inotify_event>();

impl Opens {
    /// Watches the files of these programs.
    pub fn watch(programs: &[ChangedProgram]) -> Result<Self, Unseen> {
        let mut opens = Self { queue: None, counts: Vec::new() };
        if programs.is_empty() {
            return Ok(opens);
        }
        let failed = |errno: Errno| Unseen::Unwatched(errno as i32);
        // SAFETY: no memory of ours is involved.
        let queue = Errno::result(unsafe { libc::inotify_init1(libc::IN_NONBLOCK | libc::IN_CLOEXEC) });
        // SAFETY: the descriptor is new, and nothing else owns it.
        let queue = unsafe { OwnedFd::from_raw_fd(queue.map_err(failed)?) };
        for program in programs {
            let path = CString::new(program.path.as_os_str().as_bytes()).map_err(|_| failed(Errno::EINVAL))?;
            // SAFETY: `path` ends with a zero byte and lives through the call.
            let watch = unsafe { libc::inotify_add_watch(queue.as_raw_fd(), path.as_ptr(), libc::IN_OPEN) };
            let watch = Errno::result(watch).map_err(failed)?;
            opens.counts.push(Count { watch, opened: 0, executed: 0 });
        }
        opens.queue = Some(queue);
        Ok(opens)
    }

    /// Notes that a traced process executed the file of a program.
    ///
    /// The kernel joins equal notes that follow each other, so the notes are read at each execution.
    pub fn note_execution(&mut self, program: usize) {
        let watch = self.counts[program].watch;
        self.counts.iter_mut().filter(|count| count.watch == watch).for_each(|count| count.executed += 1);
        self.read();
    }

    /// Returns the first program that was opened more often than traced processes executed it.
    pub fn first_unexplained(&mut self) -> Option<usize> {
        self.read();
        self.counts.iter().position(|count| count.opened > count.executed)
    }

    fn read(&mut self) {
        let Some(queue) = &self.queue else { return };
        let mut buffer = [0_u8; 64 * NOTE];
        loop {
            // SAFETY: the kernel writes at most as many bytes as the buffer has.
            let length = unsafe { libc::read(queue.as_raw_fd(), buffer.as_mut_ptr().cast(), buffer.len()) };
            let Ok(length @ 1..) = usize::try_from(length) else { return };
            // Watched files, unlike folders, have notes without a name.
            for note in buffer[..length].chunks_exact(NOTE) {
                let number = |at: usize| i32::from_ne_bytes(note[at..at + 4].try_into().unwrap_or_default());
                let (watch, mask) = (number(0), number(4).cast_unsigned());
                let is_lost = mask & libc::IN_Q_OVERFLOW != 0;
                for count in &mut self.counts {
                    count.opened += usize::from(is_lost || (count.watch == watch && mask & libc::IN_OPEN != 0));
                }
            }
        }
    }
}
