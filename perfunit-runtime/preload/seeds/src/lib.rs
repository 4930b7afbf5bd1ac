//! Gives both processes of a pair the same random numbers, and tells them of the cores that they would have without the tool:
//! a library that the dynamic linker loads before libc.
//!
//! It stands in front of the three doors through which Rust programs ask the kernel for randomness: `getrandom`,
//! `getentropy`, and `syscall(SYS_getrandom, ..)`. Each call is still made, so that it costs what it costs, and its bytes
//! are then replaced by the next ones of a stream that depends on the seed in the environment and on the thread. So
//! repetitions of a body differ from each other as ever, and the n-th repetition does the same on both sides.
//!
//! Built with the feature `clock` it also stands in front of the clock that the test reads.
//!
//! Without a seed, and in a process forked from one with a seed, everything goes through unchanged; the runtime sets the
//! seed of processes that it forks itself.
//!
//! The tool keeps measured processes on one core. A thread pool that asks for the number of cores would get one thread, and a
//! test that needs two would wait forever. So where the kernel answers with a set of cores that the tool has chosen, the
//! answer is replaced by the set of the tool's own process. A thread that has chosen its cores itself gets the truth. This
//! holds for programs that a test starts, too.
//!
//! It also stands in front of the functions that wait for processes, and notes the CPU time of the workspace's programs.
//!
//! A crate of its own, without std: what it needs is libc's, which is in the process
//! anyway. Nothing here allocates or locks.

#![cfg(target_os = "linux")]
#![no_std]

#[cfg(feature = "clock")]
pub mod clock;
mod kernel;
mod libc;
pub mod preloaded;
pub mod waits;

use core::ffi::{c_char, c_int, c_long, c_uint, c_ulong, c_void, CStr};
use core::ptr::{null_mut, write_bytes};
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicPtr, AtomicUsize};
use kernel::enter;
use libc::{dlsym, getenv, hexadecimal, outcome, RTLD_NEXT};
use preloaded::{mix, publish, Source, CORES, SEED, STREAM};

#[cfg(target_arch = "x86_64")]
const SYS_GETRANDOM: c_long = 318;
#[cfg(target_arch = "x86_64")]
const SYS_SCHED_SETAFFINITY: c_long = 203;
#[cfg(target_arch = "x86_64")]
const SYS_SCHED_GETAFFINITY: c_long = 204;
#[cfg(target_arch = "x86_64")]
const SYS_GETTID: c_long = 186;
#[cfg(target_arch = "aarch64")]
const SYS_GETRANDOM: c_long = 278;
#[cfg(target_arch = "aarch64")]
const SYS_SCHED_SETAFFINITY: c_long = 122;
#[cfg(target_arch = "aarch64")]
const SYS_SCHED_GETAFFINITY: c_long = 123;
#[cfg(target_arch = "aarch64")]
const SYS_GETTID: c_long = 178;
const GRND_DEFAULT: c_uint = 0;
/// More than this `getentropy` refuses.
const MOST_ENTROPY: usize = 256;
const EIO: c_int = 5;
const ENOSYS: c_int = 38;
const PAGE: usize = 4096;
const PROT_READ_WRITE: c_int = 3;
const MAP_PRIVATE_ANONYMOUS: c_int = 0x22;
const MADV_WIPEONFORK: c_int = 18;

#[link(name = "c")]
extern "C" {
    fn madvise(address: *mut c_void, length: usize, advice: c_int) -> c_int;
    fn mmap(at: *mut c_void, length: usize, protection: c_int, flags: c_int, fd: c_int, offset: c_long) -> *mut c_void;
    fn pthread_getspecific(key: c_uint) -> *mut c_void;
    fn pthread_key_create(key: *mut c_uint, destructor: Option<extern "C" fn(*mut c_void)>) -> c_int;
    fn pthread_self() -> c_ulong;
    fn pthread_setspecific(key: c_uint, value: *const c_void) -> c_int;
}

/// libc's `getrandom`.
///
/// # Safety
///
/// So many bytes can be written there.
type Getrandom = unsafe extern "C" fn(*mut c_void, usize, c_uint) -> isize;

