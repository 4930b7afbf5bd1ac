//! Panics, which are bugs of the tool. The first one ends the process: the released executable cannot unwind, and what a
//! process leaves behind is the same as after `kill -9`.

use perfunit_model::error::ExitCode;
use std::sync::{Mutex, PoisonError};

/// Exit code of our other roles after a panic, like that of any Rust program.
const OF_PANIC: i32 = 101;

type Ending = Box<dyn FnOnce() -> ExitCode + Send>;

static ENDING: Mutex<Option<Ending>> = Mutex::new(None);

/// Makes a panic in any thread end this process after its message, with the exit code of [`set_ending`].
pub fn end_process() {
    let print = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        print(panic);
        let ending = ENDING.lock().unwrap_or_else(PoisonError::into_inner).take();
        std::process::exit(ending.map_or(OF_PANIC, |ending| i32::from(ending() as u8)))
    }));
}

/// Sets what a panic does after its message: reports the failure, and returns the exit code.
pub fn set_ending(ending: impl FnOnce() -> ExitCode + Send + 'static) {
    *ENDING.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(ending));
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    /// Environment variable of a process that panics, with the way in which it does.
    const VARIABLE: &str = "PERFUNIT_TEST_PANICS";

    #[track_caller]
    fn check(way: &str, code: i32) {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "bug::tests::a_panic_prints_its_message_and_ends_the_process", "--nocapture"]);
        let output = command.env(VARIABLE, way).output().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(errors.contains("the message of a panic"), "{errors}");
        assert_eq!(output.status.code(), Some(code), "{errors}");
    }

    #[test]
    fn a_panic_prints_its_message_and_ends_the_process() {
        let Some(way) = std::env::var_os(VARIABLE) else {
            check("without an ending", 101);
            check("with an ending", 70);
            check("in a thread", 70);
            return;
        };
        end_process();
        if way != "without an ending" {
            set_ending(|| ExitCode::Internal);
        }
        if way == "in a thread" {
            let _ = std::thread::spawn(|| panic!("the message of a panic")).join();
            return;
        }
        panic!("the message of a panic");
    }
}
