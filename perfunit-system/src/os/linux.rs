//! Linux implementation, by system calls.

use nix::fcntl::{FcntlArg, OFlag, fcntl, open};
use nix::libc::rlim_t;
use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::sys::memfd::{MFdFlags, memfd_create};
use nix::sys::mman::{MapFlags, ProtFlags, mmap, munmap};
use nix::sys::personality::{self, Persona};
use nix::sys::resource::{Resource, UsageWho, getrlimit, getrusage, setrlimit};
use nix::sys::signal::{SigHandler, Signal, kill, raise, signal};
use nix::sys::stat::Mode;
use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid, waitpid};
use nix::unistd::{AccessFlags, Pid, access, dup2_raw, geteuid, getpgrp};
use std::collections::BTreeSet;
use std::ffi::CStr;
use std::fs::File;
use std::io;
use std::num::NonZeroUsize;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::ptr::NonNull;
use std::sync::atomic::AtomicU32;
use std::time::Duration;

/// First descriptor number that tests do not expect to be free.
const FIRST_DESCRIPTOR: i32 = 200;

/// Creates a file without a name. No other process can open it by path, and it leaves nothing behind after a crash.
pub fn anonymous_file(name: &CStr) -> io::Result<File> {
    Ok(memfd_create(name, MFdFlags::MFD_CLOEXEC)?.into())
}

/// An anonymous file that is mapped into memory, and that other processes can map too.
#[derive(Debug)]
pub struct SharedMemory {
    file: File,
    address: NonNull<u8>,
    length: usize,
}

impl SharedMemory {
    /// Creates shared memory of this length, filled with zeros.
    pub fn new(name: &CStr, length: usize) -> io::Result<Self> {
        let file = anonymous_file(name)?;
        file.set_len(length as u64)?;
        let size = NonZeroUsize::new(length).ok_or(io::ErrorKind::InvalidInput)?;
        // SAFETY: a new shared mapping of a file that is as long as the mapping.
        let address =
            unsafe { mmap(None, size, ProtFlags::PROT_READ | ProtFlags::PROT_WRITE, MapFlags::MAP_SHARED, &file, 0)? };
        Ok(Self { file, address: address.cast(), length })
    }

    /// Fills the memory with zeros and drops the old pages.
    pub fn clear(&self) -> io::Result<()> {
        self.file.set_len(0)?;
        self.file.set_len(self.length as u64)
    }

    pub fn file(&self) -> &File {
        &self.file
    }

    /// Returns the address of the mapping, which is page-aligned and valid as long as `self` lives.
    pub fn address(&self) -> NonNull<u8> {
        self.address
    }
}

impl Drop for SharedMemory {
    fn drop(&mut self) {
        // SAFETY: the mapping was created by `new`; no reference to it outlives `self`.
        let _ = unsafe { munmap(self.address.cast(), self.length) };
    }
}

/// Returns the maximum number of open files per process.
pub fn open_file_limit() -> Option<u64> {
    getrlimit(Resource::RLIMIT_NOFILE).ok().map(|(soft, _)| soft)
}

/// Returns the page size in bytes.
pub fn page_size() -> usize {
    // SAFETY: only returns a number.
    usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(0)
}

/// A descriptor that processes inherit if they start while it lives.
#[derive(Debug)]
pub struct Inherited(OwnedFd);

impl Inherited {
    /// Copies the descriptor of a file.
    pub fn copy(file: &File) -> io::Result<Self> {
        let copy = fcntl(file, FcntlArg::F_DUPFD(FIRST_DESCRIPTOR))?;
        // SAFETY: a new descriptor without another owner.
        Ok(Self(unsafe { OwnedFd::from_raw_fd(copy) }))
    }

    /// Returns the descriptor's number in the processes that inherit it.
    pub fn number(&self) -> i32 {
        self.0.as_raw_fd()
    }
}

/// Returns a path by which other processes of this user can open the file, even if it has no name.
pub fn path_of(file: &File) -> PathBuf {
    format!("/proc/{}/fd/{}", std::process::id(), file.as_raw_fd()).into()
}

/// An open folder.
#[derive(Debug)]
pub struct Folder(OwnedFd);

impl Folder {
    /// Descriptor number in processes that inherit the folder: below the others, and not one that tests expect to be
    /// free.
    pub const NUMBER: i32 = FIRST_DESCRIPTOR - 1;
    /// Path of the folder in these processes.
    pub const PLACE: &str = "/proc/self/fd/199";

