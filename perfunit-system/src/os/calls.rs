//! Classifies system calls by number.

use perfunit_model::SystemCall;

/// Signal that kills a process that has used up its processor time.
pub const OUT_OF_TIME: i32 = libc::SIGKILL;
/// Signal for a forbidden system call without handler.
pub const OUT_OF_CAGE: i32 = libc::SIGSYS;

const OPEN: [i64; 2] = [libc::SYS_openat, libc::SYS_openat2];
const CHANGE: [i64; 10] = [
    libc::SYS_unlinkat,
    libc::SYS_renameat2,
    libc::SYS_mkdirat,
    libc::SYS_linkat,
    libc::SYS_symlinkat,
    libc::SYS_fchmod,
    libc::SYS_fchmodat,
    libc::SYS_fchownat,
    libc::SYS_truncate,
    libc::SYS_utimensat,
];
const READ: [i64; 3] = [libc::SYS_read, libc::SYS_readv, libc::SYS_preadv];
const START: [i64; 3] = [libc::SYS_clone, libc::SYS_execve, libc::SYS_execveat];
const NETWORK: [i64; 3] = [libc::SYS_socket, libc::SYS_socketpair, libc::SYS_connect];
const SLEEP: [i64; 4] = [libc::SYS_nanosleep, libc::SYS_clock_nanosleep, libc::SYS_ppoll, libc::SYS_epoll_pwait];

/// Classifies calls of older interfaces, which only some processors have.
#[cfg(target_arch = "x86_64")]
fn older(number: i64) -> Option<SystemCall> {
    Some(match number {
        libc::SYS_open | libc::SYS_creat => SystemCall::OpenFile,
        libc::SYS_unlink | libc::SYS_rmdir | libc::SYS_rename | libc::SYS_mkdir | libc::SYS_chmod => {
            SystemCall::ChangeFiles
        }
        libc::SYS_fork | libc::SYS_vfork => SystemCall::StartProcess,
        libc::SYS_poll | libc::SYS_select | libc::SYS_pause => SystemCall::Sleep,
        _ => return None,
    })
}

#[cfg(not(target_arch = "x86_64"))]
fn older(_number: i64) -> Option<SystemCall> {
    None
}

/// Returns the purpose of a system call.
pub fn system_call(number: u32) -> SystemCall {
    let call = i64::from(number);
    let kinds = [
        (&OPEN[..], SystemCall::OpenFile),
        (&CHANGE, SystemCall::ChangeFiles),
        (&READ, SystemCall::Read),
        (&START, SystemCall::StartProcess),
        (&NETWORK, SystemCall::Network),
        (&SLEEP, SystemCall::Sleep),
    ];
    let known = kinds.into_iter().find(|(calls, _)| calls.contains(&call)).map(|(_, kind)| kind);
    known.or_else(|| older(call)).unwrap_or(SystemCall::Other { number })
}
