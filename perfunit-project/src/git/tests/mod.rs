//! Tests on whole repositories.

mod choice;
mod contents;
mod push;

use perfunit_model::error::{Error, ExitCode};
use std::path::Path;
use std::process::Command;

#[track_caller]
fn check_fails(error: &Error, message: &str, hint: &str) {
    assert_eq!(error.code(), ExitCode::SetupFailed);
    let shown = error.to_string();
    assert!(error.message().contains(message), "{shown}");
    assert!(shown.contains(hint) && shown.contains("hint:"), "{shown}");
}

#[track_caller]
fn git(folder: &Path, arguments: &[&str]) {
    let output = Command::new("git")
        .args(["-c", "protocol.file.allow=always", "-c", "user.name=a", "-c", "user.email=a@example.org"])
        .args(arguments)
        .current_dir(folder)
        .output()
        .unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
}