/// libc's `pthread_getaffinity_np`.
///
/// # Safety
///
/// As many bytes can be written there.
type GetAffinity = unsafe extern "C" fn(c_ulong, usize, *mut c_void) -> c_int;

/// libc's `pthread_setaffinity_np`.
///
/// # Safety
///
/// As many bytes can be read there.
type SetAffinity = unsafe extern "C" fn(c_ulong, usize, *const c_void) -> c_int;

/// Bytes of a `cpu_set_t`.
const SET: usize = 128;
/// Sets in the variable: the one that tests are to see, and at most two that the tool keeps them on.
const SETS: usize = 3;

/// What the tool says of cores.
struct Cores {
    sets: [[u8; SET]; SETS],
    /// The key under which a thread notes that it has chosen its cores itself.
    key: c_uint,
}

/// Null until the library is ready, and for ever without a seed.
static SOURCE: AtomicPtr<Source> = AtomicPtr::new(null_mut());
/// libc's `getrandom`: newer ones do without a system call.
static NEXT: AtomicPtr<c_void> = AtomicPtr::new(null_mut());
/// The key under which each thread keeps the state of its stream; 0 for a thread without one.
static KEY: AtomicUsize = AtomicUsize::new(0);

/// Null where no cores are to be hidden.
static CORES_TOLD: AtomicPtr<Cores> = AtomicPtr::new(null_mut());

#[used]
#[link_section = ".init_array"]
static AT_LOADING: extern "C" fn() = load;

extern "C" fn load() {
    // SAFETY: names end in zero; the mapping is fresh, large enough, aligned, and never unmapped.
    unsafe {
        NEXT.store(dlsym(RTLD_NEXT, c"getrandom".as_ptr()), Relaxed);
        load_cores(getenv(CORES.as_ptr()));
        waits::load();
        let seed = hexadecimal(getenv(SEED.as_ptr()));
        if seed == 0 {
            return;
        }
        let mut key = 0;
        if pthread_key_create(&mut key, None) != 0 {
            return;
        }
        KEY.store(key as usize, Relaxed);
        let page = mmap(null_mut(), PAGE, PROT_READ_WRITE, MAP_PRIVATE_ANONYMOUS, -1, 0);
        if page as isize == -1 || madvise(page, PAGE, MADV_WIPEONFORK) != 0 {
            return;
        }
        let source = page.cast::<Source>();
        (*source).seed.store(seed, Relaxed);
        (*source).key.store(u64::from(key), Relaxed);
        SOURCE.store(source, Release);
        publish(getenv(STREAM.as_ptr()), source as usize);
    }
}

/// Replaces `length` bytes by the next ones of this thread's stream.
///
/// # Safety
///
/// As many bytes can be written there.
unsafe fn replace(bytes: *mut u8, length: usize) {
    // SAFETY: null, or the page that `load` made.
    let Some(source) = (unsafe { SOURCE.load(Acquire).as_ref() }) else { return };
    let seed = source.seed.load(Relaxed);
    if seed == 0 {
        return;
    }
    let key = KEY.load(Relaxed) as c_uint;
    // SAFETY: the key was created, and its values are numbers.
    let mut state = unsafe { pthread_getspecific(key) } as u64;
    if state == 0 {
        // Threads are numbered as they first ask. Those that race for it may change places, on either side.
        let thread = source.threads.fetch_add(1, Relaxed);
        state = mix(seed ^ mix(thread + 1));
    }
    let mut done = 0;
    while done < length {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let word = mix(state).to_ne_bytes();
        let count = (length - done).min(word.len());
        // SAFETY: inside of what may be written.
        unsafe { core::ptr::copy_nonoverlapping(word.as_ptr(), bytes.add(done), count) };
        done += count;
    }
    // SAFETY: as above. If it fails the thread starts another stream the next time.
    unsafe { pthread_setspecific(key, state as *const c_void) };
}

