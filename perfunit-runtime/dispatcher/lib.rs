//! The program in place of the package's binaries that integration tests start (`CARGO_BIN_EXE_*`).
//!
//! Both sides compile the same path into their tests, or their code would differ. This program lies there, and becomes the
//! binary of the side whose test started it. Every start of a binary pays for it, so it is a static program without std and
//! libc that makes a handful of system calls. Arguments, `argv[0]` and the environment pass through unchanged.

#![no_std]
#![no_main]
// The compiler would replace the loops of `memcpy` and the like by calls of themselves.
#![no_builtins]

mod kernel;
// Ends are noted elsewhere.
#[allow(dead_code)]
mod programs;

use core::arch::global_asm;
use core::ffi::{c_char, c_long, CStr};
use core::mem::size_of;
use core::ptr::addr_of_mut;
use kernel::{enter, now, CLOCK_MONOTONIC, CLOSE_ON_EXEC, READ_WRITE};
use programs::{Starts, FILE_LEN, PROGRAMS};

#[cfg(target_arch = "x86_64")]
mod number {
    use core::ffi::c_long;

    pub const READ: c_long = 0;
    pub const WRITE: c_long = 1;
    pub const CLOSE: c_long = 3;
    pub const LSEEK: c_long = 8;
    pub const MMAP: c_long = 9;
    pub const GETPID: c_long = 39;
    pub const EXECVE: c_long = 59;
    pub const GETPPID: c_long = 110;
    pub const EXIT_GROUP: c_long = 231;
}

#[cfg(target_arch = "aarch64")]
mod number {
    use core::ffi::c_long;

    pub const CLOSE: c_long = 57;
    pub const LSEEK: c_long = 62;
    pub const READ: c_long = 63;
    pub const WRITE: c_long = 64;
    pub const EXIT_GROUP: c_long = 94;
    pub const GETPID: c_long = 172;
    pub const GETPPID: c_long = 173;
    pub const EXECVE: c_long = 221;
    pub const MMAP: c_long = 222;
}

/// The last bytes of this program, after the name of the binary and the length of the name in eight bytes: a test may copy
/// the program, and the copy has to know the name.
const MARK: &[u8; 17] = b"perfunit-stand-in";
/// Environment variable of all processes of a test executable: the folder of their side.
const SIDE: &[u8] = b"PERFUNIT_SIDE_DIR";
/// Ancestors that are searched for [`SIDE`]: a test may clear the environment of what it starts.
const MOST_ANCESTORS: usize = 16;
/// Longest name of a file.
const NAME: usize = 255;
const PATH: usize = 4096;
/// Longest environment that Linux accepts with its default limits.
const ENVIRONMENT: usize = 2 << 20;

const READ_ONLY: c_long = 0;
const PROT_READ_WRITE: c_long = 3;
const MAP_SHARED: c_long = 1;
const CLOCK_PROCESS_CPUTIME_ID: c_long = 2;
const SEEK_END: c_long = 2;
const STDERR: c_long = 2;
/// Exit code of a run that cannot start: the same as the tool's.
const SETUP_FAILED: c_long = 102;

static mut ENVIRON: [u8; ENVIRONMENT] = [0; ENVIRONMENT];

#[cfg(target_arch = "x86_64")]
global_asm!(".globl _start", "_start:", "xor ebp, ebp", "mov rdi, rsp", "and rsp, -16", "call {}", "ud2", sym begin);
#[cfg(target_arch = "aarch64")]
global_asm!(".globl _start", "_start:", "mov x29, #0", "mov x30, #0", "mov x0, sp", "bl {}", "brk #1", sym begin);

/// Finds arguments and environment on the stack: their count, then the arguments, a null, and the variables.
///
/// # Safety
///
/// The stack is as the kernel starts a program with.
unsafe extern "C" fn begin(stack: *const usize) -> ! {
    // SAFETY: so the kernel starts programs.
    let (arguments, environment) = unsafe {
        let arguments = stack.add(1).cast::<*const c_char>();
        (arguments, arguments.add(*stack + 1))
    };
    let mut end = [0; NAME + size_of::<u64>() + MARK.len()];
    let Some(name) = own_name(&mut end) else { fail(&[b"cannot read our own executable"]) };
    let own = Variables::among(variables(environment));
    let Variables { side: Some(side), starts } = (if own.side.is_some() { own } else { Variables::of_ancestors() }) else {
        fail(&[b"the stand-in of ", name, b" was not started by a measured test"])
    };
    let mut path = [0; PATH];
    if !join(&mut path, &[side, b"/", name]) {
        fail(&[b"the path of ", name, b" is too long"]);
    }
    if let Some(file) = starts {
        note_start(file, name);
    }
    // SAFETY: the path ends in zero; the others are what the kernel gave us.
    unsafe { enter(number::EXECVE, [path.as_ptr() as c_long, arguments as c_long, environment as c_long, 0, 0, 0]) };
    fail(&[b"cannot start ", side, b"/", name])
}

