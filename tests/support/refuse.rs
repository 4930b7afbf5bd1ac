//! A system that refuses calls, as containers do.

use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// A system call, and the first argument with which it is refused; `None` for any argument.
pub type Refused = (libc::c_long, Option<u32>);

/// The call that Docker's default profile refuses.
pub const RANDOM_ADDRESSES: Refused = (libc::SYS_personality, Some(libc::ADDR_NO_RANDOMIZE as u32));

/// Setting the affinity, which some sandboxes refuse.
pub const PINNING: Refused = (libc::SYS_sched_setaffinity, None);

/// Makes the kernel refuse these calls to a command and its children.
pub fn refuse(command: &mut Command, calls: &[Refused]) {
    let filter = program(calls);
    // SAFETY: only system calls between fork and exec; the filter was built before.
    unsafe {
        command.pre_exec(move || {
            let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_ptr().cast_mut() };
            let installed = libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
                && libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program) == 0;
            if installed { Ok(()) } else { Err(io::Error::last_os_error()) }
        });
    }
}

/// Restricts a command and its children to a single core.
pub fn keep_on_one_core(command: &mut Command) {
    let this = Pid::from_raw(0);
    let allowed = sched_getaffinity(this).unwrap();
    let first = (0..CpuSet::count()).find(|core| allowed.is_set(*core).unwrap()).unwrap();
    let mut only = CpuSet::new();
    only.set(first).unwrap();
    // SAFETY: a system call between fork and exec.
    unsafe {
        command.pre_exec(move || Ok(sched_setaffinity(this, &only)?));
    }
}

/// Builds the filter: each call is refused if number and argument match; all others are allowed.
fn program(calls: &[Refused]) -> Vec<libc::sock_filter> {
    // Offsets in `struct seccomp_data`: the number, and the low half of the first argument.
    const NUMBER: u32 = 0;
    const ARGUMENT: u32 = 16;
    let step = |code: u32, jt: u8, jf: u8, k: u32| libc::sock_filter { code: code as u16, jt, jf, k };
    let load = |offset| step(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, offset);
    let answer = |value| step(libc::BPF_RET | libc::BPF_K, 0, 0, value);
    let mut steps = Vec::new();
    for (call, argument) in calls {
        steps.extend([
            load(NUMBER),
            step(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, 0, 3, *call as u32),
            load(ARGUMENT),
            step(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, 0, u8::from(argument.is_some()), argument.unwrap_or(0)),
            answer(libc::SECCOMP_RET_ERRNO | libc::EPERM as u32),
        ]);
    }
    steps.push(answer(libc::SECCOMP_RET_ALLOW));
    steps
}