    pub fn open(path: &Path) -> io::Result<Self> {
        Ok(Self(open(path, OFlag::O_PATH | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC, Mode::empty())?))
    }

    /// Provides this folder at [`PLACE`](Self::PLACE) to processes that start while the result lives.
    pub fn hand_over(&self) -> io::Result<Inherited> {
        // SAFETY: no other code in this process uses the number.
        Ok(Inherited(unsafe { dup2_raw(&self.0, Self::NUMBER) }?))
    }
}

/// Guard during which started processes have equal addresses.
#[derive(Debug)]
pub struct FixedAddresses(Persona);

impl FixedAddresses {
    /// Disables address randomization. Containers may refuse that.
    pub fn switch_on() -> io::Result<Self> {
        Ok(Self(personality::set(personality::get()? | Persona::ADDR_NO_RANDOMIZE)?))
    }
}

impl Drop for FixedAddresses {
    fn drop(&mut self) {
        let _ = personality::set(self.0);
    }
}

/// Guard during which started processes write no core file when they abort.
#[derive(Debug)]
pub struct NoCoreFiles(rlim_t, rlim_t);

impl NoCoreFiles {
    pub fn switch_on() -> io::Result<Self> {
        let (soft, hard) = getrlimit(Resource::RLIMIT_CORE)?;
        setrlimit(Resource::RLIMIT_CORE, 0, hard)?;
        Ok(Self(soft, hard))
    }
}

impl Drop for NoCoreFiles {
    fn drop(&mut self) {
        let _ = setrlimit(Resource::RLIMIT_CORE, self.0, self.1);
    }
}

/// Returns the cores that this thread may run on; `None` if the system does not allow choosing.
pub fn own_cores() -> Option<BTreeSet<usize>> {
    let this = Pid::from_raw(0);
    // Setting the current affinity shows whether setting is allowed.
    let cores = sched_getaffinity(this).ok().filter(|cores| sched_setaffinity(this, cores).is_ok())?;
    Some((0..CpuSet::count()).filter(|core| cores.is_set(*core).unwrap_or(false)).collect())
}

/// Restricts this thread to some cores, at least one of which must exist.
pub fn keep_on(cores: impl IntoIterator<Item = usize>) -> io::Result<()> {
    Ok(sched_setaffinity(Pid::from_raw(0), &set(cores)?)?)
}

/// Restricts this thread to the cores of another thread.
pub fn keep_beside(thread: Pid) -> io::Result<()> {
    Ok(sched_setaffinity(Pid::from_raw(0), &sched_getaffinity(thread)?)?)
}

/// Restricts a process to one core. The process can change that.
pub fn keep_child_on(core: usize, child: &Child) -> io::Result<()> {
    Ok(sched_setaffinity(pid(child.id()), &set([core])?)?)
}

fn set(cores: impl IntoIterator<Item = usize>) -> io::Result<CpuSet> {
    let mut set = CpuSet::new();
    cores.into_iter().try_for_each(|core| set.set(core))?;
    Ok(set)
}

fn pid(id: u32) -> Pid {
    Pid::from_raw(id.cast_signed())
}

/// Returns the processor time of all children that have ended.
pub fn childrens_time() -> Duration {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN);
    usage.map_or(Duration::ZERO, |usage| processor_time(usage.as_ref()))
}

/// Returns the processor time of a process and of the children that it has waited for; zero if it is gone.
pub fn time_with_children(id: u32) -> Duration {
    let text = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
    // The name in parentheses may contain any character. User and system time follow, then those of the children.
    let fields = text.rsplit(')').next().unwrap_or_default().split_ascii_whitespace();
    let ticks: u32 = fields.skip(11).take(4).filter_map(|ticks| ticks.parse::<u32>().ok()).sum();
    ticks * super::TICK
}

fn processor_time(usage: &libc::rusage) -> Duration {
    let time = |time: libc::timeval| Duration::new(time.tv_sec as u64, time.tv_usec as u32 * 1000);
    time(usage.ru_utime) + time(usage.ru_stime)
}

/// Notification of a process's end.
#[derive(Debug)]
pub struct EndOf(OwnedFd);

