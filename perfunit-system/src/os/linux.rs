//! Linux, by system calls.

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

/// Descriptors from here on are not ones that a test expects to be free.
const FIRST_DESCRIPTOR: i32 = 200;

/// A file without a name: nobody else can open it, and nothing is left of it after a crash.
pub fn anonymous_file(name: &CStr) -> io::Result<File> {
    Ok(memfd_create(name, MFdFlags::MFD_CLOEXEC)?.into())
}

/// An anonymous file and its bytes in our memory, which other processes can map, too.
#[derive(Debug)]
pub struct SharedMemory {
    file: File,
    address: NonNull<u8>,
    length: usize,
}

impl SharedMemory {
    /// Zeros, so many.
    pub fn new(name: &CStr, length: usize) -> io::Result<Self> {
        let file = anonymous_file(name)?;
        file.set_len(length as u64)?;
        let size = NonZeroUsize::new(length).ok_or(io::ErrorKind::InvalidInput)?;
        // SAFETY: a new shared mapping of a file that is as long as the mapping.
        let address =
            unsafe { mmap(None, size, ProtFlags::PROT_READ | ProtFlags::PROT_WRITE, MapFlags::MAP_SHARED, &file, 0)? };
        Ok(Self { file, address: address.cast(), length })
    }

    /// Zeros again; the old pages are dropped.
    pub fn clear(&self) -> io::Result<()> {
        self.file.set_len(0)?;
        self.file.set_len(self.length as u64)
    }

    pub fn file(&self) -> &File {
        &self.file
    }

    /// Where it is mapped, at the beginning of a page and as long as `self` lives.
    pub fn address(&self) -> NonNull<u8> {
        self.address
    }
}

impl Drop for SharedMemory {
    fn drop(&mut self) {
        // SAFETY: the mapping that `new` made; no reference to it outlives `self`.
        let _ = unsafe { munmap(self.address.cast(), self.length) };
    }
}

/// Returns how many files a process may have open.
pub fn open_file_limit() -> Option<u64> {
    getrlimit(Resource::RLIMIT_NOFILE).ok().map(|(soft, _)| soft)
}

/// Length of a page of memory.
pub fn page_size() -> usize {
    // SAFETY: asks for a number.
    usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(0)
}

/// A descriptor that processes inherit which are started while it lives.
#[derive(Debug)]
pub struct Inherited(OwnedFd);

impl Inherited {
    /// A copy of a file's.
    pub fn copy(file: &File) -> io::Result<Self> {
        let copy = fcntl(file, FcntlArg::F_DUPFD(FIRST_DESCRIPTOR))?;
        // SAFETY: a new descriptor that nobody else owns.
        Ok(Self(unsafe { OwnedFd::from_raw_fd(copy) }))
    }

    /// Under which number they find it.
    pub fn number(&self) -> i32 {
        self.0.as_raw_fd()
    }
}

/// Returns a path by which other processes of this user find an open file, even if it has no name.
pub fn path_of(file: &File) -> PathBuf {
    format!("/proc/{}/fd/{}", std::process::id(), file.as_raw_fd()).into()
}

/// An open folder.
#[derive(Debug)]
pub struct Folder(OwnedFd);

impl Folder {
    /// Under which number processes inherit it: below the others, and not one that a test expects to be free.
    pub const NUMBER: i32 = FIRST_DESCRIPTOR - 1;
    /// Where they find what is in it.
    pub const PLACE: &str = "/proc/self/fd/199";

    pub fn open(path: &Path) -> io::Result<Self> {
        Ok(Self(open(path, OFlag::O_PATH | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC, Mode::empty())?))
    }

    /// Processes that are started while the result lives have this folder at [`PLACE`](Self::PLACE).
    pub fn hand_over(&self) -> io::Result<Inherited> {
        // SAFETY: a number that nobody else in this process uses.
        Ok(Inherited(unsafe { dup2_raw(&self.0, Self::NUMBER) }?))
    }
}

/// While it lives, processes that are started have equal addresses.
#[derive(Debug)]
pub struct FixedAddresses(Persona);

impl FixedAddresses {
    /// Containers may refuse it.
    pub fn switch_on() -> io::Result<Self> {
        Ok(Self(personality::set(personality::get()? | Persona::ADDR_NO_RANDOMIZE)?))
    }
}

impl Drop for FixedAddresses {
    fn drop(&mut self) {
        let _ = personality::set(self.0);
    }
}