/// Returns the name of the binary, from the end of our own file.
fn own_name(end: &mut [u8; NAME + size_of::<u64>() + MARK.len()]) -> Option<&[u8]> {
    let file = open(c"/proc/self/exe", READ_ONLY)?;
    // SAFETY: takes no pointers.
    unsafe { enter(number::LSEEK, [file, -(end.len() as c_long), SEEK_END, 0, 0, 0]) };
    let count = read_all(file, end);
    let rest = end.get(..count)?.strip_suffix(MARK)?;
    let (rest, length) = rest.split_at(rest.len().checked_sub(size_of::<u64>())?);
    let length = usize::try_from(u64::from_le_bytes(length.try_into().ok()?)).ok()?;
    rest.get(rest.len().checked_sub(length)?..)
}

/// What the tool tells the processes of a test.
#[derive(Default)]
struct Variables {
    /// The folder of their side.
    side: Option<&'static [u8]>,
    /// The file in which starts are noted.
    starts: Option<&'static [u8]>,
}

impl Variables {
    fn among(variables: impl Iterator<Item = &'static [u8]>) -> Self {
        let mut found = Self::default();
        for variable in variables {
            let value_of = |name: &[u8]| variable.strip_prefix(name)?.strip_prefix(b"=");
            found.side = found.side.or_else(|| value_of(SIDE));
            found.starts = found.starts.or_else(|| value_of(PROGRAMS.to_bytes()));
        }
        found
    }

    /// Returns the variables with which the closest ancestor was started that has the folder.
    fn of_ancestors() -> Self {
        // SAFETY: takes no arguments.
        let mut process = Some(unsafe { enter(number::GETPPID, [0; 6]) });
        for _ in 0..MOST_ANCESTORS {
            let Some(id) = process else { break };
            // SAFETY: this process has one thread, and nothing refers to what an earlier turn read.
            let environ = unsafe { &mut *addr_of_mut!(ENVIRON) };
            let count = read_file(id, b"environ", environ);
            let variables = Self::among(environ[..count].split(|byte| *byte == 0));
            if variables.side.is_some() {
                return variables;
            }
            process = parent(id);
        }
        Self::default()
    }
}

/// Returns the variables of our own environment.
fn variables(mut environment: *const *const c_char) -> impl Iterator<Item = &'static [u8]> {
    core::iter::from_fn(move || {
        // SAFETY: a null ends the list, and a zero byte each string; both last as long as the process.
        unsafe {
            let variable = *environment;
            environment = environment.add(usize::from(!variable.is_null()));
            (!variable.is_null()).then(|| CStr::from_ptr(variable).to_bytes())
        }
    })
}

/// Notes in the file that this process becomes the program.
fn note_start(file: &[u8], name: &[u8]) {
    let mut path = [0; PATH];
    join(&mut path, &[file]);
    let Some(file) = CStr::from_bytes_until_nul(&path).ok().and_then(|path| open(path, READ_WRITE)) else { return };
    // SAFETY: a fresh mapping, as long as the file, which consists of atomics; it ends with the program.
    unsafe {
        let arguments = [0, FILE_LEN as c_long, PROT_READ_WRITE, MAP_SHARED, file, 0];
        let mapped = enter(number::MMAP, arguments);
        let process = enter(number::GETPID, [0; 6]) as u32;
        if mapped > 0 {
            let starts = &*(mapped as *const Starts);
            starts.note_start(process, name, now(CLOCK_MONOTONIC), now(CLOCK_PROCESS_CPUTIME_ID));
        }
    }
}

fn parent(process: c_long) -> Option<c_long> {
    let mut stat = [0; 512];
    let count = read_file(process, b"stat", &mut stat);
    // After the name in parentheses: state, parent.
    let end = stat[..count].iter().rposition(|byte| *byte == b')')?;
    let digits = stat.get(end + 4..count)?.split(|byte| *byte == b' ').next()?;
    let number = digits.iter().fold(0, |number, digit| number * 10 + c_long::from(digit - b'0'));
    (number > 0).then_some(number)
}