/// # Safety
///
/// As libc's.
#[no_mangle]
pub unsafe extern "C" fn getrandom(buffer: *mut c_void, length: usize, flags: c_uint) -> isize {
    let next = NEXT.load(Relaxed);
    if next.is_null() {
        // The kernel does not write more than that at once either.
        let length = c_long::try_from(length).unwrap_or(c_long::MAX);
        // SAFETY: the call that libc's function would stand for.
        return unsafe { syscall(SYS_GETRANDOM, buffer as c_long, length, c_long::from(flags), 0, 0, 0) as isize };
    }
    // SAFETY: libc's function of this name, with our caller's arguments; what it has written can be written again.
    unsafe {
        let result = core::mem::transmute::<*mut c_void, Getrandom>(next)(buffer, length, flags);
        if result > 0 {
            replace(buffer.cast(), result as usize);
        }
        result
    }
}

/// # Safety
///
/// As libc's.
#[no_mangle]
pub unsafe extern "C" fn getentropy(buffer: *mut c_void, length: usize) -> c_int {
    if length > MOST_ENTROPY {
        // SAFETY: this thread's.
        unsafe { *libc::__errno_location() = EIO };
        return -1;
    }
    // SAFETY: our caller's arguments. So few bytes come at once.
    let count = unsafe { getrandom(buffer, length, GRND_DEFAULT) };
    if usize::try_from(count) == Ok(length) {
        0
    } else {
        -1
    }
}

/// Every call through libc's `syscall` passes here: as short as libc's own.
///
/// # Safety
///
/// As libc's. Its further arguments are variadic there, and lie where fixed ones do on the machines that we know; what the
/// caller did not pass is passed on unread.
#[no_mangle]
pub unsafe extern "C" fn syscall(
    number: c_long,
    a1: c_long,
    a2: c_long,
    a3: c_long,
    a4: c_long,
    a5: c_long,
    a6: c_long,
) -> c_long {
    // SAFETY: our caller's arguments; what the kernel has written can be written again; libc knows this thread.
    unsafe {
        let result = enter(number, [a1, a2, a3, a4, a5, a6]);
        if number == SYS_GETRANDOM && result > 0 {
            replace(a1 as *mut u8, result as usize);
        }
        if number == SYS_SCHED_GETAFFINITY && result > 0 {
            reveal_cores(a3 as *mut u8, result as usize);
        }
        outcome(result)
    }
}

/// Reads what the tool says of cores.
///
/// # Safety
///
/// `text` is null or ends in a zero byte.
unsafe fn load_cores(text: *const c_char) {
    if text.is_null() {
        return;
    }
    // SAFETY: a fresh mapping, which is large enough, aligned and never unmapped, and for which zeros are valid.
    unsafe {
        let page = mmap(null_mut(), PAGE, PROT_READ_WRITE, MAP_PRIVATE_ANONYMOUS, -1, 0);
        let cores = page.cast::<Cores>();
        if page as isize == -1 || pthread_key_create(&mut (*cores).key, None) != 0 {
            return;
        }
        read_sets(text, &mut (*cores).sets);
        CORES_TOLD.store(cores, Release);
    }
}

/// # Safety
///
/// `text` ends in a zero byte.
unsafe fn read_sets(mut text: *const c_char, sets: &mut [[u8; SET]; SETS]) {
    // SAFETY: stops at the zero byte at the latest, which is no digit.
    let digit = |at: *const c_char| unsafe { char::from(*at as u8).to_digit(16) };
    for set in sets {
        let mut count = 0;
        // SAFETY: what is before is a digit and not the end.
        while digit(unsafe { text.add(count) }).is_some() {
            count += 1;
        }
        for place in 0..count {
            // SAFETY: one of the digits.
            let digit = digit(unsafe { text.add(count - 1 - place) });
            if let (Some(byte), Some(digit)) = (set.get_mut(place / 2), digit) {
                *byte |= (digit as u8) << (place % 2 * 4);
            }
        }
        // SAFETY: up to the end, and over a comma, which is not the end.
        unsafe {
            text = text.add(count);
            if *text as u8 != b',' {
                break;
            }
            text = text.add(1);
        }
    }
}

