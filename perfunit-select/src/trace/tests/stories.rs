// The tests that `../tests.rs` runs under breakpoints, compiled with `rustc --test`.

use std::ffi::{c_int, c_void};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

unsafe extern "C" {
    fn fork() -> c_int;
    fn vfork() -> c_int;
    fn setsid() -> c_int;
    fn kill(id: c_int, signal: c_int) -> c_int;
    fn raise(signal: c_int) -> c_int;
    fn signal(signal: c_int, handler: extern "C" fn(c_int)) -> *mut c_void;
    fn waitpid(id: c_int, status: *mut c_int, options: c_int) -> c_int;
    fn ptrace(request: c_int, id: c_int, address: usize, data: usize) -> c_int;
    fn alias_of_target();
    fn _exit(status: c_int) -> !;
}

const SIGTRAP: c_int = 5;
const SIGKILL: c_int = 9;
const SIGCONT: c_int = 18;
const SIGSTOP: c_int = 19;
const A_REAL_TIME_SIGNAL: c_int = 40;
const WUNTRACED: c_int = 2;

static CALLS: AtomicUsize = AtomicUsize::new(0);

/// The function in question.
#[unsafe(no_mangle)]
#[inline(never)]
fn target() {
    CALLS.fetch_add(1, Ordering::SeqCst);
}

/// Another function in question, never called.
#[unsafe(no_mangle)]
#[inline(never)]
fn bystander() {
    CALLS.fetch_add(2, Ordering::SeqCst);
}

#[unsafe(no_mangle)]
static NUMBERS: [u64; 2] = [1, 2];

std::arch::global_asm!(".globl alias_of_target", ".set alias_of_target, target");

/// Keeps everything in the executable.
#[test]
fn calls_neither() {
    let kept = [target as usize, bystander as usize, alias_of_target as usize, NUMBERS.as_ptr() as usize];
    assert!(std::hint::black_box(kept).iter().all(|address| *address != 0));
}

#[test]
fn calls() {
    target();
}

#[test]
fn calls_by_alias() {
    unsafe { alias_of_target() };
}

#[test]
#[ignore]
fn is_ignored_and_calls() {
    target();
}

#[test]
fn many_threads() {
    for _ in 0..20 {
        let threads: Vec<_> = (0..8).map(|_| std::thread::spawn(|| std::hint::black_box(1))).collect();
        threads.into_iter().for_each(|thread| drop(thread.join().unwrap()));
    }
}

#[test]
fn calls_in_a_thread() {
    std::thread::spawn(|| std::thread::spawn(target).join()).join().unwrap().unwrap();
}

/// Runs `child` in a forked process and returns how it ended.
fn in_child(child: fn()) -> c_int {
    let mut status = 0;
    unsafe {
        let id = fork();
        if id == 0 {
            child();
            _exit(0);
        }
        assert_eq!(waitpid(id, &mut status, 0), id);
    }
    status
}

#[test]
fn calls_in_a_child() {
    assert_eq!(in_child(target), 0);
}

#[test]
fn forks() {
    assert_eq!(in_child(|| assert_eq!(in_child(|| ()), 0)), 0);
}

#[test]
fn calls_in_a_child_that_shares_memory() {
    unsafe {
        let id = vfork();
        if id == 0 {
            target();
            _exit(0);
        }
        assert_eq!(waitpid(id, &mut 0, 0), id);
    }
}

fn start_another_program() {
    assert!(Command::new("rustc").arg("-V").output().unwrap().status.success());
}

#[test]
fn starts_another_program() {
    start_another_program();
}

#[test]
fn calls_after_another_program() {
    start_another_program();
    target();
}

#[test]
fn becomes_another_program() {
    use std::os::unix::process::CommandExt;
    panic!("{}", Command::new("rustc").arg("-V").exec());
}

#[test]
fn becomes_another_program_in_a_thread() {
    std::thread::spawn(becomes_another_program).join().unwrap();
}

#[test]
fn starts_itself() {
    let own = std::env::current_exe().unwrap();
    assert!(Command::new(own).args(["--exact", "calls"]).status().unwrap().success());
}

/// Starts the copy that `tests.rs` puts next to the package's binaries.
#[test]
fn starts_a_binary_of_its_package() {
    let own = std::env::current_exe().unwrap();
    let binary = own.parent().unwrap().parent().unwrap().join("binary");
    assert!(Command::new(binary).arg("--list").status().unwrap().success());
}

fn program(way: &str) -> Command {
    let own = std::env::current_exe().unwrap();
    let mut command = Command::new(own.parent().unwrap().parent().unwrap().join("program"));
    command.arg(way);
    command
}

#[test]
fn starts_a_program_that_calls() {
    assert!(program("calls").status().unwrap().success());
}

#[test]
fn starts_an_idle_program() {
    assert!(program("idle").status().unwrap().success());
}

