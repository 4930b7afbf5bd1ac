//! The cage of generated workloads: a filter of system calls for a thread and the threads that it starts.
//!
//! The filter lists what is allowed: memory, threads, clocks, random numbers, and writing to the standard streams,
//! which lead to the tool. Any other system call ends the process before the kernel executes it. A thread cannot leave
//! the cage.

use std::ffi::{c_int, c_long, c_ulong, c_void};

/// Address space of a caged process, in bytes.
const MOST_MEMORY: u64 = 4 << 30;

/// Size and number of blocks that make an allocator return memory: small enough not to be mapped one by one, and more
/// than an allocator keeps.
const BLOCK: usize = 1 << 16;
const BLOCKS: usize = 32;

extern "C" {
    fn prctl(option: c_int, ...) -> c_int;
    fn getrlimit(resource: c_int, limits: *mut [u64; 2]) -> c_int;
    fn setrlimit(resource: c_int, limits: *const [u64; 2]) -> c_int;
    fn sigaction(signal: c_int, new: *const Action, old: *mut Action) -> c_int;
    fn syscall(number: c_long, ...) -> c_long;
    fn write(fd: c_int, buffer: *const c_void, length: usize) -> isize;
    fn getpid() -> c_int;
    fn _exit(status: c_int) -> !;
}

/// `struct sigaction` of the C libraries on the 64-bit platforms that we serve.
#[repr(C)]
struct Action {
    handler: usize,
    mask: [u64; 16],
    flags: c_int,
    restorer: usize,
}

/// `struct sock_filter`.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Step {
    code: u16,
    if_true: u8,
    if_false: u8,
    value: u32,
}

/// `struct sock_fprog`.
#[repr(C)]
struct Program {
    length: u16,
    steps: *const Step,
}

const LOAD: u16 = 0x20;
const IF_EQUAL: u16 = 0x15;
const IF_GREATER: u16 = 0x25;
const IF_ANY_BIT: u16 = 0x45;
const RETURN: u16 = 0x06;

const ALLOW: u32 = 0x7fff_0000;
const TRAP: u32 = 0x0003_0000;
const KILL: u32 = 0x8000_0000;
/// The C library falls back to an older system call on this error.
const ENOSYS: u32 = 0x0005_0000 | 0x26;

/// Offsets in `struct seccomp_data`.
const NUMBER: u32 = 0;
const ARCHITECTURE: u32 = 4;
const ARGUMENTS: u32 = 16;

const PR_SET_NO_NEW_PRIVS: c_int = 38;
const PR_SET_NAME: u32 = 15;
const SECCOMP_SET_MODE_FILTER: c_ulong = 1;
/// Without this flag, old kernels slow down all memory accesses of a filtered process.
const SPEC_ALLOW: c_ulong = 4;
const CLONE_THREAD: u32 = 0x1_0000;
const LAST_STANDARD_STREAM: u32 = 2;
const SIGSYS: c_int = 31;
const SA_SIGINFO: c_int = 4;
/// Offset of the system call's number in `siginfo_t` of `SIGSYS`.
const SIGINFO_CALL: usize = 24;
const RLIMIT_CPU: c_int = 0;
const RLIMIT_CORE: c_int = 4;
const RLIMIT_AS: c_int = 9;

/// Condition under which a system call is allowed.
#[derive(Debug, Clone, Copy)]
enum Rule {
    Always,
    /// The argument at this index is at most this value.
    AtMost(u32, u32),
    /// The argument at this index has this value.
    Equal(u32, u32),
    /// The first argument has one of these bits.
    AnyBit(u32),
    NotThere,
}