/// While it lives, processes that are started leave no core file when they abort.
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

/// The cores that this thread may run on; `None` where the system does not let us choose.
pub fn own_cores() -> Option<BTreeSet<usize>> {
    let this = Pid::from_raw(0);
    // Setting what is set already shows whether we may.
    let cores = sched_getaffinity(this).ok().filter(|cores| sched_setaffinity(this, cores).is_ok())?;
    Some((0..CpuSet::count()).filter(|core| cores.is_set(*core).unwrap_or(false)).collect())
}

/// Keeps this thread on some cores, of which one at least must be there.
pub fn keep_on(cores: impl IntoIterator<Item = usize>) -> io::Result<()> {
    Ok(sched_setaffinity(Pid::from_raw(0), &set(cores)?)?)
}

/// Keeps a process on one core, as long as it does not object.
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

/// Processor time of the children that have ended.
pub fn childrens_time() -> Duration {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN);
    usage.map_or(Duration::ZERO, |usage| processor_time(usage.as_ref()))
}

/// The processor time of a process and of the children that it has waited for; zero if it is gone.
pub fn time_with_children(id: u32) -> Duration {
    let text = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
    // The name in parentheses may hold anything; user and system time follow, and the same of children.
    let fields = text.rsplit(')').next().unwrap_or_default().split_ascii_whitespace();
    let ticks: u32 = fields.skip(11).take(4).filter_map(|ticks| ticks.parse::<u32>().ok()).sum();
    ticks * super::TICK
}

fn processor_time(usage: &libc::rusage) -> Duration {
    let time = |time: libc::timeval| Duration::new(time.tv_sec as u64, time.tv_usec as u32 * 1000);
    time(usage.ru_utime) + time(usage.ru_stime)
}

/// Tells when a process has ended.
#[derive(Debug)]
pub struct EndOf(OwnedFd);

impl EndOf {
    /// `None` on Linux before 5.3.
    pub fn child(child: &Child) -> Option<Self> {
        // SAFETY: takes no pointers; a non-negative result is a descriptor that nobody else owns.
        unsafe {
            let fd = libc::syscall(libc::SYS_pidfd_open, child.id(), 0);
            i32::try_from(fd).ok().filter(|fd| *fd >= 0).map(|fd| Self(OwnedFd::from_raw_fd(fd)))
        }
    }

    /// Sleeps until one of the processes ends, at most for so long, and not for long if none can tell.
    pub fn wait_for_one<'a>(ends: impl Iterator<Item = &'a Self>, left: Duration) {
        let mut polled: Vec<libc::pollfd> =
            ends.map(|end| libc::pollfd { fd: end.0.as_raw_fd(), events: libc::POLLIN, revents: 0 }).collect();
        if polled.is_empty() {
            std::thread::sleep(left.min(Duration::from_millis(1)));
            return;
        }
        let milliseconds = i32::try_from(left.as_millis()).unwrap_or(100).max(1);
        // SAFETY: the array lives through the call and its length is given.
        unsafe { libc::poll(polled.as_mut_ptr(), polled.len() as libc::nfds_t, milliseconds) };
    }
}

/// Sleeps until this word, which other processes share, is no longer `value`, at most for so long; may return early.
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

/// Whether a process has ended; leaves it to be reaped.
pub fn is_over(child: &Child) -> bool {
    let flags = WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG | WaitPidFlag::WNOWAIT;
    waitid(Id::Pid(pid(child.id())), flags).is_ok_and(|status| status != WaitStatus::StillAlive)
}

/// Waits for a process: how it ended, and the processor time that it took, its threads and the children that it waited for
/// included. Nobody else may wait for it.
pub fn reap(child: &Child) -> io::Result<(ExitStatus, Duration)> {
    let mut status = 0;
    // SAFETY: plain numbers, for which zeros are valid.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: both places live through the call.
    if unsafe { libc::wait4(child.id().cast_signed(), &raw mut status, 0, &raw mut usage) } < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok((ExitStatus::from_raw(status), processor_time(&usage)))
}

/// Kills a process. False if it was not there.
pub fn kill_process(id: u32) -> bool {
    kill(pid(id), Signal::SIGKILL).is_ok()
}

/// Kills a child that we did not start but adopted, and reaps it.
pub fn kill_adopted(id: u32) {
    kill_process(id);
    let _ = waitpid(pid(id), None);
}