impl EndOf {
    /// Creates the notification; `None` on Linux before 5.3.
    pub fn child(child: &Child) -> Option<Self> {
        // SAFETY: takes no pointers; a non-negative result is a descriptor without another owner.
        unsafe {
            let fd = libc::syscall(libc::SYS_pidfd_open, child.id(), 0);
            i32::try_from(fd).ok().filter(|fd| *fd >= 0).map(|fd| Self(OwnedFd::from_raw_fd(fd)))
        }
    }

    /// Sleeps until one of the processes ends or `left` is over. Sleeps only briefly if `ends` is empty.
    pub fn wait_for_one<'a>(ends: impl Iterator<Item = &'a Self>, left: Duration) {
        let mut polled: Vec<libc::pollfd> =
            ends.map(|end| libc::pollfd { fd: end.0.as_raw_fd(), events: libc::POLLIN, revents: 0 }).collect();
        if polled.is_empty() {
            std::thread::sleep(left.min(Duration::from_millis(1)));
            return;
        }
        let milliseconds = i32::try_from(left.as_millis()).unwrap_or(100).max(1);
        // SAFETY: the array outlives the call, and its length is passed.
        unsafe { libc::poll(polled.as_mut_ptr(), polled.len() as libc::nfds_t, milliseconds) };
    }
}

/// Sleeps until this shared word differs from `value` or `left` is over. May return early.
pub fn wait_for_change(word: &AtomicU32, value: u32, left: Duration) {
    let left = libc::timespec { tv_sec: left.as_secs().cast_signed(), tv_nsec: left.subsec_nanos().into() };
    // SAFETY: the word is a live, aligned u32, and the call only reads it and the time.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAIT, value, &raw const left) };
}

/// Wakes all processes that sleep on this word.
pub fn announce_change(word: &AtomicU32) {
    // SAFETY: the word is a live, aligned u32; waking touches no memory.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAKE, i32::MAX) };
}

/// Checks whether a process has ended, without reaping it.
pub fn is_over(child: &Child) -> bool {
    let flags = WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG | WaitPidFlag::WNOWAIT;
    waitid(Id::Pid(pid(child.id())), flags).is_ok_and(|status| status != WaitStatus::StillAlive)
}

/// Waits for a process. Returns its status and its processor time, including threads and children that it waited for.
/// No other code may wait for it.
pub fn reap(child: &Child) -> io::Result<(ExitStatus, Duration)> {
    let mut status = 0;
    // SAFETY: plain numbers, for which zeros are valid.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: both pointers are valid during the call.
    if unsafe { libc::wait4(child.id().cast_signed(), &raw mut status, 0, &raw mut usage) } < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok((ExitStatus::from_raw(status), processor_time(&usage)))
}

/// Kills a process. Returns false if it does not exist.
pub fn kill_process(id: u32) -> bool {
    kill(pid(id), Signal::SIGKILL).is_ok()
}

/// Makes a process sleep, or go on; it may have ended already.
pub fn pause(id: u32, paused: bool) {
    let _ = kill(pid(id), if paused { Signal::SIGSTOP } else { Signal::SIGCONT });
}

/// Makes this process run only while no other process wants its core.
pub fn run_when_idle() -> io::Result<()> {
    let priority = libc::sched_param { sched_priority: 0 };
    // SAFETY: reads a structure that lives as long as the call.
    if unsafe { libc::sched_setscheduler(0, libc::SCHED_IDLE, &raw const priority) } == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// Returns whether a process runs only while no other one wants its core.
pub fn runs_when_idle(id: u32) -> bool {
    // SAFETY: takes no pointers.
    unsafe { libc::sched_getscheduler(id.cast_signed()) == libc::SCHED_IDLE }
}

/// Returns the clock of a process's processor time, as `clock_getcpuclockid` does.
pub fn processor_clock(id: u32) -> i32 {
    const SCHEDULED_TIME: i32 = 2;
    (!id.cast_signed() << 3) | SCHEDULED_TIME
}

/// Kills and reaps a child that we adopted.
pub fn kill_adopted(id: u32) {
    kill_process(id);
    let _ = waitpid(pid(id), None);
}

/// Sends SIGTERM to all processes of a group, which may have ended already.
pub fn end_group(leader: u32) {
    let _ = kill(Pid::from_raw(-leader.cast_signed()), Signal::SIGTERM);
}

/// Returns our process group.
pub fn own_group() -> u32 {
    getpgrp().as_raw().cast_unsigned()
}

/// Kills all processes of our own group, including this one.
pub fn kill_own_group() {
    let _ = kill(Pid::from_raw(0), Signal::SIGKILL);
}

/// Ignores all signals by which a terminal ends a process.
pub fn ignore_signals() {
    for ignored in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP, Signal::SIGQUIT] {
        // SAFETY: installs no handler of ours, only "ignore".
        let _ = unsafe { signal(ignored, SigHandler::SigIgn) };
    }
}

