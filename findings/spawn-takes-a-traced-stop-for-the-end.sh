#!/usr/bin/env bash
# std of Rust 1.95.0 with libc 0.2.180 (x86-64 Linux). Needs cargo and the crates.io registry.
#
# `Command::spawn` of a program that does not exist returns its error only after it has waited for the child, so that no
# process is left: std calls `waitpid` without options, takes the first answer for the child's end, and returns. If another
# thread of the same process traces the child by ptrace, that answer is a stop of the child: `waitpid` reports the stops of
# all traced children of the process to any of its threads, and never asks whether `WUNTRACED` was given for them. So
#
# - `spawn` has failed with "not found", and its child is alive and stays so: nobody has its `Child`, and nobody reaps it;
# - the stop is lost to the tracing thread, which waits for an event that has been consumed.
#
# A tracer that counts system calls sees this, because each call stops the child, the one that reports the failed exec to
# std included. One that only waits for exec does not. The program below polls, so that it cannot wait for good.
#
# Output seen:
#   spawn: NotFound
#   its child: t                 (in /proc: stopped by its tracer)
#   reaped only now: true        (after the program has killed it)
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
mkdir src
cat > Cargo.toml <<'EOF'
[package]
name = "traced"
version = "0.0.0"
edition = "2021"

[dependencies]
libc = "=0.2.180"

[workspace]
EOF
cat > src/main.rs <<'EOF'
use std::io::{Read, Write};
use std::os::unix::{net::UnixStream, process::CommandExt};
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering::SeqCst};
use std::time::Duration;

static CHILD: AtomicI32 = AtomicI32::new(0);
static RETURNED: AtomicBool = AtomicBool::new(false);

/// Traces the system calls of the child until `spawn` has returned, and looks for stops every millisecond.
fn trace(mut line: UnixStream) {
    let mut id = [0; 4];
    line.read_exact(&mut id).unwrap();
    let id = i32::from_ne_bytes(id);
    CHILD.store(id, SeqCst);
    let request = |request, data: usize| unsafe { libc::ptrace(request, id, 0usize, data) };
    assert_eq!(request(libc::PTRACE_SEIZE, (libc::PTRACE_O_TRACESYSGOOD | libc::PTRACE_O_EXITKILL) as usize), 0);
    assert_eq!(request(libc::PTRACE_INTERRUPT, 0), 0);
    line.write_all(&[1]).unwrap();
    while !RETURNED.load(SeqCst) {
        let mut status = 0;
        if unsafe { libc::waitpid(id, &mut status, libc::WNOHANG | libc::__WALL) } == id && libc::WIFSTOPPED(status) {
            request(libc::PTRACE_SYSCALL, 0);
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn main() {
    let (ours, theirs) = UnixStream::pair().unwrap();
    let tracer = std::thread::spawn(move || trace(ours));
    let mut command = Command::new("/nowhere/program");
    unsafe {
        command.pre_exec(move || {
            (&theirs).write_all(&std::process::id().to_ne_bytes())?;
            (&theirs).read_exact(&mut [0])
        });
    }
    let error = command.spawn().unwrap_err();
    println!("spawn: {:?}", error.kind());
    let id = CHILD.load(SeqCst);
    let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
    println!("its child: {}", stat.rsplit(") ").next().unwrap_or_default().chars().next().unwrap_or('-'));
    unsafe { libc::kill(id, libc::SIGKILL) };
    RETURNED.store(true, SeqCst);
    tracer.join().unwrap();
    let reaped = unsafe { libc::waitpid(id, std::ptr::null_mut(), libc::__WALL) } == id;
    println!("reaped only now: {reaped}");
}
EOF
export CARGO_TARGET_DIR="$work/target"
cargo build --quiet
seen=$(timeout 20 "$work/target/debug/traced")
echo "$seen"
expected='spawn: NotFound
its child: t
reaped only now: true'
if [[ $seen != "$expected" ]]; then
    echo "the behavior has changed; it was:" >&2
    echo "$expected" >&2
    exit 1
fi