/// Asks all processes of a group to end; it may have ended already.
pub fn end_group(leader: u32) {
    let _ = kill(Pid::from_raw(-leader.cast_signed()), Signal::SIGTERM);
}

/// The group that we are in.
pub fn own_group() -> u32 {
    getpgrp().as_raw().cast_unsigned()
}

/// Kills all processes of our own group, and so ourselves.
pub fn kill_own_group() {
    let _ = kill(Pid::from_raw(0), Signal::SIGKILL);
}

/// Ignores whatever a terminal sends to end a process.
pub fn ignore_signals() {
    for ignored in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP, Signal::SIGQUIT] {
        // SAFETY: installs no handler of ours, only "ignore".
        let _ = unsafe { signal(ignored, SigHandler::SigIgn) };
    }
}

/// Ends this process by a signal; returns if the signal does not do that.
pub fn end_by(number: i32) {
    if let Ok(by) = Signal::try_from(number) {
        // SAFETY: installs no handler of ours, only the default action.
        let _ = unsafe { signal(by, SigHandler::SigDfl) };
        let _ = raise(by);
    }
}

/// The name of a signal: `SIGABRT`.
pub fn signal_name(number: i32) -> Option<&'static str> {
    Signal::try_from(number).ok().map(Signal::as_str)
}

/// Orphans of our children come to us instead of init, unless that is refused.
pub fn adopt_orphans() {
    // SAFETY: takes no pointers.
    unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1) };
}

/// Our children, adopted ones included.
pub fn children() -> BTreeSet<u32> {
    let path = format!("/proc/self/task/{}/children", std::process::id());
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.split_whitespace().filter_map(|id| id.parse().ok()).collect()
}

/// All processes that were started with this in their environment (`NAME=value`).
pub fn processes_with(variable: &str) -> Vec<u32> {
    let has_it = |id: &u32| {
        let environment = std::fs::read(format!("/proc/{id}/environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|known| known == variable.as_bytes())
    };
    let names = std::fs::read_dir("/proc").into_iter().flatten().flatten().map(|entry| entry.file_name());
    names.filter_map(|name| name.to_str()?.parse().ok()).filter(has_it).collect()
}

/// Has the kernel kill this process when its parent thread ends. Survives exec.
pub fn die_with_parent() -> io::Result<()> {
    // SAFETY: takes no pointers.
    if unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) } == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// A command whose process ends when we are killed.
pub fn bind_to_us(command: &mut Command) {
    // SAFETY: a system call that is safe between fork and exec; no allocation.
    unsafe { command.pre_exec(die_with_parent) };
}

/// The user that we act for.
pub fn user() -> u32 {
    geteuid().as_raw()
}

/// Permissions and read-only file systems alike.
pub fn is_writable(folder: &Path) -> bool {
    access(folder, AccessFlags::W_OK | AccessFlags::X_OK).is_ok()
}

/// Bytes left on the disk of a folder.
pub fn free_space(folder: &Path) -> Option<u64> {
    let disk = nix::sys::statvfs::statvfs(folder).ok()?;
    Some(disk.blocks_available() * disk.fragment_size())
}

/// Tries whether the processor's counter of our own instructions may be used.
pub fn count_instructions() -> io::Result<()> {
    /// `struct perf_event_attr` in its first published size of 64 bytes, as words.
    const WORDS: usize = 8;
    /// Type `PERF_TYPE_HARDWARE` (0) in the low half, the size in the high half.
    const HARDWARE: u64 = (WORDS as u64 * 8) << 32;
    const INSTRUCTIONS: u64 = 1;
    /// The flags `disabled`, `exclude_kernel` and `exclude_hv`: what an ordinary user may ask for.
    const OURS_ONLY: u64 = 1 | 1 << 5 | 1 << 6;
    let mut attributes = [0_u64; WORDS];
    attributes[..2].copy_from_slice(&[HARDWARE, INSTRUCTIONS]);
    attributes[5] = OURS_ONLY;
    // SAFETY: the structure is as long as it says and only read; a non-negative result is a descriptor of our own.
    let counter = unsafe {
        let fd = libc::syscall(libc::SYS_perf_event_open, attributes.as_ptr(), 0, -1, -1, 0);
        i32::try_from(fd).ok().filter(|fd| *fd >= 0).map(|fd| OwnedFd::from_raw_fd(fd))
    };
    counter.map(drop).ok_or_else(io::Error::last_os_error)
}