/// Replaces a set of cores that the tool has chosen by the set that the process would have without the tool.
///
/// # Safety
///
/// As many bytes can be read and written there.
unsafe fn reveal_cores(found: *mut u8, length: usize) {
    // SAFETY: null, or the page that `load_cores` made.
    let Some(cores) = (unsafe { CORES_TOLD.load(Acquire).as_ref() }) else { return };
    // SAFETY: the key was created.
    if !unsafe { pthread_getspecific(cores.key) }.is_null() {
        return;
    }
    // SAFETY: as the caller promises.
    let found = unsafe { core::slice::from_raw_parts_mut(found, length) };
    let [told, imposed @ ..] = &cores.sets;
    let fits = told.iter().skip(length).all(|byte| *byte == 0);
    let is_found = |set: &[u8; SET]| {
        let byte_of = |set: &[u8], at: usize| set.get(at).copied().unwrap_or(0);
        set.iter().any(|byte| *byte != 0) && (0..length.max(SET)).all(|at| byte_of(found, at) == byte_of(set, at))
    };
    if fits && imposed.iter().any(is_found) {
        for (byte, told) in found.iter_mut().zip(told) {
            *byte = *told;
        }
    }
}

/// Notes that this thread has chosen its cores itself.
fn note_choice() {
    // SAFETY: null, or the page that `load_cores` made.
    if let Some(cores) = unsafe { CORES_TOLD.load(Acquire).as_ref() } {
        // SAFETY: the key was created, and its values are never followed.
        unsafe { pthread_setspecific(cores.key, core::ptr::from_ref(cores).cast()) };
    }
}

/// # Safety
///
/// As libc's.
#[no_mangle]
pub unsafe extern "C" fn sched_getaffinity(process: c_int, length: usize, set: *mut c_void) -> c_int {
    let most = length.min(c_int::MAX as usize);
    // SAFETY: our caller's arguments; `syscall` reveals what the kernel has written, and the rest can be written, too.
    unsafe {
        let written = syscall(
            SYS_SCHED_GETAFFINITY,
            process.into(),
            c_long::try_from(most).unwrap_or(c_long::MAX),
            set as c_long,
            0,
            0,
            0,
        );
        let Ok(written) = usize::try_from(written) else { return -1 };
        write_bytes(set.cast::<u8>().add(written), 0, length.saturating_sub(written));
    }
    0
}

/// # Safety
///
/// As libc's.
#[no_mangle]
pub unsafe extern "C" fn sched_setaffinity(process: c_int, length: usize, set: *const c_void) -> c_int {
    // SAFETY: our caller's arguments.
    let result = unsafe {
        syscall(
            SYS_SCHED_SETAFFINITY,
            process.into(),
            c_long::try_from(length).unwrap_or(c_long::MAX),
            set as c_long,
            0,
            0,
            0,
        )
    };
    // SAFETY: takes no arguments.
    if result == 0 && (process == 0 || unsafe { enter(SYS_GETTID, [0; 6]) } == c_long::from(process)) {
        note_choice();
    }
    result as c_int
}

/// # Safety
///
/// As libc's.
#[no_mangle]
pub unsafe extern "C" fn pthread_getaffinity_np(thread: c_ulong, length: usize, set: *mut c_void) -> c_int {
    let Some(next) = next_function(c"pthread_getaffinity_np") else { return ENOSYS };
    // SAFETY: libc's function of this name, with our caller's arguments; what it has written can be written again.
    unsafe {
        let result = core::mem::transmute::<*mut c_void, GetAffinity>(next)(thread, length, set);
        if result == 0 {
            reveal_cores(set.cast(), length);
        }
        result
    }
}

/// # Safety
///
/// As libc's.
#[no_mangle]
pub unsafe extern "C" fn pthread_setaffinity_np(thread: c_ulong, length: usize, set: *const c_void) -> c_int {
    let Some(next) = next_function(c"pthread_setaffinity_np") else { return ENOSYS };
    // SAFETY: libc's function of this name, with our caller's arguments.
    let result = unsafe { core::mem::transmute::<*mut c_void, SetAffinity>(next)(thread, length, set) };
    // SAFETY: takes no arguments.
    if result == 0 && thread == unsafe { pthread_self() } {
        note_choice();
    }
    result
}

/// Returns the function that a program would call without this library; `None` if its C library has none.
fn next_function(name: &CStr) -> Option<*mut c_void> {
    // SAFETY: the name ends in zero.
    let next = unsafe { dlsym(RTLD_NEXT, name.as_ptr()) };
    (!next.is_null()).then_some(next)
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {}
}