/// Reads a file of `/proc` about a process; returns the number of bytes.
fn read_file(process: c_long, name: &[u8], buffer: &mut [u8]) -> usize {
    let mut digits = [b'0'; 20];
    let (mut rest, mut first) = (process, digits.len());
    while rest > 0 {
        first -= 1;
        digits[first] += (rest % 10) as u8;
        rest /= 10;
    }
    let mut path = [0; 64];
    join(&mut path, &[b"/proc/", &digits[first..], b"/", name]);
    let Some(file) = CStr::from_bytes_until_nul(&path).ok().and_then(|path| open(path, READ_ONLY)) else { return 0 };
    let count = read_all(file, buffer);
    // SAFETY: takes no pointers.
    unsafe { enter(number::CLOSE, [file, 0, 0, 0, 0, 0]) };
    count
}

fn open(path: &CStr, flags: c_long) -> Option<c_long> {
    // SAFETY: the path ends in zero.
    unsafe { kernel::open(path.as_ptr(), flags | CLOSE_ON_EXEC) }
}

/// Fills the buffer as far as the file has bytes; returns their number.
fn read_all(file: c_long, buffer: &mut [u8]) -> usize {
    let mut done = 0;
    while done < buffer.len() {
        let rest = &mut buffer[done..];
        // SAFETY: as many bytes can be written there.
        let count =
            unsafe { enter(number::READ, [file, rest.as_mut_ptr() as c_long, rest.len() as c_long, 0, 0, 0]) };
        match usize::try_from(count) {
            Ok(count) if count > 0 => done += count,
            _ => break,
        }
    }
    done
}

/// Writes the parts and a zero byte into the buffer; false if they do not fit.
fn join(buffer: &mut [u8], parts: &[&[u8]]) -> bool {
    let bytes = parts.iter().flat_map(|part| part.iter().copied()).chain([0]);
    let mut slots = buffer.iter_mut();
    bytes.fold(true, |fits, byte| fits && slots.next().map(|slot| *slot = byte).is_some())
}

/// Ends the process with a message.
fn fail(parts: &[&[u8]]) -> ! {
    let parts = [b"error: "].into_iter().map(|part| &part[..]).chain(parts.iter().copied()).chain([&b"\n"[..]]);
    for part in parts {
        // SAFETY: as many bytes can be read there.
        unsafe { enter(number::WRITE, [STDERR, part.as_ptr() as c_long, part.len() as c_long, 0, 0, 0]) };
    }
    loop {
        // SAFETY: takes no pointers, and does not return.
        unsafe { enter(number::EXIT_GROUP, [SETUP_FAILED, 0, 0, 0, 0, 0]) };
    }
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    fail(&[b"bug in the stand-in"])
}

/// The tables of core's functions refer to it; nothing unwinds here.
#[no_mangle]
extern "C" fn rust_eh_personality() {}

/// # Safety
///
/// As C's.
#[no_mangle]
unsafe extern "C" fn memcpy(to: *mut u8, from: *const u8, length: usize) -> *mut u8 {
    // SAFETY: our caller's arguments.
    (0..length).for_each(|at| unsafe { *to.add(at) = *from.add(at) });
    to
}

/// # Safety
///
/// As C's.
#[no_mangle]
unsafe extern "C" fn memset(to: *mut u8, byte: i32, length: usize) -> *mut u8 {
    // SAFETY: our caller's arguments.
    (0..length).for_each(|at| unsafe { *to.add(at) = byte as u8 });
    to
}

/// # Safety
///
/// As C's.
#[no_mangle]
unsafe extern "C" fn memcmp(a: *const u8, b: *const u8, length: usize) -> i32 {
    // SAFETY: our caller's arguments.
    let differences = (0..length).map(|at| unsafe { i32::from(*a.add(at)) - i32::from(*b.add(at)) });
    differences.into_iter().find(|difference| *difference != 0).unwrap_or(0)
}

/// # Safety
///
/// As C's.
#[no_mangle]
unsafe extern "C" fn bcmp(a: *const u8, b: *const u8, length: usize) -> i32 {
    // SAFETY: our caller's arguments.
    unsafe { memcmp(a, b, length) }
}

/// # Safety
///
/// As C's.
#[no_mangle]
unsafe extern "C" fn strlen(text: *const c_char) -> usize {
    let mut length = 0;
    // SAFETY: stops at the zero byte.
    while unsafe { *text.add(length) } != 0 {
        length += 1;
    }
    length
}