/// Starts 300 processes with a thread each, 10 at a time; the last ones call the function.
fn start_many(last: &str) {
    for round in 0..30 {
        let way = if round == 29 { last } else { "threads" };
        let children: Vec<_> = (0..10).map(|_| program(way).spawn().unwrap()).collect();
        children.into_iter().for_each(|mut child| assert!(child.wait().unwrap().success()));
    }
}

#[test]
fn starts_many_idle_programs() {
    start_many("threads");
}

#[test]
fn starts_many_programs_of_which_the_last_call() {
    start_many("calls");
}

#[test]
fn starts_an_endless_program() {
    assert!(program("endless").status().unwrap().success());
}

#[test]
fn reads_a_program() {
    assert!(!std::fs::read(program("").get_program()).unwrap().is_empty());
}

#[test]
fn reads_a_program_that_it_starts() {
    starts_an_idle_program();
    reads_a_program();
    starts_an_idle_program();
}

#[test]
fn leaves_an_endless_program() {
    drop(program("endless").spawn().unwrap());
}

#[test]
fn kills_an_endless_program() {
    let mut child = program("endless").spawn().unwrap();
    std::thread::sleep(std::time::Duration::from_millis(300));
    child.kill().unwrap();
}

#[test]
fn catches_a_panic() {
    assert!(std::panic::catch_unwind(|| panic!("caught")).is_err());
}

#[test]
fn calls_after_a_caught_panic() {
    catches_a_panic();
    target();
}

#[test]
#[should_panic]
fn should_panic() {
    panic!("as it should");
}

#[test]
fn fails() {
    panic!("fails");
}

extern "C" fn count(_: c_int) {
    CALLS.fetch_add(1, Ordering::SeqCst);
}

fn trap_ourselves() {
    unsafe {
        signal(SIGTRAP, count);
        raise(SIGTRAP);
        #[cfg(target_arch = "x86_64")]
        std::arch::asm!("int3");
        #[cfg(not(target_arch = "x86_64"))]
        raise(SIGTRAP);
    }
    assert_eq!(CALLS.load(Ordering::SeqCst), 2);
}

#[test]
fn traps_itself() {
    trap_ourselves();
}

#[test]
fn calls_after_trapping_itself() {
    trap_ourselves();
    target();
}

#[test]
fn gets_a_real_time_signal() {
    unsafe {
        signal(A_REAL_TIME_SIGNAL, count);
        raise(A_REAL_TIME_SIGNAL);
    }
    assert_eq!(CALLS.load(Ordering::SeqCst), 1);
}

#[test]
fn aborts() {
    std::process::abort();
}

#[test]
fn calls_and_aborts() {
    target();
    std::process::abort();
}

fn overflow(depth: u64) -> u64 {
    std::hint::black_box([depth; 64])[0] + std::hint::black_box(overflow as fn(u64) -> u64)(depth + 1)
}

#[test]
fn overflows_its_stack() {
    overflow(0);
}

#[test]
fn has_children_that_crash() {
    assert_ne!(in_child(|| drop(overflow(0))), 0);
    assert_ne!(in_child(|| std::process::abort()), 0);
    assert_ne!(in_child(|| unsafe { drop(raise(SIGTRAP)) }), 0);
}

#[test]
fn never_ends() {
    loop {
        std::hint::spin_loop();
    }
}

/// The parent sees that a child stops, and wakes it.
#[test]
fn stops_its_child() {
    unsafe {
        let id = fork();
        if id == 0 {
            raise(SIGSTOP);
            _exit(0);
        }
        let mut status = 0;
        assert_eq!(waitpid(id, &mut status, WUNTRACED), id);
        assert_eq!(status, SIGSTOP << 8 | 0x7f);
        std::thread::sleep(std::time::Duration::from_millis(20));
        assert_eq!(waitpid(id, &mut status, WUNTRACED | 1), 0, "it must not go on by itself");
        kill(id, SIGCONT);
        assert_eq!(waitpid(id, &mut status, 0), id);
        assert_eq!(status, 0);
    }
}

#[test]
fn kills_its_child() {
    unsafe {
        let id = fork();
        if id == 0 {
            never_ends();
        }
        kill(id, SIGKILL);
        let mut status = 0;
        assert_eq!(waitpid(id, &mut status, 0), id);
        assert_eq!(status, SIGKILL);
    }
}

fn leave_a_daemon() {
    let note = std::env::temp_dir().join("daemon");
    unsafe {
        let id = fork();
        if id == 0 {
            setsid();
            let id = fork();
            if id != 0 {
                std::fs::write(&note, id.to_string()).unwrap();
                _exit(0);
            }
            never_ends();
        }
        assert_eq!(waitpid(id, &mut 0, 0), id);
    }
}

#[test]
fn leaves_a_daemon() {
    leave_a_daemon();
}

#[test]
fn leaves_a_daemon_and_calls() {
    leave_a_daemon();
    target();
}

#[test]
fn traces_itself() {
    assert_eq!(unsafe { ptrace(0, 0, 0, 0) }, 0);
}