#[cfg(target_arch = "x86_64")]
mod numbers {
    pub const ARCHITECTURE: u32 = 0xc000_003e;
    pub const SECCOMP: i64 = 317;
    pub const WRITE: u32 = 1;
    pub const WRITEV: u32 = 20;
    pub const CLONE: u32 = 56;
    pub const CLONE3: u32 = 435;
    pub const PRCTL: u32 = 157;
    pub const TGKILL: u32 = 234;
    /// In the order of [`super::ALWAYS`].
    pub const ALWAYS: [u32; super::HOW_MANY] = [
        9, 11, 10, 25, 28, 12, 202, 24, 204, 273, 334, 13, 14, 15, 131, 39, 186, 228, 229, 96, 98, 318, 63, 99, 309,
        324, 60, 231, 17, 219,
    ];
}

#[cfg(target_arch = "aarch64")]
mod numbers {
    pub const ARCHITECTURE: u32 = 0xc000_00b7;
    pub const SECCOMP: i64 = 277;
    pub const WRITE: u32 = 64;
    pub const WRITEV: u32 = 66;
    pub const CLONE: u32 = 220;
    pub const CLONE3: u32 = 435;
    pub const PRCTL: u32 = 167;
    pub const TGKILL: u32 = 131;
    /// In the order of [`super::ALWAYS`].
    pub const ALWAYS: [u32; super::HOW_MANY] = [
        222, 215, 226, 216, 233, 214, 98, 124, 123, 99, 293, 134, 135, 139, 132, 172, 178, 113, 114, 169, 165, 278,
        160, 179, 168, 283, 93, 94, 67, 128,
    ];
}

const HOW_MANY: usize = 30;
/// System calls that are allowed with any arguments.
// mmap, munmap, mprotect, mremap, madvise, brk, futex, sched_yield, sched_getaffinity, set_robust_list, rseq,
// rt_sigaction, rt_sigprocmask, rt_sigreturn, sigaltstack, getpid, gettid, clock_gettime, clock_getres, gettimeofday,
// getrusage, getrandom, uname, sysinfo, getcpu, membarrier, exit, exit_group, pread64 (of files opened before),
// restart_syscall.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
const ALWAYS: [u32; HOW_MANY] = numbers::ALWAYS;

/// Limit on the time of a caged process.
#[derive(Debug, Clone, Copy)]
pub enum Time {
    /// No limit here; the tool ends the process.
    Open,
    /// Processor time in seconds.
    Seconds(u64),
}

