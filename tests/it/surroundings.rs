//! The machine as measured tests see it: cores, temporary folders, open files.

use crate::support::{Project, Run};
use std::process::Command;

/// Tests that need every core available without the tool. They compare with the actual number.
const TESTS: &str = r#"
#[cfg(test)]
mod cores {
    use std::process::Command;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::sync::{mpsc, Arc, Barrier};
    use std::thread;

    extern "C" {
        fn sched_getaffinity(process: i32, length: usize, set: *mut u64) -> i32;
        fn sched_setaffinity(process: i32, length: usize, set: *const u64) -> i32;
    }

    fn outside(name: &str) -> usize {
        std::env::var(name).unwrap().parse().unwrap()
    }

    fn own_cores() -> [u64; 16] {
        let mut set = [0; 16];
        assert_eq!(unsafe { sched_getaffinity(0, 128, set.as_mut_ptr()) }, 0);
        set
    }

    fn prints(command: &mut Command) -> usize {
        let output = command.output().unwrap();
        String::from_utf8(output.stdout).unwrap().trim().parse().unwrap()
    }

    #[test]
    fn a_pool_has_a_thread_for_each() {
        let cores = thread::available_parallelism().unwrap().get();
        assert_eq!(cores, outside("OUTSIDE_PARALLELISM"));
        let barrier = Arc::new(Barrier::new(cores));
        let (sender, receiver) = mpsc::channel();
        for _ in 0..cores {
            let (barrier, sender) = (Arc::clone(&barrier), sender.clone());
            thread::spawn(move || {
                barrier.wait();
                sender.send(super::slow(3)).unwrap();
            });
        }
        assert_eq!((0..cores).map(|_| receiver.recv().unwrap()).filter(|value| *value == 0).count(), 0);
    }

    #[test]
    fn a_spinning_thread_does_not_keep_others_off_for_ever() {
        let flag = Arc::new(AtomicBool::new(false));
        let setter = Arc::clone(&flag);
        let worker = thread::spawn(move || {
            assert_ne!(super::slow(3), 1);
            setter.store(true, Ordering::Release);
        });
        while !flag.load(Ordering::Acquire) {
            std::hint::spin_loop();
        }
        worker.join().unwrap();
    }

    #[test]
    fn a_started_program_sees_them() {
        assert_eq!(prints(&mut Command::new("nproc")), outside("OUTSIDE_NPROC"));
        assert_eq!(prints(Command::new("sh").args(["-c", "sh -c nproc"])), outside("OUTSIDE_NPROC"));
        assert_ne!(super::slow(3), 1);
    }

    #[test]
    fn a_thread_that_chooses_some_sees_its_choice() {
        let all = own_cores();
        for core in (0..1024).filter(|core| all[core / 64] >> (core % 64) & 1 == 1).take(4) {
            let chooses = move || {
                let mut only = [0; 16];
                only[core / 64] = 1 << (core % 64);
                assert_eq!(unsafe { sched_setaffinity(0, 128, only.as_ptr()) }, 0);
                assert_eq!(own_cores(), only);
            };
            thread::spawn(chooses).join().unwrap();
        }
        assert_eq!(own_cores(), all);
        assert_ne!(super::slow(3), 1);
    }
}
"#;

#[test]
fn tests_see_the_cores_that_they_would_have_without_the_tool() {
    let project =
        Project::library(&format!("{}{TESTS}", crate::source(1000)), &format!("{}{TESTS}", crate::source(2_000_000)));
    let parallelism = std::thread::available_parallelism().unwrap().get().to_string();
    let nproc = String::from_utf8(Command::new("nproc").output().unwrap().stdout).unwrap();
    let mut command = Project::tool(project.path());
    command.env("OUTSIDE_PARALLELISM", parallelism).env("OUTSIDE_NPROC", nproc.trim());
    command.args(["diff", "HEAD~1", "--message-format", "json", "--explain", "never", "--per-test-budget", "1s"]);
    let document = Run::of(command).expect(100).json();
    let tests = document["tests"].as_array().unwrap();
    let of_cores: Vec<_> = tests.iter().filter(|test| test["name"].as_str().unwrap().starts_with("cores::")).collect();
    assert_eq!(of_cores.len(), 4, "{document}");
    for test in of_cores {
        // Tests that fail or hang are not measured. On a busy machine, threads that take turns may be too noisy for a
        // verdict.
        assert!(["slower", "inconclusive"].contains(&test["verdict"].as_str().unwrap()), "{test}");
    }
}

#[test]
fn a_low_limit_of_open_files_is_an_error_that_says_what_to_raise() {
    let project = Project::library(&crate::source(500), &crate::source(1500));
    let tool = Project::tool(project.path());
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -n 64 && exec \"$0\" diff HEAD~1"]).arg(tool.get_program());
    command.current_dir(project.path());
    Project::isolate(&mut command);
    let run = Run::of(command).expect(102);
    assert!(run.stderr.contains("the limit of 64 open files per process"), "{}", run.stderr);
    assert!(run.stderr.contains("hint: raise the limit with `ulimit -n 1024`"), "{}", run.stderr);
}
