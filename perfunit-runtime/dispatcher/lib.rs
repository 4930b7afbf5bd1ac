//! The program at the path of each package binary that integration tests start (`CARGO_BIN_EXE_*`).
//!
//! Tests of both sides contain the same path; otherwise their code would differ. This program lies at that path and
//! replaces itself with the binary of its test's side. Each start of a binary pays for this step, so the
//! program is static, uses neither std nor libc, and makes only a few system calls. Arguments, `argv[0]` and the
//! environment pass through unchanged.

#![no_std]
#![no_main]
// The compiler would turn the loop in `memcpy` into a call of `memcpy`.
#![no_builtins]

mod kernel;
// This program notes starts only; `perfunit-seeds` notes how programs end.
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

/// Last bytes of this program. Before them are the name of the binary and the name's length in eight bytes. The name is
/// part of the file because a test may copy the program.
const MARK: &[u8; 17] = b"perfunit-stand-in";
/// Environment variable with the folder of a side. All processes of a test executable have it.
const SIDE: &[u8] = b"PERFUNIT_SIDE_DIR";
/// Number of ancestors to search for [`SIDE`], because a test may clear the environment of its
/// children.
const MOST_ANCESTORS: usize = 16;
/// Longest file name.
const NAME: usize = 255;
const PATH: usize = 4096;
/// Longest environment that Linux accepts with its default limits, in bytes.
const ENVIRONMENT: usize = 2 << 20;

const READ_ONLY: c_long = 0;
const PROT_READ_WRITE: c_long = 3;
const MAP_SHARED: c_long = 1;
const CLOCK_PROCESS_CPUTIME_ID: c_long = 2;
const SEEK_END: c_long = 2;
const STDERR: c_long = 2;
/// Exit code if the binary cannot be started, the same as the tool's.
const SETUP_FAILED: c_long = 102;

static mut ENVIRON: [u8; ENVIRONMENT] = [0; ENVIRONMENT];

#[cfg(target_arch = "x86_64")]
global_asm!(".globl _start", "_start:", "xor ebp, ebp", "mov rdi, rsp", "and rsp, -16", "call {}", "ud2", sym begin);
#[cfg(target_arch = "aarch64")]
global_asm!(".globl _start", "_start:", "mov x29, #0", "mov x30, #0", "mov x0, sp", "bl {}", "brk #1", sym begin);

/// Locates arguments and environment on the stack (their count, the arguments, a null, the variables) and starts the
/// binary.
///
/// # Safety
///
/// `stack` is the stack pointer with which the kernel started this program.
unsafe extern "C" fn begin(stack: *const usize) -> ! {
    // SAFETY: the kernel lays out the stack in this order.
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
    // SAFETY: the path ends in a zero byte; the kernel provided arguments and environment.
    unsafe { enter(number::EXECVE, [path.as_ptr() as c_long, arguments as c_long, environment as c_long, 0, 0, 0]) };
    fail(&[b"cannot start ", side, b"/", name])
}

/// Returns the name of the binary, read from the end of this program's file.
fn own_name(end: &mut [u8; NAME + size_of::<u64>() + MARK.len()]) -> Option<&[u8]> {
    let file = open(c"/proc/self/exe", READ_ONLY)?;
    // SAFETY: the call takes no pointers.
    unsafe { enter(number::LSEEK, [file, -(end.len() as c_long), SEEK_END, 0, 0, 0]) };
    let count = read_all(file, end);
    let rest = end.get(..count)?.strip_suffix(MARK)?;
    let (rest, length) = rest.split_at(rest.len().checked_sub(size_of::<u64>())?);
    let length = usize::try_from(u64::from_le_bytes(length.try_into().ok()?)).ok()?;
    rest.get(rest.len().checked_sub(length)?..)
}

/// Variables by which the tool configures the processes of a test.
#[derive(Default)]
struct Variables {
    /// Folder of the side.
    side: Option<&'static [u8]>,
    /// File in which starts are noted.
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

