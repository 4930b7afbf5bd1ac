//! Counts how often any process of the system opens the files of programs.
//!
//! A traced process that executes a program is seen anyway. Any other process that opens the file may execute it
//! untraced: a server that was started earlier, the dynamic linker as a program, an emulator. Such a run gives no
//! result.

use super::failure::TraceFailure;
use super::programs::ChangedProgram;
use nix::errno::Errno;
use nix::sys::inotify::{AddWatchFlags, InitFlags, Inotify, WatchDescriptor};

/// Counts of how often files of programs were opened and executed.
#[derive(Debug)]
pub struct Opens {
    /// `None` if there is nothing to watch.
    queue: Option<Inotify>,
    /// One count per program.
    counts: Vec<Count>,
}

#[derive(Debug)]
struct Count {
    /// The watched file; several names of one file have the same descriptor.
    watch: WatchDescriptor,
    opened: usize,
    executed: usize,
}

impl Opens {
    /// Watches the files of these programs.
    pub fn watch(programs: &[ChangedProgram]) -> Result<Self, TraceFailure> {
        Self::try_watch(programs).map_err(|errno| TraceFailure::Unwatched(errno as i32))
    }

    fn try_watch(programs: &[ChangedProgram]) -> Result<Self, Errno> {
        let mut opens = Self { queue: None, counts: Vec::new() };
        if programs.is_empty() {
            return Ok(opens);
        }
        let queue = Inotify::init(InitFlags::IN_NONBLOCK | InitFlags::IN_CLOEXEC)?;
        for program in programs {
            let watch = queue.add_watch(&program.path, AddWatchFlags::IN_OPEN)?;
            opens.counts.push(Count { watch, opened: 0, executed: 0 });
        }
        opens.queue = Some(queue);
        Ok(opens)
    }

    /// Counts an execution of a program's file by a traced process.
    ///
    /// The kernel merges equal consecutive events, so the events are read at each execution.
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
        // An error means that the queue is empty.
        while let Ok(notes) = queue.read_events() {
            for note in notes {
                let is_lost = note.mask.contains(AddWatchFlags::IN_Q_OVERFLOW);
                for count in &mut self.counts {
                    let is_open = count.watch == note.wd && note.mask.contains(AddWatchFlags::IN_OPEN);
                    count.opened += usize::from(is_lost || is_open);
                }
            }
        }
    }
}
