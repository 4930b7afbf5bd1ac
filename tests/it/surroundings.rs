//! What measured tests see of the machine: cores, temporary folders, open files.

use crate::support::{Project, Run};
use std::process::Command;

#[test]
fn a_low_limit_of_open_files_is_an_error_that_says_what_to_raise() {
    let project = Project::library(&crate::source(500), &crate::source(1500));
    let tool = Project::tool(project.path());
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -n 64 && exec \"$0\" diff HEAD~1"]).arg(tool.get_program());
    command.current_dir(project.path());
    Project::isolate(&mut command);
    let run = Run::of(command).expect(102);
    assert!(run.stderr.contains("a process may open at most 64 files here"), "{}", run.stderr);
    assert!(run.stderr.contains("hint: raise the limit with `ulimit -n 1024`"), "{}", run.stderr);
}