/// Puts this thread into the cage for good. Returns false if the kernel refuses; then nothing that needs the cage may
/// be called.
pub fn enter(time: Time) -> bool {
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    {
        settle_allocator();
        limit(time) && say_who_leaves() && filter()
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    {
        let _ = time;
        false
    }
}

/// Makes the C library's allocator read the kernel's files before the cage forbids it: the allocator does so when it
/// first serves a second thread, and when it first returns that thread's memory.
fn settle_allocator() {
    let blocks = || (0..BLOCKS).map(|_| vec![1_u8; BLOCK]).collect::<Vec<_>>();
    let _ = std::thread::spawn(move || drop(std::hint::black_box(blocks()))).join();
}

fn limit(time: Time) -> bool {
    let set = |resource, most: u64| {
        let mut now = [0; 2];
        // SAFETY: the kernel writes the current limits into the array and only reads the new ones.
        unsafe {
            getrlimit(resource, &mut now) == 0 && {
                // An unprivileged process cannot raise the hard limit.
                let most = most.min(now[1]);
                setrlimit(resource, &[most, most]) == 0
            }
        }
    };
    let in_time = match time {
        Time::Open => true,
        Time::Seconds(seconds) => set(RLIMIT_CPU, seconds),
    };
    in_time && set(RLIMIT_AS, MOST_MEMORY) && set(RLIMIT_CORE, 0)
}

fn say_who_leaves() -> bool {
    let handler = left as extern "C" fn(c_int, *const c_void, *const c_void);
    let action = Action { handler: handler as usize, mask: [0; 16], flags: SA_SIGINFO, restorer: 0 };
    // SAFETY: the structure has the C library's layout; the handler neither allocates nor locks.
    unsafe { sigaction(SIGSYS, &action, std::ptr::null_mut()) == 0 }
}

/// Text before the number of a refused system call.
pub const LEFT: &str = "\nperfunit-trial: left\t";

/// Signal handler that prints the number of the refused system call and ends the process.
extern "C" fn left(_signal: c_int, info: *const c_void, _context: *const c_void) {
    // SAFETY: the kernel passes a structure longer than this offset.
    let mut number = unsafe { info.cast::<u8>().add(SIGINFO_CALL).cast::<u32>().read_unaligned() };
    let mut digits = [b'\n'; 12];
    let mut at = digits.len() - 1;
    loop {
        at -= 1;
        digits[at] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    // SAFETY: both buffers have the given lengths, and the process ends.
    unsafe {
        write(1, LEFT.as_ptr().cast(), LEFT.len());
        write(1, digits[at..].as_ptr().cast(), digits.len() - at);
        _exit(3)
    }
}

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
fn filter() -> bool {
    let steps = steps();
    let Ok(length) = u16::try_from(steps.len()) else { return false };
    let program = Program { length, steps: steps.as_ptr() };
    // SAFETY: the call takes no pointers.
    let has_waived = unsafe { prctl(PR_SET_NO_NEW_PRIVS, 1 as c_ulong, 0 as c_ulong, 0 as c_ulong, 0 as c_ulong) == 0 };
    // SAFETY: the kernel copies the program, which outlives the call.
    has_waived
        && unsafe {
            syscall(numbers::SECCOMP as c_long, SECCOMP_SET_MODE_FILTER, SPEC_ALLOW, std::ptr::from_ref(&program)) == 0
        }
}

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
fn steps() -> Vec<Step> {
    use numbers as n;
    // SAFETY: the call takes no arguments.
    let own = unsafe { getpid() } as u32;
    let mut rules: Vec<(u32, Rule)> = ALWAYS.iter().map(|number| (*number, Rule::Always)).collect();
    rules.extend([
        (n::WRITE, Rule::AtMost(0, LAST_STANDARD_STREAM)),
        (n::WRITEV, Rule::AtMost(0, LAST_STANDARD_STREAM)),
        (n::CLONE, Rule::AnyBit(CLONE_THREAD)),
        (n::CLONE3, Rule::NotThere),
        (n::PRCTL, Rule::Equal(0, PR_SET_NAME)),
        (n::TGKILL, Rule::Equal(0, own)),
    ]);
    let step = |code, if_true, if_false, value| Step { code, if_true, if_false, value };
    let end = |value| step(RETURN, 0, 0, value);
    let mut steps = vec![
        step(LOAD, 0, 0, ARCHITECTURE),
        step(IF_EQUAL, 1, 0, n::ARCHITECTURE),
        end(KILL),
        step(LOAD, 0, 0, NUMBER),
    ];
    for (number, rule) in rules {
        let load = |argument: u32| step(LOAD, 0, 0, ARGUMENTS + 8 * argument);
        match rule {
            Rule::Always => steps.extend([step(IF_EQUAL, 0, 1, number), end(ALLOW)]),
            Rule::NotThere => steps.extend([step(IF_EQUAL, 0, 1, number), end(ENOSYS)]),
            Rule::AtMost(argument, most) => steps.extend([
                step(IF_EQUAL, 0, 4, number),
                load(argument),
                step(IF_GREATER, 1, 0, most),
                end(ALLOW),
                end(TRAP),
            ]),
            Rule::Equal(argument, value) => steps.extend([
                step(IF_EQUAL, 0, 4, number),
                load(argument),
                step(IF_EQUAL, 0, 1, value),
                end(ALLOW),
                end(TRAP),
            ]),
            Rule::AnyBit(bits) => steps.extend([
                step(IF_EQUAL, 0, 4, number),
                load(0),
                step(IF_ANY_BIT, 0, 1, bits),
                end(ALLOW),
                end(TRAP),
            ]),
        }
    }
    steps.push(end(TRAP));
    steps
}