    /// Returns the variables of the closest ancestor that was started with [`SIDE`].
    fn of_ancestors() -> Self {
        // SAFETY: the call takes no arguments.
        let mut process = Some(unsafe { enter(number::GETPPID, [0; 6]) });
        for _ in 0..MOST_ANCESTORS {
            let Some(id) = process else { break };
            // SAFETY: this process has one thread, and no reference to the previous iteration's content is left.
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

/// Returns the variables of this process's environment.
fn variables(mut environment: *const *const c_char) -> impl Iterator<Item = &'static [u8]> {
    core::iter::from_fn(move || {
        // SAFETY: the list ends in a null and each string in a zero byte; both live as long as the process.
        unsafe {
            let variable = *environment;
            environment = environment.add(usize::from(!variable.is_null()));
            (!variable.is_null()).then(|| CStr::from_ptr(variable).to_bytes())
        }
    })
}

/// Notes in the file that this process becomes the program `name`.
fn note_start(file: &[u8], name: &[u8]) {
    let mut path = [0; PATH];
    join(&mut path, &[file]);
    let Some(file) = CStr::from_bytes_until_nul(&path).ok().and_then(|path| open(path, READ_WRITE)) else { return };
    // SAFETY: a new mapping as long as the file. The file consists of atomics, and the mapping lives until the program
    // ends.
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
    // The fields after the name in parentheses are the state and the parent.
    let end = stat[..count].iter().rposition(|byte| *byte == b')')?;
    let digits = stat.get(end + 4..count)?.split(|byte| *byte == b' ').next()?;
    let number = digits.iter().fold(0, |number, digit| number * 10 + c_long::from(digit - b'0'));
    (number > 0).then_some(number)
}

/// Reads a file in `/proc/<process>` and returns the number of bytes read.
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
    // SAFETY: the call takes no pointers.
    unsafe { enter(number::CLOSE, [file, 0, 0, 0, 0, 0]) };
    count
}

fn open(path: &CStr, flags: c_long) -> Option<c_long> {
    // SAFETY: the path ends in a zero byte.
    unsafe { kernel::open(path.as_ptr(), flags | CLOSE_ON_EXEC) }
}

/// Reads until the buffer is full or the file ends, and returns the number of bytes read.
fn read_all(file: c_long, buffer: &mut [u8]) -> usize {
    let mut done = 0;
    while done < buffer.len() {
        let rest = &mut buffer[done..];
        // SAFETY: `rest` has room for this many bytes.
        let count =
            unsafe { enter(number::READ, [file, rest.as_mut_ptr() as c_long, rest.len() as c_long, 0, 0, 0]) };
        match usize::try_from(count) {
            Ok(count) if count > 0 => done += count,
            _ => break,
        }
    }
    done
}

/// Writes the parts and a zero byte into the buffer. Returns false if they do not fit.
fn join(buffer: &mut [u8], parts: &[&[u8]]) -> bool {
    let bytes = parts.iter().flat_map(|part| part.iter().copied()).chain([0]);
    let mut slots = buffer.iter_mut();
    bytes.fold(true, |fits, byte| fits && slots.next().map(|slot| *slot = byte).is_some())
}

/// Prints an error and ends the process.
fn fail(parts: &[&[u8]]) -> ! {
    let parts = [b"error: "].into_iter().map(|part| &part[..]).chain(parts.iter().copied()).chain([&b"\n"[..]]);
    for part in parts {
        // SAFETY: `part` has this many bytes.
        unsafe { enter(number::WRITE, [STDERR, part.as_ptr() as c_long, part.len() as c_long, 0, 0, 0]) };
    }
    loop {
        // SAFETY: the call takes no pointers and does not return.
        unsafe { enter(number::EXIT_GROUP, [SETUP_FAILED, 0, 0, 0, 0, 0]) };
    }
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    fail(&[b"bug in the stand-in"])
}

/// The exception tables of `core` refer to this symbol; nothing unwinds here.
#[no_mangle]
extern "C" fn rust_eh_personality() {}

/// Copies bytes, for code that the compiler generates.
///
/// # Safety
///
/// The same as for `memcpy` of the C library.
#[no_mangle]
unsafe extern "C" fn memcpy(to: *mut u8, from: *const u8, length: usize) -> *mut u8 {
    // SAFETY: the caller guarantees the arguments.
    (0..length).for_each(|at| unsafe { *to.add(at) = *from.add(at) });
    to
}

/// Sets bytes, for code that the compiler generates.
///
/// # Safety
///
/// The same as for `memset` of the C library.
#[no_mangle]
unsafe extern "C" fn memset(to: *mut u8, byte: i32, length: usize) -> *mut u8 {
    // SAFETY: the caller guarantees the arguments.
    (0..length).for_each(|at| unsafe { *to.add(at) = byte as u8 });
    to
}

/// Compares bytes, for code that the compiler generates.
///
/// # Safety
///
/// The same as for `memcmp` of the C library.
#[no_mangle]
unsafe extern "C" fn memcmp(a: *const u8, b: *const u8, length: usize) -> i32 {
    // SAFETY: the caller guarantees the arguments.
    let differences = (0..length).map(|at| unsafe { i32::from(*a.add(at)) - i32::from(*b.add(at)) });
    differences.into_iter().find(|difference| *difference != 0).unwrap_or(0)
}

/// Compares bytes, for code that the compiler generates.
///
/// # Safety
///
/// The same as for `bcmp` of the C library.
#[no_mangle]
unsafe extern "C" fn bcmp(a: *const u8, b: *const u8, length: usize) -> i32 {
    // SAFETY: the caller guarantees the arguments.
    unsafe { memcmp(a, b, length) }
}

/// Returns the length of a text. `CStr` of `core` calls this function.
///
/// # Safety
///
/// The same as for `strlen` of the C library.
#[no_mangle]
unsafe extern "C" fn strlen(text: *const c_char) -> usize {
    let mut length = 0;
    // SAFETY: the loop stops at the zero byte.
    while unsafe { *text.add(length) } != 0 {
        length += 1;
    }
    length
}