/// Ends this process by a signal. Returns if the signal does not end it.
pub fn end_by(number: i32) {
    if let Ok(by) = Signal::try_from(number) {
        // SAFETY: installs no handler of ours, only the default action.
        let _ = unsafe { signal(by, SigHandler::SigDfl) };
        let _ = raise(by);
    }
}

/// Returns the name of a signal, such as `SIGABRT`.
pub fn signal_name(number: i32) -> Option<&'static str> {
    Signal::try_from(number).ok().map(Signal::as_str)
}

/// Makes this process the parent of its children's orphans, instead of init. Failure is ignored.
pub fn adopt_orphans() {
    // SAFETY: takes no pointers.
    unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1) };
}

/// Returns our children, including adopted ones.
pub fn children() -> BTreeSet<u32> {
    let path = format!("/proc/self/task/{}/children", std::process::id());
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.split_whitespace().filter_map(|id| id.parse().ok()).collect()
}

/// Returns all processes that have this variable (`NAME=value`) in their initial environment.
pub fn processes_with(variable: &str) -> Vec<u32> {
    let has_it = |id: &u32| {
        let environment = std::fs::read(format!("/proc/{id}/environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|known| known == variable.as_bytes())
    };
    let names = std::fs::read_dir("/proc").into_iter().flatten().flatten().map(|entry| entry.file_name());
    names.filter_map(|name| name.to_str()?.parse().ok()).filter(has_it).collect()
}

/// Makes the kernel kill this process when its parent thread ends. Survives exec.
pub fn die_with_parent() -> io::Result<()> {
    // SAFETY: takes no pointers.
    if unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) } == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// Makes a command's process end when we are killed.
pub fn bind_to_us(command: &mut Command) {
    // SAFETY: a system call that is safe between fork and exec; no allocation.
    unsafe { command.pre_exec(die_with_parent) };
}

/// Returns the effective user ID.
pub fn user() -> u32 {
    geteuid().as_raw()
}

/// Checks whether a folder is writable. Considers permissions and read-only file systems.
pub fn is_writable(folder: &Path) -> bool {
    access(folder, AccessFlags::W_OK | AccessFlags::X_OK).is_ok()
}

/// Returns the free bytes on the disk of a folder.
pub fn free_space(folder: &Path) -> Option<u64> {
    let disk = nix::sys::statvfs::statvfs(folder).ok()?;
    Some(disk.blocks_available() * disk.fragment_size())
}

/// Checks whether the processor's counter of our own instructions may be used.
pub fn count_instructions() -> io::Result<()> {
    /// Length of `struct perf_event_attr` in words, in its first published size of 64 bytes.
    const WORDS: usize = 8;
    /// Type `PERF_TYPE_HARDWARE` (0) in the low half, the size in the high half.
    const HARDWARE: u64 = (WORDS as u64 * 8) << 32;
    const INSTRUCTIONS: u64 = 1;
    /// Flags `disabled`, `exclude_kernel` and `exclude_hv`, which an ordinary user may request.
    const OURS_ONLY: u64 = 1 | 1 << 5 | 1 << 6;
    let mut attributes = [0_u64; WORDS];
    attributes[..2].copy_from_slice(&[HARDWARE, INSTRUCTIONS]);
    attributes[5] = OURS_ONLY;
    // SAFETY: the structure has the stated length and is only read; a non-negative result is a descriptor of our own.
    let counter = unsafe {
        let fd = libc::syscall(libc::SYS_perf_event_open, attributes.as_ptr(), 0, -1, -1, 0);
        i32::try_from(fd).ok().filter(|fd| *fd >= 0).map(|fd| OwnedFd::from_raw_fd(fd))
    };
    counter.map(drop).ok_or_else(io::Error::last_os_error)
}
